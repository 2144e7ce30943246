//! What coordinator and agent say to each other.

use std::path::PathBuf;

use iosonar_replay::ScanFigures;
use serde::{Deserialize, Serialize};

/// The version of the messages and their order. Both sides must have the same.
pub const PROTOCOL: u32 = 1;

/// The version of this program. Both sides must have the same, as options and results may differ.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The most batches of a load that wait at an agent.
pub const AHEAD: usize = 64;

/// What an agent can do; a coordinator needs all of these.
pub(crate) const CAPABILITIES: [&str; 1] = ["replay"];

/// What an agent says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentHello {
    /// The version of its program.
    pub version: String,
    /// What it can do.
    pub capabilities: Vec<String>,
    /// The name that its host has for itself.
    pub host: String,
    /// The version of its kernel.
    pub kernel: String,
    /// Its process.
    pub process: u32,
}

/// What an agent is to replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The [`ReplaySpec`](iosonar_replay::ReplaySpec) as JSON. Its target is on the agent's host.
    pub spec: String,
    /// What is in the load.
    pub scan: ScanFigures,
    /// The name of the load, for messages.
    pub load: PathBuf,
    /// What the user calls the agent's host, for messages.
    pub host: String,
}

/// A warning with its code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodedWarning {
    /// Its code.
    pub code: String,
    /// Its text.
    pub text: String,
}

/// What a target is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its size in bytes.
    pub size: u64,
    /// The size of its blocks in bytes.
    pub block: u64,
    /// Why results would not be those of the storage.
    pub fakes: Vec<String>,
    /// What deserves attention.
    pub remarks: Vec<CodedWarning>,
}

/// How a replay on a host ended. The later in this order, the worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// All was done as asked.
    #[default]
    Done,
    /// Something makes the results questionable.
    Flagged,
    /// It was asked to end.
    Interrupted,
    /// The device or the disk ended it.
    Failed,
}

/// The results of a replay on a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// When time zero was, on the host's monotonic clock, in nanoseconds.
    pub began_at: Option<u64>,
    /// How many records it sent.
    pub records: u64,
    /// Whether the load was followed, in words.
    pub verdict: String,
    /// Warnings of the replay.
    pub remarks: Vec<CodedWarning>,
    /// All results, as `replay --json` prints them.
    pub json: serde_json::Value,
}

/// How far a replay is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Running {
    /// Requests that are complete or were left out.
    pub done: u64,
    /// Requests in flight.
    pub in_flight: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Recent start delays in nanoseconds: median and 99 % quantile.
    pub delay: [u64; 2],
    /// Recent latencies in nanoseconds: median and 99 % quantile.
    pub latency: [u64; 2],
}

/// From the coordinator. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToAgent {
    /// The first message.
    Hello {
        /// The version of the coordinator's program.
        version: String,
    },
    /// Open the target; the load follows.
    Prepare(Order),
    /// Report the time.
    Ping {
        /// When the question was sent, on the coordinator's monotonic clock.
        sent: u64,
    },
    /// The load is complete.
    LoadEnds,
    /// Start the replay.
    Start {
        /// Time zero, on the agent's monotonic clock.
        at: u64,
    },
    /// Start no more requests; if repeated, cancel those in flight.
    Stop,
    /// There is nothing more to do.
    Goodbye,
}

/// From an agent. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToCoordinator {
    /// The first message.
    Hello(AgentHello),
    /// The target is open.
    Ready(Facts),
    /// The order is refused.
    Refused {
        /// Why.
        problem: String,
        /// Whether the order is at fault, and not what happened.
        is_refusal: bool,
    },
    /// The time.
    Pong {
        /// When the question was sent, on the coordinator's monotonic clock.
        sent: u64,
        /// When it was received, on the agent's monotonic clock.
        received: u64,
        /// When it was answered, on the agent's monotonic clock.
        answered: u64,
        /// How far the agent's time since 1970 is ahead of its monotonic clock.
        wall: i64,
    },
    /// The replay has taken a batch of the load.
    Taken,
    /// How far it is.
    Running(Running),
    /// All records have been sent.
    Ended(Box<Report>),
    /// The replay broke off.
    Failed {
        /// Why.
        problem: String,
    },
}

impl ToAgent {
    /// Its name, for messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "hello",
            Self::Prepare(_) => "prepare",
            Self::Ping { .. } => "ping",
            Self::LoadEnds => "load-ends",
            Self::Start { .. } => "start",
            Self::Stop => "stop",
            Self::Goodbye => "goodbye",
        }
    }
}
