//! Keeps of the fonts what drawing needs, and compresses it: as they are, they would be a tenth of the binary.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// The tables of outlines, widths and kerning. The others are for layout engines, hinting and font menus.
const KEPT: [[u8; 4]; 9] = [
    *b"OS/2", *b"cmap", *b"glyf", *b"head", *b"hhea", *b"hmtx", *b"kern", *b"loca", *b"maxp",
];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    for (name, font) in [
        ("regular.zlib", dejavu::sans::regular()),
        ("bold.zlib", dejavu::sans::bold()),
    ] {
        let file = File::create(folder.join(name))?;
        let mut compressed = ZlibEncoder::new(file, Compression::best());
        compressed.write_all(&for_drawing(font))?;
        compressed.finish()?;
    }
    Ok(())
}

/// A font with the tables that are kept, and without the instructions of simple glyphs, which only hinting executes.
fn for_drawing(font: &[u8]) -> Vec<u8> {
    let (glyf, loca) = without_instructions(font);
    let tables = KEPT.map(|tag| match &tag {
        b"glyf" => &glyf,
        b"loca" => &loca,
        _ => &font[place_of(font, tag)],
    });
    // TrueType: a header of 12 bytes, of which a reader needs the version and the number of tables, and an entry of 16 for
    // each table, sorted by its tag.
    let mut out = font[..4].to_vec();
    out.extend_from_slice(&(KEPT.len() as u16).to_be_bytes());
    out.resize(12, 0);
    let mut at = 12 + 16 * KEPT.len();
    for (tag, table) in KEPT.iter().zip(tables) {
        out.extend_from_slice(tag);
        for number in [0, at, table.len()] {
            out.extend_from_slice(&(number as u32).to_be_bytes());
        }
        at += table.len().next_multiple_of(4);
    }
    for table in tables {
        out.extend_from_slice(table);
        out.resize(out.len().next_multiple_of(4), 0);
    }
    out
}

/// The outlines, those of simple glyphs without instructions, and where each of them begins.
fn without_instructions(font: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let head = &font[place_of(font, *b"head")];
    assert_eq!(number_at(head, 50, 2), 1, "offsets have 4 bytes");
    let (old, offsets) = (&font[place_of(font, *b"glyf")], place_of(font, *b"loca"));
    let offsets: Vec<usize> = font[offsets]
        .chunks(4)
        .map(|offset| number_at(offset, 0, 4))
        .collect();
    let (mut glyf, mut loca) = (Vec::new(), Vec::new());
    for ends in offsets.windows(2) {
        loca.extend_from_slice(&(glyf.len() as u32).to_be_bytes());
        let glyph = &old[ends[0]..ends[1]];
        // A negative number of contours: made of other glyphs.
        if glyph.is_empty() || number_at(glyph, 0, 2) > usize::from(i16::MAX as u16) {
            glyf.extend_from_slice(glyph);
            continue;
        }
        // A header of 10 bytes, the ends of the contours, the number of bytes of instructions, these, and the points.
        let length_at = 10 + 2 * number_at(glyph, 0, 2);
        let points_at = length_at + 2 + number_at(glyph, length_at, 2);
        glyf.extend_from_slice(&glyph[..length_at]);
        glyf.extend_from_slice(&[0, 0]);
        glyf.extend_from_slice(&glyph[points_at..]);
    }
    loca.extend_from_slice(&(glyf.len() as u32).to_be_bytes());
    (glyf, loca)
}

/// Where a table is in a font.
fn place_of(font: &[u8], tag: [u8; 4]) -> Range<usize> {
    let mut entries = font[12..].chunks(16).take(number_at(font, 4, 2));
    let entry = entries
        .find(|entry| entry.starts_with(&tag))
        .expect("the font has this table");
    let start = number_at(entry, 8, 4);
    start..start + number_at(entry, 12, 4)
}

/// A number of `length` bytes, the highest first.
fn number_at(bytes: &[u8], at: usize, length: usize) -> usize {
    let digits = bytes[at..at + length].iter();
    digits.fold(0, |number, digit| number << 8 | usize::from(*digit))
}
