//! SSDs with the driver in front of them.
//!
//! - [`SsdProfile`]: what a device and its driver take, as a TOML file; [`Parameters`]: the same, checked.
//! - [`AnySsd`]: the simulation, a [`Device`](iosonar_device::Device) for an array: the adaptive block queue or NVMe
//!   queue pairs, a controller, PCIe transfers, and behind them memory, or flash with a write cache.
//! - [`ftl`]: the translation layer of flash, without time.
//!
//! Source: Bougioukou, Ntalla, Palli, Varsamou, Antonakopoulos, "Prototyping and Performance Evaluation of a
//! Dynamically Adaptable Block Device Driver for PCIe-based SSDs" (2014), for the block queue.

mod cache;
mod flash;
pub mod ftl;
mod limits;
mod mapping_cache;
mod measured;
mod parameters;
mod profile;
mod servers;
mod sheet_test;
mod ssd;
mod stages;

pub use cache::CacheCounts;
pub use flash::{FlashCounts, Joined, Wear};
pub use limits::LimitCounts;
pub use mapping_cache::MappingCacheParameters;
pub use parameters::*;
pub use profile::*;
pub use ssd::{AnySsd, Conservation, SsdReport, Station, StationKind};
pub use stages::Stage;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
