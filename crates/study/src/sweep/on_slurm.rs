//! A sweep as job arrays of Slurm.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::frontend::Notice;
use super::here::{Here, estimate};
use super::{
    Event, FAILED, How, RESULT, Run, State, SweepError, SweepSpec, Tally, needed, result, state,
    stop,
};
use crate::elsewhere::slurm::{Job, Tasks, parts, submit};

/// Carries runs out as tasks of job arrays; what comes to no result is handed in again, as often as the file says.
pub(super) fn carry_out_there(
    spec: &SweepSpec,
    runs: &[Run],
    how: &How<'_>,
    here: &Here<'_>,
    seen: &(dyn Fn(&Run, Event<'_>) + Sync),
) -> Result<Tally, SweepError> {
    let (_, options) = spec.source.extras();
    // A task runs as many at once as it has processors, and starts in another folder.
    let sweep = SweepSpec {
        jobs: Some(options.cpus),
        ..spec.absolute()?
    };
    refuse_beside_another(how.root)?;
    let mut tally = Tally::default();
    let mut told: BTreeSet<&Path> = BTreeSet::new();
    for run in runs {
        match state(how.root, &run.path) {
            State::Whole(result) => {
                tally.before += 1;
                told.insert(&run.path);
                seen(run, Event::Before(&result));
            }
            State::LeftAlone => {
                tally.left_alone += 1;
                seen(
                    run,
                    Event::LeftAlone("excluded by a file named 'skip' or by its name"),
                );
            }
            State::Open | State::Failed(_) => {}
        }
    }
    for attempt in 0..=options.retries {
        let open = to_hand_in(runs, how, here);
        if open.is_empty() {
            break;
        }
        if attempt > 0 {
            here.frontend.notice(Notice::Resubmitted(open.len()));
        }
        // What it says of the attempt before is not to be taken for that of this one.
        for run in &open {
            let _ = std::fs::remove_file(how.root.join(&run.path).join(FAILED));
        }
        let tasks = Tasks {
            sweep: sweep.clone(),
            parts: parts(&open, options.chunk, estimate(open[0])),
        };
        let job = submit(&tasks, &options, &here.program)?;
        here.frontend.notice(Notice::Submitted {
            job: &job,
            runs: open.len(),
        });
        let over = wait(&job, &open, how, seen, &mut tally, &mut told)?;
        if !over {
            tally.interrupted = true;
            return Ok(tally);
        }
        if let Some(stop) = runs.iter().find_map(|run| stop(how.root, &run.path)) {
            tally.stopped_by = Some(stop);
            return Ok(tally);
        }
        if attempt == options.retries {
            for words in job.last_words() {
                here.frontend.notice(Notice::TaskSaid(&words));
            }
        }
    }
    for run in to_hand_in(runs, how, here) {
        if run.common.precision.is_some() && state(how.root, &run.path) == State::Open {
            continue;
        }
        tally.failed += 1;
        let why = match state(how.root, &run.path) {
            State::Failed(why) => why,
            _ => "the Slurm task ended without writing a result".to_owned(),
        };
        seen(run, Event::Failed(&why));
    }
    Ok(tally)
}

/// Two arrays on one tree would do everything twice.
fn refuse_beside_another(root: &Path) -> Result<(), SweepError> {
    for job in Job::of_tree(root) {
        // Of a job that is not known any more Slurm says nothing.
        if let Ok(tasks) = job.tasks()
            && tasks != (0, 0)
        {
            let problem = format!(
                "{}: job {} of an earlier sweep is still running; wait for it, or cancel it with 'scancel {1}'",
                root.display(),
                job.id
            );
            return Err(SweepError::Elsewhere(problem));
        }
    }
    Ok(())
}

/// Runs that are needed; of points with a precision all repetitions, as their task decides which.
fn to_hand_in<'a>(runs: &'a [Run], how: &How<'_>, here: &Here<'_>) -> Vec<&'a Run> {
    let open: Vec<&Run> = needed(runs, how, here)
        .into_iter()
        .map(|n| &runs[n])
        .collect();
    let precise = open.iter().filter(|run| run.common.precision.is_some());
    let points: BTreeSet<usize> = precise.map(|run| run.point).collect();
    let mut all: Vec<&Run> = open
        .into_iter()
        .filter(|r| r.common.precision.is_none())
        .collect();
    all.extend(runs.iter().filter(|run| points.contains(&run.point)));
    all
}

/// Watches the tree until the job is over; whether it came to its end.
fn wait<'a>(
    job: &Job,
    open: &[&'a Run],
    how: &How<'_>,
    seen: &(dyn Fn(&Run, Event<'_>) + Sync),
    tally: &mut Tally,
    told: &mut BTreeSet<&'a Path>,
) -> Result<bool, SweepError> {
    const LOOK: Duration = Duration::from_millis(200);
    const ASK: Duration = Duration::from_secs(2);
    /// A file system of a network shows what was written elsewhere a little later.
    const SETTLES: Duration = Duration::from_secs(5);
    /// A controller may be busy for a while.
    const MOST_SILENT: u32 = 30;
    let (mut asked, mut silent) = (Instant::now(), 0);
    let mut over: Option<Instant> = None;
    loop {
        for run in open {
            if !told.contains(run.path.as_path())
                && let Some(result) = result(&how.root.join(&run.path))
            {
                told.insert(&run.path);
                tally.done += 1;
                seen(run, Event::Done(&result, Duration::ZERO));
            }
        }
        if open.iter().all(|run| is_ended(how.root, run)) {
            return Ok(true);
        }
        if over.is_some_and(|since| since.elapsed() >= SETTLES) {
            return Ok(true);
        }
        if how.stop.is_asked() {
            job.cancel()?;
            return Ok(false);
        }
        thread::sleep(LOOK);
        if asked.elapsed() >= ASK {
            asked = Instant::now();
            match job.tasks() {
                Ok((0, 0)) => {
                    over.get_or_insert(asked);
                }
                Ok(_) => (over, silent) = (None, 0),
                Err(error) => {
                    silent += 1;
                    if silent > MOST_SILENT {
                        return Err(error);
                    }
                }
            }
        }
    }
}

fn is_ended(root: &Path, run: &Run) -> bool {
    let folder = root.join(&run.path);
    folder.join(RESULT).exists() || folder.join(FAILED).exists()
}
