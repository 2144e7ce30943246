//! What is written is read back, up to what the format cannot hold.

mod common;

use std::path::Path;

use common::{Row, all_of, any_row, batch_of, ios_bytes};
use iosonar_trace::{
    Batch, CutOff, Flags, Metadata, Op, Outcome, ReadOptions, Record, RemarkKind, Request, Source,
    Status, TraceError, TraceReader, WriteOptions, formats, input, output,
};
use iosonar_units::{Nanos, Sector, Sectors};
use proptest::prelude::*;

fn devices() -> Metadata {
    Metadata {
        notices: vec!["a notice".to_owned()],
        origin_ns: Some(1_700_000_000_123_456_789),
        devices: ["sda", "sdb", "nvme0n1", "d3", "d4"]
            .map(str::to_owned)
            .to_vec(),
        about: [("host".to_owned(), "h".to_owned())].into(),
        ..Metadata::default()
    }
}

/// Writes and reads again.
fn there_and_back(
    rows: &[Row],
    name: &str,
    options: &WriteOptions,
) -> Result<(Vec<Row>, Metadata), TraceError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    let mut writer = output::create_with(&path, &devices(), options)?;
    for part in rows.chunks(7) {
        writer.write(&batch_of(part))?;
    }
    writer.finish()?;
    let mut reader = input::open(&path)?;
    let back = all_of(&mut *reader)?;
    Ok((back, reader.metadata().clone()))
}

/// Names instead of numbers: formats number devices in the order in which they turn up.
fn named(rows: &[Row], metadata: &Metadata) -> Vec<(Row, String)> {
    let name = |row: &Row| metadata.device_name(row.record.request.device);
    let without = |row: &Row| {
        let mut row = *row;
        row.record.request.device = 0;
        row
    };
    rows.iter().map(|row| (without(row), name(row))).collect()
}

proptest! {
    #[test]
    fn the_binary_format_loses_nothing(rows in prop::collection::vec(any_row(1 << 63), 1..300), packed in 0..3_usize) {
        let (back, metadata) = there_and_back(&rows, ["x.ios", "x.ios.gz", "x.ios.zst"][packed], &WriteOptions::default()).unwrap();
        prop_assert_eq!(back, rows);
        prop_assert_eq!(metadata, devices());
    }

    #[test]
    fn csv_and_json_lines_lose_only_what_is_not_of_a_row(rows in prop::collection::vec(any_row(1 << 62), 1..60)) {
        for name in ["x.csv", "x.tsv", "x.jsonl"] {
            let (back, metadata) = there_and_back(&rows, name, &WriteOptions::default()).unwrap();
            prop_assert_eq!(named(&back, &metadata), named(&rows, &devices()), "{}", name);
        }
    }

    #[test]
    fn logs_of_fio_keep_requests_to_the_microsecond(mut rows in prop::collection::vec(any_row(1 << 50), 1..60)) {
        for row in &mut rows {
            let request = &mut row.record.request;
            request.sector = Sector::new(request.sector.get() >> 12);
            request.sectors = Sectors::new(request.sectors.get() >> 1 | 1);
        }
        // A log is a load: what was never submitted is not in it.
        rows.retain(|row| row.record.request.op != Op::WriteZeroes && row.record.outcome.status.was_submitted());
        rows.sort_by_key(|row| row.record.request.start);
        prop_assume!(!rows.is_empty());
        let (back, metadata) = there_and_back(&rows, "x.fio", &WriteOptions::default()).unwrap();
        let expected: Vec<(Row, String)> = named(&rows, &devices())
            .into_iter()
            .map(|(mut row, name)| {
                let request = &mut row.record.request;
                request.start = Nanos::from_micros((request.start.get() + 500) / 1000);
                (request.flags, request.class, request.group) = (Flags::NONE, 0, 0);
                if request.op == Op::Flush {
                    (request.sector, request.sectors) = (Sector::new(0), Sectors::new(0));
                }
                row.record.outcome = Outcome::default();
                row.think = None;
                (row, name)
            })
            .collect();
        prop_assert_eq!(named(&back, &metadata), expected);
    }
}

