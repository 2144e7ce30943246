//! Calibration finds the write cache, the program time and the spare room of a flash SSD in a long write run.

use std::fs;

use iosonar_scenario::{Overrides, Prepared};
use iosonar_ssd_model::SsdProfile;
use iosonar_study::calibrate::{Missing, Observed, calibrate_flash};
use iosonar_trace::{Metadata, input, output};

/// A drive of 476 MiB: 8 dies, 512 MiB of flash.
fn profile(cache: &str, program_us: f64, blocks: u32, over_provisioning: f64) -> String {
    format!(
        "description = \"truth\"\ninterface = \"nvme\"\nstorage = \"flash\"\n\
         [driver]\nsubmit_us = 0.5\ncomplete_us = 0.5\ninterrupt_us = 1.0\ndoorbell_us = 0.1\n\
         [nvme]\nqueues = 1\ndepth = 1023\n\
         [pcie]\ndescriptor_setup_us = 0.3\nto_host_setup_us = 0.3\nfrom_host_setup_us = 0.6\n\
         to_host_mb_per_s = 3200.0\nfrom_host_mb_per_s = 3200.0\n[controller]\ncommand_us = 0.6\n\
         [flash]\nchannels = 4\ndies = 2\nblocks = {blocks}\npages = 64\npage = \"4KiB\"\nread_us = [60.0]\n\
         program_us = [{program_us:?}]\nerase_us = 3000.0\nchannel_mb_per_s = 800.0\ncommand_us = 0.2\n\
         over_provisioning = {over_provisioning:?}\ncleaning = \"greedy\"\nreserve = 2\nprecondition = \"sequential\"\n\
         [cache]\nsize = \"{cache}\"\n"
    )
}

/// Uniform writes of 4 KiB in a closed loop of 32.
fn recorded(profile: &str, requests: u32, load: &str) -> Observed {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("truth.toml"), profile).unwrap();
    let scenario = format!(
        "seed = 3\n[load]\nrequests = {requests}\n{load}\nblock = \"4KiB\"\nsize = {{ blocks = 1 }}\n\
         [ssd]\nprofile = \"truth.toml\"\n"
    );
    let simulation =
        Prepared::from_toml(&scenario, &path("s.toml"), &Overrides::default()).unwrap();
    let mut writer = output::create(&path("records.ios"), &Metadata::default()).unwrap();
    simulation.run(1, Some(&mut *writer)).unwrap();
    writer.finish().unwrap();
    Observed::read(&mut *input::open(&path("records.ios")).unwrap()).unwrap()
}

const WRITES: &str = "closed = { outstanding = 32 }\nread_share = 0.0";
const TRUE_SPARE: f64 = 0.2;
const TRUE_PROGRAM_US: f64 = 400.0;
const TRUE_CACHE: f64 = 1024.0 * 1024.0;

fn truth() -> String {
    profile("1MiB", TRUE_PROGRAM_US, 300, TRUE_SPARE)
}

fn start() -> SsdProfile {
    // The same capacity with other spare room, another cache, another cell: 300 / 1.2 = 280 / 1.12, and a little for rounding.
    let text = profile("4MiB", 900.0, 280, 0.1199);
    SsdProfile::parse(&text, "start.toml", &toml::Table::new()).unwrap()
}

#[test]
fn cache_program_time_and_spare_room_are_found_and_throughput_over_time_is_the_same() {
    let fit = calibrate_flash(&recorded(&truth(), 80_000, WRITES), &start()).unwrap();
    let off = |found: f64, truth: f64| (found / truth - 1.0).abs();
    assert!(off(fit.program_us(), TRUE_PROGRAM_US) < 0.05);
    assert!(off(fit.cache_bytes.unwrap().value, TRUE_CACHE) < 0.05);
    let spare = fit.profile.flash.as_ref().unwrap().over_provisioning;
    assert!(off(spare, TRUE_SPARE) < 0.05, "{spare}");
    // Of 20 parts, each of some 4 000 writes.
    assert!(fit.off() < 0.05, "{:?}", fit.rates);
}

#[test]
fn a_run_that_ends_before_the_cliff_has_none() {
    let fit = calibrate_flash(&recorded(&truth(), 8_000, WRITES), &start()).unwrap();
    assert_eq!(fit.spare_bytes, Err(Missing::NoChange));
    let flash = fit.profile.flash.as_ref().unwrap();
    assert_eq!((flash.over_provisioning, flash.blocks), (0.1199, 280));
}

#[test]
fn a_drive_without_a_cache_has_none() {
    let fit = calibrate_flash(
        &recorded(&profile("0", 400.0, 300, 0.2), 40_000, WRITES),
        &start(),
    )
    .unwrap();
    assert_eq!(fit.cache_bytes, Err(Missing::NoChange));
    assert!(fit.profile.cache.is_none());
}

#[test]
fn a_run_that_leaves_flash_idle_identifies_nothing() {
    // Flash that could do 160 000 writes per second; with a cache, and without.
    for cache in ["1MiB", "0"] {
        let idle = profile(cache, 50.0, 300, 0.2);
        let load = "arrivals = { poisson_per_s = 10000.0 }\nread_share = 0.0";
        let fit = calibrate_flash(&recorded(&idle, 20_000, load), &start()).unwrap();
        assert_eq!(fit.program, Err(Missing::NotBusy));
        assert!(fit.parameters().iter().all(|p| p.figure.is_err()));
        assert_eq!(fit.profile, start());
    }
}

#[test]
fn reads_between_are_refused() {
    let load = "closed = { outstanding = 32 }\nread_share = 0.3";
    let error = calibrate_flash(&recorded(&truth(), 8_000, load), &start()).unwrap_err();
    assert!(
        error.to_string().contains("expected at least 95 %"),
        "{error}"
    );
}
