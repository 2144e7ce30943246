//! The table of a study: what is in the folders of its tree.

mod columns;
mod written;

use std::fs;
use std::path::{Path, PathBuf};

use iosonar_scenario::NotSteady;
use iosonar_stats::Estimate;
use serde_json::Value;

use super::SweepError;
use super::folder::{FAILED, RESULT, RUN, RunResult, SKIP, has_idle_name};
use super::run::is_repetition;
use super::values::value_of;
use columns::is_rate;
pub use columns::{Column, columns_of};

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
    /// Why its result depends on how long it was.
    pub not_steady: Option<NotSteady>,
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
    /// Why the results of repetitions depend on how long they were: the first of each kind of reason.
    pub not_steady: Vec<NotSteady>,
    /// The mean of each metric over the repetitions, with half the width of its 95 % interval; of a single run what it
    /// knows itself. NaN where it is not known, or where longer runs would leave it.
    pub metrics: Vec<(f64, f64)>,
}

/// All that is in a tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Study {
    /// The runs, in the order of their paths.
    pub runs: Vec<RunRow>,
    /// Folders whose result is incomplete or damaged.
    pub damaged: Vec<PathBuf>,
}

impl PointRow {
    /// The names of the reasons for which its results depend on how long the runs were.
    pub fn why_not_steady(&self) -> Vec<&'static str> {
        self.not_steady.iter().map(|why| why.name()).collect()
    }
}

impl RunRow {
    /// The run of a folder; `None` if it is not a run, or not done.
    pub fn read(root: &Path, path: &Path) -> Option<Self> {
        let folder = root.join(path);
        let result = RunResult::read(&folder);
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
            metrics: result
                .as_ref()
                .map(|result| columns_of(&result.metrics))
                .unwrap_or_default(),
            not_steady: result.as_ref().and_then(RunResult::not_steady),
            failed: failed
                .filter(|_| result.is_none())
                .map(|why| why.trim_end().to_owned()),
        };
        if about.is_null() {
            // A run that failed before it began is described by its path.
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
    /// All runs of a tree that are done or have failed, except for those to be skipped.
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
                        not_steady: Vec::new(),
                        metrics: Vec::new(),
                    },
                    vec![run],
                )),
            }
        }
        let together = |(mut point, runs): (PointRow, Vec<&RunRow>)| {
            point.n = runs.len();
            let mut seen = std::collections::HashSet::new();
            let reasons = runs.iter().filter_map(|run| run.not_steady);
            point.not_steady = reasons.filter(|why| seen.insert(why.name())).collect();
            let mut values = vec![Vec::new(); metrics.len()];
            for run in &runs {
                for (at, column) in located(&metrics, &run.metrics) {
                    values[at].push(column);
                }
            }
            // Repetitions that are all too short agree with each other, but not with longer ones.
            let is_steady = |metric: &str| {
                let mut reasons = point.not_steady.iter();
                reasons.all(|why| why.leaves_rates() && is_rate(metric))
            };
            let of = |(columns, metric): (&Vec<&Column>, &&str)| match mean_and_half_width(columns)
            {
                (mean, _) if !is_steady(metric) => (mean, f64::NAN),
                known => known,
            };
            point.metrics = values.iter().zip(&metrics).map(of).collect();
            point
        };
        points.into_iter().map(together).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_stats::metric::MetricUnit;
    use iosonar_stats::{Distribution, Labels, Metric};
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
            not_steady: None,
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
            "disks,repetitions,not_steady,mean_ms,mean_ms_ci95\n4,2,,2,12.706\n8,1,,7,\n"
        );
        assert!(
            study
                .runs_csv()
                .ends_with("disks=8/rep=02,8,2,3,,,\"a \"\"reason\"\", at last\"\n")
        );
    }

    #[test]
    fn points_whose_runs_are_not_steady_have_intervals_of_rates_alone() {
        let mut study = Study::default();
        let run = |n: u32, why: Option<NotSteady>| RunRow {
            metrics: vec![
                Column::bare("response_time_p99_ms".into(), f64::from(n)),
                Column::bare("throughput_per_s".into(), f64::from(n)),
            ],
            not_steady: why,
            ..of(&format!("disks=4/rep=0{n}"), n, 0.0)
        };
        let known = |study: &Study| {
            let point = &study.points()[0];
            let known = [0, 1].map(|at| point.metrics[at].1.is_finite());
            (point.why_not_steady().join(" "), known)
        };
        study.put(run(1, None));
        study.put(run(2, None));
        assert_eq!(known(&study), (String::new(), [true, true]));
        study.put(run(2, Some(NotSteady::QueueGrows { share: 0.5 })));
        assert_eq!(known(&study), ("queue-grows".into(), [false, true]));
        assert!(study.points_csv().contains("\n4,2,queue-grows,1.5,,1.5,"));
        assert!(study.runs_csv().contains("rep=02,4,2,3,2,2,queue-grows,\n"));
        study.put(run(1, Some(NotSteady::CacheFills { share: 0.5 })));
        assert_eq!(
            known(&study),
            ("cache-fills queue-grows".into(), [false, false])
        );
    }

    #[test]
    fn the_reason_in_a_result_is_read_by_its_name() {
        for why in [
            NotSteady::QueueGrows { share: 0.5 },
            NotSteady::FirstOfUsers {
                first: 1,
                requests: 2,
                users: 3,
            },
            NotSteady::CacheFills { share: 0.5 },
            NotSteady::NearSaturation {
                offered: 0.9,
                requests: Some(7),
                warmup: None,
            },
            NotSteady::CreditsFall { used: 2.0 },
            NotSteady::Unstable { offered: 2.0 },
        ] {
            let written = serde_json::to_value(why).unwrap();
            assert_eq!(written["why"], why.name());
            assert_eq!(serde_json::from_value::<NotSteady>(written).unwrap(), why);
        }
    }
}
