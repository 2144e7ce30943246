//! `iosonar sweep`: an experiment or a tree in, a folder for each run, tables and charts out.

mod here;
mod hosts;
mod operator;
mod progress;
mod results;
mod slurm;

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use iosonar_report::grouped;
use iosonar_study::elsewhere::slurm::Tasks;
use iosonar_study::hooks::Stop;
use iosonar_study::sweep::{
    Base, Event, How, Run, RunRow, Runner, SCENARIO, Source, State, Study, SweepSpec, Tally, Tree,
    carry_out, rename_repadded, state,
};

use crate::beside::{Working, beside};
use crate::exit::{Ending, Usage, note, print};
use crate::low::{Sweep, SweepTask, Where};
use crate::signals;
use here::Here;
use hosts::Hosts;
pub(crate) use hosts::tell_the_time;
use progress::{View, rough};
use results::Tables;

/// Writes the page of a tree that a sweep has begun; tells how many runs are on it.
pub(crate) fn write_page(tree: &Path, out: &Path, title: Option<&str>) -> anyhow::Result<usize> {
    let source = Source::of_tree(tree)?;
    Tables::new(&source, true)?.write_page(out, title)
}

pub(crate) fn run(args: &Sweep) -> anyhow::Result<Ending> {
    let spec = args.to_spec()?;
    let source = &spec.source;
    if args.replot {
        return replot(args, source);
    }
    let here = here(&spec.destroy)?;
    let runs = wanted(args, spec.runs()?)?;
    if !args.hosts.is_empty() {
        Hosts::check(args, &runs)?;
    }
    if args.dry_run {
        check(source, &here, &runs)?;
        return list(args, source, &runs);
    }
    check(source, &here, &runs)?;
    let _tree = Tree::take(&source.root)?;
    rename_repadded(&source.root, runs.iter().map(|run| run.path.as_path()))?;
    source.mark()?;
    signals::watch()?;
    let begin = Instant::now();
    let mut tables = Tables::new(source, false)?;
    let changed = changed(source, &here, &runs);
    if args.repeat_changed {
        for path in &changed {
            let result = source.root.join(path).join(iosonar_study::sweep::RESULT);
            std::fs::remove_file(&result)
                .with_context(|| format!("{}: cannot remove", result.display()))?;
        }
    }
    let first = runs
        .first()
        .map(|run| run.path.join("run.json"))
        .unwrap_or_default();
    let outcome = until_nothing_is_new(args, &spec, &here, runs, &mut tables);
    // What is done stays, and is in the tables, however it ended.
    let made = tables.finish(args);
    let tally = outcome?;
    made?;
    if !args.quiet {
        tell(args, source, &first, &tally, begin.elapsed());
        if !changed.is_empty() && !args.repeat_changed {
            note(&format!(
                "note: {} done with another scenario, or other options, than now (the first is {}); \
                 --repeat-changed does that again",
                runs_of(changed.len() as u64),
                changed[0].display()
            ));
        }
    }
    Ok(ending(&tally))
}

/// Does the runs of one task of a sweep on a cluster.
pub(crate) fn run_task(args: &SweepTask) -> anyhow::Result<Ending> {
    let Tasks { sweep, parts } = Tasks::read(&args.tasks)?;
    slurm::do_task(&sweep, parts, args, &here(&sweep.destroy)?)
}

/// What carries runs out with this program.
fn here(destroy: &[PathBuf]) -> anyhow::Result<Here> {
    let program = std::env::current_exe().context("cannot find this program")?;
    Ok(Here::new(program, destroy.to_vec()))
}

/// How a sweep that came to this ends.
fn ending(tally: &Tally) -> Ending {
    match tally {
        Tally {
            interrupted: true, ..
        } => Ending::Interrupted {
            signal: signals::last(),
        },
        Tally { failed: 1.., .. } => Ending::Failed,
        Tally {
            stopped_by: Some(_),
            ..
        } => Ending::Flagged,
        _ => Ending::Done,
    }
}

/// Carries out what is open, and then what was added meanwhile.
fn until_nothing_is_new(
    args: &Sweep,
    spec: &SweepSpec,
    here: &Here,
    mut runs: Vec<Run>,
    tables: &mut Tables<'_>,
) -> anyhow::Result<Tally> {
    let source = &spec.source;
    let mut tried: HashSet<PathBuf> = HashSet::new();
    let mut total = Tally::default();
    loop {
        let tally = once(args, spec, here, &runs, tables)?;
        tried.extend(runs.drain(..).map(|run| run.path));
        total.done += tally.done;
        total.failed += tally.failed;
        total.left_alone += tally.left_alone;
        total.unneeded += tally.unneeded;
        total.waiting += tally.waiting;
        total.before += tally.before;
        total.interrupted = tally.interrupted;
        total.stopped_by = tally.stopped_by;
        if total.interrupted || total.stopped_by.is_some() {
            return Ok(total);
        }
        runs = wanted(args, spec.runs()?)?;
        runs.retain(|run| !tried.contains(&run.path));
        if runs.is_empty() {
            return Ok(total);
        }
        // Folders of what was done may have to make room in their names.
        let renamed = rename_repadded(&source.root, runs.iter().map(|run| run.path.as_path()))?;
        if renamed > 0 {
            tables.read_again()?;
        }
        check(source, here, &runs)?;
        runs.retain(|run| !matches!(state(&source.root, &run.path), State::Whole(_)));
        if runs.is_empty() {
            return Ok(total);
        }
        if !args.quiet {
            note(&format!(
                "{} were added meanwhile",
                runs_of(runs.len() as u64)
            ));
        }
    }
}

