//! What a picture of a study shows: panels of curves, as a picture and as numbers.

use iosonar_analysis::objective::{Judgement, Objective, Statistic};
use iosonar_plot::{Axis, Chart, Panels, Unit};
use iosonar_report::curves::{
    Series, Spot, Style, axis_over, mark_quantiles, marks_of, note_styles, table_of_curves,
};
use iosonar_report::{Quantity, cdf_of};
use iosonar_units::{Kind, Table, magnitude};

use super::figure::{Curves, Over, Shown};
use super::found::Found;
use super::roles::Roles;
use super::{Point, Varied};

/// What a picture shows, and exactly that.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Title, axes and notes.
    head: Chart,
    /// The curves by panel; one without a name is the whole picture.
    panels: Vec<(String, Vec<Series>)>,
    /// How many curves differ in colour.
    curves: usize,
}

/// A drawing as it is drawn.
#[derive(Clone, Debug)]
pub enum Picture {
    /// A chart.
    One(Box<Chart>),
    /// Small multiples.
    Panels(Box<Panels>),
}

impl Drawing {
    /// Whether nothing would be seen.
    pub fn is_empty(&self) -> bool {
        let series = self.panels.iter().flat_map(|(_, series)| series);
        let simulated = series.filter(|one| one.style != Style::Target);
        let mut spots = simulated.flat_map(|one| &one.points);
        !spots.any(|spot| spot.x.is_finite() && spot.y.is_finite())
    }

    /// Whether theory is drawn beside the simulations.
    pub fn has_theory(&self) -> bool {
        let mut series = self.panels.iter().flat_map(|(_, series)| series);
        series.any(|one| one.style == Style::Theory)
    }

    /// The numbers of all that is drawn.
    pub fn data(&self) -> Table {
        table_of_curves(&self.panels, self.head.x.unit, self.head.y.unit)
    }

    /// As it is drawn.
    pub fn picture(&self) -> Picture {
        let all: Vec<Series> = self
            .panels
            .iter()
            .flat_map(|(_, all)| all.clone())
            .collect();
        let mut head = self.head.clone();
        note_styles(&mut head, &all);
        if let [(name, series)] = &self.panels[..]
            && name.is_empty()
        {
            head.marks = marks_of(series, self.curves);
            mark_quantiles(&mut head, series, self.curves);
            return Picture::One(Box::new(head));
        }
        let charts = self.panels.iter().map(|(name, series)| {
            let mut chart = Chart {
                title: name.clone(),
                x: head.x.clone(),
                y: head.y.clone(),
                marks: marks_of(series, self.curves),
                ..Chart::default()
            };
            mark_quantiles(&mut chart, series, self.curves);
            chart
        });
        let charts = charts.collect();
        Picture::Panels(Box::new(Panels { head, charts }))
    }
}

/// Curves in panels, both in the order in which they first appear.
#[derive(Default)]
struct Collected {
    panels: Vec<(String, Vec<Series>)>,
    names: Vec<String>,
}

impl Collected {
    fn push(&mut self, panel: &str, label: &str, style: Style, spot: Spot) {
        let known = self.names.iter().position(|name| name == label);
        let turn = known.unwrap_or_else(|| {
            self.names.push(label.to_owned());
            self.names.len() - 1
        });
        let at = self.panels.iter().position(|(name, _)| name == panel);
        let at = at.unwrap_or_else(|| {
            self.panels.push((panel.to_owned(), Vec::new()));
            self.panels.len() - 1
        });
        let series = &mut self.panels[at].1;
        let is_same = |one: &&mut Series| one.turn == turn && one.style == style;
        match series.iter_mut().find(is_same) {
            Some(one) => one.points.push(spot),
            None => series.push(Series {
                label: label.to_owned(),
                turn,
                style,
                points: vec![spot],
            }),
        }
    }

    fn drawing(self, head: Chart) -> Drawing {
        Drawing {
            head,
            curves: self.names.len(),
            panels: self.panels,
        }
    }
}

