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

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read};

    use super::*;

    /// Gives a text in pieces of this number of bytes.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let n = buffer.len().min(self.1);
            self.0.read(&mut buffer[..n])
        }
    }

    /// Reads all of a text.
    fn watched(text: &[u8], at_once: usize) -> std::io::Result<Watched<Pieces<'_>>> {
        let mut watched = Watched::new(Pieces(text, at_once), b',');
        let mut buffer = vec![0; at_once];
        while watched.read(&mut buffer)? > 0 {
            assert!(!watched.ends_within_row() && !watched.ends_quoted());
        }
        Ok(watched)
    }

    #[test]
    fn an_input_ends_with_a_line_and_not_within_quotes() {
        for (text, within_row, quoted) in [
            ("", false, false),
            ("a,b\n", false, false),
            ("a,b\r", false, false),
            ("a,b\r\n", false, false),
            ("a,b", true, false),
            ("a,", true, false),
            ("a,\"b", true, true),
            ("a,\"b\n", false, true),
            ("a,\"b\"", true, false),
            ("a,\"b\"\n", false, false),
            ("a,\"b\"\"", true, true),
            ("a,\"b\"\"c\"", true, false),
            ("\"a,b", true, true),
            ("\"a\nb", true, true),
            ("\"a\",\"b", true, true),
            // A quote within a plain field is a part of it.
            ("a\"b", true, false),
            ("a\"b\"c,\"d", true, true),
        ] {
            for at_once in [1, 2, 3, 100] {
                let watched = watched(text.as_bytes(), at_once).unwrap();
                let seen = (watched.ends_within_row(), watched.ends_quoted());
                assert_eq!(seen, (within_row, quoted), "{text:?} {at_once}");
            }
        }
    }

    #[test]
    fn a_line_and_a_quoted_field_have_at_most_a_mebibyte() {
        let line = vec![b'a'; LONGEST + 1];
        let mut lines = b"\"a\n".repeat(LONGEST / 2);
        lines.retain({
            // One quote, and line ends within it.
            let mut seen = false;
            move |byte| *byte != b'"' || !std::mem::replace(&mut seen, true)
        });
        lines.truncate(LONGEST + 1);
        assert_eq!(lines.len(), LONGEST + 1);
        for (text, is_read) in [
            (line[1..].to_vec(), true),
            (line.clone(), false),
            // The line end before a line counts with it.
            ([b"x\n", &line[2..]].concat(), true),
            ([b"x\n", &line[1..]].concat(), false),
            (lines[..LONGEST].to_vec(), true),
            (lines.clone(), false),
            // Fields before it are others.
            ([b"x,y\n\"z\",", &lines[..LONGEST]].concat(), true),
            ([b"x,y\n\"z\",", &lines[..]].concat(), false),
        ] {
            for at_once in [1000, 4096] {
                match watched(&text, at_once) {
                    Ok(_) => assert!(is_read, "{} {at_once}", text.len()),
                    Err(error) => {
                        assert!(!is_read, "{error}");
                        assert_eq!(error.kind(), ErrorKind::InvalidData);
                        let what = if text.contains(&b'"') {
                            "a quoted field"
                        } else {
                            "a line"
                        };
                        assert!(error.to_string().starts_with(what), "{error}");
                    }
                }
            }
        }
    }
}
