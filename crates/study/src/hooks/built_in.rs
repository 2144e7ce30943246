//! The hooks that are built in.

mod iscsi;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use iosonar_trace::output::WholeFile;
use toml::{Table, Value};

use super::around::{Around, HookError};
use super::child::run_child;
use super::file::Phase;
use super::stop::Stop;

/// A hook that is built in, with its options.
#[derive(Clone, Debug)]
pub(super) struct BuiltIn {
    kind: Kind,
    options: Table,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scheduler,
    Fill,
    Slurp,
    LogicalVolume,
    IscsiTarget,
    IscsiInitiator,
    Discard,
    SecureErase,
    Smart,
    Plot,
    Command,
}

/// Kinds by their names, with their options: those that must be there, and those that may.
const KINDS: [(&str, Kind, &[&str], &[&str]); 11] = [
    ("scheduler", Kind::Scheduler, &["scheduler"], &[]),
    ("fill", Kind::Fill, &[], &["compressible"]),
    ("slurp", Kind::Slurp, &[], &[]),
    (
        "logical-volume",
        Kind::LogicalVolume,
        &["group", "name", "size"],
        &["options"],
    ),
    (
        "iscsi-target",
        Kind::IscsiTarget,
        &["iqn"],
        &["device", "name", "portal"],
    ),
    (
        "iscsi-initiator",
        Kind::IscsiInitiator,
        &["iqn"],
        &["portal", "device", "timeout_s"],
    ),
    ("discard", Kind::Discard, &[], &[]),
    ("secure-erase", Kind::SecureErase, &[], &[]),
    ("smart", Kind::Smart, &[], &[]),
    ("plot", Kind::Plot, &[], &["charts"]),
    (
        "command",
        Kind::Command,
        &[],
        &[
            "prepare_command",
            "setup",
            "run_command",
            "cleanup",
            "finish",
        ],
    ),
];

/// Where the tools come from.
const PACKAGES: [(&str, &str); 9] = [
    ("lvcreate", "lvm2"),
    ("lvremove", "lvm2"),
    ("lvs", "lvm2"),
    ("targetcli", "targetcli-fb"),
    ("iscsiadm", "open-iscsi"),
    ("blkdiscard", "util-linux"),
    ("smartctl", "smartmontools"),
    ("udevadm", "udev"),
    ("sh", "dash"),
];

impl BuiltIn {
    /// All names.
    pub(super) const NAMES: [&'static str; 11] = {
        let mut names = [""; 11];
        let mut i = 0;
        while i < names.len() {
            names[i] = KINDS[i].0;
            i += 1;
        }
        names
    };

    /// Whether it acts on devices of this machine.
    pub(super) fn is_of_this_machine(&self) -> bool {
        !matches!(self.kind, Kind::Scheduler | Kind::Plot | Kind::Command)
    }

    /// Whether it makes another device the target.
    pub(super) fn changes_target(&self) -> bool {
        matches!(
            self.kind,
            Kind::LogicalVolume | Kind::IscsiTarget | Kind::IscsiInitiator
        )
    }

    /// The hook of this name.
    pub(super) fn new(name: &str, options: &Table) -> Result<Self, String> {
        let Some((_, kind, needed, optional)) = KINDS.iter().find(|(known, ..)| *known == name)
        else {
            return Err(format!(
                "has an unknown built-in '{name}': expected one of {}",
                Self::NAMES.join(", ")
            ));
        };
        if let Some(missing) = needed.iter().find(|key| !options.contains_key(**key)) {
            return Err(format!("uses '{name}', which needs '{missing}'"));
        }
        let known = |key: &str| needed.contains(&key) || optional.contains(&key);
        if let Some(unknown) = options.keys().find(|key| !known(key)) {
            let all: Vec<&str> = needed.iter().chain(*optional).copied().collect();
            let expected = if all.is_empty() {
                "none".to_owned()
            } else {
                all.join(", ")
            };
            return Err(format!(
                "gives '{name}' an unknown option '{unknown}', expected {expected}"
            ));
        }
        for (key, value) in options {
            let is_fine = match key.as_str() {
                "options" => strings(value).is_some(),
                "compressible" => matches!(value, Value::Integer(0..=100)),
                "timeout_s" => matches!(value, Value::Integer(1..=86_400)),
                _ => value.is_str(),
            };
            if !is_fine {
                return Err(format!(
                    "gives '{name}' the option '{key}' = {value}, which has the wrong type"
                ));
            }
        }
        Ok(Self {
            kind: *kind,
            options: options.clone(),
        })
    }

    fn option(&self, key: &str) -> Option<&str> {
        self.options.get(key).and_then(Value::as_str)
    }

