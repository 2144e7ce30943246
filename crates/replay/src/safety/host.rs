//! What the kernel says about who uses a device.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};

/// The kernel's own account of the machine.
#[derive(Clone, Debug)]
pub struct Host {
    proc: PathBuf,
    sys: PathBuf,
}

impl Default for Host {
    /// This machine.
    fn default() -> Self {
        Self::at("/proc".into(), "/sys".into())
    }
}

/// Who uses a device or file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Use {
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
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { device, at } => {
                write!(f, "a file system ({device}) is mounted at {at}")
            }
            Self::Swap => f.write_str("it is swap space"),
            Self::Held { by } => write!(f, "it is held by {by}"),
            Self::BacksLoop { device } => write!(f, "it is the storage of {device}"),
        }
    }
}

impl Host {
    /// A machine whose kernel files are below these directories.
    pub fn at(proc: PathBuf, sys: PathBuf) -> Self {
        Self { proc, sys }
    }

    /// Who uses the block device with this number, a partition of it, or the disk that it is a
    /// partition of.
    pub fn usage_of_device(&self, rdev: u64) -> Option<Use> {
        let family = self.family(rdev);
        family
            .iter()
            .find_map(|device| self.mount_of(device))
            .or_else(|| self.swap_on(&family))
            .or_else(|| family.iter().find_map(|device| self.holder_of(device)))
            .or_else(|| self.loop_on(|backing| is_device_of(backing, &family)))
    }

    /// Who uses the regular file at `path` as a whole.
    pub fn usage_of_file(&self, path: &Path) -> Option<Use> {
        let identity = |path: &Path| fs::metadata(path).ok().map(|m| (m.dev(), m.ino()));
        let mine = identity(path)?;
        self.swap_files()
            .any(|swap| identity(&swap) == Some(mine))
            .then_some(Use::Swap)
            .or_else(|| self.loop_on(|backing| identity(backing) == Some(mine)))
    }

    /// Where the loop device with this number stores its data, and whether it bypasses the page
    /// cache; `None` if it is no loop device.
    pub fn loop_backing(&self, rdev: u64) -> Option<(PathBuf, bool)> {
        let directory = self.device_directory(&number(rdev)).join("loop");
        let backing = fs::read_to_string(directory.join("backing_file")).ok()?;
        let direct = fs::read_to_string(directory.join("dio")).is_ok_and(|dio| dio.trim() == "1");
        Some((PathBuf::from(backing.trim_end()), direct))
    }

    fn device_directory(&self, number: &str) -> PathBuf {
        self.sys.join("dev/block").join(number)
    }

    /// The device itself, its partitions, and the disk that it is a partition of.
    fn family(&self, rdev: u64) -> Vec<String> {
        let me = number(rdev);
        let directory = self.device_directory(&me);
        let number_in = |dir: &Path| {
            let text = fs::read_to_string(dir.join("dev")).ok()?;
            Some(text.trim().to_owned())
        };
        let mut family = vec![me];
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if entry.path().join("partition").exists() {
                family.extend(number_in(&entry.path()));
            }
        }
        if directory.join("partition").exists()
            && let Ok(real) = fs::canonicalize(&directory)
            && let Some(disk) = real.parent()
        {
            family.extend(number_in(disk));
        }
        family
    }

    fn mount_of(&self, device: &str) -> Option<Use> {
        let mounts = fs::read_to_string(self.proc.join("self/mountinfo")).ok()?;
        mounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let (&mounted, &at) = (fields.get(2)?, fields.get(4)?);
            // Some file systems (btrfs) show a number of their own; their source names the device.
            let source = line.split_once(" - ")?.1.split(' ').nth(1)?;
            let by_source = || is_device_of(Path::new(source), &[device.to_owned()]);
            (mounted == device || by_source()).then(|| Use::Mounted {
                device: source.to_owned(),
                at: at.to_owned(),
            })
        })
    }

    fn swap_files(&self) -> impl Iterator<Item = PathBuf> {
        let swaps = fs::read_to_string(self.proc.join("swaps")).unwrap_or_default();
        let paths: Vec<PathBuf> = swaps
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().next())
            .map(PathBuf::from)
            .collect();
        paths.into_iter()
    }

    fn swap_on(&self, family: &[String]) -> Option<Use> {
        self.swap_files()
            .any(|swap| is_device_of(&swap, family))
            .then_some(Use::Swap)
    }

    fn holder_of(&self, device: &str) -> Option<Use> {
        let holders = fs::read_dir(self.device_directory(device).join("holders")).ok()?;
        let by = holders.flatten().next()?.file_name();
        Some(Use::Held {
            by: by.to_string_lossy().into_owned(),
        })
    }

    /// The loop device whose backing file is as `wanted`.
    fn loop_on(&self, wanted: impl Fn(&Path) -> bool) -> Option<Use> {
        let devices = fs::read_dir(self.sys.join("block")).ok()?;
        devices.flatten().find_map(|device| {
            let backing = fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
            wanted(Path::new(backing.trim_end())).then(|| Use::BacksLoop {
                device: format!("/dev/{}", device.file_name().to_string_lossy()),
            })
        })
    }
}

