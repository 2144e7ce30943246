//! How jobs go from node to node.
//!
//! Where a job stays, a station of the [simplest](super::single) kind keeps it itself. All others keep it by its place
//! among the jobs of the network, which it leaves when it goes on.

use iosonar_units::Nanos;

use super::context::Event;
use super::job::{Job, NONE};
use super::node::Node;
use super::station::Station;
use super::{BuildError, Class, Network, NodeId, Probe};
use crate::arrivals::Arrival;

impl<P: Probe> Network<P> {
    /// The next event; returns whether there was one.
    #[inline]
    pub(super) fn advance(&mut self) -> bool {
        let Some((now, event)) = self.context.agenda.pop() else {
            return false;
        };
        self.now = now;
        let Self { nodes, context, .. } = self;
        match &mut nodes[event.node as usize] {
            Node::Single(server) => {
                let next = server.next;
                let job = server.single.end(event.node, now, &mut context.record);
                self.send(job, next, now);
                self.resume(event.node, now);
            }
            Node::Renewal(incoming) => {
                let (class, next) = (incoming.source.class, incoming.next);
                if let Some(at) = incoming.source.next() {
                    context.agenda.schedule(incoming.place, at, event);
                }
                let job = context.record.create(class, now);
                self.arrive(job, next, now);
            }
            Node::Station { station, next, .. } => {
                let (next, first) = (*next, station.end(event.node, event.job, now, context));
                self.depart(event.node, first, next, now);
            }
            Node::Delay(delay) => {
                let next = delay.next;
                let restarts = delay.restarts;
                let mut job = context.take(event.job);
                if restarts {
                    job.since = now;
                }
                self.send_where_room(job, next, now);
            }
            _ => self.advance_others(event, now),
        }
        true
    }

    /// The same, for the rarer nodes.
    #[inline(never)]
    fn advance_others(&mut self, event: Event, now: Nanos) {
        match &mut self.nodes[event.node as usize] {
            Node::Source(incoming) => {
                let (source, planned) = &mut incoming.source;
                let (arrival, next) = (planned.take(), incoming.next);
                *planned = source.next();
                if let Some(arrival) = planned {
                    let agenda = &mut self.context.agenda;
                    agenda.schedule(incoming.place, arrival.at, event);
                }
                if let Some(Arrival { class, jobs, .. }) = arrival {
                    for _ in 0..jobs {
                        let job = self.context.record.create(class, now);
                        self.arrive(job, next, now);
                    }
                }
            }
            Node::Custom(_) => self.call(event.node, now, |behaviour, here| {
                behaviour.happened(event.job, here);
            }),
            &mut Node::Patience { station } => self.give_up(station, event.job, now),
            _ => unreachable!("only these plan events"),
        }
    }

    /// The server of a simple station goes on.
    #[inline(always)]
    fn resume(&mut self, node: u32, now: Nanos) {
        let context = &mut self.context;
        let Node::Single(server) = &mut self.nodes[node as usize] else {
            unreachable!("it is a simple station")
        };
        if let Some(end) = server.single.resume(node, now, &mut context.record) {
            context.agenda.schedule(server.place, end, Event::of(node));
        }
    }

    /// Plans the first event of a source.
    pub(super) fn plan_arrival(&mut self, node: u32) {
        let (place, at) = match &mut self.nodes[node as usize] {
            Node::Renewal(incoming) => (incoming.place, incoming.source.next()),
            Node::Source(incoming) => {
                let (source, planned) = &mut incoming.source;
                *planned = source.next();
                (incoming.place, planned.map(|arrival| arrival.at))
            }
            _ => return,
        };
        if let Some(at) = at {
            self.context.agenda.schedule(place, at, Event::of(node));
        }
    }

