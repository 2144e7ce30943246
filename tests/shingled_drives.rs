//! Drive-managed shingled drives in scenarios, from the outside: figures, arrays, refusals; and what the utilisation of
//! drives with a buffer counts.

mod scratch;

use std::path::Path;

use scratch::{Scratch, err, iosonar, out, sim};
use serde_json::Value;

/// A small drive: 40 bands of 1 MB, a media cache of 200 blocks' entries.
const DRIVE: &str = "\
description = 'small, shingled'
[from_data_sheet]
capacity_gb = 0.5
rpm = 6000
outer_mb_per_s = 100
inner_mb_per_s = 50
heads = 2
cache_mib = 4
[shingled]
band_tracks = 1
media_cache_gb = 0.05
media_cache_place = 'outer'
map_entries = 200
map_record_revolutions = 1
stream_sectors = 4096
cleaning = 'aggressive'
idle_ms = 100.0
";

fn scenario(scratch: &Scratch, disks: u32, load: &str) -> std::path::PathBuf {
    scratch.file("drive.toml", DRIVE);
    scratch.file(
        "scenario.toml",
        format!(
            "seed = 1\nwarmup_requests = 0\n[load]\nblock = '4KiB'\n{load}\n[array]\nlevel = 'raid0'\ndisks = {disks}\n\
             stripe_unit = '64KiB'\n[disk]\nprofile = 'drive.toml'\nmodel = 'positional'\n"
        ),
    )
}

const RANDOM_WRITES: &str =
    "requests = 2000\nclosed = { outstanding = 4 }\nsize = { blocks = 1 }\nread_share = 0.0";

fn json(scenario: &Path, options: &[&str]) -> Value {
    let options: Vec<&str> = options.iter().copied().chain(["--json"]).collect();
    let run = sim(scenario, &options);
    assert!(run.status.success(), "{}", err(&run));
    serde_json::from_str(&out(&run)).unwrap()
}

/// The sum of the metric over all that have these labels.
fn metric(json: &Value, name: &str, labels: &[(&str, &str)]) -> f64 {
    let metrics = json["metrics"].as_array().unwrap().iter();
    let fits = |metric: &&Value| {
        metric["name"] == name
            && labels
                .iter()
                .all(|(key, value)| metric["labels"][key] == *value)
    };
    let found: Vec<f64> = metrics
        .filter(fits)
        .map(|m| m["value"].as_f64().unwrap())
        .collect();
    assert!(!found.is_empty(), "{name} {labels:?}");
    found.iter().sum()
}

#[test]
fn random_writes_fall_to_the_rate_of_cleaning_and_are_conserved() {
    let scratch = Scratch::new();
    for disks in [1, 4] {
        let scenario = scenario(&scratch, disks, RANDOM_WRITES);
        let few = json(&scenario, &["--set", "load.requests=150"]);
        assert_eq!(metric(&few, "cleaned_bands", &[("kind", "awaited")]), 0.0);
        let many = json(&scenario, &[]);
        let awaited = metric(&many, "cleaned_bands", &[("kind", "awaited")]);
        assert!(awaited > 0.0);
        let mean = |json: &Value| 1.0 / metric(json, "throughput", &[]);
        assert!(
            mean(&many) > 2.0 * mean(&few),
            "{} {}",
            mean(&many),
            mean(&few)
        );
        // What the host wrote is on the medium, or in the buffers, which hold 4 MiB each.
        let written = metric(&many, "media_sectors", &[("kind", "cached")])
            + metric(&many, "media_sectors", &[("kind", "streamed")]);
        let buffers = f64::from(disks) * 8192.0;
        assert!(
            (2000.0 * 8.0 - buffers..=2000.0 * 8.0).contains(&written),
            "{written}"
        );
        let cleaned = metric(&many, "media_sectors", &[("kind", "cleaning-write")])
            + metric(&many, "media_sectors", &[("kind", "repaired")]);
        let amplification = metric(&many, "write_amplification", &[]);
        assert!(
            (amplification - (written + cleaned) / written).abs() < 1e-9,
            "{amplification}"
        );
        assert_eq!(json(&scenario, &[])["hash"], many["hash"]);
        // The arms write nearly all the time, for requests or behind them.
        for disk in 0..disks {
            let station = format!("disk/{disk}");
            let used = metric(&many, "utilisation", &[("station", &station)]);
            assert!(used > 0.7 && used <= 1.0, "{used}");
        }
    }
}

#[test]
fn the_table_names_the_media_cache_and_whether_a_write_waited() {
    let scratch = Scratch::new();
    let scenario = scenario(&scratch, 1, RANDOM_WRITES);
    let long = out(&sim(&scenario, &[]));
    for expected in [
        "shingled with a media cache of 0.05 GB;",
        "  media cache ",
        " of 200 map entries",
        "write amplification ",
    ] {
        assert!(long.contains(expected), "{long}");
    }
    assert!(!long.contains("NOT CLEANED"), "{long}");
    let short = out(&sim(&scenario, &["--set", "load.requests=100"]));
    assert!(
        short.contains("NOT CLEANED   no band was cleaned"),
        "{short}"
    );
    assert!(
        short.contains("0 bands, 0 of them while writes waited; write amplification 1.00"),
        "{short}"
    );
}

