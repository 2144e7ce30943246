//! What a scenario may take before the first request.

use std::path::Path;

use iosonar_scenario::{DEFAULT_MEMORY, Overrides, Prepared, ScenarioError};
use iosonar_units::Bytes;

const LOAD: &str = "[load]\nrequests = 100\narrivals = { poisson_per_s = 1.0 }\nsize = \"4KiB\"\n";
/// A trace drives it, which is not opened before the run.
const TRACE: &str = "[load]\ntrace = \"web.load\"\n";

fn within(text: &str, memory: Bytes) -> Result<(), String> {
    read(text, memory)
        .map(drop)
        .map_err(|error| error.to_string())
}

fn read(text: &str, memory: Bytes) -> Result<Prepared, ScenarioError> {
    let overrides = Overrides {
        memory,
        several_arrays: true,
        ..Overrides::default()
    };
    Prepared::from_toml(text, Path::new("x.toml"), &overrides)
}

/// The message of a scenario that takes too much memory.
fn refused(text: &str, memory: Bytes) -> String {
    match read(text, memory) {
        Err(error @ ScenarioError::NeedsMemory(_)) => error.to_string(),
        other => panic!("{text}: {other:?}"),
    }
}

fn ssds(disks: u32, count: u32, ssd: &str) -> String {
    format!("[array]\nlevel = \"raid0\"\ndisks = {disks}\ncount = {count}\n[ssd]\n{ssd}\n")
}

fn disks(disks: u32, count: u32) -> String {
    format!(
        "[array]\nlevel = \"raid0\"\ndisks = {disks}\ncount = {count}\n[disk]\nprofile = \"exos-x18\"\n"
    )
}

#[test]
fn a_scenario_takes_less_than_a_gigabyte_unless_it_may_take_more() {
    const STEADY: &str = "profile = \"intel-d7\"\nflash.precondition = \"steady-state\"";
    const RING: &str = "profile = \"abstract\"\nblock_queue.ring = 1048576";
    const QUEUES: &str = "profile = \"intel-optane-p4800x-375gb\"\nnvme.queues = 4096";
    for (text, message) in [
        (
            ssds(8, 1, STEADY) + LOAD,
            "'ssd.flash.mapping_unit' is \"4KiB\", which needs up to 2.24 GiB of memory before the first request, \
             expected a larger unit, or a smaller SSD or fewer of them, for at most 900 MiB, or --memory 4GiB",
        ),
        (
            ssds(1000, 1, RING) + LOAD,
            "x.toml:7: 'ssd.block_queue.ring' is 1048576, which needs up to ",
        ),
        (
            ssds(1000, 1, QUEUES) + LOAD,
            "x.toml:7: 'ssd.nvme.queues' is 4096, which needs up to ",
        ),
        // Arrays that share a trace are there at the same time.
        (
            disks(1000, 4096) + TRACE,
            "x.toml:4: 'array.count' is 4096, which needs up to 70.56 GiB of memory before the first request, \
             expected at most 51, or --memory 106GiB",
        ),
        (
            ssds(2, 20, STEADY) + TRACE,
            "x.toml:4: 'array.count' is 20, which needs up to 11.19 GiB of memory before the first request, expected \
             at most 1, or --memory 17GiB",
        ),
    ] {
        let refusal = refused(&text, DEFAULT_MEMORY);
        assert!(refusal.contains(message), "{refusal}");
        let rest = refusal.split_once("--memory ").expect("an option").1;
        let enough: Bytes = rest.parse().expect("a size");
        assert_eq!(within(&text, enough), Ok(()), "with what the message says");
    }
    // Half as many do, and arrays that are simulated one after the other.
    for text in [
        ssds(3, 1, STEADY) + LOAD,
        ssds(100, 1, RING) + LOAD,
        disks(1000, 51) + TRACE,
        disks(1000, 4096) + LOAD,
        ssds(2, 20, STEADY) + LOAD,
        ssds(2, 1, STEADY) + TRACE,
    ] {
        assert_eq!(within(&text, DEFAULT_MEMORY), Ok(()), "{text}");
    }
}

