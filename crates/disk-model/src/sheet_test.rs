//! The data sheet test: the figures of a sheet against those of the drive that was made from it.

use std::sync::Arc;

use iosonar_device::{Access, Device, Job, RequestId, SheetFigure, Station};
use iosonar_sim_core::Seed;
use iosonar_units::{Nanos, Sector, Sectors};

use crate::{DiskProfile, Mechanics, PositionalDisk, Queueing};

/// Requests of a random test: the standard error of a mean seek is then below half a per cent.
const RANDOM: u32 = 20_000;
/// What a sequential test transfers, in requests of [`SEQUENTIAL_SECTORS`].
const SEQUENTIAL: u32 = 512;
/// 1 MiB.
const SEQUENTIAL_SECTORS: u32 = 2048;

impl DiskProfile {
    /// Simulates the tests that the drive's data sheet reports; `None` if it was not made from one.
    ///
    /// Sustained rates are those of sequential reads of 1 MiB, one at a time, at the two ends of the disk. Access times
    /// are those of single sectors at random places, without the buffer: the average seek and half a turn.
    pub fn data_sheet_test(&self) -> Option<Vec<SheetFigure>> {
        let sheet = self.data_sheet.as_ref()?;
        let half_a_turn = self.revolution_ms / 2.0;
        let bare = Self {
            cache: None,
            overheads: None,
            bus: None,
            shingled: None,
            ..self.clone()
        };
        let tested = u64::from(SEQUENTIAL * SEQUENTIAL_SECTORS);
        let last = self.capacity_sectors.saturating_sub(tested);
        let mut figures = vec![
            SheetFigure::new(
                "capacity",
                "GB",
                sheet.capacity_gb,
                self.capacity_sectors as f64 * 512.0 / 1e9,
            ),
            SheetFigure::new(
                "sustained rate, outermost tracks",
                "MB/s",
                sheet.outer_mb_per_s,
                sequential_mb_per_s(self, 0),
            ),
        ];
        if let Some(stated) = sheet.inner_mb_per_s {
            figures.push(SheetFigure::new(
                "sustained rate, innermost tracks",
                "MB/s",
                stated,
                sequential_mb_per_s(self, last),
            ));
        }
        if let Some(seek) = sheet.read_seek_ms {
            figures.push(SheetFigure::new(
                "average seek and latency, reads",
                "ms",
                seek + half_a_turn,
                random_ms(&bare, Access::Read),
            ));
        }
        if let Some(seek) = sheet.write_seek_ms {
            figures.push(SheetFigure::new(
                "average seek and latency, writes",
                "ms",
                seek + half_a_turn,
                random_ms(&bare, Access::Write),
            ));
        }
        Some(figures)
    }
}

/// A disk that has its requests one at a time, each as soon as the one before is done.
struct OneAtATime {
    disk: Station<PositionalDisk>,
    now: Nanos,
    done: u64,
}

impl OneAtATime {
    fn new(profile: &DiskProfile) -> Self {
        let mechanics = Arc::new(Mechanics::new(profile));
        let disk = PositionalDisk::at_angle(&mechanics, Queueing::default(), 0.0);
        Self {
            disk: Station::new(disk),
            now: Nanos::ZERO,
            done: 0,
        }
    }

    fn serve(&mut self, access: Access, sector: u64, sectors: u32) {
        let request = RequestId(self.done);
        self.done += 1;
        let job = Job::new(request, access, Sector::new(sector), Sectors::new(sectors));
        self.disk.submit(job, self.now);
        let mut at = self.disk.start_next(self.now);
        while let Some(instant) = at {
            self.now = instant;
            if self.disk.complete(instant, Nanos::MAX).is_some() {
                return;
            }
            at = self.disk.start_next(instant);
        }
        unreachable!("a disk serves what it has taken");
    }
}

fn sequential_mb_per_s(profile: &DiskProfile, first: u64) -> f64 {
    let mut disk = OneAtATime::new(profile);
    let sector = |i: u32| first + u64::from(i) * u64::from(SEQUENTIAL_SECTORS);
    // The first request has to find its place.
    disk.serve(Access::Read, sector(0), SEQUENTIAL_SECTORS);
    let begin = disk.now;
    for i in 1..SEQUENTIAL {
        disk.serve(Access::Read, sector(i), SEQUENTIAL_SECTORS);
    }
    let bytes = f64::from(SEQUENTIAL - 1) * f64::from(SEQUENTIAL_SECTORS) * 512.0;
    bytes / (disk.now - begin).as_secs_f64() / 1e6
}

