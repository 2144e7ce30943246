//! Values of a parameter that is varied: a list, ranges, or both, with units.
//!
//! ```
//! use iosonar_units::Values;
//!
//! let values = |text: &str| text.parse::<Values>().unwrap().join(" ");
//! assert_eq!(values("4..7, 12"), "4 5 6 7 12");
//! assert_eq!(values("4..16 step 4"), "4 8 12 16");
//! assert_eq!(values("1..1000 log 4"), "1 10 100 1000");
//! assert_eq!(values("4KiB..64KiB log 5"), "4KiB 8KiB 16KiB 32KiB 64KiB");
//! ```

use std::cmp::Ordering;
use std::ops::Deref;
use std::str::FromStr;

use crate::{Bytes, Nanos, ParseUnitError};

/// What may be written, for messages.
const GRAMMAR: &str =
    "a list such as 4,8,16 or a range: 4..12, 4..64 step 4, 1..1000 log 7, 4KiB..64KiB log 5";

/// More values of a range are a mistake.
const MOST_VALUES: f64 = 1e6;

/// The largest whole number with neighbours on both sides: 2^53 - 1.
const MOST_EXACT: f64 = 9_007_199_254_740_991.0;

/// The values of a parameter, as they were written or as its ranges have them, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values(Vec<String>);

impl Deref for Values {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

impl IntoIterator for Values {
    type Item = String;
    type IntoIter = std::vec::IntoIter<String>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Values or ranges with commas between them. A comma in quotes or brackets is part of its value.
impl FromStr for Values {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut values = Vec::new();
        for item in items(text) {
            match range(item)? {
                _ if item.is_empty() => {
                    return Err(format!("'{text}' has an empty value, expected {GRAMMAR}"));
                }
                Some(range) => values.extend(range),
                None => values.push(item.to_owned()),
            }
        }
        Ok(Self(values))
    }
}

/// What is between the commas that are in no brackets and no quotes.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let (mut depth, mut quote) = (0_u32, None);
    let parts = text.split(move |c: char| {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0 && quote.is_none()
    });
    parts.map(str::trim)
}

/// The values of `A..B`, `A..B step S` or `A..B log N`; `None` if the text is not a range of numbers.
fn range(text: &str) -> Result<Option<Vec<String>>, String> {
    let Some((from, rest)) = text.split_once("..") else {
        return Ok(None);
    };
    // As in `4KiB..64 KiB`, a unit may stand apart from its number.
    let (to, how) = match rest.find("step").or_else(|| rest.find("log")) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (Some(from), Some(to)) = (Number::parse(from), Number::parse(to)) else {
        let is_number = |text: &str| text.trim().starts_with(|c: char| c.is_ascii_digit());
        return match is_number(from) && is_number(rest) {
            true => Err(format!("'{text}' is not a range, expected {GRAMMAR}")),
            false => Ok(None),
        };
    };
    let wrong = |problem: &str| format!("'{text}' {problem}");
    // A bare end may mean the unit of the other one, or bytes.
    for (bare, unit) in [(from, to.unit), (to, from.unit)] {
        if bare.unit.is_empty() && !unit.is_empty() {
            return Err(wrong(&format!(
                "has a unit at only one end, expected the same unit at both: {0} has no unit, write {0}{unit}{1}",
                bare.value,
                bytes_as_well(bare.value, unit)
            )));
        }
    }
    for end in [from, to] {
        if end.value.abs() > MOST_EXACT {
            return Err(wrong(&format!(
                "exceeds {MOST_EXACT}, above which ranges are not exact: list the values, separated by commas"
            )));
        }
    }
    let to = to
        .in_unit(from.unit)
        .ok_or_else(|| wrong("has different units at its two ends, expected the same unit"))?;
    let (word, number) = how.split_at(how.find(|c: char| !c.is_alphabetic()).unwrap_or(how.len()));
    let number = Number::parse(number);
    let is_whole = from.value.fract() == 0.0 && to.value.fract() == 0.0;
    let values = match (word, number) {
        ("", None) if is_whole && from.unit.is_empty() && from.value <= to.value => {
            spread(from.value, to.value, Spacing::Step(1.0))
        }
        ("", None) => Err(format!(
            "needs a step or a number of values: '{} step S' or '{} log N'",
            text.trim(),
            text.trim()
        )),
        ("step", Some(step)) => match step.in_unit(from.unit) {
            Some(step) => spread(from.value, to.value, Spacing::Step(step.value)),
            None => Err("has a step whose unit differs from that of its ends".to_owned()),
        },
        ("log", Some(n)) if n.unit.is_empty() => {
            spread(from.value, to.value, Spacing::Log(n.value))
        }
        _ => Err(format!("is not a range, expected {GRAMMAR}")),
    };
    let values = values.map_err(|problem| wrong(&problem))?;
    let rounds = is_whole && word == "log";
    let mut texts: Vec<String> = values
        .into_iter()
        .map(|x| from.unit_text(if rounds { x.round() } else { x }))
        .collect();
    texts.dedup();
    Ok(Some(texts))
}

