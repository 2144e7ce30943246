//! Metrics of what became of a load: delays, latencies, throughput, requests in flight, damaged I/O.

use std::collections::BTreeMap;

use iosonar_stats::Distribution;
use iosonar_trace::{Op, Record, Status};
use iosonar_units::Nanos;

use crate::activity::{Activity, ActivityMeter, ActivityOptions, Logical};
use crate::overlap::Damaged;
use crate::sweep::{Event, Flight, Sweep};

/// Throughput demanded and reached within a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomePoint {
    /// Requests whose intended start lies in the window.
    pub demanded: u64,
    /// Their sectors.
    pub demanded_sectors: u64,
    /// Requests that were completed in it.
    pub completed: u64,
    /// Their sectors.
    pub completed_sectors: u64,
}

/// Requests that are made of several records.
#[derive(Clone, Copy, Debug)]
struct Group {
    logical: Logical,
    last_row: u64,
    last_start: Nanos,
    ends: [Nanos; 2],
}

/// A group that had no record for so many rows is complete.
const GROUP_ROWS: u64 = 1 << 16;
const MOST_POINTS: usize = 1 << 20;

/// Measures what became of a load, record by record.
pub struct OutcomeMetrics {
    window: Nanos,
    points: BTreeMap<u64, OutcomePoint>,
    reads: Outcomes,
    writes: Outcomes,
    by_size: BTreeMap<u32, [Distribution; 2]>,
    untimed: u64,
    not_done: u64,
    sweep: Sweep,
    in_flight: u64,
    most_in_flight: u64,
    since: Nanos,
    weighted: f64,
    begun: Option<Nanos>,
    ended: Nanos,
    last_start: Nanos,
    first_start: Option<Nanos>,
    damaged: Damaged,
    activity: ActivityMeter,
    groups: BTreeMap<u32, Group>,
    /// The width of a group of time.
    group_length: Nanos,
    rows: u64,
}

/// Of one direction.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// From handing over to completion.
    pub latency: Distribution,
    /// From intended start to handing over.
    pub delay: Distribution,
    /// Both.
    pub response_time: Distribution,
}

impl Outcomes {
    fn push(&mut self, delay: Nanos, latency: Nanos) {
        self.delay.push(delay);
        self.latency.push(latency);
        self.response_time.push(delay.saturating_add(latency));
    }
}

impl OutcomeMetrics {
    /// Nothing measured yet; throughput is averaged over `window`.
    pub fn new(window: Nanos, activity: ActivityOptions) -> Self {
        Self {
            window,
            points: BTreeMap::new(),
            reads: Outcomes::default(),
            writes: Outcomes::default(),
            by_size: BTreeMap::new(),
            untimed: 0,
            not_done: 0,
            sweep: Sweep::default(),
            in_flight: 0,
            most_in_flight: 0,
            since: Nanos::ZERO,
            weighted: 0.0,
            begun: None,
            ended: Nanos::ZERO,
            last_start: Nanos::ZERO,
            first_start: None,
            damaged: Damaged::default(),
            activity: ActivityMeter::new(activity),
            groups: BTreeMap::new(),
            group_length: activity.group,
            rows: 0,
        }
    }

    /// Adds a record. They come sorted by intended start.
    pub fn push(&mut self, record: &Record) {
        let Record { request, outcome } = record;
        self.rows += 1;
        let group_of_time = |t: Nanos| t.get() / self.group_length.get().max(1);
        if !self.groups.is_empty()
            && (self.rows.is_multiple_of(1024)
                || group_of_time(request.start) != group_of_time(self.last_start))
        {
            self.end_old_groups(request.start);
        }
        self.first_start.get_or_insert(request.start);
        self.last_start = request.start;
        self.proceed(request.start);
        let sectors = u64::from(request.sectors.get());
        let point = self.point(request.start);
        point.demanded += 1;
        point.demanded_sectors += sectors;
        self.not_done += u64::from(outcome.status != Status::Done);
        let Some(latency) = outcome.latency else {
            self.untimed += 1;
            return;
        };
        let delay = outcome.delay.unwrap_or_default();
        let is_read = request.op == Op::Read;
        let of = if is_read {
            &mut self.reads
        } else {
            &mut self.writes
        };
        of.push(delay, latency);
        // Powers of two: 1 sector, 2, 3-4, 5-8, ...
        let class = request
            .sectors
            .get()
            .max(1)
            .checked_next_power_of_two()
            .unwrap_or(u32::MAX);
        self.by_size.entry(class).or_default()[usize::from(!is_read)].push(latency);
        let from = request.start.saturating_add(delay);
        let until = from.saturating_add(latency);
        let point = self.point(until);
        point.completed += 1;
        point.completed_sectors += sectors;
        self.sweep.push(Flight {
            from,
            until,
            request: *request,
            number: self.rows,
        });
        self.group(record, from, until);
    }

    fn point(&mut self, time: Nanos) -> &mut OutcomePoint {
        if self.points.len() > MOST_POINTS {
            self.window = Nanos::new(self.window.get() * 2);
            for (k, fine) in std::mem::take(&mut self.points) {
                let coarse = self.points.entry(k / 2).or_default();
                coarse.demanded += fine.demanded;
                coarse.demanded_sectors += fine.demanded_sectors;
                coarse.completed += fine.completed;
                coarse.completed_sectors += fine.completed_sectors;
            }
        }
        let k = time.get() / self.window.get().max(1);
        self.points.entry(k).or_default()
    }

