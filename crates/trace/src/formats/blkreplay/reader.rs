//! Reading: rows out of lines.

use iosonar_units::Nanos;

use super::row::{self, Row};
use crate::text::{Lines, skipped, unreadable_row};
use crate::{Batch, Metadata, ReadOptions, Record, RemarkKind, Source, TraceError, TraceReader};

const ROWS: &str = "rows 'start ; sector ; sectors ; op', times in seconds";
/// No licence is longer.
const MOST_NOTICES: usize = 1 << 22;

pub(super) struct Reader {
    lines: Lines,
    lenient: bool,
    has_header: bool,
    rows: u64,
    last_start: Nanos,
    /// The first of the lines between rows that are text: an error, unless a header comes behind them, and
    /// they are the notices of another trace.
    unread: Option<TraceError>,
    unread_lines: u64,
    /// Whether a rule has ended the rows: the peer's summary follows, and no more rows without a header.
    is_over: bool,
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
            unread: None,
            unread_lines: 0,
            is_over: false,
            metadata: Metadata::default(),
        };
        let mut bytes = 0;
        while reader.lines.advance()? {
            let line = reader.lines.line();
            bytes += line.bytes.len() + 1;
            if bytes > MOST_NOTICES {
                return Err(TraceError::UnknownFormat {
                    path: reader.lines.path().to_owned(),
                    reason: format!("the first {MOST_NOTICES} bytes contain no requests"),
                    readable: ROWS.to_owned(),
                });
            }
            let between_rows = reader.has_header && !row::is_header(line.bytes);
            if row::is_data(line.bytes) || row::is_info(line.bytes) || between_rows {
                reader.lines.give_back();
                break;
            }
            if row::is_header(line.bytes) {
                match Row(line).check_header() {
                    Ok(()) => reader.has_header = true,
                    Err(e) if reader.lenient => skipped(&mut reader.metadata, &e),
                    Err(e) => return Err(e),
                }
            } else if row::is_damaged(line.bytes) {
                let error = Row(line).no_row();
                if !reader.lenient {
                    return Err(error);
                }
                skipped(&mut reader.metadata, &error);
            } else {
                let notice = String::from_utf8_lossy(line.bytes).into_owned();
                reader.metadata.notices.push(notice);
            }
        }
        Ok(reader)
    }

    /// What the current line holds; `None` for a comment.
    #[inline]
    fn record(&mut self) -> Result<Option<Record>, TraceError> {
        let line = self.lines.line();
        let record = if row::is_data(line.bytes) {
            let record = Row(line).record().map_err(unreadable_row)?;
            if self.lines.is_unterminated() && !Row(line).is_complete() {
                self.lines.check_end(self.lenient, &mut self.metadata)?;
            }
            record
        } else if row::is_info(line.bytes) {
            let record = Row(line).info(self.last_start).map_err(unreadable_row)?;
            // A message that is cut off may be the beginning of a record.
            self.lines.check_end(self.lenient, &mut self.metadata)?;
            let Some(record) = record else {
                return Ok(None);
            };
            record
        } else {
            return self.between_rows().map(|()| None);
        };
        if self.unread.is_some() {
            self.text_between_rows()?;
        }
        Ok(Some(record))
    }

    /// Decides about a line that is not a row: only comments, a header, and the notices above another header may
    /// stand between rows. Behind a rule stands the summary that the peer appends to its results.
    #[cold]
    fn between_rows(&mut self) -> Result<(), TraceError> {
        let line = self.lines.line();
        if row::is_header(line.bytes) {
            Row(line).check_header()?;
            self.has_header = true;
            self.is_over = false;
            self.unread = None;
            for _ in 0..std::mem::take(&mut self.unread_lines) {
                self.metadata.remark(
                    RemarkKind::TextAboveHeader,
                    "lines of text above a repeated header were skipped",
                    || format!("above line {}", line.number),
                );
            }
            return Ok(());
        }
        if row::is_comment(line.bytes) {
            let is_begun = !line.bytes.is_empty() && line.bytes.trim_ascii().is_empty();
            return if is_begun {
                self.lines.check_end(self.lenient, &mut self.metadata)
            } else {
                Ok(())
            };
        }
        // The peer rules this line when it has read its input; requests in flight are still to come below it.
        if row::is_rule(line.bytes) && line.bytes[0] == b'-' {
            return Ok(());
        }
        let error = Row(line).no_row();
        if row::is_rule(line.bytes) {
            if !self.lenient {
                self.is_over |= self.unread.is_none();
                self.unread.get_or_insert(error);
            }
            return Ok(());
        }
        if !row::is_notice(line.bytes) || self.lenient {
            return Err(error);
        }
        self.unread.get_or_insert(error);
        self.unread_lines += 1;
        Ok(())
    }

    /// Fails if there is text between the rows that no header follows.
    fn text_between_rows(&mut self) -> Result<(), TraceError> {
        self.unread.take().map_or(Ok(()), Err)
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
                Ok(None) => {}
                Err(e) if self.lenient => skipped(&mut self.metadata, &e),
                Err(e) => return Err(e),
            }
        }
        if batch.len() < Batch::ROWS && !self.is_over {
            self.text_between_rows()?;
        }
        self.rows += batch.len() as u64;
        // A header without rows is an empty trace; neither is another kind of file.
        if self.rows == 0 && !self.has_header && !self.lenient {
            return Err(TraceError::UnknownFormat {
                path: self.lines.path().to_owned(),
                reason: "it has no requests".to_owned(),
                readable: ROWS.to_owned(),
            });
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
