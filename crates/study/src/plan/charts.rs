//! How an answer came about, as a chart.

use super::{Answer, load_text};
use iosonar_analysis::objective::{Objective, Statistic};
use iosonar_plot::{Axis, Band, Chart, Colour, Limit, Line, Mark, Shape, Unit};

/// Theory and simulation over the load, in the target's unit times `scale`.
fn curves_of(objective: &Objective, answer: &Answer, scale: f64) -> Vec<Mark> {
    let points = answer.found.points.iter().chain(&answer.around);
    let mut simulated: Vec<_> = points
        .filter_map(|p| Some((p.load, p.simulated?)))
        .collect();
    simulated.sort_by(|a, b| a.0.total_cmp(&b.0));
    // What lies far above the target makes the rest unreadable.
    let top = match objective.statistic {
        Statistic::Throughput => f64::INFINITY,
        _ => 4.0 * objective.limit,
    };
    let theory = answer.theory.iter().filter(|(_, value)| *value <= top);
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

/// An answer as a chart, of the system that `headline` names: theory and simulation over the load, with the objective and the knee.
pub fn chart(headline: &str, objective: &Objective, answer: &Answer) -> Chart {
    let (found, load_unit) = (&answer.found, answer.sought.unit());
    let (name, unit, scale) = match objective.statistic {
        Statistic::Mean => ("mean response time".to_owned(), Unit::Seconds, 1e-3),
        Statistic::Quantile(p) => {
            let name = format!("p{} of the response time", (p * 1e8).round() / 1e6);
            (name, Unit::Seconds, 1e-3)
        }
        Statistic::Throughput => ("requests per second".to_owned(), Unit::Number, 1.0),
    };
    let mut marks = curves_of(objective, answer, scale);
    let mut notes = Vec::new();
    if let Some(best) = &found.best {
        notes.push(format!(
            "{}: {} {}",
            answer.sought.name(),
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
    Chart {
        title: format!("{}{} against load", name[..1].to_uppercase(), &name[1..]),
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
