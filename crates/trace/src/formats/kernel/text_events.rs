//! Events that stand in lines of text.

use super::event::{Action, Event, Events, errno_of, op_of_event};
use crate::error::excerpt;
use crate::text::{Line, Lines, skipped, unreadable_row, words};
use crate::{Metadata, RemarkKind, Source, TraceError};

/// What makes events of lines.
pub(super) trait EventLines: Send {
    /// The event of a line; `None` if it is of no matter, or text around the events.
    fn event(&mut self, line: &Line<'_>) -> Result<Option<Event>, TraceError>;

    /// Whether times count from the recording's beginning.
    fn counts_from_beginning(&self) -> bool;
}

/// Reads events from lines.
pub(super) struct TextEvents<P> {
    lines: Lines,
    parser: P,
    lenient: bool,
    metadata: Metadata,
    any: bool,
    shape: &'static str,
}

impl<P: EventLines> TextEvents<P> {
    pub(super) fn new(source: Source, parser: P, lenient: bool, shape: &'static str) -> Self {
        Self {
            lines: Lines::new(source),
            parser,
            lenient,
            metadata: Metadata::default(),
            any: false,
            shape,
        }
    }
}

impl<P: EventLines> Events for TextEvents<P> {
    fn next_event(&mut self) -> Result<Option<Event>, TraceError> {
        while self.lines.advance()? {
            let line = self.lines.line();
            match line.check_text().and_then(|()| self.parser.event(&line)) {
                Ok(Some(event)) => {
                    // The number of an error, or the name of a process, ends a line.
                    if !line.bytes.ends_with(b"]") && !line.bytes.ends_with(b")") {
                        self.lines.check_end(self.lenient, &mut self.metadata)?;
                    }
                    self.any = true;
                    return Ok(Some(event));
                }
                Ok(None) => {
                    if !is_summary(line.bytes) {
                        self.lines.check_end(self.lenient, &mut self.metadata)?;
                    }
                    if memchr::memmem::find(line.bytes, b"EVENTS]").is_some() {
                        self.metadata.remark(
                            RemarkKind::LostEvents,
                            [
                                "gap in the recording: events were lost (buffers too small)",
                                "gaps in the recording: events were lost (buffers too small)",
                            ],
                            || format!("line {}: {}", line.number, excerpt(line.bytes)),
                        );
                    }
                }
                Err(e) if self.lenient => skipped(&mut self.metadata, &e),
                Err(e) => return Err(unreadable_row(e)),
            }
        }
        if !self.any && !self.lenient {
            return Err(TraceError::UnknownFormat {
                path: self.lines.path().to_owned(),
                reason: "the file contains no request events".to_owned(),
                readable: self.shape.to_owned(),
            });
        }
        Ok(None)
    }

    fn metadata(&mut self) -> &mut Metadata {
        &mut self.metadata
    }

    fn counts_from_beginning(&self) -> bool {
        self.parser.counts_from_beginning()
    }
}

/// How the lines of blkparse's summary begin, those of each process (`-s`) and the remarks of `-v` included.
const SUMMARY: [&[u8]; 22] = [
    b"Reads Queued:",
    b"Read Dispatches:",
    b"Reads Requeued:",
    b"Reads Completed:",
    b"Read Merges:",
    b"Read depth:",
    b"PC Reads Queued:",
    b"PC Read Disp.:",
    b"PC Reads Req.:",
    b"PC Reads Compl.:",
    b"IO unplugs:",
    b"Allocation wait:",
    b"Dispatch wait:",
    b"Completion wait:",
    b"Throughput (R/W):",
    b"Total (",
    b"Events (",
    b"Skips:",
    b"Input file ",
    b"merge not found for (",
    b"issue not found for (",
    b"complete not found for (",
];

/// Whether a line of blkparse is one of its summary (`CPU0 (8,0):`, ` Reads Queued: ...`), or names an input.
pub(super) fn is_summary(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let of_processor = || {
        let number = text.strip_prefix(b"CPU")?;
        let digits = number.iter().take_while(|b| b.is_ascii_digit()).count();
        let device = number[digits..].strip_prefix(b" (")?;
        Some(digits > 0 && device.ends_with(b"):"))
    };
    text.is_empty()
        || text.starts_with(b"#")
        || SUMMARY.iter().any(|begin| text.starts_with(begin))
        || of_processor() == Some(true)
}

/// Whether the line is a message that was written into the recording: blkparse prints it in the same way
/// whatever `-f` says.
pub(super) fn is_message(line: &[u8]) -> bool {
    let mut fields = words(line);
    let has_device = fields.next().is_some_and(|device| device.contains(&b','));
    has_device && fields.nth(4) == Some(b"m") && fields.next() == Some(b"N")
}

/// Whether the action is one that has nothing to do with requests: remappings, plugs, messages and the like
/// have one to three letters.
pub(super) fn is_other_action(action: &[u8]) -> bool {
    (1..=3).contains(&action.len()) && action.iter().all(u8::is_ascii_alphabetic)
}

/// The fields of a line that has to do with a request.
pub(super) struct EventFields<'a> {
    /// In nanoseconds.
    pub(super) time: u64,
    pub(super) action: Action,
    /// Major and minor number.
    pub(super) device: &'a [u8],
    pub(super) letters: &'a [u8],
    pub(super) sector: u64,
    pub(super) sectors: u32,
    /// Of a completion.
    pub(super) error: Option<i64>,
}

