//! Replays on several hosts against one clock.
//!
//! ```text
//!  coordinator                                        host
//!  ───────────                                        ────
//!  load ──► loader ──┐                   ┌──► receiver ──► load ──► replay ──► device
//!                    ├─► ssh HOST ... ───┤                            │
//!  records ◄─ merge ◄┘   iosonar agent   └──◄ records, progress ◄─────┘
//! ```
//!
//! The coordinator starts `iosonar agent` on each host, by `ssh HOST iosonar agent` or another command, and speaks with it
//! over the agent's standard input and output: no port, no daemon, and no security but that of ssh. The agent does what
//! a replay on one machine does. It has no configuration and keeps nothing; it touches the target that the coordinator names, and
//! ends when its standard input does.
//!
//! # A replay
//!
//! 1. Both sides introduce themselves ([`Frames`], [`AgentHello`]). Different versions are refused.
//! 2. The coordinator names the target and the options ([`Order`]). The agent examines and opens the target as for a local
//!    replay, and reports what it is ([`Facts`]) or why it refuses. Nothing starts before all agents are ready.
//! 3. Requests are sent as the replay takes them: at most [`AHEAD`] batches wait at the agent, which reports each that was
//!    taken. Receiving never blocks, so questions about the time are answered at once.
//! 4. The offset of each host's monotonic clock is measured ([`Clock`]). One instant of the coordinator's monotonic
//!    clock is translated to each host's, and all replays start at that instant.
//! 5. Records come back as requests complete, with the progress; the offset is measured all the while.
//! 6. Each agent reports its results. The offset is measured again, and the agent is dismissed.
//!
//! # What fails
//!
//! A host is lost if its connection ends, if it is silent for too long, or if it sends what cannot be understood. The others go on. What
//! is known of a lost host's requests are the records that arrived; all others count as not done. For each host, planned
//! requests = done + failed + left out + not done ([`Tally`]), and where the host reported its results, this is
//! checked against them.
//!
//! An agent whose standard input ends stops: it starts no more requests, cancels those in flight, and closes its target.

mod agent;
mod clock;
mod coordinator;
mod frame;
mod message;
mod shell;
mod tally;

pub use agent::{AgentError, Refusal, Worker, run_agent};
pub use clock::{Clock, Drift, Sample, monotonic, since_1970};
pub use coordinator::{
    Connected, HostOutcome, HostsError, HostsOutcome, Loss, Member, Patience, Prepared, Seen,
    Start, connect,
};
pub use frame::{FrameError, Frames, MOST_BYTES, Received};
pub use message::{
    AHEAD, AgentHello, CodedWarning, Ending, Facts, Order, PROTOCOL, Report, Running, ToAgent,
    ToCoordinator, VERSION,
};
pub use shell::{Shell, is_host_name};
pub use tally::Tally;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