/// `MAJOR:MINOR`, as the kernel's files write it.
fn number(rdev: u64) -> String {
    format!("{}:{}", major(rdev), minor(rdev))
}

/// Whether `path` is the node of a block device in `family`.
fn is_device_of(path: &Path, family: &[String]) -> bool {
    use std::os::unix::fs::FileTypeExt;
    fs::metadata(path)
        .is_ok_and(|m| m.file_type().is_block_device() && family.contains(&number(m.rdev())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::makedev;
    use std::os::unix::fs::symlink;

    /// A machine with one disk sda (8:0), its partitions sda1 (8:1) and sda2 (8:2), and sdb (8:16).
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            for (disk, name, dev) in [
                ("sda", "", "8:0"),
                ("sda", "sda1", "8:1"),
                ("sda", "sda2", "8:2"),
                ("sdb", "", "8:16"),
            ] {
                let directory = machine.path("sys/devices/pci").join(disk).join(name);
                fs::create_dir_all(directory.join("holders")).unwrap();
                fs::write(directory.join("dev"), format!("{dev}\n")).unwrap();
                if !name.is_empty() {
                    fs::write(directory.join("partition"), "1\n").unwrap();
                }
                fs::create_dir_all(machine.path("sys/dev/block")).unwrap();
                symlink(&directory, machine.path("sys/dev/block").join(dev)).unwrap();
            }
            fs::create_dir_all(machine.path("sys/block")).unwrap();
            fs::create_dir_all(machine.path("proc/self")).unwrap();
            machine
        }

        fn path(&self, below: &str) -> PathBuf {
            self.0.path().join(below)
        }

        fn host(&self) -> Host {
            Host::at(self.path("proc"), self.path("sys"))
        }

        fn mount(&self, device: &str) {
            let line = format!("22 1 {device} / /data rw,relatime shared:1 - ext4 /dev/sdx rw\n");
            fs::write(self.path("proc/self/mountinfo"), line).unwrap();
        }
    }

    const SDA: u64 = 8 << 8;

    #[test]
    fn device_numbers_are_as_the_kernel_counts() {
        assert_eq!(makedev(8, 0), SDA);
    }

    #[test]
    fn an_unused_disk_may_be_used() {
        assert_eq!(Machine::new().host().usage_of_device(SDA), None);
    }

    #[test]
    fn a_disk_is_in_use_if_it_or_a_partition_of_it_is_mounted() {
        let machine = Machine::new();
        for mounted in ["8:0", "8:2"] {
            machine.mount(mounted);
            let usage = machine.host().usage_of_device(SDA).unwrap();
            assert!(usage.to_string().contains("mounted at /data"), "{usage}");
        }
        assert_eq!(machine.host().usage_of_device(makedev(8, 16)), None);
    }

    #[test]
    fn a_partition_is_in_use_if_its_disk_is_but_not_if_its_sister_is() {
        let machine = Machine::new();
        machine.mount("8:0");
        assert!(machine.host().usage_of_device(makedev(8, 1)).is_some());
        machine.mount("8:2");
        assert_eq!(machine.host().usage_of_device(makedev(8, 1)), None);
    }

    #[test]
    fn a_held_partition_makes_its_disk_held() {
        let machine = Machine::new();
        fs::write(machine.path("sys/devices/pci/sda/sda1/holders/md127"), "").unwrap();
        let usage = machine.host().usage_of_device(SDA).unwrap();
        assert_eq!(usage.to_string(), "it is held by md127");
    }

    #[test]
    fn the_file_behind_a_loop_device_is_in_use() {
        let machine = Machine::new();
        let file = machine.path("disk.img");
        fs::write(&file, "x").unwrap();
        assert_eq!(machine.host().usage_of_file(&file), None);
        let directory = machine.path("sys/block/loop3/loop");
        fs::create_dir_all(&directory).unwrap();
        let shown = format!("{}\n", file.display());
        fs::write(directory.join("backing_file"), shown).unwrap();
        let usage = machine.host().usage_of_file(&file).unwrap();
        assert_eq!(usage.to_string(), "it is the storage of /dev/loop3");
    }

    #[test]
    fn a_swap_file_is_in_use() {
        let machine = Machine::new();
        let file = machine.path("swapfile");
        fs::write(&file, "x").unwrap();
        let table = format!(
            "Filename\tType\tSize\tUsed\tPriority\n{}\tfile\t1\t0\t-2\n",
            file.display()
        );
        fs::write(machine.path("proc/swaps"), table).unwrap();
        assert_eq!(machine.host().usage_of_file(&file), Some(Use::Swap));
    }
}
