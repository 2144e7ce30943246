//! Inputs and outputs that must be apart: whether two paths name the same file or device.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use iosonar_units::folder_of;

use crate::{TraceError, whole_file};

/// Refuses an output that is one of the inputs, by whatever path; `-` is standard input or output.
///
/// # Errors
/// If it is.
pub fn refuse_same(input: &Path, output: &Path) -> Result<(), TraceError> {
    let stdio = Path::new("-");
    let same = match (input == stdio, output == stdio) {
        (true, true) => false,
        (true, false) => is_open_as(output, io::stdin().as_fd()),
        (false, true) => is_open_as(input, io::stdout().as_fd()),
        (false, false) => is_same(input, output),
    };
    if same {
        let file = if output == stdio { input } else { output };
        return Err(TraceError::OverwritesInput(file.to_owned()));
    }
    Ok(())
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
pub fn is_same(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| std::fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
    let is_same_device = || device_number(a).is_some_and(|a| device_number(b) == Some(a));
    identity(a).is_some_and(|a| identity(b) == Some(a)) || is_same_device()
}

/// The number of the block device at `path`, which may have several nodes; `None` for anything else.
pub fn device_number(path: &Path) -> Option<u64> {
    let metadata = std::fs::metadata(path).ok()?;
    metadata
        .file_type()
        .is_block_device()
        .then(|| metadata.rdev())
}

/// Whether two outputs, which need not be there, name the same file.
pub fn would_be_same(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        let folder = folder_of(path).canonicalize().ok()?;
        Some((folder, path.file_name()?.to_owned()))
    };
    a == b || is_same(a, b) || place(a).is_some_and(|a| place(b) == Some(a))
}

/// Refuses outputs that are one of the inputs or the same as another output, or that cannot be written where they are
/// to be: better now than when all is done.
///
/// # Errors
/// If there is one.
pub fn refuse_unusable<I, O>(inputs: &[I], outputs: &[O]) -> Result<(), TraceError>
where
    I: AsRef<Path>,
    O: AsRef<Path>,
{
    for (i, output) in outputs.iter().map(AsRef::as_ref).enumerate() {
        for input in inputs {
            refuse_same(input.as_ref(), output)?;
        }
        let mut before = outputs[..i].iter().map(AsRef::as_ref);
        if let Some(other) = before.find(|other| would_be_same(other, output)) {
            return Err(TraceError::SameOutput {
                one: other.to_owned(),
                other: output.to_owned(),
            });
        }
        refuse_unusable_place(output)?;
    }
    Ok(())
}

/// Whether what is written to `path` takes room in its file system: a regular file, or one that is yet to be made.
pub fn takes_room(path: &Path) -> bool {
    path != Path::new("-") && path.metadata().map_or(true, |there| there.is_file())
}

/// Refuses an output that is a folder, or a device, or whose folder is not there.
fn refuse_unusable_place(output: &Path) -> Result<(), TraceError> {
    if output == Path::new("-") {
        return Ok(());
    }
    if output.is_dir() || output.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(TraceError::IsFolder(output.to_owned()));
    }
    let file = whole_file::place_of(output).map_err(|source| TraceError::Io {
        path: output.to_owned(),
        action: "create the file",
        source,
    })?;
    let folder = folder_of(&file);
    match folder.metadata() {
        Ok(of) if of.is_dir() => Ok(()),
        Ok(_) => Err(TraceError::NotInFolder {
            output: output.to_owned(),
            file: folder.to_owned(),
        }),
        Err(_) => Err(TraceError::NoFolder {
            output: output.to_owned(),
            folder: folder.to_owned(),
        }),
    }
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
