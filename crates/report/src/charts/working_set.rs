//! Where a load goes, and how much of the device it uses.

use iosonar_analysis::{LoadPoint, WORKING_SET_WINDOWS};
use iosonar_plot::{Axis, Chart, Colour, Line, Mark, Unit};
use iosonar_units::SECTOR_BYTES;

use super::chart_of;
use crate::measure::{Measured, View};

pub(crate) fn addresses(input: &Measured) -> Option<Chart> {
    let cloud = input.cloud(View::Addresses)?;
    let y = Axis::from_zero("position on the device", Unit::Bytes);
    let mut chart = chart_of(input, "Addresses", Axis::time("intended start"), y);
    chart.marks.push(Mark::Cloud(cloud));
    Some(chart)
}

pub(crate) fn logarithmic(input: &Measured) -> Option<Chart> {
    let y = Axis::log("distinct data", Unit::Bytes);
    sets(input, "Working set", y, |_, set| set * SECTOR_BYTES as f64)
}

pub(crate) fn linear(input: &Measured) -> Option<Chart> {
    let y = Axis::from_zero("distinct data", Unit::Bytes);
    sets(input, "Working set", y, |_, set| set * SECTOR_BYTES as f64)
}

pub(crate) fn span(input: &Measured) -> Option<Chart> {
    let y = Axis::log(
        "distance from the lowest to the highest sector",
        Unit::Bytes,
    );
    sets(input, "Span", y, |span, _| span * SECTOR_BYTES as f64)
}

pub(crate) fn sparsity(input: &Measured) -> Option<Chart> {
    let y = Axis::log("span divided by working set", Unit::Number);
    sets(input, "Sparsity", y, |span, set| span / set)
}

/// The last `d` seconds, for each `d`, and everything.
fn names() -> Vec<String> {
    let windows = WORKING_SET_WINDOWS.iter();
    windows
        .map(|d| format!("the last {d}"))
        .chain(["everything so far".to_owned()])
        .collect()
}

/// A figure of each window's span and set, both in sectors.
fn sets(input: &Measured, kind: &str, y: Axis, of: fn(f64, f64) -> f64) -> Option<Chart> {
    let load = input.load()?;
    let mut chart = chart_of(input, kind, Axis::time("time"), y);
    let lines: Vec<Vec<(f64, f64)>> = match input.tumbling() {
        Some(windows) => windows
            .iter()
            .map(|points| {
                let point = |&(end, set, span): &(_, u64, u64)| {
                    let end: iosonar_units::Nanos = end;
                    (end.as_secs_f64(), of(span as f64, set as f64))
                };
                points.iter().map(point).collect()
            })
            .collect(),
        None => (0..=WORKING_SET_WINDOWS.len())
            .map(|i| {
                let point = |(end, p): &(iosonar_units::Nanos, LoadPoint)| {
                    let value = of(p.span[i] as f64, p.working_set[i] as f64);
                    (end.as_secs_f64(), value)
                };
                load.series.iter().map(point).collect()
            })
            .collect(),
    };
    let span_s = (load.last - load.first).as_secs_f64();
    for (i, (name, points)) in names().into_iter().zip(lines).enumerate() {
        // A window longer than the load is everything so far.
        let is_whole = WORKING_SET_WINDOWS
            .get(i)
            .is_some_and(|d| d.as_secs_f64() > span_s);
        if !is_whole {
            let points = without_repetition(points);
            chart
                .marks
                .push(Mark::Line(Line::new(&name, Colour::Curve(i), points)));
        }
    }
    if input.tumbling().is_some() {
        chart.notes.push(
            "as in graph.sh: consecutive windows, and only the first sector of each request"
                .to_owned(),
        );
    } else if load.sampling_rate < 1.0 {
        let error = 100.0 * load.working_set_stderr;
        chart.notes.push(format!(
            "based on a sample of pages; standard error {error:.2} %"
        ));
    }
    Some(chart)
}

/// Of runs of the same value, the first and the last: a load that pauses for days says nothing new meanwhile.
fn without_repetition(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for point in points {
        if let [.., a, b] = kept[..]
            && same(a.1, b.1)
            && same(b.1, point.1)
        {
            kept.pop();
        }
        kept.push(point);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_keeps_its_ends() {
        let nan = f64::NAN;
        let points = [1.0, 1.0, 1.0, nan, nan, nan, 2.0, 2.0, 3.0];
        let points: Vec<_> = (0..9).map(|i| (f64::from(i), points[i as usize])).collect();
        let kept: Vec<f64> = without_repetition(points).iter().map(|p| p.0).collect();
        assert_eq!(kept, [0.0, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0]);
    }
}
