//! What the write cache keeps, and when writes wait for flash.

mod bench;

use bench::{Load, Outcome, job, parameters};
use iosonar_device::Access;
use iosonar_ssd_model::{Parameters, SsdProfile, Stage};
use iosonar_units::Nanos;

/// One plane whose programs take 1 ms, behind a cache of 64 pages; nothing else takes time worth mentioning.
const DRIVE: &str = "[flash]\nchannels = 1\ndies = 1\nplanes = 1\nblocks = 64\npages = 64\npage = \"4KiB\"\n\
     mapping_unit = \"4KiB\"\nread_us = [50.0]\nprogram_us = [1000.0]\nchannel_mb_per_s = 1e6\ncommand_us = 0.0\n\
     precondition = \"none\"\n";
const CACHE: &str = "[cache]\nsize = \"256KiB\"\n";

/// Writes at these times in microseconds: sectors from and count.
fn writes(more: &str, at: &[(u64, u64, u32)]) -> Outcome {
    let mut sent = 0;
    let mut last = 0;
    let mut arrivals = || {
        let next = at.get(sent).map_or(last, |write| write.0);
        let wait = next - last;
        (sent, last) = (sent + 1, next);
        Nanos::new(wait * 1_000)
    };
    Load {
        threads: 1,
        requests: at.len() as u64,
        warmup: 0,
        job: &mut |n| {
            let (_, sector, sectors) = at[n as usize];
            job(n, Access::Write, sector, sectors)
        },
        arrivals: Some(&mut arrivals),
    }
    .run(&parameters("nvme-gen4-tlc", &format!("{DRIVE}{more}")))
}

/// How many writes took less than half a program.
fn at_once(out: &Outcome) -> usize {
    let quick = out
        .services
        .iter()
        .filter(|(s, _)| (s.ended() - s.arrived).get() < 500_000);
    quick.count()
}

#[test]
fn writes_wait_while_too_much_is_on_its_way_to_flash() {
    let burst: Vec<_> = (0..20).map(|n| (n, n * 8, 8)).collect();
    assert_eq!(at_once(&writes(CACHE, &burst)), 20);
    let out = writes(&format!("{CACHE}in_flight = \"16KiB\"\n"), &burst);
    assert_eq!(at_once(&out), 4);
    assert_eq!(out.report.cache.unwrap().waits, 16);
    assert_eq!(out.report.flash.programs, 20);
    // What is on its way takes no room: a cache of two pages is large enough.
    let two = format!("{}in_flight = \"16KiB\"\n", CACHE.replace("256KiB", "8KiB"));
    assert_eq!(at_once(&writes(&two, &burst)), 4);
    assert_eq!(
        at_once(&writes(&CACHE.replace("256KiB", "8KiB"), &burst)),
        2
    );
    // Where sectors are known, they are what is counted: a page of one is no more than that.
    let small: Vec<_> = (0..20).map(|n| (n, n * 8, 1)).collect();
    let text = format!("partial_pages = true\n{CACHE}in_flight = \"4KiB\"\n");
    assert_eq!(at_once(&writes(&text, &small)), 8);
}

#[test]
fn a_page_that_is_written_again_soon_stays() {
    // Eight pages, four times.
    let again: Vec<_> = (0..32).map(|n| (n * 5_000, n % 8 * 8, 8)).collect();
    let programs = |more: &str| {
        let out = writes(&format!("{CACHE}{more}"), &again);
        assert_eq!(out.services.len(), 32);
        out.report.flash.programs
    };
    assert_eq!(programs(""), 32);
    // The first writes of all of them go to flash; the later ones find their page held.
    assert_eq!(programs("hold_ms = 1000.0\n"), 8);
    // A window of two rounds: the first round of each goes to flash.
    assert_eq!(programs("hold_ms = 80.0\n"), 16);
    assert_eq!(programs("hold_ms = 5.0\n"), 32);
    // Room for half of them: each of the eight that is held drives out another that was.
    let few = programs("hold_ms = 1000.0\nhold_share = 0.0625\n");
    assert_eq!(few, 8 + 2 * 8 + 8 - 4);
    let none = programs("hold_ms = 1000.0\nhold_share = 0.0\n");
    assert_eq!(none, 32);
}

