//! The metrics of disk activity over time and by size.

use iosonar_analysis::{Activity, ActivityGroup, SizeClass};
use iosonar_plot::{Axis, Chart, Colour, Dash, Line, Mark, Shape, Unit};
use iosonar_units::Nanos;

use super::chart_of;
use crate::measure::Measured;

/// A figure of a group of time.
type OfGroup<'a> = &'a dyn Fn(&ActivityGroup) -> f64;
/// A figure of a class of sizes.
type OfSize<'a> = &'a dyn Fn(&SizeClass) -> Option<f64>;

/// Lines over the groups of time; one group alone is not worth a chart over time, but a level.
fn over_groups(
    input: &Measured,
    kind: &str,
    y: Axis,
    lines: &[(&str, Colour, OfGroup<'_>)],
) -> Option<Chart> {
    let activity = &input.outcome()?.activity;
    let mut chart = chart_of(input, kind, Axis::time("time"), y);
    let width = activity.options.group.as_secs_f64();
    let end = input.span().2.as_secs_f64();
    for (label, colour, of) in lines {
        let mut points: Vec<(f64, f64)> = activity
            .groups
            .iter()
            .map(|group| (group.begin.as_secs_f64(), of(group)))
            .collect();
        if let Some(&(last, value)) = points.last() {
            points.push((last + width.min(end - last).max(0.0), value));
        }
        chart
            .marks
            .push(Mark::Line(Line::steps(label, *colour, points)));
    }
    let group = format!("periods of {}", activity.options.group);
    chart.notes.push(group);
    Some(chart)
}

fn warn_if_fast(chart: &mut Chart, activity: &Activity) {
    if activity.is_too_fast() {
        chart.warnings.push(format!(
            "the median response time is shorter than the interval of {}, so the values are requests per interval, not requests in flight",
            activity.options.interval
        ));
    }
}

pub(crate) fn requests(input: &Measured) -> Option<Chart> {
    let y = Axis::from_zero("requests per second", Unit::Number);
    let width = input.outcome()?.activity.options.group;
    // The first group begins, and the last ends, with the load; one that it hardly covers
    // has no rate.
    let (first, last, _) = input.span();
    let rate = move |g: &ActivityGroup, n: u64| {
        let begin = g.begin.max(first);
        let end = g.begin.saturating_add(width).min(last.max(begin));
        let covered = end.saturating_sub(begin);
        let is_whole_load = first >= g.begin && last <= g.begin.saturating_add(width);
        if covered.get() < width.get() / 10 && !is_whole_load || covered.get() == 0 {
            return f64::NAN;
        }
        n as f64 / covered.as_secs_f64()
    };
    over_groups(
        input,
        "Requests by period",
        y,
        &[
            ("reads and writes", Colour::Sum, &|g| {
                rate(g, g.requests.all)
            }),
            ("reads", Colour::Read, &|g| rate(g, g.requests.reads)),
            ("writes", Colour::Write, &|g| rate(g, g.requests.writes)),
        ],
    )
}

pub(crate) fn concurrency(input: &Measured) -> Option<Chart> {
    let y = Axis::from_zero("concurrent requests", Unit::Count);
    let mut chart = over_groups(
        input,
        "Concurrency by period",
        y,
        &[
            ("active in an interval: p75", Colour::Curve(1), &|g| {
                g.concurrency[1] as f64
            }),
            ("active in an interval: median", Colour::Curve(0), &|g| {
                g.concurrency[0] as f64
            }),
            (
                "in flight at the start of an interval: p75",
                Colour::Curve(3),
                &|g| g.in_flight[1] as f64,
            ),
            (
                "in flight at the start of an interval: median",
                Colour::Curve(2),
                &|g| g.in_flight[0] as f64,
            ),
        ],
    )?;
    let activity = &input.outcome()?.activity;
    chart
        .notes
        .push(format!("intervals of {}", activity.options.interval));
    warn_if_fast(&mut chart, activity);
    Some(chart)
}

pub(crate) fn utilisation(input: &Measured) -> Option<Chart> {
    let mut y = Axis::from_zero("utilisation", Unit::Share);
    y.range = Some((0.0, 1.02));
    let mut chart = over_groups(
        input,
        "Utilisation by period",
        y,
        &[
            ("intervals with an active request", Colour::Sum, &|g| {
                g.utilisation.all
            }),
            ("with an active read", Colour::Read, &|g| {
                g.utilisation.reads
            }),
            ("with an active write", Colour::Write, &|g| {
                g.utilisation.writes
            }),
            (
                "exact share of time with a request in flight",
                Colour::Curve(2),
                &|g| g.busy,
            ),
        ],
    )?;
    let activity = &input.outcome()?.activity;
    chart
        .notes
        .push(format!("intervals of {}", activity.options.interval));
    warn_if_fast(&mut chart, activity);
    Some(chart)
}

fn at(of: Option<[Nanos; 4]>, i: usize) -> f64 {
    of.map_or(f64::NAN, |quantiles| quantiles[i].as_secs_f64())
}

pub(crate) fn response_time(input: &Measured) -> Option<Chart> {
    let y = Axis::log("response time", Unit::Seconds);
    let mut chart = over_groups(
        input,
        "Response time by period",
        y,
        &[
            ("reads: median", Colour::Read, &|g| {
                at(g.response_time.reads, 0)
            }),
            ("writes: median", Colour::Write, &|g| {
                at(g.response_time.writes, 0)
            }),
            ("reads: p75", Colour::Read, &|g| {
                at(g.response_time.reads, 1)
            }),
            ("reads: p95", Colour::Read, &|g| {
                at(g.response_time.reads, 2)
            }),
            ("reads: p99", Colour::Read, &|g| {
                at(g.response_time.reads, 3)
            }),
            ("writes: p75", Colour::Write, &|g| {
                at(g.response_time.writes, 1)
            }),
            ("writes: p95", Colour::Write, &|g| {
                at(g.response_time.writes, 2)
            }),
            ("writes: p99", Colour::Write, &|g| {
                at(g.response_time.writes, 3)
            }),
        ],
    )?;
    for mark in chart.marks.iter_mut().skip(2) {
        if let Mark::Line(line) = mark {
            line.dash = Some(Dash::USUAL);
            // One entry of the legend stands for all three.
            let label = std::mem::take(&mut line.label);
            if label.ends_with("p75") {
                line.label = format!("{label}, p95, p99");
            }
            line.name = label;
        }
    }
    Some(chart)
}

pub(crate) fn response_by_size(input: &Measured) -> Option<Chart> {
    let sizes = &input.outcome()?.activity.sizes;
    let x = Axis::log("size of the request", Unit::Bytes);
    let y = Axis::log("median response time", Unit::Seconds);
    let mut chart = chart_of(input, "Response time by size", x, y);
    let seconds = |t: Option<Nanos>| t.map(Nanos::as_secs_f64);
    let lines: [(&str, Colour, OfSize<'_>); 4] = [
        ("reads", Colour::Read, &|c| seconds(c.reads.1)),
        ("writes", Colour::Write, &|c| seconds(c.writes.1)),
        ("until the first I/O is complete", Colour::Curve(2), &|c| {
            seconds(c.first_and_total.map(|t| t.0))
        }),
        ("until the last I/O is complete", Colour::Curve(3), &|c| {
            seconds(c.first_and_total.map(|t| t.1))
        }),
    ];
    for (label, colour, of) in lines {
        let points: Vec<(f64, f64)> = sizes
            .iter()
            .filter(|class| class.up_to > 0)
            .filter_map(|class| Some((class.up_to as f64, of(class)?)))
            .collect();
        if !points.is_empty() {
            let mut line = Line::new(label, colour, points);
            line.shape = Shape::Straight;
            chart.marks.push(Mark::Line(line));
        }
    }
    Some(chart)
}

pub(crate) fn atomic_share(input: &Measured) -> Option<Chart> {
    let activity = &input.outcome()?.activity;
    // If the trace does not show which I/Os belong together, every request is a single I/O: nothing to draw.
    if activity.sizes.iter().all(|c| c.first_and_total.is_none()) {
        return None;
    }
    let mut y = Axis::from_zero("requests served by a single I/O", Unit::Share);
    y.range = Some((0.0, 1.02));
    over_groups(
        input,
        "Share of atomic requests",
        y,
        &[
            ("reads and writes", Colour::Sum, &|g| g.atomic.all),
            ("reads", Colour::Read, &|g| g.atomic.reads),
            ("writes", Colour::Write, &|g| g.atomic.writes),
        ],
    )
}
