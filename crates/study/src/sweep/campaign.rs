//! A sweep from its runs to their results: what is open is checked, carried out where it is to be, and what was added
//! meanwhile is next.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use iosonar_replay::ReplaySpec;

use super::on_hosts::Hosts;
use super::{
    Base, Event, Here, HostsSpec, How, Notice, RESULT, RUN, Run, RunRow, Runner, SCENARIO, SPEC,
    Source, State, Study, SweepError, SweepSpec, Tables, Tally, carry_out, estimate, on_slurm,
    only, rename_repadded, state,
};
use crate::elsewhere::slurm::Tasks;
use crate::hooks::Stop;

/// Where runs are carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// On this machine.
    Here,
    /// Each on several hosts at once.
    Hosts(HostsSpec),
    /// As tasks of a job array.
    Slurm,
}

/// A sweep, and how it is carried out.
pub struct Campaign<'a> {
    /// What it does.
    pub spec: &'a SweepSpec,
    /// Patterns of the paths of the runs that are wanted; none: all.
    pub only: &'a [String],
    /// Where its runs are carried out.
    pub carrier: Carrier,
    /// What carries runs out on this machine.
    pub here: &'a Here<'a>,
    /// Ends it.
    pub stop: &'a Stop,
}

impl Campaign<'_> {
    /// The runs that are wanted, as they are written now.
    ///
    /// # Errors
    /// If they are invalid, empty, or cannot run in the requested place.
    pub fn runs(&self) -> Result<Vec<Run>, SweepError> {
        only(self.only, self.spec.runs()?)
    }

    /// Checks runs before the first is begun: all that are open, or of very many each value once.
    ///
    /// # Errors
    /// If one of them cannot be carried out.
    pub fn check(&self, runs: &[Run]) -> Result<(), SweepError> {
        if let Carrier::Hosts(spec) = &self.carrier {
            Hosts::check(spec, self.here, runs)?;
        }
        check(&self.spec.source, self.here, runs)
    }

    /// Runs that are done, but whose scenario or options are others now.
    pub fn changed(&self, runs: &[Run]) -> Vec<PathBuf> {
        let is_changed = |run: &&Run| {
            is_changed(&self.spec.source, self.here, run) || self.is_on_other_hosts(run)
        };
        let changed = runs.iter().filter(is_changed);
        changed.map(|run| run.path.clone()).collect()
    }

    /// Whether a replay that is done was on other hosts, or on none.
    fn is_on_other_hosts(&self, run: &Run) -> bool {
        let folder = self.spec.source.root.join(&run.path);
        if run.base != Base::Replay || !folder.join(RESULT).is_file() {
            return false;
        }
        let Ok(there) = fs::read_to_string(folder.join(SPEC)) else {
            return false;
        };
        let Ok(there) = ReplaySpec::from_json(&there) else {
            return false;
        };
        let there = there
            .target
            .iter()
            .map(|target| target.display().to_string());
        let there: Vec<String> = there.collect();
        let now = match &self.carrier {
            Carrier::Hosts(spec) => spec.names(&self.here.targets(run)),
            // Hooks may change local targets, and folders may be moved.
            Carrier::Here | Carrier::Slurm if !there.iter().any(|name| name.contains(":/")) => {
                return false;
            }
            Carrier::Here | Carrier::Slurm => self.here.targets(run),
        };
        there != now
    }

    /// Removes the results of runs, so that they are open again.
    ///
    /// # Errors
    /// If one cannot be removed.
    pub fn reopen(&self, runs: &[PathBuf]) -> Result<(), SweepError> {
        for path in runs {
            let result = self.spec.source.root.join(path).join(RESULT);
            fs::remove_file(&result).map_err(SweepError::io(&result, "remove"))?;
        }
        Ok(())
    }

    /// How many runs go on at once.
    pub fn jobs(&self, runs: &[Run]) -> usize {
        let is_simulation = |run: &Run| matches!(run.base, Base::Simulation(_));
        match self.spec.jobs {
            Some(jobs) => jobs as usize,
            None if runs.iter().all(is_simulation) => {
                thread::available_parallelism().map_or(1, usize::from)
            }
            None => 1,
        }
    }

    /// Carries out what is open, and then what was added meanwhile. What is done stays, and is in the tables, also where
    /// this fails.
    ///
    /// # Errors
    /// If it cannot go on.
    pub fn carry_out(
        &self,
        mut runs: Vec<Run>,
        tables: &mut Tables<'_>,
    ) -> Result<Tally, SweepError> {
        let root = &self.spec.source.root;
        let mut tried: HashSet<PathBuf> = HashSet::new();
        let mut total = Tally::default();
        loop {
            let tally = self.once(&runs, tables)?;
            tried.extend(runs.drain(..).map(|run| run.path));
            total.add(tally);
            if total.interrupted || total.stopped_by.is_some() {
                return Ok(total);
            }
            runs = self.runs()?;
            runs.retain(|run| !tried.contains(&run.path));
            if runs.is_empty() {
                return Ok(total);
            }
            // Folders of what was done may have to make room in their names.
            let renamed = rename_repadded(root, runs.iter().map(|run| run.path.as_path()))?;
            if renamed > 0 {
                tables.read_again()?;
            }
            check(&self.spec.source, self.here, &runs)?;
            runs.retain(|run| !matches!(state(root, &run.path), State::Whole(_)));
            if runs.is_empty() {
                return Ok(total);
            }
            let added = runs.len() as u64;
            self.here.frontend.notice(Notice::Added(added));
        }
    }

    /// Carries out these runs.
    fn once(&self, runs: &[Run], tables: &mut Tables<'_>) -> Result<Tally, SweepError> {
        let (here, source) = (self.here, &self.spec.source);
        here.frontend.notice(Notice::Begins(runs.len() as u64));
        let how = How {
            root: &source.root,
            jobs: self.jobs(runs),
            destroy: &here.destroy,
            program: &here.program,
            stop: self.stop,
        };
        let tables = Mutex::new(tables);
        let seen = |run: &Run, event: Event<'_>| {
            here.frontend.see(run, &event);
            if let Event::Done(..) | Event::Failed(_) = event
                && let Some(row) = RunRow::read(&source.root, &run.path)
            {
                let mut tables = tables.lock().unwrap_or_else(PoisonError::into_inner);
                // Results are safe in their folders; a table that cannot be written fails at the end.
                let _ = tables.put(row);
            }
        };
        let tally = match &self.carrier {
            Carrier::Slurm => on_slurm::carry_out_there(self.spec, runs, &how, here, &seen),
            Carrier::Here => carry_out(runs, &how, here, &seen),
            Carrier::Hosts(spec) => {
                let hosts = Hosts::new(spec, here, self.stop)?;
                carry_out(runs, &how, &hosts as &dyn Runner, &seen)
            }
        };
        here.frontend.notice(Notice::Ends);
        tally
    }
}

