//! The data sheet test: the figures of a sheet against those of the SSD that was made from it.
//!
//! Each test runs on an SSD of its own: what is stated as sustained, after random writes for ever; everything else, on one
//! whose pages were written once in order and whose spare blocks are free.

mod bench;
mod limits;

use iosonar_device::{Access, SheetFigure};
use iosonar_units::SECTOR_BYTES;

use crate::ftl::Filling;
use crate::profile::{RANDOM_BYTES, SheetIops, SheetRate};
use crate::{DataSheet, Parameters, SsdProfile, SsdProfileError};
use bench::Test;

/// Requests of a test of latencies. Reads of one page or another differ by a quarter: the standard error is 0.4 %.
const ALONE: u64 = 4_000;
/// Requests of a test of random requests, and of those that are not counted before.
const RANDOM: u64 = 60_000;
const RANDOM_WARMUP: u64 = 10_000;
/// Sequential requests, likewise.
const SEQUENTIAL: u64 = 4_000;
const SEQUENTIAL_WARMUP: u64 = 1_000;
/// A block of each plane is written this often at random before what is sustained is measured, and then this often.
const BLOCKS_WARMUP: u64 = 2;
const BLOCKS: u64 = 3;
/// There are at least this many such writes before, and then.
const SUSTAINED: u64 = 125_000;

impl SsdProfile {
    /// Simulates the tests that the SSD's data sheet reports, and those of its limits; `None` if it has neither.
    ///
    /// # Errors
    /// If a value of the profile is out of its range.
    pub fn data_sheet_test(&self) -> Result<Option<Vec<SheetFigure>>, SsdProfileError> {
        let mut figures = Vec::new();
        if let Some(sheet) = &self.data_sheet {
            self.test_drive(sheet, &mut figures)?;
        }
        self.test_limits(&mut figures)?;
        Ok(Some(figures).filter(|figures| !figures.is_empty()))
    }

    fn test_drive(
        &self,
        sheet: &DataSheet,
        figures: &mut Vec<SheetFigure>,
    ) -> Result<(), SsdProfileError> {
        let capacity = Parameters::new(self)?.capacity_sectors * SECTOR_BYTES;
        let capacity_gb = capacity as f64 / 1e9;
        figures.push(SheetFigure::new(
            "capacity",
            "GB",
            sheet.capacity_gb,
            capacity_gb,
        ));
        for (name, access, stated) in [
            (
                "random read of 4 KiB, QD 1",
                Access::Read,
                sheet.read_latency_us,
            ),
            (
                "random write of 4 KiB, QD 1",
                Access::Write,
                sheet.write_latency_us,
            ),
        ] {
            if let Some(stated) = stated {
                let mut test = Test::new(self, Filling::Sequential)?;
                test.random(access, 1, (RANDOM_WARMUP, ALONE));
                figures.push(SheetFigure::new(name, "us", stated, test.response_us()));
            }
        }
        for (name, access, figure) in [
            ("random reads of 4 KiB", Access::Read, sheet.read_iops),
            ("random writes of 4 KiB", Access::Write, sheet.write_iops),
        ] {
            let simulated = self.random_iops(access, figure)?;
            let sustained = if figure.sustained { "sustained, " } else { "" };
            let name = format!("{name}, {sustained}QD {}", figure.outstanding());
            figures.push(SheetFigure::new(name, "IOPS", figure.iops, simulated));
        }
        for (name, access, rate) in [
            ("sequential reads", Access::Read, sheet.sequential_read),
            ("sequential writes", Access::Write, sheet.sequential_write),
        ] {
            let simulated = self.sequential_mb_per_s(access, rate)?;
            let name = format!("{name} of {} KiB, QD {}", rate.block_kib, rate.depth);
            figures.push(SheetFigure::new(name, "MB/s", rate.mb_per_s, simulated));
        }
        Ok(())
    }

    fn random_iops(&self, access: Access, figure: SheetIops) -> Result<f64, SsdProfileError> {
        let filling = match figure.sustained {
            true => Filling::SteadyState,
            false => Filling::Sequential,
        };
        let mut test = Test::new(self, filling)?;
        let counts = match access {
            Access::Write if figure.sustained => {
                test.bring_out_of_step();
                let block = test.pages_of_a_block_each();
                let writes = |blocks: u64| (blocks * block).max(SUSTAINED);
                (writes(BLOCKS_WARMUP), writes(BLOCKS))
            }
            Access::Write => test.beyond_the_cache(RANDOM_BYTES as u64, (RANDOM_WARMUP, RANDOM)),
            _ => (RANDOM_WARMUP, RANDOM),
        };
        test.random(access, figure.outstanding(), counts);
        Ok(test.requests_per_s())
    }

    fn sequential_mb_per_s(&self, access: Access, rate: SheetRate) -> Result<f64, SsdProfileError> {
        let mut test = Test::new(self, Filling::Sequential)?;
        let bytes = u64::from(rate.block_kib) << 10;
        let counts = (SEQUENTIAL_WARMUP, SEQUENTIAL);
        let counts = match access {
            Access::Write => test.beyond_the_cache(bytes, counts),
            _ => counts,
        };
        test.sequential(access, (bytes / SECTOR_BYTES) as u32, rate.depth, counts);
        Ok(test.requests_per_s() * bytes as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use iosonar_device::SheetFigure;

    use crate::{BUILT_IN, SsdProfile};

    /// Simulates the tests of a profile and returns how many figures were reached.
    fn check(name: &str) -> usize {
        let profile = SsdProfile::load(name, Path::new("."), &toml::Table::new()).unwrap();
        let figures = profile.data_sheet_test().unwrap().unwrap_or_default();
        for figure in &figures {
            let SheetFigure {
                name: what,
                unit,
                stated,
                simulated,
            } = figure;
            println!("{name}: {what}: {stated} {unit}, simulated {simulated:.2}");
            assert!(figure.is_reached(), "{name}: {figure:?}");
        }
        figures.len()
    }

    #[test]
    fn every_ssd_of_a_data_sheet_and_every_volume_has_its_figures() {
        let tested: Vec<usize> = std::thread::scope(|scope| {
            let tests = BUILT_IN
                .iter()
                .map(|(name, _)| scope.spawn(move || check(name)))
                .collect::<Vec<_>>();
            tests.into_iter().map(|test| test.join().unwrap()).collect()
        });
        // A sheet has its capacity, latencies, IOPS and rates; a volume what it lets through.
        assert_eq!(tested.iter().filter(|figures| **figures > 0).count(), 10);
        assert!(tested.iter().sum::<usize>() >= 55, "{tested:?}");
    }
}
