//! How a ring is set up.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::kind::EngineKind;
use crate::ReplayError;
use crate::os::thread;

/// How a ring is set up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RingOptions {
    /// A kernel thread submits (SQPOLL): it needs a processor of its own.
    #[serde(rename = "sqpoll")]
    pub submission_thread: bool,
    /// Completions are polled for at the device (IOPOLL), which needs poll queues there.
    #[serde(rename = "iopoll")]
    pub poll_completions: bool,
    /// When the kernel does its part of a completion.
    pub task_work: TaskWork,
    /// Buffers are not registered.
    pub plain_buffers: bool,
}

/// The kernel's thread (SQPOLL), the replay's, and the rest of the machine: with fewer, the two keep each other waiting.
pub(super) const SQPOLL_PROCESSORS: usize = 3;

impl RingOptions {
    /// The options, by their names on the command line, that are not the default and that this engine has no use for.
    pub(crate) fn unused_by(self, engine: EngineKind) -> Vec<&'static str> {
        let default = Self::default();
        let has_ring = matches!(engine, EngineKind::IoUring | EngineKind::Passthrough);
        let registers = engine == EngineKind::IoUring;
        [
            ("--sqpoll", self.submission_thread, has_ring),
            ("--iopoll", self.poll_completions, has_ring),
            (
                "--engine-opt task-work",
                self.task_work != default.task_work,
                has_ring,
            ),
            ("--engine-opt buffers=plain", self.plain_buffers, registers),
        ]
        .into_iter()
        .filter(|(_, is_given, is_used)| *is_given && !is_used)
        .map(|(name, ..)| name)
        .collect()
    }

    /// Refuses what this machine is too small for.
    ///
    /// # Errors
    /// [`ReplayError::Refused`] if a kernel thread is to submit and fewer than three processors are usable.
    pub fn check(&self) -> Result<(), ReplayError> {
        let usable = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        if !self.submission_thread || usable >= SQPOLL_PROCESSORS {
            return Ok(());
        }
        Err(ReplayError::Refused(format!(
            "--sqpoll needs at least {SQPOLL_PROCESSORS} usable CPUs, one of them for the kernel thread alone (this \
             process may use {usable}): remove the option, or allow more CPUs (taskset, cpu.max of the cgroup)"
        )))
    }
}

/// When the kernel does its part of a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskWork {
    /// At once, interrupting the thread.
    Interrupt,
    /// When the thread enters the kernel, which it does as soon as a flag says that there is
    /// something (`COOP_TASKRUN`).
    #[default]
    #[serde(rename = "coop")]
    Cooperative,
    /// When the thread asks for completions (`DEFER_TASKRUN`).
    #[serde(rename = "defer")]
    Deferred,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_is_given_and_that_an_engine_has_no_use_for_is_named() {
        let all = [
            "--sqpoll",
            "--iopoll",
            "--engine-opt task-work",
            "--engine-opt buffers=plain",
        ];
        for (engine, used) in [
            (EngineKind::IoUring, 4),
            (EngineKind::Passthrough, 3),
            (EngineKind::Sync, 0),
            (EngineKind::Threads, 0),
            (EngineKind::Dry, 0),
            (EngineKind::Simulate, 0),
        ] {
            assert!(RingOptions::default().unused_by(engine).is_empty());
            for (i, name) in all.into_iter().enumerate() {
                for task_work in [TaskWork::Interrupt, TaskWork::Deferred] {
                    let one = RingOptions {
                        submission_thread: i == 0,
                        poll_completions: i == 1,
                        task_work: if i == 2 {
                            task_work
                        } else {
                            TaskWork::default()
                        },
                        plain_buffers: i == 3,
                    };
                    let unused = if i < used { vec![] } else { vec![name] };
                    assert_eq!(one.unused_by(engine), unused, "{engine:?}");
                }
            }
            let every = RingOptions {
                submission_thread: true,
                poll_completions: true,
                task_work: TaskWork::Interrupt,
                plain_buffers: true,
            };
            assert_eq!(every.unused_by(engine), all[used..]);
        }
    }

    #[test]
    fn only_a_thread_of_the_kernel_needs_processors() {
        assert!(RingOptions::default().check().is_ok());
        let usable = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let polling = RingOptions {
            submission_thread: true,
            ..RingOptions::default()
        };
        assert_eq!(polling.check().is_ok(), usable >= 3);
    }
}
