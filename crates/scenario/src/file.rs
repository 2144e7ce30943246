//! What may be written in a scenario file.

mod array;
mod controller;
mod device;
mod disk;
mod keys;
mod load;
mod md;
mod size;

use toml::Spanned;

pub(crate) use array::*;
pub use controller::ControllerLike;
pub(crate) use controller::{ControllerDefaults, ControllerFile};
pub(crate) use device::*;
pub(crate) use disk::*;
pub(crate) use keys::Key;
use keys::table_of_keys;
pub(crate) use load::*;
pub(crate) use md::*;
pub(crate) use size::*;

table_of_keys! {
    /// A scenario as it is written. Everything optional has a default, which [`crate::Prepared`]
    /// fills in.
    pub struct ScenarioFile {
        /// the seed for all random numbers
        #[default = "1"]
        #[comment = "seed for all random numbers"]
        pub seed: Option<u64>,
        /// number of independent runs
        #[default = "1"]
        #[comment = "independent runs"]
        pub replications: Option<Spanned<u32>>,
        /// number of requests at the beginning of each run that are not measured: [the
        /// window](simulate.md#what-is-measured) begins with the next request; `"auto"` determines the number from a
        /// pilot run (MSER-5)
        #[default = "0"]
        #[comment = "initial requests excluded from the measurement"]
        pub warmup_requests: Option<Spanned<toml::Value>>,
        /// The load of the simulation. Optional if a trace is given on the command line.
        #[table = "[load]"]
        pub load: Option<LoadFile>,
        /// The array. Optional with `[ssd]`: without it, the scenario has one SSD.
        #[serde(default = "ArrayFile::of_one")]
        #[table = "[array]"]
        pub array: ArrayFile,
        /// The controller between the host and the disks.
        #[table = "[controller]"]
        pub controller: Option<ControllerFile>,
        /// The rebuild of failed disks on hot spares.
        #[table = "[rebuild]"]
        pub rebuild: Option<RebuildFile>,
        /// Events that affect the devices during a run.
        #[serde(default)]
        #[table = "[[event]]"]
        pub event: Vec<EventFile>,
        /// The disks of the array ...
        #[table = "[disk]"]
        pub disk: Option<DiskFile>,
        /// ... or its SSDs: the name of a profile, and values that override those of the profile ...
        #[table = "[ssd]"]
        pub ssd: Option<toml::Table>,
        /// ... or devices of a registered model.
        #[table = "[device]"]
        pub device: Option<DeviceFile>,
    }
}
