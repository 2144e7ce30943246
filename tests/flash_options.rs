//! What drives differ in beyond their geometry: caches, maps, planes; from the outside.

mod scratch;

use scratch::{Scratch, err, hash, out, sim};

/// A drive with a cache that empties itself only for flushes.
const LAZY: &str = "\
[ssd]
profile = 'nvme-gen4-tlc'
[ssd.cache]
destage_above = 0.5
";

fn json(run: &std::process::Output) -> serde_json::Value {
    serde_json::from_slice(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", err(run)))
}

/// The value of a figure, if the run has it.
fn figure(json: &serde_json::Value, name: &str, label: Option<(&str, &str)>) -> Option<f64> {
    let metrics = json["metrics"].as_array().unwrap();
    let is_it = |m: &&serde_json::Value| {
        m["name"] == name && label.is_none_or(|(key, value)| m["labels"][key] == value)
    };
    metrics.iter().find(is_it)?["value"].as_f64()
}

#[test]
fn flushes_of_a_trace_cost_what_they_drain() {
    let scratch = Scratch::new();
    let mut trace = "start_ns,op,sector,sectors\n".to_owned();
    for n in 0..64 {
        trace += &format!("{},write,{},32\n", n * 20_000, n * 32);
        if n % 16 == 15 {
            trace += &format!("{},flush,0,0\n", n * 20_000 + 10_000);
        }
    }
    // What the last flush drains is seen as well.
    trace += "10000000,read,0,8\n";
    let trace = scratch.file("t.csv", trace);
    let trace = format!("--trace={}", trace.display());
    let scenario = scratch.file("s.toml", LAZY);
    let volatile = [&trace, "--set", "ssd.cache.volatile=true", "--json"];
    let (lazy, drained) = (
        json(&sim(&scenario, &[&trace, "--json"])),
        json(&sim(&scenario, &volatile)),
    );
    let programs = |json| figure(json, "flash_operations", Some(("kind", "program")));
    assert_eq!(
        (programs(&lazy), programs(&drained)),
        (Some(0.0), Some(64.0))
    );
    assert_eq!(
        figure(&lazy, "flushes", None),
        None,
        "the cache is protected"
    );
    assert_eq!(figure(&drained, "flushes", None), Some(4.0));
    let time = figure(&drained, "flush_time", None).unwrap();
    // Sixteen programs on planes of their own.
    assert!((0.66..1.5).contains(&time), "{time} ms");
    // Each side of a mirror is flushed.
    let mirror = scratch.file(
        "m.toml",
        format!("{LAZY}[array]\nlevel = 'raid1'\ndisks = 2\n"),
    );
    let text = sim(&mirror, &volatile[..3]);
    assert!(
        out(&text).contains("  flushes           8, "),
        "{}{}",
        out(&text),
        err(&text)
    );
}

const RANDOM: &str = "\
seed = 3
[load]
requests = 4_000
closed = { outstanding = 16 }
size = { blocks = 1 }
read_share = 0.2
[ssd]
profile = 'mqsim-default'
[ssd.flash]
channels = 2
dies = 2
";

#[test]
fn what_planes_share_and_what_the_map_costs_is_shown() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", RANDOM);
    let map = [
        "--set",
        "ssd.mapping_cache.entries=64",
        "--set",
        "ssd.mapping_cache.write_back=true",
    ];
    let (plain, with) = (sim(&scenario, &[]), sim(&scenario, &map));
    assert!(
        out(&plain).contains("  multi-plane       "),
        "{}",
        out(&plain)
    );
    assert!(
        !out(&plain).contains("hold parts of the map"),
        "{}",
        out(&plain)
    );
    assert!(
        out(&with).contains("of the programmed pages hold parts of the mapping table"),
        "{}",
        out(&with)
    );
    assert_ne!(hash(&plain), hash(&with));
    let json = json(&sim(&scenario, &[&map[..], &["--json"]].concat()));
    let amplification = figure(&json, "write_amplification", None).unwrap();
    assert!(amplification > 1.5, "{amplification}");
    let pairs = figure(&json, "multi_plane_operations", Some(("kind", "program"))).unwrap();
    assert!(pairs > 0.0);
}

#[test]
fn values_that_no_drive_has_are_refused() {
    let scratch = Scratch::new();
    let scenario = scratch.file("s.toml", RANDOM);
    for (set, expected) in [
        (
            "ssd.flash.read_disturb_limit=3",
            "'ssd.flash.read_disturb_limit' is 3, expected at least flash.pages",
        ),
        (
            "ssd.flash.retention_h=-1.0",
            "'ssd.flash.retention_h' is -1, expected hours",
        ),
        (
            "ssd.flash.multi_plane=3",
            "'ssd.flash.multi_plane' is 3, expected a divisor of flash.planes",
        ),
        (
            "ssd.flash.multi_plane_command_us=-1.0",
            "'ssd.flash.multi_plane_command_us' is -1",
        ),
        (
            "ssd.flash.read_unwritten=false",
            "'ssd.flash.map_unwritten' is true, expected flash.read_unwritten = true",
        ),
        (
            "ssd.cache.in_flight=\"1\"",
            "'ssd.cache.in_flight' is 1, expected at least 512 bytes",
        ),
        (
            "ssd.cache.hold_share=2.0",
            "'ssd.cache.hold_share' is 2, expected 0 to 1",
        ),
        ("ssd.cache.volatile=3", "volatile"),
        ("ssd.mapping_cache.write_back=\"yes\"", "write_back"),
    ] {
        let run = sim(&scenario, &["--set", set]);
        assert_eq!(run.status.code(), Some(2), "{set}: {}", err(&run));
        assert!(err(&run).contains(expected), "{set}: {}", err(&run));
        assert!(!err(&run).contains("panicked"), "{}", err(&run));
    }
}