/// Carries out these runs.
fn once(
    args: &Sweep,
    spec: &SweepSpec,
    here: &Here,
    runs: &[Run],
    tables: &mut Tables<'_>,
) -> anyhow::Result<Tally> {
    let source = &spec.source;
    let stop = Stop::default();
    let open = runs.len() as u64;
    let view = View::new(open, args.quiet);
    let how = How {
        root: &source.root,
        jobs: jobs(args, runs),
        destroy: &args.destroy,
        program: &here.program,
        stop: &stop,
    };
    let tables = Mutex::new(tables);
    let seen = |run: &Run, event: Event<'_>| {
        view.see(run, &event);
        if let Event::Done(..) | Event::Failed(_) = event
            && let Some(row) = RunRow::read(&source.root, &run.path)
        {
            let mut tables = tables.lock().unwrap_or_else(PoisonError::into_inner);
            // Results are safe in their folders; a table that cannot be written is told at the end.
            let _ = tables.put(row);
        }
    };
    let hosts = if args.hosts.is_empty() {
        None
    } else {
        Some(Hosts::new(args, here)?)
    };
    let runner: &dyn Runner = match &hosts {
        Some(hosts) => hosts,
        None => here,
    };
    let tally = stopping_at_signals(&stop, || match args.on {
        Where::Slurm => slurm::carry_out_there(args, spec, runs, &how, here, &seen),
        Where::Here => Ok(carry_out(runs, &how, runner, &seen)?),
    });
    view.end();
    tally
}

/// Does `work` while signals are passed on.
fn stopping_at_signals<T>(stop: &Stop, work: impl FnOnce() -> T) -> T {
    let watcher = |working: &Working| {
        let mut signals = signals::PassedOn::default();
        loop {
            signals.pass_on(|| stop.ask());
            if !working.goes_on(Duration::from_millis(20)) {
                return;
            }
        }
    };
    beside(watcher, work)
}

/// How many runs go on at once.
fn jobs(args: &Sweep, runs: &[Run]) -> usize {
    let simulates = runs
        .iter()
        .all(|run| matches!(run.base, Base::Simulation(_)));
    match args.jobs {
        Some(jobs) => usize::from(jobs),
        None if simulates => thread::available_parallelism().map_or(1, usize::from),
        None => 1,
    }
}

/// Those that --only names.
fn wanted(args: &Sweep, mut runs: Vec<Run>) -> anyhow::Result<Vec<Run>> {
    if args.only.is_empty() {
        return Ok(runs);
    }
    runs.retain(|run| {
        let path = run.path.to_string_lossy();
        args.only.iter().any(|pattern| is_like(&path, pattern))
    });
    if runs.is_empty() {
        let problem = format!(
            "--only {}: no run has such a path",
            args.only.join(" --only ")
        );
        return Err(Usage(problem).into());
    }
    Ok(runs)
}

