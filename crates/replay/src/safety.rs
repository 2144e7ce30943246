//! Nothing is damaged: what speaks against using a target is found before it is opened for use.
//!
//! A block device is refused if it, a partition of it, or the disk it is a partition of
//!
//! - holds a mounted file system or swap space,
//! - is held by another driver (device mapper, md, bcache: `holders` in sysfs),
//! - backs a loop device,
//! - is opened exclusively by somebody (checked by opening it exclusively ourselves).
//!
//! That holds for reads too: they would disturb whoever uses it, and measure both. To be written
//! to, a device must besides be free of partition tables, file-system signatures and any other data in
//! its first and last MiB, and a regular file must be new or empty, unless the user names the very target as one to be destroyed.
//!
//! What the kernel knows is read from `/proc` and `/sys`; [`Host`] can be given other roots, so
//! that tests can tell of devices that a machine does not have.

mod advice;
mod devices;
mod host;
mod signature;

pub use advice::advice;
pub use devices::Listed;
pub use host::{Host, Partition, QueueCounters, Use};
pub use signature::signature;

use std::fs::{File, Metadata};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;

use iosonar_units::Bytes;

use crate::{Intent, ReplayError};

/// Refuses what somebody uses, and what is no target at all. Nothing is opened for it.
///
/// # Errors
/// [`ReplayError::Refused`], with the reason and the way out.
pub fn refuse_used(host: &Host, path: &Path, metadata: &Metadata) -> Result<(), ReplayError> {
    let shown = path.display();
    let kind = metadata.file_type();
    let reason = if kind.is_block_device() {
        host.usage_of_device(metadata.rdev()).map(|usage| {
            format!(
                "{shown} is in use: {usage}. iosonar never touches a device that is in use, not even \
                 to read; unmount or detach it first"
            )
        })
    } else if kind.is_file() {
        host.usage_of_file(path).map(|usage| {
            format!(
                "{shown} is in use: {usage}. Detach it first, or name the device itself as the target"
            )
        })
    } else {
        Some(format!(
            "{shown} is neither a block device nor a regular file"
        ))
    };
    reason.map_or(Ok(()), |reason| Err(ReplayError::Refused(reason)))
}

/// Refuses what must not be used as `intent` says. `file` is the target, opened for reading.
///
/// # Errors
/// [`ReplayError::Refused`], with the reason and the way out.
pub fn examine(host: &Host, path: &Path, file: &File, intent: &Intent) -> Result<(), ReplayError> {
    let refuse = |reason: String| Err(ReplayError::Refused(reason));
    let metadata = file.metadata().map_err(|source| ReplayError::Io {
        path: path.to_owned(),
        action: "examine it",
        source,
    })?;
    refuse_used(host, path, &metadata)?;
    let (shown, kind) = (path.display(), metadata.file_type());
    if !intent.write || destroyable(&metadata, intent) {
        return Ok(());
    }
    if kind.is_file() && metadata.len() > 0 {
        return refuse(format!(
            "{shown} holds {} bytes of data, which writing would destroy. If they may be lost, say \
             --destroy {shown}; or have a new file made with --create SIZE",
            metadata.len()
        ));
    }
    let read_at = |buffer: &mut [u8], offset| file.read_at(buffer, offset);
    if kind.is_block_device()
        && let Some(content) = signature(read_at).or_else(|| unknown_data(file))
    {
        return refuse(format!(
            "{shown} holds {content}, which writing would destroy. If it may be lost, say \
             --destroy {shown}"
        ));
    }
    Ok(())
}

/// How much room there is for a file at `path`; `None` if nobody knows.
pub fn free_space(path: &Path) -> Option<Bytes> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let told = rustix::fs::statvfs(folder.unwrap_or(Path::new("."))).ok()?;
    Some(Bytes::new(told.f_bavail.saturating_mul(told.f_frsize)))
}

/// Whether the first or the last MiB of a device is anything but zeros: nobody's signature that we
/// know, and still somebody's data.
fn unknown_data(mut device: &File) -> Option<&'static str> {
    const PIECE: u64 = 1 << 20;
    let size = device.seek(SeekFrom::End(0)).ok()?;
    let mut piece = vec![0; PIECE as usize];
    [0, size.saturating_sub(PIECE)]
        .into_iter()
        .any(|offset| match device.read_at(&mut piece, offset) {
            Err(_) => true,
            Ok(read) => piece[..read].iter().any(|&byte| byte != 0),
        })
        .then_some("data of a kind that is not known here")
}

/// Whether the user named the very target (by whatever path) as one to be destroyed.
fn destroyable(target: &Metadata, intent: &Intent) -> bool {
    intent.destroy.iter().any(|path| {
        std::fs::metadata(path)
            .is_ok_and(|named| named.dev() == target.dev() && named.ino() == target.ino())
    })
}
