//! Calibration finds the buffer and the electronics of the validated drives in simulated records of them.

use std::fs;
use std::path::Path;

use iosonar_device::{Access, Provenance};
use iosonar_disk_model::{DiskProfile, Mechanics, SeekPoints};
use iosonar_scenario::{Overrides, Prepared};
use iosonar_sim_core::Seed;
use iosonar_study::calibrate::{Figure, How, Missing, Observed, calibrate_disk};
use iosonar_trace::{Batch, Metadata, Outcome, Record, Request, input, output};
use iosonar_units::{Nanos, Sector, Sectors};
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

/// A value is that of the truth within 5 %, and lies in its own range.
fn holds(what: &str, figure: Figure, truth: f64) {
    let found = figure.unwrap_or_else(|missing| panic!("{what}: {missing}"));
    assert!(
        (found.value / truth - 1.0).abs() < 0.05,
        "{what}: {found:?}, not {truth}"
    );
    assert!(
        found.low <= found.value && found.value <= found.high && found.requests > 0,
        "{what}: {found:?}"
    );
}

/// How far the seek curve of reads is from the true one, as a share: on average over distances, and at most.
fn seeks_off(found: &DiskProfile, truth: &DiskProfile) -> (f64, f64) {
    let (found, its) = (Mechanics::new(found), Mechanics::new(truth));
    let distances = [
        1, 2, 3, 5, 8, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000,
    ];
    let off: Vec<f64> = distances
        .iter()
        .filter(|d| **d < truth.cylinders)
        .map(|&d| {
            let at = |mechanics: &Mechanics| mechanics.seek_ms(d, false, Access::Read);
            (at(&found) / at(&its) - 1.0).abs()
        })
        .collect();
    (
        off.iter().sum::<f64>() / off.len() as f64,
        off.iter().copied().fold(0.0, f64::max),
    )
}

/// Calibrates simulated records of a drive, with `read_segments` for reads, and compares with the drive.
fn check(name: &str, read_segments: f64) {
    let truth = DiskProfile::load(name, Path::new(".")).unwrap();
    let observed = recorded(probe(&truth, 100_000, 0.0), &truth);
    let fit = calibrate_disk(&observed, &geometry_of(&truth)).unwrap();
    assert!(
        matches!(fit.how, How::Buffer { coherence } if coherence > 0.95),
        "{:?}",
        fit.how
    );
    let figures = fit.drive.as_ref().unwrap();
    println!("{name}: KS {:.4}, {figures:?}", fit.held_out.ks);
    let (overheads, bus, cache) = (
        truth.overheads.clone().unwrap(),
        truth.bus.clone().unwrap(),
        truth.cache.clone().unwrap(),
    );
    // What the host sees of a hit: the parts of it follow on each other without data between.
    let hit = overheads.read_hit_after_read_ms
        + overheads.data_preparation_ms
        + overheads.read_completion_ms;
    holds("hit", figures.hit_command_ms[0], hit);
    holds("bus", figures.read_ms_per_sector, bus.read_ms_per_sector);
    holds("segments", figures.segments, read_segments);
    holds(
        "segment",
        figures.segment_sectors,
        cache.segment_sectors as f64,
    );
    // From the time of a revolution over that of the recording.
    assert!((fit.profile.revolution_ms / truth.revolution_ms - 1.0).abs() < 1e-6);
    let (mean, most) = seeks_off(&fit.profile, &truth);
    println!("{name}: seeks off by {mean:.4} on average, {most:.4} at most");
    // The measured curves jump by up to 10 % from one point to the next, and a point here stands on 130 reads or more,
    // which leave R / 130 open: 3 % of a short seek.
    assert!(mean < 0.03 && most < 0.1, "{mean} {most}");
    assert!(fit.held_out.ks < 0.03, "{}", fit.held_out.ks);
    assert!(fit.before.ks > 0.1, "{}", fit.before.ks);
    // Without writes nothing is said of them.
    assert_eq!(figures.write_command_ms, [Err(Missing::Writes); 2]);
}

#[test]
fn the_buffer_of_a_barracuda_is_found() {
    check("seagate-st32171w", 3.0);
}

#[test]
fn the_buffer_of_a_cheetah_is_found() {
    check("seagate-st39102lw", 3.0);
}

#[test]
fn the_buffer_of_an_ultrastar_is_found() {
    // Of its 7 segments one is for writes alone.
    check("ibm-18es", 6.0);
}

#[test]
fn the_buffer_of_an_atlas_is_found() {
    check("quantum-atlas-10k", 10.0);
}

#[test]
fn the_buffer_of_a_c2247a_is_found() {
    // Of its 2 segments one is for writes alone.
    check("hp-c2247a", 1.0);
}

