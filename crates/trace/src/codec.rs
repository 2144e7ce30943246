//! The compressions of traces: found by content when a file is read, by name when one is written.

#[cfg(any(feature = "zstd", feature = "c-codecs"))]
mod zstandard;

use std::io::{self, Read};
use std::path::Path;

use crate::whole_file::Output;

/// A compression. Each is a feature of this crate, so that a build need not have all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Gzip,
    Zstandard,
    Xz,
    Bzip2,
}

impl Codec {
    /// As many bytes show whether and how a file is compressed.
    pub(crate) const MAGIC: usize = 6;

    /// The compression of a file that begins with these bytes.
    pub(crate) fn of_content(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // A frame, or a skippable frame in front of one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Some(Self::Zstandard)
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Self::Bzip2),
            _ => None,
        }
    }

    /// The compression of an output with this name; the others are only read.
    pub(crate) fn of_output(path: &Path) -> Option<Self> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("gz") => Some(Self::Gzip),
            Some("zst") => Some(Self::Zstandard),
            _ => None,
        }
    }

    /// Its name in messages, and that of its feature.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstandard => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
        }
    }

    /// Refuses a compression whose feature is off.
    pub(crate) fn require(self) -> io::Result<()> {
        let is_built = match self {
            Self::Gzip => cfg!(feature = "gzip"),
            Self::Zstandard => cfg!(any(feature = "zstd", feature = "c-codecs")),
            Self::Xz => cfg!(any(feature = "xz", feature = "c-codecs")),
            Self::Bzip2 => cfg!(feature = "bzip2"),
        };
        match is_built {
            true => Ok(()),
            false => Err(self.left_out()),
        }
    }

    fn left_out(self) -> io::Error {
        let name = self.name();
        io::Error::new(
            io::ErrorKind::Unsupported,
            format!(
                "this program was built without {name}: rebuild it with the feature '{name}' of iosonar-trace"
            ),
        )
    }

    /// The plain bytes of all streams or frames in `packed`.
    #[cfg_attr(
        not(feature = "gzip"),
        allow(
            unused_variables,
            clippy::needless_pass_by_value,
            reason = "there may be no compression"
        )
    )]
    pub(crate) fn decoder(self, packed: impl Read + 'static) -> io::Result<Box<dyn Read>> {
        match self {
            #[cfg(feature = "gzip")]
            Self::Gzip => Ok(Box::new(flate2::read::MultiGzDecoder::new(packed))),
            #[cfg(any(feature = "zstd", feature = "c-codecs"))]
            Self::Zstandard => Ok(Box::new(zstandard::decoder(packed)?)),
            #[cfg(feature = "c-codecs")]
            Self::Xz => Ok(Box::new(liblzma::read::XzDecoder::new_multi_decoder(
                packed,
            ))),
            #[cfg(all(feature = "xz", not(feature = "c-codecs")))]
            Self::Xz => Ok(Box::new(lzma_rust2::XzReader::new(
                io::BufReader::new(packed),
                true,
            ))),
            #[cfg(feature = "bzip2")]
            Self::Bzip2 => Ok(Box::new(bzip2::read::MultiBzDecoder::new(packed))),
            #[allow(unreachable_patterns, reason = "all may be there")]
            _ => Err(self.left_out()),
        }
    }

    /// An output that packs what is written to it.
    #[cfg_attr(
        not(feature = "gzip"),
        allow(
            unused_variables,
            clippy::needless_pass_by_value,
            reason = "there may be no compression"
        )
    )]
    pub(crate) fn encoder(self, output: impl Output + 'static) -> io::Result<Box<dyn Output>> {
        match self {
            #[cfg(feature = "gzip")]
            Self::Gzip => Ok(Box::new(flate2::write::GzEncoder::new(
                output,
                flate2::Compression::default(),
            ))),
            #[cfg(any(feature = "zstd", feature = "c-codecs"))]
            Self::Zstandard => Ok(Box::new(zstandard::encoder(output)?)),
            _ => Err(self.left_out()),
        }
    }
}

#[cfg(feature = "gzip")]
impl<W: Output> Output for flate2::write::GzEncoder<W> {
    fn close(self: Box<Self>) -> io::Result<()> {
        Box::new(self.finish()?).close()
    }
}
