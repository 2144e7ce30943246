//! Numbers with units, as they stand on axes.

/// What the numbers of an axis are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Plain numbers, with SI prefixes where they are large.
    #[default]
    Number,
    /// Whole numbers.
    Count,
    /// Seconds, with SI prefixes where they are small, and minutes or hours on long linear axes.
    Seconds,
    /// Bytes, with binary prefixes.
    Bytes,
    /// Bytes per second, with SI prefixes.
    BytesPerSecond,
    /// Shares of one, as per cent.
    Share,
}

impl Unit {
    /// What plain numbers are: counts if all of them are whole.
    pub fn of_numbers(mut values: impl Iterator<Item = f64>) -> Self {
        if values.all(|value| value.fract() == 0.0) {
            Self::Count
        } else {
            Self::Number
        }
    }

    /// A value with its unit.
    pub fn text(self, value: f64) -> String {
        match self {
            Self::Number | Self::Count => prefixed(value),
            Self::Seconds => seconds(value),
            Self::Bytes => bytes(value),
            Self::BytesPerSecond => match prefixed(value) {
                text if text.ends_with(|c: char| c.is_ascii_digit()) => format!("{text} B/s"),
                text => format!("{text}B/s"),
            },
            Self::Share => format!("{} %", plain(100.0 * value)),
        }
    }

    /// A value on an axis with steps of this size, in the prefix that suits the largest value: with enough
    /// digits for neighbours to differ.
    pub(crate) fn tick(self, value: f64, step: f64, largest: f64) -> String {
        let (divisor, suffix) = match self {
            Self::Number | Self::Count => match largest {
                v if v < 9_999.5 => (1.0, ""),
                v if v < 0.999_5e6 => (1e3, " k"),
                v if v < 0.999_5e9 => (1e6, " M"),
                v if v < 0.999_5e12 => (1e9, " G"),
                _ => (1e12, " T"),
            },
            Self::Seconds => match largest {
                v if v < 0.999_5e-6 => (1e-9, " ns"),
                v if v < 0.999_5e-3 => (1e-6, " µs"),
                v if v < 0.999_5 => (1e-3, " ms"),
                _ => (1.0, " s"),
            },
            Self::BytesPerSecond => match largest {
                v if v < 999.5 => (1.0, " B/s"),
                v if v < 0.999_5e6 => (1e3, " kB/s"),
                v if v < 0.999_5e9 => (1e6, " MB/s"),
                _ => (1e9, " GB/s"),
            },
            Self::Share => (0.01, " %"),
            Self::Bytes => {
                let units = [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"];
                let power = (largest.max(1.0).log2() / 10.0) as usize;
                let power = power.min(units.len() - 1);
                (1024_f64.powi(power as i32), units[power])
            }
        };
        let decimals = -(step / divisor * 1.000_001).log10().floor();
        let decimals = decimals.clamp(0.0, 12.0) as usize;
        // Powers of two have more digits than their size says.
        let decimals = if self == Self::Bytes && decimals > 0 {
            decimals + 3
        } else {
            decimals
        };
        let text = format!("{:.decimals$}", value / divisor);
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        format!("{text}{suffix}")
    }

    /// The ending of the name of a column in CSV, such as `_s`; empty of plain numbers.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Number | Self::Count => "",
            Self::Seconds => "_s",
            Self::Bytes => "_bytes",
            Self::BytesPerSecond => "_bytes_per_s",
            Self::Share => "_share",
        }
    }

    /// The name of the unit in a page's data.
    pub fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Count => "count",
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::BytesPerSecond => "bytes_per_s",
            Self::Share => "share",
        }
    }
}

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

/// A time in seconds on an axis that is hours long: `90 min`, `6 h`, `3 d`.
pub(crate) fn long_time(value: f64, step: f64) -> String {
    let (divisor, unit) = match step {
        s if s >= 86_400.0 => (86_400.0, "d"),
        s if s >= 3_600.0 => (3_600.0, "h"),
        _ => (60.0, "min"),
    };
    format!("{} {unit}", plain(value / divisor))
}

/// `12`, `3.4 k`, `5 M`; four digits stay as they are.
fn prefixed(value: f64) -> String {
    let (divisor, prefix) = match value.abs() {
        v if v < 9_999.5 => return plain(value),
        v if v < 0.999_5e6 => (1e3, " k"),
        v if v < 0.999_5e9 => (1e6, " M"),
        v if v < 0.999_5e12 => (1e9, " G"),
        v if v < 0.999_5e15 => (1e12, " T"),
        _ => (1e15, " P"),
    };
    format!("{}{prefix}", plain(value / divisor))
}

fn bytes(value: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = value;
    let mut unit = 0;
    while value.abs() >= 1023.95 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", plain(value), units[unit])
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

/// A number with this many significant digits, and all before the point.
pub fn significant(value: f64, digits: i32) -> String {
    if !value.is_finite() {
        return value.to_string();
    }
    let before = value.abs().max(1e-12).log10().floor() as i32 + 1;
    format!("{value:.*}", (digits - before).clamp(0, 12) as usize)
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

    #[test]
    fn each_unit_has_its_prefixes() {
        for (unit, value, text) in [
            (Unit::Number, 9999.0, "9999"),
            (Unit::Number, 25_000.0, "25 k"),
            (Unit::Bytes, 65_536.0, "64 KiB"),
            (Unit::Bytes, 512.0, "512 B"),
            (Unit::BytesPerSecond, 2.5e8, "250 MB/s"),
            (Unit::BytesPerSecond, 50.0, "50 B/s"),
            (Unit::Share, 0.001, "0.1 %"),
        ] {
            assert_eq!(unit.text(value), text);
        }
        assert_eq!(long_time(7200.0, 3600.0), "2 h");
    }

    #[test]
    fn numbers_have_the_digits_that_mean_something() {
        for (value, text) in [
            (64.47, "64.5"),
            (36_841.2, "36841"),
            (0.022, "0.0220"),
            (0.0, "0.000000000000"),
        ] {
            assert_eq!(significant(value, 3), text);
        }
    }
}
