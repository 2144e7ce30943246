//! Runs: what each does, and where.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iosonar_scenario::{DEFAULT_MEMORY, SystemName};
use iosonar_sim_core::hashed_bits;
use iosonar_units::Bytes;
use serde::{Deserialize, Serialize};

use super::design::{Point, points};
use super::file::Base;
use super::folder::has_idle_name;
use super::values::Padding;
use super::{ExperimentFile, Settings, SweepError};
use crate::hooks::HookFile;

/// A run of a sweep.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its folder, relative to the tree.
    pub path: PathBuf,
    /// Its parameters and the names of their values, in the order of the path.
    pub parameters: Vec<(String, String)>,
    /// Which repetition of its point, from 1.
    pub repetition: u32,
    /// What it does.
    pub base: Base,
    /// What is set: for a simulation keys of the scenario, for a replay options of the command.
    pub settings: Settings,
    /// The seed of a simulation; `None` if the scenario's.
    pub seed: Option<u64>,
    /// What it shares with others.
    pub common: Arc<Common>,
    /// The runs with the same number here differ in nothing but their repetition.
    pub point: usize,
}

/// What runs share.
#[derive(Clone, Debug)]
pub struct Common {
    /// The file that says so, or the last one of several.
    pub origin: PathBuf,
    /// What happens around each run.
    pub hooks: Vec<HookFile>,
    /// Printed for the operator before each run.
    pub manual: Option<String>,
    /// Seconds to wait between setup and run.
    pub settle_s: f64,
    /// Whether each run keeps its requests.
    pub records: bool,
    /// How much memory a simulation may take before its first request.
    pub memory: Bytes,
    /// When there are enough repetitions.
    pub precision: Option<Precision>,
    /// How many repetitions there are at most.
    pub most: u32,
}

/// When there are enough repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// Half the width of the 95 % interval, as a share of the mean.
    pub relative: f64,
    /// Of which metric.
    pub metric: String,
}

/// What is set for all runs besides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Changes {
    /// More values, before those of the parameters.
    pub set: Settings,
    /// All requests are kept.
    pub records: bool,
    /// How much memory each simulation may take before its first request, in bytes.
    pub memory: u64,
    /// How many runs there may be, if there is a limit.
    pub most: Option<u64>,
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            set: Settings::default(),
            records: false,
            memory: DEFAULT_MEMORY.get(),
            most: None,
        }
    }
}

/// The folder of repetition `n` of `most`.
fn repetition_name(n: u32, most: u32) -> String {
    format!("rep={n:0>width$}", width = most.to_string().len().max(2))
}

/// Whether a folder's name is that of a repetition.
pub(super) fn is_repetition(name: &str) -> bool {
    let digits = name.strip_prefix("rep=");
    digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
}

/// The seed of repetition `n`, from 1: the first has the scenario's own, so that it is what `sim` simulates. All
/// points have the same seeds (common random numbers).
fn seed_of(seed: u64, n: u32) -> u64 {
    // TOML has 63 bits, and many programs that read the results 53.
    if n == 1 {
        seed
    } else {
        hashed_bits(seed, u64::from(n)) >> 11
    }
}

/// The runs of an experiment file.
///
/// # Errors
/// If it makes no sense, or two runs would have the same folder.
pub fn runs_of(
    file: &ExperimentFile,
    path: &Path,
    changes: &Changes,
) -> Result<Vec<Run>, SweepError> {
    let points = points(file, path, changes.most)?;
    let folders = folders(&points);
    for folder in &folders {
        // The name comes from a value, not from a wish to skip the folder.
        if let Some(part) = folder.iter().find(|part| has_idle_name(part)) {
            return Err(SweepError::Value {
                path: path.to_owned(),
                key: "vary".to_owned(),
                problem: format!(
                    "creates a folder '{}', but folders with 'ignore' or '.old' in their names are skipped: give the \
                     value a different name, as {{ name = \"...\", set = {{ ... }} }}",
                    part.to_string_lossy()
                ),
            });
        }
    }
    let mut runs = Vec::with_capacity(points.len() * file.runs_of_a_point() as usize);
    let experiment = Experiment::new(file, path, changes)?;
    for (i, (point, folder)) in points.into_iter().zip(folders).enumerate() {
        runs.extend(experiment.repetitions(i, point, &folder)?);
    }
    check_paths(&runs)?;
    Ok(runs)
}

/// What an experiment says of all its runs.
pub(super) struct Experiment<'a> {
    file: &'a ExperimentFile,
    changes: &'a Changes,
    base: Base,
    common: Arc<Common>,
}

impl<'a> Experiment<'a> {
    /// Of the experiment `file`, which is at `path`.
    pub(super) fn new(
        file: &'a ExperimentFile,
        path: &Path,
        changes: &'a Changes,
    ) -> Result<Self, SweepError> {
        let base = file.base(path)?;
        let common = Arc::new(Common {
            origin: path.to_owned(),
            hooks: file.hook.clone(),
            manual: file.manual.clone(),
            settle_s: file.settle.unwrap_or(0.0),
            records: file.records || changes.records,
            memory: Bytes::new(changes.memory),
            precision: file.precision.map(|share| Precision {
                relative: share.get(),
                metric: file.precision_of.clone().unwrap_or_else(|| match base {
                    Base::Simulation(_) => "response_time_mean_ms".to_owned(),
                    Base::Replay => "read_latency_mean_ms".to_owned(),
                }),
            }),
            most: file.runs_of_a_point(),
        });
        Ok(Self {
            file,
            changes,
            base,
            common,
        })
    }

