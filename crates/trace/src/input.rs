//! Opening a trace: compression and format are found by content first, by name second.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::decompress::{decompressed, peek, read_error};
use crate::formats::format_of;
use crate::{Selection, SortedByStart, TraceError, TraceReader, Transformed};

/// How much of the content is looked at to find the format: more than the longest licence notice.
const HEAD: usize = 64 * 1024;

/// Opens the trace at `path`, `-` for standard input.
///
/// # Errors
/// If the file cannot be opened, its compression is damaged at the very beginning, or its content
/// fits no format.
pub fn open(path: &Path) -> Result<Box<dyn TraceReader>, TraceError> {
    let raw: Box<dyn Read + Send> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let open = || {
            let file = File::open(path)?;
            if file.metadata()?.is_dir() {
                return Err(io::Error::new(
                    io::ErrorKind::IsADirectory,
                    "it is a directory, expected a trace file",
                ));
            }
            Ok(file)
        };
        Box::new(open().map_err(|source| TraceError::Io {
            path: path.to_owned(),
            action: "open the trace",
            source,
        })?)
    };
    let plain = decompressed(raw).map_err(|e| read_error(path, e))?;
    let (head, plain) = peek(plain, HEAD).map_err(|e| read_error(path, e))?;
    format_of(&head, path)?.reader(plain, path)
}

/// Opens a load: the trace at `path`, checked to be sorted by start, of which `selection` is used.
/// Reading ends with the selection's window.
///
/// # Errors
/// As [`open`].
pub fn open_load(path: &Path, selection: &Selection) -> Result<Box<dyn TraceReader>, TraceError> {
    let sorted = SortedByStart::new(open(path)?, path.to_owned());
    Ok(Box::new(
        Transformed::new(sorted, selection.transforms()).stop_early(),
    ))
}
