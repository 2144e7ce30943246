//! Rates over time.

use iosonar_units::Nanos;

/// So many points are kept; beyond, each two are taken together.
const MOST: usize = 1 << 20;

/// What happened within a window, and the working sets at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadPoint {
    /// Reads that begin in the window.
    pub reads: u64,
    /// Other requests that begin in it.
    pub writes: u64,
    /// Sectors that are read.
    pub sectors_read: u64,
    /// Sectors of the others.
    pub sectors_written: u64,
    /// Requests with a lower first sector than the one before.
    pub turns: u64,
    /// Distinct sectors of the last 1, 6, 60, 600 s, and of all so far.
    pub working_set: [u64; 5],
    /// From the lowest to the highest sector of the same.
    pub span: [u64; 5],
}

/// Windows `((k - 1) w, k w]`, each with the time of its end: at that time, what has begun is known.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    window: Nanos,
    end: Nanos,
    current: LoadPoint,
    points: Vec<(Nanos, LoadPoint)>,
}

impl Series {
    pub(crate) fn new(window: Nanos) -> Self {
        Self {
            window,
            end: Nanos::ZERO,
            current: LoadPoint::default(),
            points: Vec::new(),
        }
    }

    /// The end of the window at hand, if it lies before `time`.
    pub(crate) fn ends_before(&mut self, time: Nanos) -> Option<Nanos> {
        if self.points.is_empty() && self.current == LoadPoint::default() {
            // The first window is the one of the first request.
            self.end = Nanos::new(time.get().next_multiple_of(self.window.get().max(1)));
        }
        (self.end < time).then_some(self.end)
    }

    pub(crate) fn add(&mut self, is_read: bool, sectors: u32) {
        let point = &mut self.current;
        if is_read {
            point.reads += 1;
            point.sectors_read += u64::from(sectors);
        } else {
            point.writes += 1;
            point.sectors_written += u64::from(sectors);
        }
    }

    pub(crate) fn turn(&mut self, turned: bool) {
        self.current.turns += u64::from(turned);
    }

    /// Ends the window at `end`, with these working sets.
    pub(crate) fn close(&mut self, end: Nanos, measured: LoadPoint) {
        let point = LoadPoint {
            working_set: measured.working_set,
            span: measured.span,
            ..self.current
        };
        self.current = LoadPoint::default();
        self.points.push((end, point));
        self.end = end.saturating_add(self.window);
        if self.points.len() > MOST {
            self.window = Nanos::new(self.window.get() * 2);
            let fine = std::mem::take(&mut self.points);
            let joined = fine.chunks(2).map(|pair| {
                let (end, mut last) = pair[pair.len() - 1];
                if let [(_, first), _] = pair {
                    last.reads += first.reads;
                    last.writes += first.writes;
                    last.sectors_read += first.sectors_read;
                    last.sectors_written += first.sectors_written;
                    last.turns += first.turns;
                }
                (end, last)
            });
            self.points = joined.collect();
            self.end = self
                .points
                .last()
                .map_or(end, |(end, _)| *end)
                .saturating_add(self.window);
        }
    }

    pub(crate) fn into_points(self) -> Vec<(Nanos, LoadPoint)> {
        self.points
    }
}