impl Varied {
    /// The points as curves, with the targets that are about what they show as lines across.
    pub fn curves(&self, curves: &Curves, roles: &Roles) -> Drawing {
        let mut collected = Collected::default();
        for (i, shown) in curves.shown.iter().enumerate() {
            for point in &self.points {
                let mut words = roles.curve_of(&self.keys, point);
                if curves.shown.len() > 1 {
                    words.insert(0, shown.name());
                } else if words.is_empty() {
                    words.push(point.name.clone());
                }
                let (panel, label) = (roles.panel_of(&self.keys, point), words.join(", "));
                let spot = spot_of(shown, curves.over, point);
                collected.push(&panel, &label, Style::Estimates, spot);
                let theory = |found: &Found| found.theory.get(i).copied();
                if let Some(theory) = point.result.as_ref().ok().and_then(|f| theory(f)) {
                    collected.push(&panel, &label, Style::Theory, Spot::exact(spot.x, theory));
                }
            }
        }
        let mut drawing = collected.drawing(self.head(curves));
        for (_, series) in &mut drawing.panels {
            // A curve that theory does not know is not drawn.
            let is_known = |one: &Series| one.points.iter().any(|spot| spot.y.is_finite());
            series.retain(|one| one.style != Style::Theory || is_known(one));
        }
        let missing = curves.shown.iter().filter(|shown| {
            let mut found = self
                .points
                .iter()
                .filter_map(|point| point.result.as_ref().ok());
            found.all(|found| shown.of(found).is_none())
        });
        let missing =
            missing.map(|shown| format!("{}: the load has no requests of this kind", shown.name()));
        drawing.head.notes.extend(missing);
        let shown = self.targets.iter().enumerate();
        let shown = shown.filter(|(_, of)| curves.shown.contains(&Shown::Figure(of.figure())));
        let met: Vec<_> = shown.map(|(i, of)| (*of, self.met(i))).collect();
        drawing.add_targets(curves.unit(), &met, self.points.len());
        drawing
    }

    /// At how many points a target is met, by its number.
    fn met(&self, target: usize) -> usize {
        let found = self
            .points
            .iter()
            .filter_map(|point| point.result.as_ref().ok());
        let verdicts = found.filter_map(|found| found.targets[target].map(|of| of.verdict));
        verdicts.filter(|of| *of == Judgement::Meets).count()
    }

    /// The distribution functions with their bands.
    pub fn distributions(&self, roles: &Roles) -> Drawing {
        let mut collected = Collected::default();
        for point in &self.points {
            let panel = roles.panel_of(&self.keys, point);
            let mut words = roles.curve_of(&self.keys, point);
            if words.is_empty() {
                words.push(point.name.clone());
            }
            let label = words.join(", ");
            let found = point.result.as_ref().ok();
            for spot in found.iter().flat_map(|found| &found.distribution) {
                collected.push(&panel, &label, Style::Distribution, *spot);
            }
        }
        let title = "Distribution of response times";
        let mut head = cdf_of(title, Quantity::ResponseTime, Vec::new());
        head.subtitle = self.subject();
        head.notes = self.without_result();
        let mut drawing = collected.drawing(head);
        let all = self.targets.iter().enumerate();
        let shown = all.filter(|(_, of)| of.statistic != Statistic::Throughput);
        let met: Vec<_> = shown.map(|(i, of)| (*of, self.met(i))).collect();
        drawing.add_limits(&met, self.points.len());
        drawing
    }

    /// Title and axes of curves.
    fn head(&self, curves: &Curves) -> Chart {
        let of = self.keys.first().map_or("", |(key, _)| key.as_str());
        let (y_name, unit) = (curves.words(), curves.unit());
        let x = match curves.over {
            Over::Throughput => Axis::from_zero("requests per second", Unit::Number),
            Over::Key => self.key_axis(of),
        };
        let mut first = y_name.chars();
        let capital = first.next().into_iter().flat_map(char::to_uppercase);
        let mut title: String = capital.chain(first).collect();
        title += &match curves.over {
            Over::Throughput => format!(" against throughput, as {of} varies"),
            Over::Key => format!(" against {of}"),
        };
        Chart {
            title,
            subtitle: self.subject(),
            footer: format!("iosonar {}", env!("CARGO_PKG_VERSION")),
            x,
            y: Axis::from_zero(&y_name, unit),
            notes: self.without_result(),
            ..Chart::default()
        }
    }

