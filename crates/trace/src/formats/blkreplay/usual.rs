//! Rows with the same layout as one before, read eight bytes at a time.
//!
//! Programs pad the numbers of a row, so that its fields are in the same places as in the row before:
//!
//! ```text
//!      12.000000345 ;   12345678 ;   8 ; R ;   0.000000000 ;   0.012345678
//!      12.000451290 ;    9345678 ;  64 ; W ;   0.000000000 ;   0.000345678
//! ```
//!
//! A [`Layout`] is where they are. A row that keeps to it is read without looking for the ends of its fields: the processor
//! need not know where one ends before it reads the next. Anything else, damaged rows among it, is left to
//! [`Row`](super::row::Row), which decides what the format allows, and gives the next layout.

use iosonar_units::{Nanos, Sector, Sectors};

use crate::text::op_of_letters;
use crate::{Op, Outcome, Record, Request, Status};

/// The longest row, and what may be read behind it.
const WINDOW: usize = 128;
/// The bytes of a word.
const BYTES: usize = size_of::<u64>();
/// A byte in all places of a word.
const EVERY: u64 = u64::MAX / 255;
const BLANKS: u64 = EVERY * b' ' as u64;
const ZEROS: u64 = EVERY * b'0' as u64;
const HIGH_BITS: u64 = EVERY << 7;
const TENS: [u64; 9] = {
    let mut powers = [1; 9];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = 10 * powers[i - 1];
        i += 1;
    }
    powers
};
/// Between the digits of a field and the next field.
const SEPARATOR: &[u8] = b" ;";

/// The layout of the rows that come, learned from those before.
#[derive(Debug, Default)]
pub(super) struct Usual {
    layout: Option<Layout>,
    /// The length of the row that was seen last.
    length: usize,
}

impl Usual {
    /// A row that is not of the known layout. Of two behind each other with the same length, the rest probably has it too.
    pub(super) fn learn(&mut self, row: &[u8]) {
        if row.len() == self.length {
            self.layout = Layout::of(row);
        }
        self.length = row.len();
    }

    /// The record of the row at the beginning of `text`, and the number of bytes up to and with its newline. `None` if the
    /// row is of another layout, or `text` ends soon behind it.
    #[inline]
    pub(super) fn row(&self, text: &[u8]) -> Option<(Record, usize)> {
        self.layout.as_ref()?.row(text)
    }
}

/// Where the fields of a row are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    start: Time,
    sector: Number,
    sectors: Number,
    /// Where the letters begin, behind blanks. How many they are may differ from row to row.
    op: usize,
    /// Counted from the end of the letters.
    delay: Option<Time>,
    latency: Option<Time>,
}

/// Where a number is, with the blanks in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number {
    from: usize,
    /// From 1 to 8, of a sector to 16.
    width: usize,
}

/// Where a time is: seconds, a point, and decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Time {
    seconds: Number,
    /// From 1 to 9.
    decimals: usize,
}

impl Layout {
    /// That of a row, without its line end; `None` if it has none that is understood here.
    fn of(row: &[u8]) -> Option<Self> {
        if row.len() > WINDOW - 2 * BYTES {
            return None;
        }
        let mut fields = row.split(|b| *b == b';').peekable();
        let mut at = 0;
        // A field without the blank in front of the next `;`, and where it begins.
        let mut next = || {
            let field = fields.next()?;
            let from = at;
            at += field.len() + 1;
            match fields.peek() {
                Some(_) => Some((field.strip_suffix(b" ")?, from)),
                None => Some((field, from)),
            }
        };
        let start = Time::of(next()?, 0)?;
        let sector = Number::of(next()?, 2 * BYTES)?;
        let sectors = Number::of(next()?, BYTES)?;
        let (letters, from) = next()?;
        let op = from + letters.iter().take_while(|b| **b == b' ').count();
        let end = from + letters.len();
        let times = [next(), next()];
        if next().is_some() {
            return None;
        }
        let [delay, latency] = times.map(|time| time.map(|field| Time::of(field, end)));
        Some(Self {
            start,
            sector,
            sectors,
            op,
            delay: delay.map_or(Some(None), |time| time.map(Some))?,
            latency: latency.map_or(Some(None), |time| time.map(Some))?,
        })
    }

