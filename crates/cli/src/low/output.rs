//! Which form results are printed in, and what is printed besides them.

use clap::Args;

/// The options of a command that prints results.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct OutputArgs {
    /// Print the results as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Print only results and errors, no notes or progress
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// The options of a command whose results are files, or that has its own JSON.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct QuietArgs {
    /// Print only results and errors, no notes or progress
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}
