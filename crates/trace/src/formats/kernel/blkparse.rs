//! The text of `blkparse`: its default output, and `-f` output with a format that the user names.
//!
//! `8,0  3  11  0.009507758  697  C  W 223490 + 8 [0]`: device, processor, sequence, seconds, process,
//! action, operation, then `sector + sectors`; a flush has neither.

use super::event::{Action, Event};
use super::format_string::FormatString;
use super::pairing::Paired;
use super::text_events::{
    EventFields, EventLines, TextEvents, check_rest, error_in_brackets, is_other_action, is_summary,
};
use crate::text::{Line, whole, words};
use crate::{Format, ReadOptions, Source, TraceError, TraceReader};

/// The text of `blkparse`.
pub(crate) struct Blkparse;

const SHAPE: &str = "'8,0  3  11  0.009507758  697  C  W 223490 + 8 [0]'";

impl Format for Blkparse {
    fn name(&self) -> &'static str {
        "blkparse"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &[]
    }

    fn description(&self) -> &'static str {
        "blkparse text: default output, or custom output (-f) described by --blkparse-format"
    }

    fn columns(&self) -> &'static str {
        "device, cpu, sequence, time (s), pid, action, op with flags, sector + sectors, error; paired into \
         requests by --start-event"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        // A line for each processor's file may stand before the events.
        head.split(|&b| b == b'\n').take(1000).any(|line| {
            let mut fields = words(line);
            let mut next = || fields.next().unwrap_or_default();
            let (dev, cpu, seq, time, pid) = (next(), next(), next(), next(), next());
            let mut numbers = dev.split(|&b| b == b',');
            numbers.next().is_some_and(|n| whole(n).is_some())
                && numbers.next().is_some_and(|n| whole(n).is_some())
                && [cpu, seq, pid].iter().all(|f| whole(f).is_some())
                && time.contains(&b'.')
        })
    }

    fn reader(
        &self,
        source: Source,
        options: &ReadOptions,
    ) -> Result<Box<dyn TraceReader>, TraceError> {
        Ok(match &options.blkparse_format {
            None => Box::new(Paired::new(
                TextEvents::new(source, Plain, options.lenient, SHAPE),
                options,
            )),
            Some(format) => Box::new(Paired::new(
                TextEvents::new(
                    source,
                    FormatString::new(format)?,
                    options.lenient,
                    "lines that match --blkparse-format",
                ),
                options,
            )),
        })
    }
}

/// The default output.
struct Plain;

impl EventLines for Plain {
    fn event(&mut self, line: &Line<'_>) -> Result<Option<Event>, TraceError> {
        let mut fields = words(line.bytes);
        let mut next = || fields.next().unwrap_or_default();
        let dev = next();
        // Anything that does not begin with a device is a summary or a message.
        if !dev.contains(&b',') || !dev.first().is_some_and(u8::is_ascii_digit) {
            return if is_summary(line.bytes) {
                Ok(None)
            } else {
                Err(line.wrong("device", line.bytes, format!("a line such as {SHAPE}")))
            };
        }
        let (_cpu, _sequence, time, _pid, action) = (next(), next(), next(), next(), next());
        let letters = next();
        let rest = [next(), next(), next()];
        if action.is_empty() {
            return Err(line.missing("action", SHAPE));
        }
        let Some(action) = Action::of_letter(action) else {
            return if is_other_action(action) {
                Ok(None)
            } else {
                Err(line.wrong(
                    "action",
                    action,
                    "the letters of an action, such as Q, D or C",
                ))
            };
        };
        if letters.is_empty() {
            return Err(line.missing("operation", SHAPE));
        }
        let (sector, sectors) = match rest {
            [sector, b"+", sectors_text] => {
                let behind = line.behind(sectors_text);
                check_rest(line, behind, action)?;
                let sectors = line.sectors("sectors", sectors_text)?;
                // Without sectors, the kernel's number for nowhere may stand there.
                let sector = match sectors {
                    0 => line.number("sector", sector)?,
                    _ => line.sector("sector", sector)?,
                };
                (sector, sectors)
            }
            // A flush, or a command to the drive, which has its bytes there.
            _ => (0, 0),
        };
        let error = words(line.bytes).last().and_then(error_in_brackets);
        let fields = EventFields {
            time: line.time("time", time, 1_000_000_000)?.get(),
            action,
            device: dev,
            letters,
            sector,
            sectors,
            error,
        };
        fields.event(line)
    }

    fn counts_from_beginning(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, Op};

    fn event(text: &str) -> Result<Option<Event>, TraceError> {
        let line = Line {
            bytes: text.as_bytes(),
            number: 7,
            path: std::path::Path::new("x"),
        };
        Plain.event(&line)
    }

