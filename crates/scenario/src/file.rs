//! What may be written in a scenario file.

mod array;
mod disk;
mod load;

use serde::Deserialize;
use toml::Spanned;

pub(crate) use array::*;
pub(crate) use disk::*;
pub(crate) use load::*;

/// A scenario as it is written. Everything optional has a default, which [`crate::Prepared`]
/// fills in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Where all randomness comes from; 1 if it is not given.
    pub seed: Option<u64>,
    /// How many independent runs; 1 if it is not given.
    pub replications: Option<Spanned<u32>>,
    /// How many requests at the beginning of each run are left out of the statistics: a number, or
    /// `"auto"`, which asks a run of its own (MSER-5). None if it is not given.
    pub warmup_requests: Option<Spanned<toml::Value>>,
    /// What drives the simulation. May be missing where a trace is given on the command line.
    pub load: Option<LoadFile>,
    /// The array; of SSDs it may be missing: then there is one.
    #[serde(default = "ArrayFile::of_one")]
    pub array: ArrayFile,
    /// What lies between the host and the disks.
    pub controller: Option<ControllerFile>,
    /// The rebuild of lost disks to hot spares.
    pub rebuild: Option<RebuildFile>,
    /// The disks under it, all alike ...
    pub disk: Option<DiskFile>,
    /// ... or the SSDs: the name of a profile, and values in place of its own.
    pub ssd: Option<toml::Table>,
}
