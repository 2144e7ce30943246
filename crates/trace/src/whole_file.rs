//! A file that is whole or absent, compressed as its name says.

use std::collections::BTreeSet;
use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iosonar_units::folder_of;

use crate::WriteOptions;
use crate::codec::Codec;

/// Something that bytes are written to and that must be closed to count.
pub trait Output: Write + Send {
    /// Writes what is pending and gives the file its name.
    ///
    /// # Errors
    /// If anything cannot be written.
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// Creates the file `path`, `-` for standard output; `.gz` and `.zst` are compressed. A flush writes everything so far
/// so that it can be read (unpacked) from the file as it is then; of a durable file, from its medium.
pub(crate) fn open(path: &Path, options: &WriteOptions) -> io::Result<Box<dyn Output>> {
    if path == Path::new("-") {
        // The handle of the standard library would take a closed standard output for one that takes everything.
        let stream = Stream {
            itself: File::from(io::stdout().as_fd().try_clone_to_owned()?),
            outlives_reader: options.outlives_reader,
        };
        return Ok(Box::new(BufWriter::with_capacity(1 << 16, stream)));
    }
    let whole = WholeFile::new(path, options.durable)?;
    whole.refuse_second()?;
    let file = BufWriter::with_capacity(1 << 18, whole);
    packed(file, path)
}

/// An output before which the compression is done that the name of `path` says.
fn packed<W>(file: W, path: &Path) -> io::Result<Box<dyn Output>>
where
    W: Output + 'static,
{
    match Codec::of_output(path) {
        Some(codec) => codec.encoder(file),
        None => Ok(Box::new(file)),
    }
}

/// Standard output.
struct Stream {
    itself: File,
    /// Whether what its reader does not want any more is dropped.
    outlives_reader: bool,
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.itself.write(bytes) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe && self.outlives_reader => {
                Ok(bytes.len())
            }
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.itself.flush()
    }
}

impl Output for BufWriter<Stream> {
    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.flush()
    }
}

impl Output for BufWriter<WholeFile> {
    fn close(self: Box<Self>) -> io::Result<()> {
        self.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .keep()
    }
}

/// Takes bytes to count them.
#[derive(Clone, Default)]
pub(crate) struct Counter(Arc<AtomicU64>);

impl Counter {
    /// An output that counts what the file `path` would hold, compressed as its name says.
    pub(crate) fn of(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        packed(self.clone(), path)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.fetch_add(bytes.len() as u64, Relaxed);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Counter {
    fn close(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

/// The output is the name of something that is not replaced: nothing was written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRegularFile {
    /// A device, a folder or a pipe.
    Exists,
    /// A link to nothing.
    Dangling(PathBuf),
    /// A file that a process has open, such as `/dev/stdout`: others would not see that it is replaced.
    Open,
}

impl fmt::Display for NoRegularFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists => f.write_str(
                "it already exists and is not a regular file: choose a different name for the output",
            ),
            Self::Dangling(to) => write!(
                f,
                "it is a symbolic link to {}, where there is no file: remove the link, or choose a different name for \
                 the output",
                to.display()
            ),
            Self::Open => f.write_str(
                "it is the name of an open file, which cannot be replaced: write '-' for standard output, or choose a \
                 different name",
            ),
        }
    }
}

impl Error for NoRegularFile {}

impl From<NoRegularFile> for io::Error {
    fn from(why: NoRegularFile) -> Self {
        Self::new(io::ErrorKind::InvalidInput, why)
    }
}

/// Whether an error of a file was caused by one of this type.
fn is_cause<T: Error + 'static>(error: &(dyn Error + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>();
    let cause = error.and_then(io::Error::get_ref);
    matches!(cause, Some(cause) if cause.is::<T>())
}

impl NoRegularFile {
    /// Whether this is why an output could not be created.
    pub fn is_cause_of(error: &(dyn Error + 'static)) -> bool {
        is_cause::<Self>(error)
    }
}

/// Another process writes an output of this name: whichever ended last would replace what the other measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenByAnother {
    /// Its number, as the name of its file says.
    pub process: u32,
    /// What it has written so far.
    pub part: PathBuf,
}

