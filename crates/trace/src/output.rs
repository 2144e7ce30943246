//! Creating a trace: format and compression follow from its name.

use std::path::Path;

pub use crate::whole_file::{Output, WholeFile};
use crate::{Format, Metadata, TraceError, TraceWriter, formats, whole_file};

/// The format that a trace called `path` will have: what its name says, blkreplay text for `-`.
///
/// # Errors
/// If the name is of no format that can be written.
pub fn format_for(path: &Path) -> Result<&'static dyn Format, TraceError> {
    if path == Path::new("-") {
        return Ok(formats::ALL[0]);
    }
    formats::by_name(path).ok_or_else(|| TraceError::OutputName {
        path: path.to_owned(),
        endings: formats::endings(),
    })
}

/// Creates a trace at `path`, `-` for standard output. The format follows from the name
/// (blkreplay text for `-`), the compression from `.gz` or `.zst`.
///
/// # Errors
/// If the name is of no format that can be written, or the file cannot be created.
pub fn create(path: &Path, metadata: &Metadata) -> Result<Box<dyn TraceWriter>, TraceError> {
    let format = format_for(path)?;
    let output = whole_file::open(path).map_err(|source| TraceError::Io {
        path: path.to_owned(),
        action: "create the trace",
        source,
    })?;
    format.writer(output, path, metadata)
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
}
