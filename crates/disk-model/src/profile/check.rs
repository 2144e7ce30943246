//! Whether the values of a profile make a drive.

use super::{ProfileError, TransferProfile};
use crate::DiskProfile;

/// Refuses the value of a key: the key, what was seen, and what was expected.
pub(super) type Refuse<'a> =
    dyn Fn(&'static str, f64, &'static str) -> Result<(), ProfileError> + 'a;

/// Refuses values of the file, or the built-in profile, `origin`.
pub(super) fn refusing(
    origin: &str,
) -> impl Fn(&'static str, f64, &'static str) -> Result<(), ProfileError> {
    move |key, seen, expected| {
        Err(ProfileError::Value {
            origin: origin.to_owned(),
            line: None,
            zone: None,
            key,
            seen,
            expected,
        })
    }
}

/// From a tenth of a picosecond to a quarter of an hour: no drive is beyond, no sum overflows.
pub(super) fn is_positive(ms: f64) -> bool {
    (1e-10..=1e6).contains(&ms)
}

impl DiskProfile {
    /// Whether the values make a drive; `origin` is for messages.
    pub(super) fn check(&self, origin: &str) -> Result<(), ProfileError> {
        const POSITIVE: &str = "a time in milliseconds, 1e-10 to 1e6";
        let refuse = refusing(origin);
        let TransferProfile {
            outermost_ms_per_sector: outermost,
            innermost_ms_per_sector: innermost,
            zoning: _,
        } = self.transfer;
        if !(3..=4_000_000).contains(&self.cylinders) {
            return refuse("cylinders", f64::from(self.cylinders), "3 to 4 x 10^6");
        }
        if !(1..1 << 50).contains(&self.capacity_sectors) {
            let seen = self.capacity_sectors as f64;
            return refuse("capacity_sectors", seen, "1 to 2^50 - 1 sectors of 512 B");
        }
        for (key, t) in [
            ("revolution_ms", self.revolution_ms),
            ("transfer.outermost_ms_per_sector", outermost),
            ("transfer.innermost_ms_per_sector", innermost),
            (
                "seek.read.track_to_track_ms",
                self.seek.read.track_to_track_ms,
            ),
            (
                "seek.write.track_to_track_ms",
                self.seek.write.track_to_track_ms,
            ),
        ] {
            if !is_positive(t) {
                return refuse(key, t, POSITIVE);
            }
        }
        // Service times are whole nanoseconds.
        if self.revolution_ms < 1e-3 {
            return refuse("revolution_ms", self.revolution_ms, "at least 0.001");
        }
        if innermost < outermost || self.revolution_ms < innermost || !innermost.is_finite() {
            return refuse(
                "transfer.innermost_ms_per_sector",
                innermost,
                "at least that of the outermost track, at most one revolution",
            );
        }
        if self.queue.is_some_and(|queue| queue.depth == 0) {
            return refuse("queue.depth", 0.0, "at least 1");
        }
        self.check_geometry(&refuse)?;
        self.check_drive(&refuse)?;
        self.check_shingled(&refuse)?;
        self.check_seek_points(&refuse)?;
        self.check_capacity(origin)
    }

    /// Whether the capacity is what the zones of the layout hold, if there is one.
    fn check_capacity(&self, origin: &str) -> Result<(), ProfileError> {
        let of_layout = self
            .layout
            .as_ref()
            .map(|_| crate::Geometry::new(self).capacity());
        if let Some(held) = of_layout.filter(|held| *held != self.capacity_sectors) {
            return Err(ProfileError::Capacity {
                origin: origin.to_owned(),
                seen: self.capacity_sectors,
                held,
            });
        }
        Ok(())
    }

    fn check_geometry(&self, refuse: &Refuse<'_>) -> Result<(), ProfileError> {
        let geometry = &self.geometry;
        if !(1..=1024).contains(&geometry.surfaces) {
            let surfaces = f64::from(geometry.surfaces);
            return refuse("geometry.surfaces", surfaces, "1 to 1024");
        }
        for (key, t) in [
            ("geometry.head_switch_ms", geometry.head_switch_ms),
            (
                "geometry.cylinder_switch_ms",
                geometry.cylinder_switch_ms.unwrap_or(0.0),
            ),
            ("geometry.track_skew_ms", geometry.track_skew_ms),
            ("geometry.cylinder_skew_ms", geometry.cylinder_skew_ms),
        ] {
            if !(0.0..=1e6).contains(&t) {
                return refuse(key, t, "a time in milliseconds, 0 to 1e6");
            }
        }
        let zones = &geometry.zones;
        let first = zones.first().is_none_or(|zone| zone.first_cylinder == 0);
        let ascending = zones
            .windows(2)
            .all(|w| w[0].first_cylinder < w[1].first_cylinder);
        let inside = zones.iter().all(|z| {
            z.first_cylinder < self.cylinders && (1..=1 << 20).contains(&z.sectors_per_track)
        });
        if !(first && ascending && inside) {
            return refuse(
                "geometry.zones",
                zones.len() as f64,
                "zones in ascending order of first_cylinder, the first at 0 and all within the disk, \
                 each with 1 to 2^20 sectors per track",
            );
        }
        Ok(())
    }

    /// Whether the layout, the buffer, the electronics and the bus make a drive.
    fn check_drive(&self, refuse: &Refuse<'_>) -> Result<(), ProfileError> {
        if let Some(layout) = &self.layout {
            self.check_layout(layout, refuse)?;
        }
        self.check_seek_law(refuse)?;
        let Some(cache) = &self.cache else {
            let expected = "a [cache] table as well: 'segments = 1' and 'keeps_data = false' describe a buffer that \
                            only matches speeds";
            if self.overheads.is_some() {
                return refuse("overheads", 1.0, expected);
            }
            if self.bus.is_some() {
                return refuse("bus", 1.0, expected);
            }
            return Ok(());
        };
        cache.check(refuse)?;
        self.bus.clone().unwrap_or_default().check(refuse)?;
        self.overheads.clone().unwrap_or_default().check(refuse)
    }
}
