//! What is refused before anything is simulated.

use std::path::{Path, PathBuf};

use iosonar_scenario::{
    Fleet, LoadModel, NoSteadyState, Offered, Prepared, REPLICATION, ScenarioError, System, Warmup,
    records_go_to, records_path_of, replaced_by_records,
};
use iosonar_study::objective::refuse_delays;
use iosonar_trace::{TraceError, output};

use super::{Named, picture_in};
use crate::exit::{Usage, check_tables, output_folder, warn};
use crate::low::Sim;
use crate::render::messages::Warning;
use crate::render::picture;
use iosonar_trace::apart;

/// A live page shows the requests as they are written: of one simulation, to one file.
pub(super) fn check_served(args: &Sim) -> Result<(), Usage> {
    if args.live.serve.is_none() {
        return Ok(());
    }
    let is_file = |path: &Path| path != Path::new("-") && records_path_of(path, 0).is_none();
    if args.scenarios.len() == 1 && args.records.as_deref().is_some_and(is_file) {
        return Ok(());
    }
    Err(Usage(format!(
        "--serve needs one scenario and --records FILE without {REPLICATION}: the page shows the requests in that file"
    )))
}

/// Pictures are called by the names of their scenarios.
fn check_names(args: &Sim) -> Result<(), Usage> {
    let name = |path: &PathBuf| System::label(path);
    let names: Vec<String> = args.scenarios.iter().map(name).collect();
    let same_name = |(i, name): (usize, &String)| names[..i].contains(name);
    if args.plot.is_some() && names.iter().enumerate().any(same_name) {
        let problem =
            "--plot: two scenarios have the same name, so one picture would overwrite the other";
        return Err(Usage(problem.to_owned()));
    }
    Ok(())
}

/// What several arrays have no meaning for, or no place.
pub(super) fn check_fleets(args: &Sim, all: &[Named]) -> Result<(), Usage> {
    for named in all {
        let Some(fleet) = named.simulation.fleet() else {
            continue;
        };
        let of_trace = fleet == Fleet::OfTrace;
        if let Some(path) = args.records.as_deref().filter(|_| of_trace)
            && records_path_of(path, 0).is_some()
        {
            return Err(Usage(format!(
                "{}: the records of several arrays on a trace are written to one file, with the device of each: omit \
                 {REPLICATION} from the name",
                named.path.display()
            )));
        }
        let refused = [
            (args.precision.is_some(), "--precision"),
            (args.sensitivity, "--sensitivity"),
            (args.load_out.is_some(), "--load-out"),
            (args.live.serve.is_some(), "--serve"),
            (of_trace && args.stages.is_some(), "--stages"),
        ];
        if let Some((_, option)) = refused.into_iter().find(|(given, _)| *given) {
            let (what, of_one) = match of_trace {
                true => (" on a trace", " --device NAME"),
                false => ("", ""),
            };
            return Err(Usage(format!(
                "{}: {option} does not support several arrays{what}: to simulate one of them, add --set array.count=1{of_one}",
                named.path.display()
            )));
        }
    }
    Ok(())
}

/// The files that are written, as they are named.
pub(super) fn outputs(args: &Sim) -> Vec<PathBuf> {
    let all = [
        &args.records,
        &args.load_out,
        &args.stages,
        &args.result,
        &args.cdf,
        &args.cdf_data,
        &args.varying.csv,
        &args.varying.curve,
        &args.varying.data,
    ];
    let pictures = args.plot.iter().flat_map(|dir| {
        let scenarios = args.scenarios.iter();
        scenarios.map(|scenario| picture_in(dir, &System::label(scenario)))
    });
    all.into_iter().flatten().cloned().chain(pictures).collect()
}

/// Targets that mean nothing of a simulation.
pub(super) fn check_targets(args: &Sim) -> Result<(), Usage> {
    let targets = args.target.as_ref().map_or(&[][..], |of| &of.0);
    refuse_delays(targets).map_err(|error| Usage(format!("--target: {error}")))
}

/// What can be said against the outputs before anything is read.
pub(super) fn check_outputs(args: &Sim) -> anyhow::Result<()> {
    for (given, option) in [
        (&args.records, "--records"),
        (&args.load_out, "--load-out"),
        (&args.stages, "--stages"),
        (&args.result, "--result"),
    ] {
        if given.is_some() && args.scenarios.len() > 1 {
            let problem = format!("{option} needs a single scenario");
            return Err(Usage(problem).into());
        }
    }
    for traces in args.records.iter().chain(&args.load_out) {
        output::format_for(traces)?;
    }
    let tables = [&args.stages, &args.cdf_data];
    let of_vary = [&args.varying.csv, &args.varying.data];
    check_tables(tables.into_iter().chain(of_vary).flatten())?;
    for pictures in args.cdf.iter().chain(&args.varying.curve) {
        picture::check(pictures, args.pixels)?;
    }
    check_names(args)?;
    // What had to be made is removed again at once, as it is empty.
    let folder = args.plot.as_deref().map(output_folder).transpose()?;
    let inputs: Vec<_> = args.scenarios.iter().chain(&args.trace).collect();
    apart::refuse_unusable(&inputs, &outputs(args))?;
    drop(folder);
    if args.precision.is_some() && args.replications.is_some_and(|n| n < 10) {
        let problem =
            "--precision needs at least 10 replications to estimate the precision of the mean";
        return Err(Usage(problem.to_owned()).into());
    }
    Ok(())
}

