//! Limits in front of an SSD: bursts and baselines to the nanosecond, what counts as an I/O, conservation.

mod bench;

use bench::{Load, Outcome, job, parameters};
use iosonar_device::{Access, Job, SheetFigure};
use iosonar_ssd_model::SsdProfile;
use iosonar_units::Nanos;

const DRIVE: &str = "storage = \"dram\"\n\
     dram = { capacity = \"1GiB\", channels = 64, read_us = 5.0, write_us = 5.0 }\n\
     cache = { size = \"0\" }\nnvme = { queues = 64 }\n";

/// A device that takes the same time for every request, and several at a time, behind limits.
fn limited(limits: &str) -> std::sync::Arc<iosonar_ssd_model::Parameters> {
    parameters("nvme-gen4-tlc", &format!("{DRIVE}limits = {{ {limits} }}"))
}

fn run(limits: &str, threads: usize, requests: u64, job: &mut dyn FnMut(u64) -> Job) -> Outcome {
    let load = Load {
        threads,
        requests,
        warmup: 0,
        job,
        arrivals: None,
    };
    load.run(&limited(limits))
}

/// Reads of 4 KiB at places that are nowhere near each other.
fn read(number: u64) -> Job {
    job(number, Access::Read, number * 7_919 % 100_000 * 16, 8)
}

/// When requests were complete, since the first one was.
fn ended(outcome: &Outcome) -> Vec<u64> {
    let ended = |i: usize| outcome.services[i].0.ended();
    let all = 0..outcome.services.len();
    all.map(|i| (ended(i) - ended(0)).get()).collect()
}

#[test]
fn a_burst_lasts_for_credits_by_burst_less_baseline_and_then_there_is_the_baseline() {
    // 900 credits at 1,000 - 100 per second: one second.
    let limits = "iops = { baseline = 100, burst = 1000, credits = 900 }";
    let ended = ended(&run(limits, 8, 3_000, &mut read));
    for (i, &at) in ended.iter().enumerate() {
        let i = i as u64;
        let expected = match i {
            0..=998 => i * 1_000_000,
            // From the first second on every credit is gone: each waits for one.
            _ => (i + 1 - 900) * 10_000_000,
        };
        assert_eq!(at, expected, "request {i}");
    }
}

#[test]
fn a_rate_that_is_no_whole_number_of_nanoseconds_does_not_drift() {
    let ended = ended(&run("iops = { baseline = 3000 }", 8, 20_000, &mut read));
    for (i, &at) in ended.iter().enumerate() {
        assert_eq!(
            at,
            (i as u64 * 1_000_000_000).div_ceil(3_000),
            "request {i}"
        );
    }
}

#[test]
fn credits_come_back_at_the_baseline() {
    let limits = "iops = { baseline = 100, burst = 1000, credits = 900 }";
    // 1,000 requests in a second use all credits up; 4 s later 400 have come back, enough for 444 at the burst's rate:
    // 400 / 900 s.
    let mut number = 0;
    let mut arrivals = || {
        number += 1;
        match number {
            1_001 => Nanos::from_millis_f64(4_000.0),
            _ => Nanos::from_millis_f64(1.0),
        }
    };
    let load = Load {
        threads: 0,
        requests: 1_600,
        warmup: 0,
        job: &mut read,
        arrivals: Some(&mut arrivals),
    };
    let outcome = load.run(&limited(limits));
    let waits = |i: usize| {
        let service = &outcome.services[i].0;
        (service.ended() - service.arrived).get() > 1_000_000
    };
    let delayed: Vec<usize> = (0..1_600).filter(|&i| waits(i)).collect();
    let first = *delayed.iter().find(|&&i| i >= 1_000).unwrap();
    assert!((1_444..=1_448).contains(&first), "{first}");
}

#[test]
fn all_requests_pass_and_their_time_is_accounted_for() {
    let limits = "io_size = \"16KiB\", iops = { baseline = 2000, burst = 5000, credits = 1000 }, \
                  mb_per_s = { baseline = 20.0 }, write_mb_per_s = { baseline = 5.0, burst = 30.0, credits = 2.0 }";
    let mut mixed = |number| {
        let access = match number % 5 {
            0 | 1 => Access::Write,
            2 => Access::Flush,
            _ => Access::Read,
        };
        job(
            number,
            access,
            number * 7_919 % 100_000 * 16,
            8 << (number % 4),
        )
    };
    let outcome = run(limits, 32, 5_000, &mut mixed);
    assert_eq!(outcome.services.len(), 5_000);
    let conservation = outcome.report.conservation;
    assert_eq!(
        conservation.job_time + conservation.unfinished_time,
        conservation.integral
    );
    for (service, stages) in &outcome.services {
        let total: u64 = stages.iter().map(|stage| stage.get()).sum();
        assert_eq!(total, (service.ended() - service.arrived).get());
    }
    let counts = outcome.report.limits.unwrap();
    assert_eq!(counts.passed, 4_000);
    assert!(counts.delayed > 2_000 && counts.time > 0, "{counts:?}");
}

