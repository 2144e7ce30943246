//! The table `[disk]`.

use iosonar_disk_model::{RpoCount, Zoning};
use serde::Deserialize;
use toml::Spanned;

use crate::words::Given;

/// The table `[disk]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskFile {
    /// The name of a built-in profile, or a `.toml` file relative to the scenario file.
    pub profile: String,
    /// `"sampled"` (the papers'; the default) or `"positional"` (with an arm and an angle).
    pub model: Option<DiskModelName>,
    /// `"fcfs"` (the default); `"rpo"` of the sampled model; `"sstf"`, `"look"`, `"c-look"` or `"sptf"` of
    /// the positional one.
    pub scheduler: Option<Spanned<SchedulerName>>,
    /// Among how many waiting jobs the positional model chooses.
    pub queue_depth: Option<Spanned<usize>>,
    /// A job that has waited for longer is served at once.
    pub most_wait_ms: Option<Spanned<f64>>,
    /// Which waiting jobs the draws of RPO are counted by.
    pub rpo_count: Option<Given<RpoCount>>,
    /// No more draws of RPO than this.
    pub rpo_most: Option<Spanned<usize>>,
    /// What changes evenly from the outermost cylinder to the innermost, in place of what the profile
    /// says.
    pub zoning: Option<Given<Zoning>>,
    /// Disks of other kinds.
    #[serde(default)]
    pub other: Vec<OtherDisksFile>,
}

/// An entry `[[disk.other]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherDisksFile {
    /// Which disks, from 0; spares follow those of the array.
    pub disks: Spanned<Vec<usize>>,
    /// Their profile.
    pub profile: String,
}

/// How a disk comes to the place of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiskModelName {
    /// Every place is random.
    Sampled,
    /// By the arm and the angle of the platter.
    Positional,
}

/// What a disk does with the jobs that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulerName {
    /// First come, first served.
    Fcfs,
    /// Rotational positioning optimisation.
    Rpo,
    /// The shortest seek.
    Sstf,
    /// Back and forth.
    Look,
    /// Inwards, and back to the outermost.
    CLook,
    /// The shortest positioning.
    Sptf,
}
