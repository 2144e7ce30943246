//! Block devices that are not there, of machines that say what a test has them say.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use iosonar_guard::Host;
use iosonar_units::{Bytes, Sectors};

use super::Target;

/// A machine with one disk, 8:0, which the kernel calls `imagined`, as it calls no disk.
pub(crate) struct Disk(tempfile::TempDir);

impl Disk {
    pub(crate) const NUMBER: u64 = 8 << 8;

    /// One whose directory in sysfs holds these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let disk = Self(tempfile::tempdir().unwrap());
        let numbers = disk.0.path().join("sys/dev/block");
        fs::create_dir_all(disk.path("queue")).unwrap();
        fs::create_dir_all(&numbers).unwrap();
        symlink(disk.path(""), numbers.join("8:0")).unwrap();
        for (name, content) in files {
            disk.write(name, content);
        }
        disk
    }

    /// Where one of its files is.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("sys/devices/imagined").join(name)
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), format!("{content}\n")).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name))
            .unwrap()
            .trim()
            .to_owned()
    }

    /// Has the processors' frequency governed so.
    pub(crate) fn govern(&self, governor: &str) {
        let folder = self.0.path().join("sys/devices/system/cpu/cpu0/cpufreq");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("scaling_governor"), format!("{governor}\n")).unwrap();
    }

    pub(crate) fn host(&self) -> Host {
        Host::at(self.0.path().join("proc"), self.0.path().join("sys"))
    }

    /// The disk as a target.
    pub(crate) fn target(sectors: u64) -> Target {
        Target {
            number: Some(Self::NUMBER),
            ..Target::imaginary(Bytes::new(sectors * 512), Bytes::new(512))
        }
    }
}

impl Target {
    /// The same, if it took NVMe commands of at most this length.
    pub(crate) fn with_commands(self, longest: u32) -> Self {
        let device = File::open("/dev/null").unwrap();
        Self {
            block_device: Some(device),
            longest: Some(Sectors::new(longest)),
            ..self
        }
    }

    /// The same, if completions could be polled for, or not.
    pub(crate) fn with_poll_queues(self, has_them: bool) -> Self {
        Self {
            polls: Some(has_them),
            ..self
        }
    }
}
