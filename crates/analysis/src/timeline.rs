//! What happens over time, in windows: demand, throughput, turns, requests in flight, requests delayed.

use std::ops::Range;

use iosonar_trace::{Op, Request};
use iosonar_units::Nanos;

use crate::load::Amount;
use crate::sweep::Flight;

/// What happened within a window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimelinePoint {
    /// Requests whose intended start lies in the window: reads, others.
    pub demanded: [Amount; 2],
    /// Requests that were completed in it: reads, others.
    pub completed: [Amount; 2],
    /// Requests with a lower first sector than the one before on the same device: in the order of intended
    /// starts, and in that of completions.
    pub turns: [u64; 2],
    /// Requests in flight, average over the window.
    pub in_flight: f64,
    /// The most of them.
    pub most_in_flight: u64,
    /// The share of the window with at least one request in flight.
    pub busy: f64,
    /// Requests that are due but not submitted, averaged over the window.
    pub delayed: f64,
    /// The most of them.
    pub most_delayed: u64,
    /// The longest delay of those submitted in the window.
    pub longest_delay: Nanos,
    /// The sum of the delays of those submitted in the window, in seconds.
    pub delay_sum_s: f64,
    /// Requests held back by others that they overlap, average over the window.
    pub held: f64,
}

impl TimelinePoint {
    /// Reads and others that were asked for.
    pub fn all_demanded(&self) -> Amount {
        sum(self.demanded)
    }

    /// Reads and others that were done.
    pub fn all_completed(&self) -> Amount {
        sum(self.completed)
    }

    /// Another window behind this one joins it. Levels are integrals meanwhile.
    fn join(&mut self, next: &Self) {
        for i in 0..2 {
            self.demanded[i] = sum([self.demanded[i], next.demanded[i]]);
            self.completed[i] = sum([self.completed[i], next.completed[i]]);
            self.turns[i] += next.turns[i];
        }
        self.in_flight += next.in_flight;
        self.busy += next.busy;
        self.delayed += next.delayed;
        self.held += next.held;
        self.delay_sum_s += next.delay_sum_s;
        self.most_in_flight = self.most_in_flight.max(next.most_in_flight);
        self.most_delayed = self.most_delayed.max(next.most_delayed);
        self.longest_delay = self.longest_delay.max(next.longest_delay);
    }
}

fn sum([a, b]: [Amount; 2]) -> Amount {
    Amount {
        requests: a.requests + b.requests,
        sectors: a.sectors + b.sectors,
    }
}

/// Windows of equal width, from the first request on; more than there may be are joined.
#[derive(Clone, Debug)]
pub struct Timeline {
    window: Nanos,
    most: usize,
    factor: u64,
    /// The number of the first window, counted from time zero.
    first: Option<u64>,
    /// Levels are integrals over time in nanoseconds.
    points: Vec<TimelinePoint>,
    /// The window that was asked for last: from when until when, and its place among the points.
    last: (Range<u64>, usize),
    /// Changes of the number of requests that are held back for the whole of a window.
    held: Vec<i64>,
    now: Nanos,
    in_flight: u64,
    delayed: u64,
    /// Of each device, the first sector of the request before: as intended, as completed.
    before: Vec<[Option<u64>; 2]>,
}

impl Timeline {
    /// Windows of this width; of more than a million, each two are joined.
    pub fn of(window: Nanos) -> Self {
        Self::new(window, 1 << 20, 2)
    }

    /// Windows of a millisecond at first; each ten are joined when there are more than 65 536.
    pub fn adaptive() -> Self {
        Self::new(Nanos::MILLISECOND, 1 << 16, 10)
    }

    fn new(window: Nanos, most: usize, factor: u64) -> Self {
        Self {
            window: window.max(Nanos::new(1)),
            most,
            factor,
            first: None,
            points: Vec::new(),
            last: (0..0, 0),
            held: Vec::new(),
            now: Nanos::ZERO,
            in_flight: 0,
            delayed: 0,
            before: Vec::new(),
        }
    }

