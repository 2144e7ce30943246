//! What can be said of a hook before anything is run.

use std::path::Path;

use super::HookFile;
use super::built_in::BuiltIn;

impl HookFile {
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
                "uses '{}', which needs a replay: a simulation has no target",
                self.name()
            ));
        }
        match &self.run {
            Some(run) if run.contains('/') && !origin.join(run).is_file() => Err(format!(
                "has run = '{run}', but this file does not exist in {}",
                origin.display()
            )),
            _ => Ok(()),
        }
    }

    fn as_built_in(&self) -> Option<BuiltIn> {
        BuiltIn::new(self.built_in.as_deref()?, &self.options).ok()
    }

    /// Whether it makes sense.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        if let Some(other) = self.prepare.as_deref().filter(|p| *p != "once") {
            return Err(format!(
                "has prepare = \"{other}\", expected \"once\" (or leave the key out)"
            ));
        }
        match (&self.built_in, &self.run) {
            (Some(name), None) => {
                if !self.args.is_empty() || self.phases.is_some() {
                    return Err(format!(
                        "uses the built-in '{name}', but 'args' and 'phases' apply only to executables"
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
                "needs either 'use' (one of {}) or 'run' (an executable)",
                BuiltIn::NAMES.join(", ")
            )),
        }
    }
}
