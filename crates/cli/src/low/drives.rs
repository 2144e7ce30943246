//! What can be typed about profiles of drives: import and validate.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::ReadArgs;

#[derive(Args, Debug)]
pub(crate) struct Import {
    #[command(subcommand)]
    pub(crate) from: ImportFrom,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImportFrom {
    /// Import a drive from parameter files of DiskSim 4.0
    Disksim(ImportDisksim),
}

#[derive(Args, Debug)]
pub(crate) struct ImportDisksim {
    /// A .parv, a .diskspecs or a .model; files that it names are beside it, or are given too
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write the profile to this file [default: print it]
    #[arg(short, long, value_name = "OUT.toml")]
    pub(crate) out: Option<PathBuf>,
    /// Take the drive of this name, where the files define several
    #[arg(long, value_name = "NAME")]
    pub(crate) disk: Option<String>,
    /// Take MS milliseconds a sector for reads on the drive's bus, instead of what a .parv says
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) bus_read_ms: Option<f64>,
    /// Take MS milliseconds a sector for writes on the drive's bus
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub(crate) bus_write_ms: Option<f64>,
    /// Whether a read of a drive that reads on arrival begins with the sector under the head
    #[arg(long, value_name = "HOW", value_enum, default_value_t = ArrivalArg::AsDisksim)]
    pub(crate) arrival: ArrivalArg,
    /// Print results and errors only: no notes
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// How reading on arrival is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalArg {
    /// It waits for its first sector, as in release 4.0 of DiskSim
    AsDisksim,
    /// It does, as the manual of DiskSim says
    AsDocumented,
}

fn milliseconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(ms) if (0.0..=1e6).contains(&ms) => Ok(ms),
        _ => Err("expected milliseconds, 0 to 1e6".to_owned()),
    }
}

#[derive(Args, Debug)]
pub(crate) struct Validate {
    /// The profile: the name of a built-in disk, or a .toml file
    #[arg(value_name = "PROFILE")]
    pub(crate) profile: String,
    /// A recording of the drive with think times: one request at a time, as in DiskSim's validation traces
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// Draw the distributions of both, simulated and measured (.png or .svg)
    #[arg(long, value_name = "OUT")]
    pub(crate) plot: Option<PathBuf>,
    /// Print results for programs, as one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print results and errors only: no notes
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}
