//! The records of replications: of the first, or of each in a file of its own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use iosonar_scenario::{RecordFiles, ScenarioError};
use iosonar_trace::{Metadata, TraceError, TraceWriter, output};

/// Stands in a file's name for the number of the replication.
pub(super) const REPLICATION: &str = "{replication}";

/// The file of a replication, if `path` has a place for its number.
pub(super) fn path_of(path: &Path, replication: u32) -> Option<PathBuf> {
    let (name, place) = (path.file_name()?.as_bytes(), REPLICATION.as_bytes());
    let at = name.windows(place.len()).position(|part| part == place)?;
    let mut numbered = OsStr::from_bytes(&name[..at]).to_owned();
    numbered.push(replication.to_string());
    numbered.push(OsStr::from_bytes(&name[at + place.len()..]));
    Some(path.with_file_name(numbered))
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
        let writer = output::create(&path, &metadata)?;
        Ok(&mut **self.current.insert(writer))
    }
}
