//! `iosonar replay`: a load and a target in, records and a verdict out.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use iosonar_replay::safety::Host;
use iosonar_replay::{
    Intent, Options, Progress, Scan, Summary, Target, Times, Writes, create_file, replay,
};
use iosonar_report::{FAKE_NOTICE, grouped};
use iosonar_trace::{Metadata, TraceError, input, output};
use iosonar_units::{Bytes, SECTOR_BYTES};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::args::Replay;
use crate::exit::{Ending, note, print};
use crate::files;
use crate::json::Output;
use crate::table::Table;

pub(crate) fn run(args: &Replay) -> anyhow::Result<Ending> {
    let options = Options {
        writes: match (args.write, args.skip_writes) {
            (true, _) => Writes::Do,
            (false, true) => Writes::Skip,
            (false, false) => Writes::Refuse,
        },
        reading: args.reading.reading()?,
        in_flight: args.in_flight,
        engine: args.engine.into(),
        spin: args.spin,
        max_errors: args.max_errors,
    };
    if let Some(out) = &args.out {
        output::format_for(out)?;
        files::refuse_same(&args.trace, out)?;
        files::refuse_same(&args.target, out)?;
    }
    let scan = Scan::of(&args.trace, &options)?;
    let mut intent = Intent {
        write: args.write,
        destroy: args.destroy.clone(),
        buffered: args.no_direct,
    };
    if let Some(size) = args.create {
        scan.fits_size(size, &args.target)?;
        create(&args.target, size, args.quiet)?;
        // What we made ourselves may be written to.
        intent.destroy.push(args.target.clone());
    }
    let target = Target::open(&args.target, &intent, &Host::default())?;
    scan.fits(&target)?;
    if !args.quiet {
        announce(args, &target, &scan);
    }
    let summary = carry_out(
        &args.trace,
        &scan,
        &target,
        &options,
        args.out.as_deref(),
        args.quiet,
    )?;
    if args.json {
        print(&to_json(&summary, &args.target).text())?;
    } else if !args.quiet {
        print(&describe(&summary))?;
    }
    Ok(ending(&summary))
}

/// How the command ends after a replay with this outcome.
pub(crate) fn ending(summary: &Summary) -> Ending {
    match summary {
        s if s.records_error.is_some() || s.too_many_errors => Ending::Failed,
        s if s.interrupted => Ending::Interrupted {
            signal: SIGNAL.load(Relaxed) as u8,
        },
        s if s.is_flagged() => Ending::Flagged,
        _ => Ending::Done,
    }
}

/// Makes a target file, with a progress bar.
pub(crate) fn create(path: &Path, size: Bytes, quiet: bool) -> anyhow::Result<()> {
    let bar = if quiet {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(size.get())
    };
    bar.set_style(ProgressStyle::with_template(
        "filling the target {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}",
    )?);
    let outcome = create_file(path, size, |written| bar.set_position(written));
    bar.finish_and_clear();
    Ok(outcome?)
}

fn announce(args: &Replay, target: &Target, scan: &Scan) {
    let writes = scan.requests - scan.harmless;
    let what = match (writes, args.write) {
        (0, _) => "it only reads".to_owned(),
        (n, true) => format!("{} of them WRITE to it", grouped(n)),
        (n, false) => format!("{} writes are left out", grouped(n)),
    };
    note(&format!(
        "replaying {} requests of {} on {} ({}, blocks of {}); {what}",
        grouped(scan.requests),
        args.trace.display(),
        target.path().display(),
        target.size(),
        target.block(),
    ));
    for fake in target.fakes() {
        note(&format!("FAKE: {fake}"));
    }
}

