//! Putting together what a replay found out.

use iosonar_trace::TraceError;
use iosonar_trace::transform::beginning;
use iosonar_units::Nanos;

use crate::error::Failure;
use crate::fake::{Fake, FakeOf};
use crate::feeder::Fed;
use crate::note::{TargetNote, VerificationNote};
use crate::results::Counts;
use crate::session::Ended;
use crate::summary::TargetSummary;
use crate::verify::Findings;
use crate::watch::Watch;
use crate::{EngineKind, InFlightLimit, Load, Options, Summary, Target, Verdict};

/// How a replay went, thread by thread.
pub(super) struct ThreadsEnded<'a> {
    pub(super) sessions: Vec<std::io::Result<(Result<(), Failure>, Ended<'a>)>>,
    pub(super) counts: Counts,
    pub(super) written: Result<(), TraceError>,
    pub(super) fed: Vec<Fed>,
}

/// The summary of a target without its contents.
fn target_summary(target: &Target, verdict: Verdict, watch: &Watch, fed: Fed) -> TargetSummary {
    let [done, failed] = watch.done_and_failed();
    TargetSummary {
        path: target.path().to_owned(),
        verdict,
        done,
        failed,
        skipped: 0,
        most_in_flight: watch.most_in_flight,
        most_pushed_back: watch.most_pushed_back,
        episodes: watch.episodes(),
        overload_rate: watch.overload_rate(),
        fitted: fed.fitted,
        remarks: fed.remarks,
        findings: Findings::default(),
        tables: None,
        run: 0,
    }
}

/// What was counted of the requests of all loads.
fn counted(loads: &[Load], targets: usize, counts: Counts) -> Summary {
    let recorded = counts.completed
        + counts.skipped
        + counts.dropped
        + counts.cancelled
        + counts.errors
        + counts.short;
    let known = loads.iter().all(|load| load.scan.is_known);
    let requests = match known {
        true => loads.iter().map(|load| load.scan.requests).sum(),
        false => recorded + counts.missed,
    };
    Summary {
        requests,
        completed: counts.completed,
        skipped: counts.skipped,
        dropped: counts.dropped,
        cancelled: counts.cancelled,
        missed: requests.saturating_sub(recorded),
        verify_failed: counts.verify_failed,
        warming_up: counts.warming_up,
        demanded: counts.demanded,
        errors: counts.errors,
        first_errno: counts.first_error.map(|(errno, _)| errno),
        first_error_on: counts.first_error_on(targets),
        short: counts.short,
        on_time: counts.on_time,
        intended: loads
            .iter()
            .map(|load| {
                load.scan
                    .last_start
                    .saturating_sub(beginning(&load.reading.changes))
            })
            .max()
            .unwrap_or_default(),
        sectors: counts.sectors,
        times: counts.times,
        ..Summary::default()
    }
}

pub(super) fn summarise(
    loads: &[Load],
    targets: &[Target],
    counts: Counts,
    ended: Ended<'_>,
    places: &[(u32, Option<InFlightLimit>)],
    fed: Vec<Fed>,
) -> Summary {
    let Ended {
        engine,
        notes,
        lanes,
        at,
        early,
        abandoned,
        record_stalls,
        processor_time,
        priority,
        interference,
        self_check,
    } = ended;
    let skipped: Vec<u64> = (0..targets.len())
        .map(|i| counts.skipped_on(i, targets.len()))
        .collect();
    let mut summary = Summary {
        engine,
        notes,
        early,
        // What was demanded up to an early end counts, even if nothing was completed for a while.
        elapsed: early.map_or(Nanos::ZERO, |_| at),
        abandoned,
        record_stalls,
        processor_time,
        priority,
        interference,
        self_check,
        ..counted(loads, targets.len(), counts)
    };
    for ((i, mut lane), fed) in lanes.into_iter().enumerate().zip(fed) {
        let (most, limit) = places[i];
        let verdict = lane.watch.verdict(at, most as usize, limit);
        let watch = &lane.watch;
        // That there is nothing to judge is said at the end (`mark`).
        summary.verdict = summary.verdict.or(verdict);
        summary.pushed_back += watch.pushed_back;
        summary.ordered_waits += watch.ordered_waits;
        summary.elapsed = summary.elapsed.max(watch.last_completion);
        // How long a stream is, is known at its end.
        if !loads[i].scan.is_known {
            summary.intended = summary.intended.max(watch.last_planned());
        }
        summary.demanded += watch.missed_when_due;
        summary.own_lateness.merge(&watch.own_lateness);
        summary.fakes.extend(target_fakes(
            &targets[i],
            lane.contents.only_zeros(),
            targets.len(),
        ));
        let mut target = target_summary(&targets[i], verdict, watch, fed);
        target.skipped = skipped[i];
        if let Some(verifier) = lane.take_verifier() {
            let final_pass = verifier.has_final_pass();
            let (tables, findings, run, log_error) = verifier.into_parts();
            if let Some(e) = log_error {
                let error = e.to_string();
                let lost = VerificationNote::TablesLost { error };
                summary.notes.push(lost.into());
                summary.tables_lost = true;
            }
            (target.findings, target.run) = (findings, run);
            target.tables = final_pass.then_some(tables);
        }
        summary.targets.push(target);
    }
    summary
}

