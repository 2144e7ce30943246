//! The trace formats: one file each, one list.
//!
//! To add a format, write a file with a [`Format`] and name it in [`ALL`].

use std::path::Path;

use crate::{Format, Source, TraceError, whole_file};

mod alibaba;
mod biosnoop;
mod blkreplay;
mod diskmon;
mod disksim;
mod disksim_validation;
mod fio;
mod fiu;
pub(crate) mod ios;
pub(crate) mod kernel;
mod mqsim;
mod msr;
mod named;
mod spc;
mod systor;
mod tencent;

/// Every format that this build knows, in the order in which contents are tried: what begins with a
/// signature or a header first, what is recognised by the shape of its rows last.
pub const ALL: &[&dyn Format] = &[
    &ios::Ios,
    &kernel::Blktrace,
    &fio::Fio,
    &biosnoop::BIOSNOOP,
    &kernel::Blkparse,
    &kernel::Tracepoints,
    &systor::SYSTOR,
    &named::Csv,
    &named::JsonLines,
    &msr::MSR,
    &alibaba::ALIBABA,
    &tencent::TENCENT,
    &spc::SPC,
    &fiu::FIU,
    &disksim_validation::VALIDATION,
    &disksim::DISKSIM,
    &mqsim::MQSIM,
    &diskmon::DISKMON,
    &blkreplay::Blkreplay,
];

/// The format called `name`.
///
/// # Errors
/// [`TraceError::Option`] with all names if none matches.
pub fn by_format_name(name: &str) -> Result<&'static dyn Format, TraceError> {
    let found = ALL.iter().find(|format| format.name() == name);
    found.copied().ok_or_else(|| {
        TraceError::Option(format!(
            "'{name}' is not a format, expected one of: {}",
            names()
        ))
    })
}

/// The format of a source that begins with `head`.
pub(crate) fn format_of(head: &[u8], source: &Source) -> Result<&'static dyn Format, TraceError> {
    let path = source.path.as_path();
    if head.is_empty() {
        // Cut off before the first row.
        if source.cut.is_known()
            && let Some(format) = by_name(path)
        {
            return Ok(format);
        }
        return Err(TraceError::UnknownFormat {
            path: path.to_owned(),
            reason: "the file is empty".to_owned(),
            readable: names(),
        });
    }
    if let Some(format) = ALL.iter().find(|f| f.recognises(head)) {
        return Ok(*format);
    }
    by_name(path).ok_or_else(|| TraceError::UnknownFormat {
        path: path.to_owned(),
        reason:
            "neither the content nor the name belongs to a known format: give one with --format"
                .to_owned(),
        readable: names(),
    })
}

/// The endings of compressed files.
pub(crate) const COMPRESSED: [&str; 4] = [".gz", ".zst", ".xz", ".bz2"];

/// The format that the name of `path` suggests, a compression's ending left aside.
pub(crate) fn by_name(path: &Path) -> Option<&'static dyn Format> {
    let path = whole_file::final_name(path).unwrap_or_else(|| path.to_owned());
    // Endings are ASCII, whatever stands before them.
    let name = path.file_name()?.to_string_lossy();
    let name = COMPRESSED
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name);
    let (_, extension) = name.rsplit_once('.')?;
    let known = |f: &&&'static dyn Format| f.extensions().contains(&extension);
    ALL.iter().find(known).copied()
}

/// The file name endings of all formats that can be written, for messages.
pub(crate) fn endings() -> String {
    let endings: Vec<_> = ALL
        .iter()
        .filter(|format| format.loses().is_some())
        .flat_map(|format| format.extensions())
        .map(|ending| format!(".{ending}"))
        .collect();
    format!("{}, optionally followed by .gz or .zst", endings.join(", "))
}

/// The names of all formats, for messages.
pub(crate) fn names() -> String {
    let names: Vec<_> = ALL.iter().map(|format| format.name()).collect();
    names.join(", ")
}

/// The names of the formats that can be written, for messages.
pub(crate) fn writable() -> String {
    let names: Vec<_> = ALL
        .iter()
        .filter(|format| format.loses().is_some())
        .map(|format| format.name())
        .collect();
    names.join(", ")
}
