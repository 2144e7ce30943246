//! The table `[load]`.

use std::path::PathBuf;

use iosonar_trace::fit::Beyond;
use iosonar_units::Share;
use serde::Deserialize;
use toml::Spanned;

use super::{SizeFile, table_of_keys};
use crate::words::Given;

table_of_keys! {
    /// The table `[load]`: a trace, or the distributions of a synthetic load.
    pub struct LoadFile {
        /// path of a trace; can also be given with `--trace`
        #[comment = "requests at their recorded times"]
        pub trace: Option<Spanned<PathBuf>>,
        /// how to treat requests of a trace beyond the end of the array: `"refuse"` (report an error), `"fit"` (scale
        /// all positions), `"wrap"` (sector modulo size) or `"clip"` (cut requests at the end, and drop those past it);
        /// `--fit`, `--wrap` and `--clip` have the same effect
        #[default = "refuse"]
        #[comment = "how to treat requests beyond the end of the array"]
        pub beyond: Option<Spanned<Given<Beyond>>>,
        /// speed-up factor of a trace, such as `2.5`; applied before the command-line options; `--speed` has the same
        /// effect
        #[default = "1"]
        #[comment = "speed-up factor relative to the recording"]
        pub speed: Option<Spanned<f64>>,
        /// number of independent copies of a trace, made after `speed` is applied: each accesses different data and is
        /// shifted in time; `--scale-load` has the same effect ([transformations](transform.md#transformations))
        #[default = "1"]
        #[comment = "number of copies, shifted in time and space"]
        pub copies: Option<Spanned<u64>>,
        /// number of requests measured in each run
        #[comment = "requests measured in each run"]
        pub requests: Option<Spanned<u64>>,
        /// the arrival process: one of those listed below
        pub arrivals: Option<Spanned<ArrivalsFile>>,
        /// requests per second, such as `75.0`: short for `arrivals = { poisson_per_s = 75.0 }`; `rate` is another name
        /// for this key
        #[serde(alias = "rate")]
        #[comment = "requests per second, Poisson"]
        pub rate_per_s: Option<Spanned<f64>>,
        /// a closed loop, used instead of `arrivals`: `{ outstanding = 8, think_ms = 5.0 }` simulates 8 users who each
        /// wait for a request to complete and then think for 5 ms on average, exponentially distributed; with `think`
        /// instead of `think_ms`, think times follow one of the distributions below; `requests` must be at least the
        /// number of users, and 10 requests per user are enough for a steady state
        #[comment = "users who wait for their requests"]
        pub closed: Option<Spanned<ClosedFile>>,
        /// number of requests at each arrival: `{ requests = 3 }`, `{ geometric_mean = 3.0 }` or `{ table = [{ requests
        /// = 1, share = 0.7 }, { requests = 8, share = 0.3 }] }`
        #[default = "one"]
        #[comment = "requests per arrival"]
        pub batch: Option<Spanned<BatchFile>>,
        /// size of a request; in bytes: `"8KiB"` or `{ bytes = "8KiB" }`, `{ geometric_mean_bytes = "16KiB" }` or `{
        /// table = [{ bytes = "4KiB", share = 0.75 }, { bytes = "64KiB", share = 0.25 }] }`; from a distribution,
        /// rounded up to whole blocks: `{ log_normal = { mean = "64KiB", cv = 1.5 } }` or `gamma`, `{ pareto = { mean =
        /// "64KiB", shape = 1.5 } }` or `weibull`, each also with `at_least` and `at_most` (`mean` is the mean within
        /// these bounds), and `{ empirical = { trace = "monday.ios" } }`, the sizes in a recording; in blocks: `{
        /// blocks = 4 }`, `{ geometric_mean_blocks = 4.0 }` or `{ table = [{ blocks = 1, share = 1.0 }] }`; separately
        /// for reads and writes: `{ read = "8KiB", write = "64KiB" }`, where each value may have any of these forms
        pub size: Option<Spanned<SizeFile>>,
        /// the unit of sizes and the alignment of addresses, such as `"4KiB"`; allowed only if requests have addresses
        #[default = "for sizes in bytes, the greatest common divisor of all sizes, or 4 KiB with a distribution; for sizes in blocks, the stripe unit, or 4 KiB for SSDs"]
        #[comment = "unit of sizes, in bytes"]
        pub block: Option<Spanned<String>>,
        /// probability that a request is a read, such as `0.7` or `"70%"`
        #[default = "1"]
        #[comment = "share of reads"]
        pub read_share: Option<Spanned<Share>>,
        /// the distribution of the positions of requests: `{ sequential_run = 16.0 }` (the mean number of requests in a
        /// sequential run, or `inf`), `{ zipf = 0.9 }` (the exponent), `{ mixed = { follow = 0.3, zipf = 0.9, used =
        /// 0.1 } }` (`follow` is the share of requests that continue the previous one, `used` the share of blocks that
        /// are ever accessed), `{ hot = { space = 0.1, requests = 0.9 } }` (10 % of the space receives 90 % of the
        /// requests)
        #[default = "uniform"]
        pub addresses: Option<Spanned<AddressesFile>>,
        /// Several classes, each with its own distributions, instead of those above.
        #[table = "[[load.class]]"]
        pub class: Option<Vec<ClassFile>>,
    }
}

