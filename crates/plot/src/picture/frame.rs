//! What surrounds the data: axes with ticks, and all words with their places.

use plotters::prelude::{DrawingBackend, PathElement};
use plotters::style::Color;

use super::area::PlotArea;
use super::callouts::{Callouts, Ground};
use super::foot::Foot;
use super::head::{Head, Place};
use super::labels::{Edge, Side, TICK, TickLabel, widest};
use super::words::{Anchor, Ink, Part, Style, Written};
use super::{Area, PlotError, raster::Raster, rgb};
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
    head: Head,
    /// The names of the axes, and what is below them.
    around: Vec<Written>,
    callouts: Callouts,
    /// How large everything is, relative to a picture of 1280 x 720.
    pub(super) zoom: f64,
    /// The size of the chart's part of the picture.
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

const LABEL: f64 = 18.0;
const BAND: f64 = 22.0;
/// From the left edge to the words above the data.
const HEAD_LEFT: f64 = 89.0;
/// From the axis to what is below its name.
const NAMED: f64 = 62.0;
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
        let size = (width as i32, height as i32);
        let (head, foot) =
            above_and_below(chart, (f64::from(width), f64::from(height)), zoom, words);
        let px = |n: f64| (n * zoom).round() as i32;
        let below = match &foot {
            Some(foot) => px(BELOW) + foot.height().round() as i32,
            None => px(BELOW_PANEL),
        };
        let free = (head.height() + px(10.0), size.1 - below);
        let (plot, x, y) = ruled(chart, extent, size, free, zoom)?;
        let mut around = axis_names(chart, &plot, size, (zoom, words));
        around.extend(
            foot.iter()
                .flat_map(|foot| foot.written(f64::from(plot.bottom) + NAMED * zoom)),
        );
        let ground = Ground {
            plot,
            x: &x.scale,
            y: &y.scale,
            zoom,
        };
        let callouts = Callouts::new(chart, &ground);
        Ok(Self {
            chart,
            theme,
            x,
            y,
            plot,
            head,
            around,
            callouts,
            zoom,
            size,
        })
    }

    /// All words but the labels of ticks, with their places.
    pub(super) fn written(&self) -> impl Iterator<Item = &Written> {
        let outside = self.head.written().iter().chain(&self.around);
        outside.chain(self.callouts.written())
    }

    /// The part of the picture that the legend takes.
    pub(super) fn legend_area(&self) -> super::labels::Rectangle {
        self.head.legend_area(f64::from(self.size.0))
    }

    /// The width of a thin line in pixels.
    pub(super) fn thin(&self) -> u32 {
        (self.zoom.round() as u32).max(1)
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
                line(
                    area,
                    [(x, plot.top), (x, plot.bottom)],
                    (colour, self.thin()),
                )?;
            }
            for tick in self.y.ticks.iter().filter(|t| t.label.is_some() == major) {
                let y = plot.y(self.y.scale.share(tick.value)).round() as i32;
                line(
                    area,
                    [(plot.left, y), (plot.right, y)],
                    (colour, self.thin()),
                )?;
            }
        }
        Ok(())
    }

    /// Draws everything around the data. To be called after the data have been drawn.
    pub(super) fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError> {
        let palette = self.palette();
        self.head.draw(area, palette)?;
        self.draw_axes(area)?;
        let mut around = self.around.iter();
        around.try_for_each(|words| words.draw(area, palette))
    }

    /// Draws what is named among the data. To be called after the data have been drawn.
    pub(super) fn draw_callouts<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError> {
        self.callouts.draw(area, self)
    }

    fn draw_axes<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError> {
        let (plot, palette) = (&self.plot, self.palette());
        let length = |tick: &Tick| self.px(if tick.label.is_some() { 7.0 } else { 4.0 });
        for tick in &self.x.ticks {
            let x = plot.x(self.x.scale.share(tick.value)).round() as i32;
            line(
                area,
                [(x, plot.bottom), (x, plot.bottom + length(tick))],
                (palette.axis, self.thin()),
            )?;
        }
        for tick in &self.y.ticks {
            let y = plot.y(self.y.scale.share(tick.value)).round() as i32;
            line(
                area,
                [(plot.left - length(tick), y), (plot.left, y)],
                (palette.axis, self.thin()),
            )?;
        }
        for label in self.x.labels.iter().chain(&self.y.labels) {
            let style = Style {
                size: TICK * self.zoom,
                is_bold: false,
                ink: Ink::Text,
            };
            Written::at(Part::Tick, label.text.clone(), label.area, style).draw(area, palette)?;
        }
        self.draw_bands(area)?;
        line(
            area,
            [(plot.left, plot.top), (plot.left, plot.bottom)],
            (palette.axis, self.thin()),
        )?;
        line(
            area,
            [(plot.left, plot.bottom), (plot.right, plot.bottom)],
            (palette.axis, self.thin()),
        )?;
        Ok(())
    }

    /// The borders of the bands for what is not on an axis.
    fn draw_bands<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError> {
        let (plot, colour) = (&self.plot, self.palette().muted);
        if plot.band_bottom > 0 {
            let y = plot.bottom - plot.band_bottom;
            line(
                area,
                [(plot.left, y), (plot.right, y)],
                (colour, self.thin()),
            )?;
        }
        if plot.band_top > 0 {
            let y = plot.top + plot.band_top;
            line(
                area,
                [(plot.left, y), (plot.right, y)],
                (colour, self.thin()),
            )?;
        }
        if plot.band_left > 0 {
            let x = plot.left + plot.band_left;
            line(
                area,
                [(x, plot.top), (x, plot.bottom)],
                (colour, self.thin()),
            )?;
        }
        Ok(())
    }
}

