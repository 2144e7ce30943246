//! Hooks as they are written in an experiment file.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use toml::Table;

use super::built_in::BuiltIn;

/// A part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// What takes long and may be done once for several runs: filling a device.
    Prepare,
    /// What is set for the run.
    Setup,
    /// The run itself.
    Run,
    /// What was set is put back.
    Cleanup,
    /// What is made of the results.
    Finish,
}

impl Phase {
    /// All, in their order.
    pub const ALL: [Self; 5] = [
        Self::Prepare,
        Self::Setup,
        Self::Run,
        Self::Cleanup,
        Self::Finish,
    ];

    /// Its name, as hooks are told.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Setup => "setup",
            Self::Run => "run",
            Self::Cleanup => "cleanup",
            Self::Finish => "finish",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An entry `[[hook]]`.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct HookFile {
    /// A built-in hook ...
    #[serde(rename = "use")]
    pub built_in: Option<String>,
    /// ... or an executable: a path relative to the experiment file, or a name on `PATH`.
    pub run: Option<String>,
    /// Its arguments; the phase comes after them.
    #[serde(default)]
    pub args: Vec<String>,
    /// In which phases an executable is called; in all if it is not given.
    pub phases: Option<Vec<Phase>>,
    /// `"once"`: the preparation is done for the first run only.
    pub prepare: Option<String>,
    /// What a built-in hook is told.
    #[serde(flatten)]
    pub options: Table,
}

impl HookFile {
    /// What it is called in logs.
    pub fn name(&self) -> &str {
        self.built_in
            .as_deref()
            .or(self.run.as_deref())
            .unwrap_or("hook")
    }

    /// Whether it acts on devices of this machine.
    pub fn is_of_this_machine(&self) -> bool {
        self.as_built_in().is_some_and(|b| b.is_of_this_machine())
    }

    /// Whether it may make another device the target.
    pub fn may_change_target(&self) -> bool {
        self.as_built_in().is_none_or(|b| b.changes_target())
    }

    /// Whether it can act around such runs; `origin` is the folder of the experiment file.
    ///
    /// # Errors
    /// What is missing.
    pub fn check_for(&self, origin: &Path, is_replay: bool) -> Result<(), String> {
        if !is_replay && self.is_of_this_machine() {
            return Err(format!(
                "'{}' is for replays: a simulation has no target",
                self.name()
            ));
        }
        match &self.run {
            Some(run) if run.contains('/') && !origin.join(run).is_file() => Err(format!(
                "'{run}': there is no such executable in {}",
                origin.display()
            )),
            _ => Ok(()),
        }
    }

    fn as_built_in(&self) -> Option<BuiltIn> {
        BuiltIn::new(self.built_in.as_deref()?, &self.options).ok()
    }

    /// Whether its preparation is done for the first run only.
    pub fn is_once(&self) -> bool {
        self.prepare.is_some()
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        if let Some(other) = self.prepare.as_deref().filter(|p| *p != "once") {
            return Err(format!(
                "has prepare = \"{other}\", expected \"once\" or nothing"
            ));
        }
        match (&self.built_in, &self.run) {
            (Some(name), None) => {
                if !self.args.is_empty() || self.phases.is_some() {
                    return Err(format!(
                        "'{name}' is built in: 'args' and 'phases' are for executables"
                    ));
                }
                BuiltIn::new(name, &self.options).map(|_| ())
            }
            (None, Some(_)) => match self.options.keys().next() {
                Some(key) => Err(format!(
                    "has an unknown '{key}', expected 'run', 'args', 'phases', 'prepare'"
                )),
                None => Ok(()),
            },
            _ => Err(format!(
                "expected either 'use' (built in are {}) or 'run' (an executable)",
                BuiltIn::NAMES.join(", ")
            )),
        }
    }
}
