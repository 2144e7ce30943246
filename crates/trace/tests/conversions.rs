//! Traces in, traces out: which files are written, with which records, and what is said of them.

mod common;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use common::{all_of, shown};
use iosonar_trace::convert::{Conversion, ConvertError, Converted, Split, convert};
use iosonar_trace::input::Combine;
use iosonar_trace::{ReadOptions, Reading, TraceError, WriteOptions, input};
use iosonar_units::Nanos;

const HEADER: &str = "time_ns,sector,sectors,op,device\n";

/// Converts the CSV file of these rows to `out`; the names of the outputs, and what was converted.
fn converted(
    dir: &Path,
    rows: &str,
    (out, what): (&str, Conversion),
    lenient: bool,
) -> Result<(Vec<String>, Converted), ConvertError> {
    let path = dir.join("in.csv");
    fs::write(&path, format!("{HEADER}{rows}")).unwrap();
    let reading = Reading {
        options: ReadOptions {
            lenient,
            ..ReadOptions::default()
        },
        ..Reading::default()
    };
    let options = WriteOptions {
        lossy: true,
        ..WriteOptions::default()
    };
    let done = convert((&[path], &dir.join(out)), what, &reading, &options)?;
    let name = |path: &PathBuf| path.strip_prefix(dir).unwrap().display().to_string();
    Ok((done.outputs.iter().map(name).collect(), done))
}

/// The records of a file, a line each.
fn read(dir: &Path, name: &str) -> Vec<String> {
    let mut reader = input::open(&dir.join(name)).unwrap();
    let rows = all_of(&mut *reader).unwrap();
    let line = |row| shown(row, reader.metadata());
    rows.iter().map(line).collect()
}

const ONE: Conversion = Conversion::One(Combine::Merge);

fn split(by: Split) -> Conversion {
    Conversion::Split(Combine::Merge, by)
}

fn derive(piece: u64, parts: usize) -> Conversion {
    let piece = Nanos::new(piece);
    Conversion::Derive { piece, parts }
}

#[test]
fn what_is_written_and_what_is_left_out_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let rows = "1,8,1,read,a\n2,16,2,write-zeroes,b\n3,24,3,write,b\n";
    for (out, left_out) in [("x.csv", 0), ("x.load", 1), ("x.fio", 1)] {
        let (outputs, done) = converted(dir.path(), rows, (out, ONE), false).unwrap();
        assert_eq!(outputs, [out]);
        assert_eq!(
            (done.records, done.left_out),
            (3 - left_out, left_out),
            "{out}"
        );
        assert_eq!(read(dir.path(), out).len() as u64, done.records, "{out}");
    }
    assert_eq!(
        read(dir.path(), "x.csv"),
        ["1 8+1 read a", "2 16+2 write-zeroes b", "3 24+3 write b"]
    );
}

#[test]
fn devices_that_turn_up_late_have_their_names_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    // One row more than a batch holds.
    let mut rows = "0,8,1,read,a\n".repeat(4096);
    rows += "5000,8,1,write,late\n";
    for out in ["x.csv", "x.jsonl", "x.fio", "x.ios"] {
        converted(dir.path(), &rows, (out, ONE), false).unwrap();
        let last = read(dir.path(), out).pop().unwrap();
        assert_eq!(last, "5000 8+1 write late", "{out}");
    }
}

#[test]
fn an_empty_copy_of_a_damaged_trace_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, damaged) = ("1,8,1,read,a\n", "x,8,1,read,a\n");
    for (rows, lenient, records) in [
        (String::new(), false, Some(0)),
        (String::new(), true, Some(0)),
        (whole.to_owned(), true, Some(1)),
        (format!("{damaged}{whole}"), true, Some(1)),
        (damaged.to_owned(), true, None),
    ] {
        let done = converted(dir.path(), &rows, ("x.csv", ONE), lenient);
        match (records, done) {
            (Some(records), Ok((_, done))) => assert_eq!(done.records, records, "{rows:?}"),
            (None, Err(ConvertError::NothingSalvaged(remarks))) => {
                assert_eq!(remarks[0].count, 1);
            }
            (_, done) => panic!("{rows:?}, {lenient}: {done:?}"),
        }
    }
}

