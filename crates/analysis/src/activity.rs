//! The metrics of disk activity of a web proxy study ("ruu/19970922: Disk"): requests, concurrency and
//! utilisation by short intervals, response times by group of time and by size, and the decomposition of a
//! request into overhead and I/O.

mod decomposition;
mod intervals;

use iosonar_stats::Histogram;
use iosonar_units::{Bytes, Nanos, SECTOR_BYTES};

use decomposition::Totals;
pub use decomposition::{Decomposition, Fit, Parts};
use intervals::{Covered, Intervals};

use crate::sweep::Event;

/// How activity is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivityOptions {
    /// The width of an interval: requests that are active in it are concurrent.
    pub interval: Nanos,
    /// The width of a group of intervals.
    pub group: Nanos,
    /// The size of an I/O's block.
    pub block: Bytes,
    /// The peak hours, from and until; else the four busiest groups in a row.
    pub peak: Option<(Nanos, Nanos)>,
}

impl Default for ActivityOptions {
    /// 2 ms, 20 min, 8 KiB.
    fn default() -> Self {
        Self {
            interval: Nanos::from_millis(2),
            group: Nanos::from_secs(1200),
            block: Bytes::new(8192),
            peak: None,
        }
    }
}

/// A request as its user sees it: one I/O, or several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logical {
    pub(crate) start: Nanos,
    /// From start to the completion of the first I/O.
    pub(crate) first: Nanos,
    /// From start to the completion of the last.
    pub(crate) total: Nanos,
    /// How long the second I/O took.
    pub(crate) second: Option<Nanos>,
    pub(crate) ios: u64,
    pub(crate) sectors: u64,
    pub(crate) is_read: bool,
    pub(crate) is_group: bool,
}

/// Of all requests, of reads, of all others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Directions<T> {
    /// All.
    pub all: T,
    /// Reads.
    pub reads: T,
    /// All others.
    pub writes: T,
}

/// A group of time.
#[derive(Clone, Debug, Default)]
pub struct ActivityGroup {
    /// When it begins.
    pub begin: Nanos,
    /// Requests that begin in it.
    pub requests: Directions<u64>,
    /// Quantiles 0.5 and 0.75 of the concurrency over its intervals: requests active in an interval.
    pub concurrency: [u64; 2],
    /// The same of the requests in flight at the beginnings of its intervals.
    pub in_flight: [u64; 2],
    /// The share of its intervals with an active request.
    pub utilisation: Directions<f64>,
    /// The share of time with a request in flight.
    pub busy: f64,
    /// Quantiles 0.5, 0.75, 0.95, 0.99 of the response time; `None` without requests.
    pub response_time: Directions<Option<[Nanos; 4]>>,
    /// The share of requests of one I/O.
    pub atomic: Directions<f64>,
    /// The median duration of the second I/O of requests of two.
    pub second_io: Option<Nanos>,
}

/// The use of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceUse {
    /// Its number.
    pub device: u16,
    /// The share of intervals with an active request.
    pub utilisation: f64,
}

/// Requests of a class of sizes.
#[derive(Clone, Debug)]
pub struct SizeClass {
    /// The largest size in bytes; more than that of the previous class.
    pub up_to: u64,
    /// How many, and the median response time, of reads and of all others.
    pub reads: (u64, Option<Nanos>),
    /// See `reads`.
    pub writes: (u64, Option<Nanos>),
    /// The medians until the first and the last I/O, of requests of several.
    pub first_and_total: Option<(Nanos, Nanos)>,
}

