//! Metrics of the outcome of a load: delays, latencies, throughput, requests in flight, damaged I/O.

use std::collections::BTreeMap;

use iosonar_stats::Distribution;
use iosonar_trace::{Op, Record, Status};
use iosonar_units::Nanos;

use crate::activity::{Activity, ActivityMeter, ActivityOptions, Logical};
use crate::devices::{DeviceBusy, DeviceMeter};
use crate::overlap::Damaged;
use crate::sweep::{Event, Flight, Sweep, Watcher};
use crate::timeline::Timeline;

/// Requests that are made of several records.
#[derive(Clone, Copy, Debug)]
struct Group {
    logical: Logical,
    last_row: u64,
    last_start: Nanos,
    ends: [Nanos; 2],
}

/// A group without a record for this number of rows is complete.
const GROUP_ROWS: u64 = 1 << 16;

/// Measures the outcome of a load, record by record.
#[derive(Clone)]
pub struct OutcomeMetrics {
    timeline: Timeline,
    reads: Outcomes,
    writes: Outcomes,
    /// By the logarithm of the class; that of a class without requests is empty.
    by_size: Vec<[Distribution; 2]>,
    untimed: u64,
    not_done: u64,
    skipped: u64,
    missing: u64,
    include_skipped: bool,
    sweep: Sweep,
    in_flight: u64,
    completions: u64,
    most_in_flight: u64,
    since: Nanos,
    weighted: f64,
    begun: Option<Nanos>,
    ended: Nanos,
    last_start: Nanos,
    first_start: Option<Nanos>,
    damaged: Damaged,
    activity: ActivityMeter,
    devices: DeviceMeter,
    groups: BTreeMap<u32, Group>,
    /// The width of a group of time.
    group_length: Nanos,
    rows: u64,
}

/// Of one direction.
#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    /// From submission to completion.
    pub latency: Distribution,
    /// From intended start to submission.
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
    /// Nothing measured yet.
    pub fn new(timeline: Timeline, activity: ActivityOptions) -> Self {
        Self {
            timeline,
            reads: Outcomes::default(),
            writes: Outcomes::default(),
            by_size: Vec::new(),
            untimed: 0,
            not_done: 0,
            skipped: 0,
            missing: 0,
            include_skipped: false,
            sweep: Sweep::default(),
            in_flight: 0,
            completions: 0,
            most_in_flight: 0,
            since: Nanos::ZERO,
            weighted: 0.0,
            begun: None,
            ended: Nanos::ZERO,
            last_start: Nanos::ZERO,
            first_start: None,
            damaged: Damaged::default(),
            activity: ActivityMeter::new(activity),
            devices: DeviceMeter::default(),
            groups: BTreeMap::new(),
            group_length: activity.group,
            rows: 0,
        }
    }

    /// Whether requests that were left out on purpose count as demanded; without this they do not, as the device
    /// never saw them.
    #[must_use]
    pub fn include_skipped(mut self, include_skipped: bool) -> Self {
        self.include_skipped = include_skipped;
        self
    }

    /// Adds a record. They come sorted by intended start.
    pub fn push(&mut self, record: &Record) {
        self.push_watched(record, &mut ());
    }

    /// Adds a record, and reports the events before its start.
    pub fn push_watched(&mut self, record: &Record, watcher: &mut impl Watcher) {
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
        self.proceed(request.start, watcher);
        self.not_done += u64::from(outcome.status != Status::Done);
        self.skipped += u64::from(outcome.status == Status::Skipped);
        let Some(latency) = outcome.latency else {
            self.untimed += 1;
            self.missing += u64::from(outcome.status != Status::Skipped);
            if self.include_skipped || outcome.status != Status::Skipped {
                self.timeline.demanded(request, None);
            }
            return;
        };
        let delay = outcome.delay.unwrap_or_default();
        self.timeline.demanded(request, Some(delay));
        let is_read = request.op == Op::Read;
        let of = if is_read {
            &mut self.reads
        } else {
            &mut self.writes
        };
        // Failed requests were in flight; their times have no other use.
        let is_timed = outcome.status.is_timed();
        if is_timed {
            of.push(delay, latency);
        }
        if is_timed {
            // Powers of two: 1 sector, 2, 3-4, 5-8, ...
            let length = request.sectors.get().max(1);
            let class = (u32::BITS - (length - 1).leading_zeros()) as usize;
            if self.by_size.len() <= class {
                self.by_size.resize_with(class + 1, Default::default);
            }
            self.by_size[class][usize::from(!is_read)].push(latency);
        }
        let from = request.start.saturating_add(delay);
        let until = from.saturating_add(latency);
        self.sweep.push(Flight {
            from,
            until,
            request: *request,
            status: outcome.status,
            pushed_back: outcome.pushed_back,
            number: self.rows,
        });
        if is_timed {
            self.group(record, from, until);
        }
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

    /// Ends the groups without a recent record: for a number of rows, or a period.
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
    fn proceed(&mut self, now: Nanos, watcher: &mut impl Watcher) {
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
                    self.timeline.begun(&flight);
                    watcher.begun(&flight, self.in_flight);
                }
                Event::End(flight) => {
                    self.in_flight -= 1;
                    self.timeline.ended(&flight);
                    watcher.ended(&flight, self.completions);
                    self.completions += 1;
                }
            }
            self.activity.event(&event);
            self.devices.event(&event);
        }
    }

    /// What has been measured; `None` if no record has a latency.
    pub fn finish(self) -> Option<OutcomeSummary> {
        self.finish_watched(&mut ())
    }

    /// The measurements so far; reports the remaining events.
    pub fn finish_watched(mut self, watcher: &mut impl Watcher) -> Option<OutcomeSummary> {
        let unfinished = self.rows - self.untimed - self.completions;
        self.proceed(Nanos::MAX, watcher);
        let open: Vec<u32> = self.groups.keys().copied().collect();
        open.into_iter().for_each(|key| self.end_group(key));
        let begun = self.begun?;
        let first = self.first_start?;
        let duration = self.ended.saturating_sub(begun);
        Some(OutcomeSummary {
            reads: self.reads,
            writes: self.writes,
            by_size: (0..)
                .zip(self.by_size)
                .filter(|(_, of)| of.iter().any(|times| times.count() > 0))
                .map(|(class, of)| (1_u32.checked_shl(class).unwrap_or(u32::MAX), of))
                .collect(),
            untimed: self.untimed,
            not_done: self.not_done,
            skipped: self.skipped,
            missing: self.missing,
            in_flight: self.weighted / duration.get().max(1) as f64,
            most_in_flight: self.most_in_flight,
            unfinished,
            devices: self.devices.finish(),
            demanded: self.last_start.saturating_sub(first),
            actual: self.ended.saturating_sub(first),
            damaged: self.damaged.counts(),
            timeline: self.timeline.finished(),
            activity: self.activity.finish(),
        })
    }
}

