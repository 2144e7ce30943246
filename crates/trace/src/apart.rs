//! Inputs and outputs that must be apart: whether two paths name the same file or device.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use iosonar_units::folder_of;

use crate::TraceError;
use crate::error::ends_as_folder;
use crate::whole_file::{self, WholeFile};

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

/// Refuses outputs that are one of the inputs.
///
/// # Errors
/// If there is one.
pub fn refuse_overwritten<I, O>(inputs: &[I], outputs: &[O]) -> Result<(), TraceError>
where
    I: AsRef<Path>,
    O: AsRef<Path>,
{
    for output in outputs {
        for input in inputs {
            refuse_same(input.as_ref(), output.as_ref())?;
        }
    }
    Ok(())
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
    refuse_overwritten(inputs, outputs)?;
    for (i, output) in outputs.iter().map(AsRef::as_ref).enumerate() {
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

/// Refuses an output that is a folder, or a device, or in whose folder no file can be created.
fn refuse_unusable_place(output: &Path) -> Result<(), TraceError> {
    if output == Path::new("-") {
        return Ok(());
    }
    if output.is_dir() || ends_as_folder(output) {
        return Err(TraceError::IsFolder(output.to_owned()));
    }
    let file = whole_file::place_of(output).map_err(|source| TraceError::Io {
        path: output.to_owned(),
        action: "create the file",
        source,
    })?;
    let folder = folder_of(&file);
    match folder.metadata() {
        // Permissions are not all: a file system may be read-only, or full, or know no name of this length.
        Ok(of) if of.is_dir() => match WholeFile::create(output) {
            Ok(_removed) => Ok(()),
            Err(source) => Err(TraceError::NotCreatable {
                output: output.to_owned(),
                source,
            }),
        },
        Ok(_) => Err(TraceError::NotInFolder {
            output: output.to_owned(),
            file: folder.to_owned(),
        }),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(TraceError::NoFolder {
                output: output.to_owned(),
                folder: folder.to_owned(),
            })
        }
        Err(source) => Err(TraceError::Io {
            path: output.to_owned(),
            action: "create the file",
            source,
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

    /// A folder with a file, a symbolic and a hard link to it, and another file.
    fn links() -> (tempfile::TempDir, [std::path::PathBuf; 4]) {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["file", "symbolic", "hard", "other"].map(|name| folder.path().join(name));
        std::fs::write(&paths[0], "content").unwrap();
        std::os::unix::fs::symlink("file", &paths[1]).unwrap();
        std::fs::hard_link(&paths[0], &paths[2]).unwrap();
        std::fs::write(&paths[3], "content").unwrap();
        (folder, paths)
    }

    #[test]
    fn a_file_is_the_same_by_whatever_path() {
        let (folder, [file, symbolic, hard, other]) = links();
        for (a, b, same) in [
            (&file, &file, true),
            (&file, &symbolic, true),
            (&hard, &file, true),
            (&symbolic, &hard, true),
            (&file, &other, false),
        ] {
            assert_eq!(is_same(a, b), same, "{a:?} {b:?}");
            assert_eq!(would_be_same(a, b), same, "{a:?} {b:?}");
        }
        let absent = folder.path().join("absent");
        assert!(!is_same(&absent, &absent));
    }

    #[test]
    fn outputs_to_be_are_the_same_in_one_folder_under_one_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("inner")).unwrap();
        for (a, b, same) in [
            ("x", "x", true),
            ("x", "inner/../x", true),
            ("x", "y", false),
            ("x", "inner/x", false),
            ("absent/x", "absent/x", true),
            ("absent/x", "absent/y", false),
        ] {
            assert_eq!(would_be_same(&path(a), &path(b)), same, "{a} {b}");
        }
    }

    #[test]
    fn an_output_that_is_an_input_is_refused_by_its_name() {
        let (_folder, [file, symbolic, _, other]) = links();
        for input in [&file, &symbolic] {
            match refuse_same(input, &file) {
                Err(TraceError::OverwritesInput(path)) => assert_eq!(path, file),
                outcome => panic!("{outcome:?}"),
            }
            assert!(refuse_same(input, &other).is_ok());
        }
        let stdio = Path::new("-");
        assert!(refuse_same(stdio, stdio).is_ok());
    }

    #[test]
    fn a_stream_is_the_regular_file_that_it_is_open_as() {
        let (_folder, [file, symbolic, _, other]) = links();
        let stream = File::open(&file).unwrap();
        assert!(is_open_as(&file, stream.as_fd()) && is_open_as(&symbolic, stream.as_fd()));
        assert!(!is_open_as(&other, stream.as_fd()));
        // Many processes may have a device open.
        let device = File::open("/dev/null").unwrap();
        assert!(!is_open_as(Path::new("/dev/null"), device.as_fd()));
        assert!(!is_open_as(Path::new("absent"), device.as_fd()));
    }

    #[test]
    fn only_block_devices_have_a_number() {
        let (folder, [file, ..]) = links();
        for path in [
            folder.path(),
            &file,
            Path::new("/dev/null"),
            Path::new("absent"),
        ] {
            assert_eq!(device_number(path), None, "{path:?}");
        }
    }

    #[test]
    fn an_output_is_refused_where_it_cannot_be() {
        let (folder, [file, ..]) = links();
        let refused = |output: &Path| refuse_unusable::<&Path, &Path>(&[], &[output]);
        for usable in [Path::new("-"), &file, &folder.path().join("new")] {
            assert!(refused(usable).is_ok(), "{usable:?}");
        }
        let error = |name: &str| refused(&folder.path().join(name)).unwrap_err();
        assert!(matches!(error(""), TraceError::IsFolder(_)));
        assert!(matches!(error("new/"), TraceError::IsFolder(_)));
        assert!(matches!(error("new/x"), TraceError::NoFolder { .. }));
        let long = "x".repeat(255);
        assert!(matches!(error(&long), TraceError::NotCreatable { .. }));
        assert!(matches!(error("file/x"), TraceError::NotInFolder { .. }));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn inputs_and_outputs_are_all_compared() {
        let (folder, [file, symbolic, _, other]) = links();
        let new = folder.path().join("new");
        assert!(refuse_unusable(&[&file, &other], &[&new]).is_ok());
        let overwrites = refuse_unusable(&[&other, &file], &[&new, &symbolic]);
        assert!(matches!(overwrites, Err(TraceError::OverwritesInput(_))));
        let twice = refuse_unusable(&[&other], &[&file, &new, &symbolic]);
        assert!(matches!(twice, Err(TraceError::SameOutput { .. })));
    }
}