impl fmt::Display for WrittenByAnother {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, part } = self;
        write!(
            f,
            "process {process} is writing it ({}): wait for that process to end, or choose a different name \
             for the output",
            part.display()
        )
    }
}

impl Error for WrittenByAnother {}

impl WrittenByAnother {
    /// Whether this is why an output could not be created.
    pub fn is_cause_of(error: &(dyn Error + 'static)) -> bool {
        is_cause::<Self>(error)
    }
}

/// The output is a link that another user may have put there, to have a file of this user replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkOfAnother(pub PathBuf);

impl fmt::Display for LinkOfAnother {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is a symbolic link owned by another user, in a folder that others can write to: remove the link, or \
             choose a different name for the output",
            self.0.display()
        )
    }
}

impl Error for LinkOfAnother {}

impl LinkOfAnother {
    /// Whether this is why an output could not be created.
    pub fn is_cause_of(error: &(dyn Error + 'static)) -> bool {
        is_cause::<Self>(error)
    }
}

impl From<LinkOfAnother> for io::Error {
    fn from(link: LinkOfAnother) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, link)
    }
}

/// The temporary names of this process's files.
static PARTS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn parts() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PARTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While it lives, no file of this process gets its name, and none is begun.
pub struct Abandoned {
    _parts: MutexGuard<'static, BTreeSet<PathBuf>>,
}

/// Removes all files of this process that are not whole, for a process that is about to end by a signal.
pub fn abandon_all() -> Abandoned {
    let mut parts = parts();
    for part in std::mem::take(&mut *parts) {
        // Nothing can be done about a failure here, and the name shows what the file is.
        let _ = fs::remove_file(part);
    }
    Abandoned { _parts: parts }
}

/// A file under a temporary name (`NAME.PID-0.part`) that gets its name when it is whole.
///
/// Dropped before [`keep`](Self::keep), it disappears. Left behind by a kill, or by a disk that is full
/// (what is in it may have taken hours to measure), it is recognisable by its name.
pub struct WholeFile {
    file: File,
    part: PathBuf,
    name: PathBuf,
    kept: bool,
    failed: bool,
    /// Whether what is flushed, and the name, are to survive a loss of power.
    durable: bool,
}

impl WholeFile {
    /// Creates the file that will be called `name`.
    ///
    /// # Errors
    /// If the temporary file cannot be created.
    pub fn create(name: &Path) -> io::Result<Self> {
        Self::new(name, false)
    }

