//! The `-f` format of `blkparse`, used the other way round: to read what it wrote.

use super::event::{Action, Event, errno_of, op_of_event};
use super::text_events::{EventLines, device, is_message, is_other_action, is_summary};
use crate::TraceError;
use crate::text::{Line, decimal, whole};

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    /// These bytes; blanks stand for any number of blanks.
    Text(Vec<u8>),
    /// The value of this letter.
    Value(u8),
}

/// A format, taken apart.
#[derive(Clone, Debug)]
pub(super) struct FormatString {
    parts: Vec<Part>,
}

impl FormatString {
    /// # Errors
    /// If the format does not print what a request needs.
    pub(super) fn new(text: &str) -> Result<Self, TraceError> {
        let mut parts = Vec::new();
        let mut literal = Vec::new();
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            match byte {
                b'%' => {
                    while bytes
                        .next_if(|b| matches!(b, b'0'..=b'9' | b'-' | b'.'))
                        .is_some()
                    {}
                    match bytes.next() {
                        Some(b'%') => literal.push(b'%'),
                        Some(letter) if letter.is_ascii_alphabetic() => {
                            if !literal.is_empty() {
                                parts.push(Part::Text(std::mem::take(&mut literal)));
                            }
                            parts.push(Part::Value(letter));
                        }
                        _ => return Err(incomplete(text, "a letter after each %")),
                    }
                }
                b'\\' => match bytes.next() {
                    Some(b't') => literal.push(b'\t'),
                    // Line ends are where lines end.
                    Some(b'n' | b'r') => {}
                    Some(other) => literal.push(other),
                    None => {}
                },
                _ => literal.push(byte),
            }
        }
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        let has = |letter: u8| parts.contains(&Part::Value(letter));
        for (there, what) in [
            (has(b'a'), "%a (action)"),
            (has(b'T') && has(b't'), "%T.%t (seconds and nanoseconds)"),
            (has(b'S'), "%S (sector)"),
            (has(b'n') || has(b'N'), "%n (sectors) or %N (bytes)"),
            (has(b'd'), "%d (operation)"),
        ] {
            if !there {
                return Err(incomplete(text, what));
            }
        }
        Ok(Self { parts })
    }

    /// The value of each letter in a line; `None` if the line is not of this format.
    fn values<'a>(&self, line: &'a [u8]) -> Option<Vec<(u8, &'a [u8])>> {
        let mut rest = line.trim_ascii_start();
        let mut values = Vec::with_capacity(self.parts.len());
        for (i, part) in self.parts.iter().enumerate() {
            match part {
                Part::Text(text) => {
                    for &byte in text {
                        if matches!(byte, b' ' | b'\t') {
                            rest = rest.trim_ascii_start();
                        } else {
                            rest = rest.trim_ascii_start().strip_prefix(&[byte])?;
                        }
                    }
                }
                Part::Value(letter) => {
                    rest = rest.trim_ascii_start();
                    // The value ends at a blank, or at what stands behind it.
                    let stop = match self.parts.get(i + 1) {
                        Some(Part::Text(text)) => text[0],
                        _ => b' ',
                    };
                    let number = matches!(
                        letter,
                        b't' | b'T' | b'S' | b'n' | b'N' | b'e' | b's' | b'p' | b'c'
                    );
                    let end = rest
                        .iter()
                        .position(|&b| {
                            b == stop
                                || matches!(b, b' ' | b'\t')
                                || number && !(b.is_ascii_digit() || b == b'-')
                        })
                        .unwrap_or(rest.len());
                    values.push((*letter, &rest[..end]));
                    rest = &rest[end..];
                }
            }
        }
        Some(values)
    }
}

fn incomplete(format: &str, what: &str) -> TraceError {
    TraceError::Option(format!(
        "--blkparse-format '{format}': expected {what}; for example '%D %a %T.%t %S %n %d %e\\n'"
    ))
}

impl EventLines for FormatString {
    fn event(&mut self, line: &Line<'_>) -> Result<Option<Event>, TraceError> {
        // What blkparse prints in the same way whatever its format is.
        let is_around = || is_summary(line.bytes) || is_message(line.bytes);
        let Some(values) = self.values(line.bytes) else {
            return if is_around() {
                Ok(None)
            } else {
                Err(line.wrong("line", line.bytes, "a line that matches --blkparse-format"))
            };
        };
        let value = |letter: u8| {
            let found = values.iter().find(|(l, _)| *l == letter);
            found.map_or(&[][..], |(_, value)| value)
        };
        let Some(action) = Action::of_letter(value(b'a')) else {
            return if is_other_action(value(b'a')) || is_around() {
                Ok(None)
            } else {
                Err(line.wrong(
                    "%a",
                    value(b'a'),
                    "the letters of an action, such as Q, D or C",
                ))
            };
        };
        let seconds = line.time("%T", value(b'T'), 1_000_000_000)?.get();
        // Nanoseconds with leading zeros, cut or not: a fraction.
        let fraction = [b"0.", value(b't')].concat();
        let nanos = decimal(&fraction, 1_000_000_000)
            .ok_or_else(|| line.wrong("%t", value(b't'), "nanoseconds"))?;
        let sectors = if value(b'n').is_empty() {
            line.length_bytes("%N", value(b'N'))? / 512
        } else {
            u64::from(line.sectors("%n", value(b'n'))?)
        } as u32;
        let Some((op, flags)) = op_of_event(value(b'd'), sectors) else {
            return Ok(None);
        };
        let device = match value(b'D') {
            b"" => (
                whole(value(b'M')).unwrap_or_default() as u32,
                whole(value(b'm')).unwrap_or_default() as u32,
            ),
            text => device(line, text)?,
        };
        let errno = match action {
            Action::Complete => std::str::from_utf8(value(b'e'))
                .ok()
                .and_then(|e| e.parse().ok())
                .map_or(0, errno_of),
            _ => 0,
        };
        Ok(Some(Event {
            time: seconds.saturating_add(nanos),
            action,
            device,
            sector: if sectors == 0 {
                0
            } else {
                line.sector("%S", value(b'S'))?
            },
            sectors,
            op,
            flags,
            errno,
            place: line.number,
        }))
    }

