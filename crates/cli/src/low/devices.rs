//! Commands around real devices, other than a replay itself.

#![allow(clippy::doc_markdown)] // The texts of the help.

use std::path::PathBuf;

use clap::Args;
use iosonar_units::{Bytes, Nanos};

use super::ReadArgs;

#[derive(Args, Debug)]
pub(crate) struct Record {
    /// The block devices, or partitions, to record
    #[arg(required = true, value_name = "DEV")]
    pub(crate) devices: Vec<PathBuf>,
    /// Where the requests go, with latencies, in the format of its name
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    /// End after this time [default: at Ctrl-C]
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<Nanos>,
    /// End after so many requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// End when the output is about this large
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// The kernel's buffer for each processor
    #[arg(long, value_name = "SIZE", default_value = "8MiB")]
    pub(crate) buffer: Bytes,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// What was wanted: a load, or the records of a replay
    #[arg(value_name = "WANTED")]
    pub(crate) wanted: PathBuf,
    /// What was done: the records of a replay, or a recording
    #[arg(value_name = "DONE")]
    pub(crate) done: PathBuf,
    /// Read and change DONE like WANTED, such as with --from (--lenient is for both in any case)
    #[arg(long)]
    pub(crate) both: bool,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// How WANTED is read and changed: as in the replay (--lenient is for DONE as well)
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// The log that a replay with --keep-tables left
    #[arg(value_name = "TABLES")]
    pub(crate) tables: PathBuf,
    /// The block device or file that was written to
    #[arg(long, value_name = "DEV")]
    pub(crate) target: PathBuf,
    /// The machine or the target lost power: only what a flush, FUA or a write-through device made
    /// durable must be there
    #[arg(long)]
    pub(crate) after_crash: bool,
    /// Read through the page cache
    #[arg(long)]
    pub(crate) no_direct: bool,
    /// Where tables go that outgrow --table-memory [default: the system's folder for such files]
    #[arg(long, value_name = "DIR")]
    pub(crate) table_dir: Option<PathBuf>,
    /// How much memory the tables may take
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub(crate) table_memory: Bytes,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Targets {
    /// Only these [default: all block devices]
    #[arg(value_name = "DEV")]
    pub(crate) devices: Vec<PathBuf>,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Prepare {
    /// What is to be done: fill (write random data all over) or slurp (read everything once)
    #[arg(value_name = "WHAT", value_parser = ["fill", "slurp"])]
    pub(crate) what: String,
    /// The block device or file
    #[arg(long, value_name = "DEV")]
    pub(crate) target: PathBuf,
    /// Fill: what is on the target is lost
    #[arg(long)]
    pub(crate) write: bool,
    /// With --write: the content of this target may be destroyed
    #[arg(long, value_name = "DEV")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Fill: how much of each page compresses to nothing, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) compressible: u8,
    /// Go through the page cache
    #[arg(long)]
    pub(crate) no_direct: bool,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
