//! How often pages are accessed.

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
pub(super) fn hot(frequencies: &[u32]) -> Vec<Hot> {
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
pub(super) fn staircase(descending: &[u32]) -> Vec<(u64, u32)> {
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
    pub(super) fn of(descending: &[u32]) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// 29 accesses to ten pages.
    const DESCENDING: [u32; 10] = [10, 6, 4, 2, 2, 1, 1, 1, 1, 1];

    #[test]
    fn frequencies_are_quantiles_of_pages() {
        let expected = Frequencies {
            mean: 2.9,
            median: 1,
            p90: 6,
            p99: 10,
            most: 10,
        };
        assert_eq!(Frequencies::of(&DESCENDING), expected);
        assert_eq!(Frequencies::of(&[]), Frequencies::default());
    }

    #[test]
    fn the_hottest_pages_are_the_fewest_that_hold_a_share() {
        let hot = hot(&DESCENDING);
        // At least 1, 1, 2, 4, 8, 15 and 29 accesses.
        let pages: Vec<u64> = hot.iter().map(|hot| hot.pages).collect();
        assert_eq!(pages, [1, 1, 1, 1, 1, 2, 10]);
        assert_eq!(
            (hot[5].accesses, hot[5].share, hot[5].speed_up),
            (0.5, 0.2, 2.0)
        );
        assert_eq!((hot[0].accesses, hot[0].share), (1.0 / 64.0, 0.1));
    }

    #[test]
    fn steps_begin_where_frequencies_fall() {
        assert_eq!(
            staircase(&DESCENDING),
            [(1, 10), (2, 6), (3, 4), (4, 2), (6, 1)]
        );
    }
}
