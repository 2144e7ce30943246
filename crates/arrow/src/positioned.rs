//! A file whose index is at its end.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use iosonar_trace::{Place, ReadOptions, ReadProgress, Source, TraceError};

/// A file in which one can jump.
#[derive(Clone)]
pub(crate) struct Positioned {
    file: Arc<File>,
    path: Arc<Path>,
    len: u64,
    progress: Option<Arc<ReadProgress>>,
}

impl Positioned {
    /// The file of a source, in a format called `format`.
    pub(crate) fn of(
        source: Source,
        format: &str,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        let Source { path, file, .. } = source;
        let Some(file) = file else {
            let what = if path == Path::new("-") {
                "standard input".to_owned()
            } else {
                path.display().to_string()
            };
            return Err(TraceError::Option(format!(
                "{what}: a {format} file has its index at the end, so the input must be a regular, uncompressed file: \
                 save or decompress it first"
            )));
        };
        let metadata = file.metadata();
        let metadata = metadata.map_err(|error| read_error(&path, error))?;
        Ok(Self {
            file: Arc::new(file),
            path: path.into(),
            len: metadata.len(),
            progress: options.progress.clone(),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// An error about the file as a whole.
    pub(crate) fn damaged(&self, problem: impl Into<String>) -> TraceError {
        TraceError::Damaged {
            place: Place::of(&self.path, 0),
            problem: problem.into(),
        }
    }

    /// The `length` bytes at `at`.
    pub(crate) fn bytes(&self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        // Checked before memory is asked for: a damaged file may say anything.
        if at.checked_add(length).is_none_or(|end| end > self.len) {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                format!(
                    "the file refers to {length} bytes at byte {at}, but has only {} bytes",
                    self.len
                ),
            ));
        }
        let mut bytes = vec![0; length as usize];
        self.file.read_exact_at(&mut bytes, at)?;
        self.count(length);
        Ok(bytes)
    }

    /// The bytes from `at` on.
    pub(crate) fn from(&self, at: u64) -> Tail {
        Tail {
            file: self.clone(),
            at,
        }
    }

    fn count(&self, bytes: u64) {
        if let Some(progress) = &self.progress {
            progress.read.fetch_add(bytes, Relaxed);
        }
    }

    /// Refuses a file that does not end in `mark`.
    pub(crate) fn check_end(&self, format: &str, mark: &[u8]) -> Result<(), TraceError> {
        let length = mark.len() as u64;
        let end = match self.len.checked_sub(length) {
            Some(at) => self.bytes(at, length),
            None => Ok(Vec::new()),
        };
        let end = end.map_err(|error| read_error(&self.path, error))?;
        if end == mark {
            return Ok(());
        }
        Err(self.damaged(format!(
            "the file ends in '{}', expected '{}': it is truncated, its writer was killed or is still running, or it \
             is not a {format} file. Nothing can be read without the index at the end, not even with --lenient: fetch \
             or write the file again",
            end.escape_ascii(),
            mark.escape_ascii()
        )))
    }
}

pub(crate) fn read_error(path: &Path, source: io::Error) -> TraceError {
    TraceError::Io {
        path: PathBuf::from(path),
        action: "read",
        source,
    }
}

/// The bytes of a file from a place on.
pub(crate) struct Tail {
    file: Positioned,
    at: u64,
}

impl Read for Tail {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.file.file.read_at(buffer, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}
