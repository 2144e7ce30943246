//! Files that must not be mixed up.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::exit::Usage;

/// Refuses an output that is one of the inputs, by whatever path.
pub(crate) fn refuse_same(input: &Path, output: &Path) -> Result<(), Usage> {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    match (identity(input), identity(output)) {
        (Some(a), Some(b)) if a == b => Err(Usage(format!(
            "{} would overwrite its own input: take another name for the output",
            output.display()
        ))),
        _ => Ok(()),
    }
}
