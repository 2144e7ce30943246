//! The same scenarios with other values: a table of all combinations, and curves.

use iosonar_stats::Labels;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::Context;
use iosonar_plot::{Axis, Chart, Colour, Estimates, Line, Mark, Size, Theme, Unit};
use iosonar_report::{grouped, study::axis_over};
use iosonar_scenario::{ScenarioError, SimulationResult};
use iosonar_stats::Estimate;
use iosonar_trace::output::WholeFile;
use iosonar_units::{Nanos, csv_field};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use serde_json::json;

use super::checks::refuse_outputs_of_one;
use super::{Named, load, steady};
use crate::exit::{Ending, Usage, note, print};
use crate::low::{CurveKind, Sim};
use crate::render::table::Table;
use crate::render::{picture, remarks};
use iosonar_stats::Output;

/// A key, and the values that it has one after the other.
pub(crate) type Varied = (String, Vec<String>);

/// As many combinations take minutes; more are a study.
const MOST_POINTS: usize = 10_000;

/// A combination of values of one scenario.
struct Point {
    named: Named,
    /// The values, in the order of the keys.
    values: Vec<String>,
    /// What came out, or why nothing did.
    result: Result<Box<SimulationResult>, String>,
}

pub(super) fn run(args: &Sim, threads: usize) -> anyhow::Result<Ending> {
    check(args)?;
    let all = combinations(&args.vary);
    let mut points = Vec::with_capacity(all.len() * args.scenarios.len());
    // All are checked before the first is run.
    for path in &args.scenarios {
        for values in &all {
            let keys = args.vary.iter().map(|(key, _)| key.clone());
            let set = keys.zip(values.iter().cloned()).collect();
            let named = load(args, path, set).map_err(|error| of_vary(error, &args.vary))?;
            points.push((named, values.clone()));
        }
    }
    super::check_inputs(args, points.iter().map(|(named, _)| named))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let points: Vec<Point> = pool.install(|| {
        let points = points.into_par_iter();
        points
            .map(|(named, values)| simulate(args, named, values))
            .collect::<anyhow::Result<_>>()
    })?;
    if !args.quiet {
        // Mostly the same of each: it is the same trace.
        let results = points.iter().filter_map(|point| point.result.as_ref().ok());
        let remarks: BTreeSet<String> = results.flat_map(|r| remarks::of_load(r)).collect();
        remarks.iter().for_each(|remark| note(remark));
    }
    if args.json {
        print(&as_json(args, &points).text())?;
    } else {
        print(&table(args, &points))?;
    }
    if let Some(path) = &args.csv {
        WholeFile::write_all(path, csv(args, &points).as_bytes())
            .with_context(|| format!("{}: cannot write", path.display()))?;
    }
    if let Some(path) = &args.curve {
        let chart = chart(args, &points)?;
        picture::save(&[&chart], path, Size::default(), Theme::Light)?;
        if !args.quiet {
            note(&format!("the curves are in {}", path.display()));
        }
    }
    // An empty cell says why; a table of nothing else is no result.
    if points.iter().all(|point| point.result.is_err()) {
        return Ok(Ending::Flagged);
    }
    Ok(Ending::Done)
}

fn check(args: &Sim) -> Result<(), Usage> {
    refuse_outputs_of_one(args, "--vary makes many")?;
    let points = args.vary.iter().map(|(_, values)| values.len());
    let points = points.fold(args.scenarios.len(), usize::saturating_mul);
    if points > MOST_POINTS {
        return Err(Usage(format!(
            "--vary: {points} combinations, expected at most {MOST_POINTS}"
        )));
    }
    for (i, (key, _)) in args.vary.iter().enumerate() {
        if args.vary[..i].iter().any(|(before, _)| before == key) {
            return Err(Usage(format!("--vary: '{key}' is given twice")));
        }
        if let Some((set, _)) = args.set.iter().find(|(set, _)| holds(key, set)) {
            return Err(Usage(format!(
                "--vary: '{key}' is varied, so --set {set} would have no effect: leave one out"
            )));
        }
    }
    let drawn = args.curve.is_some() && args.curve_of != CurveKind::HockeyStick;
    if drawn && let Some((key, values)) = args.vary.first() {
        for value in values {
            if value.parse::<f64>().is_err() {
                return Err(Usage(format!(
                    "--curve: '{key}' is {value}, expected numbers of the first --vary: it goes to the right"
                )));
            }
        }
    }
    Ok(())
}

