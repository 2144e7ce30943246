//! Zones: how fast data pass under the head at a random sector.

use iosonar_device::Pace;
use serde::{Deserialize, Serialize};

/// What changes evenly from the outermost cylinder to the innermost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Zoning {
    /// The number of sectors per track.
    #[default]
    SectorsPerTrackLinear,
    /// The time that a sector takes.
    TimePerSectorLinear,
}

/// The zones of a disk, as seen from a random sector.
///
/// Let x, 0 to 1, be the cylinder as a share of the stroke, s(x) the sectors per track, R the
/// revolution. A random sector lies on a cylinder with a density proportional to s(x), and one sector
/// takes R / s(x) there.
///
/// - Sectors per track linear in x: s is distributed with the density 2 s / (`s_max`^2 - `s_min`^2);
///   by inversion s = sqrt(`s_min`^2 + u (`s_max`^2 - `s_min`^2)).
/// - Time per sector t = R / s linear in x: the density of x is proportional to 1 / t(x), so
///   t = `t_min` (`t_max` / `t_min`)^u.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZoneLaw {
    zoning: Zoning,
    revolution_ns: f64,
    s_max: f64,
    s_min: f64,
}

impl ZoneLaw {
    /// From one revolution and the time of one sector on the outermost and innermost track, all in
    /// milliseconds.
    pub fn new(zoning: Zoning, revolution_ms: f64, outermost_ms: f64, innermost_ms: f64) -> Self {
        Self {
            zoning,
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

    /// Sectors per track at `x`, 0 (outermost) to 1 (innermost cylinder).
    pub fn sectors_per_track(&self, x: f64) -> f64 {
        match self.zoning {
            Zoning::SectorsPerTrackLinear => self.s_max + (self.s_min - self.s_max) * x,
            Zoning::TimePerSectorLinear => {
                1.0 / (1.0 / self.s_max + (1.0 / self.s_min - 1.0 / self.s_max) * x)
            }
        }
    }

    /// Whether all tracks are alike, but for rounding.
    fn is_even(&self) -> bool {
        self.s_max / self.s_min < 1.0 + 1e-9
    }

    /// The pace at a random sector, from a uniform number `u` on [0, 1).
    #[inline]
    pub fn pace(&self, u: f64) -> Pace {
        match self.zoning {
            Zoning::SectorsPerTrackLinear => {
                let (low, high) = (self.s_min * self.s_min, self.s_max * self.s_max);
                Pace(self.revolution_ns / (low + u * (high - low)).sqrt())
            }
            Zoning::TimePerSectorLinear => {
                let (least, ratio) = (self.revolution_ns / self.s_max, self.s_max / self.s_min);
                Pace(least * libm::pow(ratio, u))
            }
        }
    }

    /// The mean pace.
    pub fn mean_ns_per_sector(&self) -> f64 {
        let (t_min, t_max) = (
            self.revolution_ns / self.s_max,
            self.revolution_ns / self.s_min,
        );
        match self.zoning {
            _ if self.is_even() => t_min,
            Zoning::SectorsPerTrackLinear => 2.0 * t_min * t_max / (t_min + t_max),
            Zoning::TimePerSectorLinear => (t_max - t_min) / libm::log(t_max / t_min),
        }
    }

    /// The density of the cylinder of a random sector at `x`, 0 (outermost) to 1.
    pub(crate) fn density(&self, x: f64) -> f64 {
        match self.zoning {
            _ if self.is_even() => 1.0,
            Zoning::SectorsPerTrackLinear => {
                let mean = f64::midpoint(self.s_max, self.s_min);
                (self.s_max + (self.s_min - self.s_max) * x) / mean
            }
            Zoning::TimePerSectorLinear => {
                let ratio = self.s_max / self.s_min;
                (ratio - 1.0) / (1.0 + (ratio - 1.0) * x) / libm::log(ratio)
            }
        }
    }

    /// The probability that the cylinder of a random sector lies beyond `x`.
    pub(crate) fn beyond(&self, x: f64) -> f64 {
        match self.zoning {
            _ if self.is_even() => 1.0 - x,
            Zoning::SectorsPerTrackLinear => {
                let mean = f64::midpoint(self.s_max, self.s_min);
                1.0 - (self.s_max * x + (self.s_min - self.s_max) * x * x / 2.0) / mean
            }
            Zoning::TimePerSectorLinear => {
                let ratio = self.s_max / self.s_min;
                1.0 - libm::log1p((ratio - 1.0) * x) / libm::log(ratio)
            }
        }
    }
}

/// The pace at a random sector from a table with linear interpolation: neither roots nor powers. Off by
/// less than 3e-7 of it.
#[derive(Clone, Debug)]
pub(crate) struct PaceTable(Box<[f64]>);

impl PaceTable {
    const STEPS: usize = 2048;

    pub(crate) fn new(zones: &ZoneLaw) -> Self {
        let at = |i: usize| zones.pace(i as f64 / Self::STEPS as f64).0;
        Self((0..=Self::STEPS).map(at).collect())
    }

    /// The pace for 64 random bits.
    #[inline]
    pub(crate) fn at(&self, bits: u64) -> Pace {
        // The upper bits are the place in the table, 32 of the others that between two places.
        const BELOW: u32 = 64 - PaceTable::STEPS.ilog2();
        let step = (bits >> BELOW) as usize;
        let part = f64::from((bits >> (BELOW - 32)) as u32) * (1.0 / (1_u64 << 32) as f64);
        let (low, high) = (self.0[step], self.0[step + 1]);
        Pace(low + (high - low) * part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_as_exact_as_it_says() {
        for zoning in [Zoning::SectorsPerTrackLinear, Zoning::TimePerSectorLinear] {
            let zones = ZoneLaw::new(zoning, 8.33, 0.005_976, 0.012_064);
            let table = PaceTable::new(&zones);
            let worst = (0..100_003)
                .map(|i| i * (u64::MAX / 100_003))
                .map(|bits| {
                    let exact = zones.pace(bits as f64 / 2.0_f64.powi(64)).0;
                    (table.at(bits).0 / exact - 1.0).abs()
                })
                .fold(0.0, f64::max);
            assert!(worst < 3e-7, "{worst}");
        }
    }

    #[test]
    fn mean_and_variance_of_the_transfer_are_the_closed_forms() {
        // Reference: 256 sectors take 2.046140 ms on average, variance 0.170768 ms^2; if the time per
        // sector were linear 2.218626 ms.
        for (zoning, expected) in [
            (Zoning::SectorsPerTrackLinear, 2.046_140),
            (Zoning::TimePerSectorLinear, 2.218_626),
        ] {
            let zones = ZoneLaw::new(zoning, 8.33, 0.005_976, 0.012_064);
            let n = 1_000_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for i in 0..n {
                let ms = zones.pace((f64::from(i) + 0.5) / f64::from(n)).0 * 256.0 / 1e6;
                sum += ms;
                squares += ms * ms;
            }
            let mean = sum / f64::from(n);
            assert!((mean - expected).abs() < 1e-6, "{mean}");
            assert!((zones.mean_ns_per_sector() * 256.0 / 1e6 - expected).abs() < 1e-6);
            if zoning == Zoning::SectorsPerTrackLinear {
                let variance = squares / f64::from(n) - mean * mean;
                assert!((variance - 0.170_768).abs() < 1e-6, "{variance}");
            }
        }
    }

    #[test]
    fn the_density_is_the_slope_of_the_distribution() {
        for zoning in [Zoning::SectorsPerTrackLinear, Zoning::TimePerSectorLinear] {
            for inner in [0.005_976, 0.012_064] {
                let zones = ZoneLaw::new(zoning, 8.33, 0.005_976, inner);
                assert!((zones.beyond(0.0) - 1.0).abs() < 1e-12 && zones.beyond(1.0).abs() < 1e-12);
                for x in [0.1, 0.5, 0.9] {
                    let slope = (zones.beyond(x - 1e-6) - zones.beyond(x + 1e-6)) / 2e-6;
                    assert!((slope - zones.density(x)).abs() < 1e-6, "{zoning:?} {x}");
                }
            }
        }
    }

    #[test]
    fn sectors_per_track_go_from_the_outermost_to_the_innermost_as_the_law_says() {
        let law = |zoning| ZoneLaw::new(zoning, 12.0, 0.01, 0.03);
        let of_sectors = law(Zoning::SectorsPerTrackLinear);
        let of_times = law(Zoning::TimePerSectorLinear);
        // 1200 and 400 sectors; a sector takes 0.015 ms at a quarter of the way where times are linear.
        for (x, linear, by_time) in [
            (0.0, 1200.0, 1200.0),
            (0.25, 1000.0, 800.0),
            (1.0, 400.0, 400.0),
        ] {
            assert!(
                (of_sectors.sectors_per_track(x) - linear).abs() < 1e-9,
                "{x}"
            );
            assert!(
                (of_times.sectors_per_track(x) - by_time).abs() < 1e-9,
                "{x}"
            );
        }
    }
}
