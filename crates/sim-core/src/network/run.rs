//! Running a network.

use std::any::Any;
use std::sync::Arc;

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

use super::agenda::Agenda;
use super::context::{Context, Record};
use super::forwarding::Forwarding;
use super::job::Job;
use super::node::{Incoming, Node, Nodes, Server, Sink};
use super::{Behaviour, BuildError, Class, EndlessLoop, NoProbe, NodeId, Probe, StationStatistics};
use crate::arrivals::Renewal;
use crate::{CompletionHash, Slab};

/// How far a network runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until this instant, its events included; the clock stands there then.
    Time(Nanos),
    /// Until this number of further jobs have left the network or finished a lap.
    Departures(u64),
    /// Until this number of further events have happened.
    Events(u64),
    /// Until no event is pending.
    End,
}

/// Why a run stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It reached the requested end.
    AsTold,
    /// No event is to come, and no job is left.
    Drained,
    /// No event is pending, and this number of jobs is left: they wait for each other, or for more
    /// to fill a batch. Or nodes with a behaviour send one of them round [for ever](Network::endless_loop).
    Stuck {
        /// How many.
        jobs: usize,
    },
}

/// A queueing network in the middle of a run.
#[derive(Clone)]
pub struct Network<P = NoProbe> {
    pub(super) names: Arc<[Box<str>]>,
    pub(super) nodes: Vec<Node>,
    /// See [`Nodes`].
    pub(super) sources: Vec<Incoming<Renewal>>,
    pub(super) servers: Vec<Server>,
    pub(super) context: Context<P>,
    /// Whether a station has a finite queue: then jobs have to check before they leave.
    pub(super) finite: bool,
    /// The clock, where a run stopped between two events.
    pub(super) now: Nanos,
    measured_from: Nanos,
    /// Whether a node has a behaviour: then jobs may go round for ever.
    pub(super) extended: bool,
    pub(super) forwarding: Forwarding,
}

impl<P: Probe> Network<P> {
    pub(super) fn new(
        names: Arc<[Box<str>]>,
        nodes: Nodes,
        populations: &[(u32, Class, u32)],
        probe: P,
    ) -> Result<Self, BuildError> {
        let Nodes {
            all: mut nodes,
            mut sources,
            mut servers,
        } = nodes;
        let finite = nodes
            .iter()
            .any(|node| matches!(node, Node::Station(to) if to.station.is_finite()));
        // The simplest ones come first, so that they are found by their places.
        let simplest = (sources.iter_mut().map(|of| (of.node, &mut of.place)))
            .chain(servers.iter_mut().map(|of| (of.node, &mut of.place)));
        let others = (0..).zip(&mut nodes);
        let others = others.filter_map(|(node, of)| Some((node, of.place()?)));
        let agenda = Agenda::of(simplest.chain(others));
        let extended = nodes.iter().any(|node| matches!(node, Node::Custom(_)));
        for station in 0..nodes.len() as u32 {
            let events = nodes.len() as u32;
            if let Node::Station(to) = &mut nodes[station as usize]
                && let Some(node) = to.station.patience_node()
            {
                *node = events;
                nodes.push(Node::Patience(station));
            }
        }
        let mut network = Self {
            names,
            nodes,
            sources,
            servers,
            finite,
            context: Context {
                agenda,
                jobs: Slab::default(),
                record: Record::new(probe),
            },
            now: Nanos::ZERO,
            measured_from: Nanos::ZERO,
            extended,
            forwarding: Forwarding::default(),
        };
        for node in 0..network.nodes.len() as u32 {
            network.plan_arrival(node);
            if matches!(network.nodes[node as usize], Node::Custom(_)) {
                network.call(node, Nanos::ZERO, Behaviour::start);
            }
        }
        for &(node, class, jobs) in populations {
            for _ in 0..jobs {
                network.populate(node, class)?;
            }
        }
        Ok(network)
    }

    /// The clock.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// How many events have happened.
    pub fn events(&self) -> u64 {
        self.context.agenda.happened()
    }

    /// How many jobs have left the network or finished a lap.
    pub fn departures(&self) -> u64 {
        self.context.record.departures
    }

    /// How many jobs are in the network. A forked job counts with its children.
    pub fn number_of_jobs(&self) -> usize {
        let at_servers = self.servers.iter();
        let at_servers = at_servers.map(|server| server.single.statistics.number.value() as usize);
        self.context.jobs.len() + at_servers.sum::<usize>()
    }

    /// The fingerprint of the run: (job, node, start, end) of all services.
    pub fn hash(&self) -> CompletionHash {
        self.context.record.hash
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.names[node.0 as usize]
    }

    /// The probe that looks on.
    pub fn probe(&self) -> &P {
        &self.context.record.probe
    }

    /// The probe that looks on, for instance to empty it.
    pub fn probe_mut(&mut self) -> &mut P {
        &mut self.context.record.probe
    }

    /// The behaviour of a node, of the type that it was built with.
    ///
    /// # Panics
    /// If the node has no behaviour, or one of another type.
    pub fn behaviour<T: Behaviour>(&self, node: NodeId) -> &T {
        let Node::Custom(Some(custom)) = &self.nodes[node.0 as usize] else {
            panic!("node '{}' has no behaviour of its own", self.name(node))
        };
        let behaviour: &dyn Any = &*custom.behaviour;
        behaviour.downcast_ref().unwrap_or_else(|| {
            let expected = std::any::type_name::<T>();
            panic!(
                "the behaviour of node '{}' is not of type {expected}",
                self.name(node)
            )
        })
    }

