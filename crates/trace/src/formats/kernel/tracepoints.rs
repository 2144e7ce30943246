//! The text of the kernel's block tracepoints: tracefs, `perf script`, `trace-cmd report`.
//!
//! `... 19654.923352: block_rq_issue: 8,0 R 4096 () 53758080 + 8 [fio]`: whatever stands before the time
//! differs, the time is in seconds (or, of a raw clock, in nanoseconds), and from the event's name on all
//! are alike. Newer kernels print the I/O priority behind the length.

use super::event::{Action, Event};
use super::pairing::Paired;
use super::text_events::{EventFields, EventLines, TextEvents, check_rest, error_in_brackets};
use crate::text::{Line, decimal, first_lines, whole, words};
use crate::{Format, ReadOptions, Source, TraceError, TraceReader};

/// The text of the block tracepoints.
pub(crate) struct Tracepoints;

const SHAPE: &str = "'... 19654.923352: block_rq_issue: 8,0 R 4096 () 53758080 + 8 [fio]'";

impl Format for Tracepoints {
    fn name(&self) -> &'static str {
        "tracepoints"
    }

    fn description(&self) -> &'static str {
        "block tracepoints as text: tracefs, perf script, trace-cmd report"
    }

    fn columns(&self) -> &'static str {
        "time (s, or ns), event, device, op with flags, sector + sectors, error; paired into requests by \
         --start-event"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        // Headers of tracefs may be long.
        first_lines(head).any(|line| line.starts_with(b"# tracer:"))
            || head
                .split(|&b| b == b'\n')
                .take(200)
                .any(|line| name(line).is_some())
    }

    fn reader(
        &self,
        source: Source,
        options: &ReadOptions,
    ) -> Result<Box<dyn TraceReader>, TraceError> {
        Ok(Box::new(Paired::new(
            TextEvents::new(source, Tracing, options.lenient, SHAPE),
            options,
        )))
    }
}

const EVENTS: [(&[u8], Action); 9] = [
    (b"block_bio_queue", Action::Queue),
    (b"block_getrq", Action::Get),
    (b"block_rq_insert", Action::Insert),
    (b"block_rq_issue", Action::Issue),
    (b"block_rq_requeue", Action::Requeue),
    (b"block_rq_complete", Action::Complete),
    (b"block_bio_complete", Action::Complete),
    (b"block_bio_backmerge", Action::BackMerge),
    (b"block_bio_frontmerge", Action::FrontMerge),
];

/// Where the name of one of the events stands in a line, what it is, and where its text begins.
fn name(line: &[u8]) -> Option<(usize, Action, usize)> {
    memchr::memmem::find_iter(line, b"block_")
        .filter(|&at| at > 0 && matches!(line[at - 1], b' ' | b'\t' | b':'))
        .find_map(|at| {
            let (event, action) = EVENTS.iter().find(|(name, _)| {
                line[at..].starts_with(name) && line.get(at + name.len()) == Some(&b':')
            })?;
            Some((at, *action, at + event.len() + 1))
        })
}

/// Whether a word is a time in seconds with its colon.
fn is_time(word: &[u8]) -> bool {
    let number = word.strip_suffix(b":");
    number.is_some_and(|n| n.contains(&b'.') && decimal(n, 1).is_some())
}

/// Whether a line without an event ends within the beginning of one: with a time, or with a part of an event's
/// name behind it.
fn is_cut(line: &[u8]) -> bool {
    let begins_an_event = |word: &[u8]| {
        let name = word.strip_prefix(b"block:").unwrap_or(word);
        b"block:".starts_with(word) || EVENTS.iter().any(|(event, _)| event.starts_with(name))
    };
    let (before, last) = words(line).fold((&[][..], &[][..]), |(_, last), word| (last, word));
    is_time(last) || is_time(before) && begins_an_event(last)
}

struct Tracing;

impl EventLines for Tracing {
    fn event(&mut self, line: &Line<'_>) -> Result<Option<Event>, TraceError> {
        if line.bytes.starts_with(b"#") {
            return Ok(None);
        }
        let Some((at, action, text_at)) = name(line.bytes) else {
            if is_cut(line.bytes) {
                return Err(line.missing("event", SHAPE));
            }
            return Ok(None);
        };
        // perf writes the subsystem in front of the event.
        let before = line.bytes[..at].trim_ascii_end();
        let before = before.strip_suffix(b"block:").unwrap_or(before);
        let time = words(before).last().unwrap_or_default();
        // The beginning of an event that lost its end stands before that of the next.
        if let Some(first) = words(before).find(|word| is_time(word))
            && first.as_ptr() != time.as_ptr()
        {
            return Err(line.wrong("time", first, "one event per line"));
        }
        let time = time.strip_suffix(b":").unwrap_or(time);
        let unit = if time.contains(&b'.') {
            1_000_000_000
        } else {
            1
        };
        let time = line.time("time", time, unit)?.get();
        let text = &line.bytes[text_at..];
        let mut fields = words(text);
        let dev = fields.next().unwrap_or_default();
        let letters = fields.next().unwrap_or_default();
        if letters.is_empty() {
            return Err(line.missing("operation", SHAPE));
        }
        let Some(plus) = memchr::memmem::find(text, b" + ") else {
            return Err(line.missing("sector + sectors", SHAPE));
        };
        if let Some((second, ..)) = name(text) {
            return Err(line.wrong("end of line", &text[second..], "one event per line"));
        }
        let sector_text = words(&text[..plus]).last().unwrap_or_default();
        let behind = &text[plus + 3..];
        let sectors_text = words(behind).next().unwrap_or_default();
        let sectors = line.sectors("sectors", sectors_text)?;
        let sector = if sectors == 0 {
            whole(sector_text).unwrap_or_default()
        } else {
            line.sector("sector", sector_text)?
        };
        check_rest(line, line.behind(sectors_text), action)?;
        let error = words(behind).last().and_then(error_in_brackets);
        let fields = EventFields {
            time,
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
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_behind_a_time_or_within_the_name_of_an_event() {
        for (word, expected) in [
            ("1.5:", true),
            ("1.5", false),
            ("1:", false),
            ("x.y:", false),
            (":", false),
        ] {
            assert_eq!(is_time(word.as_bytes()), expected, "{word}");
        }
        for (line, expected) in [
            ("fio-7 [000] 1.5:", true),
            ("fio-7 [000] 1.5: bl", true),
            ("fio-7 [000] 1.5: block:", true),
            ("fio-7 [000] 1.5: block_rq_iss", true),
            ("fio 7 1.5: block:block_rq_iss", true),
            ("fio-7 [000] 1.5: sched_switch", false),
            ("fio-7 [000] 1.5: sched_switch bl", false),
            ("bl", false),
            ("", false),
        ] {
            assert_eq!(is_cut(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn the_name_of_an_event_stands_behind_a_blank_or_its_subsystem() {
        for (line, expected) in [
            ("1.5: block_rq_issue: 8,0", Some((5, Action::Issue, 20))),
            (
                "1.5: block:block_bio_queue: 8,0",
                Some((11, Action::Queue, 27)),
            ),
            ("1.5:\tblock_getrq: 8,0", Some((5, Action::Get, 17))),
            ("block_rq_issue: 8,0", None),
            ("xblock_rq_issue: 8,0", None),
            ("1.5: block_rq_issued: 8,0", None),
            ("1.5: block_rq_issue 8,0", None),
            (
                "1.5: block_touch: block_rq_insert: 8,0",
                Some((18, Action::Insert, 34)),
            ),
        ] {
            assert_eq!(name(line.as_bytes()), expected, "{line}");
        }
    }
}
