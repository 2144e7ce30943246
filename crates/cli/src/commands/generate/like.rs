//! `iosonar generate like`: a load that is like a real one, and how alike they are.

use iosonar_analysis::{LoadMetrics, LoadOptions, LoadSummary};
use iosonar_sim_core::Seed;
use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use iosonar_trace::{Batch, Request, TraceReader, input};
use iosonar_units::Nanos;
use iosonar_workload::{Addresses, ArrivalLaw, Likeness, SyntheticLoad, Workload};
use serde_json::json;

use super::{Room, write};
use crate::exit::{Ending, Usage, print_beside};
use crate::low::generate::Like;
use crate::render::table::Table;
use crate::render::{progress, remarks};
use iosonar_stats::Output;
use iosonar_trace::apart;

pub(super) fn run(args: &Like) -> anyhow::Result<Ending> {
    apart::refuse_same(&args.trace, &args.out)?;
    let reading = args.reading.reading()?;
    let (likeness, real, metadata) = progress::while_reading(reading, args.quiet, |reading| {
        let mut reader = input::open_load(&args.trace, reading)?;
        let (mut likeness, mut metrics) = (
            Likeness::default(),
            LoadMetrics::new(LoadOptions::default()),
        );
        let mut batch = Batch::default();
        while reader.next_batch(&mut batch)? > 0 {
            for request in batch.requests() {
                likeness.push(&request);
                metrics.push(&request);
            }
        }
        anyhow::Ok((likeness, metrics.finish(), reader.metadata().clone()))
    })?;
    remarks::print(&metadata, args.quiet);
    let workloads = likeness.workloads();
    let Some(real) = real.filter(|_| !workloads.is_empty()) else {
        return Err(Usage(format!(
            "{}: there are too few requests to fit a load to: at least 16 reads or writes, over some time",
            args.trace.display()
        ))
        .into());
    };
    let length = args.length.unwrap_or(likeness.span());
    let make = || {
        let begin = likeness.first();
        SyntheticLoad::new(workloads.clone(), &Seed::new(args.seed))
            .take_while(move |r| r.start <= length)
            .map(move |r| Request {
                start: r.start.saturating_add(begin),
                class: 0,
                ..r
            })
    };
    let ending = write(
        make(),
        &args.out,
        args.seed,
        &args.writing.options(),
        &Room {
            expected: length.as_secs_f64()
                * workloads.iter().map(Workload::requests_per_s).sum::<f64>(),
            force: args.force,
        },
        args.quiet,
    )?;
    let mut metrics = LoadMetrics::new(LoadOptions::default());
    make().for_each(|request| metrics.push(&request));
    let Some(made) = metrics.finish() else {
        return Err(
            Usage("the load that was made is empty: take a longer --length".to_owned()).into(),
        );
    };
    print_likeness(args, &workloads, &compare(&real, &made))?;
    Ok(ending)
}

/// Prints the laws of the load, and how it differs from the real one.
fn print_likeness(args: &Like, workloads: &[Workload], rows: &[Row]) -> anyhow::Result<()> {
    if args.json {
        let mut output = Output::new("generate");
        output.set("seed", json!(args.seed));
        output.set(
            "laws",
            json!(workloads.iter().map(describe).collect::<Vec<_>>()),
        );
        for row in rows {
            for (load, value) in [("real", row.real), ("made", row.made)] {
                output.figure(row.name, &Labels::of("load", load), row.unit.clone(), value);
            }
        }
        print_beside(Some(&args.out), &output.text())
    } else {
        let mut text = String::from("Laws\n");
        for workload in workloads {
            text += &format!("  {}\n", describe(workload));
        }
        text += "\nHow alike they are\n";
        let mut table = Table::new(&["metric", "real", "made", "made / real"]);
        for row in rows {
            table.row(vec![
                row.title.to_owned(),
                short(row.real),
                short(row.made),
                if row.is_distance || (row.made / row.real).is_nan() {
                    String::new()
                } else {
                    format!("{:.2}", row.made / row.real)
                },
            ]);
        }
        print_beside(Some(&args.out), &(text + &table.text()))
    }
}

fn short(value: f64) -> String {
    if value.is_nan() {
        "-".to_owned()
    } else if value == 0.0 {
        "0".to_owned()
    } else if value.abs() >= 1000.0 {
        iosonar_report::grouped(value.round() as u64)
    } else {
        let decimals = (2 - value.abs().log10().floor() as i32).clamp(0, 6);
        format!("{value:.*}", decimals as usize)
    }
}

struct Row {
    name: &'static str,
    title: &'static str,
    unit: MetricUnit,
    real: f64,
    made: f64,
    /// Zero means alike; a ratio says nothing.
    is_distance: bool,
}

fn mean_working_set(load: &LoadSummary, window: usize) -> f64 {
    let n = load.series.len().max(1) as f64;
    load.series
        .iter()
        .map(|(_, p)| p.working_set[window] as f64)
        .sum::<f64>()
        / n
}

/// A property of a load: its name, its title, its unit, and its value.
type Property = (
    &'static str,
    &'static str,
    MetricUnit,
    fn(&LoadSummary) -> f64,
);

