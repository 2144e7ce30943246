//! One line of the format: what it is, and its fields.

use iosonar_units::{Nanos, Sector, Sectors};

use super::{FAILED, VERBS};
use crate::error::excerpt;
use crate::limits::LIMIT;
use crate::text::{Letters, Line, op_of_letters, unreadable_row, words};
use crate::{Op, Outcome, Record, Request, Status, TraceError};

const WHOLE_ROW: &str = "'start ; sector ; sectors ; op', then optionally '; delay ; latency'";
const INFO: &[u8] = b"INFO:";
const WHOLE_INFO: &str = "'INFO: VERB block=SECTOR len=SECTORS mode=OP', then optionally 'start=', 'delay=', 'latency=' \
     (seconds) and 'errno='";
const TIME: &str = "a time in seconds from 0 to 9 223 372 036, such as 0.009507758";
const LENGTH: &str = "a length of at least 1 sector";
const LETTERS: &str =
    "R (read) or W (write), D (discard) or F (flush), optionally with the flags A, S, M, F";
const NAMES: [&str; 6] = ["start", "sector", "sectors", "op", "delay", "latency"];
/// How the header calls the columns; blkreplay's own words, and ours.
const HEADER_NAMES: [&[&str]; 6] = [
    &["start", "orig_start"],
    &["sector"],
    &["length", "sectors"],
    &["op"],
    &["replay_delay", "delay"],
    &["replay_duration", "latency"],
];

/// Whether the line is a data row: blanks, a number, blanks, `;`. What begins like a number and has
/// the fields of a row is taken for one too (`-1 ; ...`, `1e-05 ; ...`), so that it is reported as
/// an error and not skipped as a comment.
pub(super) fn is_data(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let like_number = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+');
    let number = line.iter().take_while(|b| like_number(b)).count();
    let ended = || line[number..].trim_ascii_start().first() == Some(&b';');
    let has_fields = || memchr::memchr_iter(b';', line).nth(2).is_some();
    number > 0 && (ended() || has_fields())
}

/// Whether a line above the header, which is neither row nor header, cannot be text either: it holds zero
/// bytes, or begins with a number and has as many fields as a row, between whatever.
pub(super) fn is_damaged(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let separators = |b: &&u8| matches!(**b, b';' | b',' | b'|' | b'\t');
    line.contains(&0)
        || text.first().is_some_and(u8::is_ascii_digit)
            && text.iter().filter(separators).count() >= 3
}

/// Whether a line between rows may be skipped: it is blank, or marked as a comment (`#`) or as a message
/// of the peer (`INFO: ...`, `WARNING: ...`).
pub(super) fn is_comment(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    let word = text.iter().take_while(|b| b.is_ascii_uppercase()).count();
    !line.contains(&0)
        && (text.is_empty() || text[0] == b'#' || word >= 3 && text.get(word) == Some(&b':'))
}

/// Whether a line between rows may belong to the notices of another trace behind this one: it is text, and
/// does not begin like a row.
pub(super) fn is_notice(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    text.first().is_some_and(u8::is_ascii_alphabetic)
        && !line.iter().any(|b| b.is_ascii_control() && *b != b'\t')
        && memchr::memchr_iter(b';', line).count() < 3
}

/// Whether a line above the header is read as a notice.
pub(super) fn stays_a_notice(line: &[u8]) -> bool {
    !(is_data(line) || is_info(line) || is_header(line) || is_damaged(line) || is_rule(line))
}

/// Whether the line is one of those that the peer rules above and below its rows.
pub(super) fn is_rule(line: &[u8]) -> bool {
    line.len() >= 20 && (line.iter().all(|&b| b == b'-') || line.iter().all(|&b| b == b'='))
}

/// Whether the line is one of the messages that may stand for a request that a data row cannot hold.
pub(super) fn is_info(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(INFO)
}

