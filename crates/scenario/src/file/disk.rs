//! The table `[disk]`.

use iosonar_disk_model::Zoning;
use serde::Deserialize;
use toml::Spanned;

/// The table `[disk]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskFile {
    /// The name of a built-in profile, or a `.toml` file relative to the scenario file.
    pub profile: String,
    /// `"fcfs"` (the default) or `"rpo"`.
    pub scheduler: Option<SchedulerName>,
    /// Which waiting jobs the draws of RPO are counted by.
    pub rpo_count: Option<RpoCountName>,
    /// No more draws of RPO than this.
    pub rpo_most: Option<Spanned<usize>>,
    /// What changes evenly from the outermost cylinder to the innermost, in place of what the profile
    /// says.
    pub zoning: Option<Zoning>,
}

/// Which waiting jobs the draws of RPO are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RpoCountName {
    /// All, the one that starts included.
    Including,
    /// Those that go on waiting.
    Excluding,
}

/// What a disk does with the jobs that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchedulerName {
    /// First come, first served.
    Fcfs,
    /// Rotational positioning optimisation.
    Rpo,
}