    /// The statistics of a station up to now.
    ///
    /// # Panics
    /// If the node is not a station.
    pub fn station(&self, node: NodeId) -> StationStatistics {
        let Some(statistics) = self.statistics_of(node) else {
            panic!("node '{}' is not a station", self.name(node))
        };
        let mut statistics = statistics.clone();
        statistics.close(self.now);
        statistics
    }

    fn statistics_of(&self, node: NodeId) -> Option<&StationStatistics> {
        match &self.nodes[node.0 as usize] {
            &Node::Single(i) => Some(&self.servers[i as usize].single.statistics),
            Node::Station(to) => Some(&to.station.statistics),
            _ => None,
        }
    }

    fn sink(&self, node: NodeId) -> &Sink {
        match &self.nodes[node.0 as usize] {
            Node::Sink(sink) => sink,
            Node::Lap(lap) => &lap.sink,
            _ => panic!("node '{}' is neither a sink nor a lap", self.name(node)),
        }
    }

    /// The response times that were taken at a sink or a lap.
    ///
    /// # Panics
    /// If the node is neither.
    pub fn response_time(&self, node: NodeId) -> &Distribution {
        &self.sink(node).response_time
    }

    /// The same, of one class; `None` if no job of it, or of a higher number, came there.
    ///
    /// # Panics
    /// If the node is neither.
    pub fn response_time_of(&self, node: NodeId, class: Class) -> Option<&Distribution> {
        let sink = self.sink(node);
        if class == Class::default() && sink.by_class.is_empty() {
            return Some(&sink.response_time);
        }
        sink.by_class.get(usize::from(class.0))
    }

    /// The job that nodes with a [`Behaviour`] send round for ever, if there is one. It ends the run: no further event
    /// happens.
    pub fn endless_loop(&self) -> Option<&EndlessLoop> {
        self.forwarding.endless.as_deref()
    }

    /// Forgets all statistics: the warm-up is over. The hash goes on.
    pub fn measure_from_now(&mut self) {
        self.measured_from = self.now;
        for node in &mut self.nodes {
            match node {
                &mut Node::Single(i) => {
                    let single = &mut self.servers[i as usize].single;
                    single.statistics.restart(self.now);
                }
                Node::Station(to) => to.station.statistics.restart(self.now),
                Node::Sink(sink) => **sink = Sink::default(),
                Node::Lap(lap) => lap.sink = Sink::default(),
                Node::Custom(Some(custom)) => custom.behaviour.measure_from_now(self.now),
                _ => {}
            }
        }
    }

    /// One event; returns whether there was one.
    #[inline]
    pub fn step(&mut self) -> bool {
        self.forwarding.endless.is_none() && self.advance(Nanos::MAX)
    }

    /// Runs the network.
    pub fn run(&mut self, until: Until) -> Stopped {
        let (mut end, mut departures, mut events) = (Nanos::MAX, u64::MAX, u64::MAX);
        match until {
            Until::Time(time) => end = time,
            Until::Departures(more) => departures = self.departures().saturating_add(more),
            Until::Events(more) => events = self.events().saturating_add(more),
            Until::End => {}
        }
        while self.departures() < departures && self.events() < events {
            // Only where a node has a behaviour, jobs can go round for ever.
            if self.extended && self.forwarding.endless.is_some() || !self.advance(end) {
                break;
            }
        }
        if cfg!(debug_assertions) {
            self.assert_conservation();
        }
        match until {
            Until::Time(_) => {
                let stopped = self.forwarding.endless.is_some();
                if stopped && self.context.agenda.next_time().is_some_and(|at| at <= end) {
                    return self.why(false);
                }
                self.now = self.now.max(end);
                Stopped::AsTold
            }
            Until::Departures(_) => self.why(self.departures() >= departures),
            Until::Events(_) => self.why(self.events() >= events),
            Until::End => self.why(false),
        }
    }

    fn why(&self, as_told: bool) -> Stopped {
        match self.number_of_jobs() {
            _ if as_told => Stopped::AsTold,
            0 => Stopped::Drained,
            jobs => Stopped::Stuck { jobs },
        }
    }

    /// The identity behind Little's law, in integers: the integral of the number of jobs at a
    /// station is the sum over all jobs of their time there.
    ///
    /// # Panics
    /// If it does not hold: a job was lost or counted twice.
    pub fn assert_conservation(&self) {
        if self.measured_from > Nanos::ZERO {
            // Jobs that were there before would have to be cut; the identity has been checked before.
            return;
        }
        for (i, node) in self.nodes.iter().enumerate() {
            let Some(statistics) = self.statistics_of(NodeId(i as u32)) else {
                continue;
            };
            let since = |job: &Job| u128::from((self.now - job.at).get());
            let still_there: u128 = if let &Node::Single(i) = node {
                self.servers[i as usize].single.jobs().map(since).sum()
            } else {
                let placed = self.context.jobs.iter();
                let here = placed.filter(|placed| placed.station == i as u32);
                here.map(|placed| since(&placed.job)).sum()
            };
            assert_eq!(
                self.station(NodeId(i as u32)).number.integral(),
                statistics.response_time.sum() + still_there,
                "time at station {i}"
            );
        }
    }
}
