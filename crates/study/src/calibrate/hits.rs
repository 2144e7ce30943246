//! Reads that a drive serves from its buffer: their latency does not depend on places, and is linear in their size,
//! a command and the sectors over the bus.
//!
//! Which reads are hits is not known. Those that begin where an earlier request began or ended may be: of each size
//! the mode of their latencies is taken (the densest half, of that the densest half, and so on; Robertson and Cryer
//! 1974), a line is drawn through the modes (median of all slopes; Theil 1950, Sen 1968), and least squares over what
//! lies on it give the rest.

use std::collections::BTreeMap;

use iosonar_trace::Op;

use super::figure::{Figure, Found, Missing};
use super::observed::Served;

/// A latency that is linear in the size.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// After a read, after a write: without data.
    pub(super) command: [Figure; 2],
    pub(super) per_sector: Figure,
    /// Command and slope as fitted, to recognise hits; for a single size only their sum is defined.
    fitted: (f64, f64),
    /// How far from the line a latency may be.
    pub(super) tolerance_ms: f64,
}

/// A latency, its size, and whether it follows a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) sectors: u32,
    pub(super) ms: f64,
    pub(super) after: usize,
}

/// How far back a read may find what it needs.
const HISTORY: usize = 64;
/// The widest band of latencies that is one line, and the narrowest.
const BAND_MS: (f64, f64) = (0.05, 0.001);
/// Of fewer nothing is taken.
const FEWEST: usize = 20;

impl Line {
    /// The line that most of these samples lie on, at least the share `least` of them.
    ///
    /// # Errors
    /// What is missing: `few` if there are too few samples, hits if too few lie on a line.
    pub(super) fn through(samples: &[Sample], least: f64, few: Missing) -> Result<Self, Missing> {
        let first: Vec<Sample> = samples.iter().copied().filter(|s| s.after == 0).collect();
        let samples_by_size = by_size(&first);
        let modes: Vec<(f64, f64)> = samples_by_size
            .iter()
            .filter(|(_, ms)| ms.len() >= 10)
            .map(|(&sectors, ms)| (f64::from(sectors), mode(ms)))
            .collect();
        if modes.is_empty() || first.len() < FEWEST {
            return Err(few);
        }
        let several = modes.len() > 1;
        // Neither may be negative, which noise on a fast bus makes them.
        let mut slope = match several {
            true => median_slope(&modes).max(0.0),
            false => 0.0,
        };
        let rests: Vec<f64> = modes.iter().map(|(n, ms)| ms - slope * n).collect();
        let mut command = median(rests).max(0.0);
        let mut tolerance = BAND_MS.0;
        let mut on = Vec::new();
        for _ in 0..3 {
            let off = |s: &Sample| (s.ms - command - slope * f64::from(s.sectors)).abs();
            on = first
                .iter()
                .copied()
                .filter(|s| off(s) <= tolerance)
                .collect();
            if (on.len() as f64) < least * first.len() as f64 || on.len() < FEWEST {
                return Err(Missing::Hits);
            }
            let spread = median(on.iter().map(off).collect());
            if several {
                (command, slope) = least_squares(&on);
            }
            tolerance = (6.0 * spread).clamp(BAND_MS.1, BAND_MS.0);
        }
        let requests = on.len() as u64;
        let (of_command, of_slope) = errors(&on, command, slope);
        let after_read = figure(command, 2.0 * of_command, requests);
        let after_write = after_write(samples, slope, tolerance);
        Ok(Self {
            command: match several {
                true => [Ok(after_read), after_write],
                false => [Err(Missing::OneSize); 2],
            },
            per_sector: match several {
                true => Ok(figure(slope, 2.0 * of_slope, requests)),
                false => Err(Missing::OneSize),
            },
            fitted: (command, slope),
            tolerance_ms: tolerance.max(4.0 * of_command),
        })
    }

    /// Whether a latency lies on it.
    pub(super) fn holds(&self, sample: &Sample) -> bool {
        let (command, slope) = self.fitted;
        let on = |after: usize| {
            let command = self.command[after].map_or(command, |found| found.value);
            let ms = command + slope * f64::from(sample.sectors);
            (sample.ms - ms).abs() <= self.tolerance_ms
        };
        on(sample.after) || on(0)
    }
}