    fn new(name: &Path, durable: bool) -> io::Result<Self> {
        let name = place_of(name)?;
        // A unique name: no existing file is overwritten, no link is followed.
        for attempt in 0..1000 {
            let mut part = OsString::from(&name);
            part.push(format!(".{}-{attempt}.part", std::process::id()));
            let mut parts = parts();
            match File::create_new(&part) {
                Ok(file) => {
                    parts.insert(PathBuf::from(&part));
                    drop(parts);
                    // As long as it is open, it is seen to have a writer. Some file systems know no locks.
                    let _ = file.try_lock();
                    let whole = Self {
                        file,
                        part: part.into(),
                        name,
                        kept: false,
                        failed: false,
                        durable,
                    };
                    if durable {
                        sync_folder_of(&whole.part)?;
                    }
                    return Ok(whole);
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Refuses a name that another process writes a file of. What a killed process left behind has no lock and is of
    /// no matter.
    ///
    /// Each has locked its own file before it looks for others, so of two at once at most one goes on; if they begin at
    /// the very same moment, perhaps none.
    fn refuse_second(&self) -> io::Result<()> {
        let mut others =
            parts_of(&self.name)?.filter(|(part, _)| part.file_name() != self.part.file_name());
        let Some((part, process)) = others.find(|(part, _)| is_being_written(part)) else {
            return Ok(());
        };
        let another = WrittenByAnother { process, part };
        Err(io::Error::new(io::ErrorKind::ResourceBusy, another))
    }

    /// Writes `content` as the whole of the file `name`.
    ///
    /// # Errors
    /// If it cannot be written; no such file appears then.
    pub fn write_all(name: &Path, content: &[u8]) -> io::Result<()> {
        let mut whole = Self::create(name)?;
        whole.file.write_all(content)?;
        whole.keep()
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn keep(mut self) -> io::Result<()> {
        // What cannot be kept stays under its temporary name.
        self.failed = true;
        if self.durable {
            self.file.sync_all()?;
        }
        let mut parts = parts();
        fs::rename(&self.part, &self.name)?;
        self.kept = true;
        parts.remove(&self.part);
        drop(parts);
        if self.durable {
            sync_folder_of(&self.name)?;
        }
        Ok(())
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).inspect_err(|_| self.failed = true)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()?;
        if self.durable {
            self.file.sync_data().inspect_err(|_| self.failed = true)?;
        }
        Ok(())
    }
}

/// Has the name of a file, new or changed, on its medium.
///
/// # Errors
/// If the folder cannot be synced.
pub fn sync_folder_of(file: &Path) -> io::Result<()> {
    match File::open(folder_of(file))?.sync_all() {
        // A file system that cannot do this for folders.
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(()),
        outcome => outcome,
    }
}

/// The error of a file that is not there, with what was written of it.
pub(crate) fn not_there(path: &Path, error: io::Error) -> io::Error {
    let parts = parts_of(path).into_iter().flatten().map(|(part, _)| part);
    // Of several, that which was written last.
    let last = parts.max_by_key(|part| fs::metadata(part).and_then(|m| m.modified()).ok());
    let Some(part) = last.as_deref().and_then(Path::file_name) else {
        return error;
    };
    let part = path.with_file_name(part);
    let how = match is_being_written(&part) {
        true => {
            "which is still being written: wait for it to complete, or read the part written so far with --lenient"
        }
        false => "left behind by a process that was killed: --lenient reads it",
    };
    io::Error::new(
        error.kind(),
        format!("{error}; there is {}, {how}", part.display()),
    )
}

/// The file that is made or replaced where `name` is written.
pub(crate) fn place_of(name: &Path) -> io::Result<PathBuf> {
    let place = followed(name)?;
    match fs::symlink_metadata(&place) {
        Ok(there) if there.is_symlink() => {
            Err(NoRegularFile::Dangling(fs::read_link(&place)?).into())
        }
        Ok(there) if !there.is_file() => Err(NoRegularFile::Exists.into()),
        _ => Ok(place),
    }
}

/// A chain of more links leads nowhere.
const MOST_LINKS: usize = 40;

/// A link stays one: what it points to is replaced, unless another user may have put it there.
fn followed(name: &Path) -> io::Result<PathBuf> {
    let mut end = name.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(link) = fs::symlink_metadata(&end) else {
            // A link to nothing is not followed.
            return Ok(name.to_owned());
        };
        if !link.is_symlink() {
            break;
        }
        let folder = folder_of(&end);
        let in_folder = fs::metadata(folder)?;
        if is_of_another(link.uid(), (in_folder.uid(), in_folder.mode()), user()) {
            return Err(LinkOfAnother(end).into());
        }
        // The links of `/dev/stdout` and `/dev/fd` lead there.
        if fs::canonicalize(folder)?.starts_with("/proc") {
            return Err(NoRegularFile::Open.into());
        }
        end = folder.join(fs::read_link(&end)?);
    }
    Ok(fs::canonicalize(&end).unwrap_or(end))
}

/// Whether a link of user `link` may have been put into a folder, of which this is the owner and the mode, by a user that is
/// neither `user` nor the folder's owner. The kernel's `protected_symlinks` has the same rule, but does not apply to a file
/// that is renamed.
fn is_of_another(link: u32, (owner, mode): (u32, u32), user: Option<u32>) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    mode & OTHERS_WRITE != 0 && link != owner && Some(link) != user
}

/// The effective user of this process, who owns its folder in /proc; `None` where that is not mounted.
fn user() -> Option<u32> {
    fs::metadata("/proc/self").ok().map(|folder| folder.uid())
}

/// The files that are, or were, to get this name, under their temporary ones, and the processes that made them.
fn parts_of(name: &Path) -> io::Result<impl Iterator<Item = (PathBuf, u32)>> {
    let entries = fs::read_dir(folder_of(name))?.flatten();
    Ok(entries.filter_map(move |entry| {
        // A writer makes regular files: anything else was put there by another.
        let part = entry.file_type().ok()?.is_file().then(|| entry.path())?;
        let (whole, process) = temporary(&part)?;
        (whole.file_name() == name.file_name()).then_some((part, process))
    }))
}

/// How much this process has written so far of the file that is to be called `name`.
pub fn written_so_far(name: &Path) -> u64 {
    let name = &followed(name).unwrap_or_else(|_| name.to_owned());
    let parts = parts_of(name).into_iter().flatten();
    let own = parts.filter(|(_, process)| *process == std::process::id());
    own.filter_map(|(part, _)| fs::metadata(part).ok())
        .map(|metadata| metadata.len())
        .sum()
}

/// The files under temporary names that are, or were, to be called `name`.
pub(crate) fn parts_beside(name: &Path) -> Vec<PathBuf> {
    let name = followed(name).unwrap_or_else(|_| name.to_owned());
    let parts = parts_of(&name).into_iter().flatten();
    parts.map(|(part, _)| part).collect()
}

/// The process that made the file with the temporary name `path`.
pub(crate) fn process_of(path: &Path) -> Option<u32> {
    temporary(path).map(|(_, process)| process)
}

/// Whether a process has a file under a temporary name open that it writes.
pub(crate) fn is_being_written(part: &Path) -> bool {
    // To open a pipe would wait for its writer.
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    // It may just have got its name.
    options.open(part).is_ok_and(|file| {
        file.metadata().is_ok_and(|of| of.is_file())
            && matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    })
}

/// The name that the file called `path` would have got when it was whole; `None` if that is not a temporary name.
pub(crate) fn final_name(path: &Path) -> Option<PathBuf> {
    temporary(path).map(|(name, _)| name)
}

/// The name that a file with the temporary name `path` is to get, and the process that made it.
fn temporary(path: &Path) -> Option<(PathBuf, u32)> {
    let number = |text: &str| {
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| digits)
    };
    let name = path.file_name()?.to_str()?;
    let (name, of) = name.strip_suffix(".part")?.rsplit_once('.')?;
    let (process, attempt) = of.split_once('-')?;
    let (process, _) = (number(process)?, number(attempt)?);
    (!name.is_empty()).then(|| (path.with_file_name(name), process))
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.kept {
            parts().remove(&self.part);
        }
        if !self.kept && !self.failed {
            // Nothing can be done about a failure here, and the name shows what the file is.
            let _ = fs::remove_file(&self.part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_elses_file_is_overwritten_and_no_device_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = dir.path().join("x.txt.part");
        fs::write(&theirs, "theirs").unwrap();
        WholeFile::write_all(&dir.path().join("x.txt"), b"mine").unwrap();
        assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
        let link = dir.path().join("link.txt");
        std::os::unix::fs::symlink(dir.path().join("x.txt"), &link).unwrap();
        WholeFile::write_all(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(dir.path().join("x.txt")).unwrap(), b"new");
        assert!(WholeFile::create(Path::new("/dev/null")).is_err());
        assert!(WholeFile::create(dir.path()).is_err());
    }

    #[test]
    fn of_two_writers_of_one_output_the_second_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join("x.load");
        // What a killed process left behind is in nobody's way.
        let left = dir.path().join("x.load.4194305-0.part");
        fs::write(&left, "left").unwrap();
        let first = open(&name, &WriteOptions::default()).unwrap();
        let Err(error) = open(&name, &WriteOptions::default()) else {
            panic!("two write {}", name.display());
        };
        assert!(WrittenByAnother::is_cause_of(&error), "{error}");
        let process = std::process::id().to_string();
        assert!(error.to_string().contains(&process), "{error}");
        assert!(open(&dir.path().join("y.load"), &WriteOptions::default()).is_ok());
        first.close().unwrap();
        open(&name, &WriteOptions::default())
            .unwrap()
            .close()
            .unwrap();
        assert_eq!(fs::read(&left).unwrap(), b"left");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_temporary_name_is_recognised() {
        let of = |name| final_name(Path::new(name));
        assert_eq!(of("a/x.load.gz.123-0.part"), Some("a/x.load.gz".into()));
        for other in ["x.part", "x.1-0", "x.a-0.part", ".1-0.part", "x.1-.part"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn a_file_appears_only_when_it_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join("x.txt");
        let mut file = WholeFile::create(&name).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        WholeFile::write_all(&name, b"whole").unwrap();
        assert_eq!(fs::read(&name).unwrap(), b"whole");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_pipe_under_a_temporary_name_is_no_writer() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join("x.load");
        let pipe = dir.path().join("x.load.4194305-0.part");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
        // Each would wait for ever.
        assert!(!is_being_written(&pipe));
        open(&name, &WriteOptions::default())
            .unwrap()
            .close()
            .unwrap();
        assert_eq!(parts_beside(&name), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_link_of_another_user_is_not_followed_where_others_may_write() {
        use std::os::unix::fs::{PermissionsExt, lchown, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (target, link) = (dir.path().join("mine"), dir.path().join("x.txt"));
        fs::write(&target, "mine").unwrap();
        symlink("mine", &link).unwrap();
        let may_write = |mode| fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode));
        let seen = |user| {
            let link = fs::symlink_metadata(&link).unwrap();
            let folder = fs::metadata(dir.path()).unwrap();
            is_of_another(link.uid(), (folder.uid(), folder.mode()), Some(user))
        };
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(user(), Some(own));
        for mode in [0o700, 0o777, 0o1777] {
            may_write(mode).unwrap();
            assert!(!seen(own));
            // The link is of the folder's owner.
            assert!(!seen(own + 1));
        }
        // Only root can give a link away.
        if lchown(&link, Some(4321), None).is_err() {
            return;
        }
        assert!(seen(own) && !seen(4321));
        let error = WholeFile::write_all(&link, b"new").unwrap_err().to_string();
        assert!(
            error.contains("x.txt is a symbolic link owned by another user"),
            "{error}"
        );
        assert_eq!(fs::read(&target).unwrap(), b"mine");
        may_write(0o755).unwrap();
        WholeFile::write_all(&link, b"new").unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"new");
    }

    #[test]
    fn the_cause_of_an_error_is_known_by_its_type() {
        let dir = tempfile::tempdir().unwrap();
        let no_file = place_of(dir.path()).unwrap_err();
        let link: io::Error = LinkOfAnother(PathBuf::from("a/link")).into();
        let plain: io::Error = io::ErrorKind::PermissionDenied.into();
        for (error, is_no_file, is_link) in [
            (&no_file, true, false),
            (&link, false, true),
            (&plain, false, false),
        ] {
            assert_eq!(NoRegularFile::is_cause_of(error), is_no_file, "{error}");
            assert_eq!(LinkOfAnother::is_cause_of(error), is_link, "{error}");
            assert!(!WrittenByAnother::is_cause_of(error), "{error}");
        }
        assert_eq!(link.kind(), io::ErrorKind::PermissionDenied);
        for (error, text) in [
            (&no_file, "already exists and is not a regular file"),
            (&link, "a/link is a symbolic link owned by another user"),
        ] {
            assert!(error.to_string().contains(text), "{error}");
        }
    }

    #[test]
    fn what_a_process_has_written_so_far_is_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let name = dir.path().join("x.txt");
        assert_eq!(written_so_far(&name), 0);
        // Of another process, of another file, and complete.
        for (other, text) in [
            ("x.txt.4194305-0.part", "left"),
            ("y.txt.1-0.part", "other"),
            ("x.txt", "whole file"),
        ] {
            fs::write(dir.path().join(other), text).unwrap();
        }
        let mut file = WholeFile::create(&name).unwrap();
        assert_eq!(written_so_far(&name), 0);
        file.write_all(b"seven b").unwrap();
        file.flush().unwrap();
        assert_eq!(written_so_far(&name), 7);
        drop(file);
        assert_eq!(written_so_far(&name), 0);
    }

    #[test]
    fn a_stream_whose_medium_is_full_is_an_error_when_it_is_closed() {
        for (path, has_room) in [("/dev/null", true), ("/dev/full", false)] {
            let stream = Stream {
                itself: File::options().write(true).open(path).unwrap(),
                outlives_reader: true,
            };
            let mut output = Box::new(BufWriter::new(stream));
            output.write_all(b"less than the buffer holds").unwrap();
            assert_eq!(output.close().is_ok(), has_room, "{path}");
        }
    }

    #[test]
    fn a_stream_outlives_its_reader_where_there_are_other_results() {
        for outlives_reader in [true, false] {
            let (reader, writer) = io::pipe().unwrap();
            let mut stream = Stream {
                itself: File::from(std::os::fd::OwnedFd::from(writer)),
                outlives_reader,
            };
            assert_eq!(stream.write(b"read").unwrap(), 4);
            drop(reader);
            assert_eq!(stream.write(b"dropped").is_ok(), outlives_reader);
        }
    }

    #[test]
    fn the_folder_of_a_file_is_synced_if_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        assert!(sync_folder_of(&dir.path().join("x")).is_ok());
        let error = sync_folder_of(&dir.path().join("absent/x")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        // The kernel's own file system has nothing to sync, and says that it cannot.
        let proc = Path::new("/proc/self");
        if proc.exists() {
            assert!(File::open("/proc").unwrap().sync_all().is_err());
            assert!(sync_folder_of(proc).is_ok());
        }
    }

    #[test]
    fn who_may_have_put_a_link_depends_on_the_folder() {
        const ROOT: u32 = 0;
        for (link, folder, user, is_another) in [
            (7, (ROOT, 0o777), Some(1), true),
            (7, (ROOT, 0o1777), Some(1), true),
            (7, (ROOT, 0o720), Some(1), true),
            (7, (ROOT, 0o702), Some(1), true),
            (7, (ROOT, 0o755), Some(1), false),
            (7, (7, 0o777), Some(1), false),
            (7, (ROOT, 0o777), Some(7), false),
            (7, (ROOT, 0o777), None, true),
        ] {
            assert_eq!(
                is_of_another(link, folder, user),
                is_another,
                "{link} {folder:?}"
            );
        }
    }

    #[test]
    fn what_could_not_be_written_stays_and_no_other_name_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        for (kept, failed) in [(false, false), (false, true), (true, false)] {
            let file = WholeFile::create(&dir.path().join("x.txt")).unwrap();
            let part = file.part.clone();
            assert!(part.exists() && parts().contains(&part));
            if kept {
                file.keep().unwrap();
            } else {
                let mut file = file;
                file.failed = failed;
            }
            assert_eq!(part.exists(), failed);
            // What stays is not removed at the end of the process either.
            assert!(!parts().contains(&part));
        }
    }

    #[test]
    fn a_link_to_nothing_is_refused_with_where_it_leads() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("absent", &link).unwrap();
        let error = place_of(&link).unwrap_err();
        let refused = error
            .get_ref()
            .and_then(|source| source.downcast_ref::<NoRegularFile>());
        match refused {
            Some(NoRegularFile::Dangling(to)) => assert_eq!(to, Path::new("absent")),
            other => panic!("{other:?}"),
        }
        let folder = place_of(dir.path()).unwrap_err();
        let refused = folder
            .get_ref()
            .and_then(|source| source.downcast_ref::<NoRegularFile>());
        assert!(matches!(refused, Some(NoRegularFile::Exists)));
    }
}
