//! Small multiples: small charts side by side, on the same axes and with one legend (Tufte, "Envisioning information",
//! 1990, chapter 4).
//!
//! ```text
//!   title, legend of all panels
//!   panel   panel   panel
//!   panel   panel
//! ```

use plotters::prelude::DrawingBackend;

use super::foot::Foot;
use super::frame::{Frame, Words};
use super::head::{Head, Place};
use super::labels::Rectangle;
use super::layout::Layout;
use super::words::{Label, Written};
use super::{
    Area, Format, Layers, PlotError, Scaled, Sheet, Size, check, draw_chart, render_sheet,
};
use crate::chart::{Chart, LegendEntry};
use crate::extent::Extent;
use crate::theme::Theme;

/// Small charts side by side.
#[derive(Clone, Debug, Default)]
pub struct Panels {
    /// Title, subtitle, warnings, footer, notes and limit of the whole; it has no marks.
    pub head: Chart,
    /// The panels, row by row, each with its name as title. Of legends, what several of them say is said once.
    pub charts: Vec<Chart>,
}

/// The size of a panel, in a picture whose size is not chosen.
const PANEL: (u32, u32) = (460, 340);
/// The least width of such a picture.
const LEAST_WIDTH: u32 = 960;
/// Below the panels, for the footer.
const FOOT: u32 = 34;
/// How large words are, relative to those of a picture of the usual size.
const ZOOM: f64 = 0.86;

/// A part of a picture: its corner and its size.
type Part = ((u32, u32), (u32, u32));

impl Panels {
    /// How many columns and rows there are.
    fn grid(&self) -> (u32, u32) {
        let n = self.charts.len().max(1);
        let columns = match n {
            1..=3 => n,
            4 => 2,
            5..=9 => 3,
            _ => 4,
        };
        (columns as u32, n.div_ceil(columns) as u32)
    }

    /// The legend of all panels, each entry once.
    fn legend(&self) -> Vec<LegendEntry> {
        let mut legend: Vec<LegendEntry> = Vec::new();
        let of_panels = self.charts.iter().flat_map(Chart::entries);
        for entry in of_panels.chain(self.head.entries()) {
            if !legend.contains(&entry) {
                legend.push(entry);
            }
        }
        legend
    }

    /// The remarks of all panels, each once.
    fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = Vec::new();
        let of_panels = self.charts.iter().flat_map(Chart::remarks);
        for remark in of_panels.chain(self.head.remarks()) {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
        remarks
    }

    /// What is above the panels in a picture of this size. The height of the legend follows that of the panels, which is
    /// known before the picture's.
    fn head(&self, width: u32, most: u32, zoom: f64) -> Head {
        let panels = f64::from(self.grid().1 * PANEL.1) * zoom / ZOOM;
        let place = Place {
            left: (60.0 * zoom).round(),
            width: f64::from(width),
            height: panels.min(f64::from(most)),
            zoom,
        };
        Head::new(&self.head, self.legend(), place)
    }

