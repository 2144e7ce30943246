//! The blkreplay text format, through the front door: files in, records out, and back.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use iosonar_trace::{
    Batch, Flags, Metadata, Op, Outcome, Record, Request, SortedByStart, Status, TraceError,
    TraceReader, input, output,
};
use iosonar_units::{Nanos, Sector, Sectors};
use proptest::prelude::*;

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

fn read_all(mut reader: impl TraceReader) -> Result<Vec<Record>, TraceError> {
    let mut all = Vec::new();
    let mut batch = Batch::default();
    while reader.next_batch(&mut batch)? > 0 {
        all.extend(batch.records());
    }
    Ok(all)
}

fn read(path: &Path) -> Result<Vec<Record>, TraceError> {
    read_all(input::open(path)?)
}

fn read_text(text: &str) -> Result<Vec<Record>, TraceError> {
    read(&Scratch::new().file("x.load", text.as_bytes()))
}

/// What the person sees who must mend the file, without the directory.
fn complaint(text: &str) -> String {
    let message = read_text(text).unwrap_err().to_string();
    message[message.find("x.load").expect("the file is named")..].to_owned()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstandard(bytes: &[u8]) -> Vec<u8> {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

#[test]
fn rows_are_read_whatever_their_blanks_decimals_and_missing_columns() {
    let records = read_text(
        "A licence; all of it.\n\
         start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n\
         0.5;10;8;R\n\
         \t1.000000001 ;  20 ;1; WS ; 0.25 ; 1.5\r\n\
         # a comment\n\
         2 ; 30 ; 16 ;RA ; 0.0 ; 0.0\n\
         start ; sector; length ; op ; replay_delay ; replay_duration (guessed)\n\
         3.1234567895 ; 40 ; 8 ; w ; 0 ; 0.000000001",
    )
    .unwrap();
    let request = |ns, sector, sectors, op, flags| Request {
        start: Nanos::new(ns),
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        op,
        flags,
        ..Request::default()
    };
    let unmeasured = Outcome::default();
    let expected = [
        Record {
            request: request(500_000_000, 10, 8, Op::Read, Flags::NONE),
            outcome: unmeasured,
        },
        Record {
            request: request(1_000_000_001, 20, 1, Op::Write, Flags::SYNC),
            outcome: Outcome::done(Nanos::from_millis(250), Nanos::from_millis(1500)),
        },
        Record {
            request: request(2_000_000_000, 30, 16, Op::Read, Flags::READ_AHEAD),
            outcome: unmeasured,
        },
        Record {
            request: request(3_123_456_790, 40, 8, Op::Write, Flags::NONE),
            outcome: Outcome {
                pushed_back: true,
                ..Outcome::done(Nanos::ZERO, Nanos::new(1))
            },
        },
    ];
    assert_eq!(records, expected);
}

#[test]
fn a_dropped_request_of_the_peer_is_a_record() {
    let records = read_text("1.0 ; 5 ; 8 ; W\nINFO: dropping block=77 len=16 mode=W\n").unwrap();
    assert_eq!(records[1].outcome.status, Status::Dropped);
    assert_eq!(records[1].request.sector, Sector::new(77));
    assert_eq!(records[1].request.start, Nanos::SECOND);
}

#[test]
fn a_byte_order_mark_is_no_comment() {
    assert_eq!(read_text("\u{feff}0 ; 1 ; 8 ; R\n").unwrap().len(), 1);
}

#[test]
fn a_message_about_a_request_that_is_damaged_is_an_error_and_any_other_a_comment() {
    for (line, expected) in [
        (
            "INFO: dropping block=18446744073709551615 len=8 mode=W",
            "x.load:2:22: field 'block' is '18446744073709551615'",
        ),
        (
            "INFO: dropping block=8 len=0 mode=W",
            "expected a length of at least 1 sector",
        ),
        (
            "INFO: dropping block=8 len=8 mode=W start=18446744073",
            "field 'start' is '18446744073', expected a time in seconds",
        ),
        (
            "INFO: dropping block=8O len=16 mode=W",
            "x.load:2:22: field 'block' is '8O', expected a whole number",
        ),
        (
            "INFO: dropping block=80",
            "x.load:2:24: the line ends before the field 'len'; expected 'INFO: VERB block=SECTOR",
        ),
        (
            "INFO: dropping block=80 len=8",
            "the line ends before the field 'mode'",
        ),
        ("INFO: skipping", "the line ends before the field 'block'"),
        (
            "INFO: failing block=80 len=8 mode=X",
            "field 'mode' is 'X', expected R (read) or W (write)",
        ),
        (
            "INFO: failing block=80 len=8 mode=W err",
            "field 'message' is 'err'",
        ),
        (
            "INFO: failing block=80 len=8 mode=W errno=five",
            "field 'errno' is 'five'",
        ),
        (
            "INFO: droqping block=80 len=8 mode=W",
            "field 'verb' is 'droqping', expected one of dropping, skipping",
        ),
        ("INFO: dropping block=8\0 len=8 mode=W", "null bytes"),
    ] {
        let text = format!("1.0 ; 5 ; 8 ; W\n{line}\n2.0 ; 5 ; 8 ; W\n");
        let error = read_text(&text).unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.contains("--lenient"),
            "{line}: {error}"
        );
    }
    for line in [
        "INFO: whatever",
        "INFO: device=/dev/sdb has blocks=1000 (500 kB).",
        "INFO: action='main' pid=12 count_submitted=7 real_time=1.000000000",
    ] {
        let records = read_text(&format!("1.0 ; 5 ; 8 ; W\n{line}\n")).unwrap();
        assert_eq!(records.len(), 1, "{line}");
    }
}

#[test]
fn a_message_that_the_input_ends_within_may_be_a_request() {
    for line in [
        "INFO: dropping block=80 len=16 mode=W",
        "INFO: dropping block=80",
        "INFO: drop",
        "INFO:",
    ] {
        let error = read_text(&format!("1.0 ; 5 ; 8 ; W\n{line}")).unwrap_err();
        assert!(error.to_string().contains("x.load:2:"), "{line}: {error}");
    }
}

#[test]
fn errors_name_file_line_column_field_value_and_expectation() {
    for (text, expected) in [
        (
            "0 ; 1 ; 8 ; R\n0.1 ; -5 ; 8 ; R\n",
            "x.load:2:7: field 'sector' is '-5', expected a sector number",
        ),
        (
            "-1 ; 1 ; 8 ; R\n",
            "x.load:1:1: field 'start' is '-1', expected a time in seconds from 0",
        ),
        (
            "0 ; 1 ; 8 ; R\n ; 8 ; 8 ; R\n",
            "x.load:2:2: field 'start' is ''",
        ),
        (
            "0 ; 1 ; 8 ; R\ninf5 ; 8 ; 8 ; R\n",
            "x.load:2:1: field 'start' is 'inf5'",
        ),
        (
            "0 ; 1 ; 8 ; R\n1.5",
            "x.load:2:4: the line ends before the field 'sector'",
        ),
        ("0 ; 1 ; 8 ; RW\n", "x.load:1:13: field 'op' is 'RW'"),
        (
            "start ; sectorsize ; length ; op\n0 ; 1 ; 8 ; R\n",
            "x.load:1:9: field 'header' is 'sectorsize'",
        ),
        (
            "1e-05 ; 1 ; 8 ; R\n",
            "x.load:1:1: field 'start' is '1e-05'",
        ),
        (
            "1.2.3 ; 1 ; 8 ; R\n",
            "x.load:1:1: field 'start' is '1.2.3'",
        ),
        (
            "0 ; 1 ; 0 ; R\n",
            "x.load:1:9: field 'sectors' is '0', expected a length of at least 1 sector",
        ),
        (
            "0 ; 1 ; 8 ; X\n",
            "x.load:1:13: field 'op' is 'X', expected R (read) or W (write)",
        ),
        ("0 ; 1 ; 8.5 ; R\n", "x.load:1:10: field 'sectors' is '.5'"),
        (
            "0 ; 9223372036854775808 ; 8 ; R\n",
            "x.load:1:5: field 'sector'",
        ),
        ("0 ; 1 ; 4294967296 ; R\n", "x.load:1:9: field 'sectors'"),
        (
            "0 ; 1\n",
            "x.load:1:6: the line ends before the field 'sectors'",
        ),
        (
            "0 ; 1 ; 8 ; R ; 0 ; NaN\n",
            "x.load:1:21: field 'latency' is 'NaN'",
        ),
        (
            "0 ; 1 ; 8 ; R ; 0 ; 0 ; 7\n",
            "x.load:1:23: field 'end of line' is '; 7'",
        ),
        (
            "start ; sector ; colour ; op\n0 ; 1 ; 8 ; R\n",
            "x.load:1:18: field 'header' is 'colour', expected the column 'length' or 'sectors'",
        ),
        ("", "x.load: the file is empty"),
        (
            "nothing\nof the kind\n",
            "x.load: the file contains no requests",
        ),
    ] {
        let complaint = complaint(text);
        assert!(complaint.starts_with(expected), "{text:?}: {complaint}");
    }
}

#[test]
fn time_going_back_is_refused_for_a_load() {
    let scratch = Scratch::new();
    let path = scratch.file("x.load", b"2.5 ; 1 ; 8 ; R\n1.5 ; 1 ; 8 ; R\n");
    let sorted = SortedByStart::new(input::open(&path).unwrap(), path);
    let message = read_all(sorted).unwrap_err().to_string();
    assert!(
        message.contains("x.load:2: this request starts at 1.5"),
        "{message}"
    );
}

#[test]
fn gzip_of_several_members_and_zstd_of_several_frames_are_one_trace() {
    let scratch = Scratch::new();
    let (a, b) = ("0 ; 1 ; 8 ; R\n1 ; 2 ", "; 8 ; R\n2 ; 3 ; 8 ; W\n");
    let expected = read_text(&[a, b].concat()).unwrap();
    let gz = scratch.file(
        "x.load.gz",
        &[gzip(a.as_bytes()), gzip(b.as_bytes())].concat(),
    );
    assert_eq!(read(&gz).unwrap(), expected);
    let frame = |text: &str| zstandard(text.as_bytes());
    let zst = scratch.file("misnamed.gz", &[frame(a), frame(b)].concat());
    assert_eq!(read(&zst).unwrap(), expected, "the content decides");
}

#[test]
fn truncated_compression_is_an_error_wherever_it_is_cut() {
    let scratch = Scratch::new();
    let text: String = (0..20_000)
        .map(|i| format!("{i} ; {i} ; 8 ; R\n"))
        .collect();
    let whole = gzip(text.as_bytes());
    for cut in [30, whole.len() / 2, whole.len() - 4] {
        let path = scratch.file("cut.load.gz", &whole[..cut]);
        let message = read(&path).unwrap_err().to_string();
        assert!(
            message.contains("cut.load.gz: the gzip data are truncated"),
            "{message}"
        );
    }
    let whole = zstandard(text.as_bytes());
    let path = scratch.file("cut.load.zst", &whole[..whole.len() / 2]);
    let message = read(&path).unwrap_err().to_string();
    assert!(message.contains("the zstd data are truncated"), "{message}");
}

#[test]
fn a_directory_and_a_missing_file_are_named() {
    let scratch = Scratch::new();
    for path in [scratch.0.path().to_owned(), scratch.0.path().join("absent")] {
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains(path.to_str().unwrap()), "{message}");
    }
}

