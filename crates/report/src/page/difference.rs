//! How an input differs from the first: in words, and as a table.

use iosonar_plot::Table;
use iosonar_stats::Estimate;
use iosonar_units::Nanos;

use super::conclusion::{per_second, throughput};
use crate::measure::Measured;
use crate::words::joined;

/// What the 95 % interval of a difference says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Slower,
    Faster,
    /// The interval includes zero.
    Unclear,
    /// There is no interval: a run has too few independent sections.
    Unknown,
}

/// A time of both.
struct Times {
    name: &'static str,
    /// In nanoseconds.
    first: Estimate,
    second: Estimate,
}

impl Times {
    /// The difference in nanoseconds. The runs are independent, so their variances add up.
    fn difference(&self) -> Estimate {
        Estimate {
            mean: self.second.mean - self.first.mean,
            stderr: self.first.stderr.hypot(self.second.stderr),
            values: self.first.values.min(self.second.values),
        }
    }

    fn direction(&self) -> Direction {
        let difference = self.difference();
        let half = difference.half_width_95();
        match difference.mean {
            _ if !half.is_finite() => Direction::Unknown,
            mean if mean.abs() <= half => Direction::Unclear,
            mean if mean > 0.0 => Direction::Slower,
            _ => Direction::Faster,
        }
    }

    /// `p99 9 ms to 20 ms (+11 ms, 2.2 times)`.
    fn text(&self) -> String {
        let (first, second) = (time(self.first.mean), time(self.second.mean));
        let change = signed(self.difference().mean);
        let ratio = ratio(self.first.mean, self.second.mean);
        let ratio = ratio.map_or_else(String::new, |ratio| format!(", {ratio} times"));
        format!("{} {first} to {second} ({change}{ratio})", self.name)
    }

    fn row(&self) -> Vec<String> {
        let difference = self.difference();
        let half = difference.half_width_95();
        vec![
            self.name.to_owned(),
            time(self.first.mean).to_string(),
            time(self.second.mean).to_string(),
            signed(difference.mean),
            ratio(self.first.mean, self.second.mean).unwrap_or_default(),
            match half.is_finite() {
                true => format!(
                    "{} to {}",
                    signed(difference.mean - half),
                    signed(difference.mean + half)
                ),
                false => "not known".to_owned(),
            },
            match self.direction() {
                Direction::Slower => "slower",
                Direction::Faster => "faster",
                Direction::Unclear => "no sure difference",
                Direction::Unknown => "too few independent sections",
            }
            .to_owned(),
        ]
    }
}

fn time(ns: f64) -> Nanos {
    Nanos::nearest(ns.max(0.0))
}

/// A difference, which may be below zero.
fn signed(ns: f64) -> String {
    let sign = match ns {
        0.0 => "",
        ..0.0 => "−",
        _ => "+",
    };
    format!("{sign}{}", Nanos::nearest(ns.abs()))
}

/// The second divided by the first, in three digits.
fn ratio(first: f64, second: f64) -> Option<String> {
    let ratio = second / first;
    if !ratio.is_finite() || ratio <= 0.0 {
        return None;
    }
    let digits = (2 - ratio.log10().floor() as i32).clamp(0, 6);
    Some(format!("{ratio:.*}", digits as usize))
}

/// The quantiles and the mean of both; none where one has no measured time.
fn times(first: &Measured, second: &Measured) -> Vec<Times> {
    let is_measured = |input: &Measured| input.all(input.options().quantity).count() > 0;
    if !is_measured(first) || !is_measured(second) {
        return Vec::new();
    }
    let of = |name, p| Times {
        name,
        first: first.quantile(p),
        second: second.quantile(p),
    };
    vec![
        of("p50", 0.5),
        of("p99", 0.99),
        Times {
            name: "mean",
            first: first.mean(),
            second: second.mean(),
        },
    ]
}

