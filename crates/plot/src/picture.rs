//! From a chart to the bytes of a picture.

mod area;
mod callouts;
mod clip;
mod cloud;
mod described;
mod fit;
mod fonts;
mod foot;
mod frame;
mod head;
mod labels;
mod layout;
mod legend;
mod marker;
mod marks;
mod panels;
mod raster;
mod sharp;
mod stroke;
mod text;
mod words;

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
pub use self::words::{Label, Part};
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

impl Size {
    /// The same with several pixels of a bitmap for each of its own.
    pub fn at(self, scale: PixelScale) -> Scaled {
        Scaled { size: self, scale }
    }
}

/// How many pixels a bitmap has, along each side, for each pixel of its size: 2 for slides and fine screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PixelScale(u32);

impl PixelScale {
    /// The largest.
    pub const MOST: u32 = 4;

    /// From 1 to [`MOST`](Self::MOST).
    pub fn new(scale: u32) -> Option<Self> {
        (1..=Self::MOST).contains(&scale).then_some(Self(scale))
    }

    /// As a number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl Default for PixelScale {
    fn default() -> Self {
        Self(1)
    }
}

/// A size, and how fine its bitmap is. The layout is that of the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scaled {
    /// As if a bitmap had one pixel for each.
    pub size: Size,
    /// How many it has.
    pub scale: PixelScale,
}

impl Scaled {
    /// The size of the bitmap.
    pub fn pixels(self) -> Size {
        Size {
            width: self.size.width.saturating_mul(self.scale.0),
            height: self.size.height.saturating_mul(self.scale.0),
        }
    }
}

impl From<Size> for Scaled {
    fn from(size: Size) -> Self {
        size.at(PixelScale::default())
    }
}

/// The largest bitmap: 600 MB before it is compressed.
const MOST_PIXELS: u64 = 200_000_000;

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

/// Draws charts as a whole picture file, one below the other, on the same axes. The scale of a size is that of bitmaps: an
/// SVG has none.
///
/// # Errors
/// If the size is too small, or the backend fails.
pub fn render(
    charts: &[&Chart],
    format: Format,
    size: impl Into<Scaled>,
    theme: Theme,
) -> Result<Vec<u8>, PlotError> {
    let sheet = Sheet::Below(charts, Layers::All);
    render_sheet(&sheet, format, size.into(), theme)
}

/// Draws the same picture without its data: titles, legends, axes. What differs from [`render`] are the data, and what
/// is named among them.
///
/// # Errors
/// As [`render`].
pub fn render_frame(
    charts: &[&Chart],
    format: Format,
    size: impl Into<Scaled>,
    theme: Theme,
) -> Result<Vec<u8>, PlotError> {
    let sheet = Sheet::Below(charts, Layers::Frame);
    render_sheet(&sheet, format, size.into(), theme)
}

/// What is on a picture.
enum Sheet<'a> {
    /// Charts below each other.
    Below(&'a [&'a Chart], Layers),
    /// Small charts side by side.
    Panels(&'a Panels),
}

impl Sheet<'_> {
    /// The charts whose words describe the picture.
    fn charts(&self) -> Vec<&Chart> {
        match self {
            Self::Below(charts, _) => charts.to_vec(),
            Self::Panels(panels) => vec![&panels.head],
        }
    }
}

fn render_sheet(
    sheet: &Sheet<'_>,
    format: Format,
    scaled: Scaled,
    theme: Theme,
) -> Result<Vec<u8>, PlotError> {
    let scaled = match format {
        Format::Png => scaled,
        Format::Svg => Scaled::from(scaled.size),
    };
    check(scaled)?;
    embed_fonts()?;
    match format {
        Format::Png => {
            let Size { width, height } = scaled.pixels();
            let mut rgb = vec![0; 3 * width as usize * height as usize];
            let backend = BitMapBackend::with_buffer(&mut rgb, (width, height));
            draw_on(Sharp(backend), sheet, theme, scaled)?;
            let mut png = Vec::new();
            PngEncoder::new_with_quality(&mut png, CompressionType::Default, FilterType::NoFilter)
                .write_image(&rgb, width, height, image::ColorType::Rgb8)
                .map_err(PlotError::new)?;
            Ok(png)
        }
        Format::Svg => {
            let mut svg = String::new();
            let size = (scaled.size.width, scaled.size.height);
            draw_on(
                SVGBackend::with_string(&mut svg, size),
                sheet,
                theme,
                scaled,
            )?;
            // A mitre would reach beyond the end of a spike; lines inherit their joins from the whole.
            let svg = svg.replacen("<svg ", "<svg stroke-linejoin=\"bevel\" ", 1);
            Ok(described::described(&svg, &sheet.charts()).into_bytes())
        }
    }
}

fn check(scaled: Scaled) -> Result<(), PlotError> {
    let Size { width, height } = scaled.size;
    if width < 320 || height < 240 {
        return Err(PlotError(format!(
            "{width} x {height} pixels are too few: a picture needs at least 320 x 240"
        )));
    }
    let all = scaled.pixels();
    if u64::from(all.width) * u64::from(all.height) > MOST_PIXELS {
        return Err(PlotError(format!(
            "{} x {} pixels are too many: a picture may have at most 200 million pixels; use a smaller size or scale, \
             or SVG",
            all.width, all.height
        )));
    }
    Ok(())
}

/// How much larger than usual everything is on one of `charts` charts of a picture: everything grows with the
/// picture; on small ones words stay readable.
fn zoom(charts: usize, scaled: Scaled) -> f64 {
    // Charts below each other are flatter than one alone.
    let usual = if charts > 1 { 500.0 } else { 720.0 };
    let each = f64::from(scaled.size.height) / charts as f64;
    let zoom = (f64::from(scaled.size.width) / 1280.0).min(each / usual);
    zoom.clamp(0.72, 8.0) * f64::from(scaled.scale.get())
}

fn draw_on<B: DrawingBackend>(
    backend: B,
    sheet: &Sheet<'_>,
    theme: Theme,
    scaled: Scaled,
) -> Result<(), PlotError> {
    let area = backend.into_drawing_area();
    area.fill(&rgb(theme.palette().background))
        .map_err(PlotError::new)?;
    match sheet {
        Sheet::Below(charts, layers) => draw_below(&area, charts, theme, (scaled, *layers))?,
        Sheet::Panels(panels) => panels.draw(&area, theme, scaled)?,
    }
    area.present().map_err(PlotError::new)
}

/// Draws charts one below the other.
fn draw_below<B: DrawingBackend>(
    area: &Area<B>,
    charts: &[&Chart],
    theme: Theme,
    (scaled, layers): (Scaled, Layers),
) -> Result<(), PlotError> {
    let extents = charts.iter().map(|chart| Extent::of(chart));
    let Some(extent) = extents.reduce(Extent::union) else {
        return Ok(());
    };
    let how = (zoom(charts.len(), scaled), Words::All);
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
            .ok_or_else(|| PlotError("the raster is not the size of the plot".to_owned()))?;
        area.draw(&bitmap).map_err(PlotError::new)?;
    } else {
        frame.draw_grid(area)?;
    }
    if layers == Layers::All {
        draw_marks(area, frame)?;
    }
    frame.draw(area)?;
    match layers {
        Layers::All => frame.draw_callouts(area),
        Layers::Frame => Ok(()),
    }
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
        register_font("sans-serif", FontStyle::Normal, fonts::regular()).is_ok()
            && register_font("sans-serif", FontStyle::Bold, fonts::bold()).is_ok()
    });
    if *embedded {
        Ok(())
    } else {
        Err(PlotError("the embedded font cannot be read".to_owned()))
    }
}
