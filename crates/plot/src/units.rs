//! Numbers with units, as they stand on axes.

/// A time in seconds with the SI prefix that suits: `20 µs`, `1.5 ms`, `3 s`.
pub fn seconds(value: f64) -> String {
    if value == 0.0 {
        return "0 s".to_owned();
    }
    let (factor, unit) = match value.abs() {
        v if v < 0.999_5e-6 => (1e9, "ns"),
        v if v < 0.999_5e-3 => (1e6, "µs"),
        v if v < 0.999_5 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", plain(value * factor))
}

/// Three significant digits, without trailing zeros; all digits of large whole numbers.
pub(crate) fn plain(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        0.0 => 0,
        // Small numbers keep three significant digits.
        v => 2 + (-v.log10()).ceil().clamp(0.0, 12.0) as usize,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_prefix_that_suits() {
        for (value, text) in [
            (0.0, "0 s"),
            (2e-5, "20 µs"),
            (1e-3, "1 ms"),
            (0.0015, "1.5 ms"),
            (250.0, "250 s"),
            (5e-7, "500 ns"),
        ] {
            assert_eq!(seconds(value), text);
        }
    }
}
