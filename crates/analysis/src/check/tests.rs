use iosonar_trace::{Metadata, Outcome};
use iosonar_units::{Sector, Sectors};

use super::*;

struct Rows(Vec<Record>, Metadata);

impl TraceReader for Rows {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        let n = self.0.len().min(3);
        for record in self.0.drain(..n) {
            batch.push(&record);
        }
        Ok(n)
    }

    fn metadata(&self) -> &Metadata {
        &self.1
    }
}

fn row(start_us: u64, op: Op, sector: u64, sectors: u32) -> Record {
    Record {
        request: Request {
            start: Nanos::from_micros(start_us),
            op,
            sector: Sector::new(sector),
            sectors: Sectors::new(sectors),
            ..Request::default()
        },
        outcome: Outcome::done(Nanos::ZERO, Nanos::from_micros(100)),
    }
}

fn compare(first: Vec<Record>, second: Vec<Record>) -> Check {
    let side = |rows| Rows(rows, Metadata::default());
    check(&mut side(first), &mut side(second)).unwrap()
}

#[test]
fn the_same_requests_in_another_order_are_the_same() {
    let load: Vec<Record> = (0..20).map(|i| row(i, Op::Read, i % 5 * 8, 8)).collect();
    let mut done = load.clone();
    done.reverse();
    let check = compare(load, done);
    assert!(check.is_same());
    assert_eq!((check.matched, check.expected, check.seen), (20, 20, 20));
}

#[test]
fn what_is_missing_or_too_much_is_told_with_examples() {
    let load = vec![
        row(0, Op::Read, 0, 8),
        row(1, Op::Write, 8, 8),
        row(2, Op::Read, 8, 8),
    ];
    let done = vec![
        row(0, Op::Read, 0, 8),
        row(2, Op::Read, 8, 8),
        row(3, Op::Read, 8, 8),
    ];
    let check = compare(load, done);
    assert!(!check.is_same());
    assert_eq!((check.matched, check.missing, check.extra), (2, 1, 1));
    assert_eq!(check.examples[0][0].op, Op::Write);
    assert_eq!(check.examples[1][0].sector, Sector::new(8));
}

#[test]
fn requests_that_failed_were_not_done() {
    let load = vec![
        row(0, Op::Read, 0, 8),
        row(1, Op::Read, 8, 8),
        row(2, Op::Flush, 0, 0),
    ];
    let ending = |number: usize, status: Status| {
        let mut rows = load.clone();
        rows[number].outcome.status = status;
        rows
    };
    assert!(compare(load.clone(), load.clone()).is_same());
    for status in [
        Status::Error(5),
        Status::Short,
        Status::Cancelled,
        Status::VerifyFailed,
    ] {
        for number in [0, 2] {
            let check = compare(load.clone(), ending(number, status));
            assert_eq!((check.failed, check.missing, check.extra), (1, 0, 0));
            assert!(!check.is_same());
        }
        // What the recording could not do need not be done.
        assert!(compare(ending(0, status), load.clone()).is_same());
        assert!(compare(ending(0, status), ending(0, status)).is_same());
        let other = compare(ending(0, status), ending(1, status));
        assert_eq!(other.failed, 1);
    }
    let check = compare(load.clone(), ending(0, Status::Missed));
    assert_eq!(
        (check.missing, check.missed, check.left_out),
        (1, [0, 1], [0, 0])
    );
    let check = compare(load.clone(), ending(0, Status::Skipped));
    assert_eq!(
        (check.missing, check.missed, check.left_out),
        (1, [0, 0], [0, 1])
    );
    assert!(compare(Vec::new(), Vec::new()).is_empty());
    assert!(!compare(vec![load[2]], Vec::new()).is_empty());
}

#[test]
fn splits_and_merges_are_recognised() {
    let load = vec![
        row(0, Op::Read, 0, 512),
        row(1, Op::Write, 1000, 8),
        row(1, Op::Write, 1008, 8),
        row(2, Op::Read, 2000, 8),
    ];
    let done = vec![
        row(0, Op::Read, 0, 256),
        row(0, Op::Read, 256, 256),
        row(1, Op::Write, 1000, 16),
        row(2, Op::Read, 2000, 4),
    ];
    let check = compare(load, done);
    assert_eq!((check.split, check.merged, check.regrouped), (1, 2, 0));
    assert_eq!(
        (check.missing, check.extra),
        (1, 1),
        "half is not the whole"
    );
}

#[test]
fn a_range_that_is_split_again_and_again_is_no_difference() {
    let pieces = |i: u64| [row(i, Op::Read, 0, 8), row(i, Op::Read, 8, 8)];
    let load = vec![
        row(0, Op::Read, 0, 16),
        row(1, Op::Read, 0, 16),
        // Its neighbour is missing, which is no matter of theirs.
        row(2, Op::Read, 16, 8),
    ];
    let check = compare(load, [pieces(0), pieces(1)].concat());
    assert_eq!((check.split, check.missing, check.extra), (2, 1, 0));
}

