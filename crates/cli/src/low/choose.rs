//! What can be asked of `iosonar choose`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iosonar_analysis::objective::Objectives;
use iosonar_study::plan::GrowBy;

use super::theory::Common;
use super::{BeyondArgs, PixelArgs, ReadArgs};

#[derive(Args, Debug)]
pub(crate) struct Choose {
    /// The load: a trace, or a scenario (.toml) with a load
    #[arg(value_name = "LOAD")]
    pub(crate) load: PathBuf,
    /// The candidates: scenario files, LEVEL:NxPROFILE, or PROFILE
    ///
    /// A profile from a file is written calibrated:FILE.toml. A file that exists goes before a profile of the same name;
    /// profile:PROFILE always names a profile. Append +cache=1GiB, +controller=hba, +unit=64KiB,
    /// +scheduler=look or +KEY=VALUE to change a candidate. Part of a profile's name suffices if it is unambiguous.
    #[arg(required = true, value_name = "CANDIDATE")]
    pub(crate) candidates: Vec<String>,
    /// Check a target, such as 'read p99 < 20ms'
    ///
    /// A target limits the mean or a percentile (p50, p99, p99.9, ...) of the response times of all requests, of reads
    /// or of writes. It can also require a throughput: 'throughput > 200'. Separate several targets with commas.
    #[arg(long, help_heading = "Question", value_name = "TARGET")]
    pub(crate) target: Objectives,
    /// Find how far the load can grow on each candidate
    ///
    /// A trace is sped up or copied; for a synthetic load, the arrival rate is raised.
    #[arg(long, help_heading = "Question")]
    pub(crate) growth: bool,
    /// Choose how the load grows
    #[arg(
        long,
        help_heading = "Question",
        value_name = "HOW",
        default_value = "speed",
        requires = "growth"
    )]
    pub(crate) growth_by: GrowthBy,
    /// Find the largest growth with this relative precision
    #[arg(long, help_heading = "Runs", value_name = "SHARE", default_value = "0.02", requires = "growth", value_parser = super::precision)]
    pub(crate) within: f64,
    /// Set the price of a device or a candidate [repeatable]
    ///
    /// NAME is a profile's name or a part of it, or the name of a whole candidate.
    #[arg(long, help_heading = "Question", value_name = "NAME=COST", value_parser = price)]
    pub(crate) price: Vec<(String, f64)>,
    /// Run each candidate N times (at least 5)
    ///
    /// The default is the number in the scenario that LOAD names, but at least 5.
    #[arg(long, help_heading = "Runs", value_name = "N", value_parser = clap::value_parser!(u32).range(5..))]
    pub(crate) replications: Option<u32>,
    /// Draw the target's statistic against growth (.png, .svg)
    ///
    /// The chart has one curve per candidate.
    #[arg(
        long,
        help_heading = "Results",
        value_name = "OUT",
        requires = "growth"
    )]
    pub(crate) curve: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pixels: PixelArgs,
    /// Write the table as CSV
    ///
    /// If the name ends in .parquet, .arrow or .feather, the file has that format.
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a page that begins with the answer (.html)
    #[arg(long, help_heading = "Results", value_name = "OUT")]
    pub(crate) page: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(flatten, next_help_heading = "Load")]
    pub(crate) beyond: BeyondArgs,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

/// How a load grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrowthBy {
    /// Speed up the trace or raise the arrival rate: the same data is accessed more often
    Speed,
    /// Add whole copies of the trace (--scale-load), each with its own data
    Copies,
}

impl From<GrowthBy> for GrowBy {
    fn from(by: GrowthBy) -> Self {
        match by {
            GrowthBy::Speed => Self::Speed,
            GrowthBy::Copies => Self::Copies,
        }
    }
}

/// `NAME=COST`.
fn price(text: &str) -> Result<(String, f64), String> {
    /// The highest cost that is accepted.
    const MOST: f64 = 1e15;
    let expected = || "expected NAME=COST, such as exos-x18=300".to_owned();
    let (name, cost) = text.rsplit_once('=').ok_or_else(expected)?;
    match cost.parse::<f64>() {
        // The devices of a candidate may be many.
        Ok(cost) if cost > MOST => Err(format!("expected a cost of at most {MOST:e}")),
        Ok(cost) if cost >= 0.0 && !name.is_empty() => Ok((name.to_owned(), cost)),
        _ => Err(expected()),
    }
}
