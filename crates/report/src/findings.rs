//! What follows from the data of a chart, beside how to read it: nothing where nothing does.
//!
//! A finding is data; its words are all here. A difference between inputs is one only where its 95 % interval says so.

mod text;

use iosonar_plot::{Chart, Mark};
use iosonar_trace::Quantity;
use iosonar_units::Nanos;

use crate::charts::distribution::slow_windows;
use crate::charts::histogram::{half_of_positions, most_common_size};
use crate::measure::Measured;
use crate::page::conclusion;
use crate::page::difference::{Certainty, certainty};
use crate::targets;

/// A figure of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct Of<T> {
    /// The input.
    pub name: String,
    /// The figure.
    pub value: T,
}

/// What follows from the data of a chart.
#[derive(Clone, Debug, PartialEq)]
pub enum Finding {
    /// A quantile differs between two inputs, or is the highest and lowest of several.
    Differs {
        /// Which quantile.
        p: f64,
        /// The slower, or slowest.
        slow: Of<Nanos>,
        /// The faster, or fastest.
        fast: Of<Nanos>,
        /// How many inputs there are.
        inputs: usize,
    },
    /// A quantile of two inputs does not differ significantly.
    Alike {
        /// Which quantile.
        p: f64,
        /// Of both.
        inputs: [Of<Nanos>; 2],
    },
    /// How far the slowest of a hundred are from the median.
    Tail {
        /// The median.
        median: Nanos,
        /// The 99th percentile.
        p99: Nanos,
    },
    /// Where the slow requests are in time.
    Slow {
        /// More than this is slow.
        above: Nanos,
        /// Why just that.
        threshold: Threshold,
        /// How many are.
        count: u64,
        /// The share of time of the busiest windows that contain four fifths of them.
        busiest: f64,
        /// The share of time of the shortest stretch that contains four fifths of them, if they fill it.
        stretch: Option<f64>,
    },
    /// Whether the load was kept up with, in words of the page.
    Pace(String),
    /// What the targets say, in words of the page.
    Targets(String),
    /// Completed requests per second differ.
    Rates {
        /// The highest.
        high: Of<f64>,
        /// The lowest.
        low: Of<f64>,
    },
    /// Requests in flight on average differ.
    InFlight {
        /// The most.
        most: Of<f64>,
        /// The fewest.
        fewest: Of<f64>,
    },
    /// The most common size of requests.
    Size {
        /// In bytes.
        bytes: f64,
        /// Its share of the requests.
        share: f64,
    },
    /// The share of the range in use that half of the requests start in.
    Half(f64),
    /// The hottest pages: their share of all pages, and of the accesses.
    Hot {
        /// Of all pages.
        pages: f64,
        /// Of the accesses.
        accesses: f64,
    },
    /// No page is accessed twice.
    NoRepetition,
    /// How much is accessed in all, and at most in a window.
    WorkingSet {
        /// In all, in bytes.
        all: f64,
        /// At most in a window, in bytes.
        most: f64,
        /// The name of the window.
        within: String,
    },
    /// The share of requests that start below the one before.
    Turns(f64),
    /// The share of time in which the only device has a request in flight.
    Busy(f64),
    /// The busiest and the least busy of several devices.
    Unequal {
        /// The highest share of time.
        most: Of<f64>,
        /// The lowest.
        least: Of<f64>,
    },
}

/// From where on requests are slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// The 99th percentile, where it is above ten times the median.
    P99,
    /// Ten times the median.
    TenMedians,
}

/// Rates that differ by less are the same.
const SAME: f64 = 1.01;
/// A p99 nearer to the median is about as long.
const LEAST_TAIL: f64 = 1.05;
/// The share of requests above the p99 that is still called 1 %: half a percent is not.
const LEAST_ABOVE_P99: f64 = 0.005;
/// Fewer slow requests have no pattern.
const FEWEST_SLOW: u64 = 20;

