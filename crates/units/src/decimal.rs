//! Decimal numbers with a unit, read exactly: no detour through floating point.

/// Why a text is not a quantity of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    seen: String,
    expected: &'static str,
}

impl ParseUnitError {
    pub(crate) fn new(seen: &str, expected: &'static str) -> Self {
        Self {
            seen: seen.to_owned(),
            expected,
        }
    }
}

impl std::fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "'{}' is not {}", self.seen, self.expected)
    }
}

impl std::error::Error for ParseUnitError {}

/// Splits `1.5 ms` into its number and its unit, `("1.5", "ms")`.
pub(crate) fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// `number * scale`, rounded half up to a whole number. `None` if the text is not a plain decimal
/// number or the product does not fit.
pub(crate) fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    // Eighteen digits are below any unit's resolution; more cannot change the rounding noticeably.
    let fraction = &fraction[..fraction.len().min(18)];
    let part = if fraction.is_empty() {
        0
    } else {
        let value: u128 = fraction.parse().ok()?;
        let ten_to_n = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
        (value * u128::from(scale) + ten_to_n / 2) / ten_to_n
    };
    whole
        .checked_mul(scale)?
        .checked_add(u64::try_from(part).ok()?)
}
