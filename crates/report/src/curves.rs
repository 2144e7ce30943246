//! Curves of what was estimated, in panels: the same numbers as marks of a chart and as CSV.

use iosonar_plot::{Axis, Band, Chart, Colour, Estimates, Line, Mark, Marker, Shape, Unit};
use iosonar_units::{Column, Nanos, Table};

use crate::charts::distribution::{MARKED, call_out, guide_to_quantiles};

/// What is not known of an interval.
const UNKNOWN: (f64, f64) = (f64::NAN, f64::NAN);

/// A place of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Where it is on the x axis.
    pub x: f64,
    /// The ends of the 95 % interval of that, NaN where it is known exactly, or not known.
    pub x_95: (f64, f64),
    /// Where it is on the y axis; NaN interrupts the curve.
    pub y: f64,
    /// The ends of the 95 % interval of that, NaN where it is not known.
    pub y_95: (f64, f64),
    /// How many requests it rests on, where that is known.
    pub count: Option<u64>,
}

impl Spot {
    /// A place that is known exactly.
    pub fn exact(x: f64, y: f64) -> Self {
        Self {
            x,
            x_95: UNKNOWN,
            y,
            y_95: UNKNOWN,
            count: None,
        }
    }

    /// A mean with half the width of its interval.
    pub fn of_mean(x: f64, mean: f64, half_width: f64) -> Self {
        Self {
            y_95: (mean - half_width, mean + half_width),
            ..Self::exact(x, mean)
        }
    }
}

/// How a curve is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Markers with error bars, and lines between them.
    Estimates,
    /// A distribution function: steps with a band.
    Distribution,
    /// What theory says: dashed.
    Theory,
    /// What must be kept to: dashed, in a colour of its own.
    Target,
}

impl Style {
    /// What it is called in CSV.
    fn name(self) -> &'static str {
        match self {
            Self::Estimates | Self::Distribution => "simulation",
            Self::Theory => "theory",
            Self::Target => "target",
        }
    }
}

/// A curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the legend says.
    pub label: String,
    /// Which of the curves it is, counted from 0: what belongs together has the same colour.
    pub turn: usize,
    /// How it is drawn.
    pub style: Style,
    /// Where it goes, from left to right.
    pub points: Vec<Spot>,
}

/// The marks of curves, of which there are `curves` in the whole picture.
pub fn marks_of(series: &[Series], curves: usize) -> Vec<Mark> {
    let colours: Vec<Colour> = Colour::of_curves(curves).collect();
    let marks = series.iter().flat_map(|one| {
        let colour = match one.style {
            Style::Target => Colour::Failed,
            _ => colours[one.turn],
        };
        let marker = (curves > 1).then(|| Marker::nth(one.turn));
        marks_of_one(one, colour, marker)
    });
    marks.collect()
}

fn marks_of_one(series: &Series, colour: Colour, marker: Option<Marker>) -> Vec<Mark> {
    let Series { label, points, .. } = series;
    let way: Vec<(f64, f64)> = points.iter().map(|spot| (spot.x, spot.y)).collect();
    let bars = || points.iter().map(|s| (s.x, s.y, s.y_95.0, s.y_95.1));
    match series.style {
        Style::Theory => {
            let line = Line::new("", colour, way).dashed();
            vec![Mark::Line(line.named(&format!("{label}: theory")))]
        }
        Style::Target => vec![Mark::Line(Line::new(label, colour, way).dashed())],
        Style::Distribution => {
            let band = bars().filter(|bar| bar.2.is_finite());
            let points: Vec<_> = band.map(|(x, _, low, high)| (x, low, high)).collect();
            let band = (!points.is_empty()).then_some(Mark::Band(Band {
                label: String::new(),
                colour,
                points,
                shape: Shape::Straight,
            }));
            let line = Line {
                marker,
                ..Line::steps(label, colour, way)
            };
            band.into_iter().chain([Mark::Line(line)]).collect()
        }
        Style::Estimates => {
            let line = Line {
                marker,
                ..Line::new(label, colour, way)
            };
            let mut marks = vec![Mark::Line(line)];
            let across = points.iter().filter(|spot| spot.x_95.0.is_finite());
            let across: Vec<_> = across
                .flat_map(|s| [(s.x_95.0, s.y), (s.x_95.1, s.y), UNKNOWN])
                .collect();
            if !across.is_empty() {
                let line = Line::new("", colour, across);
                marks.push(Mark::Line(line.named(&format!("{label} 95 % across"))));
            }
            marks.push(Mark::Estimates(Estimates {
                name: format!("{label} 95 %"),
                label: String::new(),
                colour,
                marker,
                points: bars().collect(),
            }));
            marks
        }
    }
}

