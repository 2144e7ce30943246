//! `iosonar sim`: scenarios in, tables, records and a CDF out.

use std::path::Path;
use std::thread::available_parallelism;

use iosonar_plot::Size;
use iosonar_report::{Quantity, cdf_chart, curve, grouped};
use iosonar_scenario::{Load, Overrides, Simulation, SimulationResult};
use iosonar_trace::{Metadata, TraceError, input, output};
use serde_json::json;

use crate::args::Sim;
use crate::exit::{Ending, Usage, note, print};
use crate::files;
use crate::json::Output;
use crate::picture;
use crate::table::Table;

pub(crate) fn run(args: &Sim) -> anyhow::Result<Ending> {
    if args.records.is_some() && args.scenarios.len() > 1 {
        return Err(
            Usage("--records takes the records of one scenario, not of several".into()).into(),
        );
    }
    if let Some(path) = &args.cdf {
        picture::kind_of(path)?;
    }
    if let Some(records) = &args.records {
        output::format_for(records)?;
    }
    if let (Some(trace), Some(records)) = (&args.trace, &args.records) {
        files::refuse_same(trace, records)?;
    }
    let overrides = Overrides {
        trace: args.trace.clone(),
        selection: args.window.selection()?,
        seed: args.seed,
        replications: args.replications,
    };
    // All scenarios are checked before the first is run.
    let simulations = args
        .scenarios
        .iter()
        .map(|path| Simulation::load(path, &overrides))
        .collect::<Result<Vec<_>, _>>()?;
    for simulation in &simulations {
        if let Load::Trace { path, .. } = &simulation.load
            && (simulation.replications > 1 || args.records.is_some() || args.scenarios.len() > 1)
            && (path == Path::new("-") || std::fs::metadata(path).is_ok_and(|m| !m.is_file()))
        {
            return Err(Usage(format!(
                "{}: with several runs or with --records the trace is read more than once: store it \
                 in a file",
                path.display()
            ))
            .into());
        }
    }
    let threads = args.threads.map_or_else(
        || available_parallelism().map_or(1, usize::from),
        usize::from,
    );
    let mut json = Output::new("sim");
    let mut curves = Vec::new();
    for (path, simulation) in args.scenarios.iter().zip(&simulations) {
        let result = simulate(simulation, threads, args.records.as_deref())?;
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if args.json {
            add_to(&mut json, &name, simulation, &result);
        } else if !args.quiet {
            print(&describe(&name, simulation, &result))?;
            note(&speed(&name, &result));
        }
        curves.push(curve(&name, &result.response_time));
    }
    if args.json {
        print(&json.text())?;
    }
    if let Some(path) = &args.cdf {
        let chart = cdf_chart(
            "Distribution of response times",
            Quantity::ResponseTime,
            curves,
        );
        picture::save(&chart, path, Size::default())?;
    }
    if let Some(path) = &args.records
        && !args.quiet
    {
        note(&format!(
            "the records of the first run are in {}",
            path.display()
        ));
    }
    Ok(Ending::Done)
}

/// Runs a simulation, with the records of the first replication in a file if one is named.
pub(crate) fn simulate(
    simulation: &Simulation,
    threads: usize,
    records: Option<&Path>,
) -> anyhow::Result<SimulationResult> {
    let Some(path) = records else {
        return Ok(simulation.run(threads, None)?);
    };
    let mut writer = output::create(path, &provenance(simulation)?)?;
    let result = simulation.run(threads, Some(&mut *writer))?;
    writer.finish()?;
    Ok(result)
}

/// What is written above the records: the load's own notices, and where the records come from.
fn provenance(simulation: &Simulation) -> Result<Metadata, TraceError> {
    let mut metadata = match &simulation.load {
        Load::Trace { path, .. } => input::open(path)?.metadata().clone(),
        Load::Synthetic { .. } => Metadata::default(),
    };
    metadata.notices.push(format!(
        "# iosonar {}: simulated, seed {}: {}",
        env!("CARGO_PKG_VERSION"),
        simulation.seed,
        headline(simulation)
    ));
    Ok(metadata)
}

/// What is simulated, in a line.
pub(crate) fn headline(simulation: &Simulation) -> String {
    let load = match &simulation.load {
        Load::Synthetic { workload, .. } => format!("{} requests/s", workload.requests_per_s()),
        Load::Trace { path, .. } => path.display().to_string(),
    };
    format!(
        "{} of {} x {}, stripe unit {}, load {load}",
        simulation.level,
        simulation.disks,
        simulation.profile.description,
        simulation.stripe_unit.bytes(),
    )
}

