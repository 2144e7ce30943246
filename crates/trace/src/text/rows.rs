//! Formats of one request a line.

use std::collections::HashMap;

use iosonar_units::{Nanos, SECTOR_BYTES, Sector, Sectors, one_line};

use super::{Line, Lines};
use crate::{
    Batch, Metadata, Op, ReadOptions, Record, RemarkKind, Request, Source, TraceError, TraceReader,
};

/// What a format makes of a line.
pub(crate) trait Rows: Send {
    /// The record of a line; `None` if it is a header, a comment or blank.
    fn row(&mut self, line: &Line<'_>, context: &mut Context)
    -> Result<Option<Record>, TraceError>;

    /// How long the user thought behind the record that came last.
    fn think(&self) -> Option<Nanos> {
        None
    }
}

/// What a reader knows besides the line at hand.
pub(crate) struct Context {
    pub(crate) metadata: Metadata,
    pub(crate) round_out: bool,
    numbers: HashMap<Vec<u8>, u16>,
    last: Option<(Vec<u8>, u16)>,
}

impl Context {
    pub(crate) fn new(options: &ReadOptions) -> Self {
        Self {
            metadata: Metadata::default(),
            round_out: options.round_out,
            numbers: HashMap::new(),
            last: None,
        }
    }

    /// The number of the device called `name`, in the order in which names turn up.
    #[inline]
    pub(crate) fn device(&mut self, line: &Line<'_>, name: &[u8]) -> Result<u16, TraceError> {
        if let Some((last, number)) = &self.last
            && last == name
        {
            return Ok(*number);
        }
        let number = if let Some(&number) = self.numbers.get(name) {
            number
        } else {
            if name.len() > LONGEST_NAME {
                return Err(line.wrong("device", name, too_long(name)));
            }
            let Ok(number) = u16::try_from(self.metadata.devices.len()) else {
                return Err(line.wrong("device", name, "at most 65536 devices in a trace"));
            };
            self.numbers.insert(name.to_owned(), number);
            let readable = one_line(&String::from_utf8_lossy(name));
            self.metadata.devices.push(readable);
            number
        };
        self.last = Some((name.to_owned(), number));
        Ok(number)
    }

    /// The sectors of a range of bytes that was given in two fields.
    pub(crate) fn range(
        &mut self,
        line: &Line<'_>,
        (offset_name, offset): (&str, &[u8]),
        (length_name, length): (&str, &[u8]),
    ) -> Result<(Sector, Sectors), TraceError> {
        let from = line.offset_bytes(offset_name, offset)?;
        let bytes = line.length_bytes(length_name, length)?;
        let to = from
            .checked_add(bytes)
            .ok_or_else(|| line.wrong(length_name, length, "a range that ends below 2^64 bytes"))?;
        if from % SECTOR_BYTES != 0 || bytes % SECTOR_BYTES != 0 {
            if !self.round_out {
                let (name, part) = if from % SECTOR_BYTES == 0 {
                    (length_name, length)
                } else {
                    (offset_name, offset)
                };
                return Err(line.wrong(
                    name,
                    part,
                    "whole sectors, a multiple of 512 bytes ('--round out' widens such ranges \
                     and counts them)",
                ));
            }
            self.metadata.remark(
                RemarkKind::Widened,
                [
                    "row had a byte range that was not whole sectors, and was widened",
                    "rows had byte ranges that were not whole sectors, and were widened",
                ],
                || format!("line {}", line.number),
            );
        }
        let first = from / SECTOR_BYTES;
        let sectors = to.div_ceil(SECTOR_BYTES) - first;
        match u32::try_from(sectors) {
            Ok(sectors) => Ok((Sector::new(first), Sectors::new(sectors))),
            Err(_) => Err(line.wrong(length_name, length, "at most 2^32 - 1 sectors")),
        }
    }
}

/// The most bytes of a device's name. Names are kept, and lines can be long: without a limit, few lines would take much
/// memory.
const LONGEST_NAME: usize = 256;

#[cold]
fn too_long(name: &[u8]) -> String {
    let length = name.len();
    format!("a name of at most {LONGEST_NAME} bytes (this one has {length})")
}

/// A request that can be: no length of zero, but of a flush.
pub(crate) fn possible(
    line: &Line<'_>,
    request: &Request,
    length: &[u8],
) -> Result<(), TraceError> {
    if request.sectors.get() == 0 && request.op != Op::Flush {
        return Err(line.wrong("length", length, "a length of at least 1 sector"));
    }
    Ok(())
}

/// Reads a format of one request a line.
pub(crate) struct RowReader<R> {
    lines: Lines,
    rows: R,
    context: Context,
    lenient: bool,
    any: bool,
    shape: &'static str,
}

impl<R: Rows> RowReader<R> {
    /// `shape` is what a row looks like, for messages.
    pub(crate) fn new(source: Source, options: &ReadOptions, rows: R, shape: &'static str) -> Self {
        Self {
            lines: Lines::new(source),
            rows,
            context: Context::new(options),
            lenient: options.lenient,
            any: false,
            shape,
        }
    }
}

impl<R: Rows> TraceReader for RowReader<R> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        while batch.len() < Batch::ROWS && self.lines.advance()? {
            let line = self.lines.line();
            let row = line
                .check_text()
                .and_then(|()| self.rows.row(&line, &mut self.context));
            match row {
                Ok(Some(record)) => {
                    self.lines
                        .check_end(self.lenient, &mut self.context.metadata)?;
                    batch.push_at(&record, self.lines.number());
                    if let Some(think) = self.rows.think() {
                        batch.set_think(batch.len() - 1, Some(think));
                    }
                }
                Ok(None) => {}
                Err(e) if self.lenient => skipped(&mut self.context.metadata, &e),
                Err(e) => return Err(unreadable_row(e)),
            }
        }
        self.any |= !batch.is_empty();
        if !self.any && !self.lenient {
            return Err(TraceError::UnknownFormat {
                path: self.lines.path().to_owned(),
                reason: "the file contains no requests".to_owned(),
                readable: self.shape.to_owned(),
            });
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.context.metadata
    }
}