#[test]
fn with_writes_their_commands_are_found_and_the_profile_says_what_it_stands_on() {
    let truth = DiskProfile::load("ibm-18es", Path::new(".")).unwrap();
    let observed = recorded(probe(&truth, 40_000, 0.2), &truth);
    let fit = calibrate_disk(&observed, &geometry_of(&truth)).unwrap();
    let (figures, overheads) = (fit.drive.as_ref().unwrap(), truth.overheads.unwrap());
    holds(
        "after a read",
        figures.write_command_ms[0],
        overheads.write_hit_after_read_ms,
    );
    holds(
        "after a write",
        figures.write_command_ms[1],
        overheads.write_hit_after_write_ms,
    );
    holds(
        "hit after a write",
        figures.hit_command_ms[1],
        overheads.read_hit_after_write_ms,
    );
    holds(
        "bus",
        figures.write_ms_per_sector,
        truth.bus.unwrap().write_ms_per_sector,
    );
    assert_eq!(figures.write_seek, Err(Missing::FastWrites));
    assert!(fit.held_out.ks < 0.03, "{}", fit.held_out.ks);
    let read = DiskProfile::parse(&fit.text("records.ios", "a line"), "x").unwrap();
    let Some(Provenance::Calibrated {
        parameters,
        not_identified,
        ..
    }) = read.provenance
    else {
        panic!("{:?}", read.provenance);
    };
    let hit = parameters
        .iter()
        .find(|p| p.key == "overheads.read_hit_after_read_ms")
        .unwrap();
    assert!(
        hit.requests > 1000 && hit.low <= 0.082 && 0.082 <= hit.high,
        "{hit:?}"
    );
    assert!(
        not_identified.iter().any(|n| n.key == "seek.write"),
        "{not_identified:?}"
    );
}

/// Reads of these sectors from these on, one every 60 ms.
fn at(reads: impl Iterator<Item = (u64, u32)>) -> impl Iterator<Item = Request> {
    (0_u64..).zip(reads).map(|(i, (sector, sectors))| Request {
        // Never in step with the platter.
        start: Nanos::new(i * 60_000_000 + hashed(i) % 17_000_000),
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        ..Request::default()
    })
}

fn hashed(n: u64) -> u64 {
    iosonar_sim_core::hashed_bits(1, n)
}

#[test]
fn what_is_not_identified_stays_as_it_was() {
    let truth = DiskProfile::load("seagate-st32171w", Path::new(".")).unwrap();
    // Reads of one size, each second one of the sectors behind the one before.
    let one_size = (0..6000).map(|n| (hashed(n / 2) % 4_000_000 / 8 * 8 + n % 2 * 8, 8));
    let mut start = geometry_of(&truth);
    start.cache = truth.cache.clone();
    start.overheads = truth.overheads.clone();
    start.bus = truth.bus.clone();
    let overheads = start.overheads.as_mut().unwrap();
    overheads.write_hit_after_read_ms = 0.77;
    overheads.read_miss_after_write_ms = 0.66;
    let fit = calibrate_disk(&recorded(at(one_size), &truth), &start).unwrap();
    assert!(matches!(fit.how, How::Buffer { .. }), "{:?}", fit.how);
    let figures = fit.drive.as_ref().unwrap();
    assert_eq!(figures.hit_command_ms, [Err(Missing::OneSize); 2]);
    assert_eq!(figures.read_ms_per_sector, Err(Missing::OneSize));
    let value = |profile: &DiskProfile, key: &str| {
        let table: toml::Table = profile.to_toml().parse().unwrap();
        let first = toml::Value::Table(table);
        key.split('.').fold(first, |value, key| value[key].clone())
    };
    let mut kept = 0;
    for parameter in fit.parameters().iter().filter(|p| p.figure.is_err()) {
        let key = parameter.key;
        assert_eq!(value(&fit.profile, key), value(&start, key), "{key}");
        kept += 1;
    }
    assert!(kept >= 7, "{kept}");
}

#[test]
fn what_a_recording_does_not_hold_is_not_identified() {
    let truth = DiskProfile::load("seagate-st32171w", Path::new(".")).unwrap();
    let fitted = |load: &mut dyn Iterator<Item = Request>, profile: &DiskProfile| {
        calibrate_disk(&recorded(load, profile), &geometry_of(&truth)).unwrap()
    };
    let anywhere = |n: u64| (hashed(n) % 4_000_000 / 8 * 8, 8 << (n % 2));
    // Random reads only: nothing is read again.
    let random = fitted(&mut at((0..4000).map(anywhere)), &truth);
    assert_eq!(random.drive.err(), Some(Missing::Rereads));
    // After each read the sectors behind it: hits, but nothing that says how much the buffer holds.
    let behind = (0..6000).map(|n| {
        let (sector, sectors) = anywhere(n / 2);
        (sector + n % 2 * u64::from(sectors), sectors)
    });
    let figures = fitted(&mut at(behind), &truth).drive.unwrap();
    assert!(figures.hit_command_ms[0].is_ok() && figures.read_ms_per_sector.is_ok());
    assert_eq!(figures.segments, Err(Missing::Insensitive));
    assert_eq!(figures.segment_sectors, Err(Missing::Insensitive));
    // A drive without a buffer, under the load that would show one.
    let bare = DiskProfile {
        cache: None,
        overheads: None,
        bus: None,
        ..truth.clone()
    };
    let without = fitted(&mut probe(&bare, 6000, 0.0), &bare);
    assert_eq!(without.drive.err(), Some(Missing::Hits));
    // Several at a time.
    let crowded = probe(&truth, 6000, 0.0).map(|request| Request {
        start: Nanos::new(request.start.get() / 8),
        ..request
    });
    let crowded = fitted(&mut { crowded }, &truth);
    assert_eq!(crowded.drive.err(), Some(Missing::OneAtATime));
}
