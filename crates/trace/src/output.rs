//! Creating a trace: format and compression follow from its name.

use std::path::Path;

use crate::formats::by_format_name;
pub use crate::whole_file::{NoRegularFile, Output, WholeFile, sync_folder_of};
use crate::{Format, Metadata, Sink, TraceError, TraceWriter, WriteOptions, formats, whole_file};

/// The format that a trace called `path` will have: what its name says; blkreplay text for `-`, which people
/// read; the binary format for a name without an ending.
///
/// # Errors
/// If the name is of no format that can be written.
pub fn format_for(path: &Path) -> Result<&'static dyn Format, TraceError> {
    if path == Path::new("-") {
        return by_format_name("blkreplay");
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if [".xz", ".bz2"].iter().any(|ending| name.ends_with(ending)) {
        return Err(TraceError::OutputName {
            path: path.to_owned(),
            endings: formats::endings(),
        });
    }
    let plain = formats::COMPRESSED
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name);
    if !plain.trim_start_matches('.').contains('.') {
        return by_format_name("ios");
    }
    formats::by_name(path).ok_or_else(|| TraceError::OutputName {
        path: path.to_owned(),
        endings: formats::endings(),
    })
}

/// Creates a trace at `path`, `-` for standard output. The format follows from the name, the compression
/// from `.gz` or `.zst`.
///
/// # Errors
/// If the name is of no format that can be written, or the file cannot be created.
pub fn create(path: &Path, metadata: &Metadata) -> Result<Box<dyn TraceWriter>, TraceError> {
    create_with(path, metadata, &WriteOptions::default())
}

/// Creates a trace at `path` with options.
///
/// # Errors
/// As [`create`].
pub fn create_with(
    path: &Path,
    metadata: &Metadata,
    options: &WriteOptions,
) -> Result<Box<dyn TraceWriter>, TraceError> {
    let format = match &options.format {
        Some(name) => by_format_name(name)?,
        None => format_for(path)?,
    };
    if format.loses().is_none() {
        return Err(TraceError::NotWritable {
            path: path.to_owned(),
            format: format.name(),
            writable: formats::writable(),
        });
    }
    let output = whole_file::open(path, options.durable).map_err(|source| TraceError::Io {
        path: path.to_owned(),
        action: "create the trace",
        source,
    })?;
    let sink = Sink {
        output,
        path: path.to_owned(),
    };
    format.writer(sink, metadata, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_no_format_is_refused() {
        let error = create(Path::new("x.xlsx"), &Metadata::default())
            .err()
            .unwrap();
        assert!(error.to_string().contains(".load"), "{error}");
    }

    #[test]
    fn a_name_without_an_ending_means_the_binary_format() {
        for (name, format) in [
            ("x", "ios"),
            ("x.gz", "ios"),
            ("x.load.gz", "blkreplay"),
            ("-", "blkreplay"),
        ] {
            assert_eq!(format_for(Path::new(name)).unwrap().name(), format);
        }
    }
}
