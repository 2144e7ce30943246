//! What the kernel says about who uses a device.

pub(crate) mod usage;

use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use iosonar_units::{Sectors, folder_of};
use rustix::fs::{major, makedev, minor};

use crate::ioctls::{Storage, loop_storage};

/// The kernel's own account of the machine.
#[derive(Clone, Debug)]
pub struct Host {
    proc: PathBuf,
    sys: PathBuf,
    /// Where devices can be opened, if the machine is this one.
    dev: Option<PathBuf>,
}

impl Default for Host {
    /// This machine.
    fn default() -> Self {
        Self {
            dev: Some("/dev".into()),
            ..Self::at("/proc".into(), "/sys".into())
        }
    }
}

/// What a device has done since it was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Reads and writes.
    pub requests: u64,
    /// Requests that were merged into others.
    pub merges: u64,
}

/// A part of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The number of the disk.
    pub disk: u64,
    /// Where it begins.
    pub first_sector: u64,
    /// How long it is.
    pub sectors: u64,
}

impl Host {
    /// A machine whose kernel files are below these directories.
    pub fn at(proc: PathBuf, sys: PathBuf) -> Self {
        let dev = None;
        Self { proc, sys, dev }
    }

    /// Where the loop device with this number, or that it is a partition of, stores its data, and whether it bypasses the
    /// page cache; `None` if it is not a loop device.
    pub fn loop_backing(&self, rdev: u64) -> Option<(PathBuf, bool)> {
        let directory = self.loop_directory(rdev);
        let backing = backing_of(&directory)?;
        let direct = fs::read_to_string(directory.join("dio")).is_ok_and(|dio| dio.trim() == "1");
        Some((backing, direct))
    }

    /// Device and inode of what the loop device with this number, or that it is a partition of, stores its data in;
    /// `None` if it is not a loop device.
    pub(crate) fn loop_storage(&self, rdev: u64) -> Option<(u64, u64)> {
        let directory = self.loop_directory(rdev);
        let backing = backing_of(&directory)?;
        let disk = fs::canonicalize(directory.parent()?).ok()?;
        let storage = self.storage_of(&disk.file_name()?.to_string_lossy());
        storage
            .map(|storage| storage.identity)
            .or_else(|| identity(&backing))
    }

    /// What the loop device of this name says that it stores its data in.
    fn storage_of(&self, name: &str) -> Option<Storage> {
        loop_storage(&File::open(self.dev.as_ref()?.join(name)).ok()?)
    }

    /// The block size of the device with this number, or of the disk that it is a partition of.
    pub fn logical_block(&self, dev: u64) -> Option<u64> {
        self.queue_attribute(dev, "logical_block_size")?
            .parse()
            .ok()
    }

    /// A file below `queue` of the device with this number, or of the disk that it is a partition of.
    pub fn queue_file(&self, rdev: u64, name: &str) -> Option<PathBuf> {
        let directory = fs::canonicalize(self.device_directory(&number(rdev))).ok()?;
        [directory.as_path(), directory.parent()?]
            .iter()
            .map(|d| d.join("queue").join(name))
            .find(|file| file.exists())
    }

