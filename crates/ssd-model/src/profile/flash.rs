//! NAND flash and its translation layer.

use serde::{Deserialize, Serialize};

use crate::ftl::{Cleaning, Filling};

/// NAND flash with a page-mapped translation layer. The logical capacity is derived: all pages / (1 +
/// over-provisioning).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FlashProfile {
    /// The number of channels between the controller and the dies.
    pub channels: u32,
    /// The number of dies per channel.
    pub dies: u32,
    /// The number of planes per die.
    #[serde(default = "super::one")]
    pub planes: u32,
    /// The number of blocks per plane.
    pub blocks: u32,
    /// The number of flash pages per block.
    pub pages: u32,
    /// The size of a flash page.
    #[serde(deserialize_with = "super::size")]
    pub page: String,
    /// The size of a logical page; by default, the size of a flash page. If it is smaller, a flash page is programmed
    /// when it is full, so a cache is required.
    #[serde(default, deserialize_with = "super::optional_size")]
    pub mapping_unit: Option<String>,
    /// The type of the cells, which sets the times that are not given.
    pub cell: Option<CellType>,
    /// The times to read a page into the die's register, used cyclically by the position of the page in its block.
    pub read_us: Option<Vec<f64>>,
    /// The times to program a page from the register, used in the same way.
    pub program_us: Option<Vec<f64>>,
    /// The time to erase a block.
    pub erase_us: Option<f64>,
    /// The rate of a channel.
    pub channel_mb_per_s: f64,
    /// The time of the command and address cycles of an operation on the channel.
    #[serde(default)]
    pub command_us: f64,
    /// The unit that performs one operation at a time: a die, or each of its planes.
    #[serde(default)]
    pub parallelism: Parallelism,
    /// The number of planes of a die that one command reads, programs or erases at once, at the same page of a block of
    /// each plane.
    #[serde(default = "super::one")]
    pub multi_plane: u32,
    /// The time that each plane after the first adds to a command on the channel.
    #[serde(default)]
    pub multi_plane_command_us: f64,
    /// The order in which a die performs operations.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// The cost of interrupting a program or an erase for a read; by default, reads do not interrupt them.
    #[serde(default)]
    pub suspend_us: Option<f64>,
    /// Whether cleaning copies pages within the die, without using the channel.
    #[serde(default)]
    pub copyback: bool,
    /// The number of physical pages divided by the number of logical pages, minus 1.
    pub over_provisioning: f64,
    /// How the next block to clean is chosen.
    #[serde(default)]
    pub cleaning: Cleaning,
    /// The number of free blocks that each plane keeps; with 0, cleaning begins when no page is free.
    #[serde(default = "two")]
    pub reserve: u32,
    /// The number of reads of its pages after which a block is rewritten; by default, never.
    pub read_disturb_limit: Option<u32>,
    /// The number of hours after which a full block is rewritten; by default, never.
    pub retention_h: Option<f64>,
    /// The largest allowed difference in erases between blocks; unbounded by default.
    pub wear_levelling: Option<u32>,
    /// The initial contents of the flash.
    #[serde(default)]
    pub precondition: Filling,
    /// Whether a read of data that were never written reads a page of flash anyway.
    #[serde(default)]
    pub read_unwritten: bool,
    /// Whether a read of data that were never written maps the page, as a write does.
    #[serde(default)]
    pub map_unwritten: bool,
    /// Whether the drive records which sectors of a page were written. A partial write then first reads only the other
    /// sectors of the page, and only if they were written.
    #[serde(default)]
    pub partial_pages: bool,
    /// The number of times that all logical pages are then overwritten at random, before the simulation begins.
    #[serde(default)]
    pub overwrites: f64,
}

fn two() -> u32 {
    2
}

/// The type of the cells: the number of bits per cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellType {
    /// One bit per cell.
    Slc,
    /// Two bits per cell.
    Mlc,
    /// Three bits per cell.
    Tlc,
    /// Four bits per cell.
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

/// The unit that performs one operation at a time: a die, or each of its planes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parallelism {
    /// A die performs one operation at a time.
    #[default]
    Die,
    /// Each plane of a die performs one operation at a time.
    Plane,
}

/// The order in which a die performs operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// Reads in the order of arrival, then writes in the order of arrival, then cleaning.
    #[default]
    ReadsFirst,
    /// Operations of the host in the order of arrival, then cleaning.
    Fcfs,
}

impl FlashProfile {
    /// Whether it begins as after long use.
    pub fn is_used(&self) -> bool {
        self.precondition == Filling::SteadyState
    }
}