/// Whether the message is about one request: it begins with a known verb, or names a block.
fn is_of_request(message: &[u8]) -> bool {
    let mut words = words(message);
    let verb = words.next().unwrap_or_default();
    verb == FAILED.as_bytes()
        || VERBS.iter().any(|(known, _)| known.as_bytes() == verb)
        || words.any(|word| word.starts_with(b"block="))
}

/// Whether the line names columns: the first field is a single word of letters (`start`, or the peer's
/// `orig_start`), and there are at least three more.
pub(super) fn is_header(line: &[u8]) -> bool {
    let mut fields = line.split(|&b| b == b';');
    let first = fields.next().unwrap_or_default().trim_ascii();
    let word = |field: &[u8]| {
        !field.is_empty() && field.iter().all(|b| b.is_ascii_alphabetic() || *b == b'_')
    };
    word(first) && fields.count() >= 3
}

/// Whether the line is a header that begins as ours and the peer's do.
pub(super) fn is_our_header(line: &[u8]) -> bool {
    let first = line.trim_ascii_start();
    is_header(line)
        && HEADER_NAMES[0]
            .iter()
            .any(|name| first.starts_with(name.as_bytes()))
}

/// A row's line.
#[derive(Clone, Copy)]
pub(super) struct Row<'a>(pub(super) Line<'a>);

