//! Stations: servers with a queue.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use iosonar_units::Nanos;

use super::context::{Context, Event};
use super::job::{Job, NONE, NOT_INTERRUPTED};
use super::{Class, NodeId, Probe, StationStatistics};
use crate::{Calendar, EventId, EventPriority, Law, Stream};

/// Which of the waiting jobs is served next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// The one that came first.
    #[default]
    Fcfs,
    /// The one that came last.
    Lifo,
    /// Any.
    Random,
    /// The first of the class with the highest priority; a job in service is finished first.
    Priority,
    /// The same, but a job of higher priority interrupts one in service, which later goes on where
    /// it was interrupted.
    PreemptiveResume,
    /// All at once, each as fast as its share of the servers (one at most).
    ProcessorSharing,
}

/// What a station is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    servers: u32,
    discipline: Discipline,
    service: Law,
    /// Where classes differ.
    by_class: Vec<(Class, Law)>,
    /// The rank of each class from 0 on, the smaller first. Classes beyond have their own number.
    ranks: Vec<u8>,
    batch: (u32, u32),
    room: Option<u32>,
    patience: Option<Law>,
}

impl Queue {
    /// `servers` servers, first come first served.
    pub fn fcfs(servers: u32, service: impl Into<Law>) -> Self {
        Self {
            servers,
            discipline: Discipline::Fcfs,
            service: service.into(),
            by_class: Vec::new(),
            ranks: Vec::new(),
            batch: (1, 1),
            room: None,
            patience: None,
        }
    }

    /// With another order of service.
    #[must_use]
    pub fn with(self, discipline: Discipline) -> Self {
        Self { discipline, ..self }
    }

    /// Jobs of `class` are served by a law of their own.
    #[must_use]
    pub fn service_of(mut self, class: Class, service: impl Into<Law>) -> Self {
        self.by_class.push((class, service.into()));
        self
    }

    /// The rank of each class from 0 on; smaller ranks are served first. Without it the rank of a
    /// class is its number.
    #[must_use]
    pub fn ranks(self, ranks: Vec<u8>) -> Self {
        Self { ranks, ..self }
    }

    /// A server takes up to `most` jobs at once, as soon as there are `least`; they have one service
    /// time together (the queue `M/M^[a,b]/1` has least = a, most = b).
    #[must_use]
    pub fn in_batches(self, least: u32, most: u32) -> Self {
        Self {
            batch: (least, most),
            ..self
        }
    }

    /// No more than `jobs` at the station, in service included. A job that comes from a source and
    /// finds no room is lost; one that comes from another station stays on its server, which is
    /// blocked until there is room (blocking after service).
    #[must_use]
    pub fn room_for(self, jobs: u32) -> Self {
        Self {
            room: Some(jobs),
            ..self
        }
    }

    /// Jobs do not wait longer than a time that is drawn from this law when they begin to wait: then they leave
    /// [unserved](super::Builder::unserved). A job whose service has begun stays.
    #[must_use]
    pub fn patience(self, law: impl Into<Law>) -> Self {
        Self {
            patience: Some(law.into()),
            ..self
        }
    }

    pub(super) fn patience_law(&self) -> Option<&Law> {
        self.patience.as_ref()
    }

    pub(super) fn is_finite(&self) -> bool {
        self.room.is_some()
    }

    pub(super) fn has_room_for(&self, jobs: u32) -> bool {
        self.room.is_none_or(|room| jobs <= room)
    }

    pub(super) fn laws(&self) -> impl Iterator<Item = &Law> {
        let by_class = self.by_class.iter().map(|(_, law)| law);
        std::iter::once(&self.service)
            .chain(by_class)
            .chain(&self.patience)
    }

    /// The law of the service of a class.
    #[inline]
    pub(super) fn law_of(&self, class: Class) -> &Law {
        let own = self.by_class.iter().find(|(of, _)| *of == class);
        own.map_or(&self.service, |(_, law)| law)
    }

