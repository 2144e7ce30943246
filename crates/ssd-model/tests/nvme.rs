//! Queue pairs: what a command takes, arbitration, coalescing, polling; and MQSim.

mod bench;

use bench::{Load, Outcome, job, parameters};
use iosonar_device::{Access, Job};
use iosonar_sim_core::Seed;
use iosonar_ssd_model::Stage;
use iosonar_units::Nanos;

/// Uniform random 4 KiB requests in a closed loop.
fn random(profile: &str, changes: &str, access: Access, threads: usize, requests: u64) -> Outcome {
    let p = parameters(profile, changes);
    let pages = p.capacity_sectors / 8;
    let mut places = Seed::new(1).stream("load", "address");
    Load {
        threads,
        requests,
        warmup: 0,
        job: &mut |n| job(n, access, places.below(pages) * 8, 8),
        arrivals: None,
    }
    .run(&p)
}

#[test]
fn one_command_takes_the_sum_of_its_stages() {
    let p = parameters("nvme-gen4-tlc", "[flash]\nread_us = [50.0]");
    let out = Load {
        threads: 1,
        requests: 100,
        warmup: 0,
        job: &mut |n| job(n, Access::Read, n * 8_000, 8),
        arrivals: None,
    }
    .run(&p);
    // The profile's times in nanoseconds: driver and doorbell; 64 bytes at 6 800 MB/s after 300; the controller; the
    // die's command, read and 4 KiB at 1 200 MB/s; 4 KiB at 7 168 MB/s after 300; the completion's start, 16 bytes
    // after 300; interrupt and completion.
    let expected =
        (800 + 100) + 309 + 600 + (200 + 50_000 + 3_413) + 871 + (100 + 302) + 1_000 + 700;
    for (service, _) in &out.services {
        assert_eq!((service.ended() - service.arrived).get(), expected);
    }
}

#[test]
fn the_depth_bounds_what_the_device_sees() {
    for (depth, most_commands) in [(1, 1024), (4, 1024), (1023, 4)] {
        let changes = format!(
            "[nvme]\nqueues = 1\ndepth = {depth}\nmost_commands = {most_commands}\n[flash]\nread_us = [50.0]"
        );
        let out = random("nvme-gen4-tlc", &changes, Access::Read, 64, 4_000);
        let bound = depth.min(most_commands);
        // Nothing is as fast as a die alone, so so many at a time come to no more than this.
        let most = f64::from(bound) / 55.1e-6;
        let throughput = out.throughput(1_000, 3_000);
        assert!(
            throughput < most && throughput > 0.6 * most,
            "{depth}: {throughput} of {most}"
        );
    }
}

/// Jobs of two classes by turns, on two pairs.
fn two_classes(n: u64) -> Job {
    Job {
        class: (n % 2) as u16,
        ..job(n, Access::Read, n * 8, 8)
    }
}

#[test]
fn weights_share_the_controller() {
    let changes = "[nvme]\nqueues = 2\nassign = \"class\"\narbitration = \"weighted\"\nweights = [3, 1]\nmost_commands = 4\n\
                   [controller]\ncommand_us = 20.0";
    let p = parameters("nvme-gen4-tlc", changes);
    let out = Load {
        threads: 256,
        requests: 20_000,
        warmup: 0,
        job: &mut two_classes,
        arrivals: None,
    }
    .run(&p);
    // Of the 128 of each at the beginning three commands of the first go to one of the second.
    let first = out.services[..160]
        .iter()
        .filter(|(s, _)| s.job.class == 0)
        .count();
    assert!((115..=125).contains(&first), "{first} of 160");
}

#[test]
fn interrupts_wait_for_each_other_but_not_for_ever() {
    let with = |coalesce: u32, us: f64, threads: usize| {
        let changes = format!("[nvme]\nqueues = 1\ncoalesce = {coalesce}\ncoalesce_us = {us:?}");
        random("nvme-gen4-tlc", &changes, Access::Read, threads, 8_000)
    };
    let (alone, together) = (with(1, 0.0, 64), with(8, 100.0, 64));
    let per_interrupt = 8_000.0 / together.report.interrupts as f64;
    assert!(
        together.report.interrupts * 2 < alone.report.interrupts,
        "{per_interrupt}"
    );
    assert!(per_interrupt >= 8.0, "{per_interrupt}");
    // One request at a time waits for the whole time.
    let (quick, slow) = (with(1, 0.0, 1), with(8, 100.0, 1));
    let longer = slow.mean_stage_ns(Stage::Return) - quick.mean_stage_ns(Stage::Return);
    assert!((longer - 100_000.0).abs() < 1.0, "{longer}");
}

