//! What can be typed about traces: convert, info, analyze, generate, formats.

use std::path::PathBuf;

use clap::Args;
use iosonar_analysis::{ActivityOptions, By, LoadOptions, MeasureOptions};
use iosonar_trace::convert::{Conversion, Split};
use iosonar_trace::input::Combine;
use iosonar_trace::transform::Window;
use iosonar_trace::{Reading, WriteOptions};
use iosonar_units::{Bytes, Nanos};

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
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) writing: WriteArgs,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

impl Convert {
    /// What becomes of the inputs.
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
    /// The output's format, instead of what its name says
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Leave out requests that the format cannot hold, and count them
    #[arg(long)]
    lossy: bool,
    /// fio: the file that all requests go to [default: the device's name]
    #[arg(long, value_name = "NAME")]
    fio_file: Option<String>,
}

impl WriteArgs {
    pub(crate) fn options(&self) -> WriteOptions {
        WriteOptions {
            format: self.to.clone(),
            lossy: self.lossy,
            fio_file: self.fio_file.clone(),
            durable: false,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Formats {
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Info {
    /// The traces, - for standard input
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

#[derive(Args, Debug)]
pub(crate) struct Analyze {
    /// The traces, each measured for itself, - for standard input
    #[arg(required = true, value_name = "TRACE")]
    pub(crate) inputs: Vec<PathBuf>,
    /// Measure the inputs as one, merged by time
    #[arg(long)]
    pub(crate) merge: bool,
    /// The width of the windows that rates are averaged over
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = above_zero)]
    pub(crate) window: Nanos,
    /// Disk activity: the width of a group of intervals
    #[arg(long, value_name = "TIME", default_value = "20min", value_parser = above_zero)]
    pub(crate) group: Nanos,
    /// Disk activity: the width of an interval, in which active requests are concurrent
    #[arg(long, value_name = "TIME", default_value = "2ms", value_parser = above_zero)]
    pub(crate) interval: Nanos,
    /// Disk activity: the size of an I/O's block
    #[arg(long, value_name = "SIZE", default_value = "8KiB", value_parser = whole_sectors)]
    pub(crate) block: Bytes,
    /// Disk activity: the peak hours [default: the four busiest groups in a row]
    #[arg(long, value_name = "A..B")]
    pub(crate) peak: Option<Window>,
    /// A table by device, operation or size as well
    #[arg(long, value_name = "BY", value_parser = ["device", "op", "size"])]
    pub(crate) by: Option<String>,
    /// How much memory tables of pages may take before they become samples
    #[arg(long, value_name = "SIZE", default_value = "100MiB")]
    pub(crate) memory: Bytes,
    /// Write time series and distributions as CSV files into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) csv: Option<PathBuf>,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

pub(super) fn above_zero(text: &str) -> Result<Nanos, String> {
    match text.parse::<Nanos>() {
        Ok(t) if t > Nanos::ZERO => Ok(t),
        Ok(_) => Err("expected a time above zero".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

pub(super) fn whole_sectors(text: &str) -> Result<Bytes, String> {
    match text.parse::<Bytes>() {
        Ok(size) if size.get() > 0 && size.get().is_multiple_of(512) => Ok(size),
        Ok(_) => Err("expected a multiple of 512 bytes, above zero".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

impl Analyze {
    /// How a trace that is read like this is measured.
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
