//! `iosonar sweep`: an experiment or a tree in, a folder for each run, tables and charts out.

mod frontend;
mod operator;
mod progress;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use iosonar_analysis::objective::Objective;
use iosonar_plot::Size;
use iosonar_report::{LookOptions, grouped};
use iosonar_stats::Output;
use iosonar_study::elsewhere::hosts::participants;
use iosonar_study::elsewhere::slurm::Tasks;
use iosonar_study::hooks::Stop;
use iosonar_study::sweep::{
    Basis, Campaign, Carrier, Here, HostsSpec, ProgramThere, Run, Source, State, SweepError,
    Tables, Tally, Tree, Undrawn, expected, rename_repadded, state,
};

use crate::beside::{Working, beside};
use crate::exit::{Ending, Usage, note, print, print_data, refuse_as_folder, warn};
use crate::live::{self, Feed};
use crate::low::{Sweep, SweepTask, Where};
use crate::render::messages::Warning;
use crate::signals;
use frontend::{Shown, runs_of};
use progress::rough;
use serde_json::json;

/// Writes the page of a tree that a sweep has begun; how many runs are on it.
pub(crate) fn write_page(
    tree: &Path,
    out: &Path,
    title: Option<&str>,
    targets: &[Objective],
) -> anyhow::Result<usize> {
    let source = Source::of_tree(tree)?;
    let tables = Tables::new(&source, true)?;
    note_undrawn(&tables.write_page(out, title, targets)?);
    Ok(tables.len())
}

/// The page of the complete runs of a tree, for a server.
pub(crate) fn page_apart(tree: &Path) -> anyhow::Result<String> {
    let source = Source::of_tree(tree)?;
    Ok(Tables::new(&source, true)?.page_apart()?)
}

pub(crate) fn run(args: &Sweep) -> anyhow::Result<Ending> {
    iosonar_trace::tables::format_for(format!("points.{}", args.tables).as_ref())?;
    args.dir.as_deref().map_or(Ok(()), refuse_as_folder)?;
    let spec = args.to_spec()?;
    let source = &spec.source;
    if args.replot {
        return replot(args, source);
    }
    let shown = Shown::new(args.output.quiet);
    let here = here(&spec.destroy, &shown)?;
    let stop = Stop::default();
    let campaign = Campaign {
        spec: &spec,
        only: &args.only,
        carrier: carrier(args)?,
        here: &here,
        stop: &stop,
    };
    let runs = campaign.runs()?;
    campaign.check(&runs)?;
    if args.dry_run {
        return list(args, &campaign, &runs);
    }
    let _tree = Tree::take(&source.root)?;
    rename_repadded(&source.root, runs.iter().map(|run| run.path.as_path()))?;
    source.mark()?;
    signals::watch()?;
    let begin = Instant::now();
    let mut tables = Tables::new(source, false)?;
    let changed = campaign.changed(&runs);
    if args.repeat_changed {
        campaign.reopen(&changed)?;
    }
    let first = runs.first();
    let first = first.map_or_else(PathBuf::new, |run| run.path.join("run.json"));
    let feed = || Feed::of_tree(&source.root, &LookOptions::default());
    let outcome = live::during(&args.live, &source.name(), feed, || {
        stopping_at_signals(&stop, || campaign.carry_out(runs, &mut tables))
    })?;
    shown.end();
    // What is done stays, and is in the tables, however it ended.
    let made = finish(args, &mut tables);
    let tally = outcome?;
    made?;
    if !args.output.quiet {
        summarise(args, source, &first, &tally, begin.elapsed());
        if !changed.is_empty() && !args.repeat_changed {
            warn(
                Warning::RunsChanged,
                &format!(
                    "the results of {} are from a different scenario or different options (the first is {}); \
                     --repeat-changed repeats these runs",
                    runs_of(changed.len() as u64),
                    changed[0].display()
                ),
            );
        }
    }
    Ok(ending(&tally))
}

