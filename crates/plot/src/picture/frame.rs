//! What surrounds the data: title, legend, axes with ticks, table, footer.

use plotters::prelude::{DrawingBackend, IntoFont, PathElement, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, FontTransform, TextStyle};

use super::area::PlotArea;
use super::labels::{AWAY, Edge, Side, TICK, TickLabel, widest};
use super::{Area, PlotError, raster::Raster, rgb, text};
use crate::chart::{Chart, LegendEntry};
use crate::extent::{Extent, scale};
use crate::scale::{Scale, Tick};
use crate::theme::{Palette, Rgb, Theme};

/// An axis with its ends, its ticks, and their labels as far as there is room for them.
pub(super) struct Ruler {
    pub(super) scale: Scale,
    pub(super) ticks: Vec<Tick>,
    pub(super) labels: Vec<TickLabel>,
}

/// Everything around the data of a chart.
pub(super) struct Frame<'a> {
    pub(super) chart: &'a Chart,
    pub(super) theme: Theme,
    pub(super) x: Ruler,
    pub(super) y: Ruler,
    pub(super) plot: PlotArea,
    legend: Vec<LegendEntry>,
    /// How large everything is, relative to a picture of 1280 x 720.
    pub(super) zoom: f64,
    size: (i32, i32),
}

pub(super) fn text_style(size: f64, colour: Rgb) -> TextStyle<'static> {
    TextStyle {
        color: rgb(colour).to_backend_color(),
        ..TextStyle::from(("sans-serif", size).into_font())
    }
}

fn bold(size: f64, colour: Rgb) -> TextStyle<'static> {
    TextStyle {
        color: rgb(colour).to_backend_color(),
        ..TextStyle::from(FontDesc::new(FontFamily::SansSerif, size, FontStyle::Bold))
    }
}

const TITLE: f64 = 26.0;
const SUBTITLE: f64 = 16.0;
const LABEL: f64 = 18.0;
const LEGEND: f64 = 16.0;
const FOOTER: f64 = 13.0;
const SWATCH: f64 = 32.0;
const BAND: f64 = 22.0;

impl<'a> Frame<'a> {
    /// Lays out a chart on a picture of this size; `extent` may be more than the chart's own.
    pub(super) fn new(
        chart: &'a Chart,
        theme: Theme,
        (width, height): (u32, u32),
        extent: &Extent,
        zoom: f64,
    ) -> Result<Self, PlotError> {
        let legend = chart.legend();
        let size = (width as i32, height as i32);
        let px = |n: f64| (n * zoom).round() as i32;
        let is_cloud = chart.clouds().next().is_some();
        let x_scale = scale(&chart.x, extent.x(), if is_cloud { 1.0 } else { 0.0 });
        let y_scale = scale(&chart.y, extent.y(), 1.0);
        let lines = i32::from(!chart.subtitle.is_empty()) + chart.warnings.len() as i32;
        let head = px(18.0 + TITLE + 10.0) + lines * px(SUBTITLE + 6.0);
        let entries = legend.len() + usize::from(chart.limit.is_some());
        let table = chart.table.as_ref().map_or(0, |t| t.rows.len() as i32 + 1);
        let band = |is: bool| if is { px(BAND) } else { 0 };
        let mut plot = PlotArea {
            left: 0,
            top: head + entries as i32 * px(LEGEND + 7.0) + px(10.0),
            right: size.0 - px(34.0),
            bottom: size.1 - px(86.0) - table * px(LEGEND + 5.0) - band(table > 0),
            band_bottom: band(extent.bands.bottom),
            band_left: band(extent.bands.left),
            band_top: band(extent.bands.top),
        };
        let edge = |side, plot| Edge {
            side,
            plot,
            zoom,
            width: size.0,
        };
        // How wide the labels are says where the axis stands.
        let wanted = (height as usize / 80).clamp(3, 10);
        let (y_ticks, y_labels) = edge(Side::Left, plot).ticks(&y_scale, chart.y.unit, wanted);
        plot.left = px(44.0) + (widest(&y_labels).ceil() as i32).max(px(45.0));
        let shifted = |label: TickLabel| TickLabel {
            area: label.area.moved(f64::from(plot.left), 0.0),
            ..label
        };
        let y_labels = y_labels.into_iter().map(shifted).collect();
        if plot.height() < px(90.0) || plot.width() < px(160.0) {
            return Err(PlotError(format!(
                "its title, legend and axes leave no room for the data in {width} x {height} pixels: take a \
                 larger picture, fewer inputs, or lay them over each other"
            )));
        }
        let wanted = (f64::from(plot.width()) / zoom / 110.0) as usize;
        let (x_ticks, x_labels) =
            edge(Side::Bottom, plot).ticks(&x_scale, chart.x.unit, wanted.clamp(3, 10));
        Ok(Self {
            chart,
            theme,
            x: Ruler {
                ticks: x_ticks,
                labels: x_labels,
                scale: x_scale,
            },
            y: Ruler {
                ticks: y_ticks,
                labels: y_labels,
                scale: y_scale,
            },
            plot,
            legend,
            zoom,
            size,
        })
    }

