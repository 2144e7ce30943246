//! The paper's drive against its distributions by quadrature: seek, transfer, service, and the best of
//! several positionings, at 238 places (`drive.csv`).
//!
//! Of 400 000 draws the share that is not above a time is binomial; nothing else is assumed. At most 2 % of
//! the places may be off by more than 3 standard errors, none by more than 5.

use std::path::Path;

use iosonar_device::{Access, Positioning};
use iosonar_disk_model::{DiskLaws, DiskProfile, SampledDisk};
use iosonar_sim_core::Seed;
use iosonar_units::Sectors;

const DRAWS: usize = 400_000;

fn draw(what: &str, access: Access, n: u32, seed: u64) -> Vec<f64> {
    let profile = DiskProfile::load("seagate-st3500630ns", Path::new(".")).unwrap();
    let mut disk = SampledDisk::new(&DiskLaws::new(&profile), &Seed::new(seed), "disk/0");
    let mut seek = Seed::new(seed).stream("disk/0", "seek");
    let distance = iosonar_disk_model::SeekDistance::new(&profile.zones());
    let curves = profile.seek_curves();
    let stroke = f64::from(profile.cylinders - 1);
    let fresh = Positioning::Fresh;
    let mut draws: Vec<f64> = (0..DRAWS)
        .map(|_| match what {
            "seek" => curves
                .of(access)
                .time_ms(distance.draw_root(&mut seek).powi(2) * stroke),
            "transfer" => disk.pace().time(Sectors::new(n)).as_millis_f64(),
            "positioning" => disk.positioning(fresh, access, n as usize).as_millis_f64(),
            _ => {
                let positioning = disk.positioning(fresh, access, 1);
                (positioning + disk.pace().time(Sectors::new(n))).as_millis_f64()
            }
        })
        .collect();
    draws.sort_unstable_by(f64::total_cmp);
    draws
}

#[test]
fn every_distribution_is_that_of_quadrature() {
    let rows: Vec<Vec<&str>> = include_str!("drive.csv")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    let mut errors = Vec::new();
    // A sample for all rows of a kind.
    for (kind, seed) in rows.chunk_by(|a, b| a[..3] == b[..3]).zip(1..) {
        let access = if kind[0][1] == "read" {
            Access::Read
        } else {
            Access::Write
        };
        let draws = draw(kind[0][0], access, kind[0][2].parse().unwrap(), seed);
        for row in kind {
            let (t, share): (f64, f64) = (row[3].parse().unwrap(), row[4].parse().unwrap());
            let seen = draws.partition_point(|&x| x <= t) as f64 / DRAWS as f64;
            let stderr = (share * (1.0 - share) / DRAWS as f64).sqrt();
            // A share below one in the number of draws says nothing.
            if share * DRAWS as f64 >= 10.0 && (1.0 - share) * DRAWS as f64 >= 10.0 {
                let off = (seen - share) / stderr;
                if off.abs() > 2.5 {
                    println!("{row:?}: {seen}, off by {off:.2}");
                }
                errors.push(off);
            }
        }
    }
    assert!(errors.len() > 170, "{}", errors.len());
    let beyond = |limit: f64| errors.iter().filter(|e| e.abs() > limit).count();
    assert!(beyond(3.0) * 50 <= errors.len(), "{} beyond 3", beyond(3.0));
    assert_eq!(beyond(5.0), 0);
}
