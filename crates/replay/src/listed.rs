//! What block devices there are, and what may be done with each.

use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use iosonar_guard::{Host, Intent, examine};
use iosonar_units::{Bytes, SECTOR_BYTES};

use crate::{Fake, Target};

/// A block device.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Where it is.
    pub path: PathBuf,
    /// Its size; zero if it has no backing device.
    pub size: Bytes,
    /// Its blocks.
    pub block: Bytes,
    /// `disk` or `partition`.
    pub kind: &'static str,
    /// Whether it has moving parts, as far as the kernel says.
    pub rotational: Option<bool>,
    /// The scheduler in use.
    pub scheduler: Option<String>,
    /// `write back` or `write through`.
    pub write_cache: Option<String>,
    /// The model of its zones (`host-managed`, `host-aware`); `None` if it has none.
    pub zoned: Option<String>,
    /// The character device of the same NVMe namespace, which takes commands past the block layer.
    pub character_device: Option<PathBuf>,
    /// Why it cannot even be read.
    pub no_reads: Option<String>,
    /// Whether that is because it is in use: mounted, for example.
    pub is_in_use: bool,
    /// Why it cannot be written to.
    pub no_writes: Option<String>,
    /// Whether `--destroy` allows writing to it.
    pub consent_helps: bool,
    /// Why results would not be those of the storage.
    pub fakes: Vec<Fake>,
}

/// What may be done with the device at `path`. Nothing is written.
///
/// # Errors
/// If it is not a block device.
pub fn look_at(host: &Host, path: &Path) -> std::io::Result<Listed> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path)?;
    if !metadata.file_type().is_block_device() {
        return Err(std::io::Error::other("it is not a block device"));
    }
    let mut listed = described(host, path, metadata.rdev());
    if listed.size.get() == 0 {
        listed.no_reads = Some("it has no backing device".to_owned());
        return Ok(listed);
    }
    match Target::open(path, &Intent::default(), host) {
        Ok(target) => listed.fakes = target.fakes().to_vec(),
        Err(e) => {
            listed.is_in_use = e.is_refusal();
            listed.no_reads = Some(short(&e.to_string(), path));
        }
    }
    let why_not = |destroy: &[PathBuf]| {
        let to_write = Intent {
            write: true,
            destroy: destroy.to_vec(),
            ..Intent::default()
        };
        let file = File::open(path).ok()?;
        let refused = examine(host, path, &file, &to_write).err()?;
        Some(short(&refused.to_string(), path))
    };
    let consent = [path.to_owned()];
    listed.no_writes = listed.no_reads.clone().or_else(|| why_not(&consent));
    if listed.no_writes.is_none() {
        listed.no_writes = why_not(&[]);
        listed.consent_helps = listed.no_writes.is_some();
    }
    Ok(listed)
}

/// What the kernel says of the device with this number, which is at `path`.
fn described(host: &Host, path: &Path, rdev: u64) -> Listed {
    let attribute = |name: &str| host.queue_attribute(rdev, name);
    let number = |name: &str| attribute(name)?.parse::<u64>().ok();
    Listed {
        path: path.to_owned(),
        size: Bytes::new(host.sectors(rdev).unwrap_or(0) * SECTOR_BYTES),
        block: Bytes::new(number("logical_block_size").unwrap_or(SECTOR_BYTES)),
        kind: match host.partition(rdev) {
            Some(_) => "partition",
            None => "disk",
        },
        rotational: number("rotational").map(|n| n == 1),
        scheduler: attribute("scheduler").map(|text| {
            let active = text.split('[').nth(1).and_then(|t| t.split(']').next());
            active.unwrap_or(&text).to_owned()
        }),
        write_cache: attribute("write_cache"),
        zoned: attribute("zoned").filter(|model| model != "none"),
        character_device: host.character_device_at(rdev),
        no_reads: None,
        is_in_use: false,
        no_writes: None,
        consent_helps: false,
        fakes: Vec::new(),
    }
}

/// The reason without the path, and without what one does about it.
fn short(message: &str, path: &Path) -> String {
    let message = message.strip_prefix("refused: ").unwrap_or(message);
    let shown = path.display().to_string();
    let message = message.strip_prefix(&shown).unwrap_or(message).trim_start();
    let message = message.strip_prefix("is in use: ").unwrap_or(message);
    let ends = [". ", ", which writing", "; "];
    let end = ends.iter().filter_map(|end| message.find(end)).min();
    message[..end.unwrap_or(message.len())].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::imagined::Disk;

    #[test]
    fn only_block_devices_are_looked_at() {
        for path in ["/proc/version", "/dev/null", "/"] {
            let error = look_at(&Host::default(), Path::new(path)).unwrap_err();
            assert_eq!(error.to_string(), "it is not a block device", "{path}");
        }
    }

    #[test]
    fn a_reason_is_given_without_the_path_and_without_a_remedy() {
        for (message, reason) in [
            (
                "refused: /dev/sda is in use: it is mounted at /data",
                "it is mounted at /data",
            ),
            (
                "/dev/sda cannot be read: no permission; run as root. Or not",
                "cannot be read: no permission",
            ),
            (
                "/dev/sda holds a file system. Use --destroy; or another",
                "holds a file system",
            ),
            (
                "it holds ext4, which writing would destroy; use another",
                "it holds ext4",
            ),
            ("/dev/sdb is another; and so on", "/dev/sdb is another"),
            ("version 1.2 of it", "version 1.2 of it"),
            ("", ""),
        ] {
            assert_eq!(short(message, Path::new("/dev/sda")), reason, "{message}");
        }
    }

    #[test]
    fn a_device_is_described_by_what_the_kernel_says_of_it() {
        let disk = Disk::new(&[
            // In sectors of 512 bytes, whatever its blocks.
            ("size", "2048"),
            ("queue/logical_block_size", "4096"),
            ("queue/rotational", "1"),
            ("queue/scheduler", "none [mq-deadline] kyber"),
            ("queue/write_cache", "write back"),
            ("queue/zoned", "host-managed"),
        ]);
        let listed = described(&disk.host(), Path::new("/dev/x"), Disk::NUMBER);
        assert_eq!(listed.size, Bytes::new(1 << 20));
        assert_eq!(listed.block, Bytes::new(4096));
        assert_eq!((listed.kind, listed.rotational), ("disk", Some(true)));
        let texts = [listed.scheduler, listed.write_cache, listed.zoned];
        let texts = texts.map(Option::unwrap_or_default);
        assert_eq!(texts, ["mq-deadline", "write back", "host-managed"]);
        disk.write("queue/rotational", "0");
        disk.write("queue/zoned", "none");
        disk.write("queue/scheduler", "none");
        for (name, content) in [("partition", "1"), ("start", "64"), ("../dev", "8:16")] {
            disk.write(name, content);
        }
        let listed = described(&disk.host(), Path::new("/dev/x"), Disk::NUMBER);
        assert_eq!((listed.kind, listed.rotational), ("partition", Some(false)));
        assert_eq!(
            (listed.zoned, listed.scheduler),
            (None, Some("none".to_owned()))
        );
        // Of a device that is not there, nothing is known.
        let none = described(&disk.host(), Path::new("/dev/x"), Disk::NUMBER + 1);
        assert_eq!((none.size, none.block), (Bytes::new(0), Bytes::new(512)));
        assert_eq!((none.rotational, none.scheduler), (None, None));
    }
}
