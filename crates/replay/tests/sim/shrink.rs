//! Makes a scenario that fails smaller, as long as it fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::random::Random;
use super::run;
use super::scenario::{Fault, Scenario};
use crate::verify::Verification;
use crate::{Options, Pacing, RingOptions};

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Orders of threads that are tried for each.
const TRIES: u64 = 4;

/// What to look at when a seed has failed.
pub(crate) fn report(seed: u64, scenario: &Scenario, failure: &str) -> String {
    let (smallest, why) = smallest(scenario, failure);
    format!(
        "seed {seed}: {failure}\nIOSONAR_SEEDS={seed}..{} runs it again; the smallest that fails ({why}):\n{smallest:#?}",
        seed + 1
    )
}

/// A smaller scenario that fails, and how.
fn smallest(scenario: &Scenario, failure: &str) -> (Scenario, String) {
    let began = Instant::now();
    let mut best = scenario.clone();
    let mut why = failure.to_owned();
    let mut improves = true;
    while improves && began.elapsed() < PATIENCE {
        improves = false;
        for candidate in smaller(&best) {
            if began.elapsed() >= PATIENCE {
                break;
            }
            if let Some((fails, how)) = failing(candidate) {
                (best, why, improves) = (fails, how, true);
                break;
            }
        }
    }
    (best, why)
}

/// The scenario with an order of threads that makes it fail.
fn failing(mut scenario: Scenario) -> Option<(Scenario, String)> {
    let mut random = Random::new(scenario.schedule);
    for _ in 0..TRIES {
        let outcome = run(&Arc::new(scenario.clone()));
        if let Some(failure) = outcome.failure {
            return Some((scenario, failure));
        }
        scenario.schedule = random.next();
    }
    None
}

fn size(scenario: &Scenario) -> usize {
    scenario.disks.iter().map(|disk| disk.requests.len()).sum()
}

/// Scenarios that are each a little smaller.
fn smaller(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Scenario)| {
        let mut smaller = scenario.clone();
        change(&mut smaller);
        if size(&smaller) < size(scenario) || format!("{smaller:?}") != format!("{scenario:?}") {
            all.push(smaller);
        }
    };
    if scenario.disks.len() > 1 {
        for disk in 0..scenario.disks.len() {
            with(&|s| drop(s.disks.remove(disk)));
        }
    }
    for disk in 0..scenario.disks.len() {
        let n = scenario.disks[disk].requests.len();
        let mut piece = n.div_ceil(2);
        while piece > 0 {
            for from in (0..n).step_by(piece) {
                with(&|s| {
                    let disk = &mut s.disks[disk];
                    disk.requests.drain(from..(from + piece).min(n));
                    disk.batches = vec![(disk.requests.len(), 0)];
                    disk.cut = disk.cut.map(|cut| cut.min(disk.requests.len()));
                });
            }
            piece /= 2;
        }
        for request in 0..n {
            with(&|s| s.disks[disk].requests[request].fault = Fault::None);
        }
        with(&|s| s.disks[disk].cut = None);
        with(&|s| s.disks[disk].is_stream = false);
        with(&|s| s.disks[disk].write_through = false);
        with(&|s| s.disks[disk].is_block_device = false);
        with(&|s| s.disks[disk].batches = vec![(n, 0)]);
    }
    with(&|s| s.stalls = 0);
    with(&|s| s.late_wakes = 0);
    with(&|s| s.refusals = 0);
    with(&|s| s.early_wakes = 0);
    with(&|s| s.old_kernel = [false; 3]);
    with(&|s| s.rivals = false);
    with(&|s| s.may_be_prioritised = false);
    with(&|s| s.records_room = None);
    with(&|s| s.durable_records = false);
    with(&|s| s.log_room = None);
    if !scenario.has_never() {
        with(&|s| s.stops.clear());
    }
    with(&|s| s.clock_steps.clear());
    with(&|s| s.crashes.clear());
    for crash in 0..scenario.crashes.len() {
        with(&|s| s.crashes.retain(|at| *at != scenario.crashes[crash]));
    }
    with(&|s| s.panic = None);
    options(&mut with);
    all
}

/// Options that are the default.
fn options(with: &mut impl FnMut(&dyn Fn(&mut Scenario))) {
    with(&|s| s.options.ring = RingOptions::default());
    with(&|s| s.options.pacing = Pacing::default());
    with(&|s| s.options.threads = std::num::NonZeroU32::new(1));
    with(&|s| s.options.verification = Verification::default());
    with(&|s| s.options.verification.level = Verification::default().level);
    with(&|s| s.options.in_flight_total = None);
    with(&|s| s.options.bottleneck = None);
    with(&|s| s.options.max_runtime = None);
    with(&|s| s.options.begin_at = None);
    with(&|s| s.options.max_errors = u64::MAX);
    with(&|s| s.options.sync = Options::default().sync);
    with(&|s| s.options.data = Options::default().data);
    with(&|s| s.options.warmup = Options::default().warmup);
}
