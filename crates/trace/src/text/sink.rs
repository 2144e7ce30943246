//! Text on its way to a file.

use std::io::Write;
use std::path::PathBuf;

use iosonar_units::Nanos;

use crate::error::Place;
use crate::whole_file::Output;
use crate::{Request, Sink, TraceError};

const FLUSH_AT: usize = 64 * 1024;

/// A buffer of text before an output.
pub(crate) struct TextSink {
    /// What is to be written next.
    pub(crate) text: Vec<u8>,
    output: Box<dyn Output>,
    path: PathBuf,
}

impl TextSink {
    pub(crate) fn new(sink: Sink) -> Self {
        Self {
            text: Vec::with_capacity(2 * FLUSH_AT),
            output: sink.output,
            path: sink.path,
        }
    }

    fn error(&self, action: &'static str, source: std::io::Error) -> TraceError {
        TraceError::Io {
            path: self.path.clone(),
            action,
            source,
        }
    }

    #[inline]
    pub(crate) fn flush_if_full(&mut self) -> Result<(), TraceError> {
        if self.text.len() >= FLUSH_AT {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        let outcome = self.output.write_all(&self.text);
        outcome.map_err(|e| self.error("write", e))?;
        self.text.clear();
        Ok(())
    }

    /// Hands everything to the system.
    pub(crate) fn flush_all(&mut self) -> Result<(), TraceError> {
        self.flush()?;
        self.output.flush().map_err(|e| self.error("write", e))
    }

    pub(crate) fn finish(mut self) -> Result<(), TraceError> {
        self.flush()?;
        let Self { output, path, .. } = self;
        output.close().map_err(|source| TraceError::Io {
            path,
            action: "complete",
            source,
        })
    }

    /// The error for a request that `format` has no form for.
    pub(crate) fn cannot_hold(&self, format: &str, request: &Request) -> TraceError {
        TraceError::Request {
            place: Place::of(&self.path, 0),
            problem: format!(
                "the {format} format cannot represent the {} at sector {}: write a different format, or leave such \
                 requests out with --lossy",
                request.op.name(),
                request.sector
            ),
        }
    }
}

/// A time in seconds with nine decimals, the seconds at least `width` wide.
pub(crate) fn seconds(text: &mut Vec<u8>, t: Nanos, width: usize) {
    number(text, t.get() / 1_000_000_000, width, b' ');
    text.push(b'.');
    number(text, t.get() % 1_000_000_000, 9, b'0');
}

/// A number of at least `width` digits, filled up with `fill`.
#[inline]
pub(crate) fn number(text: &mut Vec<u8>, mut value: u64, width: usize, fill: u8) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    let digits = &digits[at..];
    text.resize(text.len() + width.saturating_sub(digits.len()), fill);
    text.extend_from_slice(digits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Keeps what it gets.
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Output for Kept {
        fn close(self: Box<Self>) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn text_is_written_when_64_kib_are_together_or_all_is_flushed() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let written = || kept.lock().unwrap().len();
        let mut sink = TextSink::new(Sink {
            output: Box::new(Kept(Arc::clone(&kept))),
            path: PathBuf::from("x"),
        });
        sink.text.resize(65_535, b'x');
        sink.flush_if_full().unwrap();
        assert_eq!((written(), sink.text.len()), (0, 65_535));
        sink.text.push(b'x');
        sink.flush_if_full().unwrap();
        assert_eq!((written(), sink.text.len()), (65_536, 0));
        sink.text.push(b'x');
        sink.flush_all().unwrap();
        assert_eq!((written(), sink.text.len()), (65_537, 0));
        sink.text.push(b'x');
        sink.finish().unwrap();
        assert_eq!(written(), 65_538);
    }

    #[test]
    fn numbers_are_filled_up_to_their_width() {
        for (value, width, text) in [
            (0, 0, "0"),
            (0, 3, "  0"),
            (10, 2, "10"),
            (999, 2, "999"),
            (u64::MAX, 21, " 18446744073709551615"),
        ] {
            let mut out = Vec::new();
            number(&mut out, value, width, b' ');
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
        let mut out = Vec::new();
        seconds(&mut out, Nanos::new(12_000_000_345), 4);
        assert_eq!(out, b"  12.000000345");
    }
}
