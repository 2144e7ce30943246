//! What surrounds the data: title, axes with ticks, legend, footer.

use plotters::prelude::{DrawingBackend, IntoFont, PathElement, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, FontTransform, RGBColor, TextStyle};

use crate::canvas::{Area, PlotError};
use crate::raster::Raster;
use crate::scale::{Scale, Tick};
use crate::theme;

/// An axis: its scale, its ticks, its name with unit.
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    pub(crate) ticks: Vec<Tick>,
    pub(crate) name: String,
}

/// A line of the legend.
pub(crate) struct LegendEntry {
    pub(crate) colour: RGBColor,
    pub(crate) text: String,
}

/// What is written above and below a chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heading {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) footer: String,
}

/// Everything around the data.
pub(crate) struct Frame<'a> {
    pub(crate) heading: &'a Heading,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) legend: Vec<LegendEntry>,
}

/// The rectangle of pixels where the data are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlotArea {
    pub(crate) left: i32,
    pub(crate) top: i32,
    pub(crate) right: i32,
    pub(crate) bottom: i32,
}

impl PlotArea {
    pub(crate) fn width(&self) -> i32 {
        self.right - self.left
    }

    pub(crate) fn height(&self) -> i32 {
        self.bottom - self.top
    }

    pub(crate) fn x(&self, share: f64) -> i32 {
        self.left + (share * f64::from(self.width())).round() as i32
    }

    pub(crate) fn y(&self, share: f64) -> i32 {
        self.bottom - (share * f64::from(self.height())).round() as i32
    }
}

pub(crate) fn text_style(size: i32, colour: RGBColor) -> TextStyle<'static> {
    TextStyle {
        color: colour.to_backend_color(),
        ..TextStyle::from(("sans-serif", size).into_font())
    }
}

fn bold(size: i32) -> TextStyle<'static> {
    let font = FontDesc::new(FontFamily::SansSerif, f64::from(size), FontStyle::Bold);
    TextStyle::from(font).color(&theme::TEXT)
}

