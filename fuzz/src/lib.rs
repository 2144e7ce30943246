//! What the fuzz targets share: each forces one format upon arbitrary bytes.
//!
//! `fuzz/run` builds and runs them with the stable compiler; `docs/src/testing.md` says how.

mod scratch;
mod variants;

use std::io::Cursor;
use std::path::Path;

use iosonar_trace::{Batch, ReadOptions, TraceReader, input};

pub use libfuzzer_sys;
use libfuzzer_sys::Corpus;
pub use variants::each;

/// Reads `bytes` and their variants to the end as traces of `format`, strictly or leniently as the first byte says.
pub fn read(format: &str, bytes: &[u8]) -> Corpus {
    each_uncompressed(bytes, |bytes| read_one(format, bytes))
}

/// Calls `read` with `bytes` and their variants.
///
/// Compressed ones are not read, and are kept out of the corpus: what unpacks them is the same for all formats, and takes many
/// times as long as the reader. A target of its own reads them: [`read_compressed`].
fn each_uncompressed(bytes: &[u8], read: impl Fn(&[u8])) -> Corpus {
    if is_compressed(bytes) {
        return Corpus::Reject;
    }
    variants::each(bytes, |bytes| {
        if !is_compressed(bytes) {
            read(bytes);
        }
    });
    Corpus::Keep
}

/// How compressed files begin.
const MAGICS: [&[u8]; 4] = [b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"BZh9"];

/// Reads `bytes` and their variants as compressed traces of a format whose reader is fast. What does not begin as a
/// compressed file is given such a beginning, by the upper bits of the first byte.
pub fn read_compressed(bytes: &[u8]) {
    variants::each(bytes, |bytes| match bytes.split_first() {
        Some((&mode, rest)) if !is_compressed(bytes) => {
            let magic = MAGICS[usize::from(mode >> 6)];
            read_one("spc", &[&[mode], magic, rest].concat());
        }
        _ => read_one("spc", bytes),
    });
}

/// Whether what follows the byte with the options is compressed.
fn is_compressed(bytes: &[u8]) -> bool {
    bytes.get(1..).is_some_and(input::is_compressed)
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
        read_all(&mut *reader);
    }
}

/// Reads to the end, or to an error. All that a reader accepts is within the limits that the rest of iosonar relies on.
fn read_all(reader: &mut dyn TraceReader) {
    let mut batch = Batch::default();
    while reader.next_batch(&mut batch).is_ok_and(|n| n > 0) {
        assert!(batch.is_possible(), "a value beyond its limit");
    }
}

/// Reads `bytes` and their variants as files of `format`, whose reader jumps in them.
pub fn read_file(format: &str, bytes: &[u8]) -> Corpus {
    iosonar_arrow::register();
    each_uncompressed(bytes, |bytes| read_one_file(format, bytes))
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
    if let Ok(mut reader) = input::open_with(path, &options) {
        read_all(&mut *reader);
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
            |bytes: &[u8]| -> $crate::libfuzzer_sys::Corpus { $crate::read_file($format, bytes) }
        );
    };
}

/// Calls `read` with a text and its variants.
pub fn read_text(text: &str, read: impl Fn(&str)) {
    variants::each(text.as_bytes(), |bytes| {
        read(&String::from_utf8_lossy(bytes));
    });
}

/// A target for what reads a text.
#[macro_export]
macro_rules! text {
    ($read:path) => {
        $crate::libfuzzer_sys::fuzz_target!(|text: &str| $crate::read_text(text, $read));
    };
}

/// A target for the reader of a format.
#[macro_export]
macro_rules! reader {
    ($format:literal) => {
        $crate::libfuzzer_sys::fuzz_target!(|bytes: &[u8]| -> $crate::libfuzzer_sys::Corpus {
            $crate::read($format, bytes)
        });
    };
}
