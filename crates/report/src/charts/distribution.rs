//! Distributions: CDF, its complement, quantiles over time, heat map, model over measured.

use iosonar_plot::{
    Axis, Band, Callout, Chart, Cloud, Colour, Guide, Heat, Line, Mark, Marker, Named, Shape,
    Table, Unit,
};
use iosonar_stats::{BandPoint, Distribution, demerit, ks_distance};
use iosonar_units::Nanos;

use super::{chart_of, chart_of_all};
use crate::measure::{Measured, Quantity, View};
use crate::words::{describe, quantile, quantile_table, tool};

/// The CDF of `distribution`: from where it leaves zero, in seconds; the legend gets its count and quantiles.
pub fn curve(name: &str, distribution: &Distribution, colour: Colour) -> Line {
    let label = describe(name, distribution);
    let mut points = Vec::new();
    let mut below = 0.0;
    for point in distribution.histogram.cdf() {
        let value = point.value.as_secs_f64();
        if points.is_empty() && value > 0.0 {
            // Without zeros the curve begins with its first value: along the axis it would only hide others.
            points.push((value, below));
        } else if value == 0.0 {
            points.push((0.0, point.share));
        }
        if value > 0.0 {
            points.push((value, point.share));
        }
        below = point.share;
    }
    Line::steps(&label, colour, points).named(name)
}

/// The CDF of `distribution` with its 95 % band; points without a known width make none.
pub fn curve_with_band(
    name: &str,
    distribution: &Distribution,
    band: &[BandPoint],
    colour: Colour,
) -> Vec<Mark> {
    let known = band.iter().filter(|point| point.half_width.is_finite());
    let edges = |point: &BandPoint| {
        let value = point.value.as_secs_f64();
        let (low, high) = (
            point.share - point.half_width,
            point.share + point.half_width,
        );
        (value, low.max(0.0), high.min(1.0))
    };
    let points: Vec<_> = known.map(edges).collect();
    let mut marks = Vec::new();
    if !points.is_empty() {
        marks.push(Mark::Band(Band {
            label: String::new(),
            colour,
            points,
            shape: Shape::Straight,
        }));
    }
    marks.push(Mark::Line(curve(name, distribution, colour)));
    marks
}

/// A chart of the distribution functions of `quantity`, each with a colour of its own.
pub fn cdf_of(title: &str, quantity: Quantity, curves: Vec<Mark>) -> Chart {
    let mut y = Axis::from_zero("share of requests", Unit::Share);
    y.range = Some((0.0, 1.005));
    let mut chart = Chart {
        title: title.to_owned(),
        footer: tool(),
        x: Axis::log(quantity.name(), Unit::Seconds),
        y,
        marks: curves,
        ..Chart::default()
    };
    chart.set_markers();
    chart
}

/// The quantiles that are marked on distribution functions.
pub(crate) const MARKED: [(f64, &str); 2] = [(0.5, "p50"), (0.99, "p99")];

/// Marks where distribution functions reach the median and the 99th percentile. The curves have the markers that their
/// lines have.
fn mark_quantiles<'a>(
    chart: &mut Chart,
    curves: impl IntoIterator<Item = (&'a Distribution, Colour)>,
) {
    for (i, (of, colour)) in curves.into_iter().enumerate() {
        let marker = chart.marks.iter().find_map(|mark| match mark {
            Mark::Line(line) if line.colour() == colour => line.marker,
            _ => None,
        });
        let marker = marker.unwrap_or(Marker::nth(i));
        for (p, _) in MARKED {
            let value = of.histogram.quantile(p).unwrap_or_default().as_secs_f64();
            call_out(chart, (value, p), quantile(of, p), (colour, marker));
        }
    }
    guide_to_quantiles(chart);
}

/// Marks a point of a distribution function.
pub(crate) fn call_out(
    chart: &mut Chart,
    at: (f64, f64),
    text: String,
    (colour, marker): (Colour, Marker),
) {
    // Zero is not on a logarithmic axis.
    if at.0 > 0.0 {
        chart.callouts.push(Callout {
            at,
            text,
            colour,
            named: Named::Point(Some(marker)),
        });
    }
}

/// Draws lines at the shares of the quantiles that are marked, if any are.
pub(crate) fn guide_to_quantiles(chart: &mut Chart) {
    if !chart.callouts.is_empty() {
        let guide = |(at, text): (f64, &str)| Guide {
            at,
            text: text.to_owned(),
        };
        chart.guides.extend(MARKED.map(guide));
    }
}

