//! What can be typed about synthetic loads.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use iosonar_units::{Bytes, Nanos, Share};

use super::traces::WriteArgs;
use super::{OutputArgs, QuietArgs, ReadArgs};

#[derive(Args, Debug)]
pub(crate) struct Generate {
    #[command(subcommand)]
    pub(crate) kind: Kind,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Kind {
    /// Independent arrivals with exponentially distributed intervals
    Poisson(Rate),
    /// Arrivals at constant intervals
    Constant(Rate),
    /// On-off Poisson arrivals; the phases are heavy-tailed with --pareto
    OnOff(OnOff),
    /// Self-similar arrivals from a biased cascade
    BModel(BModel),
    /// Self-similar arrivals whose rate is fractional Gaussian noise
    Noise(Noise),
    /// One burst per second, growing until the device cannot keep up
    Bursts(Bursts),
    /// A sweep over the whole space and back, at a constant rate
    Sweep(Sweep),
    /// Many requests at once, followed by a pause
    Impulse(Impulse),
    /// Requests that reveal a disk's parameters, for 'iosonar calibrate'
    Probe(Probe),
    /// A load that resembles a recorded one, and a comparison of the two
    Like(Box<Like>),
}

/// Where a synthetic load is written.
#[derive(Args, Debug)]
pub(crate) struct Destination {
    /// Write the load to this trace (- for standard output)
    #[arg(
        short,
        long,
        help_heading = "Output",
        alias = "output",
        value_name = "OUT"
    )]
    pub(crate) out: PathBuf,
    /// Write the load even if it fills most of the free space
    #[arg(long, help_heading = "Output")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) writing: WriteArgs,
}

/// The options of all synthetic loads.
#[derive(Args, Debug)]
pub(crate) struct Shape {
    #[command(flatten)]
    pub(crate) to: Destination,
    #[command(flatten)]
    pub(crate) output: QuietArgs,
    /// Generate N requests
    #[arg(
        long,
        help_heading = "Size",
        alias = "number_ios",
        value_name = "N",
        conflicts_with = "duration"
    )]
    pub(crate) requests: Option<u64>,
    /// Generate a load of this duration [default: 60s]
    #[arg(long, help_heading = "Size", alias = "runtime", value_name = "TIME")]
    pub(crate) duration: Option<Nanos>,
    /// Align requests to blocks of SIZE
    #[arg(long, help_heading = "Requests", alias = "bs", value_name = "SIZE", default_value = "4KiB", value_parser = super::traces::whole_sectors)]
    pub(crate) block: Bytes,
    /// Set the number of blocks per request
    ///
    /// BLOCKS is a number, geometric=MEAN, or a table of probabilities such as 1:0.7,8:0.3.
    #[arg(
        long,
        help_heading = "Requests",
        value_name = "BLOCKS",
        default_value = "1"
    )]
    pub(crate) size: String,
    /// Set the probability of a read
    #[arg(long, help_heading = "Requests", value_name = "SHARE", default_value_t = 0.7, value_parser = probability)]
    pub(crate) read_share: f64,
    /// Set the number of requests per arrival
    ///
    /// N is a number, geometric=MEAN, or a table of probabilities such as 1:0.7,8:0.3.
    #[arg(long, help_heading = "Requests", value_name = "N", default_value = "1")]
    pub(crate) batch: String,
    /// Choose addresses from this law
    ///
    /// LAW is uniform, sequential=RUN, zipf=EXPONENT, hot=SPACE:REQUESTS or mixed=FOLLOW:EXPONENT.
    #[arg(
        long,
        help_heading = "Requests",
        value_name = "LAW",
        default_value = "uniform"
    )]
    pub(crate) addresses: String,
    /// Spread requests over SIZE
    #[arg(
        long,
        help_heading = "Requests",
        value_name = "SIZE",
        default_value = "100GiB"
    )]
    pub(crate) space: Bytes,
    /// Seed all random choices with N
    #[arg(
        long,
        help_heading = "Size",
        value_name = "N",
        alias = "randseed",
        default_value_t = 1
    )]
    pub(crate) seed: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Rate {
    /// Generate this many arrivals per second
    #[arg(long, help_heading = "Arrivals", alias = "rate_iops", value_name = "PER_S", default_value_t = 100.0, value_parser = above_zero)]
    pub(crate) rate: f64,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

#[derive(Args, Debug)]
pub(crate) struct OnOff {
    /// Generate PER_S arrivals/s in on phases
    #[arg(long, help_heading = "Arrivals", alias = "rate_iops", value_name = "PER_S", default_value_t = 1000.0, value_parser = above_zero)]
    pub(crate) rate: f64,
    /// Set the mean length of on phases
    #[arg(
        long,
        help_heading = "Arrivals",
        value_name = "TIME",
        default_value = "1s"
    )]
    pub(crate) on: Nanos,
    /// Set the mean length of off phases
    #[arg(
        long,
        help_heading = "Arrivals",
        value_name = "TIME",
        default_value = "9s"
    )]
    pub(crate) off: Nanos,
    /// Draw Pareto phase lengths with this shape (above 1)
    ///
    /// With a shape below 2, the load is self-similar. By default, phase lengths are exponentially distributed.
    #[arg(long = "pareto", help_heading = "Arrivals", value_name = "SHAPE", value_parser = above_one)]
    pub(crate) pareto: Option<f64>,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