/// A time from `value - error`, or 0, to `value + error`; recordings are in nanoseconds.
fn figure(value: f64, error: f64, requests: u64) -> Found {
    let error = error.max(1e-6);
    Found {
        value,
        low: (value - error).max(0.0),
        high: value + error,
        requests,
    }
}

/// What a command takes after a write.
fn after_write(samples: &[Sample], slope: f64, tolerance: f64) -> Figure {
    let rests = samples
        .iter()
        .filter(|s| s.after == 1)
        .map(|s| s.ms - slope * f64::from(s.sectors))
        .collect::<Vec<_>>();
    if rests.len() < FEWEST / 2 {
        return Err(Missing::HitsAfterWrites);
    }
    let command = mode(&rests).max(0.0);
    let on = rests
        .iter()
        .filter(|ms| (*ms - command).abs() <= tolerance)
        .count();
    if on < FEWEST / 4 {
        return Err(Missing::HitsAfterWrites);
    }
    Ok(figure(command, tolerance, on as u64))
}

/// The sample of a request, if it did not wait for the one before.
pub(super) fn sample(before: &Served, now: &Served) -> Option<Sample> {
    (now.came >= before.done).then(|| Sample {
        sectors: now.sectors,
        ms: (now.done - now.came).as_millis_f64(),
        after: usize::from(before.op == Op::Write),
    })
}

/// The line of reads that begin where one of the requests before began or ended.
pub(super) fn of_reads(served: &[Served]) -> Result<Line, Missing> {
    let mut samples = Vec::new();
    for i in 1..served.len() {
        let now = &served[i];
        let begins =
            |s: &Served| s.sector == now.sector || s.sector + u64::from(s.sectors) == now.sector;
        let again = served[i.saturating_sub(HISTORY)..i].iter().any(begins);
        if now.op == Op::Read && again {
            samples.extend(sample(&served[i - 1], now));
        }
    }
    Line::through(&samples, 0.1, Missing::Rereads)
}

/// The line of writes, if the drive takes them into its buffer.
pub(super) fn of_writes(served: &[Served]) -> Result<Line, Missing> {
    let writes = served.windows(2).filter(|pair| pair[1].op == Op::Write);
    let samples: Vec<Sample> = writes
        .filter_map(|pair| sample(&pair[0], &pair[1]))
        .collect();
    Line::through(&samples, 0.5, Missing::Writes)
}

fn by_size(samples: &[Sample]) -> BTreeMap<u32, Vec<f64>> {
    let mut sizes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for sample in samples {
        sizes.entry(sample.sectors).or_default().push(sample.ms);
    }
    sizes
}

/// The half-sample mode.
fn mode(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut rest = &sorted[..];
    while rest.len() > 2 {
        let half = rest.len().div_ceil(2);
        let width = |i: usize| rest[i + half - 1] - rest[i];
        let begin = (0..=rest.len() - half)
            .min_by(|&a, &b| width(a).total_cmp(&width(b)))
            .unwrap_or(0);
        rest = &rest[begin..begin + half];
    }
    rest.iter().sum::<f64>() / rest.len() as f64
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    f64::midpoint(values[(n - 1) / 2], values[n / 2])
}

/// The median of the slopes between all pairs.
fn median_slope(points: &[(f64, f64)]) -> f64 {
    let pairs = points.iter().enumerate().flat_map(|(i, a)| {
        let others = points[i + 1..].iter();
        others.map(move |b| (b.1 - a.1) / (b.0 - a.0))
    });
    median(pairs.collect())
}

/// The line of least squares that neither begins nor falls below zero.
fn least_squares(samples: &[Sample]) -> (f64, f64) {
    let n = samples.len() as f64;
    let x = samples.iter().map(|s| f64::from(s.sectors)).sum::<f64>() / n;
    let y = samples.iter().map(|s| s.ms).sum::<f64>() / n;
    let (mut xx, mut xy) = (0.0, 0.0);
    for s in samples {
        let d = f64::from(s.sectors) - x;
        xx += d * d;
        xy += d * (s.ms - y);
    }
    let slope = if xx > 0.0 { (xy / xx).max(0.0) } else { 0.0 };
    let command = y - slope * x;
    if command >= 0.0 || x <= 0.0 {
        return (command.max(0.0), slope);
    }
    // Through zero: the sums about it are those about the mean, and the mean's own.
    (0.0, (xy + n * x * y) / (xx + n * x * x))
}

