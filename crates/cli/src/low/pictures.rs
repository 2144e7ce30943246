//! Options of what draws: `plot` and `report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iosonar_analysis::objective::Objectives;
use iosonar_plot::{Format, Size, Theme};
use iosonar_report::{Arrange, LookOptions, Quantity, WorkingSets};
use iosonar_units::{Bytes, Nanos, SECTOR_BYTES};

use super::named::named;
use super::traces::above_zero;
use super::{Named, ReadArgs};

#[derive(Clone, Copy, Debug, ValueEnum)]
enum QuantityName {
    /// From handing over to completion
    Latency,
    /// From the intended start to handing over
    Delay,
    /// Both together
    ResponseTime,
}

impl From<QuantityName> for Quantity {
    fn from(name: QuantityName) -> Self {
        match name {
            QuantityName::Latency => Self::Latency,
            QuantityName::Delay => Self::Delay,
            QuantityName::ResponseTime => Self::ResponseTime,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ThemeName {
    /// On white
    Light,
    /// On near-black
    Dark,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    /// Pixels
    Png,
    /// Lines and text, dense layers as an embedded picture
    Svg,
}

#[derive(Args, Debug)]
pub(crate) struct Plot {
    /// Which chart; 'all' for the whole set, --list tells the names
    #[arg(required_unless_present = "list", value_name = "CHART")]
    pub(crate) chart: Option<String>,
    /// Records of recordings, simulations, replays; NAME=FILE gives one a name
    #[arg(required_unless_present = "list", value_name = "INPUT", value_parser = named())]
    pub(crate) inputs: Vec<Named>,
    /// Tell what each chart shows and how to read it
    #[arg(long)]
    pub(crate) list: bool,
    /// The picture to write, .png or .svg [default: CHART.png]; for 'all' the folder [default: iosonar-charts]
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Draw in the terminal instead of a file
    #[arg(long, conflicts_with = "out")]
    pub(crate) terminal: bool,
    /// Write the numbers behind the chart as CSV, - for standard output; for 'all' a file for each chart, into
    /// this folder. A single chart is drawn as well only if -o says so
    #[arg(long, value_name = "OUT.csv")]
    pub(crate) data: Option<PathBuf>,
    /// For 'all': the kind of pictures
    #[arg(long, value_name = "KIND", default_value = "png")]
    pictures: FormatName,
    /// The size of a picture in pixels [default: 1280x720, higher for charts below each other]
    #[arg(long, value_name = "WxH", value_parser = size)]
    size: Option<Size>,
    /// On what it is drawn
    #[arg(long, value_name = "THEME", default_value = "light")]
    theme: ThemeName,
    /// A linear horizontal axis for curves that have a logarithmic one, such as distribution functions
    #[arg(long)]
    pub(crate) linear_x: bool,
    /// Lay points of several inputs over each other, instead of one chart below the other
    #[arg(long, conflicts_with = "merge")]
    overlay: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

/// How records are looked at.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Looking at records")]
pub(crate) struct LookArgs {
    /// Take all inputs as one, merged by time
    #[arg(long)]
    pub(crate) merge: bool,
    /// Which time sonar diagrams and distributions show
    #[arg(long, value_name = "NAME", default_value = "latency")]
    quantity: QuantityName,
    /// The width of windows of throughput [default: 3s, less for short traces]
    #[arg(long, value_name = "TIME", value_parser = above_zero)]
    window: Option<Nanos>,
    /// Disk activity: the width of a group of time
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = above_zero)]
    group: Nanos,
    /// How working sets are counted: sliding windows of all sectors, or as graph.sh does
    #[arg(long, value_name = "HOW", default_value = "sliding", value_parser = ["sliding", "tumbling,first"])]
    ws: String,
    /// What must hold, drawn as a line: mean, p50, p99, p99.9, ... of all response times, or of 'read' or 'write' and
    /// of 'latency' or 'delay', as in 'read p99 < 20ms'; or 'throughput > 200'; several with commas between
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<Objectives>,
    /// Draw a limit for latencies, and report whether it was kept [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = above_zero)]
    bad_latency: Option<Nanos>,
    /// Draw a limit for delays, and report whether it was kept [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = above_zero)]
    bad_delay: Option<Nanos>,
    /// The size of the device, to mark its end among positions
    #[arg(long, value_name = "SIZE")]
    device_size: Option<Bytes>,
}

impl LookArgs {
    pub(crate) fn options(&self) -> LookOptions {
        LookOptions {
            quantity: self.quantity.into(),
            window: self.window,
            group: self.group,
            working_sets: match self.ws.as_str() {
                "sliding" => WorkingSets::Sliding,
                _ => WorkingSets::Tumbling,
            },
            bad_latency: self.bad_latency,
            bad_delay: self.bad_delay,
            device_sectors: self.device_size.map(|size| size.get() / SECTOR_BYTES),
            targets: self.target.clone().map_or_else(Vec::new, |of| of.0),
            ..LookOptions::default()
        }
    }
}

impl Plot {
    /// The size of a picture of so many charts.
    pub(crate) fn size(&self, charts: usize) -> Size {
        let usual = Size::default();
        self.size.unwrap_or(Size {
            height: match charts as u32 {
                0 | 1 => usual.height,
                n => n.saturating_mul(440).max(usual.height).min(60_000),
            },
            ..usual
        })
    }

    pub(crate) fn theme(&self) -> Theme {
        match self.theme {
            ThemeName::Light => Theme::Light,
            ThemeName::Dark => Theme::Dark,
        }
    }

    pub(crate) fn format(&self) -> Format {
        match self.pictures {
            FormatName::Png => Format::Png,
            FormatName::Svg => Format::Svg,
        }
    }

    pub(crate) fn arrange(&self) -> Arrange {
        if self.overlay {
            Arrange::Overlay
        } else {
            Arrange::Panels
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Report {
    /// Records of recordings, simulations, replays; of a folder all that are in it, or the sweep that it holds;
    /// NAME=FILE gives one a name
    #[arg(required = true, value_name = "DIR|FILE", value_parser = named())]
    pub(crate) inputs: Vec<Named>,
    /// The page to write
    #[arg(short, long, value_name = "OUT", default_value = "iosonar-report.html")]
    pub(crate) out: PathBuf,
    /// What stands above it [default: the names of the inputs]
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Open all charts and tables, and print them; without this the page shows, and prints, its answer and four
    /// pictures
    #[arg(long)]
    pub(crate) all: bool,
    /// Print results and errors only: no notes, no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

fn size(text: &str) -> Result<Size, String> {
    let expected = || "expected WIDTHxHEIGHT in pixels, 640x400 to 8000x8000".to_owned();
    let (width, height) = text.split_once('x').ok_or_else(expected)?;
    let side = |text: &str, least| match text.parse::<u32>() {
        Ok(n) if (least..=8000).contains(&n) => Ok(n),
        _ => Err(expected()),
    };
    Ok(Size {
        width: side(width, 640)?,
        height: side(height, 400)?,
    })
}
