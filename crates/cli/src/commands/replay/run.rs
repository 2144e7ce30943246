//! A replay under way: signals, live view, the file of records.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use iosonar_replay::{
    Beyond, Control, Progress, StopRequest, Summary, Target, VerificationNote, replay,
};
use iosonar_report::{Notice, grouped};
use iosonar_trace::transform::beginning;
use iosonar_trace::{Batch, Metadata, TraceError, TraceWriter, WriteOptions, input, output};
use iosonar_units::Nanos;

use super::ReplayPlan;
use super::screen::{Painter, Screen};
use crate::beside::{Working, beside};
use crate::render::progress::verifying;
use crate::signals;

/// Where results go.
pub(crate) struct Results<'a> {
    pub(crate) out: Option<&'a Path>,
    /// The start of the window in the output's times.
    pub(crate) out_from: Option<Nanos>,
    pub(crate) quiet: bool,
    /// Whether the sonar diagram is drawn while it runs.
    pub(crate) watch: bool,
    /// Whether records are to survive a loss of power.
    pub(crate) durable: bool,
}

/// Replays as planned, with a live view, and ends early at a signal.
pub(crate) fn carry_out(plan: &ReplayPlan, results: &Results<'_>) -> anyhow::Result<Summary> {
    let records = results
        .out
        .map(|path| records_to(path, plan, results))
        .transpose()?;
    let screen = results
        .watch
        .then(|| Screen::new(&load_names(plan)))
        .flatten();
    let records = match &screen {
        Some(screen) => Some(screen.seeing(records, &provenance(plan)?)),
        None => records,
    };
    signals::watch()?;
    let devices = plan.devices()?;
    let progress = Progress::default();
    let known = plan.loads.iter().all(|load| load.scan.is_known);
    let requests = plan.loads.iter().map(|load| load.scan.requests).sum();
    let bar = match (results.quiet || results.watch, known) {
        (true, _) => ProgressBar::hidden(),
        (_, true) => ProgressBar::new(requests),
        (_, false) => ProgressBar::new_spinner(),
    };
    bar.set_style(ProgressStyle::with_template(if known {
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
    final_pass(&mut summary, &plan.targets, results.quiet)?;
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
    for (told, target) in summary.targets.iter_mut().zip(targets) {
        if told.tables.is_none() {
            continue;
        }
        if signals::count() > 0 {
            let left_out = VerificationNote::FinalPassLeftOut;
            summary.notes.push(left_out.into());
            told.tables = None;
            summary.is_unverified = true;
            continue;
        }
        let (passed, whole) = verifying(quiet, |progress| told.final_pass(target, progress))?;
        passed.context("cannot verify")?;
        if !whole {
            summary.is_unverified = true;
            let interrupted = VerificationNote::FinalPassInterrupted;
            summary.notes.push(interrupted.into());
        }
    }
    Ok(())
}

fn records_to(
    path: &Path,
    plan: &ReplayPlan,
    results: &Results<'_>,
) -> Result<Box<dyn TraceWriter>, TraceError> {
    let options = WriteOptions {
        durable: results.durable,
        ..WriteOptions::default()
    };
    let mut writer = output::create_with(path, &provenance(plan)?, &options)?;
    // From now on a kill leaves a file that can be read.
    writer.flush()?;
    Ok(match (results.out_from, plan.loads.first()) {
        (Some(to), Some(load)) => Box::new(Shifted {
            writer,
            from: beginning(&load.reading.changes),
            to,
            batch: Batch::default(),
        }),
        _ => writer,
    })
}

/// Writes records with another beginning of time.
struct Shifted {
    writer: Box<dyn TraceWriter>,
    from: Nanos,
    to: Nanos,
    batch: Batch,
}

impl TraceWriter for Shifted {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        self.batch.clone_from(batch);
        for start in self.batch.starts_mut() {
            *start = start.saturating_sub(self.from).saturating_add(self.to);
        }
        self.writer.write(&self.batch)
    }

    fn left_out(&self) -> u64 {
        self.writer.left_out()
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.writer.flush()
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        self.writer.finish()
    }
}

/// The names of files, each once.
fn listed<'a>(paths: impl Iterator<Item = &'a Path>) -> String {
    let mut names: Vec<String> = paths.map(|p| p.display().to_string()).collect();
    names.dedup();
    names.join(", ")
}

fn load_names(plan: &ReplayPlan) -> String {
    listed(plan.loads.iter().map(|load| load.path.as_path()))
}

/// What is written above the records: the load's own notices, where the records come from, and why
/// they may not be of the storage.
pub(super) fn provenance(plan: &ReplayPlan) -> Result<Metadata, TraceError> {
    let Some(load) = plan.loads.first() else {
        return Ok(Metadata::default());
    };
    let mut metadata = if load.scan.is_known {
        input::open_with(&load.path, &load.reading.options)?
            .metadata()
            .clone()
    } else {
        Metadata::default()
    };
    let loads = load_names(plan);
    let targets = listed(plan.targets.iter().map(Target::path));
    let of_system = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
    for (name, value) in [
        ("tool", Ok(format!("iosonar {}", env!("CARGO_PKG_VERSION")))),
        ("replayed", Ok(loads.clone())),
        ("target", Ok(targets.clone())),
        ("host", of_system("hostname")),
        ("kernel", of_system("osrelease")),
    ] {
        // What the system does not tell is not told.
        if let Ok(value) = value {
            let value = value.trim().to_owned();
            metadata.about.insert(name.to_owned(), value);
        }
    }
    if plan.targets.len() > 1 {
        metadata.devices = plan
            .targets
            .iter()
            .map(|target| target.path().display().to_string())
            .collect();
    }
    metadata.notices.push(format!(
        "# iosonar {}: {loads} replayed on {targets}",
        env!("CARGO_PKG_VERSION"),
    ));
    let mut fakes: Vec<String> = plan
        .targets
        .iter()
        .flat_map(Target::fakes)
        .map(ToString::to_string)
        .collect();
    if !plan.options.engine.is_real() {
        fakes.push("no target was accessed".to_owned());
    }
    metadata
        .notices
        .extend(fakes.iter().map(|fake| Notice::Fake(fake).to_string()));
    let mut warnings = Vec::new();
    if plan.options.verification.is_tagging() {
        let warning =
            "contents were verified or tagged during the replay, which takes time of its own";
        warnings.push(warning.to_owned());
    }
    if let ([load], [target]) = (&plan.loads[..], &plan.targets[..]) {
        let factor = load.scan.wraparound_factor(target.size());
        let how = match plan.options.fit.beyond {
            Beyond::Wrap => Some("wraparound"),
            Beyond::Scale => Some("scaled"),
            Beyond::Clip => Some("cut off"),
            Beyond::Refuse => None,
        };
        if let Some(how) = how.filter(|_| factor > 1.0) {
            warnings.push(format!(
                "{how}: the load reaches {factor:.2} times as far as the target, so its positions are not those \
                 of the load"
            ));
        }
    }
    let lines = warnings
        .iter()
        .map(|warning| Notice::Warning(warning).to_string());
    metadata.notices.extend(lines);
    Ok(metadata)
}