#[test]
fn a_trace_is_split_by_device_operation_and_range() {
    let dir = tempfile::tempdir().unwrap();
    let rows = "1,0,8,read,a\n2,99,1,write,b\n3,100,1,read,b\n4,350,1,write-zeroes,a\n";
    let [one, two, three, four] = [
        "1 0+8 read a",
        "2 99+1 write b",
        "3 100+1 read b",
        "4 350+1 write-zeroes a",
    ];
    for (by, expected) in [
        (
            Split::Device,
            &[("x-a.csv", &[one, four][..]), ("x-b.csv", &[two, three])][..],
        ),
        (
            Split::Op,
            &[
                ("x-read.csv", &[one, three]),
                ("x-write.csv", &[two]),
                ("x-write-zeroes.csv", &[four]),
            ],
        ),
        (
            Split::Range(100),
            &[
                ("x-0.csv", &[one, two]),
                ("x-1.csv", &[three]),
                ("x-3.csv", &[four]),
            ],
        ),
    ] {
        let (outputs, done) = converted(dir.path(), rows, ("x.csv", split(by)), false).unwrap();
        let names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
        assert_eq!(outputs, names);
        assert_eq!((done.records, done.left_out), (4, 0));
        for (name, rows) in expected {
            assert_eq!(read(dir.path(), name), *rows, "{name}");
        }
    }
    let (_, done) = converted(dir.path(), rows, ("x.load", split(Split::Device)), false).unwrap();
    assert_eq!((done.records, done.left_out), (3, 1));
}

#[test]
fn devices_of_like_names_are_split_into_files_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let rows = "1,8,1,read,a/b\n2,8,1,read,a:b\n3,8,1,read,a b\n4,8,1,read,a/b\n";
    let by_device = ("x.csv", split(Split::Device));
    let (outputs, _) = converted(dir.path(), rows, by_device, false).unwrap();
    assert_eq!(outputs, ["x-a-b.csv", "x-a-b-2.csv", "x-a-b-3.csv"]);
    let lengths = outputs.iter().map(|name| read(dir.path(), name).len());
    assert_eq!(lengths.collect::<Vec<_>>(), [2, 1, 1]);
}

#[test]
fn a_part_that_would_be_an_input_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("x-a.csv");
    fs::write(&input, format!("{HEADER}1,8,1,read,a\n")).unwrap();
    let out = dir.path().join("x.csv");
    let (reading, options) = (Reading::default(), WriteOptions::default());
    let by_device = split(Split::Device);
    let refused = convert(
        (std::slice::from_ref(&input), &out),
        by_device,
        &reading,
        &options,
    );
    let Err(ConvertError::Trace(TraceError::OverwritesInput(path))) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(path, input);
}

#[test]
fn pieces_are_dealt_to_the_outputs() {
    let dir = tempfile::tempdir().unwrap();
    // Pieces of 10 ns, of 1, 3 and 2 requests, and one that is not known to be whole.
    let rows = "5,1,1,read,a\n10,2,1,read,a\n11,3,1,read,a\n19,4,1,read,a\n20,5,1,read,a\n\
                27,6,1,write-zeroes,a\n30,7,1,read,a\n";
    let heaviest = ["0 2+1 read a", "1 3+1 read a", "9 4+1 read a"];
    for (parts, names) in [
        (1, &["x.csv"][..]),
        (2, &["x-000.of.2.csv", "x-001.of.2.csv"]),
        (9, &["x-000.of.9.csv", "x-001.of.9.csv", "x-002.of.9.csv"]),
    ] {
        let what = ("x.csv", derive(10, parts));
        let (outputs, done) = converted(dir.path(), rows, what, false).unwrap();
        assert_eq!(outputs, names);
        assert_eq!((done.records, done.left_out), (6, 0));
        assert_eq!(done.metadata.devices, ["a"]);
        assert_eq!(read(dir.path(), names[0])[..3], heaviest);
    }
    let what = ("x.load", derive(10, 2));
    let (_, done) = converted(dir.path(), rows, what, false).unwrap();
    assert_eq!((done.records, done.left_out), (5, 1));
}

