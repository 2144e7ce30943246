//! A bitmap whose words stand where they should, and whose lines end where they should.
//!
//! plotters sets each glyph to whole pixels, forgets its bearing, and rounds glyphs above and below the middle
//! of the line in different directions: letters stand unevenly, and full stops too high. Here glyphs are set
//! to fractions of pixels on one baseline. Thick lines are [`Stroke`]s.

use ab_glyph::{Font, ScaleFont, point};
use plotters::prelude::{BitMapBackend, DrawingBackend};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind, FontStyle,
};

use super::stroke::Stroke;
use super::text::{self, fonts};

/// The bitmap of plotters, with letters and lines of our own.
pub(super) struct Sharp<'a>(pub(super) BitMapBackend<'a>);

type Drawn<'a> = Result<(), DrawingErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>>;

impl<'a> DrawingBackend for Sharp<'a> {
    type ErrorType = <BitMapBackend<'a> as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }

    fn ensure_prepared(&mut self) -> Drawn<'a> {
        self.0.ensure_prepared()
    }

    fn present(&mut self) -> Drawn<'a> {
        self.0.present()
    }

    fn draw_pixel(&mut self, at: BackendCoord, colour: BackendColor) -> Drawn<'a> {
        self.0.draw_pixel(at, colour)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn<'a> {
        self.0.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn<'a> {
        self.0.draw_rect(upper_left, bottom_right, style, fill)
    }

    fn blit_bitmap(&mut self, at: BackendCoord, size: (u32, u32), rgb: &[u8]) -> Drawn<'a> {
        self.0.blit_bitmap(at, size, rgb)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn<'a> {
        let path: Vec<BackendCoord> = path.into_iter().collect();
        let colour = style.color();
        if style.stroke_width() < 2 {
            let mut ends = path.windows(2);
            return ends.try_for_each(|ends| self.0.draw_line(ends[0], ends[1], style));
        }
        let stroke = Stroke::new(&path, style.stroke_width(), self.get_size());
        stroke.pixels().try_for_each(|(at, cover)| {
            let colour = BackendColor {
                alpha: colour.alpha * cover,
                rgb: colour.rgb,
            };
            self.0.draw_pixel(at, colour)
        })
    }

    fn draw_text<T: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &T,
        at: BackendCoord,
    ) -> Drawn<'a> {
        let Some(fonts) = fonts() else {
            return self.0.draw_text(text, style, at);
        };
        let is_bold = matches!(style.style(), FontStyle::Bold);
        let size = style.size() as f32;
        let font = fonts[usize::from(is_bold)].as_scaled(size);
        let (glyphs, x) = text::set(text, &font);
        let left = match style.anchor().h_pos {
            HPos::Left => 0.0,
            HPos::Right => -x,
            HPos::Center => -x / 2.0,
        };
        // The line is as high as plotters takes it to be; the baseline lies on a whole pixel.
        let height = text::height(style.size()) as f32;
        let top = match style.anchor().v_pos {
            VPos::Top => 0.0,
            VPos::Center => -height / 2.0,
            VPos::Bottom => -height,
        };
        // Capitals and digits stand in the middle of the line.
        let baseline = (top + height / 2.0 + 0.27 * size).round() as i32;
        let (transform, colour) = (style.transform(), style.color());
        let (width, high) = self.get_size();
        for (glyph, x) in glyphs {
            let placed = glyph.with_scale_and_position(size, point(left + x, 0.0));
            let Some(outline) = font.outline_glyph(placed) else {
                continue;
            };
            let bounds = outline.px_bounds();
            let corner = (bounds.min.x as i32, bounds.min.y as i32 + baseline);
            let mut pixels = Vec::new();
            outline.draw(|dx, dy, cover| pixels.push((dx as i32, dy as i32, cover)));
            for (dx, dy, cover) in pixels {
                let (px, py) = transform.transform(corner.0 + dx, corner.1 + dy);
                let (px, py) = (at.0 + px, at.1 + py);
                if cover > 0.0 && px >= 0 && py >= 0 && px < width as i32 && py < high as i32 {
                    let colour = BackendColor {
                        alpha: colour.alpha * f64::from(cover.min(1.0)),
                        rgb: colour.rgb,
                    };
                    self.0.draw_pixel((px, py), colour)?;
                }
            }
        }
        Ok(())
    }
}