#[test]
fn what_a_format_cannot_hold_is_refused_or_counted() {
    let mut row = Row {
        record: iosonar_trace::Record::default(),
        think: None,
    };
    row.record.request.sectors = Sectors::new(8);
    let rows = [row, {
        let mut zeroes = row;
        zeroes.record.request.op = Op::WriteZeroes;
        zeroes
    }];
    for name in ["x.load", "x.fio"] {
        let message = there_and_back(&rows, name, &WriteOptions::default())
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("write-zeroes") && message.contains("--lossy"),
            "{message}"
        );
        let lossy = WriteOptions {
            lossy: true,
            ..WriteOptions::default()
        };
        assert_eq!(there_and_back(&rows, name, &lossy).unwrap().0.len(), 1);
    }
    let message = output::create_with(
        Path::new("x.csv"),
        &Metadata::default(),
        &WriteOptions {
            format: Some("msr".to_owned()),
            ..WriteOptions::default()
        },
    )
    .err()
    .unwrap()
    .to_string();
    assert!(message.contains("can be read but not written"), "{message}");
}

fn read_bytes(bytes: &[u8], lenient: bool) -> Result<Vec<Row>, TraceError> {
    let options = ReadOptions {
        lenient,
        ..ReadOptions::default()
    };
    let input = Box::new(std::io::Cursor::new(bytes.to_vec()));
    all_of(&mut *input::read_from(input, Path::new("x.ios"), &options)?)
}

#[test]
fn a_binary_file_cut_off_anywhere_gives_its_whole_blocks() {
    let whole = ios_bytes(200_000);
    let all = read_bytes(&whole, false).unwrap();
    assert_eq!(all.len(), 200_000);
    let mut seen = std::collections::BTreeSet::new();
    let step = whole.len() / 400;
    for cut in (0..whole.len() - 1)
        .step_by(step)
        .chain(0..64)
        .chain(whole.len() - 64..whole.len() - 16)
    {
        assert!(read_bytes(&whole[..cut], false).is_err(), "cut at {cut}");
        if cut < 16 {
            continue;
        }
        let rows = read_bytes(&whole[..cut], true).unwrap();
        assert!(
            rows.len().is_multiple_of(65_536) || rows.len() == 200_000,
            "{}",
            rows.len()
        );
        assert_eq!(rows, all[..rows.len()]);
        seen.insert(rows.len());
    }
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        [0, 65_536, 131_072, 196_608, 200_000]
    );
}

#[test]
fn a_flipped_bit_is_found_and_costs_its_block_only() {
    let whole = ios_bytes(200_000);
    for at in (16..whole.len() - 16).step_by(whole.len() / 97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        let message = read_bytes(&bytes, false).unwrap_err().to_string();
        assert!(message.contains("x.ios: byte "), "{message}");
        // At most one of four blocks is lost, unless it is the length of a frame that is damaged.
        assert!(
            read_bytes(&bytes, true).unwrap().len() >= 200_000 - 65_536
                || message.contains("frame"),
            "{message}"
        );
    }
}

#[test]
fn the_index_jumps_to_a_time_and_nothing_is_missed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.ios");
    std::fs::write(&path, ios_bytes(300_000)).unwrap();
    let all = all_of(&mut *input::open(&path).unwrap()).unwrap();
    for from in [
        0,
        1,
        65_536_000,
        131_072_005,
        250_000_000,
        299_999_000,
        400_000_000,
    ] {
        let reading = iosonar_trace::Reading::window(Nanos::new(from), Nanos::MAX);
        let rows = all_of(&mut *input::open_changed(&path, &reading).unwrap()).unwrap();
        let expected: Vec<Row> = all
            .iter()
            .copied()
            .filter(|row| row.record.request.start.get() >= from)
            .collect();
        assert_eq!(rows, expected, "from {from}");
    }
    // Blocks that are jumped over are not read: damage in them does no harm.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[5_000] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let reading = iosonar_trace::Reading::window(Nanos::new(250_000_000), Nanos::MAX);
    assert_eq!(
        all_of(&mut *input::open_changed(&path, &reading).unwrap())
            .unwrap()
            .len(),
        50_000
    );
}

#[test]
fn compressed_files_of_all_kinds_are_read() {
    use std::io::Write;
    let text = b"0 ; 1 ; 8 ; R\n1 ; 2 ; 8 ; W\n";
    let dir = tempfile::tempdir().unwrap();
    let mut xz =
        lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::with_preset(6)).unwrap();
    xz.write_all(text).unwrap();
    let mut bz = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bz.write_all(text).unwrap();
    for (name, bytes) in [
        ("x.xz", xz.finish().unwrap()),
        ("x.bz2", bz.finish().unwrap()),
    ] {
        let path = dir.path().join(name);
        // Of several members, too.
        std::fs::write(&path, [&bytes[..], &bytes].concat()).unwrap();
        assert_eq!(
            all_of(&mut *input::open(&path).unwrap()).unwrap().len(),
            4,
            "{name}"
        );
        std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        let message = input::open(&path)
            .and_then(|mut r| all_of(&mut *r))
            .unwrap_err()
            .to_string();
        assert!(message.contains("data are truncated"), "{message}");
    }
}

