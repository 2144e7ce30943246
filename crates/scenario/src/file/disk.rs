//! The table `[disk]`.

use iosonar_disk_model::{DataSheet, RpoCount, Zoning};
use toml::Spanned;

use super::table_of_keys;
use crate::words::Given;

table_of_keys! {
    /// The table `[disk]`.
    pub struct DiskFile {
        /// a built-in profile, or a `.toml` file
        pub profile: Option<String>,
        /// instead of a profile: what a data sheet says of the drive
        #[table = "[disk.from_data_sheet]"]
        pub from_data_sheet: Option<DataSheet>,
        /// `"positional"` (with arm and rotation) or `"sampled"` (every position is random, as in the literature)
        #[default = "positional if requests have addresses and the profile has a geometry; otherwise, and for profiles from papers, sampled"]
        pub model: Option<DiskModelName>,
        /// `"fcfs"`; for sampled disks also `"rpo"`; for positional disks also `"sstf"`, `"look"`, `"c-look"`, `"sptf"`
        #[default = "the drive's, or fcfs"]
        pub scheduler: Option<Spanned<SchedulerName>>,
        /// for positional disks, the number of jobs from which the disk chooses the next one
        #[default = "the drive's, or no limit"]
        #[comment = "number of jobs that the disk chooses from"]
        pub queue_depth: Option<Spanned<usize>>,
        /// for positional disks, the waiting time after which a job takes precedence over all others
        #[default = "2 000 for SSTF and SPTF, else no limit"]
        #[comment = "wait after which a job is served next"]
        pub most_wait_ms: Option<Spanned<f64>>,
        /// for positional disks, whether the buffer of the profile's drive is simulated
        #[default = "the profile's"]
        #[comment = "whether the buffer is simulated"]
        pub buffer: Option<Spanned<bool>>,
        /// for positional disks, whether writes complete in the drive's buffer
        #[default = "the profile's"]
        #[comment = "whether writes complete in the buffer"]
        pub write_back: Option<Spanned<bool>>,
        /// for RPO, whether the number of waiting jobs includes the one that starts: `"including"` or `"excluding"`
        #[default = "including"]
        #[comment = "whether the job that starts is counted"]
        pub rpo_count: Option<Given<RpoCount>>,
        /// for RPO, the maximum number of draws of a positioning time
        #[default = "no limit"]
        #[comment = "maximum number of positioning times drawn"]
        pub rpo_most: Option<Spanned<usize>>,
        /// what changes linearly from the outermost to the innermost cylinder: the sectors per track
        /// (`"sectors-per-track-linear"`) or the time per sector (`"time-per-sector-linear"`)
        #[default = "the profile's"]
        #[comment = "what changes from outer to inner cylinders"]
        pub zoning: Option<Given<Zoning>>,
        /// Disks of other kinds.
        #[serde(default)]
        #[table = "[[disk.other]]"]
        pub other: Vec<OtherDisksFile>,
    }
}

table_of_keys! {
    /// An entry `[[disk.other]]`.
    pub struct OtherDisksFile {
        /// which disks, from 0; spares follow those of the array
        #[comment = "numbers of these disks"]
        pub disks: Spanned<Vec<usize>>,
        /// their profile
        pub profile: String,
    }
}

/// How a disk comes to the place of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskModelName {
    /// Every place is random.
    Sampled,
    /// By the arm and the angle of the platter.
    Positional,
}

/// What a disk does with the jobs that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
