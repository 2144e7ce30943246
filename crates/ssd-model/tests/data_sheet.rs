//! SSDs from data sheets: what follows from the figures, which contradict each other, and which the model cannot reach.

use iosonar_device::SheetFigure;
use iosonar_sim_core::Seed;
use iosonar_ssd_model::{Parameters, SsdProfile, SsdProfileError, Storage};

const SHEET: &str = "
description = \"an SSD\"
[from_data_sheet]
interface = \"pcie3-x4\"
cell = \"tlc\"
capacity_gb = 500
read_latency_us = 80
write_latency_us = 20
read_iops = { iops = 300_000, depth = 32, jobs = 2 }
write_iops = { iops = 250_000, depth = 32, jobs = 2 }
sequential_read = { mb_per_s = 2500 }
sequential_write = { mb_per_s = 1500 }
";

/// The sheet with other figures.
fn sheet(changes: &str) -> Result<SsdProfile, SsdProfileError> {
    let changes = format!("from_data_sheet = {{ {changes} }}");
    SsdProfile::parse(SHEET, "the sheet", &toml::from_str(&changes).unwrap())
}

fn figures(profile: &SsdProfile) -> Vec<SheetFigure> {
    profile.data_sheet_test().unwrap().unwrap()
}

fn not_reached(profile: &SsdProfile) -> Vec<String> {
    let figures = figures(profile).into_iter();
    let missed = figures.filter(|figure| !figure.is_reached());
    missed.map(|figure| figure.name).collect()
}

/// These changes make an error about a key, with these words.
fn assert_refused(changes: &str, key: &str, expected: &str) {
    let error = sheet(changes).unwrap_err().to_string();
    let names = format!("the sheet: 'ssd.from_data_sheet.{key}' is ");
    assert!(
        error.starts_with(&names) && error.contains(expected),
        "{changes}: {error}"
    );
}

#[test]
fn figures_that_contradict_each_other_are_refused() {
    for (changes, key, expected) in [
        (
            "sequential_read = { mb_per_s = 4500 }",
            "sequential_read.mb_per_s",
            "the rate of PCIe 3.0 x4",
        ),
        (
            "interface = \"sata\"",
            "sequential_read.mb_per_s",
            "1 to 600, the rate of SATA 6 Gb/s",
        ),
        (
            "read_iops = { iops = 900_000 }",
            "read_iops.iops",
            "the sequential rate in requests of 4 KiB",
        ),
        (
            "read_latency_us = 500",
            "read_iops.iops",
            "at most 128000, the rate of 64 outstanding requests (depth x jobs) with a latency of 500 us",
        ),
        (
            "write_iops = { iops = 400_000 }",
            "write_iops.iops",
            "the sequential rate in requests of 4 KiB",
        ),
        (
            "read_iops = { iops = 5000 }",
            "read_iops.iops",
            "at least 12500, the rate of one request at a time",
        ),
        (
            "read_latency_us = 4.5",
            "read_latency_us",
            "host and transfer",
        ),
        (
            "write_latency_us = 4.5",
            "write_latency_us",
            "host and transfer",
        ),
        (
            "write_latency_us = 200",
            "write_latency_us",
            "a write completes in the cache",
        ),
        (
            "write_iops = { iops = 100_000, sustained = true }, over_provisioning = 0.3",
            "over_provisioning",
            "MB/s in sequential writes, not the 1500 of sequential_write",
        ),
        // Less spare flash makes cleaning dearer: a lower value would not help.
        (
            "write_iops = { iops = 200_000, sustained = true }, over_provisioning = 0.01",
            "over_provisioning",
            "a higher value, or none",
        ),
    ] {
        assert_refused(changes, key, expected);
    }
}

#[test]
fn figures_that_no_such_drive_has_are_refused() {
    for (changes, key, expected) in [
        ("capacity_gb = 0.1", "capacity_gb", "1 to 1000000"),
        ("over_provisioning = 0.0", "over_provisioning", "0.01 to 5"),
        (
            "slc_cache_gb = 20",
            "after_slc_mb_per_s",
            "must be given together",
        ),
        (
            "slc_cache_gb = 20, after_slc_mb_per_s = 1500",
            "after_slc_mb_per_s",
            "less than",
        ),
        ("cell = \"3d-xpoint\", dram = false", "dram", "no page map"),
        (
            "cell = \"3d-xpoint\", over_provisioning = 0.1",
            "over_provisioning",
            "written in place",
        ),
        (
            "interface = \"sata\", sequential_read = { mb_per_s = 550 }, sequential_write = { mb_per_s = 520 }, \
             read_iops = { iops = 90_000, depth = 64, jobs = 1 }",
            "read_iops.depth",
            "1 to 32 outstanding requests on SATA 6 Gb/s",
        ),
    ] {
        assert_refused(changes, key, expected);
    }
}

