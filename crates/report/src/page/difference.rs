//! How an input differs from the first: in words, and as a table.

use iosonar_plot::{Table, counted};
use iosonar_units::Nanos;

use super::conclusion::per_second;
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

/// Whether a quantile differs between two inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// The 95 % interval of the difference does not include zero.
    Sure,
    /// It does.
    Unsure,
    /// There is no interval: a run has too few independent sections.
    Unknown,
}

/// Whether a quantile of the second input differs from that of the first.
pub(crate) fn certainty(first: &Measured, second: &Measured, p: f64) -> Certainty {
    let times = Times {
        name: "",
        first: Value::quantile(first, p),
        second: Value::quantile(second, p),
    };
    match times.direction() {
        Direction::Slower | Direction::Faster => Certainty::Sure,
        Direction::Unclear => Certainty::Unsure,
        Direction::Unknown => Certainty::Unknown,
    }
}

/// A figure of an input in nanoseconds, with its 95 % interval where that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Value {
    value: f64,
    interval: Option<(f64, f64)>,
}

impl Value {
    fn quantile(of: &Measured, p: f64) -> Self {
        let interval = of.quantile_interval(p);
        Self {
            value: of.quantile(p).mean,
            interval: interval.map(|(low, high)| (low.get() as f64, high.get() as f64)),
        }
    }

    fn mean(of: &Measured) -> Self {
        let mean = of.mean();
        Self {
            value: mean.mean,
            interval: mean.positive_interval_95(),
        }
    }
}

/// A time of both.
struct Times {
    name: &'static str,
    first: Value,
    second: Value,
}

impl Times {
    fn difference(&self) -> f64 {
        self.second.value - self.first.value
    }

    /// The 95 % interval of the difference of independent figures, from the intervals of both, which need not be
    /// symmetric (Zou and Donner, "Construction of confidence limits about effect measures: a general approach", 2008,
    /// equation 4).
    fn interval(&self) -> Option<(f64, f64)> {
        let (first, second) = (self.first.interval?, self.second.interval?);
        let low = (self.second.value - second.0).hypot(first.1 - self.first.value);
        let high = (second.1 - self.second.value).hypot(self.first.value - first.0);
        Some((self.difference() - low, self.difference() + high))
    }

    fn direction(&self) -> Direction {
        match self.interval() {
            None => Direction::Unknown,
            Some((low, _)) if low > 0.0 => Direction::Slower,
            Some((_, high)) if high < 0.0 => Direction::Faster,
            Some(_) => Direction::Unclear,
        }
    }

    /// `p99 (9 ms to 20 ms, +11 ms, 2.2 times)`.
    fn text(&self) -> String {
        let (first, second) = (time(self.first.value), time(self.second.value));
        let change = signed(self.difference());
        let ratio = ratio(self.first.value, self.second.value);
        let ratio = ratio.map_or_else(String::new, |ratio| format!(", {ratio} times"));
        format!("{} ({first} to {second}, {change}{ratio})", self.name)
    }

