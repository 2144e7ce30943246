//! Live pages.

#![allow(clippy::doc_markdown)] // The texts of the help.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use iosonar_analysis::objective::Objectives;

use crate::live::address;

/// The live page of a long-running command.
#[derive(Args, Debug, Default)]
pub(crate) struct ServeArgs {
    /// Serve a live page of the run [default: 127.0.0.1, this machine only]
    ///
    /// The URL is printed, with a random token. ADDR is an address of this machine such as 0.0.0.0:8080, or a port.
    #[arg(
        long,
        help_heading = "Live page",
        value_name = "ADDR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1",
        value_parser = address
    )]
    pub(crate) serve: Option<SocketAddr>,
    /// Add a stop button to the live page
    ///
    /// The button stops the run, as Ctrl-C does.
    #[arg(long, help_heading = "Live page", requires = "serve")]
    pub(crate) control: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Records, a folder of records, or a sweep
    ///
    /// For records that are still being written, give their final name.
    #[arg(value_name = "DIR|FILE")]
    pub(crate) path: PathBuf,
    /// Serve at ADDR [default: 127.0.0.1, this machine only]
    ///
    /// ADDR is an address of this machine such as 0.0.0.0:8080, or a port. The URL is printed, with a random token.
    #[arg(
        long,
        help_heading = "Live page",
        value_name = "ADDR",
        default_value = "127.0.0.1",
        hide_default_value = true,
        value_parser = address
    )]
    pub(crate) address: SocketAddr,
    /// Add a stop button for the run that writes the records
    ///
    /// The button sends SIGINT to that run, as Ctrl-C does.
    #[arg(long, help_heading = "Live page")]
    pub(crate) control: bool,
    /// Set the page's title [default: the name of DIR or FILE]
    #[arg(long, help_heading = "Live page", value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Check a target, such as 'read p99 < 20ms'
    ///
    /// Other examples are 'mean < 5ms' and 'throughput > 200'; separate several targets with commas. The page shows
    /// whether each target is met so far.
    #[arg(long, help_heading = "Question", value_name = "TARGET")]
    pub(crate) target: Option<Objectives>,
    /// Open the page in a browser, if there is a desktop
    #[arg(long, help_heading = "Output")]
    pub(crate) open: bool,
}