    /// The repetitions of a point in the folder `folder`.
    pub(super) fn repetitions(
        &self,
        number: usize,
        point: Point,
        folder: &Path,
    ) -> Result<Vec<Run>, SweepError> {
        let most = self.common.most;
        let set = &self.changes.set;
        let is_varied = |set: &str| point.settings.iter().any(|(key, _)| key == set);
        if let Some((key, _)) = set.iter().find(|(key, _)| is_varied(key)) {
            return Err(SweepError::Value {
                path: self.common.origin.clone(),
                key: key.clone(),
                problem:
                    "is varied by the experiment, so --set would have no effect: remove one of the two"
                        .to_owned(),
            });
        }
        let mut settings = self.file.shared_settings();
        settings.extend(set.iter().cloned());
        settings.extend(point.settings);
        let seed = match (&self.base, self.file.seed) {
            (Base::Replay, _) => None,
            (Base::Simulation(scenario), None) if most > 1 => {
                Some(scenario_seed(scenario, &settings))
            }
            (Base::Simulation(_), seed) => seed,
        };
        let run = |n| Run {
            path: if most == 1 {
                folder.to_owned()
            } else {
                folder.join(repetition_name(n, most))
            },
            parameters: point.parameters.clone(),
            repetition: n,
            base: self.base.clone(),
            settings: settings.clone(),
            seed: seed.map(|seed| seed_of(seed, n)),
            common: Arc::clone(&self.common),
            point: number,
        };
        Ok((1..=most).map(run).collect())
    }
}

/// The seed that a scenario has by itself.
fn scenario_seed(scenario: &SystemName, settings: &Settings) -> u64 {
    let set = settings.iter().rev().find(|(key, _)| key == "seed");
    let set = set.and_then(|(_, value)| value.parse().ok());
    let of_file = || {
        let system = scenario.read().ok()?;
        let table: toml::Table = toml::from_str(system.text()).ok()?;
        u64::try_from(table.get("seed")?.as_integer()?).ok()
    };
    // Errors in the scenario are reported when it is read.
    set.or_else(of_file).unwrap_or(1)
}

/// The folders of points: `disks=08/level=raid5`.
fn folders(points: &[Point]) -> Vec<PathBuf> {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in points.iter().flat_map(|point| &point.parameters) {
        values.entry(name).or_default().push(value);
    }
    let padding: BTreeMap<&str, Padding> = values
        .into_iter()
        .map(|(name, values)| (name, Padding::of(values.into_iter())))
        .collect();
    let folder = |point: &Point| {
        if point.parameters.is_empty() {
            return PathBuf::from("base");
        }
        let parts = point.parameters.iter();
        parts
            .map(|(name, value)| format!("{name}={}", padding[name.as_str()].pad(value)))
            .collect()
    };
    points.iter().map(folder).collect()
}

fn check_paths(runs: &[Run]) -> Result<(), SweepError> {
    let mut seen: BTreeMap<&Path, &Run> = BTreeMap::new();
    for run in runs {
        if let Some(other) = seen.insert(&run.path, run) {
            return Err(SweepError::SamePath {
                path: run.path.clone(),
                first: words(&other.parameters),
                second: words(&run.parameters),
            });
        }
    }
    Ok(())
}

/// Parameters in words.
pub fn words(parameters: &[(String, String)]) -> String {
    let words: Vec<String> = parameters
        .iter()
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    if words.is_empty() {
        "the base".to_owned()
    } else {
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &str) -> Result<Vec<Run>, String> {
        let path = Path::new("x.toml");
        let file = ExperimentFile::parse(text, path).map_err(|e| e.to_string())?;
        runs_of(&file, path, &Changes::default()).map_err(|e| e.to_string())
    }

    #[test]
    fn folders_sort_as_their_numbers_and_tell_parameters_in_order() {
        let text = "scenario = 's.toml'\nreplications = 2\n\
                    [vary]\nload.trace = ['a/mysql.load.gz']\narray.disks = [4, 16]\n";
        let paths: Vec<String> = runs(text)
            .unwrap()
            .iter()
            .map(|run| run.path.display().to_string())
            .collect();
        assert_eq!(
            paths,
            [
                "trace=mysql.load.gz/disks=04/rep=01",
                "trace=mysql.load.gz/disks=04/rep=02",
                "trace=mysql.load.gz/disks=16/rep=01",
                "trace=mysql.load.gz/disks=16/rep=02",
            ]
        );
    }

    #[test]
    fn repetitions_have_seeds_of_their_own_which_points_share() {
        let text = "scenario = 's.toml'\nreplications = 3\nseed = 7\n[vary]\nx = [1, 2]\n";
        let seeds: Vec<u64> = runs(text)
            .unwrap()
            .iter()
            .map(|r| r.seed.unwrap())
            .collect();
        assert_eq!(seeds[..3], seeds[3..]);
        assert_eq!(seeds[0], 7);
        assert!(seeds[1] != seeds[2] && seeds[1] != 7);
    }

    #[test]
    fn two_runs_in_the_same_folder_are_refused() {
        let text = "scenario = 's.toml'\n[vary]\nload.trace = ['a/x.load', 'b/x.load']\n";
        let error = runs(text).unwrap_err();
        assert!(
            error.starts_with(
                "two runs have the same path, trace=x.load: trace = a/x.load and trace = b/x.load"
            ),
            "{error}"
        );
    }
}