    /// A request of a load without an outcome. They are sorted by start.
    pub fn push(&mut self, request: &Request) {
        self.demanded(request, None);
    }

    /// A request should begin now; it will be submitted after `delay`, if ever.
    pub(crate) fn demanded(&mut self, request: &Request, delay: Option<Nanos>) {
        self.proceed(request.start);
        let turned = self.turned(request, 0);
        let late = delay.is_some_and(|delay| delay > Nanos::ZERO);
        self.delayed += u64::from(late);
        let delayed = self.delayed;
        let point = self.at(request.start);
        point.demanded[usize::from(request.op != Op::Read)] = sum([
            point.demanded[usize::from(request.op != Op::Read)],
            amount(request),
        ]);
        point.turns[0] += u64::from(turned);
        point.most_delayed = point.most_delayed.max(delayed);
    }

    /// A request begins. Whether it was held back until now is known only by now.
    pub(crate) fn begun(&mut self, flight: &Flight) {
        self.proceed(flight.from);
        let delay = flight.delay();
        self.delayed -= u64::from(delay > Nanos::ZERO);
        self.in_flight += 1;
        let in_flight = self.in_flight;
        let point = self.at(flight.from);
        point.most_in_flight = point.most_in_flight.max(in_flight);
        point.longest_delay = point.longest_delay.max(delay);
        point.delay_sum_s += delay.as_secs_f64();
        if flight.pushed_back {
            self.hold(flight.request.start, flight.from);
        }
    }

    pub(crate) fn ended(&mut self, flight: &Flight) {
        self.proceed(flight.until);
        self.in_flight -= 1;
        if !flight.status.is_timed() {
            return;
        }
        let turned = self.turned(&flight.request, 1);
        let point = self.at(flight.until);
        let of = &mut point.completed[usize::from(!flight.is_read())];
        *of = sum([*of, amount(&flight.request)]);
        point.turns[1] += u64::from(turned);
    }

    fn turned(&mut self, request: &Request, order: usize) -> bool {
        // A flush is nowhere.
        if request.sectors.get() == 0 {
            return false;
        }
        let device = usize::from(request.device);
        if self.before.len() <= device {
            self.before.resize(device + 1, [None; 2]);
        }
        let sector = request.sector.get();
        let before = self.before[device][order].replace(sector);
        before.is_some_and(|before| sector < before)
    }

    /// Time goes on: the levels last until `time`.
    fn proceed(&mut self, time: Nanos) {
        let (from, in_flight, delayed) = (self.now, self.in_flight as f64, self.delayed as f64);
        if time > from {
            let (most_in_flight, most_delayed) = (self.in_flight, self.delayed);
            if self.in_flight + self.delayed > 0 {
                self.spread(from, time, |point, part| {
                    point.in_flight += in_flight * part;
                    point.busy += if in_flight > 0.0 { part } else { 0.0 };
                    point.delayed += delayed * part;
                    if part > 0.0 {
                        point.most_in_flight = point.most_in_flight.max(most_in_flight);
                        point.most_delayed = point.most_delayed.max(most_delayed);
                    }
                });
            }
            self.now = time;
        }
    }

    /// A request was held back from `from` to `until`: both windows get their parts, those between are
    /// counted on demand, so that a long time costs no more than a short one.
    fn hold(&mut self, from: Nanos, until: Nanos) {
        self.at(until);
        self.at(from);
        let (window, first) = (self.window.get(), self.first.unwrap_or(0));
        let (begin, end) = (from.get() / window, until.get() / window);
        let (begin_at, end_at) = ((begin - first) as usize, (end - first) as usize);
        if begin == end {
            self.points[begin_at].held += (until - from).get() as f64;
            return;
        }
        self.points[begin_at].held += ((begin + 1) * window - from.get()) as f64;
        self.points[end_at].held += (until.get() - end * window) as f64;
        if self.held.len() < self.points.len() + 1 {
            self.held.resize(self.points.len() + 1, 0);
        }
        self.held[begin_at + 1] += 1;
        self.held[end_at] -= 1;
    }

