//! What fuzzing has found is read without a panic, and leniently at least as well as strictly.

#[path = "common/corpus.rs"]
mod corpus;

use std::io::Cursor;
use std::path::Path;

use iosonar_trace::{Batch, ReadOptions, TraceError, input};

/// How many rows there are.
fn rows(format: &str, bytes: &[u8], lenient: bool) -> Result<u64, TraceError> {
    let options = ReadOptions {
        format: Some(format.to_owned()),
        lenient,
        ..ReadOptions::default()
    };
    let bytes = Box::new(Cursor::new(bytes.to_vec()));
    let mut reader = input::read_from(bytes, Path::new("fuzzed"), &options)?;
    let (mut batch, mut rows) = (Batch::default(), 0);
    loop {
        match reader.next_batch(&mut batch)? {
            0 => return Ok(rows),
            n => rows += n as u64,
        }
    }
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
            let (strictly, leniently) = (rows(format, bytes, false), rows(format, bytes, true));
            let shown = bytes.escape_ascii();
            if let Ok(rows) = strictly {
                assert_eq!(leniently.unwrap(), rows, "{target}: {shown}");
            }
        }
    }
}