/// How the second differs from the first, in a sentence.
pub(super) fn sentence(first: &Measured, second: &Measured) -> String {
    let times = times(first, second);
    let names = format!("{} against {}", second.name, first.name);
    if times.is_empty() {
        return format!("{names}: not compared, as one of them has no measured time.");
    }
    let mut parts = Vec::new();
    for (direction, words) in [
        (Direction::Slower, "slower in"),
        (Direction::Faster, "faster in"),
        (Direction::Unclear, "no sure difference in"),
        (
            Direction::Unknown,
            "how sure is not known (too few requests) in",
        ),
    ] {
        let of = times.iter().filter(|of| of.direction() == direction);
        let of: Vec<String> = of.map(Times::text).collect();
        if !of.is_empty() {
            parts.push(format!("{words} {}", joined(&of)));
        }
    }
    if let (Some(a), Some(b)) = (throughput(first), throughput(second)) {
        let ratio = ratio(a, b).unwrap_or_default();
        parts.push(format!(
            "throughput {} to {} ({ratio} times)",
            per_second(a),
            per_second(b)
        ));
    }
    let quantity = second.options().quantity.name();
    format!(
        "{names}, by {quantity}, with 95 % confidence: {}.",
        parts.join("; ")
    )
}

/// The same as a table.
pub(super) fn table(first: &Measured, second: &Measured) -> Option<Table> {
    let times = times(first, second);
    if times.is_empty() {
        return None;
    }
    let mut rows: Vec<Vec<String>> = times.iter().map(Times::row).collect();
    if let (Some(a), Some(b)) = (throughput(first), throughput(second)) {
        let sign = if b < a { "−" } else { "+" };
        rows.push(vec![
            "throughput".to_owned(),
            per_second(a),
            per_second(b),
            format!("{sign}{}", per_second((b - a).abs())),
            ratio(a, b).unwrap_or_default(),
        ]);
        rows.last_mut()
            .expect("just added")
            .resize(7, String::new());
    }
    let header = [
        "",
        &first.name,
        &second.name,
        "difference",
        "times",
        "95 % interval",
        "verdict",
    ];
    Some(Table {
        header: header.map(str::to_owned).to_vec(),
        rows,
    })
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Outcome, Record, Request};

    use super::*;
    use crate::measure::{Look, LookOptions};
    use crate::{CATALOGUE, needs_of};

    /// Requests whose latencies are spread evenly and without order between 1 and 2 ms, times a factor.
    fn measured(name: &str, n: u64, factor: f64) -> Measured {
        let mut look = Look::new(name, needs_of(CATALOGUE), &LookOptions::default());
        for i in 0..n {
            let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 44;
            let latency = factor * (1e6 + mixed as f64);
            look.add(&Record {
                request: Request {
                    start: Nanos::from_millis(i),
                    ..Request::default()
                },
                outcome: Outcome::done(Nanos::ZERO, Nanos::nearest(latency)),
            });
        }
        look.finish()
    }

    #[test]
    fn a_difference_is_sure_where_the_intervals_say_so_and_only_there() {
        let first = measured("old", 50_000, 1.0);
        let slower = sentence(&first, &measured("new", 50_000, 1.5));
        assert!(slower.contains("new against old, by latency"), "{slower}");
        assert!(slower.contains("slower in p50"), "{slower}");
        assert!(slower.contains("1.50 times"), "{slower}");
        assert!(
            !slower.contains("faster") && !slower.contains("no sure"),
            "{slower}"
        );
        let faster = sentence(&first, &measured("new", 50_000, 0.5));
        assert!(
            faster.contains("faster in p50") && !faster.contains("slower"),
            "{faster}"
        );
        let same = sentence(&first, &measured("new", 50_000, 1.0));
        assert!(same.contains("no sure difference in p50"), "{same}");
        // A tenth of a percent is less than the error of so few: the standard deviation is 0.29 of 1.5, and so the
        // interval of the difference of the means 1.96 * sqrt(2 / 50 000) * 0.19 = 0.24 %.
        let near = sentence(&first, &measured("new", 50_000, 1.001));
        assert!(near.contains("no sure difference in"), "{near}");
    }

    #[test]
    fn without_intervals_nothing_is_slower_and_without_times_nothing_is_compared() {
        let first = measured("old", 500, 1.0);
        let second = sentence(&first, &measured("new", 500, 9.0));
        assert!(second.contains("how sure is not known"), "{second}");
        assert!(!second.contains("slower"), "{second}");
        let nothing = measured("load", 0, 1.0);
        assert!(sentence(&first, &nothing).contains("not compared"));
        assert!(table(&first, &nothing).is_none());
    }
}
