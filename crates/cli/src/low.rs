//! What a user can type.
#![allow(
    clippy::doc_markdown,
    reason = "these comments are the help, in which backticks would show"
)]

mod beyond;
mod check_model;
mod choose;
mod devices;
mod drives;
pub(crate) mod generate;
mod named;
mod pictures;
mod reading;
mod replay;
mod study;
mod theory;
mod traces;
mod vary;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use iosonar_analysis::objective::Objectives;
use iosonar_units::Nanos;

pub(crate) use beyond::BeyondArgs;
pub(crate) use check_model::CheckModel;
pub(crate) use choose::Choose;
pub(crate) use devices::{Check, Prepare, Record, Targets, Verify};
pub(crate) use drives::{ArrivalArg, Import, ImportDisksim, ImportFrom, Validate};
pub(crate) use generate::Generate;
pub(crate) use named::Named;
pub(crate) use pictures::{LookArgs, Plot, Report};
pub(crate) use reading::ReadArgs;
pub(crate) use replay::Replay;
pub(crate) use study::{Calibrate, Compare, Sweep, SweepTask, Where};
pub(crate) use theory::{Model, Plan, ServicesName, StructureName};
pub(crate) use traces::{Analyze, Convert, Formats, Info};
pub(crate) use vary::VaryArgs;
use vary::key_and_values;

/// The command line as it is typed.
#[derive(Debug, Parser)]
#[command(
    name = "iosonar",
    version,
    about = "How long will my I/O take? Simulate storage systems, replay real loads on real devices, \
             and look at both in the same picture.",
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Start with 'iosonar demo': it does everything once, in a folder of its own.\n\n\
        TIME is a number with a unit: 60s, 1.5ms, 20us, 250ns, 2min, 1h; without one, seconds.\n\
        SIZE is in bytes: 4096, 128KiB, 128K, 1MB, 2GiB; 8s are 8 sectors of 512 B."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Do everything once: simulate a load, replay it on a scratch file, draw both
    Demo(Demo),
    /// Simulate what scenario files describe
    Sim(Box<Sim>),
    /// Answer without simulating: what theory can say about a scenario, or a networked system
    Model(Box<Model>),
    /// Find the highest load, or the fewest disks, that meets a target
    Plan(Box<Plan>),
    /// Choose among systems for a load: which meets a target, and how far the load may grow
    Choose(Box<Choose>),
    /// Do many runs: simulations or replays over the values of parameters
    Sweep(Box<Sweep>),
    /// Compare records: quantiles with their intervals, KS distance, demerit, pictures
    Compare(Box<Compare>),
    /// Fit a device profile to records of a device, and say how well it fits
    Calibrate(Box<Calibrate>),
    /// Replay on a device, fit a model to one half, and say how well it predicts the other
    CheckModel(Box<CheckModel>),
    /// Make a drive profile from the parameter files of another simulator
    Import(Import),
    /// Run a recording of a drive on its profile, and say how true the profile is
    Validate(Box<Validate>),
    /// Replay a load on a block device or file, at its original timing
    Replay(Box<Replay>),
    /// Record what block devices do, with the kernel's trace points
    Record(Record),
    /// Compare what was done with what was wanted, request by request
    Check(Box<Check>),
    /// Read again what a replay wrote, after a crash for instance
    Verify(Verify),
    /// List block devices, and what iosonar would do with each
    Targets(Targets),
    /// Fill a target with random data, or read it once
    Prepare(Prepare),
    /// Draw records: sonar diagrams, distributions and all else that there is to see
    Plot(Box<Plot>),
    /// Put everything that there is to see into one page that can be sent
    Report(Box<Report>),
    /// Write traces in another form: any format, changed, merged, split
    Convert(Convert),
    /// Tell at a glance what is in a trace
    Info(Info),
    /// Measure a trace: the load, and what became of it
    Analyze(Analyze),
    /// Make a synthetic load
    Generate(Generate),
    /// List the trace formats
    Formats(Formats),
    /// List the drives that are built in, or print one
    Profiles(Profiles),
    /// Measure how fast this tool is on this machine
    Bench(Bench),
    /// Do the runs of one task of a sweep on a cluster
    #[command(hide = true)]
    SweepTask(SweepTask),
    /// Answer each line of standard input with the time of this machine's clock, in nanoseconds since 1970
    #[command(hide = true)]
    Clock,
}