fn random_ms(profile: &DiskProfile, access: Access) -> f64 {
    let mut disk = OneAtATime::new(profile);
    let mut places = Seed::new(1).stream("data-sheet", "places");
    for _ in 0..RANDOM {
        // Below the capacity, which is exact as a float: a uniform number is less than 1.
        let sector = (places.uniform() * profile.capacity_sectors as f64) as u64;
        disk.serve(access, sector, 1);
    }
    disk.now.as_millis_f64() / f64::from(RANDOM)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use iosonar_device::{Access, SheetFigure};

    use super::{random_ms, sequential_mb_per_s};
    use crate::{BUILT_IN, DataSheet, DiskProfile, SeekLaw};

    #[test]
    fn every_drive_of_a_data_sheet_has_its_figures() {
        let mut tested = 0;
        for (name, _) in BUILT_IN {
            let profile = DiskProfile::load(name, Path::new(".")).unwrap();
            for figure in profile.data_sheet_test().into_iter().flatten() {
                tested += 1;
                println!(
                    "{name}: {} {} {:.2}",
                    figure.name, figure.stated, figure.simulated
                );
                assert!(figure.is_reached(), "{name}: {figure:?}");
            }
        }
        assert!(tested > 0);
    }

    /// 20,000 tracks: an outer zone of 100 sectors in 10 ms, and an inner one of 50. Every seek takes 4 ms.
    fn plain() -> DiskProfile {
        let text = "description = 'made up'\ncylinders = 20000\nrevolution_ms = 10.0\ncapacity_sectors = 1500000\n\
            [transfer]\noutermost_ms_per_sector = 0.1\ninnermost_ms_per_sector = 0.2\n\
            [seek]\ncurve = { kind = 'constant', seek_ms = 4.0 }\n\
            [geometry]\nsurfaces = 1\nhead_switch_ms = 0.0\ncylinder_switch_ms = 0.0\ntrack_skew_ms = 0.0\n\
            cylinder_skew_ms = 0.0\nzones = [{ first_cylinder = 0, sectors_per_track = 100 },\n\
            { first_cylinder = 7000, sectors_per_track = 50 }]\n";
        DiskProfile::parse(text, "made up").unwrap()
    }

    #[test]
    fn a_sequential_test_runs_at_the_rate_of_its_tracks() {
        // 512 B in 0.1 ms, and in 0.2 ms.
        let (outer, inner) = (5.12, 2.56);
        let mut profile = plain();
        // An arm that needs no time: a request may begin with a track.
        profile.seek.curve = Some(SeekLaw::Constant { seek_ms: 0.0 });
        profile.cylinders = 30_000;
        profile.geometry.zones[1].first_cylinder = 12_000;
        let seen = sequential_mb_per_s(&profile, 0);
        assert!((seen / outer - 1.0).abs() < 1e-6, "{seen}");
        profile.geometry.zones[1].first_cylinder = 1;
        let seen = sequential_mb_per_s(&profile, 100);
        assert!((seen / inner - 1.0).abs() < 1e-6, "{seen}");
    }

    #[test]
    fn a_random_test_takes_a_seek_half_a_turn_and_a_sector() {
        // 0.1 ms per sector in the outer zone, which has 700,000 of 1,350,000 sectors, and 0.2 in the inner one. Of
        // 20,000 rotations the mean is off by 10 / sqrt(12 * 20,000) = 0.02 ms.
        let profile = DiskProfile {
            capacity_sectors: 1_350_000,
            ..plain()
        };
        let sector = (0.1 * 700.0 + 0.2 * 650.0) / 1350.0;
        for access in [Access::Read, Access::Write] {
            let seen = random_ms(&profile, access);
            assert!((seen - (4.0 + 5.0 + sector)).abs() < 0.08, "{seen}");
        }
    }

    #[test]
    fn the_stated_figures_of_a_test_are_those_of_the_sheet() {
        let sheet = DataSheet {
            capacity_gb: 300.0,
            rpm: 15_000.0,
            outer_mb_per_s: 200.0,
            inner_mb_per_s: Some(110.0),
            read_seek_ms: Some(3.4),
            write_seek_ms: Some(3.9),
            track_to_track_ms: Some(0.2),
            heads: Some(4),
            cache_mib: Some(16),
            interface_mb_per_s: None,
        };
        let tested = |sheet: &DataSheet| {
            let profile = DiskProfile::from_data_sheet(sheet, "made up", "x.toml").unwrap();
            let figures = profile.data_sheet_test().unwrap();
            assert!(figures.iter().all(SheetFigure::is_reached), "{figures:?}");
            let stated = |figure: &SheetFigure| (figure.unit, figure.stated);
            figures.iter().map(stated).collect::<Vec<_>>()
        };
        // A turn takes 4 ms.
        let all = [
            ("GB", 300.0),
            ("MB/s", 200.0),
            ("MB/s", 110.0),
            ("ms", 5.4),
            ("ms", 5.9),
        ];
        assert_eq!(tested(&sheet), all);
        let least = DataSheet {
            inner_mb_per_s: None,
            read_seek_ms: None,
            write_seek_ms: None,
            track_to_track_ms: None,
            ..sheet
        };
        assert_eq!(tested(&least), all[..2]);
        assert_eq!(plain().data_sheet_test(), None);
    }
}
