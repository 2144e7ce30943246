//! Answers without simulation, and capacity planning.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iosonar_study::plan;

use super::{BeyondArgs, ReadArgs, key_and_value, key_and_values};

/// What both take.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// Another value for a key, such as array.disks=8; may be given several times
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub(crate) set: Vec<(String, String)>,
    /// Where all randomness of the simulation comes from, instead of the file's seed
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// How many threads; results do not depend on it [default: all processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Model {
    /// Scenario files, as for sim; or one file of a networked RAID system
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Simulate, too: the error of every figure, and both curves on one chart
    #[arg(long)]
    pub(crate) with_sim: bool,
    /// Lay measured points over it: for a scenario records in any trace format; for a networked system CSV with
    /// the columns 'jobs', 'response_s' and, if known, 'stderr_s'
    #[arg(long, value_name = "FILE")]
    pub(crate) measured: Option<PathBuf>,
    /// Draw the distributions of response times (.png or .svg)
    #[arg(long, value_name = "OUT")]
    pub(crate) cdf: Option<PathBuf>,
    /// Networked system: draw response times against the number of jobs (.png or .svg)
    #[arg(long, value_name = "OUT")]
    pub(crate) curve: Option<PathBuf>,
    /// Networked system: the same with each of these values of a key, such as 'network.mbit_per_s=10,100,1000' or
    /// 'network.mbit_per_s=10..1000 log 3'
    #[arg(long, value_name = "KEY=VALUES", value_parser = key_and_values)]
    pub(crate) vary: Option<(String, Vec<String>)>,
    /// Networked system: with so many jobs elasticities and upgrades are ranked [default: all that there are]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) at: Option<u32>,
    /// Networked system: the best upgrades together that cost at most this
    #[arg(long, value_name = "COST")]
    pub(crate) budget: Option<f64>,
    /// Networked system: laws of service in the simulation
    #[arg(long, value_name = "LAW", default_value = "exponential")]
    pub(crate) services: ServicesName,
    /// Networked system: whether a job goes to its storage servers one after the other, as the formulas have
    /// it, or to all at once
    #[arg(long, value_name = "HOW", default_value = "serial")]
    pub(crate) structure: StructureName,
    /// Write the table as CSV
    #[arg(long, value_name = "OUT")]
    pub(crate) csv: Option<PathBuf>,
    /// How many independent runs of the simulation, instead of the scenario's number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) replications: Option<u32>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServicesName {
    /// As mean value analysis has them
    Exponential,
    /// Constant, at the disks as variable as their rotational latencies
    Realistic,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StructureName {
    /// One after the other
    Serial,
    /// All at once
    ForkJoin,
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    iosonar plan array.toml --target 'p99 < 20ms' --curve plan.png\n  \
    iosonar plan array.toml --trace web.load.gz --fit --target 'read p99 < 20ms, write p99 < 5ms'\n  \
    iosonar plan array.toml --target 'p99 < 20ms' --vary array.stripe_unit=64KiB,256KiB,1MiB")]
pub(crate) struct Plan {
    /// A scenario file, as for sim; or the file of a networked RAID system
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Plan with this trace instead of the scenario's load: how many times as fast it may be
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// What must hold: mean, p50, p99, p99.9, ... of the response time, as in "p99 < 20ms", or of reads or
    /// writes alone, as in "read p99 < 20ms"; or "throughput > 200" in requests (or jobs) per second; several with
    /// commas between, of which all must hold
    #[arg(long, value_name = "TARGET", alias = "slo")]
    pub(crate) target: String,
    /// What is looked for [default: rate, of a trace how many times as fast it may be; of closed loops and
    /// networked systems jobs]
    #[arg(long, value_name = "WHAT")]
    pub(crate) find: Option<Find>,
    /// Plan with each of these values of a key, such as array.stripe_unit=16KiB,64KiB,256KiB, and say which one
    /// is best; given several times, all combinations
    #[arg(long, value_name = "KEY=VALUES", value_parser = super::key_and_values, conflicts_with = "curve")]
    pub(crate) vary: Vec<(String, Vec<String>)>,
    /// How near the highest rate is looked for, as a share of it
    #[arg(long, value_name = "SHARE", default_value = "0.01", value_parser = super::precision)]
    pub(crate) within: f64,
    /// The most disks, jobs or copies that are tried [default: 64; of a networked system its jobs.most]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) most: Option<u32>,
    /// Draw the response time against the load, with the target and the knee (.png or .svg)
    #[arg(long, value_name = "OUT")]
    pub(crate) curve: Option<PathBuf>,
    /// How many independent runs confirm each point, instead of the scenario's number (at least 5)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..))]
    pub(crate) replications: Option<u32>,
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(flatten)]
    pub(crate) beyond: BeyondArgs,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Find {
    /// The highest arrival rate that meets the target
    Rate,
    /// The most independent copies of a trace (--scale-load) that meet it, each on data of its own
    Copies,
    /// The fewest disks that meet it
    Disks,
    /// The most jobs (users who wait) that meet a response time, or the fewest that reach a throughput
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