#[test]
fn a_licence_is_kept_and_written_back() {
    let scratch = Scratch::new();
    let from = scratch.file(
        "a.load",
        b"Copying is permitted;\nas is.\n\n0 ; 1 ; 8 ; R\n",
    );
    let mut reader = input::open(&from).unwrap();
    let to = scratch.0.path().join("b.load");
    let mut writer = output::create(&to, reader.metadata()).unwrap();
    let mut batch = Batch::default();
    while reader.next_batch(&mut batch).unwrap() > 0 {
        writer.write(&batch).unwrap();
    }
    writer.finish().unwrap();
    let text = fs::read_to_string(&to).unwrap();
    assert_eq!(
        text,
        "Copying is permitted;\nas is.\n\nstart ; sector; length ; op ;  replay_delay ; replay_duration\n   0.000000000 ;          1 ;   8 ; R ;   0.000000000 ;   0.000000000\n"
    );
}

#[test]
fn the_mysql_recording_holds_what_was_counted() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces/linux-mysql.load.gz");
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return;
    }
    let records = read(&path).unwrap();
    let of = |op: Op| records.iter().filter(move |r| r.request.op == op);
    let sectors = |op: Op| {
        of(op)
            .map(|r| u64::from(r.request.sectors.get()))
            .sum::<u64>()
    };
    // Independent counts: traces.md.
    assert_eq!(
        (of(Op::Read).count(), of(Op::Write).count()),
        (7_187, 73_607)
    );
    assert_eq!(
        (sectors(Op::Read), sectors(Op::Write)),
        (161_928, 2_151_328)
    );
    assert_eq!(
        records.last().unwrap().request.start,
        Nanos::new(3_599_890_074_831)
    );
    let end = records.iter().map(|r| r.request.end()).max();
    assert_eq!(end, Some(Sector::new(63_587_888)));
    assert_eq!(
        records
            .iter()
            .filter(|r| r.request.flags.contains(Flags::READ_AHEAD))
            .count(),
        1
    );
}