    fn row(&self) -> Vec<String> {
        let interval = self.interval();
        vec![
            self.name.to_owned(),
            time(self.first.value).to_string(),
            time(self.second.value).to_string(),
            signed(self.difference()),
            ratio(self.first.value, self.second.value).unwrap_or_default(),
            interval.map_or("not known".to_owned(), |(low, high)| {
                format!("{} to {}", signed(low), signed(high))
            }),
            match self.direction() {
                Direction::Slower => "slower",
                Direction::Faster => "faster",
                Direction::Unclear => "no significant difference",
                Direction::Unknown => "too few requests",
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
    let of = |name, value: &dyn Fn(&Measured) -> Value| Times {
        name,
        first: value(first),
        second: value(second),
    };
    vec![
        of("p50", &|input| Value::quantile(input, 0.5)),
        of("p99", &|input| Value::quantile(input, 0.99)),
        of("mean", &Value::mean),
    ]
}

/// The throughputs of both, in requests per second.
fn throughputs(first: &Measured, second: &Measured) -> Option<(f64, f64)> {
    Some((first.throughput()?, second.throughput()?))
}

/// How the second differs from the first, in a few sentences.
pub(super) fn sentences(first: &Measured, second: &Measured) -> String {
    let times = times(first, second);
    let (a, b) = (&first.name, &second.name);
    if times.is_empty() {
        return format!("{b} is not compared with {a}: one of them has no measured times.");
    }
    let quantity = second.options().quantity.name();
    let mut sentences = Vec::new();
    for (direction, words) in [
        (
            Direction::Slower,
            format!("With 95 % confidence, {b} is slower than {a} in"),
        ),
        (
            Direction::Faster,
            format!("With 95 % confidence, {b} is faster than {a} in"),
        ),
        (
            Direction::Unclear,
            format!("Between {a} and {b} there is no significant difference in"),
        ),
        (
            Direction::Unknown,
            format!("From {a} to {b} (too few requests for a significant result):"),
        ),
    ] {
        let of = times.iter().filter(|of| of.direction() == direction);
        let of: Vec<String> = of.map(Times::text).collect();
        if !of.is_empty() {
            sentences.push(format!("{words} {quantity} {}.", joined(&of)));
        }
    }
    for input in [first, second]
        .into_iter()
        .filter(|input| input.failed() > 0)
    {
        sentences.push(format!(
            "Of {}, {} failed and are not in these times.",
            input.name,
            counted(input.failed(), ["request", "requests"])
        ));
    }
    if let Some((a, b)) = throughputs(first, second) {
        let ratio = ratio(a, b).unwrap_or_default();
        let (a, b) = (per_second(a), per_second(b));
        sentences.push(format!(
            "The throughput changes from {a} to {b} (by a factor of {ratio})."
        ));
    }
    sentences.join(" ")
}

/// The same as a table.
pub(super) fn table(first: &Measured, second: &Measured) -> Option<Table> {
    let times = times(first, second);
    if times.is_empty() {
        return None;
    }
    let mut rows: Vec<Vec<String>> = times.iter().map(Times::row).collect();
    if let Some((a, b)) = throughputs(first, second) {
        let difference = match per_second((b - a).abs()) {
            none if none == per_second(0.0) => "none".to_owned(),
            some if b < a => format!("−{some}"),
            some => format!("+{some}"),
        };
        rows.push(vec![
            "throughput".to_owned(),
            per_second(a),
            per_second(b),
            difference,
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
    use super::*;

    /// Requests whose latencies are spread evenly and without order between 1 and 2 ms, times a factor.
    fn measured(name: &str, n: u64, factor: f64) -> Measured {
        crate::findings::tests::measured(name, n, |_| factor)
    }

    #[test]
    fn a_difference_is_sure_where_the_intervals_say_so_and_only_there() {
        let first = measured("old", 50_000, 1.0);
        let slower = sentences(&first, &measured("new", 50_000, 1.5));
        let begin = "With 95 % confidence, new is slower than old in latency p50 (";
        assert!(slower.starts_with(begin), "{slower}");
        assert!(slower.contains("1.50 times), p99 ("), "{slower}");
        assert!(
            !slower.contains("faster") && !slower.contains("no significant"),
            "{slower}"
        );
        let faster = sentences(&first, &measured("new", 50_000, 0.5));
        assert!(
            faster.contains("new is faster than old in latency p50"),
            "{faster}"
        );
        assert!(!faster.contains("slower"), "{faster}");
        let same = sentences(&first, &measured("new", 50_000, 1.0));
        assert!(
            same.contains("no significant difference in latency p50"),
            "{same}"
        );
        // The least interval is that of the p99: of times spread evenly over 1.05 ms, half of that of the difference is
        // 1.96 * sqrt(2 * 0.99 * 0.01 / 50 000) * 1.05 ms = 1.3 us, and 0.02 % of 2 ms is 0.4 us.
        let near = sentences(&first, &measured("new", 50_000, 1.0002));
        assert!(
            near.contains("no significant difference in latency"),
            "{near}"
        );
        assert!(!near.contains("confidence"), "{near}");
    }

    #[test]
    fn the_interval_of_a_difference_is_that_of_independent_figures() {
        let of = |first: (f64, f64, f64), second: (f64, f64, f64)| {
            let value = |(low, value, high)| Value {
                value,
                interval: Some((low, high)),
            };
            Times {
                name: "mean",
                first: value(first),
                second: value(second),
            }
        };
        // Of symmetric intervals the squares of the half widths add up.
        let times = of((97.0, 100.0, 103.0), (106.0, 110.0, 114.0));
        assert_eq!(times.interval(), Some((5.0, 15.0)));
        assert_eq!(times.direction(), Direction::Slower);
        // The upper end of the first counts against the lower end of the second.
        let times = of((99.0, 100.0, 112.0), (105.0, 110.0, 111.0));
        let (low, high) = times.interval().unwrap();
        assert_eq!((low, high), (10.0 - 13.0, 10.0 + 2_f64.sqrt()));
        assert_eq!(times.direction(), Direction::Unclear);
    }

    #[test]
    fn without_intervals_nothing_is_slower_and_without_times_nothing_is_compared() {
        let first = measured("old", 500, 1.0);
        let second = sentences(&first, &measured("new", 500, 9.0));
        assert!(
            second.contains("too few requests for a significant result): latency p50"),
            "{second}"
        );
        assert!(!second.contains("slower"), "{second}");
        let nothing = measured("load", 0, 1.0);
        assert!(sentences(&first, &nothing).contains("not compared"));
        assert!(table(&first, &nothing).is_none());
    }
}