/// Writes what follows from a chart of these inputs into it.
pub(crate) fn conclude(chart: &mut Chart, inputs: &[Measured]) {
    let found = of(chart, inputs);
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    chart.conclusion = texts.join(" ");
}

/// What follows from a chart of these inputs.
fn of(chart: &Chart, inputs: &[Measured]) -> Vec<Finding> {
    let finding = match (chart.name.as_str(), inputs) {
        ("cdf" | "ccdf" | "model-ratio", [_, _, ..]) => slowest_and_fastest(inputs, 0.99),
        ("cdf" | "ccdf" | "latency-histogram" | "sonar-number", [input]) => {
            return targets_or(chart, input, tail(input, chart));
        }
        ("sonar" | "sonar-intended" | "sonar-completed" | "quantiles" | "heat-map", [input]) => {
            return targets_or(chart, input, slow(input));
        }
        ("throughput" | "bandwidth" | "in-flight" | "submit-level", [input]) => pace(input),
        ("delay" | "delay-number" | "delay-histogram" | "delayed" | "lateness", [input]) => {
            pace(input)
        }
        ("throughput", [_, _, ..]) => rates(inputs),
        ("in-flight", [_, _, ..]) => in_flight(inputs),
        ("sizes", [input]) => input
            .load()
            .and_then(most_common_size)
            .map(|(bytes, share)| Finding::Size { bytes, share }),
        ("positions", [input]) => input.load().and_then(half_of_positions).map(Finding::Half),
        ("repetition", [input]) => hot(input),
        ("working-set" | "working-set-log", [_]) => working_set(chart),
        ("turns-intended", [input]) => turns(input, 0),
        ("turns-completed", [input]) => turns(input, 1),
        ("device-load", [input]) => busy(input),
        _ => None,
    };
    finding.into_iter().collect()
}

/// What the targets that a chart shows say; without any, another finding.
fn targets_or(chart: &Chart, input: &Measured, other: Option<Finding>) -> Vec<Finding> {
    let is_shown = ["cdf", "sonar", "quantiles"].contains(&chart.name.as_str());
    let verdict = targets::sentence(input).filter(|_| is_shown);
    verdict
        .map(Finding::Targets)
        .or(other)
        .into_iter()
        .collect()
}

fn quantile(input: &Measured, p: f64) -> Option<Of<Nanos>> {
    let all = input.all(input.options().quantity);
    let is_known = all.count() > 0 && all.histogram.supports_quantile(p);
    let value = all.histogram.quantile(p).filter(|_| is_known)?;
    Some(Of {
        name: input.name.clone(),
        value,
    })
}

/// The slowest and the fastest of all inputs, if they surely differ; of two also if they surely do not.
fn slowest_and_fastest(inputs: &[Measured], p: f64) -> Option<Finding> {
    let known = inputs
        .iter()
        .filter_map(|input| Some((input, quantile(input, p)?)));
    let known: Vec<(&Measured, Of<Nanos>)> = known.collect();
    if known.len() < inputs.len() {
        return None;
    }
    let slow = known.iter().max_by_key(|(_, of)| of.value)?;
    let fast = known.iter().min_by_key(|(_, of)| of.value)?;
    if std::ptr::eq(slow.0, fast.0) {
        let [(_, a), (_, b)] = &known[..] else {
            return None;
        };
        return Some(Finding::Alike {
            p,
            inputs: [a.clone(), b.clone()],
        });
    }
    match (certainty(fast.0, slow.0, p), &known[..]) {
        (Certainty::Sure, _) => Some(Finding::Differs {
            p,
            slow: slow.1.clone(),
            fast: fast.1.clone(),
            inputs: inputs.len(),
        }),
        (Certainty::Unsure, [(_, a), (_, b)]) => Some(Finding::Alike {
            p,
            inputs: [a.clone(), b.clone()],
        }),
        (Certainty::Unsure | Certainty::Unknown, _) => None,
    }
}

