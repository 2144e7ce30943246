//! What a run does: a simulation within this process, a replay in one of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use iosonar_replay::{Load, Options, ReplaySpec, Writes};
use iosonar_scenario::{
    DEFAULT_MEMORY, OutputFiles, Overrides, Prepared, ScenarioError, System, SystemName, Watch,
    moved, with_values,
};
use iosonar_trace::output::WholeFile;
use iosonar_trace::transform::{Change, beginning};
use iosonar_units::with_causes;

use super::frontend::{Frontend, command_line, folder_of_origin};
use super::{
    Base, Done, Failure, RECORDS, RESULT, Run, Runner, SCENARIO, SPEC, Settings, SweepError, Task,
    is_full,
};
use crate::hooks::{HookError, Log, Stop, may_be_destroyed, run_child};
use crate::replay::refuse_on_hosts;

/// Why a run has no result, whatever it is.
type Problem = Box<dyn std::error::Error + Send + Sync>;

/// Carries runs out on this machine.
pub struct Here<'a> {
    /// This program.
    pub program: PathBuf,
    /// Targets whose content may be destroyed.
    pub destroy: Vec<PathBuf>,
    /// The caller of the sweep.
    pub frontend: &'a dyn Frontend,
    /// The systems that were read.
    systems: Mutex<BTreeMap<SystemName, System>>,
}

impl<'a> Here<'a> {
    /// With the program `program`; the content of the targets `destroy` may be lost.
    pub fn new(program: PathBuf, destroy: Vec<PathBuf>, frontend: &'a dyn Frontend) -> Self {
        Self {
            program,
            destroy,
            frontend,
            systems: Mutex::default(),
        }
    }

    /// The scenario of a simulation as it lies in its folder.
    pub(super) fn scenario(
        &self,
        run: &Run,
        scenario: &SystemName,
        settings: &Settings,
        folder: &Path,
    ) -> Result<String, ScenarioError> {
        let system = {
            let mut systems = self
                .systems
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            match systems.get(scenario) {
                Some(system) => system.clone(),
                None => systems
                    .entry(scenario.clone())
                    .or_insert(scenario.read()?)
                    .clone(),
            }
        };
        let mut settings = [system.changes(), settings].concat();
        if let Some(seed) = run.seed {
            settings.push(("seed".to_owned(), seed.to_string()));
        }
        let path = system.path();
        moved(&with_values(system.text(), path, &settings)?, path, folder)
    }

    /// Checks that a run can be begun.
    ///
    /// # Errors
    /// If its scenario, replay or hooks cannot be what they are set to.
    pub fn check(&self, run: &Run) -> Result<(), SweepError> {
        let folder = folder_of_origin(run);
        for hook in &run.common.hooks {
            if let Err(problem) = hook.check_for(folder, run.base == Base::Replay) {
                return Err(SweepError::Value {
                    path: run.common.origin.clone(),
                    key: "hook".to_owned(),
                    problem,
                });
            }
        }
        match &run.base {
            Base::Simulation(scenario) => {
                let origin = &run.common.origin;
                match prepared(run, scenario) {
                    Ok(_) => Ok(()),
                    // What was set was set by the experiment.
                    Err(ScenarioError::Set { key, problem }) => Err(SweepError::Value {
                        path: origin.clone(),
                        key,
                        problem: format!("{problem} (run {})", run.path.display()),
                    }),
                    Err(error) => Err(error.into()),
                }
            }
            Base::Replay => {
                let spec = replay_spec(run, &run.settings, &self.targets(run), &[]);
                spec.map(drop).map_err(|problem| SweepError::Syntax {
                    path: run.common.origin.clone(),
                    message: format!("[replay]: {problem} (run {})", run.path.display()),
                })
            }
        }
    }

    /// Checks that a replay can be carried out on hosts.
    pub(super) fn check_on_hosts(&self, run: &Run) -> Result<(), SweepError> {
        let spec = replay_spec(run, &run.settings, &self.targets(run), &[]);
        let checked = spec.and_then(|spec| refuse_on_hosts(&spec).map_err(|e| e.to_string()));
        checked.map_err(|problem| SweepError::Syntax {
            path: run.common.origin.clone(),
            message: format!("[replay]: {problem} (run {})", run.path.display()),
        })
    }

