//! What an axis must show.

use crate::chart::{Axis, Chart, Mark};
use crate::scale::Scale;
use crate::units::Unit;

/// Bands beside the data for what is not on an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bands {
    /// Zeros of a logarithmic vertical axis.
    pub(crate) bottom: bool,
    /// Zeros of a logarithmic horizontal axis.
    pub(crate) left: bool,
    /// What has no value.
    pub(crate) top: bool,
}

/// The extremes of what a chart shows, on its axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extent {
    x: (f64, f64),
    y: (f64, f64),
    pub(crate) bands: Bands,
}

impl Extent {
    /// Of the chart's marks, and of what its axes must show.
    pub(crate) fn of(chart: &Chart) -> Self {
        let mut extent = Self {
            x: (f64::INFINITY, f64::NEG_INFINITY),
            y: (f64::INFINITY, f64::NEG_INFINITY),
            bands: Bands::default(),
        };
        let (x, y) = (&chart.x, &chart.y);
        x.include.iter().for_each(|&v| extent.add_x(x, v));
        y.include.iter().for_each(|&v| extent.add_y(y, v));
        for mark in &chart.marks {
            match mark {
                Mark::Cloud(cloud) => {
                    if let Some((a, b)) = cloud.x_range() {
                        extent.add_x(x, a);
                        extent.add_x(x, b);
                    }
                    if let Some((a, b)) = cloud.y_range() {
                        extent.add_y(y, a);
                        extent.add_y(y, b);
                    }
                    extent.bands.bottom |= cloud.zeros() > 0;
                    extent.bands.top |= cloud.without_value() > 0;
                    extent.bands.left |= x.is_log && cloud.has_x_zeros();
                }
                Mark::Line(line) => line.points.iter().for_each(|&(a, b)| {
                    extent.add_x(x, a);
                    extent.add_y(y, b);
                }),
                Mark::Band(band) => band.points.iter().for_each(|&(a, low, high)| {
                    extent.add_x(x, a);
                    extent.add_y(y, low);
                    extent.add_y(y, high);
                }),
                Mark::Bars(bars) => bars.bins.iter().for_each(|&(from, to, low, high)| {
                    extent.add_x(x, from);
                    extent.add_x(x, to);
                    extent.add_y(y, low);
                    extent.add_y(y, high);
                }),
                Mark::Estimates(of) => of.points.iter().for_each(|&(a, value, low, high)| {
                    extent.add_x(x, a);
                    [value, low, high].iter().for_each(|&v| extent.add_y(y, v));
                }),
                Mark::Heat(heat) => heat.cells.iter().for_each(|cell| {
                    extent.add_x(x, cell.x.0);
                    extent.add_x(x, cell.x.1);
                    extent.add_y(y, cell.y.0);
                    extent.add_y(y, cell.y.1);
                }),
            }
        }
        if let Some(limit) = &chart.limit
            && limit.at <= extent.y.1 * 10.0
        {
            extent.add_y(y, limit.at);
        }
        extent
    }

    fn add_x(&mut self, axis: &Axis, value: f64) {
        add(&mut self.x, axis, value);
    }

    fn add_y(&mut self, axis: &Axis, value: f64) {
        add(&mut self.y, axis, value);
    }

    pub(crate) fn x(&self) -> (f64, f64) {
        self.x
    }

    pub(crate) fn y(&self) -> (f64, f64) {
        self.y
    }

    /// Both.
    pub(crate) fn union(self, other: Self) -> Self {
        let joined = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        Self {
            x: joined(self.x, other.x),
            y: joined(self.y, other.y),
            bands: Bands {
                bottom: self.bands.bottom | other.bands.bottom,
                left: self.bands.left | other.bands.left,
                top: self.bands.top | other.bands.top,
            },
        }
    }
}

fn add(range: &mut (f64, f64), axis: &Axis, value: f64) {
    if value.is_finite() && (value > 0.0 || !axis.is_log) {
        *range = (range.0.min(value), range.1.max(value));
    }
}

/// A scale for these extremes; `room` says how much more than them it shows, 1 as usual.
pub(crate) fn scale(axis: &Axis, (least, most): (f64, f64), room: f64) -> Scale {
    if let Some((from, to)) = axis.range {
        return if axis.is_log {
            Scale::Log { from, to }
        } else {
            Scale::Linear { from, to }
        };
    }
    match (least <= most, axis.is_log) {
        (false, true) => Scale::log(1e-4, 1e-1),
        (false, false) => Scale::linear(0.0, 1.0),
        (true, true) if axis.unit == Unit::Bytes => {
            Scale::log_bytes(least * (1.0 - 0.1 * room), most * (1.0 + 0.1 * room))
        }
        (true, false) if least == 0.0 && most == 0.0 => Scale::linear(0.0, 1.0),
        // There is nothing between none and one.
        (true, true) if axis.unit == Unit::Count && least >= 1.0 => {
            let (from, to) = Scale::log(least, most * (1.0 + 0.03 * room)).ends();
            Scale::Log {
                from: from.max(0.8),
                to: to.max(10.0),
            }
        }
        (true, true) => Scale::log(least * (1.0 - 0.03 * room), most * (1.0 + 0.03 * room)),
        (true, false) => {
            // A little room, so that no point is cut off at the border; but none below zero. A time that
            // begins near zero begins there.
            let span = most - least;
            let begins_at_zero = axis.include.contains(&0.0);
            let is_near = axis.is_shared_time && (0.0..0.02 * span).contains(&least);
            let from = if is_near {
                0.0
            } else if begins_at_zero && least >= 0.0 {
                least
            } else {
                least - 0.004 * room * span
            };
            let head = room * if begins_at_zero { 0.05 } else { 0.004 };
            Scale::linear(from, most + head * span)
        }
    }
}