    #[test]
    fn an_event_is_read_with_all_its_fields() {
        use Action::{Complete, Issue, Queue};
        for (rest, action, sector, sectors, op, errno) in [
            ("C W 223490 + 8 [0]", Complete, 223_490, 8, Op::Write, 0),
            ("C W 223490 + 8 [-5]", Complete, 223_490, 8, Op::Write, 5),
            ("C R 8 + 8 ( 1234) [65531]", Complete, 8, 8, Op::Read, 5),
            // Not an error, but the name of a process.
            ("Q R 8 + 8 [5]", Queue, 8, 8, Op::Read, 0),
            (
                "D DS 9223372036854775807 + 4294967295 [x]",
                Issue,
                i64::MAX as u64,
                u32::MAX,
                Op::Discard,
                0,
            ),
            ("Q FWS [x]", Queue, 0, 0, Op::Flush, 0),
            (
                "C FF 18446744073709551615 + 0 [-5]",
                Complete,
                u64::MAX,
                0,
                Op::Flush,
                5,
            ),
            ("C FWS 0 [0]", Complete, 0, 0, Op::Flush, 0),
            ("Q FF 0 + 0 [x]", Queue, 0, 0, Op::Flush, 0),
            // With -t, a flush has its duration there.
            ("C FF ( 1234) [0]", Complete, 0, 0, Op::Flush, 0),
        ] {
            let text = format!("259,12  3  11  0.009507758  697  {rest}");
            let event = event(&text).unwrap().unwrap();
            assert_eq!((event.time, event.device), (9_507_758, (259, 12)));
            assert_eq!(
                (event.action, event.sector, event.sectors),
                (action, sector, sectors),
                "{rest}"
            );
            assert_eq!(
                (event.op, event.errno, event.place),
                (op, errno, 7),
                "{rest}"
            );
            assert_eq!(
                event.flags.contains(Flags::SYNC),
                rest[2..].contains("S "),
                "{rest}"
            );
        }
    }

    #[test]
    fn what_is_no_event_of_a_request_is_stepped_over() {
        for text in [
            "CPU0 (8,0):",
            " Reads Queued:  0",
            "8,0 3 11 0.5 697 P N [fio]",
            "8,0 3 11 0.5 697 UT N [fio] 1",
            "8,0 3 11 0.5 697 A R 8 + 8 <- (8,1) 0",
            "8,0 3 11 0.5 697 C N 0 [0]",
            // Commands to the drive, with their bytes and, with -t, a duration.
            "8,0 3 11 0.5 697 D N (35 00 00) [sg]",
            "8,0 3 11 0.5 697 D R 36 (12 00 00) [sg]",
        ] {
            assert!(event(text).unwrap().is_none(), "{text}");
        }
    }

    #[test]
    fn a_damaged_event_is_an_error_about_its_field() {
        for (text, words) in [
            (
                "8 3 11 0.5 697 Q R 8 + 8 [x]",
                "7:1: field 'device' is '8 3 11",
            ),
            (
                "x,0 3 11 0.5 697 Q R 8 + 8 [x]",
                "7:1: field 'device' is 'x,0 3",
            ),
            (
                "8,x 3 11 0.5 697 Q R 8 + 8 [x]",
                "7:1: field 'device' is '8,x', expected a device as major,minor",
            ),
            ("8,0 3 11 0.5 697", "before the field 'action'"),
            ("8,0 3 11 0.5 697 Q", "before the field 'operation'"),
            (
                "8,0 3 11 0.5 697 LONG R 8 + 8 [x]",
                "field 'action' is 'LONG'",
            ),
            ("8,0 3 11 0,5 697 Q R 8 + 8 [x]", "field 'time' is '0,5'"),
            (
                "8,0 3 11 0,5 697 D R 36 (12 00) [x]",
                "field 'time' is '0,5'",
            ),
            ("8,0 3 11 0.5 697 Q R x + 8 [x]", "field 'sector' is 'x'"),
            ("8,0 3 11 0.5 697 C F x + 0 [0]", "field 'sector' is 'x'"),
            ("8,0 3 11 0.5 697 Q R 8 + x [x]", "field 'sectors' is 'x'"),
            (
                "8,0 3 11 0.5 697 Q R 8 + 4294967296 [x]",
                "field 'sectors' is",
            ),
            (
                "8,0 3 11 0.5 697 Q R 9223372036854775808 + 8 [x]",
                "field 'sector' is",
            ),
            // Nowhere is no place for data, whatever the event.
            (
                "8,0 3 11 0.5 697 C R 18446744073709551615 + 8 [0]",
                "field 'sector' is",
            ),
            (
                "8,0 3 11 0.5 697 Q R 8 + 8 [x] 8,0",
                "field 'end of line' is",
            ),
        ] {
            let error = event(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!(Plain.counts_from_beginning());
        assert!(Blkparse.extensions().is_empty());
    }
}
