//! Transformations against their definitions, written down once more as plainly as can be.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use common::{Memory, Row, all_of, any_row, batch_of};
use iosonar_trace::input::Combine;
use iosonar_trace::transform::{Change, OnBackstep, Repeat, Rounds, Spill, apply_all, derive};
use iosonar_trace::{
    Batch, Metadata, Op, Outcome, Reading, TraceError, TraceReader, input, output,
};
use iosonar_units::{Bytes, Nanos, Sector, Sectors};
use proptest::prelude::*;

fn reader(rows: &[Row]) -> Box<dyn TraceReader> {
    Memory::boxed(rows, 5)
}

fn changed(rows: &[Row], changes: &[Change]) -> Vec<Row> {
    // No memory at all: everything that is kept goes to a file.
    let spill = Spill {
        dir: None,
        memory: Bytes::new(0),
    };
    let mut changed = apply_all(changes, reader(rows), Path::new("x"), &spill, false).unwrap();
    all_of(&mut *changed).unwrap()
}

fn sorted_loads() -> impl Strategy<Value = Vec<Row>> {
    prop::collection::vec(any_row(1 << 40), 1..40).prop_map(|mut rows| {
        rows.sort_by_key(|row| row.record.request.start);
        for row in &mut rows {
            let request = &mut row.record.request;
            request.sector = Sector::new(request.sector.get() >> 22);
        }
        rows
    })
}

fn map(rows: &[Row], mut change: impl FnMut(&mut Row)) -> Vec<Row> {
    let mut rows = rows.to_vec();
    rows.iter_mut().for_each(&mut change);
    rows
}

fn start(row: &Row) -> u64 {
    row.record.request.start.get()
}

