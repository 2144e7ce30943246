//! Engines: how accesses are submitted to the kernel, and how their completions come back.
//!
//! An engine knows nothing of loads, times and records. The session prepares accesses, submits all
//! prepared ones together, and takes completions when it has nothing better to do.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;

mod access;
mod calls;
mod command;
mod dialect;
mod dry;
mod kind;
mod passthrough;
mod perform;
mod ring_options;
mod simulate;
mod sync;
mod threads;
mod uring;

pub use access::{AccessKind, Durability};
pub(crate) use access::{Done, Engine, IoAccess, Setup};
use calls::Calls;
pub(crate) use dry::Dry;
pub use kind::EngineKind;
use passthrough::Passthrough;
pub use ring_options::{RingOptions, TaskWork};
pub(crate) use simulate::Simulated;
pub use simulate::{ConstantLatency, SimulatedDevice};
pub(crate) use sync::Synchronous;
pub(crate) use threads::ThreadPool;
use uring::Uring;
pub(crate) use uring::{MOST_REGISTERED, is_permitted as ring_is_permitted};

use crate::note::{EngineNote, Note};

/// The engine that was chosen.
pub(crate) enum Chosen {
    Uring(Box<Uring<Calls>>),
    Passthrough(Box<Uring<Passthrough>>),
    Sync(Synchronous),
    Threads(ThreadPool),
    Dry(Dry),
    Simulated(Simulated),
}

pub(crate) fn best_for(files: &[&File]) -> (EngineKind, Vec<Note>) {
    if files.iter().any(|file| is_character_device(file)) {
        return (EngineKind::Passthrough, Vec::new());
    }
    best_of(files.len(), sync::suited(files), uring::is_permitted)
}

/// The engine for this number of block devices and files. Synchronous calls suit those among `suited` better.
fn best_of(
    targets: usize,
    suited: Vec<String>,
    is_ring_permitted: impl FnOnce() -> io::Result<()>,
) -> (EngineKind, Vec<Note>) {
    if !suited.is_empty() && suited.len() == targets {
        return (EngineKind::Sync, vec![EngineNote::SynchronousSuits.into()]);
    }
    let (resolved, mut notes) = match is_ring_permitted() {
        Ok(()) => (EngineKind::IoUring, Vec::new()),
        Err(e) => (
            EngineKind::Threads,
            vec![
                EngineNote::NoRing {
                    error: e.to_string(),
                }
                .into(),
            ],
        ),
    };
    if !suited.is_empty() {
        let engine = resolved;
        notes.push(EngineNote::OneEngineForAll { engine, suited }.into());
    }
    (resolved, notes)
}

/// Of those, only the ones of NVMe namespaces are targets.
fn is_character_device(file: &File) -> bool {
    file.metadata()
        .is_ok_and(|m| m.file_type().is_char_device())
}

/// Sets an engine up.
pub(crate) fn set_up(
    kind: EngineKind,
    setup: &Setup<'_>,
    devices: Vec<Box<dyn SimulatedDevice>>,
) -> io::Result<Chosen> {
    Ok(match kind {
        EngineKind::Threads => Chosen::Threads(ThreadPool::new(setup)?),
        EngineKind::Auto | EngineKind::IoUring => {
            let instead = "use --engine threads instead";
            Chosen::Uring(Box::new(
                Uring::new(setup).map_err(|e| not_set_up(&e, instead))?,
            ))
        }
        EngineKind::Passthrough => {
            let instead = "use the namespace's block device instead";
            Chosen::Passthrough(Box::new(
                Uring::new(setup).map_err(|e| not_set_up(&e, instead))?,
            ))
        }
        EngineKind::Sync => Chosen::Sync(Synchronous::new(setup)?),
        EngineKind::Dry => Chosen::Dry(Dry::default()),
        EngineKind::Simulate => Chosen::Simulated(Simulated::new(devices)),
    })
}

/// Why there is no ring, and what does without.
fn not_set_up(error: &io::Error, instead: &str) -> io::Error {
    let why = match error.raw_os_error() {
        Some(libc::EPERM) => " (forbidden by sysctl kernel.io_uring_disabled or a seccomp filter)",
        Some(libc::ENOSYS) => " (the kernel does not support io_uring)",
        Some(libc::ENOMEM) => " (ulimit -l may be too low)",
        _ => "",
    };
    io::Error::new(error.kind(), format!("{error}{why}; {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_that_is_not_there_is_explained() {
        for (errno, why) in [
            (
                libc::EPERM,
                " (forbidden by sysctl kernel.io_uring_disabled",
            ),
            (libc::ENOSYS, " (the kernel does not support io_uring)"),
            (libc::ENOMEM, " (ulimit -l may be too low)"),
            (libc::EIO, "; do without"),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            let explained = not_set_up(&error, "do without");
            assert_eq!(explained.kind(), error.kind());
            let text = explained.to_string();
            assert!(text.starts_with(&format!("{error}{why}")), "{text}");
            assert!(text.ends_with("; do without"), "{text}");
        }
    }

    #[test]
    fn only_a_character_device_takes_commands() {
        let file = tempfile::tempfile().unwrap();
        let device = File::open("/dev/null").unwrap();
        assert_ne!(best_for(&[&file]).0, EngineKind::Passthrough);
        assert_eq!(best_for(&[&file, &device]).0, EngineKind::Passthrough);
    }

    #[test]
    fn synchronous_calls_are_chosen_if_they_suit_all_targets_and_noted_if_they_suit_some() {
        use EngineKind::{IoUring, Sync, Threads};
        let zram = || "zram0".to_owned();
        let refused = || io::Error::from_raw_os_error(libc::EPERM);
        let no_ring = || EngineNote::NoRing {
            error: refused().to_string(),
        };
        let one_for_all = |engine| EngineNote::OneEngineForAll {
            engine,
            suited: vec![zram()],
        };
        let suits = EngineNote::SynchronousSuits;
        for (targets, suited, has_ring, engine, notes) in [
            (0, vec![], true, IoUring, vec![]),
            (1, vec![], true, IoUring, vec![]),
            (1, vec![], false, Threads, vec![no_ring()]),
            (1, vec![zram()], true, Sync, vec![suits.clone()]),
            (2, vec![zram(), zram()], false, Sync, vec![suits]),
            (2, vec![zram()], true, IoUring, vec![one_for_all(IoUring)]),
            (
                2,
                vec![zram()],
                false,
                Threads,
                vec![no_ring(), one_for_all(Threads)],
            ),
        ] {
            let ring = || if has_ring { Ok(()) } else { Err(refused()) };
            let notes: Vec<Note> = notes.into_iter().map(Note::from).collect();
            let best = best_of(targets, suited, ring);
            assert_eq!(best, (engine, notes), "{targets} {has_ring}");
        }
    }
}
