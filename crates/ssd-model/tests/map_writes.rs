//! What it costs that a map that is larger than the memory has to be written.

mod bench;

use bench::{Load, Outcome, job, parameters};
use iosonar_device::Access;
use iosonar_ssd_model::{Parameters, SsdProfile};

/// Two planes of 64 blocks of 16 pages, without a write cache.
const DRIVE: &str = "[flash]\nchannels = 2\ndies = 1\nplanes = 1\nblocks = 64\npages = 16\npage = \"4KiB\"\n\
     mapping_unit = \"4KiB\"\nover_provisioning = 1.0\nreserve = 2\nprecondition = \"none\"\n[cache]\nsize = \"0\"\n";

/// Writes of these pages, one at a time.
fn writes(more: &str, pages: &[u64]) -> Outcome {
    Load {
        threads: 1,
        requests: pages.len() as u64,
        warmup: 0,
        job: &mut |n| job(n, Access::Write, pages[n as usize] * 8, 8),
        arrivals: None,
    }
    .run(&parameters("nvme-gen4-tlc", &format!("{DRIVE}{more}")))
}

fn map(entries: u32, per_page: u32, write_back: bool) -> String {
    format!(
        "[mapping_cache]\nentries = {entries}\nentries_per_page = {per_page}\nread_bytes = 512\nwrite_back = {write_back}\n"
    )
}

#[test]
fn a_changed_entry_that_leaves_the_memory_is_written() {
    let pages: Vec<u64> = (0..64).map(|n| n * 2).collect();
    // Each has a page of the map of its own.
    let without = writes(&map(1, 2, false), &pages).report.flash;
    assert_eq!((without.programs, without.map_programs), (64, 0));
    let with = writes(&map(1, 2, true), &pages).report.flash;
    // Each look-up drives the entry before it out: 63 pages of the map are merged and written.
    assert_eq!(
        (with.programs, with.map_programs, with.data_programs()),
        (127, 63, 64)
    );
    assert_eq!(with.reads, without.reads + 63);
    assert!((with.write_amplification() - 127.0 / 64.0).abs() < 1e-12);
}

#[test]
fn the_changed_entries_of_a_page_of_the_map_are_written_together() {
    let pages: Vec<u64> = (0..64).collect();
    let flash = writes(&map(8, 8, true), &pages).report.flash;
    assert_eq!(flash.map_programs, 7);
    // Reads change nothing, so what they drive out is dropped.
    let reads = Load {
        threads: 1,
        requests: 64,
        warmup: 0,
        job: &mut |n| job(n, Access::Read, n * 8, 8),
        arrivals: None,
    }
    .run(&parameters(
        "nvme-gen4-tlc",
        &format!("{DRIVE}{}", map(1, 2, true)),
    ));
    assert_eq!(reads.report.flash.map_programs, 0);
}

#[test]
fn the_map_is_cleaned_with_the_data() {
    // Every write drives an entry out, for ten times the drive's pages.
    let pages: Vec<u64> = (0..10_240).map(|n| n * 7_919 % 1_024).collect();
    let run = |write_back| writes(&map(8, 4, write_back), &pages).report;
    let (without, with) = (run(false), run(true));
    assert_eq!(without.flash.data_programs(), 10_240);
    assert_eq!(with.flash.data_programs(), 10_240);
    assert!(with.flash.map_programs > 9_000, "{:?}", with.flash);
    assert!(
        with.flash.erases * 10 > without.flash.erases * 19,
        "{:?} {:?}",
        with.flash,
        without.flash
    );
    // What was programmed is what the translation layer wrote.
    let ftl = with.ftl.unwrap();
    assert_eq!(ftl.host_writes, with.flash.programs);
}

#[test]
fn a_map_that_has_no_room_is_refused() {
    let tight = DRIVE.replace("over_provisioning = 1.0", "over_provisioning = 0.08");
    let load = |write_back| {
        let changes = toml::from_str(&format!("{tight}{}", map(8, 2, write_back))).unwrap();
        Parameters::new(&SsdProfile::load("nvme-gen4-tlc", ".".as_ref(), &changes).unwrap())
    };
    assert!(load(false).is_ok());
    let text = load(true).unwrap_err().to_string();
    assert!(
        text.contains(
            "'ssd.mapping_cache.write_back' is true, expected false, or more spare space"
        ),
        "{text}"
    );
}
