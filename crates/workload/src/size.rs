//! How large requests are.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use iosonar_sim_core::{Law, Seed, Stream};
use iosonar_units::{Bytes, Nanos};

use crate::{Intervals, Renewal, RenewalError};

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
    /// Sizes in bytes of another law, rounded up to whole blocks.
    Rounded(RoundedSizes),
    /// Sizes in bytes of a law of one's own, rounded up to whole blocks.
    Drawn(DrawnSizes),
}

/// Sizes in bytes of a law that a scenario cannot name, rounded up to whole blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnSizes {
    bytes: Law,
    block: Bytes,
    /// The sizes with their shares of some that were drawn.
    sample: Arc<[(f64, u64)]>,
}

impl DrawnSizes {
    /// How many are drawn to know the mean and the distribution.
    const DRAWN: u32 = 1 << 16;

    fn new(bytes: Law, block: Bytes) -> Self {
        let mut sizes = Self {
            bytes,
            block,
            sample: Arc::default(),
        };
        let mut stream = Seed::new(0).stream("load", "sample of sizes");
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        for _ in 0..Self::DRAWN {
            *counts.entry(sizes.draw(&mut stream)).or_default() += 1;
        }
        let share = |(blocks, n): (u64, u32)| (f64::from(n) / f64::from(Self::DRAWN), blocks);
        sizes.sample = counts.into_iter().map(share).collect();
        sizes
    }

    fn draw(&self, stream: &mut Stream) -> u64 {
        let bytes = self.bytes.draw(stream).get();
        bytes.div_ceil(self.block.get()).max(1)
    }
}

/// Sizes in bytes of a law, rounded up to whole blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundedSizes {
    /// The sizes before: what is a nanosecond there is a byte.
    bytes: Renewal,
    /// The probabilities of at most 1, 2, ... blocks; the last is 1.
    up_to: Arc<[f64]>,
    mean_blocks: f64,
}

/// Why a law of bytes makes no law of sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum RoundedSizesError {
    /// There is no such law.
    Law(RenewalError),
    /// Sizes are larger than a request may be, by this share of the mean.
    TooLarge(f64),
}

impl RoundedSizes {
    /// By this share of the mean, sizes may exceed the largest request, and become as large as that.
    const CUT: f64 = 1e-4;
    /// The share of sizes that is as good as none.
    const NONE: f64 = 1e-12;

    /// Sizes whose law has this mean within the bounds and before they are rounded up; a request has at most `most` blocks.
    ///
    /// # Errors
    /// If there is no such law, or sizes above `most` blocks matter.
    pub fn new(
        mean: f64,
        law: Intervals,
        bounds: Option<(Bytes, Bytes)>,
        block: Bytes,
        most: u64,
    ) -> Result<Self, RoundedSizesError> {
        let bounds = bounds.map(|(least, most)| (Nanos::new(least.get()), Nanos::new(most.get())));
        let bytes = Renewal::new(1e9 / mean, law, bounds).map_err(RoundedSizesError::Law)?;
        let mut up_to = match bytes.between() {
            Law::Empirical(sizes) => Self::shares(sizes, block, most)?,
            law => Self::probabilities(law, block, most)?,
        };
        if let Some(last) = up_to.last_mut() {
            *last = 1.0;
        }
        let mut sizes = Self {
            bytes,
            up_to: up_to.into(),
            mean_blocks: 0.0,
        };
        sizes.mean_blocks = sizes.pieces().map(|(p, blocks)| p * blocks as f64).sum();
        Ok(sizes)
    }

    fn probabilities(law: &Law, block: Bytes, most: u64) -> Result<Vec<f64>, RoundedSizesError> {
        let share = |blocks: u64| {
            // Sizes are rounded to whole bytes before.
            let end = (blocks * block.get()) as f64 + 0.5;
            law.partial_moment(0, end)
                .expect("a law that a scenario names has probabilities")
        };
        // E[(X - m)+] / E[X], of which the times up to m are known.
        let largest = (most * block.get()) as f64;
        if let (Some(mean), Some(below)) = (law.mean_ns(), law.partial_moment(1, largest)) {
            Self::check((mean - below - largest * (1.0 - share(most))) / mean)?;
        }
        let mut up_to = Vec::new();
        for share in (1..=most).map(share) {
            up_to.push(share);
            if share >= 1.0 - Self::NONE {
                break;
            }
        }
        Ok(up_to)
    }