    /// What a record is to the request that it belongs to.
    fn group(&mut self, record: &Record, from: Nanos, until: Nanos) {
        let request = &record.request;
        let single = Logical {
            start: request.start,
            first: until - request.start,
            total: until - request.start,
            second: None,
            ios: 1,
            sectors: u64::from(request.sectors.get()),
            is_read: request.op == Op::Read,
            is_group: false,
        };
        if request.group == 0 {
            self.activity.request(&single);
            return;
        }
        let rows = self.rows;
        let group = self.groups.entry(request.group).or_insert(Group {
            logical: Logical {
                ios: 0,
                sectors: 0,
                is_group: true,
                ..single
            },
            last_row: rows,
            last_start: request.start,
            ends: [until, Nanos::ZERO],
        });
        let logical = &mut group.logical;
        logical.ios += 1;
        logical.sectors += single.sectors;
        group.last_row = rows;
        group.last_start = request.start;
        if until < group.ends[0] {
            group.ends[0] = until;
        }
        group.ends[1] = group.ends[1].max(until);
        if logical.ios == 2 {
            logical.second = Some(until.saturating_sub(from));
        }
    }

    /// Ends the groups that have had no record for long: so many rows, or a group of time.
    fn end_old_groups(&mut self, now: Nanos) {
        let (rows, length) = (self.rows, self.group_length);
        let old =
            |g: &Group| g.last_row + GROUP_ROWS < rows || now.saturating_sub(g.last_start) > length;
        let of = |(key, group): (&u32, &Group)| old(group).then_some(*key);
        let complete: Vec<u32> = self.groups.iter().filter_map(of).collect();
        complete.into_iter().for_each(|key| self.end_group(key));
    }

    fn end_group(&mut self, key: u32) {
        if let Some(mut group) = self.groups.remove(&key) {
            let start = group.logical.start;
            group.logical.first = group.ends[0].saturating_sub(start);
            group.logical.total = group.ends[1].saturating_sub(start);
            self.activity.request(&group.logical);
        }
    }

    /// Does what happens before `now`.
    fn proceed(&mut self, now: Nanos) {
        while let Some(event) = self.sweep.next(now) {
            let time = event.time();
            self.weighted += self.in_flight as f64 * (time - self.since.min(time)).get() as f64;
            self.since = time;
            self.ended = self.ended.max(time);
            match event {
                Event::Begin(flight) => {
                    self.begun.get_or_insert(flight.from);
                    self.in_flight += 1;
                    self.most_in_flight = self.most_in_flight.max(self.in_flight);
                    self.damaged
                        .push(&flight.request, flight.from, flight.until);
                }
                Event::End(_) => self.in_flight -= 1,
            }
            self.activity.event(&event);
        }
    }

    /// What has been measured; `None` if no record has a latency.
    pub fn finish(mut self) -> Option<OutcomeSummary> {
        self.proceed(Nanos::MAX);
        let open: Vec<u32> = self.groups.keys().copied().collect();
        open.into_iter().for_each(|key| self.end_group(key));
        let begun = self.begun?;
        let first = self.first_start?;
        let duration = self.ended.saturating_sub(begun);
        Some(OutcomeSummary {
            reads: self.reads,
            writes: self.writes,
            by_size: self.by_size.into_iter().collect(),
            untimed: self.untimed,
            not_done: self.not_done,
            in_flight: self.weighted / duration.get() as f64,
            most_in_flight: self.most_in_flight,
            demanded: self.last_start.saturating_sub(first),
            actual: self.ended.saturating_sub(first),
            damaged: self.damaged.counts(),
            window: self.window,
            series: self
                .points
                .into_iter()
                .map(|(k, point)| (Nanos::new(k.saturating_mul(self.window.get())), point))
                .collect(),
            activity: self.activity.finish(),
        })
    }
}

/// What became of a load.
#[derive(Clone, Debug)]
pub struct OutcomeSummary {
    /// Of reads.
    pub reads: Outcomes,
    /// Of all others.
    pub writes: Outcomes,
    /// Latencies by length: up to so many sectors (more than half of that), of reads and of others.
    pub by_size: Vec<(u32, [Distribution; 2])>,
    /// Records without a latency.
    pub untimed: u64,
    /// Records that did not end well, or never ran.
    pub not_done: u64,
    /// Requests in flight, in the mean over time.
    pub in_flight: f64,
    /// The most requests in flight.
    pub most_in_flight: u64,
    /// From the first to the last intended start.
    pub demanded: Nanos,
    /// From the first intended start to the last completion.
    pub actual: Nanos,
    /// Requests that overlap with one in flight: of any kind; where either writes; where both write.
    pub damaged: [u64; 3],
    /// The width of the windows of `series`.
    pub window: Nanos,
    /// Throughput; each time is the beginning of a window.
    pub series: Vec<(Nanos, OutcomePoint)>,
    /// The metrics of disk activity.
    pub activity: Activity,
}
