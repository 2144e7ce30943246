//! Opening a trace: compression and format are found by content first, by name second.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::thread;

use crossbeam_channel::{Receiver, bounded};

use crate::formats::{self, Format};
use crate::{Selection, SortedByStart, TraceError, TraceReader, Transformed};

/// How much of the content is looked at to find the format: more than the longest licence notice.
const HEAD: usize = 64 * 1024;
const CHUNK: usize = 256 * 1024;
const CHUNKS_AHEAD: usize = 4;

/// Opens the trace at `path`, `-` for standard input.
///
/// # Errors
/// If the file cannot be opened, its compression is damaged at the very beginning, or its content
/// fits no format.
pub fn open(path: &Path) -> Result<Box<dyn TraceReader>, TraceError> {
    let raw: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let open = || {
            let file = File::open(path)?;
            if file.metadata()?.is_dir() {
                return Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "it is a directory, expected a trace file",
                ));
            }
            Ok(file)
        };
        Box::new(open().map_err(|source| TraceError::Io {
            path: path.to_owned(),
            action: "open the trace",
            source,
        })?)
    };
    let plain = decompressed(raw).map_err(|e| read_error(path, e))?;
    let (head, plain) = peek(plain, HEAD).map_err(|e| read_error(path, e))?;
    format_of(&head, path)?.reader(plain, path)
}

/// Opens a load: the trace at `path`, checked to be sorted by start, of which `selection` is used.
/// Reading ends with the selection's window.
///
/// # Errors
/// As [`open`].
pub fn open_load(path: &Path, selection: &Selection) -> Result<Box<dyn TraceReader>, TraceError> {
    let sorted = SortedByStart::new(open(path)?, path.to_owned());
    Ok(Box::new(
        Transformed::new(sorted, selection.transforms()).stop_early(),
    ))
}

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

fn format_of(head: &[u8], path: &Path) -> Result<&'static dyn Format, TraceError> {
    if let Some(format) = formats::ALL.iter().find(|f| f.recognises(head)) {
        return Ok(*format);
    }
    if head.is_empty() {
        return Err(TraceError::UnknownFormat {
            path: path.to_owned(),
            reason: "the file is empty".to_owned(),
            readable: formats::names(),
        });
    }
    by_name(path).ok_or_else(|| TraceError::UnknownFormat {
        path: path.to_owned(),
        reason: "neither the content nor the name is of a known format".to_owned(),
        readable: formats::names(),
    })
}

/// The format that the name of `path` suggests, a compression's ending left aside.
pub(crate) fn by_name(path: &Path) -> Option<&'static dyn Format> {
    let name = path.file_name()?.to_str()?;
    let name = name
        .strip_suffix(".gz")
        .or_else(|| name.strip_suffix(".zst"))
        .unwrap_or(name);
    let (_, extension) = name.rsplit_once('.')?;
    let known = |f: &&&'static dyn Format| f.extensions().contains(&extension);
    formats::ALL.iter().find(known).copied()
}

/// Reads up to `most` bytes ahead, and gives them again in front of the rest.
fn peek(
    mut input: Box<dyn Read + Send>,
    most: usize,
) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
    let mut head = Vec::with_capacity(most);
    input.by_ref().take(most as u64).read_to_end(&mut head)?;
    let whole = io::Cursor::new(head.clone()).chain(input);
    Ok((head, Box::new(whole)))
}

fn decompressed(raw: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let (magic, raw) = peek(raw, 6)?;
    let unreadable = |method: &str| {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("it is compressed with {method}, which cannot be read yet; unpack it first"),
        ))
    };
    match magic.as_slice() {
        [0x1f, 0x8b, ..] => Ok(Box::new(OnAThread::new("gzip", || {
            Ok(flate2::read::MultiGzDecoder::new(raw))
        }))),
        // A frame, or a skippable frame in front of one.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            Ok(Box::new(OnAThread::new("zstd", || {
                zstd::stream::read::Decoder::new(raw)
            })))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0] => unreadable("xz"),
        [b'B', b'Z', b'h', ..] => unreadable("bzip2"),
        _ => Ok(raw),
    }
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
    ) -> Self {
        let (sender, chunks) = bounded(CHUNKS_AHEAD);
        thread::spawn(move || {
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
        });
        Self {
            chunks,
            chunk: Vec::new(),
            at: 0,
        }
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
