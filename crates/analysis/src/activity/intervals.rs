//! Short intervals: how many requests are active in each, by group.

use iosonar_units::Nanos;

use super::{DeviceUse, Directions};
use crate::by_number::ByNumber;
use crate::sweep::{Event, Flight};

/// The number of intervals by number of active requests.
#[derive(Clone, Debug, Default)]
struct Levels {
    counts: ByNumber<u64>,
}

impl Levels {
    #[inline]
    fn add(&mut self, level: u64, intervals: u64) {
        self.counts.change(level, |n| *n += intervals);
    }

    fn total(&self) -> u64 {
        self.counts.counts().map(|(_, n)| n).sum()
    }

    /// The smallest level with at least a share `p` of the intervals at or below it.
    fn quantile(&self, p: f64) -> u64 {
        let rank = (p * self.total() as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let mut reached = self.counts.counts().filter(|(_, n)| {
            below += n;
            below >= rank
        });
        reached.next().map_or(0, |(level, _)| level)
    }

    fn share_above_zero(&self) -> f64 {
        1.0 - self.counts.of(0) as f64 / self.total() as f64
    }
}

/// Active requests of a direction in the interval at hand.
#[derive(Clone, Copy, Debug, Default)]
struct Active {
    now: u64,
    at_start: u64,
    begun: u64,
    begun_at_start: u64,
}

impl Active {
    fn in_interval(&self) -> u64 {
        self.at_start + self.begun
    }

    fn sampled(&self) -> u64 {
        self.at_start + self.begun_at_start
    }

    fn next_interval(&mut self) {
        self.at_start = self.now;
        (self.begun, self.begun_at_start) = (0, 0);
    }
}

/// What was measured of a group.
#[derive(Clone, Debug)]
pub(super) struct GroupOfIntervals {
    pub(super) number: u64,
    pub(super) concurrency: [u64; 2],
    pub(super) in_flight: [u64; 2],
    pub(super) utilisation: Directions<f64>,
    pub(super) busy: f64,
}

pub(super) struct Measured {
    pub(super) groups: Vec<GroupOfIntervals>,
    pub(super) intervals: u64,
}

/// This number of unchanged groups are merged into one.
const LONG: u64 = 1_000;
/// From this number of groups on, all that are unchanged are.
const MANY: usize = 1 << 17;

/// Counts active requests, interval by interval.
#[derive(Clone)]
pub(super) struct Intervals {
    width: Nanos,
    group: Nanos,
    /// All, reads, all others.
    active: [Active; 3],
    levels: [Levels; 3],
    sampled: Levels,
    interval: Option<u64>,
    current_group: u64,
    groups: Vec<GroupOfIntervals>,
    counted: u64,
    /// Time with a request in flight, in this group.
    busy: u64,
    since: Nanos,
    /// How often equal intervals were counted together.
    #[cfg(test)]
    steps: usize,
}

impl Intervals {
    pub(super) fn new(width: Nanos, group: Nanos) -> Self {
        Self {
            width,
            group,
            active: [Active::default(); 3],
            levels: Default::default(),
            sampled: Levels::default(),
            interval: None,
            current_group: 0,
            groups: Vec::new(),
            counted: 0,
            busy: 0,
            since: Nanos::ZERO,
            #[cfg(test)]
            steps: 0,
        }
    }

    fn group_of(&self, interval: u64) -> u64 {
        interval.saturating_mul(self.width.get()) / self.group.get()
    }

    pub(super) fn event(&mut self, event: &Event) {
        let flight = match event {
            Event::Begin(flight) | Event::End(flight) => flight,
        };
        // What took no time was never active.
        if flight.from == flight.until {
            return;
        }
        let time = event.time();
        // A flight is half-open: what ends where an interval begins is not active in it.
        let moment = match event {
            Event::Begin(_) => time.get(),
            Event::End(_) => time.get() - 1,
        };
        let interval = moment / self.width.get();
        match self.interval {
            None => {
                self.interval = Some(interval);
                self.current_group = self.group_of(interval);
                self.since = time;
            }
            Some(current) if interval > current => self.go_to(interval),
            Some(_) => {}
        }
        if self.active[0].now > 0 {
            self.busy += time.saturating_sub(self.since).get();
        }
        self.since = time;
        let direction = if flight.is_read() { 1 } else { 2 };
        for active in [0, direction] {
            let active = &mut self.active[active];
            match event {
                Event::Begin(_) => {
                    active.now += 1;
                    active.begun += 1;
                    active.begun_at_start += u64::from(time.get().is_multiple_of(self.width.get()));
                }
                Event::End(_) => active.now -= 1,
            }
        }
    }

    /// Ends the interval at hand and those before `interval`.
    fn go_to(&mut self, interval: u64) {
        let Some(current) = self.interval else {
            return;
        };
        self.count(1);
        let mut next = current + 1;
        self.active.iter_mut().for_each(Active::next_interval);
        while next < interval {
            // The number of equal ones within a group.
            self.enter_group(self.group_of(next), next);
            // Where nothing changes for long, all that time is one group.
            let groups = self.group_of(interval) - self.current_group;
            let last = if groups > LONG || groups > 0 && self.groups.len() >= MANY {
                self.group_of(interval)
            } else {
                self.current_group + 1
            };
            let end = last
                .saturating_mul(self.group.get())
                .div_ceil(self.width.get());
            let n = end.max(next + 1).min(interval) - next;
            self.count(n);
            next += n;
        }
        self.enter_group(self.group_of(interval), interval);
        self.interval = Some(interval);
    }