impl EventFields<'_> {
    /// The event; `None` if it moves no data.
    pub(super) fn event(&self, line: &Line<'_>) -> Result<Option<Event>, TraceError> {
        let Some((op, flags)) = op_of_event(self.letters, self.sectors) else {
            return Ok(None);
        };
        Ok(Some(Event {
            time: self.time,
            action: self.action,
            device: device(line, self.device)?,
            sector: self.sector,
            sectors: self.sectors,
            op,
            flags,
            errno: match self.action {
                Action::Complete => errno_of(self.error.unwrap_or_default()),
                _ => 0,
            },
            place: line.number,
        }))
    }
}

/// Major and minor number, as `8,0` or `8:0`.
pub(super) fn device(line: &Line<'_>, text: &[u8]) -> Result<(u32, u32), TraceError> {
    let mut parts = text.split(|b| matches!(b, b',' | b':')).map(|part| {
        let part = part.trim_ascii();
        crate::text::whole(part).and_then(|n| u32::try_from(n).ok())
    });
    match (parts.next().flatten(), parts.next().flatten(), parts.next()) {
        (Some(major), Some(minor), None) => Ok((major, minor)),
        _ => Err(line.wrong("device", text, "a device as major,minor")),
    }
}

/// Kernels keep process names of at most this length.
const LONGEST_PROCESS_NAME: usize = 15;

/// Refuses anything but the rest of one event behind `sector + sectors`: a duration or an I/O priority, then
/// `[name]`, of a completion `[error]`. A line that lost its end is joined to the next event, which would be
/// lost.
pub(super) fn check_rest(line: &Line<'_>, rest: &[u8], action: Action) -> Result<(), TraceError> {
    let mut rest = rest.trim_ascii();
    loop {
        let end = match rest.first() {
            None | Some(b'[') => break,
            Some(b'(') => rest.iter().position(|&b| b == b')').map(|at| at + 1),
            // Class, hint and level: be,0,4.
            Some(_) => {
                let word = words(rest).next().unwrap_or_default();
                (word.split(|&b| b == b',').count() == 3).then_some(word.len())
            }
        };
        let Some(end) = end else {
            return Err(line.wrong(
                "end of line",
                rest,
                "only [process] or [error] after the length",
            ));
        };
        rest = rest[end..].trim_ascii_start();
    }
    let name = rest.strip_prefix(b"[").and_then(|r| r.strip_suffix(b"]"));
    let is_whole = match (action, name) {
        (_, None) => rest.is_empty(),
        (Action::Complete, Some(_)) => error_in_brackets(rest).is_some(),
        (_, Some(name)) => name.len() <= LONGEST_PROCESS_NAME,
    };
    if is_whole {
        return Ok(());
    }
    let expected = match action {
        Action::Complete => "an error number in brackets, such as [0], at the end of the line",
        _ => {
            "a process name of at most 15 bytes in brackets, such as [fio], at the end of the line"
        }
    };
    Err(line.wrong("end of line", rest, expected))
}

