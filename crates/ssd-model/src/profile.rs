//! The parameters of an SSD and of the driver in front of it.

mod check;
mod data_sheet;
mod flash;
mod host;
mod limits;
mod load;

use iosonar_device::{NoProfile, Provenance};
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

/// The profiles that are built in, by name.
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

/// Why a profile is refused.
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
        /// What is wrong.
        message: String,
    },
    /// The scenario changes a value that the profile does not have.
    #[error("[ssd] over the profile '{origin}': {message}")]
    Changes {
        /// The name of the profile.
        origin: String,
        /// What is wrong.
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
    /// Under which name it was found.
    #[serde(skip)]
    pub name: String,
    /// The device in a few words.
    pub description: String,
    /// What stands behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The data sheet that it follows from, if it does.
    #[serde(skip)]
    pub data_sheet: Option<DataSheet>,
    /// How the host submits requests.
    pub interface: Interface,
    /// The CPU time of the driver.
    pub driver: DriverProfile,
    /// The ring of descriptors; of the interface `"block-queue"`.
    #[serde(default)]
    pub block_queue: BlockQueueProfile,
    /// The queue pairs; of the interface `"nvme"`.
    #[serde(default)]
    pub nvme: NvmeProfile,
    /// Between host and device.
    pub pcie: PcieProfile,
    /// What understands commands.
    pub controller: ControllerProfile,
    /// What lies behind the controller.
    pub storage: Storage,
    /// Memory that answers at once; of the storage `"dram"`.
    pub dram: Option<DramProfile>,
    /// NAND flash; of the storage `"flash"`.
    pub flash: Option<FlashProfile>,
    /// One exponential service for a block, whatever its size; of the storage `"exponential"`.
    pub exponential: Option<ExponentialProfile>,
    /// Service times as they were measured; of the storage `"measured"`.
    pub measured: Option<MeasuredProfile>,
    /// A cache for writes in the device's memory, in front of flash.
    pub cache: Option<CacheProfile>,
    /// The part of the page map that is in the device's memory; all of it if it is missing.
    pub mapping_cache: Option<MappingCacheProfile>,
    /// What is let through to the device.
    pub limits: Option<LimitsProfile>,
}

/// The part of the page map that is in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MappingCacheProfile {
    /// How many entries it holds, one for each logical page; 0: all of the map is in memory.
    pub entries: u32,
    /// How many entries a flash page of the map holds.
    pub entries_per_page: u32,
    /// How much of it is read for an entry.
    pub read_bytes: u32,
    /// Whether what writes have changed goes back to flash when an entry leaves the memory: all changed entries of its
    /// page of the map, with the rest of that page, which is read first. The map takes spare room then.
    #[serde(default)]
    pub write_back: bool,
}

/// What lies behind the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// Channels of memory.
    Dram,
    /// Channels of flash dies under a page-mapped translation layer.
    Flash,
    /// A server of blocks.
    Exponential,
    /// Servers of commands whose times were measured.
    Measured,
}

/// The controller of the device.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerProfile {
    /// Until a command is understood and its transfer started (`t_cmd`).
    pub command_us: f64,
    /// The same of a command that writes; `command_us` if it is missing.
    pub write_command_us: Option<f64>,
    /// How many commands it handles in parallel.
    #[serde(default = "one")]
    pub commands: u32,
    /// Until a return of descriptors is started.
    #[serde(default)]
    pub return_us: f64,
    /// The probability that a descriptor comes back with an error.
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
    /// How many work in parallel; 4 KiB units lie on them in turn.
    pub channels: u32,
    /// The access to 4 KiB for a read.
    pub read_us: f64,
    /// The access to 4 KiB for a write.
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

/// Servers of commands whose times were measured, as `calibrate` writes them.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredProfile {
    /// The capacity.
    #[serde(deserialize_with = "size")]
    pub capacity: String,
    /// How many commands it serves in parallel; the others wait, first come, first served.
    pub channels: u32,
    /// Quantiles of the time of reads: probabilities from 0 to 1, ascending, and microseconds.
    pub read_quantiles: Vec<(f64, f64)>,
    /// Quantiles of the time of writes, in the same form.
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
    /// Its size; `"0"` for no cache.
    #[serde(deserialize_with = "size")]
    pub size: String,
    /// The share of it that is dirty when writing to flash begins; 0: at once.
    #[serde(default)]
    pub destage_above: f64,
    /// The share down to which it goes on then.
    #[serde(default)]
    pub destage_below: f64,
    /// The time of an access, one at a time.
    #[serde(default)]
    pub access_us: f64,
    /// The rate of the cache's memory: what an access takes beyond `access_us`. Unbounded if it is missing.
    pub mb_per_s: Option<f64>,
    /// Requests that are longer than this use two rows of the memory at a time: half the time for each byte. None do if
    /// it is missing.
    #[serde(default, deserialize_with = "optional_size")]
    pub row: Option<String>,
    /// Whether it loses its contents without power: a flush then takes until all that was written is on flash. Else it
    /// costs nothing.
    #[serde(default)]
    pub volatile: bool,
    /// How much may be on its way to flash before further writes wait. It takes no room in the cache then; if it is missing, it does, and the cache's size is the limit.
    #[serde(default, deserialize_with = "optional_size")]
    pub in_flight: Option<String>,
    /// A page that is written again within this time stays in the cache; 0: it goes to flash each time.
    #[serde(default)]
    pub hold_ms: f64,
    /// The share of the cache that may hold such pages: beyond it, the least recently written one goes to flash.
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
