//! What a replay found out, and whether it can be trusted.

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

pub use crate::recorder::Times;
use crate::verdict::Verdict;

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
    /// Whether failed requests ended the replay.
    pub too_many_errors: bool,
    /// Why the records could not be written; what was written before is in a `.part` file.
    pub records_error: Option<String>,
    /// How often the session had to wait for whoever writes the records.
    pub record_stalls: u64,
    /// The times of the reads.
    pub reads: Times,
    /// The times of the writes.
    pub writes: Times,
    /// The times of the flushes.
    pub flushes: Times,
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
        self.errors + self.short + self.record_stalls > 0
            || self.missed > 0 && !self.interrupted
            || matches!(self.verdict, Verdict::ReplayerLimited { .. })
    }
}
