//! A load that is larger than its target: a replay, a calibration and a simulation of it fit together.

mod scratch;

use std::path::{Path, PathBuf};
use std::process::Output;

use scratch::{Scratch, err, iosonar, out, replay_on_file};

/// The sectors of the target, and of the load's span.
const TARGET: u64 = 2048;
const SPAN: u64 = 7000;
/// Enough for a calibration even without those beyond the end of the target.
const REQUESTS: u64 = 1500;

/// Reads and writes all over the span, in whole blocks.
fn load(scratch: &Scratch) -> PathBuf {
    let rows: String = (0..REQUESTS)
        .map(|i| {
            let op = if i % 3 == 0 { 'W' } else { 'R' };
            let sector = i * 1031 % (SPAN / 8) * 8;
            format!("{:.4} ; {sector} ; 16 ; {op}\n", i as f64 * 2e-4)
        })
        .collect();
    scratch.file("large.load", rows)
}

fn run(arguments: &[&str]) -> Output {
    iosonar().args(arguments).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Operation, sector and length of all records, in order of their starts.
fn requests(scratch: &Scratch, records: &Path) -> Vec<(String, u64, u64)> {
    let csv = scratch.path("requests.csv");
    let done = run(&["convert", "-q", "--sort", text(records), "-o", text(&csv)]);
    assert!(done.status.success(), "{}", err(&done));
    let rows = std::fs::read_to_string(&csv).unwrap();
    let field = |row: &str, n: usize| row.split(',').nth(n).unwrap().to_owned();
    rows.lines()
        .skip(1)
        .map(|row| {
            let number = |n| field(row, n).parse().unwrap();
            (field(row, 3), number(1), number(2))
        })
        .collect()
}

#[test]
fn what_is_replayed_on_a_smaller_device_is_calibrated_and_simulated_as_it_was_done() {
    let scratch = Scratch::new();
    let load = load(&scratch);
    let target = scratch.file("target", vec![1; TARGET as usize * 512]);
    for how in ["--wrap", "--fit", "--clip"] {
        for writes in ["--skip-writes", "--write"] {
            let records = scratch.path("records.ios");
            let options = ["-q", writes, how, "-o", text(&records)];
            replay_on_file(&load, &target, &options);
            if how != "--clip" {
                // Also what was left out has the address that it would have had.
                let all = requests(&scratch, &records);
                assert_eq!(all.len() as u64, REQUESTS);
                assert!(
                    all.iter().all(|(_, sector, n)| sector + n <= TARGET),
                    "{how} {writes}"
                );
            }
            let profile = scratch.path("mine.toml");
            let fitted = run(&[
                "calibrate",
                text(&records),
                "--profile",
                "ssd",
                "-q",
                "-o",
                text(&profile),
            ]);
            assert!(
                matches!(fitted.status.code(), Some(0 | 3)),
                "{how} {writes}: {}",
                err(&fitted)
            );
            let scenario = scratch.file("mine-used.toml", "[ssd]\nprofile = \"mine.toml\"\n");
            let sim = run(&["sim", text(&scenario), "--trace", text(&records), "--sort"]);
            assert!(sim.status.success(), "{how} {writes}: {}", err(&sim));
        }
    }
}

#[test]
fn a_simulation_changes_a_load_as_a_replay_does() {
    let scratch = Scratch::new();
    let load = load(&scratch);
    let target = scratch.file("target", vec![1; TARGET as usize * 512]);
    // Blocks of 512 B in both: the disk has as many sectors as the target.
    let disk = |sectors: u64| {
        format!(
            "description = \"small\"\ncylinders = 100\nrevolution_ms = 8.0\ncapacity_sectors = {sectors}\n[transfer]\n\
             outermost_ms_per_sector = 0.01\ninnermost_ms_per_sector = 0.02\n[seek.read]\ntrack_to_track_ms = 0.5\n\
             full_stroke_ms = 4.0\n[seek.write]\ntrack_to_track_ms = 0.6\nfull_stroke_ms = 4.5\n"
        )
    };
    scratch.file("small.toml", disk(TARGET));
    let scenario = scratch.file(
        "disk.toml",
        "[array]\nlevel = \"raid0\"\ndisks = 1\nstripe_unit = \"64KiB\"\nplacement = \"addressed\"\n[disk]\nprofile = \
         \"small.toml\"\n",
    );
    for (how, changed) in [
        ("--wrap", "requests wrapped"),
        ("--fit", "1 500 requests scaled"),
        ("--clip", "requests left out beyond the end"),
    ] {
        let (replayed, simulated) = (scratch.path("replayed.ios"), scratch.path("simulated.ios"));
        let options = ["-q", "--write", how, "-o", text(&replayed)];
        replay_on_file(&load, &target, &options);
        let sim = run(&[
            "sim",
            text(&scenario),
            "--trace",
            text(&load),
            how,
            "--unstable",
            "--records",
            text(&simulated),
        ]);
        assert!(sim.status.success(), "{how}: {}", err(&sim));
        assert!(err(&sim).contains(changed), "{how}: {}", err(&sim));
        let mut there = requests(&scratch, &replayed);
        if how == "--clip" {
            // The replay keeps records of what it left out.
            there.retain(|(_, sector, n)| sector + n <= TARGET);
        }
        assert_eq!(there, requests(&scratch, &simulated), "{how}");
    }
}

#[test]
fn a_load_that_does_not_fit_is_refused_with_what_the_scenario_has() {
    let scratch = Scratch::new();
    let load = scratch.file("far.load", format!("0 ; {} ; 8 ; R\n", 1_u64 << 40));
    let array = |disks: u32| {
        format!(
            "[array]\nlevel = \"raid0\"\ndisks = {disks}\n[disk]\nprofile = \"seagate-st3500630ns\"\n"
        )
    };
    for (scenario, words) in [
        (
            "[ssd]\nprofile = \"nvme-gen4-tlc\"\n".to_owned(),
            "beyond the end of the SSD at sector",
        ),
        (array(1), "beyond the end of the disk at sector 976773"),
        (array(4), "beyond the end of the array at sector"),
    ] {
        let scenario = scratch.file("scenario.toml", scenario);
        let refused = run(&["sim", text(&scenario), "--trace", text(&load)]);
        let complaint = err(&refused);
        assert_eq!(refused.status.code(), Some(1), "{complaint}");
        assert!(
            complaint.contains(words)
                && complaint.contains("--set load.beyond=fit (or wrap, or clip)"),
            "{complaint}"
        );
        let wrapped = run(&["sim", text(&scenario), "--trace", text(&load), "--wrap"]);
        assert!(wrapped.status.success(), "{}", err(&wrapped));
        assert!(out(&wrapped).contains("response time"), "{}", out(&wrapped));
    }
    // A synthetic load lies within the array anyway.
    let synthetic = scratch.file(
        "synthetic.toml",
        format!("[load]\nrequests = 10\narrivals = {{ poisson_per_s = 1.0 }}\nsize = {{ blocks = 1 }}\n{}", array(4)),
    );
    let refused = run(&["sim", text(&synthetic), "--wrap"]);
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    assert!(err(&refused).contains("need a trace"), "{}", err(&refused));
}