    fn foot(&self, (width, height): (u32, u32), zoom: f64) -> Foot<'_> {
        let size = (f64::from(width), f64::from(height));
        Foot::new(&self.remarks(), None, &self.head.footer, size, zoom)
    }

    /// The size of a picture in which all panels are as large as they should be.
    pub fn size(&self) -> Size {
        let (columns, rows) = self.grid();
        let width = (columns * PANEL.0).max(LEAST_WIDTH);
        let panels = rows * PANEL.1;
        let head = self.head(width, panels, ZOOM).height() as u32;
        let foot = self.foot((width, panels), ZOOM).height().ceil() as u32;
        Size {
            width,
            height: head + panels + foot + FOOT,
        }
    }

    /// Where the panels stand.
    fn parts(&self, scaled: Scaled) -> Result<Vec<Part>, PlotError> {
        let size = scaled.pixels();
        let (zoom, scale) = zoom_of(scaled);
        let (columns, rows) = self.grid();
        let head = self.head(size.width, size.height, zoom).height() as u32;
        let foot = self.foot((size.width, size.height), zoom).height().ceil() as u32;
        let room = size.height.checked_sub(head + foot + FOOT * scale);
        let room = room.ok_or_else(|| {
            PlotError(format!(
                "its title and legend leave no room for the panels in {} x {} pixels: use a larger picture",
                size.width, size.height
            ))
        })?;
        let (width, height) = (size.width / columns, room / rows);
        let part = |i: u32| {
            (
                (i % columns * width, head + i / columns * height),
                (width, height),
            )
        };
        Ok((0..self.charts.len() as u32).map(part).collect())
    }

    /// The panels, each with its part of the picture.
    fn frames(&self, theme: Theme, scaled: Scaled) -> Result<Vec<(Part, Frame<'_>)>, PlotError> {
        let extents = self.charts.iter().map(Extent::of);
        let Some(extent) = extents.reduce(Extent::union) else {
            return Ok(Vec::new());
        };
        let columns = self.grid().0 as usize;
        let parts = self.parts(scaled)?.into_iter().enumerate();
        let zoom = zoom_of(scaled).0;
        let frames = parts.zip(&self.charts).map(|((i, part), chart)| {
            let words = Words::OfPanel {
                x_name: i + columns >= self.charts.len(),
                y_name: i % columns == 0,
            };
            Ok((
                part,
                Frame::new(chart, theme, part.1, &extent, (zoom, words))?,
            ))
        });
        frames.collect()
    }

    /// The words below the panels.
    fn below(&self, scaled: Scaled) -> Vec<Written> {
        let Size { width, height } = scaled.pixels();
        let (zoom, scale) = zoom_of(scaled);
        let foot = self.foot((width, height), zoom);
        let top = f64::from(height - FOOT * scale) - foot.height();
        foot.written(top)
    }

    pub(super) fn draw<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        theme: Theme,
        scaled: Scaled,
    ) -> Result<(), PlotError> {
        let palette = theme.palette();
        let Size { width, height } = scaled.pixels();
        self.head(width, height, zoom_of(scaled).0)
            .draw(area, palette)?;
        for (((x, y), (wide, high)), frame) in self.frames(theme, scaled)? {
            let part = area.clone().shrink((x, y), (wide, high));
            draw_chart(&part, &frame, Layers::All)?;
        }
        let below = self.below(scaled);
        below.iter().try_for_each(|words| words.draw(area, palette))
    }

    /// Draws them as a whole picture file.
    ///
    /// # Errors
    /// If the size is too small, or the backend fails.
    pub fn render(
        &self,
        format: Format,
        size: impl Into<Scaled>,
        theme: Theme,
    ) -> Result<Vec<u8>, PlotError> {
        render_sheet(&Sheet::Panels(self), format, size.into(), theme)
    }

    /// Where the parts of each panel stand in a picture of this size.
    ///
    /// # Errors
    /// If the size is too small.
    pub fn layout(&self, size: impl Into<Scaled>) -> Result<Vec<Layout>, PlotError> {
        let scaled = size.into();
        check(scaled)?;
        let layout = |((corner, size), frame): (Part, Frame<'_>)| {
            Layout::of(&frame, size, (f64::from(corner.0), f64::from(corner.1)))
        };
        let frames = self.frames(Theme::Light, scaled)?;
        Ok(frames.into_iter().map(layout).collect())
    }

    /// The words that all panels share, and the part of the picture that their legend takes.
    ///
    /// # Errors
    /// If the size is too small.
    pub fn shared_words(
        &self,
        size: impl Into<Scaled>,
    ) -> Result<(Vec<Label>, Rectangle), PlotError> {
        let scaled = size.into();
        check(scaled)?;
        let Size { width, height } = scaled.pixels();
        let head = self.head(width, height, zoom_of(scaled).0);
        let below = self.below(scaled);
        let words = head.written().iter().chain(&below);
        let words = words.map(|words| words.label.clone()).collect();
        Ok((words, head.legend_area(f64::from(width))))
    }
}

/// How large words are, and how many pixels stand for one.
fn zoom_of(scaled: Scaled) -> (f64, u32) {
    let scale = scaled.scale.get();
    (ZOOM * f64::from(scale), scale)
}