fn any_record() -> impl Strategy<Value = Record> {
    let op = prop_oneof![
        Just(Op::Read),
        Just(Op::Write),
        Just(Op::Discard),
        Just(Op::Flush)
    ];
    let flags = prop::collection::vec(
        prop_oneof![
            Just(Flags::SYNC),
            Just(Flags::META),
            Just(Flags::READ_AHEAD)
        ],
        0..3,
    );
    let status = prop_oneof![
        4 => Just(Status::Done),
        1 => Just(Status::Dropped),
        1 => Just(Status::Skipped),
        1 => Just(Status::Missed),
        1 => Just(Status::Short),
        1 => (1..200_u16).prop_map(Status::Error),
    ];
    let time = 0..1_u64 << 62;
    (
        (time.clone(), 0..1_u64 << 63, 1..u32::MAX, op, flags),
        (
            status,
            time.clone(),
            1..u64::MAX / 4,
            any::<bool>(),
            any::<bool>(),
        ),
    )
        .prop_map(
            |(
                (start, sector, sectors, op, flags),
                (status, delay, latency, timed, pushed_back),
            )| Record {
                request: Request {
                    start: Nanos::new(start),
                    sector: Sector::new(sector),
                    sectors: Sectors::new(sectors),
                    op,
                    flags: flags.into_iter().fold(Flags::NONE, Flags::with),
                    ..Request::default()
                },
                outcome: Outcome {
                    delay: timed.then_some(Nanos::new(delay)),
                    latency: timed.then_some(Nanos::new(latency)),
                    status,
                    pushed_back,
                },
            },
        )
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(records in prop::collection::vec(any_record(), 1..50), compressed in 0..3_usize) {
        let scratch = Scratch::new();
        let path = scratch.0.path().join(["x.replay", "x.replay.gz", "x.replay.zst"][compressed]);
        let mut writer = output::create(&path, &Metadata::default()).unwrap();
        let mut batch = Batch::default();
        records.iter().for_each(|r| batch.push(r));
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        prop_assert_eq!(read(&path).unwrap(), records);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&Scratch::new().file("x.load", &bytes));
    }

    #[test]
    fn arbitrary_rows_never_panic(rows in "([0-9.;: RWxINFO=\\n-]{0,60}\\n){0,8}") {
        let _ = read_text(&rows);
    }
}
