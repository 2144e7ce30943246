//! The table `[load]`.

use std::path::PathBuf;

use iosonar_trace::fit::Beyond;
use iosonar_units::Share;
use serde::Deserialize;
use toml::Spanned;

use super::{SizeFile, table_of_keys};
use crate::words::Given;

table_of_keys! {
    /// The table `[load]`: a trace, or the laws of a synthetic load.
    pub struct LoadFile {
        /// a trace; or use `--trace`
        #[comment = "requests at their recorded times"]
        pub trace: Option<Spanned<PathBuf>>,
        /// what happens to requests of a trace beyond the end of the array: `"refuse"`, `"fit"` (all positions are
        /// scaled), `"wrap"` (sector modulo size) or `"clip"` (requests are cut at the end, and those past it are left
        /// out); `--fit`, `--wrap` and `--clip` do the same
        #[default = "refuse"]
        #[comment = "how to treat requests beyond the end of the array"]
        pub beyond: Option<Spanned<Given<Beyond>>>,
        /// speed-up factor of a trace, such as `2.5`; applied before the options of the command line; `--speed` has the
        /// same effect
        #[default = "1"]
        #[comment = "speed-up factor over the recording"]
        pub speed: Option<Spanned<f64>>,
        /// number of independent copies of a trace, made after `speed` is applied: each accesses different data and is
        /// shifted in time; `--scale-load` has the same effect ([transformations](transform.md#transformations))
        #[default = "1"]
        #[comment = "number of copies, shifted in time and space"]
        pub copies: Option<Spanned<u64>>,
        /// number of requests that each run measures
        #[comment = "requests measured in each run"]
        pub requests: Option<Spanned<u64>>,
        /// the arrival process: one of those listed below
        pub arrivals: Option<Spanned<ArrivalsFile>>,
        /// requests per second, such as `75.0`: short for `arrivals = { poisson_per_s = 75.0 }`; `rate` is another name
        /// for this key
        #[serde(alias = "rate")]
        #[comment = "requests per second, Poisson"]
        pub rate_per_s: Option<Spanned<f64>>,
        /// instead of `arrivals`: `{ outstanding = 8, think_ms = 5.0 }` is 8 users who each wait for a request and then
        /// think for an exponential time of 5 ms on average; with `think` instead of `think_ms`, think times follow one
        /// of the distributions below; `requests` must be at least the number of users, and 10 per user are enough for
        /// a steady state
        #[comment = "users who wait for their requests"]
        pub closed: Option<Spanned<ClosedFile>>,
        /// number of requests at each arrival: `{ requests = 3 }` or `{ geometric_mean = 3.0 }`, `{ table = [{ requests
        /// = 1, share = 0.7 }, { requests = 8, share = 0.3 }] }`
        #[default = "one"]
        #[comment = "requests per arrival"]
        pub batch: Option<Spanned<BatchFile>>,
        /// in bytes: `"8KiB"` or `{ bytes = "8KiB" }`, `{ geometric_mean_bytes = "16KiB" }` or `{ table = [{ bytes =
        /// "4KiB", share = 0.75 }, { bytes = "64KiB", share = 0.25 }] }`; from a distribution, rounded up to whole
        /// blocks: `{ log_normal = { mean = "64KiB", cv = 1.5 } }` or `gamma`, `{ pareto = { mean = "64KiB", shape =
        /// 1.5 } }` or `weibull`, each also with `at_least` and `at_most` (`mean` is the mean within these bounds), and
        /// `{ empirical = { trace = "monday.ios" } }`, the sizes of a recording; in blocks: `{ blocks = 4 }`, `{
        /// geometric_mean_blocks = 4.0 }` or `{ table = [{ blocks = 1, share = 1.0 }] }`; separately for reads and
        /// writes: `{ read = "8KiB", write = "64KiB" }`, where each value may have any of these forms
        pub size: Option<Spanned<SizeFile>>,
        /// the unit of sizes and the alignment of addresses, such as `"4KiB"`; allowed only if requests have addresses
        #[default = "for sizes in bytes, the greatest common divisor of all sizes, or 4 KiB with a distribution; for sizes in blocks, the stripe unit, or 4 KiB for SSDs"]
        #[comment = "unit of sizes, in bytes"]
        pub block: Option<Spanned<String>>,
        /// probability of a read, `0.7` or `"70%"`
        #[default = "1"]
        #[comment = "share of reads"]
        pub read_share: Option<Spanned<Share>>,
        /// the distribution of the positions: `{ sequential_run = 16.0 }` (the mean number of requests of a sequential
        /// run, or `inf`), `{ zipf = 0.9 }` (the exponent), `{ mixed = { follow = 0.3, zipf = 0.9, used = 0.1 } }`
        /// (`follow` is the share of requests that continue the previous one, `used` the share of blocks that are ever
        /// accessed), `{ hot = { space = 0.1, requests = 0.9 } }` (10 % of the space receive 90 % of the requests)
        #[default = "uniform"]
        pub addresses: Option<Spanned<AddressesFile>>,
        /// Several classes, each with laws of its own, in place of the laws above.
        #[table = "[[load.class]]"]
        pub class: Option<Vec<ClassFile>>,
    }
}

