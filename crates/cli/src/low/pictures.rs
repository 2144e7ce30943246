//! Options of what draws: `plot` and `report`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iosonar_analysis::objective::Objectives;
use iosonar_plot::{Format, PixelScale, Scaled, Size, Theme};
use iosonar_report::{Arrange, LookOptions, Quantity, WorkingSets};
use iosonar_units::{Bytes, Nanos, SECTOR_BYTES};

use super::named::named;
use super::traces::above_zero;
use super::{Named, QuietArgs, ReadArgs};

/// The formats of tables, by the endings of names.
pub(super) const TABLES: [&str; 4] = ["csv", "parquet", "arrow", "feather"];

#[derive(Clone, Copy, Debug, ValueEnum)]
enum QuantityName {
    /// From submission to completion
    Latency,
    /// From the intended start to submission
    Delay,
    /// From the intended start to completion
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
    /// Dark on white
    Light,
    /// Light on near-black
    Dark,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatName {
    /// Pixels
    Png,
    /// Lines and text, with dense layers as embedded pixels
    Svg,
}

#[derive(Args, Debug)]
pub(crate) struct Plot {
    /// The chart, or 'all'; --list describes them
    #[arg(required_unless_present = "list", value_name = "CHART")]
    pub(crate) chart: Option<String>,
    /// Recordings, simulations or replays; NAME=FILE labels one
    #[arg(value_name = "INPUT", value_parser = named())]
    pub(crate) inputs: Vec<Named>,
    /// List the charts, what they show and how to read them
    #[arg(long, help_heading = "Charts")]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    /// Write this .png or .svg file; for 'all', a folder
    ///
    /// The default is CHART.png, or for 'all' the folder iosonar-charts.
    #[arg(
        short,
        long,
        help_heading = "Output",
        alias = "output",
        value_name = "OUT"
    )]
    pub(crate) out: Option<PathBuf>,
    /// Draw in the terminal instead of a file
    #[arg(long, help_heading = "Output", conflicts_with_all = ["out", "scale"])]
    pub(crate) terminal: bool,
    /// Write the chart's data as CSV (- for standard output)
    ///
    /// For 'all', OUT.csv is a folder with one file per chart. A single chart is drawn only if -o is also given. If the
    /// name ends in .parquet, .arrow or .feather, the file has that format.
    #[arg(long, help_heading = "Output", value_name = "OUT.csv")]
    pub(crate) data: Option<PathBuf>,
    /// Write the --data files in this format (with 'all')
    ///
    /// FORMAT is csv, parquet, arrow or feather.
    #[arg(long, help_heading = "Output", value_name = "FORMAT", default_value = "csv", value_parser = TABLES, hide_possible_values = true)]
    pub(crate) tables: String,
    /// Write all charts in this format (with 'all')
    #[arg(
        long,
        help_heading = "Charts",
        value_name = "KIND",
        default_value = "png"
    )]
    pictures: FormatName,
    /// Set the picture's size in pixels [default: 1280x720]
    ///
    /// By default, stacked charts make the picture taller.
    #[arg(long, help_heading = "Charts", value_name = "WxH", value_parser = size)]
    size: Option<Size>,
    #[command(flatten)]
    pub(crate) pixels: PixelArgs,
    /// Draw with this theme
    #[arg(
        long,
        help_heading = "Charts",
        value_name = "THEME",
        default_value = "light"
    )]
    theme: ThemeName,
    /// Use a linear x axis in charts where it is logarithmic by default
    ///
    /// Distribution functions are an example of such charts.
    #[arg(long, help_heading = "Charts")]
    pub(crate) linear_x: bool,
    /// Overlay the points of several inputs instead of stacking charts
    #[arg(long, help_heading = "Charts", conflicts_with = "merge")]
    overlay: bool,
    #[command(flatten)]
    pub(crate) output: QuietArgs,
    #[command(flatten)]
    pub(crate) look: AllLookArgs,
}

/// The resolution of the bitmaps of pictures.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct PixelArgs {
    /// Draw .png pictures with N times the width and height in pixels
    ///
    /// N is 1 to 4. The layout does not change; 2 suits slides and high-resolution screens. --scale is refused for
    /// .svg pictures, which have no pixels.
    #[arg(long, help_heading = "Output", value_name = "N", value_parser = pixel_scale)]
    scale: Option<PixelScale>,
}

impl PixelArgs {
    /// The scale; `None` if it was not given.
    pub(crate) fn asked(self) -> Option<PixelScale> {
        self.scale
    }

    /// The scale of bitmaps.
    pub(crate) fn scale(self) -> PixelScale {
        self.scale.unwrap_or_default()
    }
}

