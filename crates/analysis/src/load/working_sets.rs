//! Which pages a load accesses, over time.

use iosonar_trace::Request;
use iosonar_units::Nanos;

use super::{LoadOptions, LoadSummary, WORKING_SET_WINDOWS};
use crate::pages::Pages;
use crate::reuse::MissRatioCurve;
use crate::series::Series;
use crate::working_set::Windows;

/// Bytes of a page in the table, with the room that its hashing and its growing need, its positions in the order of
/// accesses, and its share of the distances.
const PAGE_BYTES: usize = 56 * 3 + 16 + 16;

/// Distinct sectors of windows, and all that the table of pages knows.
#[derive(Debug)]
pub(super) struct WorkingSets {
    pages: Pages,
    series: Series<[u64; 5]>,
}

/// What was found out.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) sectors: u64,
    pub(super) pages: u64,
    pub(super) accesses: u64,
    pub(super) rate: f64,
    pub(super) stderr: f64,
    pub(super) window_excess: Nanos,
    pub(super) curve: MissRatioCurve,
    /// Accesses of each page, most first.
    pub(super) frequencies: Vec<u32>,
    pub(super) series: Vec<(Nanos, [u64; 5])>,
}

impl WorkingSets {
    pub(super) fn new(options: LoadOptions) -> Self {
        let windows = Windows::new(&WORKING_SET_WINDOWS);
        Self {
            pages: Pages::new(options.memory / PAGE_BYTES, windows),
            series: Series::new(options.window),
        }
    }

    /// Adds a request. They come sorted by start.
    pub(super) fn push(&mut self, request: &Request) {
        let start = request.start;
        while let Some(end) = self.series.ends_before(start) {
            self.pages.windows.advance(end);
            self.close(end, start);
        }
        self.series.count();
        // A discard of a whole device names its pages, and accesses none; a flush is nowhere.
        if request.op.moves_data() && request.sectors.get() > 0 {
            self.pages.windows.begin(start);
            self.pages.touch(request);
        }
    }

    /// Closes the window that ends at `end`; the next request begins at `next`.
    fn close(&mut self, end: Nanos, next: Nanos) {
        let scale = 1.0 / self.pages.rate();
        let scaled = |n: u64| (n as f64 * scale).round() as u64;
        let mut point = [0; 5];
        for (sectors, size) in point.iter_mut().zip(self.pages.windows.sizes()) {
            *sectors = scaled(*size);
        }
        point[WORKING_SET_WINDOWS.len()] = scaled(self.pages.windows.all());
        self.series.close(end, point, next);
    }

    /// Closes the last window, which ends at `end`. The last request began at `last`.
    pub(super) fn finish(mut self, end: Nanos, last: Nanos) -> Found {
        self.pages.windows.advance(end.max(last));
        self.close(end, end);
        let (pages, windows) = (&self.pages, &self.pages.windows);
        let rate = pages.rate();
        Found {
            sectors: (windows.all() as f64 / rate).round() as u64,
            pages: (pages.len() as f64 / rate).round() as u64,
            accesses: pages.accesses(),
            rate,
            // Of a sample of pages, each with at most eight sectors: sum of squares <= 8 * sum. Zero if all pages are in it.
            stderr: (8.0 * (1.0 - rate) / windows.all().max(1) as f64).sqrt(),
            window_excess: windows.widest(),
            curve: pages.reuse.curve(pages.accesses()),
            frequencies: pages.frequencies(),
            series: self.series.into_points(),
        }
    }
}

/// The working set of a window, over the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSize {
    /// The length of the window; `None` is from the first request on.
    pub window: Option<Nanos>,
    /// Distinct sectors, on average.
    pub mean: f64,
    /// The most distinct sectors.
    pub max: u64,
    /// From the lowest to the highest sector, on average.
    pub mean_span: f64,
}

impl WindowSize {
    /// The name of the window, such as `6 s`; `all` is from the first request on.
    pub fn name(&self) -> String {
        name_of(self.window)
    }

    /// How much wider the range of the accesses is than what was accessed; NaN if nothing was.
    pub fn span_per_sector(&self) -> f64 {
        match self.mean > 0.0 {
            true => self.mean_span / self.mean,
            false => f64::NAN,
        }
    }
}

/// The name of a window, such as `6 s`; without a length it is from the first request on.
pub(crate) fn name_of(window: Option<Nanos>) -> String {
    let seconds = |window: Nanos| format!("{} s", window.get() / 1_000_000_000);
    window.map_or_else(|| "all".to_owned(), seconds)
}

/// The windows of working sets, in the order in which [`LoadPoint`](crate::LoadPoint) has them.
pub(crate) fn windows() -> impl Iterator<Item = Option<Nanos>> {
    WORKING_SET_WINDOWS.into_iter().map(Some).chain([None])
}

impl LoadSummary {
    /// The working sets of [`WORKING_SET_WINDOWS`] and of all requests so far, seen at the end of each rate window that
    /// comes no earlier than the first whole window. Those of windows longer than the trace are left out.
    pub fn window_sizes(&self) -> Vec<WindowSize> {
        let of = |(i, window): (usize, Option<Nanos>)| {
            let whole = self.first + window.unwrap_or(Nanos::ZERO);
            let points = self.series.iter().filter(|(end, _)| *end >= whole);
            let (mut n, mut sectors, mut span, mut max) = (0.0, 0.0, 0.0, 0);
            for (_, point) in points {
                n += 1.0;
                sectors += point.working_set[i] as f64;
                span += point.span[i] as f64;
                max = max.max(point.working_set[i]);
            }
            (n > 0.0).then(|| WindowSize {
                window,
                mean: sectors / n,
                max,
                mean_span: span / n,
            })
        };
        windows().enumerate().filter_map(of).collect()
    }
}