impl Tally {
    /// Adds the outcomes of further runs.
    fn add(&mut self, more: Self) {
        self.done += more.done;
        self.failed += more.failed;
        self.left_alone += more.left_alone;
        self.unneeded += more.unneeded;
        self.waiting += more.waiting;
        self.before += more.before;
        self.interrupted = more.interrupted;
        self.stopped_by = more.stopped_by;
    }
}

impl Tasks {
    /// Carries out the runs of task `number`; `None` if there is no such task.
    ///
    /// # Errors
    /// If the sweep cannot be read any more, or the task cannot go on.
    pub fn carry_out(
        &self,
        number: usize,
        here: &Here<'_>,
        stop: &Stop,
    ) -> Result<Option<Tally>, SweepError> {
        let Some(part) = self.parts.get(number) else {
            return Ok(None);
        };
        let wanted: BTreeSet<&PathBuf> = part.iter().collect();
        let mut runs = self.sweep.runs()?;
        runs.retain(|run| wanted.contains(&run.path));
        let how = How {
            root: &self.sweep.source.root,
            jobs: self.sweep.jobs.unwrap_or(1) as usize,
            destroy: &self.sweep.destroy,
            program: &here.program,
            stop,
        };
        let seen = |run: &Run, event: Event<'_>| here.frontend.see(run, &event);
        carry_out(&runs, &how, here, &seen).map(Some)
    }
}

