//! The nodes of a network, except stations.

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

use super::behaviour::Custom;
use super::context::Record;
use super::job::Job;
use super::single::Single;
use super::station::Station;
use super::{Class, NodeId, Probe, Route};
use crate::Stream;
use crate::arrivals::{Arrival, Renewal, Source};
use crate::law::{Draws, choose};

/// A node: two words, so that the next one is found fast.
#[derive(Clone)]
pub(super) enum Node {
    /// A source of one job at a time, at independent distances. No job comes here, and its events have their place.
    Renewal,
    /// Any other source, with what comes next.
    Source(Box<Incoming<(Source, Option<Arrival>)>>),
    /// A station of the simplest kind, by its number.
    Single(u32),
    Station(Box<Servers>),
    Delay(Box<Delay>),
    Router(Box<Choice>),
    /// Its outputs. A slice would make a node longer.
    #[expect(clippy::box_collection)]
    Fork(Box<Vec<u32>>),
    Join(u32),
    Lap(Box<Lap>),
    Sink(Box<Sink>),
    /// `None` while it is called.
    Custom(Option<Box<Custom>>),
    /// The events that end the patience of the jobs at a station.
    Patience(u32),
}

/// All nodes of a network. The simplest sources and stations, which have most events, are kept apart: their events are
/// in the first places of the agenda, so that they are found by these.
#[derive(Clone, Default)]
pub(super) struct Nodes {
    pub(super) all: Vec<Node>,
    pub(super) sources: Vec<Incoming<Renewal>>,
    pub(super) servers: Vec<Server>,
}

impl Node {
    /// Where the place of its event in the agenda is noted, if it has at most one event at a time. Those of the simplest
    /// sources and stations have theirs before.
    pub(super) fn place(&mut self) -> Option<&mut u32> {
        match self {
            Self::Source(incoming) => Some(&mut incoming.place),
            Self::Station(to) if to.station.has_one_event() => Some(&mut to.station.place),
            _ => None,
        }
    }
}

/// A source and where its jobs go.
#[derive(Clone)]
pub(super) struct Incoming<T> {
    pub(super) source: T,
    pub(super) node: u32,
    pub(super) next: u32,
    /// Of its event in the agenda.
    pub(super) place: u32,
}

/// A station of the simplest kind.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) single: Single,
    pub(super) node: u32,
    pub(super) next: u32,
    /// Of its event in the agenda.
    pub(super) place: u32,
}

/// Any other station.
#[derive(Clone)]
pub(super) struct Servers {
    pub(super) station: Station,
    pub(super) next: u32,
    /// Where jobs go that it does not serve, or [`NONE`](super::job::NONE).
    pub(super) unserved: u32,
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
pub(crate) struct Choice {
    pub(crate) route: Route,
    pub(crate) stream: Stream,
    pub(crate) turn: usize,
    pub(crate) outputs: Vec<u32>,
}

impl Choice {
    pub(crate) fn output(&mut self, class: Class) -> u32 {
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
pub struct Sink {
    pub(crate) response_time: Distribution,
    /// The same by class, from the first job on that is not of class 0.
    pub(crate) by_class: Vec<Distribution>,
}

impl Sink {
    #[inline(always)]
    pub(crate) fn take<P: Probe>(
        &mut self,
        me: u32,
        job: &Job,
        now: Nanos,
        record: &mut Record<P>,
    ) {
        let response_time = now - job.since;
        if job.class() != Class::default() || !self.by_class.is_empty() {
            self.take_of_class(job.class(), response_time);
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