/// The peak hours.
#[derive(Clone, Debug)]
pub struct Peak {
    /// From.
    pub from: Nanos,
    /// Until.
    pub until: Nanos,
    /// The decomposition within them.
    pub decomposition: Directions<Decomposition>,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Activity {
    /// How.
    pub options: ActivityOptions,
    /// The groups of time.
    pub groups: Vec<ActivityGroup>,
    /// Each device.
    pub devices: Vec<DeviceUse>,
    /// Response times by size.
    pub sizes: Vec<SizeClass>,
    /// Overhead and I/O, over the whole time.
    pub decomposition: Directions<Decomposition>,
    /// The same in the peak hours; `None` where the load is no longer than they are.
    pub peak: Option<Peak>,
    /// The median latency by the number of requests in flight (up to this number), with the count.
    pub by_load: Vec<(u64, u64, Nanos)>,
    /// The median response time of all requests.
    pub median: Option<Nanos>,
    /// The slope of the time to the first I/O over the number of blocks, in milliseconds, with its standard
    /// error; it should not differ from zero.
    pub first_io_trend: Option<(f64, f64)>,
}

impl Activity {
    /// Whether the median response time is below the interval: concurrency by intervals counts requests
    /// then, not concurrency.
    pub fn is_too_fast(&self) -> bool {
        self.median
            .is_some_and(|median| median < self.options.interval)
    }
}

/// A group of time while it is measured.
#[derive(Clone, Debug, Default)]
struct OpenGroup {
    number: u64,
    requests: Directions<u64>,
    atomic: Directions<u64>,
    response: Directions<Histogram>,
    second: Histogram,
    totals: Totals,
}

/// Measures activity.
#[derive(Clone)]
pub(crate) struct ActivityMeter {
    options: ActivityOptions,
    intervals: Intervals,
    /// The last groups, oldest first: requests of several I/Os come late.
    open: Vec<OpenGroup>,
    done: Vec<ActivityGroup>,
    /// The last finished groups, for the peak.
    recent: Vec<(u64, u64, Totals)>,
    best: Option<(u64, u64, Totals)>,
    in_peak: Totals,
    totals: Totals,
    sizes: std::collections::BTreeMap<u64, [Histogram; 4]>,
    /// By the logarithm of the most that were active.
    by_load: Vec<Histogram>,
    response: Histogram,
    active: u64,
    /// The last beginning or end.
    latest: Nanos,
    covered: Covered,
    first_io: decomposition::Sums,
}

/// The number of groups in the peak.
const PEAK_GROUPS: u64 = 4;

/// The upper end of the class of a size: KiB by KiB up to 16 KiB, powers of two above.
fn size_class(bytes: u64) -> u64 {
    const KIB: u64 = 1024;
    if bytes <= 16 * KIB {
        bytes.next_multiple_of(KIB)
    } else {
        bytes.checked_next_power_of_two().unwrap_or(u64::MAX)
    }
}

impl ActivityMeter {
    pub(crate) fn new(options: ActivityOptions) -> Self {
        Self {
            options,
            intervals: Intervals::new(options.interval, options.group),
            open: Vec::new(),
            done: Vec::new(),
            recent: Vec::new(),
            best: None,
            in_peak: Totals::default(),
            totals: Totals::default(),
            sizes: std::collections::BTreeMap::new(),
            by_load: Vec::new(),
            response: Histogram::default(),
            active: 0,
            latest: Nanos::ZERO,
            covered: Covered::default(),
            first_io: decomposition::Sums::default(),
        }
    }

    /// Something begins or ends, in the order of time.
    pub(crate) fn event(&mut self, event: &Event) {
        self.intervals.event(event);
        self.latest = self.latest.max(event.time());
        match event {
            Event::Begin(flight) => {
                self.active += 1;
                let class = self.active.next_power_of_two().ilog2() as usize;
                let latency = flight.until.saturating_sub(flight.from);
                if self.by_load.len() <= class {
                    self.by_load.resize(class + 1, Histogram::default());
                }
                self.by_load[class].push(latency);
                self.covered.add(flight, self.options.interval);
            }
            Event::End(_) => self.active -= 1,
        }
    }

    /// A request, roughly in the order of starts.
    pub(crate) fn request(&mut self, request: &Logical) {
        let number = request.start.get() / self.options.group.get().max(1);
        if self.open.last().is_none_or(|group| group.number < number) {
            self.open.push(OpenGroup {
                number,
                ..OpenGroup::default()
            });
            while self.open.len() > 2 {
                let group = self.open.remove(0);
                self.close(group);
            }
        }
        let blocks = (request.sectors * SECTOR_BYTES).div_ceil(self.options.block.get().max(512));
        let at = self
            .open
            .iter()
            .position(|g| g.number >= number)
            .unwrap_or(0);
        let group = &mut self.open[at];
        let is_read = request.is_read;
        let atomic = u64::from(request.ios == 1 && blocks <= 1);
        for (requests, atomics, histogram) in [
            (
                &mut group.requests.all,
                &mut group.atomic.all,
                &mut group.response.all,
            ),
            if is_read {
                (
                    &mut group.requests.reads,
                    &mut group.atomic.reads,
                    &mut group.response.reads,
                )
            } else {
                (
                    &mut group.requests.writes,
                    &mut group.atomic.writes,
                    &mut group.response.writes,
                )
            },
        ] {
            *requests += 1;
            *atomics += atomic;
            histogram.push(request.total);
        }
        if let Some(second) = request.second.filter(|_| request.ios == 2) {
            group.second.push(second);
        }
        self.response.push(request.total);
        if blocks > 0 {
            group.totals.push(blocks, request.total, is_read);
            self.totals.push(blocks, request.total, is_read);
            if let Some((from, until)) = self.options.peak
                && (from..until).contains(&request.start)
            {
                self.in_peak.push(blocks, request.total, is_read);
            }
        }
        let class = size_class(request.sectors * SECTOR_BYTES);
        let of_class = self.sizes.entry(class).or_default();
        of_class[usize::from(!is_read)].push(request.total);
        if request.is_group {
            of_class[2].push(request.first);
            of_class[3].push(request.total);
            self.first_io
                .push(blocks as f64, request.first.as_millis_f64());
        }
    }

