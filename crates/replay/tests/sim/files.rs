//! The files that a replay writes, what of them is on the medium, and what the kernel shows of a thread.

use std::io;
use std::path::{Path, PathBuf};

/// A file that is being written.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimulatedFile {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
    /// This many of them are on the medium.
    pub(crate) synced: usize,
    /// It takes no more.
    pub(crate) room: Option<usize>,
    pub(crate) is_removed: bool,
    /// The thread that wrote to it last.
    pub(crate) writer: Option<usize>,
    /// Whether something could not be written to it.
    pub(crate) has_failed: bool,
}

/// All of them, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) all: Vec<SimulatedFile>,
}

impl Files {
    pub(crate) fn create(&mut self, path: &Path, room: Option<usize>) -> io::Result<usize> {
        if self.find(path).is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.all.push(SimulatedFile {
            path: path.to_owned(),
            room,
            ..SimulatedFile::default()
        });
        Ok(self.all.len() - 1)
    }

    pub(crate) fn find(&self, path: &Path) -> Option<&SimulatedFile> {
        let mut files = self.all.iter();
        files.find(|file| file.path == path && !file.is_removed)
    }

    pub(crate) fn remove(&mut self, path: &Path) -> io::Result<()> {
        let mut files = self.all.iter_mut();
        let file = files.find(|file| file.path == path && !file.is_removed);
        file.ok_or(io::ErrorKind::NotFound)?.is_removed = true;
        Ok(())
    }

    /// Takes `bytes` or as many as there is room for.
    pub(crate) fn write(&mut self, file: usize, bytes: &[u8], most: usize) -> io::Result<usize> {
        let file = &mut self.all[file];
        let room = file
            .room
            .map_or(usize::MAX, |room| room - file.bytes.len().min(room));
        let taken = bytes.len().min(room).min(most);
        if taken == 0 && !bytes.is_empty() {
            file.has_failed = true;
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        file.bytes.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    pub(crate) fn sync(&mut self, file: usize) {
        let file = &mut self.all[file];
        file.synced = file.bytes.len();
    }
}
