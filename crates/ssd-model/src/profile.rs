//! The parameters of an SSD and of the driver in front of it.

mod check;
mod data_sheet;
mod flash;
mod host;
mod limits;
mod load;

use iosonar_device::{NoProfile, Provenance};
use iosonar_units::text_in_one_line;
use serde::{Deserialize, Deserializer, Serialize};

pub(crate) use check::Checker;
pub(crate) use data_sheet::RANDOM_BYTES;
pub use data_sheet::{Cell, DataSheet, SheetInterface, SheetIops, SheetRate, WriteCache};
pub use flash::{CellType, FlashProfile, Parallelism, Scheduling};
pub use host::{
    Arbitration, Assignment, BlockQueueProfile, Dispatch, DriverProfile, Interface, Notification,
    NvmeProfile, PcieProfile, ReturnStrategy,
};
pub use limits::{LimitProfile, LimitsProfile};

/// The built-in profiles, by name.
pub const BUILT_IN: &[(&str, &str)] = &[
    (
        "block-queue-gen2x4",
        include_str!("../profiles/block-queue-gen2x4.toml"),
    ),
    (
        "nvme-gen4-tlc",
        include_str!("../profiles/nvme-gen4-tlc.toml"),
    ),
    (
        "mqsim-default",
        include_str!("../profiles/mqsim-default.toml"),
    ),
    ("abstract", include_str!("../profiles/abstract.toml")),
    (
        "samsung-850-evo-1tb",
        include_str!("../profiles/samsung-850-evo-1tb.toml"),
    ),
    (
        "intel-s4500-3840gb",
        include_str!("../profiles/intel-s4500-3840gb.toml"),
    ),
    (
        "samsung-970-evo-plus-1tb",
        include_str!("../profiles/samsung-970-evo-plus-1tb.toml"),
    ),
    (
        "intel-d7-p5500-3840gb",
        include_str!("../profiles/intel-d7-p5500-3840gb.toml"),
    ),
    (
        "intel-d5-p4320-7680gb",
        include_str!("../profiles/intel-d5-p4320-7680gb.toml"),
    ),
    (
        "intel-optane-p4800x-375gb",
        include_str!("../profiles/intel-optane-p4800x-375gb.toml"),
    ),
    (
        "aws-gp2-100gib",
        include_str!("../profiles/aws-gp2-100gib.toml"),
    ),
    (
        "aws-gp3-500gib",
        include_str!("../profiles/aws-gp3-500gib.toml"),
    ),
    (
        "aws-io2-1tib-16000iops",
        include_str!("../profiles/aws-io2-1tib-16000iops.toml"),
    ),
    (
        "azure-premium-p20-512gib",
        include_str!("../profiles/azure-premium-p20-512gib.toml"),
    ),
];

/// Why a profile is rejected.
#[derive(Debug, thiserror::Error)]
pub enum SsdProfileError {
    /// There is no profile of this name.
    #[error(transparent)]
    NoProfile(#[from] NoProfile),
    /// The text is not a profile.
    #[error("{origin}: {message}")]
    Syntax {
        /// The file, or the built-in name.
        origin: String,
        /// The problem.
        message: String,
    },
    /// The scenario changes a value that the profile does not have.
    #[error("[ssd] with the profile '{origin}': {message}")]
    Changes {
        /// The name of the profile.
        origin: String,
        /// The problem.
        message: String,
    },
    /// A value is out of its range, or contradicts another.
    #[error("{origin}: 'ssd.{key}' is {seen}, expected {expected}")]
    Value {
        /// The file, or the built-in name.
        origin: String,
        /// The key, with its tables.
        key: String,
        /// The value that was given.
        seen: String,
        /// Values that are accepted.
        expected: String,
    },
}

/// An SSD and its driver. Times in microseconds, rates in millions of bytes per second, sizes as text
/// with a unit, such as `"4KiB"`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SsdProfile {
    /// The name under which the profile was found.
    #[serde(skip)]
    pub name: String,
    /// A short description of the device.
    #[serde(deserialize_with = "text_in_one_line")]
    pub description: String,
    /// The sources of the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The data sheet from which the profile was derived, if any.
    #[serde(skip)]
    pub data_sheet: Option<DataSheet>,
    /// How the host submits requests.
    pub interface: Interface,
    /// The CPU time of the driver.
    pub driver: DriverProfile,
    /// The ring of descriptors, for the interface `"block-queue"`.
    #[serde(default)]
    pub block_queue: BlockQueueProfile,
    /// The queue pairs, for the interface `"nvme"`.
    #[serde(default)]
    pub nvme: NvmeProfile,
    /// The PCIe link between host and device.
    pub pcie: PcieProfile,
    /// The controller, which decodes commands.
    pub controller: ControllerProfile,
    /// The storage behind the controller.
    pub storage: Storage,
    /// Memory channels, for the storage `"dram"`.
    pub dram: Option<DramProfile>,
    /// NAND flash, for the storage `"flash"`.
    pub flash: Option<FlashProfile>,
    /// An exponential service time per block, regardless of its size, for the storage `"exponential"`.
    pub exponential: Option<ExponentialProfile>,
    /// Measured service times, for the storage `"measured"`.
    pub measured: Option<MeasuredProfile>,
    /// A write cache in the device's memory, in front of the flash.
    pub cache: Option<CacheProfile>,
    /// A cache for part of the page map in the device's memory; by default, the whole map is in memory.
    pub mapping_cache: Option<MappingCacheProfile>,
    /// Limits on the rates at which requests reach the device.
    pub limits: Option<LimitsProfile>,
}