#[test]
fn an_access_to_the_cache_takes_its_time_for_each_byte() {
    let die = |more: &str, sectors: u32| {
        let out = writes(
            &format!("{CACHE}access_us = 1.0\n{more}"),
            &[(0, 0, sectors)],
        );
        out.services[0].1[Stage::Die as usize].get()
    };
    assert_eq!(die("", 8), 1_000);
    // 4 096 bytes at 5 ns.
    assert_eq!(die("mb_per_s = 200.0\n", 8), 21_480);
    assert_eq!(die("mb_per_s = 200.0\n", 2), 6_120);
    // The last of two pages, which has waited for the first.
    assert_eq!(die("mb_per_s = 200.0\n", 16), 21_480);
    let two_rows = "mb_per_s = 200.0\nrow = \"4KiB\"\n";
    assert_eq!((die(two_rows, 8), die(two_rows, 16)), (21_480, 11_240));
}

#[test]
fn what_is_held_is_read_from_the_cache_and_can_be_discarded() {
    let text = format!("{DRIVE}partial_pages = true\n{CACHE}hold_ms = 1000.0\n");
    let jobs = [
        (Access::Write, 0, 2),
        (Access::Write, 0, 4),
        (Access::Read, 1, 3),
        (Access::Read, 0, 8),
        (Access::Discard, 0, 8),
        (Access::Read, 0, 4),
    ];
    let out = Load {
        threads: 1,
        requests: jobs.len() as u64,
        warmup: 0,
        job: &mut |n| {
            let (access, sector, sectors) = jobs[n as usize];
            job(n, access, sector, sectors)
        },
        arrivals: None,
    }
    .run(&parameters("nvme-gen4-tlc", &text));
    // Sectors 0 to 3 are there, the others are not; after the discard nothing is.
    assert_eq!(out.report.cache.unwrap().read_hits, 1);
    assert_eq!((out.report.flash.reads, out.report.flash.programs), (1, 1));
}

#[test]
fn what_is_discarded_leaves_its_room_to_others() {
    // A cache of eight pages, of which four stay dirty: twenty are written and discarded at once.
    let text =
        format!("{DRIVE}[cache]\nsize = \"32KiB\"\ndestage_above = 0.5\ndestage_below = 0.5\n");
    let out = Load {
        threads: 1,
        requests: 40,
        warmup: 0,
        job: &mut |n| {
            let access = [Access::Write, Access::Discard][n as usize % 2];
            job(n, access, n / 2 * 8, 8)
        },
        arrivals: None,
    }
    .run(&parameters("nvme-gen4-tlc", &text));
    assert_eq!(
        (out.services.len(), out.report.cache.unwrap().waits),
        (40, 0)
    );
}

#[test]
fn values_that_no_cache_has_are_refused() {
    for (more, expected) in [
        (
            "in_flight = \"100\"",
            "'ssd.cache.in_flight' is 100, expected at least 512 bytes",
        ),
        (
            "row = \"0\"",
            "'ssd.cache.row' is 0, expected at least 512 bytes",
        ),
        ("mb_per_s = 0.0", "'ssd.cache.mb_per_s' is 0, expected"),
        ("hold_ms = -1.0", "'ssd.cache.hold_ms' is -1, expected"),
        (
            "hold_share = 1.5",
            "'ssd.cache.hold_share' is 1.5, expected",
        ),
        (
            "in_flight = \"64KiB\"\ndestage_above = 0.5",
            "'ssd.cache.destage_above' is 0.5, expected 0 with cache.in_flight",
        ),
        (
            "hold_ms = 1.0\ndestage_above = 0.6\nhold_share = 0.5",
            "'ssd.cache.size' is 256KiB, expected at least",
        ),
    ] {
        let changes: toml::Table = toml::from_str(&format!("{DRIVE}{CACHE}{more}\n")).unwrap();
        let profile = SsdProfile::load("nvme-gen4-tlc", ".".as_ref(), &changes).unwrap();
        let text = Parameters::new(&profile).unwrap_err().to_string();
        assert!(text.contains(expected), "{more}: {text}");
    }
    // Four logical pages of which three may wait for the fourth: they would be on their way for ever.
    let slots = DRIVE.replace("page = \"4KiB\"", "page = \"16KiB\"");
    let changes = toml::from_str(&format!("{slots}{CACHE}in_flight = \"12KiB\"\n")).unwrap();
    let profile = SsdProfile::load("nvme-gen4-tlc", ".".as_ref(), &changes).unwrap();
    let text = Parameters::new(&profile).unwrap_err().to_string();
    assert!(
        text.contains("'ssd.cache.in_flight' is 12KiB, expected at least 12.5 KiB"),
        "{text}"
    );
}
