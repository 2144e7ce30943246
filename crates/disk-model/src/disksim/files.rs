//! Files that name others.

use std::path::{Path, PathBuf};

use super::error::DiskSimError;
use super::tree::At;

/// Files that were given on the command line, where included ones may be.
pub(crate) struct Files<'a> {
    pub(crate) given: &'a [PathBuf],
}

impl Files<'_> {
    /// The file that another one names.
    pub(crate) fn find(&self, name: &str, at: &At) -> Result<PathBuf, DiskSimError> {
        let beside = at.path.parent().unwrap_or(Path::new("")).join(name);
        if beside.is_file() {
            return Ok(beside);
        }
        let last = Path::new(name).file_name();
        let given = self.given.iter().find(|path| path.file_name() == last);
        given.cloned().ok_or_else(|| DiskSimError::NotFound {
            at: at.to_string(),
            name: name.to_owned(),
        })
    }
}

pub(crate) fn read(path: &Path) -> Result<String, DiskSimError> {
    let bytes = std::fs::read(path).map_err(|source| DiskSimError::Io {
        path: path.to_owned(),
        source,
    })?;
    // Comments may be in any encoding.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
