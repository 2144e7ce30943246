//! A replay under way: signals and live view.

use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::ProgressBar;
use iosonar_replay::{Control, Progress, StopRequest, Summary, Target, VerificationNote, replay};
use iosonar_report::grouped;
use iosonar_study::replay::{RecordsTo, ReplayPlan};

use super::screen::{Painter, Screen};
use crate::beside::{Working, beside};
use crate::live::Tee;
use crate::render::progress::{is_hidden, style, verifying};
use crate::signals;

/// Replays as planned, with a live view, and ends early at a signal.
pub(crate) fn carry_out(
    plan: &ReplayPlan,
    records: Option<&RecordsTo<'_>>,
    quiet: bool,
    watch: bool,
) -> anyhow::Result<Summary> {
    carry_out_past(None, plan, records, quiet, watch)
}

/// The same; the records pass by `tee`.
pub(super) fn carry_out_past(
    tee: Option<Tee>,
    plan: &ReplayPlan,
    records: Option<&RecordsTo<'_>>,
    quiet: bool,
    watch: bool,
) -> anyhow::Result<Summary> {
    let records = records.map(|to| plan.records_to(to)).transpose()?;
    let records = match tee {
        Some(tee) => Some(tee.before(records, &plan.provenance()?)),
        None => records,
    };
    let screen = watch.then(|| Screen::new(&plan.load_names())).flatten();
    let records = match &screen {
        Some(screen) => Some(screen.seeing(records, &plan.provenance()?)),
        None => records,
    };
    signals::watch()?;
    let devices = plan.devices()?;
    let progress = Progress::default();
    let known = plan.loads.iter().all(|load| load.scan.is_known);
    let requests = plan.loads.iter().map(|load| load.scan.requests).sum();
    let bar = match (is_hidden(quiet) || watch, known) {
        (true, _) => ProgressBar::hidden(),
        (_, true) => ProgressBar::new(requests),
        (_, false) => ProgressBar::new_spinner(),
    };
    bar.set_style(style(if known {
        "{bar:20} {percent} %, {msg}, {eta} left"
    } else {
        "{spinner} {msg}"
    })?);
    let stop = StopRequest::default();
    // Where there is no thread for it, there is no live view, and signals are seen at the end.
    let watcher = |working: &Working| {
        let mut live = Live::default();
        let mut painter = screen.clone().map(Painter::new);
        let mut signals = signals::PassedOn::default();
        loop {
            signals.pass_on(|| stop.ask());
            live.show(&bar, &progress);
            if let Some(painter) = &mut painter {
                painter.show(|| live.words(&progress));
            }
            if !working.goes_on(Duration::from_millis(50)) {
                break;
            }
        }
        if let Some(painter) = &mut painter {
            painter.end();
        }
    };
    let mut summary = beside(watcher, || {
        replay(
            &plan.loads,
            &plan.targets,
            devices,
            &plan.options,
            records,
            Control {
                stop: &stop,
                progress: &progress,
            },
        )
    })?;
    bar.finish_and_clear();
    final_pass(&mut summary, &plan.targets, quiet)?;
    Ok(summary)
}

/// What the live view shows, and what it must remember for it.
#[derive(Default)]
struct Live {
    last: Option<(Instant, u64)>,
    rate: f64,
}

impl Live {
    fn show(&mut self, bar: &ProgressBar, progress: &Progress) {
        let done = progress.done();
        let (since, before) = *self.last.get_or_insert((Instant::now(), done));
        let passed = since.elapsed();
        if passed >= Duration::from_millis(500) {
            self.rate = (done - before) as f64 / passed.as_secs_f64();
            self.last = Some((Instant::now(), done));
        }
        if !bar.is_hidden() {
            bar.set_position(done);
            bar.set_message(self.words(progress));
        }
    }

    fn words(&self, progress: &Progress) -> String {
        let ([delay, late], [latency, slow]) = (progress.delay(), progress.latency());
        format!(
            "{} requests/s, {} in flight, delay {delay} / {late}, latency {latency} / {slow} (p50 / p99), \
             {} failed",
            grouped(self.rate as u64),
            progress.in_flight(),
            progress.errors()
        )
    }
}

/// Reads what was written again, where that is wanted.
fn final_pass(summary: &mut Summary, targets: &[Target], quiet: bool) -> anyhow::Result<()> {
    for (of, target) in summary.targets.iter_mut().zip(targets) {
        if of.tables.is_none() {
            continue;
        }
        if signals::count() > 0 {
            let left_out = VerificationNote::FinalPassLeftOut;
            summary.notes.push(left_out.into());
            of.tables = None;
            summary.is_unverified = true;
            continue;
        }
        let (passed, whole) = verifying(quiet, |progress| of.final_pass(target, progress))?;
        passed.context("cannot verify")?;
        if !whole {
            summary.is_unverified = true;
            let interrupted = VerificationNote::FinalPassInterrupted;
            summary.notes.push(interrupted.into());
        }
    }
    Ok(())
}
