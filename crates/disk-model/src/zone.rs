//! Zones: how fast data pass under the head at a random sector.

use iosonar_device::Pace;

/// The number of sectors per track, linear in the cylinder, as seen from a random sector.
///
/// A random sector lies on a track of s sectors with density 2 s / (`s_max`^2 - `s_min`^2) on
/// [`s_min`, `s_max`]: by inversion s = sqrt(`s_min`^2 + u (`s_max`^2 - `s_min`^2)). One sector
/// takes R / s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZoneLaw {
    revolution_ns: f64,
    s_max: f64,
    s_min: f64,
}

impl ZoneLaw {
    /// From one revolution and the time of one sector on the outermost and innermost track, all in
    /// milliseconds.
    pub fn new(revolution_ms: f64, outermost_ms: f64, innermost_ms: f64) -> Self {
        Self {
            revolution_ns: revolution_ms * 1e6,
            s_max: revolution_ms / outermost_ms,
            s_min: revolution_ms / innermost_ms,
        }
    }

    /// Sectors per track on the outermost cylinder.
    pub fn s_max(&self) -> f64 {
        self.s_max
    }

    /// Sectors per track on the innermost cylinder.
    pub fn s_min(&self) -> f64 {
        self.s_min
    }

    /// The pace at a random sector, from a uniform number `u` on [0, 1).
    #[inline]
    pub fn pace(&self, u: f64) -> Pace {
        let (low, high) = (self.s_min * self.s_min, self.s_max * self.s_max);
        Pace(self.revolution_ns / (low + u * (high - low)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_variance_of_the_transfer_are_the_closed_forms() {
        let zones = ZoneLaw::new(8.33, 0.005_976, 0.012_064);
        let n = 1_000_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for i in 0..n {
            let ms = zones.pace((f64::from(i) + 0.5) / f64::from(n)).0 * 256.0 / 1e6;
            sum += ms;
            squares += ms * ms;
        }
        let mean = sum / f64::from(n);
        // Reference: 256 sectors take 2.046140 ms on average, variance 0.170768 ms^2.
        assert!((mean - 2.046_140).abs() < 1e-6, "{mean}");
        let variance = squares / f64::from(n) - mean * mean;
        assert!((variance - 0.170_768).abs() < 1e-6, "{variance}");
    }
}
