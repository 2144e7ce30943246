//! Which form results are printed in, and what is printed besides them.

use clap::Args;

/// Of a command that prints results.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct OutputArgs {
    /// Print the results as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print only results and errors, no notes or progress
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Of a command whose results are files, or that has a JSON of its own.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct QuietArgs {
    /// Print only results and errors, no notes or progress
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