/// Marks the median and the 99th percentile of curves, by their names, and writes their figures below the chart instead of into
/// its legend.
pub fn show_quantiles(chart: &mut Chart, curves: &[(&str, &Distribution, Colour)]) {
    for mark in &mut chart.marks {
        if let Mark::Line(line) = mark
            && let Some((name, ..)) = curves.iter().find(|(name, ..)| *name == line.name())
        {
            (*name).clone_into(&mut line.label);
        }
    }
    if curves.is_empty() {
        return;
    }
    chart.table = Some(quantile_table(
        curves.iter().map(|(name, of, _)| (*name, *of)),
    ));
    mark_quantiles(chart, curves.iter().map(|(_, of, colour)| (*of, *colour)));
}

/// Who is on a chart of distributions.
struct Member {
    name: String,
    of: Distribution,
    colour: Colour,
    /// How sure its distribution function is; empty where that is not known.
    band: Vec<BandPoint>,
}

/// All inputs; of a single one reads and others, too.
fn members(inputs: &[Measured], quantity: Quantity) -> Vec<Member> {
    let mut members = Vec::new();
    let mut add = |name: &str, of: Distribution, colour, band: &[BandPoint]| {
        if of.count() > 0 {
            members.push(Member {
                name: name.to_owned(),
                of,
                colour,
                band: band.to_vec(),
            });
        }
    };
    if let [input] = inputs {
        let (reads, others) = (input.reads(quantity), input.writes(quantity));
        let name = input.name_of_others();
        // A band belongs to what is whole: all requests of an input.
        if reads.count() > 0 && others.count() > 0 {
            add("all", input.all(quantity), Colour::Sum, &input.band());
            add("reads", reads.clone(), Colour::Read, &[]);
            add(name, others.clone(), Colour::Write, &[]);
        } else {
            add("reads", reads.clone(), Colour::Read, &input.band());
            add(name, others.clone(), Colour::Write, &input.band());
        }
        return members;
    }
    for (i, input) in inputs.iter().enumerate() {
        let colour = Colour::Curve(i);
        add(&input.name, input.all(quantity), colour, &input.band());
    }
    members
}

fn table(members: &[Member]) -> Table {
    quantile_table(members.iter().map(|m| (m.name.as_str(), &m.of)))
}

pub(crate) fn cdf(inputs: &[Measured]) -> Option<Chart> {
    let quantity = inputs.first()?.options().quantity;
    let members = members(inputs, quantity);
    members.first()?;
    let template = cdf_of("", quantity, Vec::new());
    let kind = format!("Distribution of {}", quantity.name());
    let mut chart = chart_of_all(inputs, &kind, template.x, template.y);
    for (i, member) in members.iter().enumerate() {
        let Member { name, of, .. } = member;
        let mut marks = curve_with_band(name, of, &member.band, member.colour);
        if let Some(Mark::Line(line)) = marks.last_mut() {
            line.label.clone_from(name);
            // Of inputs that are alike, each is seen through the gaps of the others.
            *line = std::mem::take(line).in_turn(i, members.len());
        }
        chart.marks.append(&mut marks);
    }
    if chart.marks.iter().any(|mark| matches!(mark, Mark::Band(_))) {
        let note = "the band contains the curve with 95 % confidence (from sections of the run, assumed independent)";
        chart.notes.push(note.to_owned());
    }
    let zeros = |of: &Distribution| of.moments.min() == Some(Nanos::ZERO);
    if members.iter().any(|m| zeros(&m.of)) {
        chart
            .notes
            .push("zeros lie to the left of the axis: the curve starts at their share".to_owned());
    }
    let mut table = table(&members);
    if inputs.len() > 1 {
        add_distances(&mut table, &members);
    }
    chart.table = Some(table);
    mark_quantiles(&mut chart, members.iter().map(|of| (&of.of, of.colour)));
    Some(chart)
}

/// Adds how far each distribution is from the first.
fn add_distances(table: &mut Table, members: &[Member]) {
    table.header.extend(["KS", "demerit"].map(str::to_owned));
    let Some(reference) = members.first() else {
        return;
    };
    for (i, (row, member)) in table.rows.iter_mut().zip(members).enumerate() {
        if i == 0 {
            row.extend(["-", "-"].map(str::to_owned));
            continue;
        }
        let (of, first) = (&member.of.histogram, &reference.of.histogram);
        row.push(format!("{:.3}", ks_distance(of, first)));
        row.push(Nanos::nearest(demerit(of, first)).to_string());
    }
}

