//! Instants and durations in nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use crate::decimal::{ParseUnitError, scaled, split_unit};

/// A duration, or an instant on some axis (a trace's, a simulation's, a replay's), in nanoseconds.
///
/// 64 bits hold 584 years. Adding and subtracting panic on overflow where debug assertions are on;
/// use the `saturating` forms where overflow is an expected case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(u64);

impl Nanos {
    /// No time at all, and the origin of every axis.
    pub const ZERO: Self = Self(0);
    /// The largest representable time.
    pub const MAX: Self = Self(u64::MAX);
    /// One second.
    pub const SECOND: Self = Self(1_000_000_000);
    /// One millisecond.
    pub const MILLISECOND: Self = Self(1_000_000);

    /// From whole nanoseconds.
    pub const fn new(ns: u64) -> Self {
        Self(ns)
    }

    /// From whole microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// From whole milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// From whole seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// From seconds, rounded to the nearest nanosecond; negative values and NaN become zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9).round() as u64)
    }

    /// From milliseconds, rounded to the nearest nanosecond; negative values and NaN become zero.
    pub fn from_millis_f64(ms: f64) -> Self {
        Self((ms * 1e6).round() as u64)
    }

    /// The nearest whole number of nanoseconds: zero for what is below zero and for NaN, the end of
    /// time for what lies beyond it.
    ///
    /// Adding a half and cutting is several times as fast as `f64::round` where the processor has
    /// no instruction for it; it differs from that for the largest number below a half only.
    #[inline]
    pub fn nearest(ns: f64) -> Self {
        let up = ns + 0.5;
        // The signed conversion is one instruction, the unsigned one takes several.
        if up < i64::MAX as f64 {
            Self((up as i64).max(0) as u64)
        } else {
            Self(up as u64)
        }
    }

    /// In nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// In milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// In microseconds.
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// `self - earlier`, or zero where `earlier` is later.
    #[must_use]
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// `self + later`, or [`Nanos::MAX`].
    #[must_use]
    pub const fn saturating_add(self, later: Self) -> Self {
        Self(self.0.saturating_add(later.0))
    }

    /// `self + other`, or `None` on overflow.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// `self - other`, or `None` where `other` is later.
    #[must_use]
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0 * factor)
    }
}

impl Nanos {
    /// The text that is read back as exactly this: the largest unit of which it is a whole number, `20us`.
    pub fn exact(self) -> String {
        for (scale, unit) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
            if self.0.is_multiple_of(scale) {
                return format!("{}{unit}", self.0 / scale);
            }
        }
        format!("{}ns", self.0)
    }
}

impl From<Nanos> for std::time::Duration {
    fn from(t: Nanos) -> Self {
        Self::from_nanos(t.0)
    }
}

/// For people: three significant digits or more and the unit that suits, `1.5 ms`, `62.3 µs`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0 => return f.pad("0 s"),
            1..1_000 => (1.0, "ns"),
            1_000..1_000_000 => (1e3, "µs"),
            1_000_000..1_000_000_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        let value = self.0 as f64 / scale;
        let digits = if value >= 100.0 {
            1
        } else if value >= 10.0 {
            2
        } else {
            3
        };
        let text = format!("{value:.digits$}");
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        f.pad(&format!("{text} {unit}"))
    }
}

/// Reads a number with a unit: `60s`, `1.5 ms`, `20us`, `2min`, `1h`, `1d`. A bare number is in
/// seconds, as everywhere in the traces that we read.
impl FromStr for Nanos {
    type Err = ParseUnitError;

    fn from_str(text: &str) -> Result<Self, ParseUnitError> {
        let error =
            || ParseUnitError::new(text, "a time such as 60s, 1.5ms, 20us, 250ns, 2min or 1h");
        let (number, unit) = split_unit(text);
        let scale = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "" | "s" => 1_000_000_000,
            "min" | "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "d" => 86_400_000_000_000,
            _ => return Err(error()),
        };
        scaled(number, scale).map(Self).ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_text_is_read_back_as_the_same() {
        for ns in [
            0,
            1,
            999,
            20_000,
            1_500_000,
            200_000_000,
            60_000_000_000,
            u64::MAX,
        ] {
            let t = Nanos::new(ns);
            assert_eq!(t.exact().parse(), Ok(t), "{ns}");
        }
        assert_eq!(Nanos::new(1_500_000).exact(), "1500us");
    }

    #[test]
    fn a_time_is_read_exactly_in_any_unit() {
        for (text, ns) in [
            ("60s", 60_000_000_000),
            ("1.5 ms", 1_500_000),
            ("0.000000001", 1),
            ("20us", 20_000),
            ("2min", 120_000_000_000),
            (".5h", 1_800_000_000_000),
            ("3599.890074831", 3_599_890_074_831),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(ns)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            ".",
            "s",
            "-1s",
            "1.2.3",
            "1 year",
            "99999999999999999999",
        ] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_is_shown_in_the_unit_that_suits() {
        for (ns, text) in [
            (0, "0 s"),
            (7, "7 ns"),
            (62_300, "62.3 µs"),
            (1_500_000, "1.5 ms"),
            (200_000_000, "200 ms"),
            (3_599_890_074_831, "3599.9 s"),
        ] {
            assert_eq!(Nanos(ns).to_string(), text);
        }
    }
}