    /// The axis of the first key.
    fn key_axis(&self, name: &str) -> Axis {
        let axis = axis_over(name, self.points.iter().map(x_of), 16.0);
        let value = self.points.first().and_then(|point| point.values.first());
        let unit = match value.and_then(|value| magnitude(value)) {
            Some((_, Kind::Bytes)) => Unit::Bytes,
            Some((_, Kind::Time)) => Unit::Seconds,
            _ => axis.unit,
        };
        Axis { unit, ..axis }
    }

    /// Why points have no result, each reason once.
    fn without_result(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        for why in self
            .points
            .iter()
            .filter_map(|point| point.result.as_ref().err())
        {
            let why = why.to_string();
            let short = why.split([':', ',']).next().unwrap_or(&why);
            let short = format!("no result: {short}");
            if !notes.contains(&short) {
                notes.push(short);
            }
        }
        notes
    }
}

/// The value of the first key; NaN of a word.
fn x_of(point: &Point) -> f64 {
    let value = point.values.first().and_then(|value| magnitude(value));
    value.map_or(f64::NAN, |(x, _)| x)
}

/// Where a point stands; what has no result interrupts the curve.
fn spot_of(shown: &Shown, over: Over, point: &Point) -> Spot {
    let nowhere = Spot::exact(x_of(point), f64::NAN);
    let Ok(found) = &point.result else {
        return nowhere;
    };
    let Some((y, y_95, requests)) = shown.of(found) else {
        return nowhere;
    };
    let (x, x_95) = match over {
        Over::Key => (nowhere.x, nowhere.x_95),
        Over::Throughput => {
            let throughput = &found.throughput_per_s;
            (throughput.mean, super::figure::ends(throughput))
        }
    };
    Spot {
        x,
        x_95,
        y,
        y_95,
        count: Some(requests),
    }
}

impl Drawing {
    /// A line across each panel for each of these objectives, with how many of all points meet it.
    fn add_targets(&mut self, unit: Unit, met: &[(Objective, usize)], points: usize) {
        let scale = if unit == Unit::Seconds { 1e-3 } else { 1.0 };
        let ends = self.ends();
        for (target, met) in met {
            let way = ends.map(|x| Spot::exact(x, target.limit * scale));
            self.add_target(target, (*met, points), &way);
        }
    }

    /// Adds targets as lines up through distribution functions, as far as they are near these.
    fn add_limits(&mut self, met: &[(Objective, usize)], points: usize) {
        let [_, most] = self.ends();
        for (target, met) in met {
            let seconds = target.limit * 1e-3;
            if seconds <= 10.0 * most {
                let way = [0.0, 1.0].map(|share| Spot::exact(seconds, share));
                self.add_target(target, (*met, points), &way);
            }
        }
    }

    fn add_target(&mut self, target: &Objective, (met, points): (usize, usize), way: &[Spot]) {
        for (_, series) in &mut self.panels {
            series.push(Series {
                label: format!("target {target}: met at {met} of {points} points"),
                turn: 0,
                style: Style::Target,
                points: way.to_vec(),
            });
        }
    }

    /// The least and the largest place that a curve has.
    fn ends(&self) -> [f64; 2] {
        let series = self.panels.iter().flat_map(|(_, series)| series);
        let places = series.flat_map(|one| &one.points).map(|spot| spot.x);
        let places = places.filter(|x| x.is_finite());
        let ends = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| {
            (least.min(x), most.max(x))
        });
        [ends.0, ends.1]
    }
}
