//! Bytes of a file, unpacked on a thread of their own if they are compressed.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use crate::TraceError;
use crate::codec::Codec;

const CHUNK: usize = 256 * 1024;
const CHUNKS_AHEAD: usize = 4;

/// Turns what a read reported into an error that names the file, and the compression if that is
/// where the damage lies.
pub(crate) fn read_error(path: &Path, error: io::Error) -> TraceError {
    let path = path.to_owned();
    let io_error = |source| TraceError::Io {
        path: path.clone(),
        action: "read",
        source,
    };
    let BrokenStream {
        method,
        compressed,
        decompressed,
        source,
    } = match error.downcast() {
        Ok(broken) => broken,
        Err(source) => return io_error(source),
    };
    // The file could not be read: the stream in it may be sound.
    if source.raw_os_error().is_some() {
        return io_error(source);
    }
    if is_end(&source) {
        return TraceError::CutOffStream {
            path,
            method,
            decompressed,
        };
    }
    TraceError::DamagedStream {
        path,
        method,
        compressed,
        source,
    }
}

/// Where a compressed stream is cut off, if that is why a read failed. Of one that is damaged, what came out before
/// may be wrong as well: checksums stand behind what they cover.
pub(crate) fn end_of_stream(error: &io::Error) -> Option<String> {
    let BrokenStream {
        method,
        decompressed,
        source,
        ..
    } = error.get_ref()?.downcast_ref()?;
    is_end(source).then(|| {
        format!(
            "the {method} data are truncated after {decompressed} decompressed bytes; the bytes after the last \
             checksum could not be verified"
        )
    })
}

/// Whether a decompressor found all well, but wanted more.
fn is_end(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::UnexpectedEof
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

/// The plain bytes behind `raw`, whose first bytes show whether and how it is compressed.
pub(crate) fn decompressed(raw: Box<dyn Read + Send>) -> io::Result<(bool, Box<dyn Read + Send>)> {
    let (magic, raw) = peek(raw, Codec::MAGIC)?;
    let Some(codec) = Codec::of_content(&magic) else {
        return Ok((false, raw));
    };
    codec.require()?;
    let taken = Arc::new(AtomicU64::new(0));
    let raw = Taken {
        inner: raw,
        taken: Arc::clone(&taken),
    };
    let unpacking = OnAThread::new(codec.name(), taken, move || codec.decoder(raw))?;
    Ok((true, Box::new(unpacking)))
}

/// Counts what a decompressor has taken.
struct Taken<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Taken<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.taken.fetch_add(n as u64, Relaxed);
        Ok(n)
    }
}

/// A compressed stream that is damaged or cut off, carried through `io::Error` by the formats' readers.
#[derive(Debug)]
struct BrokenStream {
    method: &'static str,
    /// How much the decompressor had taken: the damage is before.
    compressed: u64,
    decompressed: u64,
    source: io::Error,
}

impl std::fmt::Display for BrokenStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.source.fmt(f)
    }
}

impl std::error::Error for BrokenStream {}

/// A decompressor that runs on a thread of its own, some chunks ahead of its reader.
struct OnAThread {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Vec<u8>,
    at: usize,
    is_at_end: bool,
}

impl OnAThread {
    fn new<D: Read>(
        method: &'static str,
        taken: Arc<AtomicU64>,
        decoder: impl FnOnce() -> io::Result<D> + Send + 'static,
    ) -> io::Result<Self> {
        let (sender, chunks) = sync_channel(CHUNKS_AHEAD);
        thread::Builder::new().spawn(move || {
            let mut decompressed = 0;
            let broken = |source, decompressed| {
                let broken = BrokenStream {
                    method,
                    compressed: taken.load(Relaxed),
                    decompressed,
                    source,
                };
                io::Error::other(broken)
            };
            let mut decoder = match decoder() {
                Ok(decoder) => decoder,
                Err(e) => return drop(sender.send(Err(broken(e, 0)))),
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
                    // An empty chunk is the end: without it, the thread has died.
                    Ok(0) => return drop(sender.send(Ok(Vec::new()))),
                    Ok(_) => {}
                    Err(e) => return drop(sender.send(Err(broken(e, decompressed)))),
                }
            }
        })?;
        Ok(Self {
            chunks,
            chunk: Vec::new(),
            at: 0,
            is_at_end: false,
        })
    }
}

impl Read for OnAThread {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() && !self.is_at_end {
            let died = |_| io::Error::other("the decompressor failed");
            let chunk = self.chunks.recv().map_err(died)?;
            // Behind an error nothing follows.
            self.is_at_end = chunk.as_ref().map_or(true, Vec::is_empty);
            (self.chunk, self.at) = (chunk?, 0);
        }
        let n = buffer.len().min(self.chunk.len() - self.at);
        buffer[..n].copy_from_slice(&self.chunk[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Panics;

    impl Read for Panics {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("on purpose")
        }
    }

    #[test]
    fn the_death_of_a_decompressor_is_not_the_end_of_its_file() {
        let mut reader = OnAThread::new("zstd", Arc::default(), || Ok(Panics)).unwrap();
        let error = reader.read(&mut [0; 8]).unwrap_err();
        assert!(error.to_string().contains("failed"), "{error}");
        let mut reader = OnAThread::new("zstd", Arc::default(), || Ok(&b"abc"[..])).unwrap();
        let mut all = Vec::new();
        reader.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"abc");
        assert_eq!(reader.read(&mut [0; 8]).unwrap(), 0, "the end stays");
    }

    #[test]
    fn a_broken_stream_says_what_its_decompressor_said() {
        let broken = BrokenStream {
            method: "gzip",
            compressed: 1,
            decompressed: 2,
            source: io::Error::other("corrupt deflate stream"),
        };
        assert_eq!(broken.to_string(), "corrupt deflate stream");
    }
}
