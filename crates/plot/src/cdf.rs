//! Distribution functions, several on one chart.

use plotters::prelude::{DrawingBackend, PathElement, Polygon};
use plotters::style::Color;

use crate::canvas::{Area, Chart, PlotError};
use crate::frame::{Axis, Frame, Heading, LegendEntry, PlotArea};
use crate::scale::{Scale, Tick};
use crate::theme;

/// A distribution function: ascending values in seconds, each with the share of samples that are
/// not above it.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// What the legend says.
    pub label: String,
    /// (value in seconds, share from 0 to 1), ascending in both.
    pub points: Vec<(f64, f64)>,
    /// How sure that is: (value in seconds, lowest share, highest share), ascending. Drawn as a band
    /// behind the curve; may be empty.
    pub band: Vec<(f64, f64, f64)>,
}

/// A chart of distribution functions.
#[derive(Clone, Debug)]
pub struct CdfChart {
    heading: Heading,
    x_name: String,
    curves: Vec<Curve>,
}

impl CdfChart {
    /// An empty chart; `x_name` is the name of the quantity.
    pub fn new(title: &str, x_name: &str) -> Self {
        Self {
            heading: Heading {
                title: title.to_owned(),
                ..Heading::default()
            },
            x_name: x_name.to_owned(),
            curves: Vec::new(),
        }
    }

    /// A line below the title.
    #[must_use]
    pub fn subtitle(mut self, text: &str) -> Self {
        text.clone_into(&mut self.heading.subtitle);
        self
    }

    /// A line at the bottom: what was measured, with what.
    #[must_use]
    pub fn footer(mut self, text: &str) -> Self {
        text.clone_into(&mut self.heading.footer);
        self
    }

    /// Adds a curve.
    pub fn push(&mut self, curve: Curve) {
        self.curves.push(curve);
    }

    fn frame(&self) -> Frame<'_> {
        let positive = || {
            self.curves
                .iter()
                .flat_map(|curve| &curve.points)
                .map(|&(value, _)| value)
                .filter(|&value| value > 0.0 && value.is_finite())
        };
        let least = positive().fold(f64::INFINITY, f64::min);
        let most = positive().fold(f64::NEG_INFINITY, f64::max);
        let x = if least.is_finite() {
            Scale::log(least, most)
        } else {
            Scale::log(1e-4, 1e-1)
        };
        let y = Scale::Linear { from: 0.0, to: 1.0 };
        let legend = self.curves.iter().zip(theme::CURVES.iter().cycle());
        Frame {
            heading: &self.heading,
            x: Axis {
                ticks: x.time_ticks(8),
                scale: x,
                name: self.x_name.clone(),
            },
            y: Axis {
                ticks: (0..=10)
                    .map(|tenth| Tick {
                        value: f64::from(tenth) / 10.0,
                        label: Some(format!("{} %", 10 * tenth)),
                    })
                    .collect(),
                scale: y,
                name: "share of requests".to_owned(),
            },
            legend: legend
                .map(|(curve, colour)| LegendEntry {
                    colour: *colour,
                    text: curve.label.clone(),
                })
                .collect(),
        }
    }
}

/// The corners of a curve's steps in pixels, several on one pixel column merged. Zeros lie left of
/// any logarithmic axis: their share is where the curve begins.
fn corners(curve: &Curve, x: &Scale, plot: &PlotArea) -> Vec<(i32, i32)> {
    let mut corners: Vec<(i32, i32)> = Vec::new();
    let zeros = curve.points.iter().take_while(|(value, _)| *value <= 0.0);
    let zeros = zeros.last().map_or(0.0, |&(_, share)| share);
    let mut level = plot.y(zeros);
    // Without zeros the curve begins with its first value: along the axis it would only hide others.
    if zeros > 0.0 {
        corners.push((plot.left, level));
    }
    for &(value, share) in curve.points.iter().filter(|(value, _)| *value > 0.0) {
        let (at, next) = (plot.x(x.share(value)), plot.y(share));
        if next != level {
            corners.push((at, level));
            corners.push((at, next));
            level = next;
        }
    }
    corners.dedup();
    corners
}

/// The outline of a curve's band in pixels: along its upper edge and back along the lower.
fn outline(curve: &Curve, x: &Scale, plot: &PlotArea) -> Vec<(i32, i32)> {
    let band = || curve.band.iter().filter(|(value, _, _)| *value > 0.0);
    let point = |value: f64, share: f64| (plot.x(x.share(value)), plot.y(share.clamp(0.0, 1.0)));
    let upper = band().map(|&(value, _, high)| point(value, high));
    let lower = band().rev().map(|&(value, low, _)| point(value, low));
    upper.chain(lower).collect()
}

impl Chart for CdfChart {
    fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError> {
        let frame = self.frame();
        let plot = frame.plot_area(area.dim_in_pixel())?;
        frame.draw_grid(area, &plot)?;
        for (curve, colour) in self.curves.iter().zip(theme::CURVES.iter().cycle()) {
            if curve.points.is_empty() {
                continue;
            }
            let band = outline(curve, &frame.x.scale, &plot);
            if !band.is_empty() {
                area.draw(&Polygon::new(band, colour.mix(0.25).filled()))
                    .map_err(PlotError::new)?;
            }
            let path = corners(curve, &frame.x.scale, &plot);
            area.draw(&PathElement::new(path, colour.stroke_width(2)))
                .map_err(PlotError::new)?;
        }
        frame.draw(area, &plot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Size, render};

    const PLOT: PlotArea = PlotArea {
        left: 0,
        top: 0,
        right: 100,
        bottom: 100,
    };

    #[test]
    fn a_curve_is_a_staircase_from_its_zeros_to_one() {
        let curve = Curve {
            label: String::new(),
            points: vec![(0.0, 0.25), (1e-3, 0.5), (1e-2, 1.0)],
            band: Vec::new(),
        };
        let x = Scale::Log {
            from: 1e-4,
            to: 1.0,
        };
        assert_eq!(
            corners(&curve, &x, &PLOT),
            [(0, 75), (25, 75), (25, 50), (50, 50), (50, 0)]
        );
    }

    #[test]
    fn a_band_goes_along_its_upper_edge_and_back_along_the_lower() {
        let curve = Curve {
            band: vec![(1e-3, 0.4, 0.6), (1e-2, 0.9, 1.1)],
            ..Curve::default()
        };
        let x = Scale::Log {
            from: 1e-4,
            to: 1.0,
        };
        let expected = [(25, 40), (50, 0), (50, 10), (25, 60)];
        assert_eq!(outline(&curve, &x, &PLOT), expected);
    }

    #[test]
    fn no_curve_and_an_empty_one_can_be_drawn() {
        let mut chart = CdfChart::new("nothing", "latency");
        render(&chart, Kind::Png, Size::default()).unwrap();
        chart.push(Curve::default());
        render(&chart, Kind::Svg, Size::default()).unwrap();
    }

    #[test]
    fn a_picture_too_small_for_a_chart_is_refused() {
        let tiny = Size {
            width: 10,
            height: 10,
        };
        let chart = CdfChart::new("tiny", "latency");
        assert!(render(&chart, Kind::Png, tiny).is_err());
    }
}