    /// Puts into the windows what [`hold`](Self::hold) put off.
    fn settle(&mut self) {
        let mut level = 0;
        let window = self.window.get() as f64;
        for (point, change) in self.points.iter_mut().zip(std::mem::take(&mut self.held)) {
            level += change;
            point.held += level as f64 * window;
        }
    }

    /// Shares out the time from `from` to `until` among the windows.
    #[inline]
    fn spread(&mut self, from: Nanos, until: Nanos, mut add: impl FnMut(&mut TimelinePoint, f64)) {
        let (window, index) = &self.last;
        if window.contains(&from.get()) && window.contains(&until.get()) {
            return add(&mut self.points[*index], (until - from).get() as f64);
        }
        self.at(until);
        self.at(from);
        let (window, first) = (self.window.get(), self.first.unwrap_or(0));
        let (begin, end) = (from.get() / window, until.get() / window);
        for number in begin..=end {
            let left = (number * window).max(from.get());
            let right = (number + 1).saturating_mul(window).min(until.get());
            if let Some(point) = self.points.get_mut((number - first) as usize) {
                add(point, right.saturating_sub(left) as f64);
            }
        }
    }

    /// The window at `time`; there is one then.
    #[inline]
    fn at(&mut self, time: Nanos) -> &mut TimelinePoint {
        if !self.last.0.contains(&time.get()) {
            let index = self.index_at(time);
            let begin = time.get() - time.get() % self.window.get();
            self.last = (begin..begin.saturating_add(self.window.get()), index);
        }
        &mut self.points[self.last.1]
    }

    /// The place of the window at `time` among the points.
    fn index_at(&mut self, time: Nanos) -> usize {
        loop {
            let number = time.get() / self.window.get();
            let first = *self.first.get_or_insert(number);
            if number < first {
                // Held back since before the first window: rare, and near where records are sorted.
                let missing = usize::try_from(first - number).unwrap_or(usize::MAX);
                if missing.saturating_add(self.points.len()) > self.most {
                    self.coarsen(self.factor);
                    continue;
                }
                self.settle();
                self.points
                    .splice(0..0, std::iter::repeat_n(TimelinePoint::default(), missing));
                self.first = Some(number);
                self.last = (0..0, 0);
                continue;
            }
            let index = (number - first) as usize;
            if index < self.most {
                let missing = (index + 1).saturating_sub(self.points.len());
                if missing > 0 {
                    // A live page copies these often: twice the room would be most of its memory.
                    if self.points.capacity() - self.points.len() < missing {
                        let some = self.points.len() / 16;
                        self.points.reserve_exact(missing.max(some).max(64));
                    }
                    self.points.resize(index + 1, TimelinePoint::default());
                }
                return index;
            }
            self.coarsen(self.factor);
        }
    }

    /// Joins each `factor` windows.
    fn coarsen(&mut self, factor: u64) {
        self.settle();
        let first = self.first.unwrap_or(0);
        let coarse_first = first / factor;
        let mut coarse: Vec<TimelinePoint> = Vec::new();
        for (i, point) in self.points.iter().enumerate() {
            let index = ((first + i as u64) / factor - coarse_first) as usize;
            if index >= coarse.len() {
                coarse.push(*point);
            } else {
                coarse[index].join(point);
            }
        }
        self.points = coarse;
        self.first = Some(coarse_first);
        self.window = Nanos::new(self.window.get().saturating_mul(factor));
        self.last = (0..0, 0);
    }

    /// Nothing more will happen.
    pub(crate) fn finished(mut self) -> Self {
        self.settle();
        self
    }

    /// The width of the windows.
    pub fn window(&self) -> Nanos {
        self.window
    }