proptest! {
    #[test]
    fn places_move_as_defined(rows in sorted_loads()) {
        let mut k = 0;
        let expected = map(&rows, |row| {
            k += 1;
            let sector = &mut row.record.request.sector;
            *sector = Sector::new(sector.get() + 256 * (k / 3));
        });
        prop_assert_eq!(changed(&rows, &[Change::Slip("3,256".parse().unwrap())]), expected);

        let expected = map(&rows, |row| {
            let s = row.record.request.sector.get();
            let spread = (s * 5 / 2) / 8 * 8 + s % 8 + 7;
            row.record.request.sector = Sector::new(spread);
        });
        prop_assert_eq!(changed(&rows, &[Change::Spread("2.5,8,7".parse().unwrap())]), expected);

        // Ten chunks of 16: 10 / 1.618 is 6, and 3 the next below that is prime to 10.
        let expected = map(&rows, |row| {
            let s = row.record.request.sector.get();
            row.record.request.sector = Sector::new(s / 16 * 3 % 10 * 16 + s % 16);
        });
        prop_assert_eq!(changed(&rows, &[Change::Scatter("165,16".parse().unwrap())]), expected);

        let expected = map(&rows, |row| {
            let request = &mut row.record.request;
            if request.op != Op::Flush {
                let length = (u64::from(request.sectors.get()) * 3 / 10).clamp(0, 1000).max(1);
                request.sectors = Sectors::new(length as u32);
            }
        });
        prop_assert_eq!(changed(&rows, &[Change::Resize("0.3,0,1000".parse().unwrap())]), expected);
    }

    #[test]
    fn times_change_as_defined(rows in sorted_loads(), from in 0..1_u64 << 40, length in 1..1_u64 << 40) {
        let expected = map(&rows, |row| {
            // To the nearest: 10 t / 25, half up.
            row.record.request.start = Nanos::new((start(row) * 10 + 12) / 25);
        });
        prop_assert_eq!(changed(&rows, &[Change::Speed("2.5".parse().unwrap())]), expected);

        let window = Change::Select { from: Nanos::new(from), until: Nanos::new(from + length) };
        let expected: Vec<Row> = rows.iter().copied().filter(|r| (from..from + length).contains(&start(r))).collect();
        prop_assert_eq!(changed(&rows, std::slice::from_ref(&window)), expected.clone());

        // In the order given: shifting first moves others into the window.
        let shift = Change::Shift(Nanos::new(length));
        let shifted = map(&rows, |row| row.record.request.start = Nanos::new(start(row) + length));
        let then_cut: Vec<Row> = shifted.iter().copied().filter(|r| (from..from + length).contains(&start(r))).collect();
        prop_assert_eq!(changed(&rows, &[shift.clone(), window.clone()]), then_cut);
        let cut_then_shifted = map(&expected, |row| row.record.request.start = Nanos::new(start(row) + length));
        prop_assert_eq!(changed(&rows, &[window, shift]), cut_then_shifted);
    }

    #[test]
    fn loads_are_repeated_and_reversed_as_defined(rows in sorted_loads(), rounds in 1..5_u64, offset in 0..1_000_u64) {
        let span = start(&rows[rows.len() - 1]) - start(&rows[0]);
        // A load without duration cannot be repeated.
        prop_assume!(span > 0);
        let expected: Vec<Row> = (0..rounds)
            .flat_map(|round| map(&rows, |row| {
                let request = &mut row.record.request;
                request.start = Nanos::new(request.start.get() + round * span);
                request.sector = Sector::new(request.sector.get() + round * offset);
            }))
            .collect();
        let repeat = Change::Repeat(Repeat { rounds: Rounds::Times(rounds), offset });
        prop_assert_eq!(changed(&rows, &[repeat]), expected);

        // A slip counts on over repeats.
        let repeat = Change::Repeat(Repeat { rounds: Rounds::Times(2), offset: 0 });
        let slipped = changed(&rows, &[repeat, Change::Slip("1,1".parse().unwrap())]);
        let last = slipped[slipped.len() - 1].record.request.sector.get();
        prop_assert_eq!(last, rows[rows.len() - 1].record.request.sector.get() + 2 * rows.len() as u64);

        let expected: Vec<Row> = rows
            .iter()
            .zip(rows.iter().rev())
            .map(|(time, rest)| {
                let mut row = *rest;
                row.record.request.start = time.record.request.start;
                row
            })
            .collect();
        prop_assert_eq!(changed(&rows, &[Change::Reverse]), expected);
    }

    #[test]
    fn steps_back_are_sorted_or_shifted(rows in prop::collection::vec(any_row(1 << 40), 1..60)) {
        let mut expected = rows.clone();
        expected.sort_by_key(|row| row.record.request.start);
        prop_assert_eq!(changed(&rows, &[Change::OnBackstep(OnBackstep::Sort)]), expected);

        let (mut by, mut last) = (0, 0);
        let expected = map(&rows, |row| {
            by += last - (start(row) + by).min(last);
            row.record.request.start = Nanos::new(start(row) + by);
            last = start(row);
        });
        prop_assert_eq!(changed(&rows, &[Change::OnBackstep(OnBackstep::Shift)]), expected);
    }

    #[test]
    fn operations_are_kept_and_replaced(rows in sorted_loads()) {
        let expected: Vec<Row> = rows.iter().copied().filter(|r| matches!(r.record.request.op, Op::Read | Op::Flush)).collect();
        prop_assert_eq!(changed(&rows, &[Change::Ops(vec![Op::Read, Op::Flush])]), expected);
        let replaced = changed(&rows, &[Change::Substitute { from: Op::Write, to: Op::Read }]);
        prop_assert!(replaced.iter().all(|r| r.record.request.op != Op::Write));
    }

    #[test]
    fn pieces_are_dealt_as_defined(rows in sorted_loads(), piece in 1..1_u64 << 38, outputs in 1..4_usize) {
        let spill = Spill { dir: None, memory: Bytes::new(0) };
        let derived = derive(reader(&rows), Path::new("x"), Nanos::new(piece), outputs, &spill).unwrap();
        // By hand: pieces by number, the last one dropped, heaviest first.
        let mut pieces: Vec<Vec<Row>> = rows
            .chunk_by(|a, b| start(a) / piece == start(b) / piece)
            .map(<[Row]>::to_vec)
            .collect();
        pieces.pop();
        pieces.sort_by_key(|p| std::cmp::Reverse(p.len()));
        for output in 0..outputs {
            let mut expected = Vec::new();
            let mut begin = 0;
            for of in pieces.iter().skip(output).step_by(outputs) {
                let from = start(&of[0]);
                expected.extend(map(of, |row| {
                    row.record.request.start = Nanos::new(begin + start(row) - from);
                    row.record.outcome = Outcome::default();
                    row.think = None;
                }));
                begin = start(&expected[expected.len() - 1]);
            }
            let mut found = Vec::new();
            derived.output(output, |batch| {
                found.extend((0..batch.len()).map(|i| Row { record: batch.record(i), think: batch.think(i) }));
                Ok(())
            }).unwrap();
            prop_assert_eq!(found, expected);
        }
    }
}

