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
        /// the level of the array: `"raid0"`, `"raid1"`, `"raid10"`, `"raid01"`, `"raid5"`, `"raid6"`, `"raid50"`,
        /// `"raid60"`, `"jbod"`, `"concat"`, or the name of a level that [the program registers](extend.md)
        pub level: Spanned<GivenLevel>,
        /// options of a registered level
        #[table = "[array.options]"]
        pub options: Option<Spanned<toml::Table>>,
        /// number of identical disks, excluding spares
        #[comment = "number of disks, excluding spares"]
        pub disks: Spanned<usize>,
        /// `"linux-md"` gives the array the layout and the rules of [Linux's software RAID](md.md), and requests have
        /// addresses; only for RAID 0, 1, 10, 5 and 6
        #[default = "as in the literature"]
        #[comment = "layout and rules of Linux md"]
        pub like: Option<Spanned<LikeName>>,
        /// The table `[array.md]`, with `like = "linux-md"`.
        #[table = "[array.md]"]
        pub md: Option<MdFile>,
        /// size of a stripe unit, such as `"128KiB"`; decimal units (`"64KB"`, 64 000 bytes) are accepted only if the
        /// size is a multiple of 4 KiB
        #[default = "128 KiB"]
        #[comment = "size in bytes"]
        pub stripe_unit: Option<Spanned<String>>,
        /// how requests are placed: `"random"` (on random stripe units, as in the literature) or `"addressed"` (at
        /// their addresses)
        #[default = "random for synthetic loads with sizes in blocks and without `addresses`, on sampled disks and with a built-in level; otherwise addressed"]
        #[comment = "where requests are placed"]
        pub placement: Option<Spanned<Given<Placement>>>,
        /// for parity levels with `placement = "addressed"`, the arrangement of parity and data: `"left-symmetric"`,
        /// `"left-asymmetric"`, `"right-symmetric"`, `"right-asymmetric"`
        #[default = "left-symmetric"]
        #[comment = "arrangement of parity and data"]
        pub layout: Option<Given<ParityLayout>>,
        /// for parity levels with random placement, the first disk of a write: `"after-parity"`, `"array-first"` (disk
        /// 0), `"random"`
        #[default = "after-parity"]
        #[comment = "first disk of a write"]
        pub write_start: Option<Given<WriteStart>>,
        /// for RAID 1, 10 and 01, which copy is read: `"random"`, `"turns"`, `"shorter-queue"`, `"nearer-arm"`
        /// (positional disks only), or, as in the literature, `"halves"`, `"round-robin"`, `"alternating-rows"`,
        /// `"random-per-block"`
        #[default = "halves for RAID 01, otherwise random"]
        #[comment = "which copy is read"]
        pub mirror_read: Option<Given<MirrorRead>>,
        /// for parity levels with random placement, how a read continues in the next stripe: `"continue"` (with the
        /// next disk), `"restart"` (with its first disk), `"wrap"` (the stripe ends with the last disk of the array)
        #[default = "continue"]
        #[comment = "how a read continues in the next stripe"]
        pub read_layout: Option<Given<ReadLayout>>,
        /// for parity levels, what happens first after the last pre-read of a request: the writes are issued
        /// (`"writes-first"`), or the disk starts its next job (`"disk-first"`)
        #[default = "writes-first"]
        #[comment = "what happens after the last pre-read"]
        pub join: Option<Given<JoinOrder>>,
        /// for parity levels, the seek curve of pre-reads: `"read"` or `"write"`
        #[default = "read"]
        #[comment = "seek curve used for pre-reads"]
        pub preread_seek: Option<Given<PrereadSeek>>,
        /// for parity levels, how far the disk rotates between the read and the write of a read-modify-write: a full
        /// `"revolution"`, or a revolution minus the transfer (`"less-transfer"`)
        #[default = "revolution"]
        #[comment = "rotation between reading and writing back"]
        pub full_turn: Option<Given<FullTurn>>,
        /// for parity levels, which track is assumed when a write request accesses a disk several times:
        /// `"last-access"` (the write of a partial stripe uses the track of the request's last access to the disk, all
        /// other accesses a new track) or `"one-per-request"` (all accesses use the same track)
        #[default = "last-access"]
        #[comment = "how the track of a write is chosen"]
        pub transfer_memory: Option<Given<TransferMemory>>,
        /// for RAID 10 and 01, the number of copies of each block
        #[default = "2"]
        #[comment = "number of copies of each block"]
        pub copies: Option<Spanned<usize>>,
        /// for RAID 50 and 60, the number of groups, each with its own parity
        #[default = "2"]
        #[comment = "number of groups, each with its own parity"]
        pub groups: Option<Spanned<usize>>,
        /// the numbers of the disks that have failed, such as `[2]`
        #[default = "none"]
        #[comment = "numbers of the failed disks"]
        pub failed: Option<Spanned<Vec<usize>>>,
        /// number of identical arrays to simulate ([`sim` only](simulate.md#several-arrays)); each array has its own
        /// random load, or serves one device of the trace
        #[default = "1"]
        #[comment = "number of identical arrays"]
        pub count: Option<Spanned<u32>>,
        /// how requests are processed: `"fork-join"` (requests overlap) or `"split-merge"` (one request at a time)
        #[default = "fork-join"]
        #[comment = "whether requests overlap"]
        pub mode: Option<ModeName>,
    }
}

