//! The block queue against its closed forms.

mod bench;

use bench::times::{sequential, times};
use bench::{Load, job, parameters};
use iosonar_device::Access;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn saturated_throughput_is_the_closed_form_to_the_nanosecond(
        t in times(), b in 1..65_u64, write in any::<bool>(), dynamic in any::<bool>(),
    ) {
        prop_assume!(!t.is_close(b));
        // Where the driver is the slower one, dynamic blocks are never full.
        let dynamic = dynamic && t.cycle(b) > b * (t.submit + t.complete);
        let dispatch = if dynamic { "dynamic" } else { "static" };
        let more = format!("[block_queue]\nring = 4096\nblock = {b}\ndispatch = \"{dispatch}\"\nwrap = true");
        let p = t.profile(&more);
        let access = if write { Access::Write } else { Access::Read };
        let out = sequential(&p, access, 4 * b as usize, 60 * b);
        // Once it is full, every block takes a cycle, to the nanosecond.
        let at = |block: u64| out.services[(20 + block) as usize * b as usize].0.ended();
        for block in 1..20 {
            prop_assert_eq!((at(block) - at(block - 1)).get(), t.cycle(b), "block {} of {:?}", block, t);
        }
    }
}

#[test]
fn below_twice_the_block_sizes_alternate() {
    // T = 16, B = 16 gives 15, 1, 15, 1; T = 24 gives 16, 8.
    for (threads, sizes) in [(16, [15, 1]), (24, [16, 8])] {
        // Which sizes they are is set by what the driver takes for each bio; here nothing.
        let quick = "[block_queue]\nwrap = true\n[driver]\nsubmit_us = 0.0\ncomplete_us = 0.0";
        let p = parameters("block-queue-gen2x4", quick);
        let out = sequential(&p, Access::Read, threads, 24_000);
        let blocks = &out.report.block_sizes;
        let both: u64 = sizes.iter().map(|&size: &usize| blocks[size]).sum();
        let all: u64 = blocks.iter().sum();
        assert!(both + 4 >= all, "{threads} threads: {blocks:?}");
        assert!(
            blocks[sizes[0]].abs_diff(blocks[sizes[1]]) <= 3,
            "{threads} threads: {blocks:?}"
        );
    }
}

#[test]
fn static_blocks_with_fewer_threads_never_begin() {
    let p = parameters("block-queue-gen2x4", "[block_queue]\ndispatch = \"static\"");
    let out = sequential(&p, Access::Read, 15, 100);
    assert!(out.services.is_empty());
    let why = out.stuck.unwrap();
    assert!(
        why.contains("16 pending descriptors, but there are only 15"),
        "{why}"
    );
    let out = sequential(&p, Access::Read, 16, 160);
    assert_eq!((out.services.len(), out.stuck), (160, None));
}

#[test]
fn latency_stages_make_up_the_response_time() {
    for name in ["block-queue-gen2x4", "nvme-gen4-tlc", "mqsim-default"] {
        let p = parameters(name, "");
        let mut kinds = [Access::Read, Access::Write, Access::Read, Access::Discard]
            .into_iter()
            .cycle();
        let out = Load {
            threads: 13,
            requests: 2_000,
            warmup: 0,
            job: &mut |n| {
                job(
                    n,
                    kinds.next().unwrap(),
                    n * 7919 % 100_000,
                    1 + (n * 31 % 200) as u32,
                )
            },
            arrivals: None,
        }
        .run(&p);
        assert_eq!(out.services.len(), 2_000, "{name}");
        for (service, stages) in &out.services {
            let sum: u64 = stages.iter().map(|s| s.get()).sum();
            assert_eq!(sum, (service.ended() - service.arrived).get(), "{name}");
        }
    }
}

#[test]
fn times_of_jobs_are_the_integral_of_their_number() {
    for warmup in [0, 333] {
        let p = parameters("block-queue-gen2x4", "");
        let out = Load {
            threads: 9,
            requests: 1_000,
            warmup,
            job: &mut |n| job(n, Access::Write, n * 8, 1 + (n % 40) as u32),
            arrivals: None,
        }
        .run(&p);
        let sums = out.report.conservation;
        assert_eq!(sums.job_time + sums.unfinished_time, sums.integral);
        assert_eq!(sums.unfinished_time, 0);
        let inside: u64 = out
            .services
            .iter()
            .map(|(s, _)| {
                (s.ended().max(out.end - out.report.measured)
                    - s.arrived.max(out.end - out.report.measured))
                .get()
            })
            .sum();
        assert_eq!(u128::from(inside), sums.integral);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn no_descriptor_is_lost_and_the_ring_is_never_overtaken(
        t in times(),
        (ring, block, prefetch, subset) in (0..8_u32, 1..40_u32, 0..40_u32, 1..12_u32),
        (strategy, engine, wrap, fixed) in (0..3_usize, any::<bool>(), any::<bool>(), any::<bool>()),
        (engines, commands, errors) in (1..4_u32, 1..4_u32, prop_oneof![Just(0.0), Just(0.3)]),
        (threads, largest) in (1..80_usize, 1..100_u32),
    ) {
        // The order of descriptors is checked by the device itself at each step.
        let ring = 1 << ring;
        let block = block.min(ring);
        let strategy = ["complete-block", "one-by-one", "subsets"][strategy];
        let dispatch = if fixed { "static" } else { "dynamic" };
        let more = format!(
            "[block_queue]\nring = {ring}\nblock = {block}\nprefetch = {}\nreturn = \"{strategy}\"\nsubset = {}\n\
             descriptor_engine = {engine}\nwrap = {wrap}\ndispatch = \"{dispatch}\"",
            prefetch.min(block),
            subset.min(block),
        );
        let other = format!("[pcie]\ndata_engines = {engines}\n[controller]\ncommands = {commands}\nerror_probability = {errors:?}");
        let p = t.profile_with(&more, &other);
        let requests = 600;
        let mut sizes = iosonar_sim_core::Seed::new(7).stream("load", "size");
        let out = Load {
            threads,
            requests,
            warmup: 100,
            job: &mut |n| {
                let access = if n % 3 == 0 { Access::Write } else { Access::Read };
                job(n, access, sizes.below(1 << 20), 1 + sizes.below(u64::from(largest)) as u32)
            },
            arrivals: None,
        }
        .run(&p);
        let mut seen: Vec<u64> = out.services.iter().map(|(s, _)| s.job.tag).collect();
        seen.sort_unstable();
        seen.dedup();
        prop_assert_eq!(seen.len(), out.services.len(), "each once");
        if !fixed {
            prop_assert_eq!(out.services.len() as u64, requests, "{}", more);
        } else if (out.services.len() as u64) < requests {
            // What is left is less than a block, and says so.
            prop_assert!(out.stuck.is_some(), "{}", more);
        }
        for (service, stages) in &out.services {
            let sum: u64 = stages.iter().map(|s| s.get()).sum();
            prop_assert_eq!(sum, (service.ended() - service.arrived).get());
        }
        let sums = out.report.conservation;
        prop_assert_eq!(sums.job_time + sums.unfinished_time, sums.integral);
        for station in &out.report.stations {
            prop_assert!(out.report.utilisation(station) <= 1.0, "{} {}", station.name, out.report.utilisation(station));
        }
    }
}
