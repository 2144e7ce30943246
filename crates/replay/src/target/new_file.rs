//! Making a file to be a target.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use iosonar_guard as guard;
use iosonar_units::{Bytes, ParseUnitError, folder_of, scalar};
use serde::{Deserialize, Deserializer, Serialize};

use crate::ReplayError;

/// The size of a file that is to be a target: whole blocks of 4096 bytes, as many as hold the size that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FileSize(Bytes);

impl FileSize {
    /// In bytes.
    pub const fn bytes(self) -> Bytes {
        self.0
    }
}

impl FromStr for FileSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const BLOCK: u64 = 4096;
        let size: Bytes = text.parse().map_err(|e: ParseUnitError| e.to_string())?;
        match size.get() {
            0 => Err("the size of a new file must be greater than 0".to_owned()),
            n if n > 1 << 50 => Err("the size of a new file must be at most 1PiB".to_owned()),
            n => Ok(Self(Bytes::new(n.next_multiple_of(BLOCK)))),
        }
    }
}

impl<'de> Deserialize<'de> for FileSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar(deserializer)
    }
}

/// Makes a new file of `size` at `path` and fills it with random data, so that reads of it reach
/// the storage and nothing below can compress them away. `progress` receives the bytes written, and ends
/// it with `false`.
///
/// # Errors
/// [`ReplayError::Refused`] if there is such a file already or it would lie among the devices, [`ReplayError::Io`] if it cannot be
/// written; a file begun is removed then.
pub fn create_file(
    path: &Path,
    size: Bytes,
    mut progress: impl FnMut(u64) -> bool,
) -> Result<(), ReplayError> {
    const CHUNK: usize = 1 << 20;
    let folder = folder_of(path).canonicalize();
    if folder.is_ok_and(|folder| folder.starts_with("/dev") && !folder.starts_with("/dev/shm")) {
        return Err(ReplayError::Refused(format!(
            "{} would be a file in memory, as it is below /dev: create it elsewhere, or leave out --create to use a \
             device",
            path.display()
        )));
    }
    let failed = |source| ReplayError::Io {
        path: path.to_owned(),
        action: "create and fill it",
        source,
    };
    let exists = || {
        ReplayError::Refused(format!(
            "{} already exists; leave out --create to use it as it is",
            path.display()
        ))
    };
    if std::fs::symlink_metadata(path).is_ok() {
        return Err(exists());
    }
    if let Some(free) = guard::free_space(path).filter(|free| *free < size) {
        return Err(ReplayError::Refused(format!(
            "{} cannot be created: it would take {size}, but only {free} is free; choose a smaller size, or another location",
            path.display()
        )));
    }
    // Under a name of its own until it is full: a file that a kill left behind is recognisable.
    let mut part = std::ffi::OsString::from(path);
    part.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(part);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&part)
        .map_err(failed)?;
    let mut fill = || -> std::io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        let mut noise = crate::buffers::Noise::new(size.get());
        let mut written = 0;
        while written < size.get() {
            let n = (CHUNK as u64).min(size.get() - written) as usize;
            noise.fill(&mut chunk[..n]);
            file.write_all(&chunk[..n])?;
            written += n as u64;
            if !progress(written) {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
        }
        file.sync_all()?;
        // Unlike a rename, a link replaces nothing that has appeared meanwhile.
        std::fs::hard_link(&part, path)
    };
    let filled = fill();
    // It is ours; nothing else can be done about a failure to remove it.
    let _ = std::fs::remove_file(&part);
    filled.map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => exists(),
        _ => failed(e),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target");
        let made = create_file(&path, Bytes::new(4096), |_| {
            std::fs::write(&path, "of another").unwrap();
            true
        });
        let refused = made.unwrap_err();
        assert!(matches!(refused, ReplayError::Refused(_)), "{refused:?}");
        assert!(refused.to_string().contains("already exists"), "{refused}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "of another");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_size_of_a_file_is_whole_blocks_up_to_a_pebibyte() {
        let bytes = |text: &str| text.parse::<FileSize>().map(|size| size.bytes().get());
        assert_eq!(bytes("1"), Ok(4096));
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(bytes("4097"), Ok(8192));
        assert_eq!(bytes("1PiB"), Ok(1 << 50));
        assert!(bytes("0").unwrap_err().contains("greater than 0"));
        let beyond = format!("{}", (1_u64 << 50) + 1);
        assert!(bytes(&beyond).unwrap_err().contains("at most 1PiB"));
    }

    #[test]
    fn no_file_is_made_among_devices() {
        let path = Path::new("/dev/iosonar-no-target");
        let refused = create_file(path, Bytes::new(4096), |_| true).unwrap_err();
        assert!(matches!(refused, ReplayError::Refused(_)), "{refused:?}");
        assert!(refused.to_string().contains("below /dev"), "{refused}");
    }

    #[test]
    fn a_file_is_as_long_as_it_is_to_be_and_holds_data_to_its_end() {
        const PIECE: u64 = 1 << 20;
        let folder = tempfile::tempdir().unwrap();
        for (size, written) in [
            (4096, vec![4096]),
            (PIECE, vec![PIECE]),
            (PIECE + 4096, vec![PIECE, PIECE + 4096]),
        ] {
            let path = folder.path().join(format!("{size}"));
            let mut seen = Vec::new();
            create_file(&path, Bytes::new(size), |bytes| {
                seen.push(bytes);
                true
            })
            .unwrap();
            assert_eq!(seen, written);
            let data = std::fs::read(&path).unwrap();
            assert_eq!(data.len() as u64, size);
            let holds_data = |block: &[u8]| block.iter().any(|byte| *byte != 0);
            assert!(data.chunks(512).all(holds_data));
        }
    }

    #[test]
    fn a_file_that_there_is_no_room_for_is_not_begun() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target");
        let size = Bytes::new(1 << 60);
        let refused = create_file(&path, size, |_| false).unwrap_err();
        assert!(matches!(refused, ReplayError::Refused(_)), "{refused:?}");
        assert!(refused.to_string().contains("is free"), "{refused}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
