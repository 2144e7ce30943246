//! A picture of its own for what is drawn point by point.
//!
//! It is put into the chart as a whole, so that an SVG does not grow with the number of points.

use plotters::style::RGBColor;

use crate::theme;

/// Pixels over the plotting area, row by row from the top.
pub(crate) struct Raster {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Raster {
    pub(crate) fn new(width: usize, height: usize) -> Self {
        let RGBColor(r, g, b) = theme::BACKGROUND;
        Self {
            width,
            height,
            rgb: [r, g, b].repeat(width * height),
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn height(&self) -> usize {
        self.height
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.rgb
    }

    /// Mixes `colour` into a pixel; `opacity` from 0 to 1. What lies outside is ignored.
    pub(crate) fn mix(&mut self, x: i64, y: i64, colour: [u8; 3], opacity: f64) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else {
            return;
        };
        if x >= self.width || y >= self.height {
            return;
        }
        let at = 3 * (y * self.width + x);
        for (below, above) in self.rgb[at..at + 3].iter_mut().zip(colour) {
            let mixed = f64::from(*below) * (1.0 - opacity) + f64::from(above) * opacity;
            *below = mixed.round() as u8;
        }
    }

    /// A horizontal or vertical line of one pixel across the whole picture.
    pub(crate) fn line(&mut self, at: f64, horizontal: bool, colour: RGBColor) {
        let RGBColor(r, g, b) = colour;
        let at = at.round() as i64;
        let length = if horizontal { self.width } else { self.height } as i64;
        for i in 0..length {
            let (x, y) = if horizontal { (i, at) } else { (at, i) };
            self.mix(x, y, [r, g, b], 1.0);
        }
    }

    /// A disc with soft edges.
    pub(crate) fn disc(&mut self, x: f64, y: f64, radius: f64, colour: RGBColor, opacity: f64) {
        let RGBColor(r, g, b) = colour;
        let reach = radius.ceil() as i64 + 1;
        let (cx, cy) = (x.floor() as i64, y.floor() as i64);
        for py in cy - reach..=cy + reach {
            for px in cx - reach..=cx + reach {
                let (dx, dy) = (px as f64 + 0.5 - x, py as f64 + 0.5 - y);
                let inside = (radius + 0.5 - dx.hypot(dy)).clamp(0.0, 1.0);
                if inside > 0.0 {
                    self.mix(px, py, [r, g, b], inside * opacity);
                }
            }
        }
    }
}

/// The colour at `share` (0 to 1) of a ramp.
pub(crate) fn on_ramp(ramp: &theme::Ramp, share: f64) -> [u8; 3] {
    let at = share.clamp(0.0, 1.0) * (ramp.len() - 1) as f64;
    let step = (at as usize).min(ramp.len() - 2);
    let part = at - step as f64;
    std::array::from_fn(|i| {
        let (a, b) = (f64::from(ramp[step][i]), f64::from(ramp[step + 1][i]));
        (a + (b - a) * part).round() as u8
    })
}