/// Replays with a progress bar, and ends early at SIGINT or SIGTERM (a second one kills).
pub(crate) fn carry_out(
    load: &Path,
    scan: &Scan,
    target: &Target,
    options: &Options,
    out: Option<&Path>,
    quiet: bool,
) -> anyhow::Result<Summary> {
    let records = out
        .map(|path| output::create(path, &provenance(load, target, options)?))
        .transpose()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The first signal asks the replay to stop, the second ends the program.
        let stopping = Arc::clone(&stop);
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, stopping)
            .and_then(|_| {
                let (number, value) = (Arc::clone(&SIGNAL), signal as usize);
                signal_hook::flag::register_usize(signal, number, value)
            })
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("cannot watch for signals")?;
    }
    let progress = Progress::default();
    let bar = if quiet {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(scan.requests)
    };
    bar.set_style(ProgressStyle::with_template(
        "{bar:30} {pos} of {len}, {msg}, {eta} left",
    )?);
    let over = AtomicBool::new(false);
    let outcome = thread::scope(|scope| {
        // Where there is no thread for it, there is no progress bar.
        let watcher = thread::Builder::new().spawn_scoped(scope, || {
            while !over.load(Relaxed) {
                bar.set_position(progress.done.load(Relaxed));
                let (flying, failed) = (&progress.in_flight, &progress.errors);
                bar.set_message(format!(
                    "{} in flight, {} failed",
                    flying.load(Relaxed),
                    failed.load(Relaxed)
                ));
                thread::park_timeout(Duration::from_millis(200));
            }
        });
        // However the replay ends, the watcher ends with it.
        let _ended = AtEnd(|| {
            over.store(true, Relaxed);
            if let Ok(watcher) = &watcher {
                watcher.thread().unpark();
            }
        });
        replay(load, scan, target, options, records, &stop, &progress)
    });
    bar.finish_and_clear();
    Ok(outcome?)
}

/// The signal that came last.
static SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(|| Arc::new(AtomicUsize::new(0)));

/// Does something when it goes out of scope, in a panic too.
struct AtEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// What is written above the records: the load's own notices, where the records come from, and why
/// they may not be of the storage.
fn provenance(load: &Path, target: &Target, options: &Options) -> Result<Metadata, TraceError> {
    let mut metadata = input::open_with(load, &options.reading.options)?
        .metadata()
        .clone();
    let of_system = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
    for (name, value) in [
        ("tool", Ok(format!("iosonar {}", env!("CARGO_PKG_VERSION")))),
        ("replayed", Ok(load.display().to_string())),
        ("target", Ok(target.path().display().to_string())),
        ("host", of_system("hostname")),
        ("kernel", of_system("osrelease")),
    ] {
        // What the system does not tell is not told.
        if let Ok(value) = value {
            let value = value.trim().to_owned();
            metadata.about.insert(name.to_owned(), value);
        }
    }
    metadata.notices.push(format!(
        "# iosonar {}: {} replayed on {}",
        env!("CARGO_PKG_VERSION"),
        load.display(),
        target.path().display()
    ));
    let fakes = target.fakes().iter();
    metadata
        .notices
        .extend(fakes.map(|fake| format!("{FAKE_NOTICE}{fake}")));
    Ok(metadata)
}

