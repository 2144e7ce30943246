//! What is written is read back identical, and what is damaged is refused.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use iosonar_trace::convert::{Conversion, convert};
use iosonar_trace::input::Combine;
use iosonar_trace::{
    Batch, Flags, Metadata, Op, Outcome, ReadOptions, Reading, Record, RemarkKind, Request, Status,
    TraceError, WriteOptions, input, output,
};
use iosonar_units::{Nanos, Sector, Sectors};
use proptest::prelude::*;

const NAMES: [&str; 3] = ["x.parquet", "x.arrow", "x.feather"];

type Row = (Record, Option<Nanos>);

fn time(most: u64) -> impl Strategy<Value = Option<Nanos>> {
    prop::option::of(prop_oneof![0..5_u64, 0..=most].prop_map(Nanos::new))
}

fn status() -> impl Strategy<Value = Status> {
    prop_oneof![
        Just(Status::Done),
        any::<u16>().prop_map(Status::Error),
        Just(Status::Short),
        Just(Status::Dropped),
        Just(Status::Skipped),
        Just(Status::Missed),
        Just(Status::Cancelled),
        Just(Status::VerifyFailed),
    ]
}

fn any_row() -> impl Strategy<Value = Row> {
    const MOST: u64 = i64::MAX as u64;
    let request = (
        0..=MOST,
        0..=MOST,
        1..=u32::MAX,
        prop::sample::select(Op::ALL.as_slice()),
        0..16_u8,
        prop_oneof![0..5_u16, 0..300_u16],
        any::<u16>(),
        any::<u32>(),
    );
    let outcome = (time(MOST), time(MOST), time(MOST), status(), any::<bool>());
    (request, outcome).prop_map(|(request, outcome)| {
        let (start, sector, sectors, op, flags, device, class, group) = request;
        let (delay, latency, think, status, pushed_back) = outcome;
        let request = Request {
            start: Nanos::new(start),
            sector: Sector::new(sector),
            sectors: Sectors::new(sectors),
            op,
            flags: Flags::from_bits(flags),
            device,
            class,
            group,
        };
        let outcome = Outcome {
            delay,
            latency,
            status,
            pushed_back,
        };
        (Record { request, outcome }, think)
    })
}

fn any_metadata() -> impl Strategy<Value = Metadata> {
    // What could act on a terminal is replaced when it is read.
    const TEXT: &str = r"[^\p{C}\u{2028}\u{2029}]{0,6}";
    let devices = prop::collection::vec("[a-c0-3#]{0,2}", 0..6);
    let about = prop::collection::btree_map(TEXT, TEXT, 0..3);
    let notices = prop::collection::vec(TEXT, 0..3);
    (notices, prop::option::of(any::<u64>()), devices, about).prop_map(
        |(notices, origin_ns, devices, about)| Metadata {
            notices,
            origin_ns,
            devices,
            about,
            remarks: Vec::new(),
        },
    )
}

fn batch_of(rows: &[Row]) -> Batch {
    let mut batch = Batch::default();
    for (record, think) in rows {
        batch.push(record);
        batch.set_think(batch.len() - 1, *think);
    }
    batch
}

fn write(path: &Path, rows: &[Row], metadata: &Metadata) {
    let mut writer = output::create(path, metadata).unwrap();
    for part in rows.chunks(7) {
        writer.write(&batch_of(part)).unwrap();
    }
    writer.finish().unwrap();
}

fn read_with(path: &Path, options: &ReadOptions) -> Result<(Vec<Row>, Metadata), TraceError> {
    let mut reader = input::open_with(path, options)?;
    let (mut rows, mut batch) = (Vec::new(), Batch::default());
    while reader.next_batch(&mut batch)? > 0 {
        rows.extend((0..batch.len()).map(|row| (batch.record(row), batch.think(row))));
    }
    Ok((rows, reader.metadata().clone()))
}

fn read(path: &Path) -> Result<(Vec<Row>, Metadata), TraceError> {
    read_with(path, &ReadOptions::default())
}

fn folder() -> tempfile::TempDir {
    iosonar_arrow::register();
    tempfile::tempdir().unwrap()
}

