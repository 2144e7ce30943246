//! Metrics of a load: the demand, independent of its outcome.

use std::collections::BTreeMap;

use iosonar_stats::Histogram;
use iosonar_trace::{Op, Request};
use iosonar_units::Nanos;

use crate::burstiness::{Burstiness, Counts};
use crate::overlap::CloseOverlaps;
use crate::pages::Pages;
use crate::reuse::MissRatioCurve;
use crate::series::{LoadPoint, Series};
use crate::working_set::{Spans, Windows};

/// The windows of the working set.
pub const WORKING_SET_WINDOWS: [Nanos; 4] = [
    Nanos::from_secs(1),
    Nanos::from_secs(6),
    Nanos::from_secs(60),
    Nanos::from_secs(600),
];

/// How a load is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// The width of the windows that rates are averaged over.
    pub window: Nanos,
    /// The width of the ranges that positions are counted in, in sectors, a power of two; more than 65 536 are
    /// joined.
    pub position_sectors: u64,
    /// Tables are exact up to this size in bytes; beyond it, pages are sampled.
    pub memory: usize,
}

impl Default for LoadOptions {
    /// Windows of a second, positions by GiB, 100 MiB: half a million pages, or 2 GiB of data, are exact.
    fn default() -> Self {
        Self {
            window: Nanos::SECOND,
            position_sectors: 1 << 21,
            memory: 100 << 20,
        }
    }
}

/// Of reads, or of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Requests.
    pub requests: u64,
    /// Sectors.
    pub sectors: u64,
}

impl Amount {
    fn add(&mut self, sectors: u32) {
        self.requests += 1;
        self.sectors += u64::from(sectors);
    }
}

/// Measures a load, request by request.
#[derive(Debug)]
pub struct LoadMetrics {
    options: LoadOptions,
    first: Option<Nanos>,
    last: Nanos,
    reads: Amount,
    writes: Amount,
    other: Amount,
    end: u64,
    shortest: u32,
    longest: u32,
    turns: u64,
    sequential: u64,
    /// Reads and others of each device.
    devices: Vec<[Amount; 2]>,
    /// Of each device, where its last request began and ended.
    before: Vec<Option<(u64, u64)>>,
    distance: Histogram,
    distance_sum: u128,
    distances: u64,
    sizes: BTreeMap<u32, (u64, u64)>,
    positions: Positions,
    pages: Pages,
    spans: Spans,
    counts: Counts,
    fine_counts: Counts,
    interarrival: Histogram,
    interarrival_sum: f64,
    interarrival_squares: f64,
    overlaps: CloseOverlaps,
    series: Series,
}

/// Requests per range of sectors: a GiB, or its double where that would be too many.
#[derive(Clone, Debug)]
struct Positions {
    shift: u32,
    counts: BTreeMap<u64, (u64, u64)>,
}

const MOST_POSITIONS: usize = 1 << 16;
/// The number of different lengths that are distinguished.
const MOST_SIZES: usize = 1 << 16;

impl Positions {
    fn push(&mut self, sector: u64, is_read: bool) {
        let (reads, writes) = self.counts.entry(sector >> self.shift).or_default();
        *(if is_read { reads } else { writes }) += 1;
        while self.counts.len() > MOST_POSITIONS {
            self.shift += 1;
            let fine = std::mem::take(&mut self.counts);
            for (range, (reads, writes)) in fine {
                let coarse = self.counts.entry(range >> 1).or_default();
                coarse.0 += reads;
                coarse.1 += writes;
            }
        }
    }
}

/// Bytes of a page in the table, with the room that its hashing and its growing need, its positions in the order of
/// accesses, and its share of the distances.
const PAGE_BYTES: usize = 56 * 3 + 16 + 16;