    #[inline]
    fn row(&self, text: &[u8]) -> Option<(Record, usize)> {
        let text: &[u8; WINDOW] = text.first_chunk()?;
        let start = self.start.read(text, 0)?;
        let sector = self.sector.read_long(text)?;
        let sectors = self.sectors.read(text, 0)? as u32;
        let letters = text[self.op..].iter();
        let letters = letters.take_while(|b| b.is_ascii_alphabetic()).count();
        let mut end = self.op + letters;
        let letters = op_of_letters(&text[self.op..end])?;
        let separated = [self.start.end(), self.sector.end(), self.sectors.end()];
        let separated = separated.map(|at| text.get(at..at + 2) == Some(SEPARATOR));
        let blanks = &text[self.sectors.end() + 2..self.op];
        if separated != [true; 3]
            || blanks.iter().any(|b| *b != b' ')
            || sectors == 0 && letters.op != Op::Flush
        {
            return None;
        }
        let mut times = [None; 2];
        let from = end;
        for (time, of) in times.iter_mut().zip([self.delay, self.latency]) {
            let Some(of) = of else { break };
            if text.get(end..end + 2) != Some(SEPARATOR) {
                return None;
            }
            *time = Some(of.read(text, from)?);
            end = from + of.end();
        }
        if text.get(end) != Some(&b'\n') {
            return None;
        }
        // Both zero means that nothing was measured.
        let [delay, latency] = match times.map(Option::unwrap_or_default) {
            [Nanos::ZERO, Nanos::ZERO] => [None; 2],
            _ => times,
        };
        let record = Record {
            request: Request {
                start,
                sector: Sector::new(sector),
                sectors: Sectors::new(sectors),
                op: letters.op,
                flags: letters.flags,
                ..Request::default()
            },
            outcome: Outcome {
                delay,
                latency,
                status: Status::Done,
                pushed_back: letters.pushed_back,
            },
        };
        Some((record, end + 1))
    }
}

impl Number {
    /// That of a field that begins at `from`, if it is no wider than this.
    fn of((field, from): (&[u8], usize), most: usize) -> Option<Self> {
        let width = field.len();
        (1..=most).contains(&width).then_some(Self { from, width })
    }

    fn end(self) -> usize {
        self.from + self.width
    }

    /// Blanks and up to eight digits; `base` is where places are counted from.
    #[inline]
    fn read(self, text: &[u8; WINDOW], base: usize) -> Option<u64> {
        let bits = 8 * self.width as u32;
        let word = word(text, base + self.from)? << (u64::BITS - bits);
        padded(word | BLANKS.unbounded_shr(bits))
    }

    /// Blanks and up to sixteen digits.
    #[inline]
    fn read_long(self, text: &[u8; WINDOW]) -> Option<u64> {
        if self.width <= BYTES {
            return self.read(text, 0);
        }
        let low = word(text, self.end() - BYTES)?;
        let bits = 8 * (self.width - BYTES) as u32;
        let high = word(text, self.from)? << (u64::BITS - bits);
        let high = high | BLANKS.unbounded_shr(bits);
        if high == BLANKS {
            return padded(low);
        }
        // Of both, 16 digits are below 2^63.
        Some(padded(high)? * TENS[8] + digits(low ^ ZEROS)?)
    }
}

impl Time {
    /// That of a field that begins at `from`, counted from `base`.
    fn of((field, from): (&[u8], usize), base: usize) -> Option<Self> {
        let point = field.iter().position(|b| *b == b'.')?;
        let decimals = field.len() - point - 1;
        let seconds = Number::of((&field[..point], from - base), BYTES)?;
        let time = Self { seconds, decimals };
        (1..=9).contains(&decimals).then_some(time)
    }

