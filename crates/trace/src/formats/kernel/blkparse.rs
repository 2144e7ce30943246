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
                (
                    if action == Action::Complete && sector.len() == 20 {
                        whole(sector).unwrap_or_default()
                    } else {
                        line.sector("sector", sector)?
                    },
                    line.sectors("sectors", sectors_text)?,
                )
            }
            // A command to the drive, with its bytes.
            [first, ..] if first.starts_with(b"(") && !letters.contains(&b'F') => return Ok(None),
            // With -t, a flush has its duration there.
            [_, second, _] if second.starts_with(b"(") && !letters.contains(&b'F') => {
                return Ok(None);
            }
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
