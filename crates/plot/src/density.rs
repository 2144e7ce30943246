//! How many points lie where: a grid of counters that grows with its data, in bounded memory.
//!
//! Time has 2 048 bins. When a point lies beyond them, bins are merged in pairs and become twice
//! as wide, as often as needed; so any span of time is resolved to at least 1 024 bins. Values are
//! binned logarithmically, 128 bins a decade from 1 ns to 10^10 s: 20 MB in all.

const TIME_BINS: usize = 2048;
const BINS_PER_DECADE: f64 = 128.0;
const LEAST_EXPONENT: f64 = -9.0;
const VALUE_BINS: usize = 19 * 128;

/// Counters over time and value.
#[derive(Clone, Debug)]
pub(crate) struct Density {
    origin: f64,
    bin_width: f64,
    /// `counts[time bin * VALUE_BINS + value bin]`.
    counts: Vec<u32>,
}

/// A cell of the grid that holds points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    pub(crate) time: (f64, f64),
    pub(crate) value: (f64, f64),
    pub(crate) count: u32,
}

fn value_bin(value: f64) -> usize {
    let at = (value.log10() - LEAST_EXPONENT) * BINS_PER_DECADE;
    (at.max(0.0) as usize).min(VALUE_BINS - 1)
}

fn value_edge(bin: usize) -> f64 {
    10_f64.powf(bin as f64 / BINS_PER_DECADE + LEAST_EXPONENT)
}

impl Density {
    /// A grid that resolves `from` to `to` well, and grows beyond.
    pub(crate) fn new(from: f64, to: f64) -> Self {
        let bin_width = ((to - from) / TIME_BINS as f64).max(1e-9);
        Self {
            origin: from,
            bin_width: bin_width * (1.0 + 1e-9),
            counts: vec![0; TIME_BINS * VALUE_BINS],
        }
    }

    pub(crate) fn push(&mut self, time: f64, value: f64) {
        while time < self.origin {
            self.widen(true);
        }
        let mut bin = ((time - self.origin) / self.bin_width) as usize;
        while bin >= TIME_BINS {
            self.widen(false);
            bin = ((time - self.origin) / self.bin_width) as usize;
        }
        let count = &mut self.counts[bin * VALUE_BINS + value_bin(value)];
        *count = count.saturating_add(1);
    }

    /// Merges bins in pairs; the room that this makes lies before or behind what there is.
    fn widen(&mut self, before: bool) {
        let half = TIME_BINS / 2;
        let mut merged = vec![0_u32; self.counts.len()];
        for (i, row) in self.counts.chunks(VALUE_BINS).enumerate() {
            let to = i / 2 + if before { half } else { 0 };
            let target = &mut merged[to * VALUE_BINS..(to + 1) * VALUE_BINS];
            for (sum, count) in target.iter_mut().zip(row) {
                *sum = sum.saturating_add(*count);
            }
        }
        self.counts = merged;
        if before {
            self.origin -= self.bin_width * TIME_BINS as f64;
        }
        self.bin_width *= 2.0;
    }

    /// The width of a time bin, and the factor from one value bin to the next.
    pub(crate) fn resolution(&self) -> (f64, f64) {
        (self.bin_width, value_edge(1) / value_edge(0))
    }

    /// The cells that hold points, each made of `merge.0` time bins and `merge.1` value bins.
    ///
    /// Only whole bins are merged, so that a picture of the cells has no moire.
    pub(crate) fn cells(&self, merge: (usize, usize)) -> Vec<Cell> {
        let (columns, rows) = (TIME_BINS.div_ceil(merge.0), VALUE_BINS.div_ceil(merge.1));
        let mut merged = vec![0_u32; columns * rows];
        for (i, &count) in self.counts.iter().enumerate().filter(|&(_, &n)| n > 0) {
            let (column, row) = (i / VALUE_BINS / merge.0, i % VALUE_BINS / merge.1);
            let sum = &mut merged[column * rows + row];
            *sum = sum.saturating_add(count);
        }
        let time = |column: usize| self.origin + (column * merge.0) as f64 * self.bin_width;
        let value = |row: usize| value_edge(row * merge.1);
        merged
            .iter()
            .enumerate()
            .filter(|&(_, &count)| count > 0)
            .map(|(i, &count)| (i / rows, i % rows, count))
            .map(|(column, row, count)| Cell {
                time: (time(column), time(column + 1)),
                value: (value(row), value(row + 1)),
                count,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_grid_loses_no_point_and_keeps_each_in_its_cell() {
        let mut density = Density::new(100.0, 101.0);
        let points: Vec<(f64, f64)> = (0..5000)
            .map(|i| {
                (
                    100.0 + f64::from(i * 7919 % 5000) - 2500.0,
                    1e-6 * f64::from(1 + i % 1000),
                )
            })
            .collect();
        points.iter().for_each(|&(t, v)| density.push(t, v));
        let cells = density.cells((3, 2));
        assert_eq!(cells.iter().map(|c| c.count).sum::<u32>(), 5000);
        for &(t, v) in &points {
            let holds = |c: &Cell| {
                (c.time.0..=c.time.1).contains(&t)
                    && (c.value.0 * 0.999_999..=c.value.1 * 1.000_001).contains(&v)
            };
            assert!(cells.iter().any(holds), "{t} {v}");
        }
    }

    #[test]
    fn the_resolution_is_at_least_a_thousandth_of_the_span() {
        let mut density = Density::new(0.0, 1e-3);
        (0..1000).for_each(|i| density.push(f64::from(i), 1e-3));
        assert!(
            density.bin_width <= 1000.0 / 1024.0 * 1.01,
            "{}",
            density.bin_width
        );
    }
}
