//! Commands about the installation: its manual pages and completions, and the machine that it is on.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// A shell that completes command lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
    Elvish,
    Powershell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The folder for the pages, such as ~/.local/share/man/man1
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

#[derive(Args, Debug)]
#[command(
    after_long_help = "The exit status is 0 if simulation and charts work, whatever the other checks report."
)]
pub(crate) struct Doctor {
    /// Print the results as one JSON object
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_long_help = "The manual lists all messages on its page 'Index of messages'.")]
pub(crate) struct Explain {
    /// The code, such as W012 [default: list all]
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}
