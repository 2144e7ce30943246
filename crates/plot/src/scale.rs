//! Scales: where a value stands on an axis, and which ticks an axis has.

use crate::units::{plain, seconds};

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
    /// A linear scale over these values, a little wider; never empty.
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

    #[cfg(test)]
    pub(crate) fn from(&self) -> f64 {
        match *self {
            Self::Linear { from, .. } | Self::Log { from, .. } => from,
        }
    }

    #[cfg(test)]
    pub(crate) fn to(&self) -> f64 {
        match *self {
            Self::Linear { to, .. } | Self::Log { to, .. } => to,
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

    /// Ticks of an axis of plain numbers, with about `wanted` labels on a linear scale.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<Tick> {
        self.ticks_labelled(wanted, plain)
    }

    /// Ticks of an axis of times in seconds.
    pub(crate) fn time_ticks(&self, wanted: usize) -> Vec<Tick> {
        self.ticks_labelled(wanted, seconds)
    }

    fn ticks_labelled(&self, wanted: usize, label: impl Fn(f64) -> String) -> Vec<Tick> {
        match *self {
            Self::Linear { from, to } => {
                let step = step_above((to - from) / wanted.max(1) as f64 * 0.7);
                let first = (from / step - 1e-9).ceil() as i64;
                let last = (to / step + 1e-9).floor() as i64;
                (first..=last)
                    .map(|i| i as f64 * step)
                    .map(|value| Tick {
                        value,
                        label: Some(label(value)),
                    })
                    .collect()
            }
            Self::Log { from, to } => {
                let decades = (to / from).log10();
                let first = from.log10().floor() as i32;
                let last = to.log10().ceil() as i32;
                (first..=last)
                    .flat_map(|decade| (1..10).map(move |digit| (decade, digit)))
                    .filter_map(|(decade, digit)| {
                        let value = f64::from(digit) * 10_f64.powi(decade);
                        let inside = value >= from * 0.999_999 && value <= to * 1.000_001;
                        let major = match digit {
                            1 => true,
                            2 | 5 => decades < 4.5,
                            _ => false,
                        };
                        inside.then(|| Tick {
                            value,
                            label: major.then(|| label(value)),
                        })
                    })
                    .collect()
            }
        }
    }
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
        let scale = Scale::log(3e-4, 0.13);
        assert!(
            close(scale.from(), 2e-4) && close(scale.to(), 0.2),
            "{scale:?}"
        );
        let one = Scale::log(1e-3, 1e-3);
        assert!(one.to() / one.from() >= 9.9, "{one:?}");
        assert!(one.share(1e-3) > 0.2 && one.share(1e-3) < 0.8, "{one:?}");
    }

    #[test]
    fn log_ticks_are_labelled_one_two_five_while_there_is_room() {
        let few = Scale::log(1e-3, 0.05).time_ticks(8);
        assert_eq!(
            labels(&few),
            ["1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms"]
        );
        let many = Scale::log(1e-6, 10.0).time_ticks(8);
        assert_eq!(
            labels(&many),
            [
                "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s"
            ]
        );
    }

    #[test]
    fn linear_ticks_are_round() {
        let ticks = Scale::linear(0.0, 60.0).ticks(6);
        assert_eq!(labels(&ticks), ["0", "10", "20", "30", "40", "50", "60"]);
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
            let scale = Scale::linear(value, value);
            assert!(scale.to() > scale.from(), "{scale:?}");
        }
    }
}
