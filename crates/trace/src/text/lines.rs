//! Lines out of a growing buffer.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::Line;
use crate::decompress::read_error;
use crate::error::{Place, excerpt};
use crate::{CutOff, Metadata, RemarkKind, Source, TraceError};

/// The fuzzer's inputs are short: with a small buffer they cross its end, and it takes no time to clear.
const BUFFER: usize = if cfg!(fuzzing) { 64 } else { 256 * 1024 };
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// What is expected where the input ends within a row.
pub(crate) const NO_LINE_END: &str = "a newline after the last row: a row without a newline may \
     be truncated; if the row is complete, add a newline, or accept the row with --lenient";
/// The remark on a row that was read although the input ends within it.
pub(crate) const TAKEN_CUT: [&str; 2] = [
    "row without a newline at the end of the input was accepted and may be truncated",
    "rows without a newline at the ends of the inputs were accepted and may be truncated",
];
/// No line of any text format is longer, comments included; more is another kind of file.
const LONGEST_LINE: usize = 1 << 20;

/// The lines of a text.
pub(crate) struct Lines {
    input: Box<dyn Read + Send>,
    path: PathBuf,
    cut: CutOff,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    ended: bool,
    number: u64,
    /// Where the current line lies in the buffer.
    line: (usize, usize),
    given_back: bool,
    /// Whether the current line is the last one and has no line end.
    unterminated: bool,
}

