//! Files that name others.

use std::path::{Component, Path, PathBuf};

use super::error::DiskSimError;
use super::tree::At;

/// Files that were given on the command line, where included ones may be.
pub(crate) struct Files<'a> {
    pub(crate) given: &'a [PathBuf],
}

impl Files<'_> {
    /// The file that another one names: in its folder or below, or among those that were given. Others are not opened, as
    /// messages show what is in them.
    pub(crate) fn find(&self, name: &str, at: &At) -> Result<PathBuf, DiskSimError> {
        let is_below = |of: Component<'_>| matches!(of, Component::Normal(_) | Component::CurDir);
        let beside = at.path.parent().unwrap_or(Path::new("")).join(name);
        if Path::new(name).components().all(is_below) && beside.is_file() {
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_elsewhere_is_found_only_if_it_was_given() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("drives/below")).unwrap();
        for name in ["drives/x.parv", "drives/below/y.parv", "z.parv"] {
            fs::write(path(name), "").unwrap();
        }
        let at = At {
            path: path("drives/x.parv").into(),
            line: 1,
        };
        let find = |given: &[PathBuf], name: &str| Files { given }.find(name, &at).ok();
        for name in ["below/y.parv", "./below/y.parv"] {
            assert!(find(&[], name).is_some(), "{name}");
        }
        let elsewhere = path("z.parv");
        for name in [
            "../z.parv",
            "below/../../z.parv",
            elsewhere.to_str().unwrap(),
        ] {
            assert_eq!(find(&[], name), None, "{name}");
            let given = [elsewhere.clone()];
            assert_eq!(find(&given, name), Some(elsewhere.clone()), "{name}");
        }
    }
}
