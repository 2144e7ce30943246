//! Small multiples: small charts side by side, on the same axes and with one legend (Tufte, "Envisioning information",
//! 1990, chapter 4).
//!
//! ```text
//!   title, legend of all panels
//!   panel   panel   panel
//!   panel   panel
//! ```

use plotters::prelude::DrawingBackend;

use super::frame::{Frame, Words, draw_footer};
use super::head::Head;
use super::layout::Layout;
use super::{Area, Format, Layers, PlotError, Sheet, Size, check, draw_chart, render_sheet};
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
        let of_panels = self.charts.iter().flat_map(Chart::legend);
        for entry in of_panels.chain(self.head.legend()) {
            if !legend.contains(&entry) {
                legend.push(entry);
            }
        }
        legend
    }

    fn head(&self, width: u32) -> Head<'_> {
        Head::new(&self.head, (self.legend(), 1), width as i32, ZOOM)
    }

    /// The size of a picture in which all panels are as large as they should be.
    pub fn size(&self) -> Size {
        let (columns, rows) = self.grid();
        let width = (columns * PANEL.0).max(LEAST_WIDTH);
        Size {
            width,
            height: self.head(width).height() as u32 + rows * PANEL.1 + FOOT,
        }
    }

    /// Where the panels stand.
    fn parts(&self, size: Size) -> Result<Vec<Part>, PlotError> {
        let (columns, rows) = self.grid();
        let head = self.head(size.width).height() as u32;
        let room = size.height.checked_sub(head + FOOT).ok_or_else(|| {
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
    fn frames(&self, theme: Theme, size: Size) -> Result<Vec<(Part, Frame<'_>)>, PlotError> {
        let extents = self.charts.iter().map(Extent::of);
        let Some(extent) = extents.reduce(Extent::union) else {
            return Ok(Vec::new());
        };
        let columns = self.grid().0 as usize;
        let parts = self.parts(size)?.into_iter().enumerate();
        let frames = parts.zip(&self.charts).map(|((i, part), chart)| {
            let words = Words::OfPanel {
                x_name: i + columns >= self.charts.len(),
                y_name: i % columns == 0,
            };
            Ok((
                part,
                Frame::new(chart, theme, part.1, &extent, (ZOOM, words))?,
            ))
        });
        frames.collect()
    }

    pub(super) fn draw<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        theme: Theme,
    ) -> Result<(), PlotError> {
        let (width, height) = area.dim_in_pixel();
        let palette = theme.palette();
        let left = (60.0 * ZOOM).round() as i32;
        self.head(width).draw(area, palette, left)?;
        for (((x, y), (wide, high)), frame) in self.frames(theme, Size { width, height })? {
            let part = area.clone().shrink((x, y), (wide, high));
            draw_chart(&part, &frame, Layers::All)?;
        }
        let size = (width as i32, height as i32);
        draw_footer(area, &self.head.footer, size, palette, ZOOM)
    }

    /// Draws them as a whole picture file.
    ///
    /// # Errors
    /// If the size is too small, or the backend fails.
    pub fn render(&self, format: Format, size: Size, theme: Theme) -> Result<Vec<u8>, PlotError> {
        render_sheet(&Sheet::Panels(self), format, size, theme)
    }

    /// Where the parts of each panel stand in a picture of this size.
    ///
    /// # Errors
    /// If the size is too small.
    pub fn layout(&self, size: Size) -> Result<Vec<Layout>, PlotError> {
        check(size)?;
        let layout = |((corner, size), frame): (Part, Frame<'_>)| {
            Layout::of(&frame, size, (f64::from(corner.0), f64::from(corner.1)))
        };
        Ok(self
            .frames(Theme::Light, size)?
            .into_iter()
            .map(layout)
            .collect())
    }
}
