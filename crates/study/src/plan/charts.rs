//! How an answer came about, as a chart.

use super::{Answer, load_text};
use iosonar_analysis::objective::{Objective, Statistic};
use iosonar_plot::{Axis, Band, Chart, Colour, Limit, Line, Mark, Shape, Unit};
use iosonar_trace::Requests;

/// Theory and simulation of a target by its number over the load, in its unit times `scale`.
fn curves_of(number: usize, objective: &Objective, answer: &Answer, scale: f64) -> Vec<Mark> {
    let points = answer.found.points.iter().chain(&answer.around);
    let mut simulated: Vec<_> = points
        .filter_map(|p| Some((p.load, *p.outcomes[number].attained()?)))
        .collect();
    simulated.sort_by(|a, b| a.0.total_cmp(&b.0));
    // What lies far above the target, and the best that was found, makes the rest unreadable.
    let least = simulated.iter().map(|(_, of)| of.estimate.mean);
    let least = least.fold(f64::INFINITY, f64::min);
    let top = match objective.statistic {
        Statistic::Throughput => f64::INFINITY,
        _ if least.is_finite() => 4.0 * objective.limit.max(least),
        _ => 4.0 * objective.limit,
    };
    let theory = answer.theory.get(number).into_iter().flatten();
    let theory = theory.filter(|(_, value)| *value <= top);
    let theory: Vec<(f64, f64)> = theory.map(|(load, v)| (*load, v * scale)).collect();
    let bands = simulated
        .iter()
        .filter(|(_, of)| of.estimate.mean <= top)
        .filter_map(|(load, of)| {
            let (low, high) = of.interval_95?;
            Some((*load, low * scale, high * scale))
        });
    let means = simulated
        .iter()
        .filter(|(_, of)| of.estimate.mean <= top)
        .map(|(load, of)| (*load, of.estimate.mean * scale))
        .collect();
    let mut marks = vec![
        Mark::Line(Line::new("theory", Colour::Curve(1), theory).dashed()),
        Mark::Band(Band {
            label: String::new(),
            colour: Colour::Curve(0),
            points: bands.collect(),
            shape: Shape::Straight,
        }),
        Mark::Line(Line::new("simulated, 95 % band", Colour::Curve(0), means)),
    ];
    marks.retain(|mark| match mark {
        Mark::Line(line) => !line.points.is_empty(),
        Mark::Band(band) => !band.points.is_empty(),
        _ => true,
    });
    marks
}

/// An answer as a chart, of the system that `headline` names: theory and simulation over the load, with the target and the
/// knee. Of several targets the one that is missed first is drawn.
pub fn chart(headline: &str, targets: &[Objective], answer: &Answer) -> Chart {
    let (found, load_unit) = (&answer.found, answer.sought.unit());
    let number = found.missed_first().unwrap_or(0);
    let objective = &targets[number];
    let of = match objective.requests {
        Requests::All => "",
        Requests::Reads => " of reads",
        Requests::Writes => " of writes",
    };
    let (name, unit, scale) = match objective.statistic {
        Statistic::Mean => (format!("mean response time{of}"), Unit::Seconds, 1e-3),
        Statistic::Quantile(p) => {
            let name = format!("p{} of the response time{of}", (p * 1e8).round() / 1e6);
            (name, Unit::Seconds, 1e-3)
        }
        Statistic::Throughput => ("requests per second".to_owned(), Unit::Number, 1.0),
    };
    let mut marks = curves_of(number, objective, answer, scale);
    let mut notes = Vec::new();
    if let Some(best) = &found.best {
        notes.push(format!(
            "{}: {} {}",
            answer.sought.name(targets.len(), found.is_only_confirmed()),
            load_text(best.load),
            load_unit
        ));
    }
    if let Some(knee) = answer.knee {
        notes.push(format!("knee: {} {}", load_text(knee), load_unit));
        let top = marks.iter().flat_map(|mark| match mark {
            Mark::Line(line) => line.points.iter().map(|p| p.1).collect(),
            _ => Vec::new(),
        });
        let top = top.fold(objective.limit * scale, f64::max);
        let points = vec![(knee, 0.0), (knee, top)];
        marks.push(Mark::Line(
            Line::new("knee", Colour::Muted, points).dashed(),
        ));
    }
    if let Some(capacity) = answer.capacity {
        notes.push(format!(
            "stable below {} {}",
            load_text(capacity),
            load_unit
        ));
    }
    let limit = Limit {
        at: objective.limit * scale,
        text: format!("target: {objective}"),
        is_kept: found.best.is_some(),
    };
    let against = match load_unit {
        "requests/s" | "times this load" => "load",
        unit => unit,
    };
    Chart {
        title: format!(
            "{}{} against {against}",
            name[..1].to_uppercase(),
            &name[1..]
        ),
        subtitle: headline.to_owned(),
        footer: format!("iosonar {}", env!("CARGO_PKG_VERSION")),
        x: Axis::from_zero(load_unit, Unit::Number),
        y: Axis::from_zero(&name, unit),
        marks,
        notes,
        limit: Some(limit),
        ..Chart::default()
    }
}
