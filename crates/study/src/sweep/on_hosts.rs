//! Replays on several hosts at once: each run is a replay against one clock, with an agent on each host.

use std::path::PathBuf;
use std::thread;

use iosonar_hosts::Shell;
use iosonar_units::Nanos;

use super::here::Here;
use super::{Base, Done, Failure, Run, Runner, SweepError, Task};
use crate::elsewhere::hosts::{Copies, Participant, check_version};
use crate::hooks::{HookError, Stop};

/// Hosts that replay at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostsSpec {
    /// The hosts with their targets.
    pub participants: Vec<Participant>,
    /// The ssh client with its options.
    pub ssh: String,
    /// What is run there.
    pub program: ProgramThere,
    /// How long a silent host is waited for.
    pub timeout: Nanos,
}

/// This program on the hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgramThere {
    /// It is there, and is run by this command.
    Installed(String),
    /// It is copied to them for the sweep.
    Copied,
}

/// Carries replays out on several hosts at once.
pub(super) struct Hosts<'a> {
    here: &'a Here<'a>,
    spec: &'a HostsSpec,
    /// The command that runs this program there.
    program: String,
    /// Removed at the end.
    _copies: Option<Copies>,
}

impl<'a> Hosts<'a> {
    /// Checks that all hosts can be reached, and have this program.
    pub(super) fn new(
        spec: &'a HostsSpec,
        here: &'a Here<'a>,
        stop: &Stop,
    ) -> Result<Self, SweepError> {
        let elsewhere = |problems: Vec<String>| {
            SweepError::Elsewhere(format!("--hosts: {}", problems.join("; ")))
        };
        let shell = Shell::new(&spec.ssh);
        let hosts = spec.participants.iter().map(|p| p.host.as_str());
        let hosts: Vec<&str> = hosts.collect();
        let (program, copies) = match &spec.program {
            ProgramThere::Installed(program) => (program.clone(), None),
            ProgramThere::Copied => {
                let mut copies = Copies::new(&shell)
                    .map_err(|e| elsewhere(vec![format!("/dev/urandom: {e}")]))?;
                copies
                    .make(&here.program, &hosts, stop)
                    .map_err(elsewhere)?;
                (copies.program(), Some(copies))
            }
        };
        let wrong: Vec<String> = thread::scope(|scope| {
            let (shell, program) = (&shell, &program);
            let is_copied = copies.is_some();
            let check = |host| {
                scope.spawn(move || check_version(shell, host, program, is_copied, stop).err())
            };
            let tasks: Vec<_> = hosts.iter().copied().map(check).collect();
            let joined = tasks.into_iter().map(thread::ScopedJoinHandle::join);
            joined
                .filter_map(|wrong| wrong.expect("checking a host does not panic"))
                .collect()
        });
        if !wrong.is_empty() {
            return Err(elsewhere(wrong));
        }
        Ok(Self {
            here,
            spec,
            program,
            _copies: copies,
        })
    }

    /// Simulations need no hosts, hooks act on this machine, and each host needs a target.
    pub(super) fn check(spec: &HostsSpec, here: &Here<'_>, runs: &[Run]) -> Result<(), SweepError> {
        if let Some(run) = runs.iter().find(|run| run.base != Base::Replay) {
            return Err(SweepError::Elsewhere(format!(
                "--hosts needs a replay, but {} is a simulation: use --on slurm instead",
                run.path.display()
            )));
        }
        let mut hooks = runs.iter().flat_map(|run| &run.common.hooks);
        if let Some(hook) = hooks.find(|hook| hook.is_of_this_machine()) {
            return Err(SweepError::Elsewhere(format!(
                "--hosts: the hook '{}' would act on the devices of this machine, not on those of the hosts",
                hook.name()
            )));
        }
        let names_no_host = |path: &&PathBuf| !path.to_string_lossy().contains(":/");
        if let Some(path) = here.destroy.iter().find(names_no_host) {
            return Err(SweepError::Elsewhere(format!(
                "--destroy {0} does not name a host: use --destroy HOST:{0}",
                path.display()
            )));
        }
        for run in runs {
            let of_run = here.targets(run);
            let mut participants = spec.participants.iter();
            let without = participants.find(|p| p.names(&of_run).next().is_none());
            if let Some(Participant { host, .. }) = without {
                return Err(SweepError::Elsewhere(format!(
                    "--hosts: {host} has no target in run {}: use {host}:/dev/NAME, or set 'target' in [replay]",
                    run.path.display()
                )));
            }
            here.check_on_hosts(run)?;
        }
        Ok(())
    }
}

impl HostsSpec {
    /// The targets of a run on these hosts, as its replay names them.
    pub(super) fn names(&self, of_run: &[String]) -> Vec<String> {
        let names = self.participants.iter().flat_map(|p| p.names(of_run));
        names.collect()
    }
}

impl Runner for Hosts<'_> {
    fn ask_operator(&self, run: &Run, what: &str, stop: &Stop) -> Result<(), HookError> {
        self.here.ask_operator(run, what, stop)
    }

    fn carry_out(&self, task: &mut Task<'_, '_>) -> Result<Done, Failure> {
        let targets = self.spec.names(&task.around.targets);
        let timeout = self.spec.timeout.to_string();
        let targets_of_all = targets.join(",");
        let words = [
            "--hosts",
            &targets_of_all,
            "--ssh",
            &self.spec.ssh,
            "--host-timeout",
            &timeout,
        ];
        let now = [&words[..], &["--host-program", &self.program]].concat();
        // A copy is gone when the command is given again.
        let again = match self.spec.program {
            ProgramThere::Installed(_) => &now[..],
            ProgramThere::Copied => &words[..],
        };
        self.here.replay(task, &targets, &now, again)
    }

    fn targets(&self, run: &Run) -> Vec<String> {
        self.here.targets(run)
    }

    fn is_one_at_a_time(&self) -> bool {
        // All hosts take part in each.
        true
    }
}
