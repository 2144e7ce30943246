//! The same scenarios with other values: all combinations, as curves and as CSV.

use std::borrow::Cow;
use std::fmt::Write;

use iosonar_plot::{Axis, Chart, Colour, Estimates, Line, Mark, Unit};
use iosonar_report::study::axis_over;
use iosonar_scenario::{NoSteadyState, Outputs, Prepared, ScenarioError, SimulationResult, Watch};
use iosonar_stats::Estimate;
use iosonar_units::{Kind, csv_field, magnitude};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// As many combinations take minutes; more are a study.
pub const MOST_POINTS: usize = 10_000;

/// A key, and the values that it has one after the other.
pub type Key = (String, Vec<String>);

/// A combination of values of one scenario.
#[derive(Debug)]
pub struct Point {
    /// The name of the scenario.
    pub name: String,
    /// The scenario with the values.
    pub simulation: Prepared,
    /// The values, in the order of the keys.
    pub values: Vec<String>,
    /// What came out, or why nothing did.
    pub result: Result<Box<SimulationResult>, NoSteadyState>,
}

impl Point {
    /// What a drive of flash programmed, by what the host wrote.
    pub fn write_amplification(&self) -> Option<f64> {
        let flash = &self.result.as_ref().ok()?.ssd.as_ref()?.flash;
        (flash.programs > 0).then(|| flash.write_amplification())
    }
}

/// What curves show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Curve {
    /// Requests per second over the first key.
    Throughput,
    /// Bytes per second over the first key.
    Data,
    /// The mean response time over the first key.
    Latency,
    /// The mean response time over the throughput.
    HockeyStick,
}

/// Scenarios with all combinations of values.
#[derive(Debug)]
pub struct Varied {
    /// The names of the scenarios.
    pub scenarios: Vec<String>,
    /// The keys; the first changes fastest.
    pub keys: Vec<Key>,
    /// The points.
    pub points: Vec<Point>,
}

/// The result of a simulation with one thread, or why it has no steady state; unless `unstable` is wanted it is not begun
/// then.
pub(crate) fn steady(
    simulation: &Prepared,
    unstable: bool,
) -> Result<Result<SimulationResult, NoSteadyState>, ScenarioError> {
    let (outputs, watch) = (Outputs::default(), Watch::default());
    match unstable {
        true => Ok(simulation.run_watched(1, outputs, &watch)?.if_served()),
        false => simulation.run_steady(1, outputs, &watch),
    }
}

impl Point {
    /// Simulates a scenario, called `name`, with these values already in it. Unless `unstable` is wanted, what has no
    /// steady state is not begun.
    fn of(
        (name, simulation, values): (String, Prepared, Vec<String>),
        unstable: bool,
    ) -> Result<Self, ScenarioError> {
        let result = steady(&simulation, unstable)?;
        Ok(Self {
            name,
            simulation,
            values,
            result: result.map(Box::new),
        })
    }
}

/// Simulates scenarios with their names and values, in the thread pool that it is called in.
///
/// # Errors
/// If one cannot be simulated.
pub fn simulate(
    all: Vec<(String, Prepared, Vec<String>)>,
    unstable: bool,
) -> Result<Vec<Point>, ScenarioError> {
    all.into_par_iter()
        .map(|one| Point::of(one, unstable))
        .collect()
}

