//! Which run is next: by priority, by what it needs for itself, and by what is known of its point.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iosonar_stats::{Estimate, Metric};

use super::{Event, How, RunOutcome, Runner, Tally};
use crate::hooks::HookFile;
use crate::sweep::folder::{self, State};
use crate::sweep::{Base, FEWEST_FOR_PRECISION, Run, SweepError, columns_of};

/// What a run needs for itself: no other that needs the same goes on meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Claim {
    /// A target of a replay.
    Target(PathBuf),
    /// To be the only replay of its kind, whatever its targets.
    Alone,
}

/// The runs that are still to be done.
pub(super) struct Queue<'a> {
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
    pub(super) fn new(
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
                    seen(
                        run,
                        Event::LeftAlone("excluded by a file named 'skip' or by its name"),
                    );
                }
                State::Open | State::Failed(_) => {
                    if run.common.precision.is_some() && run.repetition > FEWEST_FOR_PRECISION {
                        state.later.entry(run.point).or_default().push_back(number);
                    } else {
                        // Each point once, then each again: what drifts over time, as a device that gets warm, falls on
                        // all points alike.
                        let priority = folder::priority(how.root, &run.path);
                        first.push((priority, run.repetition, number));
                    }
                }
            }
        }
        first.sort_unstable();
        state.open = first.into_iter().map(|(.., number)| number).collect();
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

    pub(super) fn run(&self, number: usize) -> &'a Run {
        &self.runs[number]
    }

    fn into_state(self) -> QueueState {
        let state = self.state.into_inner();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// The runs that may begin, in their order.
    pub(super) fn open(self) -> Vec<usize> {
        self.into_state().open.into()
    }

    /// How many of what, when all workers have ended.
    pub(super) fn tally(self, interrupted: bool) -> Result<Tally, SweepError> {
        let state = self.into_state();
        match state.broken {
            Some(error) => Err(error),
            None => Ok(Tally {
                interrupted,
                waiting: state.later.values().map(|later| later.len() as u64).sum(),
                ..state.tally
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next run that may begin; waits for one while others are at work.
    pub(super) fn next(&self, how: &How<'_>) -> Option<usize> {
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

    pub(super) fn ended(
        &self,
        number: usize,
        outcome: RunOutcome,
        seen: &(dyn Fn(&Run, Event<'_>) + Sync),
    ) {
        let run = &self.runs[number];
        let mut state = self.lock();
        state.running -= 1;
        for claim in &self.claims[number] {
            state.busy.remove(claim);
        }
        match outcome {
            RunOutcome::Done(result, elapsed) => {
                state.tally.done += 1;
                state.learn(run, &result);
                state.go_on_with(run.point, self.runs, seen);
                drop(state);
                seen(run, Event::Done(&result, elapsed));
            }
            RunOutcome::Failed(why) => {
                state.tally.failed += 1;
                drop(state);
                seen(run, Event::Failed(&why));
            }
            RunOutcome::LeftAlone(why) => {
                state.tally.left_alone += 1;
                drop(state);
                seen(run, Event::LeftAlone(&why));
            }
            RunOutcome::Interrupted => {}
            RunOutcome::Broken(error) => state.broken = Some(error),
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
                    "is '{}', which is not a metric of {}; its metrics are {}",
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
