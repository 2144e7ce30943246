//! What can be asked of `iosonar choose`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iosonar_analysis::objective::Objectives;
use iosonar_study::plan::GrowBy;

use super::theory::Common;
use super::{BeyondArgs, ReadArgs};

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    iosonar choose web.load.gz raid10:8xexos-x18 raid6:8xexos-x18+cache=1GiB nvme-gen4-tlc \\\n      \
      --target 'read p99 < 20ms'\n  \
    iosonar choose web.load.gz raid10:8xexos-x18 intel-d7 --target 'p99 < 20ms' --growth \\\n      \
      --price exos-x18=300 --price intel-d7=900 --page answer.html\n  \
    iosonar choose load.toml now.toml next.toml --target 'read p99 < 5ms, write mean < 2ms'")]
pub(crate) struct Choose {
    /// The load: a trace, or a scenario (.toml), of which the load is taken
    #[arg(value_name = "LOAD")]
    pub(crate) load: PathBuf,
    /// What can be chosen: a scenario file; LEVEL:NxPROFILE; PROFILE, for one device; or calibrated:FILE.toml;
    /// with +cache=1GiB, +controller=hba, +unit=64KiB, +scheduler=look or +KEY=VALUE changed. Part of a
    /// profile's name is enough where no other has it
    #[arg(required = true, value_name = "CANDIDATE")]
    pub(crate) candidates: Vec<String>,
    /// What must hold: mean, p50, p99, p99.9, ... of all response times or those of reads or writes, as in
    /// 'read p99 < 20ms'; or 'throughput > 200'; several with commas between
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Objectives,
    /// Find how many times as much load each candidate sustains: a trace at a multiple of its speed, or copies
    /// of it, or a multiple of the arrivals
    #[arg(long)]
    pub(crate) growth: bool,
    /// How the load grows
    #[arg(long, value_name = "HOW", default_value = "speed", requires = "growth")]
    pub(crate) growth_by: GrowthBy,
    /// How near the largest growth is looked for, as a share of it
    #[arg(long, value_name = "SHARE", default_value = "0.02", requires = "growth", value_parser = super::precision)]
    pub(crate) within: f64,
    /// What a device costs, by its profile's name or a part of it; or a whole candidate, by its name
    #[arg(long, value_name = "NAME=COST", value_parser = price)]
    pub(crate) price: Vec<(String, f64)>,
    /// How many independent runs of each candidate, instead of the scenario's number (at least 5)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..))]
    pub(crate) replications: Option<u32>,
    /// Draw the target's statistic against the growth of the load, a curve for each candidate (.png or .svg)
    #[arg(long, value_name = "OUT", requires = "growth")]
    pub(crate) curve: Option<PathBuf>,
    /// Write the table as CSV
    #[arg(long, value_name = "OUT")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a page that begins with the answer (.html)
    #[arg(long, value_name = "OUT")]
    pub(crate) page: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(flatten)]
    pub(crate) beyond: BeyondArgs,
    #[command(flatten)]
    pub(crate) reading: ReadArgs,
}

/// How a load grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GrowthBy {
    /// By the speed of a trace, or the rate of arrivals: the same data are accessed more often
    Speed,
    /// By whole copies of a trace (--scale-load), each on data of its own
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
    /// More is not money.
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
