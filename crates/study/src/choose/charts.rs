//! How candidates do while the load grows, as a chart.

use iosonar_plot::{Axis, Chart, Colour, Estimates, Limit, Line, Mark, Unit};

use super::{Conclusion, Considered};
use crate::plan::{GrowBy, Point};
use iosonar_analysis::objective::{Objective, Statistic};

/// The statistic of the first target against the growth of the load, a curve for each candidate that was simulated, with
/// the target as a line. Growths whose runs were given up have no point: there the target is missed by far.
pub fn chart(all: &[Considered], target: &Objective, about: &str) -> Chart {
    let (unit, scale) = match target.statistic {
        Statistic::Throughput => (Unit::Number, 1.0),
        Statistic::Mean | Statistic::Quantile(_) => (Unit::Seconds, 1e-3),
    };
    let mut marks = Vec::new();
    for (i, considered) in all.iter().enumerate() {
        let colour = Colour::Curve(i);
        let points: Vec<_> = points_of(considered)
            .iter()
            .filter_map(|point| {
                let attained = point.outcomes[0].attained()?;
                let mean = attained.estimate.mean * scale;
                let (low, high) = attained.interval_95.unwrap_or((f64::NAN, f64::NAN));
                // A logarithmic axis has no place for what may be nothing at all.
                (mean > 0.0).then(|| {
                    (
                        point.load,
                        mean,
                        (low * scale).max(mean / 100.0),
                        high * scale,
                    )
                })
            })
            .collect();
        if points.is_empty() {
            continue;
        }
        let line = points.iter().map(|point| (point.0, point.1)).collect();
        marks.push(Mark::Line(Line::new(&considered.name, colour, line)));
        marks.push(Mark::Estimates(Estimates {
            name: format!("{} 95 %", considered.name),
            label: String::new(),
            colour,
            marker: None,
            points,
        }));
    }
    let by_copies = |of: &Considered| {
        of.growth()
            .is_some_and(|growth| growth.by == GrowBy::Copies)
    };
    let grows = match all.iter().any(by_copies) {
        true => "copies of this load",
        false => "times this load",
    };
    let statistic = target.name();
    let mut chart = Chart {
        name: "growth".to_owned(),
        title: format!("{statistic} as the load grows"),
        subtitle: about.to_owned(),
        about: format!(
            "{statistic} under multiples of the load, with 95 % intervals: one curve per candidate, and the target as \
             a line"
        ),
        footer: format!("iosonar {}", env!("CARGO_PKG_VERSION")),
        x: Axis::log(grows, Unit::Number),
        y: Axis::log(&statistic, unit),
        marks,
        limit: Some(Limit {
            at: target.limit * scale,
            text: format!("target: {target}"),
            is_kept: !Conclusion::of(all, target).meet.is_empty(),
        }),
        ..Chart::default()
    };
    chart.set_markers();
    chart
}

/// What was simulated, by growth.
fn points_of(considered: &Considered) -> &[Point] {
    match &considered.outcome {
        Err(_) => &[],
        Ok(of) => match &of.growth {
            Some(growth) => &growth.found.points,
            None => std::slice::from_ref(&of.now),
        },
    }
}
