//! A chart as data: what is drawn, on which axes, with which words.
//!
//! Every renderer (PNG, SVG, terminal, page) uses only this; so does the export of
//! the numbers behind it ([`Chart::csv`](crate::Chart::csv)).

mod axis;
mod line;

use crate::cloud::{Cell, Cloud};
use crate::theme::Colour;
use iosonar_units::grouped;

pub use axis::Axis;
pub use line::{Dash, Line, Marker, Shape};

/// A chart.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// What it is called in file names and on the command line.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Of what, how measured: a line below the title.
    pub subtitle: String,
    /// What must be known before the chart is believed, each a line in a colour of its own.
    pub warnings: Vec<String>,
    /// What follows from its data, below the title; empty where nothing does.
    pub conclusion: String,
    /// How to read it, in a sentence or two; for those who cannot see it, too.
    pub about: String,
    /// At the bottom: load, target, tool.
    pub footer: String,
    /// To the right.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// What is drawn, the first at the back.
    pub marks: Vec<Mark>,
    /// Lines of the legend without a colour.
    pub notes: Vec<String>,
    /// What should not be exceeded.
    pub limit: Option<Limit>,
    /// Below the chart.
    pub table: Option<Table>,
    /// Values of the y axis that have a line of their own across the chart.
    pub guides: Vec<Guide>,
    /// Values that are named where they are.
    pub callouts: Vec<Callout>,
}

/// A value of the y axis with a dotted line across the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Guide {
    /// The value.
    pub at: f64,
    /// What it is called.
    pub text: String,
}

/// A value that is named within the chart, where there is room.
#[derive(Clone, Debug, PartialEq)]
pub struct Callout {
    /// Where it is.
    pub at: (f64, f64),
    /// What it says.
    pub text: String,
    /// The colour of what it belongs to.
    pub colour: Colour,
    /// What it names.
    pub named: Named,
}

/// What a callout names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A point of a curve, with the marker of the curve.
    Point(Option<Marker>),
    /// A line from the bottom to the top of the chart.
    Line,
}

/// Something that is drawn.
#[derive(Clone, Debug)]
pub enum Mark {
    /// Points, or their density.
    Cloud(Cloud),
    /// A curve.
    Line(Line),
    /// An area between two curves.
    Band(Band),
    /// A histogram.
    Bars(Bars),
    /// Cells, the more points the stronger.
    Heat(Heat),
    /// Values with their error bars.
    Estimates(Estimates),
}

/// An area between two curves.
#[derive(Clone, Debug)]
pub struct Band {
    /// What the legend says; without text it does not appear there.
    pub label: String,
    /// Its colour, drawn thinly.
    pub colour: Colour,
    /// Where, the lower and the upper edge.
    pub points: Vec<(f64, f64, f64)>,
    /// How it goes from point to point.
    pub shape: Shape,
}

/// A histogram.
#[derive(Clone, Debug)]
pub struct Bars {
    /// What it is called.
    pub name: String,
    /// What the legend says; without text it does not appear there.
    pub label: String,
    /// Its colour.
    pub colour: Colour,
    /// From, to, lower end, upper end.
    pub bins: Vec<(f64, f64, f64, f64)>,
}

/// Values with their error bars.
#[derive(Clone, Debug)]
pub struct Estimates {
    /// What they are called.
    pub name: String,
    /// What the legend says; without text they do not appear there.
    pub label: String,
    /// Their colour.
    pub colour: Colour,
    /// The shape of the values; `None` for small discs.
    pub marker: Option<Marker>,
    /// Place, value, lower and upper end of the error bar; without a bar where these are not finite.
    pub points: Vec<(f64, f64, f64, f64)>,
}

/// A heat map.
#[derive(Clone, Debug)]
pub struct Heat {
    /// What the legend says.
    pub label: String,
    /// The cells that hold points.
    pub cells: Vec<Cell>,
}

/// What should not be exceeded.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The value on the vertical axis.
    pub at: f64,
    /// What came of it.
    pub text: String,
    /// Whether it was kept, beyond doubt.
    pub is_kept: bool,
}

