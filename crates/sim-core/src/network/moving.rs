//! How jobs go from node to node.
//!
//! Where a job stays, a station of the [simplest](super::single) kind keeps it itself. All others keep it by its place
//! among the jobs of the network, which it leaves when it goes on.

use iosonar_units::Nanos;

use super::context::Event;
use super::job::{Job, NONE};
use super::node::{Incoming, Node};
use super::station::Station;
use super::{BuildError, Class, Network, NodeId, Probe};
use crate::arrivals::{Arrival, Renewal};
use crate::calendar::NextEvent;

impl<P: Probe> Network<P> {
    /// The next event, if it happens until `end`; returns whether there was one.
    #[inline(always)]
    pub(super) fn advance(&mut self, end: Nanos) -> bool {
        let (place, now) = match self.context.agenda.next(end) {
            NextEvent::None => return false,
            NextEvent::Other => {
                self.advance_calendar();
                return true;
            }
            NextEvent::At(place, now) => (place, now),
        };
        self.now = now;
        let sources = self.sources.len();
        if place < sources {
            let next = self.sources[place].source.next();
            self.context.agenda.replace(place, next);
            self.come(place, now);
        } else if place - sources < self.servers.len() {
            let i = place - sources;
            self.serve(i, now);
            let next = self.resume(i, now);
            self.context.agenda.replace(place, next);
        } else {
            let event = self.context.agenda.take(place);
            self.advance_others(event, now);
        }
        true
    }

    /// A job comes from one of the simplest sources.
    #[inline(always)]
    fn come(&mut self, source: usize, now: Nanos) {
        let incoming = &self.sources[source];
        let (class, next) = (incoming.source.class, incoming.next);
        let job = self.context.record.create(class, now);
        match self.finite {
            true => self.arrive(job, next, now),
            false => self.send(job, next, now),
        }
    }

    /// A service ends at one of the simplest stations, and its job goes on.
    #[inline(always)]
    fn serve(&mut self, i: usize, now: Nanos) {
        let server = &mut self.servers[i];
        let next = server.next;
        let record = &mut self.context.record;
        let job = server.single.end(server.node, now, record);
        self.send(job, next, now);
    }

    /// The server of such a station goes on, and returns when its next service ends.
    #[inline(always)]
    fn resume(&mut self, i: usize, now: Nanos) -> Option<Nanos> {
        let server = &mut self.servers[i];
        let record = &mut self.context.record;
        server.single.resume(server.node, now, record)
    }

    /// The next event, which is in the calendar.
    #[inline(never)]
    fn advance_calendar(&mut self) {
        let next = self.context.agenda.calendar().pop();
        let (now, event) = next.expect("an event is in the calendar");
        self.now = now;
        self.advance_others(event, now);
    }

