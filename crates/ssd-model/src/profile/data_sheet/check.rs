//! Whether the figures of a data sheet can be those of one drive.

use super::{Cell, DataSheet, RANDOM_BYTES, SheetIops, SheetRate};
use crate::profile::{Checker, SsdProfileError};

/// Figures are rounded: as far as one may go beyond what another allows.
const ROUNDING: f64 = 1.05;

impl Checker<'_> {
    fn range(
        &self,
        key: &str,
        value: f64,
        (least, most): (f64, f64),
    ) -> Result<(), SsdProfileError> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        Err(self.wrong(key, value, format!("{least} to {most}")))
    }
}

impl DataSheet {
    pub(super) fn check(&self, check: &Checker<'_>) -> Result<(), SsdProfileError> {
        check.range("capacity_gb", self.capacity_gb, (1.0, 1e6))?;
        for (key, value, range) in [
            ("over_provisioning", self.over_provisioning, (0.01, 5.0)),
            ("read_latency_us", self.read_latency_us, (0.1, 1e6)),
            ("write_latency_us", self.write_latency_us, (0.1, 1e6)),
        ] {
            if let Some(value) = value {
                check.range(key, value, range)?;
            }
        }
        if self.cell == Cell::Xpoint {
            self.check_in_place(check)?;
        }
        self.check_rate(check, "sequential_read", self.sequential_read)?;
        self.check_rate(check, "sequential_write", self.sequential_write)?;
        self.check_slc(check)?;
        let (read, write) = (self.sequential_read, self.sequential_write);
        self.check_iops(
            check,
            "read_iops",
            self.read_iops,
            (self.read_latency_us, read),
        )?;
        self.check_iops(
            check,
            "write_iops",
            self.write_iops,
            (self.write_latency_us, write),
        )
    }

    /// What memory that is written in place does not have.
    fn check_in_place(&self, check: &Checker<'_>) -> Result<(), SsdProfileError> {
        let none = "no value, as 3D XPoint is written in place";
        if let Some(given) = self.over_provisioning {
            return Err(check.wrong("over_provisioning", given, none));
        }
        if let Some(given) = self.slc_cache_gb {
            return Err(check.wrong("slc_cache_gb", given, none));
        }
        if !self.dram {
            return Err(check.wrong("dram", false, "true, as 3D XPoint has no page map"));
        }
        Ok(())
    }

    fn check_rate(
        &self,
        check: &Checker<'_>,
        key: &str,
        rate: SheetRate,
    ) -> Result<(), SsdProfileError> {
        let field = |name: &str| format!("{key}.{name}");
        let (most, interface) = (self.interface.mb_per_s(), self.interface.name());
        if !(1.0..=most).contains(&rate.mb_per_s) {
            let expected = format!("1 to {most}, the rate of {interface}");
            return Err(check.wrong(&field("mb_per_s"), rate.mb_per_s, expected));
        }
        check.range(
            &field("block_kib"),
            f64::from(rate.block_kib),
            (4.0, 65_536.0),
        )?;
        self.check_depth(check, &field("depth"), rate.depth)
    }

    fn check_depth(
        &self,
        check: &Checker<'_>,
        key: &str,
        depth: u32,
    ) -> Result<(), SsdProfileError> {
        let most = self.interface.most_outstanding().unwrap_or(1 << 16);
        if (1..=most).contains(&depth) {
            return Ok(());
        }
        let expected = format!(
            "1 to {most} outstanding requests on {}",
            self.interface.name()
        );
        Err(check.wrong(key, depth, expected))
    }

    fn check_slc(&self, check: &Checker<'_>) -> Result<(), SsdProfileError> {
        let full = self.sequential_write.mb_per_s;
        match (self.slc_cache_gb, self.after_slc_mb_per_s) {
            (None, None) => Ok(()),
            (Some(gb), Some(after)) => {
                check.range("slc_cache_gb", gb, (0.001, self.capacity_gb))?;
                if (1.0..full).contains(&after) {
                    return Ok(());
                }
                let expected = format!("at least 1 and less than sequential_write ({full})");
                Err(check.wrong("after_slc_mb_per_s", after, expected))
            }
            (gb, _) => {
                let missing = if gb.is_some() {
                    "after_slc_mb_per_s"
                } else {
                    "slc_cache_gb"
                };
                let expected =
                    "a value: 'slc_cache_gb' and 'after_slc_mb_per_s' must be given together";
                Err(check.wrong(missing, "missing", expected))
            }
        }
    }

    /// IOPS against the latency, the depth and the sequential rate.
    fn check_iops(
        &self,
        check: &Checker<'_>,
        key: &str,
        figure: SheetIops,
        (latency_us, rate): (Option<f64>, SheetRate),
    ) -> Result<(), SsdProfileError> {
        let field = format!("{key}.iops");
        check.range(&field, figure.iops, (1.0, 1e9))?;
        check.range(
            &format!("{key}.jobs"),
            f64::from(figure.jobs),
            (1.0, 4096.0),
        )?;
        self.check_depth(check, &format!("{key}.depth"), figure.outstanding())?;
        let most = 1e6 * rate.mb_per_s / RANDOM_BYTES;
        if figure.iops > ROUNDING * most {
            let expected = format!("at most {most:.0}, the sequential rate in requests of 4 KiB");
            return Err(check.wrong(&field, figure.iops, expected));
        }
        let Some(latency_us) = latency_us else {
            return Ok(());
        };
        let outstanding = figure.outstanding();
        let most = 1e6 * f64::from(outstanding) / latency_us;
        if figure.iops > ROUNDING * most {
            let expected = format!(
                "at most {most:.0}, the rate of {outstanding} outstanding requests (depth x jobs) with a latency of \
                 {latency_us} us"
            );
            return Err(check.wrong(&field, figure.iops, expected));
        }
        // What is sustained may be less: other writes were measured than for the latency.
        let least = 1e6 / latency_us;
        if !figure.sustained && figure.iops < least / ROUNDING {
            let expected = format!(
                "at least {least:.0}, the rate of one request at a time with a latency of {latency_us} us"
            );
            return Err(check.wrong(&field, figure.iops, expected));
        }
        Ok(())
    }
}