    /// The windows with their beginnings.
    pub fn points(&self) -> impl Iterator<Item = (Nanos, TimelinePoint)> + '_ {
        let (window, first) = (self.window.get(), self.first.unwrap_or(0));
        self.points.iter().enumerate().map(move |(i, point)| {
            let begin = Nanos::new((first + i as u64).saturating_mul(window));
            let mean = |integral: f64| integral / window as f64;
            let point = TimelinePoint {
                in_flight: mean(point.in_flight),
                busy: mean(point.busy),
                delayed: mean(point.delayed),
                held: mean(point.held),
                ..*point
            };
            (begin, point)
        })
    }

    /// The same with windows of about `wanted`: the next multiple of those that there are.
    #[must_use]
    pub fn joined(&self, wanted: Nanos) -> Self {
        let mut joined = self.clone();
        let factor = wanted.get().div_ceil(self.window.get().max(1)).max(1);
        if factor > 1 {
            joined.coarsen(factor);
        }
        joined
    }

    /// From the beginning of the first window to the end of the last.
    pub fn span(&self) -> Nanos {
        Nanos::new(self.window.get().saturating_mul(self.points.len() as u64))
    }
}

fn amount(request: &Request) -> Amount {
    Amount {
        requests: 1,
        sectors: u64::from(request.sectors.get()),
    }
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Outcome, Record, Request};
    use iosonar_units::{Nanos, Sector, Sectors};

    use super::*;
    use crate::{ActivityOptions, OutcomeMetrics};

    fn records(n: u64) -> Vec<Record> {
        (0..n)
            .map(|i| Record {
                request: Request {
                    start: Nanos::from_micros(i * 700),
                    sector: Sector::new(i * 7919 % 5000),
                    sectors: Sectors::new(8),
                    op: if i % 3 == 0 { Op::Write } else { Op::Read },
                    ..Request::default()
                },
                outcome: Outcome {
                    pushed_back: i % 11 == 0,
                    ..Outcome::done(
                        Nanos::from_micros(i * 37 % 5_000),
                        Nanos::from_micros(200 + i * 131 % 9_000),
                    )
                },
            })
            .collect()
    }

    fn timeline(records: &[Record], timeline: Timeline) -> Timeline {
        let mut metrics = OutcomeMetrics::new(timeline, ActivityOptions::default());
        records.iter().for_each(|record| metrics.push(record));
        metrics.finish().expect("records have latencies").timeline
    }

    /// Against sums over all records for each window.
    #[test]
    fn every_figure_is_that_of_brute_force() {
        let records = records(3000);
        let width = Nanos::from_millis(50);
        let windows = timeline(&records, Timeline::of(width));
        for (begin, point) in windows.points() {
            let end = begin + width;
            let within = |t: Nanos| begin <= t && t < end;
            let overlap = |a: Nanos, b: Nanos| {
                b.min(end).saturating_sub(a.max(begin)).get() as f64 / width.get() as f64
            };
            let (mut flying, mut delayed, mut held) = (0.0, 0.0, 0.0);
            let (mut starts, mut ends) = (Vec::new(), Vec::new());
            let (mut demanded, mut completed) = ([0; 2], [0; 2]);
            for Record { request, outcome } in &records {
                let from = request.start + outcome.delay.unwrap();
                let until = from + outcome.latency.unwrap();
                flying += overlap(from, until);
                starts.push(from);
                ends.push(until);
                delayed += overlap(request.start, from);
                if outcome.pushed_back {
                    held += overlap(request.start, from);
                }
                let direction = usize::from(request.op != Op::Read);
                demanded[direction] += u64::from(within(request.start));
                completed[direction] += u64::from(within(until));
            }
            assert!((point.in_flight - flying).abs() < 1e-6, "{begin}");
            assert!((point.delayed - delayed).abs() < 1e-6, "{begin}");
            assert!((point.held - held).abs() < 1e-6, "{begin}");
            // The most in flight is reached at the window's beginning, or when a request begins.
            let at = |t: Nanos| {
                let begun = starts.iter().filter(|s| **s <= t).count();
                begun - ends.iter().filter(|e| **e <= t).count()
            };
            let moments = starts.iter().copied().filter(|t| within(*t));
            let most = moments.chain([begin]).map(at).max();
            assert_eq!(Some(point.most_in_flight as usize), most, "{begin}");
            assert_eq!(point.demanded.map(|a| a.requests), demanded);
            assert_eq!(point.completed.map(|a| a.requests), completed);
        }
        let turns = windows.points().map(|(_, p)| p.turns[0]).sum::<u64>();
        let expected = records
            .windows(2)
            .filter(|pair| pair[1].request.sector < pair[0].request.sector);
        assert_eq!(turns, expected.count() as u64);
        let mut completed = records.clone();
        completed.sort_by_key(|r| r.request.start + r.outcome.response_time().unwrap());
        let expected = completed
            .windows(2)
            .filter(|pair| pair[1].request.sector < pair[0].request.sector);
        let turns = windows.points().map(|(_, p)| p.turns[1]).sum::<u64>();
        assert_eq!(turns, expected.count() as u64);
    }

    #[test]
    fn what_failed_was_in_flight_and_was_not_done() {
        let mut records = records(100);
        for record in &mut records {
            record.outcome.status = iosonar_trace::Status::Error(5);
        }
        let mut metrics = OutcomeMetrics::new(Timeline::adaptive(), ActivityOptions::default());
        records.iter().for_each(|record| metrics.push(record));
        let outcome = metrics.finish().unwrap();
        assert_eq!((outcome.reads.latency.count(), outcome.not_done), (0, 100));
        assert!(outcome.in_flight > 0.0);
        let completed = outcome.timeline.points().map(|(_, p)| p.all_completed());
        assert_eq!(completed.map(|a| a.requests).sum::<u64>(), 0);
    }

    #[test]
    fn joined_windows_are_those_of_that_width() {
        let records = records(2000);
        let fine = timeline(&records, Timeline::adaptive());
        assert_eq!(fine.window(), Nanos::MILLISECOND);
        let joined: Vec<_> = fine.joined(Nanos::from_millis(30)).points().collect();
        let direct = timeline(&records, Timeline::of(Nanos::from_millis(30)));
        let direct: Vec<_> = direct.points().collect();
        assert_eq!(joined.len(), direct.len());
        for ((a, p), (b, q)) in joined.iter().zip(&direct) {
            assert_eq!((a, p.demanded, p.turns), (b, q.demanded, q.turns));
            assert!((p.in_flight - q.in_flight).abs() < 1e-9);
        }
    }

    #[test]
    fn what_comes_long_before_the_first_window_takes_no_more_of_them() {
        let mut timeline = Timeline::adaptive();
        for secs in [1_000_000_000, 0] {
            timeline.push(&Request {
                start: Nanos::from_secs(secs),
                ..Request::default()
            });
        }
        let points: Vec<_> = timeline.points().collect();
        assert!(points.len() <= 1 << 16, "{}", points.len());
        let demanded = points.iter().map(|(_, p)| p.demanded[0].requests);
        assert_eq!(demanded.sum::<u64>(), 2);
    }

    #[test]
    fn however_long_a_trace_is_its_windows_are_few() {
        let mut records = records(10);
        records.push(Record {
            request: Request {
                start: Nanos::from_secs(90_000),
                ..Request::default()
            },
            outcome: Outcome::done(Nanos::ZERO, Nanos::SECOND),
        });
        let windows = timeline(&records, Timeline::adaptive());
        assert!(windows.points().count() <= 1 << 16);
        assert_eq!(windows.window(), Nanos::from_secs(10));
        let all = windows.points().map(|(_, p)| p.all_demanded().requests);
        assert_eq!(all.sum::<u64>(), 11);
    }

    #[test]
    fn a_timeline_that_grows_has_little_more_room_than_it_needs() {
        let mut timeline = Timeline::of(Nanos::SECOND);
        for i in 0..3000 {
            timeline.push(&Request {
                start: Nanos::from_secs(100 + 3 * i),
                ..Request::default()
            });
            let (len, room) = (timeline.points.len(), timeline.points.capacity());
            assert_eq!(len as u64, 3 * i + 1);
            assert!(room <= len + 64.max(len / 16), "{room} for {len}");
        }
        assert_eq!(timeline.span(), Nanos::from_secs(8998));
        assert_eq!(
            timeline.joined(Nanos::from_secs(9)).window(),
            Nanos::from_secs(9)
        );
        assert_eq!(Timeline::adaptive().span(), Nanos::ZERO);
    }
}