#[test]
fn memory_may_be_less() {
    let text = (disks(1000, 1) + LOAD).replace("exos-x18", "seagate-st3500630ns");
    let refusal = refused(&text, Bytes::new(1 << 20));
    assert!(
        refusal.contains(
            "'array.disks' is 1000, which needs up to 7.81 MiB of memory before the first request, expected fewer \
             disks, for at most 1 MiB, or --memory 1GiB"
        ),
        "{refusal}"
    );
    assert_eq!(within(&text, Bytes::new(8 << 20)), Ok(()));
}

#[test]
fn the_key_that_takes_most_is_named() {
    const TINY: &str = "profile = \"nvme-gen4-tlc\"\n[ssd.flash]\nchannels = 1\ndies = 1\nplanes = 1\n\
                        multi_plane = 1\nblocks = 512\n[ssd.nvme]\nqueues = 4096";
    const DRAM: &str = "profile = \"nvme-gen4-tlc\"\nstorage = \"dram\"\ncache.size = \"0\"\n\
                        dram = { capacity = \"1GiB\", channels = 4096, read_us = 5.0, write_us = 7.0 }";
    const FEW: &str =
        "profile = \"intel-d7\"\n[ssd.flash]\nprecondition = \"steady-state\"\noverwrites = 1e-7";
    const MANY: &str =
        "profile = \"intel-d7\"\n[ssd.flash]\nprecondition = \"sequential\"\noverwrites = 0.002";
    let md = "[array]\nlike = \"linux-md\"\nlevel = \"raid5\"\ndisks = 8\nmd.bitmap = \"1MiB\"\n\
              md.data_offset = \"1GiB\"\n[disk]\nprofile = \"exos-x18\"\n";
    for (text, memory, message) in [
        (
            ssds(1000, 1, TINY),
            DEFAULT_MEMORY,
            "'ssd.nvme.queues' is 4096, which needs up to ",
        ),
        (
            ssds(1000, 1, DRAM),
            Bytes::new(100 << 20),
            "'ssd.dram.channels' is 4096, which",
        ),
        (
            ssds(4, 1, FEW),
            DEFAULT_MEMORY,
            "'ssd.flash.mapping_unit' is \"4KiB\", which",
        ),
        (
            ssds(4, 1, MANY),
            DEFAULT_MEMORY,
            "expected fewer overwrites or precondition = \"steady-state\", for at most 900 MiB",
        ),
        (
            md.to_owned(),
            Bytes::new(50 << 20),
            "'array.md.bitmap' is \"1 MiB\", which needs up to 65.6",
        ),
    ] {
        let refusal = refused(&(text + LOAD), memory);
        assert!(refusal.contains(message), "{refusal}");
    }
}

#[test]
fn a_bitmap_has_so_many_chunks_as_memory_holds() {
    let with = |chunk: &str| {
        let text = format!(
            "[array]\nlike = \"linux-md\"\nlevel = \"raid5\"\ndisks = 8\nmd.bitmap = \"{chunk}\"\n\
             md.data_offset = \"1GiB\"\n[disk]\nprofile = \"exos-x18\"\n{LOAD}"
        );
        within(&text, DEFAULT_MEMORY)
    };
    // 18 TB in chunks of 256 KiB are 69 million.
    assert_eq!(with("512KiB"), Ok(()));
    let refusal = with("256KiB").unwrap_err();
    assert!(
        refusal.contains("'array.md.bitmap' is '256KiB', expected larger chunks"),
        "{refusal}"
    );
}