    fn end(self) -> usize {
        self.seconds.end() + 1 + self.decimals
    }

    #[inline]
    fn read(self, text: &[u8; WINDOW], base: usize) -> Option<Nanos> {
        let seconds = self.seconds.read(text, base)?;
        let point = base + self.seconds.end();
        if text.get(point) != Some(&b'.') {
            return None;
        }
        let first = word(text, point + 1)? ^ ZEROS;
        let nanos = match self.decimals {
            9 => {
                let last = text.get(point + 9)?.wrapping_sub(b'0');
                if last > 9 {
                    return None;
                }
                10 * digits(first)? + u64::from(last)
            }
            // Those that are missing are zeros.
            n => 10 * digits(first << (u64::BITS as usize - 8 * n))? * TENS[8 - n],
        };
        Some(Nanos::new(seconds * 1_000_000_000 + nanos))
    }
}

/// Eight bytes, the first in the lowest bits.
#[inline]
fn word(text: &[u8; WINDOW], at: usize) -> Option<u64> {
    let bytes = text.get(at..at + BYTES)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// The number that eight bytes are: blanks, then digits.
#[inline]
fn padded(word: u64) -> Option<u64> {
    // Whole bytes.
    let blanks = (word ^ BLANKS).trailing_zeros() & !7;
    if blanks == u64::BITS {
        return None;
    }
    digits((word ^ ZEROS) & u64::MAX << blanks)
}

/// The number that eight digits are, each in a byte, the first in the lowest bits; `None` if one is above nine.
#[inline]
fn digits(word: u64) -> Option<u64> {
    // A sum carries into the next byte only out of one that is no digit.
    if (word.wrapping_add(EVERY * 0x76) | word) & HIGH_BITS != 0 {
        return None;
    }
    // Neighbours are joined: pairs, fours, eights.
    let word = (word * 10 + (word >> 8)) & 0x00ff_00ff_00ff_00ff;
    let word = (word * 100 + (word >> 16)) & 0x0000_ffff_0000_ffff;
    Some((word.wrapping_mul(10_000) + (word >> 32)) & 0xffff_ffff)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::super::row::{Row, is_data};
    use super::*;
    use crate::text::Line;

    /// What the straightforward reader makes of the first line of `text`.
    fn straightforward(text: &[u8]) -> Option<(Record, usize)> {
        let end = text.iter().position(|b| *b == b'\n')?;
        let line = text[..end].strip_suffix(b"\r").unwrap_or(&text[..end]);
        let line = Line {
            bytes: line,
            number: 1,
            path: Path::new("x.load"),
        };
        let record = is_data(line.bytes).then(|| Row(line).record().ok())??;
        Some((record, end + 1))
    }

    fn usual(before: &[u8]) -> Usual {
        let mut usual = Usual::default();
        usual.learn(before);
        usual.learn(before);
        usual
    }

    /// With more behind it than may be read.
    fn followed(line: &str) -> Vec<u8> {
        format!("{line}\n{}", "7 ;.".repeat(WINDOW)).into_bytes()
    }

    /// Blanks, numbers and separators as programs write them, and as they do not.
    fn lines() -> impl Strategy<Value = String> {
        let number = prop_oneof![" {0,9}[0-9]{1,3}", " {0,6}[0-9]{7,9}", "[0-9]{14,21}"];
        let time = prop_oneof![
            " {0,3}[0-9]{1,4}\\.[0-9]{9}",
            "[0-9]{0,11}\\.?[0-9]{0,11}",
            Just("9223372035.999999999".to_owned()),
            Just("9223372036.000000000".to_owned()),
            Just("0.0".to_owned()),
        ];
        let sectors = prop_oneof![" {0,2}[0-9]{1,3}", "429496729[4-7]", "0{1,12}8"];
        let op = prop_oneof!["[RW]", "[RWDFrwdfzASMN]{0,4}", "[A-Z]{1,9}"];
        let separator =
            prop_oneof![8 => Just(" ; "), 1 => Just(" ;"), 1 => Just("; "), 1 => Just("\t; ")];
        let end = prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\r"), 1 => Just(" ; 7")];
        let field = (separator.clone(), time.clone());
        let more = prop::collection::vec(field, 0..4);
        let first = (" {0,3}", time, separator.clone(), number);
        let second = (separator.clone(), sectors, separator, op);
        (first, second, more, end).prop_map(|(first, second, more, end)| {
            let (blanks, start, to_sector, sector) = first;
            let (to_length, length, to_op, op) = second;
            let more = more.into_iter();
            let more: String = more.map(|(to, time)| to.to_owned() + &time).collect();
            format!("{blanks}{start}{to_sector}{sector}{to_length}{length}{to_op}{op}{more}{end}")
        })
    }

    const WRITTEN: &str = "  12.000000345 ;  123456789 ;  16 ; R ;   0.000000007 ;   0.012345678";

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn what_is_read_is_what_the_straightforward_reader_reads(
            before in lines(),
            line in lines(),
        ) {
            for before in [before.as_str(), line.as_str(), WRITTEN] {
                let text = followed(&line);
                if let Some(read) = usual(before.as_bytes()).row(&text) {
                    prop_assert_eq!(Some(read), straightforward(&text), "{:?}", line);
                }
            }
        }

        #[test]
        fn changed_bytes_are_read_alike(
            changes in prop::collection::vec((0..WRITTEN.len(), any::<u8>()), 1..4),
            digits in prop::collection::vec((0..WRITTEN.len(), prop::sample::select(b" 0189.;".as_slice())), 1..4),
        ) {
            for changes in [changes, digits] {
                let mut text = followed(WRITTEN);
                for (place, byte) in changes {
                    text[place] = byte;
                }
                if let Some(read) = usual(WRITTEN.as_bytes()).row(&text) {
                    prop_assert_eq!(Some(read), straightforward(&text), "{:?}", text);
                }
            }
        }

        #[test]
        fn rows_as_they_are_written_are_usual(
            times in prop::array::uniform3(0..9_999_999_000_000_000_u64),
            sector in 0..1_000_000_000_000_000_u64,
            sectors in 1..10_000_000_u32,
            op in prop::sample::select(&["R", "W", "WS", "RA", "FWFS", "D", "r"][..]),
            decimals in 1..=9_usize,
        ) {
            let row = |times: [u64; 3], sector, sectors, op| {
                let [start, delay, latency] = times.map(|t| {
                    let nanos = format!("{:09}", t % 1_000_000_000);
                    format!("{:7}.{}", t / 1_000_000_000, &nanos[..decimals])
                });
                [
                    format!("{start} ; {sector:15} ; {sectors:7} ; {op} ; {delay} ; {latency}"),
                    format!("{start} ; {sector:15} ; {sectors:7} ; {op} ; {delay}"),
                    format!("{start} ;{sector:16} ;{sectors:8} ; {op}"),
                ]
            };
            let first = row([0; 3], 0, 1, "R");
            for (before, line) in first.iter().zip(row(times, sector, sectors, op)) {
                let text = followed(&line);
                let read = usual(before.as_bytes()).row(&text);
                prop_assert!(read.is_some(), "{:?}", line);
                prop_assert_eq!(read, straightforward(&text), "{:?}", line);
            }
        }
    }

    #[test]
    fn digits_are_refused_where_one_is_none() {
        for value in 0..=u8::MAX {
            for place in 0..BYTES {
                let mut text = *b"12345678";
                text[place] = value;
                let number = std::str::from_utf8(&text)
                    .ok()
                    .filter(|text| !text.starts_with('+'));
                let expected = number.and_then(|text| text.parse().ok());
                assert_eq!(
                    digits(u64::from_le_bytes(text) ^ ZEROS),
                    expected,
                    "{text:?}"
                );
                let blank = String::from_utf8_lossy(&text)
                    .trim_start_matches(' ')
                    .parse()
                    .ok();
                let expected = expected.or(blank.filter(|_| value == b' '));
                assert_eq!(padded(u64::from_le_bytes(text)), expected, "{text:?}");
            }
        }
    }

    #[test]
    fn a_layout_is_learned_of_two_rows_of_one_length_behind_each_other() {
        let (short, long) = ("0.5 ; 1 ; 8 ; R", "0.5 ; 11 ; 8 ; R");
        let mut usual = Usual::default();
        let reads = |usual: &Usual| [short, long].map(|row| usual.row(&followed(row)).is_some());
        for (row, expected) in [
            (short, [false, false]),
            (long, [false, false]),
            (short, [false, false]),
            (short, [true, false]),
            (long, [true, false]),
            (long, [false, true]),
        ] {
            usual.learn(row.as_bytes());
            assert_eq!(reads(&usual), expected, "{row}");
        }
    }

    #[test]
    fn a_usual_row_leaves_two_words_of_the_window_behind_it() {
        let of_length = |length: usize| {
            let blanks = length - "0.5 ; 1 ; 8 ; R".len();
            let row = format!("0.5 ; 1 ; 8 ; {}R", " ".repeat(blanks));
            Layout::of(row.as_bytes()).is_some()
        };
        let longest = WINDOW - 2 * BYTES;
        assert_eq!(longest, 112);
        assert_eq!(
            [100, longest, longest + 1, WINDOW, 2 * WINDOW].map(of_length),
            [true, true, false, false, false]
        );
    }

    #[test]
    fn a_field_is_no_wider_than_what_is_read_of_it() {
        // With the blanks in front of it.
        for (row, is_usual) in [
            ("12345678.5 ; 1 ; 8 ; R", true),
            ("123456789.5 ; 1 ; 8 ; R", false),
            ("1.123456789 ; 1 ; 8 ; R", true),
            ("1.1234567890 ; 1 ; 8 ; R", false),
            ("1. ; 1 ; 8 ; R", false),
            ("1 ; 1 ; 8 ; R", false),
            (".5 ; 1 ; 8 ; R", false),
            ("1.5 ;1234567890123456 ; 8 ; R", true),
            ("1.5 ; 1234567890123456 ; 8 ; R", false),
            ("1.5 ; 1 ;12345678 ; R", true),
            ("1.5 ; 1 ; 12345678 ; R", false),
            ("1.5 ; 1 ; 8 ; R ; 0.0 ; 0.0", true),
            ("1.5 ; 1 ; 8 ; R ; 0.0 ; 0.0 ; 7", false),
            ("1.5 ; 1 ; 8 ; R ; 0 ; 0.0", false),
            ("1.5 ; 1 ; 8", false),
        ] {
            assert_eq!(Layout::of(row.as_bytes()).is_some(), is_usual, "{row}");
            let text = followed(row);
            let read = usual(row.as_bytes()).row(&text);
            assert_eq!(read.is_some(), is_usual, "{row}");
            if is_usual {
                assert_eq!(read, straightforward(&text), "{row}");
            }
        }
    }

    #[test]
    fn a_usual_row_without_sectors_is_a_flush() {
        let layout = usual(b"0.5 ; 1 ; 8 ; R");
        for (row, is_read) in [
            ("0.5 ; 1 ; 8 ; R", true),
            ("0.5 ; 1 ; 0 ; R", false),
            ("0.5 ; 1 ; 0 ; F", true),
            ("0.5 ; 1 ; 1 ; F", true),
        ] {
            assert_eq!(layout.row(&followed(row)).is_some(), is_read, "{row}");
        }
    }
}
