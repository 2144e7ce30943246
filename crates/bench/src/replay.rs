//! What a device does with this replayer, and with others that are installed: fio and blkreplay.
//!
//! Everything is measured in one run, one after the other: on a shared machine only ratios count.

mod loads;
mod pacing;
mod peers;

use std::path::Path;

use iosonar_guard::Host;
use iosonar_replay::{
    Control, EngineKind, Intent, Load, Options, Progress, StopRequest, Summary, Target, Verdict,
    Writes, replay,
};
use iosonar_trace::Reading;
use iosonar_units::Nanos;

pub use self::loads::Arrivals;
use self::loads::Loads;
use crate::BenchError;
use crate::figure::{Figure, Group, Note};

/// How long each measurement takes, in seconds.
pub const SECONDS: u64 = 3;
/// Requests per second that are wanted, one after the other.
const RATES: [u64; 4] = [1_000, 10_000, 30_000, 100_000];
/// At these rates other tools are measured too.
const PEER_RATES: [u64; 2] = [10_000, 30_000];

/// Start delays: p50, p99, p99.9, largest.
pub type Delays = [Nanos; 4];

/// Start delays at a rate.
#[derive(Clone, Debug)]
pub struct Pace {
    /// Who was measured.
    pub who: String,
    /// Requests per second.
    pub rate: u64,
    /// How requests arrive.
    pub arrivals: Arrivals,
    /// The delays; `None` if a tool does not report them.
    pub delays: Option<Delays>,
    /// What else is known.
    pub note: Option<PaceNote>,
}

/// What is known of a replay at its own pace besides its delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PaceNote {
    /// It did not keep up, or was not judged.
    Verdict(Verdict),
    /// The delays are those that the tool reports itself.
    AsReported,
    /// It ended this much later than wanted, in milliseconds.
    LateAtTheEnd(f64),
    /// The tool reports nothing.
    NothingReported,
}

/// What is being measured.
#[derive(Clone, Copy, Debug)]
pub enum Measuring<'a> {
    /// The highest rate of a case.
    Case(&'a str),
    /// Delays at a rate.
    Pace(Arrivals, u64),
}

/// What a device does with replays.
#[derive(Clone, Debug)]
pub struct Replays {
    /// Requests per second without pacing.
    pub highest: Vec<Figure>,
    /// Delays at rising rates.
    pub paces: Vec<Pace>,
}

/// Measures replays of random reads of the device or file `path`. `progress` hears of each case, and `is_stopped` is asked
/// before each replay.
///
/// # Errors
/// If the target is refused or too small, a replay fails, or it was stopped.
pub fn replays(
    path: &Path,
    progress: &dyn Fn(Measuring<'_>),
    is_stopped: &dyn Fn() -> bool,
) -> Result<Replays, BenchError> {
    let target = Target::open(path, &Intent::default(), &Host::default())?;
    let loads = Loads::new(target.size(), target.block())?;
    drop(target);
    let bench = Bencher {
        path,
        loads: &loads,
        progress,
        is_stopped,
    };
    Ok(Replays {
        highest: bench.highest_rates()?,
        paces: bench.paces()?,
    })
}

struct Bencher<'a> {
    path: &'a Path,
    loads: &'a Loads,
    progress: &'a dyn Fn(Measuring<'_>),
    is_stopped: &'a dyn Fn() -> bool,
}

impl Bencher<'_> {
    /// One replay of a load made for this.
    fn replayed(&self, load: &Path, options: &Options) -> Result<Summary, BenchError> {
        let target = Target::open(self.path, &Intent::default(), &Host::default())?;
        let load = Load::scanned(load, &Reading::default(), Writes::Refuse)?;
        if (self.is_stopped)() {
            return Err(BenchError::Interrupted);
        }
        Ok(replay(
            &[load],
            &[target],
            Vec::new(),
            options,
            None,
            Control {
                stop: &StopRequest::default(),
                progress: &Progress::default(),
            },
        )?)
    }

    fn highest_rates(&self) -> Result<Vec<Figure>, BenchError> {
        let mut figures = Vec::new();
        for (name, engine, in_flight) in [
            ("iosonar, engine auto", EngineKind::Auto, 256),
            ("iosonar, io_uring, 64 in flight", EngineKind::IoUring, 64),
            ("iosonar, io_uring, 256 in flight", EngineKind::IoUring, 256),
            ("iosonar, sync", EngineKind::Sync, 1),
            ("iosonar, dry (nothing submitted)", EngineKind::Dry, 256),
        ] {
            (self.progress)(Measuring::Case(name));
            let options = Options {
                engine,
                in_flight,
                max_runtime: Some(Nanos::from_secs(SECONDS)),
                ..Options::default()
            };
            let load = self.loads.all_at_once()?;
            let cpu = process_time();
            let summary = self.replayed(&load, &options)?;
            let cpu = (process_time() - cpu).as_secs_f64() * 1e6;
            let requests = summary.completed.max(1) as f64;
            let note = Note::ProcessorTime {
                engine: summary.engine,
                own_us: summary.processor_time.get() as f64 / 1e3 / requests,
                all_us: cpu / requests,
            };
            let rate = summary.throughput();
            figures.push(Figure::new(Group::HighestRate, name, "requests/s", rate).with(note));
        }
        figures.extend(peers::highest_rates(self.path, self.loads, self.progress)?);
        Ok(figures)
    }

    fn paces(&self) -> Result<Vec<Pace>, BenchError> {
        let mut paces = Vec::new();
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            for rate in RATES {
                (self.progress)(Measuring::Pace(arrivals, rate));
                let load = self.loads.paced(arrivals, rate, SECONDS)?;
                let mut add = |who: &str, delays, note| {
                    paces.push(Pace {
                        who: who.to_owned(),
                        rate,
                        arrivals,
                        delays,
                        note,
                    });
                };
                let bare = pacing::bare_loop(&Loads::starts(arrivals, rate, SECONDS));
                add("a bare loop", Some(bare), None);
                let summary = self.replayed(&load, &Options::default())?;
                let ours = quantiles(
                    &summary.times.reads.delay.histogram,
                    summary.times.reads.delay.moments.max(),
                );
                let verdict = Some(summary.verdict).filter(|v| *v != Verdict::KeptUp);
                add("iosonar", Some(ours), verdict.map(PaceNote::Verdict));
                if PEER_RATES.contains(&rate) {
                    for (who, delays, note) in peers::paced(self.path, &load, SECONDS)? {
                        add(who, delays, note);
                    }
                }
            }
        }
        Ok(paces)
    }
}

/// p50, p99, p99.9, largest.
fn quantiles(histogram: &iosonar_stats::Histogram, largest: Option<Nanos>) -> Delays {
    let at = |p| histogram.quantile(p).unwrap_or_default();
    [at(0.5), at(0.99), at(0.999), largest.unwrap_or_default()]
}

/// Processor time of this process, with the kernel's workers for its rings.
fn process_time() -> Nanos {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name in brackets, which may hold anything: user and system time in ticks of 10 ms.
    let fields: Vec<&str> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |i: usize| {
        fields
            .get(i)
            .and_then(|f| f.parse::<u64>().ok())
            .unwrap_or(0)
    };
    Nanos::from_millis((ticks(11) + ticks(12)) * 10)
}