/// Marks where the distribution functions among curves, of which there are `curves` in the whole picture, reach the median and
/// the 99th percentile.
pub fn mark_quantiles(chart: &mut Chart, series: &[Series], curves: usize) {
    let colours: Vec<Colour> = Colour::of_curves(curves).collect();
    let drawn = series.iter().filter(|of| of.style == Style::Distribution);
    for of in drawn {
        for (p, _) in MARKED {
            if let Some(spot) = of.points.iter().find(|spot| spot.y >= p) {
                let text = Nanos::nearest(spot.x * 1e9).to_string();
                let of = (colours[of.turn], Marker::nth(of.turn));
                call_out(chart, (spot.x, p), text, of);
            }
        }
    }
    guide_to_quantiles(chart);
}

/// The numbers behind panels of curves, as a table: a row for each point of each curve that is drawn.
///
/// Columns: `panel`, `curve`, `kind` (simulation, theory, target); `x` and `y`, each with the unit of its axis (`x_s`), and
/// the ends of their 95 % intervals (`y_low_95_s`), those of `x` only where some are known; `count`, the requests that a
/// point rests on.
pub fn table_of_curves(panels: &[(String, Vec<Series>)], x: Unit, y: Unit) -> Table {
    let (x, y) = (x.ending(), y.ending());
    let spots = || panels.iter().flat_map(|(_, series)| series);
    let mut spots = spots().flat_map(|series| &series.points);
    let is_known_across = spots.any(|spot| spot.x_95.0.is_finite());
    let mut columns = ["panel", "curve", "kind"].map(Column::texts).to_vec();
    columns.push(Column::numbers(format!("x{x}")));
    if is_known_across {
        columns.push(Column::numbers(format!("x_low_95{x}")));
        columns.push(Column::numbers(format!("x_high_95{x}")));
    }
    for name in ["y", "y_low_95", "y_high_95"] {
        columns.push(Column::numbers(format!("{name}{y}")));
    }
    columns.push(Column::counts("count"));
    let mut table = Table::new(columns).with("table", "curves");
    for (panel, series) in panels {
        for one in series {
            for spot in &one.points {
                let ends = [spot.x_95.0, spot.x_95.1].into_iter();
                table
                    .row()
                    .put(panel.as_str())
                    .put(one.label.as_str())
                    .put(one.style.name())
                    .put(spot.x)
                    .put_all(ends.filter(|_| is_known_across))
                    .put_all([spot.y, spot.y_95.0, spot.y_95.1])
                    .put(spot.count);
            }
        }
    }
    table
}

/// The axis of a parameter with these values, logarithmic where the largest is at least `log_from` times the least.
pub fn axis_over(name: &str, values: impl Iterator<Item = f64> + Clone, log_from: f64) -> Axis {
    let least = values.clone().fold(f64::INFINITY, f64::min);
    let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
    let unit = Unit::of_numbers(values);
    // A little room, so that no marker is cut off.
    if least > 0.0 && most / least >= log_from {
        return Axis {
            range: Some((least * 0.95, most * 1.05)),
            ..Axis::log(name, unit)
        };
    }
    let margin = 0.02 * (most - least);
    Axis {
        range: (margin > 0.0).then_some((least - margin, most + margin)),
        ..Axis::linear(name, unit)
    }
}

