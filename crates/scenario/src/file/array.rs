//! The tables `[array]`, `[controller]` and `[rebuild]`.

use iosonar_raid::rules::{FullTurn, JoinOrder, PrereadSeek, TransferMemory};
use iosonar_raid::{MirrorRead, ParityLayout, Placement, ReadLayout, WriteStart};
use serde::Deserialize;
use toml::Spanned;

use crate::words::Given;

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
    pub placement: Option<Spanned<Given<Placement>>>,
    /// Where parity and data of RAID 5 with addresses lie.
    pub layout: Option<Given<ParityLayout>>,
    /// Where a RAID 5 write with random placement begins.
    pub write_start: Option<Given<WriteStart>>,
    /// Which side of a mirror the blocks of a read come from.
    pub mirror_read: Option<Given<MirrorRead>>,
    /// How a RAID 5 read with random placement goes on from stripe to stripe.
    pub read_layout: Option<Given<ReadLayout>>,
    /// What happens first when the last pre-read of a partial write ends.
    pub join: Option<Given<JoinOrder>>,
    /// The seek curve of pre-reads.
    pub preread_seek: Option<Given<PrereadSeek>>,
    /// How long the full turn of a read-modify-write is.
    pub full_turn: Option<Given<FullTurn>>,
    /// What a disk remembers of the tracks of a write.
    pub transfer_memory: Option<Given<TransferMemory>>,
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
