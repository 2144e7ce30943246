//! Calibration finds the parameters that records were simulated with.

use std::fs;
use std::path::Path;

use iosonar_disk_model::DiskProfile;
use iosonar_scenario::{Overrides, Prepared};
use iosonar_study::calibrate::{How, Observed, calibrate_disk, calibrate_ssd};
use iosonar_trace::{Metadata, input, output};

/// Simulates a scenario with files beside it, and reads its records.
fn recorded(scenario: &str, files: &[(&str, &str)]) -> Observed {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let origin = folder.path().join("scenario.toml");
    let simulation = Prepared::from_toml(scenario, &origin, &Overrides::default()).unwrap();
    let path = folder.path().join("records.ios");
    let mut writer = output::create(&path, &Metadata::default()).unwrap();
    simulation.run(1, Some(&mut *writer)).unwrap();
    writer.finish().unwrap();
    Observed::read(&mut *input::open(&path).unwrap()).unwrap()
}

const BUILT_IN: &str = "seagate-st3500630ns";

fn built_in() -> DiskProfile {
    DiskProfile::load(BUILT_IN, Path::new(".")).unwrap()
}

/// The built-in profile turning a little slower, with sectors where they were, and other seeks.
fn truth() -> (String, f64, [(f64, f64); 2]) {
    let turn = 8.4137_f64;
    let factor = turn / 8.33;
    let text = format!(
        "description = \"truth\"\ncylinders = 60801\nrevolution_ms = {turn}\ncapacity_sectors = 976773168\n\
         [transfer]\noutermost_ms_per_sector = {}\ninnermost_ms_per_sector = {}\n\
         [seek.read]\ntrack_to_track_ms = 1.1\nfull_stroke_ms = 15.2\n\
         [seek.write]\ntrack_to_track_ms = 1.3\nfull_stroke_ms = 16.6\n\
         [geometry]\nsurfaces = 16\nhead_switch_ms = 0.8\ntrack_skew_ms = {}\ncylinder_skew_ms = {}\n",
        0.005_976 * factor,
        0.012_064 * factor,
        0.8 * factor,
        0.8 * factor,
    );
    (text, turn, [(1.1, 15.2), (1.3, 16.6)])
}

fn scenario(load: &str, model: &str) -> String {
    // A sampled disk has addresses too, which mean nothing to it.
    format!(
        "seed = 7\n[load]\n{load}\nblock = \"4KiB\"\n[array]\nlevel = \"raid0\"\ndisks = 1\nstripe_unit = \"1MiB\"\nplacement = \"addressed\"\n\
         [disk]\nprofile = \"truth.toml\"\nmodel = \"{model}\"\n"
    )
}

#[test]
fn the_rotation_and_the_seek_curves_of_a_disk_are_found() {
    let (text, turn, curves) = truth();
    // Some requests wait for each other, some find the disk idle.
    let load = "requests = 20000\narrivals = { poisson_per_s = 40.0 }\nsize = { blocks = 2 }\nread_share = 0.6";
    let observed = recorded(&scenario(load, "positional"), &[("truth.toml", &text)]);
    let fit = calibrate_disk(&observed, &built_in()).unwrap();
    assert!(
        matches!(fit.how, How::Angles { coherence, .. } if coherence > 0.99),
        "{:?}",
        fit.how
    );
    let off = |found: f64, true_value: f64| (found / true_value - 1.0).abs();
    assert!(
        off(fit.profile.revolution_ms, turn) < 1e-6,
        "{}",
        fit.profile.revolution_ms
    );
    for (points, (least, most)) in [&fit.profile.seek.read, &fit.profile.seek.write]
        .into_iter()
        .zip(curves)
    {
        // What the polygons leave open is some R / n at the mean distance, and a few times that at one track.
        assert!(off(points.track_to_track_ms, least) < 0.01, "{points:?}");
        assert!(off(points.full_stroke_ms, most) < 0.001, "{points:?}");
    }
    // On the half that nothing was learned from.
    assert!(
        fit.held_out.relative < 0.01 && fit.held_out.ks < 0.01,
        "{:?}",
        fit.held_out.demerit_ms
    );
    assert!(fit.before.relative > 5.0 * fit.held_out.relative);
}