#[test]
fn an_idle_drive_cleans_and_its_utilisation_counts_that() {
    let scratch = Scratch::new();
    let load = "requests = 1000\narrivals = { constant_per_s = 1.0 }\nsize = { blocks = 1 }\nread_share = 0.0";
    let rare = json(&scenario(&scratch, 1, load), &[]);
    let idle = metric(&rare, "cleaned_bands", &[("kind", "idle")]);
    assert!(idle > 900.0, "{idle}");
    assert_eq!(metric(&rare, "cleaned_bands", &[("kind", "awaited")]), 0.0);
    let table = out(&sim(&scenario(&scratch, 1, load), &[]));
    assert!(!table.contains("NOT CLEANED"), "{table}");
    // Each second a write of a tenth of a millisecond, and behind it an append and a band.
    let used = metric(&rare, "utilisation", &[("station", "disk/0")]);
    let busy = metric(&rare, "busy", &[("station", "disk/0")]);
    assert!(busy < 0.001 && used > 0.03 && used < 0.2, "{busy} {used}");
}

#[test]
fn the_writes_of_a_buffer_count_in_the_utilisation() {
    let scratch = Scratch::new();
    let text = "seed = 1\n[load]\nrequests = 500\narrivals = { constant_per_s = 10.0 }\nblock = '4KiB'\n\
                size = { blocks = 1 }\nread_share = 0.0\n[array]\nlevel = 'raid0'\ndisks = 1\n\
                stripe_unit = '64KiB'\n[disk]\nprofile = 'seagate-exos-7e8-8tb'\nmodel = 'positional'\n";
    let file = scratch.file("buffer.toml", text);
    let back = json(&file, &[]);
    let through = json(&file, &["--set", "disk.write_back=false"]);
    let of = |json: &Value, name: &str| metric(json, name, &[("station", "disk/0")]);
    // The same work of the arm, in services or behind them, but for the command.
    assert!(of(&back, "busy") < 0.002, "{}", of(&back, "busy"));
    assert!((of(&through, "utilisation") - of(&through, "busy")).abs() < 1e-9);
    let (used, served) = (of(&back, "utilisation"), of(&through, "utilisation"));
    assert!((used / served - 1.0).abs() < 1e-6, "{used} {served}");
    let table = out(&sim(&file, &[]));
    assert!(
        table.contains("\n  utilisation   ") && !table.contains("of requests"),
        "{table}"
    );
}

#[test]
fn what_a_shingled_drive_cannot_be_is_refused() {
    let scratch = Scratch::new();
    let scenario = scenario(&scratch, 1, RANDOM_WRITES);
    for (set, expected) in [
        ("disk.model='sampled'", "the drive is shingled"),
        (
            "disk.buffer=false",
            "a shingled drive collects writes in its buffer",
        ),
    ] {
        let run = sim(&scenario, &["--set", set]);
        assert_eq!(run.status.code(), Some(2), "{}", err(&run));
        assert!(err(&run).contains(expected), "{}", err(&run));
    }
    scratch.file(
        "drive.toml",
        DRIVE.replace("band_tracks = 1", "band_tracks = 0"),
    );
    let run = sim(&scenario, &[]);
    assert_eq!(run.status.code(), Some(2));
    let expected = "drive.toml:10: 'shingled.band_tracks' is 0, expected 1 to 100000 tracks";
    assert!(err(&run).contains(expected), "{}", err(&run));
}

#[test]
fn the_built_in_shingled_drive_meets_its_data_sheet() {
    let check = iosonar()
        .args(["profiles", "seagate-archive-8tb", "--check"])
        .output()
        .unwrap();
    assert!(check.status.success(), "{}", out(&check));
    let text = out(&check);
    assert!(
        text.contains("sustained rate, outermost tracks") && !text.contains("NOT REACHED"),
        "{text}"
    );
}

#[test]
fn a_drive_that_is_not_in_the_files_is_a_wrong_use() {
    let scratch = Scratch::new();
    let model = scratch.file("two.model", "dm_disk A {\n}\ndm_disk B {\n}\n");
    for (disk, expected) in [
        (
            Some("nope"),
            "there is no drive named 'nope', expected --disk with one of: A, B",
        ),
        (
            None,
            "the file has several drives, expected --disk with one of: A, B",
        ),
    ] {
        let mut import = iosonar();
        import.args(["import", "disksim"]).arg(&model);
        if let Some(disk) = disk {
            import.args(["--disk", disk]);
        }
        let import = import.output().unwrap();
        assert_eq!(import.status.code(), Some(2), "{}", err(&import));
        assert!(err(&import).contains(expected), "{}", err(&import));
    }
    let empty = scratch.file("empty.model", "");
    let import = iosonar()
        .args(["import", "disksim"])
        .arg(&empty)
        .output()
        .unwrap();
    assert_eq!(import.status.code(), Some(1));
    assert!(
        err(&import).contains("the file has no drive"),
        "{}",
        err(&import)
    );
}
