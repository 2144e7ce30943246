//! What a user can type.
#![allow(
    clippy::doc_markdown,
    reason = "these comments are the help, in which backticks would show"
)]

mod about;
mod beyond;
mod check_model;
mod choose;
mod devices;
mod drives;
pub(crate) mod generate;
mod help;
mod hosts;
mod memory;
mod named;
mod output;
mod pictures;
mod reading;
mod replay;
mod serve;
mod study;
mod theory;
mod tips;
mod top;
mod traces;
mod vary;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use iosonar_analysis::objective::Objectives;
use iosonar_units::{Bytes, Nanos, Share};

use crate::render::screen::{Wanted, When};

pub(crate) use about::{Completions, Doctor, Explain, Man, Shell};
pub(crate) use beyond::BeyondArgs;
pub(crate) use check_model::CheckModel;
pub(crate) use choose::Choose;
pub(crate) use devices::{Check, Prepare, Record, Targets, Verify};
pub(crate) use drives::{ArrivalArg, Import, ImportDisksim, ImportFrom, Validate};
pub(crate) use generate::Generate;
pub(crate) use help::{NOTES, command, examples_of};
use memory::MemoryArgs;
pub(crate) use named::Named;
use output::{OutputArgs, QuietArgs};
pub(crate) use pictures::{LookArgs, PixelArgs, Plot, Report};
pub(crate) use reading::ReadArgs;
pub(crate) use replay::Replay;
pub(crate) use serve::{Serve, ServeArgs};
pub(crate) use study::{Calibrate, Compare, Sweep, SweepTask, Where};
pub(crate) use theory::{Model, Plan, ServicesName, StructureName};
pub(crate) use tips::explained;
pub(crate) use top::Top;
pub(crate) use traces::{Analyze, Convert, Formats, Info};
pub(crate) use vary::VaryArgs;
use vary::key_and_values;

/// The command line as it is typed.
#[derive(Debug, Parser)]
#[command(
    name = "iosonar",
    version,
    about = "How long will my I/O take? Simulate storage, replay real loads, chart both.",
    arg_required_else_help = true
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Use colours: auto, always or never
    ///
    /// 'auto' uses them on a terminal, unless NO_COLOR is set or TERM is dumb; CLICOLOR_FORCE=1 acts like 'always'.
    #[arg(
        long,
        global = true,
        help_heading = "Output",
        alias = "color",
        value_name = "WHEN",
        hide_possible_values = true
    )]
    pub(crate) colour: Option<When>,
    /// Print plain sentences for a screen reader: no colours, columns or bars
    ///
    /// The output is ASCII, with one line for each row of a table. IOSONAR_PLAIN=1 does the same.
    #[arg(long, global = true, help_heading = "Output")]
    pub(crate) plain: bool,
}