    fn close(&mut self, group: OpenGroup) {
        let begin = Nanos::new(group.number.saturating_mul(self.options.group.get()));
        let quantiles = |h: &Histogram| {
            let quantile = |p| h.quantile(p).unwrap_or_default();
            (h.count() > 0).then(|| {
                [
                    quantile(0.5),
                    quantile(0.75),
                    quantile(0.95),
                    quantile(0.99),
                ]
            })
        };
        let share = |n: u64, of: u64| n as f64 / of as f64;
        self.done.push(ActivityGroup {
            begin,
            requests: group.requests,
            response_time: Directions {
                all: quantiles(&group.response.all),
                reads: quantiles(&group.response.reads),
                writes: quantiles(&group.response.writes),
            },
            atomic: Directions {
                all: share(group.atomic.all, group.requests.all),
                reads: share(group.atomic.reads, group.requests.reads),
                writes: share(group.atomic.writes, group.requests.writes),
            },
            second_io: group.second.quantile(0.5),
            ..ActivityGroup::default()
        });
        // The busiest four in a row, of those that there are.
        self.recent
            .push((group.number, group.requests.all, group.totals));
        let from = group.number.saturating_sub(PEAK_GROUPS - 1);
        self.recent.retain(|(number, _, _)| *number >= from);
        let requests = self.recent.iter().map(|(_, n, _)| n).sum();
        if self
            .best
            .as_ref()
            .is_none_or(|(_, most, _)| requests > *most)
        {
            let mut totals = Totals::default();
            self.recent.iter().for_each(|(_, _, t)| totals.merge(t));
            self.best = Some((self.recent[0].0, requests, totals));
        }
    }

    pub(crate) fn finish(mut self) -> Activity {
        for group in std::mem::take(&mut self.open) {
            self.close(group);
        }
        let (mut groups, measured) = (self.done, self.intervals.finish());
        let mut without_requests: Vec<ActivityGroup> = Vec::new();
        for of_intervals in measured.groups {
            let begin = Nanos::new(of_intervals.number.saturating_mul(self.options.group.get()));
            let at = groups.binary_search_by_key(&begin, |group| group.begin);
            let group = if let Ok(at) = at {
                &mut groups[at]
            } else {
                without_requests.push(ActivityGroup {
                    begin,
                    atomic: Directions {
                        all: f64::NAN,
                        reads: f64::NAN,
                        writes: f64::NAN,
                    },
                    ..ActivityGroup::default()
                });
                without_requests.last_mut().expect("it has one")
            };
            group.concurrency = of_intervals.concurrency;
            group.in_flight = of_intervals.in_flight;
            group.utilisation = of_intervals.utilisation;
            group.busy = of_intervals.busy;
        }
        groups.append(&mut without_requests);
        groups.sort_by_key(|group| group.begin);
        let length = self.options.group.get();
        let begin_of = |group: Option<&ActivityGroup>| group.map_or(0, |g| g.begin.get());
        let is_longer_than_peak = begin_of(groups.last()) - begin_of(groups.first())
            >= PEAK_GROUPS.saturating_mul(length);
        let peak = match self.options.peak {
            Some((from, until)) => Some(Peak {
                from,
                until,
                decomposition: self.in_peak.decompositions(),
            }),
            // The whole load has no peak.
            None if !is_longer_than_peak => None,
            None => self.best.map(|(first, _, totals)| Peak {
                from: Nanos::new(first.saturating_mul(length)),
                until: Nanos::new((first + PEAK_GROUPS).saturating_mul(length)).min(self.latest),
                decomposition: totals.decompositions(),
            }),
        };
        let intervals = measured.intervals.max(1) as f64;
        Activity {
            options: self.options,
            groups,
            devices: self.covered.shares(intervals),
            sizes: self
                .sizes
                .into_iter()
                .map(|(up_to, of)| SizeClass {
                    up_to,
                    reads: (of[0].count(), of[0].quantile(0.5)),
                    writes: (of[1].count(), of[1].quantile(0.5)),
                    first_and_total: of[2].quantile(0.5).zip(of[3].quantile(0.5)),
                })
                .collect(),
            decomposition: self.totals.decompositions(),
            peak,
            by_load: (0..)
                .zip(&self.by_load)
                .filter_map(|(class, h)| Some((1 << class, h.count(), h.quantile(0.5)?)))
                .collect(),
            median: self.response.quantile(0.5),
            first_io_trend: self.first_io.fit().map(|fit| (fit.io_ms, fit.io_stderr_ms)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_sizes_are_kib_by_kib_up_to_16_and_powers_of_two_above() {
        for (bytes, up_to) in [
            (0, 0),
            (1, 1024),
            (1024, 1024),
            (1025, 2048),
            (15 * 1024 + 1, 16 * 1024),
            (16 * 1024, 16 * 1024),
            (16 * 1024 + 1, 32 * 1024),
            (32 * 1024, 32 * 1024),
            (32 * 1024 + 1, 64 * 1024),
            ((1 << 63) + 1, u64::MAX),
        ] {
            assert_eq!(size_class(bytes), up_to, "{bytes}");
        }
    }
}
