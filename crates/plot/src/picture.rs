//! From a chart to the bytes of a picture.

mod area;
mod clip;
mod cloud;
mod frame;
mod head;
mod labels;
mod layout;
mod marks;
mod panels;
mod raster;
mod sharp;
mod stroke;
mod text;

use std::sync::OnceLock;

use image::ImageEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use plotters::coord::Shift;
use plotters::element::BitMapElement;
use plotters::prelude::{BitMapBackend, DrawingArea, DrawingBackend, IntoDrawingArea, SVGBackend};
use plotters::style::{FontStyle, RGBColor, register_font};

use self::frame::{Frame, Words};
pub use self::labels::{Rectangle, Side, TickLabel};
pub use self::layout::{Layout, layout};
pub use self::panels::Panels;
use self::sharp::Sharp;
use crate::chart::{Chart, Mark};
use crate::extent::Extent;
use crate::theme::{Rgb, Theme};

/// The kind of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Pixels.
    Png,
    /// Lines and text; dense layers as an embedded picture.
    Svg,
}

impl Format {
    /// From the ending of a file name, `png` or `svg`.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension {
            "png" => Some(Self::Png),
            "svg" => Some(Self::Svg),
            _ => None,
        }
    }

    /// The ending of a file name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
        }
    }
}

/// The size of a picture in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

impl Default for Size {
    fn default() -> Self {
        Self {
            width: 1280,
            height: 720,
        }
    }
}

/// Why a picture cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[error("cannot draw the chart: {0}")]
pub struct PlotError(String);

impl PlotError {
    fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// The surface that a chart is drawn on.
type Area<B> = DrawingArea<B, Shift>;

fn rgb([r, g, b]: Rgb) -> RGBColor {
    RGBColor(r, g, b)
}

/// What of a picture is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layers {
    All,
    /// Everything but the data.
    Frame,
}

/// Draws charts as a whole picture file, one below the other, on the same axes.
///
/// # Errors
/// If the size is too small, or the backend fails.
pub fn render(
    charts: &[&Chart],
    format: Format,
    size: Size,
    theme: Theme,
) -> Result<Vec<u8>, PlotError> {
    render_layers(charts, format, size, theme, Layers::All)
}

/// Draws the same picture without its data: titles, legends, axes. What differs from [`render`] are the data.
///
/// # Errors
/// As [`render`].
pub fn render_frame(
    charts: &[&Chart],
    format: Format,
    size: Size,
    theme: Theme,
) -> Result<Vec<u8>, PlotError> {
    render_layers(charts, format, size, theme, Layers::Frame)
}

fn render_layers(
    charts: &[&Chart],
    format: Format,
    size: Size,
    theme: Theme,
    layers: Layers,
) -> Result<Vec<u8>, PlotError> {
    render_sheet(&Sheet::Below(charts, layers), format, size, theme)
}

/// What is on a picture.
enum Sheet<'a> {
    /// Charts below each other.
    Below(&'a [&'a Chart], Layers),
    /// Small charts side by side.
    Panels(&'a Panels),
}

fn render_sheet(
    sheet: &Sheet<'_>,
    format: Format,
    size: Size,
    theme: Theme,
) -> Result<Vec<u8>, PlotError> {
    check(size)?;
    embed_fonts()?;
    let pixels = (size.width, size.height);
    match format {
        Format::Png => {
            let mut rgb = vec![0; 3 * (size.width * size.height) as usize];
            let backend = BitMapBackend::with_buffer(&mut rgb, pixels);
            draw_on(Sharp(backend), sheet, theme)?;
            let mut png = Vec::new();
            PngEncoder::new_with_quality(&mut png, CompressionType::Default, FilterType::NoFilter)
                .write_image(&rgb, size.width, size.height, image::ColorType::Rgb8)
                .map_err(PlotError::new)?;
            Ok(png)
        }
        Format::Svg => {
            let mut svg = String::new();
            let backend = SVGBackend::with_string(&mut svg, pixels);
            draw_on(backend, sheet, theme)?;
            // A mitre would reach beyond the end of a spike; lines inherit their joins from the whole.
            let svg = svg.replacen("<svg ", "<svg stroke-linejoin=\"bevel\" ", 1);
            Ok(svg.into_bytes())
        }
    }
}