/// Whether a key is another one, or the table that holds it.
fn holds(table: &str, key: &str) -> bool {
    key.strip_prefix(table)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// What is wrong with a value that --vary set is said of --vary.
fn of_vary(error: anyhow::Error, vary: &[Varied]) -> anyhow::Error {
    match error.downcast_ref() {
        Some(ScenarioError::Set { key, problem })
            if vary
                .iter()
                .any(|(varied, _)| holds(varied, key) || holds(key, varied)) =>
        {
            Usage(format!("--vary: '{key}' {problem}")).into()
        }
        _ => error,
    }
}

/// All combinations; the first key changes fastest.
fn combinations(vary: &[Varied]) -> Vec<Vec<String>> {
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

fn simulate(args: &Sim, named: Named, values: Vec<String>) -> anyhow::Result<Point> {
    let result = steady(&named.simulation, args.unstable)?;
    Ok(Point {
        named,
        values,
        result: result.map(Box::new).map_err(|why| why.to_string()),
    })
}

fn table(args: &Sim, points: &[Point]) -> String {
    let several = args.scenarios.len() > 1;
    let mut header: Vec<&str> = if several { vec!["scenario"] } else { vec![""] };
    header.extend(args.vary.iter().map(|(key, _)| key.as_str()));
    header.extend(["requests/s", "MB/s", "mean", "p50", "p99", "max"]);
    let amplified = points.iter().any(|point| amplification(point).is_some());
    if amplified {
        header.push("write amplification");
    }
    let mut table = Table::new(&header);
    let mut reasons = Vec::new();
    for point in points {
        let name = if several {
            point.named.name.clone()
        } else {
            String::new()
        };
        let mut row = vec![name];
        row.extend(point.values.iter().cloned());
        match &point.result {
            Ok(result) => {
                let histogram = &result.response_time.histogram;
                let time = |p| histogram.quantile(p).unwrap_or_default().to_string();
                row.push(grouped(result.throughput_per_s.mean.round() as u64));
                row.push(format!("{:.1}", result.megabytes_per_s().mean));
                row.push(Nanos::from_millis_f64(result.mean_ms.mean).to_string());
                row.extend([time(0.5), time(0.99)]);
                row.push(
                    result
                        .response_time
                        .moments
                        .max()
                        .unwrap_or_default()
                        .to_string(),
                );
                row.extend(amplification(point).map(|wa| format!("{wa:.3}")));
            }
            Err(why) => {
                let at = reasons
                    .iter()
                    .position(|known| known == why)
                    .unwrap_or_else(|| {
                        reasons.push(why.clone());
                        reasons.len() - 1
                    });
                row.push(format!("- [{}]", at + 1));
            }
        }
        table.row(row);
    }
    let mut text = table.text();
    for (i, why) in reasons.iter().enumerate() {
        let _ = writeln!(text, "  [{}] {why}", i + 1);
    }
    text
}

/// What a drive of flash programmed, by what the host wrote.
fn amplification(point: &Point) -> Option<f64> {
    let flash = &point.result.as_ref().ok()?.ssd.as_ref()?.flash;
    (flash.programs > 0).then(|| flash.write_amplification())
}

/// What a point is called, but for its place on the axis.
fn curve_of(args: &Sim, point: &Point) -> String {
    let mut parts = Vec::new();
    if args.scenarios.len() > 1 {
        parts.push(point.named.name.clone());
    }
    for ((key, _), value) in args.vary.iter().zip(&point.values).skip(1) {
        let key = key.rsplit('.').next().unwrap_or(key);
        parts.push(format!("{key} = {value}"));
    }
    if parts.is_empty() {
        point.named.name.clone()
    } else {
        parts.join(", ")
    }
}

/// A place, a value, and the ends of its 95 % interval, NaN where that is not known.
type Place = (f64, f64, f64, f64);

/// Where a point stands on a chart.
fn place_of(kind: CurveKind, point: &Point) -> Place {
    let value = point.values.first().and_then(|value| value.parse().ok());
    let x = value.unwrap_or(f64::NAN);
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
        CurveKind::Throughput => within(x, &result.throughput_per_s, 1.0),
        CurveKind::Data => within(x, &result.megabytes_per_s(), 1e6),
        CurveKind::Latency => within(x, &result.mean_ms, 1e-3),
        CurveKind::HockeyStick => within(result.throughput_per_s.mean, &result.mean_ms, 1e-3),
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

/// What all points were simulated with.
fn subject(args: &Sim, points: &[Point]) -> String {
    let array = |point: &Point| point.named.simulation.array().to_string();
    let arrays: Vec<String> = points.iter().map(array).collect();
    in_common(&arrays).unwrap_or_else(|| {
        let names = args.scenarios.iter().filter_map(|path| path.file_stem());
        let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
        names.join(", ")
    })
}

fn chart(args: &Sim, points: &[Point]) -> anyhow::Result<Chart> {
    let kind = args.curve_of;
    points.first().context("nothing was varied")?;
    let mut lines: Vec<(String, Vec<Place>)> = Vec::new();
    for point in points {
        let name = curve_of(args, point);
        let at = place_of(kind, point);
        match lines.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push(at),
            None => lines.push((name, vec![at])),
        }
    }
    let of = args.vary.first().map_or("", |(key, _)| key.as_str());
    let (y_name, unit) = match kind {
        CurveKind::Throughput => ("requests per second", Unit::Number),
        CurveKind::Data => ("data per second", Unit::BytesPerSecond),
        CurveKind::Latency | CurveKind::HockeyStick => ("mean response time", Unit::Seconds),
    };
    let x = if kind == CurveKind::HockeyStick {
        Axis::from_zero("requests per second", Unit::Number)
    } else {
        let places = lines.iter().flat_map(|(_, places)| places);
        axis_over(of, places.map(|place| place.0), 16.0)
    };
    let title = if kind == CurveKind::HockeyStick {
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
        .filter_map(|point| point.result.as_ref().err());
    let mut notes: Vec<String> = Vec::new();
    for why in empty {
        let short = format!("no result: {}", why.split([':', ',']).next().unwrap_or(why));
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
    Ok(Chart {
        title,
        subtitle: subject(args, points),
        footer: format!("iosonar {}", env!("CARGO_PKG_VERSION")),
        x,
        y: Axis::from_zero(y_name, unit),
        marks,
        notes,
        ..Chart::default()
    })
}

fn csv(args: &Sim, points: &[Point]) -> String {
    let keys: Vec<Cow<'_, str>> = args.vary.iter().map(|(key, _)| csv_field(key)).collect();
    let mut text = format!(
        "scenario,{},throughput_per_s,megabytes_per_s,mean_ms,mean_stderr_ms,p50_ms,p99_ms,p999_ms,max_ms,write_amplification,no_result\n",
        keys.join(",")
    );
    for point in points {
        let values: Vec<Cow<'_, str>> = point.values.iter().map(|v| csv_field(v)).collect();
        let name = csv_field(&point.named.name);
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
                    amplification(point).map_or(String::new(), |wa| wa.to_string()),
                )
            }
            Err(why) => writeln!(text, ",,,,,,,,,{}", csv_field(why)),
        };
    }
    text
}

fn as_json(args: &Sim, points: &[Point]) -> Output {
    let mut json = Output::new("sim --vary");
    for point in points {
        let mut labels = Labels::of("scenario", &point.named.name);
        for ((key, _), value) in args.vary.iter().zip(&point.values) {
            labels = labels.with(key.clone(), value);
        }
        match &point.result {
            Ok(result) => {
                json.metrics(result.rate_metrics(&labels));
                json.metric(result.response_time_metric(&labels));
            }
            Err(why) => json.append("no_result", json!({ "labels": labels, "why": why })),
        }
    }
    json
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
