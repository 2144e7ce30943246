//! Where a file is.

use std::path::Path;

/// The folder that a file is in, or is to be in.
pub fn folder_of(file: &Path) -> &Path {
    let folder = file.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
