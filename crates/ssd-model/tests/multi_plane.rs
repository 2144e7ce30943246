//! Commands for several planes of a die.

mod bench;

use bench::{Load, Outcome, job, parameters};
use iosonar_device::Access;
use iosonar_ssd_model::{Parameters, SsdProfile};

/// A die of two planes of 16 blocks of 4 pages, where nothing but the die takes time.
const TWO_PLANES: &str = "description = \"\"\ninterface = \"nvme\"\nstorage = \"flash\"\n[flash]\nchannels = 1\n\
     dies = 1\nplanes = 2\nblocks = 16\npages = 4\npage = \"4KiB\"\nmapping_unit = \"4KiB\"\nread_us = [50.0]\n\
     program_us = [500.0]\nerase_us = 3000.0\nchannel_mb_per_s = 1e6\ncommand_us = 0.0\nreserve = 2\n\
     parallelism = \"die\"\nsuspend_us = 1e6\n";

/// The same requests one after the other, `threads` at a time.
fn run(more: &str, threads: usize, jobs: &[(Access, u64, u32)]) -> Outcome {
    Load {
        threads,
        requests: jobs.len() as u64,
        warmup: 0,
        job: &mut |n| {
            let (access, sector, sectors) = jobs[n as usize];
            job(n, access, sector, sectors)
        },
        arrivals: None,
    }
    .run(&parameters("nvme-gen4-tlc", &format!("{TWO_PLANES}{more}")))
}

const NO_CACHE: &str = "over_provisioning = 1.0\nprecondition = \"none\"\n[cache]\nsize = \"0\"\n";

fn pages(access: Access, from: u64, count: u32) -> (Access, u64, u32) {
    (access, from * 8, count * 8)
}

#[test]
fn one_command_programs_the_same_page_of_two_planes() {
    let four = [pages(Access::Write, 0, 4)];
    let alone = run(NO_CACHE, 1, &four);
    let both = run(&format!("multi_plane = 2\n{NO_CACHE}"), 1, &four);
    // The first page begins before the data of the second are there, which then is alone; the third goes with the
    // fourth.
    assert_eq!(alone.report.flash.programs, 4);
    assert_eq!(both.report.flash.programs, 4);
    assert_eq!(alone.report.flash.joined.programs, 0);
    assert_eq!(both.report.flash.joined.programs, 1);
    let saved = alone.mean_response_ns(0) - both.mean_response_ns(0);
    assert!((saved - 500e3).abs() < 1e3, "{saved}");
}

#[test]
fn planes_that_are_at_different_pages_share_no_command() {
    // Two pages more on the first plane: its frontier is ahead of that of the other.
    let jobs: Vec<_> = [0, 2]
        .iter()
        .chain(&[1, 4, 3, 6, 5])
        .map(|&p| pages(Access::Write, p, 1))
        .collect();
    let out = run(&format!("multi_plane = 2\n{NO_CACHE}"), 2, &jobs);
    assert_eq!(out.report.flash.programs, 7);
    assert_eq!(out.report.flash.joined.programs, 0);
}

#[test]
fn reads_of_two_planes_share_the_die_and_cross_the_channel_one_by_one() {
    // The channel takes 4 096 ns for a page.
    let slow = |more: &str| {
        let text = format!("{more}over_provisioning = 1.0\n[cache]\nsize = \"0\"\n");
        let text = format!("{TWO_PLANES}{text}")
            .replace("1e6\ncommand", "1000.0\ncommand")
            .replace("command_us = 0.0", "command_us = 1.0");
        let p = parameters("nvme-gen4-tlc", &text);
        Load {
            threads: 1,
            requests: 1,
            warmup: 0,
            job: &mut |n| job(n, Access::Read, 0, 4 * 8),
            arrivals: None,
        }
        .run(&p)
    };
    let (alone, both) = (slow(""), slow("multi_plane = 2\n"));
    assert_eq!((alone.report.flash.reads, both.report.flash.reads), (4, 4));
    assert_eq!(both.report.flash.joined.reads, 1);
    let saved = alone.mean_response_ns(0) - both.mean_response_ns(0);
    assert!(
        (saved - 51e3).abs() < 10.0,
        "one command and one access are saved, but no transfer: {saved}"
    );
    // What the second plane adds to the command is added to its request.
    let longer = slow("multi_plane = 2\nmulti_plane_command_us = 3.0\n");
    let added = longer.mean_response_ns(0) - both.mean_response_ns(0);
    assert!((added - 3e3).abs() < 10.0, "{added}");
}