    /// Whether nearly all sizes are possible.
    fn check(beyond: f64) -> Result<(), RoundedSizesError> {
        match beyond > Self::CUT {
            true => Err(RoundedSizesError::TooLarge(beyond)),
            false => Ok(()),
        }
    }

    fn shares(sizes: &[Nanos], block: Bytes, most: u64) -> Result<Vec<f64>, RoundedSizesError> {
        let blocks = |size: &Nanos| size.get().div_ceil(block.get()).max(1);
        let sum: u64 = sizes.iter().map(blocks).sum();
        let beyond: u64 = sizes
            .iter()
            .map(|size| blocks(size).saturating_sub(most))
            .sum();
        Self::check(beyond as f64 / sum as f64)?;
        let largest = sizes.iter().map(blocks).max().unwrap_or(1).min(most);
        let mut counts = vec![0_u64; largest as usize];
        for n in sizes.iter().map(|size| blocks(size).min(largest)) {
            counts[n as usize - 1] += 1;
        }
        let mut sum = 0;
        let shares = counts.into_iter().map(|n| {
            sum += n;
            sum as f64 / sizes.len() as f64
        });
        Ok(shares.collect())
    }

    /// The mean size that was asked for, before rounding, in bytes.
    pub fn asked_mean(&self) -> f64 {
        1e9 / self.bytes.asked_per_s()
    }

    /// The shape of the law of the bytes.
    pub fn law(&self) -> &Intervals {
        self.bytes.intervals()
    }

    /// The smallest and the largest size before rounding, if there are bounds.
    pub fn bounds(&self) -> Option<(Bytes, Bytes)> {
        let bounds = self.bytes.bounds();
        bounds.map(|(least, most)| (Bytes::new(least.get()), Bytes::new(most.get())))
    }

    /// The sizes with their probabilities.
    fn pieces(&self) -> impl Iterator<Item = (f64, u64)> {
        let before = std::iter::once(&0.0).chain(self.up_to.iter());
        let shares = self.up_to.iter().zip(before).map(|(to, from)| to - from);
        shares.zip(1..).filter(|(share, _)| *share > 0.0)
    }

    fn draw(&self, stream: &mut Stream) -> u64 {
        let u = stream.uniform();
        self.up_to.partition_point(|up_to| *up_to <= u) as u64 + 1
    }
}

impl Size {
    /// Sizes in bytes of any law, rounded up to whole blocks. A nanosecond of the law is a byte; so `Law::sampled` takes any
    /// distribution of the `rand` crates, and `Law::from_fn` a function. The mean and the distribution are those of 65 536
    /// sizes that are drawn here.
    ///
    /// ```
    /// use iosonar_sim_core::Law;
    /// use iosonar_units::{Bytes, Nanos};
    /// use iosonar_workload::Size;
    ///
    /// let kib = Law::from_fn(|stream| Nanos::new(1024 * stream.below(8)));
    /// let size = Size::of_law(kib, Bytes::new(4096));
    /// // From 0 to 7 KiB are one block or two: 5 of 8 have one, as there is no request without a block.
    /// assert!((size.mean() - 11.0 / 8.0).abs() < 0.01);
    /// ```
    pub fn of_law(bytes: Law, block: Bytes) -> Self {
        Self::Drawn(DrawnSizes::new(bytes, block))
    }

    /// The recording that its sizes are drawn from, if there is one.
    pub fn trace(&self) -> Option<&Path> {
        match self {
            Self::Rounded(sizes) => sizes.law().trace(),
            Self::Blocks(_) | Self::GeometricBlocks { .. } | Self::Table(_) | Self::Drawn(_) => {
                None
            }
        }
    }

