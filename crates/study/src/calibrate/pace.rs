//! Throughput over time of a long write run: a cache that fills, a sustained rate, and the cleaning cliff.
//!
//! ```text
//!  bytes                       ____--- after the first cleaning
//!    |                  ___---'
//!    |            __--'' ^ cliff
//!    |      __--''
//!    |__--''  sustained: begins with what the cache took
//!    |'
//!    +------------------------------- time
//! ```
//!
//! While the cache fills, flash drains it at the sustained rate; so the line of the sustained rate, drawn back to the
//! beginning, begins with the cache's size. Where the rate falls is found by the best division of the run into parts of
//! constant rate (least squares over all divisions; Bellman 1961), in parts that differ by a fifth at least.

use super::observed::Served;

/// A long write run in figures. Bytes and seconds from the first request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pace {
    /// What the device took at once before it wrote at the sustained rate.
    pub burst_bytes: Option<f64>,
    /// The rate of flash without cleaning, in bytes per second.
    pub sustained: f64,
    /// How much had been written at the first cleaning, with what was in the cache; none if the rate did not fall.
    pub cliff_bytes: Option<f64>,
    /// The rate after the cliff, in bytes per second.
    pub after: Option<f64>,
    /// How many writes the sustained rate stands on.
    pub writes: u64,
    /// The relative error of the sustained rate, and the error of the bytes, from the run's resolution.
    pub error: f64,
    /// All bytes.
    pub bytes: f64,
}

/// Parts of the run in which rates are counted.
const BINS: usize = 500;
/// A part of constant rate has as many bins at least.
const SHORTEST: usize = 4;
/// Rates that are nearer to each other are the same.
const CHANGE: f64 = 1.2;
/// Of the capacity: what falls before is a full cache, not a lack of free blocks.
const CACHE_SHARE: f64 = 0.01;

/// The completions of a run: times in seconds from the first request, and all bytes up to then.
pub(super) fn completions(done: impl Iterator<Item = (f64, u32)>) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, u32)> = done.collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut bytes = 0.0;
    let add = |(at, sectors): (f64, u32)| {
        bytes += f64::from(sectors) * 512.0;
        (at, bytes)
    };
    all.into_iter().map(add).collect()
}

/// The completions that were recorded.
pub(super) fn recorded(served: &[Served]) -> Vec<(f64, f64)> {
    let begin = served.first().map_or(0.0, |s| s.came.as_secs_f64());
    completions(
        served
            .iter()
            .map(|s| (s.done.as_secs_f64() - begin, s.sectors)),
    )
}

/// What a run of writes to a device of this capacity shows; none if it is too short.
pub(super) fn pace(run: &[(f64, f64)], capacity: f64) -> Option<Pace> {
    let &(end, bytes) = run.last()?;
    if run.len() < 4 * BINS || end <= 0.0 {
        return None;
    }
    let rates = rates(run, end);
    let mut parts = divided(&rates);
    let mean = |part: &(usize, usize)| {
        rates[part.0..part.1].iter().sum::<f64>() / (part.1 - part.0) as f64
    };
    let bin_s = end / BINS as f64;
    // What is faster at the beginning, as long as the cache may take it.
    while parts.len() > 1
        && mean(&parts[0]) > mean(&parts[1])
        && bytes_at(run, parts[0].1 as f64 * bin_s) < CACHE_SHARE * capacity
    {
        parts.remove(0);
    }
    let sustained = parts[0];
    let falls = parts
        .get(1)
        .is_some_and(|next| mean(next) * CHANGE < mean(&sustained));
    // Away from both ends: a bin holds parts of two rates.
    let margin = (sustained.1 - sustained.0) / 20 + 1;
    let (from, to) = (
        (sustained.0 + margin) as f64 * bin_s,
        (sustained.1.saturating_sub(margin)) as f64 * bin_s,
    );
    let within: Vec<(f64, f64)> = run
        .iter()
        .copied()
        .filter(|(at, _)| (from..=to).contains(at))
        .collect();
    let (burst, rate) = line(&within)?;
    let largest = run[0]
        .1
        .max(run.windows(2).map(|w| w[1].1 - w[0].1).fold(0.0, f64::max));
    let cliff = falls.then(|| cliff(run, (burst, rate), sustained.1 as f64 * bin_s));
    Some(Pace {
        // At least a few requests, and less than could not be a cache.
        burst_bytes: (burst > 16.0 * largest && burst < CACHE_SHARE * capacity).then_some(burst),
        sustained: rate,
        cliff_bytes: cliff,
        after: falls.then(|| {
            let rest = &rates[sustained.1 + 1..];
            rest.iter().sum::<f64>() / rest.len().max(1) as f64
        }),
        writes: within.len() as u64,
        error: 1.0 / (within.len() as f64).sqrt(),
        bytes,
    })
}

/// Bytes per second of each bin.
fn rates(run: &[(f64, f64)], end: f64) -> Vec<f64> {
    let bin_s = end / BINS as f64;
    let edges: Vec<f64> = (0..=BINS)
        .map(|bin| bytes_at(run, bin as f64 * bin_s))
        .collect();
    edges.windows(2).map(|w| (w[1] - w[0]) / bin_s).collect()
}

/// All bytes up to an instant.
pub(super) fn bytes_at(run: &[(f64, f64)], at: f64) -> f64 {
    match run.partition_point(|(t, _)| *t <= at) {
        0 => 0.0,
        n => run[n - 1].1,
    }
}

