//! Calibration finds the buffer and the electronics of the validated drives in simulated records of them.

use std::fs;
use std::path::Path;

use iosonar_device::Access;
use iosonar_disk_model::{DiskProfile, Mechanics, SeekPoints};
use iosonar_scenario::{Overrides, Prepared};
use iosonar_sim_core::Seed;
use iosonar_study::calibrate::{Observed, calibrate_disk};
use iosonar_trace::{Batch, Metadata, Outcome, Record, Request, input, output};
use iosonar_units::{Nanos, Sectors};
use iosonar_workload::{ProbeLoad, ProbeShape};

/// Writes requests as a load, simulates it on a profile, and reads the records.
fn recorded(load: impl Iterator<Item = Request>, profile: &DiskProfile) -> Observed {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut writer = output::create(&path("load.ios"), &Metadata::default()).unwrap();
    let mut batch = Batch::default();
    for request in load {
        batch.push(&Record {
            request,
            outcome: Outcome::default(),
        });
        if batch.len() == Batch::ROWS {
            writer.write(&batch).unwrap();
            batch.clear();
        }
    }
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    fs::write(path("truth.toml"), profile.to_toml()).unwrap();
    let scenario = "seed = 7\n[load]\ntrace = \"load.ios\"\n[array]\nlevel = \"raid0\"\ndisks = 1\nstripe_unit = \"64MiB\"\n\
                    [disk]\nprofile = \"truth.toml\"\nmodel = \"positional\"\n";
    let origin = path("scenario.toml");
    let simulation = Prepared::from_toml(scenario, &origin, &Overrides::default()).unwrap();
    let mut writer = output::create(&path("records.ios"), &Metadata::default()).unwrap();
    simulation.run(1, Some(&mut *writer)).unwrap();
    writer.finish().unwrap();
    Observed::read(&mut *input::open(&path("records.ios")).unwrap()).unwrap()
}

fn probe(
    profile: &DiskProfile,
    requests: usize,
    write_share: f64,
) -> impl Iterator<Item = Request> + use<> {
    let shape = ProbeShape {
        spacing: Nanos::from_millis(60),
        block: Sectors::new(2),
        write_share,
        space: profile.capacity_sectors >> 17 << 17,
    };
    ProbeLoad::new(shape, &Seed::new(5)).take(requests)
}

/// The geometry of a drive, and nothing else that is right: it turns more slowly, seeks by another curve, and has neither
/// buffer nor electronics.
fn geometry_of(truth: &DiskProfile) -> DiskProfile {
    let points = SeekPoints {
        track_to_track_ms: 2.0,
        full_stroke_ms: 20.0,
        measured: Vec::new(),
    };
    let mut start = truth.clone();
    start.revolution_ms *= 1.013;
    start.transfer.outermost_ms_per_sector *= 1.013;
    start.transfer.innermost_ms_per_sector *= 1.013;
    (start.seek.curve, start.seek.write_settle_ms) = (None, 0.0);
    (start.seek.read, start.seek.write) = (points.clone(), points);
    (start.cache, start.overheads, start.bus) = (None, None, None);
    start
}

fn check(name: &str, writes: f64) {
    let truth = DiskProfile::load(name, Path::new(".")).unwrap();
    let observed = recorded(probe(&truth, 100_000, writes), &truth);
    let begun = std::time::Instant::now();
    let fit = calibrate_disk(&observed, &geometry_of(&truth)).unwrap();
    println!("== {name}: {:?} in {:?}", fit.how, begun.elapsed());
    println!(
        "{:.9} / {:.9}",
        fit.profile.revolution_ms, truth.revolution_ms
    );
    println!("cache {:?}\ntruth {:?}", fit.profile.cache, truth.cache);
    println!(
        "over {:?}\ntruth {:?}",
        fit.profile.overheads, truth.overheads
    );
    println!("bus {:?}\ntruth {:?}", fit.profile.bus, truth.bus);
    let Ok(figures) = &fit.drive else {
        println!("{:?}", fit.drive);
        return;
    };
    println!(
        "{:?} {:?}",
        figures.hit_command_ms, figures.read_ms_per_sector
    );
    println!("{:?} {:?}", figures.segments, figures.segment_sectors);
    println!(
        "miss {:?} {:?}",
        figures.miss_command_ms, figures.write_command_ms
    );
    let (mine, its) = (Mechanics::new(&fit.profile), Mechanics::new(&truth));
    for d in [
        1, 2, 3, 5, 8, 13, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000,
    ] {
        if d < truth.cylinders {
            let (a, b) = (
                mine.seek_ms(d, false, Access::Read),
                its.seek_ms(d, false, Access::Read),
            );
            print!(" {d}:{a:.3}/{b:.3}={:+.1}%", 100.0 * (a / b - 1.0));
        }
    }
    println!(
        "\nKS {:.4} demerit {:.3} training {:.4}, before {:.3}",
        fit.held_out.ks, fit.held_out.demerit_ms, fit.training.ks, fit.before.ks
    );
}

#[test]
fn all() {
    for name in [
        "seagate-st32171w",
        "seagate-st39102lw",
        "ibm-18es",
        "quantum-atlas-10k",
        "hp-c2247a",
    ] {
        check(name, std::env::var("W").map_or(0.0, |w| w.parse().unwrap()));
    }
}
