//! What can be typed about traces: convert, info, analyze, generate, formats.

use std::path::PathBuf;

use clap::Args;
use iosonar_trace::WriteOptions;
use iosonar_units::Nanos;

use super::ReadArgs;

#[derive(Args, Debug)]
pub(crate) struct Convert {
    /// The traces to read, - for standard input; several are merged by time
    #[arg(required = true, value_name = "IN")]
    pub(crate) inputs: Vec<PathBuf>,
    /// The trace to write (.ios, .load, .csv, .jsonl, .fio, with .gz or .zst compressed), - for standard
    /// output. Several outputs get their part's name before the ending
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) writing: WriteArgs,
    /// Put the inputs one behind the other, instead of merging them
    #[arg(long, conflicts_with = "adjacent")]
    pub(crate) paste: bool,
    /// Put the inputs side by side on one target: each at sectors of its own, times kept
    #[arg(long)]
    pub(crate) adjacent: bool,
    /// Cut the inputs, pasted together, into pieces, and deal the pieces, heaviest first, to --parts outputs
    #[arg(long, conflicts_with_all = ["adjacent", "split"])]
    pub(crate) derive: bool,
    /// With --derive: how long a piece is
    #[arg(long, value_name = "TIME", default_value = "300s", requires = "derive")]
    pub(crate) piece: Nanos,
    /// With --derive: how many outputs
    #[arg(long, value_name = "N", default_value_t = 1, requires = "derive", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) parts: u16,
    /// Write an output for each device, operation, or range of sectors (range=SECTORS)
    #[arg(long, value_name = "BY", value_parser = split)]
    pub(crate) split: Option<Split>,
    /// Print nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

/// What a trace is split by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    Device,
    Op,
    /// Ranges of so many sectors.
    Range(u64),
}

fn split(text: &str) -> Result<Split, String> {
    match text.split_once('=') {
        None if text == "device" => Ok(Split::Device),
        None if text == "op" => Ok(Split::Op),
        Some(("range", sectors)) if sectors.parse().is_ok_and(|n: u64| n > 0) => {
            Ok(Split::Range(sectors.parse().unwrap_or(1)))
        }
        _ => Err("expected device, op, or range=SECTORS".to_owned()),
    }
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Writing traces")]
pub(crate) struct WriteArgs {
    /// The output's format, instead of what its name says
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Leave out requests that the format cannot hold, and count them
    #[arg(long)]
    lossy: bool,
    /// fio: the file that all requests go to [default: the device's name]
    #[arg(long, value_name = "NAME")]
    fio_file: Option<String>,
    /// fio: write version 2 of the log, for fio before 3.31
    #[arg(long)]
    fio_v2: bool,
}

impl WriteArgs {
    pub(crate) fn options(&self) -> WriteOptions {
        WriteOptions {
            format: self.to.clone(),
            lossy: self.lossy,
            fio_file: self.fio_file.clone(),
            fio_v2: self.fio_v2,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Formats {
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