/// What stands above the data, and what below the names of the axes.
fn above_and_below(
    chart: &Chart,
    (width, height): (f64, f64),
    zoom: f64,
    words: Words,
) -> (Head, Option<Foot<'_>>) {
    let place = Place {
        left: (HEAD_LEFT * zoom).round(),
        width,
        height,
        zoom,
    };
    match words {
        Words::All => (
            Head::new(chart, chart.entries(), place),
            Some(Foot::of(chart, (width, height), zoom)),
        ),
        Words::OfPanel { .. } => (Head::of_panel(chart, place), None),
    }
}

/// The plotting area between `top` and `bottom`, and its x and y axes.
fn ruled(
    chart: &Chart,
    extent: &Extent,
    (width, height): (i32, i32),
    (top, bottom): (i32, i32),
    zoom: f64,
) -> Result<(PlotArea, Ruler, Ruler), PlotError> {
    let px = |n: f64| (n * zoom).round() as i32;
    // Charts of one input have the same axis of time, whatever is drawn on it.
    let has_room = chart.clouds().next().is_some() || chart.x.is_shared_time;
    let x_scale = scale(&chart.x, extent.x(), if has_room { 1.0 } else { 0.0 });
    let y_scale = scale(&chart.y, extent.y(), 1.0);
    let band = |is: bool| if is { px(BAND) } else { 0 };
    let mut plot = PlotArea {
        left: 0,
        top,
        right: width - px(34.0),
        bottom,
        band_bottom: band(extent.bands.bottom),
        band_left: band(extent.bands.left),
        band_top: band(extent.bands.top),
    };
    let edge = |side, plot| Edge {
        side,
        plot,
        zoom,
        width,
    };
    // How wide the labels are says where the axis stands.
    let wanted = ((f64::from(height) / zoom / 80.0) as usize).clamp(3, 10);
    let (y_ticks, mut y_labels) = edge(Side::Left, plot).ticks(&y_scale, chart.y.unit, wanted);
    plot.left = px(44.0) + (widest(&y_labels).ceil() as i32).max(px(45.0));
    for label in &mut y_labels {
        label.area = label.area.moved(f64::from(plot.left), 0.0);
    }
    if plot.height() < px(90.0) || plot.width() < px(160.0) {
        return Err(PlotError(format!(
            "its title, legend and axes leave no room for the data in {width} x {height} \
             pixels: use a larger picture, fewer inputs, or overlay the inputs"
        )));
    }
    let wanted = (f64::from(plot.width()) / zoom / 110.0) as usize;
    let (x_ticks, x_labels) =
        edge(Side::Bottom, plot).ticks(&x_scale, chart.x.unit, wanted.clamp(3, 10));
    let x = Ruler {
        scale: x_scale,
        ticks: x_ticks,
        labels: x_labels,
    };
    let y = Ruler {
        scale: y_scale,
        ticks: y_ticks,
        labels: y_labels,
    };
    Ok((plot, x, y))
}

/// The names of the axes that are written, with their places.
fn axis_names(
    chart: &Chart,
    plot: &PlotArea,
    size: (i32, i32),
    (zoom, words): (f64, Words),
) -> Vec<Written> {
    let style = Style {
        size: LABEL * zoom,
        is_bold: false,
        ink: Ink::Text,
    };
    let (x_name, y_name) = words.names();
    let centre = |from: i32, to: i32| f64::midpoint(f64::from(from), f64::from(to));
    let across = || {
        let at = (
            centre(plot.left, plot.right),
            f64::from(plot.bottom) + 34.0 * zoom,
        );
        let room = f64::from(plot.width());
        Written::below(Part::XName, &chart.x.name, at, Anchor::Centre, style, room)
    };
    let up = || {
        let middle = centre(plot.top, plot.bottom);
        // It may be longer than the axis, but no longer than the chart is high.
        let room = 2.0 * middle.min(f64::from(size.1) - middle) - 8.0 * zoom;
        let at = ((10.0 * zoom).round(), middle);
        Written::upright(Part::YName, &chart.y.name, at, style, room)
    };
    let names = [x_name.then(across).flatten(), y_name.then(up).flatten()];
    names.into_iter().flatten().collect()
}

pub(super) fn line<B: DrawingBackend>(
    area: &Area<B>,
    ends: [(i32, i32); 2],
    (colour, width): (Rgb, u32),
) -> Result<(), PlotError> {
    area.draw(&PathElement::new(
        ends.to_vec(),
        rgb(colour).stroke_width(width),
    ))
    .map_err(PlotError::new)
}