fn check(size: Size) -> Result<(), PlotError> {
    if size.width < 320 || size.height < 240 {
        return Err(PlotError(format!(
            "{} x {} pixels are too few: a picture needs at least 320 x 240",
            size.width, size.height
        )));
    }
    Ok(())
}

/// How much larger than usual everything is on one of `charts` charts of a picture: everything grows with the
/// picture; on small ones words stay readable.
fn zoom(charts: usize, (width, height): (u32, u32)) -> f64 {
    // Charts below each other are flatter than one alone.
    let usual = if charts > 1 { 500.0 } else { 720.0 };
    let each = f64::from(height) / charts as f64;
    (f64::from(width) / 1280.0)
        .min(each / usual)
        .clamp(0.72, 8.0)
}

fn draw_on<B: DrawingBackend>(
    backend: B,
    sheet: &Sheet<'_>,
    theme: Theme,
) -> Result<(), PlotError> {
    let area = backend.into_drawing_area();
    area.fill(&rgb(theme.palette().background))
        .map_err(PlotError::new)?;
    match sheet {
        Sheet::Below(charts, layers) => draw_below(&area, charts, theme, *layers)?,
        Sheet::Panels(panels) => panels.draw(&area, theme)?,
    }
    area.present().map_err(PlotError::new)
}

/// Draws charts one below the other.
fn draw_below<B: DrawingBackend>(
    area: &Area<B>,
    charts: &[&Chart],
    theme: Theme,
    layers: Layers,
) -> Result<(), PlotError> {
    let extents = charts.iter().map(|chart| Extent::of(chart));
    let Some(extent) = extents.reduce(Extent::union) else {
        return Ok(());
    };
    let how = (zoom(charts.len(), area.dim_in_pixel()), Words::All);
    for (chart, part) in charts.iter().zip(area.split_evenly((charts.len(), 1))) {
        let frame = Frame::new(chart, theme, part.dim_in_pixel(), &extent, how)?;
        draw_chart(&part, &frame, layers)?;
    }
    Ok(())
}

fn draw_chart<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    layers: Layers,
) -> Result<(), PlotError> {
    let chart = frame.chart;
    let has_cloud = chart.clouds().next().is_some();
    if has_cloud {
        let mut raster = frame.raster();
        if layers == Layers::All {
            chart
                .clouds()
                .for_each(|cloud| cloud::draw(cloud, &mut raster, frame));
        }
        let size = (raster.width() as u32, raster.height() as u32);
        let corner = (frame.plot.left, frame.plot.top);
        let bitmap: BitMapElement<'_, _> = BitMapElement::with_ref(corner, size, raster.bytes())
            .ok_or_else(|| PlotError("the raster has not the size of the plot".to_owned()))?;
        area.draw(&bitmap).map_err(PlotError::new)?;
    } else {
        frame.draw_grid(area)?;
    }
    if layers == Layers::All {
        draw_marks(area, frame)?;
    }
    frame.draw(area)
}

fn draw_marks<B: DrawingBackend>(area: &Area<B>, frame: &Frame<'_>) -> Result<(), PlotError> {
    for mark in &frame.chart.marks {
        match mark {
            Mark::Cloud(_) => {}
            Mark::Line(line) => marks::draw_line(area, frame, line)?,
            Mark::Band(band) => marks::draw_band(area, frame, band)?,
            Mark::Bars(bars) => marks::draw_bars(area, frame, bars)?,
            Mark::Heat(heat) => marks::draw_heat(area, frame, heat)?,
            Mark::Estimates(estimates) => marks::draw_estimates(area, frame, estimates)?,
        }
    }
    if let Some(limit) = &frame.chart.limit {
        marks::draw_limit(area, frame, limit)?;
    }
    Ok(())
}

fn embed_fonts() -> Result<(), PlotError> {
    static EMBEDDED: OnceLock<bool> = OnceLock::new();
    let embedded = EMBEDDED.get_or_init(|| {
        register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular()).is_ok()
            && register_font("sans-serif", FontStyle::Bold, dejavu::sans::bold()).is_ok()
    });
    if *embedded {
        Ok(())
    } else {
        Err(PlotError("the embedded font cannot be read".to_owned()))
    }
}