/// Adds to the error of a row what to do about it.
#[cold]
pub fn unreadable_row(mut error: TraceError) -> TraceError {
    const WAY_OUT: &str = "; correct the row, or skip and count such rows with --lenient";
    match &mut error {
        TraceError::Field { expected, .. } | TraceError::MissingField { expected, .. }
            if !expected.contains("--lenient") =>
        {
            expected.push_str(WAY_OUT);
        }
        _ => {}
    }
    error
}

/// Counts what is skipped because of `error`.
pub fn skipped(metadata: &mut Metadata, error: &TraceError) {
    metadata.remark(RemarkKind::Skipped, SKIPPED, || error.to_string());
}

pub(crate) const SKIPPED: [&str; 2] = [
    "row could not be read and was skipped",
    "rows could not be read and were skipped",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_long_name_of_a_device_is_refused() {
        let mut context = Context::new(&ReadOptions::default());
        let text = "d".repeat(LONGEST_NAME + 1);
        let line = Line {
            bytes: text.as_bytes(),
            number: 7,
            path: Path::new("x.csv"),
        };
        let (longest, longer) = (&line.bytes[1..], line.bytes);
        assert_eq!(context.device(&line, longest).unwrap(), 0);
        let error = context.device(&line, longer).unwrap_err().to_string();
        for part in [
            "x.csv:7",
            "device",
            "ddd...",
            "at most 256 bytes (this one has 257)",
        ] {
            assert!(error.contains(part), "{error}");
        }
        assert_eq!(context.metadata.devices.len(), 1);
    }

    #[test]
    fn a_range_of_bytes_is_whole_sectors_or_widened() {
        const MOST: u64 = u32::MAX as u64 * 512;
        let read = |from: u64, bytes: u64, round_out| {
            let mut context = Context::new(&ReadOptions {
                round_out,
                ..ReadOptions::default()
            });
            let text = format!("{from} {bytes}");
            let line = Line {
                bytes: text.as_bytes(),
                number: 7,
                path: std::path::Path::new("x"),
            };
            let [offset, length] = line.words("'offset length'").unwrap();
            let range = context.range(&line, ("offset", offset), ("length", length));
            let range = range
                .map(|(sector, sectors)| (sector.get(), sectors.get()))
                .map_err(|error| error.to_string());
            (range, context.metadata.remarks)
        };
        for (from, bytes, exact, widened) in [
            (512, 1024, Ok((1, 2)), (1, 2)),
            (0, 0, Ok((0, 0)), (0, 0)),
            (1, 512, Err("'offset' is '1'"), (0, 2)),
            (512, 1, Err("'length' is '1'"), (1, 1)),
            (511, 1, Err("'offset' is '511'"), (0, 1)),
            (511, 2, Err("'offset' is '511'"), (0, 2)),
            (512, MOST, Ok((1, u32::MAX)), (1, u32::MAX)),
        ] {
            let (range, remarks) = read(from, bytes, false);
            match (range, exact) {
                (range, Ok(exact)) => assert_eq!(range, Ok(exact), "{from} {bytes}"),
                (Ok(range), Err(_)) => panic!("{from} {bytes} is {range:?}"),
                (Err(error), Err(words)) => assert!(error.contains(words), "{error}"),
            }
            assert!(remarks.is_empty());
            let (range, remarks) = read(from, bytes, true);
            assert_eq!(range, Ok(widened), "{from} {bytes}");
            let counts: Vec<u64> = remarks.iter().map(|remark| remark.count).collect();
            assert_eq!(counts.is_empty(), exact.is_ok(), "{from} {bytes}");
        }
        // One sector more than there can be, and beyond all bytes.
        for (from, bytes) in [(1, MOST), (0, MOST + 1), (u64::MAX - 511, 512)] {
            assert!(read(from, bytes, true).0.is_err(), "{from} {bytes}");
        }
    }

    #[test]
    fn what_to_do_about_a_row_is_said_once() {
        let error = TraceError::Option("another".to_owned());
        assert_eq!(unreadable_row(error).to_string(), "another");
        let line = Line {
            bytes: b"x",
            number: 1,
            path: Path::new("x"),
        };
        for error in [
            line.wrong("time", b"x", "a time"),
            line.missing("time", "a time"),
        ] {
            let once = unreadable_row(error).to_string();
            assert!(
                once.ends_with(
                    "a time; correct the row, or skip and count such rows with --lenient"
                ),
                "{once}"
            );
        }
        let error = unreadable_row(unreadable_row(line.wrong("time", b"x", "a time")));
        assert_eq!(error.to_string().matches("--lenient").count(), 1);
    }

    #[test]
    fn only_a_flush_has_no_length() {
        let line = Line {
            bytes: b"0",
            number: 1,
            path: std::path::Path::new("x"),
        };
        for op in Op::ALL {
            for sectors in [0, 1] {
                let request = Request {
                    sectors: Sectors::new(sectors),
                    op,
                    ..Request::default()
                };
                let is_possible = possible(&line, &request, line.bytes).is_ok();
                assert_eq!(is_possible, sectors == 1 || op == Op::Flush, "{op:?}");
            }
        }
    }
}