/// Says below a chart what its bars, bands and dashes are.
pub fn note_styles(chart: &mut Chart, series: &[Series]) {
    let has = |style, is: fn(&Spot) -> bool| {
        let mut of_style = series.iter().filter(move |one| one.style == style);
        of_style.any(|one| one.points.iter().any(is))
    };
    let has_bars = has(Style::Estimates, |spot| spot.y_95.0.is_finite());
    let lacks = |spot: &Spot| spot.y.is_finite() && !spot.y_95.0.is_finite();
    let notes = [
        (has_bars, "bars are 95 % intervals"),
        (
            has_bars && has(Style::Estimates, lacks),
            "no bar: too few requests or runs for an interval",
        ),
        (
            has(Style::Distribution, |spot| spot.y_95.0.is_finite()),
            "bands are 95 % intervals of the share at each response time",
        ),
        (
            has(Style::Theory, |spot| spot.y.is_finite()),
            "dashed: theory",
        ),
    ];
    let said = notes.iter().filter(|(is_there, _)| *is_there);
    chart.notes.extend(said.map(|(_, note)| (*note).to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(style: Style, points: Vec<Spot>) -> Series {
        Series {
            label: "a".to_owned(),
            turn: 0,
            style,
            points,
        }
    }

    #[test]
    fn the_csv_has_what_is_drawn_and_nothing_for_what_is_not_known() {
        let known = Spot {
            x_95: (0.9, 1.1),
            count: Some(7),
            ..Spot::of_mean(1.0, 2.0, 0.5)
        };
        let of = |points| vec![("p, q".to_owned(), vec![one(Style::Estimates, points)])];
        assert_eq!(
            table_of_curves(
                &of(vec![known, Spot::exact(3.0, f64::NAN)]),
                Unit::Number,
                Unit::Seconds
            )
            .csv(),
            "panel,curve,kind,x,x_low_95,x_high_95,y_s,y_low_95_s,y_high_95_s,count\n\
             \"p, q\",a,simulation,1,0.9,1.1,2,1.5,2.5,7\n\"p, q\",a,simulation,3,,,,,,\n"
        );
        let csv = table_of_curves(&of(vec![Spot::exact(3.0, 4.0)]), Unit::Bytes, Unit::Share).csv();
        assert!(
            csv.starts_with("panel,curve,kind,x_bytes,y_share,y_low"),
            "{csv}"
        );
    }

    #[test]
    fn bars_and_bands_are_there_where_intervals_are_known() {
        let sure = vec![Spot::of_mean(1.0, 2.0, 0.5)];
        let unsure = vec![Spot::exact(1.0, 2.0)];
        let names = |style, points: &Vec<Spot>| -> Vec<&str> {
            let marks = marks_of(&[one(style, points.clone())], 1);
            let name = |mark: &Mark| match mark {
                Mark::Line(_) => "line",
                Mark::Band(_) => "band",
                Mark::Estimates(_) => "estimates",
                _ => "other",
            };
            marks.iter().map(name).collect()
        };
        assert_eq!(names(Style::Distribution, &sure), ["band", "line"]);
        assert_eq!(names(Style::Distribution, &unsure), ["line"]);
        assert_eq!(names(Style::Estimates, &unsure), ["line", "estimates"]);
        let across = vec![Spot {
            x_95: (0.5, 1.5),
            ..sure[0]
        }];
        assert_eq!(
            names(Style::Estimates, &across),
            ["line", "line", "estimates"]
        );
        let note = |style, points: &Vec<Spot>| {
            let mut chart = Chart::default();
            note_styles(&mut chart, &[one(style, points.clone())]);
            chart.notes.len()
        };
        assert_eq!(
            (
                note(Style::Estimates, &sure),
                note(Style::Estimates, &unsure)
            ),
            (1, 0)
        );
    }
}