/// Windows are not measured in smaller parts.
fn millisecond_or_more(text: &str) -> Result<Nanos, String> {
    match text.parse::<Nanos>() {
        Ok(t) if t >= Nanos::MILLISECOND => Ok(t),
        Ok(_) => Err("expected at least 1ms".to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

/// How records are evaluated.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Looking at records")]
pub(crate) struct LookArgs {
    /// Show this time in sonar diagrams and distributions
    #[arg(long, value_name = "NAME", default_value = "latency")]
    quantity: QuantityName,
    /// Check a target, such as 'read p99 < 20ms'
    ///
    /// A target limits the mean or a percentile (p50, p99, p99.9, ...) of response times. With 'latency' or 'delay',
    /// it limits latencies or start delays instead; with 'read' or 'write', it covers only reads or writes. It can also
    /// require a throughput: 'throughput > 200'. Separate several targets with commas. Charts show each target as a
    /// line.
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<Objectives>,
    /// Draw this limit for latencies, and report whether it is met
    #[arg(long, value_name = "TIME", value_parser = above_zero)]
    bad_latency: Option<Nanos>,
    /// Draw this limit for start delays, and report whether it is met
    #[arg(long, value_name = "TIME", value_parser = above_zero)]
    bad_delay: Option<Nanos>,
}

impl LookArgs {
    pub(crate) fn options(&self) -> LookOptions {
        LookOptions {
            quantity: self.quantity.into(),
            bad_latency: self.bad_latency,
            bad_delay: self.bad_delay,
            targets: self.target.clone().map_or_else(Vec::new, |of| of.0),
            ..LookOptions::default()
        }
    }
}

/// How records are evaluated for all charts: those over time, of disk activity, of working sets and of positions, too.
#[derive(Args, Clone, Debug)]
pub(crate) struct AllLookArgs {
    #[command(flatten)]
    of_times: LookArgs,
    #[command(flatten)]
    of_series: SeriesArgs,
}

/// What only some charts of `plot` and `report` depend on.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Windows and periods")]
struct SeriesArgs {
    /// Merge all inputs into one, by time
    #[arg(long)]
    merge: bool,
    /// Average throughput over windows of TIME [default: 3s, or less]
    ///
    /// The default is shorter for short traces. The shortest window is 1ms.
    #[arg(long, value_name = "TIME", value_parser = millisecond_or_more)]
    window: Option<Nanos>,
    /// Show disk activity in periods of TIME
    #[arg(long, value_name = "TIME", default_value = "1min", value_parser = above_zero)]
    group: Nanos,
    /// Choose how to count working sets
    ///
    /// 'sliding' counts all sectors of each request in sliding windows; 'tumbling,first' counts only the first one, in
    /// consecutive windows, as blkreplay's graph.sh does.
    #[arg(long, value_name = "HOW", default_value = "sliding", value_parser = ["sliding", "tumbling,first"])]
    ws: String,
    /// Mark SIZE as the end of the device in charts of positions
    #[arg(long, value_name = "SIZE")]
    device_size: Option<Bytes>,
}

impl AllLookArgs {
    /// Whether all inputs are merged into one.
    pub(crate) fn merge(&self) -> bool {
        self.of_series.merge
    }

    pub(crate) fn options(&self) -> LookOptions {
        let series = &self.of_series;
        LookOptions {
            window: series.window,
            group: series.group,
            working_sets: match series.ws.as_str() {
                "sliding" => WorkingSets::Sliding,
                _ => WorkingSets::Tumbling,
            },
            device_sectors: series.device_size.map(|size| size.get() / SECTOR_BYTES),
            ..self.of_times.options()
        }
    }
}

impl Plot {
    /// The size of a picture of this number of charts.
    pub(crate) fn size(&self, charts: usize) -> Scaled {
        let usual = Size::default();
        let size = self.size.unwrap_or(Size {
            height: match charts as u32 {
                0 | 1 => usual.height,
                n => n.saturating_mul(440).max(usual.height).min(60_000),
            },
            ..usual
        });
        size.at(self.pixels.scale())
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
#[command(
    after_long_help = "The exit status is 3 if an input misses a --target. For a sweep, the page has a verdict for \
                             each point, and the exit status is 0."
)]
pub(crate) struct Report {
    /// Records, a folder of records, or a sweep; NAME=FILE labels one
    ///
    /// Records are recordings, simulations or replays.
    #[arg(required = true, value_name = "DIR|FILE", value_parser = named())]
    pub(crate) inputs: Vec<Named>,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    /// Write this HTML page
    #[arg(
        short,
        long,
        help_heading = "Output",
        alias = "output",
        value_name = "OUT",
        default_value = "iosonar-report.html"
    )]
    pub(crate) out: PathBuf,
    /// Set the page's title [default: the inputs' names]
    #[arg(long, help_heading = "Output", value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Expand all charts and tables, even in print
    ///
    /// By default, only the page's answer and four charts are visible, on the screen and in print.
    #[arg(long, help_heading = "Output")]
    pub(crate) all: bool,
    /// Open the page in a browser, if there is a desktop
    #[arg(long, help_heading = "Output")]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) output: QuietArgs,
    #[command(flatten)]
    pub(crate) look: AllLookArgs,
}

fn pixel_scale(text: &str) -> Result<PixelScale, String> {
    let number = text.parse().ok().and_then(PixelScale::new);
    number.ok_or_else(|| format!("expected a whole number from 1 to {}", PixelScale::MOST))
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