/// An entry `[[load.class]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassFile {
    /// The arrival process of its requests.
    pub arrivals: Option<Spanned<ArrivalsFile>>,
    /// The rate of Poisson arrivals per second, instead of `arrivals`.
    #[serde(alias = "rate")]
    pub rate_per_s: Option<Spanned<f64>>,
    /// The number of requests at each arrival; 1 by default.
    pub batch: Option<Spanned<BatchFile>>,
    /// The size of its requests.
    pub size: Option<Spanned<SizeFile>>,
    /// The probability that a request is a read; 1 by default.
    pub read_share: Option<Spanned<Share>>,
    /// The distribution of the positions of its requests; uniform by default.
    pub addresses: Option<Spanned<AddressesFile>>,
}

/// `arrivals = { poisson_per_s = 10.0 }`: an arrival process.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalsFile {
    /// `arrivals = "alone"`: each request starts when the previous one is complete and the system is idle.
    Alone,
    /// Poisson arrivals at this rate per second.
    PoissonPerS(f64),
    /// Arrivals at equal intervals, at this rate per second.
    ConstantPerS(f64),
    /// A Poisson process whose rate changes from phase to phase.
    Phases(Vec<PhaseFile>),
    /// A source that alternates between on and off.
    OnOff(OnOffFile),
    /// A biased cascade.
    BModel(BModelFile),
    /// A Poisson process whose rate is fractional Gaussian noise.
    Noise(NoiseFile),
    /// Independent intervals from a gamma distribution.
    Gamma(SpreadFile),
    /// Independent intervals from a log-normal distribution.
    LogNormal(SpreadFile),
    /// Independent intervals from a Weibull distribution.
    Weibull(TailFile),
    /// Independent intervals from a Pareto distribution.
    Pareto(TailFile),
    /// Independent intervals, each drawn from those of a recording.
    Empirical(EmpiricalFile),
}

/// `gamma = { per_s = 100.0, cv = 2.0, at_least_ms = 0.1, at_most_ms = 500.0 }`, and `log_normal`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpreadFile {
    /// Mean arrivals per second.
    pub per_s: f64,
    /// The coefficient of variation of the intervals, before any bounds.
    pub cv: f64,
    /// The shortest interval.
    pub at_least_ms: Option<f64>,
    /// The longest interval.
    pub at_most_ms: Option<f64>,
}

impl SpreadFile {
    /// The bounds of the intervals, in milliseconds.
    pub fn bounds_ms(&self) -> (Option<f64>, Option<f64>) {
        (self.at_least_ms, self.at_most_ms)
    }
}

/// `weibull = { per_s = 100.0, shape = 0.6, at_least_ms = 0.1, at_most_ms = 500.0 }`, and `pareto`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TailFile {
    /// Mean arrivals per second.
    pub per_s: f64,
    /// The shape parameter of the distribution.
    pub shape: f64,
    /// The shortest interval.
    pub at_least_ms: Option<f64>,
    /// The longest interval.
    pub at_most_ms: Option<f64>,
}

impl TailFile {
    /// The bounds of the intervals, in milliseconds.
    pub fn bounds_ms(&self) -> (Option<f64>, Option<f64>) {
        (self.at_least_ms, self.at_most_ms)
    }
}

/// `empirical = { trace = "monday.ios", per_s = 100.0 }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmpiricalFile {
    /// The recording from which the intervals are drawn.
    pub trace: PathBuf,
    /// Mean arrivals per second; by default, those of the recording.
    pub per_s: Option<f64>,
}

/// A phase of `phases = [{ per_s = 100.0, mean_s = 1.0 }, ...]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseFile {
    /// Arrivals per second during the phase; may be 0.
    pub per_s: f64,
    /// The mean duration of the phase.
    pub mean_s: f64,
}

/// `on_off = { per_s = 100.0, on_s = 1.0, off_s = 9.0, pareto_shape = 1.5 }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOffFile {
    /// Arrivals per second while the source is on.
    pub per_s: f64,
    /// The mean duration of the on phase.
    pub on_s: f64,
    /// The mean duration of the off phase.
    pub off_s: f64,
    /// The tail exponent of both durations; they are exponential by default.
    pub pareto_shape: Option<f64>,
}

