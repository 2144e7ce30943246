//! Carrying runs out: which is next, several at a time, until all are done or it is to end.

mod queue;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use iosonar_stats::Metric;
use iosonar_trace::output::WholeFile;
use serde_json::json;

use super::folder::{self, Held, Taken};
use super::values::object_of;
use super::{FAILED, LOG, PENDING, RESULT, RUN, Run, SweepError, is_full, metrics_in};
use crate::hooks::{Around, HookError, Log, Stop};
use queue::Queue;

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

    /// Prints the operator's instructions before a run, and waits until they are carried out.
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
    /// Skipped.
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

/// Carries out `runs`, in the order of their priorities. `seen` is notified of everything, from any thread.
///
/// # Errors
/// If nothing can be written any more. Individual failures are reported to `seen`.
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
            // Fewer at once if no more threads can be created.
            let _ =
                std::thread::Builder::new().spawn_scoped(scope, || work(&queue, how, runner, seen));
        }
        work(&queue, how, runner, seen);
    });
    queue.tally(how.stop.is_asked())
}

/// The runs that are needed now, by their numbers in `runs`: what is not done, and of the repetitions of a point
/// with a precision no more than the next.
pub fn needed(runs: &[Run], how: &How<'_>, runner: &dyn Runner) -> Vec<usize> {
    Queue::new(runs, how, runner, &|_, _| {}).open()
}

fn work(
    queue: &Queue<'_>,
    how: &How<'_>,
    runner: &dyn Runner,
    seen: &(dyn Fn(&Run, Event<'_>) + Sync),
) {
    while let Some(number) = queue.next(how) {
        let run = queue.run(number);
        // Whatever is wrong with one run, the others go on.
        let attempt = AssertUnwindSafe(|| one(run, how, runner, seen));
        let outcome = catch_unwind(attempt).unwrap_or_else(|_| {
            RunOutcome::Failed("iosonar panicked: please report this bug".to_owned())
        });
        queue.ended(number, outcome, seen);
    }
}

/// The outcome of a run.
enum RunOutcome {
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
) -> RunOutcome {
    let folder = how.root.join(&run.path);
    if folder::is_left_alone(how.root, &run.path) {
        return RunOutcome::LeftAlone("excluded by a file named 'skip' or by its name".to_owned());
    }
    let held = match Held::take(&folder) {
        Ok(Taken::Ours(held)) => held,
        Ok(Taken::Whole(result)) => return RunOutcome::Done(result, Duration::ZERO),
        Ok(Taken::Theirs) => {
            return RunOutcome::LeftAlone("another process is executing this run".to_owned());
        }
        Err(error) => return broken_or_failed(error),
    };
    seen(run, Event::Begun);
    let outcome = in_folder(run, &folder, how, runner);
    if let RunOutcome::Failed(why) = &outcome {
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

fn broken_or_failed(error: SweepError) -> RunOutcome {
    if error.is_full() {
        RunOutcome::Broken(error)
    } else {
        RunOutcome::Failed(error.to_string())
    }
}

fn in_folder(run: &Run, folder: &Path, how: &How<'_>, runner: &dyn Runner) -> RunOutcome {
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
        return RunOutcome::Broken(*error);
    }
    let done = match done {
        Ok(done) => done,
        Err(HookError::Failed(why)) => return RunOutcome::Failed(why),
        Err(HookError::Skip(why)) => return RunOutcome::LeftAlone(why),
        Err(HookError::Interrupted) => return RunOutcome::Interrupted,
    };
    // With its name the run is whole.
    let (pending, whole) = (folder.join(PENDING), folder.join(RESULT));
    if let Err(error) = std::fs::rename(&pending, &whole) {
        return broken_or_failed(SweepError::io(&whole, "write")(error));
    }
    match metrics_in(&done.result) {
        Ok(result) => RunOutcome::Done(result, begin.elapsed()),
        Err(error) => RunOutcome::Failed(format!("the result cannot be read: {error}")),
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
