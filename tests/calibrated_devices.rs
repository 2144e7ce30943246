//! A device is recorded under the loads that the manual names, calibrated, and simulated.

mod scratch;

use std::fs;
use std::process::Output;

use scratch::{Scratch, err, iosonar, out};

fn run(scratch: &Scratch, options: &[&str]) -> Output {
    iosonar()
        .args(options)
        .current_dir(scratch.path("."))
        .output()
        .unwrap()
}

fn runs(scratch: &Scratch, options: &[&str]) -> String {
    let run = run(scratch, options);
    assert!(run.status.success(), "{options:?}: {}", err(&run));
    out(&run)
}

/// The value of a parameter of `calibrate --json`; none with its reason.
fn parameter(json: &serde_json::Value, key: &str) -> Result<f64, String> {
    let all = json["parameters"].as_array().unwrap();
    let found = all
        .iter()
        .find(|p| p["key"] == key)
        .unwrap_or_else(|| panic!("{key}: {json}"));
    match found["value"].as_f64() {
        Some(value) => Ok(value),
        None => Err(found["why"].as_str().unwrap().to_owned()),
    }
}

#[test]
fn the_load_of_generate_probe_shows_the_buffer_of_a_drive() {
    let scratch = Scratch::new();
    let probe = [
        "generate",
        "probe",
        "--space",
        "1900MiB",
        "--block",
        "1KiB",
        "--requests",
        "12000",
        "-q",
        "-o",
        "probe.ios",
    ];
    runs(&scratch, &probe);
    scratch.file(
        "drive.toml",
        "[load]\ntrace = \"probe.ios\"\n[array]\nlevel = \"raid0\"\ndisks = 1\nstripe_unit = \"64MiB\"\n\
         [disk]\nprofile = \"seagate-st32171w\"\nmodel = \"positional\"\n",
    );
    runs(
        &scratch,
        &["sim", "drive.toml", "--records", "records.ios", "-q"],
    );
    let calibrate = [
        "calibrate",
        "records.ios",
        "--profile",
        "seagate-st32171w",
        "-o",
        "mine.toml",
    ];
    let text = run(&scratch, &calibrate);
    // The profile of the drive itself cannot be improved: whatever is chosen, it fits.
    assert!(text.status.success(), "{}", err(&text));
    // Without what it knows of the buffer.
    let geometry = runs(&scratch, &["profiles", "seagate-st32171w"]);
    let bare = geometry.split("[cache]").next().unwrap();
    scratch.file("geometry.toml", bare);
    let calibrate = [
        "calibrate",
        "records.ios",
        "--profile",
        "geometry.toml",
        "-o",
        "mine.toml",
    ];
    let text = runs(&scratch, &calibrate);
    for line in [
        "cache.segments",
        "bus.read_ms_per_sector",
        "not identifiable from this recording: needs writes",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let json = runs(&scratch, &[&calibrate[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(parameter(&json, "cache.segments"), Ok(3.0));
    assert!((parameter(&json, "bus.read_ms_per_sector").unwrap() / 0.134 - 1.0).abs() < 0.05);
    assert_eq!(
        parameter(&json, "overheads.write_hit_after_read_ms"),
        Err("needs writes".to_owned())
    );
    let profile = fs::read_to_string(scratch.path("mine.toml")).unwrap();
    assert!(profile.contains("[[provenance.parameters]]"), "{profile}");
    runs(
        &scratch,
        &["sim", "drive.toml", "--set", "disk.profile=mine.toml", "-q"],
    );
}

#[test]
fn a_long_write_run_shows_the_flash_of_an_ssd() {
    let scratch = Scratch::new();
    let changes = "channels = 2\ndies = 2\nplanes = 1\nblocks = 300\npages = 64\npage = \"4KiB\"\nmapping_unit = \"4KiB\"\n\
                   cell = \"tlc\"\nreserve = 2\nover_provisioning = 0.2\n";
    scratch.file(
        "ssd.toml",
        format!(
            "seed = 2\n[load]\nrequests = 30000\nclosed = {{ outstanding = 32 }}\nblock = \"4KiB\"\nsize = {{ blocks = 1 }}\n\
             read_share = 0.0\n[ssd]\nprofile = \"nvme-gen4-tlc\"\n[ssd.flash]\n{changes}[ssd.cache]\nsize = \"512KiB\"\n"
        ),
    );
    runs(&scratch, &["sim", "ssd.toml", "--records", "run.ios", "-q"]);
    // The geometry of the device, and everything else of the built-in profile.
    let built_in = runs(&scratch, &["profiles", "nvme-gen4-tlc"]);
    let start = format!(
        "{}[flash]\n{}",
        built_in.split("[flash]").next().unwrap(),
        changes.replace("0.2\n", "0.2\nchannel_mb_per_s = 1200.0\n")
    );
    scratch.file("start.toml", start);
    let calibrate = [
        "calibrate",
        "run.ios",
        "--profile",
        "start.toml",
        "-o",
        "mine.toml",
    ];
    let text = run(&scratch, &calibrate);
    // Programs have no times of their own there: these are the cell's.
    assert_eq!(text.status.code(), Some(2), "{}", err(&text));
    assert!(err(&text).contains("flash.program_us"), "{}", err(&text));
    let start = fs::read_to_string(scratch.path("start.toml")).unwrap();
    scratch.file("start.toml", start + "program_us = [900.0]\n");
    let text = runs(&scratch, &calibrate);
    assert!(text.contains("cleaning cliff after"), "{text}");
    let json = runs(&scratch, &[&calibrate[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(
        (parameter(&json, "flash.program_us").unwrap() / 660.0 - 1.0).abs() < 0.05,
        "{json}"
    );
    assert!(
        (parameter(&json, "cache.size").unwrap() / 524_288.0 - 1.0).abs() < 0.05,
        "{json}"
    );
    assert!(
        (parameter(&json, "flash.over_provisioning").unwrap() / 0.2 - 1.0).abs() < 0.05,
        "{json}"
    );
    let refused = run(&scratch, &[&calibrate[..], &["--cdf", "x.png"]].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
    // A few thousand writes end before the cliff.
    runs(
        &scratch,
        &[
            "sim",
            "ssd.toml",
            "--set",
            "load.requests=6000",
            "--records",
            "run.ios",
            "-q",
        ],
    );
    let json = runs(&scratch, &[&calibrate[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        parameter(&json, "flash.over_provisioning"),
        Err("the throughput has no drop from which this value can be derived".to_owned())
    );
}
