//! Independent copies of a load: their number, order, places and times, and that they need no memory.

mod common;

use std::path::Path;

use common::{Memory, Row, all_of, any_row};
use iosonar_trace::transform::{Change, Copies, Spill, apply_all};
use iosonar_trace::{Op, Outcome, Record, TraceError};
use iosonar_units::{Bytes, Nanos, Sector, Sectors};
use proptest::prelude::*;

/// The load `copies` times, with this many bytes of memory for it.
fn scaled_within(rows: &[Row], copies: u32, memory: u64) -> Result<Vec<Row>, TraceError> {
    let reader = Memory::boxed(rows, 1000);
    let spill = Spill {
        dir: None,
        memory: Bytes::new(memory),
    };
    let changes = [Change::ScaleLoad(copies.to_string().parse().unwrap())];
    let mut scaled = apply_all(&changes, reader, Path::new("x"), &spill, false)?;
    all_of(&mut *scaled)
}

fn scaled(rows: &[Row], copies: u32) -> Vec<Row> {
    scaled_within(rows, copies, 0).unwrap()
}

fn start(row: &Row) -> u64 {
    row.record.request.start.get()
}

fn sector(row: &Row) -> u64 {
    row.record.request.sector.get()
}

/// Reads of 8 sectors.
fn reads(places: impl IntoIterator<Item = (u64, u64)>) -> Vec<Row> {
    let row = |(start, sector)| {
        let mut record = Record::default();
        record.request.start = Nanos::new(start);
        record.request.sector = Sector::new(sector);
        record.request.sectors = Sectors::new(8);
        Row {
            record,
            think: None,
        }
    };
    places.into_iter().map(row).collect()
}

fn starts_and_sectors(rows: &[Row]) -> Vec<(u64, u64)> {
    rows.iter().map(|row| (start(row), sector(row))).collect()
}

/// The definition: all copies one behind the other, sorted by start.
fn defined(rows: &[Row], copies: u64) -> Vec<Row> {
    let (first, last) = (start(&rows[0]), start(&rows[rows.len() - 1]));
    let placed = rows.iter().filter(|r| r.record.request.op != Op::Flush);
    let end = placed.map(|r| r.record.request.end().get()).max();
    let stride = end.unwrap_or(0).div_ceil(2048) * 2048;
    let groups = rows.iter().map(|r| r.record.request.group).max().unwrap();
    let mut all = Vec::new();
    for k in 0..copies {
        let shift = (u128::from(last - first) * u128::from(k) / u128::from(copies)) as u64;
        let mut copy = rows.to_vec();
        for row in &mut copy {
            let request = &mut row.record.request;
            let moved = request.start.get() + shift;
            request.start = Nanos::new(if moved > last {
                moved - (last - first)
            } else {
                moved
            });
            if request.op != Op::Flush {
                request.sector = Sector::new(request.sector.get() + k * stride);
            }
            if request.group > 0 {
                request.group += k as u32 * groups;
            }
        }
        // What has come round goes first where it starts with others of its copy.
        let by = rows.iter().filter(|r| start(r) + shift > last).count();
        copy.rotate_right(by);
        all.extend(copy);
    }
    all.sort_by_key(start);
    all
}

proptest! {
    #[test]
    fn copies_are_as_defined(
        mut rows in prop::collection::vec(any_row(1 << 40), 1..40),
        copies in 1..12_u32,
        ties in any::<bool>(),
    ) {
        for row in &mut rows {
            let request = &mut row.record.request;
            request.sector = Sector::new(request.sector.get() >> 22);
            request.group %= 1000;
            if ties {
                request.start = Nanos::new(request.start.get() >> 37);
            }
        }
        rows.sort_by_key(start);
        prop_assert_eq!(scaled(&rows, copies), defined(&rows, u64::from(copies)));
    }
}

#[test]
fn a_copy_begins_later_and_comes_round_to_the_beginning() {
    let load = reads([(100, 0), (110, 8), (130, 2048), (140, 16)]);
    // Half of the duration is 20, and the load ends within its second MiB.
    let expected = [
        (100, 0),
        (110, 8),
        (110, 6144), // 2048 of the second copy, at 130 + 20 - 40
        (120, 4096 + 16),
        (120, 4096),
        (130, 2048),
        (130, 4096 + 8),
        (140, 16),
    ];
    assert_eq!(starts_and_sectors(&scaled(&load, 2)), expected);
}

#[test]
fn one_copy_is_the_load_itself_in_its_own_order() {
    let load = reads([(5, 0), (3, 8), (4, 8)]);
    assert_eq!(scaled(&load, 1), load);
}

#[test]
fn loads_that_are_not_sorted_are_sorted_first() {
    let mut load = reads((0..500).map(|i| (i * 7919 % 500, i)));
    let scaled = scaled(&load, 3);
    load.sort_by_key(start);
    assert_eq!(scaled, defined(&load, 3));
}

