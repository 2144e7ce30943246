//! `iosonar sim`: scenarios in, tables, records and pictures out.

mod checks;
mod explain;
mod load_out;
mod sensitivity;
mod vary;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use indicatif::ProgressBar;
use iosonar_analysis::objective::{Attained, Judgement};
use iosonar_plot::Colour;
use iosonar_report::counted;
use iosonar_scenario::{
    Assumption, Fleet, Method, OutputFiles, Overrides, Prepared, REPLICATION, ScenarioError,
    SimulationResult, System, Watch, records_path_of,
};

use super::model::threads;
use crate::exit::{
    Ending, Usage, note, output_folder, print_beside, print_data_beside, warn, write_file,
    write_table,
};
use crate::live;
use crate::low::Sim;
use crate::render::messages::Warning;
use crate::render::objective::line;
use crate::render::sim::distribution::{self, Drawn};
use crate::render::sim::{self as shown, figures, headline};
use crate::render::{picture, remarks};
pub(crate) use checks::refuse_unstable;
use checks::{
    check_fleets, check_inputs, check_outputs, check_records, check_served, check_stability,
    check_targets, check_traces, outputs,
};
use iosonar_stats::Output;
use iosonar_study::objective::Judge;
use iosonar_study::plan::PlanError;
pub(crate) use sensitivity::table as sensitivity_table;

/// A scenario with the name that tables and pictures call it by.
struct Named {
    name: String,
    path: PathBuf,
    simulation: Prepared,
}

/// The picture of a scenario among all.
fn picture_in(dir: &Path, name: &str) -> PathBuf {
    dir.join(format!("{name}.png"))
}