pub(crate) fn ccdf(inputs: &[Measured]) -> Option<Chart> {
    let quantity = inputs.first()?.options().quantity;
    let members = members(inputs, quantity);
    members.first()?;
    let kind = format!("Tail of the {}", quantity.name());
    let x = Axis::log(quantity.name(), Unit::Seconds);
    let y = Axis::log("share of requests that took longer", Unit::Share);
    let mut chart = chart_of_all(inputs, &kind, x, y);
    for (
        i,
        Member {
            name, of, colour, ..
        },
    ) in members.iter().enumerate()
    {
        // The share above the last value is zero, which a logarithmic axis does not have: the curve ends there.
        let above = |share: f64| (share > 1e-15).then_some(share);
        let mut points: Vec<(f64, f64)> = Vec::new();
        let mut before = 1.0;
        for point in of.histogram.cdf() {
            let value = point.value.as_secs_f64();
            if points.is_empty() && value > 0.0 {
                points.push((value, before));
            }
            let share = above(1.0 - point.share);
            points.push((value, share.unwrap_or(before)));
            before = share.unwrap_or(before);
        }
        points.retain(|(value, _)| *value > 0.0);
        let line = Line::steps(name, *colour, points).in_turn(i, members.len());
        chart.marks.push(Mark::Line(line));
    }
    chart.table = Some(table(&members));
    Some(chart)
}

/// The approximate maximum number of windows on a chart of quantiles over time.
const WINDOWS: f64 = 120.0;
/// The average number of requests in a window: with fewer, a p99 is the maximum.
const IN_A_WINDOW: f64 = 200.0;

/// Windows of time.
struct Windows {
    /// When the first begins, in seconds.
    begin: f64,
    /// Their width in seconds.
    width: f64,
}

/// Goes through the windows of a settled cloud up to the last that has values: the ascending values of each, with their
/// counts. One window at a time, as all together they are as large as the cloud.
fn each_window(
    cloud: &Cloud,
    wanted: Option<f64>,
    mut visit: impl FnMut(&[(f64, u64)]),
) -> Option<Windows> {
    let (from, to) = cloud.x_range()?;
    let windows = (cloud.count() as f64 / IN_A_WINDOW).clamp(10.0, WINDOWS);
    let raw = ((to - from) / windows).max(1e-9);
    let decade = 10_f64.powf(raw.log10().floor());
    let digit = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|d| d * decade >= raw * 0.999_999);
    // The number of columns of a picture, which limits the number of windows.
    let wanted = wanted.map(|width| width.max((to - from) / 10_000.0));
    let width = wanted.unwrap_or(digit.unwrap_or(10.0) * decade);
    let begin = (from / width).floor() * width;
    let mut points = cloud.points().unwrap_or_default().to_vec();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let points = points.iter().map(|p| (p.x, p.y, 1));
    let middle = |(a, b): (f64, f64)| f64::midpoint(a, b);
    let cells = cloud.cells();
    let cells = cells.map(|cell| (middle(cell.x), middle(cell.y), u64::from(cell.count)));
    let (mut number, mut values) = (0, Vec::new());
    let mut end = |values: &mut Vec<(f64, u64)>| {
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        visit(values);
        values.clear();
    };
    // Both are in the order of time.
    for (x, y, n) in points.chain(cells).filter(|(_, y, _)| y.is_finite()) {
        let at = ((x - begin) / width) as usize;
        for _ in number..at {
            end(&mut values);
        }
        number = at.max(number);
        values.push((y, n));
    }
    if !values.is_empty() {
        end(&mut values);
    }
    Some(Windows { begin, width })
}

/// When slow requests start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SlowWindows {
    /// How many requests are slow.
    pub(crate) count: u64,
    /// The share of time of the busiest windows that together contain four fifths of them.
    pub(crate) busiest: f64,
    /// The share of time of the shortest stretch that contains four fifths of them; `None` if they are not spread over all
    /// of it, as of several spikes.
    pub(crate) stretch: Option<f64>,
}

