//! Errors of the library as exceptions of Python, in the same words as on the command line.

use iosonar::units::with_causes;
use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

pyo3::create_exception!(
    iosonar,
    Error,
    PyValueError,
    "What is wrong with a scenario, a trace or an option, where, and what was expected."
);

/// An error of the library.
#[allow(clippy::needless_pass_by_value)] // As `map_err` calls it.
pub(crate) fn raised(error: impl std::error::Error + 'static) -> PyErr {
    Error::new_err(with_causes(&error))
}

/// What is wrong with an argument.
pub(crate) fn refused(problem: impl Into<String>) -> PyErr {
    Error::new_err(problem.into())
}
