//! The table of a study: what is in the folders of its tree.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use iosonar_stats::metric::{Label, Measure, MetricUnit, Quantiles, Times};
use iosonar_stats::{Estimate, Metric};
use iosonar_units::csv_field;
use serde_json::{Map, Value, json};

use super::SweepError;
use super::folder::{FAILED, RESULT, RUN, SKIP, has_idle_name, result};
use super::run::is_repetition;
use super::values::{object_of, value_of};

/// A column of the tables: of a run, one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The name, which ends in the unit.
    pub name: String,
    /// The run's value.
    pub value: f64,
    /// Half the width of its 95 % interval within the run; NaN where it is not known.
    pub half_width: f64,
}

/// A run that is done.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Its folder in the tree.
    pub path: PathBuf,
    /// Its parameters.
    pub parameters: Vec<(String, String)>,
    /// Which repetition, from 1.
    pub repetition: u32,
    /// Whether there may be others.
    pub is_repeated: bool,
    /// The seed, of a simulation.
    pub seed: Option<u64>,
    /// How long it took by the clock on the wall.
    pub elapsed_s: f64,
    /// Its metrics; empty if it failed.
    pub metrics: Vec<Column>,
    /// Why it has none.
    pub failed: Option<String>,
}

/// A point: all its repetitions together.
#[derive(Clone, Debug, PartialEq)]
pub struct PointRow {
    /// Its parameters.
    pub parameters: Vec<(String, String)>,
    /// Its folder in the tree.
    pub path: PathBuf,
    /// How many repetitions have a result.
    pub n: usize,
    /// The mean of each metric over the repetitions, with half the width of its 95 % interval; of a single run what it
    /// knows itself. NaN where it is not known.
    pub metrics: Vec<(f64, f64)>,
}

/// All that is in a tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// The runs, in the order of their paths.
    pub runs: Vec<RunRow>,
    /// Folders whose result is there, but not whole: somebody has damaged it.
    pub damaged: Vec<PathBuf>,
}

/// The columns of a result: of times the mean, quantiles and extremes, of what there is several times (stations)
/// the mean and the largest.
pub fn columns_of(metrics: &[Metric]) -> Vec<Column> {
    let mut columns = Vec::new();
    let mut several: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for metric in metrics {
        let name = name_of(metric);
        match &metric.measure {
            Measure::Times(times) => add_times(&mut columns, times, &name),
            Measure::Theory(theory) => {
                columns.push(Column::bare(format!("{name}_mean_ms"), theory.mean));
                let quantiles = &theory.quantiles;
                columns.extend(
                    quantiles_of(quantiles, &name).map(|(name, v, _)| Column::bare(name, v)),
                );
            }
            Measure::Law { .. } => {}
            Measure::Differences { quantiles, .. } => {
                columns.extend(
                    quantiles_of(quantiles, &name).map(|(name, v, _)| Column::bare(name, v)),
                );
            }
            Measure::Figure { value, .. } if value.is_nan() => {}
            Measure::Figure { value, .. } if metric.labels.text("station").is_some() => {
                several.entry(name).or_default().push(*value);
            }
            Measure::Figure { value, .. } => {
                let name = name + suffix(metric);
                columns.push(Column::bare(name, *value));
            }
        }
    }
    for (name, values) in several {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        columns.push(Column::bare(format!("{name}_mean"), mean));
        columns.push(Column::bare(format!("{name}_max"), most));
    }
    columns
}

/// What a name ends in for the unit, if it does not say it itself.
fn suffix(metric: &Metric) -> &'static str {
    match metric.unit {
        MetricUnit::PerSecond if !metric.name.contains("per_s") => "_per_s",
        MetricUnit::Milliseconds => "_ms",
        MetricUnit::Microseconds => "_us",
        MetricUnit::Seconds => "_s",
        MetricUnit::Bytes => "_b",
        MetricUnit::BytesPerSecond => "_b_s",
        MetricUnit::Sectors => "_sector",
        MetricUnit::One
        | MetricUnit::PerSecond
        | MetricUnit::MegabytesPerSecond
        | MetricUnit::Other(_) => "",
    }
}