fn tail(input: &Measured, chart: &Chart) -> Option<Finding> {
    // Of other quantities than that which is shown nothing follows.
    if chart.name == "latency-histogram" && input.options().quantity != Quantity::Latency {
        return None;
    }
    let (median, p99) = (quantile(input, 0.5)?.value, quantile(input, 0.99)?.value);
    // Of many equal times, fewer than 1 % may be above the p99, or none.
    let times = &input.all(input.options().quantity).histogram;
    let is_tail = p99.as_secs_f64() >= LEAST_TAIL * median.as_secs_f64();
    let some_above = 1.0 - times.share_up_to(p99) >= LEAST_ABOVE_P99;
    (median > Nanos::ZERO && is_tail && some_above).then_some(Finding::Tail { median, p99 })
}

/// If caches serve most requests, ten times the median is an ordinary access to a disk, so the slowest are those above the 99th
/// percentile.
fn slow(input: &Measured) -> Option<Finding> {
    let of = |p| quantile(input, p).map(|of| of.value.as_secs_f64());
    let (ten_medians, p99) = (10.0 * of(0.5)?, of(0.99)?);
    let found = |above: f64, threshold| {
        let windows = slow_windows(input, above)?;
        (above > 0.0 && windows.count >= FEWEST_SLOW).then(|| Finding::Slow {
            above: Nanos::nearest(above * 1e9),
            threshold,
            count: windows.count,
            busiest: windows.busiest,
            stretch: windows.stretch,
        })
    };
    let slowest = (p99 > ten_medians).then(|| found(p99, Threshold::P99));
    slowest
        .flatten()
        .or_else(|| found(ten_medians, Threshold::TenMedians))
}

fn pace(input: &Measured) -> Option<Finding> {
    conclusion::pace(input).map(Finding::Pace)
}

fn extremes<T: Copy + PartialOrd>(all: &[Of<T>]) -> Option<[Of<T>; 2]> {
    let order = |a: &&Of<T>, b: &&Of<T>| {
        a.value
            .partial_cmp(&b.value)
            .unwrap_or(std::cmp::Ordering::Equal)
    };
    let (most, least) = (all.iter().max_by(order)?, all.iter().min_by(order)?);
    Some([most.clone(), least.clone()])
}

/// A figure of each input; `None` where one has none.
fn of_each(inputs: &[Measured], figure: impl Fn(&Measured) -> Option<f64>) -> Option<[Of<f64>; 2]> {
    let of = |input: &Measured| {
        let value = figure(input).filter(|value| *value > 0.0)?;
        let name = input.name.clone();
        Some(Of { name, value })
    };
    extremes(&inputs.iter().map(of).collect::<Option<Vec<_>>>()?)
}

fn rates(inputs: &[Measured]) -> Option<Finding> {
    let [high, low] = of_each(inputs, Measured::throughput)?;
    Some(Finding::Rates { high, low })
}

fn in_flight(inputs: &[Measured]) -> Option<Finding> {
    let [most, fewest] = of_each(inputs, |input| Some(input.outcome()?.in_flight))?;
    (most.value / fewest.value >= SAME).then_some(Finding::InFlight { most, fewest })
}

fn hot(input: &Measured) -> Option<Finding> {
    let load = input.load()?;
    // Of a sample of pages some may be accessed twice that are not in it.
    if load.page_accesses == load.distinct_pages {
        return (load.sampling_rate >= 1.0).then_some(Finding::NoRepetition);
    }
    let hot = load.hot.iter().find(|hot| hot.accesses >= 0.5)?;
    (hot.share < hot.accesses).then_some(Finding::Hot {
        pages: hot.share,
        accesses: hot.accesses,
    })
}

