//! `iosonar bench replay`: what this machine and a device can do, and what other replayers do with them.
//!
//! Everything is measured in one run, one after the other: on a shared machine only ratios count.

mod loads;
mod pacing;
mod peers;

use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use std::path::Path;

use iosonar_guard::Host;
use iosonar_replay::{
    Control, EngineKind, Intent, Load, Options, Progress, StopRequest, Summary, Target, Verdict,
    Writes, replay,
};
use iosonar_report::grouped;
use iosonar_trace::Reading;
use iosonar_units::Nanos;
use serde_json::json;

use self::loads::{Arrivals, Loads};
use super::Figure;
use crate::exit::{Ending, Usage, note, print};
use crate::low::Bench;
use crate::render::json::Output;
use crate::render::table::Table;
use crate::signals;

/// How long each measurement takes.
const SECONDS: u64 = 3;
/// So many requests per second are wanted, one after the other.
const RATES: [u64; 4] = [1_000, 10_000, 30_000, 100_000];
/// At this rate other tools are measured too, and at this one.
const PEER_RATES: [u64; 2] = [10_000, 30_000];

/// Delays at a rate.
struct Pace {
    who: String,
    rate: u64,
    arrivals: Arrivals,
    /// p50, p99, p99.9, largest; none if the tool does not tell.
    delays: Option<[Nanos; 4]>,
    /// How much later than wanted the last request came.
    note: String,
}

pub(super) fn run(args: &Bench) -> anyhow::Result<Ending> {
    let Some(path) = &args.target else {
        return Err(Usage(
            "bench replay reads all over a device or file: say which with --target DEV".to_owned(),
        )
        .into());
    };
    signals::watch()?;
    let host = Host::default();
    let target = Target::open(path, &Intent::default(), &host)?;
    let loads = Loads::new(target.size(), target.block())?;
    drop(target);
    let bench = Bencher {
        path,
        loads: &loads,
        quiet: args.json,
    };
    let highest = bench.highest_rates()?;
    let paces = bench.paces()?;
    if args.json {
        let mut json = Output::new("bench replay");
        json.set("target", json!(path.display().to_string()));
        for f in &highest {
            let labels = Labels::of("group", f.group)
                .with("case", &f.name)
                .with("note", &f.note);
            json.figure("speed", &labels, MetricUnit::Other(f.unit.into()), f.value);
        }
        for pace in &paces {
            for (p, delay) in ["0.5", "0.99", "0.999", "1"]
                .iter()
                .zip(pace.delays.unwrap_or_default())
            {
                if pace.delays.is_some() {
                    let labels = Labels::of("who", &pace.who)
                        .with("rate", pace.rate)
                        .with("arrivals", pace.arrivals.name())
                        .with("quantile", *p);
                    json.figure(
                        "delay",
                        &labels,
                        MetricUnit::Microseconds,
                        delay.get() as f64 / 1e3,
                    );
                }
            }
        }
        print(&json.text())?;
    } else {
        print(&describe(path, &highest, &paces))?;
    }
    Ok(Ending::Done)
}

fn describe(path: &Path, highest: &[Figure], paces: &[Pace]) -> String {
    let mut text = format!(
        "Random reads of {}, each case for {SECONDS} s, one after the other. Compare within this table only.\n\n",
        path.display()
    );
    let mut table = Table::new(&["highest rate", "requests/s", ""]);
    for f in highest {
        table.row(vec![
            f.name.clone(),
            grouped(f.value as u64),
            f.note.clone(),
        ]);
    }
    text += &table.text();
    text.push('\n');
    let mut table = Table::new(&[
        "start delay",
        "rate",
        "arrivals",
        "p50",
        "p99",
        "p99.9",
        "max",
        "",
    ]);
    for pace in paces {
        let mut row = vec![
            pace.who.clone(),
            grouped(pace.rate),
            pace.arrivals.name().to_owned(),
        ];
        match pace.delays {
            Some(delays) => row.extend(delays.map(|delay| delay.to_string())),
            None => row.extend(["-"; 4].map(str::to_owned)),
        }
        row.push(pace.note.clone());
        table.row(row);
    }
    text + &table.text()
}

struct Bencher<'a> {
    path: &'a Path,
    loads: &'a Loads,
    quiet: bool,
}

impl Bencher<'_> {
    fn tell(&self, what: &str) {
        if !self.quiet {
            note(&format!("measuring: {what}"));
        }
    }

    /// One replay of a load made for this.
    fn replayed(&self, load: &Path, options: &Options) -> anyhow::Result<Summary> {
        let target = Target::open(self.path, &Intent::default(), &Host::default())?;
        let load = Load::scanned(load, &Reading::default(), Writes::Refuse)?;
        if signals::count() > 0 {
            return Err(anyhow::anyhow!("interrupted"));
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

    fn highest_rates(&self) -> anyhow::Result<Vec<Figure>> {
        let mut figures = Vec::new();
        for (name, engine, in_flight) in [
            ("iosonar, engine auto", EngineKind::Auto, 256),
            ("iosonar, io_uring, 64 in flight", EngineKind::IoUring, 64),
            ("iosonar, io_uring, 256 in flight", EngineKind::IoUring, 256),
            ("iosonar, sync", EngineKind::Sync, 1),
            ("iosonar, dry (nothing handed over)", EngineKind::Dry, 256),
        ] {
            self.tell(name);
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
            let own = summary.processor_time.get() as f64 / 1e3 / requests;
            let note = format!(
                "{}: {own:.2} µs of processor time a request, {:.2} µs with all threads and the kernel's workers",
                summary.engine,
                cpu / requests
            );
            figures.push(
                Figure::new("highest rate", name, "requests/s", summary.throughput()).with(note),
            );
        }
        figures.extend(peers::highest_rates(self.path, self.loads, |what| {
            self.tell(what);
        })?);
        Ok(figures)
    }

    fn paces(&self) -> anyhow::Result<Vec<Pace>> {
        let mut paces = Vec::new();
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            for rate in RATES {
                self.tell(&format!("{} {} requests/s", arrivals.name(), grouped(rate)));
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
                add("a bare loop", Some(bare), String::new());
                let summary = self.replayed(&load, &Options::default())?;
                let ours = quantiles(
                    &summary.reads.delay.histogram,
                    summary.reads.delay.moments.max(),
                );
                let verdict = match summary.verdict {
                    Verdict::KeptUp => String::new(),
                    other => other.name().to_owned(),
                };
                add("iosonar", Some(ours), verdict);
                if PEER_RATES.contains(&rate) {
                    for (who, delays, note) in peers::paced(self.path, &load, SECONDS)? {
                        add(&who, delays, note);
                    }
                }
            }
        }
        Ok(paces)
    }
}

/// p50, p99, p99.9, largest.
fn quantiles(histogram: &iosonar_stats::Histogram, largest: Option<Nanos>) -> [Nanos; 4] {
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
