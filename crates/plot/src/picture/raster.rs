//! A picture of its own for what is drawn point by point.
//!
//! It is put into the chart as a whole, so that an SVG does not grow with the number of points.

use crate::theme::Rgb;

/// Pixels over the plotting area, row by row from the top.
pub(super) struct Raster {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Raster {
    pub(super) fn new(width: usize, height: usize, background: Rgb) -> Self {
        Self {
            width,
            height,
            rgb: background.repeat(width * height),
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn height(&self) -> usize {
        self.height
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.rgb
    }

    /// Mixes `colour` into a pixel; `opacity` from 0 to 1. What lies outside is ignored.
    pub(super) fn mix(&mut self, x: i64, y: i64, colour: Rgb, opacity: f64) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else {
            return;
        };
        if x >= self.width || y >= self.height {
            return;
        }
        let at = 3 * (y * self.width + x);
        // In 256ths: this is the innermost loop of a picture of points.
        let share = (opacity * 256.0 + 0.5) as i32;
        for (below, above) in self.rgb[at..at + 3].iter_mut().zip(colour) {
            let (from, to) = (i32::from(*below), i32::from(above));
            *below = (from + (((to - from) * share + 128) >> 8)) as u8;
        }
    }

    /// A rectangle of one colour, from the first edge to before the second.
    pub(super) fn fill(&mut self, columns: (i64, i64), rows: (i64, i64), colour: Rgb) {
        let clip = |(from, to): (i64, i64), most: usize| {
            let most = most as i64;
            (from.clamp(0, most) as usize, to.clamp(0, most) as usize)
        };
        let (left, right) = clip(columns, self.width);
        let (top, bottom) = clip(rows, self.height);
        for row in top..bottom {
            for column in left..right {
                let at = 3 * (row * self.width + column);
                self.rgb[at..at + 3].copy_from_slice(&colour);
            }
        }
    }

    /// A horizontal or vertical line of one pixel across the whole picture.
    pub(super) fn line(&mut self, at: f64, horizontal: bool, colour: Rgb) {
        let at = at.round() as i64;
        let (all_columns, all_rows) = ((0, self.width as i64), (0, self.height as i64));
        if horizontal {
            self.fill(all_columns, (at, at + 1), colour);
        } else {
            self.fill((at, at + 1), all_rows, colour);
        }
    }

    /// A disc with soft edges.
    pub(super) fn disc(&mut self, x: f64, y: f64, radius: f64, colour: Rgb, opacity: f64) {
        let reach = radius.ceil() as i64 + 1;
        let (cx, cy) = (x.floor() as i64, y.floor() as i64);
        for py in cy - reach..=cy + reach {
            for px in cx - reach..=cx + reach {
                let (dx, dy) = (px as f64 + 0.5 - x, py as f64 + 0.5 - y);
                let inside = (radius + 0.5 - (dx * dx + dy * dy).sqrt()).clamp(0.0, 1.0);
                if inside > 0.0 {
                    self.mix(px, py, colour, inside * opacity);
                }
            }
        }
    }
}