/// When the requests start that took longer than this; `None` where nothing was measured over time.
pub(crate) fn slow_windows(input: &Measured, above: f64) -> Option<SlowWindows> {
    let cloud = input.cloud(View::Started)?;
    let mut counts = Vec::new();
    each_window(&cloud, None, |values| {
        let slow = values.iter().filter(|(value, _)| *value > above);
        counts.push(slow.map(|(_, n)| n).sum::<u64>());
    })?;
    let count: u64 = counts.iter().sum();
    let most = |sum: u64| sum as f64 >= 0.8 * count as f64;
    let share = |windows: usize| windows as f64 / counts.len() as f64;
    let (mut stretch, mut first, mut sum) = (&counts[..], 0, 0);
    for (last, n) in counts.iter().enumerate() {
        sum += n;
        while first < last && most(sum - counts[first]) {
            sum -= counts[first];
            first += 1;
        }
        if most(sum) && last + 1 - first < stretch.len() {
            stretch = &counts[first..=last];
        }
    }
    let mut sorted = counts.clone();
    sorted.sort_unstable_by_key(|n| std::cmp::Reverse(*n));
    let (mut sum, mut busiest) = (0, 0);
    while !most(sum) {
        sum += sorted[busiest];
        busiest += 1;
    }
    Some(SlowWindows {
        count,
        busiest: share(busiest),
        stretch: is_filled(stretch).then(|| share(stretch.len())),
    })
}

/// Whether a stretch of windows has no gaps: at most a fifth of them have less than a quarter of the mean count.
fn is_filled(stretch: &[u64]) -> bool {
    let mean = stretch.iter().sum::<u64>() as f64 / stretch.len() as f64;
    let sparse = stretch.iter().filter(|n| (**n as f64) < mean / 4.0);
    sparse.count() <= stretch.len() / 5
}

/// The smallest value with at least a share `p` at or below it; NaN without any.
fn quantile_of(values: &[(f64, u64)], p: f64) -> f64 {
    let total: u64 = values.iter().map(|(_, n)| n).sum();
    let rank = ((p * total as f64).ceil() as u64).clamp(1, total.max(1));
    let mut below = 0;
    for &(value, n) in values {
        below += n;
        if below >= rank {
            return value;
        }
    }
    f64::NAN
}

pub(crate) fn quantiles(input: &Measured) -> Option<Chart> {
    let cloud = input.cloud(View::Started)?;
    let shares = [0.5, 0.9, 0.99, 1.0];
    let mut found = Vec::new();
    let window = input.options().window.map(Nanos::as_secs_f64);
    let Windows { begin, width } = each_window(&cloud, window, |values| {
        found.push(shares.map(|share| quantile_of(values, share)));
    })?;
    let quantity = input.options().quantity;
    let kind = format!("Quantiles of {} over time", quantity.name());
    let y = Axis::log(quantity.name(), Unit::Seconds);
    let mut chart = chart_of(input, &kind, Axis::time("time"), y);
    let line = |i: usize| -> Vec<(f64, f64)> {
        let of = found.iter().chain(found.last()).enumerate();
        of.map(|(n, quantiles)| (begin + n as f64 * width, quantiles[i]))
            .collect()
    };
    let [median, p90, p99, max] = std::array::from_fn(line);
    let band = median
        .iter()
        .zip(&p90)
        .map(|(a, b)| (a.0, a.1, b.1))
        .collect();
    chart.marks.push(Mark::Band(Band {
        label: String::new(),
        colour: Colour::Curve(0),
        points: band,
        shape: Shape::Steps,
    }));
    // The higher lie above: where they are equal, the rarer is seen, and what is below through its dashes.
    for (label, points, colour) in [
        ("median", median, Colour::Curve(0)),
        ("p90", p90, Colour::Curve(2)),
        ("p99", p99, Colour::Curve(1)),
    ] {
        chart
            .marks
            .push(Mark::Line(Line::steps(label, colour, points)));
    }
    let max = Line::steps("max", Colour::Muted, max).dashed();
    chart.marks.push(Mark::Line(max));
    chart
        .notes
        .push(format!("windows of {}", iosonar_plot::seconds(width)));
    Some(chart)
}

pub(crate) fn heat_map(input: &Measured) -> Option<Chart> {
    let cloud = input.cloud(View::Started)?;
    let quantity = input.options().quantity;
    let kind = format!("Heat map of {}", quantity.name());
    let y = Axis::log(quantity.name(), Unit::Seconds);
    let mut chart = chart_of(input, &kind, Axis::time("time"), y);
    let cells = cloud.merged(160, 60);
    let most = cells.iter().map(|cell| cell.count).max()?;
    let label = format!("requests in a cell: 1 to {most}, logarithmic");
    chart.marks.push(Mark::Heat(Heat { label, cells }));
    Some(chart)
}