impl LoadMetrics {
    /// Nothing measured yet.
    pub fn new(options: LoadOptions) -> Self {
        let windows = Windows::new(&WORKING_SET_WINDOWS);
        Self {
            options,
            first: None,
            last: Nanos::ZERO,
            reads: Amount::default(),
            writes: Amount::default(),
            other: Amount::default(),
            devices: Vec::new(),
            end: 0,
            shortest: u32::MAX,
            longest: 0,
            turns: 0,
            sequential: 0,
            before: Vec::new(),
            distance: Histogram::default(),
            distance_sum: 0,
            distances: 0,
            sizes: BTreeMap::new(),
            positions: Positions {
                shift: options.position_sectors.max(1).ilog2(),
                counts: BTreeMap::new(),
            },
            pages: Pages::new(options.memory / PAGE_BYTES, windows),
            spans: Spans::new(&WORKING_SET_WINDOWS),
            counts: Counts::new(Nanos::SECOND),
            fine_counts: Counts::new(Nanos::from_millis(10)),
            interarrival: Histogram::default(),
            interarrival_sum: 0.0,
            interarrival_squares: 0.0,
            overlaps: CloseOverlaps::default(),
            series: Series::new(options.window),
        }
    }

    /// Adds a request. They come sorted by start.
    pub fn push(&mut self, request: &Request) {
        let start = request.start;
        self.reach(start);
        if self.first.is_none() {
            self.first = Some(start);
        } else {
            let gap = start.saturating_sub(self.last);
            self.interarrival.push(gap);
            let gap = gap.as_secs_f64();
            self.interarrival_sum += gap;
            self.interarrival_squares += gap * gap;
        }
        self.last = start;
        self.counts.push(start);
        self.fine_counts.push(start);
        let length = request.sectors.get();
        let amount = match request.op {
            Op::Read => &mut self.reads,
            Op::Write => &mut self.writes,
            _ => &mut self.other,
        };
        amount.add(length);
        let is_read = request.op == Op::Read;
        let device = usize::from(request.device);
        if self.devices.len() <= device {
            self.devices.resize(device + 1, Default::default());
        }
        self.devices[device][usize::from(!is_read)].add(length);
        self.series.add(is_read, length);
        // A flush is nowhere.
        if length == 0 {
            return;
        }
        self.place(request, is_read);
    }

    fn place(&mut self, request: &Request, is_read: bool) {
        let (from, to) = (request.sector.get(), request.end().get());
        let length = request.sectors.get();
        self.end = self.end.max(to);
        self.shortest = self.shortest.min(length);
        self.longest = self.longest.max(length);
        let device = usize::from(request.device);
        if self.before.len() <= device {
            self.before.resize(device + 1, None);
        }
        if let Some((before, end)) = self.before[device].replace((from, to)) {
            let turned = from < before;
            self.turns += u64::from(turned);
            self.series.turn(turned);
            self.sequential += u64::from(from == end);
            let distance = from.abs_diff(end);
            self.distance.push(Nanos::new(distance));
            self.distance_sum += u128::from(distance);
            self.distances += 1;
        }
        // Beyond the number of lengths that are distinguished, new ones count as the next power of two.
        let key = if self.sizes.len() < MOST_SIZES || self.sizes.contains_key(&length) {
            length
        } else {
            length.checked_next_power_of_two().unwrap_or(u32::MAX)
        };
        let (reads, writes) = self.sizes.entry(key).or_default();
        *(if is_read { reads } else { writes }) += 1;
        self.positions.push(from, is_read);
        // A discard of a whole device names its pages, and accesses none.
        if request.op.moves_data() {
            self.pages.windows.begin(request.start);
            self.pages.touch(request);
        }
        self.spans.push(request.start, from, to);
        self.overlaps.push(request);
    }

    /// Closes the windows of rates that end before `time`.
    fn reach(&mut self, time: Nanos) {
        while let Some(end) = self.series.ends_before(time) {
            self.pages.windows.advance(end);
            self.spans.advance(end);
            self.close(end, time);
        }
    }

    fn close(&mut self, end: Nanos, next: Nanos) {
        let scale = 1.0 / self.pages.rate();
        let scaled = |n: u64| (n as f64 * scale).round() as u64;
        let mut point = LoadPoint::default();
        for (i, size) in self.pages.windows.sizes().iter().enumerate() {
            point.working_set[i] = scaled(*size);
        }
        point.working_set[WORKING_SET_WINDOWS.len()] = scaled(self.pages.windows.all());
        for (span, value) in point.span.iter_mut().zip(self.spans.spans()) {
            *span = value;
        }
        point.span[WORKING_SET_WINDOWS.len()] = self.spans.all();
        self.series.close(end, point, next);
    }