/// The outcome of a load.
#[derive(Clone, Debug)]
pub struct OutcomeSummary {
    /// Of reads.
    pub reads: Outcomes,
    /// Of all others.
    pub writes: Outcomes,
    /// Latencies by length: up to this number of sectors (more than half of that), of reads and of others.
    pub by_size: Vec<(u32, [Distribution; 2])>,
    /// Records without a latency.
    pub untimed: u64,
    /// Records that did not end well, or never ran.
    pub not_done: u64,
    /// Those of them that were left out on purpose.
    pub skipped: u64,
    /// Requests without a latency that were not left out: a damaged file may have one for a request that was.
    pub missing: u64,
    /// Requests in flight, averaged over time.
    pub in_flight: f64,
    /// The most requests in flight.
    pub most_in_flight: u64,
    /// Requests that were not complete when the last one was due, itself included.
    pub unfinished: u64,
    /// How busy each device was that had a request in flight, in ascending order of their numbers.
    pub devices: Vec<DeviceBusy>,
    /// From the first to the last intended start.
    pub demanded: Nanos,
    /// From the first intended start to the last completion.
    pub actual: Nanos,
    /// Requests that overlap with one in flight: of any kind; where either writes; where both write.
    pub damaged: [u64; 3],
    /// What happened over time.
    pub timeline: Timeline,
    /// The metrics of disk activity.
    pub activity: Activity,
}