#[derive(Args, Debug)]
pub(crate) struct BModel {
    /// Generate this many arrivals per second
    #[arg(long, help_heading = "Arrivals", alias = "rate_iops", value_name = "PER_S", default_value_t = 100.0, value_parser = above_zero)]
    pub(crate) rate: f64,
    /// Set the busier half's share of arrivals
    ///
    /// Each halving gives this share of the arrivals to one half, chosen at random. The share is at least 0.5
    /// (a Poisson process) and less than 1.
    #[arg(long, help_heading = "Arrivals", value_name = "SHARE", default_value_t = 0.7, value_parser = bias)]
    pub(crate) bias: f64,
    /// Generate cascades of this length [default: the duration of the load]
    ///
    /// A part of a cascade need not have its rate.
    #[arg(long, help_heading = "Arrivals", value_name = "TIME")]
    pub(crate) window: Option<Nanos>,
    /// Halve each cascade N times
    #[arg(long, help_heading = "Arrivals", value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=40))]
    pub(crate) levels: u32,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

#[derive(Args, Debug)]
pub(crate) struct Noise {
    /// Generate this many arrivals per second
    #[arg(long, help_heading = "Arrivals", alias = "rate_iops", value_name = "PER_S", default_value_t = 100.0, value_parser = above_zero)]
    pub(crate) rate: f64,
    /// Set the Hurst parameter, 0.5 to below 1
    #[arg(long, help_heading = "Arrivals", value_name = "H", default_value_t = 0.8, value_parser = bias)]
    pub(crate) hurst: f64,
    /// Set the rate's coefficient of variation
    ///
    /// The coefficient is the standard deviation of the rate, divided by its mean.
    #[arg(long, help_heading = "Arrivals", value_name = "CV", default_value_t = 0.5, value_parser = above_zero)]
    pub(crate) variation: f64,
    /// Keep the rate constant for TIME
    #[arg(
        long,
        help_heading = "Arrivals",
        value_name = "TIME",
        default_value = "100ms"
    )]
    pub(crate) bin: Nanos,
    #[command(flatten)]
    pub(crate) shape: Shape,
}

