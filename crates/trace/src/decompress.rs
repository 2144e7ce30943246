//! Bytes of a file, unpacked on a thread of their own if they are compressed.

use std::io::{self, Read};
use std::path::Path;
use std::thread;

use crossbeam_channel::{Receiver, bounded};

use crate::TraceError;

const CHUNK: usize = 256 * 1024;
const CHUNKS_AHEAD: usize = 4;

/// Turns what a read reported into an error that names the file, and the compression if that is
/// where the damage lies.
pub(crate) fn read_error(path: &Path, error: io::Error) -> TraceError {
    let path = path.to_owned();
    match error.downcast::<DamagedStream>() {
        Ok(damaged) => TraceError::Compression {
            path,
            method: damaged.method,
            decompressed: damaged.decompressed,
            source: damaged.source,
        },
        Err(source) => TraceError::Io {
            path,
            action: "read",
            source,
        },
    }
}

/// What is wrong with a compressed stream, and where, if that is why a read failed.
pub(crate) fn damage_in_stream(error: &io::Error) -> Option<String> {
    let DamagedStream {
        method,
        decompressed,
        source,
    } = error.get_ref()?.downcast_ref()?;
    Some(format!(
        "the {method} data are damaged or cut off after {decompressed} decompressed bytes: {source}"
    ))
}

/// Reads up to `most` bytes ahead, and gives them again in front of the rest.
pub(crate) fn peek(
    mut input: Box<dyn Read + Send>,
    most: usize,
) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut head = Vec::with_capacity(most);
    input.by_ref().take(most as u64).read_to_end(&mut head)?;
    let whole = io::Cursor::new(head.clone()).chain(input);
    Ok((head, Box::new(whole)))
}

/// The plain bytes behind `raw`, whose first bytes tell whether and how it is compressed.
pub(crate) fn decompressed(raw: Box<dyn Read + Send>) -> io::Result<(bool, Box<dyn Read + Send>)> {
    let (magic, raw) = peek(raw, 6)?;
    let unpacking: OnAThread = match magic.as_slice() {
        [0x1f, 0x8b, ..] => OnAThread::new("gzip", || Ok(flate2::read::MultiGzDecoder::new(raw)))?,
        // A frame, or a skippable frame in front of one.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            OnAThread::new("zstd", || zstd::stream::read::Decoder::new(raw))?
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0] => OnAThread::new("xz", || {
            Ok(liblzma::read::XzDecoder::new_multi_decoder(raw))
        })?,
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => {
            OnAThread::new("bzip2", || Ok(bzip2::read::MultiBzDecoder::new(raw)))?
        }
        _ => return Ok((false, raw)),
    };
    Ok((true, Box::new(unpacking)))
}

/// Damage inside a compressed stream, carried through `io::Error` by the formats' readers.
#[derive(Debug)]
struct DamagedStream {
    method: &'static str,
    decompressed: u64,
    source: io::Error,
}

impl std::fmt::Display for DamagedStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.source.fmt(f)
    }
}

impl std::error::Error for DamagedStream {}

/// A decompressor that runs on a thread of its own, some chunks ahead of its reader.
struct OnAThread {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    at: usize,
}

impl OnAThread {
    fn new<D: Read>(
        method: &'static str,
        decoder: impl FnOnce() -> io::Result<D> + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, chunks) = bounded(CHUNKS_AHEAD);
        thread::Builder::new().spawn(move || {
            let mut decompressed = 0;
            let damaged = |source, decompressed| {
                let damage = DamagedStream {
                    method,
                    decompressed,
                    source,
                };
                io::Error::other(damage)
            };
            let mut decoder = match decoder() {
                Ok(decoder) => decoder,
                Err(e) => return drop(sender.send(Err(damaged(e, 0)))),
            };
            loop {
                let mut chunk = Vec::with_capacity(CHUNK);
                let outcome = decoder.by_ref().take(CHUNK as u64).read_to_end(&mut chunk);
                decompressed += chunk.len() as u64;
                // What came out before the damage is handed on first: errors in it come earlier.
                if !chunk.is_empty() && sender.send(Ok(chunk)).is_err() {
                    return;
                }
                match outcome {
                    Ok(0) => return,
                    Ok(_) => {}
                    Err(e) => return drop(sender.send(Err(damaged(e, decompressed)))),
                }
            }
        })?;
        Ok(Self {
            chunks,
            chunk: Vec::new(),
            at: 0,
        })
    }
}

impl Read for OnAThread {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() {
            match self.chunks.recv() {
                Err(_) => return Ok(0),
                Ok(chunk) => (self.chunk, self.at) = (chunk?, 0),
            }
        }
        let n = buffer.len().min(self.chunk.len() - self.at);
        buffer[..n].copy_from_slice(&self.chunk[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}
