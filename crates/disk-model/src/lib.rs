//! Zoned disks.
//!
//! A disk turns at constant speed; outer tracks hold more sectors than inner ones. The *sampled*
//! model of the papers knows no positions: every access is to a random sector, so its seek
//! distance, its rotational latency and its zone are random, each drawn from its exact
//! distribution.
//!
//! - [`DiskProfile`]: the parameters of a drive, from a TOML file or built in;
//! - [`SeekCurve`] and [`SeekDistance`]: how long a seek takes, and how far it goes;
//! - [`ZoneLaw`]: how fast data pass under the head;
//! - [`SampledDisk`]: positioning and transfer times from these, FCFS or with RPO. In a
//!   [`Station`](iosonar_device::Station) it is a device for an array.
//!
//! The *positional* model has a real head: [`Geometry`] says where sectors lie, and [`PositionalDisk`]
//! moves its arm there, with FCFS, SSTF, LOOK, C-LOOK or SPTF.
//!
//! Source: Lebrecht, Dingle, Knottenbelt, "Modelling Zoned RAID Systems using Fork-Join Queueing
//! Simulation", EPEW 2009; Zertal and Harrison 2007 for seek and rotation.

mod ahead;
mod bands;
mod bus;
mod cache;
mod command;
pub mod disksim;
mod drive;
mod extents;
mod geometry;
mod mechanics;
mod media;
mod positional;
mod profile;
mod sampled;
mod seek;
mod segment;
mod service;
mod sheet_test;
mod shingles;
mod sparing;
mod sptf;
mod zone;
mod zone_index;

pub use geometry::{Geometry, HeadOrder, Place, TrackSpan};
pub use mechanics::Mechanics;
pub use positional::{ArmScheduler, PositionalDisk, Queueing};
pub use profile::{
    Arrival, BUILT_IN, BandCleaning, BusProfile, CachePlace, CacheProfile, DataSheet, DiskProfile,
    ExtraDisconnect, GeometryProfile, LayoutProfile, LayoutZone, OverheadsProfile, ProfileError,
    QueueProfile, ReadAhead, Requested, SeekLaw, SeekPoints, SeekProfile, ShingledProfile,
    TransferProfile, WaterMarkOf, ZoneProfile,
};
pub use sampled::{DiskLaws, SampledDisk};
pub use seek::{SeekCurve, SeekCurves, SeekDistance};
pub use service::{RpoCount, Scheduler};
pub use sparing::Sparing;
pub use zone::{ZoneLaw, Zoning};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
