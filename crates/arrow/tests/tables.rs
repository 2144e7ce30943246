//! Tables that others wrote: types, units, mapped columns, and what is refused.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, DurationMicrosecondArray,
    DurationMillisecondArray, Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray,
    NullArray, RecordBatch, StringArray, StringViewArray, TimestampMicrosecondArray,
    TimestampSecondArray, UInt16Array, UInt64Array,
};
use iosonar_trace::{Batch, Metadata, Op, ReadOptions, Record, Status, TraceError, input};
use parquet::arrow::ArrowWriter;
#[cfg(feature = "zstd")]
use parquet::basic::ZstdLevel;
use parquet::basic::{Compression, GzipLevel};
use parquet::file::properties::WriterProperties;

type Columns = Vec<(&'static str, ArrayRef)>;

/// The least that a trace has, of two requests.
fn least() -> Columns {
    vec![
        ("time_us", Arc::new(Int64Array::from(vec![1, 2]))),
        ("sector", Arc::new(Int32Array::from(vec![100, 200]))),
        ("sectors", Arc::new(Int8Array::from(vec![8, 16]))),
        ("op", Arc::new(StringArray::from(vec!["read", "W"]))),
    ]
}

/// The same with other columns, in place of those of these names.
fn with(others: Columns) -> Columns {
    let mut columns = least();
    columns.retain(|(name, _)| {
        !others
            .iter()
            .any(|(other, _)| other.split('_').next() == name.split('_').next())
    });
    columns.extend(others);
    columns
}

/// The table as a Parquet and as an Arrow file.
fn written(folder: &Path, columns: &Columns) -> [PathBuf; 2] {
    iosonar_arrow::register();
    let columns = columns
        .iter()
        .map(|(name, array)| (*name, Arc::clone(array), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let paths = ["x.parquet", "x.arrow"].map(|name| folder.join(name));
    let file = File::create(&paths[0]).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let file = File::create(&paths[1]).unwrap();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    paths
}

fn read(path: &Path, columns: &[(&str, &str)]) -> Result<(Vec<Record>, Metadata), TraceError> {
    let columns = columns
        .iter()
        .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
    let options = ReadOptions {
        columns: columns.collect(),
        ..ReadOptions::default()
    };
    let mut reader = input::open_with(path, &options)?;
    let (mut rows, mut batch) = (Vec::new(), Batch::default());
    while reader.next_batch(&mut batch)? > 0 {
        rows.extend(batch.records());
    }
    Ok((rows, reader.metadata().clone()))
}

fn records(columns: &Columns, mapped: &[(&str, &str)]) -> (Vec<Record>, Metadata) {
    let folder = tempfile::tempdir().unwrap();
    let [parquet, arrow] = written(folder.path(), columns);
    let read_both = [&parquet, &arrow].map(|path| read(path, mapped).unwrap());
    let [parquet, arrow] = read_both;
    assert_eq!(parquet, arrow);
    parquet
}

fn refused(columns: &Columns, mapped: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let [parquet, arrow] = written(folder.path(), columns);
    let texts = [&parquet, &arrow].map(|path| {
        let error = read(path, mapped).unwrap_err().to_string();
        let name = path.display().to_string();
        error.replace(&name, "FILE")
    });
    let [parquet, arrow] = texts;
    assert_eq!(parquet, arrow);
    parquet
}

fn starts(rows: &[Record]) -> Vec<u64> {
    rows.iter().map(|row| row.request.start.get()).collect()
}

#[test]
fn numbers_of_any_type_have_the_unit_of_their_name() {
    let (rows, _) = records(&least(), &[]);
    assert_eq!(starts(&rows), [1_000, 2_000]);
    assert_eq!(rows[1].request.op, Op::Write);
    assert_eq!(rows[1].request.sectors.get(), 16);
    let (rows, _) = records(
        &with(vec![
            ("time_s", Arc::new(Float64Array::from(vec![0.0095, 1.5]))),
            (
                "latency_ms",
                Arc::new(Float64Array::from(vec![f64::NAN, 0.25])),
            ),
            ("sector", Arc::new(Float64Array::from(vec![7.0, 8.0]))),
        ]),
        &[],
    );
    assert_eq!(starts(&rows), [9_500_000, 1_500_000_000]);
    assert_eq!(rows[0].outcome.latency, None);
    assert_eq!(rows[1].outcome.latency.unwrap().get(), 250_000);
    assert_eq!(rows[1].request.sector.get(), 8);
}

#[test]
fn durations_have_their_own_unit() {
    let (rows, metadata) = records(
        &with(vec![
            ("time", Arc::new(DurationMillisecondArray::from(vec![1, 2]))),
            (
                "took",
                Arc::new(DurationMicrosecondArray::from(vec![None, Some(3)])),
            ),
        ]),
        &[("latency", "took")],
    );
    assert_eq!(starts(&rows), [1_000_000, 2_000_000]);
    assert_eq!(rows[1].outcome.latency.unwrap().get(), 3_000);
    assert_eq!(rows[0].outcome.latency, None);
    assert_eq!(metadata.origin_ns, None);
}

#[test]
fn timestamps_begin_with_the_first_request() {
    let begin = 1_700_000_000_000_000;
    let array = TimestampMicrosecondArray::from(vec![begin, begin + 5]).with_timezone("UTC");
    let (rows, metadata) = records(&with(vec![("time", Arc::new(array))]), &[]);
    assert_eq!(starts(&rows), [0, 5_000]);
    assert_eq!(metadata.origin_ns, Some(begin as u64 * 1_000));
}

#[test]
fn words_may_be_kept_in_any_way() {
    let dictionary: DictionaryArray<Int32Type> = ["flush", "discard"].into_iter().collect();
    let (rows, metadata) = records(
        &with(vec![
            ("op", Arc::new(dictionary)),
            (
                "status",
                Arc::new(StringViewArray::from(vec!["error:5", "a status"]).slice(0, 1)),
            ),
        ])
        .into_iter()
        .map(|(name, array)| (name, array.slice(0, 1)))
        .chain([
            (
                "device",
                Arc::new(LargeStringArray::from(vec!["sdq"])) as ArrayRef,
            ),
            (
                "flags",
                Arc::new(BinaryArray::from(vec![&b"sync+fua"[..]])) as ArrayRef,
            ),
            (
                "pushed_back",
                Arc::new(BooleanArray::from(vec![true])) as ArrayRef,
            ),
            ("class", Arc::new(UInt16Array::from(vec![3])) as ArrayRef),
            ("group", Arc::new(NullArray::new(1)) as ArrayRef),
        ])
        .collect(),
        &[],
    );
    let Record { request, outcome } = rows[0];
    assert_eq!(request.op, Op::Flush);
    assert_eq!(outcome.status, Status::Error(5));
    assert_eq!(metadata.devices, ["sdq"]);
    assert_eq!(request.flags.bits(), 3);
    assert!(outcome.pushed_back);
    assert_eq!((request.class, request.group), (3, 0));
}

#[test]
fn columns_are_mapped_as_in_csv() {
    let columns: Columns = vec![
        ("Timestamp", Arc::new(Float64Array::from(vec![0.5]))),
        ("Offset", Arc::new(UInt64Array::from(vec![4096]))),
        ("Size", Arc::new(Int64Array::from(vec![512]))),
        ("Type", Arc::new(StringArray::from(vec!["Read"]))),
        ("DiskNumber", Arc::new(Int32Array::from(vec![3]))),
    ];
    let mapped = [
        ("time_s", "Timestamp"),
        ("offset_bytes", "Offset"),
        ("length_bytes", "Size"),
        ("op", "Type"),
        ("device", "DiskNumber"),
    ];
    let (rows, metadata) = records(&columns, &mapped);
    assert_eq!(starts(&rows), [500_000_000]);
    assert_eq!(
        (rows[0].request.sector.get(), rows[0].request.sectors.get()),
        (8, 1)
    );
    assert_eq!(metadata.devices, ["3"]);
    let text = refused(&columns, &mapped[..3]);
    assert!(text.contains("FILE: field 'columns' is 'Timestamp, Offset, Size, Type, DiskNumber', expected a column op"), "{text}");
    let text = refused(&columns, &[("time_s", "Time")]);
    assert!(
        text.contains("expected the column 'Time', which --columns maps to time_s"),
        "{text}"
    );
    let text = refused(&columns, &[("when", "Timestamp")]);
    assert!(text.contains("'when' is not a field"), "{text}");
}

#[test]
#[allow(clippy::too_many_lines)] // A table.
fn what_does_not_fit_is_named_with_its_place() {
    let list = |others| refused(&with(others), &[]);
    for (text, parts) in [
        (
            list(vec![("op", Arc::new(Int64Array::from(vec![0, 1])))]),
            ["FILE: field 'op' is 'Int64'", "expected a column of texts"],
        ),
        (
            list(vec![(
                "time_s",
                Arc::new(BooleanArray::from(vec![true, false])),
            )]),
            [
                "FILE: field 'time_s' is 'Boolean'",
                "expected a column of timestamps, durations or numbers",
            ],
        ),
        (
            list(vec![(
                "latency",
                Arc::new(TimestampSecondArray::from(vec![1, 2])),
            )]),
            [
                "FILE: field 'latency' is 'Timestamp(s)'",
                "expected a column of durations or numbers",
            ],
        ),
        (
            list(vec![(
                "sector",
                Arc::new(Int64Array::from(vec![Some(1), None])),
            )]),
            ["FILE: row 2: field 'sector' is 'null'", "--lenient"],
        ),
        (
            list(vec![("sector", Arc::new(Int64Array::from(vec![-1, 0])))]),
            ["FILE: row 1: field 'sector' is '-1'", "at least 0"],
        ),
        (
            list(vec![(
                "sectors",
                Arc::new(Int64Array::from(vec![1, 1 << 32])),
            )]),
            [
                "FILE: row 2: field 'sectors' is '4294967296'",
                "0 to 4294967295",
            ],
        ),
        (
            list(vec![(
                "sector",
                Arc::new(Float64Array::from(vec![1.0, 1.5])),
            )]),
            ["FILE: row 2: field 'sector' is '1.5'", "a whole number"],
        ),
        (
            list(vec![(
                "time_s",
                Arc::new(Int64Array::from(vec![0, 1 << 40])),
            )]),
            [
                "FILE: row 2: field 'time_s' is '1099511627776'",
                "292 years",
            ],
        ),
        (
            list(vec![(
                "op",
                Arc::new(StringArray::from(vec!["read", "peek"])),
            )]),
            ["FILE: row 2: field 'op' is 'peek'", "write-zeroes"],
        ),
        (
            list(vec![("time", Arc::new(Int64Array::from(vec![0, 1])))]),
            [
                "The column 'time' (Int64) has no unit",
                "--columns time_ns=time",
            ],
        ),
        (
            list(vec![(
                "status",
                Arc::new(StringArray::from(vec!["done", "fine"])),
            )]),
            ["FILE: row 2: field 'status' is 'fine'", "error:ERRNO"],
        ),
    ] {
        for part in parts {
            assert!(text.contains(part), "{text}\nhas no {part}");
        }
    }
}

#[test]
fn compressions_of_this_build_are_read() {
    let folder = tempfile::tempdir().unwrap();
    iosonar_arrow::register();
    let batch = RecordBatch::try_from_iter(least()).unwrap();
    let path = folder.path().join("x.parquet");
    // The writer has the compressions that the reader has.
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::GZIP(GzipLevel::default()),
        #[cfg(feature = "zstd")]
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .build();
        let file = File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        assert_eq!(read(&path, &[]).unwrap().0.len(), 2, "{compression:?}");
    }
}
