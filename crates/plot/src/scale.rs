//! Scales: where a value stands on an axis, and which ticks an axis has.

use crate::units::{Unit, long_time};

/// A scale with its two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    Linear { from: f64, to: f64 },
    Log { from: f64, to: f64 },
}

/// A place on an axis; the major ones have a label.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: Option<String>,
}

impl Scale {
    /// A linear scale over these values; never empty.
    pub(crate) fn linear(from: f64, to: f64) -> Self {
        if to > from {
            Self::Linear { from, to }
        } else {
            let around = if from == 0.0 { 1.0 } else { from.abs() * 0.5 };
            Self::Linear {
                from: (from - around).min(0.0_f64.min(from)),
                to: from + around,
            }
        }
    }

    /// A logarithmic scale from the 1-2-5 step below `least` to the one above `most`, at least a
    /// decade wide. Both must be positive.
    pub(crate) fn log(least: f64, most: f64) -> Self {
        let mut from = step_below(least);
        let mut to = step_above(most);
        while to / from < 9.99 {
            from = step_below(from * 0.99);
            to = step_above(to * 1.01);
        }
        Self::Log { from, to }
    }

    /// A logarithmic scale of bytes, from power of two to power of two.
    pub(crate) fn log_bytes(least: f64, most: f64) -> Self {
        let mut from = 2_f64.powf(least.log2().floor());
        let mut to = 2_f64.powf(most.log2().ceil());
        while to / from < 7.9 {
            from *= 0.5;
            to *= 2.0;
        }
        Self::Log { from, to }
    }

    pub(crate) fn ends(&self) -> (f64, f64) {
        match *self {
            Self::Linear { from, to } | Self::Log { from, to } => (from, to),
        }
    }

    /// Where `value` stands, 0 at the beginning and 1 at the end of the axis.
    pub(crate) fn share(&self, value: f64) -> f64 {
        match *self {
            Self::Linear { from, to } => (value - from) / (to - from),
            Self::Log { from, to } => (value / from).ln() / (to / from).ln(),
        }
    }

    /// The value that stands at `share`.
    #[cfg(test)]
    pub(crate) fn value(&self, share: f64) -> f64 {
        match *self {
            Self::Linear { from, to } => from + share * (to - from),
            Self::Log { from, to } => from * (share * (to / from).ln()).exp(),
        }
    }

    /// Ticks with labels, about `wanted` of them.
    pub(crate) fn ticks(&self, wanted: usize, unit: Unit) -> Vec<Tick> {
        match *self {
            Self::Linear { from, to } => linear_ticks(from, to, wanted, unit),
            Self::Log { from, to } if unit == Unit::Bytes => powers_of_two(from, to, wanted),
            Self::Log { from, to } => log_ticks(from, to, wanted, unit),
        }
    }
}

/// From these spans on, a time axis counts minutes, hours, days.
const LONG_STEPS: [f64; 14] = [
    60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0, 10_800.0, 21_600.0, 43_200.0,
    86_400.0, 172_800.0, 604_800.0,
];

fn linear_ticks(from: f64, to: f64, wanted: usize, unit: Unit) -> Vec<Tick> {
    let raw = (to - from) / wanted.max(1) as f64 * 0.7;
    let is_long = unit == Unit::Seconds && to - from > 420.0;
    let long = LONG_STEPS.into_iter().find(|&step| step >= raw);
    let step = match unit {
        Unit::Seconds if is_long => long.unwrap_or_else(|| 86_400.0 * step_above(raw / 86_400.0)),
        Unit::Bytes => 2_f64.powf(raw.log2().ceil()),
        Unit::Count => step_above(raw).max(1.0),
        _ => step_above(raw),
    };
    let first = (from / step - 1e-9).ceil() as i64;
    let last = (to / step + 1e-9).floor() as i64;
    let largest = from.abs().max(to.abs());
    let label = |value: f64| match value {
        0.0 => "0".to_owned(),
        _ if is_long => long_time(value, step),
        _ => unit.tick(value, step, largest),
    };
    (first..=last)
        .map(|i| i as f64 * step)
        .map(|value| Tick {
            value,
            label: Some(label(value)),
        })
        .collect()
}