impl Frame<'_> {
    /// Where the data go on a picture of this size.
    ///
    /// # Errors
    /// If title and legend leave too little room for the data.
    pub(crate) fn plot_area(&self, (width, height): (u32, u32)) -> Result<PlotArea, PlotError> {
        let head = 18
            + theme::TITLE_SIZE
            + if self.heading.subtitle.is_empty() {
                6
            } else {
                10 + theme::SUBTITLE_SIZE
            };
        let legend = self.legend.len() as i32 * (theme::LEGEND_SIZE + 7);
        let plot = PlotArea {
            left: 104,
            top: head + legend + 14,
            right: width as i32 - 34,
            bottom: height as i32 - 86,
        };
        if plot.height() < 100 {
            return Err(PlotError(format!(
                "{} lines of legend leave no room for the data in a picture of {width} x {height} \
                 pixels: draw fewer curves, or a larger picture",
                self.legend.len()
            )));
        }
        Ok(plot)
    }

    /// The plotting area as a raster with the grid on it, for charts that draw point by point.
    pub(crate) fn raster(&self, plot: &PlotArea) -> Raster {
        let mut raster = Raster::new(plot.width() as usize, plot.height() as usize);
        for major in [false, true] {
            let colour = if major {
                theme::GRID
            } else {
                theme::MINOR_GRID
            };
            let (width, height) = (raster.width() as f64, raster.height() as f64);
            for tick in self.x.ticks.iter().filter(|t| t.label.is_some() == major) {
                raster.line(self.x.scale.share(tick.value) * width, false, colour);
            }
            for tick in self.y.ticks.iter().filter(|t| t.label.is_some() == major) {
                raster.line(
                    (1.0 - self.y.scale.share(tick.value)) * height,
                    true,
                    colour,
                );
            }
        }
        raster
    }

    /// Draws the grid as lines, for charts that draw lines themselves.
    pub(crate) fn draw_grid<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        plot: &PlotArea,
    ) -> Result<(), PlotError> {
        for major in [false, true] {
            let colour = if major {
                theme::GRID
            } else {
                theme::MINOR_GRID
            };
            for tick in self.x.ticks.iter().filter(|t| t.label.is_some() == major) {
                let x = plot.x(self.x.scale.share(tick.value));
                line(area, [(x, plot.top), (x, plot.bottom)], colour)?;
            }
            for tick in self.y.ticks.iter().filter(|t| t.label.is_some() == major) {
                let y = plot.y(self.y.scale.share(tick.value));
                line(area, [(plot.left, y), (plot.right, y)], colour)?;
            }
        }
        Ok(())
    }

    /// Draws everything around the data. To be called after the data have been drawn.
    pub(crate) fn draw<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        plot: &PlotArea,
    ) -> Result<(), PlotError> {
        self.draw_head(area, plot)?;
        self.draw_axes(area, plot)?;
        let (width, height) = area.dim_in_pixel();
        text(
            area,
            &self.heading.footer,
            (width as i32 - 34, height as i32 - 10),
            &text_style(theme::FOOTER_SIZE, theme::MUTED),
            (HPos::Right, VPos::Bottom),
        )
    }

    fn draw_head<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        plot: &PlotArea,
    ) -> Result<(), PlotError> {
        let left_top = (HPos::Left, VPos::Top);
        let mut y = 18;
        text(
            area,
            &self.heading.title,
            (plot.left, y),
            &bold(theme::TITLE_SIZE),
            left_top,
        )?;
        y += theme::TITLE_SIZE + 10;
        if !self.heading.subtitle.is_empty() {
            let style = text_style(theme::SUBTITLE_SIZE, theme::MUTED);
            text(
                area,
                &self.heading.subtitle,
                (plot.left, y - 2),
                &style,
                left_top,
            )?;
            y += theme::SUBTITLE_SIZE;
        }
        y += 6;
        for entry in &self.legend {
            let middle = y + theme::LEGEND_SIZE / 2;
            area.draw(&Rectangle::new(
                [(plot.left, middle - 6), (plot.left + 22, middle + 4)],
                entry.colour.filled(),
            ))
            .map_err(PlotError::new)?;
            let style = text_style(theme::LEGEND_SIZE, theme::TEXT);
            let at = (plot.left + 32, middle);
            text(area, &entry.text, at, &style, (HPos::Left, VPos::Center))?;
            y += theme::LEGEND_SIZE + 7;
        }
        Ok(())
    }

    fn draw_axes<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        plot: &PlotArea,
    ) -> Result<(), PlotError> {
        let ticks = || text_style(theme::TICK_SIZE, theme::TEXT);
        for tick in &self.x.ticks {
            let x = plot.x(self.x.scale.share(tick.value));
            let length = if tick.label.is_some() { 7 } else { 4 };
            line(
                area,
                [(x, plot.bottom), (x, plot.bottom + length)],
                theme::AXIS,
            )?;
            if let Some(label) = &tick.label {
                text(
                    area,
                    label,
                    (x, plot.bottom + 11),
                    &ticks(),
                    (HPos::Center, VPos::Top),
                )?;
            }
        }
        for tick in &self.y.ticks {
            let y = plot.y(self.y.scale.share(tick.value));
            let length = if tick.label.is_some() { 7 } else { 4 };
            line(area, [(plot.left - length, y), (plot.left, y)], theme::AXIS)?;
            if let Some(label) = &tick.label {
                text(
                    area,
                    label,
                    (plot.left - 11, y),
                    &ticks(),
                    (HPos::Right, VPos::Center),
                )?;
            }
        }
        line(
            area,
            [(plot.left, plot.top), (plot.left, plot.bottom)],
            theme::AXIS,
        )?;
        line(
            area,
            [(plot.left, plot.bottom), (plot.right, plot.bottom)],
            theme::AXIS,
        )?;
        let names = || text_style(theme::LABEL_SIZE, theme::TEXT);
        let below = (plot.left + plot.width() / 2, plot.bottom + 36);
        text(
            area,
            &self.x.name,
            below,
            &names(),
            (HPos::Center, VPos::Top),
        )?;
        let upwards = names().transform(FontTransform::Rotate270);
        let beside = (12, plot.top + plot.height() / 2);
        text(
            area,
            &self.y.name,
            beside,
            &upwards,
            (HPos::Center, VPos::Top),
        )
    }
}

pub(crate) fn text<B: DrawingBackend>(
    area: &Area<B>,
    text: &str,
    at: (i32, i32),
    style: &TextStyle<'_>,
    (horizontal, vertical): (HPos, VPos),
) -> Result<(), PlotError> {
    // No control character belongs into a picture, least of all into XML.
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    let text = text.as_str();
    let style = style.clone().pos(Pos::new(horizontal, vertical));
    area.draw_text(text, &style, at).map_err(PlotError::new)
}

fn line<B: DrawingBackend>(
    area: &Area<B>,
    ends: [(i32, i32); 2],
    colour: RGBColor,
) -> Result<(), PlotError> {
    area.draw(&PathElement::new(ends.to_vec(), colour.stroke_width(1)))
        .map_err(PlotError::new)
}
