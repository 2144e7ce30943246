//! Nodes with a behaviour of your own.

use std::any::Any;

use iosonar_units::Nanos;

use super::context::Event;
use super::job::{NONE, Placed};
use super::node::{Node, Server};
use super::{Class, NodeId};
use crate::{Calendar, EventId, EventPriority, Slab, Stream};

/// What a [node of your own](super::Builder::node) does: it keeps jobs, sends them on, and plans events.
///
/// Jobs are neither created nor destroyed here: they come from sources and populations, and leave through sinks. A node
/// that drops jobs has an output to a sink for them.
///
/// Only these nodes are called through a pointer; the built-in ones are not.
///
/// A gate that lets all waiting jobs pass every 10 ms:
///
/// ```
/// use iosonar_sim_core::prelude::*;
///
/// const PERIOD: Nanos = Nanos::from_millis(10);
///
/// #[derive(Clone, Default)]
/// struct Gate(Vec<JobId>);
///
/// impl Behaviour for Gate {
///     fn start(&mut self, here: &mut Here<'_>) {
///         here.schedule(PERIOD, 0);
///     }
///
///     fn arrived(&mut self, job: JobId, _: &mut Here<'_>) {
///         self.0.push(job);
///     }
///
///     fn happened(&mut self, _: u32, here: &mut Here<'_>) {
///         self.0.drain(..).for_each(|job| here.send(job, 0));
///         here.schedule(here.now() + PERIOD, 0);
///     }
/// }
///
/// let mut b = Builder::new(Seed::new(1));
/// let source = b.source("source", Arrivals::every(Law::Exponential(Nanos::MILLISECOND)));
/// let (gate, sink) = (b.node("gate", Gate::default()), b.sink("sink"));
/// b.chain(&[source, gate, sink]);
/// let mut network = b.build()?;
/// network.run(Until::Departures(100_000));
/// // A Poisson arrival is equally likely at any instant of the period.
/// assert!((network.response_time(sink).moments.mean() / 5e6 - 1.0).abs() < 0.01);
/// # Ok::<(), iosonar_sim_core::network::BuildError>(())
/// ```
pub trait Behaviour: Any + Send + CloneBehaviour {
    /// The network begins: the clock is at zero, and no job has come yet.
    fn start(&mut self, here: &mut Here<'_>) {
        let _ = here;
    }

    /// A job comes. The node has it until it [sends](Here::send) it on, now or later.
    fn arrived(&mut self, job: JobId, here: &mut Here<'_>);

    /// An event happens that this node [scheduled](Here::schedule).
    fn happened(&mut self, event: u32, here: &mut Here<'_>) {
        let _ = (event, here);
    }

    /// The warm-up is over: statistics begin anew.
    fn measure_from_now(&mut self, now: Nanos) {
        let _ = now;
    }
}

/// A copy of a behaviour, for a copy of the network. Every [`Behaviour`] that is [`Clone`] has it.
pub trait CloneBehaviour {
    /// A copy in the same state.
    fn boxed_clone(&self) -> Box<dyn Behaviour>;
}

impl<T: Behaviour + Clone> CloneBehaviour for T {
    fn boxed_clone(&self) -> Box<dyn Behaviour> {
        Box::new(self.clone())
    }
}

/// A job at a node with a [`Behaviour`], from its arrival until it is sent on. It never means another job: who asks for
/// one that is gone is refused, even if a new job has its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId {
    /// See [`Here::number`]. No other job has it, so it serves as the generation of the place.
    pub(super) number: u64,
    pub(super) place: u32,
}

/// The surroundings of a [`Behaviour`]: the clock, its jobs, its outputs and its random stream.
pub struct Here<'a> {
    pub(super) node: u32,
    pub(super) name: &'a str,
    pub(super) now: Nanos,
    pub(super) nodes: &'a [Node],
    pub(super) servers: &'a [Server],
    pub(super) calendar: &'a mut Calendar<Event>,
    pub(super) jobs: &'a mut Slab<Placed>,
    pub(super) stream: &'a mut Stream,
    pub(super) outputs: usize,
    pub(super) held: &'a mut u32,
    /// Jobs on their way to outputs.
    pub(super) sent: &'a mut Vec<(u32, usize)>,
}

impl Here<'_> {
    /// The clock.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// The random stream of this node.
    pub fn stream(&mut self) -> &mut Stream {
        self.stream
    }

    /// How many outputs the node has.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    fn job(&self, job: JobId) -> &Placed {
        let state = &self.jobs[job.place];
        assert!(
            state.station == self.node && state.job.id == job.number,
            "node '{}' does not have this job, or has sent it on",
            self.name
        );
        state
    }

    /// The number of a job in the order of creation.
    ///
    /// # Panics
    /// If the job is not here.
    pub fn number(&self, job: JobId) -> u64 {
        self.job(job).job.id
    }

    /// The class of a job.
    ///
    /// # Panics
    /// If the job is not here.
    pub fn class(&self, job: JobId) -> Class {
        self.job(job).job.class()
    }

    /// When a job came here.
    ///
    /// # Panics
    /// If the job is not here.
    pub fn since(&self, job: JobId) -> Nanos {
        self.job(job).job.at
    }

    /// How many jobs are at a station, or at a node with a behaviour: waiting and in service.
    ///
    /// # Panics
    /// If the node is neither.
    pub fn jobs_at(&self, node: NodeId) -> u32 {
        match &self.nodes[node.0 as usize] {
            &Node::Single(i) => self.servers[i as usize].single.statistics.number.value(),
            Node::Station(to) => to.station.statistics.number.value(),
            Node::Custom(Some(custom)) => custom.held,
            Node::Custom(None) => *self.held,
            _ => panic!(
                "node '{}' asks for the jobs of {node:?}, which is no station",
                self.name
            ),
        }
    }

    /// Sends a job on through an output, in the order of the connections. It goes there at this instant, after the
    /// behaviour returns.
    ///
    /// # Panics
    /// If the job is not here, or there is no such output.
    pub fn send(&mut self, job: JobId, output: usize) {
        assert!(
            output < self.outputs,
            "node '{}' sends a job to output {output}, but has {}",
            self.name,
            self.outputs
        );
        self.job(job);
        self.jobs[job.place].station = NONE;
        *self.held -= 1;
        self.sent.push((job.place, output));
    }

    /// Plans an event of this node for the instant `at`. The number is the node's own: it comes back when the event
    /// happens.
    ///
    /// # Panics
    /// If `at` lies in the past.
    pub fn schedule(&mut self, at: Nanos, event: u32) -> EventId {
        let event = Event::end(self.node, event);
        self.calendar
            .schedule_cancellable(at, EventPriority::default(), event)
    }

    /// Cancels an event; returns whether it was pending.
    pub fn cancel(&mut self, event: EventId) -> bool {
        self.calendar.cancel(event)
    }
}

/// A node with a behaviour in the middle of a run.
pub(super) struct Custom {
    pub(super) behaviour: Box<dyn Behaviour>,
    pub(super) stream: Stream,
    pub(super) outputs: Vec<u32>,
    pub(super) held: u32,
}

impl Clone for Custom {
    fn clone(&self) -> Self {
        Self {
            // Of what is in the box, not of the box.
            behaviour: (*self.behaviour).boxed_clone(),
            stream: self.stream.clone(),
            outputs: self.outputs.clone(),
            held: self.held,
        }
    }
}
