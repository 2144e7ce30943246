//! Reading: rows out of lines.

use iosonar_units::Nanos;

use super::row::{self, Row};
use super::usual::Usual;
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
    /// How rows are laid out.
    usual: Usual,
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
            usual: Usual::default(),
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

    /// Reads rows of the usual layout, up to the first line that has another.
    fn usual_rows(&mut self, batch: &mut Batch) {
        // A row makes an error of text between rows.
        if self.unread.is_some() {
            return;
        }
        let (text, before) = (self.lines.rest(), self.lines.number());
        let (mut lines, mut bytes) = (0, 0);
        while batch.len() < Batch::ROWS
            && let Some((record, length)) = self.usual.row(&text[bytes..])
        {
            lines += 1;
            bytes += length;
            batch.push_at(&record, before + lines as u64);
        }
        self.lines.pass(lines, bytes);
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
            self.usual.learn(line.bytes);
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
                    [
                        "line of text above a repeated header was skipped",
                        "lines of text above a repeated header were skipped",
                    ],
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
        loop {
            self.usual_rows(batch);
            if let Some(start) = batch.starts().last() {
                self.last_start = *start;
            }
            if batch.len() == Batch::ROWS || !self.lines.advance()? {
                break;
            }
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
        // Text behind a full batch would have been an error of its last row.
        if !self.is_over {
            self.text_between_rows()?;
        }
        self.rows += batch.len() as u64;
        // A header without rows is an empty trace; neither is another kind of file.
        if self.rows == 0 && !self.has_header && !self.lenient {
            return Err(TraceError::UnknownFormat {
                path: self.lines.path().to_owned(),
                reason: "the file contains no requests".to_owned(),
                readable: ROWS.to_owned(),
            });
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;
    use crate::CutOff;

    /// One byte with each read: no row lies in the buffer before it is looked for, so none is read as a usual one.
    struct Drops(std::io::Cursor<Vec<u8>>);

    impl Read for Drops {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }

    type Rows = (Vec<(Record, u64)>, Option<String>, String);

    /// The records with their places, the error that reading ends with, and the metadata.
    fn read(input: Box<dyn Read + Send>, lenient: bool) -> Rows {
        let source = Source {
            input,
            path: "x.load".into(),
            file: None,
            cut: CutOff::default(),
        };
        let options = ReadOptions {
            lenient,
            ..ReadOptions::default()
        };
        let mut records = Vec::new();
        let mut reader = match Reader::new(source, &options) {
            Ok(reader) => reader,
            Err(e) => return (records, Some(e.to_string()), String::new()),
        };
        let mut batch = Batch::default();
        let error = loop {
            match reader.next_batch(&mut batch) {
                Ok(0) => break None,
                Ok(_) => {
                    let places = (0..batch.len()).map(|row| batch.place(row));
                    records.extend(batch.records().zip(places));
                }
                Err(e) => break Some(e.to_string()),
            }
        };
        (records, error, format!("{:?}", reader.metadata()))
    }

    fn lines() -> impl Strategy<Value = Vec<String>> {
        let usual = "  [0-9]{1,3}\\.[0-9]{9} ;  {0,3}[0-9]{1,9} ;  [1-9] ; [RW] ;  0\\.00000000[0-9] ;  0\\.[0-9]{9}";
        let usual = prop_oneof![usual, "[0-9]\\.[0-9]{9} ; [0-9]{1,9} ; [1-9] ; W"];
        let other = prop_oneof![
            Just("start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0".to_owned()),
            Just("start ; sectorsize ; length ; op".to_owned()),
            Just("INFO: dropping block=8 len=16 mode=W".to_owned()),
            Just("INFO: real_time=1.0".to_owned()),
            Just("A licence; all of it.".to_owned()),
            Just("# a comment".to_owned()),
            Just("-".repeat(30)),
            Just("=".repeat(30)),
            Just(String::new()),
            "\t[0-9] ;\t[0-9]{1,9} ; [0-9] ; R",
            "[0-9]\\.[0-9]{9} ; [0-9]{1,30} ; [0-9]{1,11} ; [RWX]{1,2} ;  [0-9.]{0,3}\r?",
            "[ -~]{0,40}",
            "[0-9] ; [0-9]\\x00",
        ];
        prop::collection::vec(prop_oneof![20 => usual, 1 => other], 0..120)
    }

    proptest! {
        #[test]
        fn rows_are_the_same_however_they_are_read(
            lines in lines(),
            ending in prop::sample::select(&["\n", "\r\n"][..]),
            is_whole in any::<bool>(),
            lenient in any::<bool>(),
        ) {
            let mut text = lines.join(ending);
            if is_whole {
                text += ending;
            }
            let text = text.into_bytes();
            let drops = Drops(std::io::Cursor::new(text.clone()));
            let whole = std::io::Cursor::new(text);
            prop_assert_eq!(
                read(Box::new(whole), lenient),
                read(Box::new(drops), lenient)
            );
        }
    }

    fn of_text(text: &str, lenient: bool) -> Rows {
        read(Box::new(std::io::Cursor::new(text.to_owned())), lenient)
    }

    #[test]
    fn rows_of_one_layout_are_read_at_once_up_to_a_whole_batch() {
        let row = |i: usize| {
            format!("   1.000000345 ; {i:10} ;  16 ; R ;   0.000000007 ;   0.012345678\n")
        };
        let begin = |rows: usize| {
            let text: String = (0..rows).map(row).collect();
            let source = Source {
                input: Box::new(std::io::Cursor::new(text)),
                path: "x.load".into(),
                file: None,
                cut: CutOff::default(),
            };
            let mut reader = Reader::new(source, &ReadOptions::default()).unwrap();
            // The layout is learned of the first two.
            for _ in 0..2 {
                assert!(reader.lines.advance().unwrap());
                assert!(reader.record().unwrap().is_some());
            }
            reader
        };
        let mut batch = Batch::default();
        let mut reader = begin(10);
        reader.usual_rows(&mut batch);
        // A row of 72 bytes with less than the window of 128 behind its beginning may not be whole.
        assert_eq!(batch.len(), 7);
        assert_eq!((reader.lines.number(), batch.place(6)), (9, 9));
        assert_eq!(batch.record(6).request.sector.get(), 8);
        // Where text between rows is an error, the next row must make it one.
        let mut reader = begin(10);
        reader.unread = Some(TraceError::Option("text".to_owned()));
        batch.clear();
        reader.usual_rows(&mut batch);
        assert!(batch.is_empty());
        let mut reader = begin(2 * Batch::ROWS);
        for expected in [Batch::ROWS, Batch::ROWS - 2, 0] {
            assert_eq!(reader.next_batch(&mut batch).unwrap(), expected);
            assert_eq!(batch.len(), expected);
        }
    }

    #[test]
    fn between_rows_stand_comments_headers_and_what_is_above_them() {
        let (row, header) = ("1.0 ; 5 ; 8 ; W\n", "start ; sector ; length ; op\n");
        let dashes = format!("{}\n", "-".repeat(20));
        let equals = format!("{}\n", "=".repeat(20));
        let text = "Of another trace.\nAll of it.\n";
        for (parts, rows, error) in [
            (&[row, "# c\n\n \nWARNING: x\n", row][..], 2, None),
            (&[row, "# c"], 1, None),
            (&[row, "WARNING: x"], 1, None),
            // The beginning of a row may be all that is there.
            (&[row, "  "], 0, Some("x.load:2:3: field 'end of line'")),
            (&[row, header, row], 2, None),
            (&[row, text, header, row], 2, None),
            (
                &[row, text, row],
                0,
                Some("x.load:2:1: field 'start' is 'Of another trace.'"),
            ),
            (
                &[row, text],
                0,
                Some("x.load:2:1: field 'start' is 'Of another trace.'"),
            ),
            (&[row, &dashes, row], 2, None),
            // A summary follows, and no rows without a header.
            (&[row, &equals], 1, None),
            (&[row, &equals, text], 1, None),
            (
                &[row, &equals, row],
                0,
                Some("x.load:2:1: field 'start' is '===="),
            ),
            (&[row, &equals, header, row], 2, None),
            (
                &[row, &equals, header, row, text],
                0,
                Some("x.load:5:1: field"),
            ),
            (&[row, text, &equals], 0, Some("x.load:2:1: field")),
            (
                &[row, "a bell\u{7}\n", header, row],
                0,
                Some("x.load:2:1: field"),
            ),
        ] {
            let (records, seen, _) = of_text(&parts.concat(), false);
            assert_eq!(records.len(), rows, "{parts:?}: {seen:?}");
            match (&seen, error) {
                (None, None) => {}
                (Some(seen), Some(words)) if seen.starts_with(words) => {}
                _ => panic!("{parts:?}: {seen:?}"),
            }
        }
        // Lines of the text above a repeated header are counted, once each.
        let (_, _, metadata) = of_text(&[row, text, header, row].concat(), false);
        let counted =
            "kind: TextAboveHeader, what: \"lines of text above a repeated header were skipped\"";
        assert!(metadata.contains(counted), "{metadata}");
        assert!(metadata.contains("count: 2"), "{metadata}");
    }
}
