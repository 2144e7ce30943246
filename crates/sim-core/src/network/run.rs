//! Running a network.

use std::any::Any;
use std::sync::Arc;

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

use super::context::{Context, Event};
use super::forwarding::Forwarding;
use super::job::NONE;
use super::node::{Node, Sink};
use super::station::Station;
use super::{Behaviour, BuildError, Class, EndlessLoop, NoProbe, NodeId, Probe, StationStatistics};
use crate::arrivals::Arrival;
use crate::{Calendar, CompletionHash, Slab};

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
    pub(super) context: Context<P>,
    /// Whether a station has a finite queue: then jobs have to check before they leave.
    finite: bool,
    /// The clock, where a run stopped between two events.
    now: Nanos,
    measured_from: Nanos,
    /// Whether a node has a behaviour: then jobs may go round for ever.
    extended: bool,
    pub(super) forwarding: Forwarding,
}

impl<P: Probe> Network<P> {
    pub(super) fn new(
        names: Arc<[Box<str>]>,
        mut nodes: Vec<Node>,
        populations: &[(u32, Class, u32)],
        probe: P,
    ) -> Result<Self, BuildError> {
        let finite = nodes
            .iter()
            .any(|node| matches!(node, Node::Station { station, .. } if station.is_finite()));
        for node in &mut nodes {
            if let Node::Station { station, .. } = node
                && finite
            {
                station.take_no_short_ways();
            }
        }
        let extended = nodes.iter().any(|node| matches!(node, Node::Custom(_)));
        for station in 0..nodes.len() as u32 {
            let events = nodes.len() as u32;
            if let Node::Station { station: state, .. } = &mut nodes[station as usize]
                && let Some(node) = state.patience_node()
            {
                *node = events;
                nodes.push(Node::Patience { station });
            }
        }
        let mut network = Self {
            names,
            nodes,
            finite,
            context: Context {
                calendar: Calendar::default(),
                jobs: Slab::default(),
                hash: CompletionHash::default(),
                probe,
                created: 0,
                departures: 0,
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
                network.place(node, class)?;
            }
        }
        Ok(network)
    }

    /// Puts a job of a population into `node` at time zero.
    fn place(&mut self, node: u32, class: Class) -> Result<(), BuildError> {
        let job = self.context.create(class, Nanos::ZERO);
        let mut to = node;
        if self.finite {
            to = self.beyond(job, node, NONE, Nanos::ZERO);
            if self.full(to).is_some() {
                let node = self.name(NodeId(to)).to_owned();
                return Err(BuildError::Population { node });
            }
        }
        self.send(job, to, Nanos::ZERO);
        match &mut self.forwarding.endless {
            Some(endless) => Err(BuildError::Loop {
                node: endless.nodes.swap_remove(0),
            }),
            None => Ok(()),
        }
    }

    /// The clock.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// How many events have happened.
    pub fn events(&self) -> u64 {
        self.context.calendar.events()
    }

    /// How many jobs have left the network or finished a lap.
    pub fn departures(&self) -> u64 {
        self.context.departures
    }

    /// How many jobs are in the network. A forked job counts with its children.
    pub fn number_of_jobs(&self) -> usize {
        self.context.jobs.len()
    }

    /// The fingerprint of the run: (job, node, start, end) of all services.
    pub fn hash(&self) -> CompletionHash {
        self.context.hash
    }

    /// The name of a node.
    pub fn name(&self, node: NodeId) -> &str {
        &self.names[node.0 as usize]
    }

    /// The probe that looks on.
    pub fn probe(&self) -> &P {
        &self.context.probe
    }