    /// How many classes from 0 on may be served differently from each other and from all beyond.
    pub(super) fn classes(&self) -> usize {
        let numbers = self.by_class.iter().map(|(of, _)| usize::from(of.0) + 1);
        numbers.max().unwrap_or(0)
    }

    /// Whether it has one server, an unlimited queue of jobs that are all alike, and nothing else.
    fn is_simple(&self) -> bool {
        self.is_plain() && self.servers == 1 && self.room.is_none() && self.by_class.is_empty()
    }

    /// Whether no more has to be done when a job begins its service than to take the first one.
    fn is_plain(&self) -> bool {
        self.batch.1 == 1 && self.discipline == Discipline::Fcfs && self.patience.is_none()
    }

    pub(super) fn check(&self) -> Result<(), &'static str> {
        let preempts = matches!(
            self.discipline,
            Discipline::PreemptiveResume | Discipline::ProcessorSharing
        );
        if self.servers == 0 {
            Err("it needs at least one server")
        } else if self.batch.0 == 0 || self.batch.1 < self.batch.0 {
            Err("a batch must have at least one job, and its maximum must not be below its minimum")
        } else if self.batch != (1, 1) && preempts {
            Err("batches support neither processor sharing nor preemption")
        } else if self.room.is_some_and(|room| room < self.batch.0) {
            Err("the queue is smaller than a batch")
        } else if self.patience.is_some() && self.discipline == Discipline::ProcessorSharing {
            Err("no job waits under processor sharing, so patience has no effect")
        } else {
            Ok(())
        }
    }

    fn rank(&self, class: Class) -> u8 {
        *self.ranks.get(usize::from(class.0)).unwrap_or(&class.0)
    }
}

/// A job in service that may be interrupted.
#[derive(Clone, Copy, Debug)]
struct Interruptible {
    job: u32,
    rank: u8,
    event: EventId,
    ends: Nanos,
}

/// Virtual time of processor sharing has this many binary places below a nanosecond.
const FRACTION: u32 = 32;

/// Jobs that share the servers. Virtual time passes as fast as each of them is served; a job is done
/// when as much virtual time has passed as its service takes.
#[derive(Clone, Debug, Default)]
struct Sharing {
    virtual_time: u128,
    at: Nanos,
    /// By virtual end, then in the order of arrival.
    jobs: BinaryHeap<Reverse<(u128, u64, u32)>>,
    next_end: Option<EventId>,
}

/// What is known of the patience of waiting jobs.
#[derive(Clone)]
struct Patience {
    law: Law,
    stream: Stream,
    /// The node of the events that end it.
    node: u32,
    /// These events, by job.
    ends: Vec<Option<EventId>>,
}

impl Patience {
    #[cold]
    fn begin<P>(&mut self, job: u32, now: Nanos, context: &mut Context<P>) {
        let end = now.saturating_add(self.law.draw(&mut self.stream));
        let event = Event::end(self.node, job);
        let id = context
            .calendar
            .schedule_cancellable(end, EventPriority::default(), event);
        let job = job as usize;
        if self.ends.len() <= job {
            self.ends.resize(job + 1, None);
        }
        self.ends[job] = Some(id);
    }

    /// The job waits no longer. Gives back the event to cancel.
    fn end(&mut self, job: u32) -> Option<EventId> {
        self.ends.get_mut(job as usize)?.take()
    }
}

/// A station in the middle of a run.
#[derive(Clone)]
pub(super) struct Station {
    queue: Queue,
    /// See [`Queue::is_simple`]. Such a station takes short ways through the code, on which the job in service is only
    /// known to the calendar, and waiting jobs are not counted.
    simple: bool,
    /// See [`Queue::is_plain`].
    plain: bool,
    service: Stream,
    order: Stream,
    /// Waiting jobs of rank 0: all of them, unless the discipline knows ranks.
    waiting: VecDeque<u32>,
    /// Those of the other ranks, from rank 1 on.
    waiting_behind: Vec<VecDeque<u32>>,
    waiting_number: u32,
    /// Servers that have a job, at work or blocked.
    taken: u32,
    in_service: Vec<Interruptible>,
    sharing: Sharing,
    patience: Option<Box<Patience>>,
    /// Jobs at other stations that wait for room here, with their stations.
    pub(super) held_back: VecDeque<(u32, u32)>,
    pub(super) statistics: StationStatistics,
}

