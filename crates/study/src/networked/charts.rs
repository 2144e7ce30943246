//! A networked system as charts.

use iosonar_plot::{Axis, Band, Chart, Colour, Line, Mark, Shape, Unit};
use iosonar_scenario::networked::{
    NetworkAnalysis, NetworkPoint, NetworkSimulation, NetworkedRaid,
};

use super::{MeasuredPoint, of_all};

fn empty_chart(system: &NetworkedRaid, title: &str) -> Chart {
    Chart {
        title: title.to_owned(),
        subtitle: system.headline(),
        footer: format!("iosonar {}", env!("CARGO_PKG_VERSION")),
        x: Axis::from_zero("jobs", Unit::Number),
        y: Axis::from_zero("mean response time", Unit::Seconds),
        ..Chart::default()
    }
}

fn line(points: &[NetworkPoint], of: impl Fn(&NetworkPoint) -> f64) -> Vec<(f64, f64)> {
    points.iter().map(|p| (f64::from(p.jobs), of(p))).collect()
}

/// Response times against the number of jobs: bounds, theory, simulation, measurement.
pub fn chart(
    system: &NetworkedRaid,
    analysis: &NetworkAnalysis,
    simulated: &[NetworkSimulation],
    measured: Option<&[MeasuredPoint]>,
) -> Chart {
    let points = &analysis.points;
    let mut chart = empty_chart(system, "Response time by number of jobs");
    let bounds = points.iter().map(|p| {
        let balanced = p.balanced;
        (f64::from(p.jobs), balanced.lower, balanced.upper)
    });
    chart.marks.push(Mark::Band(Band {
        label: "balanced job bounds, one server after another".to_owned(),
        colour: Colour::Muted,
        points: bounds.collect(),
        shape: Shape::Straight,
    }));
    let curve = |label: &str, i: usize, of: &dyn Fn(&NetworkPoint) -> f64| {
        Line::new(label, Colour::Curve(i), line(points, of))
    };
    let parallel = curve("all storage servers at once (fork-join)", 1, &|p| {
        p.fork_join_s
    });
    chart.marks.push(Mark::Line(parallel.dashed()));
    let lower = curve(
        "asymptotic lower bound, one server after another",
        2,
        &|p| p.asymptotic.lower,
    );
    chart.marks.push(Mark::Line(lower.dashed()));
    if !simulated.is_empty() {
        let all = simulated
            .iter()
            .map(|s| (f64::from(s.jobs), s.response_s[0]));
        let edges = all.clone().map(|(n, e)| {
            let half = e.half_width_95();
            (n, e.mean - half, e.mean + half)
        });
        chart.marks.push(Mark::Band(Band {
            label: String::new(),
            colour: Colour::Curve(3),
            points: edges.collect(),
            shape: Shape::Straight,
        }));
        let points = all.map(|(n, e)| (n, e.mean)).collect();
        let simulated = Line::new("simulated, 95 % band", Colour::Curve(3), points);
        chart.marks.push(Mark::Line(simulated));
    }
    let exact = curve(
        "exact (mean value analysis), one server after another",
        0,
        &|p| p.response_s,
    );
    // On top of the simulation both are to be seen.
    let exact = if simulated.is_empty() {
        exact
    } else {
        exact.dashed()
    };
    chart.marks.push(Mark::Line(exact));
    chart
        .marks
        .extend(measured_marks(measured, Colour::Curve(4)));
    chart.set_markers();
    let knee = format!(
        "{} is the bottleneck; it limits the throughput above {:.1} jobs",
        of_all(&analysis.bottleneck.station, system.stations_of),
        analysis.knee
    );
    chart.notes.push(knee);
    chart
}

/// Measured points as a curve, with the band of their errors where these are known.
fn measured_marks(measured: Option<&[MeasuredPoint]>, colour: Colour) -> Vec<Mark> {
    let mut marks = Vec::new();
    if let Some(measured) = measured {
        let edges = measured.iter().filter_map(|p| {
            let half = 1.96 * p.stderr_s?;
            Some((p.jobs, p.response_s - half, p.response_s + half))
        });
        let edges: Vec<(f64, f64, f64)> = edges.collect();
        if !edges.is_empty() {
            marks.push(Mark::Band(Band {
                label: String::new(),
                colour,
                points: edges,
                shape: Shape::Straight,
            }));
        }
        let points = measured.iter().map(|p| (p.jobs, p.response_s)).collect();
        let measured = Line::new("measured", colour, points);
        marks.push(Mark::Line(measured));
    }
    marks
}

/// The same for each value of `key`.
pub fn chart_of_varied(
    system: &NetworkedRaid,
    key: &str,
    varied: &[(String, NetworkAnalysis)],
    measured: Option<&[MeasuredPoint]>,
) -> Chart {
    let title = format!("Response time by number of jobs, for values of {key}");
    let mut chart = empty_chart(system, &title);
    for (i, (name, analysis)) in varied.iter().enumerate() {
        let exact = line(&analysis.points, |p| p.response_s);
        let lower = line(&analysis.points, |p| p.balanced.lower);
        chart
            .marks
            .push(Mark::Line(Line::new(name, Colour::Curve(i), exact)));
        let lower = Line::new("", Colour::Curve(i), lower).named(&format!("{name}, lower bound"));
        chart.marks.push(Mark::Line(lower.dashed()));
    }
    let colour = Colour::Curve(varied.len());
    chart.marks.extend(measured_marks(measured, colour));
    chart.set_markers();
    chart
        .notes
        .push("solid: exact; dashed: lower balanced job bound".to_owned());
    chart
}
