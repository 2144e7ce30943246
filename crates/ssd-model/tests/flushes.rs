//! Flushes of a cache that loses its contents without power.

mod bench;

use bench::{Load, Outcome, job, parameters};
use iosonar_device::Access;
use iosonar_units::Nanos;

/// One plane whose programs take 1 ms, behind a cache that empties itself only for flushes.
const DRIVE: &str = "[flash]\nchannels = 1\ndies = 1\nplanes = 1\nblocks = 64\npages = 64\npage = \"4KiB\"\n\
     mapping_unit = \"4KiB\"\nread_us = [50.0]\nprogram_us = [1000.0]\nchannel_mb_per_s = 1e6\ncommand_us = 0.0\n\
     precondition = \"none\"\n[cache]\nsize = \"512KiB\"\ndestage_above = 0.8\n";

/// Writes of a page, and flushes, 10 us after one another: each is complete when the next one comes.
fn run(drive: &str, jobs: &[Option<u64>]) -> Outcome {
    let mut arrivals = || Nanos::new(10_000);
    Load {
        threads: 1,
        requests: jobs.len() as u64,
        warmup: 0,
        job: &mut |n| match jobs[n as usize] {
            Some(page) => job(n, Access::Write, page * 8, 8),
            None => job(n, Access::Flush, 0, 0),
        },
        arrivals: Some(&mut arrivals),
    }
    .run(&parameters("nvme-gen4-tlc", drive))
}

/// The times of the flushes in milliseconds.
fn flushes(out: &Outcome) -> Vec<f64> {
    let done = out
        .services
        .iter()
        .filter(|(s, _)| s.job.access == Access::Flush);
    done.map(|(s, _)| (s.ended() - s.arrived).get() as f64 / 1e6)
        .collect()
}

fn volatile() -> String {
    format!("{DRIVE}volatile = true\n")
}

fn assert_near(times: &[f64], expected: &[f64]) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 0.1;
    assert!(
        times.len() == expected.len() && times.iter().zip(expected).all(near),
        "{times:?}, expected {expected:?}"
    );
}

#[test]
fn a_flush_takes_as_long_as_what_it_drains() {
    let burst: Vec<_> = (0..8).map(Some).chain([None]).collect();
    let out = run(&volatile(), &burst);
    assert_near(&flushes(&out), &[8.0]);
    assert_eq!(out.report.flash.programs, 8);
    let cache = out.report.cache.unwrap();
    assert_eq!((cache.flushes, cache.flush_time / 1_000_000), (1, 8));
    // A protected cache keeps what it has.
    let out = run(DRIVE, &burst);
    assert_near(&flushes(&out), &[0.0]);
    assert_eq!(out.report.flash.programs, 0);
    // Nothing, and a page that was written often.
    assert_near(&flushes(&run(&volatile(), &[None])), &[0.0]);
    let often: Vec<_> = (0..8).map(|_| Some(0)).chain([None]).collect();
    assert_near(&flushes(&run(&volatile(), &often)), &[1.0]);
}

#[test]
fn a_flush_waits_for_what_was_written_before_it() {
    let jobs = [
        Some(0),
        Some(1),
        None,
        Some(2),
        None,
        Some(3),
        Some(4),
        Some(5),
    ];
    let out = run(&volatile(), &jobs);
    // The second waits for one page more; what follows stays in the cache.
    assert_near(&flushes(&out), &[2.0, 3.0]);
    assert_eq!(out.report.flash.programs, 3);
}

#[test]
fn a_flush_programs_flash_pages_that_are_not_full() {
    let slots = volatile().replace("page = \"4KiB\"", "page = \"16KiB\"");
    let out = run(
        &slots,
        &[
            Some(0),
            Some(1),
            Some(2),
            Some(3),
            Some(4),
            None,
            Some(0),
            None,
        ],
    );
    assert_near(&flushes(&out), &[2.0, 3.0]);
    assert_eq!(out.report.flash.programs, 3);
    assert_eq!(out.report.ftl.unwrap().host_writes, 6);
}

#[test]
fn a_flush_takes_pages_that_are_held() {
    let held = format!("{}hold_ms = 100.0\nhold_share = 0.1\n", volatile());
    let out = run(&held, &[Some(0), None, Some(0), Some(0), None]);
    // The page stays when it is written again, until the second flush.
    assert_eq!(out.report.flash.programs, 2);
    assert_near(&flushes(&out), &[1.0, 2.0]);
}
