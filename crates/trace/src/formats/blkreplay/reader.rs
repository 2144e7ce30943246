//! Reading: rows out of lines.

use iosonar_units::Nanos;

use super::row::{self, Row};
use crate::error::excerpt;
use crate::text::{Lines, skipped};
use crate::{Batch, Metadata, ReadOptions, Record, Source, TraceError, TraceReader};

const ROWS: &str = "rows 'start ; sector ; sectors ; op', times in seconds";
/// No licence is longer.
const MOST_NOTICES: usize = 1 << 22;

pub(super) struct Reader {
    lines: Lines,
    lenient: bool,
    has_header: bool,
    rows: u64,
    last_start: Nanos,
    metadata: Metadata,
}

impl Reader {
    /// Reads up to the first row, so that the notices above it are known.
    pub(super) fn new(source: Source, options: &ReadOptions) -> Result<Self, TraceError> {
        let mut reader = Self {
            lines: Lines::new(source),
            lenient: options.lenient,
            has_header: false,
            rows: 0,
            last_start: Nanos::ZERO,
            metadata: Metadata::default(),
        };
        let mut bytes = 0;
        while reader.lines.advance()? {
            let line = reader.lines.line();
            bytes += line.bytes.len() + 1;
            if bytes > MOST_NOTICES {
                return Err(TraceError::UnknownFormat {
                    path: reader.lines.path().to_owned(),
                    reason: format!("there is no request in the first {MOST_NOTICES} bytes"),
                    readable: ROWS.to_owned(),
                });
            }
            if row::is_data(line.bytes) || row::is_info(line.bytes) {
                reader.lines.give_back();
                break;
            }
            if row::is_header(line.bytes) {
                match Row(line).check_header() {
                    Ok(()) => reader.has_header = true,
                    Err(e) if reader.lenient => skipped(&mut reader.metadata, &e),
                    Err(e) => return Err(e),
                }
            } else {
                let notice = String::from_utf8_lossy(line.bytes).into_owned();
                reader.metadata.notices.push(notice);
            }
        }
        Ok(reader)
    }

    /// Counts a line behind the first row that is no row: it may have been meant to be one.
    fn comment(&mut self) {
        let line = self.lines.line();
        if !line.bytes.trim_ascii().is_empty() && !row::is_header(line.bytes) {
            self.metadata.remark(
                "lines between rows are no rows, and were taken for comments",
                || format!("line {}: {}", line.number, excerpt(line.bytes)),
            );
        }
    }

    /// What the current line holds; `None` for a comment.
    #[inline]
    fn record(&self) -> Result<Option<Record>, TraceError> {
        let line = self.lines.line();
        if row::is_data(line.bytes) {
            return Row(line).record().map(Some);
        }
        if row::is_info(line.bytes) {
            return Ok(Row(line).info(self.last_start));
        }
        if row::is_header(line.bytes) {
            Row(line).check_header()?;
        } else if row::is_damaged(line.bytes) {
            // It cannot be a row: this tells what is wrong with it.
            Row(line).record()?;
        }
        Ok(None)
    }
}

impl TraceReader for Reader {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        while batch.len() < Batch::ROWS && self.lines.advance()? {
            match self.record() {
                Ok(Some(record)) => {
                    self.last_start = record.request.start;
                    batch.push_at(&record, self.lines.number());
                }
                Ok(None) => self.comment(),
                Err(e) if self.lenient => skipped(&mut self.metadata, &e),
                Err(e) => return Err(e),
            }
        }
        self.rows += batch.len() as u64;
        // A header without rows is an empty trace; neither is another kind of file.
        if self.rows == 0 && !self.has_header && !self.lenient {
            return Err(TraceError::UnknownFormat {
                path: self.lines.path().to_owned(),
                reason: "there is no request in it".to_owned(),
                readable: ROWS.to_owned(),
            });
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