impl Arguments {
    /// How output is printed.
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted {
            colour: self.colour.unwrap_or_default(),
            is_plain: self.plain,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate a load, replay it on a scratch file, and chart both
    Demo(Demo),
    /// Simulate the storage systems that scenario files describe
    Sim(Box<Sim>),
    /// Predict performance with queueing theory, without simulating
    Model(Box<Model>),
    /// Find the highest load, or the fewest disks, that meets a target
    Plan(Box<Plan>),
    /// Compare candidates, and find how far the load can grow on each
    Choose(Box<Choose>),
    /// Run simulations or replays over combinations of parameters
    Sweep(Box<Sweep>),
    /// Compare recordings, replays and simulations
    Compare(Box<Compare>),
    /// Fit a device profile to records of a device
    Calibrate(Box<Calibrate>),
    /// Fit a model to half of a replay, and test it on the other half
    CheckModel(Box<CheckModel>),
    /// Convert parameter files of another simulator to a drive profile
    Import(Import),
    /// Compare a drive profile with a recording of the drive
    Validate(Box<Validate>),
    /// Replay a load on a device or file, at its original timing
    Replay(Box<Replay>),
    /// Record the requests to block devices (kernel tracepoints)
    Record(Record),
    /// Watch block devices: rates, latencies and a sonar diagram
    Top(Top),
    /// Compare a replay's requests with the intended ones
    Check(Box<Check>),
    /// Check the data that a replay wrote, for example after a crash
    Verify(Verify),
    /// List block devices, and what a replay may do with each
    Targets(Targets),
    /// Fill a target with random data, or read all of it
    Prepare(Prepare),
    /// Draw charts: sonar diagrams, distributions and many more
    Plot(Box<Plot>),
    /// Write all charts and tables of records into one HTML page
    Report(Box<Report>),
    /// Serve a live page of a run, in progress or finished
    Serve(Serve),
    /// Convert, change, merge or split traces
    Convert(Convert),
    /// Summarise traces
    Info(Info),
    /// Measure traces: the load and its outcome
    Analyze(Analyze),
    /// Generate a synthetic load
    Generate(Generate),
    /// List the trace formats
    Formats(Formats),
    /// List the built-in drives, or print one
    Profiles(Profiles),
    /// Measure how fast iosonar is on this machine
    Bench(Bench),
    /// Check this machine: what works, and what to do about the rest
    Doctor(Doctor),
    /// Explain a warning or error by its code
    Explain(Explain),
    /// Print a shell completion script
    Completions(Completions),
    /// Write a manual page for each command
    Man(Man),
    /// Run one task of a sweep on a cluster
    #[command(hide = true)]
    SweepTask(SweepTask),
    /// Replay the load that 'iosonar replay --hosts' sends to standard input
    #[command(hide = true)]
    Agent,
}

#[derive(Args, Debug)]
pub(crate) struct Profiles {
    /// A built-in profile, or a .toml file, to print
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Compare simulated figures with those in the drive's data sheet
    ///
    /// The exit status is 3 if a simulated figure differs by more than 5 %.
    #[arg(long, help_heading = "Output", requires = "name")]
    pub(crate) check: bool,
    /// Print the results as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Bench {
    /// The part to measure
    #[arg(value_name = "KIND")]
    pub(crate) kind: BenchKind,
    /// Read from this block device or file [for replay and all]
    #[arg(
        long,
        help_heading = "Measurement",
        alias = "filename",
        value_name = "DEV"
    )]
    pub(crate) target: Option<PathBuf>,
    /// Print the results as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum BenchKind {
    /// The simulator, traces and charts; with --target, also replays
    All,
    /// The event calendar, queueing networks, arrays and SSDs
    Sim,
    /// Reading, writing and analysing traces
    Trace,
    /// Highest rate, start delays and processor time of replays, compared with fio and blkreplay
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

impl Command {
    /// How much memory it may take, if it simulates.
    pub(crate) fn memory(&self) -> Option<MemoryArgs> {
        match self {
            Self::Sim(args) => Some(args.memory),
            Self::Model(args) => Some(args.common.memory),
            Self::Plan(args) => Some(args.common.memory),
            Self::Choose(args) => Some(args.common.memory),
            _ => None,
        }
    }
}

/// The size of the kernel's trace buffer for each processor.
fn kernel_buffer(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|e| format!("{e}"))?;
    let range = Bytes::new(64 << 10)..=Bytes::new(16 << 30);
    match range.contains(&size) {
        true => Ok(size),
        false => Err("expected a size from 64KiB to 16GiB".to_owned()),
    }
}

fn precision(text: &str) -> Result<f64, String> {
    let expected = "a share of at least 0.000001 and less than 1, such as 0.01 or 1%";
    Share::within(text, 1e-6..1.0, expected)
}

