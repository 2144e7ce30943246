//! Where a file ends within a row, which the parser of CSV does not say.

use super::without_column;
use crate::text::{Line, NO_LINE_END, TAKEN_CUT};
use crate::{Metadata, RemarkKind, TraceError};

/// Where in a field of CSV a byte lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// Before the first byte of a field.
    Start,
    Plain,
    Quoted,
    /// Behind a quote within a quoted field: it ends the field, or is the first of two.
    Quote,
}

/// No line is longer, nor is a quoted field, which may hold line ends: a quote that nothing closes would take all
/// that follows into memory.
pub(super) const LONGEST: usize = 1 << 20;

/// Fails at a line or a quoted field that is not a text (more than a mebibyte without an end), and knows how the
/// input ends.
pub(super) struct Watched<R> {
    input: R,
    delimiter: u8,
    length: usize,
    within: Within,
    /// The bytes since the quote that began the current field.
    quoted: usize,
    ended: bool,
    last: u8,
}

impl<R> Watched<R> {
    pub(super) fn new(input: R, delimiter: u8) -> Self {
        Self {
            input,
            delimiter,
            length: 0,
            within: Within::Start,
            quoted: 0,
            ended: false,
            last: b'\n',
        }
    }

    /// Whether the input has ended without a line end.
    pub(super) fn ends_within_row(&self) -> bool {
        self.ended && self.last != b'\n' && self.last != b'\r'
    }

    /// Whether the input has ended within a quoted field.
    pub(super) fn ends_quoted(&self) -> bool {
        self.ended && self.within == Within::Quoted
    }

    /// Whether the current field is quoted and longer than any.
    pub(super) fn is_quoted_too_long(&self) -> bool {
        self.within == Within::Quoted && self.quoted > LONGEST
    }

    /// Refuses `row` if the input ends within it: the row that is at hand when the end has been seen is the
    /// last one.
    pub(super) fn check_end(
        &self,
        row: &csv::ByteRecord,
        line: &Line<'_>,
        lenient: bool,
        metadata: &mut Metadata,
    ) -> Result<(), TraceError> {
        if !self.ends_within_row() {
            return Ok(());
        }
        let last = row.iter().next_back().unwrap_or_default();
        let cut = without_column(line.wrong("end of line", last, NO_LINE_END));
        if !lenient {
            return Err(cut);
        }
        metadata.remark(RemarkKind::LastRowCut, TAKEN_CUT, || cut.to_string());
        Ok(())
    }

    /// Follows the quotes in what has been read.
    fn follow(&mut self, bytes: &[u8]) {
        let start_or_plain = |byte: u8| {
            if byte == self.delimiter || matches!(byte, b'\n' | b'\r') {
                Within::Start
            } else {
                Within::Plain
            }
        };
        let Some(last) = bytes.last() else {
            return;
        };
        self.last = *last;
        let mut within = self.within;
        // Most files have no quotes: then only the last byte matters.
        if within != Within::Quoted && memchr::memchr(b'"', bytes).is_none() {
            self.within = start_or_plain(*last);
            return;
        }
        for &byte in bytes {
            if within == Within::Start {
                self.quoted = 0;
            }
            self.quoted += 1;
            within = match (within, byte) {
                (Within::Start | Within::Quote, b'"') => Within::Quoted,
                (Within::Quoted, b'"') => Within::Quote,
                (Within::Quoted, _) => Within::Quoted,
                (_, byte) => start_or_plain(byte),
            };
        }
        self.within = within;
    }
}

impl<R: std::io::Read> std::io::Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.ended = n == 0;
        self.follow(&buffer[..n]);
        self.length = match memchr::memrchr(b'\n', &buffer[..n]) {
            Some(end) => n - end,
            None => self.length + n,
        };
        if self.length > LONGEST {
            return Err(std::io::Error::new(
                std::io::ErrorKind::InvalidData,
                "a line of more than 1048576 bytes, expected lines of text",
            ));
        }
        if self.is_quoted_too_long() {
            return Err(std::io::Error::new(
                std::io::ErrorKind::InvalidData,
                "a quoted field of more than 1048576 bytes",
            ));
        }
        Ok(n)
    }
}
