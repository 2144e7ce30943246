//! Which other processes have a device or file open: the kernel gives a device that one of them merely has open
//! to another, even exclusively.

use std::fmt;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev};

use crate::Host;

/// A process that has the target open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opener {
    /// Its id.
    pub process: u32,
    /// The name of its program.
    pub name: String,
    /// Whether it can write.
    pub writes: bool,
}

impl fmt::Display for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.process)
    }
}

/// What a process may have open that is the target or a part of it.
#[derive(Debug, Default)]
struct Wanted {
    /// Numbers of block devices.
    devices: Vec<u64>,
    /// Numbers of character devices of the same NVMe namespaces.
    namespaces: Vec<u64>,
    /// Device and inode of a regular file.
    file: Option<(u64, u64)>,
}

impl Host {
    /// The processes other than this one that have the target with this `metadata` open; of a block device also a
    /// partition of it, the disk that it is a partition of, the file behind it, or the character device of its NVMe
    /// namespace. Of other users' processes only root
    /// can know.
    pub fn openers(&self, metadata: &fs::Metadata) -> Vec<Opener> {
        let mut wanted = Wanted::default();
        if metadata.file_type().is_block_device() {
            // Of a loop device, what is behind it, down to the last.
            let mut device = metadata.rdev();
            while !wanted.devices.contains(&device) {
                wanted.devices.extend(self.family_numbers(device));
                let backing = self.loop_backing(device);
                let backing = backing.and_then(|(path, _)| fs::metadata(path).ok());
                match backing.filter(|m| m.file_type().is_block_device()) {
                    Some(behind) => device = behind.rdev(),
                    None => wanted.file = self.loop_storage(device),
                }
            }
            let devices = wanted.devices.iter();
            wanted.namespaces = devices
                .filter_map(|&device| self.character_device_of(device))
                .collect();
        } else {
            wanted.file = Some((metadata.dev(), metadata.ino()));
        }
        let me = std::process::id();
        let processes = fs::read_dir(self.proc()).into_iter().flatten().flatten();
        processes
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
            .filter(|&process| process != me)
            .filter_map(|process| self.opener(process, &wanted))
            .collect()
    }

    fn opener(&self, process: u32, wanted: &Wanted) -> Option<Opener> {
        let directory = self.proc().join(process.to_string());
        let descriptors = fs::read_dir(directory.join("fd")).ok()?;
        let mut writes = None;
        for descriptor in descriptors.flatten() {
            if wanted.holds(&descriptor.path()) {
                let info = directory.join("fdinfo").join(descriptor.file_name());
                writes = writes.max(Some(is_for_writing(&info)));
            }
        }
        let name = fs::read_to_string(directory.join("comm")).unwrap_or_default();
        writes.map(|writes| Opener {
            process,
            name: name.trim_end().to_owned(),
            writes,
        })
    }
}

impl Wanted {
    /// Whether what is open behind this link of `/proc/PID/fd` is the target.
    fn holds(&self, link: &Path) -> bool {
        // What the kernel knows already: a file server that does not answer is not waited for.
        let flags = AtFlags::STATX_DONT_SYNC;
        let Ok(stat) = rustix::fs::statx(CWD, link, flags, StatxFlags::BASIC_STATS) else {
            return false;
        };
        match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::BlockDevice => {
                let number = makedev(stat.stx_rdev_major, stat.stx_rdev_minor);
                self.devices.contains(&number)
            }
            FileType::CharacterDevice => {
                let number = makedev(stat.stx_rdev_major, stat.stx_rdev_minor);
                self.namespaces.contains(&number)
            }
            FileType::RegularFile => {
                let device = makedev(stat.stx_dev_major, stat.stx_dev_minor);
                self.file == Some((device, stat.stx_ino))
            }
            _ => false,
        }
    }
}

/// Whether a descriptor with this `fdinfo` can write: the access mode is in the last two bits of its flags. One that
/// is gone cannot.
fn is_for_writing(info: &Path) -> bool {
    let text = fs::read_to_string(info).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    flags
        .is_some_and(|flags| u32::from_str_radix(flags.trim(), 8).is_ok_and(|flags| flags & 3 != 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A machine on which process 42 has `open` with these flags.
    fn machine(folder: &Path, open: &Path, flags: &str) -> Host {
        let process = folder.join("proc/42");
        for directory in ["fd", "fdinfo"] {
            fs::create_dir_all(process.join(directory)).unwrap();
        }
        symlink(open, process.join("fd/5")).unwrap();
        fs::write(
            process.join("fdinfo/5"),
            format!("pos:\t0\nflags:\t{flags}\n"),
        )
        .unwrap();
        fs::write(process.join("comm"), "qemu\n").unwrap();
        Host::at(folder.join("proc"), folder.join("sys"))
    }

    #[test]
    fn a_process_is_found_by_the_file_that_it_has_open_whatever_its_name() {
        for (flags, writes) in [("0100002", true), ("02000001", true), ("0100000", false)] {
            let folder = tempfile::tempdir().unwrap();
            let (file, link) = (folder.path().join("a"), folder.path().join("b"));
            fs::write(&file, "x").unwrap();
            fs::hard_link(&file, &link).unwrap();
            let host = machine(folder.path(), &link, flags);
            let openers = host.openers(&fs::metadata(&file).unwrap());
            let name = "qemu".to_owned();
            assert_eq!(
                openers,
                [Opener {
                    process: 42,
                    name,
                    writes
                }]
            );
            assert_eq!(openers[0].to_string(), "qemu (process 42)");
        }
    }

    #[test]
    fn other_files_and_this_process_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let (file, other) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&file, "x").unwrap();
        fs::write(&other, "x").unwrap();
        let host = machine(folder.path(), &other, "02");
        assert_eq!(host.openers(&fs::metadata(&file).unwrap()), []);
        let open = fs::File::options().write(true).open(&file).unwrap();
        assert_eq!(Host::default().openers(&open.metadata().unwrap()), []);
    }
}