#[derive(Args, Debug)]
pub(crate) struct Demo {
    /// Write everything into DIR
    #[arg(
        long,
        help_heading = "Demo",
        value_name = "DIR",
        default_value = "iosonar-demo"
    )]
    pub(crate) dir: PathBuf,
    /// Replay this much of the load
    #[arg(
        long,
        help_heading = "Demo",
        alias = "runtime",
        value_name = "TIME",
        default_value = "16s"
    )]
    pub(crate) duration: Nanos,
    /// Seed all random choices of the simulation with N
    #[arg(long, help_heading = "Demo", value_name = "N", alias = "randseed")]
    pub(crate) seed: Option<u64>,
    /// Open the page in a browser, if there is a desktop
    #[arg(long, help_heading = "Output")]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) pixels: PixelArgs,
    #[command(flatten)]
    pub(crate) output: QuietArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Sim {
    /// The scenario files (.toml), or systems as for choose
    ///
    /// A system is LEVEL:NxPROFILE or PROFILE, such as raid5:6xexos-x18+cache=1GiB, and needs --trace or --set load....
    /// A file of this name goes first; profile:PROFILE always names a profile.
    #[arg(required = true, value_name = "SCENARIO")]
    pub(crate) scenarios: Vec<PathBuf>,
    /// Simulate this trace instead of the scenario's load
    #[arg(long, help_heading = "Input", value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten, next_help_heading = "Input")]
    pub(crate) beyond: BeyondArgs,
    /// Seed all random choices with N instead of the scenario's seed
    #[arg(long, help_heading = "Input", value_name = "N", alias = "randseed")]
    pub(crate) seed: Option<u64>,
    /// Set a key of the scenario [repeatable]
    ///
    /// For example, --set array.disks=8. KEY= removes the key.
    #[arg(long, help_heading = "Input", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    #[command(flatten, next_help_heading = "Input")]
    pub(crate) varying: VaryArgs,
    /// Check a target, such as 'read p99 < 20ms'
    ///
    /// Other examples are 'mean < 5ms' and 'throughput > 200'; separate several targets with commas. The output shows
    /// whether each target is met. The exit status is 3 if a target is certainly missed; with --vary, if one is missed
    /// for every value.
    #[arg(long, help_heading = "Question", value_name = "TARGET", conflicts_with_all = ["explain", "sensitivity"])]
    pub(crate) target: Option<Objectives>,
    /// Run each scenario N times [default: as in the scenario]
    #[arg(long, help_heading = "Runs", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) replications: Option<u32>,
    /// Stop once the mean has this relative precision, such as 0.01
    ///
    /// The precision is half the width of the 95 % confidence interval, divided by the mean. --replications limits the
    /// number of runs; with --precision, its default is 10000.
    #[arg(long, help_heading = "Runs", value_name = "SHARE", value_parser = precision)]
    pub(crate) precision: Option<f64>,
    /// Use N threads [default: all processors]
    ///
    /// The number of threads does not affect the results.
    #[arg(long, help_heading = "Runs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    /// Write the first run's requests as a trace
    ///
    /// The trace has the response time of each request. With {replication} in the name, as in run-{replication}.load,
    /// each run writes its own trace.
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) records: Option<PathBuf>,
    /// Write the first run's requests as a load for a replay
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) load_out: Option<PathBuf>,
    /// Write the results as JSON, without machine-dependent figures
    ///
    /// The same scenario and seed always produce an identical file.
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) result: Option<PathBuf>,
    /// Draw the response-time distribution (.png, .svg)
    ///
    /// The chart has one curve per scenario or, with --vary, per value of the first key.
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) cdf: Option<PathBuf>,
    /// Write the response-time distribution as CSV
    ///
    /// The columns are times, shares of requests, and the 95 % confidence band. If the name ends in .parquet, .arrow or
    /// .feather, the file has that format.
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) cdf_data: Option<PathBuf>,
    /// Draw each scenario's distribution into DIR [default: .]
    ///
    /// Each file is named SCENARIO.png after its scenario. The chart includes the 95 % confidence band.
    #[arg(long, help_heading = "Results", value_name = "DIR", num_args = 0..=1, default_missing_value = ".", require_equals = true)]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pixels: PixelArgs,
    /// Report the components of response times
    ///
    /// For disks, the components are wait, positioning, transfer and join delay. For SSDs, they are the stages of a
    /// request and, in arrays, the join delay.
    #[arg(long, help_heading = "Results")]
    pub(crate) split: bool,
    /// Write the components of every request's response time as CSV
    ///
    /// The file covers every measured request of all runs. If the name ends in .parquet, .arrow or .feather, the file
    /// has that format.
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) stages: Option<PathBuf>,
    /// Print the scenario with all defaults; do not simulate
    ///
    /// The output includes units and the offered load of every station.
    #[arg(long, help_heading = "Question", conflicts_with_all = [
        "records", "load_out", "result", "cdf", "cdf_data", "plot", "stages",
    ])]
    pub(crate) explain: bool,
    /// Report how the answer depends on the assumptions
    ///
    /// The scenario is also simulated with a different scheduler, drive cache, write policy, controller cache or choice
    /// of addresses: one change at a time.
    #[arg(long, help_heading = "Question", conflicts_with = "vary")]
    pub(crate) sensitivity: bool,
    /// Simulate even if the offered load exceeds the capacity
    #[arg(long, help_heading = "Runs")]
    pub(crate) unstable: bool,
    /// Simulate event by event, even where a shortcut is exact
    #[arg(long, help_heading = "Runs")]
    pub(crate) events: bool,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    #[command(flatten)]
    pub(crate) live: ServeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