    /// Puts a job of a population into `node` at time zero.
    pub(super) fn populate(&mut self, node: u32, class: Class) -> Result<(), BuildError> {
        let mut job = self.context.record.create(class, Nanos::ZERO);
        let mut to = node;
        if self.finite {
            to = self.beyond(&mut job, node, NONE, Nanos::ZERO);
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

    /// A job comes from outside.
    #[inline(always)]
    fn arrive(&mut self, mut job: Job, next: u32, now: Nanos) {
        if !self.finite {
            return self.send(job, next, now);
        }
        let to = self.beyond(&mut job, next, NONE, now);
        if let Node::Station { station, .. } = &mut self.nodes[to as usize]
            && !station.takes_newcomers()
        {
            station.turn_away(to, job.id, now, &mut self.context.record);
        } else {
            self.send(job, to, now);
        }
    }

    /// Follows routers, laps, and the ways of those that find no room, to the next place where something happens to
    /// the job. Where it comes from it makes room itself.
    #[inline(always)]
    fn beyond(&mut self, job: &mut Job, node: u32, from: u32, now: Nanos) -> u32 {
        match &self.nodes[node as usize] {
            Node::Station { unserved: NONE, .. } | Node::Sink(_) => node,
            _ => self.pass(job, node, from, now),
        }
    }

    /// The same, for the rarer nodes.
    #[inline(never)]
    fn pass(&mut self, job: &mut Job, mut node: u32, from: u32, now: Nanos) -> u32 {
        let record = &mut self.context.record;
        loop {
            match &mut self.nodes[node as usize] {
                Node::Router(router) => node = router.output(job.class),
                Node::Lap(lap) => {
                    lap.sink.take(node, job, now, record);
                    job.since = now;
                    node = lap.next;
                }
                Node::Station {
                    station, unserved, ..
                } if *unserved != NONE && node != from && !station.has_room() => {
                    let from = std::mem::replace(&mut node, *unserved);
                    station.turn_away(from, job.id, now, record);
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
    pub(super) fn send_where_room(&mut self, job: Job, node: u32, now: Nanos) {
        match self.finite {
            true => self.send_beyond(job, node, now),
            false => self.send(job, node, now),
        }
    }

    /// The same, where a queue is finite.
    #[inline(never)]
    fn send_beyond(&mut self, mut job: Job, node: u32, now: Nanos) {
        let to = self.beyond(&mut job, node, NONE, now);
        self.send(job, to, now);
    }

    /// Brings a job to `node`, and on as far as no time passes. There is room.
    #[inline(always)]
    fn send(&mut self, job: Job, node: u32, now: Nanos) {
        let context = &mut self.context;
        match &mut self.nodes[node as usize] {
            Node::Single(server) => {
                if let Some(end) = server.single.enter(node, job, now, &mut context.record) {
                    context.agenda.schedule(server.place, end, Event::of(node));
                }
            }
            Node::Sink(sink) => sink.take(node, &job, now, &mut context.record),
            _ => self.send_on(job, node, now),
        }
    }

    /// The same, for the rarer nodes.
    #[inline(never)]
    fn send_on(&mut self, mut job: Job, node: u32, now: Nanos) {
        let context = &mut self.context;
        match &mut self.nodes[node as usize] {
            Node::Station { station, .. } => {
                let place = context.place(job);
                station.enter(node, place, now, context);
            }
            Node::Delay(delay) => {
                let end = now.saturating_add(delay.times.draw());
                let event = Event::end(node, context.place(job));
                context.agenda.calendar.schedule(end, event);
            }
            Node::Fork { .. } => self.fork(job, node, now),
            Node::Join { next } => {
                let (parent, next) = (job.parent, *next);
                assert_ne!(parent, NONE, "only what was forked can be joined");
                context.jobs[parent].children -= 1;
                if context.jobs[parent].children == 0 {
                    let whole = context.take(parent);
                    self.send_where_room(whole, next, now);
                }
            }
            Node::Router(_) | Node::Lap(_) => {
                let node = self.pass(&mut job, node, NONE, now);
                self.send(job, node, now);
            }
            Node::Custom(_) => self.receive(job, node, now),
            _ => unreachable!("jobs do not come here"),
        }
    }

    /// Splits a job into its parts.
    fn fork(&mut self, job: Job, node: u32, now: Nanos) {
        let Node::Fork { outputs } = &self.nodes[node as usize] else {
            unreachable!("it is a fork")
        };
        let branches = outputs.len();
        let whole = self.context.place(job);
        self.context.jobs[whole].children = branches as u32;
        if self.extended && self.fork_later(whole, node) {
            return;
        }
        for branch in 0..branches {
            let Node::Fork { outputs } = &self.nodes[node as usize] else {
                unreachable!("it is a fork")
            };
            self.send_part(whole, job.class, outputs[branch], now);
        }
    }

    /// Sends a part of a forked job through one of the fork's outputs.
    #[inline(always)]
    pub(super) fn send_part(&mut self, whole: u32, class: Class, output: u32, now: Nanos) {
        let mut part = self.context.record.create(class, now);
        part.parent = whole;
        self.send_where_room(part, output, now);
    }

    /// A job that waits at `node` has lost patience.
    fn give_up(&mut self, node: u32, place: u32, now: Nanos) {
        let Node::Station {
            station, unserved, ..
        } = &mut self.nodes[node as usize]
        else {
            unreachable!("only at stations patience ends")
        };
        let placed = &self.context.jobs[place];
        station.give_up(place, placed.job.class);
        station.leave(placed, now);
        let to = *unserved;
        let job = self.context.take(place);
        self.context
            .record
            .probe
            .unserved(NodeId(node), job.id, now);
        if to != NONE {
            self.send_where_room(job, to, now);
        }
        if self.finite {
            self.let_in(node, now);
        }
    }

    /// Lets the jobs of a service that has ended go on, from the one at the place `first`.
    #[inline(always)]
    fn depart(&mut self, node: u32, first: u32, next: u32, now: Nanos) {
        let mut place = first;
        while place != NONE {
            let following = self.context.jobs[place].next;
            let mut to = next;
            if self.finite {
                let mut job = self.context.jobs[place].job;
                to = self.beyond(&mut job, next, node, now);
                self.context.jobs[place].job = job;
                if to != node
                    && let Some(station) = self.full(to)
                {
                    // The rest of the batch waits behind it on the server.
                    station.held_back.push_back((node, place));
                    self.station_at(node).statistics.blocked.increase(now);
                    // Those of the batch before it have made room.
                    self.let_in(node, now);
                    return;
                }
            }
            let job = self.leave(node, place, now);
            self.send(job, to, now);
            place = following;
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

    /// A job leaves its place at a station.
    #[inline]
    fn leave(&mut self, node: u32, place: u32, now: Nanos) -> Job {
        if let Node::Station { station, .. } = &mut self.nodes[node as usize] {
            station.leave(&self.context.jobs[place], now);
        }
        self.context.take(place)
    }

    /// Where there is room now, what was held back elsewhere comes in.
    fn let_in(&mut self, node: u32, now: Nanos) {
        loop {
            let station = self.station_at(node);
            if !station.has_room() {
                return;
            }
            let Some((from, place)) = station.held_back.pop_front() else {
                return;
            };
            let following = self.context.jobs[place].next;
            let job = self.leave(from, place, now);
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
