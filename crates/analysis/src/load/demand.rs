//! What is asked of the storage: rates, sizes, places, bursts.

use iosonar_stats::Histogram;
use iosonar_trace::{Op, Request};
use iosonar_units::Nanos;

use super::{Amount, LoadOptions, WORKING_SET_WINDOWS};
use crate::burstiness::{Burstiness, Counts};
use crate::by_number::ByNumber;
use crate::overlap::CloseOverlaps;
use crate::series::{LoadPoint, Series};
use crate::working_set::Spans;

/// All of a load but its working sets.
#[derive(Debug)]
pub(super) struct Demand {
    pub(super) first: Option<Nanos>,
    pub(super) last: Nanos,
    pub(super) reads: Amount,
    pub(super) writes: Amount,
    pub(super) other: Amount,
    pub(super) end: u64,
    pub(super) shortest: u32,
    pub(super) longest: u32,
    pub(super) turns: u64,
    pub(super) sequential: u64,
    /// Reads and others of each device.
    pub(super) devices: Vec<[Amount; 2]>,
    /// Of each device, where its last request began and ended.
    before: Vec<Option<(u64, u64)>>,
    pub(super) distance: Histogram,
    pub(super) distance_sum: u128,
    pub(super) distances: u64,
    pub(super) sizes: ReadsAndOthers,
    pub(super) positions: Positions,
    spans: Spans,
    pub(super) arrivals: Arrivals,
    pub(super) overlaps: CloseOverlaps,
    /// The window at hand.
    current: LoadPoint,
    pub(super) series: Series<LoadPoint>,
}

/// When requests begin.
#[derive(Debug)]
pub(super) struct Arrivals {
    counts: Counts,
    fine_counts: Counts,
    interarrival: Histogram,
    sum: f64,
    squares: f64,
}

impl Arrivals {
    fn push(&mut self, start: Nanos, before: Option<Nanos>) {
        if let Some(before) = before {
            let gap = start.saturating_sub(before);
            self.interarrival.push(gap);
            let gap = gap.as_secs_f64();
            self.sum += gap;
            self.squares += gap * gap;
        }
        self.counts.push(start);
        self.fine_counts.push(start);
    }

    /// Of this number of requests.
    pub(super) fn burstiness(self, requests: u64) -> Burstiness {
        let gaps = (requests - 1) as f64;
        let mean_gap = self.sum / gaps;
        let variance = self.squares / gaps - mean_gap * mean_gap;
        let (counts, fine) = (self.counts.finish(), self.fine_counts.finish());
        Burstiness {
            most_per_s: counts.most(),
            peak_to_mean: counts.peak_to_mean(),
            dispersion: counts.dispersion(),
            dispersions: fine.dispersions(),
            hurst: fine.hurst(),
            interarrival: self.interarrival,
            interarrival_cv: variance.max(0.0).sqrt() / mean_gap,
        }
    }
}

/// Reads and others by a number.
pub(super) type ReadsAndOthers = ByNumber<(u64, u64)>;

/// Counts one more.
fn count(counts: &mut ReadsAndOthers, number: u64, (reads, others): (u64, u64)) {
    counts.change(number, |of| {
        of.0 += reads;
        of.1 += others;
    });
}

/// Requests per range of sectors: a GiB, or its double where that would be too many.
#[derive(Clone, Debug)]
pub(super) struct Positions {
    pub(super) shift: u32,
    pub(super) counts: ReadsAndOthers,
}

const MOST_POSITIONS: usize = 1 << 16;
/// The number of different lengths that are distinguished.
const MOST_SIZES: usize = 1 << 16;

/// A read, or another request.
fn one(is_read: bool) -> (u64, u64) {
    (u64::from(is_read), u64::from(!is_read))
}

/// Counts a request of this length. Beyond the number of lengths that are distinguished, new ones count as the next power of
/// two.
fn count_length(sizes: &mut ReadsAndOthers, length: u32, is_read: bool) {
    let key = if sizes.len() < MOST_SIZES || sizes.contains(length.into()) {
        length
    } else {
        length.checked_next_power_of_two().unwrap_or(u32::MAX)
    };
    count(sizes, key.into(), one(is_read));
}

impl Positions {
    fn push(&mut self, sector: u64, is_read: bool) {
        count(&mut self.counts, sector >> self.shift, one(is_read));
        while self.counts.len() > MOST_POSITIONS {
            self.shift += 1;
            let fine = std::mem::take(&mut self.counts);
            for (range, of) in fine.counts() {
                count(&mut self.counts, range >> 1, of);
            }
        }
    }
}

