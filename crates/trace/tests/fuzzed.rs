//! What fuzzing has found is read without a panic, and leniently at least as well as strictly.

#[path = "common/corpus.rs"]
mod corpus;
#[path = "common/rows.rs"]
mod rows;

use std::io::Cursor;
use std::path::Path;

use iosonar_trace::{ReadOptions, TraceError, input};

/// How many rows there are.
fn rows(format: &str, bytes: &[u8], lenient: bool) -> Result<u64, TraceError> {
    let options = ReadOptions {
        format: Some(format.to_owned()),
        lenient,
        ..ReadOptions::default()
    };
    let bytes = Box::new(Cursor::new(bytes.to_vec()));
    rows::count(input::read_from(bytes, Path::new("fuzzed"), &options)?)
}

/// An `.ios` file with the right checksums (`docs/src/ios.md`), which the fuzzer does not compare.
fn sealed(file: &[u8]) -> Vec<u8> {
    const FILE_HEADER: usize = 16;
    const FRAME_HEADER: usize = 12;
    let mut file = file.to_vec();
    let mut at = FILE_HEADER;
    while let Some(header) = file.get(at..at + FRAME_HEADER) {
        let length = u32::from_le_bytes(header[4..8].try_into().unwrap()) as usize;
        let begin = at + FRAME_HEADER;
        let Some(payload) = file.get(begin..begin + length) else {
            break;
        };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&header[..8]);
        hasher.update(payload);
        file[at + 8..begin].copy_from_slice(&hasher.finalize().to_le_bytes());
        at = begin + length;
    }
    file
}

#[test]
fn what_is_read_strictly_is_read_leniently_too() {
    for (target, format) in [
        ("alibaba", "alibaba"),
        ("biosnoop", "biosnoop"),
        ("blkparse", "blkparse"),
        ("blkreplay", "blkreplay"),
        ("blktrace", "blktrace"),
        ("compressed", "spc"),
        ("csv", "csv"),
        ("diskmon", "diskmon"),
        ("disksim", "disksim"),
        ("disksim_validation", "disksim-validation"),
        ("fio", "fio"),
        ("fiu", "fiu"),
        ("ios", "ios"),
        ("jsonl", "jsonl"),
        ("mqsim", "mqsim"),
        ("msr", "msr"),
        ("spc", "spc"),
        ("systor", "systor"),
        ("tencent", "tencent"),
        ("tracepoints", "tracepoints"),
    ] {
        for input in corpus::inputs(target) {
            // The first byte is for the fuzzer.
            let bytes = input.get(1..).unwrap_or_default();
            let bytes = match target {
                "ios" => sealed(bytes),
                _ => bytes.to_vec(),
            };
            let (strictly, leniently) = (rows(format, &bytes, false), rows(format, &bytes, true));
            let shown = bytes.escape_ascii();
            if let Ok(rows) = strictly {
                assert_eq!(leniently.unwrap(), rows, "{target}: {shown}");
            }
        }
    }
}

#[test]
fn files_with_an_index_are_read_leniently_as_strictly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fuzzed.ios");
    for input in corpus::inputs("ios_file") {
        let bytes = sealed(input.get(1..).unwrap_or_default());
        std::fs::write(&path, &bytes).unwrap();
        let [strictly, leniently] = [false, true].map(|lenient| {
            let options = ReadOptions {
                format: Some("ios".to_owned()),
                lenient,
                ..ReadOptions::default()
            };
            rows::count(input::open_with(&path, &options)?)
        });
        if let Ok(rows) = strictly {
            assert_eq!(leniently.unwrap(), rows, "{}", bytes.escape_ascii());
        }
    }
}
