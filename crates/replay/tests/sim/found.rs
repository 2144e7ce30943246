//! What the simulator has found, each as small as it became. All of them are mended.

use std::sync::Arc;

use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};

use super::random::Random;
use super::run;
use super::scenario::{DiskPlan, Fault, Planned, Scenario};
use crate::verify::{Verification, Verify};
use crate::{EngineKind, Options, RingOptions, TaskWork, Writes};

/// A scenario in which nothing fails: requests of (start, operation, sector, sectors, time), in nanoseconds.
fn quiet(engine: EngineKind, requests: &[(u64, Op, u64, u32, u64)]) -> Scenario {
    let planned = |&(start, op, sector, sectors, takes): &(u64, Op, u64, u32, u64)| Planned {
        request: Request {
            start: Nanos::new(start),
            sector: Sector::new(sector),
            sectors: Sectors::new(sectors),
            op,
            ..Request::default()
        },
        takes,
        fault: Fault::None,
    };
    Scenario {
        schedule: 0,
        options: Options {
            engine,
            writes: Writes::Do,
            in_flight: 8,
            threads: std::num::NonZeroU32::new(1),
            start_grace: Nanos::new(1000),
            max_errors: u64::MAX,
            ..Options::default()
        },
        disks: vec![DiskPlan {
            sectors: 64,
            block: 1,
            write_through: false,
            is_block_device: false,
            requests: requests.iter().map(planned).collect(),
            batches: vec![(requests.len(), 0)],
            cut: None,
            is_stream: false,
        }],
        stalls: 0,
        longest_stall: 1_000_000,
        late_wakes: 0,
        refusals: 0,
        early_wakes: 0,
        old_kernel: [false; 3],
        may_be_prioritised: false,
        rivals: false,
        records_room: None,
        durable_records: false,
        log_room: None,
        stops: Vec::new(),
        clock_steps: Vec::new(),
        crashes: Vec::new(),
        panic: None,
    }
}

/// No order of threads breaks an invariant.
fn holds(scenario: &Scenario, orders: u64) {
    let mut random = Random::new(1);
    for _ in 0..orders {
        let mut scenario = scenario.clone();
        scenario.schedule = random.next();
        let outcome = run(&Arc::new(scenario));
        assert_eq!(outcome.failure, None);
    }
}

/// A read that was being read back counted as no request in flight of an engine that has one at a time.
#[test]
fn synchronous_writes_can_be_read_back() {
    let mut scenario = quiet(
        EngineKind::Sync,
        &[(10_715, Op::Write, 37, 4, 1), (10_934, Op::Write, 17, 3, 4)],
    );
    scenario.options.verification.level = Verify::Paranoid;
    holds(&scenario, 200);
}

/// What was complete after the clock had been read, and before the ring was emptied, seemed to have been so before.
#[test]
fn no_completion_seems_to_come_before_it_does() {
    let requests: Vec<_> = (0..12_u32)
        .map(|i| {
            (
                u64::from(i),
                Op::Read,
                u64::from(i),
                1 + i % 3,
                u64::from(900 + 70 * i),
            )
        })
        .collect();
    let mut scenario = quiet(EngineKind::IoUring, &requests);
    scenario.options.ring = RingOptions {
        task_work: TaskWork::Interrupt,
        ..RingOptions::default()
    };
    scenario.stalls = 5;
    holds(&scenario, 300);
}

/// The second of two that the kernel's thread had taken together seemed to have been submitted after it was taken, and
/// what the ring leaves to threads only when the kernel's thread had taken the rest.
#[test]
fn no_request_seems_to_be_submitted_after_it_was_taken() {
    let mut scenario = quiet(
        EngineKind::IoUring,
        &[
            (50, Op::Read, 13, 9, 6),
            (51, Op::Discard, 4, 10, 3),
            (16_581, Op::Write, 0, 1, 1354),
            (17_717, Op::Read, 40, 6, 125),
        ],
    );
    scenario.options.ring.submission_thread = true;
    holds(&scenario, 100);
    scenario.disks[0].is_block_device = true;
    holds(&scenario, 100);
}

/// A panic of the thread that writes the records was followed by another; one of a thread of a pool was waited for without
/// end; the thread that writes a log of tables outlived any panic.
#[test]
fn a_panic_of_any_thread_ends_all_of_them() {
    for engine in [EngineKind::IoUring, EngineKind::Threads, EngineKind::Sync] {
        let mut scenario = quiet(
            engine,
            &[
                (44, Op::WriteZeroes, 14, 10, 41),
                (718, Op::Write, 8, 11, 50),
                (300_000_000, Op::Flush, 0, 0, 50),
            ],
        );
        scenario.options.verification = Verification {
            keep_tables: Some(super::LOG.into()),
            ..Verification::default()
        };
        scenario.disks[0].is_block_device = true;
        scenario.options.ring.poll_completions = engine == EngineKind::IoUring;
        for thread in 1..7 {
            for step in (0..400).step_by(41) {
                scenario.panic = Some((thread, step));
                holds(&scenario, 1);
            }
        }
    }
}

/// After a panic of the session, its pool was waited for, even if a device would never complete what a thread waited for.
#[test]
fn a_panic_is_not_followed_by_waiting_for_a_device() {
    for engine in [EngineKind::IoUring, EngineKind::Threads] {
        let mut scenario = quiet(engine, &[(0, Op::Discard, 8, 8, 5)]);
        scenario.disks[0].is_block_device = true;
        scenario.disks[0].requests[0].fault = Fault::Never;
        // As a user does who stops waiting.
        scenario.stops = vec![2_000_000_000, 3_000_000_000];
        for thread in 1..8 {
            for step in (20..200).step_by(7) {
                scenario.panic = Some((thread, step));
                holds(&scenario, 1);
            }
        }
    }
}

/// A log that could not be written any more claimed what a later discard had ended.
#[test]
fn nothing_is_discarded_that_the_log_cannot_know_of() {
    for room in (64..320).step_by(16) {
        let mut scenario = quiet(
            EngineKind::IoUring,
            &[
                (10, Op::Write, 8, 2, 500),
                (2_000, Op::Flush, 0, 0, 500),
                (4_000, Op::Write, 20, 2, 500),
                (700_000_000, Op::Discard, 8, 1, 500),
                (700_010_000, Op::Write, 30, 3, 500),
            ],
        );
        // The last discard may be kept by the device: any order shows it soon.
        scenario.options.verification = Verification {
            keep_tables: Some(super::LOG.into()),
            durable_tables: true,
            ..Verification::default()
        };
        scenario.log_room = Some(room);
        scenario.crashes = vec![690_000_000, 700_200_000, 701_000_000];
        holds(&scenario, 6);
    }
}

/// Threads that waited for a turn panicked as well after one had panicked in its own, and their messages hid why.
#[test]
fn a_panic_in_a_turn_is_followed_by_no_other() {
    let outcome = super::run_seeds(3_052_304..3_052_305, |_| true);
    assert!(outcome.is_ok(), "{:?}", outcome.err());
}
