//! What an array sees of an SSD besides its services, and what it can ask a profile.

mod bench;

use bench::{Load, Outcome, job, parameters};
use iosonar_device::{Access, Device, Observable, RequestId};
use iosonar_sim_core::Seed;
use iosonar_ssd_model::{AnySsd, Stage};
use iosonar_units::Nanos;

/// Three channels of DRAM, behind commands that take no time on the bus and in the controller.
const MEMORY: &str = "storage = \"dram\"\n\
     dram = { capacity = \"1GiB\", channels = 3, read_us = 5.0, write_us = 7.0 }\n\
     cache = { size = \"0\" }\nnvme = { queues = 1 }\n";
const MEASURED: &str = "storage = \"measured\"\ncache = { size = \"0\" }\n[measured]\ncapacity = \"1GiB\"\nchannels = 4\n\
     read_quantiles = [[0.0, 50.0], [1.0, 50.0]]\nwrite_quantiles = [[0.0, 20.0], [1.0, 20.0]]\nread_us_per_kib = 0.5\n";

fn one_by_one(profile: &str, changes: &str, access: Access, requests: u64) -> Outcome {
    Load {
        threads: 1,
        requests,
        warmup: 0,
        job: &mut |n| job(n, access, n * 8, 8),
        arrivals: None,
    }
    .run(&parameters(profile, changes))
}

fn busy(out: &Outcome, name: &str) -> Vec<(u32, u128)> {
    let stations = out.report.stations.iter();
    let named = stations.filter(|station| station.kind() == name);
    named.map(|s| (s.servers, s.busy)).collect()
}

#[test]
fn an_ssd_is_in_use_while_it_has_jobs() {
    let p = parameters("nvme-gen4-tlc", MEMORY);
    let mut ssd = AnySsd::new(&p, &Seed::new(1), "ssd/0").unwrap();
    assert!(ssd.pipelined().is_some());
    ssd.measure_from(Nanos::new(1_000));
    // Two jobs that begin together, and one after a pause; nothing happens before the end of the measurement.
    let mut spent = Vec::new();
    for (at, numbers) in [(2_000, 0..2), (1_000_000, 2..3)] {
        let at = Nanos::new(at);
        let jobs = numbers.end - numbers.start;
        for n in numbers {
            ssd.submit(job(n, Access::Read, n * 8, 8), at);
        }
        assert_eq!(ssd.occupancy().waiting as u64, jobs);
        let mut wake_ups = vec![ssd.start_next(at).unwrap()];
        while let Some(now) = wake_ups.pop() {
            if let Some(service) = ssd.complete(now, Nanos::MAX) {
                spent.push((service.ended() - at).get());
            }
            wake_ups.extend(ssd.start_next(now));
        }
    }
    ssd.end_measurement(Nanos::new(5_000_000));
    let usage = ssd.usage();
    assert_eq!(spent.len(), 3);
    assert_eq!(usage.jobs_done, 3);
    assert_eq!(usage.jobs_time, u128::from(spent.iter().sum::<u64>()));
    assert_eq!(usage.stay_time, usage.jobs_time);
    // The first two were there at the same time.
    assert_eq!(usage.busy.get(), spent[0].max(spent[1]) + spent[2]);
    let occupancy = ssd.occupancy();
    assert_eq!(
        (occupancy.waiting, occupancy.last_served),
        (0, Some(RequestId(2)))
    );
    assert_eq!(ssd.report().measured, Nanos::new(4_999_000));
}

#[test]
fn figures_before_the_measurement_do_not_count() {
    let run = |warmup| {
        let p = parameters("nvme-gen4-tlc", MEMORY);
        Load {
            threads: 1,
            requests: 12,
            warmup,
            job: &mut |n| job(n, Access::Read, n * 8, 8),
            arrivals: None,
        }
        .run(&p)
    };
    for warmup in [0, 9] {
        let out = run(warmup);
        // The requests go to the channels by turns.
        let counted = u128::from((12 - warmup) / 3) * 5_000;
        assert_eq!(busy(&out, "channel"), [(1, counted); 3]);
        assert_eq!(out.report.interrupts, 12 - warmup);
        assert_eq!(out.report.fetches, 12 - warmup);
    }
}

#[test]
fn memory_is_busy_for_as_long_as_its_accesses_take() {
    let reads = one_by_one("nvme-gen4-tlc", MEMORY, Access::Read, 9);
    assert_eq!(busy(&reads, "channel"), [(1, 15_000); 3]);
    assert!((reads.mean_stage_ns(Stage::Die) - 5_000.0).abs() < 1e-9);
    let writes = one_by_one("nvme-gen4-tlc", MEMORY, Access::Write, 10);
    // The tenth is on the first channel again.
    let channels = [(1, 28_000), (1, 21_000), (1, 21_000)];
    assert_eq!(busy(&writes, "channel"), channels);
    assert_eq!(busy(&writes, "die"), []);
    // Which of its channels a measured device used is not known. A read of 4 KiB takes 4 x 0.5 us more.
    let measured = one_by_one("nvme-gen4-tlc", MEASURED, Access::Read, 9);
    assert_eq!(busy(&measured, "channels"), [(4, 9 * 52_000)]);
    let measured = one_by_one("nvme-gen4-tlc", MEASURED, Access::Write, 9);
    assert_eq!(busy(&measured, "channels"), [(4, 9 * 20_000)]);
}