/// What the labels of a metric make of its name: `read_latency`, `stage_flash`, `blocks_descriptors_4`. Numbers do not
/// say what they are, so their labels do.
fn name_of(metric: &Metric) -> String {
    let mut name = match metric.labels.text("op") {
        Some(op) => format!("{op}_{}", metric.name),
        None => metric.name.to_string(),
    };
    for (key, value) in metric.labels.iter() {
        name += &match value {
            Label::Text(_) if ["scenario", "op", "station"].contains(&key) => continue,
            Label::Text(text) => format!("_{}", plain(text)),
            Label::Flag(flag) => format!("_{key}_{flag}"),
            Label::Whole(n) => format!("_{key}_{n}"),
            Label::Number(x) => format!("_{key}_{}", plain(&x.to_string())),
        };
    }
    name
}

/// The mean, the quantiles and the largest of times, with the intervals that are known.
fn add_times(columns: &mut Vec<Column>, times: &Times, name: &str) {
    let (of_mean, of_quantiles) = match &times.errors {
        Some(errors) => (errors.stderr_values, errors.quantile_stderr_values),
        None => (0, 0),
    };
    let mut add = |name: String, value: Option<f64>, half_width: f64| {
        columns.extend(value.map(|value| Column {
            name,
            value,
            half_width,
        }));
    };
    let mean = half_width(times.stderr, of_mean);
    add(format!("{name}_mean_ms"), times.mean, mean);
    for (name, value, key) in quantiles_of(&times.quantiles, name) {
        let stderr = times.quantile_stderrs.get(key).copied();
        add(name, Some(value), half_width(stderr, of_quantiles));
    }
    add(format!("{name}_max_ms"), times.max, f64::NAN);
}

/// The columns of those quantiles that tables have, with their values and keys.
fn quantiles_of<'a>(
    quantiles: &'a Quantiles,
    name: &'a str,
) -> impl Iterator<Item = (String, f64, &'static str)> + 'a {
    let columns = [
        ("0.5", "p50"),
        ("0.9", "p90"),
        ("0.95", "p95"),
        ("0.99", "p99"),
        ("0.999", "p999"),
    ];
    columns.into_iter().filter_map(move |(key, part)| {
        let value = (*quantiles.get(key)?)?;
        Some((format!("{name}_{part}_ms"), value, key))
    })
}

/// Half the width of a 95 % interval, from a standard error that rests on so many values.
fn half_width(stderr: Option<f64>, values: usize) -> f64 {
    let stderr = stderr.unwrap_or(f64::NAN);
    Estimate {
        mean: 0.0,
        stderr,
        values,
    }
    .half_width_95()
}

fn plain(text: &str) -> String {
    let lower = text.to_lowercase();
    lower
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '_' })
        .collect()
}

impl Column {
    /// A value without an interval.
    fn bare(name: String, value: f64) -> Self {
        Self {
            name,
            value,
            half_width: f64::NAN,
        }
    }
}

impl RunRow {
    /// What a folder says of its run; `None` if it is none, or not done.
    pub fn read(root: &Path, path: &Path) -> Option<Self> {
        let folder = root.join(path);
        let result = result(&folder);
        let failed = fs::read_to_string(folder.join(FAILED)).ok();
        if result.is_none() && failed.is_none() {
            return None;
        }
        let text = fs::read(folder.join(RUN)).unwrap_or_default();
        let about: Value = serde_json::from_slice(&text).unwrap_or_default();
        let mut row = Self {
            path: path.to_owned(),
            parameters: parameters_of(&about),
            repetition: about.get("repetition").and_then(Value::as_u64).unwrap_or(1) as u32,
            is_repeated: about
                .get("repeated")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            seed: about.get("seed").and_then(Value::as_u64),
            elapsed_s: about
                .get("elapsed_s")
                .and_then(Value::as_f64)
                .unwrap_or(f64::NAN),
            metrics: result.as_deref().map(columns_of).unwrap_or_default(),
            failed: failed
                .filter(|_| result.is_none())
                .map(|why| why.trim_end().to_owned()),
        };
        if about.is_null() {
            // Of what failed before it began its path tells enough.
            let named = path
                .iter()
                .filter_map(|part| part.to_str()?.split_once('='));
            for (name, value) in named {
                if is_repetition(&format!("{name}={value}")) {
                    row.is_repeated = true;
                    row.repetition = value.parse().unwrap_or(1);
                } else {
                    row.parameters.push((name.to_owned(), value.to_owned()));
                }
            }
        }
        Some(row)
    }

    fn value(&self, parameter: &str) -> &str {
        value_of(&self.parameters, parameter).unwrap_or_default()
    }
}

/// Pairs of names and values, in the order of the path.
fn parameters_of(about: &Value) -> Vec<(String, String)> {
    let pairs = about.get("parameters").cloned().unwrap_or_default();
    serde_json::from_value(pairs).unwrap_or_default()
}

