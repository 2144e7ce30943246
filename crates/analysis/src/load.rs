//! Metrics of a load: the demand, independent of its outcome.

mod demand;
mod frequencies;
mod working_sets;

use iosonar_stats::Histogram;
use iosonar_trace::{Batch, Record, Request};
use iosonar_units::Nanos;

use crate::burstiness::Burstiness;
use crate::reuse::MissRatioCurve;
use crate::series::LoadPoint;
use demand::Demand;
pub use frequencies::{Frequencies, Hot};
use frequencies::{hot, staircase};
pub use working_sets::WindowSize;
use working_sets::WorkingSets;
pub(crate) use working_sets::{name_of, windows};

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
    window: Nanos,
    demand: Demand,
    working_sets: WorkingSets,
}

impl LoadMetrics {
    /// Nothing measured yet.
    pub fn new(options: LoadOptions) -> Self {
        Self {
            window: options.window,
            demand: Demand::new(options),
            working_sets: WorkingSets::new(options),
        }
    }

    /// Adds a request. They come sorted by start.
    pub fn push(&mut self, request: &Request) {
        self.demand.push(request);
        self.working_sets.push(request);
    }

    /// The two halves of [`push`](Self::push) for the records of the load in a batch, for two threads, as working sets miss
    /// the cache all the time. Both get all batches, sorted by start; `is_of_the_load` says which records count.
    pub fn halves<'a>(
        &'a mut self,
        is_of_the_load: impl Fn(&Record) -> bool + Copy + Send + 'a,
    ) -> (
        impl FnMut(&Batch) + Send + 'a,
        impl FnMut(&Batch) + Send + 'a,
    ) {
        let (demand, working_sets) = (&mut self.demand, &mut self.working_sets);
        (
            move |batch: &Batch| {
                let of_load = batch.records().filter(is_of_the_load);
                of_load.for_each(|record| demand.push(&record.request));
            },
            move |batch: &Batch| {
                let of_load = batch.records().filter(is_of_the_load);
                of_load.for_each(|record| working_sets.push(&record.request));
            },
        )
    }

    /// What has been measured; `None` without requests.
    ///
    /// # Panics
    /// If its parts have seen different windows, which would be a fault of this crate.
    pub fn finish(self) -> Option<LoadSummary> {
        let mut demand = self.demand;
        let last = demand.last;
        let first = demand.first?;
        let end = Nanos::new(last.get().next_multiple_of(self.window.get().max(1)));
        demand.end(end);
        let sets = self.working_sets.finish(end, last);
        let mut series = demand.series.into_points();
        assert_eq!(series.len(), sets.series.len(), "the same windows");
        for ((_, point), (_, working_set)) in series.iter_mut().zip(sets.series) {
            point.working_set = working_set;
        }
        let requests = demand.reads.requests + demand.writes.requests + demand.other.requests;
        let has_length = demand.longest > 0;
        Some(LoadSummary {
            first,
            last,
            requests_per_s: requests as f64 / (last - first).as_secs_f64(),
            burstiness: demand.arrivals.burstiness(requests),
            reads: demand.reads,
            writes: demand.writes,
            other: demand.other,
            devices: (0..=u16::MAX)
                .zip(demand.devices)
                .filter(|(_, of)| of[0].requests + of[1].requests > 0)
                .collect(),
            end_sector: demand.end,
            shortest: if has_length { demand.shortest } else { 0 },
            longest: demand.longest,
            turns: demand.turns,
            sequential: demand.sequential,
            successors: demand.distances,
            mean_distance: demand.distance_sum as f64 / demand.distances as f64,
            distance: demand.distance,
            sizes: demand
                .sizes
                .counts()
                .map(|(length, (reads, others))| (length as u32, reads, others))
                .collect(),
            position_sectors: 1 << demand.positions.shift,
            positions: demand
                .positions
                .counts
                .counts()
                .map(|(range, (reads, others))| (range << demand.positions.shift, reads, others))
                .collect(),
            distinct_sectors: sets.sectors,
            distinct_pages: sets.pages,
            page_accesses: sets.accesses,
            sampling_rate: sets.rate,
            working_set_stderr: sets.stderr,
            window_excess: sets.window_excess,
            curve: sets.curve,
            hot: hot(&sets.frequencies),
            frequencies: Frequencies::of(&sets.frequencies),
            repetition: staircase(&sets.frequencies),
            close_overlaps: demand.overlaps.within(),
            series,
            window: self.window,
        })
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

/// What requests other than reads are, in a word or three, by the numbers of writes and of discards, flushes and others.
pub fn name_of_others(writes: u64, others: u64) -> &'static str {
    match (writes, others) {
        (_, 0) => "writes",
        (0, _) => "others",
        _ => "writes and others",
    }
}

impl LoadSummary {
    /// What requests other than reads are, in a word or three.
    pub fn name_of_others(&self) -> &'static str {
        name_of_others(self.writes.requests, self.other.requests)
    }

    /// All requests.
    pub fn requests(&self) -> u64 {
        self.reads.requests + self.writes.requests + self.other.requests
    }

    /// From the first start to the last one.
    pub fn span(&self) -> Nanos {
        self.last - self.first
    }

    /// Sectors that are read or written, per second between the first and the last start; NaN if these are one instant.
    pub fn sectors_per_s(&self) -> f64 {
        let sectors = (self.reads.sectors + self.writes.sectors) as f64;
        match self.span() {
            Nanos::ZERO => f64::NAN,
            span => sectors / span.as_secs_f64(),
        }
    }

    /// The share of reads.
    pub fn read_share(&self) -> f64 {
        self.reads.requests as f64 / self.requests() as f64
    }
}
