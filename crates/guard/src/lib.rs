//! Nothing is damaged: what speaks against using a target is found before it is opened for use.
//!
//! A block device is refused if it, a partition of it, or the disk it is a partition of
//!
//! - holds a mounted file system or swap space,
//! - is held by another driver (device mapper, md, bcache: `holders` in sysfs),
//! - backs a loop device,
//! - is opened exclusively by another process (checked by opening it exclusively).
//!
//! The character device of an NVMe namespace is used as its block device may be, which is claimed meanwhile.
//!
//! That holds for reads too: they would disturb its users, and measure both. To be written
//! to, a target must besides
//!
//! - not be open for writing in another process, and take writes,
//! - hold no data: a device neither signatures nor anything else (`contents` says where it is looked at), a
//!   regular file nothing but zeros; unless the user names the very target as one to be destroyed.
//!
//! What the kernel knows is read from `/proc` and `/sys`; [`Host`] can be given other roots, so
//! that tests can describe devices that a machine does not have.

mod contents;
mod error;
mod host;
mod ioctls;
mod lease;
mod openers;
pub mod privileges;
mod signature;
pub mod tag;

pub use error::GuardError;
pub use host::{Host, Partition, QueueCounters};
pub use lease::Lease;
pub use openers::Opener;

use std::fs::{File, Metadata};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use iosonar_linux::calls;
use iosonar_units::{Bytes, folder_of};

use contents::{Content, Looked};
use host::usage::Use;

/// What may be done to a target.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    /// Whether it is written to.
    pub write: bool,
    /// The targets whose contents may be lost.
    pub destroy: Vec<PathBuf>,
    /// Whether the page cache may be used (results are fake then).
    pub buffered: bool,
    /// What the user calls the target.
    pub target_name: TargetName,
    /// Whether the command has no option that creates a file.
    pub only_existing: bool,
}

/// How the user names a target, where that is not by the path at which it is opened.
#[derive(Clone, Debug, Default)]
pub struct TargetName {
    /// The host before its path, for a target of a replay that another machine coordinates.
    pub host: Option<String>,
    /// Another path, as that of the character device of an NVMe namespace.
    pub path: Option<PathBuf>,
}

impl TargetName {
    /// The name of the target at `path`, as the user gives it to an option.
    fn of(&self, path: &Path) -> String {
        let path = self.path.as_deref().unwrap_or(path).display();
        match &self.host {
            Some(host) => format!("{host}:{path}"),
            None => path.to_string(),
        }
    }
}

/// How long a process that has a target open may take to close it: one that merely asks a device what it is soon does.
const OPENER_TRIES: u32 = 10;
const OPENER_INTERVAL: Duration = Duration::from_millis(50);

/// Why a device or file is refused, and what to do about it.
fn in_use(path: &Path, usage: &Use, way_out: &str) -> String {
    let shown = path.display();
    match usage {
        Use::Unknown { .. } => format!(
            "{shown} may be in use: {usage}, so this cannot be ruled out. Mount the file system that contains it, or run as a user who \
             can read it"
        ),
        _ => format!("{shown} is in use: {usage}. {way_out}"),
    }
}

/// Why a device that takes no writes is refused. A command of the system acts on the machine that it is run on.
fn read_only(path: &Path, name: &TargetName) -> String {
    let shown = path.display();
    let place = match &name.host {
        Some(host) => format!("on {host}: "),
        None => String::new(),
    };
    format!(
        "{shown} is read-only; choose another target, or make it writable ({place}blockdev --setrw {shown})"
    )
}

/// Refuses targets in use, and files that cannot be targets, without opening them.
///
/// # Errors
/// [`GuardError::Refused`], with the reason and the way out.
pub fn refuse_used(host: &Host, path: &Path, metadata: &Metadata) -> Result<(), GuardError> {
    let shown = path.display();
    let kind = metadata.file_type();
    let reason = if kind.is_block_device() {
        let way_out = "iosonar never accesses a device that is in use, not even for reading; unmount or detach it first";
        let usage = host.usage_of_device(metadata.rdev());
        usage.map(|usage| in_use(path, &usage, way_out))
    } else if kind.is_file() {
        let way_out = "Detach the device that uses it first, or give that device as the target";
        let usage = host.usage_of_file(path);
        usage.map(|usage| in_use(path, &usage, way_out))
    } else {
        Some(format!(
            "{shown} is neither a block device nor a regular file"
        ))
    };
    reason.map_or(Ok(()), |reason| Err(GuardError::Refused(reason)))
}