    /// An event happens, of any node but the simplest and most frequent ones.
    #[inline(never)]
    fn advance_others(&mut self, event: Event, now: Nanos) {
        let Self { nodes, context, .. } = self;
        match &mut nodes[event.node as usize] {
            Node::Station(to) => {
                let (next, first) = (to.next, to.station.end(event.node, event.job, now, context));
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
            // Those that have found no place in the array.
            &mut Node::Single(i) => {
                let i = i as usize;
                self.serve(i, now);
                if let Some(end) = self.resume(i, now) {
                    let place = self.servers[i].place;
                    self.context.agenda.plan(place, end, event.node);
                }
            }
            Node::Renewal => {
                self.plan_arrival(event.node);
                let at = |incoming: &Incoming<Renewal>| incoming.node == event.node;
                let source = self.sources.iter().position(at);
                self.come(source.expect("a source has this event"), now);
            }
            Node::Custom(_) => self.call(event.node, now, |behaviour, here| {
                behaviour.happened(event.job, here);
            }),
            &mut Node::Patience(station) => self.give_up(station, event.job, now),
            _ => unreachable!("only these plan events"),
        }
    }

    /// Plans the first event of a source, or the next one of one of the simplest sources.
    pub(super) fn plan_arrival(&mut self, node: u32) {
        let (place, at) = match &mut self.nodes[node as usize] {
            Node::Renewal => {
                let mut sources = self.sources.iter_mut();
                let incoming = sources.find(|incoming| incoming.node == node);
                let incoming = incoming.expect("it is one of the sources");
                (incoming.place, incoming.source.next())
            }
            Node::Source(incoming) => {
                let (source, planned) = &mut incoming.source;
                *planned = source.next();
                (incoming.place, planned.map(|arrival| arrival.at))
            }
            _ => return,
        };
        if let Some(at) = at {
            self.context.agenda.plan(place, at, node);
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
        self.send_out(job, to, Nanos::ZERO);
        match &mut self.forwarding.endless {
            Some(endless) => Err(BuildError::Loop {
                node: endless.nodes.swap_remove(0),
            }),
            None => Ok(()),
        }
    }

    /// A job comes from outside.
    #[inline(never)]
    fn arrive(&mut self, mut job: Job, next: u32, now: Nanos) {
        if !self.finite {
            return self.send_out(job, next, now);
        }
        let to = self.beyond(&mut job, next, NONE, now);
        match self.full(to) {
            Some(station) => station.lost(),
            None => return self.send_out(job, to, now),
        }
        self.context.record.probe.unserved(NodeId(to), job.id, now);
    }

    /// Follows routers, laps, and the ways of those that find no room, to the next place where something happens to
    /// the job. Where it comes from it makes room itself.
    #[inline(always)]
    fn beyond(&mut self, job: &mut Job, node: u32, from: u32, now: Nanos) -> u32 {
        match &self.nodes[node as usize] {
            Node::Sink(_) => node,
            Node::Station(to) if to.unserved == NONE => node,
            _ => self.pass(job, node, from, now),
        }
    }

    /// The same, for the rarer nodes.
    #[inline(never)]
    fn pass(&mut self, job: &mut Job, mut node: u32, from: u32, now: Nanos) -> u32 {
        let record = &mut self.context.record;
        loop {
            match &mut self.nodes[node as usize] {
                Node::Router(router) => node = router.output(job.class()),
                Node::Lap(lap) => {
                    lap.sink.take(node, job, now, record);
                    job.since = now;
                    node = lap.next;
                }
                Node::Station(to)
                    if to.unserved != NONE && node != from && !to.station.has_room() =>
                {
                    to.station.lost();
                    record.probe.unserved(NodeId(node), job.id, now);
                    node = to.unserved;
                }
                _ => return node,
            }
        }
    }

    /// The station at `node` if it is one and takes no newcomers.
    fn full(&mut self, node: u32) -> Option<&mut Station> {
        match &mut self.nodes[node as usize] {
            Node::Station(to) if !to.station.takes_newcomers() => Some(&mut to.station),
            _ => None,
        }
    }

    /// Brings a job to `node`, or to where it goes if there is no room.
    #[inline(always)]
    pub(super) fn send_where_room(&mut self, job: Job, node: u32, now: Nanos) {
        match self.finite {
            true => self.send_beyond(job, node, now),
            false => self.send_out(job, node, now),
        }
    }

    /// The same, where a queue is finite.
    #[inline(never)]
    fn send_beyond(&mut self, mut job: Job, node: u32, now: Nanos) {
        let to = self.beyond(&mut job, node, NONE, now);
        self.send_out(job, to, now);
    }

    /// [Sends](Self::send) a job, where a call does not matter.
    #[inline(never)]
    fn send_out(&mut self, job: Job, node: u32, now: Nanos) {
        self.send(job, node, now);
    }

    /// Brings a job to `node`, and on as far as no time passes. There is room.
    #[inline(always)]
    fn send(&mut self, job: Job, node: u32, now: Nanos) {
        let context = &mut self.context;
        let to = &mut self.nodes[node as usize];
        if let &mut Node::Single(i) = to {
            let server = &mut self.servers[i as usize];
            let record = &mut context.record;
            if let Some(end) = server.single.enter(node, job, now, record) {
                context.agenda.plan(server.place, end, node);
            }
        } else if let Node::Sink(sink) = to {
            sink.take(node, &job, now, &mut context.record);
        } else if let &mut Node::Join(next) = to {
            let parent = &mut context.jobs[job.parent];
            parent.children -= 1;
            if parent.children == 0 {
                self.joined(job.parent, next, now);
            }
        } else {
            self.send_on(job, node, now);
        }
    }

    /// All parts of a job have come to the join.
    #[inline(never)]
    fn joined(&mut self, place: u32, next: u32, now: Nanos) {
        let whole = self.context.take(place);
        match self.finite {
            true => self.send_beyond(whole, next, now),
            false => self.send(whole, next, now),
        }
    }

    /// The same, for the rarer nodes.
    #[inline(never)]
    fn send_on(&mut self, mut job: Job, node: u32, now: Nanos) {
        let context = &mut self.context;
        match &mut self.nodes[node as usize] {
            Node::Station(to) => {
                let place = context.place(job);
                to.station.enter(node, place, now, context);
            }
            Node::Delay(delay) => {
                let end = now.saturating_add(delay.times.draw());
                let event = Event::end(node, context.place(job));
                context.agenda.calendar().schedule(end, event);
            }
            Node::Fork(_) => self.fork(job, node, now),
            Node::Router(_) | Node::Lap(_) => {
                let node = self.pass(&mut job, node, NONE, now);
                self.send_out(job, node, now);
            }
            Node::Custom(_) => self.receive(job, node, now),
            _ => unreachable!("jobs do not come here"),
        }
    }

    /// Splits a job into its parts.
    fn fork(&mut self, job: Job, node: u32, now: Nanos) {
        let Node::Fork(outputs) = &self.nodes[node as usize] else {
            unreachable!("it is a fork")
        };
        let branches = outputs.len();
        let whole = self.context.place(job);
        self.context.jobs[whole].children = branches as u32;
        if self.extended && self.fork_later(whole, node) {
            return;
        }
        let class = job.class();
        for branch in 0..branches {
            let Node::Fork(outputs) = &self.nodes[node as usize] else {
                unreachable!("it is a fork")
            };
            let output = outputs[branch];
            if self.finite {
                self.send_part(whole, class, output, now);
            } else {
                let part = self.part(whole, class, now);
                self.send(part, output, now);
            }
        }
    }

    /// Sends a part of a forked job through one of the fork's outputs.
    #[inline(always)]
    pub(super) fn send_part(&mut self, whole: u32, class: Class, output: u32, now: Nanos) {
        let part = self.part(whole, class, now);
        self.send_where_room(part, output, now);
    }

    #[inline(always)]
    fn part(&mut self, whole: u32, class: Class, now: Nanos) -> Job {
        let mut part = self.context.record.create(class, now);
        part.parent = whole;
        part
    }

    /// A job that waits at `node` has lost patience.
    fn give_up(&mut self, node: u32, place: u32, now: Nanos) {
        let Node::Station(at) = &mut self.nodes[node as usize] else {
            unreachable!("only at stations patience ends")
        };
        let placed = &self.context.jobs[place];
        at.station.give_up(place, placed.job.class());
        at.station.leave(placed, now);
        let to = at.unserved;
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
            self.send_out(job, to, now);
            place = following;
        }
        let mut awaited = false;
        if let Node::Station(at) = &mut self.nodes[node as usize] {
            at.station.free_server(node, now, &mut self.context);
            awaited = !at.station.held_back.is_empty();
        }
        if awaited {
            self.let_in(node, now);
        }
    }

    fn station_at(&mut self, node: u32) -> &mut Station {
        match &mut self.nodes[node as usize] {
            Node::Station(at) => &mut at.station,
            _ => unreachable!("it is a station"),
        }
    }

    /// A job leaves its place at a station.
    #[inline]
    fn leave(&mut self, node: u32, place: u32, now: Nanos) -> Job {
        if let Node::Station(at) = &mut self.nodes[node as usize] {
            at.station.leave(&self.context.jobs[place], now);
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
            self.send_out(job, node, now);
            let Node::Station(before) = &mut self.nodes[from as usize] else {
                unreachable!("only stations hold jobs back")
            };
            before.station.statistics.blocked.decrease(now);
            let next = before.next;
            self.depart(from, following, next, now);
        }
    }
}
