//! Arrow IPC files, also called Feather.

mod reader;
mod writer;

pub(crate) use reader::Blocks;
pub(crate) use writer::Writer;

/// What such a file begins and ends with.
pub(crate) const MAGIC: &[u8; 6] = b"ARROW1";

/// What files of Feather's first version begin with.
pub(crate) const FIRST_FEATHER: &[u8; 4] = b"FEA1";

/// What a message begins with.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Buffers begin at multiples of this.
const ALIGNMENT: usize = 64;