impl Station {
    pub(super) fn new(queue: Queue, stream: impl Fn(&'static str) -> Stream) -> Self {
        let statistics = StationStatistics {
            servers: queue.servers,
            ..StationStatistics::default()
        };
        let patience = queue.patience.clone().map(|law| {
            Box::new(Patience {
                law,
                stream: stream("patience"),
                node: NONE,
                ends: Vec::new(),
            })
        });
        Self {
            simple: queue.is_simple(),
            plain: queue.is_plain(),
            queue,
            service: stream("service"),
            order: stream("order"),
            waiting: VecDeque::new(),
            waiting_behind: Vec::new(),
            waiting_number: 0,
            taken: 0,
            in_service: Vec::new(),
            sharing: Sharing::default(),
            patience,
            held_back: VecDeque::new(),
            statistics,
        }
    }

    pub(super) fn is_finite(&self) -> bool {
        self.queue.is_finite()
    }

    /// Where the events go that end the patience of waiting jobs, if they have any.
    pub(super) fn patience_node(&mut self) -> Option<&mut u32> {
        self.patience.as_mut().map(|patience| &mut patience.node)
    }

    /// Whether a job that comes now can enter: there is room, and no job is waiting for it.
    #[inline]
    pub(super) fn takes_newcomers(&self) -> bool {
        self.held_back.is_empty() && self.has_room()
    }

    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.queue
            .room
            .is_none_or(|room| self.statistics.number.value() < room)
    }

    pub(super) fn is_simple(&self) -> bool {
        self.simple
    }

    /// In a network with finite queues jobs may be held back here, which the short ways do not know.
    pub(super) fn take_no_short_ways(&mut self) {
        self.simple = false;
    }

    /// Takes a job in, and starts its service if it can.
    #[inline(always)]
    pub(super) fn enter<P: Probe>(
        &mut self,
        me: u32,
        job: u32,
        now: Nanos,
        context: &mut Context<P>,
    ) {
        if !self.simple {
            return self.enter_others(me, job, now, context);
        }
        self.arrive(me, job, now, context);
        if self.taken == 0 {
            self.taken = 1;
            self.statistics.busy.increase(now);
            self.begin_simple(me, job, now, context);
        } else {
            self.waiting.push_back(job);
        }
    }

    /// A job comes.
    #[inline(always)]
    fn arrive<P: Probe>(&mut self, me: u32, job: u32, now: Nanos, context: &mut Context<P>) {
        let state = &mut context.jobs[job];
        (state.arrived, state.station) = (now, me);
        let number = self.statistics.number.value();
        context
            .probe
            .arrived(NodeId(me), state.id, state.class, number, now);
        self.statistics.number.increase(now);
    }

    /// Begins the service of a job at a simple station, whose server is known to be at work.
    #[inline(always)]
    fn begin_simple<P: Probe>(&mut self, me: u32, job: u32, now: Nanos, context: &mut Context<P>) {
        let state = &mut context.jobs[job];
        state.started = now;
        self.statistics.wait.push(now - state.arrived);
        context.probe.started(NodeId(me), state.id, now);
        let ends = now.saturating_add(self.queue.service.draw(&mut self.service));
        context.calendar.schedule(ends, Event::end(me, job));
    }

    /// The service of a job at a simple station has ended, and it leaves; its server waits until it has gone on.
    #[inline(always)]
    pub(super) fn end_simple<P: Probe>(
        &mut self,
        me: u32,
        job: u32,
        now: Nanos,
        context: &mut Context<P>,
    ) {
        let state = &mut context.jobs[job];
        context.hash.add(state.id, me, state.started, now);
        context.probe.ended(NodeId(me), state.id, now);
        self.statistics.number.decrease(now);
        self.statistics.response_time.push(now - state.arrived);
        state.station = NONE;
    }

