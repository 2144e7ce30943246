//! What may be written in an experiment file.

use std::path::{Path, PathBuf};

use iosonar_scenario::SystemName;
use iosonar_units::Share;
use serde::Deserialize;
use toml::{Table, Value};

use super::SweepError;
use super::values::{Settings, flat};
use crate::hooks::HookFile;

/// An experiment as it is written: a base, the parameters to vary, what happens around each run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    /// The base is a simulation: its scenario, relative to this file, or another system.
    pub scenario: Option<PathBuf>,
    /// The base is a replay: its load, its target, and every other option of `replay` by its name.
    pub replay: Option<Table>,
    /// Where all randomness comes from, instead of the scenario's seed.
    pub seed: Option<u64>,
    /// How often each point is simulated, with independent seeds; with `precision`, at most.
    pub replications: Option<u32>,
    /// How often each point is replayed.
    pub repeat: Option<u32>,
    /// Replications end when half the width of the 95 % interval is below this share of the mean ...
    pub precision: Option<Share>,
    /// ... of this metric.
    pub precision_of: Option<String>,
    /// Whether each run keeps its requests as `records.ios`.
    #[serde(default)]
    pub records: bool,
    /// Values that are the same in all runs.
    #[serde(default)]
    pub set: Table,
    /// The parameters, each with its values: all combinations.
    #[serde(default)]
    pub vary: Table,
    /// Single points.
    #[serde(default)]
    pub case: Vec<Table>,
    /// Which points there are.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// This number of random points instead of all.
    pub sample: Option<u64>,
    /// Each parameter alone is varied from the base.
    #[serde(default)]
    pub one_at_a_time: bool,
    /// What keys are called in paths and tables, instead of their last part.
    #[serde(default)]
    pub names: Table,
    /// What happens around each run.
    #[serde(default)]
    pub hook: Vec<HookFile>,
    /// Printed for the operator before each run, which then waits.
    pub manual: Option<String>,
    /// How many seconds to wait between setup and run.
    pub settle: Option<f64>,
    /// Which charts are drawn, instead of the usual ones.
    #[serde(default)]
    pub chart: Vec<ChartFile>,
    /// How runs are handed to Slurm.
    #[serde(default)]
    pub slurm: SlurmFile,
}

/// An entry `[[chart]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartFile {
    /// The y axis: a metric of the table.
    pub metric: String,
    /// The x axis: a parameter.
    pub against: String,
    /// A line for each value of this parameter; if it is not given, of all others.
    pub by: Option<String>,
}

/// The table `[slurm]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmFile {
    /// `--partition`.
    pub partition: Option<String>,
    /// `--time`.
    pub time: Option<String>,
    /// `--mem`.
    pub memory: Option<String>,
    /// `--cpus-per-task`.
    pub cpus: u32,
    /// More options of sbatch, word by word.
    pub options: Vec<String>,
    /// How many runs a task of the array does, one after the other; if it is not given, as many as take half a
    /// minute, with several tasks, and at most 1 000.
    pub chunk: Option<usize>,
    /// How many tasks may run at once.
    pub most_tasks: Option<u32>,
    /// How often runs that came to no result are handed in again.
    pub retries: u32,
}

impl Default for SlurmFile {
    fn default() -> Self {
        Self {
            partition: None,
            time: None,
            memory: None,
            cpus: 1,
            options: Vec::new(),
            chunk: None,
            most_tasks: None,
            retries: 1,
        }
    }
}

/// What a run does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// It simulates this system.
    Simulation(SystemName),
    /// It replays.
    Replay,
}