/// What speaks against the results of one of this number of targets, which returned only zeros at this number of places.
fn target_fakes(
    target: &Target,
    zeros: Option<usize>,
    targets: usize,
) -> impl Iterator<Item = FakeOf> {
    let zeros = zeros.filter(|_| target.device_number().is_some());
    let zeros = zeros.map(|places| Fake::OnlyZeros { places });
    let of = (targets > 1).then(|| target.path().to_owned());
    let fakes = target.fakes().iter().copied().chain(zeros);
    fakes.map(move |fake| FakeOf {
        target: of.clone(),
        fake,
    })
}

/// What the options and the targets say of the results.
pub(super) fn mark(summary: &mut Summary, loads: &[Load], targets: &[Target], options: &Options) {
    summary.warmup = options.warmup;
    if options.engine == EngineKind::Simulate {
        summary.verdict = summary.verdict.of_model();
        for target in &mut summary.targets {
            target.verdict = target.verdict.of_model();
        }
    }
    for target in targets.iter().filter(|t| t.was_opened_by_another()) {
        let target = target.path().to_owned();
        let opened = TargetNote::OpenedByAnother { target };
        summary.notes.push(opened.into());
    }
    let writes = |load: &Load| !load.scan.is_known || load.scan.harmless < load.scan.requests;
    summary.is_verified = options.verification.is_tagging() && loads.iter().any(writes);
    if summary.measured() == 0 {
        summary.verdict = Verdict::NotJudged;
    }
    let only_warmed_up = summary.completed > 0 && summary.measured() == 0;
    for target in summary.targets.iter_mut().filter(|_| only_warmed_up) {
        target.verdict = Verdict::NotJudged;
    }
    summary.max_dropped = options.max_dropped;
    if !options.engine.is_real() {
        let fake = Fake::NoTarget {
            engine: summary.engine,
        };
        summary.fakes.insert(0, FakeOf { target: None, fake });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scan;
    use crate::verify::{Verification, Verify};
    use iosonar_trace::Reading;
    use iosonar_units::Bytes;

    fn load(scan: Scan) -> Load {
        Load {
            path: "x.load".into(),
            reading: Reading::default(),
            scan,
            arriving: None,
        }
    }

    fn scan(requests: u64, harmless: u64, is_known: bool) -> Scan {
        let mut scan = Scan::default();
        (scan.requests, scan.harmless, scan.is_known) = (requests, harmless, is_known);
        scan
    }

    /// Of one target, with a verdict that shows whether it was judged.
    fn summary(completed: u64, warming_up: u64) -> Summary {
        let verdict = Verdict::DeviceLimited { from: Nanos::ZERO };
        let target = Target::imaginary(Bytes::new(1 << 20), Bytes::new(512));
        let watch = Watch::default();
        Summary {
            completed,
            warming_up,
            verdict,
            targets: vec![target_summary(&target, verdict, &watch, Fed::default())],
            ..Summary::default()
        }
    }

    fn marked(mut summary: Summary, scan: Scan, options: &Options) -> Summary {
        let target = Target::imaginary(Bytes::new(1 << 20), Bytes::new(512));
        mark(&mut summary, &[load(scan)], &[target], options);
        summary
    }

    #[test]
    fn a_replay_is_judged_if_something_was_measured() {
        let limited = Verdict::DeviceLimited { from: Nanos::ZERO };
        for (completed, warming_up, of_all, of_target) in [
            (5, 0, limited, limited),
            (5, 4, limited, limited),
            (5, 5, Verdict::NotJudged, Verdict::NotJudged),
            // Of a target that answers nothing, the verdict stands.
            (0, 0, Verdict::NotJudged, limited),
        ] {
            let summary = summary(completed, warming_up);
            let summary = marked(summary, scan(5, 5, true), &Options::default());
            let seen = (summary.verdict, summary.targets[0].verdict);
            assert_eq!(seen, (of_all, of_target), "{completed} {warming_up}");
        }
    }

    #[test]
    fn a_replay_is_verified_if_its_writes_carry_tags_and_it_may_have_some() {
        for (requests, harmless, is_known, writes) in [
            (5, 5, true, false),
            (5, 4, true, true),
            (5, 0, true, true),
            (5, 5, false, true),
            (0, 0, false, true),
        ] {
            for level in [Verify::Off, Verify::Reads] {
                let options = Options {
                    verification: Verification {
                        level,
                        ..Verification::default()
                    },
                    ..Options::default()
                };
                let summary = marked(summary(5, 0), scan(requests, harmless, is_known), &options);
                let is_verified = writes && level == Verify::Reads;
                assert_eq!(summary.is_verified, is_verified, "{harmless} {is_known}");
            }
        }
    }

    #[test]
    fn an_engine_without_targets_is_a_fake_and_a_model_is_not_a_device() {
        let from = Nanos::ZERO;
        let (device, model) = (
            Verdict::DeviceLimited { from },
            Verdict::ModelLimited { from },
        );
        for (engine, verdict, is_fake) in [
            (EngineKind::Threads, device, false),
            (EngineKind::Dry, device, true),
            (EngineKind::Simulate, model, true),
        ] {
            let options = Options {
                engine,
                warmup: Nanos::SECOND,
                ..Options::default()
            };
            let summary = Summary {
                engine: "the engine",
                fakes: vec![FakeOf {
                    target: None,
                    fake: Fake::InMemory,
                }],
                ..summary(5, 0)
            };
            let summary = marked(summary, scan(5, 5, true), &options);
            assert_eq!(summary.warmup, Nanos::SECOND);
            assert_eq!(
                (summary.verdict, summary.targets[0].verdict),
                (verdict, verdict)
            );
            let fakes: Vec<_> = summary.fakes.iter().map(|of| of.fake).collect();
            let engine = Fake::NoTarget {
                engine: "the engine",
            };
            match is_fake {
                true => assert_eq!(fakes, [engine, Fake::InMemory]),
                false => assert_eq!(fakes, [Fake::InMemory]),
            }
        }
    }

    #[test]
    fn what_was_not_recorded_of_a_known_load_was_missed() {
        let counts = Counts {
            completed: 1,
            skipped: 2,
            dropped: 4,
            cancelled: 8,
            errors: 16,
            short: 32,
            missed: 100,
            ..Counts::default()
        };
        // 1 + 2 + 4 + 8 + 16 + 32 were recorded.
        for (loads, requests, missed) in [
            (vec![scan(70, 70, true)], 70, 7),
            (vec![scan(60, 60, true), scan(13, 13, true)], 73, 10),
            (vec![scan(60, 60, true)], 60, 0),
            (vec![scan(0, 0, false)], 163, 100),
            (vec![scan(60, 60, true), scan(0, 0, false)], 163, 100),
        ] {
            let loads: Vec<_> = loads.into_iter().map(load).collect();
            let summary = counted(&loads, loads.len(), counts.clone());
            assert_eq!((summary.requests, summary.missed), (requests, missed));
            assert_eq!((summary.completed, summary.short), (1, 32));
        }
    }

    #[test]
    fn a_load_is_meant_to_last_until_the_latest_start_after_its_beginning() {
        use iosonar_trace::transform::Change;
        let secs = Nanos::from_secs;
        let of = |last_start, from| {
            let mut load = load(scan(1, 1, true));
            load.scan.last_start = secs(last_start);
            let until = Nanos::MAX;
            load.reading.changes = vec![Change::Select {
                from: secs(from),
                until,
            }];
            load
        };
        let counts = || Counts {
            first_error: Some((5, 1)),
            ..Counts::default()
        };
        let loads = [of(30, 20), of(25, 10)];
        let summary = counted(&loads, 2, counts());
        assert_eq!(summary.intended, secs(15));
        assert_eq!(
            (summary.first_errno, summary.first_error_on),
            (Some(5), Some(1))
        );
        let summary = counted(&loads[..1], 1, counts());
        assert_eq!((summary.intended, summary.first_error_on), (secs(10), None));
    }

    #[test]
    fn a_fake_names_its_target_where_there_are_several() {
        use crate::target::imagined::Disk;
        let (disk, none) = (
            Disk::target(8),
            Target::imaginary(Bytes::new(512), Bytes::new(512)),
        );
        let fake = Fake::OnlyZeros { places: 9 };
        for (target, zeros, targets, expected) in [
            (&disk, Some(9), 1, vec![None]),
            (&disk, Some(9), 2, vec![Some(disk.path().to_owned())]),
            (&disk, Some(9), 3, vec![Some(disk.path().to_owned())]),
            (&disk, None, 2, vec![]),
            // A file may well hold zeros.
            (&none, Some(9), 1, vec![]),
        ] {
            let found: Vec<_> = target_fakes(target, zeros, targets).collect();
            let expected = expected.into_iter().map(|target| FakeOf { target, fake });
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
    }
}