    /// The server of a simple station begins with the next job. If there is one, it has not been idle.
    #[inline(always)]
    pub(super) fn next_simple<P: Probe>(&mut self, me: u32, now: Nanos, context: &mut Context<P>) {
        if let Some(job) = self.waiting.pop_front() {
            self.begin_simple(me, job, now, context);
        } else {
            self.taken = 0;
            self.statistics.busy.decrease(now);
        }
    }

    #[inline(always)]
    fn enter_others<P: Probe>(&mut self, me: u32, job: u32, now: Nanos, context: &mut Context<P>) {
        self.arrive(me, job, now, context);
        match self.queue.discipline {
            Discipline::ProcessorSharing => self.share(me, job, now, context),
            Discipline::Fcfs if self.can_start_at_once() => self.begin(me, job, now, context),
            _ => self.line_up(me, job, now, context),
        }
    }

    /// A job joins those that wait, even if its service begins at once.
    #[inline(never)]
    fn line_up<P: Probe>(&mut self, me: u32, job: u32, now: Nanos, context: &mut Context<P>) {
        self.push(job, context.jobs[job].class);
        if let Some(patience) = &mut self.patience {
            patience.begin(job, now, context);
        }
        if self.queue.discipline == Discipline::PreemptiveResume {
            self.interrupt_for(context.jobs[job].class, now, context);
        }
        self.start_next(me, now, context);
    }

    /// The common case: a free server, no waiting jobs, no batches.
    #[inline]
    fn can_start_at_once(&self) -> bool {
        self.taken < self.queue.servers && self.waiting_number == 0 && self.queue.batch == (1, 1)
    }

    #[inline]
    fn push(&mut self, job: u32, class: Class) {
        self.waiting_number += 1;
        match self.queue.discipline {
            Discipline::Priority | Discipline::PreemptiveResume => {
                self.of_rank(self.queue.rank(class)).push_back(job);
            }
            _ => self.waiting.push_back(job),
        }
    }

    /// The waiting jobs of a rank.
    fn of_rank(&mut self, rank: u8) -> &mut VecDeque<u32> {
        let Some(behind) = usize::from(rank).checked_sub(1) else {
            return &mut self.waiting;
        };
        if self.waiting_behind.len() <= behind {
            self.waiting_behind.resize_with(behind + 1, VecDeque::new);
        }
        &mut self.waiting_behind[behind]
    }

    #[inline]
    fn pop(&mut self, calendar: &mut Calendar<Event>) -> Option<u32> {
        let job = match self.queue.discipline {
            Discipline::Lifo => self.waiting.pop_back(),
            Discipline::Random if !self.waiting.is_empty() => {
                let i = self.order.below(self.waiting.len() as u64) as usize;
                self.waiting.swap_remove_back(i)
            }
            _ => self.waiting.pop_front(),
        };
        let behind = || self.waiting_behind.iter_mut().find_map(VecDeque::pop_front);
        let job = job.or_else(behind)?;
        self.waiting_number -= 1;
        if self.patience.is_some() {
            self.end_patience(job, calendar);
        }
        Some(job)
    }

    #[cold]
    fn end_patience(&mut self, job: u32, calendar: &mut Calendar<Event>) {
        let patience = self.patience.as_mut();
        if let Some(end) = patience.and_then(|patience| patience.end(job)) {
            calendar.cancel(end);
        }
    }

    /// A job that finds no room is not served here.
    #[cold]
    pub(super) fn turn_away<P: Probe>(
        &mut self,
        me: u32,
        job: u32,
        now: Nanos,
        context: &mut Context<P>,
    ) {
        self.statistics.lost += 1;
        let id = context.jobs[job].id;
        context.probe.unserved(NodeId(me), id, now);
    }

