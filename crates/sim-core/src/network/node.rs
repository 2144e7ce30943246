//! The nodes of a network, except stations.

use iosonar_stats::Distribution;

use super::behaviour::Custom;
use super::station::Station;
use super::{Class, Route};
use crate::arrivals::{Arrival, Source};
use crate::law::choose;
use crate::{Law, Stream};

#[derive(Clone)]
pub(super) enum Node {
    Source {
        source: Source,
        /// What comes next.
        planned: Option<Arrival>,
        next: u32,
    },
    Station {
        station: Box<Station>,
        next: u32,
        /// Where jobs go that it does not serve, or [`NONE`](super::job::NONE).
        unserved: u32,
    },
    Delay(Delay),
    Router(Choice),
    Fork {
        outputs: Vec<u32>,
    },
    Join {
        next: u32,
    },
    Lap(Lap),
    Sink(Sink),
    /// `None` while it is called.
    Custom(Option<Box<Custom>>),
    /// The events that end the patience of the jobs at a station.
    Patience {
        station: u32,
    },
}

/// As many servers as there are jobs.
#[derive(Clone)]
pub(super) struct Delay {
    pub(super) law: Law,
    pub(super) stream: Stream,
    /// Whether a job's response time begins anew behind it.
    pub(super) restarts: bool,
    pub(super) next: u32,
}

/// A router.
#[derive(Clone)]
pub(super) struct Choice {
    pub(super) route: Route,
    pub(super) stream: Stream,
    pub(super) turn: usize,
    pub(super) outputs: Vec<u32>,
}

impl Choice {
    pub(super) fn output(&mut self, class: Class) -> u32 {
        let i = match &self.route {
            Route::Probabilities(p) => choose(p.iter().copied(), self.stream.uniform()),
            Route::Classes(outputs) => outputs[usize::from(class.0).min(outputs.len() - 1)],
            Route::RoundRobin => {
                let turn = self.turn;
                self.turn = (turn + 1) % self.outputs.len();
                turn
            }
        };
        self.outputs[i]
    }
}

/// Where response times are taken.
#[derive(Clone, Default)]
pub(super) struct Sink {
    pub(super) response_time: Distribution,
    /// The same by class, from the first job on that is not of class 0.
    pub(super) by_class: Vec<Distribution>,
}

#[derive(Clone)]
pub(super) struct Lap {
    pub(super) sink: Sink,
    pub(super) next: u32,
}