#[test]
fn blocks_without_valid_pages_are_erased_together() {
    // Everything is overwritten in order: no block that is cleaned has a valid page.
    let over = "over_provisioning = 1.0\n[cache]\nsize = \"256KiB\"\n";
    let jobs: Vec<_> = (0..400)
        .map(|n| pages(Access::Write, n * 2 % 64, 2))
        .collect();
    let alone = run(over, 8, &jobs);
    let both = run(&format!("multi_plane = 2\n{over}"), 8, &jobs);
    assert_eq!(alone.report.flash.erases, both.report.flash.erases);
    assert_eq!(alone.report.flash.joined.erases, 0);
    let joined = both.report.flash.joined;
    assert!(joined.erases * 4 > both.report.flash.erases, "{joined:?}");
    assert!(
        joined.programs * 4 > both.report.flash.programs,
        "{joined:?}"
    );
    assert!(both.end.get() < alone.end.get() * 3 / 4);
}

#[test]
fn a_page_that_was_read_before_it_was_written_takes_a_place() {
    let read_unwritten = "read_unwritten = true\nmulti_plane = 2\n";
    let joined = |map: bool| {
        let text = format!("{read_unwritten}map_unwritten = {map}\n{NO_CACHE}");
        // The first plane's frontier moves on, and the pages of the two are no longer at the same place.
        let jobs = [pages(Access::Read, 8, 1), pages(Access::Write, 0, 4)];
        let out = run(&text, 1, &jobs);
        assert_eq!(
            (out.report.flash.reads, out.report.ftl.unwrap().host_writes),
            (1, 4)
        );
        out.report.flash.joined.programs
    };
    assert_eq!((joined(false), joined(true)), (1, 0));
}

#[test]
fn a_part_of_a_page_is_merged_with_what_was_written_of_it() {
    let reads = |partial: bool, jobs: &[(Access, u64, u32)]| {
        run(&format!("partial_pages = {partial}\n{NO_CACHE}"), 1, jobs)
            .report
            .flash
            .reads
    };
    let write = |sector, sectors| (Access::Write, sector, sectors);
    for (by_page, by_sector, jobs) in [
        // The same sectors again: nothing else is there to be kept.
        (1, 0, &[write(0, 3), write(0, 3)][..]),
        (1, 0, &[write(0, 3), write(0, 5)]),
        (1, 1, &[write(0, 3), write(3, 5)]),
        // All of the page was written by then.
        (2, 2, &[write(0, 3), write(3, 5), write(0, 1)]),
        (1, 1, &[write(0, 8), write(0, 1)]),
        (
            1,
            0,
            &[
                write(0, 3),
                (Access::Discard, 0, 8),
                write(3, 5),
                write(0, 8),
                write(0, 8),
                write(8, 1),
                write(8, 1),
            ],
        ),
    ] {
        assert_eq!(
            (reads(false, jobs), reads(true, jobs)),
            (by_page, by_sector),
            "{jobs:?}"
        );
    }
}

#[test]
fn sectors_that_were_read_before_they_were_written_count_as_written() {
    let reads = |sectors| {
        let unwritten = "read_unwritten = true\nmap_unwritten = true\npartial_pages = true\n";
        let jobs = [(Access::Read, 0, 4), (Access::Write, 0, sectors)];
        let out = run(&format!("{unwritten}{NO_CACHE}"), 1, &jobs);
        out.report.flash.reads
    };
    // After the read of four sectors there are four to keep, if they are not written.
    assert_eq!((reads(3), reads(4), reads(8)), (2, 1, 1));
}

#[test]
fn values_that_no_die_has_are_refused() {
    let message = |more: &str| {
        let text = format!("{TWO_PLANES}over_provisioning = 1.0\n{more}");
        let changes: toml::Table = toml::from_str(&text).unwrap();
        let profile = SsdProfile::load("nvme-gen4-tlc", ".".as_ref(), &changes).unwrap();
        Parameters::new(&profile).unwrap_err().to_string()
    };
    for (more, expected) in [
        (
            "multi_plane = 3",
            "'ssd.flash.multi_plane' is 3, expected 1 to 2",
        ),
        (
            "multi_plane = 0",
            "'ssd.flash.multi_plane' is 0, expected 1 to 2",
        ),
        (
            "multi_plane_command_us = -1.0",
            "'ssd.flash.multi_plane_command_us' is -1, expected",
        ),
        (
            "map_unwritten = true",
            "expected flash.read_unwritten = true as well",
        ),
    ] {
        let text = message(more);
        assert!(text.contains(expected), "{more}: {text}");
    }
    let independent = format!("{TWO_PLANES}over_provisioning = 1.0\nmulti_plane = 2\n")
        .replace("\"die\"", "\"plane\"");
    let changes: toml::Table = toml::from_str(&independent).unwrap();
    let profile = SsdProfile::load("nvme-gen4-tlc", ".".as_ref(), &changes).unwrap();
    let text = Parameters::new(&profile).unwrap_err().to_string();
    assert!(
        text.contains("independent planes share no commands"),
        "{text}"
    );
}
