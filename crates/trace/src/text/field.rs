//! A line, its fields, and the numbers in them.

use std::path::Path;

use iosonar_units::{Nanos, SECTOR_BYTES};

use crate::error::{Place, excerpt};
use crate::limits::LIMIT;
use crate::{Op, TraceError};

/// A line with its place, for errors that name both.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) number: u64,
    pub(crate) path: &'a Path,
}

impl<'a> Line<'a> {
    /// The place of the byte at `at`.
    pub(crate) fn place(&self, at: usize) -> Place {
        Place {
            column: at + 1,
            ..Place::of(self.path, self.number)
        }
    }

    /// Where `part`, a piece of the line, begins in it.
    fn offset(&self, part: &[u8]) -> usize {
        let offset = (part.as_ptr() as usize).wrapping_sub(self.bytes.as_ptr() as usize);
        offset.min(self.bytes.len())
    }

    /// What the line has behind `part`, a piece of it.
    pub(crate) fn behind(&self, part: &[u8]) -> &'a [u8] {
        let from = self.offset(part).saturating_add(part.len());
        &self.bytes[from.min(self.bytes.len())..]
    }

    /// An error about `part`, a piece of this line that holds the field `field`.
    #[cold]
    pub(crate) fn wrong(
        &self,
        field: &str,
        part: &[u8],
        expected: impl Into<String>,
    ) -> TraceError {
        TraceError::Field {
            place: self.place(self.offset(part)),
            field: field.to_owned(),
            seen: excerpt(part),
            expected: expected.into(),
        }
    }

    /// Refuses zero bytes: no text has them, but a hole in a file does.
    #[inline]
    pub(crate) fn check_text(&self) -> Result<(), TraceError> {
        match memchr::memchr(0, self.bytes) {
            None => Ok(()),
            Some(at) => Err(self.wrong("line", &self.bytes[at..], "text without null bytes")),
        }
    }

    /// An error about a field that the line ends before.
    #[cold]
    pub(crate) fn missing(&self, field: &str, expected: &str) -> TraceError {
        TraceError::MissingField {
            place: self.place(self.bytes.len()),
            field: field.to_owned(),
            expected: expected.to_owned(),
        }
    }

    /// The fields between `delimiter`s, blanks around them cut off: exactly `N`, named in `shape`.
    pub(crate) fn separated<const N: usize>(
        &self,
        delimiter: u8,
        shape: &'static str,
    ) -> Result<[&'a [u8]; N], TraceError> {
        let parts = self
            .bytes
            .split(|&b| b == delimiter)
            .map(<[u8]>::trim_ascii);
        self.exactly(parts, shape)
    }

    /// The fields between blanks: exactly `N`, named in `shape`.
    pub(crate) fn words<const N: usize>(
        &self,
        shape: &'static str,
    ) -> Result<[&'a [u8]; N], TraceError> {
        self.exactly(words(self.bytes), shape)
    }

    fn exactly<const N: usize>(
        &self,
        mut parts: impl Iterator<Item = &'a [u8]>,
        shape: &'static str,
    ) -> Result<[&'a [u8]; N], TraceError> {
        let mut fields = [&[][..]; N];
        for (i, field) in fields.iter_mut().enumerate() {
            *field = parts
                .next()
                .ok_or_else(|| self.missing(&format!("number {}", i + 1), shape))?;
        }
        match parts.next() {
            None => Ok(fields),
            Some(more) => {
                Err(self.wrong("end of line", more, format!("the end of the line: {shape}")))
            }
        }
    }

    /// A whole number.
    #[inline]
    pub(crate) fn number(&self, field: &str, part: &[u8]) -> Result<u64, TraceError> {
        whole(part).ok_or_else(|| self.wrong(field, part, "a whole number of at least 0"))
    }

    /// A whole number of at most `most`.
    pub(crate) fn number_up_to(
        &self,
        field: &str,
        part: &[u8],
        most: u64,
    ) -> Result<u64, TraceError> {
        match whole(part) {
            Some(n) if n <= most => Ok(n),
            _ => Err(self.wrong(field, part, format!("a whole number from 0 to {most}"))),
        }
    }

    /// A time: a decimal number of units of `unit_ns` nanoseconds, below 2^63 ns, not negative.
    #[inline]
    pub(crate) fn time(&self, field: &str, part: &[u8], unit_ns: u64) -> Result<Nanos, TraceError> {
        match decimal(part, unit_ns) {
            Some(ns) if ns < LIMIT => Ok(Nanos::new(ns)),
            _ => Err(self.wrong(
                field,
                part,
                format!(
                    "a time in {}, at least 0 and below 292 years",
                    unit(unit_ns)
                ),
            )),
        }
    }

    /// A first sector, in sectors.
    pub(crate) fn sector(&self, field: &str, part: &[u8]) -> Result<u64, TraceError> {
        match whole(part) {
            Some(n) if n < LIMIT => Ok(n),
            _ => Err(self.wrong(
                field,
                part,
                "a sector number (sectors of 512 B), 0 to 2^63 - 1",
            )),
        }
    }

    /// A length in sectors.
    pub(crate) fn sectors(&self, field: &str, part: &[u8]) -> Result<u32, TraceError> {
        match whole(part).map(u32::try_from) {
            Some(Ok(n)) => Ok(n),
            _ => Err(self.wrong(field, part, "a length in sectors, 0 to 2^32 - 1")),
        }
    }

    /// An operation: read or write, as a word or its first letter.
    pub(crate) fn direction(&self, field: &str, part: &[u8]) -> Result<Op, TraceError> {
        super::direction(part).ok_or_else(|| self.wrong(field, part, "R (read) or W (write)"))
    }

    /// An offset in bytes of a sector with a number.
    pub(crate) fn offset_bytes(&self, field: &str, part: &[u8]) -> Result<u64, TraceError> {
        self.number(field, part)
    }

    /// A length in bytes of up to 2^32 - 1 sectors.
    pub(crate) fn length_bytes(&self, field: &str, part: &[u8]) -> Result<u64, TraceError> {
        match whole(part) {
            Some(n) if n <= u64::from(u32::MAX) * SECTOR_BYTES => Ok(n),
            _ => Err(self.wrong(field, part, "a length in bytes, at most 2^32 - 1 sectors")),
        }
    }
}

