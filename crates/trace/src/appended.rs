//! Reading a file of records while it is written.
//!
//! A writer gives its file the final name at the end; until then it is called `NAME.PID-0.part`, and locked. Records are
//! flushed to it in whole blocks at least once a second, so that [`Appended`] reads them soon, and each only once.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::formats::ios::Growing;
use crate::{Batch, Metadata, TraceError, whole_file};

/// A file system may know no locks: a file that has grown this recently has a writer.
const RECENT: Duration = Duration::from_secs(5);

/// How far a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// There may be more.
    Written,
    /// It is whole.
    Complete,
    /// It is not, and has no writer.
    Abandoned,
}

/// Where the records are that are, or will be, called `name`: in a file that is being written, else under this name,
/// else in what a writer has left. `None` if there is nothing.
pub fn current(name: &Path) -> Option<PathBuf> {
    let mut parts = whole_file::parts_beside(name);
    if let Some(part) = parts.iter().find(|part| whole_file::is_being_written(part)) {
        return Some(part.clone());
    }
    if name.is_file() {
        return Some(name.to_owned());
    }
    let modified = |part: &PathBuf| part.metadata().and_then(|of| of.modified()).ok();
    parts.sort_by_key(modified);
    parts.pop()
}

/// The name that `path` has, or will have when it is complete.
pub fn name_of(path: &Path) -> PathBuf {
    whole_file::final_name(path).unwrap_or_else(|| path.to_owned())
}

/// The process that writes the file at `path` now.
pub fn writer_of(path: &Path) -> Option<u32> {
    let process = whole_file::process_of(path)?;
    whole_file::is_being_written(path).then_some(process)
}

/// How far the file at `path` is, as its name and its lock show.
pub fn progress(path: &Path) -> Progress {
    if whole_file::final_name(path).is_none() {
        return Progress::Complete;
    }
    let Ok(metadata) = path.metadata() else {
        // It has just got its name, or was removed.
        return match name_of(path).is_file() {
            true => Progress::Complete,
            false => Progress::Abandoned,
        };
    };
    match has_grown_recently(&metadata) || whole_file::is_being_written(path) {
        true => Progress::Written,
        false => Progress::Abandoned,
    }
}

fn has_grown_recently(metadata: &fs::Metadata) -> bool {
    let age = |time| SystemTime::now().duration_since(time).unwrap_or_default();
    metadata.modified().is_ok_and(|time| age(time) < RECENT)
}

/// The records of a file in the binary format, as they are appended.
pub struct Appended {
    path: PathBuf,
    reader: Growing,
}

impl Appended {
    /// Follows the file at `path`; `None` if it is not of the binary format, or not yet.
    ///
    /// # Errors
    /// If it cannot be opened, or is of a later version.
    pub fn open(path: &Path) -> Result<Option<Self>, TraceError> {
        let error = |source: io::Error| TraceError::Io {
            path: path.to_owned(),
            action: "open the trace",
            source,
        };
        let file = File::open(path).map_err(error)?;
        let reader = Growing::of(file, path)?;
        Ok(reader.map(|reader| Self {
            path: path.to_owned(),
            reader,
        }))
    }