fn working_set(chart: &Chart) -> Option<Finding> {
    let lines = chart.marks.iter().filter_map(|mark| match mark {
        Mark::Line(line) => Some(line),
        _ => None,
    });
    let most = |points: &[(f64, f64)]| {
        let values = points.iter().map(|p| p.1).filter(|v| v.is_finite());
        values.reduce(f64::max)
    };
    let lines: Vec<_> = lines.collect();
    // The last is everything, the one before the longest window that is shorter than the load.
    let [.., window, all] = &lines[..] else {
        return None;
    };
    Some(Finding::WorkingSet {
        all: most(&all.points)?,
        most: most(&window.points)?,
        within: window.name().replace("the last", "any"),
    })
}

fn turns(input: &Measured, order: usize) -> Option<Finding> {
    let timeline = input.demand()?;
    let (mut turns, mut all) = (0, 0);
    for (_, point) in timeline.points() {
        turns += point.turns[order];
        all += match order {
            0 => point.all_demanded().requests,
            _ => point.all_completed().requests,
        };
    }
    (all > 1).then(|| Finding::Turns(turns as f64 / (all - 1) as f64))
}

fn busy(input: &Measured) -> Option<Finding> {
    let devices = &input.outcome()?.devices;
    if let [only] = &devices[..] {
        return Some(Finding::Busy(only.busy));
    }
    let metadata = input.metadata();
    let of = |device: &iosonar_analysis::DeviceBusy| Of {
        name: match metadata.devices.is_empty() {
            true => format!("Device {}", device.device),
            false => metadata.device_name(device.device),
        },
        value: device.busy,
    };
    let [most, least] = extremes(&devices.iter().map(of).collect::<Vec<_>>())?;
    Some(Finding::Unequal { most, least })
}

#[cfg(test)]
pub(crate) mod tests {
    use iosonar_trace::{Outcome, Record, Request};
    use iosonar_units::{Sector, Sectors};

    use super::*;
    use crate::measure::{Look, LookOptions};
    use crate::{Arrange, CATALOGUE, find, needs_of};

