//! Blocks that are rewritten after many reads, or a long time.

mod bench;

use bench::{Load, Outcome, job, parameters};
use iosonar_device::Access;
use iosonar_ssd_model::{Parameters, SsdProfile};
use iosonar_units::Nanos;

/// One plane of 32 blocks of 16 pages, of which 21 are full at the beginning.
const DRIVE: &str = "[flash]\nchannels = 1\ndies = 1\nplanes = 1\nblocks = 32\npages = 16\npage = \"4KiB\"\n\
     mapping_unit = \"4KiB\"\nover_provisioning = 0.52\nreserve = 2\nsuspend_us = 1e6\n";

/// Reads or writes of these pages, `us` apart.
fn run(more: &str, access: Access, us: u64, pages: &[u64]) -> Outcome {
    let mut arrivals = || Nanos::new(us * 1_000);
    Load {
        threads: 1,
        requests: pages.len() as u64,
        warmup: 0,
        job: &mut |n| job(n, access, pages[n as usize] * 8, 8),
        arrivals: Some(&mut arrivals),
    }
    .run(&parameters("nvme-gen4-tlc", &format!("{DRIVE}{more}")))
}

#[test]
fn a_block_that_is_read_often_is_rewritten() {
    // A page of a full block, every 2 ms.
    let pages = [5; 1_000];
    let counts = |limit: &str| {
        let out = run(limit, Access::Read, 2_000, &pages);
        assert_eq!(out.services.len(), 1_000);
        let (ftl, flash) = (out.report.ftl.unwrap(), out.report.flash);
        assert_eq!(ftl.copies, 16 * ftl.erases, "all of it is valid");
        assert!(flash.refreshed == flash.erases);
        assert!(
            flash.cleaning_programs.abs_diff(ftl.copies) <= 16
                && flash.erases.abs_diff(ftl.erases) <= 1
        );
        (flash.refreshed, ftl.erases)
    };
    assert_eq!(counts(""), (0, 0));
    assert_eq!(counts("read_disturb_limit = 1_001\n"), (0, 0));
    assert_eq!(counts("read_disturb_limit = 1_000\n"), (1, 1));
    // The copy is read as often as the block before it.
    assert_eq!(counts("read_disturb_limit = 100\n"), (10, 10));
    // Reads of many blocks are reads of each.
    let spread: Vec<u64> = (0..1_000).map(|n| n % 10 * 16).collect();
    let out = run("read_disturb_limit = 100\n", Access::Read, 2_000, &spread);
    assert_eq!(out.report.flash.refreshed, 10);
}

#[test]
fn what_is_old_is_rewritten() {
    // A second of retention, and three seconds of a read each 2 ms.
    let pages = [0; 1_500];
    let refreshed = |hours: &str| {
        let more = format!("retention_h = {hours}\n");
        run(&more, Access::Read, 2_000, &pages)
            .report
            .flash
            .refreshed
    };
    // Of 21 blocks those that the cleaner has not filled yet are the exception.
    let rounds = refreshed("2.777778e-4") as f64 / 21.0;
    assert!((2.8..3.05).contains(&rounds), "{rounds}");
    let rounds = refreshed("5.555556e-4") as f64 / 21.0;
    assert!((1.35..1.55).contains(&rounds), "{rounds}");
    assert_eq!(refreshed("1.0"), 0);
}

#[test]
fn what_the_host_rewrites_in_time_needs_no_refresh() {
    // All pages in turn, in 336 x 2 ms = 0.67 s; the retention is 1 s.
    let pages: Vec<u64> = (0..3_000).map(|n| n % 336).collect();
    let out = run(
        "retention_h = 2.777778e-4\n[cache]\nsize = \"0\"\n",
        Access::Write,
        2_000,
        &pages,
    );
    let (ftl, flash) = (out.report.ftl.unwrap(), out.report.flash);
    // What is full at the beginning is old already, evenly: until the host has been there once, some is too old.
    assert!(flash.refreshed <= 21, "{flash:?}");
    assert!(ftl.erases > 150, "{ftl:?}");
}

#[test]
fn values_that_no_flash_has_are_refused() {
    for (more, expected) in [
        (
            "read_disturb_limit = 15",
            "'ssd.flash.read_disturb_limit' is 15, expected at least flash.pages",
        ),
        (
            "retention_h = 0.0",
            "'ssd.flash.retention_h' is 0, expected hours",
        ),
        (
            "retention_h = 1e9",
            "'ssd.flash.retention_h' is 1000000000, expected hours",
        ),
        (
            "retention_h = nan",
            "'ssd.flash.retention_h' is NaN, expected hours",
        ),
    ] {
        let changes: toml::Table = toml::from_str(&format!("{DRIVE}{more}\n")).unwrap();
        let profile = SsdProfile::load("nvme-gen4-tlc", ".".as_ref(), &changes).unwrap();
        let text = Parameters::new(&profile).unwrap_err().to_string();
        assert!(text.contains(expected), "{more}: {text}");
    }
    let in_place = DRIVE.replace("reserve = 2", "reserve = 0");
    let changes = toml::from_str(&format!("{in_place}retention_h = 1.0\n")).unwrap();
    let profile = SsdProfile::load("nvme-gen4-tlc", ".".as_ref(), &changes).unwrap();
    let text = Parameters::new(&profile).unwrap_err().to_string();
    assert!(
        text.contains("'ssd.flash.reserve' is 0, expected 2 or more with"),
        "{text}"
    );
}
