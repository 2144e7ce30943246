//! The embedded fonts, compressed by the build script.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::ZlibDecoder;

/// The regular font, as a TrueType file.
pub(super) fn regular() -> &'static [u8] {
    static FONT: LazyLock<Vec<u8>> =
        LazyLock::new(|| decompressed(include_bytes!(concat!(env!("OUT_DIR"), "/regular.zlib"))));
    &FONT
}

/// The bold font, as a TrueType file.
pub(super) fn bold() -> &'static [u8] {
    static FONT: LazyLock<Vec<u8>> =
        LazyLock::new(|| decompressed(include_bytes!(concat!(env!("OUT_DIR"), "/bold.zlib"))));
    &FONT
}

fn decompressed(compressed: &[u8]) -> Vec<u8> {
    let mut font = Vec::new();
    ZlibDecoder::new(compressed)
        .read_to_end(&mut font)
        .expect("the build script compressed it");
    font
}

#[cfg(test)]
mod tests {
    use ab_glyph::{Font, FontRef, GlyphId};

    use super::*;

    #[test]
    fn both_fonts_are_complete_and_differ() {
        let read = |bytes| FontRef::try_from_slice(bytes).expect("a font");
        let (regular, bold) = (read(regular()), read(bold()));
        for font in [&regular, &bold] {
            assert!(font.glyph_count() > 5000, "{} glyphs", font.glyph_count());
        }
        let advance = |font: &FontRef| font.h_advance_unscaled(font.glyph_id('m'));
        assert!(advance(&bold) > advance(&regular));
    }

    #[test]
    fn fonts_draw_like_the_originals() {
        for (kept, original) in [
            (regular(), dejavu::sans::regular()),
            (bold(), dejavu::sans::bold()),
        ] {
            assert!(kept.len() < original.len() * 4 / 5);
            let read = |bytes| FontRef::try_from_slice(bytes).expect("a font");
            let (kept, original) = (read(kept), read(original));
            assert_eq!(kept.glyph_count(), original.glyph_count());
            assert_eq!(kept.height_unscaled(), original.height_unscaled());
            for id in (0..kept.glyph_count() as u16).map(GlyphId) {
                assert_eq!(kept.h_advance_unscaled(id), original.h_advance_unscaled(id));
                let outline = |font: &FontRef| format!("{:?}", font.outline(id));
                assert_eq!(outline(&kept), outline(&original), "{id:?}");
            }
            for c in (' '..='\u{2fff}').step_by(7) {
                assert_eq!(kept.glyph_id(c), original.glyph_id(c), "{c}");
            }
            let pair = |font: &FontRef| font.kern_unscaled(font.glyph_id('A'), font.glyph_id('V'));
            assert_eq!(pair(&kept), pair(&original));
            assert!(pair(&kept) < 0.0);
        }
    }
}