/// Whether a key is another one, or the table that holds it.
pub fn holds(table: &str, key: &str) -> bool {
    key.strip_prefix(table)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// All combinations; the first key changes fastest.
pub fn combinations(vary: &[Key]) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    for (_, values) in vary.iter().rev() {
        let with = |tail: &Vec<String>| -> Vec<Vec<String>> {
            let join =
                |value: &String| std::iter::once(value.clone()).chain(tail.clone()).collect();
            values.iter().map(join).collect()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// A place, a value, and the ends of its 95 % interval, NaN where that is not known.
type Place = (f64, f64, f64, f64);

/// Where a point stands on a chart.
fn place_of(kind: Curve, point: &Point) -> Place {
    let value = point.values.first().and_then(|value| magnitude(value));
    let x = value.map_or(f64::NAN, |(x, _)| x);
    let Ok(result) = &point.result else {
        // What has no result interrupts the curve.
        return (x, f64::NAN, f64::NAN, f64::NAN);
    };
    let within = |x: f64, of: &Estimate, factor: f64| {
        let half = of.half_width_95();
        // Neither a time nor a rate is below zero.
        let low = if half.is_finite() {
            (of.mean - half).max(0.0)
        } else {
            f64::NAN
        };
        (x, of.mean * factor, low * factor, (of.mean + half) * factor)
    };
    match kind {
        Curve::Throughput => within(x, &result.throughput_per_s, 1.0),
        Curve::Data => within(x, &result.megabytes_per_s(), 1e6),
        Curve::Latency => within(x, &result.mean_ms, 1e-3),
        Curve::HockeyStick => within(result.throughput_per_s.mean, &result.mean_ms, 1e-3),
    }
}

/// What descriptions have in common: numbers that differ become a range. `None` if other words differ, or the
/// level, which is a name.
fn in_common(descriptions: &[String]) -> Option<String> {
    let words: Vec<Vec<&str>> = descriptions
        .iter()
        .map(|d| d.split(' ').collect())
        .collect();
    let first = words.first()?;
    if words.iter().any(|words| words.len() != first.len()) {
        return None;
    }
    let common = |i: usize| {
        let all = || words.iter().map(|words| words[i]);
        if all().all(|word| word == first[i]) {
            return Some(first[i].to_owned());
        }
        if i > 0 && first[i - 1] == "RAID" {
            return None;
        }
        let numbers: Vec<u64> = all().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        Some(format!(
            "{} to {}",
            numbers.iter().min()?,
            numbers.iter().max()?
        ))
    };
    let words: Option<Vec<String>> = (0..first.len()).map(common).collect();
    Some(words?.join(" "))
}

impl Varied {
    /// What a point is called, but for its place on the axis.
    fn curve_of(&self, point: &Point) -> String {
        let mut parts = Vec::new();
        if self.scenarios.len() > 1 {
            parts.push(point.name.clone());
        }
        for ((key, _), value) in self.keys.iter().zip(&point.values).skip(1) {
            let key = key.rsplit('.').next().unwrap_or(key);
            parts.push(format!("{key} = {value}"));
        }
        if parts.is_empty() {
            point.name.clone()
        } else {
            parts.join(", ")
        }
    }

    /// The curves with their names: points in the order of the x axis, curves in that of the values that tell them apart.
    fn lines(&self, kind: Curve) -> Vec<(String, Vec<Place>)> {
        let mut points: Vec<&Point> = self.points.iter().collect();
        // Of words the order is that in which they were given.
        for key in (0..self.keys.len()).rev() {
            let at = |point: &Point| magnitude(&point.values[key]).map(|(at, _)| at);
            if points.iter().all(|point| at(point).is_some()) {
                points.sort_by(|a, b| f64::total_cmp(&at(a).unwrap_or(0.0), &at(b).unwrap_or(0.0)));
            }
        }
        points.sort_by_key(|point| self.scenarios.iter().position(|name| *name == point.name));
        let mut lines: Vec<(String, Vec<Place>)> = Vec::new();
        for point in points {
            let name = self.curve_of(point);
            let at = place_of(kind, point);
            match lines.iter_mut().find(|(known, _)| *known == name) {
                Some((_, places)) => places.push(at),
                None => lines.push((name, vec![at])),
            }
        }
        lines
    }

    /// What all points were simulated with.
    fn subject(&self) -> String {
        let array = |point: &Point| point.simulation.array().to_string();
        let arrays: Vec<String> = self.points.iter().map(array).collect();
        in_common(&arrays).unwrap_or_else(|| self.scenarios.join(", "))
    }

    /// The points as curves over the first key; none for a key without values.
    pub fn chart(&self, kind: Curve) -> Chart {
        let points = &self.points;
        let lines = self.lines(kind);
        let of = self.keys.first().map_or("", |(key, _)| key.as_str());
        let (y_name, unit) = match kind {
            Curve::Throughput => ("requests per second", Unit::Number),
            Curve::Data => ("data per second", Unit::BytesPerSecond),
            Curve::Latency | Curve::HockeyStick => ("mean response time", Unit::Seconds),
        };
        let x = if kind == Curve::HockeyStick {
            Axis::from_zero("requests per second", Unit::Number)
        } else {
            let places = lines.iter().flat_map(|(_, places)| places);
            let axis = axis_over(of, places.map(|place| place.0), 16.0);
            let value = points.first().and_then(|point| point.values.first());
            match value.and_then(|value| magnitude(value)) {
                Some((_, Kind::Bytes)) => Axis {
                    unit: Unit::Bytes,
                    ..axis
                },
                Some((_, Kind::Time)) => Axis {
                    unit: Unit::Seconds,
                    ..axis
                },
                _ => axis,
            }
        };
        let title = if kind == Curve::HockeyStick {
            format!("Mean response time against throughput, over {of}")
        } else {
            let mut first = y_name.chars();
            let capital: String = first
                .next()
                .into_iter()
                .flat_map(char::to_uppercase)
                .collect();
            format!("{capital}{} against {of}", first.as_str())
        };
        let empty = points
            .iter()
            .filter_map(|point| point.result.as_ref().err().map(ToString::to_string));
        let mut notes: Vec<String> = Vec::new();
        for why in empty {
            let short = format!(
                "no result: {}",
                why.split([':', ',']).next().unwrap_or(&why)
            );
            if !notes.contains(&short) {
                notes.push(short);
            }
        }
        let has_bar = |place: &Place| place.2.is_finite();
        if lines.iter().any(|(_, places)| places.iter().any(has_bar)) {
            notes.push("bars are 95 % intervals".to_owned());
        }
        let mut marks = Vec::new();
        for (i, (name, places)) in lines.into_iter().enumerate() {
            let line = places.iter().map(|place| (place.0, place.1)).collect();
            marks.push(Mark::Line(Line::new(&name, Colour::Curve(i), line)));
            marks.push(Mark::Estimates(Estimates {
                name: format!("{name} 95 %"),
                label: String::new(),
                colour: Colour::Curve(i),
                points: places,
            }));
        }
        Chart {
            title,
            subtitle: self.subject(),
            footer: format!("iosonar {}", env!("CARGO_PKG_VERSION")),
            x,
            y: Axis::from_zero(y_name, unit),
            marks,
            notes,
            ..Chart::default()
        }
    }

    /// The points as CSV, a row each.
    pub fn csv(&self) -> String {
        let keys: Vec<Cow<'_, str>> = self.keys.iter().map(|(key, _)| csv_field(key)).collect();
        let mut text = format!(
            "scenario,{},throughput_per_s,megabytes_per_s,mean_ms,mean_stderr_ms,p50_ms,p99_ms,p999_ms,max_ms,write_amplification,no_result\n",
            keys.join(",")
        );
        for point in &self.points {
            let values: Vec<Cow<'_, str>> = point.values.iter().map(|v| csv_field(v)).collect();
            let name = csv_field(&point.name);
            let _ = write!(text, "{name},{},", values.join(","));
            let _ = match &point.result {
                Ok(result) => {
                    let quantile = |p| result.quantile_ms(p).mean;
                    let max = result.response_time.moments.max().unwrap_or_default();
                    writeln!(
                        text,
                        "{},{},{},{},{},{},{},{},{},",
                        result.throughput_per_s.mean,
                        result.megabytes_per_s().mean,
                        result.mean_ms.mean,
                        result.mean_ms.stderr,
                        quantile(0.5),
                        quantile(0.99),
                        quantile(0.999),
                        max.as_millis_f64(),
                        point
                            .write_amplification()
                            .map_or(String::new(), |wa| wa.to_string()),
                    )
                }
                Err(why) => writeln!(text, ",,,,,,,,,{}", csv_field(&why.to_string())),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::in_common;

    #[test]
    fn descriptions_that_differ_in_a_number_have_a_range_in_common() {
        let of = |disks: &[u32]| {
            let text = |n: &u32| format!("RAID 5 of {n} x a disk");
            in_common(&disks.iter().map(text).collect::<Vec<_>>())
        };
        assert_eq!(of(&[4, 4]).as_deref(), Some("RAID 5 of 4 x a disk"));
        assert_eq!(
            of(&[8, 4, 12]).as_deref(),
            Some("RAID 5 of 4 to 12 x a disk")
        );
        let levels = ["RAID 5 of 4 x a disk", "RAID 0 of 4 x a disk"];
        assert_eq!(in_common(&levels.map(str::to_owned)), None);
    }
}