/// Words in rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The names of the columns.
    pub header: Vec<String>,
    /// The rows, the first cell of each its name.
    pub rows: Vec<Vec<String>>,
}

/// A colour's place in a legend.
#[derive(Clone, Debug, PartialEq)]
pub struct LegendEntry {
    /// `None` for a remark.
    pub colour: Option<Colour>,
    /// What it says.
    pub text: String,
    /// How the line is broken that it stands for.
    pub dash: Option<Dash>,
    /// What is drawn on the line that it stands for.
    pub marker: Option<Marker>,
}

impl Mark {
    /// What the legend says of it.
    fn legend(&self) -> Vec<LegendEntry> {
        let entry = |colour, text: &str| LegendEntry {
            colour,
            text: text.to_owned(),
            dash: None,
            marker: None,
        };
        match self {
            Self::Cloud(cloud) => {
                let kinds = cloud.kinds().iter().zip(cloud.counts());
                kinds
                    .filter(|(_, n)| **n > 0)
                    .map(|(kind, _)| entry(Some(kind.colour), &kind.label))
                    .collect()
            }
            Self::Line(line) => vec![LegendEntry {
                dash: line.dash,
                marker: line.marker,
                ..entry(Some(line.colour()), &line.label)
            }],
            Self::Band(band) => vec![entry(Some(band.colour), &band.label)],
            Self::Bars(bars) => vec![entry(Some(bars.colour), &bars.label)],
            Self::Heat(heat) => vec![entry(None, &heat.label)],
            Self::Estimates(of) => vec![entry(Some(of.colour), &of.label)],
        }
    }
}

impl Chart {
    /// What the legend says of a mark: a line that has nothing but zeros on a logarithmic axis is not drawn.
    fn legend_of(&self, mark: &Mark) -> Vec<LegendEntry> {
        let mut entries = mark.legend();
        if let Mark::Line(line) = mark {
            let has = |is: fn(f64) -> bool| line.points.iter().any(|(_, y)| is(*y));
            let is_drawn = if self.y.is_log {
                has(|y| y.is_finite() && y > 0.0)
            } else {
                has(f64::is_finite)
            };
            if !is_drawn && has(|y| y == 0.0) {
                entries
                    .iter_mut()
                    .filter(|e| !e.text.is_empty())
                    .for_each(|e| e.text += ": all 0");
            } else if !is_drawn {
                entries.clear();
            }
        }
        entries
    }

    /// The lines of the legend: what has a colour, then remarks.
    pub fn legend(&self) -> Vec<LegendEntry> {
        let remark = |text: String| LegendEntry {
            colour: None,
            text,
            dash: None,
            marker: None,
        };
        let remarks = self.remarks().into_iter().map(remark);
        self.entries().into_iter().chain(remarks).collect()
    }

    /// The lines of the legend that have a colour.
    pub fn entries(&self) -> Vec<LegendEntry> {
        let all = self.marks.iter().flat_map(|mark| self.legend_of(mark));
        all.filter(|entry| !entry.text.is_empty() && entry.colour.is_some())
            .collect()
    }

    /// What is said of the chart besides: lines of the legend without a colour.
    pub fn remarks(&self) -> Vec<String> {
        let all = self.marks.iter().flat_map(|mark| self.legend_of(mark));
        let plain = all.filter(|entry| !entry.text.is_empty() && entry.colour.is_none());
        let mut remarks: Vec<String> = plain.map(|entry| entry.text).collect();
        let clouds = || self.clouds();
        if clouds().any(|cloud| cloud.points().is_none()) {
            let text = if self.y.is_log {
                "density: darker means more requests; dots are the slowest and isolated requests"
            } else {
                "density: darker means more requests; dots are isolated requests"
            };
            remarks.push(text.to_owned());
        }
        let zeros: u64 = clouds().map(Cloud::zeros).sum();
        if zeros > 0 {
            let text = format!("zeros in the band at the bottom: {}", grouped(zeros));
            remarks.push(text);
        }
        remarks.extend(self.notes.iter().cloned());
        remarks
    }

