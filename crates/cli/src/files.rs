//! Files that must not be mixed up.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iosonar_units::folder_of;

use crate::exit::Usage;

/// Refuses an output that is one of the inputs, by whatever path.
pub(crate) fn refuse_same(input: &Path, output: &Path) -> Result<(), Usage> {
    let stdio = Path::new("-");
    let same = match (input == stdio, output == stdio) {
        (true, true) => false,
        (true, false) => is_open_as(output, io::stdin().as_fd()),
        (false, true) => is_open_as(input, io::stdout().as_fd()),
        (false, false) => is_same(input, output),
    };
    if same {
        let file = if output == stdio { input } else { output };
        return Err(overwrites_input(file));
    }
    Ok(())
}

/// The refusal of an output that is the input `file`.
pub(crate) fn overwrites_input(file: &Path) -> Usage {
    Usage(format!(
        "{} would overwrite its own input: take another name for the output",
        file.display()
    ))
}

/// Whether `path` is the regular file that a standard stream reads or writes.
fn is_open_as(path: &Path, stream: BorrowedFd<'_>) -> bool {
    let open = stream.try_clone_to_owned().map(File::from);
    let (Ok(open), Ok(named)) = (open.and_then(|file| file.metadata()), path.metadata()) else {
        return false;
    };
    open.is_file() && (open.dev(), open.ino()) == (named.dev(), named.ino())
}

/// Whether both are there and one file or block device, by whatever paths.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    let is_same_device = || device_number(a).is_some_and(|a| device_number(b) == Some(a));
    identity(a).is_some_and(|a| identity(b) == Some(a)) || is_same_device()
}

/// The number of the block device at `path`, which may have several nodes; `None` for anything else.
pub(crate) fn device_number(path: &Path) -> Option<u64> {
    let metadata = std::fs::metadata(path).ok()?;
    metadata
        .file_type()
        .is_block_device()
        .then(|| metadata.rdev())
}

/// Whether two outputs, which need not be there, name the same file.
pub(crate) fn would_be_same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let folder = folder_of(path).canonicalize().ok()?;
        Some((folder, path.file_name()?.to_owned()))
    };
    a == b || is_same(a, b) || place(a).is_some_and(|a| place(b) == Some(a))
}

/// Whether what is written to `path` takes room in its file system: a regular file, or one that is yet to be made.
pub(crate) fn takes_room(path: &Path) -> bool {
    path != Path::new("-") && path.metadata().map_or(true, |there| there.is_file())
}

/// Refuses an output whose folder is not there: better now than when all is done.
pub(crate) fn refuse_without_folder(output: &Path) -> Result<(), Usage> {
    let folder = folder_of(output);
    if folder.is_dir() {
        return Ok(());
    }
    Err(Usage(format!(
        "{}: there is no folder {}",
        output.display(),
        folder.display()
    )))
}

/// The file beside `path` whose name has this at its end.
pub(crate) fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_take_room() {
        let folder = tempfile::tempdir().unwrap();
        let (there, absent) = (folder.path().join("there"), folder.path().join("absent"));
        std::fs::write(&there, "").unwrap();
        assert!(takes_room(&there) && takes_room(&absent));
        for device in ["-", "/dev/null", "/dev/stdout"] {
            let path = Path::new(device);
            // Standard output may be a file.
            let is_file = path.metadata().is_ok_and(|m| m.is_file());
            assert_eq!(takes_room(path), is_file, "{device}");
        }
    }
}
