//! Carrying runs out: which is next, several at a time, until all are done or it is to end.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use iosonar_stats::{Estimate, Metric};
use iosonar_trace::output::WholeFile;
use serde_json::json;

use super::folder::{self, Held, State, Taken};
use super::values::object_of;
use super::{
    Base, FAILED, FEWEST_FOR_PRECISION, LOG, PENDING, RESULT, RUN, Run, SweepError, columns_of,
    is_full, metrics_in,
};
use crate::hooks::{Around, HookError, HookFile, Log, Stop};

/// Why a run has no result.
#[derive(Debug)]
pub enum Failure {
    /// It failed, as this says.
    Failed(String),
    /// It was interrupted.
    Interrupted,
    /// Nothing can be written any more.
    Full(Box<SweepError>),
}

/// A run that is to be carried out now.
#[derive(Debug)]
pub struct Task<'a, 'b> {
    /// Which.
    pub run: &'a Run,
    /// Its settings, targets, environment, log, as the hooks have left them.
    pub around: &'a mut Around<'b>,
}

/// Does runs: on this machine, on others.
pub trait Runner: Sync {
    /// Does a run, in its folder.
    ///
    /// # Errors
    /// Why it has no result.
    fn carry_out(&self, task: &mut Task<'_, '_>) -> Result<Done, Failure>;

    /// The targets of a replay, as they are set.
    fn targets(&self, run: &Run) -> Vec<String>;

    /// Tells the operator what to do before a run, and waits until it is done.
    ///
    /// # Errors
    /// If standard input ends first, or `stop` is asked for.
    fn ask_operator(&self, run: &Run, what: &str, stop: &Stop) -> Result<(), HookError>;

    /// Whether replays must not overlap, whatever their targets.
    fn is_one_at_a_time(&self) -> bool {
        false
    }
}

/// What a run has brought.
#[derive(Debug)]
pub struct Done {
    /// The result: the text of a JSON object with metrics.
    pub result: String,
    /// The command that does the same again, in the run's folder.
    pub command: Vec<String>,
}