    /// Requests every millisecond, whose latencies are spread between 1 and 2 ms, times a factor.
    pub(crate) fn measured(name: &str, n: u64, factor: impl Fn(u64) -> f64) -> Measured {
        let mut look = Look::new(name, needs_of(CATALOGUE), &LookOptions::default());
        for i in 0..n {
            let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 44;
            let latency = factor(i) * (1e6 + mixed as f64);
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

    fn conclusion(chart: &str, inputs: &[Measured]) -> String {
        let charts = find(chart).unwrap().charts(inputs, Arrange::Panels);
        charts[0].conclusion.clone()
    }

    #[test]
    fn two_inputs_differ_only_where_their_intervals_say_so() {
        let old = || measured("old", 50_000, |_| 1.0);
        let slower = conclusion("cdf", &[old(), measured("new", 50_000, |_| 2.1)]);
        assert!(
            slower.starts_with("p99 of new is 2.1 times that of old ("),
            "{slower}"
        );
        let faster = conclusion("cdf", &[old(), measured("new", 50_000, |_| 0.5)]);
        assert!(
            faster.starts_with("p99 of old is 2.0 times that of new ("),
            "{faster}"
        );
        let same = conclusion("cdf", &[old(), measured("new", 50_000, |_| 1.0)]);
        assert!(same.contains("do not differ significantly"), "{same}");
        // Too few requests: nothing follows, and the caption says how to read the chart and no more.
        let few = [measured("old", 500, |_| 1.0), measured("new", 500, |_| 9.0)];
        assert_eq!(conclusion("cdf", &few), "");
        let charts = find("cdf").unwrap().charts(&few, Arrange::Panels);
        assert_eq!(charts[0].caption(), charts[0].about);
    }

    #[test]
    fn slow_requests_come_in_one_stretch_or_in_bursts_or_are_spread_over_time() {
        let of = |is_slow: fn(u64) -> bool| {
            let input = measured("a", 20_000, |i| if is_slow(i) { 50.0 } else { 1.0 });
            conclusion("sonar", &[input])
        };
        for (is_slow, when) in [
            // Three spikes in a third of the time are not one stretch.
            (
                (|i| (5_000..12_000).contains(&i) && i % 2_500 < 1_000) as fn(u64) -> bool,
                "come in bursts",
            ),
            (
                (|i| (5_000..5_500).contains(&i)) as fn(u64) -> bool,
                "come in one stretch",
            ),
            (|i| (3_000..11_000).contains(&i), "come in one stretch"),
            (|i| i % 4_000 < 100, "come in bursts"),
            (|i| i % 40 == 0, "are spread over time"),
        ] {
            let text = of(is_slow);
            assert!(
                text.starts_with(&format!("Slow requests {when}: 80 %")),
                "{text}"
            );
        }
        assert_eq!(of(|_| false), "");
    }

    #[test]
    fn half_of_the_requests_are_a_share_of_the_accessed_range() {
        const GIB: u64 = 1 << 21;
        let half = |n: u64, position: fn(u64) -> u64| {
            let mut look = Look::new("a", needs_of(CATALOGUE), &LookOptions::default());
            for i in 0..n {
                // A permutation of the range that looks random.
                let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32;
                look.add(&Record {
                    request: Request {
                        start: Nanos::from_millis(i),
                        sector: Sector::new(position(mixed)),
                        sectors: Sectors::new(8),
                        ..Request::default()
                    },
                    outcome: Outcome::done(Nanos::ZERO, Nanos::from_micros(100)),
                });
            }
            half_of_positions(look.finish().load().unwrap())
        };
        // Uniform over 1 GiB, at its beginning and 900 GB into the device.
        let offset = |i| 1_757_812_500 + i % GIB;
        for (n, least) in [(1_000, 0.35), (20_000, 0.4), (200_000, 0.4)] {
            for share in [half(n, |i| i % GIB), half(n, offset)] {
                let share = share.unwrap();
                assert!((least..=0.52).contains(&share), "{n}: {share}");
            }
        }
        // Half are within a tenth.
        let hot = |i| match i % 2 {
            0 => i % GIB,
            _ => i % (GIB / 10),
        };
        let share = half(200_000, hot).unwrap();
        assert!((0.05..=0.12).contains(&share), "{share}");
        assert_eq!(half(500, |i| i % GIB), None);
    }

    #[test]
    fn equal_times_have_no_tail() {
        let of = |times: fn(u64) -> u64| {
            let mut look = Look::new("a", needs_of(CATALOGUE), &LookOptions::default());
            for i in 0..20_000 {
                look.add(&Record {
                    request: Request {
                        start: Nanos::from_millis(i),
                        ..Request::default()
                    },
                    outcome: Outcome::done(Nanos::ZERO, Nanos::from_micros(times(i))),
                });
            }
            conclusion("cdf", &[look.finish()])
        };
        assert_eq!(of(|_| 10_000), "");
        // The p99 is the longest time.
        assert_eq!(of(|i| if i % 20 == 0 { 50_000 } else { 10_000 }), "");
        // One in a hundred takes 2 % longer.
        assert_eq!(of(|i| if i % 90 == 0 { 10_200 } else { 10_000 }), "");
        let tail = of(|i| 10_000 + i);
        assert!(
            tail.starts_with("1 % of the requests took longer than 29"),
            "{tail}"
        );
    }

    #[test]
    fn of_two_kinds_of_requests_the_slower_are_not_all_slow() {
        // A third is served by the disk and takes 30 times the median of what its cache serves; in bursts, much more.
        let input = measured("a", 20_000, |i| match i {
            _ if i % 4_000 < 100 => 1000.0 + i as f64,
            _ if i % 3 == 0 => 30.0,
            _ => 1.0,
        });
        let text = conclusion("sonar", &[input]);
        assert!(
            text.starts_with("Slow requests come in bursts: 80 %"),
            "{text}"
        );
        assert!(text.contains("(the p99)"), "{text}");
    }
}
