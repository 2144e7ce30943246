//! What may be written in a scenario file.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

/// A scenario as it is written. Everything optional has a default, which [`crate::Simulation`]
/// fills in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Where all randomness comes from; 1 if it is not given.
    pub seed: Option<u64>,
    /// How many independent runs; 1 if it is not given.
    pub replications: Option<Spanned<u32>>,
    /// How many requests at the beginning of each run are left out of the statistics.
    pub warmup_requests: Option<Spanned<u64>>,
    /// What drives the simulation. May be missing where a trace is given on the command line.
    pub load: Option<LoadFile>,
    /// The array.
    pub array: ArrayFile,
    /// The disks under it, all alike.
    pub disk: DiskFile,
}

/// The table `[load]`: a trace, or the laws of a synthetic load.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadFile {
    /// A trace, relative to the scenario file.
    pub trace: Option<Spanned<PathBuf>>,
    /// How many requests are measured in each run of a synthetic load.
    pub requests: Option<Spanned<u64>>,
    /// When they come.
    pub arrivals: Option<Spanned<ArrivalsFile>>,
    /// How many come at each arrival; one if it is not given.
    pub batch: Option<Spanned<BatchFile>>,
    /// How large they are.
    pub size: Option<Spanned<SizeFile>>,
    /// The probability that one is a read; 1 if it is not given.
    pub read_share: Option<Spanned<f64>>,
}

/// `arrivals = { poisson_per_s = 10.0 }`: exactly one of the laws.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrivalsFile {
    /// Poisson arrivals per second.
    pub poisson_per_s: Option<f64>,
    /// Arrivals at equal distances, per second.
    pub constant_per_s: Option<f64>,
}

/// `batch = { geometric_mean = 3.0 }`: exactly one of the laws.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchFile {
    /// Always this many requests at each arrival.
    pub requests: Option<u32>,
    /// Geometric with this mean, at least 1.
    pub geometric_mean: Option<f64>,
}

/// `size = { blocks = 4 }`: exactly one of the laws. A block is a stripe unit.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeFile {
    /// Always this many blocks.
    pub blocks: Option<u32>,
    /// Geometric with this mean, at least 1 block.
    pub geometric_mean_blocks: Option<f64>,
}

/// The table `[array]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayFile {
    /// `"raid0"`, `"raid01"` or `"raid5"`.
    pub level: LevelName,
    /// How many disks.
    pub disks: Spanned<usize>,
    /// How much lies on one disk before the next follows, such as `"128KiB"` (the default).
    pub stripe_unit: Option<Spanned<String>>,
    /// `"random"` (the papers'; the default of synthetic loads) or `"addressed"` (by the addresses
    /// of the left-symmetric layout; the default of traces, which need it).
    pub placement: Option<Spanned<PlacementName>>,
    /// Where a RAID 5 write with random placement begins.
    pub write_start: Option<WriteStartName>,
    /// Which side of a mirror the blocks of a read come from.
    pub mirror_read: Option<MirrorReadName>,
}

/// RAID levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LevelName {
    /// Striping; of one disk: a disk.
    Raid0,
    /// A mirror of stripes.
    Raid01,
    /// Rotating parity.
    Raid5,
}

/// Which side of a mirror the blocks of a read come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MirrorReadName {
    /// The first half from a random side, the rest from the other.
    Halves,
    /// Round-robin over all disks.
    RoundRobin,
    /// The sides alternate with each row of blocks.
    AlternatingRows,
    /// A random side for each block.
    RandomPerBlock,
}

/// Placements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementName {
    /// Whole stripe units at random places.
    Random,
    /// By addresses.
    Addressed,
}

/// Where a RAID 5 write with random placement begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteStartName {
    /// At the disk behind the parity.
    AfterParity,
    /// At the first disk of the array.
    ArrayFirst,
    /// At a random disk.
    Random,
}

/// The table `[disk]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskFile {
    /// The name of a built-in profile, or a `.toml` file relative to the scenario file.
    pub profile: String,
    /// `"fcfs"` (the default) or `"rpo"`.
    pub scheduler: Option<SchedulerName>,
}

/// What a disk does with the jobs that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchedulerName {
    /// First come, first served.
    Fcfs,
    /// Rotational positioning optimisation.
    Rpo,
}