#[test]
fn there_are_n_times_the_requests_in_the_same_time_on_n_times_the_space() {
    // Of several blocks, whatever the number of copies.
    let load = reads((0..20_000).map(|i| (1_000 + i * i % 1_000 + 1_000 * i, i * 7919 % 50_000)));
    for copies in [2, 3, 64, 300] {
        let scaled = scaled(&load, copies);
        assert_eq!(scaled.len(), copies as usize * load.len());
        assert!(scaled.is_sorted_by_key(start));
        let ends = |rows: &[Row]| (start(&rows[0]), start(&rows[rows.len() - 1]));
        assert_eq!(ends(&scaled), ends(&load));
        let mut of_each = vec![0; copies as usize];
        let stride = 51_200;
        scaled
            .iter()
            .for_each(|row| of_each[(sector(row) / stride) as usize] += 1);
        assert!(of_each.iter().all(|&n| n == load.len()), "{of_each:?}");
        assert!(scaled == defined(&load, u64::from(copies)), "{copies}");
    }
}

#[test]
fn a_load_that_is_spilled_gives_the_same_copies() {
    let load = reads((0..30_000).map(|i| (1_000 * i, i * 7919 % 50_000)));
    let in_memory = scaled_within(&load, 5, 1 << 30).unwrap();
    for memory in [0, 1, 20_000] {
        assert!(
            scaled_within(&load, 5, memory).unwrap() == in_memory,
            "{memory}"
        );
    }
}

#[test]
fn a_load_of_one_moment_is_that_moment_n_times() {
    let load = reads([(7, 0), (7, 2048)]);
    let expected = [(7, 0), (7, 2048), (7, 4096), (7, 6144)];
    assert_eq!(starts_and_sectors(&scaled(&load, 2)), expected);
    assert_eq!(scaled(&[], 4), []);
}

#[test]
fn a_flush_stays_where_it_is_and_does_not_count_as_data() {
    let mut load = reads([(0, 0), (10, 1 << 40)]);
    load[1].record.request.op = Op::Flush;
    let scaled = scaled(&load, 2);
    let expected = [(0, 0), (5, 1 << 40), (5, 2048), (10, 1 << 40)];
    assert_eq!(starts_and_sectors(&scaled), expected);
}

#[test]
fn outcomes_are_kept_and_logical_requests_stay_apart() {
    let mut load = reads([(0, 0), (10, 8)]);
    load[0].record.outcome = Outcome::done(Nanos::new(1), Nanos::new(2));
    load[0].record.request.group = 3;
    let scaled = scaled(&load, 2);
    let of_copy = |k: u64| scaled.iter().find(|row| sector(row) == k * 2048).unwrap();
    for k in [0, 1] {
        assert_eq!(of_copy(k).record.outcome, load[0].record.outcome);
    }
    let groups = [0, 1].map(|k| of_copy(k).record.request.group);
    assert_eq!(groups, [3, 6]);
}

#[test]
fn copies_beyond_all_sectors_or_logical_requests_are_refused_with_the_most() {
    let mut load = reads([(0, 1 << 60), (10, 8)]);
    let refused = |load: &[Row], copies| {
        let error = scaled_within(load, copies, 0).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        refused(&load, 8),
        "8 copies of this load (--scale-load, load.copies) are too many (at most 7): the load ends at sector 1152921504606846984, \
         but all copies must end below sector 2^63"
    );
    assert_eq!(scaled(&load, 7).len(), 14);
    load[0].record.request.sector = Sector::new(u64::MAX - 100);
    assert!(refused(&load, 2).contains("are too many (at most 1): the load ends at"));
    load[0].record.request.sector = Sector::new(0);
    load[0].record.request.group = 1 << 30;
    assert!(refused(&load, 4).contains("(at most 3): the load has 1073741824 logical requests"));
    assert_eq!(scaled(&load, 3).len(), 6);
}

#[test]
fn where_copies_end_and_how_many_lie_within_a_device_is_known_beforehand() {
    for end in [8, 2048, 2056, 100_000] {
        let rows = reads([(0, 0), (10, end - 8)]);
        for copies in [1, 2, 7] {
            let all = scaled(&rows, copies);
            let seen = all.iter().map(|row| sector(row) + 8).max().unwrap();
            let known = Copies::new(u64::from(copies)).unwrap().end_of(end);
            assert_eq!(known, seen, "{copies} copies of {end}");
            assert_eq!(Copies::within(end, seen), copies);
            assert_eq!(Copies::within(end, seen - 1), copies - 1);
        }
    }
    assert_eq!(Copies::within(8, u64::MAX), Copies::MOST);
    // Nothing but flushes lies nowhere.
    assert_eq!(Copies::within(0, 8), Copies::MOST);
}
