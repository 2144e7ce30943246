//! How long an arm takes over a distance, from reads that wait for their sectors afterwards.
//!
//! A read takes command and seek, and then a wait from zero to one revolution R. So every read over a distance says
//! that command and seek together take more than its time less R, and at most its time. Where all say so between two
//! bounds, the middle is taken; where some contradict (noise, a hit taken for a miss), the value that as many
//! contradict on one side as on the other.

/// Reads over about the same distance.
#[derive(Clone, Debug)]
pub(super) struct Knot {
    pub(super) cylinders: f64,
    /// Command and seek.
    pub(super) ms: f64,
    /// Half of the width between the bounds.
    pub(super) error_ms: f64,
    pub(super) requests: u64,
}

/// A read: its distance, and its time without the transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) cylinders: u32,
    pub(super) other_head: bool,
    pub(super) ms: f64,
    pub(super) after: usize,
}

/// Fewer in a knot say too little.
const FEWEST: usize = 12;
/// Knots have as many where there are more.
const ENOUGH: usize = 130;

/// The offset that these times allow, and half of the width that they leave open.
pub(super) fn offset(mut times: Vec<f64>, revolution_ms: f64) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    // How many say that it is less, less how many say that it is more.
    let balance = |at: f64| {
        let above = times.partition_point(|t| *t < at) as i64;
        let below = (times.len() - times.partition_point(|t| *t <= at + revolution_ms)) as i64;
        above - below
    };
    let edges = times
        .iter()
        .copied()
        .chain(times.iter().map(|t| t - revolution_ms));
    let mut edges: Vec<f64> = edges.collect();
    edges.sort_by(f64::total_cmp);
    // The balance does not fall: the first edge from where it is not negative, and the last where it is not positive.
    let low = edges[edges
        .partition_point(|e| balance(*e) < 0)
        .min(edges.len() - 1)];
    let high = edges[edges
        .partition_point(|e| balance(*e) <= 0)
        .saturating_sub(1)];
    // If times contradict each other the width is undefined.
    let error = ((high - low) / 2.0).max(revolution_ms / times.len() as f64);
    (f64::midpoint(low, high.max(low)), error)
}

/// The knots of a curve, the nearest first; without those on the same cylinder.
pub(super) fn knots(waits: &[Wait], revolution_ms: f64) -> Vec<Knot> {
    let mut far: Vec<Wait> = waits.iter().copied().filter(|w| w.cylinders > 0).collect();
    far.sort_by_key(|w| w.cylinders);
    let groups = groups(&far);
    let mut found = fit(&groups, revolution_ms, &[]);
    for _ in 0..2 {
        found = fit(&groups, revolution_ms, &smooth(&found));
    }
    found
}

/// As few distances together as have enough reads: short ones one by one.
fn groups(sorted: &[Wait]) -> Vec<&[Wait]> {
    let mut groups = Vec::new();
    let mut rest = sorted;
    while rest.len() >= FEWEST {
        let last = rest[rest.len().min(ENOUGH) - 1].cylinders;
        let mut end = rest.partition_point(|w| w.cylinders <= last);
        // What is left at the end goes with the group before it.
        if rest.len() - end < ENOUGH {
            end = rest.len();
        }
        groups.push(&rest[..end]);
        rest = &rest[end..];
    }
    groups
}

/// The knots; within a group distances differ by what the curve of the last pass says.
fn fit(groups: &[&[Wait]], revolution_ms: f64, last: &[Knot]) -> Vec<Knot> {
    let knot = |group: &&[Wait]| {
        let cylinders =
            group.iter().map(|w| f64::from(w.cylinders)).sum::<f64>() / group.len() as f64;
        let here = at(last, cylinders);
        let times = group
            .iter()
            .map(|w| w.ms - at(last, f64::from(w.cylinders)) + here);
        let (ms, error_ms) = offset(times.collect(), revolution_ms);
        Knot {
            cylinders,
            ms,
            error_ms,
            requests: group.len() as u64,
        }
    };
    groups.iter().map(knot).collect()
}

/// Each knot as the mean of itself and the two before and behind it: slopes between neighbours are mostly noise.
fn smooth(knots: &[Knot]) -> Vec<Knot> {
    let mean = |i: usize| {
        let some = &knots[i.saturating_sub(2)..(i + 3).min(knots.len())];
        let n = some.len() as f64;
        Knot {
            cylinders: some.iter().map(|k| k.cylinders).sum::<f64>() / n,
            ms: some.iter().map(|k| k.ms).sum::<f64>() / n,
            ..knots[i].clone()
        }
    };
    (0..knots.len()).map(mean).collect()
}

/// The curve through knots; beyond the last two the line goes on.
pub(super) fn at(knots: &[Knot], cylinders: f64) -> f64 {
    let above = knots.partition_point(|k| k.cylinders < cylinders);
    let (a, b) = match knots.len() {
        0 => return 0.0,
        1 => return knots[0].ms,
        n => {
            let above = above.clamp(1, n - 1);
            (&knots[above - 1], &knots[above])
        }
    };
    // The first knot's time holds below it.
    let share = ((cylinders - a.cylinders) / (b.cylinders - a.cylinders)).max(0.0);
    a.ms + share * (b.ms - a.ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    fn waits(n: usize, outliers: f64) -> Vec<Wait> {
        let mut stream = Seed::new(1).stream("x", "y");
        (0..n)
            .map(|_| {
                let cylinders = 5000_f64.powf(stream.uniform()).floor();
                let curve = 0.4 + 0.7 + 0.2 * cylinders.sqrt();
                let ms = match stream.chance(outliers) {
                    true => 30.0 * stream.uniform(),
                    false => curve + 8.3 * stream.uniform(),
                };
                Wait {
                    cylinders: cylinders as u32,
                    other_head: false,
                    ms,
                    after: 0,
                }
            })
            .collect()
    }

    #[test]
    fn a_curve_is_found_between_the_shortest_and_the_longest_waits() {
        let truth = |cylinders: f64| 1.1 + 0.2 * cylinders.sqrt();
        let exact = knots(&waits(20_000, 0.0), 8.3);
        assert!(exact.len() > 50);
        for knot in &exact {
            // The truth lies between the bounds, but for what smoothing leaves of slopes.
            let most = knot.error_ms + 0.01 * truth(knot.cylinders);
            assert!((knot.ms - truth(knot.cylinders)).abs() < most, "{knot:?}");
        }
        assert!((at(&exact, 4900.0) / truth(4900.0) - 1.0).abs() < 0.03);
        // Of 2 % outliers, most of them too long, each half shifts a knot by as much of a revolution: 0.17 ms.
        let noisy = knots(&waits(20_000, 0.02), 8.3);
        let off = noisy.iter().map(|k| (k.ms - truth(k.cylinders)).abs());
        assert!(off.sum::<f64>() / (noisy.len() as f64) < 0.3);
    }
}