/// Does the runs of one task of a sweep on a cluster.
pub(crate) fn run_task(args: &SweepTask) -> anyhow::Result<Ending> {
    let tasks = Tasks::read(&args.tasks)?;
    let shown = Shown::of_task();
    let here = here(&tasks.sweep.destroy, &shown)?;
    let stop = Stop::default();
    signals::watch()?;
    let tally = stopping_at_signals(&stop, || tasks.carry_out(args.number, &here, &stop))?;
    let tally = tally.with_context(|| {
        let path = args.tasks.display();
        format!("{path} has no task {}", args.number)
    })?;
    Ok(ending(&tally))
}

/// What carries runs out with this program.
fn here<'a>(destroy: &[PathBuf], shown: &'a Shown) -> anyhow::Result<Here<'a>> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    Ok(Here::new(program, destroy.to_vec(), shown))
}

fn carrier(args: &Sweep) -> Result<Carrier, SweepError> {
    Ok(match args.on {
        Where::Slurm => Carrier::Slurm,
        Where::Here if args.hosts.is_empty() => Carrier::Here,
        Where::Here => Carrier::Hosts(HostsSpec {
            participants: participants(&args.hosts)?,
            ssh: args.connection.ssh.clone(),
            program: match args.push {
                true => ProgramThere::Copied,
                false => ProgramThere::Installed(args.connection.host_program.clone()),
            },
            timeout: args.connection.host_timeout,
        }),
    })
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

/// Writes the tables, and says what is not in them.
fn finish(args: &Sweep, tables: &mut Tables<'_>) -> anyhow::Result<()> {
    let written = tables.finish(Size::default().at(args.pixels.scale()))?;
    if args.tables != "csv" {
        tables.write_as(&args.tables)?;
    }
    for path in &written.damaged {
        warn(
            Warning::ResultDamaged,
            &format!(
                "{}: its result.json is damaged, so it is left out of the tables; the next sweep repeats it",
                path.display()
            ),
        );
    }
    note_undrawn(&written.undrawn);
    match written.json {
        Some(json) if args.output.json => print_data(&format!("{json}\n")),
        _ => Ok(()),
    }
}

fn note_undrawn(undrawn: &[Undrawn]) {
    for chart in undrawn {
        let what = match chart.is_parameter {
            true => "parameter",
            false => "metric",
        };
        let (name, there) = (&chart.name, chart.there.join(", "));
        warn(
            Warning::ChartUnknown,
            &format!("[[chart]]: unknown {what} '{name}', expected one of {there}"),
        );
    }
}

/// Lists the runs, and says how long they may take.
fn list(args: &Sweep, campaign: &Campaign<'_>, runs: &[Run]) -> anyhow::Result<Ending> {
    let source = &campaign.spec.source;
    if args.output.json {
        return print_data(&planned(&source.root, runs).text()).map(|()| Ending::Done);
    }
    let (text, open) = listed(&source.root, runs);
    print(&text)?;
    if args.output.quiet {
        return Ok(Ending::Done);
    }
    let jobs = campaign.jobs(runs);
    let time = match expected(source, &open)? {
        _ if open.is_empty() => "nothing to do".to_owned(),
        Some((each, basis)) => {
            let by = match basis {
                Basis::Parts => "estimated from parts of a few runs",
                Basis::Done => "estimated from the completed runs",
            };
            let all = Duration::from_secs_f64(each * open.len() as f64 / jobs as f64);
            format!("about {} with {jobs} at once, {by}", rough(all))
        }
        None => "their duration is not known yet".to_owned(),
    };
    let is_up_to = open.iter().any(|run| run.common.precision.is_some());
    note(&format!(
        "{} of {} runs remain{}: {time}",
        grouped(open.len() as u64),
        grouped(runs.len() as u64),
        if is_up_to {
            " (fewer if the precision is reached sooner)"
        } else {
            ""
        }
    ));
    Ok(Ending::Done)
}

/// What a run is, and whether it is to be carried out.
fn planned_as(root: &Path, run: &Run) -> (Planned, bool) {
    match state(root, &run.path) {
        State::Failed(_) => (Planned::Failed, true),
        State::Open => (Planned::Open, true),
        State::Whole(_) => (Planned::Done, false),
        State::LeftAlone => (Planned::Skipped, false),
    }
}

/// What a dry run says of a run, in the order of lines.
#[derive(Clone, Copy)]
enum Planned {
    Failed,
    Open,
    Done,
    Skipped,
}

impl Planned {
    const WORDS: [&str; 4] = ["failed", "open", "done", "skipped"];

    fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

/// The runs, each with what it is.
fn planned(root: &Path, runs: &[Run]) -> Output {
    let mut json = Output::new("sweep --dry-run");
    let of = |run: &Run| {
        let (planned, _) = planned_as(root, run);
        json!({ "path": run.path.display().to_string(), "state": planned.word() })
    };
    json.set("planned", runs.iter().map(of).collect());
    json
}

/// The runs in lines, and those that are open. How many repetitions a point with a precision needs is not known in
/// advance, so it has one line.
fn listed<'a>(root: &Path, runs: &'a [Run]) -> (String, Vec<&'a Run>) {
    let mut text = String::new();
    let mut open: Vec<&Run> = Vec::new();
    let is_of_one_line = |a: &Run, b: &Run| {
        let is_precise = a.common.precision.is_some() && b.common.precision.is_some();
        is_precise && a.point == b.point && a.path.parent() == b.path.parent()
    };
    for group in runs.chunk_by(is_of_one_line) {
        let mut numbers = [0_u64; 4];
        for run in group {
            let (planned, is_open) = planned_as(root, run);
            numbers[planned as usize] += 1;
            open.extend(is_open.then_some(run));
        }
        // The first that there is.
        let first = numbers.iter().position(|n| *n > 0).unwrap_or_default();
        text += &match group {
            [run] => format!("{:10}  {}\n", Planned::WORDS[first], run.path.display()),
            _ => format!(
                "{:10}  {}  ({})\n",
                Planned::WORDS[first],
                point_of(&group[0]).display(),
                of_a_point(numbers)
            ),
        };
    }
    (text, open)
}

/// The folder of the repetitions of a run's point.
fn point_of(run: &Run) -> &Path {
    let parent = run.path.parent().filter(|path| *path != Path::new(""));
    parent.unwrap_or(Path::new("."))
}

/// The repetitions of a point with a precision: those that failed, are open, done and skipped.
fn of_a_point([failed, open, done, skipped]: [u64; 4]) -> String {
    let mut parts = Vec::new();
    if failed + open > 0 {
        parts.push(format!("up to {}", runs_of(failed + open + done)));
    }
    for (n, what) in [(failed, "failed"), (done, "done"), (skipped, "skipped")] {
        if n > 0 {
            parts.push(format!("{} {what}", grouped(n)));
        }
    }
    parts.join(", ")
}

/// What sums up the runs in a folder. A single point has no charts.
fn summaries(root: &Path) -> String {
    let names = [
        "points.csv",
        "runs.csv",
        "runs.jsonl",
        "results.json",
        "charts/",
        "report.html",
    ];
    let there = names.into_iter().filter(|name| root.join(name).exists());
    there.collect::<Vec<_>>().join(", ")
}

fn replot(args: &Sweep, source: &Source) -> anyhow::Result<Ending> {
    let mut tables = Tables::new(source, true)?;
    let root = source.root.display();
    if tables.is_empty() {
        let problem = format!("{root}: there are no runs to summarise");
        return Err(Usage(problem).into());
    }
    finish(args, &mut tables)?;
    if !args.output.quiet {
        let runs = runs_of(tables.len() as u64);
        note(&format!("{runs}: {root}/{}", summaries(&source.root)));
    }
    Ok(Ending::Done)
}

fn summarise(args: &Sweep, source: &Source, first: &Path, tally: &Tally, elapsed: Duration) {
    let mut parts = vec![format!("{} done", runs_of(tally.done))];
    for (n, what) in [
        (tally.before, "done earlier"),
        (tally.failed, "failed"),
        (tally.left_alone, "skipped"),
        (tally.unneeded, "not needed to reach the precision"),
        (tally.waiting, "waiting for earlier repetitions"),
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
            "stopped by {}: remove it to continue",
            stop.display()
        ));
    }
    let root = source.root.display();
    if tally.done + tally.before > 0 {
        note(&format!(
            "tables, charts and page: {root}/{}",
            summaries(&source.root)
        ));
    }
    if args.on == Where::Here && tally.done > 0 {
        note(&format!(
            "to repeat a single run, execute the 'command' in its run.json from the run's folder; the first run is \
             {root}/{}",
            first.display()
        ));
    }
}
