//! Stations: servers with a queue.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use iosonar_units::Nanos;

use super::agenda::NO_PLACE;
use super::context::{Context, Event};
use super::job::{NONE, NOT_INTERRUPTED, Placed};
use super::patience::Patience;
use super::queue::{Discipline, Queue};
use super::{Class, NodeId, Probe, StationStatistics};
use crate::law::Draws;
use crate::{Calendar, EventId, EventPriority, Stream};

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

/// Where the times of services come from.
#[derive(Clone)]
enum Service {
    /// All classes have the same law.
    Alike(Box<Draws>),
    /// The laws of the classes draw from one stream.
    ByClass(Stream),
}

impl Service {
    fn of(queue: &Queue, stream: Stream) -> Self {
        match queue.by_class.is_empty() {
            true => Self::Alike(Box::new(Draws::new(queue.service.clone(), stream))),
            false => Self::ByClass(stream),
        }
    }
}

/// A station in the middle of a run.
#[derive(Clone)]
pub(super) struct Station {
    queue: Queue,
    /// The place of its event in the agenda, if it has at most one that is never cancelled.
    pub(super) place: u32,
    /// See [`Queue::is_plain`].
    plain: bool,
    service: Service,
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
            place: NO_PLACE,
            plain: queue.is_plain(),
            service: Service::of(&queue, stream("service")),
            queue,
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

    /// Whether it has at most one event, which is never cancelled, besides those of patience.
    pub(super) fn has_one_event(&self) -> bool {
        let may_cancel = matches!(
            self.queue.discipline,
            Discipline::PreemptiveResume | Discipline::ProcessorSharing
        );
        self.queue.servers == 1 && !may_cancel
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
        self.arrive(me, job, now, context);
        match self.queue.discipline {
            Discipline::ProcessorSharing => self.share(me, job, now, context),
            Discipline::Fcfs if self.can_start_at_once() => self.begin(me, job, now, context),
            _ => self.line_up(me, job, now, context),
        }
    }

    /// A job comes.
    #[inline(always)]
    fn arrive<P: Probe>(&mut self, me: u32, job: u32, now: Nanos, context: &mut Context<P>) {
        let state = &mut context.jobs[job];
        (state.job.at, state.station) = (now, me);
        let (id, class) = (state.job.id, state.job.class());
        let number = self.statistics.number.value();
        let probe = &mut context.record.probe;
        probe.arrived(NodeId(me), id, class, number, now);
        self.statistics.number.increase(now);
    }

    /// A job joins those that wait, even if its service begins at once.
    #[inline(never)]
    fn line_up<P: Probe>(&mut self, me: u32, job: u32, now: Nanos, context: &mut Context<P>) {
        let class = context.jobs[job].job.class();
        self.push(job, class);
        if let Some(patience) = &mut self.patience {
            patience.begin(job, now, context);
        }
        if self.queue.discipline == Discipline::PreemptiveResume {
            self.interrupt_for(class, now, context);
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
    pub(super) fn lost(&mut self) {
        self.statistics.lost += 1;
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
            let Some(first) = self.pop(context.agenda.calendar()) else {
                return;
            };
            let mut last = first;
            for _ in 1..most {
                let Some(job) = self.pop(context.agenda.calendar()) else {
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
        let class = state.job.class();
        let left = std::mem::replace(&mut state.left, NOT_INTERRUPTED);
        let service = if left == NOT_INTERRUPTED {
            let mut job = first;
            while job != NONE {
                let state = &mut context.jobs[job];
                state.started = now;
                self.statistics.wait.push(now - state.job.at);
                let id = state.job.id;
                job = state.next;
                context.record.probe.started(NodeId(me), id, now);
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
            let id = context.agenda.calendar().schedule_cancellable(
                ends,
                EventPriority::default(),
                event,
            );
            self.in_service.push(Interruptible {
                job: first,
                rank: self.queue.rank(class),
                event: id,
                ends,
            });
        } else {
            context.agenda.schedule(self.place, ends, event);
        }
    }

    #[inline]
    fn draw_service(&mut self, class: Class) -> Nanos {
        match &mut self.service {
            Service::Alike(times) => times.draw(),
            Service::ByClass(stream) => self.queue.law_of(class).draw(stream),
        }
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
        context.agenda.calendar().cancel(interrupted.event);
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
            let (id, started) = (state.job.id, state.started);
            member = state.next;
            context.record.hash.add(id, me, started, now);
            context.record.probe.ended(NodeId(me), id, now);
        }
        job
    }

    /// A job leaves the station.
    #[inline(always)]
    pub(super) fn leave(&mut self, job: &Placed, now: Nanos) {
        self.statistics.number.decrease(now);
        self.statistics.response_time.push(now - job.job.at);
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
        let (id, class) = (state.job.id, state.job.class());
        context.record.probe.started(NodeId(me), id, now);
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
            context.agenda.calendar().cancel(event);
        }
        let Some(Reverse((end, _, _))) = self.sharing.jobs.peek() else {
            return;
        };
        let left = end.saturating_sub(self.sharing.virtual_time) * u128::from(jobs);
        let span = left.div_ceil(u128::from(servers) << FRACTION);
        let span = Nanos::new(u64::try_from(span).unwrap_or(u64::MAX));
        let id = context.agenda.calendar().schedule_cancellable(
            now.saturating_add(span),
            EventPriority::default(),
            Event::of(me),
        );
        self.sharing.next_end = Some(id);
    }
}