/// A signed number in brackets, such as `[0]` or `[-5]`.
pub(super) fn error_in_brackets(text: &[u8]) -> Option<i64> {
    let inner = text.strip_prefix(b"[")?.strip_suffix(b"]")?;
    std::str::from_utf8(inner).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_a_processor_has_its_number_and_device() {
        for (line, expected) in [
            ("CPU0 (8,0):", true),
            ("CPU12 (sda):", true),
            ("CPU (8,0):", false),
            ("CPU0 (8,0)", false),
            ("CPU0", false),
            (" Reads Requeued:  0", true),
            ("", true),
            ("# a comment", true),
            ("Reads", false),
        ] {
            assert_eq!(is_summary(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn a_message_has_a_device_the_action_m_and_n() {
        for (line, expected) in [
            ("8,0 1 0 0.000001 0 m N cfq1 arm_idle", true),
            ("8,0 1 0 0.000001 0 m N", true),
            ("8 1 0 0.000001 0 m N cfq1", false),
            ("8,0 1 0 0.000001 0 Q N cfq1", false),
            ("8,0 1 0 0.000001 0 m R cfq1", false),
            ("8,0 1 0 0.000001 0 m", false),
        ] {
            assert_eq!(is_message(line.as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn another_action_has_one_to_three_letters() {
        for (action, expected) in [
            ("", false),
            ("A", true),
            ("UT", true),
            ("abc", true),
            ("abcd", false),
            ("U1", false),
        ] {
            assert_eq!(is_other_action(action.as_bytes()), expected, "{action}");
        }
    }

    fn line(text: &str) -> Line<'_> {
        Line {
            bytes: text.as_bytes(),
            number: 7,
            path: std::path::Path::new("x"),
        }
    }

    #[test]
    fn behind_its_length_an_event_has_durations_and_a_name_or_an_error() {
        use Action::{Complete, Queue};
        for (rest, action, problem) in [
            ("", Queue, None),
            ("", Complete, None),
            (" [fio]", Queue, None),
            (" [fifteen-bytes-x]", Queue, None),
            (
                " [sixteen-bytes-xx]",
                Queue,
                Some("a process name of at most 15 bytes"),
            ),
            (" ( 1234) [fio]", Queue, None),
            (" be,0,4 ( 1234) [fio]", Queue, None),
            (" be,0,4", Queue, None),
            (" be,0 [fio]", Queue, Some("only [process] or [error]")),
            (" be,0,4,5 [fio]", Queue, Some("only [process] or [error]")),
            (" ( 1234", Queue, Some("only [process] or [error]")),
            (" 8,0", Queue, Some("only [process] or [error]")),
            (" [fio", Queue, Some("a process name of at most 15 bytes")),
            (" [0]", Complete, None),
            (" [-5]", Complete, None),
            (" (1) [65531]", Complete, None),
            (" [fio]", Complete, Some("an error number in brackets")),
            (" [0", Complete, Some("an error number in brackets")),
            (" [0] 8,0", Complete, Some("an error number in brackets")),
        ] {
            let text = format!("8 + 8{rest}");
            let line = line(&text);
            let checked = check_rest(&line, &line.bytes[5..], action);
            match (checked.map_err(|e| e.to_string()), problem) {
                (Ok(()), None) => {}
                (Err(error), Some(words)) if error.contains(words) => {}
                (checked, _) => panic!("{rest:?}: {checked:?}"),
            }
        }
    }

    #[test]
    fn a_device_has_a_major_and_a_minor_number() {
        for (text, numbers) in [
            ("8,0", Some((8, 0))),
            ("259:12", Some((259, 12))),
            (" 8 , 1 ", Some((8, 1))),
            ("4294967295,0", Some((u32::MAX, 0))),
            ("4294967296,0", None),
            ("8,4294967296", None),
            ("8,0,0", None),
            ("8", None),
            ("8,", None),
            (",0", None),
            ("sda,0", None),
        ] {
            let of = line(text);
            assert_eq!(device(&of, of.bytes).ok(), numbers, "{text}");
        }
        for (text, error) in [
            ("[0]", Some(0)),
            ("[-5]", Some(-5)),
            ("[]", None),
            ("0", None),
            ("[0", None),
            ("[x]", None),
        ] {
            assert_eq!(error_in_brackets(text.as_bytes()), error, "{text}");
        }
    }

    #[test]
    fn only_a_completion_has_an_error() {
        for (action, errno) in [(Action::Complete, 5), (Action::Issue, 0)] {
            let fields = EventFields {
                time: 1,
                action,
                device: b"8,0",
                letters: b"R",
                sector: 8,
                sectors: 8,
                error: Some(-5),
            };
            let event = fields.event(&line("")).unwrap().unwrap();
            assert_eq!((event.errno, event.place), (errno, 7));
            let without_data = EventFields {
                sectors: 0,
                ..fields
            };
            assert!(without_data.event(&line("")).unwrap().is_none());
        }
    }

    /// Takes a line that begins with a digit for an event, and `!` for damage.
    struct Digits(bool);

    impl EventLines for Digits {
        fn event(&mut self, line: &Line<'_>) -> Result<Option<Event>, TraceError> {
            match line.bytes.first() {
                Some(b'0'..=b'9') => Ok(Some(Event {
                    time: line.number,
                    action: Action::Queue,
                    device: (8, 0),
                    sector: 8,
                    sectors: 8,
                    op: crate::Op::Read,
                    flags: crate::Flags::NONE,
                    errno: 0,
                    place: line.number,
                })),
                Some(b'!') => Err(line.wrong("line", line.bytes, "no exclamation")),
                _ => Ok(None),
            }
        }

        fn counts_from_beginning(&self) -> bool {
            self.0
        }
    }

    /// The lines of events, the error, and the kinds of remarks with their counts.
    fn read(text: &str, lenient: bool) -> (Vec<u64>, Option<String>, Vec<(RemarkKind, u64)>) {
        let source = Source {
            input: Box::new(std::io::Cursor::new(text.to_owned())),
            path: "x".into(),
            file: None,
            cut: crate::CutOff::default(),
        };
        let mut events = TextEvents::new(source, Digits(true), lenient, "digits");
        let mut seen = Vec::new();
        let error = loop {
            match events.next_event() {
                Ok(Some(event)) => seen.push(event.time),
                Ok(None) => break None,
                Err(error) => break Some(error.to_string()),
            }
        };
        let remarks = events.metadata.remarks.iter().map(|r| (r.kind, r.count));
        (seen, error, remarks.collect())
    }

    #[test]
    fn a_text_ends_with_a_whole_line() {
        use RemarkKind::LastRowCut;
        for (end, is_whole, is_event) in [
            ("1 + 8\n", true, true),
            ("1 + 8", false, true),
            ("1 + 8 [0]", true, true),
            ("1 + 8 (12)", true, true),
            ("1 + 8 [0", false, true),
            ("other", false, false),
            ("other\n", true, false),
            ("CPU0 (8,0):", true, false),
            ("# comment", true, false),
        ] {
            let text = format!("0\n{end}");
            let (seen, error, remarks) = read(&text, false);
            assert_eq!(error.is_none(), is_whole, "{end}: {error:?}");
            assert_eq!(seen.len(), 1 + usize::from(is_whole && is_event), "{end}");
            assert!(remarks.is_empty());
            let (seen, error, remarks) = read(&text, true);
            assert_eq!(
                (seen.len(), error),
                (1 + usize::from(is_event), None),
                "{end}"
            );
            let cut = if is_whole {
                vec![]
            } else {
                vec![(LastRowCut, 1)]
            };
            assert_eq!(remarks, cut, "{end}");
        }
    }

    #[test]
    fn events_that_were_lost_and_lines_that_are_damaged_are_counted() {
        use RemarkKind::{LostEvents, Skipped};
        let text = "0\nCPU:0 [LOST 3 EVENTS]\n!\n1\nCPU:1 [LOST 1 EVENTS]\n";
        let (seen, error, remarks) = read(text, true);
        assert_eq!((seen, error), (vec![1, 4], None));
        assert_eq!(remarks, [(LostEvents, 2), (Skipped, 1)]);
        let (seen, error, remarks) = read(text, false);
        assert_eq!((seen, remarks), (vec![1], vec![(LostEvents, 1)]));
        let error = error.unwrap();
        assert!(
            error.starts_with("x:3:1: field 'line' is '!'") && error.contains("--lenient"),
            "{error}"
        );
        let (_, error, _) = read("0\n1 \0\n", false);
        assert!(error.unwrap().contains("without null bytes"));
        // A file of other lines is of another format, unless one is content with less.
        for (lenient, is_error) in [(false, true), (true, false)] {
            let (seen, error, _) = read("other\n", lenient);
            assert_eq!((seen.len(), error.is_some()), (0, is_error));
        }
        for from_beginning in [false, true] {
            let source = Source {
                input: Box::new(std::io::empty()),
                path: "x".into(),
                file: None,
                cut: crate::CutOff::default(),
            };
            let events = TextEvents::new(source, Digits(from_beginning), false, "digits");
            assert_eq!(events.counts_from_beginning(), from_beginning);
            assert_eq!(events.wall_clock(), None);
            assert!(!events.would_wait());
        }
    }
}