#[test]
fn a_load_that_grows_has_the_times_of_the_definition() {
    let rows = vec![
        Row {
            record: iosonar_trace::Record::default(),
            think: None
        };
        6
    ];
    let ramped = changed(&rows, &[Change::RampLoad { per_s2: 10.0 }]);
    let starts: Vec<u64> = ramped.iter().map(start).collect();
    // From the peer's own script.
    assert_eq!(
        starts,
        [
            0,
            1_000_000_000,
            1_100_000_000,
            1_190_909_091,
            1_274_878_557,
            1_353_317_400
        ]
    );
}

#[test]
fn repeating_until_a_time_ends() {
    let mut rows = common_rows(10);
    rows.swap(0, 9);
    let repeat = |rounds| Change::Repeat(Repeat { rounds, offset: 0 });
    let until = changed(&rows, &[repeat(Rounds::Until(Nanos::from_millis(200)))]);
    let all = changed(&rows, &[repeat(Rounds::Times(5))]);
    let expected: Vec<Row> = all
        .into_iter()
        .filter(|row| start(row) < 200_000_000)
        .collect();
    assert_eq!(until, expected);
}

#[test]
fn a_command_changes_the_text_of_a_load() {
    let rows = common_rows(1000);
    let kept = changed(&rows, &[Change::Command("grep -v '; W ;'".to_owned())]);
    let reads = rows
        .iter()
        .filter(|r| r.record.request.op == Op::Read)
        .count();
    assert_eq!(kept.len(), reads);
    let few = changed(&rows, &[Change::Command("head -4".to_owned())]);
    assert_eq!(few.len(), 3, "the header is a line, too");
    let failing = apply_all(
        &[Change::Command("exit 3".to_owned())],
        reader(&rows),
        Path::new("x"),
        &Spill::default(),
        false,
    );
    let message = failing
        .and_then(|mut r| all_of(&mut *r))
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("exit 3") && message.contains("exit status: 3"),
        "{message}"
    );
}

fn common_rows(n: u64) -> Vec<Row> {
    (0..n)
        .map(|i| {
            let mut record = iosonar_trace::Record::default();
            record.request.start = Nanos::new(i * 10_000_000);
            record.request.sector = Sector::new(1000 + i * 7919 % 5000);
            record.request.sectors = Sectors::new(8);
            record.request.op = if i % 3 == 0 { Op::Write } else { Op::Read };
            Row {
                record,
                think: None,
            }
        })
        .collect()
}

#[test]
fn a_sample_is_the_same_every_time_and_of_the_right_size() {
    let rows = common_rows(40_000);
    let sample = changed(&rows, &[Change::Sample { share: 0.25 }]);
    assert_eq!(sample, changed(&rows, &[Change::Sample { share: 0.25 }]));
    // Binomial: three standard deviations.
    let sd = (40_000.0_f64 * 0.25 * 0.75).sqrt();
    assert!(
        (sample.len() as f64 - 10_000.0).abs() < 3.0 * sd,
        "{}",
        sample.len()
    );
    assert_eq!(changed(&rows, &[Change::Sample { share: 1.0 }]), rows);
}

#[test]
fn more_than_fits_is_sorted_through_files() {
    // Three runs, and some equal starts.
    let rows: Vec<Row> = (0..2_500_000_u64)
        .map(|i| {
            let mut record = iosonar_trace::Record::default();
            record.request.start = Nanos::new(i * 7_919 % 1_000_003);
            record.request.sector = Sector::new(i);
            record.request.sectors = Sectors::new(1);
            Row {
                record,
                think: None,
            }
        })
        .collect();
    let sorted = changed(&rows, &[Change::OnBackstep(OnBackstep::Sort)]);
    let mut expected = rows;
    expected.sort_by_key(|row| row.record.request.start);
    assert!(sorted == expected, "stable, and all there");
}

