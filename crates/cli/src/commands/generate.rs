//! `iosonar generate`: synthetic loads.

mod like;

use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

use iosonar_guard::free_space;
use iosonar_report::{counted, grouped};
use iosonar_sim_core::Seed;
use iosonar_trace::Request;
use iosonar_units::{Bytes, Nanos, Sectors};
use iosonar_workload::{
    ArrivalLaw, Artificial, ArtificialLoad, ArtificialShape, ParseLawError, ProbeLoad, ProbeShape,
    SyntheticLoad, Workload,
};

use crate::exit::{Ending, Usage, note};
use crate::low::Generate;
use crate::low::generate::{ArtificialArgs, Destination, Kind, Probe, Shape};
use iosonar_trace::{apart, output::write_requests};

pub(crate) fn run(args: &Generate) -> anyhow::Result<Ending> {
    match &args.kind {
        Kind::Poisson(a) => laws(&a.shape, ArrivalLaw::Poisson { per_s: a.rate }),
        Kind::Constant(a) => laws(&a.shape, ArrivalLaw::Constant { per_s: a.rate }),
        Kind::OnOff(a) => laws(
            &a.shape,
            ArrivalLaw::OnOff {
                per_s: a.rate,
                on_s: positive(a.on, "--on")?,
                off_s: positive(a.off, "--off")?,
                shape: a.pareto,
            },
        ),
        Kind::BModel(a) => {
            let window_s = match a.window {
                Some(window) => often(window, a.rate, "--window")?,
                None => duration_s(&a.shape, a.rate),
            };
            let arrivals = ArrivalLaw::BModel {
                per_s: a.rate,
                bias: a.bias,
                window_s,
                levels: a.levels,
            };
            laws(&a.shape, arrivals)
        }
        Kind::Noise(a) => {
            let arrivals = ArrivalLaw::Noise {
                per_s: a.rate,
                hurst: a.hurst,
                variation: a.variation,
                bin_s: often(a.bin, a.rate, "--bin")?,
            };
            laws(&a.shape, arrivals)
        }
        Kind::Bursts(a) => artificial(
            &a.shape,
            Artificial::Bursts {
                slope: a.slope,
                spacing: a.spacing,
                seconds: a.seconds,
            },
        ),
        Kind::Sweep(a) => {
            let space = a.shape.space.get() / 512;
            let length = a.shape.size.get() / 512;
            let step = a.step.map_or(space / 1000, |step| step.get() / 512);
            let align = (a.shape.align.get() / 512).max(1);
            artificial(
                &a.shape,
                Artificial::Sweep {
                    per_s: a.rate,
                    step: step.max(length).next_multiple_of(align),
                    ways: a.ways,
                },
            )
        }
        Kind::Impulse(a) => artificial(
            &a.shape,
            Artificial::Impulse {
                requests: a.burst,
                period: a.period,
                impulses: a.impulses,
            },
        ),
        Kind::Probe(a) => probe(a),
        Kind::Like(a) => like::run(a),
    }
}

/// How long a load is unless it is said.
const USUAL_DURATION: Nanos = Nanos::from_secs(60);

fn positive(time: Nanos, option: &str) -> Result<f64, Usage> {
    if time == Nanos::ZERO {
        return Err(Usage(format!("{option} must be greater than 0")));
    }
    Ok(time.as_secs_f64())
}

/// A time in which there are arrivals often enough to find them.
fn often(time: Nanos, per_s: f64, option: &str) -> Result<f64, Usage> {
    const LEAST: f64 = 0.001;
    let seconds = positive(time, option)?;
    match seconds * per_s {
        expected if expected >= LEAST => Ok(seconds),
        expected => Err(Usage(format!(
            "{option} {time} has {expected} arrivals on average, expected at least {LEAST}: use a longer time, or a higher --rate"
        ))),
    }
}

/// How long a load of this rate lasts on average, in seconds.
fn duration_s(shape: &Shape, per_s: f64) -> f64 {
    match (shape.requests, shape.duration) {
        (Some(requests), _) => requests.max(1) as f64 / per_s,
        (None, duration) => duration.unwrap_or(USUAL_DURATION).as_secs_f64(),
    }
}

/// The load of laws.
fn laws(shape: &Shape, arrivals: ArrivalLaw) -> anyhow::Result<Ending> {
    let workload = Workload {
        arrivals,
        batch: law(&shape.batch, "--batch")?,
        shape: iosonar_workload::Shape {
            size: law(&shape.size, "--size")?,
            write_size: None,
            block: Sectors::new(short(shape.block.get() / 512, "--block")?),
            read_share: shape.read_share,
            addresses: law(&shape.addresses, "--addresses")?,
            address_space: shape.space.get() / 512,
        },
    };
    let needed = u64::from(workload.shape.block.get());
    if workload.shape.address_space < needed {
        return Err(Usage(format!(
            "--space {} is smaller than a block of {}",
            shape.space, shape.block
        ))
        .into());
    }
    let per_s = workload.requests_per_s();
    let load = SyntheticLoad::new(vec![workload], &Seed::new(shape.seed));
    let until = match (shape.requests, shape.duration) {
        (Some(_), _) => Nanos::MAX,
        (None, Some(duration)) => duration,
        (None, None) => USUAL_DURATION,
    };
    let expected = shape
        .requests
        .map_or(per_s * until.as_secs_f64(), |n| n as f64);
    let requests = load
        .take(shape.requests.map_or(usize::MAX, |n| n as usize))
        .take_while(|r| r.start < until);
    write(requests, &shape.to, shape.seed, expected)?.report(shape.output.quiet);
    Ok(Ending::Done)
}