fn unit(unit_ns: u64) -> &'static str {
    match unit_ns {
        1 => "nanoseconds",
        100 => "units of 100 ns",
        1_000 => "microseconds",
        1_000_000 => "milliseconds",
        _ => "seconds",
    }
}

/// The words of a line.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|b| matches!(b, b' ' | b'\t'))
        .filter(|word| !word.is_empty())
}

/// A whole number; `None` if it is not one, or exceeds 64 bits.
#[inline]
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    let mut value = 0_u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// A decimal number times `scale`, rounded to the nearest whole number: `0.0095`, `.5`, `1e-05`. `None` if
/// it is negative, no number, or beyond 64 bits.
pub(crate) fn decimal(text: &[u8], scale: u64) -> Option<u64> {
    let (mantissa, exponent) = match text.iter().position(|b| matches!(b, b'e' | b'E')) {
        None => (text, 0),
        Some(at) => {
            let digits = std::str::from_utf8(&text[at + 1..]).ok()?;
            (&text[..at], digits.parse::<i32>().ok()?)
        }
    };
    // The number is digits * 10^(exponent - decimals); digits beyond the 19th only round.
    let (mut digits, mut decimals, mut seen, mut kept) = (0_u128, 0_i32, false, 0);
    let mut point = false;
    for &byte in mantissa.strip_prefix(b"+").unwrap_or(mantissa) {
        match byte {
            b'.' if !point => point = true,
            b'0'..=b'9' => {
                seen = true;
                if kept < 24 {
                    digits = digits * 10 + u128::from(byte - b'0');
                    kept += i32::from(digits > 0);
                    decimals += i32::from(point);
                } else {
                    decimals -= i32::from(!point);
                }
            }
            _ => return None,
        }
    }
    if !seen {
        return None;
    }
    if digits == 0 {
        return Some(0);
    }
    let shift = exponent.checked_sub(decimals)?;
    let value = if shift >= 0 {
        // 10^20 has more than 64 bits.
        if shift > 19 {
            return None;
        }
        digits
            .checked_mul(10_u128.pow(shift as u32))?
            .checked_mul(u128::from(scale))?
    } else {
        let product = digits.checked_mul(u128::from(scale))?;
        match shift.unsigned_abs() {
            // Less than half a unit, however it ends.
            39.. => 0,
            n => {
                let divisor = 10_u128.pow(n);
                // Half of the divisor cannot be added where that overflows.
                let (quotient, rest) = (product / divisor, product % divisor);
                quotient + u128::from(rest >= divisor - rest)
            }
        }
    };
    u64::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_read_exactly() {
        for (text, ns) in [
            ("0.5", Some(500_000_000)),
            (".5", Some(500_000_000)),
            ("1e-05", Some(10_000)),
            ("1.5E+2", Some(150_000_000_000)),
            ("0.00000000049999", Some(0)),
            ("0.0000000005", Some(1)),
            ("12345678901.123456789", None),
            ("9223372036.854775807", Some(9_223_372_036_854_775_807)),
            (
                "0.1234567894999999999999999999999999999999",
                Some(123_456_789),
            ),
            ("1e-400", Some(0)),
            ("1e400", None),
            ("1e99999999999", None),
            ("-1", None),
            ("1.2.3", None),
            ("", None),
            (".", None),
            ("nan", None),
        ] {
            let expected = if text == "12345678901.123456789" {
                Some(12_345_678_901_123_456_789)
            } else {
                ns
            };
            assert_eq!(decimal(text.as_bytes(), 1_000_000_000), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nine_decimals_come_back(ns in 0..u64::MAX) {
            let text = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            prop_assert_eq!(decimal(text.as_bytes(), 1_000_000_000), Some(ns));
        }

        #[test]
        fn nothing_panics(text in prop::collection::vec(prop::sample::select(b"0123456789.eE+-".as_slice()), 0..60)) {
            let _ = decimal(&text, 1_000_000_000);
            let _ = whole(&text);
        }
    }

    #[test]
    fn the_unit_of_a_time_is_named_where_it_is_wrong() {
        let line = Line {
            bytes: b"x",
            number: 1,
            path: std::path::Path::new("x"),
        };
        for (unit, name) in [
            (1, "nanoseconds"),
            (100, "units of 100 ns"),
            (1_000, "microseconds"),
            (1_000_000, "milliseconds"),
            (1_000_000_000, "seconds"),
        ] {
            let error = line.time("time", line.bytes, unit).unwrap_err().to_string();
            let expected = format!("expected a time in {name}, at least 0");
            assert!(error.contains(&expected), "{error}");
        }
    }

    #[test]
    fn the_largest_numbers_are_read_and_the_next_are_not() {
        let line = |bytes| Line {
            bytes,
            number: 1,
            path: std::path::Path::new("x"),
        };
        for (text, whole_number, sector) in [
            ("0", Some(0), Some(0)),
            ("00000000000000000007", Some(7), Some(7)),
            ("000000000000000000007", None, None),
            (
                "9223372036854775807",
                Some((1 << 63) - 1),
                Some((1 << 63) - 1),
            ),
            ("9223372036854775808", Some(1 << 63), None),
            ("18446744073709551615", Some(u64::MAX), None),
            ("18446744073709551616", None, None),
            ("1a", None, None),
            ("", None, None),
        ] {
            let bytes = text.as_bytes();
            assert_eq!(whole(bytes), whole_number, "{text}");
            assert_eq!(line(bytes).sector("sector", bytes).ok(), sector, "{text}");
        }
    }

    #[test]
    fn a_decimal_is_exact_up_to_64_bits_whatever_its_zeros() {
        for (text, scale, value) in [
            // 26 zeros that are no digits of the number.
            ("0.000000000000000000000000001e27", 1, Some(1)),
            ("00000000000000000000000000007", 1, Some(7)),
            // 28 digits before the point, and 28 behind it.
            ("1000000000000000000000000000e-27", 1, Some(1)),
            ("1234567890123456789012345678e-20", 1, Some(12_345_679)),
            ("1.234567890123456789012345678e3", 1, Some(1235)),
            ("1e19", 1, Some(10_000_000_000_000_000_000)),
            ("1e20", 1, None),
            ("18446744073709551615", 1, Some(u64::MAX)),
            ("18446744073709551616", 1, None),
            ("18446744073709551615.4", 1, Some(u64::MAX)),
            ("18446744073709551615.5", 1, None),
            ("+2.5", 10, Some(25)),
            ("0.04", 10, Some(0)),
            ("0.05", 10, Some(1)),
            ("0.14", 10, Some(1)),
            ("0e30", 1, Some(0)),
            ("1e-38", 1, Some(0)),
            ("1e-39", 1, Some(0)),
            ("++1", 1, None),
            ("1e", 1, None),
            ("1 ", 1, None),
        ] {
            assert_eq!(decimal(text.as_bytes(), scale), value, "{text}");
        }
    }

    #[test]
    fn a_number_has_the_bounds_of_its_field() {
        for (text, number) in [
            ("0", 0),
            ("4294967295", u64::from(u32::MAX)),
            ("4294967296", 1 << 32),
            ("2199023255040", u64::from(u32::MAX) * 512),
            ("2199023255041", u64::from(u32::MAX) * 512 + 1),
            ("9223372036854775807", (1 << 63) - 1),
            ("9223372036854775808", 1 << 63),
            ("18446744073709551615", u64::MAX),
        ] {
            let line = Line {
                bytes: text.as_bytes(),
                number: 1,
                path: std::path::Path::new("x"),
            };
            let part = line.bytes;
            let below_63_bits = number < 1 << 63;
            assert_eq!(line.number("n", part).unwrap(), number);
            assert_eq!(line.time("n", part, 1).is_ok(), below_63_bits, "{text}");
            assert_eq!(line.sector("n", part).is_ok(), below_63_bits, "{text}");
            let is_length = u32::try_from(number).is_ok();
            assert_eq!(line.sectors("n", part).is_ok(), is_length, "{text}");
            let is_length = number <= u64::from(u32::MAX) * 512;
            assert_eq!(line.length_bytes("n", part).is_ok(), is_length, "{text}");
            assert!(line.number_up_to("n", part, number).is_ok());
            assert!(number == 0 || line.number_up_to("n", part, number - 1).is_err());
        }
    }
}