impl Study {
    /// All runs of a tree that are done or have failed, but for what is to be left alone.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn read(root: &Path) -> Result<Self, SweepError> {
        let mut study = Self::default();
        study.walk(root, Path::new(""))?;
        Ok(study)
    }

    fn walk(&mut self, root: &Path, path: &Path) -> Result<(), SweepError> {
        let folder = root.join(path);
        if folder.join(SKIP).exists() {
            return Ok(());
        }

        let mut children = Vec::new();
        let entries = fs::read_dir(&folder).map_err(SweepError::io(&folder, "read the folder"))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_folder = entry.file_type().is_ok_and(|t| t.is_dir());
            if is_folder && !has_idle_name(&name) && !name.to_string_lossy().starts_with('.') {
                children.push(path.join(name));
            }
        }
        children.sort();
        // What was one run before it became several is not one of them.
        let is_several = children.iter().any(|child| {
            child
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(is_repetition)
        });
        if path != Path::new("") && !is_several {
            match RunRow::read(root, path) {
                Some(row) => self.runs.push(row),
                None if folder.join(RESULT).exists() => self.damaged.push(path.to_owned()),
                None => {}
            }
        }
        for child in children {
            self.walk(root, &child)?;
        }
        Ok(())
    }

    /// Keeps only these runs.
    pub fn keep(&mut self, paths: &std::collections::HashSet<PathBuf>) {
        self.runs.retain(|run| paths.contains(&run.path));
    }

    /// Takes in a run, in the place of what was there of it.
    pub fn put(&mut self, row: RunRow) {
        match self
            .runs
            .binary_search_by(|other| other.path.cmp(&row.path))
        {
            Ok(at) => self.runs[at] = row,
            Err(at) => self.runs.insert(at, row),
        }
    }

    /// The names of all parameters, in the order in which they first come.
    pub fn parameters(&self) -> Vec<&str> {
        let names = self
            .runs
            .iter()
            .flat_map(|run| &run.parameters)
            .map(|(name, _)| name.as_str());
        in_order(names)
    }

    /// The names of all metrics.
    pub fn metrics(&self) -> Vec<&str> {
        let names = self
            .runs
            .iter()
            .flat_map(|run| &run.metrics)
            .map(|column| column.name.as_str());
        in_order(names)
    }

    /// The points with at least one result, in the order of their paths.
    pub fn points(&self) -> Vec<PointRow> {
        let metrics = self.metrics();
        let mut points: Vec<(PointRow, Vec<&RunRow>)> = Vec::new();
        for run in self.runs.iter().filter(|run| run.failed.is_none()) {
            let path = if run.is_repeated {
                run.path.parent().unwrap_or(Path::new(""))
            } else {
                &run.path
            };
            match points.last_mut() {
                Some((point, runs)) if point.path == path => runs.push(run),
                _ => points.push((
                    PointRow {
                        parameters: run.parameters.clone(),
                        path: path.to_owned(),
                        n: 0,
                        metrics: Vec::new(),
                    },
                    vec![run],
                )),
            }
        }
        let together = |(mut point, runs): (PointRow, Vec<&RunRow>)| {
            point.n = runs.len();
            let mut values = vec![Vec::new(); metrics.len()];
            for run in &runs {
                for (at, column) in located(&metrics, &run.metrics) {
                    values[at].push(column);
                }
            }
            point.metrics = values
                .iter()
                .map(|columns| mean_and_half_width(columns))
                .collect();
            point
        };
        points.into_iter().map(together).collect()
    }

    /// All runs as CSV, a row each.
    pub fn runs_csv(&self) -> String {
        let (parameters, metrics) = (self.parameters(), self.metrics());
        let mut header = vec!["path"];
        header.extend(&parameters);
        header.extend(["repetition", "seed"]);
        header.extend(&metrics);
        header.push("failed");
        let mut text = row(header.iter().map(|name| (*name).to_owned()));
        for run in &self.runs {
            let mut cells = vec![run.path.display().to_string()];
            cells.extend(parameters.iter().map(|name| run.value(name).to_owned()));
            cells.push(run.repetition.to_string());
            cells.push(run.seed.map_or(String::new(), |seed| seed.to_string()));
            let mut values = vec![f64::NAN; metrics.len()];
            for (at, column) in located(&metrics, &run.metrics) {
                values[at] = column.value;
            }
            cells.extend(values.into_iter().map(cell));
            cells.push(run.failed.clone().unwrap_or_default());
            text += &row(cells.into_iter());
        }
        text
    }

    /// All points as CSV, a row each: of every metric the mean and half the width of its 95 % interval.
    pub fn points_csv(&self) -> String {
        let (parameters, metrics) = (self.parameters(), self.metrics());
        let mut header: Vec<String> = parameters.iter().map(|name| (*name).to_owned()).collect();
        header.push("repetitions".to_owned());
        for metric in &metrics {
            header.push((*metric).to_owned());
            header.push(format!("{metric}_ci95"));
        }
        let mut text = row(header.into_iter());
        for point in self.points() {
            let value = |name: &&str| {
                value_of(&point.parameters, name)
                    .unwrap_or_default()
                    .to_owned()
            };
            let mut cells: Vec<String> = parameters.iter().map(value).collect();
            cells.push(point.n.to_string());
            for (mean, half_width) in &point.metrics {
                cells.extend([cell(*mean), cell(*half_width)]);
            }
            text += &row(cells.into_iter());
        }
        text
    }

    /// All points and runs as JSON.
    pub fn json(&self) -> Value {
        let metrics = self.metrics();
        let finite = |x: f64| x.is_finite().then_some(x);
        let point = |point: &PointRow| {
            let figures = metrics
                .iter()
                .zip(&point.metrics)
                .filter(|(_, (mean, _))| mean.is_finite());
            let figures: Map<String, Value> = figures
                .map(|(name, (mean, half))| {
                    (
                        (*name).to_owned(),
                        json!({ "mean": mean, "half_width_95": finite(*half) }),
                    )
                })
                .collect();
            json!({
                "parameters": object_of(&point.parameters), "path": point.path,
                "repetitions": point.n, "metrics": figures,
            })
        };
        let run = |run: &RunRow| {
            let figures: Map<String, Value> = run
                .metrics
                .iter()
                .map(|column| (column.name.clone(), json!(column.value)))
                .collect();
            json!({
                "path": run.path, "parameters": object_of(&run.parameters), "repetition": run.repetition,
                "seed": run.seed, "metrics": figures, "failed": run.failed,
            })
        };
        json!({
            "iosonar": env!("CARGO_PKG_VERSION"),
            "parameters": self.parameters(),
            "metrics": metrics,
            "points": self.points().iter().map(point).collect::<Vec<_>>(),
            "runs": self.runs.iter().map(run).collect::<Vec<_>>(),
        })
    }
}