/// Refuses what must not be used as `intent` says. `file` is the target, opened for reading.
///
/// # Errors
/// [`GuardError::Refused`], with the reason and the way out.
pub fn examine(host: &Host, path: &Path, file: &File, intent: &Intent) -> Result<(), GuardError> {
    let refuse = |reason: String| Err(GuardError::Refused(reason));
    let metadata = file.metadata().map_err(|source| GuardError::Io {
        path: path.to_owned(),
        action: "examine it",
        source,
    })?;
    refuse_used(host, path, &metadata)?;
    let shown = path.display();
    if !intent.write {
        return Ok(());
    }
    if metadata.file_type().is_block_device() && calls::is_read_only(file).unwrap_or(false) {
        return refuse(read_only(path, &intent.target_name));
    }
    refuse_written(host, path, &metadata)?;
    if destroyable(&metadata, intent) {
        return Ok(());
    }
    match held(file, &metadata) {
        None => Ok(()),
        Some(data) => refuse(format!(
            "{shown} holds {data}, which writing would destroy. To allow this, use --destroy {}{}",
            intent.target_name.of(path),
            if metadata.is_file() && !intent.only_existing {
                "; or create a new file with --create SIZE"
            } else {
                ""
            }
        )),
    }
}

/// The processes other than this one that have the target open for writing.
pub fn writers(host: &Host, metadata: &Metadata) -> Vec<Opener> {
    let mut writers = host.openers(metadata);
    writers.retain(|opener| opener.writes);
    writers
}

/// These processes, as words.
pub fn named(openers: &[Opener]) -> String {
    const MOST: usize = 4;
    let shown = openers.iter().take(MOST).map(Opener::to_string);
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if let more @ 1.. = openers.len().saturating_sub(MOST) {
        text += &format!(" and {more} more");
    }
    text
}

/// Refuses to write to what another process may write to.
fn refuse_written(host: &Host, path: &Path, metadata: &Metadata) -> Result<(), GuardError> {
    let mut writers = writers(host, metadata);
    for _ in 1..OPENER_TRIES {
        if writers.is_empty() {
            return Ok(());
        }
        std::thread::sleep(OPENER_INTERVAL);
        writers = self::writers(host, metadata);
    }
    if writers.is_empty() {
        return Ok(());
    }
    Err(GuardError::Refused(format!(
        "{} is open for writing in another process: {}. That process and iosonar would overwrite each other's data, \
         which --destroy does not allow. Stop that process first",
        path.display(),
        named(&writers)
    )))
}

/// What is on a target, as words; `None` if it is no data.
fn held(mut file: &File, metadata: &Metadata) -> Option<String> {
    if metadata.is_file() {
        let size = metadata.len();
        let extents = contents::allocated(file, size);
        let bytes = contents::length(&extents);
        return match contents::contents(file, size, &extents, contents::WHOLE_FILE) {
            Ok(Looked::Everywhere) => None,
            Ok(Looked::InPlaces) => Some(format!(
                "{bytes} bytes, too many to check in full (all bytes checked are zero)"
            )),
            Err(Content { what, at }) => Some(format!("{bytes} bytes of data (byte {at}: {what})")),
        };
    }
    let unknown = || "an unknown amount of data (its size cannot be determined)".to_owned();
    let Ok(size) = file.seek(SeekFrom::End(0)) else {
        return Some(unknown());
    };
    let all = 0..size;
    let all = std::slice::from_ref(&all);
    let found = contents::contents(file, size, all, contents::WHOLE_DEVICE);
    found.err().map(|content| content.to_string())
}

/// How much room there is for a file at `path`; `None` if not known.
pub fn free_space(path: &Path) -> Option<Bytes> {
    let told = rustix::fs::statvfs(folder_of(path)).ok()?;
    Some(Bytes::new(told.f_bavail.saturating_mul(told.f_frsize)))
}

/// Whether the user named the very target (by whatever path) as one to be destroyed.
pub fn destroyable(target: &Metadata, intent: &Intent) -> bool {
    intent.destroy.iter().any(|path| {
        std::fs::metadata(path)
            .is_ok_and(|named| named.dev() == target.dev() && named.ino() == target.ino())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_named_as_the_user_names_it() {
        let there = |path: Option<&str>| TargetName {
            host: Some("node1".to_owned()),
            path: path.map(PathBuf::from),
        };
        let device = Path::new("/dev/nvme0n1");
        assert_eq!(TargetName::default().of(device), "/dev/nvme0n1");
        assert_eq!(there(None).of(device), "node1:/dev/nvme0n1");
        assert_eq!(there(Some("/dev/ng0n1")).of(device), "node1:/dev/ng0n1");
        let refusal = read_only(device, &there(None));
        assert!(
            refusal.ends_with("(on node1: blockdev --setrw /dev/nvme0n1)"),
            "{refusal}"
        );
        let refusal = read_only(device, &TargetName::default());
        assert!(
            refusal.ends_with("(blockdev --setrw /dev/nvme0n1)"),
            "{refusal}"
        );
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