/// The standard errors of the line's command and slope.
fn errors(samples: &[Sample], command: f64, slope: f64) -> (f64, f64) {
    let n = samples.len() as f64;
    let x = samples.iter().map(|s| f64::from(s.sectors)).sum::<f64>() / n;
    let (mut xx, mut rest) = (0.0, 0.0);
    for s in samples {
        xx += (f64::from(s.sectors) - x).powi(2);
        rest += (s.ms - command - slope * f64::from(s.sectors)).powi(2);
    }
    let variance = rest / (n - 2.0).max(1.0);
    if xx <= 0.0 {
        return ((variance / n).sqrt(), 0.0);
    }
    (
        (variance * (1.0 / n + x * x / xx)).sqrt(),
        (variance / xx).sqrt(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    /// Hits of 0.3 ms and 0.1 ms a sector, 10 us of noise, among misses over a revolution.
    fn samples(hits: f64) -> Vec<Sample> {
        let mut stream = Seed::new(1).stream("x", "y");
        (0..4000)
            .map(|_| {
                let sectors = 2 << stream.below(5);
                let noise = 0.02 * (stream.uniform() - 0.5);
                let ms = match stream.chance(hits) {
                    true => 0.3 + 0.1 * f64::from(sectors) + noise,
                    false => 2.0 + 8.3 * stream.uniform() + 0.1 * f64::from(sectors),
                };
                Sample {
                    sectors,
                    ms,
                    after: 0,
                }
            })
            .collect()
    }

    #[test]
    fn hits_are_found_among_misses() {
        let line = Line::through(&samples(0.3), 0.1, Missing::Rereads).unwrap();
        let (command, slope) = (line.command[0].unwrap(), line.per_sector.unwrap());
        assert!((command.value - 0.3).abs() < 0.003, "{command:?}");
        assert!((slope.value - 0.1).abs() < 0.0003, "{slope:?}");
        assert!((1000..1400).contains(&command.requests), "{command:?}");
    }

    #[test]
    fn of_one_size_neither_command_nor_bus_is_known() {
        let mut samples = samples(0.3);
        samples.retain(|s| s.sectors == 8);
        let line = Line::through(&samples, 0.1, Missing::Rereads).unwrap();
        assert_eq!(line.per_sector, Err(Missing::OneSize));
        assert_eq!(line.command, [Err(Missing::OneSize); 2]);
    }

    #[test]
    fn of_one_size_hits_are_still_told_from_misses() {
        let mut samples = samples(0.3);
        samples.retain(|s| s.sectors == 8);
        let line = Line::through(&samples, 0.1, Missing::Rereads).unwrap();
        let of = |ms: f64| Sample {
            sectors: 8,
            ms,
            after: 0,
        };
        assert!(line.holds(&of(1.1)) && !line.holds(&of(3.0)) && !line.holds(&of(0.0)));
    }

    #[test]
    fn times_on_a_fast_bus_with_noise_are_not_negative() {
        for seed in 0..20 {
            let mut stream = Seed::new(seed).stream("x", "y");
            // 0.1 us a sector and 20 us of noise, with and without a command.
            let command = if seed % 2 == 0 { 0.1 } else { 0.0 };
            let samples: Vec<Sample> = (0..200)
                .map(|_| {
                    let sectors = 2 << stream.below(3);
                    let ms = command + 1e-4 * f64::from(sectors) + 0.02 * stream.uniform();
                    let after = usize::from(stream.chance(0.3));
                    Sample { sectors, ms, after }
                })
                .collect();
            let line = Line::through(&samples, 0.1, Missing::Rereads).unwrap();
            for figure in [line.command[0], line.command[1], line.per_sector] {
                let found = figure.unwrap();
                assert!(found.value >= 0.0 && found.low >= 0.0, "{found:?}");
                assert!(found.low <= found.value, "{found:?}");
            }
        }
    }

    #[test]
    fn where_all_reads_wait_for_the_medium_there_are_no_hits() {
        assert_eq!(
            Line::through(&samples(0.0), 0.1, Missing::Rereads).err(),
            Some(Missing::Hits)
        );
        assert_eq!(
            Line::through(&samples(0.3)[..5], 0.1, Missing::Rereads).err(),
            Some(Missing::Rereads)
        );
    }
}
