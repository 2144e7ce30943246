//! Inputs that are given a name: `NAME=FILE`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};

/// An input as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// Its name in tables and charts, if one was given.
    pub(crate) name: Option<String>,
    pub(crate) path: PathBuf,
}

impl From<OsString> for Named {
    /// A path that exists is taken as a path even if it contains `=`; a name contains no `/`.
    fn from(text: OsString) -> Self {
        let name_and_path = text.to_str().and_then(|text| text.split_once('='));
        match name_and_path {
            Some((name, path))
                if !name.trim().is_empty()
                    && !name.contains('/')
                    && !path.is_empty()
                    && !Path::new(&text).exists() =>
            {
                Self {
                    name: Some(name.trim().to_owned()),
                    path: path.into(),
                }
            }
            _ => Self {
                name: None,
                path: text.into(),
            },
        }
    }
}

/// Reads `FILE` or `NAME=FILE`.
pub(super) fn named() -> impl TypedValueParser<Value = Named> {
    OsStringValueParser::new().map(Named::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Option<String>, String) {
        let named = Named::from(OsString::from(text));
        (named.name, named.path.display().to_string())
    }

    #[test]
    fn a_name_stands_before_the_first_sign_and_has_no_folder() {
        assert_eq!(
            of("old=a.ios"),
            (Some("old".to_owned()), "a.ios".to_owned())
        );
        assert_eq!(
            of("the new one=x/disks=8/a.ios"),
            (Some("the new one".to_owned()), "x/disks=8/a.ios".to_owned())
        );
        for path in ["a.ios", "x/disks=8/a.ios", "=a.ios", "a=", "-"] {
            assert_eq!(of(path), (None, path.to_owned()));
        }
    }

    #[test]
    fn a_path_that_exists_is_no_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disks=8.ios");
        std::fs::write(&path, "").unwrap();
        let text = path.display().to_string();
        assert_eq!(of(&text), (None, text));
    }
}
