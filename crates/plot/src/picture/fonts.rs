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
    use ab_glyph::{Font, FontRef};

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
}