#[test]
fn an_io_counts_once_for_each_begun_part_of_its_size() {
    // 1 MiB in parts of 256 KiB: four I/Os.
    let limits = "io_size = \"256KiB\", iops = { baseline = 100 }";
    let mut large = |number| job(number, Access::Read, number * 10_000, 2_048);
    let ended_large = ended(&run(limits, 8, 100, &mut large));
    assert_eq!(ended_large[99] - ended_large[0], 99 * 40_000_000);
    // 8 of 32 KiB in sequence are one if they are merged, at random places eight.
    let mut sequential = |number| job(number, Access::Read, number * 64, 64);
    let mut scattered = |number| job(number, Access::Read, number * 128, 64);
    let merging = format!("{limits}, merge = true");
    let rate = |outcome: Outcome| 799.0 / (*ended(&outcome).last().unwrap() as f64 / 1e9);
    let merged = rate(run(&merging, 8, 800, &mut sequential));
    assert!((merged / 800.0 - 1.0).abs() < 0.02, "{merged}");
    for (limits, load) in [
        (
            merging.as_str(),
            &mut scattered as &mut dyn FnMut(u64) -> Job,
        ),
        (limits, &mut sequential),
    ] {
        let rate = rate(run(limits, 8, 800, load));
        assert!((rate / 100.0 - 1.0).abs() < 1e-6, "{rate}");
    }
}

#[test]
fn a_limit_of_writes_lets_reads_pass() {
    let limits = "write_mb_per_s = { baseline = 4.096 }";
    let reads = run(limits, 4, 2_000, &mut read);
    assert_eq!(reads.report.limits.unwrap().delayed, 0);
    let mut write = |number| job(number, Access::Write, number * 8, 8);
    let ended = ended(&run(limits, 4, 2_000, &mut write));
    assert_eq!(*ended.last().unwrap(), 1_999 * 1_000_000);
}

/// The figures of the tests of limits: name, unit, stated and simulated.
fn figures(limits: &str) -> Vec<SheetFigure> {
    let text = format!("{DRIVE}limits = {{ {limits} }}\n");
    let changes = toml::from_str(&text).unwrap();
    let profile = SsdProfile::load("nvme-gen4-tlc", ".".as_ref(), &changes).unwrap();
    profile.data_sheet_test().unwrap().unwrap_or_default()
}

#[test]
fn limits_are_tested_in_a_burst_and_after_it() {
    let assert_tested = |limits: &str, expected: &[(&str, &str, f64)]| {
        let figures = figures(limits);
        let tested = figures.iter().map(|f| (f.name.as_str(), f.unit, f.stated));
        assert_eq!(tested.collect::<Vec<_>>(), expected, "{limits}");
        for figure in figures {
            assert!(figure.error().abs() < 0.005, "{limits}: {figure:?}");
        }
    };
    // Bursts of 2 222 requests in 0.222 s, and of ten times as many, of which only a part is simulated.
    for (credits, seconds) in [(2_000, 2.0 / 9.0), (20_000, 20.0 / 9.0)] {
        assert_tested(
            &format!("iops = {{ baseline = 1000, burst = 10000, credits = {credits} }}"),
            &[
                ("random reads of 4 KiB, in a burst", "IOPS", 10_000.0),
                ("random reads of 4 KiB, length of a burst", "s", seconds),
                ("random reads of 4 KiB, after a burst", "IOPS", 1_000.0),
            ],
        );
    }
    // Requests of 128 KiB, or of as much as counts as one.
    assert_tested(
        "mb_per_s = { baseline = 50, burst = 200, credits = 150 }, write_mb_per_s = { baseline = 20 }",
        &[
            ("sequential reads, in a burst", "MB/s", 200.0),
            ("sequential reads, length of a burst", "s", 1.0),
            ("sequential reads, after a burst", "MB/s", 50.0),
            ("sequential writes, sustained", "MB/s", 20.0),
        ],
    );
    assert_tested(
        "io_size = \"64KiB\", write_mb_per_s = { baseline = 20, burst = 100, credits = 80 }",
        &[
            ("sequential writes, in a burst", "MB/s", 100.0),
            ("sequential writes, length of a burst", "s", 1.0),
            ("sequential writes, after a burst", "MB/s", 20.0),
        ],
    );
    // Bursts of fewer than 100 requests, or hardly faster than what follows, cannot be seen.
    for burst in ["burst = 2000, credits = 49", "burst = 1099, credits = 99"] {
        assert_tested(
            &format!("iops = {{ baseline = 1000, {burst} }}"),
            &[("random reads of 4 KiB, sustained", "IOPS", 1_000.0)],
        );
    }
    assert_eq!(figures("io_size = \"64KiB\""), []);
}

#[test]
fn what_is_no_limit_is_refused() {
    for (limits, key) in [
        ("iops = { baseline = 0 }", "limits.iops.baseline"),
        (
            "iops = { baseline = 10, burst = 5, credits = 7 }",
            "limits.iops.burst",
        ),
        (
            "iops = { baseline = 10, burst = 50 }",
            "limits.iops.credits",
        ),
        (
            "mb_per_s = { baseline = 10, credits = 50 }",
            "limits.mb_per_s.burst",
        ),
        ("merge = true", "limits.merge"),
        ("io_size = \"0\"", "limits.io_size"),
        ("io_size = \"much\"", "limits.io_size"),
    ] {
        let changes = toml::from_str(&format!("limits = {{ {limits} }}")).unwrap();
        let profile =
            iosonar_ssd_model::SsdProfile::load("nvme-gen4-tlc", ".".as_ref(), &changes).unwrap();
        let error = iosonar_ssd_model::Parameters::new(&profile).unwrap_err();
        assert!(
            error.to_string().contains(&format!("'ssd.{key}' is ")),
            "{limits}: {error}"
        );
    }
}
