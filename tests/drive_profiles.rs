//! `iosonar import` and `iosonar validate`, from the outside.

mod scratch;

#[path = "../crates/disk-model/tests/import/files.rs"]
mod files;
use scratch::{Scratch, err, iosonar, out};

/// What a HP C2247A did, in the format of its validation: the first requests of a recording.
const TRACE: &str = "\
R Miss  564347     2     14095.370     13876.270
R Hit   564349     2      1414.270     18746.770
R Hit   564351     2      1476.750      9632.520
W Doub 1194877    15     17221.000     21894.380
W Trip 1205090    13     10133.390     19712.710
";

const MODEL: &str = "\
dm_disk SMALL {
   Number of data surfaces = 2, Number of cylinders = 10, Block count = 400,
   Mechanical Model = dm_mech_g1 {
      Access time type = trackSwitchPlusRotation, Seek type = constant, Constant seek time = 2.0,
      Add. write settling delay = 0.0, Head switch time = 0.5, Rotation speed (in rpms) = 6000
   },
   Layout Model = dm_layout_g1 {
      LBN-to-PBN mapping scheme = 0, Sparing scheme used = 0, Rangesize for sparing = 1,
      Zones = [ dm_layout_g1_zone {
         First cylinder number = 0, Last cylinder number = 9, Blocks per track = 20, Offset of first block = 0,
         Empty space at zone front = 0, Number of spares = 0, slips = [], defects = [] } ]
   }
}
";

#[test]
fn a_recording_is_repeated_on_a_profile() {
    let scratch = Scratch::new();
    let trace = scratch.file("hp.trace", TRACE);
    let validate = || {
        let mut command = iosonar();
        command.args(["validate", "hp-c2247a"]).arg(&trace);
        command
    };
    let printed = validate().output().unwrap();
    assert!(printed.status.success(), "{}", err(&printed));
    let text = out(&printed);
    assert!(
        text.contains("reads, measured") && text.contains("writes, simulated"),
        "{text}"
    );
    assert!(text.contains("demerit "), "{text}");
    let json = validate().arg("--json").output().unwrap();
    let value: serde_json::Value = serde_json::from_str(&out(&json)).unwrap();
    let metrics = value["metrics"].as_array().unwrap();
    let demerit = metrics
        .iter()
        .find(|metric| metric["name"] == "demerit")
        .unwrap();
    assert_eq!(demerit["unit"], "ms");
    assert!(demerit["value"].as_f64().unwrap() > 0.0);
    // DiskSim gives 21.649 ms, 1.375 ms, 1.375 ms, 17.155 ms and 10.215 ms.
    let all = |metric: &&serde_json::Value| {
        metric["name"] == "latency"
            && metric["labels"]["class"] == "all"
            && metric["labels"]["source"] == "simulated"
    };
    let mean = metrics.iter().find(all).unwrap()["mean"].as_f64().unwrap();
    assert!((mean - 10.353_96).abs() < 1e-3, "{mean}");
    let picture = scratch.path("cdf.svg");
    let drawn = validate().arg("--plot").arg(&picture).output().unwrap();
    assert!(
        drawn.status.success() && picture.exists(),
        "{}",
        err(&drawn)
    );
}

#[test]
fn a_recording_of_another_drive_is_poor() {
    let scratch = Scratch::new();
    // No drive reads from a random place in 0.2 ms.
    let rows = (0..1_200_u64).map(|i| {
        let sector = i * 7_919_131 % 2_000_000;
        format!("R Miss {sector} 8 200.0 5000.0\n")
    });
    let trace = scratch.file("other.trace", rows.collect::<String>());
    let few = scratch.file("few.trace", TRACE);
    for (trace, code, said) in [
        (&trace, 3, "POOR:"),
        (&few, 0, "are needed to judge the profile"),
    ] {
        let printed = iosonar()
            .args(["validate", "hp-c2247a"])
            .arg(trace)
            .output()
            .unwrap();
        assert_eq!(printed.status.code(), Some(code), "{}", err(&printed));
        assert!(out(&printed).contains(said), "{}", out(&printed));
    }
}

#[test]
fn a_drive_is_imported_and_then_simulated() {
    let scratch = Scratch::new();
    let model = scratch.file("small.model", MODEL);
    let profile = scratch.path("small.toml");
    let import = iosonar()
        .args(["import", "disksim"])
        .arg(&model)
        .arg("-o")
        .arg(&profile)
        .output()
        .unwrap();
    assert!(import.status.success(), "{}", err(&import));
    assert!(err(&import).contains("400 sectors"), "{}", err(&import));
    let trace = scratch.file(
        "small.trace",
        "R Miss 0 8 10000.0 500.0\nW Doub 300 8 12000.0 500.0\n",
    );
    let validate = iosonar()
        .arg("validate")
        .arg(&profile)
        .arg(&trace)
        .output()
        .unwrap();
    assert!(validate.status.success(), "{}", err(&validate));
}

#[test]
fn an_imported_drive_reads_on_arrival_only_when_asked() {
    let scratch = Scratch::new();
    for (name, text) in [
        ("drive.parv", files::PARV),
        ("drive.model", files::MODEL),
        ("drive.seek", files::SEEK),
    ] {
        scratch.file(name, text);
    }
    for (reads, options, arrival, is_noted) in [
        ("1", [].as_slice(), "as-disksim", true),
        ("1", &["--arrival", "as-documented"], "as-documented", false),
        ("0", &[], "as-disksim", false),
    ] {
        let specs = files::specs(&[("Immediate buffer read", reads)]);
        scratch.file("drive.diskspecs", specs);
        let import = iosonar()
            .args(["import", "disksim"])
            .arg(scratch.path("drive.parv"))
            .args(options)
            .output()
            .unwrap();
        assert!(import.status.success(), "{}", err(&import));
        let profile = String::from_utf8_lossy(&import.stdout);
        assert!(
            profile.contains(&format!("arrival = \"{arrival}\"")),
            "{profile}"
        );
        let note = "--arrival as-documented fits better";
        assert_eq!(err(&import).contains(note), is_noted, "{}", err(&import));
    }
}

#[test]
fn what_is_wrong_is_named() {
    let scratch = Scratch::new();
    let trace = scratch.file("hp.trace", TRACE);
    let refused = |arguments: &[&str], code: i32, expected: &str| {
        let run = iosonar().args(arguments).output().unwrap();
        assert_eq!(run.status.code(), Some(code), "{}", err(&run));
        assert!(
            err(&run).contains(expected),
            "{}\n  has no: {expected}",
            err(&run)
        );
    };
    let path = |name: &str, text: &str| scratch.file(name, text).display().to_string();
    let small = path(
        "small.model",
        &MODEL.replace("Head switch time = 0.5", "Head switch time = x"),
    );
    refused(
        &["import", "disksim", &small],
        1,
        "small.model:5: 'Head switch time' is 'x', expected a number",
    );
    let trace = trace.display().to_string();
    refused(
        &["validate", "no-such-drive", &trace],
        2,
        "unknown disk profile 'no-such-drive'",
    );
    let open = path("open.csv", "start_s,sector,sectors,op\n0.0,0,8,R\n");
    refused(
        &["validate", "hp-c2247a", &open],
        1,
        "request 1 has no think time",
    );
    let beyond = path("beyond.trace", "R Miss 99999999 8 10000.0 500.0\n");
    refused(
        &["validate", "hp-c2247a", &beyond],
        1,
        "but the profile has only 2054864 sectors",
    );
    refused(
        &["import", "disksim", &trace, "--bus-read-ms=-1"],
        2,
        "bus-read-ms",
    );
}