/// A trace that is read more than once must be a file.
pub(super) fn check_traces(args: &Sim, all: &[Named]) -> Result<(), Usage> {
    for Named { simulation, .. } in all {
        let several = simulation.replications() > 1
            || simulation.warmup() == Warmup::Auto
            || args.records.is_some()
            || args.stages.is_some()
            || args.load_out.is_some()
            || all.len() > 1;
        if let LoadModel::Trace { path, .. } = simulation.load()
            && several
            && (path == Path::new("-") || std::fs::metadata(path).is_ok_and(|m| !m.is_file()))
        {
            return Err(Usage(format!(
                "{}: several runs and --records read the trace more than once; give it as a file",
                path.display()
            )));
        }
    }
    Ok(())
}

/// No output may replace a file that a scenario is read from.
pub(super) fn check_inputs<'a>(
    args: &Sim,
    all: impl IntoIterator<Item = &'a Named>,
) -> Result<(), TraceError> {
    let outputs = outputs(args);
    let mut checked = Vec::new();
    for named in all {
        let inputs = named.simulation.inputs();
        // Mostly the same of each.
        if inputs != checked {
            apart::refuse_overwritten(&inputs, &outputs)?;
            checked = inputs;
        }
    }
    Ok(())
}

/// Records of a replication, or of an array, may not replace an input, a file of another output, or a folder or device.
pub(super) fn check_records(args: &Sim, all: &[Named]) -> anyhow::Result<()> {
    let (Some(path), [only]) = (&args.records, all) else {
        return Ok(());
    };
    if records_path_of(path, 0).is_none() {
        return Ok(());
    }
    let runs = only.simulation.replications().max(only.simulation.arrays());
    let replaced = replaced_by_records(path, runs);
    let inputs = args.scenarios.iter().map(PathBuf::as_path);
    let inputs: Vec<_> = inputs.chain(only.simulation.inputs()).collect();
    apart::refuse_overwritten(&inputs, &replaced)?;
    // Regular files need no check of their own: their folder is that of `path`, where check_outputs has created a file.
    let is_regular = |file: &PathBuf| file.symlink_metadata().is_ok_and(|of| of.is_file());
    for file in replaced.iter().filter(|file| !is_regular(file)) {
        apart::refuse_unusable(&inputs, &[file])?;
    }
    let is_written = |other: &Path| {
        let is_same = |file: &PathBuf| apart::is_same(file, other);
        records_go_to(path, runs, other) || replaced.iter().any(is_same)
    };
    let mut others = outputs(args).into_iter().filter(|other| other != path);
    if let Some(other) = others.find(|other| is_written(other)) {
        return Err(Usage(format!(
            "{} would receive both the records of a replication and another output: choose another name",
            other.display()
        ))
        .into());
    }
    Ok(())
}

/// Refuses what can only grow, unless that is asked for, and says where that is not certain.
pub(super) fn check_stability(args: &Sim, named: &Named) -> Result<(), ScenarioError> {
    match args.unstable {
        true => Ok(()),
        false => refuse_unstable(&named.name, &named.path, &named.simulation),
    }
}

/// Refuses what can only grow, and says where that is not certain.
pub(crate) fn refuse_unstable(
    name: &str,
    path: &Path,
    simulation: &Prepared,
) -> Result<(), ScenarioError> {
    match simulation.check_stability() {
        Err(NoSteadyState::Unstable(offered)) => Err(ScenarioError::Unstable {
            path: path.to_owned(),
            station: offered.station,
            offered: offered.lower,
        }),
        Ok(Some(offered)) => {
            warn(Warning::MayBeUnstable, &may_be_unstable(name, &offered));
            Ok(())
        }
        Ok(None) | Err(NoSteadyState::Deadlock(_)) => Ok(()),
    }
}

/// That it is not certain whether a simulation has a steady state.
pub(super) fn may_be_unstable(name: &str, offered: &Offered) -> String {
    format!(
        "{name}: may be unstable: the offered load of {} is {:.2} to {:.2} times its capacity; if the throughput \
         stays below the arrival rate, the queue keeps growing",
        offered.station, offered.lower, offered.upper
    )
}

/// Refuses outputs of one simulation where there are several, as `why` says.
pub(super) fn refuse_outputs_of_one(args: &Sim, why: &str) -> Result<(), Usage> {
    for (given, option) in [
        (args.records.is_some(), "--records"),
        (args.stages.is_some(), "--stages"),
        (args.load_out.is_some(), "--load-out"),
        (args.plot.is_some(), "--plot"),
        (args.explain, "--explain"),
        (args.result.is_some(), "--result"),
        (args.split, "--split"),
    ] {
        refuse_output_of_one(given, option, why)?;
    }
    Ok(())
}

/// Refuses an output of one simulation, if it is given.
pub(super) fn refuse_output_of_one(given: bool, option: &str, why: &str) -> Result<(), Usage> {
    match given {
        true => Err(Usage(format!(
            "{option} needs a single simulation, but {why}: remove one of the two"
        ))),
        false => Ok(()),
    }
}
