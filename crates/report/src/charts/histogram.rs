//! Histograms: times, sizes, positions, repetition.

use std::collections::BTreeMap;

use iosonar_analysis::LoadSummary;
use iosonar_plot::{Axis, Bars, Chart, Colour, Line, Mark, Table, Unit, grouped};
use iosonar_stats::Histogram;
use iosonar_units::SECTOR_BYTES;

use super::chart_of;
use crate::measure::{Measured, Quantity};
use crate::words::describe;

/// Bins of times for each factor of ten.
const BINS_PER_DECADE: f64 = 20.0;

pub(crate) fn latency(input: &Measured) -> Option<Chart> {
    times(input, Quantity::Latency, "Histogram of latency")
}

pub(crate) fn delay(input: &Measured) -> Option<Chart> {
    let chart = || times(input, Quantity::Delay, "Histogram of delay");
    input.has_delays().then(chart)?
}

/// How many samples each bin of equal ratio holds; zeros have the number `None`.
fn binned(histogram: &Histogram) -> BTreeMap<Option<i32>, u64> {
    let mut bins = BTreeMap::new();
    let mut below = 0;
    for point in histogram.cdf() {
        let up_to = (point.share * histogram.count() as f64).round() as u64;
        let value = point.value.as_secs_f64();
        // The tolerance keeps what lies on an edge in the bin that it begins.
        let bin = (value > 0.0).then(|| (value.log10() * BINS_PER_DECADE + 1e-6).floor() as i32);
        *bins.entry(bin).or_default() += up_to - below;
        below = up_to;
    }
    bins
}

fn times(input: &Measured, quantity: Quantity, kind: &str) -> Option<Chart> {
    let of = [input.reads(quantity), input.writes(quantity)];
    let bins = of.map(|distribution| binned(&distribution.histogram));
    let numbers = || bins.iter().flat_map(|bins| bins.keys().copied());
    let first = numbers().flatten().min().unwrap_or(-180);
    numbers().next()?;
    let edge = |bin: i32| 10_f64.powf(f64::from(bin) / BINS_PER_DECADE);
    let x = Axis::log(quantity.name(), Unit::Seconds);
    let y = Axis::from_zero("requests", Unit::Count);
    let mut chart = chart_of(input, kind, x, y);
    let names = ["reads", input.name_of_others()];
    let mut stacked: BTreeMap<Option<i32>, u64> = BTreeMap::new();
    for ((bins, name), (distribution, colour)) in bins
        .iter()
        .zip(names)
        .zip(of.iter().zip([Colour::Read, Colour::Write]))
    {
        if distribution.count() == 0 {
            continue;
        }
        let mut bars = Vec::new();
        for (&bin, &n) in bins {
            let from = stacked.entry(bin).or_default();
            let (left, right) = match bin {
                Some(bin) => (edge(bin), edge(bin + 1)),
                // Left of all others, with a gap.
                None => (edge(first - 4), edge(first - 2)),
            };
            bars.push((left, right, *from as f64, (*from + n) as f64));
            *from += n;
        }
        chart.marks.push(Mark::Bars(Bars {
            name: name.to_owned(),
            label: describe(name, distribution),
            colour,
            bins: bars,
        }));
    }
    let zeros = stacked.get(&None).copied().unwrap_or(0);
    if zeros > 0 {
        chart
            .notes
            .push(format!("zeros in the bin on the left: {}", grouped(zeros)));
    }
    chart
        .notes
        .push(format!("{BINS_PER_DECADE} bins per factor of ten"));
    Some(chart)
}

/// Reads and others, one on top of the other.
fn stacked(input: &Measured, bins: &[(f64, f64, u64, u64)]) -> Vec<Mark> {
    let total = |of: fn(&(f64, f64, u64, u64)) -> u64| bins.iter().map(of).sum::<u64>();
    let mut marks = Vec::new();
    let reads = total(|b| b.2);
    if reads > 0 {
        marks.push(Mark::Bars(Bars {
            name: "reads".to_owned(),
            label: format!("reads: {}", grouped(reads)),
            colour: Colour::Read,
            bins: bins.iter().map(|b| (b.0, b.1, 0.0, b.2 as f64)).collect(),
        }));
    }
    let others = total(|b| b.3);
    if others > 0 {
        let name = input.name_of_others();
        marks.push(Mark::Bars(Bars {
            name: name.to_owned(),
            label: format!("{name}: {}", grouped(others)),
            colour: Colour::Write,
            bins: bins
                .iter()
                .map(|b| (b.0, b.1, b.2 as f64, (b.2 + b.3) as f64))
                .collect(),
        }));
    }
    marks
}

/// Sectors of a GiB.
const GIB_SECTORS: u64 = 1 << 21;
/// Bins of sizes for each doubling.
const BINS_PER_OCTAVE: f64 = 4.0;