    /// Does what the hook does in this phase.
    pub(super) fn act(
        &self,
        around: &mut Around<'_>,
        phase: Phase,
        is_well: bool,
    ) -> Result<(), HookError> {
        match (self.kind, phase) {
            (Kind::Scheduler, Phase::Setup) => {
                // The replay sets it, and restores it however it ends.
                let name = self.option("scheduler").unwrap_or_default();
                let value = Value::String(name.to_owned()).to_string();
                around.settings.retain(|(key, _)| key != "scheduler");
                around.settings.push(("scheduler".to_owned(), value));
                Ok(())
            }
            (Kind::Fill, Phase::Prepare) => {
                let compressible = self.options.get("compressible").map(Value::to_string);
                for target in destroyable(around, "fill")? {
                    let mut words = vec![
                        "prepare",
                        "fill",
                        "--quiet",
                        "--target",
                        &target,
                        "--write",
                        "--destroy",
                        &target,
                    ];
                    if let Some(percent) = &compressible {
                        words.extend(["--compressible", percent]);
                    }
                    own(around, &words, "fill", phase)?;
                }
                Ok(())
            }
            (Kind::Slurp, Phase::Prepare) => {
                for target in targets(around, "slurp")? {
                    own(
                        around,
                        &["prepare", "slurp", "--quiet", "--target", &target],
                        "slurp",
                        phase,
                    )?;
                }
                Ok(())
            }
            (Kind::LogicalVolume, Phase::Prepare) => self.logical_volume(around, phase),
            (Kind::IscsiTarget, Phase::Setup) => self.export(around, phase),
            (Kind::IscsiTarget, Phase::Cleanup) => self.withdraw(around, phase),
            (Kind::IscsiInitiator, Phase::Setup) => self.log_in(around, phase),
            (Kind::IscsiInitiator, Phase::Cleanup) => self.log_out(around, phase),
            (Kind::Discard, Phase::Prepare) => erase(around, "discard", &[], phase),
            (Kind::SecureErase, Phase::Prepare) => {
                erase(around, "secure-erase", &["--secure"], phase)
            }
            (Kind::Smart, Phase::Setup) => smart(around, "before"),
            (Kind::Smart, Phase::Cleanup) => smart(around, "after"),
            (Kind::Plot, Phase::Finish) if is_well => self.plot(around, phase),
            (Kind::Command, _) => {
                let key = match phase {
                    Phase::Prepare => "prepare_command",
                    Phase::Run => "run_command",
                    other => other.name(),
                };
                match self.option(key) {
                    Some(line) => tool(around, "sh", &["-c", line], phase).map(|_| ()),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    /// Deletes the volume if it is there, and creates it anew.
    fn logical_volume(&self, around: &mut Around<'_>, phase: Phase) -> Result<(), HookError> {
        let of = |key| self.option(key).unwrap_or_default().to_owned();
        let (group, name, size) = (of("group"), of("name"), of("size"));
        let volume = format!("{group}/{name}");
        let device = format!("/dev/{volume}");
        let is_there = {
            let mut command = Command::new("lvs");
            command.args(["--noheadings", &volume]);
            let ended =
                run_child(&mut command, &[], None).map_err(|e| missing("lvs", phase, &e))?;
            ended.status.success()
        };
        if is_there {
            may_destroy(around, "logical-volume", &device)?;
            tool(around, "lvremove", &["--force", "--yes", &volume], phase)?;
        }
        let more = self
            .options
            .get("options")
            .and_then(strings)
            .unwrap_or_default();
        let mut words = vec!["--yes", "--name", &name, "--size", &size];
        words.extend(more.iter().map(String::as_str));
        words.push(&group);
        tool(around, "lvcreate", &words, phase)?;
        around.targets = vec![device];
        Ok(())
    }

    /// All charts of the run, and its page.
    fn plot(&self, around: &mut Around<'_>, phase: Phase) -> Result<(), HookError> {
        let folder = around.folder.to_owned();
        let records = folder.join(crate::sweep::RECORDS);
        if !records.exists() {
            return Err(HookError::Failed(format!(
                "{phase}: plot: there are no records; set 'records = true'"
            )));
        }
        let (records, page) = (text(&records), text(&folder.join("report.html")));
        own(
            around,
            &["report", "--quiet", &records, "--out", &page],
            "plot",
            phase,
        )?;
        if let Some(charts) = self.option("charts") {
            for chart in charts.split([',', ' ']).filter(|chart| !chart.is_empty()) {
                let out = match chart {
                    "all" => text(&folder),
                    one => text(&folder.join(format!("{one}.png"))),
                };
                own(
                    around,
                    &["plot", chart, "--quiet", &records, "--out", &out],
                    "plot",
                    phase,
                )?;
            }
        }
        Ok(())
    }
}

/// Whether a hook has made this; it is taken away now.
fn take_made(around: &mut Around<'_>, what: &str) -> bool {
    let before = around.made.len();
    around.made.retain(|made| made != what);
    around.made.len() < before
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn strings(value: &Value) -> Option<Vec<String>> {
    let list = value.as_array()?.iter();
    list.map(|v| v.as_str().map(str::to_owned)).collect()
}

fn targets(around: &Around<'_>, name: &str) -> Result<Vec<String>, HookError> {
    if around.targets.is_empty() {
        return Err(HookError::Failed(format!("{name}: the run has no target")));
    }
    Ok(around.targets.clone())
}

/// The targets, if all may be destroyed.
fn destroyable(around: &Around<'_>, name: &str) -> Result<Vec<String>, HookError> {
    let targets = targets(around, name)?;
    for target in &targets {
        may_destroy(around, name, target)?;
    }
    Ok(targets)
}

/// Whether a target is among those whose content may be destroyed, by whatever path.
pub fn may_be_destroyed(allowed: &[PathBuf], target: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    allowed.iter().any(|path| real(path) == real(target))
}

fn may_destroy(around: &Around<'_>, name: &str, target: &str) -> Result<(), HookError> {
    if may_be_destroyed(around.destroy, Path::new(target)) {
        return Ok(());
    }
    Err(HookError::Failed(format!(
        "{name}: refused: all data on {target} would be lost; use --destroy {target} to allow this"
    )))
}

/// Runs a command of this program.
fn own(around: &mut Around<'_>, words: &[&str], name: &str, phase: Phase) -> Result<(), HookError> {
    let mut command = Command::new(around.program);
    command.args(words);
    around.call(&mut command, name, phase).map(|_| ())
}

/// Runs a tool of the system.
fn tool(
    around: &mut Around<'_>,
    name: &str,
    words: &[&str],
    phase: Phase,
) -> Result<Vec<u8>, HookError> {
    let mut command = Command::new(name);
    command.args(words);
    if !is_on_path(name, around) {
        return Err(missing(name, phase, &io::ErrorKind::NotFound.into()));
    }
    around.call(&mut command, name, phase)
}

fn is_on_path(name: &str, around: &Around<'_>) -> bool {
    let path = around.env.iter().rev().find(|(key, _)| key == "PATH");
    let path = path
        .map(|(_, value)| value.into())
        .or_else(|| std::env::var_os("PATH"));
    let folders = path.unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| folder.join(name).is_file())
}

/// The error where a tool cannot be started.
fn missing(name: &str, phase: Phase, error: &io::Error) -> HookError {
    let package = PACKAGES
        .iter()
        .find(|(tool, _)| *tool == name)
        .map(|(_, package)| *package);
    HookError::Failed(match (error.kind(), package) {
        (io::ErrorKind::NotFound, Some(package)) => {
            format!("{phase}: {name} is not installed; install the package {package}")
        }
        _ => format!("{phase}: {name}: cannot be started: {error}"),
    })
}

fn erase(
    around: &mut Around<'_>,
    name: &str,
    more: &[&str],
    phase: Phase,
) -> Result<(), HookError> {
    for target in destroyable(around, name)? {
        let mut words = more.to_vec();
        words.push(&target);
        tool(around, "blkdiscard", &words, phase)?;
    }
    Ok(())
}

/// Keeps what the targets say of themselves.
fn smart(around: &mut Around<'_>, when: &str) -> Result<(), HookError> {
    /// The bits of its exit code that mean that there is no answer; the others describe the drive's health.
    const NO_ANSWER: i32 = 0b11;
    let phase = if when == "before" {
        Phase::Setup
    } else {
        Phase::Cleanup
    };
    for (i, target) in targets(around, "smart")?.into_iter().enumerate() {
        let mut command = Command::new("smartctl");
        command.args(["--json", "--attributes", "--health", &target]);
        around.log.add(&format!("{phase}: smartctl {target}"));
        let stop: Option<&Stop> = None;
        let ended =
            run_child(&mut command, &[], stop).map_err(|e| missing("smartctl", phase, &e))?;
        let number = if i == 0 {
            String::new()
        } else {
            format!("-{}", i + 1)
        };
        let path = around.folder.join(format!("smart-{when}{number}.json"));
        WholeFile::write_all(&path, &ended.output)
            .map_err(|e| HookError::Failed(format!("{}: cannot write: {e}", path.display())))?;
        if ended.status.code().is_none_or(|code| code & NO_ANSWER != 0) {
            return Err(HookError::Failed(format!(
                "{phase}: smart: smartctl got no response from {target} ({}); see smart-{when}{number}.json",
                ended.how()
            )));
        }
    }
    Ok(())
}