#[test]
fn where_places_explain_nothing_the_distribution_decides() {
    let (text, ..) = truth();
    let load = "requests = 20000\narrivals = { poisson_per_s = 20.0 }\nsize = { blocks = 2 }";
    let observed = recorded(&scenario(load, "sampled"), &[("truth.toml", &text)]);
    let fit = calibrate_disk(&observed, &built_in()).unwrap();
    assert!(
        matches!(fit.how, How::Distribution { coherence } if coherence < 0.1),
        "{:?}",
        fit.how
    );
    // Two samples of 10 000 are 0.02 apart in one case of a hundred.
    assert!(
        fit.held_out.ks < 1.63 * (2.0_f64 / 10_000.0).sqrt(),
        "{}",
        fit.held_out.ks
    );
    assert!(
        fit.held_out.demerit_ms < fit.before.demerit_ms,
        "{:?}",
        fit.how
    );
}

#[test]
fn records_of_another_disk_are_refused() {
    let (text, ..) = truth();
    let load = "requests = 1000\narrivals = { poisson_per_s = 20.0 }\nsize = { blocks = 2 }";
    let observed = recorded(&scenario(load, "sampled"), &[("truth.toml", &text)]);
    let small = DiskProfile {
        capacity_sectors: 1000,
        cylinders: 600,
        ..built_in()
    };
    let error = calibrate_disk(&observed, &small).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("the profile describes a different disk"),
        "{error}"
    );
}

#[test]
fn the_service_times_and_channels_of_an_ssd_are_found() {
    const CHANNELS: u32 = 4;
    // Reads with two humps, writes with a long tail.
    let truth = format!(
        "description = \"truth\"\ninterface = \"nvme\"\nstorage = \"measured\"\n\
         [driver]\nsubmit_us = 0.0\ncomplete_us = 0.0\ninterrupt_us = 0.0\nselect_us = 0.0\ndoorbell_us = 0.0\n\
         [nvme]\nqueues = 1\ndepth = 65535\nmost_commands = 65535\nmost_transfer = \"64MiB\"\n\
         [pcie]\ndescriptor_setup_us = 0.0\nto_host_setup_us = 0.0\nfrom_host_setup_us = 0.0\n\
         to_host_mb_per_s = inf\nfrom_host_mb_per_s = inf\n[controller]\ncommand_us = 0.0\n\
         [measured]\ncapacity = \"64GiB\"\nchannels = {CHANNELS}\nread_us_per_kib = 0.5\n\
         read_quantiles = [[0.0, 60.0], [0.6, 90.0], [0.7, 400.0], [1.0, 500.0]]\n\
         write_quantiles = [[0.0, 15.0], [0.95, 30.0], [0.99, 300.0], [1.0, 3000.0]]\n"
    );
    let scenario = "seed = 3\n[load]\nrequests = 60000\narrivals = { poisson_per_s = 14000.0 }\nblock = \"4KiB\"\n\
        size = { table = [{ blocks = 1, share = 0.5 }, { blocks = 16, share = 0.5 }] }\nread_share = 0.7\n\
        [ssd]\nprofile = \"truth.toml\"\n";
    let observed = recorded(scenario, &[("truth.toml", &truth)]);
    let fit = calibrate_ssd(&observed, None).unwrap();
    assert_eq!(fit.service.channels, CHANNELS, "{:?}", fit.tried);
    assert!(
        (fit.service.us_per_kib[0] - 0.5).abs() < 0.2,
        "{:?}",
        fit.service.us_per_kib
    );
    // Services were drawn with these laws: of 20 000 reads and 9 000 writes quantiles are known to a few per cent of
    // a probability.
    let share_below = |kind: usize, us: f64| {
        let quantiles: &Vec<(f64, f64)> = &fit.service.quantiles[kind];
        let above = quantiles.iter().position(|q| q.1 >= us).unwrap();
        let ((p, low), (q, high)) = (quantiles[above - 1], quantiles[above]);
        p + (q - p) * (us - low) / (high - low)
    };
    assert!(
        (share_below(0, 250.0) - 0.65).abs() < 0.02,
        "{}",
        share_below(0, 250.0)
    );
    assert!(
        (share_below(1, 100.0) - 0.96).abs() < 0.01,
        "{}",
        share_below(1, 100.0)
    );
    // 30 000 against 30 000, correlated by their queue: twice the distance of one case in a hundred.
    assert!(
        fit.held_out.ks < 2.0 * 1.63 * (2.0_f64 / 30_000.0).sqrt(),
        "{}",
        fit.held_out.ks
    );
}