    pub(super) fn palette(&self) -> &'static Palette {
        self.theme.palette()
    }

    pub(super) fn px(&self, n: f64) -> i32 {
        (n * self.zoom).round() as i32
    }

    /// The place of a value in pixels of the picture.
    pub(super) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            self.plot.x(self.x.scale.share(x)),
            self.plot.y(self.y.scale.share(y)),
        )
    }

    fn grid_colour(&self, major: bool) -> Rgb {
        if major {
            self.palette().grid
        } else {
            self.palette().minor_grid
        }
    }

    /// The plotting area as a raster with the grid on it, for clouds.
    pub(super) fn raster(&self) -> Raster {
        let (width, height) = (self.plot.width() as usize, self.plot.height() as usize);
        let mut raster = Raster::new(width, height, self.palette().background);
        for major in [false, true] {
            let colour = self.grid_colour(major);
            for tick in self.x.ticks.iter().filter(|t| t.label.is_some() == major) {
                let x = self.plot.x(self.x.scale.share(tick.value));
                raster.line(x - f64::from(self.plot.left), false, colour);
            }
            for tick in self.y.ticks.iter().filter(|t| t.label.is_some() == major) {
                let y = self.plot.y(self.y.scale.share(tick.value));
                raster.line(y - f64::from(self.plot.top), true, colour);
            }
        }
        raster
    }

    /// Draws the grid as lines, for charts without a raster.
    pub(super) fn draw_grid<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError> {
        let plot = &self.plot;
        for major in [false, true] {
            let colour = self.grid_colour(major);
            for tick in self.x.ticks.iter().filter(|t| t.label.is_some() == major) {
                let x = plot.x(self.x.scale.share(tick.value)).round() as i32;
                line(area, [(x, plot.top), (x, plot.bottom)], colour)?;
            }
            for tick in self.y.ticks.iter().filter(|t| t.label.is_some() == major) {
                let y = plot.y(self.y.scale.share(tick.value)).round() as i32;
                line(area, [(plot.left, y), (plot.right, y)], colour)?;
            }
        }
        Ok(())
    }

    /// Draws everything around the data. To be called after the data have been drawn.
    pub(super) fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError> {
        self.draw_head(area)?;
        self.draw_axes(area)?;
        self.draw_table(area)?;
        let palette = self.palette();
        let style = text_style(FOOTER * self.zoom, palette.muted);
        let at = (self.size.0 - self.px(34.0), self.size.1 - self.px(10.0));
        let room = at.0 - self.px(20.0);
        write(area, &self.chart.footer, at, &style, RIGHT_BOTTOM, room)
    }

    fn draw_head<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError> {
        let palette = self.palette();
        let left = self.plot.left.min(self.px(104.0));
        let room = self.size.0 - left - self.px(20.0);
        let mut y = self.px(18.0);
        let title = bold(TITLE * self.zoom, palette.text);
        write(area, &self.chart.title, (left, y), &title, LEFT_TOP, room)?;
        y += self.px(TITLE + 8.0);
        if !self.chart.subtitle.is_empty() {
            let style = text_style(SUBTITLE * self.zoom, palette.muted);
            write(
                area,
                &self.chart.subtitle,
                (left, y),
                &style,
                LEFT_TOP,
                room,
            )?;
            y += self.px(SUBTITLE + 6.0);
        }
        for warning in &self.chart.warnings {
            let style = bold(SUBTITLE * self.zoom, palette.warning);
            write(area, warning, (left, y), &style, LEFT_TOP, room)?;
            y += self.px(SUBTITLE + 6.0);
        }
        y += self.px(4.0);
        for entry in &self.legend {
            let middle = y + self.px(LEGEND) / 2;
            let mut text_left = left;
            if let Some(colour) = entry.colour {
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
                text_left += self.px(SWATCH + 10.0);
            }
            let is_remark = entry.colour.is_none();
            let colour = if is_remark {
                palette.muted
            } else {
                palette.text
            };
            let style = text_style(LEGEND * self.zoom, colour);
            write(
                area,
                &entry.text,
                (text_left, middle),
                &style,
                LEFT_MIDDLE,
                room - (text_left - left),
            )?;
            y += self.px(LEGEND + 7.0);
        }
        if let Some(limit) = &self.chart.limit {
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

    fn draw_axes<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError> {
        let (plot, palette) = (&self.plot, self.palette());
        let ticks = text_style(TICK * self.zoom, palette.text);
        let length = |tick: &Tick| self.px(if tick.label.is_some() { 7.0 } else { 4.0 });
        for tick in &self.x.ticks {
            let x = plot.x(self.x.scale.share(tick.value)).round() as i32;
            line(
                area,
                [(x, plot.bottom), (x, plot.bottom + length(tick))],
                palette.axis,
            )?;
        }
        for tick in &self.y.ticks {
            let y = plot.y(self.y.scale.share(tick.value)).round() as i32;
            line(
                area,
                [(plot.left - length(tick), y), (plot.left, y)],
                palette.axis,
            )?;
        }
        for label in &self.x.labels {
            let middle = f64::midpoint(label.area.left, label.area.right).round() as i32;
            let at = (middle, plot.bottom + self.px(AWAY));
            write(area, &label.text, at, &ticks, CENTRE_TOP, self.size.0)?;
        }
        for label in &self.y.labels {
            let middle = f64::midpoint(label.area.top, label.area.bottom).round() as i32;
            let at = (plot.left - self.px(AWAY), middle);
            write(area, &label.text, at, &ticks, RIGHT_MIDDLE, self.size.0)?;
        }
        self.draw_bands(area)?;
        line(
            area,
            [(plot.left, plot.top), (plot.left, plot.bottom)],
            palette.axis,
        )?;
        line(
            area,
            [(plot.left, plot.bottom), (plot.right, plot.bottom)],
            palette.axis,
        )?;
        let names = || text_style(LABEL * self.zoom, palette.text);
        let below = (plot.left + plot.width() / 2, plot.bottom + self.px(34.0));
        write(
            area,
            &self.chart.x.name,
            below,
            &names(),
            CENTRE_TOP,
            plot.width(),
        )?;
        let upwards = names().transform(FontTransform::Rotate270);
        let beside = (self.px(10.0), plot.top + plot.height() / 2);
        write(
            area,
            &self.chart.y.name,
            beside,
            &upwards,
            CENTRE_TOP,
            self.size.1,
        )
    }

    /// The borders of the bands for what is not on an axis.
    fn draw_bands<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError> {
        let (plot, colour) = (&self.plot, self.palette().muted);
        if plot.band_bottom > 0 {
            let y = plot.bottom - plot.band_bottom;
            line(area, [(plot.left, y), (plot.right, y)], colour)?;
        }
        if plot.band_top > 0 {
            let y = plot.top + plot.band_top;
            line(area, [(plot.left, y), (plot.right, y)], colour)?;
        }
        if plot.band_left > 0 {
            let x = plot.left + plot.band_left;
            line(area, [(x, plot.top), (x, plot.bottom)], colour)?;
        }
        Ok(())
    }

    fn draw_table<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError> {
        let Some(table) = &self.chart.table else {
            return Ok(());
        };
        let palette = self.palette();
        let left = self.px(34.0);
        let right = self.size.0 - self.px(34.0);
        let names = (f64::from(right - left) * 0.34) as i32;
        let columns = table.header.len().saturating_sub(1).max(1) as i32;
        let wide = (right - left - names) / columns;
        let mut y = self.plot.bottom + self.px(62.0);
        for (i, row) in std::iter::once(&table.header)
            .chain(&table.rows)
            .enumerate()
        {
            let colour = if i == 0 { palette.muted } else { palette.text };
            let style = text_style((LEGEND - 1.0) * self.zoom, colour);
            for (column, cell) in row.iter().enumerate() {
                if column == 0 {
                    write(area, cell, (left, y), &style, LEFT_TOP, names)?;
                } else {
                    let at = (left + names + wide * column as i32, y);
                    write(area, cell, at, &style, RIGHT_TOP, wide)?;
                }
            }
            y += self.px(LEGEND + 5.0);
        }
        Ok(())
    }
}

/// Writes a line, cut to `room` pixels.
fn write<B: DrawingBackend>(
    area: &Area<B>,
    words: &str,
    at: (i32, i32),
    style: &TextStyle<'_>,
    (horizontal, vertical): (HPos, VPos),
    room: i32,
) -> Result<(), PlotError> {
    if words.is_empty() {
        return Ok(());
    }
    // No control character belongs into a picture, least of all into XML.
    let mut words: String = words
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    let size = style.font.get_size();
    let is_bold = matches!(style.font.get_style(), FontStyle::Bold);
    // Letters are at most as wide as high: a short text needs no measuring.
    let mut length = words.chars().count();
    let surely_fits = length as f64 * size < f64::from(room);
    if !surely_fits && text::width(&words, size, is_bold) > f64::from(room) {
        let cut = |length: usize| words.chars().take(length).chain(['…']).collect::<String>();
        while length > 3 && text::width(&cut(length), size, is_bold) > f64::from(room) {
            length -= 1 + length / 64;
        }
        words = cut(length);
    }
    let style = style.clone().pos(Pos::new(horizontal, vertical));
    area.draw_text(&words, &style, at).map_err(PlotError::new)
}

const LEFT_TOP: (HPos, VPos) = (HPos::Left, VPos::Top);
const LEFT_MIDDLE: (HPos, VPos) = (HPos::Left, VPos::Center);
const CENTRE_TOP: (HPos, VPos) = (HPos::Center, VPos::Top);
const RIGHT_TOP: (HPos, VPos) = (HPos::Right, VPos::Top);
const RIGHT_MIDDLE: (HPos, VPos) = (HPos::Right, VPos::Center);
const RIGHT_BOTTOM: (HPos, VPos) = (HPos::Right, VPos::Bottom);

pub(super) fn line<B: DrawingBackend>(
    area: &Area<B>,
    ends: [(i32, i32); 2],
    colour: Rgb,
) -> Result<(), PlotError> {
    area.draw(&PathElement::new(
        ends.to_vec(),
        rgb(colour).stroke_width(1),
    ))
    .map_err(PlotError::new)
}