fn describe(name: &str, simulation: &Simulation, result: &SimulationResult) -> String {
    let mut table = Table::of_times("response time");
    table.times("all", &result.response_time);
    if result.reads.count() > 0 && result.writes.count() > 0 {
        table.times("reads", &result.reads);
        table.times("writes", &result.writes);
    }
    let mean = result.mean_ms;
    let half_width = mean.half_width_95();
    let confidence = if half_width.is_finite() {
        let trace = matches!(simulation.load, Load::Trace { .. });
        let from = match (result.replications, trace) {
            (1, false) => "batch means".to_owned(),
            (1, true) => "batch means; a trace is no stationary load: use replications".to_owned(),
            (n, false) => format!("{n} replications"),
            (n, true) => format!("{n} replications of the disks, for this very trace"),
        };
        format!("{:.3} ± {half_width:.3} ms (95 %, from {from})", mean.mean)
    } else {
        format!(
            "{:.3} ms (too few requests for a confidence interval)",
            mean.mean
        )
    };
    let utilisation: Vec<String> = result
        .utilisation
        .iter()
        .map(|u| format!("{:.1} %", 100.0 * u))
        .collect();
    let mut text = format!("{name}: {}\n", headline(simulation));
    text += &table.text();
    text += &format!("  mean          {confidence}\n");
    text += &format!("  utilisation   {}\n", utilisation.join("  "));
    text += &format!(
        "  throughput    {:.2} requests/s, at most {} in flight\n",
        result.throughput_per_s,
        grouped(result.most_in_flight as u64)
    );
    if let Load::Synthetic { workload, .. } = &simulation.load
        && result.throughput_per_s < 0.95 * workload.requests_per_s()
    {
        text += &format!(
            "  OVERLOADED    {} requests/s come, {:.2} are served: the queue only grows, and the times \
             above depend on how long the run is\n",
            workload.requests_per_s(),
            result.throughput_per_s
        );
    }
    if result.free > 0 {
        text += &format!(
            "  {} flushes and discards cost nothing in this model and are in no figure\n",
            grouped(result.free)
        );
    }
    let cases = result.positioning;
    if cases.read_modify_write.iter().sum::<u64>() > 0 {
        let [fresh, rotation, turn] = shares(cases.read_modify_write);
        text += &format!(
            "  read-modify-write   new seek {fresh}, rotation only {rotation}, full turn {turn}\n"
        );
    }
    if cases.reconstruct_write.iter().sum::<u64>() > 0 {
        let [fresh, rotation, none] = shares(cases.reconstruct_write);
        text += &format!(
            "  reconstruct-write   new seek {fresh}, rotation only {rotation}, none {none}\n"
        );
    }
    text += &format!("  seed {}, hash {}\n", simulation.seed, result.hash);
    text
}

/// How fast the computation was: the one thing that is not the same every time, so it is no result.
fn speed(name: &str, result: &SimulationResult) -> String {
    format!(
        "{name}: {} requests in {:.2} s: {} requests/s, {} events/s",
        grouped(result.requests),
        result.elapsed.as_secs_f64(),
        grouped(per_second(result.requests, result)),
        grouped(per_second(result.events, result)),
    )
}

pub(crate) fn per_second(count: u64, result: &SimulationResult) -> u64 {
    (count as f64 / result.elapsed.as_secs_f64().max(1e-9)) as u64
}

fn shares(counts: [u64; 3]) -> [String; 3] {
    let total = counts.iter().sum::<u64>() as f64;
    counts.map(|count| format!("{:.1} %", 100.0 * count as f64 / total))
}

fn add_to(json: &mut Output, name: &str, simulation: &Simulation, result: &SimulationResult) {
    json.set("seed", json!(simulation.seed));
    json.set("hash", json!(result.hash.to_string()));
    json.append(
        "scenarios",
        json!({
            "name": name,
            "seed": simulation.seed,
            "replications": result.replications,
            "hash": result.hash.to_string(),
            "system": headline(simulation),
        }),
    );
    let labels = json!({ "scenario": name });
    let with = |key: &str, value: &str| json!({ "scenario": name, key: value });
    let stderr = Some(result.mean_ms.stderr);
    json.times("response_time", &labels, &result.response_time, stderr);
    for (op, times) in [("read", &result.reads), ("write", &result.writes)] {
        if times.count() > 0 {
            json.times("response_time", &with("op", op), times, None);
        }
    }
    for (disk, &utilisation) in result.utilisation.iter().enumerate() {
        let station = with("station", &format!("disk/{disk}"));
        json.figure("utilisation", &station, "1", utilisation);
    }
    json.figure("throughput", &labels, "1/s", result.throughput_per_s);
    json.figure("most_in_flight", &labels, "1", result.most_in_flight as f64);
    let cases = result.positioning;
    for (kind, counts, last) in [
        ("read-modify-write", cases.read_modify_write, "full-turn"),
        ("reconstruct-write", cases.reconstruct_write, "none"),
    ] {
        for (case, count) in ["fresh", "rotation-only", last].into_iter().zip(counts) {
            let labels = json!({ "scenario": name, "kind": kind, "case": case });
            json.figure("partial_write_positioning", &labels, "1", count as f64);
        }
    }
    let requests = per_second(result.requests, result) as f64;
    json.figure("requests_per_second", &labels, "1/s", requests);
    let events = per_second(result.events, result) as f64;
    json.figure("events_per_second", &labels, "1/s", events);
}
