//! The engine that submits requests.

#![allow(clippy::doc_markdown)] // The texts of the help.

use std::str::FromStr;

use clap::Args;
use iosonar_replay::{EngineKind, RingOptions, TaskWork};
use iosonar_units::Nanos;

use super::named;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Engine")]
pub(crate) struct EngineArgs {
    /// Submit requests with this engine
    ///
    /// NAME is auto, io_uring, sync (one at a time), threads, passthrough (NVMe commands to a character device such as
    /// /dev/ng0n1), dry (submits nothing) or simulate (a model completes the requests).
    #[arg(long, alias = "ioengine", value_name = "NAME", default_value = "auto", value_parser = engine)]
    pub(crate) engine: EngineKind,
    /// Complete every request after TIME [default: 100us]
    ///
    /// Requires --engine simulate.
    #[arg(
        long,
        help_heading = "Simulated device",
        value_name = "TIME",
        conflicts_with = "model"
    )]
    pub(crate) latency: Option<Nanos>,
    /// Complete requests as this disk profile predicts
    ///
    /// Requires --engine simulate. PROFILE is the name of a profile or a .toml file. The disk serves requests in order
    /// of arrival, at random positions.
    #[arg(long, help_heading = "Simulated device", value_name = "PROFILE")]
    pub(crate) model: Option<String>,
    /// Seed the random choices of --model with N [default: 1]
    #[arg(
        long,
        help_heading = "Simulated device",
        value_name = "N",
        alias = "randseed",
        requires = "model"
    )]
    pub(crate) seed: Option<u64>,
    /// Submit with a kernel thread (io_uring SQPOLL)
    #[arg(long, alias = "sqthread_poll")]
    pub(crate) sqpoll: bool,
    /// Poll the device for completions (IOPOLL)
    ///
    /// The device needs poll queues, and the engine must be io_uring or passthrough.
    #[arg(long, alias = "hipri")]
    pub(crate) iopoll: bool,
    /// Set a rarely needed option of io_uring [repeatable]
    ///
    /// 'task-work' sets when the kernel does its part of a completion: interrupt, coop or defer [default: coop].
    /// 'buffers' is registered or plain [default: registered].
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) engine_opt: Vec<EngineOption>,
}

/// An option of an engine for users who study the engine itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineOption {
    TaskWork(TaskWork),
    PlainBuffers(bool),
}

impl FromStr for EngineOption {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "task-work=interrupt" => Self::TaskWork(TaskWork::Interrupt),
            "task-work=coop" => Self::TaskWork(TaskWork::Cooperative),
            "task-work=defer" => Self::TaskWork(TaskWork::Deferred),
            "buffers=registered" => Self::PlainBuffers(false),
            "buffers=plain" => Self::PlainBuffers(true),
            _ => {
                return Err(
                    "expected task-work=interrupt, coop or defer, or buffers=registered or plain"
                        .to_owned(),
                );
            }
        })
    }
}

impl EngineArgs {
    pub(super) fn ring(&self) -> RingOptions {
        let mut ring = RingOptions {
            submission_thread: self.sqpoll,
            poll_completions: self.iopoll,
            ..RingOptions::default()
        };
        for option in &self.engine_opt {
            match *option {
                EngineOption::TaskWork(when) => ring.task_work = when,
                EngineOption::PlainBuffers(plain) => ring.plain_buffers = plain,
            }
        }
        ring
    }
}

fn engine(text: &str) -> Result<EngineKind, String> {
    named(
        &EngineKind::ALL,
        if text == "io-uring" { "io_uring" } else { text },
    )
}