impl OutcomeSummary {
    /// How many times as long as intended the load took; NaN if all its starts are one instant.
    pub fn duration_ratio(&self) -> f64 {
        match self.demanded {
            Nanos::ZERO => f64::NAN,
            demanded => self.actual.get() as f64 / demanded.get() as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Outcome, Request};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn record(start: u64, group: u32, outcome: Outcome) -> Record {
        Record {
            request: Request {
                start: Nanos::new(start),
                sectors: iosonar_units::Sectors::new(8),
                group,
                ..Request::default()
            },
            outcome,
        }
    }

    /// One of several I/Os of a request.
    fn part(start: u64) -> Record {
        record(start, 1, Outcome::done(Nanos::ZERO, Nanos::from_micros(1)))
    }

    fn measured(
        records: impl IntoIterator<Item = Record>,
        include_skipped: bool,
    ) -> OutcomeSummary {
        let options = ActivityOptions {
            group: Nanos::SECOND,
            ..ActivityOptions::default()
        };
        let metrics = OutcomeMetrics::new(Timeline::of(Nanos::SECOND), options);
        let mut metrics = metrics.include_skipped(include_skipped);
        records.into_iter().for_each(|record| metrics.push(&record));
        metrics.finish().unwrap()
    }

    fn requests(records: impl IntoIterator<Item = Record>) -> u64 {
        let groups = measured(records, false).activity.groups;
        groups.iter().map(|group| group.requests.all).sum()
    }

    #[test]
    fn a_request_of_several_ios_is_complete_after_a_period_without_one() {
        let first = SECOND / 5;
        for (pause, expected) in [
            (SECOND / 2, 1),
            (SECOND, 1),
            (SECOND + 1, 2),
            (2 * SECOND, 2),
        ] {
            let of = requests([part(first), part(first + pause)]);
            assert_eq!(of, expected, "{pause}");
        }
        // Each I/O begins the period anew.
        let long = (0..6).map(|i| part(first + i * SECOND));
        assert_eq!(requests(long), 1);
    }

    #[test]
    fn a_request_of_several_ios_is_complete_after_many_rows_without_one() {
        // Rows are looked at once in 1024: the first I/O is number `first`, the second 65 * 1024.
        for (first, expected) in [(1024, 1), (1023, 2)] {
            let single = record(0, 0, Outcome::default());
            let mut records = vec![single; 65 * 1024];
            records[first - 1] = part(0);
            *records.last_mut().unwrap() = part(0);
            assert_eq!(requests(records), expected, "{first}");
        }
    }

    #[test]
    fn records_without_times_are_told_apart_by_why() {
        let ms = Nanos::from_millis(100);
        let failed = Outcome {
            status: Status::Error(5),
            ..Outcome::done(Nanos::ZERO, Nanos::SECOND)
        };
        let records = [
            record(0, 0, Outcome::done(Nanos::ZERO, ms)),
            record(SECOND, 0, Outcome::untimed(Status::Skipped)),
            record(2 * SECOND, 0, Outcome::untimed(Status::Missed)),
            record(3 * SECOND, 0, Outcome::default()),
            record(4 * SECOND, 0, failed),
        ];
        for (include_skipped, expected) in [(false, 4), (true, 5)] {
            let of = measured(records, include_skipped);
            assert_eq!((of.untimed, of.missing, of.skipped), (3, 2, 1));
            assert_eq!((of.not_done, of.unfinished), (3, 1));
            assert_eq!((of.reads.latency.count(), of.most_in_flight), (1, 1));
            let points = of.timeline.points();
            let demanded = points.map(|(_, point)| point.all_demanded().requests);
            assert_eq!(demanded.sum::<u64>(), expected);
            // The failed one was in flight for a second.
            assert_eq!(
                (of.demanded.get(), of.actual.get()),
                (4 * SECOND, 5 * SECOND)
            );
            assert!((of.in_flight - 1.1 / 5.0).abs() < 1e-12);
            assert_eq!(of.duration_ratio(), 1.25);
        }
        // Of requests at one instant there is no such ratio.
        assert!(measured([records[0]; 2], false).duration_ratio().is_nan());
    }

    #[test]
    fn a_request_of_several_ios_counts_in_the_period_in_which_it_begins() {
        let single = |start| record(start, 0, Outcome::done(Nanos::ZERO, Nanos::from_micros(1)));
        // The I/Os of a request begin at 0.5 and 0.9 s, which is known at 2.6 s.
        let starts = [6, 12, 19, 26].map(|tenths| tenths * SECOND / 10);
        let [a, b, c, d] = starts.map(single);
        let records = [part(SECOND / 2), a, part(SECOND / 10 * 9), b, c, d];
        let groups = measured(records, false).activity.groups;
        let requests: Vec<u64> = groups.iter().map(|group| group.requests.all).collect();
        assert_eq!(requests, [2, 2, 1]);
        assert_eq!(groups[0].atomic.all, 0.5);
    }
}
