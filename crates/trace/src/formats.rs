//! The trace formats: one file each, one list.
//!
//! To add a format, write a file with a [`Format`] and name it in [`ALL`].

use std::path::Path;

use crate::{Format, TraceError};

mod blkreplay;

/// Every format that this build knows, in the order in which contents are tried.
pub const ALL: &[&dyn Format] = &[&blkreplay::Blkreplay];

/// The format of a file that begins with `head` and is called `path`.
pub(crate) fn format_of(head: &[u8], path: &Path) -> Result<&'static dyn Format, TraceError> {
    if let Some(format) = ALL.iter().find(|f| f.recognises(head)) {
        return Ok(*format);
    }
    if head.is_empty() {
        return Err(TraceError::UnknownFormat {
            path: path.to_owned(),
            reason: "the file is empty".to_owned(),
            readable: names(),
        });
    }
    by_name(path).ok_or_else(|| TraceError::UnknownFormat {
        path: path.to_owned(),
        reason: "neither the content nor the name is of a known format".to_owned(),
        readable: names(),
    })
}

/// The format that the name of `path` suggests, a compression's ending left aside.
pub(crate) fn by_name(path: &Path) -> Option<&'static dyn Format> {
    let name = path.file_name()?.to_str()?;
    let name = name
        .strip_suffix(".gz")
        .or_else(|| name.strip_suffix(".zst"))
        .unwrap_or(name);
    let (_, extension) = name.rsplit_once('.')?;
    let known = |f: &&&'static dyn Format| f.extensions().contains(&extension);
    ALL.iter().find(known).copied()
}

/// The file name endings of all formats, for messages.
pub(crate) fn endings() -> String {
    let endings: Vec<_> = ALL
        .iter()
        .flat_map(|format| format.extensions())
        .map(|ending| format!(".{ending}"))
        .collect();
    format!("{}, each alone or with .gz or .zst", endings.join(", "))
}

/// The names of all formats, for messages.
pub(crate) fn names() -> String {
    let names: Vec<_> = ALL.iter().map(|format| format.name()).collect();
    names.join(", ")
}
