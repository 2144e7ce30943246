//! The live view of block devices.

#![allow(clippy::doc_markdown)] // The texts of the help.

use std::path::PathBuf;

use clap::Args;
use iosonar_units::{Bytes, Nanos};

use super::{QuietArgs, ServeArgs};

#[derive(Args, Debug)]
pub(crate) struct Top {
    /// The block devices or partitions to watch
    #[arg(required = true, value_name = "DEV")]
    pub(crate) devices: Vec<PathBuf>,
    /// Report at this interval
    ///
    /// The interval can be from 100ms to 1h.
    #[arg(long, help_heading = "Watching", value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub(crate) interval: Nanos,
    /// Stop after this time [default: at q or Ctrl-C]
    #[arg(
        long,
        help_heading = "Watching",
        alias = "runtime",
        value_name = "TIME"
    )]
    pub(crate) duration: Option<Nanos>,
    /// Stop after N intervals
    #[arg(long, help_heading = "Watching", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// Use a kernel buffer of SIZE per processor
    #[arg(
        long,
        help_heading = "Watching",
        value_name = "SIZE",
        default_value = "8MiB",
        value_parser = super::kernel_buffer
    )]
    pub(crate) buffer: Bytes,
    #[command(flatten)]
    pub(crate) live: ServeArgs,
    /// Print one JSON object per interval, one per line
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) output: QuietArgs,
}

fn interval(text: &str) -> Result<Nanos, String> {
    let time: Nanos = text.parse().map_err(|error| format!("{error}"))?;
    match (Nanos::from_millis(100)..=Nanos::from_secs(3600)).contains(&time) {
        true => Ok(time),
        false => Err(format!("an interval must be from 100ms to 1h (got {time})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_neither_too_short_nor_too_long() {
        assert_eq!(interval("2"), Ok(Nanos::from_secs(2)));
        assert_eq!(interval("100ms"), Ok(Nanos::from_millis(100)));
        for wrong in ["0", "99ms", "2h", "fast", "-1s"] {
            assert!(interval(wrong).is_err(), "{wrong}");
        }
    }
}
