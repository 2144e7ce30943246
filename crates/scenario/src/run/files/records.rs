//! The records of replications: of the first, or of each in a file of its own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::{RecordFiles, ScenarioError};
use iosonar_trace::{Batch, Metadata, TraceError, TraceWriter, WriteOptions, output};
use iosonar_units::folder_of;

/// Stands in a file's name for the number of the replication.
pub const REPLICATION: &str = "{replication}";

/// The file of a replication, if `path` has a place for its number. Each such place in its name gets the number.
pub fn path_of(path: &Path, replication: u32) -> Option<PathBuf> {
    let (mut rest, number) = (path.file_name()?.as_bytes(), replication.to_string());
    let mut name = Vec::new();
    while let Some(at) = place_in(rest) {
        name.extend_from_slice(&rest[..at]);
        name.extend_from_slice(number.as_bytes());
        rest = &rest[at + REPLICATION.len()..];
    }
    if name.is_empty() {
        return None;
    }
    name.extend_from_slice(rest);
    Some(path.with_file_name(OsStr::from_bytes(&name)))
}

/// Where the first place for a number is.
fn place_in(name: &[u8]) -> Option<usize> {
    let place = REPLICATION.as_bytes();
    name.windows(place.len()).position(|part| part == place)
}

/// Whether `name` is that of the file of one of the first `replications`, if `path` has a place for its number.
fn is_numbered(path: &Path, name: &OsStr, replications: u32) -> bool {
    let after = || {
        let pattern = path.file_name()?.as_bytes();
        name.as_bytes().strip_prefix(&pattern[..place_in(pattern)?])
    };
    let Some(after) = after() else {
        return false;
    };
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit());
    let digits = std::str::from_utf8(&after[..digits.count()]).unwrap_or_default();
    // Digits may follow the number in all names.
    let numbers = (1..=digits.len()).filter_map(|end| digits[..end].parse().ok());
    numbers
        .take_while(|number| *number < replications)
        .filter_map(|number| path_of(path, number))
        .any(|file| file.file_name() == Some(name))
}

/// The files that are there and would be replaced by the records of the first `replications`, however many these are.
pub fn replaced_by(path: &Path, replications: u32) -> Vec<PathBuf> {
    let there = std::fs::read_dir(folder_of(path)).into_iter().flatten();
    there
        .flatten()
        .filter(|entry| is_numbered(path, &entry.file_name(), replications))
        .map(|entry| entry.path())
        .collect()
}

/// Whether the records of one of the first `replications` would go to `other`, which may not be there yet.
pub fn go_to(path: &Path, replications: u32, other: &Path) -> bool {
    let folders = [path, other].map(|file| folder_of(file).canonicalize().ok());
    let is_same_folder = folders[0].is_some() && folders[0] == folders[1];
    is_same_folder && is_numbered(path, other.file_name().unwrap_or_default(), replications)
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
        let pattern = Path::new("{replication}1-{replication}");
        for (name, is_one) in [("11-1", true), ("111-11", true), ("11-2", false)] {
            assert_eq!(is_numbered(pattern, OsStr::new(name), 12), is_one, "{name}");
        }
        assert!(!is_numbered(
            Path::new("r-1.ios"),
            OsStr::new("r-1.ios"),
            12
        ));
    }
}