#[test]
fn a_value_that_no_reader_accepts_is_not_written() {
    let mut record = Record::default();
    record.request.sectors = Sectors::new(8);
    record.outcome.latency = Some(Nanos::new(1 << 63));
    let row = |record| Row {
        record,
        think: None,
    };
    let write = |record| there_and_back(&[row(record)], "x.ios", &WriteOptions::default());
    let error = write(record).unwrap_err().to_string();
    for part in [
        "x.ios",
        "'latency' is '9223372036854775808'",
        "below 292 years",
    ] {
        assert!(error.contains(part), "{error}");
    }
    record.outcome.latency = Some(Nanos::new((1 << 63) - 1));
    assert_eq!(write(record).unwrap().0, [row(record)]);
}

#[test]
fn every_format_tells_what_it_is() {
    let mut names = std::collections::BTreeSet::new();
    for format in formats::ALL {
        assert!(names.insert(format.name()), "{} twice", format.name());
        assert!(!format.description().is_empty() && !format.columns().is_empty());
    }
    let writable: Vec<&str> = formats::ALL
        .iter()
        .filter(|f| f.loses().is_some())
        .map(|f| f.name())
        .collect();
    assert_eq!(writable, ["ios", "fio", "csv", "jsonl", "blkreplay"]);
}

#[test]
fn devices_of_a_binary_file_are_known_before_their_records() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.ios");
    let mut writer = output::create(&path, &Metadata::default()).unwrap();
    // As a conversion does: names turn up with the records.
    let mut known = Metadata::default();
    for device in 0..3_u16 {
        known.devices.push(format!("disk-{device}"));
        writer.update(&known);
        let mut row = Row {
            record: iosonar_trace::Record::default(),
            think: None,
        };
        row.record.request.sectors = Sectors::new(8);
        row.record.request.device = device;
        let rows: Vec<Row> = (0..70_000)
            .map(|i| {
                row.record.request.start = Nanos::new(u64::from(device) * 1_000_000 + i);
                row
            })
            .collect();
        for part in rows.chunks(4096) {
            writer.write(&batch_of(part)).unwrap();
        }
    }
    writer.finish().unwrap();
    let mut reader = input::open(&path).unwrap();
    let mut batch = iosonar_trace::Batch::default();
    while reader.next_batch(&mut batch).unwrap() > 0 {
        for request in batch.requests() {
            let name = format!("disk-{}", request.device);
            assert_eq!(reader.metadata().device_name(request.device), name);
        }
    }
    // After a jump, too.
    let mut reader = input::open(&path).unwrap();
    reader.skip_before(Nanos::new(2_000_000)).unwrap();
    reader.next_batch(&mut batch).unwrap();
    assert_eq!(reader.metadata().devices.len(), 3);
    let options = ReadOptions {
        devices: vec!["disk-2".to_owned()],
        ..ReadOptions::default()
    };
    assert_eq!(
        all_of(&mut *input::open_with(&path, &options).unwrap())
            .unwrap()
            .len(),
        70_000
    );
}

#[test]
fn a_flipped_bit_in_a_compressed_trace_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["x.load.zst", "x.load.gz"] {
        let path = directory.path().join(name);
        let mut writer = output::create(&path, &Metadata::default()).unwrap();
        let mut batch = Batch::default();
        for i in 0..20_u64 {
            batch.push(&Record {
                request: Request {
                    start: Nanos::new(i * 1_000_003),
                    sector: Sector::new(i * i * 7919 % 100_003),
                    sectors: Sectors::new(8),
                    ..Request::default()
                },
                ..Record::default()
            });
        }
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let whole = std::fs::read(&path).unwrap();
        let rows = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let mut reader = input::open(&path)?;
            all_of(&mut *reader)
        };
        let expected = rows(&whole).unwrap();
        assert_eq!(expected.len(), 20);
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            // Some bits mean nothing, such as those of the time in the header of gzip.
            if let Ok(read) = rows(&damaged) {
                assert_eq!(read, expected, "{name}: byte {at}");
            }
        }
    }
}

/// What an `.ios` file with these names of devices reads back as.
fn devices_there_and_back(devices: Vec<String>) -> Result<Metadata, TraceError> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.ios");
    let metadata = Metadata {
        devices,
        ..Metadata::default()
    };
    output::create(&path, &metadata)?.finish()?;
    Ok(input::open(&path)?.metadata().clone())
}