/// Whether a text is like a pattern: '*' any characters, '?' one of them; without either the text contains it.
fn is_like(text: &str, pattern: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return text.contains(pattern);
    }
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern.chars().collect());
    // The last '*' takes one character more whenever what follows it does not fit.
    let (mut t, mut p, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((t, p));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                t += 1;
                p += 1;
            }
            _ => match star {
                Some((at, of)) => {
                    star = Some((at + 1, of));
                    (t, p) = (at + 1, of + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// Checks what is open before the first is run: all, or of very many each value once.
fn check(source: &Source, here: &Here, runs: &[Run]) -> anyhow::Result<()> {
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

/// Runs that are done, but whose scenario or options are others now.
fn changed(source: &Source, here: &Here, runs: &[Run]) -> Vec<PathBuf> {
    let is_changed = |run: &&Run| {
        let folder = source.root.join(&run.path);
        if !folder.join(iosonar_study::sweep::RESULT).is_file() {
            return false;
        }
        match &run.base {
            Base::Simulation(scenario) => {
                let there = std::fs::read_to_string(folder.join(SCENARIO));
                let now = here.scenario(run, scenario, &run.settings, &folder);
                // By what they mean: 3_000 is 3000.
                let meaning = |text: &str| toml::from_str::<toml::Table>(text).ok();
                matches!((there, now), (Ok(there), Ok(now)) if there != now && meaning(&there) != meaning(&now))
            }
            Base::Replay => {
                let there =
                    std::fs::read(folder.join(iosonar_study::sweep::RUN)).unwrap_or_default();
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
    };
    runs.iter()
        .filter(is_changed)
        .map(|run| run.path.clone())
        .collect()
}

/// Lists the runs, and says how long they may take.
fn list(args: &Sweep, source: &Source, runs: &[Run]) -> anyhow::Result<Ending> {
    /// So many are enough to guess by.
    const TRIED: usize = 8;
    let mut text = String::new();
    let mut open: Vec<&Run> = Vec::new();
    for run in runs {
        let word = match state(&source.root, &run.path) {
            State::Whole(_) => "done",
            State::LeftAlone => "left alone",
            State::Failed(_) => {
                open.push(run);
                "failed"
            }
            State::Open => {
                open.push(run);
                "open"
            }
        };
        text += &format!("{word:10}  {}\n", run.path.display());
    }
    print(&text)?;
    if args.quiet {
        return Ok(Ending::Done);
    }
    let known = source
        .root
        .is_dir()
        .then(|| Study::read(&source.root))
        .transpose()?;
    let elapsed = known
        .iter()
        .flat_map(|study| &study.runs)
        .map(|run| run.elapsed_s);
    let elapsed: Vec<f64> = elapsed.filter(|s| s.is_finite()).collect();
    let (each, by) = if elapsed.is_empty() {
        let step = open.len().div_ceil(TRIED).max(1);
        let tried = open.iter().step_by(step).map(|run| here::estimate(run));
        let tried: Option<Vec<Duration>> = tried.collect();
        let each = tried.filter(|t| !t.is_empty()).map(|t| {
            let sum: Duration = t.iter().sum();
            sum.as_secs_f64() / t.len() as f64
        });
        (each, "estimated from parts of some runs")
    } else {
        let mean = elapsed.iter().sum::<f64>() / elapsed.len() as f64;
        (Some(mean), "estimated from those that are done")
    };
    let jobs = jobs(args, runs);
    let time = match each {
        _ if open.is_empty() => "nothing to do".to_owned(),
        Some(each) => {
            let all = Duration::from_secs_f64(each * open.len() as f64 / jobs as f64);
            format!("about {} with {jobs} at once, {by}", rough(all))
        }
        None => "how long they take is not known yet".to_owned(),
    };
    let is_up_to = open.iter().any(|run| run.common.precision.is_some());
    note(&format!(
        "{} of {} open{}: {time}",
        grouped(open.len() as u64),
        grouped(runs.len() as u64),
        if is_up_to {
            " (fewer if they are precise sooner)"
        } else {
            ""
        }
    ));
    Ok(Ending::Done)
}

fn replot(args: &Sweep, source: &Source) -> anyhow::Result<Ending> {
    let mut tables = Tables::new(source, true)?;
    if tables.is_empty() {
        let problem = format!(
            "{}: there are no runs to make tables of",
            source.root.display()
        );
        return Err(Usage(problem).into());
    }
    tables.finish(args)?;
    if !args.quiet {
        tables.tell();
    }
    Ok(Ending::Done)
}

fn runs_of(n: u64) -> String {
    format!("{} {}", grouped(n), if n == 1 { "run" } else { "runs" })
}

fn tell(args: &Sweep, source: &Source, first: &Path, tally: &Tally, elapsed: Duration) {
    let mut parts = vec![format!("{} done", runs_of(tally.done))];
    for (n, what) in [
        (tally.before, "done before"),
        (tally.failed, "failed"),
        (tally.left_alone, "left alone"),
        (tally.unneeded, "not needed for the precision"),
        (tally.waiting, "waiting for repetitions before them"),
    ] {
        if n > 0 {
            parts.push(format!("{} {what}", grouped(n)));
        }
    }
    let seconds = elapsed.as_secs_f64();
    let rate = tally.done as f64 / seconds;
    let rate = if tally.done > 1 && rate >= 1.0 {
        format!(" ({rate:.0} runs/s)")
    } else {
        String::new()
    };
    note(&format!("{} in {seconds:.2} s{rate}", parts.join(", ")));
    if let Some(stop) = &tally.stopped_by {
        note(&format!(
            "stopped by {}: remove it to go on",
            stop.display()
        ));
    }
    let root = source.root.display();
    if tally.done + tally.before > 0 {
        note(&format!(
            "tables, charts and page: {root}/points.csv, runs.csv, results.json, charts/, report.html"
        ));
    }
    if args.on == Where::Here && tally.done > 0 {
        note(&format!(
            "a run again by itself: 'command' in the run.json of its folder, to be typed there; the first is \
             {root}/{}",
            first.display()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn patterns_are_looked_for_as_in_a_shell() {
        for (text, pattern, expected) in [
            ("disks=04/level=raid5", "raid5", true),
            ("disks=04/level=raid5", "raid6", false),
            ("disks=04/level=raid5", "disks=04*", true),
            ("disks=04/level=raid5", "*level=raid?", true),
            ("disks=04/level=raid5", "*raid", false),
            ("disks=04/level=raid5/rep=02", "*raid5*02", true),
            ("aab", "*ab", true),
            ("", "*", true),
            ("", "?", false),
        ] {
            assert_eq!(is_like(text, pattern), expected, "{text} {pattern}");
        }
    }
}