#[test]
fn what_cannot_be_converted_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let row = "5,1,1,read,a\n";
    for (rows, what, reason) in [
        ("", split(Split::Op), "has no requests"),
        (row, derive(0, 1), "--piece must be greater than 0"),
        (row, derive(10_000, 1), "shorter than one piece (10 µs)"),
        ("x,1,1,read,a\n", ONE, "field 'time_ns' is 'x'"),
    ] {
        let error = converted(dir.path(), rows, ("x.csv", what), false).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert!(error.source().is_none(), "{error}");
    }
    let nothing = ConvertError::NothingSalvaged(Vec::new());
    assert!(nothing.to_string().contains("contains no requests"));
    let absent = [dir.path().join("absent")];
    let out = dir.path().join("x.csv");
    let (reading, options) = (Reading::default(), WriteOptions::default());
    let error = convert((&absent, &out), ONE, &reading, &options).unwrap_err();
    let cause = error
        .source()
        .and_then(|cause| cause.downcast_ref::<std::io::Error>());
    let kind = cause.map(std::io::Error::kind);
    assert_eq!(kind, Some(std::io::ErrorKind::NotFound));
}

#[test]
fn parts_whose_names_differ_in_special_characters_have_files_of_their_own() {
    // Each of them is '-' in the name of a file.
    const SPECIAL: &[u8] = b"!#$%&()*+/:;<=>?@[]^`{|}~";
    let names = SPECIAL
        .iter()
        .flat_map(|one| SPECIAL.iter().map(move |other| [*one, *other]));
    let names: Vec<String> = names
        .map(|of| String::from_utf8(of.to_vec()).unwrap())
        .collect();
    let rows = |n: usize| -> String {
        names[..n]
            .iter()
            .map(|name| format!("1,8,1,read,{name}\n"))
            .collect()
    };
    let dir = tempfile::tempdir().unwrap();
    let by_device = || ("x.csv", split(Split::Device));
    let (outputs, done) = converted(dir.path(), &rows(512), by_device(), false).unwrap();
    let numbered = (2..=512).map(|n| format!("x----{n}.csv"));
    let expected: Vec<String> = std::iter::once("x---.csv".to_owned())
        .chain(numbered)
        .collect();
    assert_eq!(outputs, expected);
    assert_eq!(done.records, 512);
    assert_eq!(
        read(dir.path(), "x----512.csv"),
        [format!("1 8+1 read {}", names[511])]
    );
    let error = converted(dir.path(), &rows(513), by_device(), false).unwrap_err();
    assert!(
        error.to_string().contains("more than 512 outputs"),
        "{error}"
    );
}

#[test]
fn latencies_are_noticed_wherever_one_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("in.csv");
    let (reading, options) = (Reading::default(), WriteOptions::default());
    let (with, without) = ("1,8,1,read,7\n", "1,8,1,read,\n");
    // A batch has 4096 rows.
    for (rows, has_latencies) in [
        (without.repeat(5000), false),
        (without.repeat(5000) + with, true),
        (with.to_owned() + &without.repeat(5000), true),
    ] {
        let header = "time_ns,sector,sectors,op,latency_ns\n";
        fs::write(&path, format!("{header}{rows}")).unwrap();
        for what in [ONE, split(Split::Op)] {
            let inputs = [path.clone()];
            let done = convert(
                (&inputs, &dir.path().join("x.ios")),
                what,
                &reading,
                &options,
            );
            assert_eq!(done.unwrap().has_latencies, has_latencies, "{what:?}");
        }
    }
}
