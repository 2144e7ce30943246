//! What drives a simulation: the table `[load]`.

use std::path::PathBuf;

use iosonar_trace::Selection;
use iosonar_units::Sectors;
use iosonar_workload::{Arrivals, Batch, Size, Workload};
use toml::Spanned;

use super::check::Checker;
use crate::ScenarioError;
use crate::file::{ArrivalsFile, BatchFile, LoadFile, SizeFile};

/// What drives a simulation.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Laws.
    Synthetic {
        /// The laws.
        workload: Workload,
        /// How many requests are measured in each replication.
        requests: u64,
    },
    /// A recording.
    Trace {
        /// The file.
        path: PathBuf,
        /// Which part of it, and how fast.
        selection: Selection,
    },
}

/// The longest run: leaves room for queues in the 584 years that 64 bits of nanoseconds hold.
const LONGEST_RUN_S: f64 = 100.0 * 365.25 * 86_400.0;

/// The laws of a synthetic load in blocks of `block`, for an array of `data_sectors`.
pub(super) fn synthetic(
    check: &Checker<'_>,
    load: &LoadFile,
    block: Sectors,
    data_sectors: u64,
    warmup_requests: u64,
) -> Result<Load, ScenarioError> {
    let missing = |key| {
        check.incomplete(&format!(
            "'load.{key}' is missing; a synthetic load has 'requests', 'arrivals' and 'size' \
             (or give a trace: 'load.trace', or --trace FILE)"
        ))
    };
    let requests = load.requests.as_ref().ok_or_else(|| missing("requests"))?;
    let arrivals = load.arrivals.as_ref().ok_or_else(|| missing("arrivals"))?;
    let size = load.size.as_ref().ok_or_else(|| missing("size"))?;
    if *requests.get_ref() == 0 {
        return Err(check.wrong(requests, "load.requests", 0, "at least 1"));
    }
    let workload = Workload {
        arrivals: arrivals_law(check, arrivals)?,
        batch: load
            .batch
            .as_ref()
            .map_or(Ok(Batch::One), |batch| batch_law(check, batch))?,
        size: size_law(check, size, data_sectors / u64::from(block.get()))?,
        block,
        read_share: load
            .read_share
            .as_ref()
            .map_or(Ok(1.0), |share| read_share(check, share))?,
        address_space: data_sectors,
    };
    let all = requests.get_ref().saturating_add(warmup_requests);
    if all as f64 / workload.requests_per_s() > LONGEST_RUN_S {
        return Err(check.wrong(
            requests,
            "load.requests",
            format!("{all} with the warm-up"),
            "so few that the run takes less than 100 years at this rate",
        ));
    }
    Ok(Load::Synthetic {
        workload,
        requests: *requests.get_ref(),
    })
}

fn arrivals_law(
    check: &Checker<'_>,
    arrivals: &Spanned<ArrivalsFile>,
) -> Result<Arrivals, ScenarioError> {
    let rate = |per_s: f64| {
        if (1e-9..=1e9).contains(&per_s) {
            Ok(per_s)
        } else {
            Err(check.wrong(
                arrivals,
                "load.arrivals",
                per_s,
                "a rate above zero, in requests per second (at most 1e9)",
            ))
        }
    };
    match *arrivals.get_ref() {
        ArrivalsFile {
            poisson_per_s: Some(per_s),
            constant_per_s: None,
        } => Ok(Arrivals::Poisson {
            per_s: rate(per_s)?,
        }),
        ArrivalsFile {
            poisson_per_s: None,
            constant_per_s: Some(per_s),
        } => Ok(Arrivals::Constant {
            per_s: rate(per_s)?,
        }),
        _ => Err(check.wrong(
            arrivals,
            "load.arrivals",
            "not one law",
            "one of { poisson_per_s = 10.0 } and { constant_per_s = 10.0 }",
        )),
    }
}

fn batch_law(check: &Checker<'_>, batch: &Spanned<BatchFile>) -> Result<Batch, ScenarioError> {
    let fits = |requests: f64| (1.0..=1e6).contains(&requests);
    let seen = match *batch.get_ref() {
        BatchFile {
            requests: Some(n),
            geometric_mean: None,
        } => {
            if fits(f64::from(n)) {
                return Ok(Batch::Requests(n));
            }
            n.to_string()
        }
        BatchFile {
            requests: None,
            geometric_mean: Some(mean),
        } => {
            if fits(mean) {
                return Ok(Batch::Geometric { mean });
            }
            mean.to_string()
        }
        _ => "not one law".to_owned(),
    };
    Err(check.wrong(
        batch,
        "load.batch",
        seen,
        "one of { requests = 3 } and { geometric_mean = 3.0 }, 1 to a million",
    ))
}

/// `most` is how many blocks the array holds.
fn size_law(
    check: &Checker<'_>,
    size: &Spanned<SizeFile>,
    most: u64,
) -> Result<Size, ScenarioError> {
    let fits = |blocks: f64| (1.0..=1e6).contains(&blocks) && blocks <= most as f64;
    let seen = match *size.get_ref() {
        SizeFile {
            blocks: Some(blocks),
            geometric_mean_blocks: None,
        } => {
            if fits(f64::from(blocks)) {
                return Ok(Size::Blocks(blocks));
            }
            blocks.to_string()
        }
        SizeFile {
            blocks: None,
            geometric_mean_blocks: Some(mean),
        } => {
            if fits(mean) {
                return Ok(Size::GeometricBlocks { mean });
            }
            mean.to_string()
        }
        _ => "not one law".to_owned(),
    };
    Err(check.wrong(
        size,
        "load.size",
        seen,
        "one of { blocks = 4 } and { geometric_mean_blocks = 4.0 }, at least 1 block, at most a \
         million and what the array holds",
    ))
}

fn read_share(check: &Checker<'_>, share: &Spanned<f64>) -> Result<f64, ScenarioError> {
    if (0.0..=1.0).contains(share.get_ref()) {
        Ok(*share.get_ref())
    } else {
        Err(check.wrong(share, "load.read_share", share.get_ref(), "0 to 1"))
    }
}
