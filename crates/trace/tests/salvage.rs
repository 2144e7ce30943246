//! What can be read of a file that stops early: everything before that place, and nothing that was not written.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use common::{Row, all_of};
use iosonar_trace::{
    Batch, Metadata, Outcome, ReadOptions, Record, Request, TraceError, WriteOptions, input, output,
};
use iosonar_units::{Nanos, Sector, Sectors};

/// Every form in which a replay writes its records.
const FORMS: [&str; 12] = [
    "ios",
    "load",
    "csv",
    "jsonl",
    "ios.gz",
    "load.gz",
    "csv.gz",
    "jsonl.gz",
    "ios.zst",
    "load.zst",
    "csv.zst",
    "jsonl.zst",
];

/// Rows whose numbers have many digits, so that a part of one is another number.
fn rows(n: u64) -> Vec<Row> {
    let row = |i: u64| Row {
        record: Record {
            request: Request {
                start: Nanos::new(i * 1_234_567),
                sector: Sector::new(i * 7_919_113 % 1_000_000_007),
                sectors: Sectors::new(8 + (i % 13) as u32),
                ..Request::default()
            },
            outcome: Outcome {
                delay: Some(Nanos::new(i * 7_919 % 100_003)),
                latency: Some(Nanos::new(100_000 + i * 104_729 % 1_299_709)),
                ..Outcome::default()
            },
        },
        think: None,
    };
    (0..n).map(row).collect()
}

fn batch(rows: &[Row]) -> Batch {
    let mut batch = Batch::default();
    rows.iter().for_each(|row| batch.push(&row.record));
    batch
}

fn records(rows: &[Row]) -> Vec<Record> {
    rows.iter().map(|row| row.record).collect()
}

/// What can be read leniently, and the remarks on it, or the error.
fn salvaged(path: &Path) -> Result<(Vec<Record>, String), TraceError> {
    let lenient = ReadOptions {
        lenient: true,
        ..ReadOptions::default()
    };
    let mut reader = input::open_with(path, &lenient)?;
    let rows = all_of(&mut *reader)?;
    let remarks = reader.metadata().remarks.iter();
    let remarks: Vec<String> = remarks
        .map(|r| format!("{} {}", r.count, r.happened()))
        .collect();
    Ok((records(&rows), remarks.join("\n")))
}

fn refusal(path: &Path) -> String {
    let read = input::open(path).and_then(|mut reader| all_of(&mut *reader));
    read.unwrap_err().to_string()
}

/// The only file in a folder.
fn only_file(folder: &Path) -> PathBuf {
    let mut files = fs::read_dir(folder).unwrap().flatten();
    files.next().expect("a file").path()
}

#[test]
fn what_was_flushed_can_be_read_from_the_file_as_it_is_then() {
    let rows = rows(20_000);
    for form in FORMS {
        for durable in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let options = WriteOptions {
                durable,
                ..WriteOptions::default()
            };
            let name = folder.path().join(format!("x.{form}"));
            let mut writer = output::create_with(&name, &Metadata::default(), &options).unwrap();
            writer.flush().unwrap();
            let part = only_file(folder.path());
            assert_eq!(salvaged(&part).unwrap().0, [], "{form}");
            for (from, to) in [(0, 1), (1, 5_000), (5_000, 12_345)] {
                for chunk in rows[from..to].chunks(Batch::ROWS) {
                    writer.write(&batch(chunk)).unwrap();
                }
                writer.flush().unwrap();
                let (read, remarks) = salvaged(&part).unwrap();
                assert!(read == records(&rows[..to]), "{form}: {}", read.len());
                let records_were = if to == 1 {
                    "record was"
                } else {
                    "records were"
                };
                let says = format!("{to} {records_were} read from a truncated file");
                assert!(remarks.starts_with(&says), "{form}: {remarks}");
                let message = refusal(&part);
                assert!(message.contains("--lenient"), "{form}: {message}");
            }
            // Not flushed: as after a kill, it stays.
            writer.write(&batch(&rows[12_345..12_400])).unwrap();
            assert!(salvaged(&part).unwrap().0.len() >= 12_345, "{form}");
            writer.finish().unwrap();
            assert_eq!(salvaged(&name).unwrap().1, "", "{form}");
        }
    }
}

#[test]
fn a_file_that_was_complete_before_the_kill_is_reported_as_such() {
    let rows = rows(5_000);
    for form in FORMS {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(format!("x.{form}"));
        let mut writer = output::create(&name, &Metadata::default()).unwrap();
        for piece in rows.chunks(1_000) {
            writer.write(&batch(piece)).unwrap();
        }
        writer.finish().unwrap();
        let part = folder.path().join(format!("x.{form}.1-0.part"));
        fs::rename(&name, &part).unwrap();
        let (read, remarks) = salvaged(&part).unwrap();
        assert!(read == records(&rows), "{form}: {}", read.len());
        // Only this format marks its end.
        let says = match form.starts_with("ios") {
            true => "5000 records were read from a complete file that still has its temporary name",
            false => "truncated file, and later ones may be missing",
        };
        assert!(remarks.contains(says), "{form}: {remarks}");
        // Without its last byte it is not.
        let whole = fs::read(&part).unwrap();
        fs::write(&part, &whole[..whole.len() - 1]).unwrap();
        let (_, remarks) = salvaged(&part).unwrap();
        assert!(remarks.contains("may be missing"), "{form}: {remarks}");
    }
}