fn converted(from: &Path, to: &Path) {
    let done = convert(
        (&[from.to_owned()], to),
        Conversion::One(Combine::Merge),
        &Reading::default(),
        &WriteOptions::default(),
    );
    done.unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn nothing_is_lost(rows in prop::collection::vec(any_row(), 0..60), metadata in any_metadata()) {
        let folder = folder();
        for name in NAMES {
            let path = folder.path().join(name);
            write(&path, &rows, &metadata);
            let (back, said) = read(&path).unwrap();
            prop_assert_eq!(&back, &rows, "{}", name);
            prop_assert_eq!(&said, &metadata, "{}", name);
        }
    }

    #[test]
    fn bytes_that_are_no_such_file_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), format in 0..2_usize) {
        let folder = folder();
        let path = folder.path().join(NAMES[format]);
        let magic: &[u8] = [&b"PAR1"[..], b"ARROW1"][format];
        fs::write(&path, [magic, &bytes, magic].concat()).unwrap();
        let error = read(&path).unwrap_err().to_string();
        prop_assert!(error.contains(NAMES[format]), "{}", error);
    }
}

/// Records of all kinds.
fn all_kinds(count: u64) -> Vec<Row> {
    let statuses = [
        Status::Done,
        Status::Error(5),
        Status::Short,
        Status::Dropped,
        Status::Skipped,
        Status::Missed,
        Status::Cancelled,
        Status::VerifyFailed,
    ];
    let row = |i: u64| {
        let status = statuses[(i % 8) as usize];
        let request = Request {
            start: Nanos::new(i * 1_000),
            sector: Sector::new(i * 7919 % 1_000_003),
            sectors: Sectors::new(1 + (i % 9) as u32),
            op: Op::ALL[(i % 5) as usize],
            flags: Flags::from_bits((i % 16) as u8),
            device: (i % 2) as u16,
            class: (i % 3) as u16,
            group: (i % 4) as u32,
        };
        let outcome = match status.was_submitted() {
            true => Outcome {
                status,
                ..Outcome::done(Nanos::new(i % 11), Nanos::new(i * i % 100_000))
            },
            false => Outcome::untimed(status),
        };
        (Record { request, outcome }, None)
    };
    (0..count).map(row).collect()
}

fn metadata() -> Metadata {
    Metadata {
        notices: vec!["a licence".to_owned()],
        origin_ns: Some(1_700_000_000_123_456_789),
        devices: vec!["/dev/sda".to_owned(), "/dev/sdb".to_owned()],
        about: [("host".to_owned(), "h".to_owned())].into(),
        remarks: Vec::new(),
    }
}

#[test]
fn a_trace_that_was_converted_there_and_back_is_the_same_file() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    // Several record batches.
    write(&at("a.ios"), &all_kinds(150_000), &metadata());
    for name in NAMES {
        converted(&at("a.ios"), &at(name));
        converted(&at(name), &at("b.ios"));
        assert!(
            fs::read(at("a.ios")).unwrap() == fs::read(at("b.ios")).unwrap(),
            "{name}"
        );
    }
}

#[test]
fn devices_may_turn_up_while_a_trace_is_written() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let mut text = "time_ns,sector,sectors,op,device\n".to_owned();
    for i in 0..140_000 {
        text += &format!("{i},{i},8,read,disk{}\n", i / 20_000);
    }
    fs::write(at("x.csv"), text).unwrap();
    for name in NAMES {
        converted(&at("x.csv"), &at(name));
        assert_eq!(read(&at(name)).unwrap(), read(&at("x.csv")).unwrap());
        assert_eq!(read(&at(name)).unwrap().1.devices.len(), 7);
    }
}

#[test]
fn memory_is_bounded_by_row_groups_and_record_batches() {
    let folder = folder();
    let path = folder.path().join("x.parquet");
    write(&path, &all_kinds(600_000), &metadata());
    let bytes = fs::read(&path).unwrap();
    let metadata = parquet::file::metadata::ParquetMetaDataReader::new()
        .parse_and_finish(&bytes::Bytes::from(bytes))
        .unwrap();
    let rows = metadata
        .row_groups()
        .iter()
        .map(parquet::file::metadata::RowGroupMetaData::num_rows);
    assert_eq!(rows.collect::<Vec<_>>(), [524_288, 75_712]);
    let path = folder.path().join("x.arrow");
    write(&path, &all_kinds(200_000), &Metadata::default());
    let reader = arrow_ipc::reader::FileReader::try_new(fs::File::open(path).unwrap(), None);
    let rows = reader.unwrap().map(|batch| batch.unwrap().num_rows());
    assert_eq!(rows.collect::<Vec<_>>(), [65_536, 65_536, 65_536, 3_392]);
}

