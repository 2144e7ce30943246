//! Requests that are in both traces, and the differences of their times.

use iosonar_units::Nanos;

use super::{Check, Key, Submitted, Waiting, difference};

/// The number of pairs kept; beyond it, a random sample of this size.
const MOST_PAIRS: usize = 1 << 20;

/// A request that is in both traces.
pub(super) struct Pair {
    pub(super) key: Key,
    /// When it was submitted in either.
    pub(super) at: [Nanos; 2],
    /// Latency in the second - latency in the first.
    pub(super) latency: Option<i64>,
}

pub(super) struct Pairs {
    kept: Vec<Pair>,
    most: usize,
    seen: u64,
    random: u64,
}

impl Default for Pairs {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            most: MOST_PAIRS,
            seen: 0,
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }
}

impl Pairs {
    /// Keeps a random choice (reservoir sampling, Vitter 1985, algorithm R).
    pub(super) fn push(&mut self, pair: Pair) {
        self.seen += 1;
        if self.kept.len() < self.most {
            self.kept.push(pair);
            return;
        }
        // Marsaglia, "Xorshift RNGs", 2003.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let at = self.random % self.seen;
        if let Some(old) = self.kept.get_mut(at as usize) {
            *old = pair;
        }
    }

    /// Puts the differences of the pairs into `check`, except those of requests that are in one trace more often than
    /// in the other. Of such requests, those without a counterpart in time are left waiting.
    pub(super) fn finish(self, check: &mut Check, waiting: &mut [Waiting; 2]) {
        let kept = self.kept.len() as u64;
        let is_uneven = |pair: &Pair| waiting.iter().any(|w| w.by_key.contains_key(&pair.key));
        let (uneven, even): (Vec<Pair>, Vec<Pair>) = self.kept.into_iter().partition(is_uneven);
        let share = uneven.len() as f64 / kept.max(1) as f64;
        check.ambiguous = (share * self.seen as f64).round() as u64;
        check.latency_differences = even.iter().filter_map(|pair| pair.latency).collect();
        check.latency_differences.sort_unstable();
        check.start_differences = even.iter().map(|p| difference(p.at[0], p.at[1])).collect();
        check.start_differences.sort_unstable();
        let Some(median) = Check::quantile(&check.start_differences, 0.5) else {
            return;
        };
        check.shift = median;
        for difference in &mut check.start_differences {
            *difference -= median;
        }
        if self.seen == kept {
            settle(uneven, median, waiting);
        }
    }
}

/// Leaves those of equal requests waiting that are farthest from the requests of the other trace, whose clock is
/// `shift` later.
fn settle(mut uneven: Vec<Pair>, shift: i64, waiting: &mut [Waiting; 2]) {
    uneven.sort_unstable_by_key(|pair| pair.key);
    let on_first_clock = |side: usize, at: Nanos| at.get() as i64 - [0, shift][side];
    for pairs in uneven.chunk_by(|a, b| a.key == b.key) {
        for (side, waiting) in waiting.iter_mut().enumerate() {
            let Some(rest) = waiting.by_key.get_mut(&pairs[0].key) else {
                continue;
            };
            let times_of = |side: usize| pairs.iter().map(move |pair| pair.at[side]);
            let mut many: Vec<Nanos> = times_of(side).chain(rest.iter().map(|r| r.at)).collect();
            many.sort_unstable();
            let others = times_of(1 - side).map(|at| on_first_clock(1 - side, at));
            let mut few: Vec<i64> = others.collect();
            few.sort_unstable();
            let times: Vec<i64> = many.iter().map(|at| on_first_clock(side, *at)).collect();
            *rest = alone(&times, &few)
                .map(|n| Submitted::at(many[n]))
                .collect();
        }
    }
}

