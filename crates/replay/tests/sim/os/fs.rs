//! Files that the replay writes, and those in which the kernel shows what it counts.

use std::io::{self, Write};
use std::path::Path;

use crate::os::linux::fs as real;
use crate::sim::world::{Current, current};

pub(crate) enum File {
    Real(std::fs::File),
    Simulated(usize),
    /// What the kernel shows.
    Shown(&'static str),
}

const SHOWN: [&str; 2] = ["/proc/thread-self/schedstat", "/proc/loadavg"];

impl File {
    pub(crate) fn open(path: &str) -> io::Result<Self> {
        if current().is_none() {
            return std::fs::File::open(path).map(Self::Real);
        }
        let shown = SHOWN.into_iter().find(|shown| *shown == path);
        shown.map(Self::Shown).ok_or(io::ErrorKind::NotFound.into())
    }

    pub(crate) fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    pub(crate) fn sync_data(&self) -> io::Result<()> {
        let file = match self {
            Self::Real(file) => return file.sync_data(),
            Self::Simulated(file) => *file,
            Self::Shown(_) => return Ok(()),
        };
        let Some(Current { world, thread }) = current() else {
            return Ok(());
        };
        let (length, time) = {
            let mut state = world.lock();
            (
                state.files.all[file].bytes.len(),
                state.random.magnitude(5_000_000),
            )
        };
        world.sleep(thread, time);
        let mut state = world.lock();
        if state.files.all[file].has_failed {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        state.files.all[file].synced = length;
        Ok(())
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("File")
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match self {
            Self::Real(file) => return file.write(bytes),
            Self::Simulated(file) => *file,
            Self::Shown(_) => return Err(io::ErrorKind::PermissionDenied.into()),
        };
        let Some(Current { world, thread }) = current() else {
            return Ok(bytes.len());
        };
        world.step(thread);
        let mut state = world.lock();
        let refusals = state.scenario.refusals;
        if state.random.chance(refusals) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = match state.random.chance(refusals) {
            true => 1 + state.random.below(bytes.len() as u64) as usize,
            false => usize::MAX,
        };
        state.files.all[file].writer = Some(thread);
        state.files.write(file, bytes, most)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Creates a file, which must not exist, to be written.
pub(crate) fn create_new(path: &Path) -> io::Result<File> {
    match current() {
        Some(Current { world, thread }) => {
            world.step(thread);
            let mut state = world.lock();
            let room = state.scenario.log_room;
            state.files.create(path, room).map(File::Simulated)
        }
        None => real::create_new(path).map(File::Real),
    }
}

pub(crate) fn read_beginning(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    let shown = match file {
        File::Real(file) => return real::read_beginning(file, bytes),
        File::Simulated(_) => return Ok(0),
        File::Shown(shown) => *shown,
    };
    let Some(Current { world, .. }) = current() else {
        return Ok(0);
    };
    let mut state = world.lock();
    let rivals = state.scenario.rivals && state.random.chance(600);
    let used = state.steps * 100;
    let text = match shown {
        "/proc/loadavg" if rivals => "0.20 0.18 0.12 70/80 11206\n".to_owned(),
        "/proc/loadavg" => "0.20 0.18 0.12 1/80 11206\n".to_owned(),
        _ if rivals => format!("{used} {} {}\n", state.now, state.steps / 100),
        _ => format!("{used} 0 {}\n", state.steps / 100),
    };
    let n = text.len().min(bytes.len());
    bytes[..n].copy_from_slice(&text.as_bytes()[..n]);
    Ok(n)
}

pub(crate) fn read_to_string(path: &str) -> io::Result<String> {
    match (current(), path) {
        (None, _) => real::read_to_string(path),
        (_, "/sys/devices/system/cpu/online") => Ok("0-1\n".to_owned()),
        _ => Ok("nonvoluntary_ctxt_switches:\t3\n".to_owned()),
    }
}

pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
    match current() {
        Some(Current { world, .. }) => world.lock().files.remove(path),
        None => real::remove_file(path),
    }
}

pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    match current() {
        Some(Current { world, thread }) => {
            world.step(thread);
            Ok(())
        }
        None => real::sync_folder_of(path),
    }
}
