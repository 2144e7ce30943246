//! What can be typed about profiles of drives: import and validate.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{OutputArgs, PixelArgs, QuietArgs, ReadArgs};

#[derive(Args, Debug)]
pub(crate) struct Import {
    #[command(subcommand)]
    pub(crate) from: ImportFrom,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImportFrom {
    /// Import a drive from DiskSim 4.0 parameter files
    Disksim(ImportDisksim),
}

#[derive(Args, Debug)]
pub(crate) struct ImportDisksim {
    /// The .parv, .diskspecs or .model files
    ///
    /// Files that these include are looked up in the folder of the including file, then among the given files.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write the profile to this file [default: print it]
    #[arg(
        short,
        long,
        help_heading = "Import",
        alias = "output",
        value_name = "OUT.toml"
    )]
    pub(crate) out: Option<PathBuf>,
    /// Select a drive by name if the files describe several
    #[arg(long, help_heading = "Import", value_name = "NAME")]
    pub(crate) disk: Option<String>,
    /// Assume a bus transfer time of MS milliseconds per sector read
    ///
    /// MS replaces the value in the .parv file.
    #[arg(long, help_heading = "Import", value_name = "MS", value_parser = milliseconds)]
    pub(crate) bus_read_ms: Option<f64>,
    /// Assume a bus transfer time of MS milliseconds per sector written
    ///
    /// MS replaces the value in the .parv file.
    #[arg(long, help_heading = "Import", value_name = "MS", value_parser = milliseconds)]
    pub(crate) bus_write_ms: Option<f64>,
    /// Choose how to simulate drives that read on arrival at a track
    #[arg(long, help_heading = "Import", value_name = "HOW", value_enum, default_value_t = ArrivalArg::AsDisksim)]
    pub(crate) arrival: ArrivalArg,
    #[command(flatten)]
    pub(crate) output: QuietArgs,
}

/// How reading on arrival is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalArg {
    /// Reading begins at the first requested sector, as in DiskSim 4.0's code
    AsDisksim,
    /// Reading begins with the sector under the head, as in DiskSim's manual
    AsDocumented,
}

fn milliseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ms) if (0.0..=1e6).contains(&ms) => Ok(ms),
        _ => Err("expected a time in milliseconds from 0 to 1e6".to_owned()),
    }
}

#[derive(Args, Debug)]
pub(crate) struct Validate {
    /// A built-in disk profile, or a .toml file
    #[arg(value_name = "PROFILE")]
    pub(crate) profile: String,
    /// A recording of the drive, one request at a time, with think times
    ///
    /// For example, one of DiskSim's validation traces.
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// Draw the simulated and measured distributions (.png, .svg)
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) plot: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pixels: PixelArgs,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}
