//! The tables `[array]` and `[rebuild]`.

use iosonar_raid::rules::{FullTurn, JoinOrder, PrereadSeek, TransferMemory};
use iosonar_raid::{MirrorRead, ParityLayout, Placement, ReadLayout, WriteStart};
use toml::Spanned;

use super::md::{LikeName, MdFile};
use super::table_of_keys;
use crate::words::Given;

table_of_keys! {
    /// The table `[array]`.
    pub struct ArrayFile {
        /// `"raid0"`, `"raid1"`, `"raid10"`, `"raid01"`, `"raid5"`, `"raid6"`, `"raid50"`, `"raid60"`, `"jbod"`,
        /// `"concat"`
        pub level: LevelName,
        /// number of identical disks, without spares
        #[comment = "spares not counted"]
        pub disks: Spanned<usize>,
        /// `"linux-md"`: laid out and served [as Linux's software RAID does it](md.md), from the addresses of requests;
        /// RAID 0, 1, 10, 5 and 6
        #[default = "as in the papers"]
        #[comment = "its layout and rules"]
        pub like: Option<Spanned<LikeName>>,
        /// The table `[array.md]`, with `like = "linux-md"`.
        #[table = "[array.md]"]
        pub md: Option<MdFile>,
        /// such as `"128KiB"`; a decimal unit (`"64KB"`, 64 000 bytes) only if the size is a multiple of 4 KiB
        #[default = "128 KiB"]
        #[comment = "bytes"]
        pub stripe_unit: Option<Spanned<String>>,
        /// `"random"` (the papers') or `"addressed"`
        #[default = "random for synthetic loads with sizes in blocks and without `addresses` on sampled disks, else addressed"]
        #[comment = "of requests"]
        pub placement: Option<Spanned<Given<Placement>>>,
        /// parity, addresses: `"left-symmetric"`, `"left-asymmetric"`, `"right-symmetric"`, `"right-asymmetric"`
        #[default = "left-symmetric"]
        #[comment = "of parity and data"]
        pub layout: Option<Given<ParityLayout>>,
        /// parity, random placement: `"after-parity"`, `"array-first"`, `"random"`
        #[default = "after-parity"]
        #[comment = "first disk of a write"]
        pub write_start: Option<Given<WriteStart>>,
        /// RAID 1, 10, 01: `"random"`, `"turns"`, `"shorter-queue"`, `"nearer-arm"` (positional); the papers'
        /// `"halves"`, `"round-robin"`, `"alternating-rows"`, `"random-per-block"`
        #[default = "RAID 01: halves, else random"]
        #[comment = "the copy that is read"]
        pub mirror_read: Option<Given<MirrorRead>>,
        /// parity, random placement: how a read continues: `"continue"`, `"restart"`, `"wrap"`
        #[default = "continue"]
        #[comment = "from stripe to stripe"]
        pub read_layout: Option<Given<ReadLayout>>,
        /// parity: when the last pre-read ends, `"writes-first"` or `"disk-first"`
        #[default = "writes-first"]
        #[comment = "when the last pre-read ends"]
        pub join: Option<Given<JoinOrder>>,
        /// parity: the seek curve of pre-reads, `"read"` or `"write"`
        #[default = "read"]
        #[comment = "curve of pre-reads"]
        pub preread_seek: Option<Given<PrereadSeek>>,
        /// parity: the turn of a read-modify-write, `"revolution"` or `"less-transfer"`
        #[default = "revolution"]
        #[comment = "of a read-modify-write"]
        pub full_turn: Option<Given<FullTurn>>,
        /// parity: the track of a write is that of the `"last-access"` of its request to the
        /// disk, or `"one-per-request"`
        #[default = "last-access"]
        #[comment = "of a disk"]
        pub transfer_memory: Option<Given<TransferMemory>>,
        /// RAID 10 and 01: copies of each block
        #[default = "2"]
        #[comment = "of each block"]
        pub copies: Option<Spanned<usize>>,
        /// RAID 50 and 60: number of groups, each with its own parity
        #[default = "2"]
        #[comment = "each with parity of its own"]
        pub groups: Option<Spanned<usize>>,
        /// disks that have failed, such as `[2]`
        #[default = "none"]
        #[comment = "disks"]
        pub failed: Option<Spanned<Vec<usize>>>,
        /// `"fork-join"` or `"split-merge"`: one request at a time
        #[default = "fork-join"]
        #[comment = "whether requests overlap"]
        pub mode: Option<ModeName>,
    }
}

impl ArrayFile {
    /// One device, and nothing in front of it.
    pub(crate) fn of_one() -> Self {
        Self {
            level: LevelName::Jbod,
            disks: Spanned::new(0..0, 1),
            like: None,
            md: None,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeName {
    /// Each request forks when it comes.
    ForkJoin,
    /// The next request forks when the last has joined.
    SplitMerge,
}

table_of_keys! {
    /// The table `[rebuild]`.
    pub struct RebuildFile {
        /// maximum rate; stripes are rebuilt on hot spares one at a time, while the disks are idle
        #[default = "as fast as possible"]
        #[comment = "at most"]
        pub stripes_per_s: Option<Spanned<f64>>,
        /// number of stripes, from the first
        #[default = "all"]
        #[comment = "of the failed disks"]
        pub stripes: Option<Spanned<u64>>,
    }
}

/// RAID levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