/// What an estimate of the time of runs is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Parts of some of the runs, which were tried.
    Parts,
    /// Runs of the tree that are done.
    Done,
}

/// How many seconds each of these open runs may take on average, and how that is known; `None` if it is not.
///
/// # Errors
/// If the tree cannot be read.
pub fn expected(source: &Source, open: &[&Run]) -> Result<Option<(f64, Basis)>, SweepError> {
    /// This many are enough for an estimate.
    const TRIED: usize = 8;
    let is_begun = source.root.is_dir();
    let known = is_begun.then(|| Study::read(&source.root)).transpose()?;
    let elapsed = known.iter().flat_map(|study| &study.runs);
    let elapsed = elapsed.map(|run| run.elapsed_s).filter(|s| s.is_finite());
    let elapsed: Vec<f64> = elapsed.collect();
    if !elapsed.is_empty() {
        let mean = elapsed.iter().sum::<f64>() / elapsed.len() as f64;
        return Ok(Some((mean, Basis::Done)));
    }
    let step = open.len().div_ceil(TRIED).max(1);
    let tried = open.iter().step_by(step).map(|run| estimate(run));
    let tried: Option<Vec<Duration>> = tried.collect();
    Ok(tried.filter(|tried| !tried.is_empty()).map(|tried| {
        let sum: Duration = tried.iter().sum();
        (sum.as_secs_f64() / tried.len() as f64, Basis::Parts)
    }))
}

/// Checks what is open before the first is run: all, or of very many each value once.
fn check(source: &Source, here: &Here<'_>, runs: &[Run]) -> Result<(), SweepError> {
    const ALL: usize = 2_000;
    // Of values that are all different, evenly many.
    let step = runs.len().div_ceil(ALL);
    let mut seen: HashSet<&(String, String)> = HashSet::new();
    let mut origins = BTreeSet::new();
    let mut checked = 0;
    for (number, run) in runs.iter().enumerate() {
        let mut is_new = origins.insert(&run.common.origin);
        for setting in &run.settings {
            is_new |= seen.insert(setting);
        }
        let is_due = if runs.len() > ALL {
            is_new && run.repetition == 1 && (checked < ALL || number % step == 0)
        } else {
            run.repetition == 1
        };
        // What is set for all is looked at although all may be done.
        let is_first = std::ptr::eq(run, &raw const runs[0]);
        let is_open = || {
            !matches!(
                state(&source.root, &run.path),
                State::Whole(_) | State::LeftAlone
            )
        };
        if is_first || (is_due && is_open()) {
            here.check(run)?;
            checked += 1;
        }
    }
    Ok(())
}

/// Whether a run is done, but its scenario or options are others now.
fn is_changed(source: &Source, here: &Here<'_>, run: &Run) -> bool {
    let folder = source.root.join(&run.path);
    if !folder.join(RESULT).is_file() {
        return false;
    }
    match &run.base {
        Base::Simulation(scenario) => {
            let there = fs::read_to_string(folder.join(SCENARIO));
            let now = here.scenario(run, scenario, &run.settings, &folder);
            // By what they mean: 3_000 is 3000.
            let meaning = |text: &str| toml::from_str::<toml::Table>(text).ok();
            matches!((there, now), (Ok(there), Ok(now)) if there != now && meaning(&there) != meaning(&now))
        }
        Base::Replay => {
            let there = fs::read(folder.join(RUN)).unwrap_or_default();
            let there: serde_json::Value = serde_json::from_slice(&there).unwrap_or_default();
            let now = run
                .settings
                .iter()
                .map(|(key, value)| (key.clone(), value.clone().into()));
            let now: serde_json::Map<String, serde_json::Value> = now.collect();
            there
                .get("asked")
                .is_some_and(|asked| *asked != serde_json::Value::Object(now))
        }
    }
}