#[test]
fn a_file_that_is_cut_off_anywhere_gives_the_rows_before_and_no_others() {
    let rows = rows(3_000);
    let wanted = records(&rows);
    for form in FORMS {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(format!("x.{form}"));
        let mut writer = output::create(&name, &Metadata::default()).unwrap();
        for piece in rows.chunks(500) {
            writer.write(&batch(piece)).unwrap();
            writer.flush().unwrap();
        }
        writer.finish().unwrap();
        let whole = fs::read(&name).unwrap();
        let part = folder.path().join(format!("x.{form}.1-0.part"));
        let mut most = 0;
        for i in 1..60 {
            let length = whole.len() * i / 60 + i % 3;
            fs::write(&part, &whole[..length]).unwrap();
            let (read, remarks) = match salvaged(&part) {
                Ok(read) => read,
                // Of CSV, nothing is known without the header.
                Err(e) => {
                    let is_headless = form.starts_with("csv") && most == 0;
                    assert!(is_headless, "{form} cut off at {length}: {e}");
                    continue;
                }
            };
            assert!(wanted.starts_with(&read), "{form} cut off at {length}");
            let says = format!("{} records were read from a truncated file", read.len());
            assert!(remarks.contains(&says), "{form}: {remarks}");
            assert!(read.len() >= most, "{form}: {most}, then {}", read.len());
            most = read.len();
        }
        // All but the last of six flushes.
        assert!(most >= 2_400, "{form}: {most}");
    }
}

#[test]
fn a_stream_that_is_cut_off_is_refused_with_the_way_out_and_read_up_to_there() {
    let rows = rows(50_000);
    for form in ["load.gz", "load.zst", "ios.gz"] {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(format!("x.{form}"));
        let mut writer = output::create(&name, &Metadata::default()).unwrap();
        for piece in rows.chunks(Batch::ROWS) {
            writer.write(&batch(piece)).unwrap();
        }
        writer.finish().unwrap();
        let whole = fs::read(&name).unwrap();
        fs::write(&name, &whole[..whole.len() - 100]).unwrap();
        let message = refusal(&name);
        assert!(
            message.contains("truncated after") && message.contains("--lenient"),
            "{message}"
        );
        let (read, remarks) = salvaged(&name).unwrap();
        assert!(records(&rows).starts_with(&read), "{form}");
        assert!(
            remarks.contains("truncated after") && !remarks.contains("Fetch"),
            "{remarks}"
        );
    }
}

/// A load, compressed in each way that can be read.
fn compressed_loads(n: u64) -> Vec<(&'static str, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let written = |form: &str| {
        let name = folder.path().join(format!("x.{form}"));
        let mut writer = output::create(&name, &Metadata::default()).unwrap();
        for piece in rows(n).chunks(Batch::ROWS) {
            writer.write(&batch(piece)).unwrap();
        }
        writer.finish().unwrap();
        fs::read(&name).unwrap()
    };
    let plain = written("load");
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bz2.write_all(&plain).unwrap();
    let mut xz =
        lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(6)).unwrap();
    xz.write_all(&plain).unwrap();
    vec![
        ("load.gz", written("load.gz")),
        ("load.zst", written("load.zst")),
        ("load.bz2", bz2.finish().unwrap()),
        ("load.xz", xz.finish().unwrap()),
        ("ios.gz", written("ios.gz")),
    ]
}

#[test]
fn a_compressed_stream_with_a_flipped_bit_gives_no_records_that_were_not_written() {
    let wanted = records(&rows(3_000));
    for (form, whole) in compressed_loads(3_000) {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(format!("x.{form}"));
        for i in 0..40 {
            // Behind the magic number and the header.
            let at = 20 + (i * 7_919_113) % (whole.len() - 20);
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (i % 8);
            fs::write(&name, &bytes).unwrap();
            match salvaged(&name) {
                Ok((read, remarks)) => {
                    assert!(wanted.starts_with(&read), "{form}, byte {at}: {remarks}");
                    assert_ne!(remarks, "", "{form}, byte {at}");
                }
                Err(e) => {
                    let says = "data are damaged within the first";
                    assert!(e.to_string().contains(says), "{form}, byte {at}: {e}");
                }
            }
        }
    }
}

#[test]
fn a_stream_with_a_wrong_checksum_at_its_end_is_refused_with_its_length() {
    for (form, mut bytes) in compressed_loads(3_000) {
        if !form.ends_with("gz") {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(format!("x.{form}"));
        let length = bytes.len();
        bytes[length - 8] ^= 1;
        fs::write(&name, &bytes).unwrap();
        for message in [refusal(&name), salvaged(&name).unwrap_err().to_string()] {
            let says = format!("the gzip data are damaged within the first {length} bytes");
            assert!(message.contains(&says), "{form}: {message}");
        }
    }
}