    fn counts_from_beginning(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn lines_are_read_by_the_format_that_wrote_them() {
        // The format of the peer's own conversion script.
        let mut format =
            FormatString::new("%a; %6T.%9t ; %12S ; %4n ; %3d ; 0.0 ; 0.0\\n").unwrap();
        let line = |bytes: &'static [u8]| Line {
            bytes,
            number: 1,
            path: Path::new("x"),
        };
        let event = format
            .event(&line(
                b"Q;      1.009507758 ;       223490 ;    8 ;  WS ; 0.0 ; 0.0",
            ))
            .unwrap()
            .unwrap();
        assert_eq!(
            (event.time, event.sector, event.sectors),
            (1_009_507_758, 223_490, 8)
        );
        // What blkparse itself prints around them, with -s and -v, and a message of the scheduler.
        for around in [
            &b"CPU0 (8,0):"[..],
            b"Total (sda):",
            b" Reads Queued:         963,     3852KiB\t Writes Queued:           0,        0KiB",
            b" PC Reads Compl.:        0\t\t PC Writes Compl.:        0",
            b" Allocation wait:        0        \t Allocation wait:         0",
            b"Throughput (R/W): 11,165KiB/s / 0KiB/s",
            b"Events (one): 6,741 entries",
            b"Skips: 0 forward (0 -   0.0%)",
            b"Input file one.blktrace.0 added",
            b"complete not found for (8,0): 123",
            b"  8,0    3        0     0.009507758   697  m   N cfq697S / alloced: 1",
        ] {
            assert!(format.event(&line(around)).unwrap().is_none());
        }
        for damaged in [
            &b"kworker/0:1; 0.0 ; 0.0"[..],
            b"W 223490 + 88 [kworker/0:1]",
            b"Qkworker/0:1;      1.009507758 ;       223490 ;    8 ;  WS ; 0.0 ; 0.0",
            b"223490; 8:0 ; 1 ; 8 ; WS",
        ] {
            assert!(format.event(&line(damaged)).is_err());
        }
        assert!(FormatString::new("%a %T").is_err());
    }

    #[test]
    fn lengths_may_be_in_bytes_and_only_completions_have_errors() {
        let mut format = FormatString::new("%a %T.%t %S %N %d %e\\n").unwrap();
        assert!(format.counts_from_beginning());
        let mut event = |bytes: &'static [u8]| {
            let line = Line {
                bytes,
                number: 1,
                path: Path::new("x"),
            };
            let event = format.event(&line).unwrap().unwrap();
            (event.action, event.sectors, event.errno)
        };
        assert_eq!(event(b"C 1.5 8 4096 R -5"), (Action::Complete, 8, 5));
        assert_eq!(event(b"C 1.5 8 512 R 0"), (Action::Complete, 1, 0));
        assert_eq!(event(b"D 1.5 8 4096 R -5"), (Action::Issue, 8, 0));
    }

    #[test]
    fn what_stands_around_events_is_stepped_over_whatever_the_format_makes_of_it() {
        let event = |format: &str, text: &str| {
            let line = Line {
                bytes: text.as_bytes(),
                number: 1,
                path: Path::new("x"),
            };
            let event = FormatString::new(format).unwrap().event(&line);
            event
                .map(|event| event.is_some())
                .map_err(|e| e.to_string())
        };
        let format = "%a %c %s %T.%t %p %d %S %n";
        assert_eq!(event(format, "Q 3 1 1.5 697 R 8 8"), Ok(true));
        // Another action, and a message that looks like an event whose action is a device.
        assert_eq!(event(format, "UT 3 1 1.5 697 N 0 0"), Ok(false));
        assert_eq!(event(format, "8,0 3 0 1.5 697 m N cfq697S"), Ok(false));
        let error = event(format, "8,0 3 0 1.5 697 Q R 8").unwrap_err();
        assert!(error.contains("field '%a' is '8,0'"), "{error}");
    }
}
