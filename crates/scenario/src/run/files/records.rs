//! The records of replications: of the first, or of each in a file of its own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::{RecordFiles, ScenarioError};
use iosonar_trace::{Batch, Metadata, TraceError, TraceWriter, WriteOptions, apart, output};
use iosonar_units::folder_of;

/// Stands in a file's name for the number of the replication.
pub const REPLICATION: &str = "{replication}";

/// The file of a replication, if `path` has a place for its number.
pub fn path_of(path: &Path, replication: u32) -> Option<PathBuf> {
    let (name, place) = (path.file_name()?.as_bytes(), REPLICATION.as_bytes());
    let at = name.windows(place.len()).position(|part| part == place)?;
    let mut numbered = OsStr::from_bytes(&name[..at]).to_owned();
    numbered.push(replication.to_string());
    numbered.push(OsStr::from_bytes(&name[at + place.len()..]));
    Some(path.with_file_name(numbered))
}

/// Whether `name` is that of the file of one of the first `replications`, if `path` has a place for its number.
fn is_numbered(path: &Path, name: &OsStr, replications: u32) -> bool {
    let number = || {
        let (pattern, place) = (path.file_name()?.as_bytes(), REPLICATION.as_bytes());
        let at = pattern.windows(place.len()).position(|p| p == place)?;
        let digits = name
            .as_bytes()
            .strip_prefix(&pattern[..at])?
            .strip_suffix(&pattern[at + place.len()..])?;
        let text = std::str::from_utf8(digits).ok()?;
        // Numbers are written without a sign, and without zeros before them.
        let number: u32 = text.parse().ok()?;
        (number.to_string() == text).then_some(number)
    };
    number().is_some_and(|number| number < replications)
}

/// Whether the records of one of the first `replications` would go to `other`, by whatever path it is called. However
/// many replications there are, only the files that are there are looked at.
pub fn go_to(path: &Path, replications: u32, other: &Path) -> bool {
    let folder = folder_of(path);
    let same_folder = || {
        let folder_of_other = folder_of(other).canonicalize().ok()?;
        Some(folder.canonicalize().ok()? == folder_of_other)
    };
    let of_other = other.file_name().unwrap_or_default();
    if is_numbered(path, of_other, replications) && same_folder() == Some(true) {
        return true;
    }
    // Links: other names of the same file.
    if !other.exists() {
        return false;
    }
    let there = std::fs::read_dir(folder).into_iter().flatten().flatten();
    there
        .filter(|entry| is_numbered(path, &entry.file_name(), replications))
        .any(|entry| apart::is_same(&entry.path(), other))
}

/// Creates a file of records, `-` for standard output: the simulation has a result even if they are not read to their end.
pub(super) fn create(path: &Path, metadata: &Metadata) -> Result<Box<dyn TraceWriter>, TraceError> {
    let options = WriteOptions {
        outlives_reader: true,
        ..WriteOptions::default()
    };
    output::create_with(path, metadata, &options)
}

/// The records of arrays that share a trace. Its devices turn up while it is read; what else is said above the records is not
/// the trace's.
pub(super) struct RecordsOfDevices {
    pub(super) writer: Box<dyn TraceWriter>,
    /// What the file began with.
    pub(super) metadata: Metadata,
}

impl TraceWriter for RecordsOfDevices {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        self.writer.write(batch)
    }

    fn update(&mut self, of_trace: &Metadata) {
        if self.metadata.devices.len() != of_trace.devices.len() {
            self.metadata.devices.clone_from(&of_trace.devices);
            self.writer.update(&self.metadata);
        }
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        self.writer.finish()
    }
}

/// A trace for each replication, one after the other.
pub(super) struct FilePerReplication {
    path: PathBuf,
    metadata: Metadata,
    current: Option<Box<dyn TraceWriter>>,
}

impl FilePerReplication {
    pub(super) fn new(path: &Path, metadata: Metadata) -> Self {
        Self {
            path: path.to_owned(),
            metadata,
            current: None,
        }
    }

    /// Completes the last file.
    pub(super) fn finish(&mut self) -> Result<(), TraceError> {
        self.current.take().map_or(Ok(()), TraceWriter::finish)
    }
}

impl RecordFiles for FilePerReplication {
    fn begin(&mut self, replication: u32) -> Result<&mut dyn TraceWriter, ScenarioError> {
        self.finish()?;
        let path = path_of(&self.path, replication).expect("its name has a place for the number");
        let mut metadata = self.metadata.clone();
        let number = replication.to_string();
        metadata.about.insert("replication".to_owned(), number);
        metadata
            .notices
            .push(format!("# replication {replication}, counted from 0"));
        let writer = create(&path, &metadata)?;
        Ok(&mut **self.current.insert(writer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_numbers_of_replications_are_in_the_names_of_their_files() {
        let pattern = Path::new("r-{replication}.ios");
        for (name, is_one) in [
            ("r-0.ios", true),
            ("r-11.ios", true),
            ("r-12.ios", false),
            ("r-01.ios", false),
            ("r-+1.ios", false),
            ("r-.ios", false),
            ("r-1.csv", false),
            ("s-1.ios", false),
            ("r-{replication}.ios", false),
        ] {
            assert_eq!(is_numbered(pattern, OsStr::new(name), 12), is_one, "{name}");
        }
        assert!(!is_numbered(
            Path::new("r-1.ios"),
            OsStr::new("r-1.ios"),
            12
        ));
    }
}