/// How much is asked for.
const AMOUNTS: [Property; 3] = [
    (
        "requests_per_second",
        "requests/s",
        MetricUnit::PerSecond,
        |l| l.requests_per_s,
    ),
    (
        "read_share",
        "share of reads",
        MetricUnit::One,
        LoadSummary::read_share,
    ),
    (
        "mean_length",
        "mean length [sectors]",
        MetricUnit::Sectors,
        |l| (l.reads.sectors + l.writes.sectors) as f64 / l.requests() as f64,
    ),
];

/// When requests come.
const ARRIVALS: [Property; 6] = [
    (
        "interarrival_cv",
        "interarrival: coefficient of variation",
        MetricUnit::One,
        |l| l.burstiness.interarrival_cv,
    ),
    (
        "dispersion_10ms",
        "dispersion at 10 ms",
        MetricUnit::One,
        |l| dispersion(l, 0),
    ),
    (
        "dispersion_160ms",
        "dispersion at 160 ms",
        MetricUnit::One,
        |l| dispersion(l, 4),
    ),
    ("dispersion_1s", "dispersion at 1 s", MetricUnit::One, |l| {
        l.burstiness.dispersion
    }),
    (
        "dispersion_10s",
        "dispersion at 10.24 s",
        MetricUnit::One,
        |l| dispersion(l, 10),
    ),
    (
        "most_per_second",
        "most requests in a second",
        MetricUnit::One,
        |l| l.burstiness.most_per_s as f64,
    ),
];

/// Where they go.
const PLACES: [Property; 6] = [
    ("sequential", "share sequential", MetricUnit::One, |l| {
        l.sequential as f64 / l.requests() as f64
    }),
    ("turns", "share of turns", MetricUnit::One, |l| {
        l.turns as f64 / l.requests() as f64
    }),
    ("distinct_pages", "distinct pages", MetricUnit::One, |l| {
        l.distinct_pages as f64
    }),
    (
        "hot_share",
        "share of pages with half of the accesses",
        MetricUnit::One,
        |l| {
            let half = l.hot.iter().find(|h| h.accesses == 0.5);
            half.map_or(f64::NAN, |h| h.share)
        },
    ),
    (
        "working_set_60s",
        "working set of 60 s, mean [sectors]",
        MetricUnit::Sectors,
        |l| mean_working_set(l, 2),
    ),
    (
        "miss_ratio_64mib",
        "miss ratio of an LRU cache of 64 MiB",
        MetricUnit::One,
        |l| l.curve.miss_ratio((64 << 20) / 4096),
    ),
];

/// The dispersion of arrivals in slots of 10 ms times a power of two.
fn dispersion(load: &LoadSummary, power: usize) -> f64 {
    let slot = load.burstiness.dispersions.get(power);
    slot.map_or(f64::NAN, |(_, value)| *value)
}

fn compare(real: &LoadSummary, made: &LoadSummary) -> Vec<Row> {
    let row = |(name, title, unit, of): &Property| Row {
        name,
        title,
        unit: unit.clone(),
        real: of(real),
        made: of(made),
        is_distance: false,
    };
    let lengths = Row {
        name: "length_ks",
        title: "lengths: KS distance (0: alike)",
        unit: MetricUnit::One,
        real: 0.0,
        made: length_distance(real, made),
        is_distance: true,
    };
    let amounts = AMOUNTS.iter().map(row).chain([lengths]);
    amounts
        .chain(ARRIVALS.iter().chain(&PLACES).map(row))
        .collect()
}

/// The largest difference between the distribution functions of lengths.
fn length_distance(a: &LoadSummary, b: &LoadSummary) -> f64 {
    let total = |load: &LoadSummary| load.sizes.iter().map(|(_, r, w)| r + w).sum::<u64>() as f64;
    let (of_a, of_b) = (total(a), total(b));
    let mut steps: Vec<(u32, f64)> = Vec::new();
    steps.extend(a.sizes.iter().map(|(l, r, w)| (*l, (r + w) as f64 / of_a)));
    steps.extend(
        b.sizes
            .iter()
            .map(|(l, r, w)| (*l, -((r + w) as f64) / of_b)),
    );
    steps.sort_by_key(|(length, _)| *length);
    let (mut difference, mut most) = (0.0, 0.0_f64);
    for same in steps.chunk_by(|a, b| a.0 == b.0) {
        difference += same.iter().map(|(_, step)| step).sum::<f64>();
        most = most.max(f64::abs(difference));
    }
    most
}

fn describe(workload: &Workload) -> String {
    let shape = &workload.shape;
    let kind = if shape.read_share == 1.0 {
        "reads"
    } else {
        "writes"
    };
    let arrivals = match &workload.arrivals {
        ArrivalLaw::OnOff {
            per_s, on_s, off_s, ..
        } => format!(
            "on for {}, off for {} in the mean, {per_s:.1}/s while on",
            Nanos::from_secs_f64(*on_s),
            Nanos::from_secs_f64(*off_s)
        ),
        law => format!("Poisson, {:.2}/s", law.per_s()),
    };
    let addresses = match shape.addresses {
        Addresses::Mixed {
            follow,
            theta,
            used,
        } => format!(
            "{:.1} % follow on the one before, the others by Zipf's law with exponent {theta:.2} over {} places",
            100.0 * follow,
            iosonar_report::grouped(
                (used * shape.address_space as f64 / f64::from(shape.block.get())) as u64
            )
        ),
        _ => "anywhere".to_owned(),
    };
    format!(
        "{kind}: {arrivals}; {:.1} sectors in the mean; {addresses}",
        shape.size.mean() * f64::from(shape.block.get())
    )
}
