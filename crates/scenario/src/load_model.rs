//! The load that a scenario means.

use std::path::PathBuf;

use iosonar_trace::Reading;
use iosonar_trace::fit::Fitter;
use iosonar_units::Nanos;
use iosonar_workload::{Shape, Workload};

/// What drives a simulation.
#[derive(Clone, Debug)]
pub enum LoadModel {
    /// Laws.
    Synthetic {
        /// The laws of each class.
        classes: Vec<Workload>,
        /// How many requests are measured in each replication.
        requests: u64,
    },
    /// Requests that never meet: each starts when the one before is complete and the system is idle.
    Alone {
        /// What requests are like.
        shape: Shape,
        /// How many requests are measured in each replication.
        requests: u64,
    },
    /// Users who wait for their requests.
    Closed {
        /// What requests are like.
        shape: Shape,
        /// How many users there are, each with one request at a time.
        outstanding: u32,
        /// The mean of their exponential think times.
        think: Nanos,
        /// How many requests are measured in each replication.
        requests: u64,
    },
    /// A recording.
    Trace {
        /// The file.
        path: PathBuf,
        /// Which part of it, and how fast.
        reading: Box<Reading>,
        /// What happens to requests beyond the end of the array.
        fitter: Fitter,
    },
}

impl LoadModel {
    /// Mean requests per second; `None` where they are not given beforehand.
    pub fn requests_per_s(&self) -> Option<f64> {
        match self {
            Self::Synthetic { classes, .. } => {
                Some(classes.iter().map(Workload::requests_per_s).sum())
            }
            Self::Alone { .. } | Self::Closed { .. } | Self::Trace { .. } => None,
        }
    }

    /// How many requests are measured in each replication; `None` of a trace, which has as many as it has.
    pub fn requests(&self) -> Option<u64> {
        match self {
            Self::Synthetic { requests, .. }
            | Self::Alone { requests, .. }
            | Self::Closed { requests, .. } => Some(*requests),
            Self::Trace { .. } => None,
        }
    }

    pub(crate) fn set_requests(&mut self, n: u64) {
        match self {
            Self::Synthetic { requests, .. }
            | Self::Alone { requests, .. }
            | Self::Closed { requests, .. } => *requests = n,
            Self::Trace { .. } => {}
        }
    }
}
