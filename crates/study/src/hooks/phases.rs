//! Going through the phases of a run.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use iosonar_trace::output::WholeFile;
use serde_json::{Value, json};

use super::around::{Around, HookError};
use super::built_in::BuiltIn;
use super::{HookFile, Phase};
use crate::sweep::SweepError;

impl Around<'_> {
    /// Goes through all phases, with `run` as the run itself; what it brought is given to `keep` before the last of
    /// them, in which results are made something of.
    ///
    /// # Errors
    /// The first of what failed, and what could not be restored; the later phases were still run.
    pub fn all_phases<T>(
        &mut self,
        before_run: impl FnOnce(&mut Self) -> Result<(), HookError>,
        run: impl FnOnce(&mut Self) -> Result<T, HookError>,
        keep: impl FnOnce(&mut Self, &T) -> Result<(), HookError>,
    ) -> Result<T, HookError> {
        let (mut prepared, mut set_up) = (0, 0);
        let mut outcome = self.forward(&mut prepared, &mut set_up, before_run, run);
        let mut problems = self.backward(Phase::Cleanup, set_up, outcome.is_ok());
        if let Ok(done) = &outcome
            && let Err(error) = keep(self, done)
        {
            outcome = Err(error);
        }
        let is_well = outcome.is_ok() && problems.is_empty();
        problems.extend(self.backward(Phase::Finish, prepared, is_well));
        if problems.is_empty() {
            return outcome;
        }
        let problems = problems.join("; ");
        Err(match outcome {
            Err(HookError::Failed(why) | HookError::Skip(why)) => {
                HookError::Failed(format!("{why}; these hooks failed afterwards: {problems}"))
            }
            Err(HookError::Interrupted) => HookError::Failed(format!(
                "interrupted; these hooks failed afterwards: {problems}"
            )),
            Ok(_) => HookError::Failed(problems),
        })
    }

    /// The hooks that have begun, in reverse order; returns the problems.
    fn backward(&mut self, phase: Phase, begun: usize, is_well: bool) -> Vec<String> {
        let mut problems = Vec::new();
        for number in (0..begun).rev() {
            if let Err(error) = self.act(number, phase, is_well) {
                self.log.add(&error.to_string());
                problems.push(error.to_string());
            }
        }
        problems
    }

    fn forward<T>(
        &mut self,
        prepared: &mut usize,
        set_up: &mut usize,
        before_run: impl FnOnce(&mut Self) -> Result<(), HookError>,
        run: impl FnOnce(&mut Self) -> Result<T, HookError>,
    ) -> Result<T, HookError> {
        self.forward_phase(Phase::Prepare, prepared)?;
        self.forward_phase(Phase::Setup, set_up)?;
        before_run(self)?;
        self.forward_phase(Phase::Run, &mut 0)?;
        self.interrupted()?;
        run(self)
    }

    fn forward_phase(&mut self, phase: Phase, begun: &mut usize) -> Result<(), HookError> {
        for number in 0..self.hooks.len() {
            self.interrupted()?;
            // What was begun is put back, also if it failed half-way.
            *begun = number + 1;
            self.act(number, phase, true)?;
        }
        Ok(())
    }

    fn act(&mut self, number: usize, phase: Phase, is_well: bool) -> Result<(), HookError> {
        let hook = self.hooks[number].clone();
        if phase != Phase::Prepare || !hook.is_once() {
            return self.act_now(&hook, phase, is_well);
        }
        // One run prepares while others wait, also those of other processes.
        let failed = |error: SweepError| HookError::Failed(error.to_string());
        let _alone =
            crate::sweep::wait_for_lock(&self.root.join(".prepare.lock")).map_err(failed)?;
        let marker = self.marker(number, &hook);
        if marker.exists() {
            self.log
                .add(&format!("prepare: {} was completed earlier", hook.name()));
            return self.take_out(&marker, hook.name());
        }
        let env = self.env.len();
        self.act_now(&hook, phase, is_well)?;
        // What it changed, it has changed for later runs, too.
        let env = self.env[env..]
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)));
        let effects = json!({ "targets": self.targets, "env": Value::Object(env.collect()) });
        WholeFile::write_all(&marker, effects.to_string().as_bytes())
            .map_err(|e| HookError::Failed(format!("{}: cannot write: {e}", marker.display())))
    }

    /// The file that says that a preparation was done: of this hook, as it is written, on these targets, on this
    /// machine.
    fn marker(&self, number: usize, hook: &HookFile) -> PathBuf {
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        let what = format!(
            "{:?} {:?} {:?} {host} {:?}",
            hook.run, hook.args, hook.options, self.targets
        );
        // FNV-1a: the same every time, whatever made this program.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = what.bytes().fold(0xcbf2_9ce4_8422_2325, step);
        let name = format!(
            "prepared-{}-{}-{hash:016x}.json",
            number + 1,
            file_name(hook.name())
        );
        self.root.join(name)
    }

    /// Does it, and what it says.
    fn act_now(&mut self, hook: &HookFile, phase: Phase, is_well: bool) -> Result<(), HookError> {
        if let Some(name) = &hook.built_in {
            let built_in = BuiltIn::new(name, &hook.options).map_err(HookError::Failed)?;
            return built_in.act(self, phase, is_well);
        }
        if hook
            .phases
            .as_ref()
            .is_some_and(|phases| !phases.contains(&phase))
        {
            return Ok(());
        }
        let executable = hook.run.as_deref().unwrap_or_default();
        // With a slash it is a path, without one a name on PATH, unless there is such a file.
        let beside = self.origin.join(executable);
        let executable = if executable.contains('/') || beside.is_file() {
            std::path::absolute(&beside).unwrap_or(beside)
        } else {
            PathBuf::from(executable)
        };
        let out = self.folder.join(".hook-out.json");
        let _ = fs::remove_file(&out);
        let mut command = Command::new(executable);
        command.args(&hook.args).arg(phase.name());
        command.env("IOSONAR_HOOK_OUT", &out);
        command.env("IOSONAR_OK", if is_well { "1" } else { "0" });
        let result = self.call(&mut command, hook.name(), phase);
        let taken = self.take_out(&out, hook.name());
        let _ = fs::remove_file(&out);
        result?;
        taken
    }
}

/// A name as a part of a file's name.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c } else { '_' };
    name.chars().map(plain).collect()
}