    /// What has been measured; `None` without requests.
    pub fn finish(mut self) -> Option<LoadSummary> {
        let first = self.first?;
        let end = Nanos::new(
            self.last
                .get()
                .next_multiple_of(self.options.window.get().max(1)),
        );
        self.pages.windows.advance(end.max(self.last));
        self.spans.advance(end.max(self.last));
        self.close(end, end);
        let span_s = (self.last - first).as_secs_f64();
        let requests = self.reads.requests + self.writes.requests + self.other.requests;
        let gaps = (requests - 1) as f64;
        let mean_gap = self.interarrival_sum / gaps;
        let variance = self.interarrival_squares / gaps - mean_gap * mean_gap;
        let (counts, fine) = (self.counts.finish(), self.fine_counts.finish());
        let rate = self.pages.rate();
        let frequencies = self.pages.frequencies();
        Some(LoadSummary {
            first,
            last: self.last,
            reads: self.reads,
            writes: self.writes,
            other: self.other,
            devices: (0..=u16::MAX)
                .zip(self.devices)
                .filter(|(_, of)| of[0].requests + of[1].requests > 0)
                .collect(),
            requests_per_s: requests as f64 / span_s,
            end_sector: self.end,
            shortest: if self.longest == 0 { 0 } else { self.shortest },
            longest: self.longest,
            turns: self.turns,
            sequential: self.sequential,
            successors: self.distances,
            mean_distance: self.distance_sum as f64 / self.distances as f64,
            distance: self.distance,
            sizes: self
                .sizes
                .into_iter()
                .map(|(l, (r, w))| (l, r, w))
                .collect(),
            position_sectors: 1 << self.positions.shift,
            positions: self
                .positions
                .counts
                .into_iter()
                .map(|(range, (r, w))| (range << self.positions.shift, r, w))
                .collect(),
            distinct_sectors: (self.pages.windows.all() as f64 / rate).round() as u64,
            distinct_pages: (self.pages.len() as f64 / rate).round() as u64,
            page_accesses: self.pages.accesses(),
            sampling_rate: rate,
            // Of a sample of pages, each with at most eight sectors: sum of squares <= 8 * sum.
            working_set_stderr: if rate < 1.0 {
                (8.0 * (1.0 - rate) / self.pages.windows.all().max(1) as f64).sqrt()
            } else {
                0.0
            },
            window_excess: self.pages.windows.widest(),
            curve: self.pages.reuse.curve(self.pages.accesses()),
            hot: hot(&frequencies),
            frequencies: Frequencies::of(&frequencies),
            repetition: staircase(&frequencies),
            burstiness: Burstiness {
                most_per_s: counts.most(),
                peak_to_mean: counts.peak_to_mean(),
                dispersion: counts.dispersion(),
                dispersions: fine.dispersions(),
                hurst: fine.hurst(),
                interarrival: self.interarrival,
                interarrival_cv: variance.max(0.0).sqrt() / mean_gap,
            },
            close_overlaps: self.overlaps.within(),
            series: self.series.into_points(),
            window: self.options.window,
        })
    }
}

/// The hottest pages that hold a share of all accesses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hot {
    /// The share of accesses.
    pub accesses: f64,
    /// How many pages hold it (of the sample, where pages are sampled).
    pub pages: u64,
    /// Their share of the distinct pages.
    pub share: f64,
    /// How much faster the load would be if these accesses took no time, were all alike.
    pub speed_up: f64,
}

/// For 1/64, 1/32, ... 1 of all page accesses.
fn hot(frequencies: &[u32]) -> Vec<Hot> {
    let total: u64 = frequencies.iter().map(|f| u64::from(*f)).sum();
    let mut table = Vec::new();
    let (mut held, mut pages) = (0_u64, 0);
    for i in (0..=6).rev() {
        let accesses = 1.0 / f64::from(1 << i);
        // In whole accesses: total / 2^i, rounded up.
        let wanted = total.div_ceil(1 << i);
        while held < wanted && pages < frequencies.len() {
            held += u64::from(frequencies[pages]);
            pages += 1;
        }
        table.push(Hot {
            accesses,
            pages: pages as u64,
            share: pages as f64 / frequencies.len() as f64,
            speed_up: 1.0 / (1.0 - accesses),
        });
    }
    table
}

