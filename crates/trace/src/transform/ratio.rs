//! Factors that are exact.

use std::fmt;
use std::str::FromStr;

/// A factor, as the decimal number that the user wrote: no rounding before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    numerator: u64,
    /// A power of ten.
    denominator: u64,
}

impl Ratio {
    /// The factor 1.
    pub const ONE: Self = Self {
        numerator: 1,
        denominator: 1,
    };

    /// `value * self`, rounded down, or `None` beyond 64 bits.
    pub fn times_floor(self, value: u64) -> Option<u64> {
        let product = u128::from(value) * u128::from(self.numerator);
        u64::try_from(product / u128::from(self.denominator)).ok()
    }

    /// `floor(value * self / divisor)`, or `None` beyond 64 bits.
    pub fn times_floor_over(self, value: u64, divisor: u64) -> Option<u64> {
        let product = u128::from(value) * u128::from(self.numerator);
        let divisor = u128::from(self.denominator) * u128::from(divisor);
        u64::try_from(product / divisor).ok()
    }

    /// `value / self`, rounded to the nearest, or `None` beyond 64 bits.
    pub fn divide(self, value: u64) -> Option<u64> {
        let numerator = u128::from(self.numerator);
        let product = u128::from(value) * u128::from(self.denominator);
        u64::try_from((product + numerator / 2) / numerator).ok()
    }

    /// The factor nearest to a number, to six decimals; `None` outside of 0.000001 to 1000000.
    pub fn nearest(factor: f64) -> Option<Self> {
        format!("{factor:.6}").parse().ok()
    }

    /// As a number.
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

impl FromStr for Ratio {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || "expected a number from 0.000001 to 1000000 with at most 9 decimals".to_owned();
        let (whole, decimals) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
        // 2.0 and 2 are the same factor.
        let fraction = decimals.trim_end_matches('0');
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole)
            || !digits(fraction)
            || decimals.len() > 9
            || whole.len() + decimals.len() == 0
        {
            return Err(expected());
        }
        let number = |text: &str| {
            if text.is_empty() {
                Ok(0)
            } else {
                text.parse::<u64>()
            }
        };
        let denominator = 10_u64.pow(fraction.len() as u32);
        let whole = number(whole).map_err(|_| expected())?;
        let numerator = whole
            .checked_mul(denominator)
            .and_then(|n| n.checked_add(number(fraction).ok()?))
            .ok_or_else(expected)?;
        let ratio = Self {
            numerator,
            denominator,
        };
        if !(1e-6..=1e6).contains(&ratio.as_f64()) {
            return Err(expected());
        }
        Ok(ratio)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_f64().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_exact() {
        let ratio: Ratio = "1.1".parse().unwrap();
        assert_eq!(ratio.times_floor(10), Some(11));
        assert_eq!(ratio.divide(11), Some(10));
        assert_eq!("2".parse::<Ratio>().unwrap().divide(25), Some(13));
        assert_eq!("0.5".parse::<Ratio>().unwrap().divide(u64::MAX), None);
        assert_eq!(Ratio::nearest(1.1), Some(ratio));
        assert_eq!(Ratio::nearest(f64::NAN), None);
        assert_eq!(Ratio::nearest(1e-7), None);
        for wrong in ["", ".", "-1", "1e3", "0", "10000000", "nan", "0.0000000001"] {
            assert!(wrong.parse::<Ratio>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_factor_has_at_most_nine_decimals_and_is_within_a_million() {
        for (text, is_factor) in [
            ("1.123456789", true),
            ("1.1234567890", false),
            ("1.1234567891", false),
            ("2.", true),
            (".5", true),
            ("+1", false),
            ("1.+5", false),
            ("0.000001", true),
            ("0.000000999", false),
            ("1000000", true),
            ("1000000.000000001", false),
            (" 3 ", true),
        ] {
            assert_eq!(text.parse::<Ratio>().is_ok(), is_factor, "{text}");
        }
        let two: Ratio = "2.00".parse().unwrap();
        assert_eq!(Ok(two), "2".parse());
        // floor(7 * 1.5 / 2) = floor(5.25).
        let ratio: Ratio = "1.5".parse().unwrap();
        assert_eq!(ratio.times_floor_over(7, 2), Some(5));
        assert_eq!(ratio.times_floor(u64::MAX), None);
        assert_eq!(ratio.as_f64(), 1.5);
    }
}
