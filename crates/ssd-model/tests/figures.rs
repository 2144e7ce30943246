//! What must come out: the statements of the paper's figures 5 to 8, over random profiles.
//!
//! Source: Bougioukou et al., "Prototyping and Performance Evaluation of a Dynamically Adaptable Block Device Driver for
//! PCIe-based SSDs" (2014).

mod bench;

use bench::times::{Times, likely_times, sequential};
use bench::{Load, Outcome, job};
use iosonar_device::Access;
use iosonar_ssd_model::Stage;
use proptest::prelude::*;

const COMPLETE: &str = "return = \"complete-block\"";
const ONE_BY_ONE: &str = "return = \"one-by-one\"";
const WITH_ENGINE: &str = "return = \"one-by-one\"\ndescriptor_engine = true";

fn run(t: &Times, block: u64, more: &str, access: Access, threads: usize) -> Outcome {
    let text = format!("[block_queue]\nring = 4096\nwrap = true\nblock = {block}\n{more}");
    sequential(
        &t.profile(&text),
        access,
        threads,
        40 * block.max(threads as u64),
    )
}

/// Requests per second when it is going.
fn throughput(out: &Outcome) -> f64 {
    let all = out.services.len();
    out.throughput(all / 4, 3 * all / 4)
}

/// At least as much, but for where the window cuts a block.
fn at_least(more: f64, less: f64) -> bool {
    more >= less * 0.995
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn figure_5_block_size_and_return(t in likely_times()) {
        let mut before = 0.0;
        let mut in_device = Vec::new();
        for block in [1, 2, 4, 8, 16, 32] {
            let threads = 4 * block as usize;
            let [complete, engine, one] = [COMPLETE, WITH_ENGINE, ONE_BY_ONE].map(|strategy| {
                let out = run(&t, block, strategy, Access::Read, threads);
                let queue = out.mean_stage_ns(Stage::Queue) + out.mean_stage_ns(Stage::Completion);
                in_device.push((out.mean_response_ns(0) - queue, block, strategy));
                throughput(&out)
            });
            prop_assert!(at_least(complete, engine), "block {}: {} {}", block, complete, engine);
            prop_assert!(at_least(engine, one), "block {}: {} {}", block, engine, one);
            prop_assert!(at_least(complete, before), "block {}: {} after {}", block, complete, before);
            before = complete;
        }
        // The time at the device is shortest for the smallest block, whose descriptors go back one by one.
        let shortest = in_device.iter().map(|row| row.0).fold(f64::INFINITY, f64::min);
        let of_one = in_device.iter().filter(|row| row.1 == 1 && row.2 == ONE_BY_ONE);
        for (time, ..) in of_one {
            prop_assert!(*time <= shortest * 1.001, "{} {}", time, shortest);
        }
        // It saturates: no more than the slowest stage allows.
        let slowest = t.command.max(t.dma()).max(t.submit + t.complete);
        prop_assert!(before <= 1e9 / slowest as f64 * 1.01);
    }

    #[test]
    fn figure_5_reads_writes_and_a_mix(t in likely_times(), block in 1..40_u64) {
        // Reads of host memory take longer to begin, and go slower.
        let slow = format!("{COMPLETE}\n[pcie]\nfrom_host_setup_us = {:?}\nfrom_host_mb_per_s = 1500.0",
            (t.data_setup + 500) as f64 / 1e3);
        let text = format!("[block_queue]\nring = 4096\nwrap = true\nblock = {block}\n{COMPLETE}");
        let p = t.profile_with(&text, &slow);
        let with = |reads: u64| {
            let out = Load {
                threads: 4 * block as usize,
                requests: 160 * block,
                warmup: 0,
                job: &mut |n| {
                    let access = if n * 7 % 10 < reads { Access::Read } else { Access::Write };
                    job(n, access, n * 8 % (1 << 20), 8)
                },
                arrivals: None,
            }
            .run(&p);
            throughput(&out)
        };
        let (reads, mix, writes) = (with(10), with(5), with(0));
        prop_assert!(at_least(reads, mix) && at_least(mix, writes), "{} {} {}", reads, mix, writes);
    }

    #[test]
    fn figure_6_static_blocks(t in likely_times(), block in 1..24_u64) {
        let more = "dispatch = \"static\"";
        let mut before = 0.0;
        let mut from_twice = Vec::new();
        for threads in [block, block + block / 2, 2 * block, 3 * block, 5 * block] {
            let out = run(&t, block, more, Access::Read, threads as usize);
            // From the end of a block to the end of another.
            let blocks = out.services.len() / block as usize;
            let end = |number: usize| number * block as usize - 1;
            let now = out.throughput(end(blocks / 4), end(3 * blocks / 4));
            prop_assert!(at_least(now, before), "{} threads: {} after {}", threads, now, before);
            before = now;
            if threads >= 2 * block {
                from_twice.push(now);
            }
        }
        let first = from_twice[0];
        prop_assert!(from_twice.iter().all(|&x| (x / first - 1.0).abs() < 0.01), "{:?}", from_twice);
        let too_few = run(&t, block + 1, more, Access::Read, block as usize);
        prop_assert!(too_few.services.is_empty() && too_few.stuck.is_some());
    }

    #[test]
    fn figure_7_dynamic_blocks(t in likely_times(), most in 2..24_u64) {
        // All bios of a block are pending again before the shortest block is back. With a slower driver the
        // blocks get smaller, and a static one may win by waiting.
        let t = Times { submit: 10 + t.submit % 40, complete: 10 + t.complete % 40, ..t };
        let fixed = |block, threads: u64| {
            throughput(&run(&t, block, "dispatch = \"static\"", Access::Read, threads as usize))
        };
        let dynamic = |threads: u64| run(&t, most, "dispatch = \"dynamic\"", Access::Read, threads as usize);
        for threads in [2 * most, 3 * most] {
            let (dynamic, fixed) = (throughput(&dynamic(threads)), fixed(most, threads));
            prop_assert!((dynamic / fixed - 1.0).abs() < 0.01, "{} threads: {} {}", threads, dynamic, fixed);
        }
        for threads in [2, most, 2 * most - 1] {
            let best = throughput(&dynamic(threads));
            for block in [1, 2, 4, 8, 12].into_iter().filter(|b| 2 * b <= threads) {
                let fixed = fixed(block, threads);
                prop_assert!(best >= fixed * 0.98, "{} threads, block {}: {} {}", threads, block, best, fixed);
            }
        }
        // Latency is least with one thread, and grows with each that comes when the device is full.
        let latency = |threads| dynamic(threads).mean_response_ns(threads as usize);
        let (one, full, more) = (latency(1), latency(2 * most), latency(4 * most));
        prop_assert!(one <= full * 1.001 && full < more, "{} {} {}", one, full, more);
    }

    #[test]
    fn figure_8_larger_requests(t in likely_times()) {
        // Of one thread: bios of one request share what a block costs.
        let with = |sectors: u32, threads: usize| {
            let text = "[block_queue]\nring = 4096\nwrap = true\nblock = 64".to_owned();
            Load {
                threads,
                requests: 20 * threads as u64,
                warmup: 0,
                job: &mut |n| job(n, Access::Read, n * 512 % (1 << 20), sectors),
                arrivals: None,
            }
            .run(&t.profile(&text))
        };
        let mut before = (0.0, 0.0);
        for bios in [1, 2, 4, 8, 16, 32] {
            let out = with(8 * bios, 1);
            let now = (f64::from(bios) * throughput(&out), out.mean_response_ns(1));
            prop_assert!(at_least(now.0, before.0), "{} bios: {} after {}", bios, now.0, before.0);
            prop_assert!(now.1 > before.1, "{} bios: {} after {}", bios, now.1, before.1);
            before = now;
        }
        // With many threads there is less to gain.
        let gain = |threads| 16.0 * throughput(&with(128, threads)) / throughput(&with(8, threads));
        let (alone, together) = (gain(1), gain(128));
        prop_assert!(together <= alone * 1.01, "{} {}", alone, together);
    }

    #[test]
    fn prefetch_shifts_the_curves_up(t in likely_times()) {
        let mut gains = Vec::new();
        for block in [1, 4, 16, 32] {
            let with = |prefetch: u64| {
                let more = format!("prefetch = {}", prefetch.min(block));
                throughput(&run(&t, block, &more, Access::Read, 4 * block as usize))
            };
            let (none, one, all) = (with(0), with(1), with(block));
            prop_assert!(at_least(one, none) && at_least(all, none), "block {}: {} {} {}", block, none, one, all);
            gains.push(one / none);
        }
        prop_assert!(gains[0] >= gains[3] * 0.99, "most at small blocks: {:?}", gains);
    }
}