pub(crate) fn model_ratio(inputs: &[Measured]) -> Option<Chart> {
    let quantity = inputs.first()?.options().quantity;
    let members = members(inputs, quantity);
    if inputs.len() < 2 || members.len() < 2 {
        return None;
    }
    let x = Axis::linear("quantile", Unit::Share);
    let y = Axis::log("ratio of the quantiles", Unit::Number);
    let kind = format!("Ratio of the {}", quantity.name());
    let mut chart = chart_of_all(inputs, &kind, x, y);
    let (reference_name, reference) = (&members[0].name, &members[0].of);
    let shares = || (1..1000).map(|i| f64::from(i) / 1000.0);
    let of = |d: &Distribution, p| d.histogram.quantile(p).unwrap_or_default().as_secs_f64();
    let compared = &members[1..];
    for (i, member) in compared.iter().enumerate() {
        let Member {
            name,
            of: distribution,
            colour,
            ..
        } = member;
        let ratio = |p: f64| (p, of(distribution, p) / of(reference, p));
        let points: Vec<(f64, f64)> = shares()
            .map(ratio)
            .filter(|(_, r)| r.is_finite() && *r > 0.0)
            .collect();
        let label = format!("{name} over {reference_name}");
        let line = Line::new(&label, *colour, points).in_turn(i, compared.len());
        chart.marks.push(Mark::Line(line));
    }
    let one = vec![(0.0, 1.0), (1.0, 1.0)];
    chart
        .marks
        .push(Mark::Line(Line::new("equal", Colour::Muted, one).dashed()));
    Some(chart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Look, LookOptions};
    use iosonar_trace::{Outcome, Record, Request};

    fn measured(n: u64) -> (Measured, Vec<(u64, u64)>) {
        let needs = crate::find("quantiles").unwrap().needs;
        let mut look = Look::new("test", needs, &LookOptions::default());
        let mut all = Vec::new();
        for i in 0..n {
            let (start, latency) = (i * 10_007, 1_000 + i * i * 31 % 1_000_003);
            all.push((start, latency));
            look.add(&Record {
                request: Request {
                    start: Nanos::new(start),
                    ..Request::default()
                },
                outcome: Outcome::done(Nanos::ZERO, Nanos::new(latency)),
            });
        }
        (look.finish(), all)
    }

    /// Points exactly; cells within their height.
    #[test]
    fn quantiles_over_time_are_those_of_brute_force() {
        for (n, tolerance) in [(5_000, 1e-12), (200_000, 0.01)] {
            let (input, all) = measured(n);
            let chart = quantiles(&input).unwrap();
            let Mark::Line(p99) = &chart.marks[3] else {
                panic!("a line")
            };
            let width = p99.points[1].0 - p99.points[0].0;
            for &(begin, value) in p99.points.iter().take(p99.points.len() - 2).skip(1) {
                let within = |(start, _): &&(u64, u64)| {
                    let at = *start as f64 * 1e-9;
                    begin - width * 1e-9 <= at && at < begin + width * (1.0 - 1e-9)
                };
                let mut latencies: Vec<u64> = all.iter().filter(within).map(|r| r.1).collect();
                latencies.sort_unstable();
                // A request on the border may be counted on either side.
                let rank = (0.99 * latencies.len() as f64).ceil() as usize;
                let near = [
                    rank.saturating_sub(2),
                    rank.saturating_sub(1),
                    rank.min(latencies.len() - 1),
                ];
                let fits = near
                    .iter()
                    .any(|&i| (latencies[i] as f64 * 1e-9 / value - 1.0).abs() <= tolerance);
                assert!(fits, "{begin} {value} {:?}", near.map(|i| latencies[i]));
            }
        }
    }

    #[test]
    fn the_cdf_ends_with_one_and_its_complement_where_the_last_step_is() {
        let (input, all) = measured(1000);
        let chart = cdf(std::slice::from_ref(&input)).unwrap();
        let Some(Mark::Line(line)) = chart.marks.last() else {
            panic!("a line")
        };
        let largest = all.iter().map(|r| r.1).max().unwrap() as f64 * 1e-9;
        let last = line.points.last().unwrap();
        assert!((last.0 / largest - 1.0).abs() < 1e-12 && last.1 == 1.0);
        let tail = ccdf(&[input]).unwrap();
        let Some(Mark::Line(line)) = tail.marks.first() else {
            panic!("a line")
        };
        // Each step is the share of those that took longer than its value; the last stays.
        for &(value, share) in &line.points[1..line.points.len() - 1] {
            let longer = |slack: f64| {
                let limit = value * slack;
                all.iter().filter(|r| r.1 as f64 * 1e-9 > limit).count() as f64 / 1000.0
            };
            let slack = 1.0 + 2.0 / 512.0;
            let (low, high) = (longer(slack), longer(1.0 / slack));
            assert!(
                (low - 1e-9..=high + 1e-9).contains(&share),
                "{value} {share}"
            );
        }
    }
}