    fn simulate(&self, task: &mut Task<'_, '_>, scenario: &SystemName) -> Result<Done, Problem> {
        let (run, around) = (task.run, &mut *task.around);
        let folder = around.folder;
        let text = self.scenario(run, scenario, &around.settings, folder)?;
        let path = folder.join(SCENARIO);
        WholeFile::write_all(&path, text.as_bytes()).map_err(SweepError::io(&path, "write"))?;
        let overrides = Overrides {
            memory: run.common.memory,
            ..Overrides::default()
        };
        let simulation = Prepared::from_toml(&text, &path, &overrides)?;
        simulation.check_stability()?;
        let records = folder.join(RECORDS);
        let files = OutputFiles {
            records: run.common.records.then_some(records.as_path()),
            stages: None,
            headline: &self.frontend.headline(&simulation),
        };
        let watch = Watch {
            stop: around.stop.flag(),
            ..Watch::default()
        };
        let result = simulation.run_into(1, &files, &watch)?.if_served()?;
        let result = simulation.assessed(result);
        let name = SCENARIO.trim_end_matches(".toml");
        let words = self.frontend.in_words(name, &simulation, &result);
        around.log.add(&words);
        let mut command = command_line(&["sim", SCENARIO, "--result", RESULT]);
        if run.common.records {
            command.extend(["--records".to_owned(), RECORDS.to_owned()]);
        }
        if overrides.memory != DEFAULT_MEMORY {
            command.extend(["--memory".to_owned(), overrides.memory.get().to_string()]);
        }
        Ok(Done {
            result: self.frontend.as_json(name, &simulation, &result),
            command,
        })
    }

    /// Replays a run on these targets; `now` are further words for the replay, and `again` those to repeat it with.
    pub(super) fn replay(
        &self,
        task: &mut Task<'_, '_>,
        targets: &[String],
        now: &[&str],
        again: &[&str],
    ) -> Result<Done, Failure> {
        let (run, around) = (task.run, &mut *task.around);
        let records = around.folder.join(RECORDS);
        let spec =
            replay_spec(run, &around.settings, targets, &self.destroy).map_err(Failure::Failed)?;
        let path = around.folder.join(SPEC);
        write_spec(&path, &spec).map_err(|e| failure(e.as_ref(), around.folder))?;
        let mut command = Command::new(&self.program);
        command.args(["replay", "--json", "--spec"]).arg(&path);
        let consent = spec.destroy.iter();
        let consent = consent.flat_map(|of| ["--destroy".to_owned(), of.display().to_string()]);
        let consent: Vec<String> = consent.collect();
        let consent: Vec<&str> = consent.iter().map(String::as_str).collect();
        command.arg("--out").arg(&records).args(&consent).args(now);
        command.envs(around.env.iter().map(|(name, value)| (name, value)));
        let output = replayed(&mut command, &mut around.log, around.stop)?;
        let words = ["replay", "--json", "--spec", SPEC, "--out", RECORDS];
        Ok(Done {
            result: output,
            command: command_line(&[&words, consent.as_slice(), again].concat()),
        })
    }
}

/// Keeps what a replay does beside its records.
fn write_spec(path: &Path, spec: &ReplaySpec) -> Result<(), Problem> {
    let text = serde_json::to_string_pretty(spec)?;
    WholeFile::write_all(path, format!("{text}\n").as_bytes())
        .map_err(|source| SweepError::io(path, "write")(source).into())
}

/// How long a run will take; `None` where that is not known.
pub fn estimate(run: &Run) -> Option<Duration> {
    let Base::Simulation(scenario) = &run.base else {
        let spec = replay_spec(run, &run.settings, &[], &[]).ok()?;
        let reading = &spec.reading;
        // Nothing is executed for an estimate.
        let runs_command = |change: &Change| matches!(change, Change::Command(_));
        if reading.changes.iter().any(runs_command) {
            return None;
        }
        let options = Options {
            writes: Writes::Skip,
            ..spec.options
        };
        let scan = Load::scanned_for(spec.load.first()?, reading, &options)
            .ok()?
            .scan;
        let lasts = scan.last_start.saturating_sub(beginning(&reading.changes));
        let lasts = options.max_runtime.map_or(lasts, |most| lasts.min(most));
        let lasts = lasts.saturating_add(options.start_grace);
        return Some(Duration::from_nanos(lasts.get()));
    };
    prepared(run, scenario).ok()?.estimate_duration()
}

/// The simulation of a run.
fn prepared(run: &Run, scenario: &SystemName) -> Result<Prepared, ScenarioError> {
    let overrides = Overrides {
        seed: run.seed,
        set: run.settings.clone(),
        memory: run.common.memory,
        ..Overrides::default()
    };
    scenario.read()?.prepared(&overrides)
}