    /// The patience of a waiting job has ended: it waits no longer, and is about to [leave](Self::leave).
    pub(super) fn give_up(&mut self, job: u32, class: Class) {
        let waiting = match self.queue.discipline {
            Discipline::Priority | Discipline::PreemptiveResume => {
                self.of_rank(self.queue.rank(class))
            }
            _ => &mut self.waiting,
        };
        let place = waiting.iter().position(|&waits| waits == job);
        waiting.remove(place.expect("patience ends only while a job waits"));
        self.waiting_number -= 1;
        self.statistics.abandoned += 1;
        if let Some(patience) = &mut self.patience {
            patience.end(job);
        }
    }

    /// Starts services as long as there are jobs and servers.
    #[inline(always)]
    pub(super) fn start_next<P: Probe>(&mut self, me: u32, now: Nanos, context: &mut Context<P>) {
        let (least, most) = self.queue.batch;
        if self.plain {
            while self.taken < self.queue.servers {
                let Some(job) = self.waiting.pop_front() else {
                    return;
                };
                self.waiting_number -= 1;
                self.begin(me, job, now, context);
            }
            return;
        }
        while self.taken < self.queue.servers && self.waiting_number >= least {
            let Some(first) = self.pop(&mut context.calendar) else {
                return;
            };
            let mut last = first;
            for _ in 1..most {
                let Some(job) = self.pop(&mut context.calendar) else {
                    break;
                };
                context.jobs[last].next = job;
                last = job;
            }
            context.jobs[last].next = NONE;
            self.begin(me, first, now, context);
        }
    }

    /// Begins the service of a job, or of the batch that begins with it.
    #[inline(always)]
    fn begin<P: Probe>(&mut self, me: u32, first: u32, now: Nanos, context: &mut Context<P>) {
        let state = &mut context.jobs[first];
        let class = state.class;
        let left = std::mem::replace(&mut state.left, NOT_INTERRUPTED);
        let service = if left == NOT_INTERRUPTED {
            let mut job = first;
            while job != NONE {
                let state = &mut context.jobs[job];
                state.started = now;
                self.statistics.wait.push(now - state.arrived);
                context.probe.started(NodeId(me), state.id, now);
                job = state.next;
            }
            self.draw_service(class)
        } else {
            left
        };
        self.taken += 1;
        self.statistics.busy.increase(now);
        let ends = now.saturating_add(service);
        let event = Event::end(me, first);
        if self.queue.discipline == Discipline::PreemptiveResume {
            let id = context
                .calendar
                .schedule_cancellable(ends, EventPriority::default(), event);
            self.in_service.push(Interruptible {
                job: first,
                rank: self.queue.rank(class),
                event: id,
                ends,
            });
        } else {
            context.calendar.schedule(ends, event);
        }
    }

    #[inline]
    fn draw_service(&mut self, class: Class) -> Nanos {
        self.queue.law_of(class).draw(&mut self.service)
    }

    /// If all servers are taken and one serves a class of lower priority, interrupts that service:
    /// the lowest priority, and of several the one that began last.
    fn interrupt_for<P: Probe>(&mut self, class: Class, now: Nanos, context: &mut Context<P>) {
        let rank = self.queue.rank(class);
        if self.taken < self.queue.servers {
            return;
        }
        let lowest = (0..self.in_service.len()).max_by_key(|&i| self.in_service[i].rank);
        let Some(i) = lowest.filter(|&i| self.in_service[i].rank > rank) else {
            return;
        };
        let interrupted = self.in_service.remove(i);
        context.calendar.cancel(interrupted.event);
        context.jobs[interrupted.job].left = interrupted.ends - now;
        self.of_rank(interrupted.rank).push_front(interrupted.job);
        self.waiting_number += 1;
        self.taken -= 1;
        self.statistics.busy.decrease(now);
    }