/// The most common size of requests in bytes, and its share of them; `None` of a load without sizes.
pub(crate) fn most_common_size(load: &LoadSummary) -> Option<(f64, f64)> {
    let counts = || {
        load.sizes
            .iter()
            .map(|&(size, reads, others)| (size, reads + others))
    };
    let all: u64 = counts().filter(|(size, _)| *size > 0).map(|(_, n)| n).sum();
    let sized = counts().filter(|(size, n)| *size > 0 && *n > 0);
    let (sectors, n) = sized.max_by_key(|&(size, n)| (n, std::cmp::Reverse(size)))?;
    Some((
        f64::from(sectors) * SECTOR_BYTES as f64,
        n as f64 / all as f64,
    ))
}

/// The share of the accessed range that half of the requests start in; `None` where there are too few requests to know.
///
/// The range begins with the first position that is accessed. It is divided so that each part has enough requests on
/// average: of parts with few of them, some have many by chance, and a uniform load would look concentrated.
pub(crate) fn half_of_positions(load: &LoadSummary) -> Option<f64> {
    const FEWEST_PARTS: u64 = 20;
    const REQUESTS_PER_PART: u64 = 50;
    let &(begin, ..) = load.positions.first()?;
    let width = load.position_sectors.max(1);
    let ranges = load.end_sector.saturating_sub(begin).div_ceil(width);
    let positions = load.positions.iter();
    let all: u64 = positions.map(|(_, reads, others)| reads + others).sum();
    let merged = ranges.div_ceil((all / REQUESTS_PER_PART).max(1)).max(1);
    let parts = ranges.div_ceil(merged);
    if parts < FEWEST_PARTS {
        return None;
    }
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for (from, reads, others) in &load.positions {
        *counts.entry((from - begin) / (merged * width)).or_default() += reads + others;
    }
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by_key(|n| std::cmp::Reverse(*n));
    let (mut sum, mut taken) = (0, 0);
    while 2 * sum < all {
        sum += counts[taken];
        taken += 1;
    }
    Some(taken as f64 / parts as f64)
}

pub(crate) fn sizes(input: &Measured) -> Option<Chart> {
    let load = input.load()?;
    let mut bins: BTreeMap<i32, (u64, u64)> = BTreeMap::new();
    for &(sectors, reads, others) in &load.sizes {
        let octave = (f64::from(sectors) * SECTOR_BYTES as f64).log2();
        let bin = (octave * BINS_PER_OCTAVE + 1e-9).floor() as i32;
        let counts = bins.entry(bin).or_default();
        counts.0 += reads;
        counts.1 += others;
    }
    let edge = |bin: i32| (f64::from(bin) / BINS_PER_OCTAVE).exp2();
    let bins: Vec<_> = bins
        .into_iter()
        .map(|(bin, (reads, writes))| (edge(bin), edge(bin + 1), reads, writes))
        .collect();
    let x = Axis::log("size of the request", Unit::Bytes);
    let y = Axis::from_zero("requests", Unit::Count);
    let mut chart = chart_of(input, "Request sizes", x, y);
    chart.marks = stacked(input, &bins);
    chart
        .notes
        .push(format!("{BINS_PER_OCTAVE} bins per factor of two"));
    Some(chart)
}

pub(crate) fn positions(input: &Measured) -> Option<Chart> {
    let load = input.load()?;
    let bytes = |sectors: u64| sectors as f64 * SECTOR_BYTES as f64;
    // By GiB on what is large enough, else so that there are some hundred bins.
    let width = (load.end_sector / 256)
        .next_power_of_two()
        .min(GIB_SECTORS)
        .max(load.position_sectors);
    let mut joined: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for &(from, reads, others) in &load.positions {
        let counts = joined.entry(from / width).or_default();
        counts.0 += reads;
        counts.1 += others;
    }
    let bins: Vec<_> = joined
        .into_iter()
        .map(|(i, (reads, writes))| {
            let from = i.saturating_mul(width);
            (
                bytes(from),
                bytes(from.saturating_add(width)),
                reads,
                writes,
            )
        })
        .collect();
    let x = Axis::from_zero("position on the device", Unit::Bytes);
    let y = Axis::from_zero("requests", Unit::Count);
    let mut chart = chart_of(input, "Positions", x, y);
    chart.marks = stacked(input, &bins);
    chart
        .notes
        .push(format!("bins of {}", Unit::Bytes.text(bytes(width))));
    if let Some(end) = input.options().device_sectors {
        let most = bins.iter().map(|b| b.2 + b.3).max().unwrap_or(1) as f64;
        let label = format!("end of the device: {}", Unit::Bytes.text(bytes(end)));
        let line = vec![(bytes(end), 0.0), (bytes(end), most)];
        chart.marks.push(Mark::Line(
            Line::new(&label, Colour::Demanded, line).dashed(),
        ));
        if load.end_sector > end {
            chart.warnings.push(
                "requests lie beyond the end of the device: a replay wraps them around or leaves them out".to_owned(),
            );
        }
    }
    Some(chart)
}

