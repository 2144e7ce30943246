//! Hooks as they are written in an experiment file.

use std::fmt;

use serde::Deserialize;
use toml::Table;

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

    /// Its name in the environment of hooks.
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
    /// The input of a built-in hook.
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

    /// Whether its preparation is done for the first run only.
    pub fn is_once(&self) -> bool {
        self.prepare.is_some()
    }
}