/// What a number may mean besides, where its unit is missing in a range of sizes.
fn bytes_as_well(value: f64, unit: &str) -> String {
    match factor(unit) {
        Some((Kind::Bytes, bytes)) if bytes > 1.0 => format!(" or {value}B"),
        _ => String::new(),
    }
}

/// A number as it is written, with its unit.
#[derive(Clone, Copy, Debug)]
struct Number<'a> {
    value: f64,
    unit: &'a str,
}

impl<'a> Number<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let text = text.trim();
        // An exponent is part of the number: 1e5.
        let end = text
            .char_indices()
            .map(|(at, c)| at + c.len_utf8())
            .rev()
            .find(|&end| text[..end].parse::<f64>().is_ok_and(f64::is_finite))?;
        let unit = text[end..].trim();
        let is_unit = unit.is_empty() || unit == "%" || factor(unit).is_some();
        is_unit.then(|| Self {
            value: text[..end].parse().expect("it was one"),
            unit,
        })
    }

    /// The same in another unit; a number without a unit is in any.
    fn in_unit(self, unit: &'a str) -> Option<Self> {
        if self.unit == unit || self.unit.is_empty() {
            return Some(Self { unit, ..self });
        }
        let ((kind, one), (other, another)) = (factor(self.unit)?, factor(unit)?);
        (kind == other).then(|| Self {
            value: self.value * one / another,
            unit,
        })
    }

    /// A value in this unit, in the largest binary one in which it is a whole number.
    fn unit_text(self, mut value: f64) -> String {
        let mut unit = self.unit;
        for (small, large) in [("KiB", "MiB"), ("MiB", "GiB"), ("GiB", "TiB")] {
            if unit == small && value >= 1024.0 && value % 1024.0 == 0.0 {
                (value, unit) = (value / 1024.0, large);
            }
        }
        format!("{value}{unit}")
    }
}

/// What a unit counts, and how many of its kind's smallest one it has.
fn factor(unit: &str) -> Option<(Kind, f64)> {
    let one = format!("1{unit}");
    // Of both readings of `s`, seconds and sectors, either will do: it is the same at both ends.
    if let Ok(time) = one.parse::<Nanos>() {
        return Some((Kind::Time, time.as_secs_f64()));
    }
    let bytes = one.parse::<Bytes>().ok()?;
    Some((Kind::Bytes, bytes.get() as f64))
}

/// What the values of a parameter count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something without a unit.
    Number,
    /// Bytes.
    Bytes,
    /// Seconds.
    Time,
    /// Hundredths.
    Percent,
}

/// How large a value is, as in `16`, `8KiB`, `1.5ms` or `70%`: in numbers, bytes, seconds, or percent; `None` of a
/// word. Quotes around it do not count.
pub fn magnitude(text: &str) -> Option<(f64, Kind)> {
    let number = Number::parse(text.trim().trim_matches(['"', '\'']))?;
    match number.unit {
        "" => Some((number.value, Kind::Number)),
        "%" => Some((number.value, Kind::Percent)),
        unit => factor(unit).map(|(kind, factor)| (number.value * factor, kind)),
    }
}

