//! The rotation of a disk, from when transfers end.
//!
//! A transfer ends when its last sector has passed the head, wherever the head was before: the platter's angle is
//! known then. With sectors at angles f (in turns) and skews that add K milliseconds to a track's angle, a revolution
//! of R makes (c - K) / R - f the same for all completions c, modulo 1. The best R is where the sum of
//! exp(2 pi i ((c - K) / R - f)) is longest. Over a time T the sum knows R to about R / T of itself, so the search
//! begins with short windows, whose sums are added by their squares, and makes them longer step by step.

use std::f64::consts::TAU;

/// A completion: when, in milliseconds (less the skew, where it is one of time), and the angle of its end in
/// turns.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) at_ms: f64,
    pub(super) turn: f64,
}

/// A revolution, and how well all completions agree on it: 1 if they do, about 1 / sqrt(n) without one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rotation {
    pub(super) revolution_ms: f64,
    pub(super) coherence: f64,
    /// The angle at time zero, in turns.
    pub(super) phase: f64,
}

/// A window must hold several turns of the slowest disk.
const SHORTEST_MS: f64 = 200.0;

/// A window that is longer has more peaks than can be gone through.
const SPARSE_MS: f64 = 60_000.0;

/// From 20 000 revolutions per minute to 3 000.
pub(super) const RANGE_MS: (f64, f64) = (3.0, 20.0);

/// The revolution that the ends agree on best; they need not be in order.
pub(super) fn rotation(ends: &[End]) -> Option<Rotation> {
    /// The average number in a window: fewer agree by chance.
    const IN_WINDOW: f64 = 24.0;
    /// More are not needed to find the neighbourhood.
    const COARSE: usize = 3_000;
    let mut ends = ends.to_vec();
    ends.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    let (first, last) = (ends.first()?.at_ms, ends.last()?.at_ms);
    let all = last - first;
    if ends.len() < 50 || all <= 0.0 {
        return None;
    }
    let mut window = (all * IN_WINDOW / ends.len() as f64).max(SHORTEST_MS);
    // Some turns must lie between the first and the last.
    if window > all {
        return None;
    }
    // Where a request comes every few minutes, the search would take for ever.
    if window > SPARSE_MS {
        return None;
    }
    let (mut low, mut high) = RANGE_MS;
    loop {
        // A quarter of the width of a peak.
        let step = |r: f64| 0.25 * r * r / window;
        let some = if window < all / 8.0 {
            &ends[..ends.len().min(COARSE)]
        } else {
            &ends[..]
        };
        let mut best = (0.0, 0.0);
        let mut r = low;
        while r <= high {
            let power = power(some, r, window);
            if power > best.1 {
                best = (r, power);
            }
            r += step(r);
        }
        let around = 4.0 * step(best.0);
        (low, high) = (
            (best.0 - around).max(RANGE_MS.0),
            (best.0 + around).min(RANGE_MS.1),
        );
        if window >= all {
            break;
        }
        window = (window * 3.0).min(all);
    }
    // The top of the peak, by thirds.
    for _ in 0..100 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if sum(&ends, a).0 < sum(&ends, b).0 {
            low = a;
        } else {
            high = b;
        }
    }
    let revolution_ms = f64::midpoint(low, high);
    let (length, phase) = sum(&ends, revolution_ms);
    Some(Rotation {
        revolution_ms,
        coherence: length / ends.len() as f64,
        phase,
    })
}

/// The squares of the windows' sums, added.
fn power(ends: &[End], r: f64, window: f64) -> f64 {
    let mut power = 0.0;
    let mut begin = 0;
    while begin < ends.len() {
        let limit = ends[begin].at_ms + window;
        let n = ends[begin..]
            .partition_point(|end| end.at_ms < limit)
            .max(1);
        power += sum(&ends[begin..begin + n], r).0.powi(2);
        begin += n;
    }
    power
}

/// The length of the sum, and its angle in turns.
fn sum(ends: &[End], r: f64) -> (f64, f64) {
    let (mut re, mut im) = (0.0, 0.0);
    for end in ends {
        let turns = end.at_ms / r - end.turn;
        let (sin, cos) = (TAU * (turns - turns.floor())).sin_cos();
        re += cos;
        im += sin;
    }
    (f64::hypot(re, im), im.atan2(re) / TAU)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    fn ends(n: usize, r: f64, jitter_ms: f64) -> Vec<End> {
        let mut stream = Seed::new(3).stream("x", "y");
        let mut t = 1000.0;
        (0..n)
            .map(|_| {
                t += 20.0 * stream.standard_exponential();
                // It ends when its sector comes by.
                let turn = stream.uniform();
                let at_ms = ((t / r - turn - 0.3).ceil() + turn + 0.3) * r;
                End {
                    at_ms: at_ms + jitter_ms * stream.uniform(),
                    turn,
                }
            })
            .collect()
    }

    #[test]
    fn a_revolution_is_found_wherever_it_lies() {
        for r in [4.0, 5.985, 8.3333, 8.35, 11.11, 16.7] {
            let found = rotation(&ends(4000, r, 0.0)).unwrap();
            assert!(
                (found.revolution_ms / r - 1.0).abs() < 1e-7,
                "{r}: {found:?}"
            );
            assert!(
                found.coherence > 0.999 && (found.phase - 0.3).abs() < 1e-3,
                "{found:?}"
            );
        }
    }

    #[test]
    fn what_is_too_short_or_too_sparse_has_no_rotation() {
        for apart_ms in [1e-6, 0.2, 0.5, 3_600_000.0] {
            let end = |i: u32| End {
                at_ms: f64::from(i) * apart_ms,
                turn: 0.0,
            };
            assert_eq!(rotation(&(0..400).map(end).collect::<Vec<_>>()), None);
        }
    }

    #[test]
    fn a_little_noise_does_not_hide_it_and_nothing_has_none() {
        let found = rotation(&ends(4000, 8.3333, 0.5)).unwrap();
        assert!(
            (found.revolution_ms / 8.3333 - 1.0).abs() < 1e-5,
            "{found:?}"
        );
        let mut stream = Seed::new(4).stream("x", "y");
        let random: Vec<End> = (0..2000)
            .map(|i| End {
                at_ms: f64::from(i) * 20.0 + 20.0 * stream.uniform(),
                turn: stream.uniform(),
            })
            .collect();
        assert!(rotation(&random).unwrap().coherence < 0.15);
    }
}