impl Demand {
    pub(super) fn new(options: LoadOptions) -> Self {
        Self {
            first: None,
            last: Nanos::ZERO,
            reads: Amount::default(),
            writes: Amount::default(),
            other: Amount::default(),
            end: 0,
            shortest: u32::MAX,
            longest: 0,
            turns: 0,
            sequential: 0,
            devices: Vec::new(),
            before: Vec::new(),
            distance: Histogram::default(),
            distance_sum: 0,
            distances: 0,
            sizes: ReadsAndOthers::default(),
            positions: Positions {
                shift: options.position_sectors.max(1).ilog2(),
                counts: ReadsAndOthers::default(),
            },
            spans: Spans::new(&WORKING_SET_WINDOWS),
            arrivals: Arrivals {
                counts: Counts::new(Nanos::SECOND),
                fine_counts: Counts::new(Nanos::from_millis(10)),
                interarrival: Histogram::default(),
                sum: 0.0,
                squares: 0.0,
            },
            overlaps: CloseOverlaps::default(),
            current: LoadPoint::default(),
            series: Series::new(options.window),
        }
    }

    /// Adds a request. They come sorted by start.
    pub(super) fn push(&mut self, request: &Request) {
        let start = request.start;
        while let Some(end) = self.series.ends_before(start) {
            self.spans.advance(end);
            self.close(end, start);
        }
        let before = self.first.is_some().then_some(self.last);
        self.arrivals.push(start, before);
        self.first.get_or_insert(start);
        self.last = start;
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
        self.series.count();
        self.current.add(is_read, length);
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
            self.current.turns += u64::from(turned);
            self.sequential += u64::from(from == end);
            let distance = from.abs_diff(end);
            self.distance.push(Nanos::new(distance));
            self.distance_sum += u128::from(distance);
            self.distances += 1;
        }
        count_length(&mut self.sizes, length, is_read);
        self.positions.push(from, is_read);
        self.spans.push(request.start, from, to);
        self.overlaps.push(request);
    }

    /// Closes the window that ends at `end`; the next request begins at `next`.
    fn close(&mut self, end: Nanos, next: Nanos) {
        let mut point = std::mem::take(&mut self.current);
        for (span, value) in point.span.iter_mut().zip(self.spans.spans()) {
            *span = value;
        }
        point.span[WORKING_SET_WINDOWS.len()] = self.spans.all();
        self.series.close(end, point, next);
    }

    /// Closes the last window, which ends at `end`.
    pub(super) fn end(&mut self, end: Nanos) {
        self.spans.advance(end.max(self.last));
        self.close(end, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_positions_than_are_distinguished_are_joined_in_pairs() {
        let mut positions = Positions {
            shift: 0,
            counts: ReadsAndOthers::default(),
        };
        let most = MOST_POSITIONS as u64;
        for sector in 0..most {
            positions.push(sector, sector % 2 == 0);
        }
        assert_eq!(
            (positions.shift, positions.counts.len()),
            (0, MOST_POSITIONS)
        );
        positions.push(most, false);
        assert_eq!(
            (positions.shift, positions.counts.len()),
            (1, MOST_POSITIONS / 2 + 1)
        );
        let pairs = (0..most / 2).map(|range| (range, (1, 1)));
        assert!(
            positions
                .counts
                .counts()
                .eq(pairs.chain([(most / 2, (0, 1))]))
        );
        // One more of a pair is one more of both.
        positions.push(5, true);
        assert_eq!(positions.counts.of(2), (2, 1));
    }

    #[test]
    fn more_lengths_than_are_distinguished_count_as_the_next_power_of_two() {
        let mut sizes = ReadsAndOthers::default();
        for length in 1..=MOST_SIZES as u32 {
            count_length(&mut sizes, length, true);
        }
        for length in [100_001, 70_000, 3, u32::MAX, 1 << 31] {
            count_length(&mut sizes, length, false);
        }
        assert_eq!(sizes.len(), MOST_SIZES + 3);
        for (length, of) in [
            (3, (1, 1)),
            (4, (1, 0)),
            (65_536, (1, 0)),
            (70_000, (0, 0)),
            (131_072, (0, 2)),
            (1 << 31, (0, 1)),
            (u64::from(u32::MAX), (0, 1)),
        ] {
            assert_eq!(sizes.of(length), of, "{length}");
        }
    }
}