fn describe(summary: &Summary) -> String {
    let mut table = Table::of_times("");
    let kinds = [
        ("reads", &summary.reads),
        ("writes", &summary.writes),
        ("flushes", &summary.flushes),
    ];
    for (name, times) in kinds {
        if times.latency.count() > 0 {
            let Times {
                delay,
                latency,
                response_time,
            } = times;
            table.times(&format!("{name} latency"), latency);
            table.times(&format!("{name} delay"), delay);
            table.times(&format!("{name} response time"), response_time);
        }
    }
    table.times("own lateness", &summary.own_lateness);
    let mut text = table.text();
    text += &format!("  requests      {}\n", counts(summary));
    let seconds = summary.elapsed.as_secs_f64().max(1e-9);
    let mib = (summary.sectors * SECTOR_BYTES) as f64 / f64::from(1 << 20);
    text += &format!(
        "  time          {} for {} of load: {:.1} requests/s, {:.2} MiB/s, at most {} in flight\n",
        summary.elapsed,
        summary.intended,
        summary.completed as f64 / seconds,
        mib / seconds,
        grouped(summary.most_in_flight as u64),
    );
    let share = |n: u64| 100.0 * n as f64 / summary.completed.max(1) as f64;
    let [a, b, c] = summary.on_time.map(share);
    text += &format!(
        "  on time       {a:.2} % less than 100 µs late, {b:.2} % less than 1 ms, {c:.2} % less than 10 ms\n"
    );
    text += &format!("  engine        {}\n", summary.engine);
    if let Some(note) = &summary.engine_note {
        text += &format!("                {note}\n");
    }
    for fake in &summary.fakes {
        text += &format!("  FAKE          {fake}\n");
    }
    if summary.record_stalls > 0 {
        text += &format!(
            "  SLOWED        {} times the replay waited for its records to be written: latencies may be \
             too long\n",
            grouped(summary.record_stalls)
        );
    }
    if let Some(error) = &summary.records_error {
        text += &format!(
            "  RECORDS LOST  {error}; what was written before is in the file that ends in .part\n"
        );
    }
    if summary.too_many_errors {
        text += "  ENDED EARLY   more requests failed than --max-errors allows\n";
    }
    text += &format!("  verdict       {}\n", summary.verdict);
    text
}

fn counts(summary: &Summary) -> String {
    let mut parts = vec![
        format!("{} in the load", grouped(summary.requests)),
        format!("{} completed", grouped(summary.completed)),
    ];
    for (n, what) in [
        (summary.skipped, "writes left out"),
        (summary.short, "moved too few bytes"),
        (summary.missed, "never started"),
    ] {
        if n > 0 {
            parts.push(format!("{} {what}", grouped(n)));
        }
    }
    if summary.errors > 0 {
        let reason = std::io::Error::from_raw_os_error(summary.first_errno.unwrap_or(0).into());
        parts.push(format!(
            "{} failed (first: {reason})",
            grouped(summary.errors)
        ));
    }
    if summary.interrupted {
        parts.push("interrupted".to_owned());
    }
    parts.join(", ")
}

fn to_json(summary: &Summary, target: &Path) -> Output {
    let mut json = Output::new("replay");
    json.set("target", json!(target.display().to_string()));
    json.set("engine", json!(summary.engine));
    json.set("engine_note", json!(summary.engine_note));
    json.set("fakes", json!(summary.fakes));
    json.set("verdict", json!(summary.verdict.to_string()));
    json.set("interrupted", json!(summary.interrupted));
    json.set("records_error", json!(summary.records_error));
    for (op, times) in [
        ("read", &summary.reads),
        ("write", &summary.writes),
        ("flush", &summary.flushes),
    ] {
        let labels = json!({ "op": op });
        json.times("latency", &labels, &times.latency, None);
        json.times("delay", &labels, &times.delay, None);
        json.times("response_time", &labels, &times.response_time, None);
    }
    let none = json!({});
    json.times("own_lateness", &none, &summary.own_lateness, None);
    for (name, value) in [
        ("requests", summary.requests),
        ("completed", summary.completed),
        ("skipped", summary.skipped),
        ("errors", summary.errors),
        ("short", summary.short),
        ("missed", summary.missed),
        ("record_stalls", summary.record_stalls),
        ("most_in_flight", summary.most_in_flight as u64),
    ] {
        json.figure(name, &none, "1", value as f64);
    }
    let seconds = summary.elapsed.as_secs_f64();
    json.figure("elapsed", &none, "s", seconds);
    json.figure("intended", &none, "s", summary.intended.as_secs_f64());
    let throughput = summary.completed as f64 / seconds.max(1e-9);
    json.figure("throughput", &none, "1/s", throughput);
    json
}