    fn count(&mut self, n: u64) {
        #[cfg(test)]
        {
            self.steps += 1;
        }
        for (levels, active) in self.levels.iter_mut().zip(&self.active) {
            levels.add(active.in_interval(), n);
        }
        self.sampled.add(self.active[0].sampled(), n);
        self.counted += n;
    }

    fn enter_group(&mut self, group: u64, interval: u64) {
        if group == self.current_group {
            return;
        }
        let boundary = Nanos::new(interval.saturating_mul(self.width.get()));
        if self.active[0].now > 0 {
            self.busy += boundary.saturating_sub(self.since).get();
        }
        self.since = self.since.max(boundary);
        self.end_group();
        self.current_group = group;
    }

    fn end_group(&mut self) {
        let [all, reads, writes] = std::mem::take(&mut self.levels);
        let sampled = std::mem::take(&mut self.sampled);
        let busy = std::mem::take(&mut self.busy);
        if all.total() == 0 {
            return;
        }
        self.groups.push(GroupOfIntervals {
            number: self.current_group,
            concurrency: [all.quantile(0.5), all.quantile(0.75)],
            in_flight: [sampled.quantile(0.5), sampled.quantile(0.75)],
            utilisation: Directions {
                all: all.share_above_zero(),
                reads: reads.share_above_zero(),
                writes: writes.share_above_zero(),
            },
            busy: busy as f64 / (all.total() as f64 * self.width.get() as f64),
        });
    }

    pub(super) fn finish(mut self) -> Measured {
        if self.interval.is_some() {
            self.count(1);
            self.end_group();
        }
        Measured {
            groups: self.groups,
            intervals: self.counted,
        }
    }
}

/// Intervals that flights cover, by device; flights come in the order of their beginnings.
#[derive(Clone, Debug, Default)]
pub(super) struct Covered {
    /// Of each device, how many are covered, and the one behind the last of them.
    devices: Vec<(u64, u64)>,
}

impl Covered {
    pub(super) fn add(&mut self, flight: &Flight, width: Nanos) {
        if flight.from == flight.until {
            return;
        }
        let first = flight.from.get() / width.get();
        let end = (flight.until.get() - 1) / width.get() + 1;
        let device = usize::from(flight.request.device);
        if self.devices.len() <= device {
            self.devices.resize(device + 1, (0, 0));
        }
        let (covered, next) = &mut self.devices[device];
        *covered += end.saturating_sub(first.max(*next));
        *next = (*next).max(end);
    }

    pub(super) fn shares(&self, intervals: f64) -> Vec<DeviceUse> {
        let all = (0..=u16::MAX).zip(&self.devices);
        let of = |(device, (covered, _)): (u16, &(u64, u64))| DeviceUse {
            device,
            utilisation: *covered as f64 / intervals,
        };
        all.filter(|(_, (covered, _))| *covered > 0)
            .map(of)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_number::SMALL;

    /// Requests that are centuries apart must not take all memory.
    #[test]
    fn the_number_of_groups_is_bounded() {
        let (width, group) = (Nanos::from_millis(2), Nanos::from_secs(1200));
        let mut intervals = Intervals::new(width, group);
        for number in 0..300_u64 {
            let from = Nanos::from_secs(number * 900 * 1200 + 777);
            let flight = Flight {
                from,
                until: from + Nanos::MILLISECOND,
                request: iosonar_trace::Request::default(),
                status: iosonar_trace::Status::Done,
                pushed_back: false,
                number,
            };
            intervals.event(&Event::Begin(flight));
            intervals.event(&Event::End(flight));
        }
        let steps = intervals.steps;
        assert!(steps < MANY + 3000, "{steps} steps");
        let measured = intervals.finish();
        let groups = measured.groups.len();
        assert!((MANY..MANY + 1500).contains(&groups), "{groups}");
        // All of the time is in some group.
        assert_eq!(measured.intervals, 299 * 900 * 600_000 + 1);
    }

    #[test]
    fn quantiles_count_levels_of_any_height() {
        let mut levels = Levels::default();
        for (level, intervals) in [
            (5, 1),
            (0, 3),
            (SMALL - 1, 2),
            (SMALL, 2),
            (1 << 40, 1),
            (SMALL, 1),
        ] {
            levels.add(level, intervals);
        }
        assert_eq!(levels.total(), 10);
        let expected = [
            (0.0, 0),
            (0.3, 0),
            (0.31, 5),
            (0.5, SMALL - 1),
            (0.61, SMALL),
            (1.0, 1 << 40),
        ];
        for (p, level) in expected {
            assert_eq!(levels.quantile(p), level, "{p}");
        }
        assert!((levels.share_above_zero() - 0.7).abs() < 1e-12);
    }
}