impl Lines {
    pub(crate) fn new(source: Source) -> Self {
        Self {
            input: source.input,
            path: source.path,
            cut: source.cut,
            buffer: vec![0; BUFFER],
            from: 0,
            to: 0,
            ended: false,
            number: 0,
            line: (0, 0),
            given_back: false,
            unterminated: false,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the current line, counted from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Steps to the next line; `false` at the end of the input.
    #[inline]
    pub(crate) fn advance(&mut self) -> Result<bool, TraceError> {
        if self.given_back {
            self.given_back = false;
            return Ok(true);
        }
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.from..self.to]) {
                self.take(self.from + length, 1);
                return Ok(true);
            }
            if self.ended {
                // Of an input that was cut off, the last value may be the beginning of a longer one.
                let there_is = self.to > self.from && !self.cut.is_known();
                if self.cut.is_known() {
                    self.cut
                        .note(|| format!("{}: after line {}", self.path.display(), self.number));
                }
                if there_is {
                    self.take(self.to, 0);
                    self.unterminated = true;
                }
                return Ok(there_is);
            }
            self.refill()?;
        }
    }

    #[inline]
    fn take(&mut self, mut to: usize, end: usize) {
        let mut from = self.from;
        self.from = to + end;
        self.number += 1;
        if to > from && self.buffer[to - 1] == b'\r' {
            to -= 1;
        }
        if self.number == 1 && self.buffer[from..to].starts_with(BYTE_ORDER_MARK) {
            from += BYTE_ORDER_MARK.len();
        }
        self.line = (from, to);
    }

    /// Whether the input ends within the current line, before a line end: it may have been cut off there.
    pub(crate) fn is_unterminated(&self) -> bool {
        self.unterminated
    }

    /// Refuses the current row if the input ends within it, or counts it where that is allowed.
    #[inline]
    pub(crate) fn check_end(
        &self,
        lenient: bool,
        metadata: &mut Metadata,
    ) -> Result<(), TraceError> {
        if !self.unterminated {
            return Ok(());
        }
        let cut = self.cut();
        if !lenient {
            return Err(cut);
        }
        metadata.remark(RemarkKind::LastRowCut, TAKEN_CUT, || cut.to_string());
        Ok(())
    }

    /// The error for a row that the input ends within: its last value may be the beginning of a longer one.
    #[cold]
    fn cut(&self) -> TraceError {
        let line = self.line();
        let last = line
            .bytes
            .iter()
            .rposition(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_')));
        let from = last.map_or(0, |at| at + 1);
        TraceError::Field {
            place: line.place(from),
            field: "end of line".to_owned(),
            seen: excerpt(&line.bytes[from..]),
            expected: NO_LINE_END.to_owned(),
        }
    }

    /// What follows the current line, as far as it was read already. Nothing if the current line comes once more.
    #[inline]
    pub(crate) fn rest(&self) -> &[u8] {
        match self.given_back {
            false => &self.buffer[self.from..self.to],
            true => &[],
        }
    }

    /// Steps over whole lines of the [`rest`](Self::rest): this number, with this number of bytes altogether.
    pub(crate) fn pass(&mut self, lines: usize, bytes: usize) {
        self.from += bytes;
        self.number += lines as u64;
        debug_assert!(self.from <= self.to, "lines of what was read");
    }

    /// The current line comes once more.
    pub(crate) fn give_back(&mut self) {
        self.given_back = true;
    }

    /// The current line, without its end.
    #[inline]
    pub(crate) fn line(&self) -> Line<'_> {
        Line {
            bytes: &self.buffer[self.line.0..self.line.1],
            number: self.number,
            path: &self.path,
        }
    }

    #[cold]
    fn refill(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        if self.to == self.buffer.len() {
            if self.to >= LONGEST_LINE {
                return Err(TraceError::Field {
                    place: Place::of(&self.path, self.number + 1),
                    field: "line".to_owned(),
                    seen: format!("more than {LONGEST_LINE} bytes without a newline"),
                    expected: "lines of text".to_owned(),
                });
            }
            self.buffer.resize(2 * self.to, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.to..]) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(read_error(&self.path, e)),
                Ok(n) => {
                    self.to += n;
                    self.ended = n == 0;
                    return Ok(());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Gives a text a few bytes at a time, and is interrupted before each.
    struct Interrupted {
        text: io::Cursor<Vec<u8>>,
        at_once: usize,
        again: bool,
    }

    impl Read for Interrupted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.again = !self.again;
            if self.again {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let n = buffer.len().min(self.at_once);
            self.text.read(&mut buffer[..n])
        }
    }

    fn lines(text: impl Into<Vec<u8>>, at_once: usize) -> Lines {
        Lines::new(Source {
            input: Box::new(Interrupted {
                text: io::Cursor::new(text.into()),
                at_once,
                again: false,
            }),
            path: PathBuf::from("x"),
            file: None,
            cut: CutOff::default(),
        })
    }

    #[test]
    fn lines_are_the_same_however_few_bytes_come_at_once() {
        let text = "\u{feff}first\r\n\nthird\nlast";
        for at_once in 1..text.len() {
            let mut lines = lines(text, at_once);
            for (i, line) in ["first", "", "third", "last"].into_iter().enumerate() {
                assert!(lines.advance().unwrap());
                assert_eq!(lines.line().bytes, line.as_bytes());
                assert_eq!(lines.number(), i as u64 + 1);
                assert_eq!(lines.is_unterminated(), line == "last", "{line}");
            }
            assert!(!lines.advance().unwrap());
        }
    }

    #[test]
    fn a_line_that_is_given_back_comes_once_more() {
        let mut lines = lines("a\nb\nc\n", 6);
        assert!(lines.advance().unwrap());
        assert_eq!(lines.rest(), b"b\nc\n");
        lines.give_back();
        assert_eq!(lines.rest(), b"");
        assert!(lines.advance().unwrap());
        assert_eq!((lines.line().bytes, lines.number()), (&b"a"[..], 1));
        lines.pass(1, 2);
        assert!(lines.advance().unwrap());
        assert_eq!((lines.line().bytes, lines.number()), (&b"c"[..], 3));
    }

    #[test]
    fn a_line_may_fill_the_buffer_several_times_but_not_be_of_any_length() {
        // Longer than the first buffer, and than the one twice as long.
        let long = vec![b'a'; 3 * BUFFER];
        let mut text = lines([&b"before\n"[..], &long, b"\nafter\n"].concat(), usize::MAX);
        for expected in [&b"before"[..], &long, b"after"] {
            assert!(text.advance().unwrap());
            assert!(text.line().bytes == expected);
        }
        let mut text = lines(
            [&b"before\n"[..], &vec![b'a'; LONGEST_LINE + 1]].concat(),
            usize::MAX,
        );
        assert!(text.advance().unwrap());
        let error = text.advance().unwrap_err().to_string();
        assert!(
            error.starts_with("x:2: field 'line' is 'more than 1048576 bytes"),
            "{error}"
        );
    }
}
