//! Reading: lines out of a growing buffer, rows out of lines.

use std::io::Read;
use std::path::{Path, PathBuf};

use iosonar_units::Nanos;

use super::row::{self, Line};
use crate::decompress::read_error;
use crate::error::Place;
use crate::{Batch, Metadata, TraceError, TraceReader};

const BUFFER: usize = 256 * 1024;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// No line of this format is longer, comments included; more is another kind of file.
const LONGEST_LINE: usize = 1 << 20;

pub(super) struct Reader {
    input: Box<dyn Read + Send>,
    path: PathBuf,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    ended: bool,
    line: u64,
    has_header: bool,
    rows: u64,
    last_start: Nanos,
    metadata: Metadata,
}

impl Reader {
    /// Reads up to the first row, so that the notices above it are known.
    pub(super) fn new(input: Box<dyn Read + Send>, path: &Path) -> Result<Self, TraceError> {
        let mut reader = Self {
            input,
            path: path.to_owned(),
            buffer: vec![0; BUFFER],
            from: 0,
            to: 0,
            ended: false,
            line: 0,
            has_header: false,
            rows: 0,
            last_start: Nanos::ZERO,
            metadata: Metadata::default(),
        };
        while let Some((mut from, to)) = reader.next_line()? {
            if reader.line == 1 && reader.buffer[from..to].starts_with(BYTE_ORDER_MARK) {
                from += BYTE_ORDER_MARK.len();
            }
            let line = &reader.buffer[from..to];
            if row::is_data(line) || row::is_info(line) {
                // Give the line back: it is the first of the first batch.
                reader.from = from;
                reader.line -= 1;
                break;
            }
            if row::is_header(line) {
                reader.line_at(from, to).check_header()?;
                reader.has_header = true;
            } else {
                let notice = String::from_utf8_lossy(line).into_owned();
                reader.metadata.notices.push(notice);
            }
        }
        Ok(reader)
    }

    fn line_at(&self, from: usize, to: usize) -> Line<'_> {
        Line {
            bytes: &self.buffer[from..to],
            number: self.line,
            path: &self.path,
        }
    }

    /// The next line's place in the buffer, without its end; `None` at the end of the input.
    #[inline]
    fn next_line(&mut self) -> Result<Option<(usize, usize)>, TraceError> {
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.buffer[self.from..self.to]) {
                let (from, mut to) = (self.from, self.from + length);
                self.from = to + 1;
                self.line += 1;
                if to > from && self.buffer[to - 1] == b'\r' {
                    to -= 1;
                }
                return Ok(Some((from, to)));
            }
            if self.ended {
                let (from, to) = (self.from, self.to);
                self.from = to;
                self.line += u64::from(to > from);
                return Ok((to > from).then_some((from, to)));
            }
            self.refill()?;
        }
    }

    #[cold]
    fn refill(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        if self.to == self.buffer.len() {
            if self.to >= LONGEST_LINE {
                return Err(TraceError::Field {
                    place: Place::line(&self.path, self.line + 1),
                    field: "line",
                    seen: format!("more than {LONGEST_LINE} bytes without a line end"),
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

impl TraceReader for Reader {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        while batch.len() < Batch::ROWS {
            let Some((from, to)) = self.next_line()? else {
                break;
            };
            let bytes = &self.buffer[from..to];
            let record = if row::is_data(bytes) {
                self.line_at(from, to).record()?
            } else if row::is_info(bytes) {
                match self.line_at(from, to).info(self.last_start) {
                    Some(record) => record,
                    None => continue,
                }
            } else {
                if row::is_header(bytes) {
                    self.line_at(from, to).check_header()?;
                } else if row::is_damaged(bytes) {
                    // It cannot be a row: this tells what is wrong with it.
                    self.line_at(from, to).record()?;
                }
                continue;
            };
            self.last_start = record.request.start;
            batch.push_at(&record, self.line);
        }
        self.rows += batch.len() as u64;
        // A header without rows is an empty trace; neither is another kind of file.
        if self.rows == 0 && !self.has_header {
            return Err(TraceError::UnknownFormat {
                path: self.path.clone(),
                reason: "there is no request in it".to_owned(),
                readable: "rows 'start ; sector ; sectors ; op', times in seconds".to_owned(),
            });
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