pub(crate) fn repetition(input: &Measured) -> Option<Chart> {
    let load = input.load()?;
    let x = Axis::log("rank of the 4 KiB page by accesses", Unit::Count);
    let y = Axis::log("accesses", Unit::Count);
    let mut chart = chart_of(input, "Repetition", x, y);
    let mut points: Vec<(f64, f64)> = load
        .repetition
        .iter()
        .map(|&(rank, count)| (rank as f64, f64::from(count)))
        .collect();
    let pages = load.distinct_pages as f64 * load.sampling_rate;
    if let Some(&(_, last)) = points.last() {
        points.push((pages.round() + 1.0, last));
    }
    let label = format!(
        "pages: {}, accessed {} times",
        grouped(load.distinct_pages),
        grouped(load.page_accesses)
    );
    chart
        .marks
        .push(Mark::Line(Line::steps(&label, Colour::Curve(0), points)));
    if load.sampling_rate < 1.0 {
        let share = 100.0 * load.sampling_rate;
        chart
            .notes
            .push(format!("based on a sample of {share:.2} % of the pages"));
    }
    let header = [
        "the hottest pages that receive",
        "pages",
        "of all pages",
        "speed-up if served instantly",
    ];
    let row = |hot: &iosonar_analysis::Hot| {
        let speed_up = if hot.speed_up.is_finite() {
            format!("{:.2} times", hot.speed_up)
        } else {
            "∞".to_owned()
        };
        vec![
            format!("{:.1} % of accesses", 100.0 * hot.accesses),
            grouped((hot.pages as f64 / load.sampling_rate).round() as u64),
            format!("{:.2} %", 100.0 * hot.share),
            speed_up,
        ]
    };
    chart.table = Some(Table {
        header: header.map(str::to_owned).to_vec(),
        rows: load.hot.iter().map(row).collect(),
    });
    Some(chart)
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Op, Outcome, Record, Request};
    use iosonar_units::{Nanos, Sector, Sectors};

    use super::*;
    use crate::measure::{Look, LookOptions};
    use crate::{Arrange, CATALOGUE, find, needs_of};

    #[test]
    fn marks_name_the_kinds_of_requests_that_are_drawn() {
        let marks = |kind: &str, ops: &[Op]| {
            let mut look = Look::new("a", needs_of(CATALOGUE), &LookOptions::default());
            for i in 0..100 {
                look.add(&Record {
                    request: Request {
                        start: Nanos::from_millis(i),
                        sector: Sector::new(8 * i),
                        sectors: Sectors::new(8),
                        op: ops[i as usize % ops.len()],
                        ..Request::default()
                    },
                    outcome: Outcome::done(Nanos::ZERO, Nanos::from_micros(500)),
                });
            }
            let charts = find(kind)
                .unwrap()
                .charts(&[look.finish()], Arrange::default());
            let mut labels = Vec::new();
            for mark in charts.iter().flat_map(|chart| &chart.marks) {
                match mark {
                    Mark::Bars(bars) => labels.push(bars.label.clone()),
                    Mark::Line(line) => labels.push(line.label.clone()),
                    _ => {}
                }
            }
            labels.join(", ")
        };
        for kind in ["latency-histogram", "sizes", "positions", "cdf", "ccdf"] {
            let discards = marks(kind, &[Op::Read, Op::Discard]);
            assert!(!discards.contains("writes"), "{kind}: {discards}");
            assert!(discards.contains("others"), "{kind}: {discards}");
            let mixed = marks(kind, &[Op::Read, Op::Write, Op::Discard]);
            assert!(mixed.contains("writes and others"), "{kind}: {mixed}");
            let writes = marks(kind, &[Op::Read, Op::Write]);
            assert!(
                writes.contains("writes") && !writes.contains("others"),
                "{kind}: {writes}"
            );
        }
    }

    #[test]
    fn bins_hold_what_brute_force_counts() {
        let values: Vec<u64> = (0..5000).map(|i| i * i * 37 % 900_000_007).collect();
        let mut histogram = Histogram::default();
        values.iter().for_each(|v| histogram.push(Nanos::new(*v)));
        let bins = binned(&histogram);
        assert_eq!(bins.values().sum::<u64>(), 5000);
        let zeros = values.iter().filter(|v| **v == 0).count() as u64;
        assert_eq!(bins.get(&None).copied().unwrap_or(0), zeros);
        for (bin, n) in bins.iter().filter_map(|(bin, n)| Some(((*bin)?, *n))) {
            // The histogram knows a value to 1/512 of it.
            let within = |slack: f64| {
                let edge = |b: i32| 10_f64.powf(f64::from(b) / BINS_PER_DECADE) * 1e9;
                let (from, to) = (edge(bin) / slack, edge(bin + 1) * slack);
                values
                    .iter()
                    .filter(|v| (from..to).contains(&(**v as f64)))
                    .count() as u64
            };
            assert!(within(1.0 / 1.002) <= n && n <= within(1.002), "{bin} {n}");
        }
    }
}
