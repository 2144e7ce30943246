//! fio and blkreplay on the same device, where they are installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use iosonar_guard::Host;
use iosonar_replay::{Intent, Target};
use iosonar_stats::Distribution;
use iosonar_trace::{Batch, input};
use iosonar_units::Nanos;

use super::loads::Loads;
use super::{Delays, Measuring, PaceNote, SECONDS, quantiles};
use crate::BenchError;
use crate::figure::{Figure, Group, Note};

fn is_installed(tool: &str) -> bool {
    Command::new(tool)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

/// What other tools would write to is never one that is used: they do not look themselves.
fn is_safe(target: &Path) -> bool {
    Target::open(target, &Intent::default(), &Host::default()).is_ok()
}

fn output_of(command: &mut Command) -> Result<String, BenchError> {
    let output = command.stdin(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A figure of fio's terse output, by its place (`HOWTO`, terse version 3).
fn terse(text: &str, field: usize) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("3;"))?;
    line.split(';')
        .nth(field)?
        .trim_end_matches('%')
        .parse()
        .ok()
}

/// Reads per second of a job.
const READ_IOPS: usize = 7;
/// How long its reads took, in milliseconds.
const READ_RUNTIME: usize = 8;
/// User and system time in percent.
const PROCESSOR: [usize; 2] = [87, 88];

fn fio(target: &Path, arguments: &[&str]) -> Result<String, BenchError> {
    output_of(
        Command::new("fio")
            .args([
                "--name=x",
                "--direct=1",
                "--minimal",
                "--readonly",
                "--norandommap",
            ])
            .arg(format!("--filename={}", target.display()))
            .args(arguments),
    )
}

/// Rates without pacing.
pub(super) fn highest_rates(
    target: &Path,
    loads: &Loads,
    progress: &dyn Fn(Measuring<'_>),
) -> Result<Vec<Figure>, BenchError> {
    let mut figures = Vec::new();
    if !is_safe(target) {
        return Ok(figures);
    }
    if is_installed("fio") {
        let runtime = format!("--runtime={SECONDS}");
        let generated = ["--rw=randread", "--bs=4k", "--time_based", &runtime];
        let batch = ["--iodepth_batch=16", "--iodepth_batch_complete=16"];
        let registered = ["--registerfiles", "--fixedbufs"];
        let ring = ["--ioengine=io_uring", "--iodepth=64"];
        for (name, options) in [
            ("fio, io_uring, depth 64", vec![&ring[..]]),
            ("fio, io_uring, depth 64, batch 16", vec![&ring[..], &batch]),
            (
                "fio, io_uring, batch 16, registered",
                vec![&ring[..], &batch, &registered],
            ),
            ("fio, psync", vec![&["--ioengine=psync"][..]]),
        ] {
            progress(Measuring::Case(name));
            let all: Vec<&str> = generated.iter().copied().chain(options.concat()).collect();
            let text = fio(target, &all)?;
            if let Some(rate) = terse(&text, READ_IOPS) {
                let percent: f64 = PROCESSOR.iter().filter_map(|f| terse(&text, *f)).sum();
                let note = Note::PeerProcessorTime(percent * 1e4 / rate.max(1.0));
                figures.push(Figure::new(Group::HighestRate, name, "requests/s", rate).with(note));
            }
        }
    }
    if is_installed("blkreplay") {
        // A load of text, and not more than it does in the time.
        let load = loads.path("peer.load");
        let text: String = (0..60_000_u64)
            .map(|i| format!("0.000000000 ; {} ; 8 ; R\n", i * 7919 % 32_000 * 8))
            .collect();
        std::fs::write(&load, text)?;
        for threads in ["1", "16"] {
            let name = format!("blkreplay, {threads} threads");
            progress(Measuring::Case(&name));
            let begin = Instant::now();
            let out = blkreplay(target, &load, loads.path("peer.out"), threads)?;
            let took = last_completion(&out).unwrap_or(begin.elapsed().as_secs_f64());
            figures.push(Figure::new(
                Group::HighestRate,
                name,
                "requests/s",
                60_000.0 / took,
            ));
        }
    }
    Ok(figures)
}

/// Replays with blkreplay; where its output is.
fn blkreplay(
    target: &Path,
    load: &Path,
    out: PathBuf,
    threads: &str,
) -> Result<PathBuf, BenchError> {
    let file = std::fs::File::create(&out)?;
    Command::new("blkreplay")
        .arg(format!("--threads={threads}"))
        .args(["--with-conflicts", "--start-grace=1"])
        .arg(target)
        .stdin(std::fs::File::open(load)?)
        .stdout(file)
        .stderr(Stdio::null())
        .status()?;
    Ok(out)
}

/// When the last request of a replay was complete, in seconds since the first should have started.
fn last_completion(out: &Path) -> Option<f64> {
    let mut reader = input::open(out).ok()?;
    let (mut batch, mut last) = (Batch::default(), Nanos::ZERO);
    while reader.next_batch(&mut batch).ok()? > 0 {
        for record in batch.records() {
            let took = record.outcome.response_time()?;
            last = last.max(record.request.start + took);
        }
    }
    (last > Nanos::ZERO).then(|| last.as_secs_f64())
}

/// Who, its delays, and what else is known.
type Peer = (&'static str, Option<Delays>, Option<PaceNote>);

/// The same load at its own pace.
pub(super) fn paced(target: &Path, load: &Path, seconds: u64) -> Result<Vec<Peer>, BenchError> {
    let mut peers = Vec::new();
    if !is_safe(target) {
        return Ok(peers);
    }
    if is_installed("blkreplay") {
        let rows = load.with_extension("rows");
        std::fs::write(&rows, rows_of(&std::fs::read_to_string(load)?))?;
        let out = blkreplay(target, &rows, load.with_extension("peer"), "16")?;
        let mut delays = Distribution::default();
        if let Ok(mut reader) = input::open(&out) {
            let mut batch = Batch::default();
            while reader.next_batch(&mut batch).is_ok_and(|rows| rows > 0) {
                for record in batch.records() {
                    record.outcome.delay.iter().for_each(|d| delays.push(*d));
                }
            }
        }
        let quantiles =
            (delays.count() > 0).then(|| quantiles(&delays.histogram, delays.moments.max()));
        peers.push((
            "blkreplay, 16 threads",
            quantiles,
            Some(PaceNote::AsReported),
        ));
    }
    if is_installed("fio") {
        let log = load.with_extension("iolog");
        std::fs::write(&log, iolog(target, load)?)?;
        let text = output_of(
            Command::new("fio")
                .args(["--name=x", "--direct=1", "--minimal", "--readonly"])
                .args(["--ioengine=io_uring", "--iodepth=64"])
                .arg(format!("--read_iolog={}", log.display())),
        )?;
        let note = match terse(&text, READ_RUNTIME) {
            Some(ms) => PaceNote::LateAtTheEnd(ms - seconds as f64 * 1e3),
            None => PaceNote::NothingReported,
        };
        peers.push(("fio, replay", None, Some(note)));
    }
    Ok(peers)
}

/// The rows without header and comments, which the peer takes for damage.
fn rows_of(text: &str) -> String {
    text.lines()
        .filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))
        .map(|line| format!("{line}\n"))
        .collect()
}

/// The load as fio's log, version 3, in microseconds.
fn iolog(target: &Path, load: &Path) -> Result<String, BenchError> {
    let (mut reader, mut batch) = (input::open(load)?, Batch::default());
    let name = target.display();
    let mut text = format!("fio version 3 iolog\n0 {name} add\n0 {name} open\n");
    while reader.next_batch(&mut batch)? > 0 {
        for request in batch.requests() {
            text += &format!(
                "{} {name} read {} {}\n",
                request.start.get() / 1_000,
                request.sector.offset().get(),
                request.sectors.bytes().get()
            );
        }
    }
    Ok(text + &format!("{} {name} close\n", 1_000_000 * SECONDS))
}
