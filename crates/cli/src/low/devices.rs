//! Commands around real devices, other than a replay itself.

#![allow(clippy::doc_markdown)] // The texts of the help.

use std::path::PathBuf;

use clap::Args;
use iosonar_units::{Bytes, Nanos};

use super::{OutputArgs, ReadArgs, ServeArgs};

#[derive(Args, Debug)]
pub(crate) struct Record {
    /// The block devices or partitions to record
    #[arg(required = true, value_name = "DEV")]
    pub(crate) devices: Vec<PathBuf>,
    /// Write the requests with their latencies to this trace
    ///
    /// The ending of the name selects the format.
    #[arg(
        short,
        long,
        help_heading = "Recording",
        alias = "output",
        value_name = "OUT"
    )]
    pub(crate) out: PathBuf,
    /// Stop after this time [default: at Ctrl-C]
    #[arg(
        long,
        help_heading = "Recording",
        alias = "runtime",
        value_name = "TIME"
    )]
    pub(crate) duration: Option<Nanos>,
    /// Stop after N requests
    #[arg(long, help_heading = "Recording", alias = "number_ios", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Stop when the output reaches about this size
    #[arg(long, help_heading = "Recording", value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Use a kernel buffer of SIZE per processor
    #[arg(
        long,
        help_heading = "Recording",
        value_name = "SIZE",
        default_value = "8MiB",
        value_parser = super::kernel_buffer
    )]
    pub(crate) buffer: Bytes,
    #[command(flatten)]
    pub(crate) live: ServeArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The intended requests: a load, or the records of a replay
    #[arg(value_name = "WANTED")]
    pub(crate) wanted: PathBuf,
    /// The actual requests: the records of a replay, or a recording
    #[arg(value_name = "DONE")]
    pub(crate) done: PathBuf,
    /// Apply reading and changing options to DONE as well
    ///
    /// By default, options that read or change a load apply only to WANTED. --lenient always applies to both.
    #[arg(long, help_heading = "Comparison")]
    pub(crate) both: bool,
    /// How WANTED is read and changed, as in the replay (--lenient also applies to DONE)
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// The log that a replay with --keep-tables wrote
    #[arg(value_name = "TABLES")]
    pub(crate) tables: PathBuf,
    /// Read the data from this block device or file
    #[arg(
        long,
        help_heading = "Verification",
        alias = "filename",
        value_name = "DEV"
    )]
    pub(crate) target: PathBuf,
    /// Require only durable data to be intact
    ///
    /// Data is durable if it was flushed, written with FUA, or written to a write-through device.
    #[arg(long, help_heading = "Verification")]
    pub(crate) after_crash: bool,
    /// Read through the page cache
    #[arg(long, help_heading = "Verification", alias = "no-o-direct")]
    pub(crate) no_direct: bool,
    /// Write tables that exceed --table-memory to DIR [default: /tmp]
    ///
    /// The default is the system's folder for temporary files.
    #[arg(long, help_heading = "Memory", value_name = "DIR")]
    pub(crate) table_dir: Option<PathBuf>,
    /// Use at most SIZE of memory for the tables
    #[arg(
        long,
        help_heading = "Memory",
        value_name = "SIZE",
        default_value = "1GiB"
    )]
    pub(crate) table_memory: Bytes,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Targets {
    /// The block devices to list [default: all]
    #[arg(value_name = "DEV")]
    pub(crate) devices: Vec<PathBuf>,
    /// Print the results as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Prepare {
    /// The operation
    ///
    /// 'fill' writes random data to the whole target; 'slurp' reads the whole target once.
    #[arg(value_name = "WHAT", value_parser = ["fill", "slurp"])]
    pub(crate) what: String,
    /// Prepare this block device or file
    #[arg(long, help_heading = "Target", alias = "filename", value_name = "DEV")]
    pub(crate) target: PathBuf,
    /// Allow 'fill' to overwrite the target, destroying its data
    #[arg(long, help_heading = "Target")]
    pub(crate) write: bool,
    /// Confirm that the contents of this target may be destroyed
    ///
    /// Required with --write if the target seems to hold data.
    #[arg(long, help_heading = "Target", value_name = "DEV")]
    pub(crate) destroy: Vec<PathBuf>,
    /// Write pages with this percentage of zeros (compressible)
    #[arg(long, help_heading = "Data", alias = "buffer_compress_percentage", value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) compressible: u8,
    /// Use the page cache
    #[arg(long, help_heading = "Data", alias = "no-o-direct")]
    pub(crate) no_direct: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