#[test]
fn differences_are_those_of_handing_over_and_of_latency() {
    let load: Vec<Record> = (0..100).map(|i| row(i * 10, Op::Read, i * 8, 8)).collect();
    let mut done = load.clone();
    for (i, record) in done.iter_mut().enumerate() {
        // A clock that is a second ahead, and one request in ten that is 7 us late.
        let late = if i % 10 == 0 { 7 } else { 0 };
        record.request.start =
            record.request.start + Nanos::from_secs(1) + Nanos::from_micros(late);
        record.outcome.latency = Some(Nanos::from_micros(102));
    }
    let check = compare(load, done);
    assert_eq!(check.shift, 1_000_000_000);
    assert_eq!(Check::quantile(&check.start_differences, 1.0), Some(7_000));
    assert_eq!(Check::quantile(&check.start_differences, 0.5), Some(0));
    assert_eq!(
        Check::quantile(&check.latency_differences, 0.0),
        Some(2_000)
    );
}

#[test]
fn what_a_replay_left_out_is_no_difference_but_counted() {
    let mut left_out = row(1, Op::Write, 8, 8);
    left_out.outcome = Outcome::untimed(Status::Skipped);
    let check = compare(
        vec![row(0, Op::Read, 0, 8)],
        vec![row(0, Op::Read, 0, 8), left_out],
    );
    assert!(check.is_same());
    assert_eq!(check.left_out, [0, 1]);
}

/// Four requests for each of five places, 20 ms apart, and one for each of five others.
fn repeated() -> Vec<Record> {
    let all = (0..25).map(|i| match i % 5 {
        4 => row(i * 5_000, Op::Read, 8_000 + i * 8, 8),
        place => row(i * 5_000, Op::Read, place * 8, 8),
    });
    all.collect()
}

#[test]
fn equal_requests_of_a_trace_that_was_cut_are_in_no_difference() {
    let load = repeated();
    let mut done = load.clone();
    for record in &mut done {
        // A clock that is a second ahead.
        record.request.start += Nanos::from_secs(1);
    }
    // Without the first round, and without the last one.
    for (cut, alone_ms) in [(5..25, [0, 5]), (0..20, [100, 105])] {
        for is_wanted_cut in [true, false] {
            let found = match is_wanted_cut {
                true => compare(load[cut.clone()].to_vec(), done.clone()),
                false => compare(load.clone(), done[cut.clone()].to_vec()),
            };
            assert_eq!(found.matched, 20);
            assert_eq!((found.missing + found.extra, found.ambiguous), (5, 16));
            assert_eq!(found.shift, 1_000_000_000, "{cut:?} {is_wanted_cut}");
            assert_eq!(found.start_differences, [0; 4]);
            assert_eq!(found.latency_differences, [0; 4]);
            // What is left over is what was cut off, not the first or last of its place.
            let (side, clock) = (usize::from(is_wanted_cut), u64::from(is_wanted_cut) * 1000);
            let starts: Vec<_> = found.examples[side].iter().map(|r| r.start).collect();
            let expected = alone_ms.map(|ms| Nanos::from_millis(ms + clock));
            assert_eq!(starts[..2], expected, "{cut:?} {is_wanted_cut}");
        }
    }
}

#[test]
fn one_request_more_in_the_middle_takes_only_its_equals_out_of_the_differences() {
    let load = repeated();
    let mut done = load.clone();
    let lost = done.remove(11).request;
    let found = compare(load, done);
    assert_eq!((found.matched, found.missing, found.ambiguous), (24, 1, 4));
    assert_eq!(found.start_differences, [0; 20]);
    assert_eq!(found.examples[0][0].start, lost.start);
}

#[test]
fn requests_at_a_single_place_have_no_differences_unless_all_are_in_both() {
    let load: Vec<Record> = (0..10).map(|i| row(i * 1000, Op::Write, 0, 8)).collect();
    let cut = compare(load[3..].to_vec(), load.clone());
    assert_eq!((cut.matched, cut.extra, cut.ambiguous), (7, 3, 7));
    assert!(cut.start_differences.is_empty() && cut.latency_differences.is_empty());
    let whole = compare(load.clone(), load);
    assert_eq!((whole.ambiguous, whole.start_differences), (0, vec![0; 10]));
}

#[test]
fn of_split_requests_only_the_one_with_a_lost_piece_is_missing() {
    let load: Vec<Record> = (0..100).map(|i| row(i, Op::Read, 0, 16)).collect();
    let halves = (0..100).flat_map(|i| [row(i, Op::Read, 0, 8), row(i, Op::Read, 8, 8)]);
    let done: Vec<Record> = halves.skip(1).collect();
    let check = compare(load.clone(), done.clone());
    assert_eq!((check.split, check.missing, check.extra), (99, 1, 1));
    assert_eq!((check.expected, check.seen), (100, 199));
    // The other way round, pieces were merged.
    let check = compare(done, load);
    assert_eq!((check.merged, check.missing, check.extra), (198, 1, 1));
}