/// Runs a replay's command to its result.
fn replayed(command: &mut Command, log: &mut Log, stop: &Stop) -> Result<String, Failure> {
    let failed = |why: String| Err(Failure::Failed(why));
    let ended = match run_child(command, &[], Some(stop)) {
        Ok(ended) => ended,
        Err(error) => return failed(format!("the replay cannot be started: {error}")),
    };
    log.add(&String::from_utf8_lossy(&ended.errors));
    match ended.status.code() {
        // Flagged results are results; they say so themselves.
        Some(0 | 3) => {}
        _ if stop.is_asked() => return Err(Failure::Interrupted),
        _ => {
            return failed(format!(
                "the replay failed ({}): {}",
                ended.how(),
                ended.last_words()
            ));
        }
    }
    match String::from_utf8(ended.output) {
        Ok(text) => Ok(text),
        Err(_) => failed("the output of the replay is not valid UTF-8".to_owned()),
    }
}

/// The last value of an option.
fn option(settings: &Settings, key: &str) -> Option<toml::Value> {
    let (_, value) = settings.iter().rev().find(|(k, _)| k == key)?;
    Some(meaning(value))
}

/// What is not TOML value is a string without its quotes, as with --set.
fn meaning(text: &str) -> toml::Value {
    let document = format!("x = {text}");
    let table: Option<toml::Table> = toml::from_str(&document).ok();
    let value = table.and_then(|mut table| table.remove("x"));
    value.unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

/// The path of a load or target, which is relative to the file that names it.
fn beside_origin(run: &Run, path: &Path) -> PathBuf {
    let path = folder_of_origin(run).join(path);
    std::path::absolute(&path).unwrap_or(path)
}

/// What a replay of a run does on these targets, with these settings.
fn replay_spec(
    run: &Run,
    settings: &Settings,
    targets: &[String],
    destroy: &[PathBuf],
) -> Result<ReplaySpec, String> {
    let mut keys: Vec<(&str, serde_json::Value)> = Vec::new();
    for (key, value) in settings {
        // The command line of the sweep names what may be lost, and the sweep itself sets the targets.
        let instead = match key.replace('-', "_").as_str() {
            "target" => continue,
            "destroy" => "use --destroy when starting the sweep",
            "map" => "use 'target'",
            "at" => "use --hosts when starting the sweep",
            _ => "",
        };
        if !instead.is_empty() {
            return Err(format!("'{key}' cannot be used in a sweep: {instead}"));
        }
        keys.retain(|(known, _)| known != key);
        let value = serde_json::to_value(meaning(value)).map_err(|e| format!("'{key}': {e}"))?;
        keys.push((key, value));
    }
    let mut spec = ReplaySpec::from_keys(keys).map_err(|e| e.to_string())?;
    for load in &mut spec.load {
        *load = beside_origin(run, load);
    }
    spec.target = targets.iter().map(PathBuf::from).collect();
    if spec.options.writes == Writes::Do {
        let may_be = spec
            .target
            .iter()
            .filter(|target| may_be_destroyed(destroy, target));
        spec.destroy = may_be.cloned().collect();
    }
    Ok(spec)
}

fn strings(value: &toml::Value) -> Option<Vec<String>> {
    match value {
        toml::Value::String(text) => Some(vec![text.clone()]),
        toml::Value::Array(values) => values
            .iter()
            .map(|v| v.as_str().map(str::to_owned))
            .collect(),
        _ => None,
    }
}

impl Runner for Here<'_> {
    fn ask_operator(&self, run: &Run, what: &str, stop: &Stop) -> Result<(), HookError> {
        self.frontend.ask_operator(run, what, stop)
    }

    fn carry_out(&self, task: &mut Task<'_, '_>) -> Result<Done, Failure> {
        let run = task.run;
        match &run.base {
            Base::Replay => {
                let targets = task.around.targets.clone();
                self.replay(task, &targets, &[], &[])
            }
            Base::Simulation(scenario) => self
                .simulate(task, scenario)
                .map_err(|e| failure(e.as_ref(), task.around.folder)),
        }
    }

    fn targets(&self, run: &Run) -> Vec<String> {
        // As loads are: relative to the file that names them.
        let target = option(&run.settings, "target");
        let targets = target.as_ref().and_then(strings).unwrap_or_default();
        let path = |target: String| beside_origin(run, Path::new(&target)).display().to_string();
        targets.into_iter().map(path).collect()
    }
}

/// Why a run has no result.
fn failure(error: &(dyn std::error::Error + Send + Sync + 'static), folder: &Path) -> Failure {
    if let Some(ScenarioError::Interrupted) = error.downcast_ref() {
        return Failure::Interrupted;
    }
    let first: &(dyn std::error::Error + 'static) = error;
    for cause in std::iter::successors(Some(first), |error| error.source()) {
        if let Some(source) = cause.downcast_ref::<std::io::Error>()
            && is_full(source)
        {
            let source = source
                .raw_os_error()
                .map_or_else(|| source.kind().into(), std::io::Error::from_raw_os_error);
            return Failure::Full(Box::new(SweepError::io(folder, "write")(source)));
        }
    }
    Failure::Failed(with_causes(error))
}
