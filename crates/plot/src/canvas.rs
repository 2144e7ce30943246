//! From a chart to the bytes of a picture.

use std::sync::OnceLock;

use image::ImageEncoder;
use plotters::coord::Shift;
use plotters::prelude::{BitMapBackend, DrawingArea, DrawingBackend, IntoDrawingArea, SVGBackend};
use plotters::style::{FontStyle, register_font};

use crate::theme;

/// The kind of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Pixels.
    Png,
    /// Lines and text; dense layers as an embedded picture.
    Svg,
}

impl Kind {
    /// From the ending of a file name, `png` or `svg`.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension {
            "png" => Some(Self::Png),
            "svg" => Some(Self::Svg),
            _ => None,
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
pub struct PlotError(pub(crate) String);

impl PlotError {
    pub(crate) fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// The surface that a chart draws on.
pub type Area<B> = DrawingArea<B, Shift>;

/// Something that can be drawn.
pub trait Chart {
    /// Draws on the whole of `area`, which is empty.
    ///
    /// # Errors
    /// If the backend fails.
    fn draw<B: DrawingBackend>(&self, area: &Area<B>) -> Result<(), PlotError>;
}

/// Draws `chart` as a whole picture file.
///
/// # Errors
/// If the size is too small for a chart, or the backend fails.
pub fn render(chart: &impl Chart, kind: Kind, size: Size) -> Result<Vec<u8>, PlotError> {
    if size.width < 320 || size.height < 240 {
        return Err(PlotError(format!(
            "{} x {} pixels are too few, it takes 320 x 240",
            size.width, size.height
        )));
    }
    embed_fonts()?;
    let pixels = (size.width, size.height);
    match kind {
        Kind::Png => {
            let mut rgb = vec![0; 3 * (size.width * size.height) as usize];
            draw_on(BitMapBackend::with_buffer(&mut rgb, pixels), chart)?;
            let mut png = Vec::new();
            image::codecs::png::PngEncoder::new(&mut png)
                .write_image(&rgb, size.width, size.height, image::ColorType::Rgb8)
                .map_err(PlotError::new)?;
            Ok(png)
        }
        Kind::Svg => {
            let mut svg = String::new();
            draw_on(SVGBackend::with_string(&mut svg, pixels), chart)?;
            Ok(svg.into_bytes())
        }
    }
}

fn draw_on<B: DrawingBackend>(backend: B, chart: &impl Chart) -> Result<(), PlotError> {
    let area = backend.into_drawing_area();
    area.fill(&theme::BACKGROUND).map_err(PlotError::new)?;
    chart.draw(&area)?;
    area.present().map_err(PlotError::new)
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
