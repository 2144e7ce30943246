//! `iosonar record`: what a device does, from the kernel's trace points.

use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use iosonar_guard::Host;
use iosonar_recorder::{RecordOptions, RecordProgress, Recorded, record};
use iosonar_report::{counted, grouped};
use iosonar_trace::{Batch, Metadata, TraceError, TraceWriter, output};
use serde_json::json;

use crate::beside::{Working, beside};
use crate::exit::{Ending, Usage, note, print_beside, print_data_beside, warn};
use crate::live;
use crate::low::Record;
use crate::render::messages::Warning;
use crate::render::progress::watched;
use crate::signals;
use iosonar_stats::Output;

pub(crate) fn run(args: &Record) -> anyhow::Result<Ending> {
    output::format_for(&args.out)?;
    let host = Host::default();
    refuse_recorded(args, &host)?;
    let recorded = watch_and_record(args, &host)?;
    if args.output.json {
        print_data_beside(Some(&args.out), &json(args, &recorded).text())?;
    } else {
        print_beside(Some(&args.out), &text(args, &recorded))?;
        if !args.output.quiet {
            recorded.remarks.iter().for_each(|remark| note(remark));
        }
    }
    for (device, requests) in &recorded.without_completions {
        warn(
            Warning::NoCompletions,
            &format!(
                "{}: {} recorded, but no completions, so the latencies are unknown. The device hangs, the \
                 recording was too short, or the driver has no tracepoint for completions",
                device.display(),
                counted(*requests, ["request was", "requests were"])
            ),
        );
    }
    if recorded.requests == 0 {
        note("no request was submitted to the recorded devices in this time");
    }
    // Ctrl-C is how a recording without a limit is meant to end.
    Ok(
        if recorded.requests == 0 || recorded.lost > 0 || !recorded.without_completions.is_empty() {
            Ending::Flagged
        } else {
            Ending::Done
        },
    )
}

/// A file on a recorded device would be recorded itself.
fn refuse_recorded(args: &Record, host: &Host) -> Result<(), Usage> {
    for device in &args.devices {
        use std::os::unix::fs::MetadataExt;
        let number = std::fs::metadata(device).map_or(0, |m| m.rdev());
        if host.holds(number, &args.out) {
            let problem = format!(
                "{} would be written to the recorded device {}: choose another output",
                args.out.display(),
                device.display()
            );
            return Err(Usage(problem));
        }
    }
    Ok(())
}

/// Records until a limit or a signal, while a bar shows how far it is.
fn watch_and_record(args: &Record, host: &Host) -> anyhow::Result<Recorded> {
    let options = RecordOptions {
        devices: args.devices.clone(),
        duration: args.duration,
        requests: args.requests,
        size: args.size.map(|size| (args.out.clone(), size)),
        buffer: args.buffer,
    };
    let (progress, stop) = (Arc::new(RecordProgress::default()), AtomicBool::new(false));
    signals::watch()?;
    let watcher = |working: &Working| {
        loop {
            stop.store(signals::count() > 0, Relaxed);
            if !working.goes_on(Duration::from_millis(20)) {
                return;
            }
        }
    };
    let title: Vec<String> = args
        .devices
        .iter()
        .map(|of| of.display().to_string())
        .collect();
    let feed = live::of_records(&args.out);
    let recorded = live::during(&args.live, &title.join(", "), feed, || {
        beside(watcher, || {
            let shown = Arc::clone(&progress);
            watched(
                args.output.quiet,
                None,
                "{spinner} {msg}",
                move |bar| {
                    bar.set_message(format!(
                        "{}, {}",
                        counted(shown.requests(), ["request", "requests"]),
                        counted(shown.events(), ["event", "events"])
                    ));
                    bar.tick();
                },
                || {
                    let writer = |metadata: &Metadata| {
                        let writer = output::create(&args.out, metadata)?;
                        Ok(Box::new(Flushed::new(writer)) as Box<dyn TraceWriter>)
                    };
                    record(&options, host, writer, &stop, &progress)
                },
            )
        })
    })?;
    Ok(recorded?)
}

/// Records wait for a flush of the file this long at most, while others come: a live page shows them, and a kill
/// loses no more.
const FLUSH_INTERVAL: Duration = Duration::from_millis(700);

/// Flushes the file from time to time.
struct Flushed {
    writer: Box<dyn TraceWriter>,
    last: Instant,
}

impl Flushed {
    fn new(writer: Box<dyn TraceWriter>) -> Self {
        let last = Instant::now();
        Self { writer, last }
    }
}

impl TraceWriter for Flushed {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        self.writer.write(batch)?;
        if self.last.elapsed() >= FLUSH_INTERVAL {
            self.writer.flush()?;
            self.last = Instant::now();
        }
        Ok(())
    }

    fn update(&mut self, metadata: &Metadata) {
        self.writer.update(metadata);
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

fn json(args: &Record, recorded: &Recorded) -> Output {
    let mut json = Output::new("record");
    json.set("out", json!(args.out.display().to_string()));
    json.set("remarks", json!(recorded.remarks));
    let without = recorded.without_completions.iter();
    let without: Vec<_> = without
        .map(|(device, _)| device.display().to_string())
        .collect();
    json.set("without_completions", json!(without));
    let none = Labels::default();
    json.figure("requests", &none, MetricUnit::One, recorded.requests as f64);
    json.figure("events", &none, MetricUnit::One, recorded.events as f64);
    json.figure("lost_events", &none, MetricUnit::One, recorded.lost as f64);
    json.figure(
        "elapsed",
        &none,
        MetricUnit::Seconds,
        recorded.elapsed.as_secs_f64(),
    );
    json.figure(
        "processor_share",
        &none,
        MetricUnit::One,
        recorded.processor_share,
    );
    json
}

fn text(args: &Record, recorded: &Recorded) -> String {
    format!(
        "{} ({}, {} lost) in {} recorded to {}; recording used {:.2} % of a CPU\n",
        counted(recorded.requests, ["request", "requests"]),
        counted(recorded.events, ["event", "events"]),
        grouped(recorded.lost),
        recorded.elapsed,
        args.out.display(),
        100.0 * recorded.processor_share
    )
}
