//! Whether what was done is what was wanted: one trace against another, request by request.
//!
//! Requests are compared as a multiset by sector, length and operation; what is left over on both sides
//! may be the same range in other pieces (split or merged). Of those that match, the differences in
//! start and latency are kept: the replayer's clock against the kernel's. The n-th of equal requests belongs to the n-th
//! in the other trace; where one trace has more of them, nothing says which one it has in addition, so all of them are
//! left out of the differences.

mod pairs;
mod pieces;

use std::collections::{HashMap, VecDeque};

use iosonar_trace::{Batch, Op, Record, Request, Status, TraceError, TraceReader};
use iosonar_units::Nanos;

use pairs::{Pair, Pairs};
use pieces::regroup;

/// A request without its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) op: OpKey,
    pub(crate) sector: u64,
    pub(crate) sectors: u32,
}

/// Operations, in an order.
pub(crate) type OpKey = u8;

/// What the comparison found.
#[derive(Clone, Debug, Default)]
pub struct Check {
    /// Requests of the first trace that should have reached the device.
    pub expected: u64,
    /// Requests of the second that did.
    pub seen: u64,
    /// Records of either trace that were left out on purpose, or because of a conflict.
    pub left_out: [u64; 2],
    /// Records of either trace that were planned and never submitted.
    pub missed: [u64; 2],
    /// Requests of the second that were submitted and failed: an error, too few bytes, cancelled, or wrong contents. Those
    /// whose equals in the first failed, too, are not among them.
    pub failed: u64,
    /// Requests that are in both.
    pub matched: u64,
    /// Requests of the first that were done in several pieces.
    pub split: u64,
    /// Requests of the first that were done in one piece with others.
    pub merged: u64,
    /// Requests of the first whose range was done, in other pieces altogether.
    pub regrouped: u64,
    /// Requests of the first that were not done.
    pub missing: u64,
    /// Requests of the second that are not in the first.
    pub extra: u64,
    /// Some of those that are missing, and of those that are extra.
    pub examples: [Vec<Request>; 2],
    /// Flushes in either: the kernel adds some and leaves others out, so they are only counted.
    pub flushes: [u64; 2],
    /// Those of `matched` that are left out of the differences, since requests like them are in one trace more often
    /// than in the other: which of them belong together is unknown. Estimated from the sample if there is one.
    pub ambiguous: u64,
    /// Submission in the second - submission in the first, minus the median, in nanoseconds, sorted.
    pub start_differences: Vec<i64>,
    /// Latency in the second - latency in the first, sorted.
    pub latency_differences: Vec<i64>,
    /// How much later the second trace's clock is: the median of the differences.
    pub shift: i64,
}

const MOST_EXAMPLES: usize = 5;

impl Check {
    /// Whether every request that was wanted was done without a failure, and nothing else.
    pub fn is_same(&self) -> bool {
        self.missing == 0 && self.extra == 0 && self.failed == 0
    }

    /// Whether neither trace has a request that was submitted.
    pub fn is_empty(&self) -> bool {
        self.expected + self.seen == 0 && self.flushes == [0, 0]
    }

    /// The quantile of sorted differences.
    pub fn quantile(differences: &[i64], p: f64) -> Option<i64> {
        let last = differences.len().checked_sub(1)?;
        Some(differences[(p * last as f64).round() as usize])
    }
}

/// Requests waiting for their equals, in order.
#[derive(Default)]
struct Waiting {
    by_key: HashMap<Key, VecDeque<Submitted>>,
}

/// What is known of a request besides its key.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Submitted {
    at: Nanos,
    latency: Option<Nanos>,
    has_failed: bool,
}

impl Submitted {
    /// One of which no more is known.
    fn at(at: Nanos) -> Self {
        Self {
            at,
            latency: None,
            has_failed: false,
        }
    }
}