    /// The service of `job` has ended; it stays on its server until it has [left](Self::leave).
    /// Under processor sharing the event names no job. Gives back the job, the first of its batch.
    #[inline(always)]
    pub(super) fn end<P: Probe>(
        &mut self,
        me: u32,
        job: u32,
        now: Nanos,
        context: &mut Context<P>,
    ) -> u32 {
        let job = match self.queue.discipline {
            Discipline::ProcessorSharing => self.end_shared(now, context),
            Discipline::PreemptiveResume => {
                self.in_service.retain(|s| s.job != job);
                job
            }
            _ => job,
        };
        if self.queue.discipline != Discipline::ProcessorSharing {
            self.statistics.busy.decrease(now);
        }
        let mut member = job;
        while member != NONE {
            let state = &context.jobs[member];
            context.hash.add(state.id, me, state.started, now);
            context.probe.ended(NodeId(me), state.id, now);
            member = state.next;
        }
        job
    }

    /// A job leaves the station.
    #[inline(always)]
    pub(super) fn leave(&mut self, job: &mut Job, now: Nanos) {
        self.statistics.number.decrease(now);
        self.statistics.response_time.push(now - job.arrived);
        job.station = NONE;
        job.next = NONE;
    }

    /// The server of a batch whose jobs have all left is free.
    #[inline]
    pub(super) fn free_server<P: Probe>(&mut self, me: u32, now: Nanos, context: &mut Context<P>) {
        if self.queue.discipline != Discipline::ProcessorSharing {
            self.taken -= 1;
            self.start_next(me, now, context);
        }
    }

    fn share<P: Probe>(&mut self, me: u32, job: u32, now: Nanos, context: &mut Context<P>) {
        self.pass_virtual_time(now);
        let state = &mut context.jobs[job];
        state.started = now;
        let (id, class) = (state.id, state.class);
        context.probe.started(NodeId(me), id, now);
        let service = self.draw_service(class);
        let end = self.sharing.virtual_time + (u128::from(service.get()) << FRACTION);
        self.sharing.jobs.push(Reverse((end, id, job)));
        self.plan_next_end(me, now, context);
    }

    fn end_shared<P: Probe>(&mut self, now: Nanos, context: &mut Context<P>) -> u32 {
        self.pass_virtual_time(now);
        self.sharing.next_end = None;
        let Some(Reverse((_, _, job))) = self.sharing.jobs.pop() else {
            unreachable!("an end was planned for a job")
        };
        let me = context.jobs[job].station;
        self.plan_next_end(me, now, context);
        job
    }

    /// How many of the servers are at work, and for how many jobs.
    fn shares(&self) -> (u32, u32) {
        let jobs = self.sharing.jobs.len() as u32;
        (jobs.min(self.queue.servers), jobs)
    }

    fn pass_virtual_time(&mut self, now: Nanos) {
        let (servers, jobs) = self.shares();
        if jobs > 0 {
            let span = u128::from((now - self.sharing.at).get()) << FRACTION;
            self.sharing.virtual_time += span * u128::from(servers) / u128::from(jobs);
        } else {
            self.sharing.virtual_time = 0;
        }
        self.sharing.at = now;
    }

    fn plan_next_end<P: Probe>(&mut self, me: u32, now: Nanos, context: &mut Context<P>) {
        let (servers, jobs) = self.shares();
        self.statistics.busy.set(servers, now);
        if let Some(event) = self.sharing.next_end.take() {
            context.calendar.cancel(event);
        }
        let Some(Reverse((end, _, _))) = self.sharing.jobs.peek() else {
            return;
        };
        let left = end.saturating_sub(self.sharing.virtual_time) * u128::from(jobs);
        let span = left.div_ceil(u128::from(servers) << FRACTION);
        let span = Nanos::new(u64::try_from(span).unwrap_or(u64::MAX));
        let id = context.calendar.schedule_cancellable(
            now.saturating_add(span),
            EventPriority::default(),
            Event::end(me, NONE),
        );
        self.sharing.next_end = Some(id);
    }
}
