//! What a replay found out, and whether it can be trusted.

use std::path::PathBuf;

use iosonar_stats::Distribution;
use iosonar_trace::Remark;
use iosonar_units::Nanos;

use crate::fake::FakeOf;
use crate::note::Note;
use crate::results::TimesByKind;
use crate::shared::EndedEarly;
use crate::verify::{Expect, Findings, Kind, PassProgress, Survival, Tables, check_again};
use crate::watch::Episode;
use crate::{
    Fitted, Interference, LATENESS_LIMITS, SelfCheckPoint, Target, ThreadPriority, Verdict,
};

/// The outcome of a replay.
#[derive(Debug, Default)]
pub struct Summary {
    /// What the engine is called that was used.
    pub engine: &'static str,
    /// What the user should know: why it is not the engine that was hoped for, what the system refused.
    pub notes: Vec<Note>,
    /// Why the results may not be those of the storage.
    pub fakes: Vec<FakeOf>,
    /// All requests of the load's window.
    pub requests: u64,
    /// Those that were done.
    pub completed: u64,
    /// Those that were left out on purpose: writes, and what lies beyond the target's end.
    pub skipped: u64,
    /// Those that were left out because they conflicted with others in flight.
    pub dropped: u64,
    /// Those that waited for others that overlap them.
    pub pushed_back: u64,
    /// How often everything waited for a conflict to end.
    pub ordered_waits: u64,
    /// Those that were given up at the device.
    pub cancelled: u64,
    /// Those that failed.
    pub errors: u64,
    /// The first failure's `errno`.
    pub first_errno: Option<u16>,
    /// The number of the target that it happened on, where there are several.
    pub first_error_on: Option<usize>,
    /// Those that moved fewer bytes than they should.
    pub short: u64,
    /// Those that were never started.
    pub missed: u64,
    /// Completed requests whose content was wrong.
    pub verify_failed: u64,
    /// Completed requests that are in no statistic because they should start before the warm-up ended.
    pub warming_up: u64,
    /// How long the warm-up lasted.
    pub warmup: Nanos,
    /// When time zero was, on this machine's monotonic clock; `None` if the clock was not set.
    pub began_at: Option<Nanos>,
    /// Why the replay ended before the load did.
    pub early: Option<EndedEarly>,
    /// Whether requests were still at the device when it ended.
    pub abandoned: bool,
    /// Why the records could not be written; what was written before is in a `.part` file.
    pub records_error: Option<String>,
    /// How often the session had to wait for the writer of the records.
    pub record_stalls: u64,
    /// Processor time of the threads that submit.
    pub processor_time: Nanos,
    /// How these were scheduled.
    pub priority: ThreadPriority,
    /// What other threads of the machine cost them.
    pub interference: Interference,
    /// The times of the requests.
    pub times: TimesByKind,
    /// Completed requests submitted at most this late, for each of [`LATENESS_LIMITS`].
    pub on_time: [u64; LATENESS_LIMITS.len()],
    /// How much later requests were submitted than by a replay that is never late by its own fault.
    pub own_lateness: Distribution,
    /// From the window's beginning to the last completion.
    pub elapsed: Nanos,
    /// From the window's beginning to the intended start of its last request.
    pub intended: Nanos,
    /// Sectors moved.
    pub sectors: u64,
    /// Whether the load was followed.
    pub verdict: Verdict,
    /// What the replay did besides submission, over time.
    pub self_check: Vec<SelfCheckPoint>,
    /// The results of each target.
    pub targets: Vec<TargetSummary>,
    /// Whether contents were verified, or at least tagged, which costs time.
    pub is_verified: bool,
    /// Whether the final pass of the verification was left out or broken off.
    pub is_unverified: bool,
    /// Whether the log of tables could not be written in full.
    pub tables_lost: bool,
    /// Whether another process changed a setting of a queue that was to hold during the replay.
    pub setting_lost: bool,
    /// The share of requests that may be dropped.
    pub max_dropped: f64,
}

/// The results of one target.
#[derive(Debug)]
pub struct TargetSummary {
    /// Which.
    pub path: PathBuf,
    /// Whether its load was followed.
    pub verdict: Verdict,
    /// Requests that were done.
    pub done: u64,
    /// Requests that failed, transferred too few bytes or were given up.
    pub failed: u64,
    /// The most requests at the device at once.
    pub most_in_flight: usize,
    /// The most requests that were pushed back at once.
    pub most_pushed_back: u32,
    /// When requests were submitted more than a second late.
    pub episodes: Vec<Episode>,
    /// Requests submitted per second in that time.
    pub overload_rate: Option<f64>,
    /// What was changed in the load to fit the target.
    pub fitted: Fitted,
    /// What the reading of its load remarked: requests that were left out, rows that could not be read.
    pub remarks: Vec<Remark>,
    /// What is wrong with its contents.
    pub findings: Findings,
    /// What the final pass compares the target with, if one is wanted.
    pub tables: Option<Tables>,
    /// The run's number in the tags.
    pub run: u64,
}

impl TargetSummary {
    /// Whether none of its requests was done.
    fn has_done_nothing(&self) -> bool {
        self.verdict == Verdict::NotJudged
    }

    /// Reads again what was written to `target`, and adds to the findings. `progress` ends it with
    /// `false`.
    ///
    /// # Errors
    /// If there is no memory for a buffer.
    pub fn final_pass(
        &mut self,
        target: &Target,
        progress: impl FnMut(PassProgress) -> bool,
    ) -> std::io::Result<Survival> {
        match self.tables.take() {
            None => Ok(Survival::default()),
            Some(tables) => check_again(
                target,
                self.run,
                &tables,
                Expect {
                    only_durable: false,
                    all_known: true,
                },
                &mut self.findings,
                progress,
            ),
        }
    }
}

impl Summary {
    /// Whether something makes the results questionable: the exit code is 3 then.
    pub fn is_flagged(&self) -> bool {
        self.errors + self.short + self.record_stalls + self.faults() + self.cancelled > 0
            || self.abandoned
            || self.early.is_none() && self.targets.iter().any(TargetSummary::has_done_nothing)
            || self.is_unverified
            || self.early == Some(EndedEarly::Runtime)
            || self.missed > 0 && self.early != Some(EndedEarly::Interrupted)
            || self.tables_lost
            || self.setting_lost
            || self.has_dropped_too_many()
            || matches!(
                self.verdict,
                Verdict::ReplayerLimited { .. } | Verdict::InFlightLimited { .. }
            )
    }

    /// Whether more was dropped than allowed.
    pub fn has_dropped_too_many(&self) -> bool {
        self.dropped as f64 > self.max_dropped * self.requests as f64
    }

    /// How often a sector was found wrong.
    pub fn faults(&self) -> u64 {
        self.targets.iter().map(|t| t.findings.faults()).sum()
    }

    /// How often a sector was found wrong in this way.
    pub fn faults_of(&self, kind: Kind) -> u64 {
        let counts = self.targets.iter().map(|t| t.findings.counts.get(&kind));
        counts.flatten().sum()
    }

    /// The most requests at one device at once.
    pub fn most_in_flight(&self) -> usize {
        let most = self.targets.iter().map(|t| t.most_in_flight).max();
        most.unwrap_or_default()
    }

    /// Completed requests per second of the time they took.
    pub fn throughput(&self) -> f64 {
        self.completed as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }
}