/// Which of `many` remain when each of `few` is given the nearest one, in order. Both are sorted.
fn alone(many: &[i64], few: &[i64]) -> impl Iterator<Item = usize> {
    let mut is_taken = vec![false; many.len()];
    let mut at = 0;
    for (n, time) in few.iter().enumerate() {
        // Enough must be left for the others.
        let last = many.len() - (few.len() - n);
        let distance = |at: usize| many[at].abs_diff(*time);
        while at < last && distance(at + 1) <= distance(at) {
            at += 1;
        }
        is_taken[at] = true;
        at += 1;
    }
    (0..many.len()).filter(move |at| !is_taken[*at])
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const MOST: usize = 500;

    fn key(sector: u64) -> Key {
        Key {
            op: 0,
            sector,
            sectors: 8,
        }
    }

    /// Of 20 000 pairs, of which each fifth is of sector 0, the others of one of their own.
    fn sampled() -> Pairs {
        let mut pairs = Pairs {
            most: MOST,
            ..Pairs::default()
        };
        for n in 0..20_000 {
            pairs.push(Pair {
                key: key(if n % 5 == 0 { 0 } else { n }),
                at: [Nanos::new(n), Nanos::new(2 * n)],
                latency: Some(n as i64),
            });
        }
        pairs
    }

    #[test]
    fn the_pairs_that_are_kept_are_a_random_choice() {
        let pairs = sampled();
        assert_eq!((pairs.kept.len(), pairs.seen), (MOST, 20_000));
        // Of each tenth of them about as many: 50, with a standard deviation of 6.7.
        let mut of_tenths = [0_u32; 10];
        for pair in &pairs.kept {
            of_tenths[pair.at[0].get() as usize / 2000] += 1;
        }
        let near = |n: &u32| n.abs_diff(50) < 27;
        assert!(of_tenths.iter().all(near), "{of_tenths:?}");
        // The shifts are those of the paper, with the longest period. By algorithm R, pair n replaces the one whose place it
        // draws among n.
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut kept: Vec<u64> = (0..MOST as u64).collect();
        for n in MOST as u64..20_000 {
            random = [(13, true), (7, false), (17, true)]
                .iter()
                .fold(random, |x, (by, left)| {
                    x ^ if *left { x << by } else { x >> by }
                });
            let at = (random % (n + 1)) as usize;
            kept.get_mut(at).into_iter().for_each(|place| *place = n);
        }
        assert!(pairs.kept.iter().map(|pair| pair.at[0].get()).eq(kept));
    }

    #[test]
    fn of_a_sample_the_ambiguous_pairs_are_estimated_and_nothing_else_changes() {
        let pairs = sampled();
        let uneven = pairs.kept.iter().filter(|pair| pair.key.sector == 0);
        let uneven = uneven.count();
        assert!(uneven > 0 && uneven < MOST / 2, "{uneven}");
        let mut waiting = [Waiting::default(), Waiting::default()];
        let rest = VecDeque::from([Submitted::at(Nanos::SECOND)]);
        waiting[1].by_key.insert(key(0), rest.clone());
        let mut check = Check::default();
        pairs.finish(&mut check, &mut waiting);
        assert_eq!(check.ambiguous, (uneven * 20_000 / MOST) as u64);
        let differences = [&check.start_differences, &check.latency_differences];
        for of in differences {
            assert_eq!(of.len(), MOST - uneven);
            assert!(of.is_sorted());
        }
        // Starts differ by as much as latencies, but for the clock.
        let (shift, latencies) = (check.shift, &check.latency_differences);
        let starts = check.start_differences.iter().map(|start| start + shift);
        assert!(starts.eq(latencies.iter().copied()));
        // A sample does not show which of them is left over.
        assert_eq!(waiting[1].by_key[&key(0)], rest);
    }

    #[test]
    fn each_request_takes_the_nearest_of_many_and_leaves_enough_for_those_behind_it() {
        for (many, few, left) in [
            (&[0, 10, 20][..], &[9][..], &[0, 2][..]),
            // As near to both: the later one.
            (&[0, 10, 20], &[5], &[0, 2]),
            (&[0, 10, 20], &[4], &[1, 2]),
            (&[0, 10, 20], &[0, 1], &[2]),
            (&[0, 10, 20], &[20, 30], &[0]),
            (&[0, 10, 20], &[1, 2, 3], &[]),
            (&[0, 10, 20, 30], &[11, 29], &[0, 2]),
            (&[5, 6], &[], &[0, 1]),
        ] {
            let alone: Vec<usize> = alone(many, few).collect();
            assert_eq!(alone, left, "{many:?} {few:?}");
        }
    }
}
