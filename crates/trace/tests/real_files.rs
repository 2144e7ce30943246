//! Recordings that others made, where they are at hand.

mod common;

use std::path::{Path, PathBuf};

use common::{Row, all_of};
use iosonar_trace::{Flags, Metadata, Op, input, output};

fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/traces")
        .join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not there", path.display());
    None
}

fn read(path: &Path) -> (Vec<Row>, Metadata) {
    let mut reader = input::open(path).unwrap();
    let rows = all_of(&mut *reader).unwrap();
    (rows, reader.metadata().clone())
}

#[test]
fn traces_of_other_kinds_have_as_many_requests_as_were_counted() {
    for (name, count) in [
        ("blktrace/sample.blktrace.0", 963),
        ("blktrace", 963),
        ("mqsim/tpcc-small.trace.gz", 6_999),
        ("disksim/atlas10k.trace.gz", 10_000),
        ("disksim/barracuda.trace.gz", 10_000),
        ("disksim/cheetah9LP.trace.gz", 10_000),
        ("disksim/hp_c2247a.trace.gz", 9_999),
        ("disksim/ibm18es.trace.gz", 10_000),
        ("windows-shared-server.load.gz", 1_371),
    ] {
        let Some(path) = shared(name) else {
            return;
        };
        let (rows, metadata) = read(&path);
        assert_eq!(rows.len(), count, "{name}");
        assert!(
            metadata.remarks.is_empty(),
            "{name}: {:?}",
            metadata.remarks
        );
    }
}

#[test]
fn the_blktrace_sample_is_read_to_the_last_event() {
    let Some(path) = shared("blktrace/sample.blktrace.0") else {
        return;
    };
    let (rows, metadata) = read(&path);
    assert!(
        rows.iter()
            .all(|r| r.record.request.op == Op::Read && r.record.outcome.latency.is_some())
    );
    let last = rows[rows.len() - 1].record;
    let end = last.request.start + last.outcome.latency.unwrap();
    // 0.3455 s from the first event to the last.
    assert!((0.3454..0.3456).contains(&end.as_secs_f64()), "{end}");
    assert_eq!(metadata.devices, ["259,0"]);
    // Its two notes are names of processes: nothing tells the wall clock.
    assert_eq!(metadata.origin_ns, None);
}

#[test]
fn the_mysql_load_goes_through_every_format() {
    let Some(path) = shared("linux-mysql.load.gz") else {
        return;
    };
    let (rows, metadata) = read(&path);
    assert_eq!(rows.len(), 80_794);
    let dir = tempfile::tempdir().unwrap();
    for name in ["x.ios", "x.csv", "x.jsonl", "x.load", "x.fio"] {
        let to = dir.path().join(name);
        let mut reader = input::open(&path).unwrap();
        let mut writer = output::create(&to, &metadata).unwrap();
        let mut batch = iosonar_trace::Batch::default();
        while reader.next_batch(&mut batch).unwrap() > 0 {
            writer.write(&batch).unwrap();
        }
        writer.finish().unwrap();
        let (back, _) = read(&to);
        let expected: Vec<Row> = rows
            .iter()
            .map(|row| {
                let mut row = *row;
                if name == "x.fio" {
                    let request = &mut row.record.request;
                    request.start =
                        iosonar_units::Nanos::from_micros((request.start.get() + 500) / 1000);
                    request.flags = Flags::NONE;
                }
                row
            })
            .collect();
        assert!(back == expected, "{name}");
        if name == "x.ios" {
            let size = std::fs::metadata(&to).unwrap().len();
            assert!(size <= 8 * 80_794, "{size} bytes");
        }
    }
}
