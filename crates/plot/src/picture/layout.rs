//! Where everything stands in a picture, without drawing it.

use super::frame::{Frame, Words};
use super::labels::{Rectangle, TickLabel};
use super::words::Label;
use super::{PlotError, Scaled, check, zoom};
use crate::chart::Chart;
use crate::extent::Extent;
use crate::theme::Theme;

/// Where the parts of a chart stand in a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The chart's part of the picture.
    pub whole: Rectangle,
    /// The plotting area: no data are drawn outside.
    pub plot: Rectangle,
    /// The labels of both axes, as wide and as high as they are drawn.
    pub labels: Vec<TickLabel>,
    /// All other words.
    pub words: Vec<Label>,
    /// The part of the picture that the legend takes, with the verdict on a limit.
    pub legend: Rectangle,
}

/// Where the parts of charts stand when they are drawn as a picture of this size.
///
/// # Errors
/// If the size is too small.
pub fn layout(charts: &[&Chart], size: impl Into<Scaled>) -> Result<Vec<Layout>, PlotError> {
    let scaled = size.into();
    check(scaled)?;
    let size = scaled.pixels();
    let extents = charts.iter().map(|chart| Extent::of(chart));
    let Some(extent) = extents.reduce(Extent::union) else {
        return Ok(Vec::new());
    };
    let zoom = zoom(charts.len(), scaled);
    // As the drawing area is split: the first parts get what is left over.
    let n = charts.len() as u32;
    let begin = |i: usize| i as u32 * (size.height / n) + (i as u32).min(size.height % n);
    let parts = charts.iter().enumerate().map(|(i, chart)| {
        let part = (size.width, begin(i + 1) - begin(i));
        let frame = Frame::new(chart, Theme::Light, part, &extent, (zoom, Words::All))?;
        let top = f64::from(begin(i));
        Ok(Layout::of(&frame, part, (0.0, top)))
    });
    parts.collect()
}

impl Layout {
    /// Of a frame of this size, whose corner is at this place of the picture.
    pub(super) fn of(frame: &Frame<'_>, (width, height): (u32, u32), (x, y): (f64, f64)) -> Self {
        let rectangle = |left: i32, top: i32, right: i32, bottom: i32| {
            let rectangle = Rectangle {
                left: f64::from(left),
                top: f64::from(top),
                right: f64::from(right),
                bottom: f64::from(bottom),
            };
            rectangle.moved(x, y)
        };
        let plot = &frame.plot;
        let labels = frame.x.labels.iter().chain(&frame.y.labels);
        let labels = labels.map(|label| TickLabel {
            area: label.area.moved(x, y),
            ..label.clone()
        });
        let words = frame.written().map(|words| Label {
            area: words.label.area.moved(x, y),
            ..words.label.clone()
        });
        Self {
            words: words.collect(),
            legend: frame.legend_area().moved(x, y),
            whole: rectangle(0, 0, width as i32, height as i32),
            plot: rectangle(plot.left, plot.top, plot.right, plot.bottom),
            labels: labels.collect(),
        }
    }
}