impl Row<'_> {
    #[cold]
    fn wrong(&self, column: usize, at: usize, expected: &str) -> TraceError {
        let rest = &self.0.bytes[at..];
        let end = memchr::memchr(b';', rest).unwrap_or(rest.len());
        let field = rest[..end].trim_ascii();
        self.0.wrong(NAMES[column], field, expected)
    }

    /// Checks that a header names the columns in the order in which rows have them.
    pub(super) fn check_header(&self) -> Result<(), TraceError> {
        let mut at = 0;
        for (column, field) in self.0.bytes.split(|&b| b == b';').enumerate() {
            let name = field.trim_ascii();
            let known = HEADER_NAMES.get(column);
            // blkreplay itself writes more behind the last two: 'replay_delay=0', '(guessed)'.
            let fits = |n: &&str| match column {
                0..4 => name.eq_ignore_ascii_case(n.as_bytes()),
                _ => name.starts_with(n.as_bytes()),
            };
            if !known.is_some_and(|names| names.iter().any(fits)) {
                let blanks = field.len() - field.trim_ascii_start().len();
                return Err(TraceError::Field {
                    place: self.0.place(at + blanks),
                    field: "header".to_owned(),
                    seen: excerpt(name),
                    expected: known.map_or_else(
                        || "at most six columns".to_owned(),
                        |names| format!("the column '{}'", names.join("' or '")),
                    ),
                });
            }
            at += field.len() + 1;
        }
        Ok(())
    }

    /// Whether nothing can be missing at the end of this data row: its latency is there to the nanosecond.
    pub(super) fn is_complete(&self) -> bool {
        let last = self.0.bytes.rsplit(|&b| b == b';').next();
        let decimals = last.and_then(|f| f.trim_ascii().split(|&b| b == b'.').nth(1));
        memchr::memchr_iter(b';', self.0.bytes).count() == 5
            && decimals.is_some_and(|digits| digits.len() >= 9)
    }

    /// The error for a line between rows that is not a row.
    #[cold]
    pub(super) fn no_row(&self) -> TraceError {
        match self.record() {
            Err(e) => unreadable_row(e),
            Ok(_) => self.0.wrong("line", self.0.bytes, WHOLE_ROW),
        }
    }

    /// The record of a data row.
    pub(super) fn record(&self) -> Result<Record, TraceError> {
        let mut fields = Fields { line: self, at: 0 };
        let start = fields.time(0)?;
        fields.separator(1)?;
        let sector = fields.sector()?;
        fields.separator(2)?;
        let (length_at, sectors) = fields.sectors()?;
        fields.separator(3)?;
        let Letters {
            op,
            flags,
            pushed_back,
        } = fields.op()?;
        if sectors.get() == 0 && op != Op::Flush {
            return Err(self.wrong(2, length_at, LENGTH));
        }
        let mut times = [None; 2];
        for (i, time) in times.iter_mut().enumerate() {
            if fields.at_end() {
                break;
            }
            fields.separator(4 + i)?;
            *time = Some(fields.time(4 + i)?);
        }
        if !fields.at_end() {
            let rest = &self.0.bytes[fields.at..];
            return Err(TraceError::Field {
                place: self.0.place(fields.at),
                field: "end of line".to_owned(),
                seen: excerpt(rest),
                expected: format!("the end of the line: a row is {WHOLE_ROW}"),
            });
        }
        let [mut delay, mut latency] = times;
        if delay.unwrap_or_default() == Nanos::ZERO && latency.unwrap_or_default() == Nanos::ZERO {
            (delay, latency) = (None, None);
        }
        Ok(Record {
            request: Request {
                start,
                sector,
                sectors,
                op,
                flags,
                ..Request::default()
            },
            outcome: Outcome {
                delay,
                latency,
                status: Status::Done,
                pushed_back,
            },
        })
    }

    /// The record that an `INFO:` line holds; `None` if the line is a message about anything but a request.
    /// `previous` is the start of the row before: the peer's lines have none of their own.
    pub(super) fn info(&self, previous: Nanos) -> Result<Option<Record>, TraceError> {
        let bytes = self.0.bytes.trim_ascii();
        let message = &bytes[INFO.len().min(bytes.len())..];
        self.0.check_text()?;
        if !is_of_request(message) {
            return Ok(None);
        }
        let mut words = words(message);
        let verb = words.next().unwrap_or_default();
        let mut record = Record::default();
        let (mut sector, mut sectors, mut start, mut letters, mut errno) =
            (None, None, previous, None, 0);
        for word in words {
            let (key, value) = match word.iter().position(|&b| b == b'=') {
                Some(at) => (&word[..at], &word[at + 1..]),
                None => return Err(self.0.wrong("message", word, WHOLE_INFO)),
            };
            match key {
                b"block" => sector = Some(self.info_number("block", value, LIMIT - 1)?),
                b"len" => {
                    sectors = Some(self.info_number("len", value, u64::from(u32::MAX))? as u32);
                }
                b"mode" => {
                    let known = op_of_letters(value);
                    letters = Some(known.ok_or_else(|| self.0.wrong("mode", value, LETTERS))?);
                }
                b"start" => start = self.info_time("start", value)?,
                b"delay" => record.outcome.delay = Some(self.info_time("delay", value)?),
                b"latency" => record.outcome.latency = Some(self.info_time("latency", value)?),
                b"errno" => {
                    errno = self.info_number("errno", value, u64::from(u16::MAX))? as u16;
                }
                _ => return Err(self.0.wrong("message", word, WHOLE_INFO)),
            }
        }
        let missing = |field| self.0.missing(field, WHOLE_INFO);
        let sector = sector.ok_or_else(|| missing("block"))?;
        let sectors = sectors.ok_or_else(|| missing("len"))?;
        let letters = letters.ok_or_else(|| missing("mode"))?;
        if sectors == 0 && letters.op != Op::Flush {
            return Err(self.0.wrong("len", message, LENGTH));
        }
        record.outcome.status = if verb == FAILED.as_bytes() {
            Status::Error(errno)
        } else {
            let known = VERBS.iter().find(|(v, _)| v.as_bytes() == verb);
            known.ok_or_else(|| self.0.wrong("verb", verb, verbs()))?.1
        };
        record.outcome.pushed_back = letters.pushed_back;
        record.request = Request {
            start,
            sector: Sector::new(sector),
            sectors: Sectors::new(sectors),
            op: letters.op,
            flags: letters.flags,
            ..record.request
        };
        Ok(Some(record))
    }

    fn info_number(&self, field: &str, value: &[u8], most: u64) -> Result<u64, TraceError> {
        self.0.number_up_to(field, value, most)
    }

    fn info_time(&self, field: &str, value: &[u8]) -> Result<Nanos, TraceError> {
        let text = std::str::from_utf8(value).unwrap_or_default();
        match text.parse::<Nanos>() {
            Ok(time) if time.get() < LIMIT => Ok(time),
            _ => Err(self.0.wrong(field, value, TIME)),
        }
    }
}

