//! What surrounds the data: title, legend, axes with ticks, table, footer.

use plotters::prelude::{DrawingBackend, IntoFont, PathElement};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, FontTransform, TextStyle};

use super::area::PlotArea;
use super::head::{Head, LEGEND, MOST_BELOW};
use super::labels::{AWAY, Edge, Side, TICK, TickLabel, widest};
use super::{Area, PlotError, raster::Raster, rgb, text};
use crate::chart::Chart;
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
    words: Words,
    head: Head<'a>,
    /// How large everything is, relative to a picture of 1280 x 720.
    pub(super) zoom: f64,
    size: (i32, i32),
}

/// Which words stand around the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// All of them: the chart is alone.
    All,
    /// Those that other panels do not say, and the names of its axes where there is no panel below it, or at its left.
    OfPanel {
        /// The name of the x axis.
        x_name: bool,
        /// The name of the y axis.
        y_name: bool,
    },
}

impl Words {
    /// Whether the names of the x and y axes are among them.
    fn names(self) -> (bool, bool) {
        match self {
            Self::All => (true, true),
            Self::OfPanel { x_name, y_name } => (x_name, y_name),
        }
    }
}

pub(super) fn text_style(size: f64, colour: Rgb) -> TextStyle<'static> {
    TextStyle {
        color: rgb(colour).to_backend_color(),
        ..TextStyle::from(("sans-serif", size).into_font())
    }
}

pub(super) fn bold(size: f64, colour: Rgb) -> TextStyle<'static> {
    TextStyle {
        color: rgb(colour).to_backend_color(),
        ..TextStyle::from(FontDesc::new(FontFamily::SansSerif, size, FontStyle::Bold))
    }
}

const LABEL: f64 = 18.0;
const FOOTER: f64 = 13.0;
const BAND: f64 = 22.0;
/// From the axis to the end of the picture, with the axis's name and the footer, and without a footer.
const BELOW: f64 = 86.0;
const BELOW_PANEL: f64 = 62.0;

impl<'a> Frame<'a> {
    /// Lays out a chart on a picture of this size; `extent` may be more than the chart's own.
    pub(super) fn new(
        chart: &'a Chart,
        theme: Theme,
        (width, height): (u32, u32),
        extent: &Extent,
        (zoom, words): (f64, Words),
    ) -> Result<Self, PlotError> {
        let head = match words {
            Words::All => Head::new(chart, (chart.legend(), MOST_BELOW), width as i32, zoom),
            Words::OfPanel { .. } => Head::of_panel(chart, width as i32, zoom),
        };
        let size = (width as i32, height as i32);
        let px = |n: f64| (n * zoom).round() as i32;
        let is_cloud = chart.clouds().next().is_some();
        let x_scale = scale(&chart.x, extent.x(), if is_cloud { 1.0 } else { 0.0 });
        let y_scale = scale(&chart.y, extent.y(), 1.0);
        let table = chart.table.as_ref().map_or(0, |t| t.rows.len() as i32 + 1);
        let band = |is: bool| if is { px(BAND) } else { 0 };
        let below = match words {
            Words::All => BELOW,
            Words::OfPanel { .. } => BELOW_PANEL,
        };
        let mut plot = PlotArea {
            left: 0,
            top: head.height() + px(10.0),
            right: size.0 - px(34.0),
            bottom: size.1 - px(below) - table * px(LEGEND + 5.0) - band(table > 0),
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
                "its title, legend and axes leave no room for the data in {width} x {height} \
                 pixels: use a larger picture, fewer inputs, or overlay them"
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
            words,
            head,
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
        let palette = self.palette();
        let left = match self.words {
            Words::All => self.plot.left.min(self.px(104.0)),
            Words::OfPanel { .. } => self.plot.left,
        };
        self.head.draw(area, palette, left)?;
        self.draw_axes(area)?;
        self.draw_table(area)?;
        match self.words {
            Words::All => draw_footer(area, &self.chart.footer, self.size, palette, self.zoom),
            Words::OfPanel { .. } => Ok(()),
        }
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
        let (x_name, y_name) = self.words.names();
        if x_name {
            let (below, name) = (plot.bottom + self.px(34.0), &self.chart.x.name);
            let at = (plot.left + plot.width() / 2, below);
            write(area, name, at, &names(), CENTRE_TOP, plot.width())?;
        }
        if y_name {
            let upwards = names().transform(FontTransform::Rotate270);
            let at = (self.px(10.0), plot.top + plot.height() / 2);
            let name = &self.chart.y.name;
            write(area, name, at, &upwards, CENTRE_TOP, self.size.1)?;
        }
        Ok(())
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

/// Writes load, target and tool at the bottom of a picture of this size.
pub(super) fn draw_footer<B: DrawingBackend>(
    area: &Area<B>,
    footer: &str,
    (width, height): (i32, i32),
    palette: &Palette,
    zoom: f64,
) -> Result<(), PlotError> {
    let px = |n: f64| (n * zoom).round() as i32;
    let style = text_style(FOOTER * zoom, palette.muted);
    let at = (width - px(34.0), height - px(10.0));
    write(area, footer, at, &style, RIGHT_BOTTOM, at.0 - px(20.0))
}

/// Writes a line, cut to `room` pixels.
pub(super) fn write<B: DrawingBackend>(
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

pub(super) const LEFT_TOP: (HPos, VPos) = (HPos::Left, VPos::Top);
pub(super) const LEFT_MIDDLE: (HPos, VPos) = (HPos::Left, VPos::Center);
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