/// The options of artificial loads.
#[derive(Args, Debug)]
pub(crate) struct ArtificialArgs {
    #[command(flatten)]
    pub(crate) to: Destination,
    #[command(flatten)]
    pub(crate) output: QuietArgs,
    /// Generate requests of SIZE
    #[arg(long, help_heading = "Requests", alias = "bs", value_name = "SIZE", default_value = "1KiB", value_parser = super::traces::whole_sectors)]
    pub(crate) size: Bytes,
    /// Set the probability of a read [default: alternate]
    #[arg(long, help_heading = "Requests", value_name = "SHARE", value_parser = probability)]
    pub(crate) read_share: Option<f64>,
    /// Spread requests over SIZE
    #[arg(
        long,
        help_heading = "Requests",
        value_name = "SIZE",
        default_value = "100GiB"
    )]
    pub(crate) space: Bytes,
    /// Align requests to SIZE
    #[arg(long, help_heading = "Requests", value_name = "SIZE", default_value = "4KiB", value_parser = super::traces::whole_sectors)]
    pub(crate) align: Bytes,
    /// Seed all random choices with N
    #[arg(
        long,
        help_heading = "Requests",
        value_name = "N",
        alias = "randseed",
        default_value_t = 1
    )]
    pub(crate) seed: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Bursts {
    /// Raise the rate by PER_S2 each second
    ///
    /// PER_S2 is in requests per second, per second.
    #[arg(long, help_heading = "Arrivals", value_name = "PER_S2", default_value_t = 10.0, value_parser = above_zero)]
    pub(crate) slope: f64,
    /// Start the requests of a burst TIME apart
    ///
    /// 1ns is the spacing of blkreplay's bursts-ultrafine.
    #[arg(
        long,
        help_heading = "Arrivals",
        value_name = "TIME",
        default_value = "10us"
    )]
    pub(crate) spacing: Nanos,
    /// Stop after N seconds
    #[arg(long, help_heading = "Arrivals", value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) seconds: u64,
    #[command(flatten)]
    pub(crate) shape: ArtificialArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Sweep {
    /// Generate this many requests per second
    #[arg(long, help_heading = "Arrivals", alias = "rate_iops", value_name = "PER_S", default_value_t = 100.0, value_parser = above_zero)]
    pub(crate) rate: f64,
    /// Advance by SIZE per request [default: space/1000]
    #[arg(long, help_heading = "Arrivals", value_name = "SIZE", value_parser = super::traces::whole_sectors)]
    pub(crate) step: Option<Bytes>,
    /// Sweep the space N times, back and forth
    #[arg(long, help_heading = "Arrivals", value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) ways: u64,
    #[command(flatten)]
    pub(crate) shape: ArtificialArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Impulse {
    /// Submit N requests at once
    #[arg(long, help_heading = "Arrivals", value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) burst: u64,
    /// Repeat the impulse every TIME
    #[arg(
        long,
        help_heading = "Arrivals",
        value_name = "TIME",
        default_value = "10s"
    )]
    pub(crate) period: Nanos,
    /// Stop after N impulses
    #[arg(long, help_heading = "Arrivals", value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) impulses: u64,
    #[command(flatten)]
    pub(crate) shape: ArtificialArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Probe {
    #[command(flatten)]
    pub(crate) to: Destination,
    #[command(flatten)]
    pub(crate) output: QuietArgs,
    /// Generate N requests
    #[arg(long, help_heading = "Probe", alias = "number_ios", value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(crate) requests: u64,
    /// Submit requests TIME apart
    ///
    /// TIME is the mean interval. It should be longer than the drive needs for one request.
    #[arg(
        long,
        help_heading = "Probe",
        value_name = "TIME",
        default_value = "50ms"
    )]
    pub(crate) spacing: Nanos,
    /// Generate requests of 1 to 16 blocks of SIZE
    #[arg(long, help_heading = "Probe", alias = "bs", value_name = "SIZE", default_value = "4KiB", value_parser = super::traces::whole_sectors)]
    pub(crate) block: Bytes,
    /// Set the probability of a write
    ///
    /// With 0, the data on the drive is not changed.
    #[arg(long, help_heading = "Probe", value_name = "SHARE", default_value_t = 0.0, value_parser = probability)]
    pub(crate) write_share: f64,
    /// Spread requests over SIZE, the drive's capacity
    #[arg(long, help_heading = "Probe", value_name = "SIZE")]
    pub(crate) space: Bytes,
    /// Seed all random choices with N
    #[arg(
        long,
        help_heading = "Probe",
        value_name = "N",
        alias = "randseed",
        default_value_t = 1
    )]
    pub(crate) seed: u64,
}

#[derive(Args, Debug)]
pub(crate) struct Like {
    /// The recorded load
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    #[command(flatten)]
    pub(crate) to: Destination,
    /// Generate a load of this duration [default: as recorded]
    #[arg(long, help_heading = "Output", value_name = "TIME")]
    pub(crate) length: Option<Nanos>,
    /// Seed all random choices with N
    #[arg(
        long,
        help_heading = "Output",
        value_name = "N",
        alias = "randseed",
        default_value_t = 1
    )]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

fn probability(text: &str) -> Result<f64, String> {
    let expected = "a probability from 0 to 1, such as 0.7 or 70%";
    Share::within(text, 0.0..=1.0, expected)
}

fn above_zero(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(x) if (1e-6..=1e9).contains(&x) => Ok(x),
        _ => Err("expected a number from 0.000001 to 10^9".to_owned()),
    }
}

fn above_one(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(x) if x > 1.0 && x <= 100.0 => Ok(x),
        _ => Err("expected a number above 1 and at most 100".to_owned()),
    }
}

fn bias(text: &str) -> Result<f64, String> {
    let expected = "a share of at least 0.5 and less than 1, such as 0.7 or 70%";
    Share::within(text, 0.5..1.0, expected)
}
