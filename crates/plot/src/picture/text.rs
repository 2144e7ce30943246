//! Words as they are drawn, and how wide they are in the embedded fonts.

use std::borrow::Cow;
use std::sync::OnceLock;

use ab_glyph::{Font, FontRef, GlyphId, PxScaleFont, ScaleFont};

use super::fonts;

/// The embedded fonts, regular and bold.
pub(super) fn fonts() -> Option<&'static [FontRef<'static>; 2]> {
    static FONTS: OnceLock<Option<[FontRef<'static>; 2]>> = OnceLock::new();
    let read = |bytes| FontRef::try_from_slice(bytes).ok();
    let both = || Some([read(fonts::regular())?, read(fonts::bold())?]);
    FONTS.get_or_init(both).as_ref()
}

/// The glyphs of a text with their places on the baseline, and where the next one would be.
pub(super) fn set(text: &str, font: &PxScaleFont<&FontRef<'static>>) -> (Vec<(GlyphId, f32)>, f32) {
    let (mut x, mut before, mut glyphs) = (0.0, None, Vec::new());
    for c in text.chars() {
        let glyph = font.glyph_id(c);
        if let Some(before) = before {
            x += font.kern(before, glyph);
        }
        glyphs.push((glyph, x));
        x += font.h_advance(glyph);
        before = Some(glyph);
    }
    (glyphs, x)
}

/// How wide a text is in pixels; without fonts, as wide as it can be.
pub(super) fn width(text: &str, size: f64, is_bold: bool) -> f64 {
    let Some(fonts) = fonts() else {
        return text.chars().count() as f64 * size;
    };
    let font = fonts[usize::from(is_bold)].as_scaled(size as f32);
    f64::from(set(text, &font).1)
}

/// How high a line of text is in pixels.
pub(super) fn height(size: f64) -> f64 {
    size / 1.24
}

/// A text with a replacement character for each that no line of a picture can show: titles and names of devices come
/// from files of others, and XML 1.0 allows few control characters, and neither U+FFFE nor U+FFFF.
pub(super) fn drawable(text: &str) -> Cow<'_, str> {
    match text.contains(is_not_drawn) {
        true => Cow::Owned(text.replace(is_not_drawn, "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

/// Whether a character has no place in a line of text, or in XML.
pub(super) fn is_not_drawn(c: char) -> bool {
    c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')
}