#[test]
fn a_binary_file_has_65536_devices_and_names_of_bounded_length() {
    let numbered: Vec<_> = (0..65536).map(|i| format!("259,{i}")).collect();
    let read = devices_there_and_back(numbered.clone()).unwrap();
    assert_eq!(read.devices, numbered);
    let long: Vec<_> = (0..65536).map(|i| format!("{i:0>60}")).collect();
    let error = devices_there_and_back(long).unwrap_err().to_string();
    for part in ["x.ios", "4128822 bytes of metadata", "at most 1048576"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn metadata_longer_than_any_is_refused_before_it_is_read() {
    let mut bytes = ios_bytes(1);
    // The length of the first frame.
    bytes[20..24].copy_from_slice(&(64_u32 << 20).to_le_bytes());
    let error = read_bytes(&bytes, false).unwrap_err().to_string();
    for part in ["x.ios: byte 16", "67108864 bytes, expected at most 1048576"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn files_one_behind_the_other_are_one_trace_and_nothing_else_may_follow() {
    let (first, second) = (ios_bytes(10), ios_bytes(5));
    assert_eq!(
        read_bytes(&[&first[..], &second].concat(), false)
            .unwrap()
            .len(),
        15
    );
    // Less than a header, none, and one of a version to come, which is a number of two bytes behind the magic.
    let mut later = second.clone();
    later[8..10].copy_from_slice(&[0xff; 2]);
    for other in [&b"x"[..], &[b'x'; 100], &later] {
        let both = [&first[..], other].concat();
        let error = read_bytes(&both, false).unwrap_err().to_string();
        let place = format!("byte {}: the data after the end of the trace", first.len());
        assert!(
            error.contains(&place) && error.contains("--lenient"),
            "{error}"
        );
        assert_eq!(read_bytes(&both, true).unwrap().len(), 10);
    }
}

#[test]
fn a_block_that_is_left_out_is_counted() {
    let mut bytes = ios_bytes(10);
    // A frame is its kind, three zero bytes, its length, a checksum, and what it holds; the first one is metadata.
    let length = u32::from_le_bytes(bytes[20..24].try_into().unwrap());
    let block = 16 + 12 + length as usize;
    assert_eq!((bytes[16], bytes[block]), (b'M', b'D'));
    bytes[block + 12] ^= 1;
    let options = ReadOptions {
        lenient: true,
        ..ReadOptions::default()
    };
    let source = Box::new(std::io::Cursor::new(bytes));
    let mut reader = input::read_from(source, Path::new("x.ios"), &options).unwrap();
    assert_eq!(all_of(&mut *reader).unwrap(), []);
    let remarks = &reader.metadata().remarks;
    let counts: Vec<_> = remarks.iter().map(|r| (r.kind, r.count)).collect();
    assert_eq!(counts, [(RemarkKind::DamagedBlocks, 1)]);
}

/// Gives pieces of a file, and is interrupted before each.
struct Interrupted(std::io::Cursor<Vec<u8>>, bool);

impl std::io::Read for Interrupted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = !self.1;
        match self.1 {
            true => Err(std::io::ErrorKind::Interrupted.into()),
            false => self.0.read(buffer),
        }
    }
}

#[test]
fn a_read_that_is_interrupted_is_tried_again() {
    // The format's own reader: what looks for the format in front of it would try again itself.
    let source = Source {
        input: Box::new(Interrupted(std::io::Cursor::new(ios_bytes(10)), false)),
        path: "x".into(),
        file: None,
        cut: CutOff::default(),
    };
    let ios = formats::by_format_name("ios").unwrap();
    let mut reader = ios.reader(source, &ReadOptions::default()).unwrap();
    assert_eq!(all_of(&mut *reader).unwrap().len(), 10);
}

#[test]
fn a_log_of_fio_is_written_when_it_is_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.fio");
    let lossy = WriteOptions {
        lossy: true,
        ..WriteOptions::default()
    };
    let mut writer = output::create_with(&path, &Metadata::default(), &lossy).unwrap();
    let [mut read, mut zeroes, mut skipped] = [Record::default(); 3];
    read.request.sectors = Sectors::new(8);
    zeroes.request.op = Op::WriteZeroes;
    skipped.outcome.status = Status::Skipped;
    let rows = [read, skipped, zeroes, skipped].map(|record| Row {
        record,
        think: None,
    });
    writer.write(&batch_of(&rows)).unwrap();
    writer.flush().unwrap();
    let part = std::fs::read_dir(folder.path()).unwrap().next().unwrap();
    let text = std::fs::read_to_string(part.unwrap().path()).unwrap();
    assert!(text.ends_with(" read 0 4096\n"), "{text}");
    assert_eq!(writer.left_out(), 3);
}