impl ExperimentFile {
    /// Reads the experiment file `path`.
    ///
    /// # Errors
    /// If it cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<Self, SweepError> {
        let text = iosonar_units::read_text_file(path)
            .map_err(SweepError::io(path, "read the experiment"))?;
        Self::parse(&text, path)
    }

    /// From the text of the file `path`.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn parse(text: &str, path: &Path) -> Result<Self, SweepError> {
        let file: Self = toml::from_str(text).map_err(|e| SweepError::Syntax {
            path: path.to_owned(),
            message: iosonar_units::plain_complaint(&e.to_string()),
        })?;
        file.check(path)?;
        Ok(file)
    }

    /// From tables that lie above each other, as those of a tree do.
    pub(super) fn from_table(table: Table, path: &Path) -> Result<Self, SweepError> {
        let file: Self = Value::Table(table)
            .try_into()
            .map_err(|e: toml::de::Error| {
                // Of values that are in no text the last line names the key.
                let text = e.to_string();
                let place = text.trim_end().lines().last();
                let place = place.filter(|line| line.starts_with("in `"));
                let plain = iosonar_units::plain_complaint(e.message());
                SweepError::Syntax {
                    path: path.to_owned(),
                    message: format!("{plain} {}", place.unwrap_or_default()),
                }
            })?;
        file.check(path)?;
        Ok(file)
    }

    fn check(&self, path: &Path) -> Result<(), SweepError> {
        let wrong = |key: &str, problem: &str| {
            Err(SweepError::Value {
                path: path.to_owned(),
                key: key.to_owned(),
                problem: problem.to_owned(),
            })
        };
        if self.scenario.is_some() && self.replay.is_some() {
            return wrong("replay", "cannot be combined with 'scenario'");
        }
        for (key, number) in [("replications", self.replications), ("repeat", self.repeat)] {
            if number == Some(0) {
                return wrong(key, "is 0, expected at least 1");
            }
        }
        if self.sample == Some(0) {
            return wrong("sample", "is 0, expected at least 1");
        }
        if self.repeat.is_some() && self.scenario.is_some() {
            return wrong(
                "repeat",
                "applies only to replays; for simulations, use 'replications'",
            );
        }
        if self.replications.is_some() && self.replay.is_some() {
            return wrong(
                "replications",
                "applies only to simulations; for replays, use 'repeat'",
            );
        }
        if let Some(p) = self.precision.map(Share::get)
            && !(1e-6..1.0).contains(&p)
        {
            let problem = format!(
                "is {p}, expected a share of at least 0.000001 and below 1, such as 0.01 or \"1%\""
            );
            return wrong("precision", &problem);
        }
        if let (Some(_), Some(most)) = (self.precision, self.replications.or(self.repeat))
            && most < super::FEWEST_FOR_PRECISION
        {
            let problem = format!(
                "is {most}, expected at least {} with 'precision', to estimate the precision of the mean",
                super::FEWEST_FOR_PRECISION
            );
            let keys = ["replications", "repeat"];
            return wrong(keys[usize::from(self.replay.is_some())], &problem);
        }
        if let Some(seed) = self.seed
            && i64::try_from(seed).is_err()
        {
            return wrong("seed", "is too large for TOML (at most 2^63 - 1)");
        }
        if let Some(s) = self.settle
            && !(0.0..=1e6).contains(&s)
        {
            return wrong(
                "settle",
                &format!("is {s}, expected a number of seconds from 0 to 1e6"),
            );
        }
        if self.one_at_a_time && self.sample.is_some() {
            return wrong("sample", "cannot be combined with 'one_at_a_time'");
        }
        if self.slurm.cpus == 0 || self.slurm.chunk == Some(0) || self.slurm.most_tasks == Some(0) {
            return wrong(
                "slurm",
                "sets a value to 0, expected at least 1 for 'cpus', 'chunk' and 'most_tasks'",
            );
        }
        for hook in &self.hook {
            if let Err(problem) = hook.check() {
                return wrong("hook", &problem);
            }
        }
        Ok(())
    }

    /// What runs do; relative paths are relative to the experiment file `path`.
    pub(super) fn base(&self, path: &Path) -> Result<Base, SweepError> {
        match (&self.scenario, &self.replay) {
            (Some(scenario), _) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                Ok(Base::Simulation(SystemName {
                    name: scenario.clone(),
                    folder: folder.to_owned(),
                }))
            }
            (None, Some(_)) => Ok(Base::Replay),
            (None, None) => Err(SweepError::Value {
                path: path.to_owned(),
                key: "scenario".to_owned(),
                problem: "is missing, and so is [replay]: give one of them".to_owned(),
            }),
        }
    }

    /// The settings that all runs share.
    pub(super) fn shared_settings(&self) -> Settings {
        let mut settings: Settings = self.replay.iter().flat_map(flat).collect();
        settings.extend(flat(&self.set));
        settings
    }

    /// How often each point is run, at most.
    pub(super) fn runs_of_a_point(&self) -> u32 {
        /// A precision that takes more is not reachable in practice.
        const MOST: u32 = 1000;
        let most = self.replications.or(self.repeat);
        most.unwrap_or(if self.precision.is_some() { MOST } else { 1 })
    }
}