/// Compares `second` (what was done) with `first` (what was wanted). Memory is needed for requests
/// that wait for their equals, which is few where both are in the same order.
///
/// # Errors
/// If either cannot be read.
pub fn check(
    first: &mut dyn TraceReader,
    second: &mut dyn TraceReader,
) -> Result<Check, TraceError> {
    let mut check = Check::default();
    let mut waiting = [Waiting::default(), Waiting::default()];
    let mut pairs = Pairs::default();
    let mut batch = Batch::default();
    let (mut open, mut turn) = ([true, true], 0);
    while open[0] || open[1] {
        // Batch by batch in turn: equals wait for each other only shortly.
        let side = if open[turn] { turn } else { 1 - turn };
        turn = 1 - side;
        let reader: &mut dyn TraceReader = if side == 0 { first } else { second };
        if reader.next_batch(&mut batch)? == 0 {
            open[side] = false;
            continue;
        }
        for record in batch.records() {
            take(&mut check, &mut waiting, side, &record, &mut pairs);
        }
    }
    pairs.finish(&mut check, &mut waiting);
    let [left, right] = waiting.map(remaining);
    let outcome = regroup(left, right);
    check.split = outcome.split;
    check.merged = outcome.merged;
    check.regrouped = outcome.otherwise;
    check.missing = outcome.left.len() as u64;
    check.extra = outcome.right.len() as u64;
    let examples = |keys: &[(Key, Nanos)]| {
        keys.iter()
            .take(MOST_EXAMPLES)
            .map(|(k, at)| request(k, *at))
            .collect()
    };
    check.examples = [examples(&outcome.left), examples(&outcome.right)];
    Ok(check)
}

fn take(
    check: &mut Check,
    waiting: &mut [Waiting; 2],
    side: usize,
    record: &Record,
    pairs: &mut Pairs,
) {
    let (request, outcome) = (&record.request, &record.outcome);
    match outcome.status {
        Status::Skipped | Status::Dropped => {
            check.left_out[side] += 1;
            return;
        }
        Status::Missed => {
            check.missed[side] += 1;
            return;
        }
        _ => {}
    }
    let has_failed = outcome.status.has_failed();
    check.failed += u64::from(side == 1 && has_failed);
    if request.op == Op::Flush {
        check.flushes[side] += 1;
        return;
    }
    if side == 0 {
        check.expected += 1;
    } else {
        check.seen += 1;
    }
    let key = Key {
        op: request.op as OpKey,
        sector: request.sector.get(),
        sectors: request.sectors.get(),
    };
    let mine = Submitted {
        at: request.start + outcome.delay.unwrap_or_default(),
        latency: outcome.latency,
        has_failed,
    };
    let [a, b] = waiting;
    let (own, other) = if side == 0 { (a, b) } else { (b, a) };
    let Some(theirs) = other.by_key.get_mut(&key).and_then(VecDeque::pop_front) else {
        own.by_key.entry(key).or_default().push_back(mine);
        return;
    };
    if other.by_key.get(&key).is_some_and(VecDeque::is_empty) {
        other.by_key.remove(&key);
    }
    check.matched += 1;
    let (earlier, later) = if side == 0 {
        (mine, theirs)
    } else {
        (theirs, mine)
    };
    check.failed -= u64::from(earlier.has_failed && later.has_failed);
    pairs.push(Pair {
        key,
        at: [earlier.at, later.at],
        latency: Option::zip(earlier.latency, later.latency).map(|(a, b)| difference(a, b)),
    });
}

/// How much later `b` is.
fn difference(a: Nanos, b: Nanos) -> i64 {
    (b.get() as i64).wrapping_sub(a.get() as i64)
}

/// What found no equal, in order.
fn remaining(waiting: Waiting) -> Vec<(Key, Nanos)> {
    let mut all: Vec<(Key, Nanos)> = waiting
        .by_key
        .into_iter()
        .flat_map(|(key, times)| times.into_iter().map(move |of| (key, of.at)))
        .collect();
    all.sort_unstable();
    all
}

fn request(key: &Key, at: Nanos) -> Request {
    Request {
        start: at,
        sector: iosonar_units::Sector::new(key.sector),
        sectors: iosonar_units::Sectors::new(key.sectors),
        op: Op::ALL[usize::from(key.op)],
        ..Request::default()
    }
}

#[cfg(test)]
mod tests;