/// The verbs of messages that stand for requests.
#[cold]
fn verbs() -> String {
    let known = VERBS.iter().map(|(verb, _)| *verb).chain([FAILED]);
    format!("one of {}", known.collect::<Vec<_>>().join(", "))
}

/// Goes through the fields of a row from left to right.
struct Fields<'a> {
    line: &'a Row<'a>,
    at: usize,
}

impl Fields<'_> {
    #[inline]
    fn skip_blanks(&mut self) {
        while matches!(self.line.0.bytes.get(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.at == self.line.0.bytes.len()
    }

    /// Steps over the `;` in front of `column`.
    #[inline]
    fn separator(&mut self, column: usize) -> Result<(), TraceError> {
        self.skip_blanks();
        match self.line.0.bytes.get(self.at) {
            Some(b';') => {
                self.at += 1;
                self.skip_blanks();
                Ok(())
            }
            None => Err(self.missing(column)),
            Some(_) => Err(self
                .line
                .wrong(column - 1, self.at, "a ';' after the value")),
        }
    }

    #[cold]
    fn missing(&self, column: usize) -> TraceError {
        TraceError::MissingField {
            place: self.line.0.place(self.at),
            field: NAMES[column].to_owned(),
            expected: WHOLE_ROW.to_owned(),
        }
    }

    /// The digits at the current place as a number, and how many they are; saturates.
    #[inline]
    fn digits(&mut self) -> (u64, usize) {
        let begin = self.at;
        let mut value = 0_u64;
        while let Some(digit) = self.line.0.bytes.get(self.at).map(|b| b.wrapping_sub(b'0'))
            && digit <= 9
        {
            value = value.saturating_mul(10).saturating_add(u64::from(digit));
            self.at += 1;
        }
        (value, self.at - begin)
    }

    /// Seconds with any number of decimals.
    #[inline]
    fn time(&mut self, column: usize) -> Result<Nanos, TraceError> {
        self.skip_blanks();
        let begin = self.at;
        if begin == self.line.0.bytes.len() {
            return Err(self.missing(column));
        }
        let wrong = |line: &Row<'_>| Err(line.wrong(column, begin, TIME));
        let (seconds, whole_digits) = self.digits();
        let (mut nanos, mut fraction_digits) = (0, 0);
        if self.line.0.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            let from = self.at;
            (nanos, fraction_digits) = self.digits();
            if let Some(missing) = 9_u32.checked_sub(fraction_digits as u32) {
                nanos *= 10_u64.pow(missing);
            } else {
                let digit = |i: usize| u64::from(self.line.0.bytes[from + i] - b'0');
                nanos = (0..9).fold(0, |n, i| n * 10 + digit(i)) + u64::from(digit(9) >= 5);
            }
        }
        let ended = matches!(
            self.line.0.bytes.get(self.at),
            None | Some(b' ' | b'\t' | b';')
        );
        if whole_digits + fraction_digits == 0 || !ended {
            return wrong(self.line);
        }
        // 2^63 ns: a start and a latency can be added without overflow.
        if seconds >= 9_223_372_036 {
            return wrong(self.line);
        }
        Ok(Nanos::new(seconds * 1_000_000_000 + nanos))
    }

    #[inline]
    fn sector(&mut self) -> Result<Sector, TraceError> {
        let begin = self.at;
        let (value, digits) = self.digits();
        if digits == 0 || value >= LIMIT {
            return Err(self.line.wrong(
                1,
                begin,
                "a sector number (sectors of 512 B), 0 to 2^63 - 1",
            ));
        }
        Ok(Sector::new(value))
    }

    #[inline]
    fn sectors(&mut self) -> Result<(usize, Sectors), TraceError> {
        let begin = self.at;
        let (value, digits) = self.digits();
        match u32::try_from(value) {
            Ok(value) if digits > 0 => Ok((begin, Sectors::new(value))),
            _ => Err(self
                .line
                .wrong(2, begin, "a length in sectors, 1 to 2^32 - 1")),
        }
    }

    #[inline]
    fn op(&mut self) -> Result<Letters, TraceError> {
        let begin = self.at;
        while self
            .line
            .0
            .bytes
            .get(self.at)
            .is_some_and(u8::is_ascii_alphabetic)
        {
            self.at += 1;
        }
        if begin == self.line.0.bytes.len() {
            return Err(self.missing(3));
        }
        op_of_letters(&self.line.0.bytes[begin..self.at])
            .ok_or_else(|| self.line.wrong(3, begin, LETTERS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_text_and_headers_name_columns() {
        for (line, notice) in [
            ("a licence\tof many words", true),
            ("  a line; with; semicolons", true),
            ("a; line; like; a row", false),
            ("a bell\u{7}", false),
            ("1 number", false),
            ("", false),
        ] {
            assert_eq!(is_notice(line.as_bytes()), notice, "{line:?}");
        }
        for (line, header, ours) in [
            ("start ; sector; length ; op", true, true),
            ("  start;a;b;c;d", true, true),
            ("device; sector; length; op", true, false),
            ("start; sector; length", false, false),
            ("1.0; sector; length; op", false, false),
        ] {
            assert_eq!(is_header(line.as_bytes()), header, "{line:?}");
            assert_eq!(is_our_header(line.as_bytes()), ours, "{line:?}");
        }
    }

    fn row(text: &str) -> Row<'_> {
        Row(Line {
            bytes: text.as_bytes(),
            number: 7,
            path: std::path::Path::new("x.load"),
        })
    }

    #[test]
    fn a_line_is_data_if_it_begins_with_a_number_and_has_fields() {
        for (line, data) in [
            ("1 ; 2 ; 3 ; R", true),
            ("  .5\t;", true),
            ("-1 ;", true),
            ("+1;", true),
            ("1e-05 ; 2 ; 3 ; R", true),
            ("1e-05 ; 2 ; 3", false),
            ("1 2 ; 3", false),
            ("x ; 2 ; 3 ; R", false),
            (" ; 2 ; 3 ; R", false),
            ("1", false),
            ("", false),
        ] {
            assert_eq!(is_data(line.as_bytes()), data, "{line:?}");
        }
    }

    #[test]
    fn lines_between_rows_are_of_their_kind() {
        let (dashes, equals) = ("-".repeat(20), "=".repeat(20));
        let mixed = format!("{}=", &dashes[1..]);
        // Damaged, a comment, a rule, a message that may be a request.
        for (line, expected) in [
            ("1,2,3,4", [true, false, false, false]),
            (" 1|2;3\t4 ", [true, false, false, false]),
            ("1,2,3", [false; 4]),
            ("x,2,3,4", [false; 4]),
            ("text\0", [true, false, false, false]),
            ("#\0", [true, false, false, false]),
            ("", [false, true, false, false]),
            ("\t ", [false, true, false, false]),
            (" # 1,2,3,4", [false, true, false, false]),
            ("INFO: x", [false, true, false, true]),
            (" INFO:", [false, true, false, true]),
            ("INFO x", [false; 4]),
            ("WARNING: x", [false, true, false, false]),
            ("ABC:", [false, true, false, false]),
            ("AB:", [false; 4]),
            ("ABC", [false; 4]),
            ("ABC x:", [false; 4]),
            ("abc:", [false; 4]),
            (&dashes, [false, false, true, false]),
            (&equals, [false, false, true, false]),
            (&dashes[1..], [false; 4]),
            (&equals[1..], [false; 4]),
            (&mixed, [false; 4]),
        ] {
            let of = line.as_bytes();
            let seen = [is_damaged(of), is_comment(of), is_rule(of), is_info(of)];
            assert_eq!(seen, expected, "{line:?}");
        }
        for (message, expected) in [
            (" dropping", true),
            (" verify-failed x", true),
            (" failing", true),
            (" whatever block=8", true),
            (" whatever len=8 block=", true),
            (" whatever a block", false),
            (" whatever xblock=8", false),
            ("", false),
        ] {
            assert_eq!(is_of_request(message.as_bytes()), expected, "{message:?}");
        }
    }

    #[test]
    fn a_header_names_the_columns_in_their_order() {
        for fine in [
            "start ; sector; length ; op",
            " orig_start;SECTOR;sectors;Op;delay;latency",
            "start;sector;length;op;replay_delay=0;replay_duration (guessed)",
        ] {
            assert!(row(fine).check_header().is_ok(), "{fine}");
        }
        // The column of the byte where the wrong name begins.
        for (header, at, name) in [
            ("start;colour;length;op", 7, "colour"),
            ("start ;   colour;length;op", 11, "colour"),
            ("start;sector;length;opx", 21, "opx"),
            ("start;sector; length; op; x", 27, "x"),
            ("start;sector;length;op;delay;latency; more", 39, "more"),
            ("sector;start;length;op", 1, "sector"),
        ] {
            match row(header).check_header() {
                Err(TraceError::Field { place, seen, .. }) => {
                    assert_eq!((place.column, seen.as_str()), (at, name), "{header}");
                }
                other => panic!("{header}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_row_with_all_decimals_of_its_latency_is_complete() {
        for (line, complete) in [
            ("0;1;8;R;0;0.123456789", true),
            ("0;1;8;R;0; 0.1234567891 ", true),
            ("0;1;8;R;0;0.12345678", false),
            ("0;1;8;R;0;5", false),
            ("0;1;8;R;0.123456789", false),
            ("0;1;8;R;0;0;0.123456789", false),
        ] {
            assert_eq!(row(line).is_complete(), complete, "{line}");
        }
    }

    #[test]
    fn a_time_is_read_to_the_nanosecond_and_below_292_years() {
        for (text, ns) in [
            ("0", Some(0)),
            ("1.", Some(1_000_000_000)),
            (".5", Some(500_000_000)),
            ("0.12345678", Some(123_456_780)),
            ("0.123456789", Some(123_456_789)),
            ("0.1234567894", Some(123_456_789)),
            ("0.1234567895", Some(123_456_790)),
            ("0.00000000049999999999999999999", Some(0)),
            ("0.9999999995", Some(1_000_000_000)),
            ("9223372035.999999999", Some(9_223_372_035_999_999_999)),
            ("9223372036", None),
            ("99999999999999999999999", None),
            (".", None),
            ("1.5x", None),
            ("1.5.0", None),
            ("x", None),
        ] {
            let line = format!("{text} ; 1 ; 8 ; R");
            let start = row(&line).record().map(|record| record.request.start.get());
            assert_eq!(start.ok(), ns, "{text}");
        }
        let delays = |rest: &str| {
            let line = format!("0 ; 1 ; 8 ; R{rest}");
            let outcome = row(&line).record().unwrap().outcome;
            (outcome.delay, outcome.latency)
        };
        let (zero, one) = (Some(Nanos::ZERO), Some(Nanos::SECOND));
        for (rest, expected) in [
            ("", (None, None)),
            (";0", (None, None)),
            (";0;0", (None, None)),
            (";1", (one, None)),
            (";1;0", (one, zero)),
            (";0;1", (zero, one)),
            (" ; 1 ; 1 ", (one, one)),
        ] {
            assert_eq!(delays(rest), expected, "{rest}");
        }
    }

    #[test]
    fn only_a_flush_has_no_sectors_and_numbers_have_digits() {
        for (line, expected) in [
            ("0;0;0;F", Some((0, 0))),
            ("0;0;;F", None),
            ("0;;0;F", None),
            ("0;0;0;R", None),
            ("0;0;0;D", None),
            (
                "0;9223372036854775807;4294967295;R",
                Some(((1 << 63) - 1, u32::MAX)),
            ),
            ("0;9223372036854775808;1;R", None),
            ("0;99999999999999999999999;1;R", None),
            ("0;1;4294967296;R", None),
            ("0;1;8;", None),
            ("0;1;8; ;0", None),
        ] {
            let request = row(line).record().ok().map(|record| record.request);
            let seen = request.map(|of| (of.sector.get(), of.sectors.get()));
            assert_eq!(seen, expected, "{line}");
        }
    }

    #[test]
    fn a_message_stands_for_a_request_with_all_that_it_names() {
        let previous = Nanos::new(5);
        let read = |message: &str| row(message).info(previous);
        let record = |message: &str| read(message).unwrap().unwrap();
        let all = record(
            "INFO: failing block=9223372036854775807 len=4294967295 mode=wS start=9223372036.854775807 delay=2 \
             latency=3 errno=65535",
        );
        let expected = Record {
            request: Request {
                start: Nanos::new(i64::MAX as u64),
                sector: Sector::new(i64::MAX as u64),
                sectors: Sectors::new(u32::MAX),
                op: Op::Write,
                flags: crate::Flags::SYNC,
                ..Request::default()
            },
            outcome: Outcome {
                delay: Some(Nanos::from_millis(2000)),
                latency: Some(Nanos::from_millis(3000)),
                status: Status::Error(65_535),
                pushed_back: true,
            },
        };
        assert_eq!(all, expected);
        for (verb, status) in VERBS {
            let few = record(&format!("INFO: {verb} block=0 len=1 mode=R"));
            assert_eq!((few.request.start, few.outcome.status), (previous, status));
            assert_eq!((few.outcome.delay, few.outcome.latency), (None, None));
        }
        assert_eq!(
            record("INFO: failing block=1 len=0 mode=F").request.op,
            Op::Flush
        );
        let begin = "INFO: failing block=1 len=1 mode=R";
        for (message, field) in [
            (
                "INFO: failing block=9223372036854775808 len=1 mode=R".to_owned(),
                "block",
            ),
            (
                "INFO: failing block=1 len=4294967296 mode=R".to_owned(),
                "len",
            ),
            ("INFO: failing block=1 len=0 mode=W".to_owned(), "len"),
            ("INFO: other block=1 len=1 mode=R".to_owned(), "verb"),
            (format!("{begin} errno=65536"), "errno"),
            (format!("{begin} start=9223372036.854775808"), "start"),
            (format!("{begin} delay=9223372036.854775808"), "delay"),
            (format!("{begin} latency=x"), "latency"),
            (format!("{begin} blocks=1"), "message"),
        ] {
            match read(&message) {
                Err(TraceError::Field { field: seen, .. }) => assert_eq!(seen, field, "{message}"),
                other => panic!("{message}: {other:?}"),
            }
        }
        assert_eq!(read("INFO: whatever").unwrap(), None);
    }

    #[test]
    fn the_field_in_front_of_a_missing_separator_is_named() {
        for (line, field) in [
            ("0 x;1;8;R;0;0", "start"),
            ("0;1 x;8;R;0;0", "sector"),
            ("0;1;8 x;R;0;0", "sectors"),
            ("0;1;8;R x;0;0", "op"),
            ("0;1;8;R;0 x;0", "delay"),
            ("0;1;8;R;0;0 x", "end of line"),
        ] {
            match row(line).record() {
                Err(TraceError::Field { field: seen, .. }) => assert_eq!(seen, field, "{line}"),
                other => panic!("{line}: {other:?}"),
            }
        }
    }
}
