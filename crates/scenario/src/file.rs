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
    /// Where parity and data of RAID 5 with addresses lie.
    pub layout: Option<LayoutName>,
    /// Where a RAID 5 write with random placement begins.
    pub write_start: Option<WriteStartName>,
    /// Which side of a mirror the blocks of a read come from.
    pub mirror_read: Option<MirrorReadName>,
    /// How a RAID 5 read with random placement goes on from stripe to stripe.
    pub read_layout: Option<ReadLayoutName>,
    /// What happens first when the last pre-read of a partial write ends.
    pub join: Option<JoinName>,
    /// The seek curve of pre-reads.
    pub preread_seek: Option<PrereadSeekName>,
    /// How long the full turn of a read-modify-write is.
    pub full_turn: Option<FullTurnName>,
}

/// Where parity and data lie in stripes with addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutName {
    /// Parity to the left, data behind it.
    LeftSymmetric,
    /// Parity to the left, data from the first disk on.
    LeftAsymmetric,
    /// Parity to the right, data behind it.
    RightSymmetric,
    /// Parity to the right, data from the first disk on.
    RightAsymmetric,
}

/// How a read goes on from stripe to stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadLayoutName {
    /// With the next disk.
    Continue,
    /// With its first disk.
    Restart,
    /// With the array's first disk.
    Wrap,
}

/// What happens first when the last pre-read ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JoinName {
    /// The writes are issued.
    WritesFirst,
    /// The freed disk takes its next job.
    DiskFirst,
}

/// The seek curve of pre-reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrereadSeekName {
    /// That of reads.
    Read,
    /// That of writes.
    Write,
}

/// How long the full turn of a read-modify-write is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FullTurnName {
    /// One revolution.
    Revolution,
    /// One revolution less the transfer.
    LessTransfer,
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
    /// Which waiting jobs the draws of RPO are counted by.
    pub rpo_count: Option<RpoCountName>,
    /// No more draws of RPO than this.
    pub rpo_most: Option<Spanned<usize>>,
}

/// Which waiting jobs the draws of RPO are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RpoCountName {
    /// All, the one that starts included.
    Including,
    /// Those that go on waiting.
    Excluding,
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
