//! What can be typed about synthetic loads.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use iosonar_units::{Bytes, Nanos};

use super::ReadArgs;
use super::traces::WriteArgs;

#[derive(Args, Debug)]
pub(crate) struct Generate {
    #[command(subcommand)]
    pub(crate) kind: Kind,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Kind {
    /// Independent arrivals (exponential distances)
    Poisson(Rate),
    /// Arrivals at constant distances
    Constant(Rate),
    /// Poisson arrivals that are on and off in turn: exponential times, or heavy-tailed with --pareto
    OnOff(OnOff),
    /// Self-similar arrivals: a biased cascade
    BModel(BModel),
    /// Self-similar arrivals: a rate of fractional Gaussian noise
    Noise(Noise),
    /// Bursts at whole seconds that grow until the device no longer follows
    Bursts(Bursts),
    /// Over the whole space and back at a constant rate
    Sweep(Sweep),
    /// Many requests at one moment, and nothing for a while
    Impulse(Impulse),
    /// Requests that make a disk drive show its parameters, for 'iosonar calibrate'
    Probe(Probe),
    /// A load that is like a real one, and how alike they are
    Like(Box<Like>),
}

/// What all synthetic loads have.
#[derive(Args, Debug)]
pub(crate) struct Shape {
    /// The load to write, - for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// How many requests
    #[arg(long, value_name = "N", conflicts_with = "duration")]
    pub(crate) requests: Option<u64>,
    /// How long the load is [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<Nanos>,
    /// The size of a block; places are multiples of it
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = super::traces::whole_sectors)]
    pub(crate) block: Bytes,
    /// Blocks of a request: a number, geometric=MEAN, or a table such as 1:0.7,8:0.3
    #[arg(long, value_name = "BLOCKS", default_value = "1")]
    pub(crate) size: String,
    /// The probability of a read
    #[arg(long, value_name = "SHARE", default_value_t = 0.7, value_parser = probability)]
    pub(crate) read_share: f64,
    /// Requests that come together: a number, geometric=MEAN, or a table such as 1:0.7,8:0.3
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) batch: String,
    /// Where: uniform, sequential=RUN, zipf=EXPONENT, hot=SPACE:REQUESTS, mixed=FOLLOW:EXPONENT
    #[arg(long, value_name = "LAW", default_value = "uniform")]
    pub(crate) addresses: String,
    /// Requests lie within this much space
    #[arg(long, value_name = "SIZE", default_value = "100GiB")]
    pub(crate) space: Bytes,
    /// Where all randomness comes from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Write the load even if it takes most of the free space
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) writing: WriteArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Rate {
    /// Arrivals per second
    #[arg(long, value_name = "PER_S", default_value_t = 100.0, value_parser = above_zero)]
    pub(crate) rate: f64,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

#[derive(Args, Debug)]
pub(crate) struct OnOff {
    /// Arrivals per second while on
    #[arg(long, value_name = "PER_S", default_value_t = 1000.0, value_parser = above_zero)]
    pub(crate) rate: f64,
    /// How long on, on average
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) on: Nanos,
    /// How long off, on average
    #[arg(long, value_name = "TIME", default_value = "9s")]
    pub(crate) off: Nanos,
    /// Pareto times with this shape, above 1; below 2 the load is self-similar
    #[arg(long = "pareto", value_name = "SHAPE", value_parser = above_one)]
    pub(crate) pareto: Option<f64>,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

#[derive(Args, Debug)]
pub(crate) struct BModel {
    /// Arrivals per second
    #[arg(long, value_name = "PER_S", default_value_t = 100.0, value_parser = above_zero)]
    pub(crate) rate: f64,
    /// The share of a half, 0.5 to below 1; 0.5 is a Poisson process
    #[arg(long, value_name = "SHARE", default_value_t = 0.7, value_parser = bias)]
    pub(crate) bias: f64,
    /// How long a cascade is
    #[arg(long, value_name = "TIME", default_value = "1000s")]
    pub(crate) window: Nanos,
    /// How often it is halved
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=40))]
    pub(crate) levels: u32,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