/// The order of two values: numbers, sizes and times by how large they are, and before words, which are in the order
/// of the alphabet.
pub fn by_magnitude(a: &str, b: &str) -> Ordering {
    match (magnitude(a), magnitude(b)) {
        (Some((a, _)), Some((b, _))) => a.total_cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// How values lie between two ends, which are included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spacing {
    /// Each this much after the one before.
    Step(f64),
    /// This number of values at equal distances.
    Even(f64),
    /// This number of values by equal factors.
    Log(f64),
}

/// The values between two ends.
///
/// # Errors
/// What is wrong, to be said of the range.
pub fn spread(from: f64, to: f64, spacing: Spacing) -> Result<Vec<f64>, String> {
    let (n, log) = match spacing {
        Spacing::Step(step) => return by_step(from, to, step),
        Spacing::Even(n) => (n, false),
        Spacing::Log(n) => (n, true),
    };
    if n.fract() != 0.0 || !(2.0..=MOST_VALUES).contains(&n) {
        return Err(format!(
            "has {n} values, expected a whole number from 2 to {MOST_VALUES}"
        ));
    }
    if log && (from <= 0.0 || to <= 0.0) {
        return Err("is logarithmic, so both of its ends must be greater than 0".to_owned());
    }
    let last = n as u64 - 1;
    let at = |i: u64| {
        let share = i as f64 / (n - 1.0);
        match i {
            0 => from,
            _ if i == last => to,
            _ if log => tidy(from * (to / from).powf(share)),
            _ => tidy(from + (to - from) * share),
        }
    };
    Ok((0..n as u64).map(at).collect())
}

fn by_step(from: f64, to: f64, step: f64) -> Result<Vec<f64>, String> {
    let steps = (to - from) / step;
    if step == 0.0 || !(0.0..=MOST_VALUES).contains(&steps) {
        return Err(format!(
            "has a step of {step}, which does not get from {from} to {to} in at most {MOST_VALUES} steps"
        ));
    }
    // A step that comes to the end but for rounding does.
    let steps = (steps * (1.0 + 1e-12)).floor() as u64;
    // Whole numbers stay exactly what they are.
    let is_whole = from.fract() == 0.0 && step.fract() == 0.0;
    let exact = |x: f64| if is_whole { x } else { tidy(x) };
    Ok((0..=steps).map(|i| exact(from + i as f64 * step)).collect())
}

/// Without the digits that are there by rounding only.
fn tidy(x: f64) -> f64 {
    format!("{x:.10e}").parse().unwrap_or(x)
}

/// A share of a whole, `0.7` or `"70%"`; what it may be is checked where it is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(f64);

impl Share {
    /// From a number, of which 1 is the whole.
    pub const fn new(share: f64) -> Self {
        Self(share)
    }

    /// A share that lies in `range`, or the `expected` one in words.
    ///
    /// # Errors
    /// If it is no share, or outside of the range.
    ///
    /// ```
    /// use iosonar_units::Share;
    ///
    /// assert_eq!(Share::within("10%", 0.0..1.0, "a share below 1"), Ok(0.1));
    /// assert!(Share::within("200%", 0.0..1.0, "a share below 1").is_err());
    /// ```
    pub fn within(
        text: &str,
        range: impl std::ops::RangeBounds<f64>,
        expected: &str,
    ) -> Result<f64, String> {
        match text.parse().map(Self::get) {
            Ok(share) if range.contains(&share) => Ok(share),
            _ => Err(format!("expected {expected}")),
        }
    }

    /// The number, of which 1 is the whole.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Share {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let wrong = || ParseUnitError::new(text, "a share such as 0.7 or \"70%\"");
        match text.trim().strip_suffix('%') {
            Some(percent) => match percent.trim().parse::<f64>() {
                Ok(percent) if percent.is_finite() => Ok(Self(percent / 100.0)),
                _ => Err(wrong()),
            },
            None => text.trim().parse().map(Self).map_err(|_| wrong()),
        }
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Share {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::scalar(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Result<String, String> {
        text.parse::<Values>().map(|values| values.join(" "))
    }

    #[test]
    fn lists_and_ranges_are_read_with_their_units() {
        for (text, expected) in [
            ("4", "4"),
            ("4,8 , 16", "4 8 16"),
            ("raid5,raid6", "raid5 raid6"),
            ("4..6", "4 5 6"),
            ("4 .. 6", "4 5 6"),
            ("4..64 step 20", "4 24 44 64"),
            ("0.1..0.3 step 0.1", "0.1 0.2 0.3"),
            ("12..4 step -4", "12 8 4"),
            ("1..1000 log 7", "1 3 10 32 100 316 1000"),
            ("4KiB..64KiB log 5", "4KiB 8KiB 16KiB 32KiB 64KiB"),
            ("512KiB..2MiB log 3", "512KiB 1MiB 2MiB"),
            ("4KiB..12KiB step 4", "4KiB 8KiB 12KiB"),
            ("4KiB..12 KiB step 4KiB", "4KiB 8KiB 12KiB"),
            ("0.5ms..1.5ms step 500us", "0.5ms 1ms 1.5ms"),
            ("10%..90% step 40%", "10% 50% 90%"),
            ("1e2..1e4 log 3", "100 1000 10000"),
            (
                "123456789012341..123456789012343",
                "123456789012341 123456789012342 123456789012343",
            ),
            (
                "4503599627370497..9007199254740991 step 4503599627370494",
                "4503599627370497 9007199254740991",
            ),
            ("1..123456789012343 log 2", "1 123456789012343"),
            ("2..4, 8, 16..32 step 16", "2 3 4 8 16 32"),
            ("../a.toml,../b.toml", "../a.toml ../b.toml"),
            (
                "{ blocks = 1, x = 2 },\"a,b\"",
                "{ blocks = 1, x = 2 } \"a,b\"",
            ),
        ] {
            assert_eq!(values(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_range_says_what_is_one() {
        for (text, complaint) in [
            ("", "empty value"),
            ("4,,8", "empty value"),
            ("12..4", "needs a step"),
            ("0.1..0.5", "0.1..0.5 step S"),
            ("4KiB..64KiB", "4KiB..64KiB log N"),
            ("4..64 step 0", "a step of 0"),
            ("4..64 step -4", "a step of -4"),
            ("0..64 log 4", "greater than 0"),
            ("1..64 log 1", "from 2 to 1000000"),
            ("1..64 log 2.5", "from 2 to 1000000"),
            ("4KiB..8ms step 4", "different units"),
            ("512..64KiB", "512 has no unit, write 512KiB or 512B"),
            ("4..12KiB step 4", "4 has no unit, write 4KiB or 4B"),
            ("4KiB..64 log 5", "64 has no unit, write 64KiB or 64B"),
            ("1..20ms step 1ms", "1 has no unit, write 1ms"),
            ("10..90% step 40%", "10 has no unit, write 10%"),
            ("9007199254740993..9007199254740995", "not exact"),
            ("4..64 by 4", "not a range"),
            ("4..64 step x", "not a range"),
            ("1..1e9 step 1", "steps"),
        ] {
            let error = values(text).unwrap_err();
            assert!(error.contains(complaint), "{text}: {error}");
        }
    }

    #[test]
    fn numbers_sort_as_numbers_and_sizes_as_sizes() {
        let sorted = |text: &str| {
            let mut all: Vec<&str> = text.split(' ').collect();
            all.sort_by(|a, b| by_magnitude(a, b));
            all.join(" ")
        };
        assert_eq!(sorted("16 128 8 1e2"), "8 16 1e2 128");
        assert_eq!(sorted("1MiB 64KiB \"8KiB\" 512"), "512 \"8KiB\" 64KiB 1MiB");
        assert_eq!(sorted("1s 20us 3ms"), "20us 3ms 1s");
        assert_eq!(sorted("raid6 raid10 4"), "4 raid10 raid6");
        assert_eq!(magnitude("8KiB"), Some((8192.0, Kind::Bytes)));
        assert_eq!(magnitude("inf"), None);
    }

    #[test]
    fn shares_are_numbers_or_percent() {
        let share = |text: &str| text.parse::<Share>().map(Share::get).ok();
        assert_eq!(share("70%"), Some(0.7));
        assert_eq!(share("0.7"), Some(0.7));
        assert_eq!(share("70 %"), Some(0.7));
        assert_eq!(
            (share("%"), share("inf%"), share("most")),
            (None, None, None)
        );
    }
}
