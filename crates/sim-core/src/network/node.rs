//! The nodes of a network, except stations.

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

use super::behaviour::Custom;
use super::context::Record;
use super::job::Job;
use super::single::Single;
use super::station::Station;
use super::{Class, NodeId, Probe, Route, StationStatistics};
use crate::Stream;
use crate::arrivals::{Arrival, Renewal, Source};
use crate::law::{Draws, choose};

#[derive(Clone)]
pub(super) enum Node {
    /// A source of one job at a time, at independent distances.
    Renewal(Box<Incoming<Renewal>>),
    /// Any other source, with what comes next.
    Source(Box<Incoming<(Source, Option<Arrival>)>>),
    Single(Box<Server>),
    Station {
        station: Box<Station>,
        next: u32,
        /// Where jobs go that it does not serve, or [`NONE`](super::job::NONE).
        unserved: u32,
    },
    Delay(Box<Delay>),
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

impl Node {
    /// Where the place of its event in the agenda is noted, if it has at most one event at a time.
    pub(super) fn place(&mut self) -> Option<&mut u32> {
        match self {
            Self::Renewal(incoming) => Some(&mut incoming.place),
            Self::Source(incoming) => Some(&mut incoming.place),
            Self::Single(server) => Some(&mut server.place),
            Self::Station { station, .. } if station.has_one_event() => Some(&mut station.place),
            _ => None,
        }
    }

    /// What is known of it, if it is a station.
    pub(super) fn statistics(&self) -> Option<&StationStatistics> {
        match self {
            Self::Single(server) => Some(&server.single.statistics),
            Self::Station { station, .. } => Some(&station.statistics),
            _ => None,
        }
    }
}

/// A source and where its jobs go.
#[derive(Clone)]
pub(super) struct Incoming<T> {
    pub(super) source: T,
    pub(super) next: u32,
    /// Of its event in the agenda.
    pub(super) place: u32,
}

/// A station of the simplest kind.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) single: Single,
    pub(super) next: u32,
    /// Of its event in the agenda.
    pub(super) place: u32,
}

/// As many servers as there are jobs.
#[derive(Clone)]
pub(super) struct Delay {
    pub(super) times: Draws,
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
pub(crate) struct Sink {
    pub(crate) response_time: Distribution,
    /// The same by class, from the first job on that is not of class 0.
    pub(crate) by_class: Vec<Distribution>,
}

impl Sink {
    #[inline]
    pub(crate) fn take<P: Probe>(
        &mut self,
        me: u32,
        job: &Job,
        now: Nanos,
        record: &mut Record<P>,
    ) {
        let response_time = now - job.since;
        if job.class != Class::default() || !self.by_class.is_empty() {
            self.take_of_class(job.class, response_time);
        }
        self.response_time.push(response_time);
        record
            .probe
            .departed(NodeId(me), job.id, response_time, now);
        record.departures += 1;
    }

    #[inline(never)]
    fn take_of_class(&mut self, class: Class, response_time: Nanos) {
        let class = usize::from(class.0);
        if self.by_class.is_empty() {
            // All so far were of class 0.
            self.by_class.push(self.response_time.clone());
        }
        if self.by_class.len() <= class {
            self.by_class.resize_with(class + 1, Distribution::default);
        }
        self.by_class[class].push(response_time);
    }
}

#[derive(Clone)]
pub(super) struct Lap {
    pub(super) sink: Sink,
    pub(super) next: u32,
}
