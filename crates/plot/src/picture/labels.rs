//! The labels of ticks: which of them stand where, so that none touches another and none leaves the picture.

use super::area::PlotArea;
use super::text;
use crate::scale::{Scale, Tick};
use crate::units::Unit;

/// On which side of the plotting area a label stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Below it: the x axis.
    Bottom,
    /// At its left: the y axis.
    Left,
}

/// A rectangle in pixels of the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rectangle {
    /// Its left edge.
    pub left: f64,
    /// Its upper edge.
    pub top: f64,
    /// Its right edge.
    pub right: f64,
    /// Its lower edge.
    pub bottom: f64,
}

impl Rectangle {
    /// Whether it has a point in common with another.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// Whether another lies wholly within it.
    pub fn contains(&self, other: &Self) -> bool {
        self.left <= other.left
            && self.top <= other.top
            && self.right >= other.right
            && self.bottom >= other.bottom
    }

    /// The same with a border of this width.
    pub(super) fn grown(&self, by: f64) -> Self {
        Self {
            left: self.left - by,
            top: self.top - by,
            right: self.right + by,
            bottom: self.bottom + by,
        }
    }

    /// The same, so far to the right and so far down.
    pub(super) fn moved(&self, right: f64, down: f64) -> Self {
        Self {
            left: self.left + right,
            top: self.top + down,
            right: self.right + right,
            bottom: self.bottom + down,
        }
    }
}

/// The label of a tick, or of a band for zeros.
#[derive(Clone, Debug, PartialEq)]
pub struct TickLabel {
    /// Where it belongs.
    pub side: Side,
    /// What it says.
    pub text: String,
    /// Where it stands.
    pub area: Rectangle,
}

/// The size of the letters of a tick, at the usual size of a picture.
pub(super) const TICK: f64 = 16.0;
/// From the axis to its labels.
pub(super) const AWAY: f64 = 11.0;

/// An axis's side of a picture, and how large things are there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) side: Side,
    pub(super) plot: PlotArea,
    pub(super) zoom: f64,
    /// Of the whole picture.
    pub(super) width: i32,
}

impl Edge {
    /// Ticks, at most about `wanted` with labels, and the labels that have room.
    pub(super) fn ticks(
        &self,
        scale: &Scale,
        unit: Unit,
        wanted: usize,
    ) -> (Vec<Tick>, Vec<TickLabel>) {
        let labelled = |wanted| {
            let ticks = scale.ticks(wanted, unit);
            let of = |tick: &Tick| Some(self.label(tick.label.clone()?, self.place(scale, tick)));
            let labels: Vec<TickLabel> = ticks.iter().filter_map(of).collect();
            (ticks, labels)
        };
        let mut wanted = wanted.max(2);
        let (ticks, labels) = loop {
            let (ticks, labels) = labelled(wanted);
            let touch = |pair: &[TickLabel]| self.touch(&pair[0], &pair[1]);
            if wanted == 2 || !labels.windows(2).any(touch) {
                break (ticks, labels);
            }
            wanted -= 1;
        };
        // What bands say comes first: nothing else says it.
        let mut kept = self.bands();
        for label in labels {
            if !kept.iter().any(|other| self.touch(other, &label)) {
                kept.push(label);
            }
        }
        (ticks, kept)
    }

    /// Where a tick stands along the axis.
    fn place(&self, scale: &Scale, tick: &Tick) -> f64 {
        let share = scale.share(tick.value);
        match self.side {
            Side::Bottom => self.plot.x(share).round(),
            Side::Left => self.plot.y(share).round(),
        }
    }

    /// Whether two labels are nearer to each other than can be read.
    fn touch(&self, a: &TickLabel, b: &TickLabel) -> bool {
        let gap = match self.side {
            Side::Bottom => 8.0,
            Side::Left => 1.0,
        };
        a.area
            .grown(gap * self.zoom / 2.0)
            .overlaps(&b.area.grown(gap * self.zoom / 2.0))
    }

    /// A label at a place along the axis.
    fn label(&self, text: String, place: f64) -> TickLabel {
        let size = TICK * self.zoom;
        let (width, height) = (text::width(&text, size, false), text::height(size));
        let away = (AWAY * self.zoom).round();
        let (left, top) = match self.side {
            Side::Bottom => {
                // At the picture's edge it gives way.
                let room = f64::from(self.width) - 4.0 * self.zoom - width;
                let left = (place - width / 2.0).min(room).max(0.0);
                (left, f64::from(self.plot.bottom) + away)
            }
            Side::Left => {
                let right = f64::from(self.plot.left) - away;
                (right - width, place - height / 2.0)
            }
        };
        let area = Rectangle {
            left,
            top,
            right: left + width,
            bottom: top + height,
        };
        TickLabel {
            side: self.side,
            text,
            area,
        }
    }

    /// The labels of the bands for what is not on the axis: as far from the axis's end as a label of it needs.
    fn bands(&self) -> Vec<TickLabel> {
        let plot = &self.plot;
        let mut labels = Vec::new();
        match self.side {
            Side::Bottom if plot.band_left > 0 => {
                let middle = f64::from(plot.left + plot.band_left / 2);
                labels.push(self.label("0".to_owned(), middle));
            }
            Side::Left => {
                let high = text::height(TICK * self.zoom) + 2.0 * self.zoom;
                if plot.band_bottom > 0 {
                    let end = f64::from(plot.bottom - plot.band_bottom);
                    let middle = end + f64::from(plot.band_bottom) / 2.0;
                    labels.push(self.label("0".to_owned(), middle.max(end + high)));
                }
                if plot.band_top > 0 {
                    let end = f64::from(plot.top + plot.band_top);
                    let middle = end - f64::from(plot.band_top) / 2.0;
                    labels.push(self.label("none".to_owned(), middle.min(end - high)));
                }
            }
            Side::Bottom => {}
        }
        labels
    }
}

/// How wide the widest of these labels is.
pub(super) fn widest(labels: &[TickLabel]) -> f64 {
    let widths = labels
        .iter()
        .map(|label| label.area.right - label.area.left);
    widths.fold(0.0, f64::max)
}