    /// What such a file says.
    pub fn queue_attribute(&self, rdev: u64, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.queue_file(rdev, name)?).ok()?;
        Some(text.trim().to_owned())
    }

    /// All block devices and their partitions, by name.
    pub fn block_devices(&self) -> Vec<PathBuf> {
        let mut names: Vec<String> = fs::read_dir(self.class_block())
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_by_key(|name| {
            // sda2 before sda10.
            let digits = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            let number: u64 = name[digits..].parse().unwrap_or(0);
            (name[..digits].to_owned(), number)
        });
        names
            .iter()
            .map(|name| Path::new("/dev").join(name.replace('!', "/")))
            .collect()
    }

    /// Where the kernel lists block devices by name.
    fn class_block(&self) -> PathBuf {
        self.sys.join("class/block")
    }

    /// The block device of the NVMe namespace whose character device is at `path`.
    pub fn namespace_of(&self, path: &Path) -> Option<PathBuf> {
        let metadata = fs::metadata(path).ok()?;
        let is_character = metadata.file_type().is_char_device();
        is_character.then(|| self.block_device_of(metadata.rdev()))?
    }

    /// The block device of the NVMe namespace whose character device has this number.
    pub fn block_device_of(&self, rdev: u64) -> Option<PathBuf> {
        let link = self.sys.join("dev/char").join(number(rdev));
        let directory = fs::canonicalize(link).ok()?;
        let name = directory.file_name()?.to_str()?;
        // Of one controller, or of a subsystem with several paths.
        let name = format!("nvme{}", name.strip_prefix("ng")?);
        let block = directory.parent()?.join(&name);
        block
            .join("dev")
            .exists()
            .then(|| Path::new("/dev").join(name))
    }

    /// The number of the character device of the NVMe namespace whose block device has this number.
    pub(crate) fn character_device_of(&self, rdev: u64) -> Option<u64> {
        self.character_device(rdev).map(|(_, number)| number)
    }

    /// Where that device is.
    pub fn character_device_at(&self, rdev: u64) -> Option<PathBuf> {
        let (name, _) = self.character_device(rdev)?;
        Some(Path::new("/dev").join(name))
    }

    fn character_device(&self, rdev: u64) -> Option<(String, u64)> {
        let directory = fs::canonicalize(self.device_directory(&number(rdev))).ok()?;
        let name = directory.file_name()?.to_str()?.strip_prefix("nvme")?;
        let name = format!("ng{name}");
        let text = fs::read_to_string(directory.parent()?.join(&name).join("dev")).ok()?;
        Some((name, parsed(&text)?))
    }

    /// The longest NVMe command that the kernel passes on to the block device with this number. Buffers begin at pages, each
    /// of which may be a segment of its own.
    pub fn longest_command(&self, rdev: u64) -> Option<Sectors> {
        const PAGE_KIB: u64 = 4;
        let limit = |name: &str| self.queue_attribute(rdev, name)?.parse::<u64>().ok();
        let most = limit("max_hw_sectors_kb")?.min(limit("max_segments")? * PAGE_KIB);
        Some(Sectors::new(u32::try_from(most * 2).ok()?))
    }

    /// Whether completions of the device with this number can be polled for; `None` if the kernel does not say.
    pub fn has_poll_queues(&self, rdev: u64) -> Option<bool> {
        Some(self.queue_attribute(rdev, "io_poll")? == "1")
    }

    /// The size of the device with this number.
    pub fn sectors(&self, rdev: u64) -> Option<u64> {
        let text = fs::read_to_string(self.device_directory(&number(rdev)).join("size")).ok()?;
        text.trim().parse().ok()
    }

    /// Which part of which disk the device with this number is; `None` if it is a whole one.
    pub fn partition(&self, rdev: u64) -> Option<Partition> {
        let directory = fs::canonicalize(self.device_directory(&number(rdev))).ok()?;
        if !directory.join("partition").exists() {
            return None;
        }
        let read = |path: PathBuf| fs::read_to_string(path).ok();
        let value = |name: &str| read(directory.join(name))?.trim().parse().ok();
        let disk = read(directory.parent()?.join("dev"))?;
        Some(Partition {
            disk: parsed(&disk)?,
            first_sector: value("start")?,
            sectors: value("size")?,
        })
    }

    /// Whether the block devices with these numbers have a sector in common: they are the same, or parts of one disk that
    /// meet.
    pub fn overlap(&self, a: u64, b: u64) -> bool {
        let place = |rdev| match self.partition(rdev) {
            None => (rdev, 0..u64::MAX),
            Some(Partition {
                disk,
                first_sector,
                sectors,
            }) => (disk, first_sector..first_sector.saturating_add(sectors)),
        };
        let ((disk_a, a), (disk_b, b)) = (place(a), place(b));
        disk_a == disk_b && a.start < b.end && b.start < a.end
    }

    /// Whether the driver of the disk with this number takes requests, and not bios.
    pub fn is_request_based(&self, rdev: u64) -> bool {
        self.device_directory(&number(rdev)).join("mq").is_dir()
    }

    /// How many requests the device has done, and how many were merged into them (the kernel's
    /// `Documentation/block/stat.rst`).
    pub fn queue_counters(&self, rdev: u64) -> Option<QueueCounters> {
        let text = fs::read_to_string(self.device_directory(&number(rdev)).join("stat")).ok()?;
        let fields: Vec<u64> = text
            .split_whitespace()
            .map_while(|field| field.parse().ok())
            .collect();
        Some(QueueCounters {
            requests: fields.first()? + fields.get(4)?,
            merges: fields.get(1)? + fields.get(5)?,
        })
    }

    /// How the processor's frequency is governed; `None` if the kernel does not report it.
    pub fn frequency_governor(&self) -> Option<String> {
        let file = self
            .sys
            .join("devices/system/cpu/cpu0/cpufreq/scaling_governor");
        Some(fs::read_to_string(file).ok()?.trim().to_owned())
    }

    /// Whether the device with this number, a partition of it, or the disk that it is a partition
    /// of, holds the file system of `path` (or of the folder where it will be).
    pub fn holds(&self, rdev: u64, path: &Path) -> bool {
        let device = fs::metadata(path)
            .or_else(|_| fs::metadata(folder_of(path)))
            .map(|metadata| metadata.dev());
        device.is_ok_and(|device| self.family(rdev).contains(&number(device)))
    }

    /// Whether the kernel says that the device has no volatile cache.
    pub fn is_write_through(&self, rdev: u64) -> bool {
        self.queue_attribute(rdev, "write_cache").as_deref() == Some("write through")
    }

    /// Where the kernel lists processes.
    pub(crate) fn proc(&self) -> &Path {
        &self.proc
    }

    /// The numbers of the device itself, its partitions, and the disk that it is a partition of.
    pub(crate) fn family_numbers(&self, rdev: u64) -> Vec<u64> {
        let family = self.family(rdev);
        family.iter().filter_map(|text| parsed(text)).collect()
    }

    fn device_directory(&self, number: &str) -> PathBuf {
        self.sys.join("dev/block").join(number)
    }

    /// Where the kernel describes the loop device with this number, or that it is a partition of: a partition has no such
    /// directory of its own. It is there only if it is a loop device.
    fn loop_directory(&self, rdev: u64) -> PathBuf {
        let directory = self.device_directory(&number(rdev));
        let is_partition = directory.join("partition").exists();
        let real = is_partition.then(|| fs::canonicalize(&directory).ok());
        let disk = real
            .flatten()
            .and_then(|real| real.parent().map(Path::to_owned));
        disk.unwrap_or(directory).join("loop")
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
}

