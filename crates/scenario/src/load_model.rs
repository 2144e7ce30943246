//! The load that a scenario means.

use std::path::{Path, PathBuf};

use iosonar_trace::Reading;
use iosonar_trace::fit::Fitter;
use iosonar_trace::transform::{Change, Copies, Ratio};
use iosonar_workload::{ArrivalLaw, Batch, Shape, TimeLaw, Workload};

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
    /// Requests that never meet: each starts when the previous one is complete and the system is idle.
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
        /// How long each thinks before a request.
        think: TimeLaw,
        /// How many requests are measured in each replication.
        requests: u64,
    },
    /// A recording.
    Trace {
        /// The file.
        path: PathBuf,
        /// How it grows, as the scenario says.
        growth: Growth,
        /// How it is read and changed, `growth` first.
        reading: Box<Reading>,
        /// What happens to requests beyond the end of the array.
        fitter: Fitter,
    },
}

/// How a scenario lets a trace grow: `load.speed`, then `load.copies`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// How many times as fast it is, if that is given.
    pub speed: Option<Ratio>,
    /// How many copies of it there are, if that is given.
    pub copies: Option<Copies>,
}

impl Growth {
    /// What it changes, in order.
    pub fn changes(self) -> impl Iterator<Item = Change> {
        let speed = self.speed.map(Change::Speed);
        speed.into_iter().chain(self.copies.map(Change::ScaleLoad))
    }
}

impl LoadModel {
    /// Whether only a part of a trace is taken, or it is changed otherwise.
    pub(crate) fn is_changed(&self) -> bool {
        matches!(self, Self::Trace { reading, .. } if !reading.changes.is_empty())
    }

    /// What the requests of its classes are like; nothing of a trace.
    pub(crate) fn shapes(&self) -> Vec<&Shape> {
        match self {
            Self::Synthetic { classes, .. } => classes.iter().map(|class| &class.shape).collect(),
            Self::Alone { shape, .. } | Self::Closed { shape, .. } => vec![shape],
            Self::Trace { .. } => Vec::new(),
        }
    }

    /// The recordings that it reads: its own, and those that its laws draw from.
    pub fn traces(&self) -> Vec<&Path> {
        match self {
            Self::Synthetic { classes, .. } => {
                let mut traces = Vec::new();
                for class in classes {
                    if let ArrivalLaw::Renewal(renewal) = &class.arrivals {
                        traces.extend(renewal.intervals().trace());
                    }
                    traces.extend(class.shape.traces());
                }
                traces
            }
            Self::Alone { shape, .. } => shape.traces().collect(),
            Self::Closed { shape, think, .. } => {
                think.trace().into_iter().chain(shape.traces()).collect()
            }
            Self::Trace { path, .. } => vec![path],
        }
    }

    /// Mean requests per second; `None` where they are not known in advance.
    pub fn requests_per_s(&self) -> Option<f64> {
        match self {
            Self::Synthetic { classes, .. } => {
                Some(classes.iter().map(Workload::requests_per_s).sum())
            }
            Self::Alone { .. } | Self::Closed { .. } | Self::Trace { .. } => None,
        }
    }

    /// Whether requests arrive one by one at a rate that does not change, so that many of them at once mean a queue.
    pub fn arrives_evenly(&self) -> bool {
        let is_even = |class: &Workload| {
            let is_of_one_rate = matches!(
                class.arrivals,
                ArrivalLaw::Poisson { .. } | ArrivalLaw::Constant { .. }
            );
            is_of_one_rate && class.batch == Batch::One
        };
        match self {
            Self::Synthetic { classes, .. } => classes.iter().all(is_even),
            Self::Alone { .. } | Self::Closed { .. } | Self::Trace { .. } => false,
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
