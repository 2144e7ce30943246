//! The same scenarios with other values.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use iosonar_study::vary::{Curves, CurvesError, Over};
use iosonar_units::Values;

use super::key_and_value;

#[derive(Args, Debug)]
pub(crate) struct VaryArgs {
    /// Simulate each of these values of a key [repeatable]
    ///
    /// With several keys, all combinations are simulated. VALUES is a list, as in array.disks=4,8,16, or a range:
    /// 4..12, '4..64 step 4', '1..1000 log 7', '4KiB..64KiB log 5'.
    #[arg(long, value_name = "KEY=VALUES", value_parser = key_and_values)]
    pub(crate) vary: Vec<(String, Vec<String>)>,
    /// Draw curves against the first key of --vary (.png, .svg)
    ///
    /// The chart has one curve for each combination of the other keys.
    #[arg(long, value_name = "OUT", requires = "vary")]
    pub(crate) curve: Option<PathBuf>,
    /// Show these quantities as curves
    ///
    /// WHAT is one or several of mean (the mean response time; also called latency), hockey-stick (the same against
    /// throughput), throughput, data (bytes per second), p50, p99.9, 'read p99' and 'write mean'; separate several with
    /// commas.
    #[arg(long, value_name = "WHAT", requires = "curve", default_value = "mean")]
    pub(crate) curve_of: Curves,
    /// Draw response times against this quantity
    ///
    /// The default is the varied key, but for hockey-stick it is the throughput.
    #[arg(long, value_name = "WHAT", requires = "curve")]
    pub(crate) against: Option<Against>,
    /// Draw the theoretical mean or percentile as a dashed curve
    ///
    /// Nothing is drawn where theory has no formula.
    #[arg(long, requires = "vary")]
    pub(crate) theory: bool,
    /// Draw a panel for each value of this key
    ///
    /// By default, one chart shows all curves. --cdf has panels for every --vary except the first.
    #[arg(long, value_name = "KEY", requires = "vary")]
    pub(crate) panels: Option<String>,
    /// Write the data of --curve or --cdf as CSV
    ///
    /// The columns are panel, curve, x, y, 95 % intervals and count. If the name ends in .parquet, .arrow or .feather,
    /// the file has that format.
    #[arg(long, value_name = "OUT", requires = "vary")]
    pub(crate) data: Option<PathBuf>,
    /// Write the figures of all combinations as CSV
    ///
    /// The figures include percentiles of reads and writes, and their 95 % intervals. If the name ends in .parquet,
    /// .arrow or .feather, the file has that format.
    #[arg(long, value_name = "OUT", requires = "vary")]
    pub(crate) csv: Option<PathBuf>,
}

/// What is on the x axis of curves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Against {
    /// The key of the first --vary
    Key,
    /// The requests served per second
    Throughput,
}

impl VaryArgs {
    /// What curves show, and against what.
    pub(crate) fn curves(&self) -> Result<Curves, CurvesError> {
        let curves = self.curve_of.clone();
        match self.against {
            None => Ok(curves),
            Some(Against::Key) => curves.over(Over::Key),
            Some(Against::Throughput) => curves.over(Over::Throughput),
        }
    }
}

pub(super) fn key_and_values(text: &str) -> Result<(String, Vec<String>), String> {
    let (key, values) = key_and_value(text)?;
    if key.is_empty() {
        return Err("expected KEY=VALUES, such as array.disks=4..12".to_owned());
    }
    let values: Values = values.parse()?;
    Ok((key, values.into_iter().collect()))
}
