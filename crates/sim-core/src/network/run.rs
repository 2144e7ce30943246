//! Running a network.

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

use super::context::{Context, Event};
use super::job::NONE;
use super::node::{Node, Sink};
use super::station::Station;
use super::{Class, NoProbe, NodeId, Probe, StationStatistics};
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
    /// to fill a batch.
    Stuck {
        /// How many.
        jobs: usize,
    },
}

/// A queueing network in the middle of a run.
#[derive(Clone)]
pub struct Network<P = NoProbe> {
    nodes: Vec<Node>,
    context: Context<P>,
    /// Whether a station has a finite queue: then jobs have to check before they leave.
    finite: bool,
    /// The clock, where a run stopped between two events.
    now: Nanos,
    measured_from: Nanos,
}

impl<P: Probe> Network<P> {
    pub(super) fn new(nodes: Vec<Node>, populations: &[(u32, Class, u32)], probe: P) -> Self {
        let finite = nodes
            .iter()
            .any(|node| matches!(node, Node::Station { station, .. } if station.is_finite()));
        let mut network = Self {
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
        };
        for node in 0..network.nodes.len() as u32 {
            network.plan_arrival(node);
        }
        for &(node, class, jobs) in populations {
            for _ in 0..jobs {
                let job = network.context.create(class, Nanos::ZERO);
                network.send(job, node, Nanos::ZERO);
            }
        }
        network
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

    /// The probe that looks on.
    pub fn probe(&self) -> &P {
        &self.context.probe
    }

    /// The statistics of a station up to now.
    ///
    /// # Panics
    /// If the node is not a station.
    pub fn station(&self, node: NodeId) -> StationStatistics {
        let Node::Station { station, .. } = &self.nodes[node.0 as usize] else {
            panic!("the node is not a station")
        };
        let mut statistics = station.statistics.clone();
        statistics.close(self.now);
        statistics
    }

    fn sink(&self, node: NodeId) -> &Sink {
        match &self.nodes[node.0 as usize] {
            Node::Sink(sink) => sink,
            Node::Lap(lap) => &lap.sink,
            _ => panic!("the node is no sink and no lap"),
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

    /// Forgets all statistics: the warm-up is over. The hash goes on.
    pub fn measure_from_now(&mut self) {
        self.measured_from = self.now;
        for node in &mut self.nodes {
            match node {
                Node::Station { station, .. } => station.statistics.restart(self.now),
                Node::Sink(sink) => *sink = Sink::default(),
                Node::Lap(lap) => lap.sink = Sink::default(),
                _ => {}
            }
        }
    }

    /// One event; returns whether there was one.
    #[inline]
    pub fn step(&mut self) -> bool {
        let Some((now, event)) = self.context.calendar.pop() else {
            return false;
        };
        self.now = now;
        let Self { nodes, context, .. } = self;
        match &mut nodes[event.node as usize] {
            Node::Station { station, next } => {
                let (next, first) = (*next, station.end(event.node, event.job, now, context));
                self.depart(event.node, first, next, now);
            }
            Node::Delay(delay) => {
                if delay.restarts {
                    context.jobs[event.job].since = now;
                }
                let next = delay.next;
                self.send(event.job, next, now);
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
            _ => unreachable!("only these plan events"),
        }
        true
    }

    /// Runs the network.
    pub fn run(&mut self, until: Until) -> Stopped {
        let goal = |now: u64, more: u64| now.saturating_add(more);
        let stopped = match until {
            Until::Time(end) => loop {
                if self.context.calendar.next_time().is_none_or(|at| at > end) {
                    self.now = self.now.max(end);
                    break Stopped::AsTold;
                }
                self.step();
            },
            Until::Departures(more) => {
                let goal = goal(self.departures(), more);
                while self.departures() < goal && self.step() {}
                self.why(self.departures() >= goal)
            }
            Until::Events(more) => {
                let goal = goal(self.events(), more);
                while self.events() < goal && self.step() {}
                self.why(self.events() >= goal)
            }
            Until::End => {
                while self.step() {}
                self.why(false)
            }
        };
        if cfg!(debug_assertions) {
            self.assert_conservation();
        }
        stopped
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
                let to = self.pass(job, next, now);
                if let Some(station) = self.full(to) {
                    station.statistics.lost += 1;
                    self.context.jobs.release(job);
                } else {
                    self.send(job, to, now);
                }
            } else {
                self.send(job, next, now);
            }
        }
    }

    /// Follows routers and laps to the next place where something happens to the job.
    #[inline]
    fn pass(&mut self, job: u32, mut node: u32, now: Nanos) -> u32 {
        let context = &mut self.context;
        loop {
            match &mut self.nodes[node as usize] {
                Node::Router(router) => node = router.output(context.jobs[job].class),
                Node::Lap(lap) => {
                    lap.sink.take(node, job, now, context);
                    context.jobs[job].since = now;
                    node = lap.next;
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
                let class = context.jobs[job].class;
                context.jobs[job].children = branches as u32;
                for branch in 0..branches {
                    let Node::Fork { outputs } = &self.nodes[node as usize] else {
                        unreachable!("it is a fork")
                    };
                    let output = outputs[branch];
                    let child = self.context.create(class, now);
                    self.context.jobs[child].parent = job;
                    self.send(child, output, now);
                }
            }
            Node::Join { next } => {
                let (parent, next) = (context.jobs[job].parent, *next);
                assert_ne!(parent, NONE, "only what was forked can be joined");
                context.jobs.release(job);
                context.jobs[parent].children -= 1;
                if context.jobs[parent].children == 0 {
                    self.send(parent, next, now);
                }
            }
            Node::Router(_) | Node::Lap(_) => {
                let node = self.pass(job, node, now);
                self.send(job, node, now);
            }
            _ => unreachable!("jobs do not come here"),
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
                to = self.pass(job, next, now);
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
        if let Node::Station { station, .. } = &mut self.nodes[node as usize] {
            station.free_server(node, now, &mut self.context);
        }
        if self.finite {
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
            let Node::Station { station, next } = &mut self.nodes[from as usize] else {
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
