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
