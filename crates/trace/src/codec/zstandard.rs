//! Zstandard (RFC 8878): by its C library with the feature `c-codecs`, else in Rust.

#[cfg(not(feature = "c-codecs"))]
mod frames;

use std::io::{self, Read};

use crate::whole_file::Output;

/// Reads the plain bytes of one or several frames.
#[cfg(feature = "c-codecs")]
pub(crate) fn decoder(packed: impl Read) -> io::Result<impl Read> {
    zstd::stream::read::Decoder::new(packed)
}

/// Reads the plain bytes of one or several frames.
#[cfg(not(feature = "c-codecs"))]
#[expect(clippy::unnecessary_wraps, reason = "the C library can fail here")]
pub(crate) fn decoder(packed: impl Read) -> io::Result<impl Read> {
    Ok(frames::Reader::new(packed))
}

/// Packs what is written, with checksums: without one a damaged file would be read as a different trace.
#[cfg(feature = "c-codecs")]
pub(crate) fn encoder(output: impl Output + 'static) -> io::Result<impl Output> {
    let mut encoder = zstd::stream::write::Encoder::new(output, 3)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}

/// Packs what is written, with checksums: without one a damaged file would be read as a different trace.
#[cfg(not(feature = "c-codecs"))]
#[expect(clippy::unnecessary_wraps, reason = "the C library can fail here")]
pub(crate) fn encoder(output: impl Output + 'static) -> io::Result<impl Output> {
    Ok(frames::Writer::new(output))
}

#[cfg(feature = "c-codecs")]
impl<W: Output> Output for zstd::stream::write::Encoder<'static, W> {
    fn close(self: Box<Self>) -> io::Result<()> {
        Box::new(self.finish()?).close()
    }
}
