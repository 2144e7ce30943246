//! The text of `biosnoop` (bcc).
//!
//! `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`: the time is that of the completion, so a
//! request started LAT before it. A command may have blanks in its name: fields are counted from the
//! right.

use iosonar_units::{Nanos, Sector};

use crate::text::{Axis, Context, Line, RowFormat, Rows, op_of_letters, possible, words};
use crate::{Outcome, Record, Request, TraceError};

const SHAPE: &str = "'TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)'";

pub(crate) const BIOSNOOP: RowFormat<Biosnoop> = RowFormat {
    name: "biosnoop",
    extensions: &[],
    description: "biosnoop text (bcc)",
    columns: "TIME (s, of the completion), COMM, PID, DISK, T, SECTOR, BYTES, QUE (ms, with -Q), LAT (ms)",
    shape: SHAPE,
    axis: Some(Axis::Arbitrary),
    fits: |line| line.starts_with(b"TIME") && has(line, b"LAT(ms)"),
    rows: Biosnoop::default,
};

fn has(line: &[u8], word: &[u8]) -> bool {
    words(line).any(|w| w == word)
}

/// Completions come after starts: an hour of room before the first, which is taken off again.
const BIAS: Nanos = Nanos::from_secs(3600);

/// Kernels keep at most this length of a command's name.
const LONGEST_COMMAND: usize = 15;

#[derive(Default)]
pub(crate) struct Biosnoop {
    has_queue: bool,
    has_pattern: bool,
}

impl Rows for Biosnoop {
    fn row(
        &mut self,
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<Option<Record>, TraceError> {
        if line.bytes.trim_ascii().is_empty()
            || [&b"Tracing"[..], b"Attach"]
                .iter()
                .any(|word| line.bytes.starts_with(word))
        {
            return Ok(None);
        }
        if line.bytes.starts_with(b"TIME") {
            if !has(line.bytes, b"SECTOR") || !has(line.bytes, b"BYTES") {
                return Err(line.wrong(
                    "header",
                    line.bytes,
                    "the columns SECTOR and BYTES: this version of the tool does not print positions, which a replay \
                     needs; use bcc's biosnoop, or record with blktrace",
                ));
            }
            if !line.bytes.starts_with(b"TIME(s)") {
                return Err(line.wrong(
                    "header",
                    line.bytes,
                    "the column TIME(s): run the tool without -t, as a time of day has no date",
                ));
            }
            self.has_queue = has(line.bytes, b"QUE(ms)");
            self.has_pattern = has(line.bytes, b"P");
            return Ok(None);
        }
        let fields: Vec<&[u8]> = words(line.bytes).collect();
        let behind = 6 + usize::from(self.has_queue) + usize::from(self.has_pattern);
        if fields.len() < behind + 2 {
            return Err(line.missing("LAT(ms)", SHAPE));
        }
        // A command's name is short; two rows joined in one line have a row where it stands.
        let command = &fields[1..fields.len() - behind];
        let length: usize = command.iter().map(|word| word.len() + 1).sum();
        if length > LONGEST_COMMAND + 1 {
            return Err(line.wrong(
                "COMM",
                line.behind(fields[0]).trim_ascii_start(),
                format!("a command name of at most {LONGEST_COMMAND} bytes, and one row per line"),
            ));
        }
        let mut right = fields[fields.len() - behind..].iter().copied();
        let mut next = || right.next().unwrap_or_default();
        let (pid, disk, op, sector, bytes) = (next(), next(), next(), next(), next());
        if self.has_queue {
            next();
        }
        if self.has_pattern {
            next();
        }
        let latency_field = next();
        line.number("PID", pid)?;
        let latency = line.time("LAT(ms)", latency_field, 1_000_000)?;
        let complete = line.time("TIME(s)", fields[0], 1_000_000_000)?;
        let letters =
            op_of_letters(op).ok_or_else(|| line.wrong("T", op, "R (read) or W (write)"))?;
        let (_, sectors) = context.range(line, ("SECTOR", b"0"), ("BYTES", bytes))?;
        let request = Request {
            start: complete.saturating_add(BIAS).saturating_sub(latency),
            sector: Sector::new(line.sector("SECTOR", sector)?),
            sectors,
            op: letters.op,
            flags: letters.flags,
            device: context.device(line, disk)?,
            ..Request::default()
        };
        possible(line, &request, bytes)?;
        Ok(Some(Record {
            request,
            outcome: Outcome::done(Nanos::ZERO, latency),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, ReadOptions, input};

    #[test]
    fn a_command_has_at_most_15_bytes_with_its_blanks() {
        for (command, is_read) in [
            ("dd", true),
            ("abcdefghijklmno", true),
            ("abcdefghijklmnop", false),
            ("abcdefg hijklmn", true),
            ("abcdefg hijklmno", false),
            ("ab cd ef gh ij k", false),
        ] {
            let text = format!(
                "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n1.5 {command} 7 sda R 8 4096 0.25\n"
            );
            let mut batch = Batch::default();
            let text = Box::new(std::io::Cursor::new(text));
            let read = input::read_from(text, "x".as_ref(), &ReadOptions::default())
                .and_then(|mut reader| reader.next_batch(&mut batch));
            assert_eq!(read.is_ok(), is_read, "{command}");
            if is_read {
                let latency = batch.outcome(0).latency;
                assert_eq!(latency, Some(Nanos::from_micros(250)), "{command}");
            }
        }
    }

    #[test]
    fn blank_lines_and_notices_are_no_rows_and_short_rows_are_errors() {
        let context = &mut Context::new(&ReadOptions::default());
        let mut rows = Biosnoop::default();
        for (text, outcome) in [
            ("", Ok(false)),
            ("  ", Ok(false)),
            ("Tracing block device I/O... Hit Ctrl-C to end.", Ok(false)),
            ("Attaching 3 probes...", Ok(false)),
            (
                "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)",
                Ok(false),
            ),
            ("1.5 dd 7 sda R 8 4096 0.1 0.25", Ok(true)),
            ("1.5 7 sda R 8 4096 0.1 0.25", Err("LAT(ms)")),
            ("1.5", Err("LAT(ms)")),
            ("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)", Ok(false)),
            ("1.5 dd 7 sda R 8 4096 0.25", Ok(true)),
            ("1.5 7 sda R 8 4096 0.25", Err("LAT(ms)")),
            ("TIME(s) COMM PID DISK T BYTES LAT(ms)", Err("SECTOR")),
            ("TIME(s) COMM PID DISK T SECTOR LAT(ms)", Err("BYTES")),
            (
                "TIME COMM PID DISK T SECTOR BYTES LAT(ms)",
                Err("without -t"),
            ),
        ] {
            let line = Line {
                bytes: text.as_bytes(),
                number: 1,
                path: "x".as_ref(),
            };
            let row = rows.row(&line, context).map(|row| row.is_some());
            match (row.map_err(|error| error.to_string()), outcome) {
                (Err(error), Err(words)) => assert!(error.contains(words), "{error}"),
                (row, expected) => assert_eq!(row.ok(), expected.ok(), "{text}"),
            }
        }
    }
}
