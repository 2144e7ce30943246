//! Scenarios as Python gives them: dicts, texts, files, and systems such as `raid5:6xexos-x18`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use iosonar::scenario::{DEFAULT_MEMORY, Overrides, Prepared, ScenarioError, System};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{raised, refused};
use crate::interruptible::interruptible;
use crate::trace::{Trace, reading_of};
use crate::value::{table_of, toml_of};

/// What messages call a scenario that is in no file.
const NO_FILE: &str = "scenario";

/// The text of a scenario.
pub(crate) struct Source {
    pub(crate) text: String,
    /// The file. Relative paths in the text are relative to its folder.
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    /// Whether it has lines that the reader of a message knows.
    is_dict: bool,
    /// What a name stands for.
    system: Option<System>,
}

impl Source {
    /// A dict, a text with line breaks, the path of a file, or a system.
    pub(crate) fn of(scenario: &Bound<'_, PyAny>, name: Option<String>) -> PyResult<Self> {
        let name = |otherwise: &str| name.clone().unwrap_or_else(|| otherwise.to_owned());
        if let Ok(dict) = scenario.cast::<PyDict>() {
            return Ok(Self {
                text: table_of(dict, "")?.to_string(),
                path: NO_FILE.into(),
                name: name(NO_FILE),
                is_dict: true,
                system: None,
            });
        }
        if let Ok(text) = scenario.extract::<String>()
            && text.contains('\n')
        {
            return Ok(Self {
                text,
                path: NO_FILE.into(),
                name: name(NO_FILE),
                is_dict: false,
                system: None,
            });
        }
        let Ok(path) = scenario.extract::<PathBuf>() else {
            return Err(refused(format!(
                "a scenario is a dict, TOML text, the path of a file, or a system such as 'raid5:6xexos-x18'; this is {}",
                scenario.get_type().name()?
            )));
        };
        let system = System::named(&path).map_err(raised)?;
        Ok(Self {
            text: system.text().to_owned(),
            path: system.path().to_owned(),
            name: name(&System::label(&path)),
            is_dict: false,
            system: Some(system),
        })
    }

    /// The changes of a call, after those that are part of the system's name.
    pub(crate) fn with_changes(&self, overrides: &Overrides) -> Overrides {
        match &self.system {
            Some(system) => system.with_changes(overrides),
            None => overrides.clone(),
        }
    }

    /// The scenario with these changes. A trace in it may be read as a whole: other threads of Python run meanwhile, and
    /// Ctrl-C ends it.
    pub(crate) fn prepared(&self, py: Python<'_>, overrides: &Overrides) -> PyResult<Prepared> {
        let stop: Arc<AtomicBool> = Arc::default();
        let (text, path) = (self.text.clone(), self.path.clone());
        let overrides = Overrides {
            stop: Arc::clone(&stop),
            ..self.with_changes(overrides)
        };
        let prepared = interruptible(py, &stop, move || {
            Prepared::from_toml(&text, &path, &overrides)
        })?;
        prepared.map_err(|error| self.raised(error))
    }

    /// An error of this scenario. A dict has keys, and no lines.
    pub(crate) fn raised(&self, error: ScenarioError) -> PyErr {
        let error = match &self.system {
            Some(system) => system.explained(error),
            None => error,
        };
        match error {
            ScenarioError::Refused { key, problem, .. } if self.is_dict => {
                refused(format!("{NO_FILE}: '{key}' {problem}"))
            }
            ScenarioError::Value {
                key,
                seen,
                expected,
                ..
            } if self.is_dict => {
                refused(format!("{NO_FILE}: '{key}' is {seen}, expected {expected}"))
            }
            error => raised(error),
        }
    }
}

/// What the arguments of a call change in a scenario.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Changes<'py> {
    pub(crate) name: Option<String>,
    trace: Option<Bound<'py, PyAny>>,
    reading: Bound<'py, PyDict>,
    seed: Option<u64>,
    replications: Option<u32>,
    set: Bound<'py, PyDict>,
    pub(crate) threads: Option<usize>,
    memory: Option<String>,
}

impl Changes<'_> {
    /// Whether there are too few replications to estimate how precise their mean is.
    pub(crate) fn has_few_replications(&self) -> bool {
        self.replications.is_some_and(|n| n < 10)
    }

    /// The same as the command line's options. The trace is kept as long as what is returned with it.
    pub(crate) fn overrides(&self) -> PyResult<(Overrides, Option<Trace>)> {
        let mut set = Vec::new();
        for (key, value) in &self.set {
            let key: String = key.extract()?;
            let value = match value.is_none() {
                // An empty value removes a key.
                true => String::new(),
                false => toml_of(&value, &key)?.to_string(),
            };
            set.push((key, value));
        }
        let trace = self.trace.as_ref().map(Trace::of).transpose()?;
        let reading = match &trace {
            Some(trace) if self.reading.is_empty() => {
                trace.reading_of_load(trace.reading().clone())
            }
            Some(trace) => trace.reading_of_load(reading_of(&self.reading)?),
            None => reading_of(&self.reading)?,
        };
        let given = self.memory.as_deref().map(str::parse);
        let memory = given
            .transpose()
            .map_err(|error| refused(format!("memory: {error}")))?;
        let overrides = Overrides {
            trace: trace.as_ref().map(|trace| trace.path().to_owned()),
            reading,
            seed: self.seed,
            replications: self.replications,
            set,
            memory: memory.unwrap_or(DEFAULT_MEMORY),
            ..Overrides::default()
        };
        Ok((overrides, trace))
    }
}
