//! The native half of the Python package `iosonar`.
//!
//! Every function takes and returns values of the library: nothing here runs a command, or reads what one prints. What
//! Python sees is in the package's Python files, which turn these values into data classes.
//!
//! ```text
//! Python values ─► source, value ─► scenarios, traces ─► a thread of its own (interruptible) ─► simulation, theory,
//!                                                                                comparison, plan, figure, network
//! ```

mod arrow;
mod choose;
mod comparison;
mod error;
mod estimates;
mod figure;
mod interruptible;
mod network;
mod networked;
mod plan;
mod simulation;
mod source;
mod theory;
mod trace;
mod value;

use pyo3::prelude::*;

/// Simulations, traces and charts of storage systems.
#[pymodule]
fn _iosonar(module: &Bound<'_, PyModule>) -> PyResult<()> {
    iosonar::arrow::register();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", module.py().get_type::<error::Error>())?;
    module.add_class::<figure::Figure>()?;
    module.add_class::<network::Network>()?;
    module.add_class::<simulation::Run>()?;
    module.add_class::<trace::Trace>()?;
    module.add_function(wrap_pyfunction!(choose::choose, module)?)?;
    module.add_function(wrap_pyfunction!(comparison::compare, module)?)?;
    module.add_function(wrap_pyfunction!(figure::charts, module)?)?;
    module.add_function(wrap_pyfunction!(figure::plot, module)?)?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(theory::model, module)?)?;
    module.add_function(wrap_pyfunction!(trace::read, module)?)
}
