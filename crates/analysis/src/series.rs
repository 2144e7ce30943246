//! Rates over time.

use iosonar_units::Nanos;

/// The number of points kept; beyond it, pairs are merged.
const MOST: usize = 1 << 20;
/// Points that are always kept, and more of them for each request: hardly any other would differ from its
/// neighbour.
const MOST_OF_FEW: usize = 1 << 16;
const MOST_PER_REQUEST: u64 = 64;

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

impl LoadPoint {
    pub(crate) fn add(&mut self, is_read: bool, sectors: u32) {
        if is_read {
            self.reads += 1;
            self.sectors_read += u64::from(sectors);
        } else {
            self.writes += 1;
            self.sectors_written += u64::from(sectors);
        }
    }
}

/// What is known of a window.
pub(crate) trait Point: Copy {
    /// The window and the one before it become one.
    #[must_use]
    fn joined_with(self, before: &Self) -> Self;
}

impl Point for LoadPoint {
    fn joined_with(self, before: &Self) -> Self {
        Self {
            reads: self.reads + before.reads,
            writes: self.writes + before.writes,
            sectors_read: self.sectors_read + before.sectors_read,
            sectors_written: self.sectors_written + before.sectors_written,
            turns: self.turns + before.turns,
            ..self
        }
    }
}

/// Distinct sectors at the end of a window.
impl Point for [u64; 5] {
    fn joined_with(self, _: &Self) -> Self {
        self
    }
}

/// Windows `((k - 1) w, k w]`, each with the time of its end: at that time, what has begun is known. Series of the same
/// requests have the same windows.
#[derive(Clone, Debug)]
pub(crate) struct Series<P> {
    window: Nanos,
    end: Nanos,
    points: Vec<(Nanos, P)>,
    requests: u64,
}

impl<P: Point> Series<P> {
    pub(crate) fn new(window: Nanos) -> Self {
        Self {
            window,
            end: Nanos::ZERO,
            points: Vec::new(),
            requests: 0,
        }
    }

    /// The end of the window at hand, if it lies before `time`.
    #[inline]
    pub(crate) fn ends_before(&mut self, time: Nanos) -> Option<Nanos> {
        if self.requests == 0 {
            // The first window is the one of the first request.
            self.end = Nanos::new(time.get().next_multiple_of(self.window.get().max(1)));
        }
        (self.end < time).then_some(self.end)
    }

    /// A request begins in the window at hand.
    #[inline]
    pub(crate) fn count(&mut self) {
        self.requests += 1;
    }

    /// Ends the window at `end`, of which `point` is known. The next request begins at `next`.
    pub(crate) fn close(&mut self, end: Nanos, point: P, next: Nanos) {
        self.points.push((end, point));
        self.end = end.saturating_add(self.window);
        let most = self.requests.saturating_mul(MOST_PER_REQUEST) as usize;
        let most = most.clamp(MOST_OF_FEW, MOST);
        // Windows without a request are taken together before there are too many of them.
        let ahead = |window: Nanos| (next.saturating_sub(end).get() / window.get().max(1)) as usize;
        while self.points.len().saturating_add(ahead(self.window)) > most {
            self.coarsen();
        }
    }

    /// Takes each two points together.
    fn coarsen(&mut self) {
        self.window = Nanos::new(self.window.get().max(1).saturating_mul(2));
        let fine = std::mem::take(&mut self.points);
        let joined = fine.chunks(2).map(|pair| match pair {
            [(_, first), (end, last)] => (*end, last.joined_with(first)),
            _ => pair[0],
        });
        self.points = joined.collect();
        if let Some((end, _)) = self.points.last() {
            self.end = end.saturating_add(self.window);
        }
    }

    pub(crate) fn into_points(self) -> Vec<(Nanos, P)> {
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_without_a_request_have_a_bounded_number_of_windows() {
        let (mut series, mut point) = (Series::new(Nanos::SECOND), LoadPoint::default());
        let starts = [0, 5_000_000_000, 5_000_000_001, 9_000_000_000];
        for start in starts.map(Nanos::from_secs) {
            while let Some(end) = series.ends_before(start) {
                series.close(end, std::mem::take(&mut point), start);
            }
            series.count();
            point.add(true, 8);
        }
        let end = Nanos::from_secs(9_000_000_000);
        series.close(end, point, end);
        let points = series.into_points();
        assert!(points.len() <= MOST_OF_FEW + 2, "{}", points.len());
        assert_eq!(points.iter().map(|(_, p)| p.reads).sum::<u64>(), 4);
        assert!(points.is_sorted_by_key(|(end, _)| *end));
    }

    #[test]
    fn joined_windows_add_what_happened_and_keep_what_is_known_at_their_end() {
        assert_eq!(
            [6, 7, 8, 9, 10].joined_with(&[1, 2, 3, 4, 5]),
            [6, 7, 8, 9, 10]
        );
        let point = |n: u64| LoadPoint {
            reads: n,
            writes: 2 * n,
            sectors_read: 3 * n,
            sectors_written: 4 * n,
            turns: 5 * n,
            ..LoadPoint::default()
        };
        let before = LoadPoint {
            working_set: [5; 5],
            span: [50; 5],
            ..point(1)
        };
        let last = LoadPoint {
            working_set: [7; 5],
            span: [70; 5],
            ..point(100)
        };
        let expected = LoadPoint {
            working_set: [7; 5],
            span: [70; 5],
            ..point(101)
        };
        assert_eq!(last.joined_with(&before), expected);
    }

    #[test]
    fn windows_that_are_joined_end_with_the_second_of_a_pair() {
        let mut series = Series::new(Nanos::new(10));
        for (end, n) in [(10, 1), (20, 2), (30, 3)] {
            series.count();
            series.close(Nanos::new(end), [n; 5], Nanos::new(end));
        }
        assert_eq!(series.ends_before(Nanos::new(40)), None);
        series.coarsen();
        // Of an odd number, the last one stays alone.
        let expected = [(20, 2), (30, 3)].map(|(end, n)| (Nanos::new(end), [n; 5]));
        assert_eq!(series.points, expected);
        // Windows are twice as wide from there on.
        assert_eq!(series.ends_before(Nanos::new(50)), None);
        assert_eq!(series.ends_before(Nanos::new(51)), Some(Nanos::new(50)));
    }
}
