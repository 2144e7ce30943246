//! How large requests are.

use iosonar_sim_core::Stream;

/// A law of sizes, in blocks.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// Always this many blocks.
    Blocks(u32),
    /// Geometric on 1, 2, ... blocks.
    GeometricBlocks {
        /// The mean, at least 1.
        mean: f64,
    },
    /// One of these sizes, each with its share; the shares sum to 1.
    Table(Vec<(f64, u32)>),
}

impl Size {
    /// The mean number of blocks.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Blocks(blocks) => f64::from(*blocks),
            Self::GeometricBlocks { mean } => *mean,
            Self::Table(table) => table.iter().map(|(p, b)| p * f64::from(*b)).sum(),
        }
    }

    /// The sizes with their probabilities, as far as they are not below one in a million.
    pub fn distribution(&self) -> Vec<(f64, u64)> {
        match self {
            Self::Blocks(blocks) => vec![(1.0, u64::from(*blocks))],
            Self::Table(table) => table.iter().map(|(p, b)| (*p, u64::from(*b))).collect(),
            Self::GeometricBlocks { mean } => {
                let q = 1.0 - 1.0 / mean;
                let (mut left, mut all) = (1.0, Vec::new());
                for k in 1..100_000 {
                    all.push((left / mean, k));
                    left *= q;
                    if left < 1e-6 {
                        break;
                    }
                }
                all
            }
        }
    }

    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            Self::Blocks(blocks) => u64::from(*blocks),
            Self::GeometricBlocks { mean } => stream.geometric(*mean),
            Self::Table(table) => {
                let mut u = stream.uniform();
                for (p, blocks) in table {
                    u -= p;
                    if u < 0.0 {
                        return u64::from(*blocks);
                    }
                }
                table.last().map_or(1, |(_, blocks)| u64::from(*blocks))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    #[test]
    fn every_law_has_its_mean() {
        let table = vec![(0.5, 1), (0.3, 8), (0.2, 32)];
        for size in [
            Size::Blocks(3),
            Size::GeometricBlocks { mean: 4.0 },
            Size::Table(table),
        ] {
            let mut stream = Seed::new(1).stream("load", "size");
            let n = 300_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..n {
                let blocks = size.draw(&mut stream) as f64;
                sum += blocks;
                squares += blocks * blocks;
            }
            let n = f64::from(n);
            let (mean, sd) = (sum / n, (squares / n - (sum / n).powi(2)).max(0.0).sqrt());
            assert!(
                (mean - size.mean()).abs() <= 3.0 * sd / n.sqrt(),
                "{size:?}: {mean}"
            );
            let told: f64 = size.distribution().iter().map(|(p, b)| p * *b as f64).sum();
            assert!((told / size.mean() - 1.0).abs() < 1e-4, "{told}");
        }
    }
}