#[test]
fn pieces_are_put_together_in_the_way_that_fits() {
    // The longest piece at the beginning leads nowhere.
    let load = vec![row(0, Op::Read, 0, 16), row(1, Op::Read, 4, 4)];
    let done = vec![
        row(0, Op::Read, 0, 12),
        row(0, Op::Read, 0, 8),
        row(0, Op::Read, 8, 8),
    ];
    let check = compare(load, done);
    assert_eq!((check.split, check.missing, check.extra), (1, 1, 1));
}

#[test]
fn many_pieces_that_do_not_fit_take_no_long_time() {
    let load = vec![row(0, Op::Read, 0, 101)];
    let pieces = |i: u64| (0..50).map(move |n| row(n, Op::Read, 2 * i, 2));
    let done: Vec<Record> = (0..50).flat_map(pieces).collect();
    let check = compare(load, done);
    assert_eq!((check.missing, check.extra), (1, 2500));
}

#[test]
fn flushes_are_only_counted() {
    let flush = |start| row(start, Op::Flush, 0, 0);
    let read = row(0, Op::Read, 0, 8);
    let check = compare(
        vec![read, flush(1)],
        vec![flush(0), read, flush(2), flush(3)],
    );
    assert_eq!(check.flushes, [1, 3]);
    assert_eq!((check.expected, check.seen, check.matched), (1, 1, 1));
    assert!(check.is_same());
}

#[test]
fn a_range_in_as_many_other_pieces_is_neither_split_nor_merged() {
    let load = vec![row(0, Op::Read, 0, 8), row(1, Op::Read, 8, 8)];
    let done = vec![row(0, Op::Read, 0, 4), row(1, Op::Read, 4, 12)];
    let check = compare(load, done);
    assert_eq!((check.split, check.merged, check.regrouped), (0, 0, 2));
    assert!(check.is_same() && check.matched == 0);
}

#[test]
fn requests_without_a_length_are_missing_where_the_other_trace_has_none() {
    let read = row(0, Op::Read, 0, 8);
    let empty = row(1, Op::Discard, 100, 0);
    for (load, done, found) in [
        (vec![read, empty], vec![read], [1, 0]),
        (vec![read], vec![read, empty], [0, 1]),
        (vec![read, empty], vec![empty, read], [0, 0]),
    ] {
        let check = compare(load, done);
        assert_eq!([check.missing, check.extra], found);
        assert_eq!((check.split, check.merged, check.regrouped), (0, 0, 0));
    }
}

#[test]
fn a_request_without_a_length_is_no_piece_of_another() {
    // Behind the first 12 sectors, the empty request leads nowhere, however often it is taken.
    let load = vec![row(0, Op::Read, 0, 16), row(1, Op::Read, 4, 4)];
    let done = vec![
        row(0, Op::Read, 0, 12),
        row(0, Op::Read, 12, 0),
        row(0, Op::Read, 0, 8),
        row(0, Op::Read, 8, 8),
    ];
    let check = compare(load, done);
    assert_eq!((check.split, check.missing, check.extra), (1, 1, 2));
}

#[test]
fn what_was_never_submitted_is_left_out_on_either_side() {
    for status in [Status::Skipped, Status::Dropped, Status::Missed] {
        let mut left_out = row(1, Op::Write, 8, 8);
        left_out.outcome = Outcome::untimed(status);
        let check = compare(vec![left_out; 2], vec![left_out]);
        let (left_out, missed) = match status {
            Status::Missed => ([0, 0], [2, 1]),
            _ => ([2, 1], [0, 0]),
        };
        assert_eq!((check.left_out, check.missed), (left_out, missed));
        assert_eq!((check.expected, check.seen), (0, 0));
    }
    // A request that failed was submitted.
    let mut failed = row(1, Op::Write, 8, 8);
    failed.outcome.status = Status::Error(5);
    let check = compare(vec![row(1, Op::Write, 8, 8)], vec![failed]);
    assert_eq!((check.left_out, check.matched), ([0, 0], 1));
}

#[test]
fn no_more_than_five_requests_of_either_side_are_examples() {
    let side = |from: u64, n: u64| {
        (0..n)
            .map(|i| row(i, Op::Read, from + 100 * i, 8))
            .collect()
    };
    let check = compare(side(0, 7), side(50, 3));
    assert_eq!((check.missing, check.extra), (7, 3));
    let sectors = |side: usize| check.examples[side].iter().map(|r| r.sector.get());
    assert!(sectors(0).eq([0, 100, 200, 300, 400]));
    assert!(sectors(1).eq([50, 150, 250]));
}

#[test]
fn quantiles_of_differences_are_those_at_the_nearest_rank() {
    let sorted = [-3, -1, 0, 4, 10];
    for (p, expected) in [
        (0.0, -3),
        (0.25, -1),
        (0.5, 0),
        (0.6, 0),
        (0.65, 4),
        (1.0, 10),
    ] {
        assert_eq!(Check::quantile(&sorted, p), Some(expected), "{p}");
    }
    assert_eq!(Check::quantile(&[], 0.5), None);
}