    /// What follows from the data, if anything does, and how to read the chart: the text that a page has below it, and that
    /// is read to those who cannot see it.
    pub fn caption(&self) -> String {
        let both = [self.conclusion.as_str(), self.about.as_str()];
        let said = both.into_iter().filter(|text| !text.is_empty());
        said.collect::<Vec<_>>().join(" ")
    }

    /// Gives each of several curves a marker of its own, the same to those of one colour, unless dashes distinguish them.
    pub fn set_markers(&mut self) {
        let mut colours: Vec<Colour> = Vec::new();
        let mut dashes = Vec::new();
        for mark in &self.marks {
            if let Mark::Line(line) = mark
                && !line.label.is_empty()
                && !colours.contains(&line.colour())
            {
                colours.push(line.colour());
                dashes.push(line.dash);
            }
        }
        let is_distinct = match dashes[..] {
            [] | [_] => true,
            [a, b] => a.is_some() != b.is_some(),
            _ => false,
        };
        if is_distinct {
            return;
        }
        let marker = |of: Colour| {
            let turn = colours.iter().position(|colour| *colour == of)?;
            let is_data = !matches!(of, Colour::Met | Colour::Missed | Colour::Muted);
            is_data.then(|| Marker::nth(turn))
        };
        for mark in &mut self.marks {
            match mark {
                Mark::Line(line) => line.marker = marker(line.colour()).or(line.marker),
                Mark::Estimates(of) => of.marker = marker(of.colour).or(of.marker),
                _ => {}
            }
        }
    }

    /// Whether a line goes through estimates that have markers, and so has none of its own between them.
    pub fn has_marked_estimates(&self, line: &Line) -> bool {
        self.marks.iter().any(|mark| match mark {
            Mark::Estimates(of) => of.colour == line.colour() && of.marker.is_some(),
            _ => false,
        })
    }

    /// Gives a chart of curves a linear horizontal axis from zero; bins and cells keep theirs.
    pub fn make_x_linear(&mut self) {
        let is_curve =
            |mark: &Mark| matches!(mark, Mark::Line(_) | Mark::Band(_) | Mark::Estimates(_));
        if self.x.is_log && self.marks.iter().all(is_curve) {
            self.x.is_log = false;
            self.x.include.push(0.0);
        }
    }

    /// The clouds among its marks.
    pub fn clouds(&self) -> impl Iterator<Item = &Cloud> {
        self.marks.iter().filter_map(|mark| match mark {
            Mark::Cloud(cloud) => Some(cloud),
            _ => None,
        })
    }

    /// Whether there is anything in it.
    pub fn is_empty(&self) -> bool {
        self.marks.iter().all(|mark| match mark {
            Mark::Cloud(cloud) => cloud.count() == 0,
            Mark::Line(line) => !line
                .points
                .iter()
                .any(|p| p.0.is_finite() && p.1.is_finite()),
            Mark::Band(band) => band.points.is_empty(),
            Mark::Bars(bars) => bars.bins.is_empty(),
            Mark::Heat(heat) => heat.cells.is_empty(),
            Mark::Estimates(of) => !of.points.iter().any(|p| p.0.is_finite() && p.1.is_finite()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Unit;

    #[test]
    fn the_legend_says_what_a_logarithmic_axis_does_not_show() {
        let line = |label, y| Mark::Line(Line::new(label, Colour::Read, vec![(0.0, y), (1.0, y)]));
        let chart = |y: Axis| Chart {
            y,
            marks: vec![line("one", 1.0), line("zero", 0.0), line("none", f64::NAN)],
            ..Chart::default()
        };
        let said = |chart: Chart| -> Vec<String> {
            chart.legend().into_iter().map(|entry| entry.text).collect()
        };
        assert_eq!(
            said(chart(Axis::log("y", Unit::Seconds))),
            ["one", "zero: all 0"]
        );
        assert_eq!(
            said(chart(Axis::from_zero("y", Unit::Seconds))),
            ["one", "zero"]
        );
    }
}