    /// The next records; 0 if there are no others at present. Blocks that are damaged are left out, with a remark.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        self.reader.next_batch(batch)
    }

    /// What is known of the trace by now.
    pub fn metadata(&self) -> &Metadata {
        self.reader.metadata()
    }

    fn has_grown_recently(&self) -> bool {
        let metadata = self.path.metadata();
        metadata.is_ok_and(|metadata| has_grown_recently(&metadata))
    }

    /// Whether the file at `path` is the one that is read, and has not become shorter than what was read of it.
    pub fn is_of(&self, path: &Path) -> bool {
        path.metadata().is_ok_and(|of| self.reader.is_of(&of))
    }

    /// How far the file is; to be asked before [`next_batch`](Self::next_batch) returns 0 for the last time.
    pub fn progress(&self) -> Progress {
        match self.reader.is_complete() {
            true => Progress::Complete,
            // Its index has not been reached.
            false if self.reader.has_ended() => Progress::Abandoned,
            false => match progress(&self.path) {
                Progress::Abandoned => Progress::Abandoned,
                // It has its name, and no index: it is being copied, or was cut off.
                Progress::Complete if !self.has_grown_recently() => Progress::Abandoned,
                Progress::Written | Progress::Complete => Progress::Written,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, Record, output};
    use iosonar_units::{Nanos, Sectors};

    fn records(from: u64, n: u64) -> Batch {
        let mut batch = Batch::default();
        for i in from..from + n {
            let mut record = Record {
                outcome: Outcome::done(Nanos::ZERO, Nanos::from_micros(i)),
                ..Record::default()
            };
            record.request.start = Nanos::from_millis(i);
            record.request.sectors = Sectors::new(8);
            batch.push(&record);
        }
        batch
    }

    fn all(appended: &mut Appended) -> Vec<u64> {
        let (mut all, mut batch) = (Vec::new(), Batch::default());
        while appended.next_batch(&mut batch).unwrap() > 0 {
            let starts = batch.starts().iter();
            all.extend(starts.map(|start| start.get() / 1_000_000));
        }
        all
    }

    #[test]
    fn records_are_read_once_each_as_they_are_flushed() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join("a.ios");
        assert_eq!(current(&name), None);
        let mut metadata = Metadata::default();
        metadata.about.insert("replayed".into(), "a load".into());
        let mut writer = output::create(&name, &metadata).unwrap();
        writer.flush().unwrap();
        let part = current(&name).unwrap();
        assert_ne!(part, name);
        assert_eq!(writer_of(&part), Some(std::process::id()));
        assert_eq!(name_of(&part), name);
        let mut appended = Appended::open(&part).unwrap().unwrap();
        assert!(all(&mut appended).is_empty());
        assert_eq!(appended.metadata().about["replayed"], "a load");
        for i in 0..5 {
            writer.write(&records(100 * i, 100)).unwrap();
            writer.flush().unwrap();
            let wanted: Vec<u64> = (100 * i..100 * (i + 1)).collect();
            assert_eq!(all(&mut appended), wanted);
            assert_eq!(appended.progress(), Progress::Written);
        }
        writer.write(&records(500, 7)).unwrap();
        writer.finish().unwrap();
        assert_eq!(all(&mut appended).len(), 7);
        assert_eq!(appended.progress(), Progress::Complete);
        assert_eq!(current(&name), Some(name.clone()));
        assert_eq!(writer_of(&name), None);
        let mut whole = Appended::open(&name).unwrap().unwrap();
        assert_eq!(all(&mut whole).len(), 507);
        assert_eq!(whole.progress(), Progress::Complete);
    }

    #[test]
    fn a_block_is_read_when_its_last_byte_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join("a.ios");
        let mut writer = output::create(&name, &Metadata::default()).unwrap();
        writer.write(&records(0, 1000)).unwrap();
        writer.finish().unwrap();
        let bytes = std::fs::read(&name).unwrap();
        // As a killed process would have left it, at every length.
        let part = dir.path().join("b.ios.4194305-0.part");
        let mut read = 0;
        for length in (0..=bytes.len()).step_by(7).chain([bytes.len()]) {
            std::fs::write(&part, &bytes[..length]).unwrap();
            let Some(mut appended) = Appended::open(&part).unwrap() else {
                assert!(length < 16, "{length}");
                continue;
            };
            let now = all(&mut appended).len();
            assert!(now == 0 || now == 1000, "{now} of {length}");
            assert_eq!(
                appended.progress() == Progress::Complete,
                length == bytes.len()
            );
            read = now;
        }
        assert_eq!(read, 1000);
        // Long ago.
        let file = File::options().append(true).open(&part).unwrap();
        file.set_len(bytes.len() as u64 - 20).unwrap();
        let old = SystemTime::now() - Duration::from_secs(60);
        file.set_modified(old).unwrap();
        let mut appended = Appended::open(&part).unwrap().unwrap();
        assert_eq!(all(&mut appended).len(), 1000);
        assert_eq!(appended.progress(), Progress::Abandoned);
        assert_eq!(current(&dir.path().join("b.ios")), Some(part.clone()));
        // A complete name does not make it whole.
        let named = dir.path().join("c.ios");
        std::fs::rename(&part, &named).unwrap();
        let mut appended = Appended::open(&named).unwrap().unwrap();
        assert_eq!(all(&mut appended).len(), 1000);
        assert_eq!(appended.progress(), Progress::Abandoned);
        assert!(appended.is_of(&named) && !appended.is_of(&name));
        File::options()
            .write(true)
            .open(&named)
            .unwrap()
            .set_len(30)
            .unwrap();
        assert!(!appended.is_of(&named));
    }

    #[test]
    fn what_is_not_of_the_binary_format_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let text = dir.path().join("a.load");
        std::fs::write(&text, "0.0 ; 0 ; 8 ; R\n".repeat(10)).unwrap();
        assert!(Appended::open(&text).unwrap().is_none());
        assert!(Appended::open(&dir.path().join("none")).is_err());
    }

    #[test]
    fn a_file_with_its_name_and_no_index_is_written_while_it_grows() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join("a.ios");
        let mut writer = output::create(&name, &Metadata::default()).unwrap();
        writer.write(&records(0, 10)).unwrap();
        writer.finish().unwrap();
        let file = File::options().append(true).open(&name).unwrap();
        file.set_len(name.metadata().unwrap().len() - 20).unwrap();
        let mut appended = Appended::open(&name).unwrap().unwrap();
        assert_eq!(all(&mut appended).len(), 10);
        // A time to come is no age, so that this does not depend on the clock.
        for (time, progress) in [
            (
                SystemTime::now() + Duration::from_secs(3600),
                Progress::Written,
            ),
            (
                SystemTime::now() - Duration::from_secs(3600),
                Progress::Abandoned,
            ),
        ] {
            file.set_modified(time).unwrap();
            assert_eq!(appended.progress(), progress);
        }
    }

    #[test]
    fn a_file_with_a_temporary_name_is_written_while_it_grows_or_is_locked() {
        let dir = tempfile::tempdir().unwrap();
        let part = dir.path().join("a.ios.4194305-0.part");
        let file = File::create(&part).unwrap();
        // A time to come is no age, so that this does not depend on the clock.
        let hour = Duration::from_secs(3600);
        let (recent, old) = (SystemTime::now() + hour, SystemTime::now() - hour);
        for (time, is_locked, expected) in [
            (recent, false, Progress::Written),
            (old, false, Progress::Abandoned),
            (old, true, Progress::Written),
            (recent, true, Progress::Written),
        ] {
            file.set_modified(time).unwrap();
            if is_locked {
                file.lock().unwrap();
            }
            assert_eq!(progress(&part), expected, "{time:?} {is_locked}");
        }
        file.unlock().unwrap();
        std::fs::remove_file(&part).unwrap();
        assert_eq!(progress(&part), Progress::Abandoned);
        std::fs::write(dir.path().join("a.ios"), "").unwrap();
        assert_eq!(progress(&part), Progress::Complete);
    }

    #[test]
    fn a_file_that_is_damaged_before_its_end_is_abandoned_however_new_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join("a.ios");
        let mut writer = output::create(&name, &Metadata::default()).unwrap();
        writer.write(&records(0, 10)).unwrap();
        writer.finish().unwrap();
        let mut bytes = std::fs::read(&name).unwrap();
        // The end mark says where the index begins: nothing of the kind is there any more.
        let end = bytes.len() - 16;
        let at = u64::from_le_bytes(bytes[end..end + 8].try_into().unwrap());
        bytes[at as usize + 1] = 1;
        std::fs::write(&name, bytes).unwrap();
        let file = File::options().append(true).open(&name).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(3600))
            .unwrap();
        let mut appended = Appended::open(&name).unwrap().unwrap();
        assert_eq!(all(&mut appended).len(), 10);
        assert!(appended.reader.has_ended());
        assert_eq!(appended.progress(), Progress::Abandoned);
    }
}