fn log_ticks(from: f64, to: f64, wanted: usize, unit: Unit) -> Vec<Tick> {
    let decades = (to / from).log10();
    let first = from.log10().floor() as i32;
    let last = to.log10().ceil() as i32;
    // Labels at 1-2-5 while there is room, then at decades, then at every other one.
    let every_five = decades * 3.0 < 1.6 * wanted as f64;
    let stride = (decades / (1.3 * wanted as f64)).ceil().max(1.0) as i32;
    (first..=last)
        .flat_map(|decade| (1..10).map(move |digit| (decade, digit)))
        .filter_map(|(decade, digit)| {
            let value = f64::from(digit) * 10_f64.powi(decade);
            let inside = value >= from * 0.999_999 && value <= to * 1.000_001;
            // There is nothing between whole numbers.
            let inside = inside && (unit != Unit::Count || decade >= 0);
            let major = match digit {
                1 => decade.rem_euclid(stride) == 0,
                2 | 5 => every_five,
                _ => false,
            };
            inside.then(|| Tick {
                value,
                label: major.then(|| unit.text(value)),
            })
        })
        .collect()
}

fn powers_of_two(from: f64, to: f64, wanted: usize) -> Vec<Tick> {
    let (first, last) = (from.log2().ceil() as i32, to.log2().floor() as i32);
    let stride = ((last - first) as usize / wanted.max(1) + 1) as i32;
    (first..=last)
        .map(|power| Tick {
            value: 2_f64.powi(power),
            label: (power.rem_euclid(stride) == 0).then(|| Unit::Bytes.text(2_f64.powi(power))),
        })
        .collect()
}

fn step_below(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    [5.0, 2.0, 1.0]
        .into_iter()
        .map(|digit| digit * decade)
        .find(|&step| step <= value * 1.000_001)
        .unwrap_or(decade)
}

fn step_above(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|digit| digit * decade)
        .find(|&step| step >= value * 0.999_999)
        .unwrap_or(10.0 * decade)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().filter_map(|t| t.label.as_deref()).collect()
    }

    #[test]
    fn a_log_scale_ends_at_one_two_five_and_spans_a_decade() {
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        let (from, to) = Scale::log(3e-4, 0.13).ends();
        assert!(close(from, 2e-4) && close(to, 0.2), "{from} {to}");
        let one = Scale::log(1e-3, 1e-3);
        assert!(one.ends().1 / one.ends().0 >= 9.9, "{one:?}");
        assert!(one.share(1e-3) > 0.2 && one.share(1e-3) < 0.8, "{one:?}");
    }

    #[test]
    fn log_ticks_are_labelled_one_two_five_while_there_is_room() {
        let few = Scale::log(1e-3, 0.05).ticks(8, Unit::Seconds);
        assert_eq!(
            labels(&few),
            ["1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms"]
        );
        let many = Scale::log(1e-6, 10.0).ticks(8, Unit::Seconds);
        assert_eq!(
            labels(&many),
            [
                "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"
            ]
        );
    }

    #[test]
    fn linear_ticks_are_round() {
        let ticks = Scale::linear(0.0, 60.0).ticks(6, Unit::Number);
        assert_eq!(labels(&ticks), ["0", "10", "20", "30", "40", "50", "60"]);
        let hour = Scale::linear(0.0, 3600.0).ticks(6, Unit::Seconds);
        assert_eq!(
            labels(&hour),
            [
                "0", "10 min", "20 min", "30 min", "40 min", "50 min", "60 min"
            ]
        );
    }

    #[test]
    fn labels_far_from_zero_differ() {
        for (from, to, unit, expected) in [
            (3600.0, 3602.0, Unit::Seconds, "3600.5 s"),
            (1_000_000.0, 1_000_010.0, Unit::Number, "1.000002 M"),
            (1.7e9, 1.7e9 + 1.0, Unit::Seconds, "1700000000.2 s"),
        ] {
            let ticks = Scale::linear(from, to).ticks(6, unit);
            let labels = labels(&ticks);
            assert!(labels.contains(&expected), "{labels:?}");
            let mut different = labels.clone();
            different.dedup();
            assert_eq!(different, labels);
        }
    }

    #[test]
    fn bytes_have_ticks_at_powers_of_two() {
        let ticks = Scale::log_bytes(512.0, 65_536.0).ticks(8, Unit::Bytes);
        assert_eq!(labels(&ticks).first(), Some(&"512 B"));
        assert_eq!(labels(&ticks).last(), Some(&"64 KiB"));
    }

    #[test]
    fn share_and_value_are_inverse() {
        for scale in [Scale::linear(-3.0, 9.0), Scale::log(1e-6, 1.0)] {
            for share in [0.0, 0.25, 1.0] {
                assert!((scale.share(scale.value(share)) - share).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn equal_values_still_make_an_axis() {
        for value in [0.0, 5.0, -2.0] {
            let (from, to) = Scale::linear(value, value).ends();
            assert!(to > from, "{from} {to}");
        }
    }
}
