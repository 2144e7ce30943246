//! What stands above the data: title, warnings, legend, verdict.

use plotters::prelude::{DrawingBackend, Rectangle};
use plotters::style::Color;

use super::frame::{LEFT_MIDDLE, LEFT_TOP, bold, text_style, write};
use super::{Area, PlotError, rgb, text};
use crate::chart::{Chart, LegendEntry};
use crate::theme::Palette;

const TITLE: f64 = 26.0;
const SUBTITLE: f64 = 16.0;
/// The size of letters in a legend, and in a table.
pub(super) const LEGEND: f64 = 16.0;
const SWATCH: f64 = 32.0;
/// Between a swatch and its words.
const GAP: f64 = 10.0;
/// This number of curves stand below each other in the legend of a chart; more of them share lines.
pub(super) const MOST_BELOW: usize = 6;

/// The words above the data of a chart, or of several.
pub(super) struct Head<'a> {
    chart: &'a Chart,
    /// Entries with a colour, then remarks.
    entries: Vec<LegendEntry>,
    /// How many of the entries have a colour, and in how many columns they stand.
    coloured: usize,
    columns: usize,
    is_panel: bool,
    width: i32,
    zoom: f64,
}

impl<'a> Head<'a> {
    /// Of a chart in a picture of this width, with a legend that need not be the chart's own, and of which at most
    /// `most_below` curves stand below each other.
    pub(super) fn new(
        chart: &'a Chart,
        (legend, most_below): (Vec<LegendEntry>, usize),
        width: i32,
        zoom: f64,
    ) -> Self {
        let widths = legend
            .iter()
            .filter(|entry| entry.colour.is_some())
            .map(|entry| text::width(&entry.text, LEGEND * zoom, false));
        let (coloured, widest) = widths.fold((0, 0.0), |(n, most), w| (n + 1, f64::max(most, w)));
        let mut entries = legend;
        let mut columns = 1;
        if coloured > most_below {
            // Beside others an entry takes a swatch, its words, and a gap.
            let each = widest + (SWATCH + GAP + 28.0) * zoom;
            let room = f64::from(width) - 124.0 * zoom;
            columns = ((room / each) as usize).clamp(1, coloured);
            // As few columns as the lines need.
            columns = coloured.div_ceil(coloured.div_ceil(columns));
            entries.sort_by_key(|entry| entry.colour.is_none());
        }
        Self {
            chart,
            entries,
            coloured,
            columns,
            is_panel: false,
            width,
            zoom,
        }
    }

    /// Of a panel: its title only.
    pub(super) fn of_panel(chart: &'a Chart, width: i32, zoom: f64) -> Self {
        Self {
            is_panel: true,
            ..Self::new(chart, (Vec::new(), 0), width, zoom)
        }
    }

    fn px(&self, n: f64) -> i32 {
        (n * self.zoom).round() as i32
    }

    /// How many lines the entries with a colour take, where they share lines.
    fn rows(&self) -> usize {
        self.coloured.div_ceil(self.columns)
    }

    /// How high it is, in pixels.
    pub(super) fn height(&self) -> i32 {
        if self.is_panel {
            return self.px(8.0 + SUBTITLE + 6.0);
        }
        let chart = self.chart;
        let lines = i32::from(!chart.subtitle.is_empty()) + chart.warnings.len() as i32;
        let shared = self.coloured - self.rows();
        let entries = self.entries.len() - shared + usize::from(chart.limit.is_some());
        self.px(18.0 + TITLE + 10.0)
            + lines * self.px(SUBTITLE + 6.0)
            + entries as i32 * self.px(LEGEND + 7.0)
    }

    /// Draws it, from `left` on.
    pub(super) fn draw<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        palette: &Palette,
        left: i32,
    ) -> Result<(), PlotError> {
        let chart = self.chart;
        let room = self.width - left - self.px(20.0);
        if self.is_panel {
            let style = bold(SUBTITLE * self.zoom, palette.text);
            return write(
                area,
                &chart.title,
                (left, self.px(8.0)),
                &style,
                LEFT_TOP,
                room,
            );
        }
        let mut y = self.px(18.0);
        let title = bold(TITLE * self.zoom, palette.text);
        write(area, &chart.title, (left, y), &title, LEFT_TOP, room)?;
        y += self.px(TITLE + 8.0);
        if !chart.subtitle.is_empty() {
            let style = text_style(SUBTITLE * self.zoom, palette.muted);
            write(area, &chart.subtitle, (left, y), &style, LEFT_TOP, room)?;
            y += self.px(SUBTITLE + 6.0);
        }
        for warning in &chart.warnings {
            let style = bold(SUBTITLE * self.zoom, palette.warning);
            write(area, warning, (left, y), &style, LEFT_TOP, room)?;
            y += self.px(SUBTITLE + 6.0);
        }
        y = self.draw_legend(area, palette, (left, y + self.px(4.0)))?;
        if let Some(limit) = &chart.limit {
            let colour = if limit.is_kept {
                palette.good
            } else {
                palette.warning
            };
            let style = bold(LEGEND * self.zoom, colour);
            let at = (left, y + self.px(LEGEND) / 2);
            write(area, &limit.text, at, &style, LEFT_MIDDLE, room)?;
        }
        Ok(())
    }

    /// Draws the legend from this corner on; where it ends.
    fn draw_legend<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        palette: &Palette,
        (left, top): (i32, i32),
    ) -> Result<i32, PlotError> {
        let line = self.px(LEGEND + 7.0);
        let room = self.width - left - self.px(20.0);
        let mut y = top;
        if self.columns == 1 {
            for entry in &self.entries {
                self.draw_entry(area, palette, entry, (left, y, room))?;
                y += line;
            }
            return Ok(y);
        }
        // One column after the other, as they would stand below each other.
        let (coloured, remarks) = self.entries.split_at(self.coloured);
        let (rows, wide) = (self.rows(), room / self.columns as i32);
        for (i, entry) in coloured.iter().enumerate() {
            let (column, row) = ((i / rows) as i32, (i % rows) as i32);
            let corner = (left + column * wide, y + row * line, wide);
            self.draw_entry(area, palette, entry, corner)?;
        }
        y += rows as i32 * line;
        for entry in remarks {
            self.draw_entry(area, palette, entry, (left, y, room))?;
            y += line;
        }
        Ok(y)
    }

    /// Draws an entry from its corner on, in this room.
    fn draw_entry<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        palette: &Palette,
        entry: &LegendEntry,
        (left, top, room): (i32, i32, i32),
    ) -> Result<(), PlotError> {
        let middle = top + self.px(LEGEND) / 2;
        let mut text_left = left;
        let mut of_text = palette.muted;
        if let Some(colour) = entry.colour {
            of_text = palette.text;
            let colour = rgb(palette.rgb(colour));
            // A swatch, or two dashes of a broken line.
            let pieces = match entry.dash {
                Some(dash) => dash.in_legend(SWATCH).pieces(SWATCH),
                None => vec![(0.0, SWATCH)],
            };
            for (from, to) in pieces {
                let corners = [
                    (left + self.px(from), middle - self.px(5.0)),
                    (left + self.px(to), middle + self.px(5.0)),
                ];
                area.draw(&Rectangle::new(corners, colour.filled()))
                    .map_err(PlotError::new)?;
            }
            text_left += self.px(SWATCH + GAP);
        }
        let style = text_style(LEGEND * self.zoom, of_text);
        let room = room - (text_left - left);
        write(
            area,
            &entry.text,
            (text_left, middle),
            &style,
            LEFT_MIDDLE,
            room,
        )
    }
}