/// Names once each, in the order in which they come first. Most rows have the same ones.
fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = std::collections::HashSet::new();
    names.filter(|name| seen.insert(*name)).collect()
}

/// Where the columns of a run stand among all metrics.
fn located<'a>(
    metrics: &'a [&str],
    columns: &'a [Column],
) -> impl Iterator<Item = (usize, &'a Column)> + 'a {
    // Runs mostly have the same ones in the same order.
    let mut next = 0;
    columns.iter().filter_map(move |column| {
        if metrics
            .get(next)
            .is_none_or(|expected| *expected != column.name)
        {
            next = metrics.iter().position(|metric| *metric == column.name)?;
        }
        next += 1;
        Some((next - 1, column))
    })
}

fn mean_and_half_width(columns: &[&Column]) -> (f64, f64) {
    match columns {
        [] => (f64::NAN, f64::NAN),
        [one] => (one.value, one.half_width),
        _ => {
            let values: Vec<f64> = columns.iter().map(|column| column.value).collect();
            let estimate = Estimate::from_independent(&values);
            (estimate.mean, estimate.half_width_95())
        }
    }
}

/// A number as others can read it; nothing where there is none.
fn cell(value: f64) -> String {
    if value.is_finite() {
        value.to_string()
    } else {
        String::new()
    }
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells
        .map(|cell| csv_field(&cell.replace('\n', " ")).into_owned())
        .collect();
    cells.join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_stats::{Distribution, Labels};
    use iosonar_units::Nanos;

    fn of(path: &str, repetition: u32, value: f64) -> RunRow {
        RunRow {
            path: path.into(),
            parameters: vec![("disks".into(), path[6..7].into())],
            repetition,
            is_repeated: true,
            seed: Some(3),
            elapsed_s: 1.0,
            metrics: vec![Column::bare("mean_ms".into(), value)],
            failed: None,
        }
    }

    #[test]
    fn a_result_becomes_figures_with_names() {
        let mut times = Distribution::default();
        for ms in [1, 3] {
            times.push(Nanos::from_millis(ms));
        }
        let labels = Labels::of("scenario", "s").with("op", "read");
        let disk = |n: u32| Labels::of("station", format!("disk/{n}"));
        let none = Labels::default();
        let metrics = [
            Metric::times("response_time", &labels, &times),
            Metric::figure("utilisation", &disk(0), MetricUnit::One, 0.25),
            Metric::figure("utilisation", &disk(1), MetricUnit::One, 0.75),
            Metric::figure("throughput", &none, MetricUnit::PerSecond, 10.0).with_stderr(1.0),
            Metric::figure(
                "megabytes_per_second",
                &none,
                MetricUnit::MegabytesPerSecond,
                3.0,
            ),
            Metric::figure("capacity", &none, MetricUnit::PerSecond, f64::NAN),
        ];
        // As they are read from a file.
        let text = serde_json::to_string(&metrics).unwrap();
        let metrics: Vec<Metric> = serde_json::from_str(&text).unwrap();
        let columns = columns_of(&metrics);
        let mut figures: Vec<(&str, f64)> =
            columns.iter().map(|c| (c.name.as_str(), c.value)).collect();
        // Quantiles are as exact as the histogram.
        figures.retain(|(name, _)| !name.contains("_time_p"));
        let expected = [
            ("read_response_time_mean_ms", 2.0),
            ("read_response_time_max_ms", 3.0),
            ("throughput_per_s", 10.0),
            ("megabytes_per_second", 3.0),
            ("utilisation_mean", 0.5),
            ("utilisation_max", 0.75),
        ];
        assert_eq!(figures, expected);
        let quantiles = ["p50", "p90", "p95", "p99", "p999"];
        for part in quantiles {
            let name = format!("read_response_time_{part}_ms");
            assert!(columns.iter().any(|column| column.name == name), "{name}");
        }
    }

    #[test]
    fn metrics_that_differ_in_a_number_have_columns_of_their_own() {
        let all = Labels::of("scenario", "s");
        let blocks = |n: u32| {
            let labels = all.with("descriptors", n);
            Metric::figure("blocks", &labels, MetricUnit::One, f64::from(n))
        };
        let slot = |s: f64| {
            let labels = all.with("slot_s", s);
            Metric::figure("dispersion", &labels, MetricUnit::One, s)
        };
        let exact = |is: bool| {
            let labels = all.with("exact", is);
            Metric::figure("mean", &labels, MetricUnit::One, f64::from(u8::from(is)))
        };
        let metrics = [
            blocks(1),
            blocks(4),
            slot(1.0),
            slot(0.1),
            exact(true),
            exact(false),
        ];
        let columns = columns_of(&metrics);
        let names: Vec<(&str, f64)> = columns.iter().map(|c| (c.name.as_str(), c.value)).collect();
        let expected = [
            ("blocks_descriptors_1", 1.0),
            ("blocks_descriptors_4", 4.0),
            ("dispersion_slot_s_1", 1.0),
            ("dispersion_slot_s_0_1", 0.1),
            ("mean_exact_true", 1.0),
            ("mean_exact_false", 0.0),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn points_are_means_over_their_repetitions_with_students_interval() {
        let mut study = Study::default();
        for (path, n, value) in [
            ("disks=8/rep=01", 1, 5.0),
            ("disks=4/rep=02", 2, 3.0),
            ("disks=4/rep=01", 1, 1.0),
            ("disks=8/rep=01", 1, 7.0),
        ] {
            study.put(of(path, n, value));
        }
        study.put(RunRow {
            metrics: Vec::new(),
            failed: Some("a \"reason\", at last".into()),
            ..of("disks=8/rep=02", 2, 0.0)
        });
        let points = study.points();
        assert_eq!(points.len(), 2);
        // Two values, 1 and 3: standard error 1, Student's t with one degree of freedom.
        assert_eq!(points[0].metrics, [(2.0, 12.706)]);
        assert_eq!(points[1].n, 1);
        assert!(points[1].metrics[0].1.is_nan());
        assert_eq!(
            study.points_csv(),
            "disks,repetitions,mean_ms,mean_ms_ci95\n4,2,2,12.706\n8,1,7,\n"
        );
        assert!(
            study
                .runs_csv()
                .ends_with("disks=8/rep=02,8,2,3,,\"a \"\"reason\"\", at last\"\n")
        );
    }
}