/// What happens to a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// It begins.
    Begun,
    /// It had a result before this sweep.
    Before(&'a [Metric]),
    /// It has a result, after so long.
    Done(&'a [Metric], Duration),
    /// It failed.
    Failed(&'a str),
    /// A hook, the user or another process says that it is not ours.
    LeftAlone(&'a str),
    /// It is not needed any more: its point is known precisely.
    Unneeded,
}

/// How many of what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Done in this sweep.
    pub done: u64,
    /// Failed in this sweep.
    pub failed: u64,
    /// Left alone.
    pub left_alone: u64,
    /// Not needed.
    pub unneeded: u64,
    /// Repetitions of points with a precision that wait for others, which failed or were not done.
    pub waiting: u64,
    /// Were done before.
    pub before: u64,
    /// The file that ended the sweep.
    pub stopped_by: Option<PathBuf>,
    /// Whether it was interrupted.
    pub interrupted: bool,
}

/// How runs are carried out.
#[derive(Debug)]
pub struct How<'a> {
    /// The tree.
    pub root: &'a Path,
    /// How many at once.
    pub jobs: usize,
    /// Targets whose content may be destroyed.
    pub destroy: &'a [PathBuf],
    /// This program.
    pub program: &'a Path,
    /// Whether it is to end.
    pub stop: &'a Stop,
}

/// Carries out `runs`, in the order of their priorities. `seen` is told of everything, from any thread.
///
/// # Errors
/// If nothing can be written any more. What failed by itself is told to `seen`.
pub fn carry_out(
    runs: &[Run],
    how: &How<'_>,
    runner: &dyn Runner,
    seen: &(dyn Fn(&Run, Event<'_>) + Sync),
) -> Result<Tally, SweepError> {
    let queue = Queue::new(runs, how, runner, seen);
    let jobs = how.jobs.clamp(1, runs.len().max(1));
    std::thread::scope(|scope| {
        for _ in 1..jobs {
            // Fewer at once where there is no thread to be had.
            let _ =
                std::thread::Builder::new().spawn_scoped(scope, || work(&queue, how, runner, seen));
        }
        work(&queue, how, runner, seen);
    });
    let state = queue
        .state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    match state.broken {
        Some(error) => Err(error),
        None => Ok(Tally {
            interrupted: how.stop.is_asked(),
            waiting: state.later.values().map(|later| later.len() as u64).sum(),
            ..state.tally
        }),
    }
}

/// The runs that are needed now, by their numbers in `runs`: what is not done, and of the repetitions of a point
/// with a precision no more than the next.
pub fn needed(runs: &[Run], how: &How<'_>, runner: &dyn Runner) -> Vec<usize> {
    let queue = Queue::new(runs, how, runner, &|_, _| {});
    let state = queue.state.into_inner();
    state.unwrap_or_else(PoisonError::into_inner).open.into()
}

fn work(
    queue: &Queue<'_>,
    how: &How<'_>,
    runner: &dyn Runner,
    seen: &(dyn Fn(&Run, Event<'_>) + Sync),
) {
    while let Some(number) = queue.next(how) {
        let run = &queue.runs[number];
        // Whatever is wrong with one run, the others go on.
        let attempt = AssertUnwindSafe(|| one(run, how, runner, seen));
        let outcome = catch_unwind(attempt).unwrap_or_else(|_| {
            Outcome::Failed("a defect of this program: it panicked".to_owned())
        });
        queue.ended(number, outcome, seen);
    }
}

/// What became of a run.
enum Outcome {
    Done(Vec<Metric>, Duration),
    Failed(String),
    LeftAlone(String),
    Interrupted,
    Broken(SweepError),
}

fn one(
    run: &Run,
    how: &How<'_>,
    runner: &dyn Runner,
    seen: &(dyn Fn(&Run, Event<'_>) + Sync),
) -> Outcome {
    let folder = how.root.join(&run.path);
    if folder::is_left_alone(how.root, &run.path) {
        return Outcome::LeftAlone("as a file 'skip' or its name says".to_owned());
    }
    let held = match Held::take(&folder) {
        Ok(Taken::Ours(held)) => held,
        Ok(Taken::Whole(result)) => return Outcome::Done(result, Duration::ZERO),
        Ok(Taken::Theirs) => return Outcome::LeftAlone("another process is at it".to_owned()),
        Err(error) => return broken_or_failed(error),
    };
    seen(run, Event::Begun);
    let outcome = in_folder(run, &folder, how, runner);
    if let Outcome::Failed(why) = &outcome {
        // Its parameters as they are called, for the table.
        let about = json!({
            "path": run.path,
            "parameters": run.parameters,
            "repetition": run.repetition,
            "repeated": run.common.most > 1,
            "seed": run.seed,
        });
        let path = folder.join(RUN);
        if !path.exists()
            && let Err(error) = WholeFile::write_all(&path, format!("{about}\n").as_bytes())
        {
            return broken_or_failed(SweepError::io(&path, "write")(error));
        }
        let path = folder.join(FAILED);
        if let Err(error) = WholeFile::write_all(&path, format!("{why}\n").as_bytes()) {
            return broken_or_failed(SweepError::io(&path, "write")(error));
        }
    }
    drop(held);
    outcome
}

fn broken_or_failed(error: SweepError) -> Outcome {
    if error.is_full() {
        Outcome::Broken(error)
    } else {
        Outcome::Failed(error.to_string())
    }
}

fn in_folder(run: &Run, folder: &Path, how: &How<'_>, runner: &dyn Runner) -> Outcome {
    let common = &run.common;
    let mut around = Around {
        hooks: &common.hooks,
        origin: common.origin.parent().unwrap_or(Path::new("")),
        root: how.root,
        path: &run.path,
        folder,
        parameters: &run.parameters,
        settings: run.settings.clone(),
        targets: runner.targets(run),
        destroy: how.destroy,
        env: Vec::new(),
        program: how.program,
        made: Vec::new(),
        log: Log::new(folder.join(LOG)),
        stop: how.stop,
    };
    let (begun, begin) = (SystemTime::now(), Instant::now());
    let full = std::cell::Cell::new(None);
    let done = around.all_phases(
        |around| {
            if let Some(text) = &common.manual {
                runner.ask_operator(run, text, around.stop)?;
            }
            around.wait(common.settle_s)
        },
        |around| {
            let done = runner.carry_out(&mut Task { run, around });
            done.map_err(|failure| match failure {
                Failure::Failed(why) => HookError::Failed(why),
                Failure::Interrupted => HookError::Interrupted,
                Failure::Full(error) => {
                    full.set(Some(error));
                    HookError::Interrupted
                }
            })
        },
        |around, done| {
            let about = about(run, around, done, begun, begin.elapsed());
            // The result comes last, and is pending until the last hooks have done their part.
            for (name, text) in [(RUN, &about), (PENDING, &done.result)] {
                let path = folder.join(name);
                if let Err(error) = WholeFile::write_all(&path, text.as_bytes()) {
                    let is_full = is_full(&error);
                    let error = SweepError::io(&path, "write")(error);
                    let why = error.to_string();
                    if is_full {
                        full.set(Some(Box::new(error)));
                    }
                    return Err(HookError::Failed(why));
                }
            }
            Ok(())
        },
    );
    if let Some(error) = full.take() {
        return Outcome::Broken(*error);
    }
    let done = match done {
        Ok(done) => done,
        Err(HookError::Failed(why)) => return Outcome::Failed(why),
        Err(HookError::Skip(why)) => return Outcome::LeftAlone(why),
        Err(HookError::Interrupted) => return Outcome::Interrupted,
    };
    // With its name the run is whole.
    let (pending, whole) = (folder.join(PENDING), folder.join(RESULT));
    if let Err(error) = std::fs::rename(&pending, &whole) {
        return broken_or_failed(SweepError::io(&whole, "write")(error));
    }
    match metrics_in(&done.result) {
        Ok(result) => Outcome::Done(result, begin.elapsed()),
        Err(error) => Outcome::Failed(format!("the result cannot be read: {error}")),
    }
}

/// Everything about a run that is no result.
fn about(
    run: &Run,
    around: &Around<'_>,
    done: &Done,
    begun: SystemTime,
    elapsed: Duration,
) -> String {
    let host = rustix::system::uname();
    let of_host = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let since = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
    let about = json!({
        "iosonar": env!("CARGO_PKG_VERSION"),
        "path": run.path,
        "parameters": run.parameters,
        "repetition": run.repetition,
        "repeated": run.common.most > 1,
        "seed": run.seed,
        "asked": object_of(&run.settings),
        "settings": object_of(&around.settings),
        "targets": around.targets,
        "command": done.command,
        "host": of_host(host.nodename()),
        "kernel": format!("{} {}", of_host(host.sysname()), of_host(host.release())),
        "begun_unix_s": since.as_secs(),
        "elapsed_s": elapsed.as_secs_f64(),
    });
    format!("{about}\n")
}

/// What a run needs for itself: no other that needs the same goes on meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Claim {
    /// A target of a replay.
    Target(PathBuf),
    /// To be the only replay of its kind, whatever its targets.
    Alone,
}

/// The runs that are still to be done.
struct Queue<'a> {
    runs: &'a [Run],
    claims: Vec<Vec<Claim>>,
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    /// In the order in which they are to be done.
    open: VecDeque<usize>,
    /// Repetitions that may not be needed, by point.
    later: BTreeMap<usize, VecDeque<usize>>,
    /// What repetitions of points with a precision gave, in their order.
    values: BTreeMap<usize, BTreeMap<u32, f64>>,
    running: usize,
    busy: HashSet<Claim>,
    broken: Option<SweepError>,
    tally: Tally,
}

impl<'a> Queue<'a> {
    fn new(
        runs: &'a [Run],
        how: &How<'_>,
        runner: &dyn Runner,
        seen: &(dyn Fn(&Run, Event<'_>) + Sync),
    ) -> Self {
        let mut state = QueueState {
            open: VecDeque::new(),
            later: BTreeMap::new(),
            values: BTreeMap::new(),
            running: 0,
            busy: HashSet::new(),
            broken: None,
            tally: Tally::default(),
        };
        let mut first = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            match folder::state(how.root, &run.path) {
                State::Whole(result) => {
                    state.tally.before += 1;
                    state.learn(run, &result);
                    seen(run, Event::Before(&result));
                }
                State::LeftAlone => {
                    state.tally.left_alone += 1;
                    seen(run, Event::LeftAlone("as a file 'skip' or its name says"));
                }
                State::Open | State::Failed(_) => {
                    if run.common.precision.is_some() && run.repetition > FEWEST_FOR_PRECISION {
                        state.later.entry(run.point).or_default().push_back(number);
                    } else {
                        first.push((folder::priority(how.root, &run.path), number));
                    }
                }
            }
        }
        first.sort_unstable();
        state.open = first.into_iter().map(|(_, number)| number).collect();
        let points: Vec<usize> = state.later.keys().copied().collect();
        for point in points {
            state.go_on_with(point, runs, seen);
        }
        let claims = |run: &Run| match run.base {
            Base::Replay => {
                let real = |target: String| match std::fs::canonicalize(&target) {
                    Ok(path) => path,
                    Err(_) => target.into(),
                };
                let targets = runner.targets(run).into_iter();
                let mut claims: Vec<Claim> = targets.map(|t| Claim::Target(real(t))).collect();
                // What a hook will make of the target is not known before.
                if run.common.hooks.iter().any(HookFile::may_change_target)
                    || runner.is_one_at_a_time()
                {
                    claims.push(Claim::Alone);
                }
                claims
            }
            Base::Simulation(_) => Vec::new(),
        };
        Self {
            runs,
            claims: runs.iter().map(claims).collect(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next run that may begin; waits for one while others are at work.
    fn next(&self, how: &How<'_>) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if how.stop.is_asked() || state.broken.is_some() || state.tally.stopped_by.is_some() {
                return None;
            }
            let is_free = |&n: &usize| {
                !self.claims[n]
                    .iter()
                    .any(|claim| state.busy.contains(claim))
            };
            let at = state.open.iter().position(is_free);
            if let Some(number) = at.and_then(|at| state.open.remove(at)) {
                if let Some(stop) = folder::stop(how.root, &self.runs[number].path) {
                    state.tally.stopped_by = Some(stop);
                    return None;
                }
                state.busy.extend(self.claims[number].iter().cloned());
                state.running += 1;
                return Some(number);
            }
            if state.running == 0 {
                return None;
            }
            let wait = Duration::from_millis(200);
            (state, _) = self
                .changed
                .wait_timeout(state, wait)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn ended(&self, number: usize, outcome: Outcome, seen: &(dyn Fn(&Run, Event<'_>) + Sync)) {
        let run = &self.runs[number];
        let mut state = self.lock();
        state.running -= 1;
        for claim in &self.claims[number] {
            state.busy.remove(claim);
        }
        match outcome {
            Outcome::Done(result, elapsed) => {
                state.tally.done += 1;
                state.learn(run, &result);
                state.go_on_with(run.point, self.runs, seen);
                drop(state);
                seen(run, Event::Done(&result, elapsed));
            }
            Outcome::Failed(why) => {
                state.tally.failed += 1;
                drop(state);
                seen(run, Event::Failed(&why));
            }
            Outcome::LeftAlone(why) => {
                state.tally.left_alone += 1;
                drop(state);
                seen(run, Event::LeftAlone(&why));
            }
            Outcome::Interrupted => {}
            Outcome::Broken(error) => state.broken = Some(error),
        }
        self.changed.notify_all();
    }
}

impl QueueState {
    /// Remembers what a repetition of a point with a precision gave.
    fn learn(&mut self, run: &Run, metrics: &[Metric]) {
        let Some(precision) = &run.common.precision else {
            return;
        };
        let columns = columns_of(metrics);
        let found = columns
            .iter()
            .find(|column| column.name == precision.metric);
        if let Some(column) = found {
            let values = self.values.entry(run.point).or_default();
            values.insert(run.repetition, column.value);
        } else {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            self.broken.get_or_insert(SweepError::Value {
                path: run.common.origin.clone(),
                key: "precision_of".to_owned(),
                problem: format!(
                    "is '{}', which is no metric of {}; there are {}",
                    precision.metric,
                    run.path.display(),
                    names.join(", ")
                ),
            });
        }
    }

    /// Puts the next repetition of a point into the queue, as soon as all before it are done and do not suffice.
    fn go_on_with(&mut self, point: usize, runs: &[Run], seen: &(dyn Fn(&Run, Event<'_>) + Sync)) {
        let Some(next) = self
            .later
            .get(&point)
            .and_then(|later| later.front().copied())
        else {
            return;
        };
        let values = self.values.get(&point);
        // What a precision rests on are the first repetitions, without a gap: so it ends where any other sweep does.
        let known: Vec<f64> = values
            .into_iter()
            .flatten()
            .zip(1..)
            .take_while(|((n, _), i)| *n == i)
            .map(|((_, value), _)| *value)
            .collect();
        if known.len() as u32 + 1 < runs[next].repetition {
            return;
        }
        let later = self.later.entry(point).or_default();
        if is_precise(
            &known,
            runs[next]
                .common
                .precision
                .as_ref()
                .map_or(0.0, |p| p.relative),
        ) {
            for number in later.drain(..) {
                self.tally.unneeded += 1;
                seen(&runs[number], Event::Unneeded);
            }
        } else {
            later.pop_front();
            self.open.push_front(next);
        }
    }
}

/// Whether the mean of the values is known to `relative` of it. As each number of values was asked for before,
/// what sufficed once ended it.
fn is_precise(values: &[f64], relative: f64) -> bool {
    let estimate = Estimate::from_independent(values);
    values.len() as u32 >= FEWEST_FOR_PRECISION
        && estimate.half_width_95() <= relative * estimate.mean.abs()
}
