//! Answers without simulation, and capacity planning.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iosonar_study::plan;

use super::memory::MemoryArgs;
use super::{BeyondArgs, OutputArgs, PixelArgs, ReadArgs, key_and_value, key_and_values};

/// The options that both commands share.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// Set a key of the scenario, such as array.disks=8 [repeatable]
    #[arg(long, help_heading = "Scenario", value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Seed all random choices with N instead of the file's seed
    #[arg(long, help_heading = "Scenario", value_name = "N", alias = "randseed")]
    pub(crate) seed: Option<u64>,
    /// Use N threads [default: all processors]
    ///
    /// The number of threads does not affect the results.
    #[arg(long, help_heading = "Runs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Model {
    /// Scenario files, systems, or one file of a networked RAID system
    ///
    /// A system is written as for choose. One such as raid5:6xexos-x18 needs keys of a load: --set load....
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Simulate as well, and report the error of each figure
    ///
    /// Charts then show both curves.
    #[arg(long, help_heading = "Comparison")]
    pub(crate) with_sim: bool,
    /// Compare the results with measured points
    ///
    /// For a scenario, FILE contains records in any trace format; for a networked system, it is a CSV file with the
    /// columns 'jobs', 'response_s' and, if known, 'stderr_s'.
    #[arg(long, help_heading = "Comparison", value_name = "FILE")]
    pub(crate) measured: Option<PathBuf>,
    /// Draw the response-time distributions (.png, .svg)
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) cdf: Option<PathBuf>,
    /// Draw response times against jobs (.png, .svg)
    ///
    /// Only for networked systems.
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) curve: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pixels: PixelArgs,
    /// Repeat the analysis for these values of a key
    ///
    /// For example, 'network.mbit_per_s=10,100,1000' or 'network.mbit_per_s=10..1000 log 3'.
    #[arg(long, help_heading = "Networked systems", value_name = "KEY=VALUES", value_parser = key_and_values)]
    pub(crate) vary: Option<(String, Vec<String>)>,
    /// Rank elasticities and upgrades at N jobs [default: all jobs]
    #[arg(long, help_heading = "Networked systems", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) at: Option<u32>,
    /// Find the best upgrades that cost at most COST in total
    #[arg(long, help_heading = "Networked systems", value_name = "COST")]
    pub(crate) budget: Option<f64>,
    /// Use this distribution of service times in simulations
    #[arg(
        long,
        help_heading = "Networked systems",
        value_name = "LAW",
        default_value = "exponential"
    )]
    pub(crate) services: ServicesName,
    /// Visit the storage servers one after another, or all at once
    ///
    /// The formulas assume that each job visits one server after another.
    #[arg(
        long,
        help_heading = "Networked systems",
        value_name = "HOW",
        default_value = "serial"
    )]
    pub(crate) structure: StructureName,
    /// Write the table as CSV
    ///
    /// If the name ends in .parquet, .arrow or .feather, the file has that format.
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) csv: Option<PathBuf>,
    /// Run each simulation N times [default: as in the scenario]
    #[arg(long, help_heading = "Runs", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) replications: Option<u32>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServicesName {
    /// Exponential, as mean value analysis assumes
    Exponential,
    /// Constant, but with rotational latencies at the disks
    Realistic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StructureName {
    /// One server after another
    Serial,
    /// All servers at once
    ForkJoin,
}

#[derive(Args, Debug)]
pub(crate) struct Plan {
    /// A scenario file, a system, or the file of a networked RAID system
    ///
    /// A system such as raid5:6xexos-x18 needs --trace or --set load....
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Plan with this trace instead of the scenario's load
    ///
    /// The result is the factor by which the trace can be sped up.
    #[arg(long, help_heading = "Load", value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Check these targets, such as 'p99 < 20ms'
    ///
    /// A target limits the mean or a percentile (p50, p99, p99.9, ...) of the response times of all requests, or of
    /// reads or writes only, as in 'read p99 < 20ms'. It can also require a throughput in requests (or jobs) per
    /// second: 'throughput > 200'. Separate several targets with commas; all of them must be met.
    #[arg(long, help_heading = "Question", value_name = "TARGET", alias = "slo")]
    pub(crate) target: String,
    /// Find the limit of rate, copies, disks or jobs
    ///
    /// The default is the highest rate; with --trace, the factor by which the trace can be sped up; for closed loops
    /// and networked systems, the number of jobs.
    #[arg(
        long,
        help_heading = "Question",
        value_name = "WHAT",
        hide_possible_values = true
    )]
    pub(crate) find: Option<Find>,
    /// Plan for each of these values of a key [repeatable]
    ///
    /// For example, array.stripe_unit=16KiB,64KiB,256KiB. The output names the best value. With several keys, all
    /// combinations are tried.
    #[arg(long, help_heading = "Question", value_name = "KEY=VALUES", value_parser = super::key_and_values, conflicts_with = "curve")]
    pub(crate) vary: Vec<(String, Vec<String>)>,
    /// Find the highest rate with this relative precision
    #[arg(long, help_heading = "Runs", value_name = "SHARE", default_value = "0.01", value_parser = super::precision)]
    pub(crate) within: f64,
    /// Try at most N disks, jobs or copies [default: 64]
    ///
    /// For a networked system, the default is jobs.most in its file.
    #[arg(long, help_heading = "Runs", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) most: Option<u32>,
    /// Draw response time against load (.png, .svg)
    ///
    /// The chart also shows the target and the knee.
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) curve: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pixels: PixelArgs,
    /// Confirm each point with N runs (at least 5)
    ///
    /// The default is the number in the scenario, but at least 5.
    #[arg(long, help_heading = "Runs", value_name = "N", value_parser = clap::value_parser!(u32).range(5..))]
    pub(crate) replications: Option<u32>,
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(flatten, next_help_heading = "Load")]
    pub(crate) beyond: BeyondArgs,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

/// What to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Find {
    /// The highest arrival rate that meets the target
    Rate,
    /// The largest number of independent copies of a trace, each with its own data, that meet the target (--scale-load)
    Copies,
    /// The fewest disks that meet the target
    Disks,
    /// The most jobs (waiting users) that meet a response time, or the fewest that reach a throughput
    Jobs,
}

impl From<Find> for plan::Find {
    fn from(find: Find) -> Self {
        match find {
            Find::Rate => Self::Rate,
            Find::Copies => Self::Copies,
            Find::Disks => Self::Disks,
            Find::Jobs => Self::Jobs,
        }
    }
}