/// All scenarios, which are checked before the first is run.
fn checked(args: &Sim) -> anyhow::Result<Vec<Named>> {
    let all = args
        .scenarios
        .iter()
        .map(|path| load(args, path, Vec::new()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    check_traces(args, &all)?;
    check_inputs(args, &all)?;
    check_records(args, &all)?;
    check_fleets(args, &all)?;
    Ok(all)
}

pub(crate) fn run(args: &Sim) -> anyhow::Result<Ending> {
    check_outputs(args)?;
    check_served(args)?;
    check_targets(args)?;
    let threads = threads(args.threads);
    if !args.varying.vary.is_empty() {
        return vary::run(args, threads);
    }
    let all = checked(args)?;
    if args.explain {
        return explain::run(args, &all);
    }
    if args.sensitivity {
        return sensitivity::run(args, &all, threads);
    }
    for named in &all {
        check_stability(args, named)?;
        note_assumptions(args, named);
    }
    write_load(args, &all)?;
    let mut json = Output::new("sim");
    let file_out = on_standard_output(args);
    let mut drawn = Vec::new();
    let mut numbers = distribution::table();
    let mut replications = 0;
    let mut ending = Ending::Done;
    let files = OutputFiles {
        records: args.records.as_deref(),
        stages: args.stages.as_deref(),
        ..OutputFiles::default()
    };
    for (i, named) in all.iter().enumerate() {
        let Named {
            name, simulation, ..
        } = named;
        let result = served(args, named, threads, &files)?;
        if result.unserved.is_some() {
            ending = Ending::Flagged;
        }
        replications = result.replications;
        note_remarks(args, name, &result);
        let (result, targets) = judged(args, named, result)?;
        if misses(&targets) {
            ending = Ending::Flagged;
        }
        write_result(args, named, &result, &targets)?;
        if args.output.json {
            figures::add_to(&mut json, name, simulation, &result, &targets);
            figures::add_speed(&mut json, name, &result);
        } else {
            print_beside(file_out, &described(named, &result, &targets))?;
            if !args.output.quiet {
                note(&shown::speed(name, &result));
            }
        }
        if args.cdf_data.is_some() {
            distribution::put_rows(&mut numbers, name, &result);
        }
        if args.plot.is_some() || args.cdf.is_some() {
            let colour = Colour::Curve(if args.cdf.is_some() { i } else { 0 });
            let shown = Drawn::new(name, result, targets, colour);
            draw(args, named, &shown)?;
            drawn.push(shown);
        }
    }
    if args.output.json {
        print_data_beside(file_out, &json.text())?;
    }
    if let Some(path) = &args.cdf {
        let chart = distribution::chart("Distribution of response times", &drawn);
        picture::draw(&chart, path, args.pixels.scale())?;
    }
    if let Some(path) = &args.cdf_data {
        write_table(path, numbers)?;
    }
    if let Some(path) = &args.records
        && !args.output.quiet
    {
        note(&where_records_are(path, replications, &all));
    }
    Ok(ending)
}

/// Whether a target is certainly not met.
fn misses(targets: &[Attained]) -> bool {
    let mut verdicts = targets.iter().map(|of| of.verdict);
    verdicts.any(|of| matches!(of, Judgement::Misses | Judgement::Unstable))
}

/// Draws the distribution of one scenario, if pictures are asked for.
fn draw(args: &Sim, named: &Named, drawn: &Drawn<'_>) -> anyhow::Result<()> {
    let (Some(dir), name) = (&args.plot, &named.name) else {
        return Ok(());
    };
    let title = format!("{name}: distribution of response times");
    let mut chart = distribution::chart(&title, std::slice::from_ref(drawn));
    chart.subtitle = shown::subtitle(&named.simulation, &drawn.result);
    let _folder = output_folder(dir)?;
    let path = picture_in(dir, name);
    picture::draw(&chart, &path, args.pixels.scale())?;
    if !args.output.quiet {
        note(&format!(
            "{name}: distribution written to {}",
            path.display()
        ));
    }
    Ok(())
}

/// Writes the load where it is asked for.
fn write_load(args: &Sim, all: &[Named]) -> anyhow::Result<()> {
    if let (Some(out), [only]) = (&args.load_out, all) {
        load_out::write(&only.simulation, out)?;
        if !args.output.quiet {
            note(&format!(
                "load of the first run written to {}",
                out.display()
            ));
        }
    }
    Ok(())
}

/// Runs a simulation, with a live page where one is asked for.
fn served(
    args: &Sim,
    named: &Named,
    threads: usize,
    files: &OutputFiles<'_>,
) -> anyhow::Result<SimulationResult> {
    let feed = live::of_records(args.records.as_deref().unwrap_or(Path::new("-")));
    live::during(&args.live, &named.name, feed, || {
        simulate(&named.simulation, threads, files, !args.output.quiet)
    })?
}

/// Where the records are after this number of replications or arrays.
fn where_records_are(path: &Path, count: u32, all: &[Named]) -> String {
    let path_shown = path.display();
    let mut fleets = all.iter().filter_map(|named| named.simulation.fleet());
    let runs = match fleets.next() {
        Some(Fleet::OfTrace) => return format!("records of all arrays written to {path_shown}"),
        Some(_) => "arrays",
        None => "replications",
    };
    match (records_path_of(path, 0), count) {
        (Some(_), _) => format!("records of all {runs} written to {path_shown}, one file each"),
        (None, 1) => format!("records written to {path_shown}"),
        (None, n) => format!(
            "records of the first of {n} {runs} written to {path_shown}; to write one file for each, put {REPLICATION} \
             in the name"
        ),
    }
}

/// Prints which requests were never served, and the remarks on the trace that drove the simulation.
fn note_remarks(args: &Sim, name: &str, result: &SimulationResult) {
    if let Some(unserved) = &result.unserved {
        warn(
            Warning::Deadlock,
            &format!(
                "{name}: DEADLOCK: {} never served: {}",
                counted(unserved.requests, ["request was", "requests were"]),
                unserved.why
            ),
        );
    }
    if args.output.quiet {
        return;
    }
    for (of, text) in remarks::warnings_of_load(&result.remarks, &result.fitted) {
        warn(of, &format!("{name}: {text}"));
    }
}

/// Prints what the scenario does not say and the results depend on.
fn note_assumptions(args: &Sim, named: &Named) {
    for Assumption::Geometry { profile } in named.simulation.assumptions() {
        if !args.output.quiet {
            warn(
                Warning::GeometryAssumed,
                &format!(
                    "{}: profile \"{profile}\" has no [geometry]: assuming one surface, no skews, and zones \
                 derived from its transfer times; positioning times depend on these, so add a [geometry] to the profile",
                    named.name
                ),
            );
        }
    }
}

/// A result and its targets, for people.
fn described(named: &Named, result: &SimulationResult, targets: &[Attained]) -> String {
    let mut text = shown::describe(&named.name, &named.simulation, result);
    for of in targets {
        text += &format!("  target        {}\n", line(of));
    }
    text + &shown::conclusion::sentence(&named.name, &named.simulation, result, targets)
}

/// A result as it is shown, and the outcome of each target.
fn judged(
    args: &Sim,
    named: &Named,
    result: SimulationResult,
) -> anyhow::Result<(SimulationResult, Vec<Attained>)> {
    let judge = Judge::of(&named.simulation, &result);
    let targets = args.target.iter().flat_map(|of| &of.0);
    let targets = targets.map(|target| {
        judge.judged(target).ok_or_else(|| {
            let refused = PlanError::NoSuchRequests { target: *target };
            Usage(format!("{}: {refused}", named.path.display()))
        })
    });
    let targets = targets.collect::<Result<_, _>>()?;
    let not_steady = judge.not_steady();
    Ok((result.assessed(not_steady), targets))
}

/// Writes the result where one is asked for.
fn write_result(
    args: &Sim,
    named: &Named,
    result: &SimulationResult,
    targets: &[Attained],
) -> anyhow::Result<()> {
    let Some(path) = &args.result else {
        return Ok(());
    };
    let text = result_text(&named.name, &named.simulation, result, targets);
    write_file(path, &text, "write")
}

/// The name of standard output, where a file goes there.
fn on_standard_output(args: &Sim) -> Option<&Path> {
    let stdout = Path::new("-");
    let goes_there = outputs(args).iter().any(|out| out == stdout);
    goes_there.then_some(stdout)
}

/// Reads a scenario, with these values besides those of the options.
fn load(args: &Sim, path: &Path, more: Vec<(String, String)>) -> anyhow::Result<Named> {
    let set = args.set.iter().cloned().chain(more).collect();
    let overrides = Overrides {
        several_arrays: true,
        ..overrides(args, set)?
    };
    let simulation = prepared(args, path, &overrides)?;
    Ok(Named {
        name: System::label(path),
        path: path.to_owned(),
        simulation,
    })
}

/// What the options and these values change in a scenario.
fn overrides(args: &Sim, set: Vec<(String, String)>) -> anyhow::Result<Overrides> {
    Ok(Overrides {
        trace: args.trace.clone(),
        reading: args.reading.reading()?,
        beyond: args.beyond.beyond(),
        seed: args.seed,
        replications: args.replications,
        set,
        memory: args.memory.at_start(),
        ..Overrides::default()
    })
}

/// Reads a scenario with these changes, to be simulated as the options say.
fn prepared(args: &Sim, path: &Path, overrides: &Overrides) -> Result<Prepared, ScenarioError> {
    let mut simulation = Prepared::read(path, overrides)?
        .with_split(args.split)
        .with_precision(args.precision);
    if args.precision.is_some() && args.replications.is_none() && !args.explain {
        simulation = simulation.with_replications(10_000);
    }
    if args.events {
        simulation = simulation.with_method(Method::Events);
    }
    Ok(simulation)
}

/// Runs a simulation, with its records in a file if one is named.
pub(crate) fn simulate(
    simulation: &Prepared,
    threads: usize,
    files: &OutputFiles<'_>,
    progress: bool,
) -> anyhow::Result<SimulationResult> {
    simulate_until(simulation, threads, files, progress, Arc::default())
}

/// The result as JSON, without what depends on this machine.
pub(crate) fn result_text(
    name: &str,
    simulation: &Prepared,
    result: &SimulationResult,
    targets: &[Attained],
) -> String {
    let mut json = Output::new("sim");
    figures::add_to(&mut json, name, simulation, result, targets);
    json.text()
}

/// The same, until it is stopped.
pub(crate) fn simulate_until(
    simulation: &Prepared,
    threads: usize,
    files: &OutputFiles<'_>,
    progress: bool,
    stop: Arc<AtomicBool>,
) -> anyhow::Result<SimulationResult> {
    let watch = Watch {
        stop,
        ..Watch::default()
    };
    let headline = headline(simulation);
    let files = OutputFiles {
        headline: &headline,
        ..*files
    };
    watched(simulation, &watch.completed, progress, || {
        Ok(simulation.run_into(threads, &files, &watch)?)
    })
}

/// Does `work` with a progress bar of completed requests.
fn watched<T>(
    simulation: &Prepared,
    completed: &AtomicU64,
    progress: bool,
    work: impl FnOnce() -> T,
) -> T {
    let requests = simulation.requests_of_all_runs();
    let known = requests.filter(|_| simulation.precision().is_none());
    let template = match known {
        Some(_) => "{wide_bar} {percent} % of {human_len} requests, {per_sec}, {eta} left",
        None => "{spinner} {human_pos} requests, {per_sec}",
    };
    let update = |bar: &ProgressBar| bar.set_position(completed.load(Relaxed));
    crate::render::progress::watched(!progress, known, template, update, work)
}