/// A cache for part of the page map in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MappingCacheProfile {
    /// The number of entries in the cache, one for each logical page; with 0, the whole map is in memory.
    pub entries: u32,
    /// The number of entries in a flash page of the map.
    pub entries_per_page: u32,
    /// The number of bytes that are read from this page for an entry that is not in the cache.
    pub read_bytes: u32,
    /// Whether changed entries are written to flash when one is evicted: all changed entries of its page of the map are
    /// written, together with the rest of that page, which is read first. The map then takes spare space.
    #[serde(default)]
    pub write_back: bool,
}

/// The storage behind the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// Channels of memory.
    Dram,
    /// Channels of flash dies with a page-mapped translation layer.
    Flash,
    /// A server of blocks.
    Exponential,
    /// Servers of commands with measured times.
    Measured,
}

/// The controller of the device.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerProfile {
    /// The time to decode a command and start its transfer (`t_cmd`).
    pub command_us: f64,
    /// The time to decode a write command and start its transfer; `command_us` by default.
    pub write_command_us: Option<f64>,
    /// The number of commands processed in parallel.
    #[serde(default = "one")]
    pub commands: u32,
    /// The time to start a return of descriptors.
    #[serde(default)]
    pub return_us: f64,
    /// The probability that a descriptor is returned with an error.
    #[serde(default)]
    pub error_probability: f64,
}

/// Channels of memory.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DramProfile {
    /// The capacity of all channels.
    #[serde(deserialize_with = "size")]
    pub capacity: String,
    /// The number of channels that work in parallel; data are interleaved over them in units of 4 KiB.
    pub channels: u32,
    /// The access time of a read, per 4 KiB.
    pub read_us: f64,
    /// The access time of a write, per 4 KiB.
    pub write_us: f64,
}

/// A server of blocks.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ExponentialProfile {
    /// The capacity.
    #[serde(deserialize_with = "size")]
    pub capacity: String,
    /// The mean service time of a block.
    pub mean_us: f64,
}

/// Servers of commands with measured times, as written by `calibrate`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredProfile {
    /// The capacity.
    #[serde(deserialize_with = "size")]
    pub capacity: String,
    /// The number of commands served in parallel; the others wait and are served in the order of arrival.
    pub channels: u32,
    /// Quantiles of the times of reads: pairs of a probability and microseconds, with ascending probabilities from 0 to
    /// 1.
    pub read_quantiles: Vec<(f64, f64)>,
    /// Quantiles of the times of writes, in the same form.
    pub write_quantiles: Vec<(f64, f64)>,
    /// The time that each KiB adds to a read.
    #[serde(default)]
    pub read_us_per_kib: f64,
    /// The time that each KiB adds to a write.
    #[serde(default)]
    pub write_us_per_kib: f64,
}

/// A write-back cache.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CacheProfile {
    /// The size of the cache; `"0"` for no cache.
    #[serde(deserialize_with = "size")]
    pub size: String,
    /// The share of dirty data at which destaging to flash begins; with 0, at once.
    #[serde(default)]
    pub destage_above: f64,
    /// The share of dirty data at which destaging ends.
    #[serde(default)]
    pub destage_below: f64,
    /// The latency of an access; the cache serves one access at a time.
    #[serde(default)]
    pub access_us: f64,
    /// The rate of the cache's memory, whose transfer time is added to `access_us`; unbounded by default.
    pub mb_per_s: Option<f64>,
    /// The size of a row of the memory. Longer requests use two rows at a time and take half the time per byte; by
    /// default, no requests do.
    #[serde(default, deserialize_with = "optional_size")]
    pub row: Option<String>,
    /// Whether the cache loses its contents without power. If so, a flush takes until all data written before it are on
    /// flash; otherwise, it takes no time.
    #[serde(default)]
    pub volatile: bool,
    /// The amount of data on its way to flash above which further writes wait. If set, these data take no space in the
    /// cache; otherwise they do, and the size of the cache is the limit.
    #[serde(default, deserialize_with = "optional_size")]
    pub in_flight: Option<String>,
    /// A page that is written again within this time stays in the cache; with 0, it goes to flash each time.
    #[serde(default)]
    pub hold_ms: f64,
    /// The share of the cache that pages held by `hold_ms` may fill; beyond it, the least recently written page goes to
    /// flash.
    #[serde(default = "half")]
    pub hold_share: f64,
}

fn half() -> f64 {
    0.5
}

fn one() -> u32 {
    1
}

/// A size: text with a unit, or a number of bytes.
fn size<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a size, such as \"4KiB\"")]
    enum Size {
        Text(String),
        Bytes(u64),
    }
    Ok(match Size::deserialize(from)? {
        Size::Text(text) => text,
        Size::Bytes(bytes) => bytes.to_string(),
    })
}

/// A size in a key that may be left out.
fn optional_size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    size(from).map(Some)
}
