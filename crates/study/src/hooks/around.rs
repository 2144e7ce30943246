//! A run as its hooks see it, and the programs that they run.

use std::fmt;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use serde_json::{Value, json};

use super::child::run_child;
use super::stop::Stop;
use super::{HookFile, Phase};
use crate::shell::readable;
use crate::sweep::{Settings, object_of};

/// What a run and its hooks say, kept in its folder; the file is there as soon as there is something in it.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: Option<fs::File>,
}

impl Log {
    /// A log in the file `path`.
    pub fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// Adds text, and the end of its last line.
    pub fn add(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.file.is_none() {
            self.file = fs::OpenOptions::new()
                .create(true)
                .append(true)
                // In a shared folder, another user could have the log appended to a file of this one.
                .custom_flags(OFlags::NOFOLLOW.bits() as i32)
                .open(&self.path)
                .ok();
        }
        if let Some(file) = &mut self.file {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            // A log that cannot be written ends no run.
            let _ = file.write_all(format!("{text}{end}").as_bytes());
        }
    }
}

/// Why a run was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookError {
    /// A hook failed.
    Failed(String),
    /// A hook says that this run is to be left out.
    Skip(String),
    /// It was interrupted.
    Interrupted,
}

impl fmt::Display for HookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) | Self::Skip(why) => f.write_str(why),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

/// A run as its hooks see it, and what they change of it.
#[derive(Debug)]
pub struct Around<'a> {
    /// Its hooks.
    pub hooks: &'a [HookFile],
    /// The folder of the experiment file, from which executables are looked for.
    pub origin: &'a Path,
    /// The tree.
    pub root: &'a Path,
    /// The run's folder in the tree.
    pub path: &'a Path,
    /// Its folder.
    pub folder: &'a Path,
    /// Its parameters.
    pub parameters: &'a [(String, String)],
    /// What is set.
    pub settings: Settings,
    /// The targets of a replay.
    pub targets: Vec<String>,
    /// Targets whose content may be destroyed.
    pub destroy: &'a [PathBuf],
    /// What later hooks and the run find in their environment.
    pub env: Vec<(String, String)>,
    /// This program, for hooks that are commands of it.
    pub program: &'a Path,
    /// What hooks have made and must take away again.
    pub made: Vec<String>,
    /// What was said.
    pub log: Log,
    /// Whether it is to end.
    pub stop: &'a Stop,
}

impl Around<'_> {
    /// Waits so long, or until it is to end.
    ///
    /// # Errors
    /// If it was interrupted.
    pub fn wait(&self, seconds: f64) -> Result<(), HookError> {
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        while let left @ 1.. = end.saturating_duration_since(Instant::now()).as_micros() {
            self.interrupted()?;
            thread::sleep(Duration::from_micros(left.min(20_000) as u64));
        }
        Ok(())
    }

    /// A flag that never requests a stop.
    pub(super) fn interrupted(&self) -> Result<(), HookError> {
        if self.stop.is_asked() {
            return Err(HookError::Interrupted);
        }
        Ok(())
    }

    /// Runs a program with the environment of hooks.
    pub(super) fn call(
        &mut self,
        command: &mut Command,
        name: &str,
        phase: Phase,
    ) -> Result<Vec<u8>, HookError> {
        self.tell(command, phase);
        self.log.add(&format!("{phase}: {}", line_of(command)));
        let told = self.as_json(phase).to_string();
        // What puts things back is not ended by the signal that made it necessary.
        let stop = (!matches!(phase, Phase::Cleanup | Phase::Finish)).then_some(self.stop);
        let ended = run_child(command, told.as_bytes(), stop)
            .map_err(|e| HookError::Failed(format!("{phase}: {name}: cannot be started: {e}")))?;
        self.log.add(&String::from_utf8_lossy(&ended.output));
        self.log.add(&String::from_utf8_lossy(&ended.errors));
        if ended.status.success() {
            return Ok(ended.output);
        }
        if stop.is_some_and(Stop::is_asked) {
            return Err(HookError::Interrupted);
        }
        let (how, words) = (ended.how(), ended.last_words());
        let colon = if words.is_empty() { "" } else { ": " };
        Err(HookError::Failed(format!(
            "{phase}: {name}: {how}{colon}{words}"
        )))
    }

    /// Sets the environment of hooks.
    fn tell(&self, command: &mut Command, phase: Phase) {
        command
            .env("IOSONAR_PHASE", phase.name())
            .env("IOSONAR_RUN", self.path)
            .env("IOSONAR_RUN_DIR", absolute(self.folder))
            .env("IOSONAR_TREE", absolute(self.root))
            .env("IOSONAR_TARGETS", self.targets.join(" "));
        for (name, value) in self.parameters {
            command.env(format!("IOSONAR_PARAM_{}", variable(name)), value);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
    }

    fn as_json(&self, phase: Phase) -> Value {
        json!({
            "phase": phase.name(),
            "run": self.path,
            "run_dir": absolute(self.folder),
            "tree": absolute(self.root),
            "parameters": object_of(self.parameters),
            "settings": object_of(&self.settings),
            "targets": self.targets,
            "env": object_of(&self.env),
        })
    }

    /// Does what a hook wrote into the file that it was given: other targets, more environment, no run.
    pub(super) fn take_out(&mut self, out: &Path, name: &str) -> Result<(), HookError> {
        // Something else than a file may never end.
        if !fs::metadata(out).is_ok_and(|m| m.is_file()) {
            return Ok(());
        }
        let Ok(text) = fs::read(out) else {
            return Ok(());
        };
        let wrong = |problem: String| {
            HookError::Failed(format!("{name}: the file $IOSONAR_HOOK_OUT {problem}"))
        };
        let told: Value =
            serde_json::from_slice(&text).map_err(|e| wrong(format!("is not JSON: {e}")))?;
        let told = told
            .as_object()
            .ok_or_else(|| wrong("is not a JSON object".to_owned()))?;
        let strings = |value: &Value| -> Option<Vec<String>> {
            let list = value.as_array()?.iter();
            list.map(|v| v.as_str().map(str::to_owned)).collect()
        };
        for (key, value) in told {
            match (key.as_str(), value) {
                ("targets", list) => {
                    self.targets = strings(list).ok_or_else(|| {
                        wrong("has a 'targets' value that is not a list of strings".to_owned())
                    })?;
                }
                ("env", Value::Object(env)) => {
                    for (name, value) in env {
                        let value = value
                            .as_str()
                            .map_or_else(|| value.to_string(), str::to_owned);
                        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                            return Err(wrong(format!(
                                "has an environment variable {name:?} with an invalid name or value"
                            )));
                        }
                        self.env.push((name.clone(), value));
                    }
                }
                ("skip", Value::String(reason)) => return Err(HookError::Skip(reason.clone())),
                _ => {
                    return Err(wrong(format!(
                        "has '{key}' = {value}, expected \"targets\": [...], \"env\": {{...}}, \"skip\": \"reason\""
                    )));
                }
            }
        }
        Ok(())
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// A name of an environment variable.
fn variable(name: &str) -> String {
    let upper = name.to_uppercase();
    upper
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}

/// A command as one would type it.
fn line_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<String> = words
        .map(|word| readable(&word.to_string_lossy()))
        .collect();
    words.join(" ")
}