/// Device and inode of what is at `path`.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|m| (m.dev(), m.ino()))
}

/// The file behind the loop device with this sysfs directory.
fn backing_of(directory: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(directory.join("backing_file")).ok()?;
    Some(PathBuf::from(text.strip_suffix('\n').unwrap_or(&text)))
}

/// A path as the kernel's tables write it, with blanks and the like as octal numbers (`\040`).
fn unescaped(text: &str) -> String {
    let mut plain = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let octal = (*first == b'\\').then(|| tail.get(..3)).flatten();
        let code = octal
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// `MAJOR:MINOR`, as the kernel's files write it.
fn number(rdev: u64) -> String {
    format!("{}:{}", major(rdev), minor(rdev))
}

/// The number that [`number`] writes.
fn parsed(text: &str) -> Option<u64> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// Whether `path` is the node of a block device in `family`.
fn is_device_of(path: &Path, family: &[String]) -> bool {
    fs::metadata(path)
        .is_ok_and(|m| m.file_type().is_block_device() && family.contains(&number(m.rdev())))
}

#[cfg(test)]
mod tests {
    use super::usage::Use;
    use super::*;
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
            fs::write(machine.path("proc/self/mountinfo"), "").unwrap();
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
    fn a_disk_overlaps_with_its_partitions_and_those_with_each_other_where_they_meet() {
        let machine = Machine::new();
        let partition = |name: &str, start: u64, sectors: u64| {
            let directory = machine.path("sys/devices/pci/sda").join(name);
            fs::write(directory.join("start"), format!("{start}\n")).unwrap();
            fs::write(directory.join("size"), format!("{sectors}\n")).unwrap();
        };
        let overlap = |a: u64, b: u64| {
            let host = machine.host();
            assert_eq!(host.overlap(a, b), host.overlap(b, a));
            host.overlap(a, b)
        };
        let (sda1, sda2, sdb) = (makedev(8, 1), makedev(8, 2), makedev(8, 16));
        partition("sda1", 2048, 1000);
        partition("sda2", 3048, 1000);
        assert!(overlap(SDA, SDA) && overlap(SDA, sda1) && overlap(SDA, sda2));
        assert!(overlap(sda1, sda1) && !overlap(sda1, sda2));
        assert!(!overlap(SDA, sdb) && !overlap(sda1, sdb));
        partition("sda2", 3047, 1000);
        assert!(overlap(sda1, sda2));
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
        assert_eq!(usage.to_string(), "it is the backing storage of /dev/loop3");
    }

    #[test]
    fn a_machine_that_cannot_be_asked_is_not_trusted() {
        let machine = Machine::new();
        fs::remove_file(machine.path("proc/self/mountinfo")).unwrap();
        let usage = machine.host().usage_of_device(SDA).unwrap();
        assert!(
            usage.to_string().contains("mountinfo cannot be read"),
            "{usage}"
        );
        let stranger = machine.host().usage_of_device(makedev(99, 0));
        assert!(matches!(stranger, Some(Use::Unknown { .. })));
    }

    #[test]
    fn a_loop_device_is_in_use_if_another_has_the_same_file() {
        let machine = Machine::new();
        let file = machine.path("disk with a blank .img ");
        fs::write(&file, "x").unwrap();
        for (name, dev) in [("loop1", "7:1"), ("loop2", "7:2")] {
            let directory = machine.path("sys/block").join(name);
            fs::create_dir_all(directory.join("loop")).unwrap();
            fs::create_dir_all(directory.join("holders")).unwrap();
            symlink(&directory, machine.path("sys/dev/block").join(dev)).unwrap();
        }
        let attach = |name: &str| {
            let at = machine
                .path("sys/block")
                .join(name)
                .join("loop/backing_file");
            fs::write(at, format!("{}\n", file.display())).unwrap();
        };
        attach("loop1");
        assert_eq!(machine.host().usage_of_device(makedev(7, 1)), None, "alone");
        attach("loop2");
        let usage = machine.host().usage_of_device(makedev(7, 1)).unwrap();
        assert!(
            usage
                .to_string()
                .contains("it is the backing storage of /dev/loop2"),
            "{usage}"
        );
    }

    #[test]
    fn a_namespace_has_a_block_device_and_a_character_device() {
        let machine = Machine::new();
        let controller = machine.path("sys/devices/pci/nvme0");
        for (name, kind, dev) in [("nvme0n1", "block", "259:4"), ("ng0n1", "char", "245:0")] {
            fs::create_dir_all(controller.join(name)).unwrap();
            fs::write(controller.join(name).join("dev"), format!("{dev}\n")).unwrap();
            let links = machine.path("sys/dev").join(kind);
            fs::create_dir_all(&links).unwrap();
            symlink(controller.join(name), links.join(dev)).unwrap();
        }
        let (block, character) = (makedev(259, 4), makedev(245, 0));
        let host = machine.host();
        let path = PathBuf::from("/dev/nvme0n1");
        assert_eq!(host.block_device_of(character), Some(path));
        assert_eq!(host.character_device_of(block), Some(character));
        let path = PathBuf::from("/dev/ng0n1");
        assert_eq!(host.character_device_at(block), Some(path));
        assert_eq!(host.block_device_of(makedev(1, 5)), None);
        assert_eq!(host.character_device_of(SDA), None);
        fs::remove_dir_all(controller.join("nvme0n1")).unwrap();
        assert_eq!(host.block_device_of(character), None, "hidden");
    }

    #[test]
    fn octal_numbers_in_tables_are_characters() {
        assert_eq!(unescaped("/mnt/a\\040b\\011c"), "/mnt/a b\tc");
        assert_eq!(unescaped("/plain\\9\\04"), "/plain\\9\\04");
    }

    #[test]
    fn a_swap_file_is_in_use() {
        let machine = Machine::new();
        let file = machine.path("swap file");
        fs::write(&file, "x").unwrap();
        let table = format!(
            "Filename\tType\tSize\tUsed\tPriority\n{}\tfile\t1\t0\t-2\n",
            file.display().to_string().replace(' ', "\\040")
        );
        fs::write(machine.path("proc/swaps"), table).unwrap();
        assert_eq!(machine.host().usage_of_file(&file), Some(Use::Swap));
    }
}