fn artificial(args: &ArtificialArgs, plan: Artificial) -> anyhow::Result<Ending> {
    let shape = ArtificialShape {
        sectors: Sectors::new(short(args.size.get() / 512, "--size")?),
        read_share: args.read_share,
        space: args.space.get() / 512,
        align: args.align.get() / 512,
    };
    if shape.space < u64::from(shape.sectors.get()) {
        return Err(Usage(format!(
            "--space {} is smaller than a request of {}",
            args.space, args.size
        ))
        .into());
    }
    let expected = plan.requests(&shape);
    let load = ArtificialLoad::new(plan, shape, &Seed::new(args.seed));
    write(load, &args.to, args.seed, expected)?.report(args.output.quiet);
    Ok(Ending::Done)
}

fn probe(args: &Probe) -> anyhow::Result<Ending> {
    let shape = ProbeShape {
        spacing: args.spacing,
        block: Sectors::new(short(args.block.get() / 512, "--block")?),
        write_share: args.write_share,
        space: args.space.get() / 512,
    };
    if args.block.get() > 64 << 20 {
        return Err(Usage(format!(
            "--block must be at most 64MiB (got {})",
            args.block
        ))
        .into());
    }
    if shape.space < ProbeLoad::least_space(shape.block) {
        let problem = format!(
            "--space must be at least 16 blocks of {} (got {})",
            args.block, args.space
        );
        return Err(Usage(problem).into());
    }
    let load = ProbeLoad::new(shape, &Seed::new(args.seed)).take(args.requests as usize);
    write(load, &args.to, args.seed, args.requests as f64)?.report(args.output.quiet);
    Ok(Ending::Done)
}

fn short(n: u64, option: &str) -> Result<u32, Usage> {
    u32::try_from(n).map_err(|_| Usage(format!("{option} must be at most 2 TiB")))
}

/// Refuses a load of about `requests` that takes more than half of the space that is free where it goes.
fn refuse_without_room(to: &Destination, requests: f64) -> anyhow::Result<()> {
    if to.force || !apart::takes_room(&to.out) {
        return Ok(());
    }
    // Of each request: of rows of text, of compressed ones, and of our own format.
    let text = [
        "load", "replay", "csv", "tsv", "jsonl", "ndjson", "fio", "iolog",
    ];
    let bytes_each = match to.out.extension() {
        Some(ending) if text.iter().any(|t| ending == *t) => 70.0,
        Some(ending) if ending == "gz" || ending == "zst" => 16.0,
        _ => 10.0,
    };
    let needed = requests * bytes_each;
    match free_space(&to.out) {
        Some(free) if needed > free.get() as f64 / 2.0 => Err(Usage(format!(
            "{}: the load of about {} requests takes about {}, but only {free} is free: generate fewer \
             requests (--requests, --duration), write elsewhere, or use --force",
            to.out.display(),
            grouped(requests as u64),
            Bytes::new(needed as u64),
        ))
        .into()),
        _ => Ok(()),
    }
}

/// A load that was written.
struct Written<'a> {
    requests: u64,
    path: &'a Path,
    seconds: f64,
}

impl Written<'_> {
    fn report(&self, quiet: bool) {
        if !quiet {
            note(&format!(
                "{} written to {} in {:.2} s ({} requests/s)",
                counted(self.requests, ["request", "requests"]),
                self.path.display(),
                self.seconds,
                grouped((self.requests as f64 / self.seconds.max(1e-9)) as u64)
            ));
        }
    }
}

/// Writes requests, of which about `expected` are to come, as a load.
fn write(
    requests: impl Iterator<Item = Request>,
    to: &Destination,
    seed: u64,
    expected: f64,
) -> anyhow::Result<Written<'_>> {
    apart::refuse_unusable::<&Path, _>(&[], &[&to.out])?;
    refuse_without_room(to, expected)?;
    let begin = Instant::now();
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let notice = format!(
        "# iosonar {}: a synthetic load, seed {seed}: {}",
        env!("CARGO_PKG_VERSION"),
        typed.join(" ")
    );
    Ok(Written {
        requests: write_requests(requests, &to.out, notice, &to.writing.options())?,
        path: &to.out,
        seconds: begin.elapsed().as_secs_f64(),
    })
}

/// A law as it is typed.
fn law<T: FromStr<Err = ParseLawError>>(text: &str, option: &str) -> Result<T, Usage> {
    text.parse()
        .map_err(|error| Usage(format!("{option} '{text}': {error}")))
}
