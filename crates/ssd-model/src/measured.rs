//! Service times as they were measured: quantiles, and the time that each sector adds.

use iosonar_sim_core::Stream;
use iosonar_units::Nanos;

/// A law of service times given by its quantiles, with straight lines between them.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredService {
    /// Probabilities from 0 to 1, ascending, and the quantiles of the time in nanoseconds.
    quantiles: Box<[(f64, f64)]>,
    ns_per_sector: f64,
}

impl MeasuredService {
    /// From at least two quantiles, ascending from 0 to 1.
    pub(crate) fn new(quantiles: Box<[(f64, f64)]>, ns_per_sector: f64) -> Self {
        Self {
            quantiles,
            ns_per_sector,
        }
    }

    /// Draws the time of an access (inversion), and adds that of its sectors.
    #[inline]
    pub(crate) fn draw(&self, stream: &mut Stream, sectors: u32) -> Nanos {
        let u = stream.uniform();
        let above = self.quantiles.partition_point(|&(p, _)| p <= u);
        let above = above.clamp(1, self.quantiles.len() - 1);
        let ((p, low), (q, high)) = (self.quantiles[above - 1], self.quantiles[above]);
        let share = if q > p { (u - p) / (q - p) } else { 0.0 };
        Nanos::nearest(low + (high - low) * share + self.ns_per_sector * f64::from(sectors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    #[test]
    fn draws_have_the_quantiles_that_were_measured() {
        let law = MeasuredService::new(
            vec![(0.0, 100e3), (0.9, 200e3), (1.0, 1000e3)].into(),
            1000.0,
        );
        let mut stream = Seed::new(1).stream("x", "y");
        let n = 100_000;
        let mut draws: Vec<u64> = (0..n).map(|_| law.draw(&mut stream, 8).get()).collect();
        draws.sort_unstable();
        // Of 100 000 draws the share below a value is off by 0.0009 at most, three standard errors.
        for (p, expected) in [(0.45, 158_000.0), (0.9, 208_000.0), (0.95, 608_000.0)] {
            let at = draws.partition_point(|&t| (t as f64) < expected) as f64 / f64::from(n);
            assert!(
                (at - p).abs() < 3.0 * (p * (1.0 - p) / f64::from(n)).sqrt(),
                "{p}: {at}"
            );
        }
        assert!(draws[0] >= 108_000);
    }
}