    /// The mean number of blocks.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Blocks(blocks) => f64::from(*blocks),
            Self::GeometricBlocks { mean } => *mean,
            Self::Table(table) => table.iter().map(|(p, b)| p * f64::from(*b)).sum(),
            Self::Rounded(sizes) => sizes.mean_blocks,
            Self::Drawn(sizes) => sizes.sample.iter().map(|(p, b)| p * *b as f64).sum(),
        }
    }

    /// The sizes with their probabilities; of geometric ones, those that are not below one in a million, and of laws of one's
    /// own the shares of some that were drawn.
    pub fn distribution(&self) -> Vec<(f64, u64)> {
        match self {
            Self::Blocks(blocks) => vec![(1.0, u64::from(*blocks))],
            Self::Table(table) => table.iter().map(|(p, b)| (*p, u64::from(*b))).collect(),
            Self::Rounded(sizes) => sizes.pieces().collect(),
            Self::Drawn(sizes) => sizes.sample.to_vec(),
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
            Self::Rounded(sizes) => sizes.draw(stream),
            Self::Drawn(sizes) => sizes.draw(stream),
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
        let rounded = |law, bounds| {
            let block = Bytes::new(4096);
            let law = RoundedSizes::new(40_960.0, law, bounds, block, 1000).unwrap();
            Size::Rounded(law)
        };
        let recorded = [1_u64, 4096, 4097, 155_648].map(Nanos::new);
        let recorded = Intervals::Empirical {
            trace: "x.ios".into(),
            times: recorded.into(),
        };
        for size in [
            Size::Blocks(3),
            Size::GeometricBlocks { mean: 4.0 },
            Size::Table(table),
            rounded(Intervals::LogNormal { cv: 1.5 }, None),
            rounded(Intervals::Gamma { cv: 0.5 }, None),
            rounded(
                Intervals::Pareto { shape: 1.5 },
                Some((Bytes::new(8192), Bytes::new(1 << 20))),
            ),
            Size::Rounded(
                RoundedSizes::new(40_960.5, recorded, None, Bytes::new(4096), 1000).unwrap(),
            ),
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

    #[test]
    fn any_law_gives_sizes() {
        let law = Law::LogNormal {
            median: Nanos::new(20_000),
            sigma: 0.7,
        };
        let size = Size::of_law(law, Bytes::new(4096));
        let named = RoundedSizes::new(
            20_000.0 * (0.5_f64 * 0.7 * 0.7).exp(),
            Intervals::LogNormal {
                cv: ((0.7_f64 * 0.7).exp() - 1.0).sqrt(),
            },
            None,
            Bytes::new(4096),
            1000,
        );
        let named = Size::Rounded(named.unwrap());
        // A standard error of 0.02 blocks.
        assert!(
            (size.mean() - named.mean()).abs() < 0.08,
            "{} {}",
            size.mean(),
            named.mean()
        );
        let mut stream = Seed::new(2).stream("load", "size");
        let n = 100_000;
        let sum: u64 = (0..n).map(|_| size.draw(&mut stream)).sum();
        assert!((sum as f64 / f64::from(n) - named.mean()).abs() < 0.07);
    }

    #[test]
    fn sizes_of_a_law_are_rounded_up() {
        // Exponential, as a gamma law with a coefficient of variation of 1: geometric when it is rounded up.
        let law = Intervals::Gamma { cv: 1.0 };
        let sizes = RoundedSizes::new(40_960.0, law, None, Bytes::new(4096), 10_000).unwrap();
        let q = (-0.1_f64).exp();
        for (p, blocks) in sizes.pieces().take(100) {
            let exact = (1.0 - q) * q.powi(blocks as i32 - 1);
            // Sizes are whole bytes before.
            assert!((p - exact).abs() < 2e-5, "{blocks}: {p}, {exact}");
        }
        assert!((sizes.mean_blocks - 1.0 / (1.0 - q)).abs() < 1e-3);
        let heavy = Intervals::Pareto { shape: 1.2 };
        let error = RoundedSizes::new(40_960.0, heavy, None, Bytes::new(4096), 1000).unwrap_err();
        assert!(
            matches!(error, RoundedSizesError::TooLarge(share) if share > 0.1),
            "{error:?}"
        );
    }
}