impl ArrayFile {
    /// A single device without an array.
    pub(crate) fn of_one() -> Self {
        Self {
            level: Spanned::new(0..0, GivenLevel::BuiltIn(LevelName::Jbod)),
            options: None,
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
            count: None,
            mode: None,
        }
    }

    /// Whether the file contains the table `[array]`.
    pub(crate) fn is_given(&self) -> bool {
        self.disks.span() != (0..0)
    }
}

/// The level as written in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GivenLevel {
    /// A built-in level.
    BuiltIn(LevelName),
    /// A name that the program may have registered.
    Other(String),
}

impl ArrayFile {
    /// The level, unless it is a registered one.
    pub(crate) fn built_in(&self) -> Option<LevelName> {
        match self.level.get_ref() {
            GivenLevel::BuiltIn(level) => Some(*level),
            GivenLevel::Other(_) => None,
        }
    }
}

/// How requests are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModeName {
    /// Each request forks on arrival.
    ForkJoin,
    /// A request forks when the previous one has joined.
    SplitMerge,
}

table_of_keys! {
    /// The table `[rebuild]`.
    pub struct RebuildFile {
        /// maximum rate of the rebuild, in stripes per second; stripes are rebuilt on hot spares one at a time, while
        /// the disks are idle
        #[default = "as fast as possible"]
        #[comment = "maximum rate"]
        pub stripes_per_s: Option<Spanned<f64>>,
        /// number of stripes to rebuild, starting with the first
        #[default = "all"]
        #[comment = "number of stripes to rebuild"]
        pub stripes: Option<Spanned<u64>>,
    }
}

table_of_keys! {
    /// An entry `[[event]]`.
    pub struct EventFile {
        /// time of the event, counted from the start of the run, such as `"30s"` or `"2h"`
        #[comment = "time from the start of the run"]
        pub at: Spanned<String>,
        /// number of the disk that fails, counted from 0; each disk can fail only once
        #[comment = "this disk fails"]
        pub fail: Option<Spanned<usize>>,
        /// time for which the array waits for the failed disk before it continues without it
        #[default = "0s"]
        #[comment = "wait before the array continues without the disk"]
        pub noticed_after: Option<Spanned<String>>,
        /// slows a disk down: the number of the disk, the factor by which its service times are multiplied (more than
        /// 1), and the duration, such as `{ disk = 3, factor = 20, for = "10s" }`
        #[comment = "number of the disk, slowdown factor and duration"]
        pub slow: Option<SlowFile>,
    }
}

/// A temporary slowdown of a disk.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowFile {
    /// The number of the disk.
    pub disk: Spanned<usize>,
    /// The factor by which its service times are multiplied.
    pub factor: Spanned<f64>,
    /// The duration: accesses that begin within it are slow.
    #[serde(rename = "for")]
    pub lasts: Spanned<String>,
}

/// RAID levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelName {
    /// Striping; with one disk, a single disk.
    Raid0,
    /// Mirroring: every disk holds a copy.
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
