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
    /// Requests that were due between the end of the warm-up and that of the replay, and not left out on purpose.
    pub demanded: u64,
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
    /// From the window's beginning to the last completion, or to the end of a replay that ended early.
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
    /// Requests that were left out on purpose.
    pub skipped: u64,
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

    /// Completed requests that are in the statistics, as they were due after the warm-up.
    pub fn measured(&self) -> u64 {
        self.completed.saturating_sub(self.warming_up)
    }

    /// How long was measured: what rates are per.
    pub fn measured_for(&self) -> Nanos {
        self.elapsed.saturating_sub(self.warmup)
    }

    /// Completed requests per second of the time they took, both after the warm-up.
    pub fn throughput(&self) -> f64 {
        self.measured() as f64 / self.measured_for().as_secs_f64().max(1e-9)
    }

    /// Requests per second that the load demanded in the time that was measured; `None` if all at once.
    pub fn demanded_rate(&self) -> Option<f64> {
        let until = self.intended.min(self.elapsed);
        let seconds = until.saturating_sub(self.warmup).as_secs_f64();
        (seconds > 0.0).then(|| self.demanded as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{InFlightLimit, Intent};
    use iosonar_guard::Host;
    use iosonar_trace::{Op, Request};
    use iosonar_units::{Bytes, Sector, Sectors};

    fn of_target(verdict: Verdict) -> TargetSummary {
        TargetSummary {
            path: PathBuf::from("x"),
            verdict,
            done: 1,
            failed: 0,
            skipped: 0,
            most_in_flight: 1,
            most_pushed_back: 0,
            episodes: Vec::new(),
            overload_rate: None,
            fitted: Fitted::default(),
            remarks: Vec::new(),
            findings: Findings::default(),
            tables: None,
            run: 1 << 16,
        }
    }

    fn good() -> Summary {
        Summary {
            requests: 1000,
            completed: 1000,
            max_dropped: 0.05,
            targets: vec![of_target(Verdict::KeptUp)],
            ..Summary::default()
        }
    }

    /// A change of a good summary, and whether it is questionable then.
    type Case = (&'static str, fn(&mut Summary), bool);

    fn check(cases: &[Case]) {
        for (what, change, is_flagged) in cases {
            let mut summary = good();
            change(&mut summary);
            assert_eq!(summary.is_flagged(), *is_flagged, "{what}");
        }
    }

    #[test]
    fn what_went_wrong_makes_results_questionable() {
        check(&[
            ("nothing", |_| (), false),
            ("one failed", |s| s.errors = 1, true),
            ("one was short", |s| s.short = 1, true),
            ("one was given up", |s| s.cancelled = 1, true),
            (
                "the writer of records was slow",
                |s| s.record_stalls = 1,
                true,
            ),
            ("some are still there", |s| s.abandoned = true, true),
            ("no final pass", |s| s.is_unverified = true, true),
            ("no log", |s| s.tables_lost = true, true),
            ("a setting was changed", |s| s.setting_lost = true, true),
            ("left out on purpose", |s| s.skipped = 500, false),
            ("waited for others", |s| s.pushed_back = 500, false),
            (
                "a sector was wrong",
                |s| s.targets[0].findings.add(Kind::Zeros, 8, 1, None),
                true,
            ),
        ]);
    }

    #[test]
    fn an_end_before_that_of_the_load_counts_unless_the_user_wanted_it() {
        use EndedEarly::{Interrupted, Runtime};
        check(&[
            ("missed", |s| s.missed = 1, true),
            (
                "interrupted",
                |s| (s.missed, s.early) = (1, Some(Interrupted)),
                false,
            ),
            ("interrupted late", |s| s.early = Some(Interrupted), false),
            ("out of time", |s| s.early = Some(Runtime), true),
            ("gone", |s| s.early = Some(EndedEarly::DeviceGone), false),
        ]);
    }

    #[test]
    fn a_load_that_was_not_followed_makes_results_questionable_unless_it_is_the_device() {
        const FROM: Nanos = Nanos::SECOND;
        check(&[
            (
                "by the device",
                |s| s.verdict = Verdict::DeviceLimited { from: FROM },
                false,
            ),
            (
                "by this machine",
                |s| s.verdict = Verdict::ReplayerLimited { late: [0.5; 4] },
                true,
            ),
            (
                "by an option",
                |s| {
                    let limit = InFlightLimit {
                        option: "--in-flight",
                        requests: 1,
                    };
                    s.verdict = Verdict::InFlightLimited { limit, from: FROM };
                },
                true,
            ),
            (
                "a target that did nothing",
                |s| s.targets.push(of_target(Verdict::NotJudged)),
                true,
            ),
            (
                "a target that had no time to do anything",
                |s| {
                    s.targets.push(of_target(Verdict::NotJudged));
                    s.early = Some(EndedEarly::Interrupted);
                },
                false,
            ),
        ]);
    }

    #[test]
    fn a_share_may_be_dropped_and_no_more() {
        // 5 % of 1000.
        for (dropped, is_too_many) in [(0, false), (50, false), (51, true)] {
            let summary = Summary { dropped, ..good() };
            assert_eq!(summary.has_dropped_too_many(), is_too_many, "{dropped}");
            assert_eq!(summary.is_flagged(), is_too_many, "{dropped}");
        }
    }

    #[test]
    fn throughput_is_that_of_the_time_it_took() {
        let summary = Summary {
            completed: 30,
            elapsed: Nanos::from_secs(2),
            ..Summary::default()
        };
        assert!((summary.throughput() - 15.0).abs() < 1e-9);
        assert!(Summary::default().throughput().abs() < 1e-9);
    }

    #[test]
    fn rates_are_those_of_the_time_after_the_warm_up_and_before_the_end() {
        let secs = Nanos::from_secs;
        let warm = Summary {
            completed: 3000,
            warming_up: 1000,
            demanded: 2500,
            warmup: secs(1),
            elapsed: secs(5),
            intended: secs(3),
            ..Summary::default()
        };
        assert!((warm.throughput() - 500.0).abs() < 1e-9);
        assert!((warm.demanded_rate().unwrap() - 1250.0).abs() < 1e-9);
        // It ended early, after 2 s of 60.
        let early = Summary {
            completed: 20,
            demanded: 40,
            elapsed: secs(2),
            intended: secs(60),
            ..Summary::default()
        };
        assert!((early.throughput() - 10.0).abs() < 1e-9);
        assert!((early.demanded_rate().unwrap() - 20.0).abs() < 1e-9);
        assert_eq!(Summary::default().demanded_rate(), None);
    }

    #[test]
    fn figures_of_several_targets_are_put_together() {
        let mut summary = good();
        summary.targets.push(of_target(Verdict::KeptUp));
        summary.targets[1].most_in_flight = 7;
        for (target, kind) in [(0, Kind::Torn), (1, Kind::Torn), (1, Kind::Zeros)] {
            summary.targets[target].findings.add(kind, 8, 1, None);
        }
        assert_eq!((summary.faults(), summary.most_in_flight()), (3, 7));
        assert_eq!(summary.faults_of(Kind::Torn), 2);
        assert_eq!(summary.faults_of(Kind::Foreign), 0);
        assert_eq!(Summary::default().most_in_flight(), 0);
    }

    #[test]
    fn the_final_pass_reads_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target");
        std::fs::write(&path, [0; 16 * 512]).unwrap();
        let intent = Intent {
            buffered: true,
            ..Intent::default()
        };
        let target = Target::open(&path, &intent, &Host::default()).unwrap();
        let mut tables = Tables::new(Bytes::new(1 << 30), folder.path().to_owned());
        let write = Request {
            op: Op::Write,
            sector: Sector::new(4),
            sectors: Sectors::new(8),
            ..Request::default()
        };
        let number = tables.write_starts(&write).unwrap();
        tables.write_ends(number, &write, true, true);
        let mut summary = TargetSummary {
            tables: Some(tables),
            ..of_target(Verdict::KeptUp)
        };
        // The write never arrived: the file still holds zeros.
        let survival = summary.final_pass(&target, |_| true).unwrap();
        assert_eq!(survival.durable, 8);
        assert_eq!(summary.findings.counts[&Kind::Zeros], 8);
        // There is nothing to compare with any more.
        let again = summary.final_pass(&target, |_| true).unwrap();
        assert_eq!(again, Survival::default());
        assert_eq!(summary.findings.faults(), 8);
    }
}