#[test]
fn polling_saves_the_interrupt() {
    let with = |changes: &str| {
        let p = parameters("nvme-gen4-tlc", changes);
        let mut gaps = Seed::new(1).stream("load", "arrival");
        let out = Load {
            threads: 0,
            requests: 4_000,
            warmup: 0,
            job: &mut |n| job(n, Access::Read, n * 8_000, 8),
            // So seldom that they do not meet.
            arrivals: Some(&mut || gaps.exponential(Nanos::from_millis(50))),
        }
        .run(&p);
        out.mean_stage_ns(Stage::Return)
    };
    let interrupt = with("");
    let polling = with("[nvme]\nnotification = \"polling\"");
    assert!(
        (interrupt - polling - 1_000.0).abs() < 20.0,
        "{interrupt} {polling}"
    );
    // Looking every 10 us is 5 us late on average.
    let seldom = with("[nvme]\nnotification = \"polling\"\npoll_us = 10.0");
    assert!(
        (seldom - polling - 5_000.0).abs() < 300.0,
        "{seldom} {polling}"
    );
}

#[test]
fn a_large_request_is_many_commands() {
    let p = parameters(
        "nvme-gen4-tlc",
        "[nvme]\nmost_transfer = \"64KiB\"\nqueues = 1",
    );
    let out = Load {
        threads: 1,
        requests: 10,
        warmup: 0,
        job: &mut |n| job(n, Access::Read, n * 4_096, 1_024),
        arrivals: None,
    }
    .run(&p);
    // 512 KiB are eight commands, each of four flash pages.
    assert_eq!(out.report.flash.reads, 10 * 8 * 4);
    assert_eq!(out.services.len(), 10);
}

#[test]
fn errors_come_back_and_nothing_is_lost() {
    for profile in ["nvme-gen4-tlc", "block-queue-gen2x4"] {
        let out = random(
            profile,
            "[controller]\nerror_probability = 0.1",
            Access::Read,
            8,
            20_000,
        );
        let failed = out.services.iter().filter(|(s, _)| s.failed).count() as f64;
        assert_eq!(out.services.len(), 20_000);
        assert_eq!(out.report.failed_commands as f64, failed);
        // Binomial: the standard deviation of the share is 0.0021.
        assert!((failed / 20_000.0 - 0.1).abs() < 3.0 * 0.0021, "{failed}");
    }
}

/// MQSim 7ec40e3 (October 2022) on its default configuration with one flow of uniform random 4 KiB requests in a
/// closed loop, seed 798: mean response times in nanoseconds, exact sums over all requests (100 000 at depth 16,
/// 20 000 at depth 1). See docs/src/validation.md.
#[test]
fn mqsim_is_met_on_an_equal_configuration() {
    const ALL_IN_MEMORY: &str = "[mapping_cache]\nentries = 0\n";
    const NO_CACHE: &str = "[mapping_cache]\nentries = 0\n[cache]\nsize = \"0\"\n";
    for (changes, access, threads, mqsim, tolerance) in [
        // Without contention there is nothing but the sum of the parts.
        (NO_CACHE, Access::Read, 1, 88_906.0, 0.0),
        (NO_CACHE, Access::Write, 1, 763_965.0, 0.0),
        // With it the seeds of both make half a per cent; MQSim's own seeds spread by 0.15 % of reads and 0.9 % of
        // cached writes. Without multi-plane commands the cached writes are 2.5 % longer.
        (NO_CACHE, Access::Read, 16, 120_092.4, 0.006),
        (NO_CACHE, Access::Write, 16, 983_697.3, 0.010),
        ("", Access::Read, 16, 218_840.2, 0.006),
        (
            "[cache]\nsize = \"0\"",
            Access::Write,
            16,
            1_147_351.9,
            0.010,
        ),
        (ALL_IN_MEMORY, Access::Write, 16, 392_839.3, 0.010),
        ("", Access::Write, 16, 432_537.9, 0.010),
    ] {
        let requests = if threads == 1 { 2_000 } else { 100_000 };
        let out = random("mqsim-default", changes, access, threads, requests);
        let mean = out.mean_response_ns(0);
        println!("{changes:?} {access:?} at depth {threads}: {mean:.1}, MQSim {mqsim}");
        assert!(
            (mean / mqsim - 1.0).abs() <= tolerance,
            "{changes:?} {access:?} at depth {threads}: {mean}, MQSim {mqsim}"
        );
        if changes == ALL_IN_MEMORY {
            // MQSim programs 2.2 % of the pages together with one of another plane.
            let joined = out.report.flash.joined.programs;
            assert!((2_000..2_500).contains(&joined), "{joined}");
        }
    }
}