#[test]
fn places_of_a_bulk_server_are_taken_while_their_block_is_served() {
    for threads in [1, 5, 40] {
        let p = parameters("abstract", "block_queue = { block = 8 }");
        let out = Load {
            threads,
            requests: 400,
            warmup: 0,
            job: &mut |n| job(n, Access::Read, n * 8, 8),
            arrivals: None,
        }
        .run(&p);
        let served: u64 = out
            .services
            .iter()
            .map(|(_, stages)| stages[Stage::Die as usize].get())
            .sum();
        assert_eq!(busy(&out, "storage"), [(8, u128::from(served))]);
        let blocks = &out.report.block_sizes;
        let requests: u64 = blocks.iter().zip(0..).map(|(n, size)| n * size).sum();
        assert_eq!(requests, 400, "{blocks:?}");
    }
}

#[test]
fn what_waits_for_a_full_block_goes_when_the_load_has_ended() {
    let p = parameters(
        "abstract",
        "block_queue = { block = 8, dispatch = \"static\" }",
    );
    let mut ssd = AnySsd::new(&p, &Seed::new(1), "ssd/0").unwrap();
    let complete = |ssd: &mut AnySsd, mut now: Nanos| {
        let mut done = 0;
        while let Some(next) = ssd.start_next(now) {
            now = next;
            while ssd.complete(now, Nanos::MAX).is_some() {
                done += 1;
            }
        }
        (done, now)
    };
    for n in 0..3 {
        ssd.submit(job(n, Access::Read, n * 8, 8), Nanos::ZERO);
    }
    let (done, now) = complete(&mut ssd, Nanos::ZERO);
    assert_eq!(done, 0);
    let pipelined = ssd.pipelined().unwrap();
    assert!(pipelined.why_stuck().unwrap().contains("8 pending"));
    pipelined.drain(now);
    assert_eq!(complete(&mut ssd, now).0, 3);
    assert_eq!(ssd.pipelined().unwrap().why_stuck(), None);
}

#[test]
fn only_a_volatile_cache_takes_flushes() {
    let takes = |profile: &str, changes: &str| {
        let p = parameters(profile, changes);
        let mut ssd = AnySsd::new(&p, &Seed::new(1), "ssd/0").unwrap();
        ssd.pipelined().unwrap().takes_flushes()
    };
    assert!(takes("nvme-gen4-tlc", "cache = { volatile = true }"));
    assert!(!takes("nvme-gen4-tlc", "cache = { volatile = false }"));
    assert!(!takes("nvme-gen4-tlc", MEMORY));
    assert!(!takes("abstract", ""));
}

#[test]
fn a_profile_has_only_storage_if_nothing_else_takes_time() {
    let only = |profile: &str, changes: &str| parameters(profile, changes).has_only_storage();
    assert!(only("abstract", ""));
    assert!(!only("nvme-gen4-tlc", ""));
    for changes in [
        "driver = { submit_us = 0.1 }",
        "driver = { complete_us = 0.1 }",
        "driver = { interrupt_us = 0.1 }",
        "driver = { select_us = 0.1 }",
        "driver = { doorbell_us = 0.1 }",
        "pcie = { descriptor_setup_us = 0.1 }",
        "pcie = { to_host_setup_us = 0.1 }",
        "pcie = { from_host_mb_per_s = 1000.0 }",
        "controller = { command_us = 0.1, write_command_us = 0.0 }",
        "controller = { write_command_us = 0.1 }",
        "controller = { return_us = 0.1 }",
        "controller = { error_probability = 0.1 }",
        "limits = { iops = { baseline = 100 } }",
    ] {
        assert!(!only("abstract", changes), "{changes}");
    }
    // Flash, without and with a cache in front of it.
    let flash = "storage = \"flash\"\n[flash]\nchannels = 1\ndies = 1\nplanes = 1\nblocks = 64\npages = 64\n\
                 page = \"4KiB\"\ncell = \"slc\"\nchannel_mb_per_s = 1000.0\nover_provisioning = 0.5\n";
    assert!(only("abstract", flash));
    let cache = "[cache]\nsize = \"1MiB\"\naccess_us = 0.0\n";
    assert!(!only("abstract", &format!("{flash}{cache}")));
}

#[test]
fn storage_has_a_name() {
    let one = MEMORY.replace("channels = 3", "channels = 1");
    for (profile, changes, name) in [
        (
            "abstract",
            "",
            "exponential service time per block, 100 µs on average",
        ),
        ("nvme-gen4-tlc", "", "flash"),
        ("nvme-gen4-tlc", MEMORY, "DRAM, 3 channels"),
        ("nvme-gen4-tlc", &one, "DRAM, 1 channel"),
        (
            "nvme-gen4-tlc",
            MEASURED,
            "measured service times of commands, 4 channels",
        ),
    ] {
        assert_eq!(parameters(profile, changes).storage(), name);
    }
}
