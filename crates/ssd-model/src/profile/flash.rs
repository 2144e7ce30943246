//! NAND flash and its translation layer.

use serde::{Deserialize, Serialize};

use crate::ftl::{Cleaning, Filling};

/// NAND flash under a page-mapped translation layer. The logical capacity follows: all pages / (1 +
/// over-provisioning).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlashProfile {
    /// Channels between the controller and the dies.
    pub channels: u32,
    /// Dies of each channel.
    pub dies: u32,
    /// Planes of each die.
    #[serde(default = "super::one")]
    pub planes: u32,
    /// Blocks of each plane.
    pub blocks: u32,
    /// Flash pages of each block.
    pub pages: u32,
    /// The size of a flash page.
    #[serde(deserialize_with = "super::size")]
    pub page: String,
    /// The size of a logical page; that of a flash page if it is missing. Where it is smaller, a flash
    /// page is programmed when it is full, so there must be a cache to wait in.
    #[serde(default, deserialize_with = "super::optional_size")]
    pub mapping_unit: Option<String>,
    /// What its cells are: preset times, for those that are missing.
    pub cell: Option<CellType>,
    /// To read a page into the die's register; several: by the page's place in its block, in turn.
    pub read_us: Option<Vec<f64>>,
    /// To program a page from the register; several as above.
    pub program_us: Option<Vec<f64>>,
    /// To erase a block.
    pub erase_us: Option<f64>,
    /// The rate of a channel.
    pub channel_mb_per_s: f64,
    /// Command and address cycles of an operation, on the channel.
    #[serde(default)]
    pub command_us: f64,
    /// Whether the planes of a die work independently.
    #[serde(default)]
    pub parallelism: Parallelism,
    /// On how many planes of a die one command reads, programs or erases at once: at the same page of a block of each.
    #[serde(default = "super::one")]
    pub multi_plane: u32,
    /// How much longer each plane after the first makes a command, on the channel.
    #[serde(default)]
    pub multi_plane_command_us: f64,
    /// Whether reads go before writes.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// Whether a read interrupts a program or an erase.
    #[serde(default)]
    pub suspend_us: Option<f64>,
    /// Whether cleaning copies within the die, without the channel.
    #[serde(default)]
    pub copyback: bool,
    /// All pages by the logical ones, less 1.
    pub over_provisioning: f64,
    /// Which blocks are cleaned.
    #[serde(default)]
    pub cleaning: Cleaning,
    /// Free blocks that each plane keeps; 0: cleaning begins when no page is free.
    #[serde(default = "two")]
    pub reserve: u32,
    /// A block is rewritten after this many reads of its pages; never if it is missing.
    pub read_disturb_limit: Option<u32>,
    /// A block is rewritten when it has been full for this many hours; never if it is missing.
    pub retention_h: Option<f64>,
    /// By how many erases blocks may differ; unbounded if it is missing.
    pub wear_levelling: Option<u32>,
    /// What it holds at the beginning.
    #[serde(default)]
    pub precondition: Filling,
    /// Whether a read of what was never written still reads a page.
    #[serde(default)]
    pub read_unwritten: bool,
    /// Whether such a read gives the page a place, as a write would.
    #[serde(default)]
    pub map_unwritten: bool,
    /// Whether the drive knows which sectors of a page were written: a write of a part then reads no more than what
    /// was written before and is not written now.
    #[serde(default)]
    pub partial_pages: bool,
    /// How often all logical pages are overwritten then, at random, before the simulation begins.
    #[serde(default)]
    pub overwrites: f64,
}

fn two() -> u32 {
    2
}

/// What cells are: how many bits each holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellType {
    /// One.
    Slc,
    /// Two.
    Mlc,
    /// Three.
    Tlc,
    /// Four.
    Qlc,
}

impl CellType {
    /// Typical times in microseconds: reads, programs (by page), erase; of data sheets and of the models in
    /// MQSim (Tavakkol et al., FAST 2018) and SimpleSSD (Jung et al., CAL 2018).
    pub fn times(self) -> (&'static [f64], &'static [f64], f64) {
        match self {
            Self::Slc => (&[25.0], &[200.0], 1_500.0),
            Self::Mlc => (&[45.0, 65.0], &[400.0, 1_300.0], 3_000.0),
            Self::Tlc => (&[55.0, 75.0, 95.0], &[660.0], 3_500.0),
            Self::Qlc => (&[90.0, 120.0, 150.0, 180.0], &[2_100.0], 10_000.0),
        }
    }
}

/// Whether the planes of a die work independently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parallelism {
    /// A die does one thing at a time.
    #[default]
    Die,
    /// Each plane of a die does one thing at a time.
    Plane,
}

/// Which operation a die does next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// The first of the reads, then the first of the writes, then cleaning.
    #[default]
    ReadsFirst,
    /// The first of the host's, then cleaning.
    Fcfs,
}