#[test]
fn a_time_beyond_292_years_is_refused_or_left_out() {
    let folder = folder();
    let mut rows = all_kinds(3);
    rows[1].0.request.start = Nanos::new(1 << 63);
    for name in NAMES {
        let path = folder.path().join(name);
        let mut writer = output::create(&path, &Metadata::default()).unwrap();
        let error = writer.write(&batch_of(&rows)).unwrap_err().to_string();
        assert!(
            error.contains("time_ns of 9223372036854775808 ns"),
            "{error}"
        );
        drop(writer);
        let lossy = WriteOptions {
            lossy: true,
            ..WriteOptions::default()
        };
        let mut writer = output::create_with(&path, &Metadata::default(), &lossy).unwrap();
        writer.write(&batch_of(&rows)).unwrap();
        assert_eq!(writer.left_out(), 1);
        writer.finish().unwrap();
        let mut kept = rows.clone();
        kept.remove(1);
        assert_eq!(read(&path).unwrap().0.len(), kept.len());
    }
}

#[test]
fn no_damage_has_a_reader_panic() {
    let folder = folder();
    let path = folder.path().join("damaged");
    for name in &NAMES[..2] {
        let whole = folder.path().join(name);
        write(&whole, &all_kinds(40), &metadata());
        fs::copy(&whole, &path).unwrap();
        let bytes = fs::read(&whole).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        let refused = || {
            let error = read(&path).err()?.to_string();
            assert!(error.contains("damaged"), "{error}");
            Some(error)
        };
        let mut found = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let flip = [0x01, 0x80, 0xff][at % 3];
            file.write_all_at(&[byte ^ flip], at as u64).unwrap();
            found += usize::from(refused().is_some());
            file.write_all_at(&[*byte], at as u64).unwrap();
        }
        assert_eq!(read(&path).unwrap().0, all_kinds(40), "{name}");
        for cut in (0..bytes.len()).rev() {
            file.set_len(cut as u64).unwrap();
            assert!(refused().is_some(), "{name} cut after {cut}");
        }
        assert!(found > 0, "{name}");
    }
}

#[test]
fn a_record_batch_that_takes_gigabytes_is_refused() {
    const HUGE: u64 = 3 << 30;
    let folder = folder();
    let path = folder.path().join("x.arrow");
    write(&path, &all_kinds(40), &metadata());
    let bytes = fs::read(&path).unwrap();
    // The index is at the end: its length, and the mark. The last length in it is that of the record batch.
    let end = bytes.len() - 10;
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap());
    let (front, index) = bytes.split_at(end - length as usize);
    // Blocks are an offset, a length of the header with padding, and one of the body.
    let at = (0..index.len() - 24).find(|&at| {
        let number = |at: usize| u64::from_le_bytes(index[at..at + 8].try_into().unwrap());
        let (header, body) = (number(at + 8), number(at + 16));
        let offset = number(at) as usize;
        offset > 64
            && offset < front.len()
            && front[offset..].starts_with(&[0xff; 4])
            && header > 0
            && offset as u64 + header + body <= front.len() as u64
            && body > 1000
    });
    let at = at.unwrap();
    let mut index = index.to_vec();
    index[at + 16..at + 24].copy_from_slice(&HUGE.to_le_bytes());
    // A hole: it takes no room.
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(&index, 2 * HUGE).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(
        error.contains("record batch 0: it takes 3221") && error.contains("smaller record batches"),
        "{error}"
    );
}

#[test]
fn no_mutation_has_a_reader_panic() {
    let folder = folder();
    let path = folder.path().join("mutated");
    let mut state = 7_u64;
    let mut random = move |end: usize| {
        // xorshift (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % end as u64) as usize
    };
    for name in &NAMES[..2] {
        let whole = folder.path().join(name);
        write(&whole, &all_kinds(40), &metadata());
        let bytes = fs::read(&whole).unwrap();
        let mut refused = 0;
        for _ in 0..400 {
            let mut mutated = bytes.clone();
            for _ in 0..=random(8) {
                let (from, to) = (random(bytes.len()), random(bytes.len()));
                let length = random(16).min(bytes.len() - from.max(to));
                mutated.copy_within(from..from + length, to);
            }
            fs::write(&path, &mutated).unwrap();
            for lenient in [false, true] {
                let options = ReadOptions {
                    format: Some(name[2..].to_owned()),
                    lenient,
                    ..ReadOptions::default()
                };
                refused += usize::from(read_with(&path, &options).is_err());
            }
        }
        assert!(refused > 0, "{name}");
    }
}

#[test]
fn a_file_is_recognised_by_its_content() {
    let folder = folder();
    for (name, format) in [("x.parquet", "parquet"), ("x.feather", "arrow")] {
        let path = folder.path().join(name);
        write(&path, &all_kinds(3), &metadata());
        let other = folder.path().join("x.log");
        fs::rename(&path, &other).unwrap();
        let found = input::format_at(&other, &ReadOptions::default());
        assert_eq!(found, Some(format));
        assert_eq!(read(&other).unwrap().0, all_kinds(3));
    }
}

