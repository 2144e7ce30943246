//! Who uses a device or a file.

use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::{Host, backing_of, identity, is_device_of, number, unescaped};
use crate::ioctls::Storage;

/// Who uses a device or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A file system on it is mounted here.
    Mounted {
        /// The device number of the mounted file system, which may be a partition.
        device: String,
        /// Where.
        at: String,
    },
    /// It is swap space.
    Swap,
    /// Another driver sits on it.
    Held {
        /// The name of the device on top, such as `dm-0` or `md127`.
        by: String,
    },
    /// A loop device stores its data in it.
    BacksLoop {
        /// The loop device.
        device: String,
    },
    /// It is a loop device, and its backing storage has another user.
    BackingUsed {
        /// The file or device behind it.
        backing: String,
        /// By whom.
        by: Box<Use>,
    },
    /// The kernel cannot be queried, so this is not known.
    Unknown {
        /// What cannot be read.
        missing: String,
    },
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { device, at } => {
                write!(f, "a file system ({device}) is mounted at {at}")
            }
            Self::Swap => f.write_str("it is used as swap space"),
            Self::Held { by } => write!(f, "it is held by {by}"),
            Self::BacksLoop { device } => write!(f, "it is the backing storage of {device}"),
            Self::BackingUsed { backing, by } => {
                write!(f, "its data are stored in {backing}, which is in use: {by}")
            }
            Self::Unknown { missing } => write!(f, "{missing} cannot be read"),
        }
    }
}

impl Host {
    /// Who uses the block device with this number, a partition of it, or the disk that it is a
    /// partition of.
    pub(crate) fn usage_of_device(&self, rdev: u64) -> Option<Use> {
        let directory = self.device_directory(&number(rdev));
        for needed in [&directory, &self.proc.join("self/mountinfo")] {
            if !needed.exists() {
                let missing = needed.display().to_string();
                return Some(Use::Unknown { missing });
            }
        }
        self.claim_on(rdev, &self.loop_directory(rdev))
    }

    /// Who has a claim on the device with this number or on what it stores its data in, down to the
    /// last loop device; the loop device with the sysfs directory `me` not counted.
    pub(super) fn claim_on(&self, rdev: u64, me: &Path) -> Option<Use> {
        let family = self.family(rdev);
        family
            .iter()
            .find_map(|device| self.mount_of(device))
            .or_else(|| Self::root_on(&family))
            .or_else(|| self.swap_on(&family))
            .or_else(|| family.iter().find_map(|device| self.holder_of(device)))
            .or_else(|| {
                self.loop_on(me, |backing, storage| {
                    let rdev = storage.and_then(|storage| storage.rdev);
                    rdev.is_some_and(|rdev| family.contains(&number(rdev)))
                        || is_device_of(backing, &family)
                })
            })
            .or_else(|| self.shared_backing(&self.loop_directory(rdev)))
    }

    /// Who else uses the storage of the loop device whose sysfs directory is `me`: another loop
    /// device over the same file, or a holder of the device behind it.
    pub(super) fn shared_backing(&self, me: &Path) -> Option<Use> {
        let backing = backing_of(me)?;
        let metadata = fs::metadata(&backing).ok()?;
        let used = if metadata.file_type().is_block_device() {
            self.claim_on(metadata.rdev(), me)
        } else {
            self.usage_of_file_but((metadata.dev(), metadata.ino()), me)
        };
        used.map(|by| Use::BackingUsed {
            backing: backing.display().to_string(),
            by: Box::new(by),
        })
    }

    /// Who uses the regular file at `path` as a whole.
    pub(crate) fn usage_of_file(&self, path: &Path) -> Option<Use> {
        self.usage_of_file_but(identity(path)?, Path::new(""))
    }

    /// As [`usage_of_file`](Self::usage_of_file) of the file with this device and inode, the loop device `me` over it
    /// not counted.
    pub(super) fn usage_of_file_but(&self, mine: (u64, u64), me: &Path) -> Option<Use> {
        self.swap_files()
            .any(|swap| identity(&swap) == Some(mine))
            .then_some(Use::Swap)
            .or_else(|| {
                // The path may be of another mount namespace, or of a link that is gone.
                self.loop_on(me, |backing, storage| {
                    storage
                        .map(|storage| storage.identity)
                        .or_else(|| identity(backing))
                        == Some(mine)
                })
            })
    }

    pub(super) fn mount_of(&self, device: &str) -> Option<Use> {
        let mounts = fs::read_to_string(self.proc.join("self/mountinfo")).ok()?;
        mounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let (&mounted, &at) = (fields.get(2)?, fields.get(4)?);
            // Some file systems (btrfs) show a number of their own; their source names the device.
            let source = line.split_once(" - ")?.1.split(' ').nth(1)?;
            let source = unescaped(source);
            let by_source = || is_device_of(Path::new(&source), &[device.to_owned()]);
            (mounted == device || by_source()).then(|| Use::Mounted {
                device: source.clone(),
                at: unescaped(at),
            })
        })
    }

    /// The running root, where the kernel's table does not show it (in a container).
    pub(super) fn root_on(family: &[String]) -> Option<Use> {
        let device = number(fs::metadata("/").ok()?.dev());
        family.contains(&device).then(|| Use::Mounted {
            device,
            at: "/".to_owned(),
        })
    }

    pub(super) fn swap_files(&self) -> impl Iterator<Item = PathBuf> {
        let swaps = fs::read_to_string(self.proc.join("swaps")).unwrap_or_default();
        let paths: Vec<PathBuf> = swaps
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().next())
            .map(|path| PathBuf::from(unescaped(path)))
            .collect();
        paths.into_iter()
    }

    pub(super) fn swap_on(&self, family: &[String]) -> Option<Use> {
        self.swap_files()
            .any(|swap| is_device_of(&swap, family))
            .then_some(Use::Swap)
    }

    pub(super) fn holder_of(&self, device: &str) -> Option<Use> {
        let holders = fs::read_dir(self.device_directory(device).join("holders")).ok()?;
        let by = holders.flatten().next()?.file_name();
        Some(Use::Held {
            by: by.to_string_lossy().into_owned(),
        })
    }

    /// The loop device, other than the one with the sysfs directory `me`, whose backing file (by its path, and by what
    /// the loop device itself says) is as `wanted`.
    pub(super) fn loop_on(
        &self,
        me: &Path,
        wanted: impl Fn(&Path, Option<Storage>) -> bool,
    ) -> Option<Use> {
        let me = fs::canonicalize(me).ok();
        let devices = fs::read_dir(self.sys.join("block")).ok()?;
        devices.flatten().find_map(|device| {
            let directory = device.path().join("loop");
            let backing = backing_of(&directory)?;
            let other = me.is_none() || fs::canonicalize(&directory).ok() != me;
            let name = device.file_name().to_string_lossy().into_owned();
            (other && wanted(&backing, self.storage_of(&name))).then(|| Use::BacksLoop {
                device: format!("/dev/{name}"),
            })
        })
    }
}
