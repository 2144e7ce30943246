//! What the fuzz targets share: each forces one format upon arbitrary bytes.
//!
//! `fuzz/run` builds and runs them with the stable compiler; `docs/src/testing.md` says how.

mod scratch;
mod variants;

use std::io::Cursor;
use std::path::Path;

use iosonar_trace::{Batch, ReadOptions, TraceReader, input};

pub use libfuzzer_sys;

/// Reads `bytes` and their variants to the end as traces of `format`, strictly or leniently as the first byte says.
pub fn read(format: &str, bytes: &[u8]) {
    variants::each(bytes, |bytes| read_one(format, bytes));
}

fn read_one(format: &str, bytes: &[u8]) {
    let Some((&mode, bytes)) = bytes.split_first() else {
        return;
    };
    let options = ReadOptions {
        format: Some(format.to_owned()),
        lenient: mode & 1 == 1,
        round_out: mode & 2 == 2,
        start_at_issue: mode & 4 == 4,
        ..ReadOptions::default()
    };
    let input = Box::new(Cursor::new(bytes.to_vec()));
    if let Ok(mut reader) = input::read_from(input, Path::new("fuzz"), &options) {
        let mut batch = Batch::default();
        while reader.next_batch(&mut batch).is_ok_and(|n| n > 0) {}
    }
}

/// Reads `bytes` and their variants as files of `format`, whose reader jumps in them.
pub fn read_file(format: &str, bytes: &[u8]) {
    iosonar_arrow::register();
    variants::each(bytes, |bytes| read_one_file(format, bytes));
}

fn read_one_file(format: &str, bytes: &[u8]) {
    let Some((&mode, bytes)) = bytes.split_first() else {
        return;
    };
    let path = scratch::file(bytes);
    let options = ReadOptions {
        format: Some(format.to_owned()),
        lenient: mode & 1 == 1,
        ..ReadOptions::default()
    };
    if let Ok(mut reader) = input::open_with(&path, &options) {
        let mut batch = Batch::default();
        while reader.next_batch(&mut batch).is_ok_and(|n| n > 0) {}
    }
}

/// A target for the reader of a format whose reader jumps in a file. Decoders of other crates may panic: the reader makes
/// an error of that, so the hook of the fuzzer, which ends the process, is left out.
#[macro_export]
macro_rules! file_reader {
    ($format:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(
            init: {
                std::panic::set_hook(Box::new(|_| {}));
            },
            |bytes: &[u8]| $crate::read_file($format, bytes)
        );
    };
}

/// A target for what reads a text.
#[macro_export]
macro_rules! text {
    ($read:path) => {
        $crate::libfuzzer_sys::fuzz_target!(|text: &str| $read(text));
    };
}

/// A target for the reader of a format.
#[macro_export]
macro_rules! reader {
    ($format:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $crate::read($format, bytes));
    };
}
