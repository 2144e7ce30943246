//! What a replay found out, and whether it can be trusted.

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

pub use crate::recorder::Times;

/// Whether the replay did what the load says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Requests were started when the load says.
    KeptUp,
    /// The device could not keep up with the load: from this time on, requests waited for it.
    DeviceLimited {
        /// When it began, on the replay's clock.
        from: Nanos,
    },
    /// This machine or this program started requests late although nothing was in the way: more
    /// than 1 % by more than 100 us, or more than 0.1 % by more than 1 ms, beyond what chance
    /// explains.
    ReplayerLimited {
        /// The shares of requests that were more than 100 us, more than 1 ms late.
        late: [f64; 2],
    },
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::KeptUp => f.write_str("kept up"),
            Self::DeviceLimited { from } => write!(f, "device-limited from {from}"),
            Self::ReplayerLimited { late } => write!(
                f,
                "replayer-limited: this machine started requests late although nothing was in the \
                 way ({:.2} % more than 100 µs, {:.2} % more than 1 ms)",
                100.0 * late[0],
                100.0 * late[1]
            ),
        }
    }
}

/// The outcome of a replay.
#[derive(Clone, Debug)]
pub struct Summary {
    /// `io_uring` or `threads`.
    pub engine: &'static str,
    /// Why it is not the engine that was hoped for.
    pub engine_note: Option<String>,
    /// Why the results may not be those of the storage.
    pub fakes: Vec<String>,
    /// All requests of the load's window.
    pub requests: u64,
    /// Those that were done.
    pub completed: u64,
    /// Writes that were left out.
    pub skipped: u64,
    /// Those that failed, with the first `errno`.
    pub errors: u64,
    /// The first failure's `errno`.
    pub first_errno: Option<u16>,
    /// Those that moved fewer bytes than they should.
    pub short: u64,
    /// Those that were never started.
    pub missed: u64,
    /// Whether the user ended the replay.
    pub interrupted: bool,
    /// The times of the reads.
    pub reads: Times,
    /// The times of all other requests.
    pub writes: Times,
    /// Completed requests handed over less than 100 us, 1 ms, 10 ms late.
    pub on_time: [u64; 3],
    /// How late requests were handed over when nothing was in the way.
    pub own_lateness: Distribution,
    /// From the window's beginning to the last completion.
    pub elapsed: Nanos,
    /// From the window's beginning to the intended start of its last request.
    pub intended: Nanos,
    /// Sectors moved.
    pub sectors: u64,
    /// The most requests at the device at once.
    pub most_in_flight: usize,
    /// Whether the load was followed.
    pub verdict: Verdict,
}

impl Summary {
    /// Whether something makes the results questionable: the exit code is 3 then.
    pub fn is_flagged(&self) -> bool {
        self.errors + self.short > 0
            || self.missed > 0 && !self.interrupted
            || matches!(self.verdict, Verdict::ReplayerLimited { .. })
    }
}