    /// The probe that looks on, for instance to empty it.
    pub fn probe_mut(&mut self) -> &mut P {
        &mut self.context.probe
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
        let Node::Station { station, .. } = &self.nodes[node.0 as usize] else {
            panic!("node '{}' is not a station", self.name(node))
        };
        let mut statistics = station.statistics.clone();
        statistics.close(self.now);
        statistics
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
                Node::Station { station, .. } => station.statistics.restart(self.now),
                Node::Sink(sink) => *sink = Sink::default(),
                Node::Lap(lap) => lap.sink = Sink::default(),
                Node::Custom(Some(custom)) => custom.behaviour.measure_from_now(self.now),
                _ => {}
            }
        }
    }

    /// One event; returns whether there was one.
    #[inline]
    pub fn step(&mut self) -> bool {
        self.forwarding.endless.is_none() && self.advance()
    }

    #[inline]
    fn advance(&mut self) -> bool {
        let Some((now, event)) = self.context.calendar.pop() else {
            return false;
        };
        self.now = now;
        let Self { nodes, context, .. } = self;
        match &mut nodes[event.node as usize] {
            Node::Station { station, next, .. } if station.is_simple() => {
                let next = *next;
                station.end_simple(event.node, event.job, now, context);
                self.send(event.job, next, now);
                if let Node::Station { station, .. } = &mut self.nodes[event.node as usize] {
                    station.next_simple(event.node, now, &mut self.context);
                }
            }
            Node::Station { station, next, .. } => {
                let (next, first) = (*next, station.end(event.node, event.job, now, context));
                self.depart(event.node, first, next, now);
            }
            Node::Delay(delay) => {
                if delay.restarts {
                    context.jobs[event.job].since = now;
                }
                let next = delay.next;
                self.send_where_room(event.job, next, now);
            }
            Node::Source {
                source,
                planned,
                next,
            } => {
                let (arrival, next) = (planned.take(), *next);
                *planned = source.next();
                if let Some(arrival) = planned {
                    let event = Event::arrival(event.node);
                    context.calendar.schedule(arrival.at, event);
                }
                if let Some(arrival) = arrival {
                    self.arrive(&arrival, next, now);
                }
            }
            _ => self.step_rarer(event, now),
        }
        true
    }

    /// The same, for the rarer events.
    #[cold]
    fn step_rarer(&mut self, event: Event, now: Nanos) {
        match self.nodes[event.node as usize] {
            Node::Custom(_) => self.call(event.node, now, |behaviour, here| {
                behaviour.happened(event.job, here);
            }),
            Node::Patience { station } => self.give_up(station, event.job, now),
            _ => unreachable!("only these plan events"),
        }
    }

    /// Runs the network.
    pub fn run(&mut self, until: Until) -> Stopped {
        let stopped = match self.extended {
            true => self.run_by(until, Self::step),
            // Nothing can go round for ever.
            false => self.run_by(until, Self::advance),
        };
        if cfg!(debug_assertions) {
            self.assert_conservation();
        }
        stopped
    }

    #[inline(always)]
    fn run_by(&mut self, until: Until, step: impl Fn(&mut Self) -> bool) -> Stopped {
        let goal = |now: u64, more: u64| now.saturating_add(more);
        match until {
            Until::Time(end) => loop {
                if self.context.calendar.next_time().is_none_or(|at| at > end) {
                    self.now = self.now.max(end);
                    break Stopped::AsTold;
                }
                if !step(self) {
                    break self.why(false);
                }
            },
            Until::Departures(more) => {
                let goal = goal(self.departures(), more);
                while self.departures() < goal && step(self) {}
                self.why(self.departures() >= goal)
            }
            Until::Events(more) => {
                let goal = goal(self.events(), more);
                while self.events() < goal && step(self) {}
                self.why(self.events() >= goal)
            }
            Until::End => {
                while step(self) {}
                self.why(false)
            }
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
            let Node::Station { station, .. } = node else {
                continue;
            };
            let statistics = self.station(NodeId(i as u32));
            let still_there: u128 = self
                .context
                .jobs
                .iter()
                .filter(|job| job.station == i as u32)
                .map(|job| u128::from((self.now - job.arrived).get()))
                .sum();
            assert_eq!(
                statistics.number.integral(),
                station.statistics.response_time.sum() + still_there,
                "time at station {i}"
            );
        }
    }

    #[inline(always)]
    fn plan_arrival(&mut self, node: u32) {
        if let Node::Source {
            source, planned, ..
        } = &mut self.nodes[node as usize]
        {
            *planned = source.next();
            if let Some(arrival) = planned {
                self.context
                    .calendar
                    .schedule(arrival.at, Event::arrival(node));
            }
        }
    }

    #[inline(always)]
    fn arrive(&mut self, arrival: &Arrival, next: u32, now: Nanos) {
        for _ in 0..arrival.jobs {
            let job = self.context.create(arrival.class, now);
            if self.finite {
                let to = self.beyond(job, next, NONE, now);
                if let Node::Station { station, .. } = &mut self.nodes[to as usize]
                    && !station.takes_newcomers()
                {
                    station.turn_away(to, job, now, &mut self.context);
                    self.context.jobs.release(job);
                } else {
                    self.send(job, to, now);
                }
            } else {
                self.send(job, next, now);
            }
        }
    }

    /// Follows routers, laps, and the ways of those that find no room, to the next place where something happens to
    /// the job. Where it comes from it makes room itself.
    #[inline(always)]
    fn beyond(&mut self, job: u32, node: u32, from: u32, now: Nanos) -> u32 {
        match &self.nodes[node as usize] {
            Node::Station { unserved: NONE, .. } | Node::Sink(_) => node,
            _ => self.pass(job, node, from, now),
        }
    }

    /// The same, for the rarer nodes.
    #[inline(never)]
    fn pass(&mut self, job: u32, mut node: u32, from: u32, now: Nanos) -> u32 {
        let context = &mut self.context;
        loop {
            match &mut self.nodes[node as usize] {
                Node::Router(router) => node = router.output(context.jobs[job].class),
                Node::Lap(lap) => {
                    lap.sink.take(node, job, now, context);
                    context.jobs[job].since = now;
                    node = lap.next;
                }
                Node::Station {
                    station, unserved, ..
                } if *unserved != NONE && node != from && !station.has_room() => {
                    let from = std::mem::replace(&mut node, *unserved);
                    station.turn_away(from, job, now, context);
                }
                _ => return node,
            }
        }
    }

    /// The station at `node` if it is one and takes no newcomers.
    fn full(&mut self, node: u32) -> Option<&mut Station> {
        match &mut self.nodes[node as usize] {
            Node::Station { station, .. } if !station.takes_newcomers() => Some(station),
            _ => None,
        }
    }

    /// Brings a job to `node`, or to where it goes if there is no room.
    #[inline(always)]
    pub(super) fn send_where_room(&mut self, job: u32, node: u32, now: Nanos) {
        match self.finite {
            true => self.send_beyond(job, node, now),
            false => self.send(job, node, now),
        }
    }

    /// The same, where a queue is finite.
    #[inline(never)]
    fn send_beyond(&mut self, job: u32, node: u32, now: Nanos) {
        let to = self.beyond(job, node, NONE, now);
        self.send(job, to, now);
    }

    /// Brings a job to `node`, and on as far as no time passes. There is room.
    #[inline(always)]
    fn send(&mut self, job: u32, node: u32, now: Nanos) {
        let context = &mut self.context;
        match &mut self.nodes[node as usize] {
            Node::Station { station, .. } => station.enter(node, job, now, context),
            Node::Sink(sink) => {
                sink.take(node, job, now, context);
                context.jobs.release(job);
            }
            _ => self.send_on(job, node, now),
        }
    }

    /// The same, for the rarer nodes.
    fn send_on(&mut self, job: u32, node: u32, now: Nanos) {
        let context = &mut self.context;
        match &mut self.nodes[node as usize] {
            Node::Delay(delay) => {
                let end = now.saturating_add(delay.law.draw(&mut delay.stream));
                context.calendar.schedule(end, Event::end(node, job));
            }
            Node::Fork { outputs } => {
                let branches = outputs.len();
                context.jobs[job].children = branches as u32;
                let class = context.jobs[job].class;
                if self.extended && self.fork_later(job, node) {
                    return;
                }
                for branch in 0..branches {
                    let Node::Fork { outputs } = &self.nodes[node as usize] else {
                        unreachable!("it is a fork")
                    };
                    let output = outputs[branch];
                    self.send_part(job, class, output, now);
                }
            }
            Node::Join { next } => {
                let (parent, next) = (context.jobs[job].parent, *next);
                assert_ne!(parent, NONE, "only what was forked can be joined");
                context.jobs.release(job);
                context.jobs[parent].children -= 1;
                if context.jobs[parent].children == 0 {
                    self.send_where_room(parent, next, now);
                }
            }
            Node::Router(_) | Node::Lap(_) => {
                let node = self.pass(job, node, NONE, now);
                self.send(job, node, now);
            }
            Node::Custom(_) => self.receive(job, node, now),
            _ => unreachable!("jobs do not come here"),
        }
    }

    /// Sends a part of a forked job through one of the fork's outputs.
    #[inline(always)]
    pub(super) fn send_part(&mut self, whole: u32, class: Class, output: u32, now: Nanos) {
        let part = self.context.create(class, now);
        self.context.jobs[part].parent = whole;
        self.send_where_room(part, output, now);
    }

    /// A job that waits at `node` has lost patience.
    fn give_up(&mut self, node: u32, job: u32, now: Nanos) {
        let state = &mut self.context.jobs[job];
        let id = state.id;
        let Node::Station {
            station, unserved, ..
        } = &mut self.nodes[node as usize]
        else {
            unreachable!("only at stations patience ends")
        };
        station.give_up(job, state.class);
        station.leave(state, now);
        let to = *unserved;
        self.context.probe.unserved(NodeId(node), id, now);
        if to == NONE {
            self.context.jobs.release(job);
        } else {
            self.send_where_room(job, to, now);
        }
        if self.finite {
            self.let_in(node, now);
        }
    }

    /// Lets the jobs of a service that has ended go on, from the job `first`.
    #[inline(always)]
    fn depart(&mut self, node: u32, first: u32, next: u32, now: Nanos) {
        let mut job = first;
        while job != NONE {
            let following = self.context.jobs[job].next;
            let mut to = next;
            if self.finite {
                to = self.beyond(job, next, node, now);
                if to != node
                    && let Some(station) = self.full(to)
                {
                    // The rest of the batch waits behind it on the server.
                    station.held_back.push_back((node, job));
                    self.station_at(node).statistics.blocked.increase(now);
                    // Those of the batch before it have made room.
                    self.let_in(node, now);
                    return;
                }
            }
            self.leave(node, job, now);
            self.send(job, to, now);
            job = following;
        }
        let mut awaited = false;
        if let Node::Station { station, .. } = &mut self.nodes[node as usize] {
            station.free_server(node, now, &mut self.context);
            awaited = !station.held_back.is_empty();
        }
        if awaited {
            self.let_in(node, now);
        }
    }

    fn station_at(&mut self, node: u32) -> &mut Station {
        match &mut self.nodes[node as usize] {
            Node::Station { station, .. } => station,
            _ => unreachable!("it is a station"),
        }
    }

    #[inline]
    fn leave(&mut self, node: u32, job: u32, now: Nanos) {
        if let Node::Station { station, .. } = &mut self.nodes[node as usize] {
            station.leave(&mut self.context.jobs[job], now);
        }
    }

    /// Where there is room now, what was held back elsewhere comes in.
    fn let_in(&mut self, node: u32, now: Nanos) {
        loop {
            let station = self.station_at(node);
            if !station.has_room() {
                return;
            }
            let Some((from, job)) = station.held_back.pop_front() else {
                return;
            };
            let following = self.context.jobs[job].next;
            self.leave(from, job, now);
            self.send(job, node, now);
            let Node::Station { station, next, .. } = &mut self.nodes[from as usize] else {
                unreachable!("only stations hold jobs back")
            };
            station.statistics.blocked.decrease(now);
            let next = *next;
            self.depart(from, following, next, now);
        }
    }
}

impl Sink {
    #[inline]
    fn take<P: Probe>(&mut self, node: u32, job: u32, now: Nanos, context: &mut Context<P>) {
        let job = &context.jobs[job];
        let response_time = now - job.since;
        let class = usize::from(job.class.0);
        if class > 0 || !self.by_class.is_empty() {
            if self.by_class.is_empty() {
                // All so far were of class 0.
                self.by_class.push(self.response_time.clone());
            }
            if self.by_class.len() <= class {
                self.by_class.resize_with(class + 1, Distribution::default);
            }
            self.by_class[class].push(response_time);
        }
        self.response_time.push(response_time);
        context
            .probe
            .departed(NodeId(node), job.id, response_time, now);
        context.departures += 1;
    }
}
