//! Putting together what a replay found out.

use iosonar_trace::TraceError;
use iosonar_trace::transform::beginning;
use iosonar_units::Nanos;

use crate::error::Failure;
use crate::fake::{Fake, FakeOf};
use crate::feeder::Fed;
use crate::lane::Lane;
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
        summary.verdict = match i {
            0 => verdict,
            _ => summary.verdict.or(verdict),
        };
        summary.pushed_back += watch.pushed_back;
        summary.ordered_waits += watch.ordered_waits;
        summary.elapsed = summary.elapsed.max(watch.last_completion);
        summary.demanded += watch.missed_when_due;
        summary.own_lateness.merge(&watch.own_lateness);
        summary
            .fakes
            .extend(target_fakes(&targets[i], &lane, targets.len()));
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

fn target_fakes<'a>(
    target: &'a Target,
    lane: &Lane<'_>,
    targets: usize,
) -> impl Iterator<Item = FakeOf> + use<'a> {
    let zeros = lane
        .contents
        .only_zeros()
        .filter(|_| target.device_number().is_some());
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