#[test]
fn devices_without_names_are_not_those_that_have_names() {
    let dir = tempfile::tempdir().unwrap();
    let mut rows = common_rows(30);
    for (i, row) in (0_u16..).zip(&mut rows) {
        row.record.request.device = i % 3;
    }
    let nameless = write(dir.path(), "nameless.ios", &rows);
    let named = dir.path().join("named.ios");
    let names = ["sda", "sdb"].map(str::to_owned).to_vec();
    let metadata = Metadata {
        devices: names,
        ..Metadata::default()
    };
    let mut writer = output::create(&named, &metadata).unwrap();
    let mut two = rows[..20].to_vec();
    two.iter_mut()
        .for_each(|row| row.record.request.device %= 2);
    writer.write(&batch_of(&two)).unwrap();
    writer.finish().unwrap();
    for paths in [[nameless.clone(), named.clone()], [named, nameless]] {
        let merged = input::open_several(&paths, Combine::Merge, &Reading::default());
        let (mut merged, mut batch) = (merged.unwrap(), Batch::default());
        let mut counts = std::collections::BTreeMap::<String, u32>::new();
        while merged.next_batch(&mut batch).unwrap() > 0 {
            for request in batch.requests() {
                let name = merged.metadata().device_name(request.device);
                *counts.entry(name).or_default() += 1;
            }
        }
        let counts: Vec<_> = counts.iter().map(|(name, n)| (&**name, *n)).collect();
        assert_eq!(
            counts,
            [("0", 10), ("1", 10), ("2", 10), ("sda", 13), ("sdb", 7)]
        );
    }
}

/// Counts the rows that are read.
struct Counting {
    inner: Box<dyn TraceReader>,
    rows: Arc<AtomicUsize>,
}

impl TraceReader for Counting {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        let rows = self.inner.next_batch(batch)?;
        self.rows.fetch_add(rows, Relaxed);
        Ok(rows)
    }

    fn metadata(&self) -> &Metadata {
        self.inner.metadata()
    }

    fn none_before(&mut self) -> Nanos {
        self.inner.none_before()
    }
}

/// Records of a replay come in the order of completion. The index of the file says when a start is the next.
#[test]
fn records_of_several_blocks_are_sorted_while_they_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut rows = common_rows(200_000);
    for (i, row) in (0_u64..).zip(&mut rows) {
        row.record.outcome = Outcome::done(Nanos::ZERO, Nanos::new(i * 7_919 % 500_009 * 1000));
    }
    let ends = |row: &Row| row.record.request.start + row.record.outcome.latency.unwrap();
    let expected = rows.clone();
    rows.sort_by_key(ends);
    let path = write(dir.path(), "records.ios", &rows);

    let (mut reader, mut batch) = (input::open(&path).unwrap(), Batch::default());
    let mut bounds = vec![(0, reader.none_before())];
    while reader.next_batch(&mut batch).unwrap() > 0 {
        let (read, _) = bounds[bounds.len() - 1];
        bounds.push((read + batch.len(), reader.none_before()));
    }
    let least = |from: usize| rows[from..].iter().map(start).min();
    let is_true = |&(from, bound): &(usize, Nanos)| least(from).is_none_or(|l| bound.get() <= l);
    assert!(bounds.iter().all(is_true), "{bounds:?}");
    bounds.dedup_by_key(|(_, bound)| *bound);
    assert!(bounds.len() >= 4, "it is known better block by block");

    let rows_read = Arc::<AtomicUsize>::default();
    let counting = Box::new(Counting {
        inner: input::open(&path).unwrap(),
        rows: Arc::clone(&rows_read),
    });
    let sort = Change::OnBackstep(OnBackstep::Sort);
    let sorted = sort.apply(counting, &path, &Spill::default(), false);
    let mut sorted = sorted.unwrap();
    sorted.next_batch(&mut batch).unwrap();
    let read = rows_read.load(Relaxed);
    assert!(read < 100_000, "{read} rows before the first is given back");
    let rest = all_of(&mut *sorted).unwrap();
    let (first, others) = expected.split_at(batch.len());
    let first: Vec<_> = first.iter().map(|row| row.record).collect();
    assert!(
        batch.records().eq(first) && rest == others,
        "all there, by start"
    );
}

/// The starts of the second block's records are smaller than its entry in the index says.
#[test]
fn an_index_that_is_wrong_is_an_error_and_need_not_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let mut rows = common_rows(140_000);
    rows.swap(60_000, 70_000);
    let path = write(dir.path(), "wrong.ios", &rows);
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len() - 16;
    let at = u64::from_le_bytes(bytes[end..end + 8].try_into().unwrap()) as usize;
    let entries = &mut bytes[at + 12..end];
    let blocks = entries
        .chunks_mut(28)
        .filter(|entry| entry[8..12] != [0; 4]);
    let second = { blocks }.nth(1).unwrap();
    second[12..20].copy_from_slice(&655_360_000_000_u64.to_le_bytes());
    let crc = crc32fast::hash(&[&bytes[at..at + 8], &bytes[at + 12..end]].concat());
    bytes[at + 8..at + 12].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();

    let mut sort = Reading {
        changes: vec![Change::OnBackstep(OnBackstep::Sort)],
        ..Reading::default()
    };
    let error = all_of(&mut *input::open_changed(&path, &sort).unwrap()).unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("wrong.ios") && error.contains("--lenient"),
        "{error}"
    );
    sort.options.lenient = true;
    let sorted = all_of(&mut *input::open_changed(&path, &sort).unwrap()).unwrap();
    rows.swap(60_000, 70_000);
    assert!(sorted == rows);
}