#[derive(Args, Debug)]
pub(crate) struct Noise {
    /// Arrivals per second
    #[arg(long, value_name = "PER_S", default_value_t = 100.0, value_parser = above_zero)]
    pub(crate) rate: f64,
    /// The Hurst parameter, 0.5 to below 1
    #[arg(long, value_name = "H", default_value_t = 0.8, value_parser = bias)]
    pub(crate) hurst: f64,
    /// The standard deviation of the rate of a bin, over the mean
    #[arg(long, value_name = "CV", default_value_t = 0.5, value_parser = above_zero)]
    pub(crate) variation: f64,
    /// How long a bin of constant rate is
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    pub(crate) bin: Nanos,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

/// What artificial loads have.
#[derive(Args, Debug)]
pub(crate) struct ArtificialArgs {
    /// The load to write, - for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// The length of a request
    #[arg(long, value_name = "SIZE", default_value = "1KiB", value_parser = super::traces::whole_sectors)]
    pub(crate) size: Bytes,
    /// The probability of a read [default: reads and writes in turn]
    #[arg(long, value_name = "SHARE", value_parser = probability)]
    pub(crate) read_share: Option<f64>,
    /// Requests lie within this much space
    #[arg(long, value_name = "SIZE", default_value = "100GiB")]
    pub(crate) space: Bytes,
    /// Places are multiples of this
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = super::traces::whole_sectors)]
    pub(crate) align: Bytes,
    /// Where all randomness comes from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Write the load even if it takes most of the free space
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) writing: WriteArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Bursts {
    /// So many requests per second more each second
    #[arg(long, value_name = "PER_S2", default_value_t = 10.0, value_parser = above_zero)]
    pub(crate) slope: f64,
    /// From one request of a burst to the next (1ns: ultra-fine)
    #[arg(long, value_name = "TIME", default_value = "10us")]
    pub(crate) spacing: Nanos,
    /// Until this second
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) seconds: u64,
    #[command(flatten)]
    pub(crate) shape: ArtificialArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Sweep {
    /// Requests per second
    #[arg(long, value_name = "PER_S", default_value_t = 100.0, value_parser = above_zero)]
    pub(crate) rate: f64,
    /// From one request to the next [default: a thousandth of the space]
    #[arg(long, value_name = "SIZE", value_parser = super::traces::whole_sectors)]
    pub(crate) step: Option<Bytes>,
    /// How many ways, there or back
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) ways: u64,
    #[command(flatten)]
    pub(crate) shape: ArtificialArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Impulse {
    /// Requests at one moment
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) burst: u64,
    /// From one impulse to the next
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) period: Nanos,
    /// How many impulses
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) impulses: u64,
    #[command(flatten)]
    pub(crate) shape: ArtificialArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Probe {
    /// The load to write, - for standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// How many requests
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) requests: u64,
    /// From one request to the next on average: longer than the drive takes for one
    #[arg(long, value_name = "TIME", default_value = "50ms")]
    pub(crate) spacing: Nanos,
    /// The size of a block; requests have 1 to 16
    #[arg(long, value_name = "SIZE", default_value = "4KiB", value_parser = super::traces::whole_sectors)]
    pub(crate) block: Bytes,
    /// The probability of a write; 0 leaves the data of the drive as they are
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = probability)]
    pub(crate) write_share: f64,
    /// The size of the drive
    #[arg(long, value_name = "SIZE")]
    pub(crate) space: Bytes,
    /// Where all randomness comes from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Write the load even if it takes most of the free space
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) writing: WriteArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Like {
    /// The real load
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The load to write
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// How long the load is [default: as the real one]
    #[arg(long, value_name = "TIME")]
    pub(crate) length: Option<Nanos>,
    /// Where all randomness comes from
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Write the load even if it takes most of the free space
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) writing: WriteArgs,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(p) if (0.0..=1.0).contains(&p) => Ok(p),
        _ => Err("expected a probability, 0 to 1".to_owned()),
    }
}

fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(x) if (1e-6..=1e9).contains(&x) => Ok(x),
        _ => Err("expected a number above 0, at most 10^9".to_owned()),
    }
}

fn above_one(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(x) if x > 1.0 && x <= 100.0 => Ok(x),
        _ => Err("expected a number above 1, at most 100".to_owned()),
    }
}

fn bias(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(x) if (0.5..1.0).contains(&x) => Ok(x),
        _ => Err("expected a number from 0.5 to below 1".to_owned()),
    }
}
