//! Colours and sizes.
//!
//! Reads are blue and writes red, as in blkreplay's diagrams, in shades that colour-blind people
//! can tell apart (they differ in lightness too).

use plotters::style::RGBColor;

pub(crate) const BACKGROUND: RGBColor = RGBColor(255, 255, 255);
pub(crate) const TEXT: RGBColor = RGBColor(32, 36, 42);
pub(crate) const MUTED: RGBColor = RGBColor(105, 112, 122);
pub(crate) const AXIS: RGBColor = RGBColor(60, 66, 74);
pub(crate) const GRID: RGBColor = RGBColor(222, 226, 231);
pub(crate) const MINOR_GRID: RGBColor = RGBColor(241, 243, 245);

/// From few to many, light to dark.
pub(crate) type Ramp = [[u8; 3]; 4];

pub(crate) const READ: RGBColor = RGBColor(0, 104, 178);
pub(crate) const READ_RAMP: Ramp = [[120, 180, 226], [38, 128, 196], [0, 84, 150], [0, 36, 76]];
pub(crate) const WRITE: RGBColor = RGBColor(212, 52, 32);
pub(crate) const WRITE_RAMP: Ramp = [[246, 158, 140], [228, 88, 62], [176, 30, 18], [86, 8, 8]];

/// Curves on one chart (Okabe and Ito 2008).
pub(crate) const CURVES: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(60, 60, 60),
];

pub(crate) const TITLE_SIZE: i32 = 26;
pub(crate) const SUBTITLE_SIZE: i32 = 16;
pub(crate) const LABEL_SIZE: i32 = 18;
pub(crate) const TICK_SIZE: i32 = 16;
pub(crate) const LEGEND_SIZE: i32 = 16;
pub(crate) const FOOTER_SIZE: i32 = 13;