fn write(dir: &Path, name: &str, rows: &[Row]) -> PathBuf {
    let path = dir.join(name);
    let mut writer = output::create(&path, &Metadata::default()).unwrap();
    writer.write(&batch_of(rows)).unwrap();
    writer.finish().unwrap();
    path
}

#[test]
fn several_traces_become_one() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (common_rows(100), common_rows(40));
    let paths = [
        write(dir.path(), "a.ios", &a),
        write(dir.path(), "b.load", &b),
    ];
    let read = |combine| {
        let mut reader = input::open_several(&paths, combine, &Reading::default()).unwrap();
        all_of(&mut *reader).unwrap()
    };

    let mut expected = [a.clone(), b.clone()].concat();
    expected.sort_by_key(|row| row.record.request.start);
    assert_eq!(read(Combine::Merge), expected);

    // The second begins before the first has ended: it is moved by that end.
    let end = start(&a[99]);
    let moved = map(&b, |row| {
        row.record.request.start = Nanos::new(start(row) + end);
    });
    assert_eq!(read(Combine::Paste), [a.clone(), moved].concat());

    let lowest = |rows: &[Row]| {
        rows.iter()
            .map(|r| r.record.request.sector.get())
            .min()
            .unwrap()
            / 8
            * 8
    };
    let highest = rows_end(&a);
    let base = (highest - lowest(&a)).next_multiple_of(8);
    let (low_a, low_b) = (lowest(&a), lowest(&b));
    let mut expected = [
        map(&a, |row| {
            row.record.request.sector = Sector::new(row.record.request.sector.get() - low_a);
        }),
        map(&b, |row| {
            row.record.request.sector = Sector::new(row.record.request.sector.get() - low_b + base);
        }),
    ]
    .concat();
    expected.sort_by_key(|row| row.record.request.start);
    let side_by_side = read(Combine::Adjacent);
    assert_eq!(side_by_side, expected);
    // They do not meet.
    let first = side_by_side
        .iter()
        .filter(|r| r.record.request.sector.get() < base)
        .count();
    assert_eq!(first, 100);
}

/// So do the devices of a single trace.
#[test]
fn devices_of_a_trace_are_put_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("several.csv");
    let rows = "time_ms,sector,sectors,op,device\n0,100,8,read,sdb\n1,108,8,read,sda\n2,120,4,read,sdb\n3,9,1,read,sda\n";
    std::fs::write(&path, rows).unwrap();
    let combined = input::open_several(&[path], Combine::Adjacent, &Reading::default());
    let rows = all_of(&mut *combined.unwrap()).unwrap();
    let places = rows.iter().map(|row| {
        let request = row.record.request;
        (request.device, request.sector.get())
    });
    // The span of sdb is 96 to 124, that of sda begins at 8.
    assert_eq!(
        places.collect::<Vec<_>>(),
        [(0, 4), (0, 32 + 100), (0, 24), (0, 32 + 1)]
    );
}

#[test]
fn a_notice_is_never_read_as_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.load");
    let notices = [
        "5.0 ; 0 ; 8 ; W ; 0.0 ; 0.0",
        "a licence\n6.0 ; 0 ; 8 ; W ; 0.0 ; 0.0",
    ];
    let metadata = iosonar_trace::Metadata {
        notices: notices.map(str::to_owned).to_vec(),
        ..iosonar_trace::Metadata::default()
    };
    let writer = iosonar_trace::output::create(&path, &metadata).unwrap();
    writer.finish().unwrap();
    let mut reader = input::open(&path).unwrap();
    assert!(all_of(&mut *reader).unwrap().is_empty());
    let read = &reader.metadata().notices;
    assert_eq!(
        read[..],
        [
            "# 5.0 ; 0 ; 8 ; W ; 0.0 ; 0.0",
            "a licence",
            "# 6.0 ; 0 ; 8 ; W ; 0.0 ; 0.0"
        ]
    );
}

fn rows_end(rows: &[Row]) -> u64 {
    rows.iter()
        .map(|r| r.record.request.end().get())
        .max()
        .unwrap()
}