/// An entry `[[load.class]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassFile {
    /// When its requests come.
    pub arrivals: Option<Spanned<ArrivalsFile>>,
    /// Poisson arrivals per second, in place of `arrivals`.
    #[serde(alias = "rate")]
    pub rate_per_s: Option<Spanned<f64>>,
    /// How many come at each arrival; one if it is not given.
    pub batch: Option<Spanned<BatchFile>>,
    /// How large they are.
    pub size: Option<Spanned<SizeFile>>,
    /// The probability that one is a read; 1 if it is not given.
    pub read_share: Option<Spanned<Share>>,
    /// Where they lie; anywhere if it is not given.
    pub addresses: Option<Spanned<AddressesFile>>,
}

/// `arrivals = { poisson_per_s = 10.0 }`: one of the laws.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalsFile {
    /// `arrivals = "alone"`: each request starts when the one before is complete and nothing else happens.
    Alone,
    /// Poisson arrivals per second.
    PoissonPerS(f64),
    /// Arrivals at equal intervals, per second.
    ConstantPerS(f64),
    /// A Poisson process whose rate changes from phase to phase.
    Phases(Vec<PhaseFile>),
    /// A source that is on and off in turn.
    OnOff(OnOffFile),
    /// A biased cascade.
    BModel(BModelFile),
    /// A Poisson process whose rate is fractional Gaussian noise.
    Noise(NoiseFile),
    /// Independent intervals from a gamma law.
    Gamma(SpreadFile),
    /// Independent intervals from a log-normal law.
    LogNormal(SpreadFile),
    /// Independent intervals from a Weibull law.
    Weibull(TailFile),
    /// Independent intervals from a Pareto law.
    Pareto(TailFile),
    /// Independent intervals, each one of those of a recording.
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
    /// The shape parameter of the law.
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
    /// The recording whose intervals are drawn from.
    pub trace: PathBuf,
    /// Mean arrivals per second; those of the recording if it is not given.
    pub per_s: Option<f64>,
}

/// A phase of `phases = [{ per_s = 100.0, mean_s = 1.0 }, ...]`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseFile {
    /// Arrivals per second while it lasts; may be 0.
    pub per_s: f64,
    /// How long it lasts on average.
    pub mean_s: f64,
}

/// `on_off = { per_s = 100.0, on_s = 1.0, off_s = 9.0, pareto_shape = 1.5 }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOffFile {
    /// Arrivals per second while it is on.
    pub per_s: f64,
    /// How long it is on, on average.
    pub on_s: f64,
    /// How long it is off, on average.
    pub off_s: f64,
    /// The exponent of the tails of both times; exponential times if it is not given.
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
    /// How often it is halved.
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
    /// How many users there are, each with one request at a time.
    pub outstanding: u32,
    /// The mean of their exponential think times; 0 if it is not given.
    pub think_ms: Option<f64>,
    /// Another law of think times, in place of `think_ms`.
    pub think: Option<TimeLawFile>,
}

/// `think = { log_normal = { mean_ms = 5.0, cv = 2.0 } }`: one of the laws of times.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeLawFile {
    /// Exponential with this mean.
    ExponentialMs(f64),
    /// Always the same.
    ConstantMs(f64),
    /// A gamma law.
    Gamma(TimeSpreadFile),
    /// A log-normal law.
    LogNormal(TimeSpreadFile),
    /// A Weibull law.
    Weibull(TimeTailFile),
    /// A Pareto law.
    Pareto(TimeTailFile),
    /// The times of a recording, each as likely as the others.
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
    /// The shape parameter of the law.
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
    /// The recording whose times are drawn from.
    pub trace: PathBuf,
    /// The mean; that of the recording if it is not given.
    pub mean_ms: Option<f64>,
}

/// `batch = { geometric_mean = 3.0 }`: one of the laws.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchFile {
    /// Always this many requests at each arrival.
    Requests(u32),
    /// Geometric with this mean, at least 1.
    GeometricMean(f64),
    /// One of these numbers.
    Table(Vec<BatchRowFile>),
}

/// A row of the table of batches.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchRowFile {
    /// How many requests come at once.
    pub requests: u32,
    /// The share of the arrivals that bring as many.
    pub share: Share,
}

/// `addresses = { zipf = 0.9 }`: one of the patterns.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AddressesFile {
    /// Runs of requests that follow on each other, of this mean number.
    SequentialRun(f64),
    /// Zipf's law with this exponent over the blocks.
    Zipf(f64),
    /// Some requests follow on the one before, the others go where Zipf's law says.
    Mixed(MixedFile),
    /// A hot region at the beginning.
    Hot(HotFile),
}

/// `mixed = { follow = 0.3, zipf = 0.9 }`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixedFile {
    /// The share of the requests that follow.
    pub follow: Share,
    /// The exponent of the others; 0 where all places are alike.
    pub zipf: f64,
    /// The share of the blocks that are ever gone to.
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
    /// Its share of the space.
    pub space: Share,
    /// Its share of the requests.
    pub requests: Share,
}
