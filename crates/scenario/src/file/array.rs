//! The tables `[array]`, `[controller]` and `[rebuild]`.

use serde::Deserialize;
use toml::Spanned;

/// The table `[array]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArrayFile {
    /// `"raid0"`, `"raid1"`, `"raid10"`, `"raid01"`, `"raid5"`, `"raid6"`, `"raid50"`, `"raid60"`,
    /// `"jbod"` or `"concat"`.
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
    /// What a disk remembers of the tracks of a write.
    pub transfer_memory: Option<TransferMemoryName>,
    /// How many copies RAID 1, 10 and 01 keep.
    pub copies: Option<Spanned<usize>>,
    /// How many groups RAID 50 and 60 have.
    pub groups: Option<Spanned<usize>>,
    /// The disks that have failed, from 0.
    pub failed: Option<Spanned<Vec<usize>>>,
    /// Whether the next request waits until the last has joined.
    pub mode: Option<ModeName>,
}

impl ArrayFile {
    /// One device, and nothing in front of it.
    pub(crate) fn of_one() -> Self {
        Self {
            level: LevelName::Jbod,
            disks: Spanned::new(0..0, 1),
            stripe_unit: None,
            placement: None,
            layout: None,
            write_start: None,
            mirror_read: None,
            read_layout: None,
            join: None,
            preread_seek: None,
            full_turn: None,
            transfer_memory: None,
            copies: None,
            groups: None,
            failed: None,
            mode: None,
        }
    }

    /// Whether the file has a table for it.
    pub(crate) fn is_given(&self) -> bool {
        self.disks.span() != (0..0)
    }
}

/// What a disk remembers of the tracks of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransferMemoryName {
    /// That of the last access of the request.
    LastAccess,
    /// One for all accesses of the request.
    OnePerRequest,
}

/// Whether requests overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModeName {
    /// Each request forks when it comes.
    ForkJoin,
    /// The next request forks when the last has joined.
    SplitMerge,
}

/// The table `[controller]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerFile {
    /// Between the arrival of a request and the issue of its sub-requests.
    pub command_us: Option<Spanned<f64>>,
    /// How long a byte takes on its way through the exclusive-or.
    pub xor_ns_per_byte: Option<Spanned<f64>>,
    /// How fast data cross the one bus to the disks, in millions of bytes per second.
    pub bus_mb_per_s: Option<Spanned<f64>>,
    /// How much the write-back cache holds, such as `"64MiB"`.
    pub cache: Option<Spanned<String>>,
    /// The share of the cache that is dirty when writing to the disks begins; 0: at once.
    pub destage_above: Option<Spanned<f64>>,
    /// The share down to which it goes on then.
    pub destage_below: Option<Spanned<f64>>,
}

/// The table `[rebuild]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RebuildFile {
    /// At most so many stripes per second; as fast as it goes if it is not given.
    pub stripes_per_s: Option<Spanned<f64>>,
    /// Only the first so many stripes; all if it is not given.
    pub stripes: Option<Spanned<u64>>,
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
    /// Every disk a copy.
    Raid1,
    /// A stripe of mirrors.
    Raid10,
    /// A mirror of stripes.
    Raid01,
    /// Rotating parity.
    Raid5,
    /// Two rotating parities.
    Raid6,
    /// A stripe of RAID 5 groups.
    Raid50,
    /// A stripe of RAID 6 groups.
    Raid60,
    /// Just a bunch of disks.
    Jbod,
    /// One disk after the other.
    Concat,
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
    /// A random copy for each request and column.
    Random,
    /// The copies of a column take turns.
    Turns,
    /// The copy with the shorter queue.
    ShorterQueue,
    /// The copy whose arm is nearer.
    NearerArm,
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
