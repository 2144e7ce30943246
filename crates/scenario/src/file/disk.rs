//! The table `[disk]`.

use iosonar_disk_model::{DataSheet, RpoCount, Zoning};
use toml::Spanned;

use super::table_of_keys;
use crate::words::Given;

table_of_keys! {
    /// The table `[disk]`.
    pub struct DiskFile {
        /// name of a built-in profile, or path of a `.toml` file
        pub profile: Option<String>,
        /// figures from the data sheet of the drive, instead of a profile
        #[table = "[disk.from_data_sheet]"]
        pub from_data_sheet: Option<DataSheet>,
        /// how positioning is modelled: `"positional"` (with arm and rotation) or `"sampled"` (every position is
        /// random, as in the literature)
        #[default = "positional if requests have addresses and the profile has a geometry and is not from a paper; otherwise sampled"]
        pub model: Option<DiskModelName>,
        /// the order in which a disk serves waiting jobs: `"fcfs"`; for sampled disks also `"rpo"`; for positional
        /// disks also `"sstf"`, `"look"`, `"c-look"`, `"sptf"`
        #[default = "the drive's, or fcfs"]
        pub scheduler: Option<Spanned<SchedulerName>>,
        /// for positional disks, the number of jobs from which the disk chooses the next one
        #[default = "the drive's, or no limit"]
        #[comment = "number of jobs that the disk chooses from"]
        pub queue_depth: Option<Spanned<usize>>,
        /// for positional disks, the waiting time after which a job takes precedence over all others
        #[default = "2 000 for SSTF and SPTF, else no limit"]
        #[comment = "wait after which a job takes precedence"]
        pub most_wait_ms: Option<Spanned<f64>>,
        /// for positional disks, whether to simulate the drive's buffer as described in the profile
        #[default = "the profile's"]
        #[comment = "whether the buffer is simulated"]
        pub buffer: Option<Spanned<bool>>,
        /// for positional disks, whether writes complete when their data are in the drive's buffer
        #[default = "the profile's"]
        #[comment = "whether writes complete in the buffer"]
        pub write_back: Option<Spanned<bool>>,
        /// for RPO, whether the number of waiting jobs includes the job that starts: `"including"` or `"excluding"`
        #[default = "including"]
        #[comment = "whether the starting job counts as waiting"]
        pub rpo_count: Option<Given<RpoCount>>,
        /// for RPO, the maximum number of positioning times to draw for a job
        #[default = "no limit"]
        #[comment = "maximum number of positioning times drawn"]
        pub rpo_most: Option<Spanned<usize>>,
        /// which quantity changes linearly from the outermost to the innermost cylinder: the sectors per track
        /// (`"sectors-per-track-linear"`) or the time per sector (`"time-per-sector-linear"`)
        #[default = "the profile's"]
        #[comment = "what varies linearly across the cylinders"]
        pub zoning: Option<Given<Zoning>>,
        /// Disks with other profiles.
        #[serde(default)]
        #[table = "[[disk.other]]"]
        pub other: Vec<OtherDisksFile>,
    }
}

table_of_keys! {
    /// An entry `[[disk.other]]`.
    pub struct OtherDisksFile {
        /// numbers of the disks, counted from 0; the spares are numbered after the disks of the array
        #[comment = "numbers of these disks"]
        pub disks: Spanned<Vec<usize>>,
        /// the profile of these disks
        pub profile: String,
    }
}

/// How a disk positions itself for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskModelName {
    /// Every position is random.
    Sampled,
    /// The arm and the angle of the platter are simulated.
    Positional,
}

/// The order in which a disk serves waiting jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerName {
    /// First come, first served.
    Fcfs,
    /// Rotational positioning optimisation.
    Rpo,
    /// The shortest seek.
    Sstf,
    /// Back and forth across the cylinders.
    Look,
    /// Inwards only, then back to the outermost waiting job.
    CLook,
    /// The shortest positioning time.
    Sptf,
}