/// `b_model = { per_s = 50.0, bias = 0.7, window_s = 60.0, levels = 12 }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BModelFile {
    /// Mean arrivals per second.
    pub per_s: f64,
    /// The share of a window's arrivals in one of its halves.
    pub bias: f64,
    /// The length of a window.
    pub window_s: f64,
    /// The number of times that a window is halved.
    pub levels: u32,
}

/// `noise = { per_s = 50.0, hurst = 0.8, variation = 0.2, bin_s = 0.1 }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseFile {
    /// Mean arrivals per second.
    pub per_s: f64,
    /// The Hurst parameter.
    pub hurst: f64,
    /// The standard deviation of the rate, as a share of the mean.
    pub variation: f64,
    /// The length of a bin of constant rate.
    pub bin_s: f64,
}

/// `closed = { outstanding = 8, think_ms = 0.0 }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedFile {
    /// The number of users, each with one request at a time.
    pub outstanding: u32,
    /// The mean of their exponential think times; 0 by default.
    pub think_ms: Option<f64>,
    /// Another distribution of think times, instead of `think_ms`.
    pub think: Option<TimeLawFile>,
}

/// `think = { log_normal = { mean_ms = 5.0, cv = 2.0 } }`: a distribution of times.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeLawFile {
    /// An exponential distribution with this mean.
    ExponentialMs(f64),
    /// A constant time.
    ConstantMs(f64),
    /// A gamma distribution.
    Gamma(TimeSpreadFile),
    /// A log-normal distribution.
    LogNormal(TimeSpreadFile),
    /// A Weibull distribution.
    Weibull(TimeTailFile),
    /// A Pareto distribution.
    Pareto(TimeTailFile),
    /// The times of a recording, each with the same probability.
    Empirical(TimeEmpiricalFile),
}

/// `gamma = { mean_ms = 5.0, cv = 2.0, at_least_ms = 0.1, at_most_ms = 500.0 }`, and `log_normal`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeSpreadFile {
    /// The mean.
    pub mean_ms: f64,
    /// The coefficient of variation, before any bounds.
    pub cv: f64,
    /// The shortest time.
    pub at_least_ms: Option<f64>,
    /// The longest time.
    pub at_most_ms: Option<f64>,
}

/// `weibull = { mean_ms = 5.0, shape = 0.6, at_least_ms = 0.1, at_most_ms = 500.0 }`, and `pareto`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeTailFile {
    /// The mean.
    pub mean_ms: f64,
    /// The shape parameter of the distribution.
    pub shape: f64,
    /// The shortest time.
    pub at_least_ms: Option<f64>,
    /// The longest time.
    pub at_most_ms: Option<f64>,
}

/// `empirical = { trace = "monday.csv", mean_ms = 5.0 }`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeEmpiricalFile {
    /// The recording from which the times are drawn.
    pub trace: PathBuf,
    /// The mean; by default, that of the recording.
    pub mean_ms: Option<f64>,
}

/// `batch = { geometric_mean = 3.0 }`: a distribution of batch sizes.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchFile {
    /// Always this many requests at each arrival.
    Requests(u32),
    /// A geometric distribution with this mean; at least 1.
    GeometricMean(f64),
    /// One of these numbers, each with its probability.
    Table(Vec<BatchRowFile>),
}

/// A row of the table of batch sizes.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchRowFile {
    /// The number of requests that arrive at once.
    pub requests: u32,
    /// The share of arrivals with this number of requests.
    pub share: Share,
}

/// `addresses = { zipf = 0.9 }`: an access pattern.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressesFile {
    /// Sequential runs with this mean number of requests.
    SequentialRun(f64),
    /// A Zipf distribution over the blocks, with this exponent.
    Zipf(f64),
    /// Some requests continue the previous one; the positions of the others follow a Zipf distribution.
    Mixed(MixedFile),
    /// A hot region at the beginning.
    Hot(HotFile),
}

/// `mixed = { follow = 0.3, zipf = 0.9 }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixedFile {
    /// The share of requests that continue the previous one.
    pub follow: Share,
    /// The Zipf exponent of the other requests; 0 for a uniform distribution.
    pub zipf: f64,
    /// The share of blocks that are ever accessed.
    #[serde(default = "everything")]
    pub used: Share,
}

fn everything() -> Share {
    Share::new(1.0)
}

/// `hot = { space = 0.1, requests = 0.9 }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HotFile {
    /// The share of the space that the hot region covers.
    pub space: Share,
    /// The share of requests that go to the hot region.
    pub requests: Share,
}