/// A falling sequence as a staircase: where each step begins, from 1, and how high it is.
fn staircase(descending: &[u32]) -> Vec<(u64, u32)> {
    let mut steps: Vec<(u64, u32)> = Vec::new();
    for (i, &count) in descending.iter().enumerate() {
        if steps.last().is_none_or(|(_, last)| *last != count) {
            steps.push((i as u64 + 1, count));
        }
    }
    steps
}

/// How often pages are accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Frequencies {
    /// Accesses per page, on average.
    pub mean: f64,
    /// Half of the pages are accessed at most so often.
    pub median: u32,
    /// The same for 90 % of them.
    pub p90: u32,
    /// The same for 99 % of them.
    pub p99: u32,
    /// The most accesses of a page.
    pub most: u32,
}

impl Frequencies {
    fn of(descending: &[u32]) -> Self {
        let n = descending.len();
        if n == 0 {
            return Self::default();
        }
        let quantile = |p: f64| {
            let rank = ((p * n as f64).ceil() as usize).clamp(1, n);
            descending[n - rank]
        };
        Self {
            mean: descending.iter().map(|f| f64::from(*f)).sum::<f64>() / n as f64,
            median: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            most: descending[0],
        }
    }
}

/// What a load is like.
#[derive(Clone, Debug)]
pub struct LoadSummary {
    /// The first start.
    pub first: Nanos,
    /// The last start.
    pub last: Nanos,
    /// Reads.
    pub reads: Amount,
    /// Writes.
    pub writes: Amount,
    /// Discards, flushes, write-zeroes.
    pub other: Amount,
    /// Reads and others of each device that has a request, in ascending order of their numbers.
    pub devices: Vec<(u16, [Amount; 2])>,
    /// Requests per second between the first and the last start.
    pub requests_per_s: f64,
    /// The end of the highest request.
    pub end_sector: u64,
    /// The shortest request, in sectors.
    pub shortest: u32,
    /// The longest request, in sectors.
    pub longest: u32,
    /// Requests whose first sector is lower than that of the one before on the same device.
    pub turns: u64,
    /// Requests that begin where the one before on the same device ended.
    pub sequential: u64,
    /// Requests that have one before.
    pub successors: u64,
    /// From the end of the previous request to the first sector, in sectors, on average.
    pub mean_distance: f64,
    /// The same, as a distribution (of sectors).
    pub distance: Histogram,
    /// Length in sectors, reads, others of that length.
    pub sizes: Vec<(u32, u64, u64)>,
    /// The width of the ranges of `positions`, in sectors.
    pub position_sectors: u64,
    /// First sector of a range, reads and others that begin in it.
    pub positions: Vec<(u64, u64, u64)>,
    /// Distinct sectors: the union of all ranges.
    pub distinct_sectors: u64,
    /// Distinct pages of 4 KiB.
    pub distinct_pages: u64,
    /// Accesses to pages: a request accesses all pages that it touches.
    pub page_accesses: u64,
    /// The share of pages that was looked at; 1 if all is exact.
    pub sampling_rate: f64,
    /// The relative standard error of the distinct sectors, at most; 0 if they are exact.
    pub working_set_stderr: f64,
    /// How much longer than stated a window of the working set may be; 0 if they are exact.
    pub window_excess: Nanos,
    /// The miss ratio of an LRU cache.
    pub curve: MissRatioCurve,
    /// The hottest pages.
    pub hot: Vec<Hot>,
    /// Accesses per page.
    pub frequencies: Frequencies,
    /// Pages in falling order of their accesses, as a staircase: the number of accesses of the pages from this
    /// rank (from 1) on (of the sample, where pages are sampled).
    pub repetition: Vec<(u64, u32)>,
    /// How uneven arrivals are.
    pub burstiness: Burstiness,
    /// Requests that overlap with one that began less than each of [`GAPS`](crate::GAPS) before.
    pub close_overlaps: [u64; 4],
    /// Rates and working sets over time.
    pub series: Vec<(Nanos, LoadPoint)>,
    /// The width of the windows of `series`.
    pub window: Nanos,
}

impl LoadSummary {
    /// All requests.
    pub fn requests(&self) -> u64 {
        self.reads.requests + self.writes.requests + self.other.requests
    }

    /// The share of reads.
    pub fn read_share(&self) -> f64 {
        self.reads.requests as f64 / self.requests() as f64
    }
}