#[test]
fn a_figure_that_the_model_cannot_reach_is_not_reached() {
    // Real drives read ahead; one request at a time waits for a page each time here.
    let profile = sheet("sequential_read = { depth = 1 }").unwrap();
    assert_eq!(not_reached(&profile), ["sequential reads of 128 KiB, QD 1"]);
}

#[test]
fn a_drive_without_dram_has_its_figures_within_its_map() {
    let profile = sheet("dram = false").unwrap();
    assert!(profile.mapping_cache.is_some());
    assert_eq!(not_reached(&profile), Vec::<String>::new());
}

#[test]
fn spare_room_follows_from_sustained_writes_or_program_times_from_both() {
    let derived = sheet("write_iops = { iops = 60_000, sustained = true }").unwrap();
    let over = derived.flash.as_ref().unwrap().over_provisioning;
    // 60,000 writes are 246 MB/s of the 1,500 and more that are programmed.
    assert!((0.05..0.15).contains(&over), "{over}");
    let given = sheet("write_iops = { iops = 60_000, sustained = true }, over_provisioning = 0.06");
    let given = given.unwrap();
    let program =
        |profile: &SsdProfile| profile.flash.as_ref().unwrap().program_us.clone().unwrap();
    assert!(program(&given) < program(&derived));
    for profile in [derived, given] {
        assert_eq!(not_reached(&profile), Vec::<String>::new());
    }
}

#[test]
fn memory_that_is_written_in_place_has_no_translation_layer() {
    let profile = sheet("cell = \"3d-xpoint\", read_latency_us = 12").unwrap();
    assert_eq!(profile.storage, Storage::Dram);
    assert!(profile.flash.is_none() && profile.cache.is_none());
    assert!(Parameters::new(&profile).unwrap().flash().is_none());
}

#[test]
fn values_of_the_profile_may_be_changed_after_the_derivation() {
    let changes = toml::from_str("controller = { commands = 2 }\nflash = { reserve = 5 }").unwrap();
    let profile = SsdProfile::parse(SHEET, "the sheet", &changes).unwrap();
    assert_eq!(profile.controller.commands, 2);
    assert_eq!(profile.flash.as_ref().unwrap().reserve, 5);
    assert!(profile.data_sheet.is_some());
    let keys: Vec<&str> = profile
        .data_sheet
        .unwrap()
        .derivation()
        .iter()
        .map(|d| d.key)
        .collect();
    for key in [
        "controller.commands",
        "flash.dies",
        "flash.over_provisioning",
        "cache.size, in MiB",
    ] {
        assert!(keys.contains(&key), "{keys:?}");
    }
    let unknown = toml::from_str("from_data_sheet = { speed = 7 }").unwrap();
    let error = SsdProfile::parse(SHEET, "the sheet", &unknown)
        .unwrap_err()
        .to_string();
    assert!(error.contains("speed"), "{error}");
}

#[test]
fn a_sheet_that_is_accepted_makes_a_drive() {
    let mut random = Seed::new(3).stream("sheets", "figures");
    let mut accepted = 0;
    for _ in 0..16_000 {
        // Evenly spread orders of magnitude.
        let mut value = |low: f64, high: f64| low * (high / low).powf(random.uniform());
        let (reads, writes) = (value(1e2, 3e6), value(1e2, 3e6));
        let mut changes = format!(
            "capacity_gb = {}, read_latency_us = {}, write_latency_us = {}, read_iops = {{ iops = {reads}, depth = {} }}, \
             write_iops = {{ iops = {writes}, sustained = {} }}, sequential_read = {{ mb_per_s = {} }}, \
             sequential_write = {{ mb_per_s = {} }}",
            value(1.0, 1e5),
            value(2.0, 1e3),
            value(2.0, 1e3),
            value(1.0, 300.0) as u32,
            value(1.0, 4.0) > 2.0,
            value(50.0, 8_000.0),
            value(50.0, 8_000.0),
        );
        if value(1.0, 4.0) > 2.0 {
            changes += &format!(", over_provisioning = {}", value(0.01, 1.0));
        }
        let kind = value(1.0, 20.0) as usize;
        let interface = ["sata", "pcie3-x4", "pcie4-x4", "pcie5-x4"][kind % 4];
        let cell = ["slc", "mlc", "tlc", "qlc"][kind / 4 % 4];
        changes += &format!(", interface = \"{interface}\", cell = \"{cell}\"");
        match sheet(&changes) {
            Ok(profile) => {
                accepted += 1;
                let made = Parameters::new(&profile);
                assert!(made.is_ok(), "{changes}: {}", made.unwrap_err());
            }
            Err(error) => assert!(
                error
                    .to_string()
                    .starts_with("the sheet: 'ssd.from_data_sheet."),
                "{changes}: {error}"
            ),
        }
    }
    assert!(accepted > 150, "{accepted}");
}