#[test]
fn ssds_are_not_written_to_for_minutes_before_the_first_request() {
    let overwritten = |disks: u32, times: f64| {
        let ssd = format!(
            "profile = \"nvme-gen4-tlc\"\n[ssd.flash]\nblocks = 256\nover_provisioning = 0.28\noverwrites = {times}"
        );
        within(&(ssds(disks, 1, &ssd) + LOAD), Bytes::new(1 << 40))
    };
    assert_eq!(overwritten(1, 0.25), Ok(()));
    let refusal = overwritten(100, 0.25).unwrap_err();
    let rest = refusal.split_once("expected at most ").expect(&refusal).1;
    let most = rest.split_once(' ').unwrap().0.parse().unwrap();
    assert_eq!(
        overwritten(100, most),
        Ok(()),
        "as many as the message says"
    );
    assert!(overwritten(100, most * 1.001).is_err());
    assert!(
        refusal.contains("'ssd.flash.overwrites' is 0.25, expected at most 0.")
            && refusal.contains(
                " for 100 SSDs (the work of 10^8 page writes; the write amplification is 2."
            ),
        "{refusal}"
    );
}

#[test]
fn the_segments_of_a_buffer_take_memory() {
    let folder = std::env::temp_dir().join(format!("iosonar-segments-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("x.toml");
    let whole = include_str!("../../disk-model/profiles/seagate-st3500630ns.toml");
    let with = format!("{whole}\n[cache]\nsegments = 65536\nsegment_sectors = 128\n");
    std::fs::write(folder.join("own.toml"), with).unwrap();
    let with = |disks: u32| {
        let text = format!(
            "{LOAD}[array]\nlevel = \"raid0\"\ndisks = {disks}\n[disk]\nprofile = \"own.toml\"\nmodel = \"positional\"\n"
        );
        Prepared::from_toml(&text, &path, &Overrides::default())
    };
    let (few, many) = (with(100), with(1000));
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(few.is_ok());
    let refused = many.unwrap_err();
    assert!(
        matches!(refused, ScenarioError::NeedsMemory(_)),
        "{refused}"
    );
    let refused = refused.to_string();
    assert!(
        refused.contains("'disk.profile' is ")
            && refused.contains("which needs up to 4.89 GiB of memory before the first request, expected a buffer of fewer segments"),
        "{refused}"
    );
}

/// Arrivals were drawn for every device, and those with long pauses took minutes.
#[test]
fn bursts_do_not_change_what_is_offered() {
    let offered = |arrivals: &str| {
        let text = format!(
            "[load]\nrequests = 100\narrivals = {arrivals}\nsize = \"4KiB\"\n[array]\nlevel = \"raid0\"\n\
             disks = 1024\n[disk]\nprofile = \"exos-x18\"\n"
        );
        let read = Prepared::from_toml(&text, Path::new("x.toml"), &Overrides::default());
        let all = read.unwrap().offered().unwrap();
        all.iter().map(|of| of.lower).collect::<Vec<_>>()
    };
    let even = offered("{ poisson_per_s = 1.0 }");
    assert!(even.iter().all(|of| *of > 0.0));
    for bursts in [
        "{ on_off = { per_s = 2.0, on_s = 1.0, off_s = 1.0, pareto_shape = 1.05 } }",
        "{ noise = { per_s = 1.0, hurst = 0.9, variation = 0.2, bin_s = 0.001 } }",
        "{ phases = [{ per_s = 0.0, mean_s = 1.0 }, { per_s = 2.0, mean_s = 1.0 }] }",
    ] {
        let bursty = offered(bursts);
        let alike = even
            .iter()
            .zip(&bursty)
            .all(|(a, b)| (a - b).abs() < 1e-9 * a);
        assert!(alike, "{bursts}");
    }
}

#[test]
fn keys_have_no_more_parts_than_a_scenario_has() {
    let set = |key: String| {
        let overrides = Overrides {
            set: vec![(key, "1".to_owned())],
            ..Overrides::default()
        };
        let text = disks(4, 1) + LOAD;
        let read = Prepared::from_toml(&text, Path::new("x.toml"), &overrides);
        read.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(set("load.arrivals.poisson_per_s".to_owned()), Ok(()));
    let refused = set("a.".repeat(20_000) + "a").unwrap_err();
    assert_eq!(
        refused,
        "--set: 'a...' is not a key: expected at most 16 parts"
    );
    let refused = set("a.".repeat(15) + "a").unwrap_err();
    assert!(!refused.contains("parts"), "{refused}");
}
