//! Response time split into overhead and I/O: `I/O = Total(2B) - Total(B)`, `Overhead = Total(B) - I/O`.

use iosonar_stats::Histogram;
use iosonar_units::Nanos;

use super::Directions;

/// Response times by number of blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    reads: OneDirection,
    writes: OneDirection,
}

#[derive(Clone, Debug, Default)]
struct OneDirection {
    one: Histogram,
    two: Histogram,
    sums: Sums,
}

/// Sums for a straight line by least squares.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Sums {
    pub(crate) fn push(&mut self, x: f64, y: f64) {
        self.n += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
    }

    fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.x += other.x;
        self.y += other.y;
        self.xx += other.xx;
        self.xy += other.xy;
        self.yy += other.yy;
    }

    /// `None` with fewer than three requests, or all of one size.
    pub(crate) fn fit(&self) -> Option<Fit> {
        let sxx = self.xx - self.x * self.x / self.n;
        // Of whole numbers of blocks: less than this is rounding.
        if self.n < 3.0 || sxx < 1e-6 {
            return None;
        }
        let sxy = self.xy - self.x * self.y / self.n;
        let syy = self.yy - self.y * self.y / self.n;
        let io = sxy / sxx;
        let overhead = (self.y - io * self.x) / self.n;
        let residual = ((syy - io * sxy) / (self.n - 2.0)).max(0.0);
        Some(Fit {
            io_ms: io,
            io_stderr_ms: (residual / sxx).sqrt(),
            overhead_ms: overhead,
            overhead_stderr_ms: (residual * self.xx / (self.n * sxx)).sqrt(),
            requests: self.n as u64,
        })
    }
}

/// A straight line through the response times of all sizes, by number of blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The time of a block.
    pub io_ms: f64,
    /// Its standard error; the 95 % interval is 1.96 of it to either side.
    pub io_stderr_ms: f64,
    /// The time that does not depend on the number of blocks.
    pub overhead_ms: f64,
    /// Its standard error.
    pub overhead_stderr_ms: f64,
    /// How many requests it rests on.
    pub requests: u64,
}

/// Overhead and I/O of a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decomposition {
    /// How many requests of one block, and the median of their response times, in milliseconds.
    pub one: (u64, f64),
    /// The same of two blocks.
    pub two: (u64, f64),
    /// By least squares over all sizes.
    pub fit: Option<Fit>,
}

/// The two parts of a request's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// `Total(2B) - Total(B)`, in milliseconds.
    pub io_ms: f64,
    /// `Total(B) - I/O`, in milliseconds.
    pub overhead_ms: f64,
}

impl Decomposition {
    /// The parts by the medians; `None` without requests of one and of two blocks, and where a part would be below
    /// zero: the size of requests does not explain their times then.
    pub fn parts(&self) -> Option<Parts> {
        let io_ms = self.two.1 - self.one.1;
        let overhead_ms = self.one.1 - io_ms;
        (io_ms >= 0.0 && overhead_ms >= 0.0).then_some(Parts { io_ms, overhead_ms })
    }
}

impl Fit {
    /// Whether both parts are times: one below zero means that size does not explain latency.
    pub fn explains(&self) -> bool {
        self.io_ms >= 0.0 && self.overhead_ms >= 0.0
    }
}

impl OneDirection {
    fn merge(&mut self, other: &Self) {
        self.one.merge(&other.one);
        self.two.merge(&other.two);
        self.sums.merge(&other.sums);
    }

    fn decomposition(&self) -> Decomposition {
        let median = |h: &Histogram| {
            let median = h.quantile(0.5);
            (h.count(), median.map_or(f64::NAN, Nanos::as_millis_f64))
        };
        Decomposition {
            one: median(&self.one),
            two: median(&self.two),
            fit: self.sums.fit(),
        }
    }
}

impl Totals {
    pub(crate) fn push(&mut self, blocks: u64, total: Nanos, is_read: bool) {
        let of = if is_read {
            &mut self.reads
        } else {
            &mut self.writes
        };
        match blocks {
            1 => of.one.push(total),
            2 => of.two.push(total),
            _ => {}
        }
        of.sums.push(blocks as f64, total.as_millis_f64());
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
    }

    pub(crate) fn decompositions(&self) -> Directions<Decomposition> {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        Directions {
            all: all.decomposition(),
            reads: self.reads.decomposition(),
            writes: self.writes.decomposition(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(points: &[(f64, f64)]) -> Sums {
        let mut sums = Sums::default();
        points.iter().for_each(|&(x, y)| sums.push(x, y));
        sums
    }

    #[test]
    fn the_line_is_the_one_of_least_squares() {
        // About the means of 3: sums of squares of 10 and 10, of products of 8. So the slope is 0.8, and squares of 3.6
        // remain.
        let points = [(1.0, 1.0), (2.0, 3.0), (3.0, 2.0), (4.0, 5.0), (5.0, 4.0)];
        let fit = sums(&points).fit().unwrap();
        let residual = 3.6 / 3.0;
        for (seen, expected) in [
            (fit.io_ms, 0.8),
            (fit.overhead_ms, 0.6),
            (fit.io_stderr_ms, (residual / 10.0_f64).sqrt()),
            (
                fit.overhead_stderr_ms,
                (residual * (1.0 / 5.0 + 9.0 / 10.0_f64)).sqrt(),
            ),
        ] {
            assert!((seen - expected).abs() < 1e-12, "{fit:?}");
        }
        assert_eq!(fit.requests, 5);
        assert!(fit.explains());
        let mut halves = sums(&points[..2]);
        halves.merge(&sums(&points[2..]));
        assert_eq!(halves.fit(), Some(fit));
    }

    #[test]
    fn a_line_needs_three_requests_of_two_sizes() {
        assert_eq!(sums(&[(1.0, 1.0), (2.0, 2.0)]).fit(), None);
        assert_eq!(sums(&[(2.0, 1.0), (2.0, 2.0), (2.0, 4.0)]).fit(), None);
        let falling = sums(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]).fit().unwrap();
        assert!(!falling.explains(), "{falling:?}");
        let through_nothing = sums(&[(1.0, 0.0), (2.0, 2.0), (3.0, 4.0)]).fit().unwrap();
        assert!(!through_nothing.explains(), "{through_nothing:?}");
    }

    #[test]
    fn parts_are_times() {
        let parts = |one, two| {
            let of = Decomposition {
                one: (1, one),
                two: (1, two),
                fit: None,
            };
            of.parts().map(|parts| (parts.io_ms, parts.overhead_ms))
        };
        assert_eq!(parts(5.0, 8.0), Some((3.0, 2.0)));
        assert_eq!(
            (parts(5.0, 5.0), parts(5.0, 10.0)),
            (Some((0.0, 5.0)), Some((5.0, 0.0)))
        );
        // Two blocks are quicker than one, or take more than twice as long.
        assert_eq!((parts(5.0, 4.0), parts(5.0, 12.0)), (None, None));
        assert_eq!(parts(f64::NAN, 8.0), None);
    }
}
