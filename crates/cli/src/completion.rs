//! Completion of command lines.
//!
//! The script that a shell loads asks this program for candidates, with the words typed so far: so they fit the version
//! that is installed, and can be what is there at this moment, such as block devices.

use std::ffi::{OsStr, OsString};
use std::io;

use clap::builder::Str;
use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};
use iosonar_guard::Host;
use iosonar_replay::verify::Verify;
use iosonar_replay::{EngineKind, ThreadPriority};
use iosonar_report::CATALOGUE;
use iosonar_study::profiles;
use iosonar_trace::{Format, formats};

use crate::low::Shell;
use crate::render::messages;

/// The variable by which a script asks for candidates.
const VARIABLE: &str = "IOSONAR_COMPLETE";
/// What the script calls, from the PATH.
const PROGRAM: &str = "iosonar";

/// Prints candidates if the script of a shell asks for them, and returns whether it did.
pub(crate) fn answer(
    arguments: &[OsString],
    command: fn() -> Command,
) -> Result<bool, clap::Error> {
    let current = std::env::current_dir().ok();
    CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .try_complete(arguments.iter().cloned(), current.as_deref())
}

/// The script that lets `shell` complete the command.
pub(crate) fn script(shell: Shell) -> io::Result<Vec<u8>> {
    let shell: &dyn EnvCompleter = match shell {
        Shell::Bash => &Bash,
        Shell::Zsh => &Zsh,
        Shell::Fish => &Fish,
        Shell::Elvish => &Elvish,
        Shell::Powershell => &Powershell,
    };
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    Ok(script)
}

/// `argument` with the candidates for its values.
pub(crate) fn offered(argument: Arg) -> Arg {
    let value = argument.get_value_names().and_then(<[_]>::first);
    let source = match (argument.get_id().as_str(), value.map(Str::as_str)) {
        (_, Some("DEV")) => Source::devices,
        (_, Some("CHART")) => Source::charts,
        (_, Some("CODE")) => Source::codes,
        (_, Some("PROFILE" | "CANDIDATE")) | ("name", Some("NAME")) => Source::profiles,
        ("format" | "to", Some("NAME")) => Source::formats,
        ("engine", _) => Source::engines,
        ("priority", _) => Source::priorities,
        ("verify", _) => Source::verifications,
        _ => return argument,
    };
    argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
        source().complete(typed)
    }))
}

/// Where candidates come from.
struct Source {
    names: Vec<String>,
    /// A file will do as well.
    or_file: bool,
}

impl Source {
    fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            names: names.into_iter().map(str::to_owned).collect(),
            or_file: false,
        }
    }

    fn or_file(self) -> Self {
        Self {
            or_file: true,
            ..self
        }
    }

    fn devices() -> Self {
        let devices = Host::default().block_devices();
        let names = devices.iter().map(|path| path.display().to_string());
        Self {
            names: names.collect(),
            or_file: true,
        }
    }

    fn charts() -> Self {
        Self::of(CATALOGUE.iter().map(|entry| entry.name).chain(["all"]))
    }

    fn codes() -> Self {
        Self::of(messages::all().map(|message| message.code))
    }

    fn profiles() -> Self {
        let all = profiles::all().unwrap_or_default();
        let names = all.iter().map(|profile| profile.name.as_str());
        Self::of(names.chain(["ssd"])).or_file()
    }

    fn formats() -> Self {
        Self::of(formats::all().into_iter().map(Format::name))
    }

    fn engines() -> Self {
        Self::of(EngineKind::ALL.map(|(_, name)| name))
    }

    fn priorities() -> Self {
        Self::of(ThreadPriority::ALL.map(|(_, name)| name))
    }

    fn verifications() -> Self {
        Self::of(Verify::ALL.map(|(_, name)| name))
    }

    /// Those that begin with what has been typed.
    fn complete(self, typed: &OsStr) -> Vec<CompletionCandidate> {
        let begins = |name: &String| typed.to_str().is_some_and(|typed| name.starts_with(typed));
        let mut all: Vec<_> = self
            .names
            .into_iter()
            .filter(begins)
            .map(CompletionCandidate::new)
            .collect();
        // Before anything has been typed, the files of the folder would hide the names.
        if self.or_file && (all.is_empty() || !typed.is_empty()) {
            all.extend(PathCompleter::any().complete(typed));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: Source, typed: &str) -> Vec<String> {
        let candidates = source.complete(OsStr::new(typed));
        candidates
            .iter()
            .map(|c| c.get_value().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn candidates_begin_with_what_was_typed() {
        assert_eq!(names(Source::verifications(), "pa"), ["paranoid"]);
        assert_eq!(names(Source::verifications(), "x"), [""; 0]);
        assert_eq!(names(Source::codes(), "W00")[0], "W001");
        assert!(names(Source::charts(), "").contains(&"all".to_owned()));
    }

    #[test]
    fn a_profile_may_be_a_file() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mine.toml"), "").unwrap();
        let typed = format!("{}/mi", dir.path().display());
        let found = names(Source::profiles(), &typed);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].ends_with("mine.toml"));
        assert_eq!(names(Source::formats(), &typed), [""; 0]);
    }
}