#[derive(Args, Debug)]
pub(crate) struct Profiles {
    /// Print this profile: one of the list, or a .toml file
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Simulate the tests that its data sheet reports, and print both figures; the exit code is 3 if one is more than 5 % off
    #[arg(long, requires = "name")]
    pub(crate) check: bool,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Bench {
    /// What is measured
    #[arg(value_name = "KIND")]
    pub(crate) kind: BenchKind,
    /// For replay: the block device or file that is read all over
    #[arg(long, value_name = "DEV")]
    pub(crate) target: Option<PathBuf>,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum BenchKind {
    /// Calendar, queueing networks, arrays, SSDs
    Sim,
    /// Highest rate, start delays and processor time of replays, beside fio and blkreplay
    Replay,
    /// The complete set of charts, and a sonar diagram of many requests
    Plot,
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) => Ok((key.trim().to_owned(), value.trim().to_owned())),
        None => Err("expected KEY=VALUE, such as array.disks=8".to_owned()),
    }
}

fn precision(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(p) if (1e-6..1.0).contains(&p) => Ok(p),
        _ => Err("expected a share from 0.000001 to below 1, such as 0.01".to_owned()),
    }
}

#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// The folder for everything that the demo makes
    #[arg(long, value_name = "DIR", default_value = "iosonar-demo")]
    pub(crate) dir: PathBuf,
    /// How much of the load is replayed
    #[arg(long, value_name = "TIME", default_value = "6s")]
    pub(crate) duration: Nanos,
    /// Where all randomness of the simulation comes from
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    iosonar sim array.toml --trace web.load.gz --fit --target 'read p99 < 20ms' --cdf answer.png\n  \
    iosonar sim array.toml --vary load.rate=50..200 --curve rate.png --curve-of latency\n  \
    iosonar sim next.toml --trace web.load.gz --fit --records next.load")]
pub(crate) struct Sim {
    /// Scenario files
    #[arg(required = true, value_name = "SCENARIO")]
    pub(crate) scenarios: Vec<PathBuf>,
    /// Drive the simulation with this trace instead of the scenario's load
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) beyond: BeyondArgs,
    /// Where all randomness comes from, instead of the scenario's seed
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Set a key of the scenario, such as array.disks=8; KEY= removes it [repeatable]
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) varying: VaryArgs,
    /// What must hold, as in 'read p99 < 20ms', 'mean < 5ms', 'throughput > 200'; several with commas between. Prints
    /// whether it does; the exit status is 3 if it certainly does not, with --vary if it does not for any value
    #[arg(long, value_name = "TARGET", conflicts_with_all = ["explain", "sensitivity"])]
    pub(crate) target: Option<Objectives>,
    /// How many independent runs, instead of the scenario's number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) replications: Option<u32>,
    /// Stop as soon as the mean is known to this share of it (95 % interval, such as 0.01); with at most
    /// --replications runs [default then: 10000]
    #[arg(long, value_name = "SHARE", value_parser = precision)]
    pub(crate) precision: Option<f64>,
    /// How many threads; results do not depend on it [default: all processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Write every request of the first run with its response time as a trace; {replication} in the name writes one
    /// trace per run, such as run-{replication}.load
    #[arg(long, value_name = "OUT")]
    pub(crate) records: Option<PathBuf>,
    /// Write the requests of the first run as a load, with addresses, to replay them on a device
    #[arg(long, value_name = "OUT")]
    pub(crate) load_out: Option<PathBuf>,
    /// Write the results as JSON, without what depends on this machine: the same for the same scenario and seed
    #[arg(long, value_name = "OUT")]
    pub(crate) result: Option<PathBuf>,
    /// Draw the distribution of response times (.png or .svg), a curve per scenario, or per value of the first --vary
    #[arg(long, value_name = "OUT")]
    pub(crate) cdf: Option<PathBuf>,
    /// Write the distribution of response times as CSV: times, shares of requests, 95 % band
    #[arg(long, value_name = "OUT")]
    pub(crate) cdf_data: Option<PathBuf>,
    /// Draw each scenario's distribution with its 95 % band, as NAME.png in this folder [default: here]
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".", require_equals = true)]
    pub(crate) plot: Option<PathBuf>,
    /// Tell what response times are made of: wait, positioning, transfer, join delay; of SSDs all stages
    #[arg(long)]
    pub(crate) split: bool,
    /// Write the same for every measured request of all runs, as CSV
    #[arg(long, value_name = "OUT")]
    pub(crate) stages: Option<PathBuf>,
    /// Print the scenario with all defaults and units, and the offered load of every station; do not
    /// simulate
    #[arg(long)]
    pub(crate) explain: bool,
    /// Report how much the answer depends on the scheduler, the drive's cache, write-back, the controller's cache and
    /// the addresses, changed one at a time
    #[arg(long, conflicts_with = "vary")]
    pub(crate) sensitivity: bool,
    /// Simulate although the disks are offered more than they can do
    #[arg(long)]
    pub(crate) unstable: bool,
    /// Simulate event by event, also where there is a shorter way to the same result
    #[arg(long)]
    pub(crate) events: bool,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}
