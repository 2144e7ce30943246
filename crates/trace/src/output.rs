//! Creating a trace: format and compression follow from its name.

use std::path::Path;

pub use crate::whole_file::{Output, WholeFile};
use crate::{Metadata, TraceError, TraceWriter, formats, whole_file};

/// Creates a trace at `path`, `-` for standard output. The format follows from the name
/// (blkreplay text for `-`), the compression from `.gz` or `.zst`.
///
/// # Errors
/// If the name is of no format that can be written, or the file cannot be created.
pub fn create(path: &Path, metadata: &Metadata) -> Result<Box<dyn TraceWriter>, TraceError> {
    let format = if path == Path::new("-") {
        formats::ALL[0]
    } else {
        formats::by_name(path).ok_or_else(|| TraceError::UnknownFormat {
            path: path.to_owned(),
            reason: "the name does not end like that of a trace".to_owned(),
            readable: formats::endings(),
        })?
    };
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
