//! What can be typed about traces: convert, info, analyze, generate, formats.

use std::path::PathBuf;

use clap::Args;
use iosonar_analysis::{ActivityOptions, By, LoadOptions, MeasureOptions};
use iosonar_trace::convert::{Conversion, Split};
use iosonar_trace::input::Combine;
use iosonar_trace::transform::Window;
use iosonar_trace::{Reading, WriteOptions};
use iosonar_units::{Bytes, Nanos};

use super::{OutputArgs, QuietArgs, ReadArgs};

#[derive(Args, Debug)]
pub(crate) struct Convert {
    /// The traces to read, merged by time (- for standard input)
    #[arg(required = true, value_name = "IN")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Write to this file; its ending selects the format
    ///
    /// The endings are .ios, .load, .csv, .jsonl, .fio, .parquet and .arrow ('iosonar formats' lists all). Add .gz or .zst
    /// to the ending of a text format to compress the output; - is standard output. If the command writes several outputs,
    /// the name of each part is inserted before the ending.
    #[arg(
        short,
        long,
        help_heading = "Conversion",
        alias = "output",
        value_name = "OUT"
    )]
    pub(crate) out: PathBuf,
    /// Concatenate the inputs in time instead of merging them
    #[arg(long, help_heading = "Conversion", conflicts_with = "adjacent")]
    pub(crate) paste: bool,
    /// Place the inputs and their devices side by side; keep the times
    ///
    /// Each input gets its own range of sectors.
    #[arg(long, help_heading = "Conversion")]
    pub(crate) adjacent: bool,
    /// Distribute pieces of the inputs over --parts outputs
    ///
    /// The inputs are joined and cut into pieces of --piece. The outputs receive the pieces in turn, those with the
    /// most requests first. The incomplete last piece is dropped.
    #[arg(long, help_heading = "Conversion", conflicts_with_all = ["adjacent", "split"])]
    pub(crate) derive: bool,
    /// Cut pieces of this length, for --derive
    #[arg(
        long,
        help_heading = "Conversion",
        value_name = "TIME",
        default_value = "300s",
        requires = "derive"
    )]
    pub(crate) piece: Nanos,
    /// Write N outputs, for --derive
    #[arg(long, help_heading = "Conversion", value_name = "N", default_value_t = 1, requires = "derive", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) parts: u16,
    /// Write one output per device, op, or range=SECTORS
    #[arg(long, help_heading = "Conversion", value_name = "BY", value_parser = split)]
    pub(crate) split: Option<Split>,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    #[command(flatten)]
    pub(crate) output: QuietArgs,
    #[command(flatten)]
    pub(crate) writing: WriteArgs,
}

impl Convert {
    /// How the inputs are combined.
    pub(crate) fn conversion(&self) -> Conversion {
        let combine = match (self.paste, self.adjacent) {
            (true, _) => Combine::Paste,
            (_, true) => Combine::Adjacent,
            _ => Combine::Merge,
        };
        match (self.derive, self.split) {
            (true, _) => Conversion::Derive {
                piece: self.piece,
                parts: usize::from(self.parts),
            },
            (_, Some(by)) => Conversion::Split(combine, by),
            _ => Conversion::One(combine),
        }
    }
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
    /// Write this format [default: by the output's name]
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Drop and count requests that the format cannot represent
    #[arg(long)]
    lossy: bool,
    /// Use this file name in fio logs [default: the device's name]
    #[arg(long, value_name = "NAME")]
    fio_file: Option<String>,
}

impl WriteArgs {
    pub(crate) fn options(&self) -> WriteOptions {
        WriteOptions {
            format: self.to.clone(),
            lossy: self.lossy,
            fio_file: self.fio_file.clone(),
            ..WriteOptions::default()
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Formats {
    /// Print the results as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Info {
    /// The traces (- for standard input)
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Analyze {
    /// The traces, each measured separately (- for standard input)
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Measure the inputs as one trace, merged by time
    #[arg(long, help_heading = "Measurement")]
    pub(crate) merge: bool,
    /// Average rates over windows of this width
    #[arg(long, help_heading = "Measurement", value_name = "TIME", default_value = "1s", value_parser = above_zero)]
    pub(crate) window: Nanos,
    /// Report disk activity in periods of TIME
    #[arg(long, help_heading = "Disk activity", value_name = "TIME", default_value = "20min", value_parser = above_zero)]
    pub(crate) group: Nanos,
    /// Count requests in the same interval of TIME as concurrent
    #[arg(long, help_heading = "Disk activity", value_name = "TIME", default_value = "2ms", value_parser = above_zero)]
    pub(crate) interval: Nanos,
    /// Count I/O in blocks of SIZE
    #[arg(long, help_heading = "Disk activity", alias = "bs", value_name = "SIZE", default_value = "8KiB", value_parser = whole_sectors)]
    pub(crate) block: Bytes,
    /// Set the peak hours [default: the busiest four periods in a row]
    #[arg(long, help_heading = "Disk activity", value_name = "A..B")]
    pub(crate) peak: Option<Window>,
    /// Add a breakdown by device, op or size
    ///
    /// The additional table has a row for each device, operation or size.
    #[arg(long, help_heading = "Measurement", value_name = "BY", hide_possible_values = true, value_parser = ["device", "op", "size"])]
    pub(crate) by: Option<String>,
    /// Sample pages if counting all of them needs more than SIZE of memory
    #[arg(
        long,
        help_heading = "Measurement",
        value_name = "SIZE",
        default_value = "100MiB"
    )]
    pub(crate) memory: Bytes,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    /// Write time series and distributions as CSV into this folder
    #[arg(long, help_heading = "Output", value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the files of --csv in this format
    ///
    /// FORMAT is csv, parquet, arrow or feather.
    #[arg(long, help_heading = "Output", value_name = "FORMAT", default_value = "csv", value_parser = super::pictures::TABLES, hide_possible_values = true)]
    pub(crate) tables: String,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

pub(super) fn above_zero(text: &str) -> Result<Nanos, String> {
    match text.parse::<Nanos>() {
        Ok(t) if t > Nanos::ZERO => Ok(t),
        Ok(_) => Err("expected a time greater than 0".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

pub(super) fn whole_sectors(text: &str) -> Result<Bytes, String> {
    match text.parse::<Bytes>() {
        Ok(size) if size.get() > 0 && size.get().is_multiple_of(512) => Ok(size),
        Ok(_) => Err("expected a multiple of 512 bytes, greater than 0".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

impl Analyze {
    /// How a trace read with these options is measured.
    pub(crate) fn options(&self, reading: &Reading) -> MeasureOptions {
        MeasureOptions {
            load: LoadOptions {
                window: self.window,
                memory: self.memory.get() as usize,
                ..LoadOptions::default()
            },
            activity: ActivityOptions {
                interval: self.interval,
                group: self.group,
                block: self.block,
                peak: self.peak.map(|peak| (peak.from, peak.until)),
            },
            by: self.by.as_deref().map(|by| match by {
                "device" => By::Device,
                "op" => By::Op,
                _ => By::Size,
            }),
            include_unsubmitted: reading.options.include_unsubmitted,
        }
    }
}