/// The best division into at most this many parts, neighbours of about the same rate joined.
fn divided(rates: &[f64]) -> Vec<(usize, usize)> {
    const MOST: usize = 6;
    let n = rates.len();
    // Of logarithms: a fall by half counts the same at any rate.
    let least = rates.iter().copied().fold(0.0, f64::max) * 1e-3;
    let logs: Vec<f64> = rates.iter().map(|r| r.max(least).max(1e-9).ln()).collect();
    let mut sums = vec![(0.0, 0.0)];
    for log in &logs {
        let (s, q) = sums[sums.len() - 1];
        sums.push((s + log, q + log * log));
    }
    let cost = |a: usize, b: usize| {
        let (s, q) = (sums[b].0 - sums[a].0, sums[b].1 - sums[a].1);
        (q - s * s / (b - a) as f64).max(0.0)
    };
    let mut best = vec![vec![(f64::INFINITY, 0); n + 1]; MOST + 1];
    best[0][0].0 = 0.0;
    for parts in 1..=MOST {
        for end in parts * SHORTEST..=n {
            for begin in (parts - 1) * SHORTEST..=end - SHORTEST {
                let total = best[parts - 1][begin].0 + cost(begin, end);
                if total < best[parts][end].0 {
                    best[parts][end] = (total, begin);
                }
            }
        }
    }
    let (mut parts, mut end, mut cuts) = (MOST, n, Vec::new());
    while parts > 0 {
        let begin = best[parts][end].1;
        cuts.push((begin, end));
        (parts, end) = (parts - 1, begin);
    }
    cuts.reverse();
    let mean = |(a, b): (usize, usize)| (sums[b].0 - sums[a].0) / (b - a) as f64;
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for part in cuts {
        match joined.last_mut() {
            Some(last) if (mean(*last) - mean(part)).abs() < CHANGE.ln() => last.1 = part.1,
            _ => joined.push(part),
        }
    }
    joined
}

/// The line of least squares through points: its beginning and its slope.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    if points.len() < 50 {
        return None;
    }
    let n = points.len() as f64;
    let (x, y) = points
        .iter()
        .fold((0.0, 0.0), |s, p| (s.0 + p.0 / n, s.1 + p.1 / n));
    let (mut xx, mut xy) = (0.0, 0.0);
    for p in points {
        xx += (p.0 - x).powi(2);
        xy += (p.0 - x) * (p.1 - y);
    }
    (xx > 0.0).then(|| (y - xy / xx * x, xy / xx))
}

/// The bytes at which a run leaves the line of its sustained rate for good, near `at`.
fn cliff(run: &[(f64, f64)], (burst, rate): (f64, f64), at: f64) -> f64 {
    let last = run[run.len() - 1].0;
    let slack = 0.002 * bytes_at(run, at);
    let until = run.partition_point(|(t, _)| *t <= (at * 1.05).min(last));
    // The last completion before it that is on the line.
    let on = run[..until]
        .iter()
        .rev()
        .find(|(t, bytes)| burst + rate * t - bytes <= slack);
    on.map_or_else(|| bytes_at(run, at), |(_, bytes)| *bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: f64 = 1e6;

    /// A run of 4 KiB writes: 16 MB at 1000 MB/s, 100 MB/s to 300 MB, 40 MB/s after that.
    fn run(cache: bool, cliff: bool) -> Vec<(f64, f64)> {
        let mut at = 0.0;
        let mut bytes = 0.0;
        let mut all = Vec::new();
        while bytes < 600.0 * MB {
            let rate = match bytes {
                b if cache && b < 16.0 * MB => 1000.0,
                b if !cliff || b < 300.0 * MB => 100.0,
                _ => 40.0,
            };
            bytes += 4096.0;
            at += 4096.0 / (rate * MB);
            all.push((at, bytes));
        }
        all
    }

    #[test]
    fn a_cache_a_rate_and_a_cliff_are_found() {
        let found = pace(&run(true, true), 4000.0 * MB).unwrap();
        assert!(
            (found.sustained / (100.0 * MB) - 1.0).abs() < 0.005,
            "{found:?}"
        );
        // The cache takes 16 MB in 16 ms, in which flash writes 1.6 MB.
        let burst = found.burst_bytes.unwrap();
        assert!((burst / (14.4 * MB) - 1.0).abs() < 0.03, "{found:?}");
        assert!(
            (found.cliff_bytes.unwrap() / (300.0 * MB) - 1.0).abs() < 0.01,
            "{found:?}"
        );
        assert!(
            (found.after.unwrap() / (40.0 * MB) - 1.0).abs() < 0.02,
            "{found:?}"
        );
    }

    #[test]
    fn what_a_run_does_not_show_is_not_found() {
        let found = pace(&run(true, false), 4000.0 * MB).unwrap();
        assert!(
            found.burst_bytes.is_some() && found.cliff_bytes.is_none(),
            "{found:?}"
        );
        let found = pace(&run(false, true), 4000.0 * MB).unwrap();
        assert!(
            found.burst_bytes.is_none() && found.cliff_bytes.is_some(),
            "{found:?}"
        );
        let found = pace(&run(false, false), 4000.0 * MB).unwrap();
        assert!(
            found.burst_bytes.is_none() && found.cliff_bytes.is_none(),
            "{found:?}"
        );
        assert_eq!(pace(&run(true, true)[..500], 4000.0 * MB), None);
    }
}