#[test]
fn what_cannot_be_jumped_in_is_refused() {
    let folder = folder();
    for name in NAMES {
        let path = folder.path().join(name);
        write(&path, &all_kinds(3), &metadata());
        let bytes = fs::read(&path).unwrap();
        let input = Box::new(std::io::Cursor::new(bytes));
        let error = input::read_from(input, Path::new("-"), &ReadOptions::default());
        let error = error.err().unwrap().to_string();
        assert!(error.starts_with("standard input: "), "{error}");
        let packed = PathBuf::from(format!("{}.gz", path.display()));
        let error = output::create(&packed, &Metadata::default()).err().unwrap();
        assert!(error.to_string().contains("leave out .gz"), "{error}");
        assert!(!packed.exists());
    }
}

#[test]
fn a_file_without_its_end_is_said_to_be_truncated() {
    let folder = folder();
    for name in NAMES {
        let path = folder.path().join(name);
        write(&path, &all_kinds(100), &metadata());
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        for lenient in [false, true] {
            let options = ReadOptions {
                lenient,
                ..ReadOptions::default()
            };
            let error = read_with(&path, &options).unwrap_err().to_string();
            assert!(error.contains("truncated"), "{error}");
        }
    }
}

#[test]
fn files_of_newer_versions_and_the_first_feather_are_refused() {
    let folder = folder();
    let path = folder.path().join("x.arrow");
    write(&path, &all_kinds(1), &metadata());
    let bytes = fs::read(&path).unwrap();
    let key = b"iosonar.version";
    let mut newer = bytes.clone();
    let mut changed = 0;
    for at in 0..bytes.len() - 40 {
        // The value stands before or behind its key, in four bytes with its length before it.
        if bytes[at..].starts_with(&[1, 0, 0, 0, b'1', 0, 0, 0]) {
            newer[at + 4] = b'2';
            changed += 1;
        }
    }
    assert!(changed > 0 && bytes.windows(key.len()).any(|part| part == key));
    fs::write(&path, newer).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(
        error.contains("'iosonar.version' is '2', expected at most 1"),
        "{error}"
    );
    fs::write(&path, b"FEA1....FEA1").unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains("Feather version 1"), "{error}");
}

#[test]
fn skipped_rows_are_counted() {
    // A load of zero sectors is no request.
    let folder = folder();
    let mut rows = all_kinds(4);
    rows[2].0.request.sectors = Sectors::new(0);
    for name in NAMES {
        let path = folder.path().join(name);
        write(&path, &rows, &metadata());
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains(&format!("{name}: row 3: ")), "{error}");
        let lenient = ReadOptions {
            lenient: true,
            ..ReadOptions::default()
        };
        let (read, said) = read_with(&path, &lenient).unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(said.remarks[0].kind, RemarkKind::Skipped);
    }
}

#[test]
fn a_compressed_buffer_that_claims_too_much_is_refused() {
    const ROWS: usize = 1000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.arrow");
    let mut batch = Batch::default();
    let request = Request {
        sectors: Sectors::new(8),
        ..Request::default()
    };
    let record = Record {
        request,
        ..Record::default()
    };
    (0..ROWS).for_each(|_| batch.push(&record));
    let table = iosonar_arrow::record_batch(&batch, &Metadata::default()).unwrap();
    let options = arrow_ipc::writer::IpcWriteOptions::default()
        .try_with_compression(Some(arrow_ipc::CompressionType::LZ4_FRAME))
        .unwrap();
    let file = fs::File::create(&path).unwrap();
    let mut writer =
        arrow_ipc::writer::FileWriter::try_new_with_options(file, &table.schema(), options)
            .unwrap();
    writer.write(&table).unwrap();
    writer.finish().unwrap();
    drop(writer);
    iosonar_arrow::register();
    let read = || {
        let mut reader = input::open(&path)?;
        let (mut batch, mut rows) = (Batch::default(), 0);
        while reader.next_batch(&mut batch)? > 0 {
            rows += batch.len();
        }
        Ok::<usize, TraceError>(rows)
    };
    assert_eq!(read().unwrap(), ROWS);

    // The unpacked length of a column of 64 bits.
    let length = (8 * ROWS as i64).to_le_bytes();
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes
        .windows(8)
        .position(|window| window == length)
        .unwrap();
    bytes[at..at + 8].copy_from_slice(&(1_i64 << 50).to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let error = read().unwrap_err().to_string();
    assert!(error.contains("impossible length"), "{error}");
}
