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
        /// independent runs
        #[default = "1"]
        #[comment = "independent runs"]
        pub replications: Option<Spanned<u32>>,
        /// requests at the beginning of each run that are not measured: [the window](simulate.md#what-is-measured)
        /// begins with the next one; `"auto"` determines it from a pilot run (MSER-5)
        #[default = "0"]
        #[comment = "requests at the start that are not measured"]
        pub warmup_requests: Option<Spanned<toml::Value>>,
        /// What drives the simulation. May be missing where a trace is given on the command line.
        #[table = "[load]"]
        pub load: Option<LoadFile>,
        /// The array; of SSDs it may be missing: then there is one.
        #[serde(default = "ArrayFile::of_one")]
        #[table = "[array]"]
        pub array: ArrayFile,
        /// What lies between the host and the disks.
        #[table = "[controller]"]
        pub controller: Option<ControllerFile>,
        /// The rebuild of lost disks to hot spares.
        #[table = "[rebuild]"]
        pub rebuild: Option<RebuildFile>,
        /// What happens to devices during a run.
        #[serde(default)]
        #[table = "[[event]]"]
        pub event: Vec<EventFile>,
        /// The disks under it, all alike ...
        #[table = "[disk]"]
        pub disk: Option<DiskFile>,
        /// ... or the SSDs: the name of a profile, and values in place of its own.
        #[table = "[ssd]"]
        pub ssd: Option<toml::Table>,
        /// ... or devices of a registered model.
        #[table = "[device]"]
        pub device: Option<DeviceFile>,
    }
}
