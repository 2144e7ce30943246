//! Targets: what a load is replayed on.

#[cfg(test)]
pub(crate) mod imagined;
mod new_file;

pub use new_file::{FileSize, create_file};

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iosonar_guard::{self as guard, Host, Lease};
use iosonar_units::{Bytes, SECTOR_BYTES, Sectors};
use rustix::fs::{AtFlags, OFlags, StatxFlags};

use crate::fake::Fake;
use crate::note::TargetNote;
use crate::nvme::Namespace;
use crate::zones::{self, ZonePlan, Zones};
use crate::{Intent, ReplayError};

/// A block device, character device of an NVMe namespace, or regular file that has been examined and opened.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// None for a target that is never accessed.
    file: Option<File>,
    size: Bytes,
    block: Bytes,
    fakes: Vec<Fake>,
    write_through: bool,
    /// Of a block device.
    number: Option<u64>,
    /// What the user should know of who else uses it.
    notes: Vec<TargetNote>,
    lease: Lease,
    /// Of the character device of an NVMe namespace: the block device of the namespace, claimed exclusively.
    block_device: Option<File>,
    /// The longest request that a command can be; `None` if the kernel splits longer ones.
    longest: Option<Sectors>,
    /// Whether completions can be polled for; `None` if the kernel does not say.
    polls: Option<bool>,
    /// Of a zoned block device that is written to.
    pub(crate) zones: Option<Zones>,
    pub(crate) zone_plan: Option<ZonePlan>,
}

impl Target {
    /// Examines and opens the target at `path`.
    ///
    /// # Errors
    /// [`ReplayError::Refused`] if it must not be used as `intent` says or cannot be without the
    /// page cache, [`ReplayError::Busy`] if another process has opened it exclusively,
    /// [`ReplayError::Io`] if it cannot be opened.
    pub fn open(path: &Path, intent: &Intent, host: &Host) -> Result<Self, ReplayError> {
        let io_error = |action| {
            move |source| ReplayError::Io {
                path: path.to_owned(),
                action,
                source,
            }
        };
        // Asked before it is opened: opening a pipe would wait for a writer, and a used device is
        // not touched at all.
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.file_type().is_char_device() => {
                return Self::open_namespace(path, &metadata, intent, host);
            }
            Ok(metadata) => guard::refuse_used(host, path, &metadata)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let how = match intent.only_existing {
                    true => "create it first, as with 'truncate --size SIZE'",
                    false => "--create SIZE creates a file",
                };
                return Err(ReplayError::Refused(format!(
                    "target {} does not exist; {how}",
                    path.display()
                )));
            }
            Err(e) => return Err(not_opened(path, "found", e)),
        }
        // Opened for reading first: nothing is at stake until it has been examined.
        let probe = File::open(path).map_err(|e| not_opened(path, "read", e))?;
        guard::examine(host, path, &probe, intent)?;
        let metadata = probe.metadata().map_err(io_error("examine it"))?;
        let is_device = metadata.file_type().is_block_device();
        let mut file = open_examined(path, &probe, is_device, intent)?;
        // The lease would be refused for our own sake.
        drop(probe);
        let size = file
            .seek(SeekFrom::End(0))
            .map_err(io_error("determine its size"))?;
        let mut target = Self {
            path: path.to_owned(),
            size: Bytes::new(size),
            block: Bytes::new(SECTOR_BYTES),
            fakes: Vec::new(),
            write_through: is_device && host.is_write_through(metadata.rdev()),
            number: is_device.then(|| metadata.rdev()),
            file: None,
            notes: Vec::new(),
            lease: Lease::Unknown,
            block_device: None,
            longest: None,
            polls: host.has_poll_queues(if is_device {
                metadata.rdev()
            } else {
                metadata.dev()
            }),
            zones: None,
            zone_plan: None,
        };
        if is_device && intent.write {
            target.zones =
                zones_of(&file, metadata.rdev(), host).map_err(io_error("read its zone report"))?;
        }
        target.block = target.alignment(&file, is_device, intent, host);
        target.find_fakes(&file, &metadata, is_device, intent, host);
        target.find_others(&file, &metadata, intent, host);
        target.file = Some(file);
        Ok(target)
    }

    /// Opens the character device of an NVMe namespace. Its block device is examined by the same rules, and claimed
    /// exclusively until the replay is over.
    fn open_namespace(
        path: &Path,
        metadata: &Metadata,
        intent: &Intent,
        host: &Host,
    ) -> Result<Self, ReplayError> {
        let shown = path.display();
        let refuse = |reason: String| Err(ReplayError::Refused(reason));
        let io_error = |action| {
            move |source| ReplayError::Io {
                path: path.to_owned(),
                action,
                source,
            }
        };
        let Some(block_path) = host.block_device_of(metadata.rdev()) else {
            return refuse(format!(
                "{shown} is a character device, but not that of an NVMe namespace with a block device (such as /dev/ng0n1)"
            ));
        };
        if intent.buffered {
            return refuse(format!(
                "{shown} accepts NVMe commands, which bypass the page cache: leave out --no-direct"
            ));
        }
        let mut of_block = intent.clone();
        of_block.target_name.path = Some(path.to_owned());
        if guard::destroyable(metadata, intent) {
            of_block.destroy.push(block_path.clone());
        }
        let mut target = match Self::open(&block_path, &of_block, host) {
            Err(ReplayError::Refused(reason)) => {
                return refuse(format!(
                    "{shown} is the same namespace as {}: {reason}",
                    block_path.display()
                ));
            }
            opened => opened?,
        };
        let file = OpenOptions::new()
            .read(true)
            .write(intent.write)
            .open(path)
            .map_err(|e| not_opened(path, "opened", e))?;
        let opened = file.metadata().map_err(io_error("examine it"))?;
        let ask = |file| Namespace::id_of(file).map_err(io_error("query its namespace"));
        let id = target.file().map(ask).transpose()?;
        if opened.rdev() != metadata.rdev() || id != Some(ask(&file)?) {
            return refuse(format!(
                "{shown} and {} are no longer the same namespace: try again",
                block_path.display()
            ));
        }
        let format = Namespace::of(&file)
            .map_err(io_error("identify its namespace"))?
            .format;
        if format.metadata > 0 {
            return refuse(format!(
                "{shown} is formatted with {} bytes of metadata per block, which NVMe commands would have to transfer: format it without metadata (nvme format), or replay on {}",
                format.metadata,
                block_path.display()
            ));
        }
        if (format.size(), format.block()) != (target.size, target.block) {
            return refuse(format!(
                "{shown} reports {} in blocks of {}, but the kernel assumes {} in blocks of {} ({}): \
                 rescan the namespace (nvme ns-rescan)",
                format.size(),
                format.block(),
                target.size,
                target.block,
                block_path.display()
            ));
        }
        target.longest = target
            .number
            .and_then(|number| host.longest_command(number));
        target.block_device = target.file.replace(file);
        path.clone_into(&mut target.path);
        Ok(target)
    }

    /// What every offset and length must be a multiple of. Notes if the kernel says that the file
    /// cannot bypass the page cache although it let us open it so.
    fn alignment(&mut self, file: &File, is_device: bool, intent: &Intent, host: &Host) -> Bytes {
        let block = if intent.buffered {
            SECTOR_BYTES
        } else if is_device {
            rustix::fs::ioctl_blksszget(file).map_or(SECTOR_BYTES, u64::from)
        } else {
            let wanted = StatxFlags::DIOALIGN;
            let told = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted)
                .ok()
                .filter(|s| StatxFlags::from_bits_retain(s.stx_mask).contains(wanted));
            match told.map(|s| u64::from(s.stx_dio_offset_align)) {
                Some(0) => {
                    self.fakes.push(Fake::NotDirect);
                    SECTOR_BYTES
                }
                Some(block) => block,
                // Kernels before 6.1 do not report it: the device below does.
                None => file
                    .metadata()
                    .ok()
                    .and_then(|m| host.logical_block(m.dev()))
                    .unwrap_or(SECTOR_BYTES),
            }
        };
        Bytes::new(block.max(SECTOR_BYTES))
    }

    /// Finds out why latencies might not be those of the storage.
    fn find_fakes(
        &mut self,
        file: &File,
        metadata: &std::fs::Metadata,
        is_device: bool,
        intent: &Intent,
        host: &Host,
    ) {
        /// `f_type` of tmpfs and ramfs.
        const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];
        if intent.buffered {
            self.fakes.push(Fake::PageCache);
        }
        if rustix::fs::fstatfs(file).is_ok_and(|s| !is_device && IN_MEMORY.contains(&s.f_type)) {
            self.fakes.push(Fake::InMemory);
        }
        let sparse = |m: &std::fs::Metadata| m.blocks() * 512 < m.len();
        if !is_device && sparse(metadata) {
            self.fakes.push(Fake::Holes);
        }
        if let Some((backing, direct)) = host.loop_backing(metadata.rdev())
            && is_device
        {
            if !direct {
                self.fakes.push(Fake::LoopPageCache);
            }
            if std::fs::metadata(&backing).is_ok_and(|m| m.is_file() && sparse(&m)) {
                self.fakes.push(Fake::LoopHoles);
            }
        }
    }

    /// Finds out whether other processes have it open, and has the kernel keep a file to ourselves.
    fn find_others(
        &mut self,
        file: &File,
        metadata: &std::fs::Metadata,
        intent: &Intent,
        host: &Host,
    ) {
        let target = self.path.clone();
        if !intent.write {
            let openers = guard::writers(host, metadata);
            if !openers.is_empty() {
                self.notes
                    .push(TargetNote::WrittenByOthers { target, openers });
            }
            return;
        }
        if !metadata.is_file() {
            return;
        }
        self.lease = Lease::of(file);
        let openers = host.openers(metadata);
        if !openers.is_empty() {
            self.notes
                .push(TargetNote::SeenByOthers { target, openers });
        } else if self.lease == Lease::OpenElsewhere {
            self.notes.push(TargetNote::OpenElsewhere { target });
        }
    }

    /// What the user should know of who else uses it; empty if the target is ours alone, as far as the kernel says.
    pub fn notes(&self) -> &[TargetNote] {
        &self.notes
    }

    /// Whether another process has opened the file since we did, or waits for that. Only of a file that is written to
    /// can that be known.
    pub fn was_opened_by_another(&self) -> bool {
        self.file
            .as_ref()
            .is_some_and(|file| self.lease.is_broken(file))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// What every offset and length must be a multiple of.
    pub fn block(&self) -> Bytes {
        self.block
    }

    /// Why the results may not be those of the storage; empty if nothing speaks against them.
    pub fn fakes(&self) -> &[Fake] {
        &self.fakes
    }

    /// A target that is never accessed, for the engines 'dry' and 'simulate'.
    pub fn imaginary(size: Bytes, block: Bytes) -> Self {
        Self {
            path: PathBuf::from("(none)"),
            file: None,
            size,
            block,
            fakes: Vec::new(),
            write_through: false,
            number: None,
            notes: Vec::new(),
            lease: Lease::Unknown,
            block_device: None,
            longest: None,
            polls: None,
            zones: None,
            zone_plan: None,
        }
    }

    /// Whether it is one that is never accessed.
    pub fn is_imaginary(&self) -> bool {
        self.file.is_none() && self.path == Path::new("(none)")
    }

    /// A target that a simulated system knows by the descriptor of `file`.
    #[cfg(test)]
    pub(crate) fn simulated(file: File, size: Bytes, block: Bytes, write_through: bool) -> Self {
        Self {
            file: Some(file),
            write_through,
            polls: Some(true),
            ..Self::imaginary(size, block)
        }
    }

    /// The number of a block device; `None` for anything else.
    pub fn device_number(&self) -> Option<u64> {
        self.number
    }

    /// Whether every write is on the medium when it completes, as far as the kernel knows.
    pub fn is_write_through(&self) -> bool {
        self.write_through
    }

    /// Whether it takes NVMe commands past the block layer.
    pub fn is_passthrough(&self) -> bool {
        self.block_device.is_some()
    }

    /// The longest request that a command can be; `None` if the kernel splits longer ones.
    pub(crate) fn longest(&self) -> Option<Sectors> {
        self.longest
    }

    /// Whether completions can be polled for; `None` if the kernel does not say.
    pub(crate) fn has_poll_queues(&self) -> Option<bool> {
        self.polls
    }

    /// What engines access.
    pub(crate) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// What is read and written with system calls.
    pub(crate) fn data(&self) -> Option<&File> {
        self.block_device.as_ref().or(self.file.as_ref())
    }

    /// Whether there are zones that must be written in order. Only of a target that is written to is that known.
    pub fn has_sequential_zones(&self) -> bool {
        self.zones.as_ref().is_some_and(Zones::is_sequential)
    }

    pub(crate) fn zone_plan(&self) -> Option<&ZonePlan> {
        self.zone_plan.as_ref()
    }

    /// The zones that an engine appends to.
    pub(crate) fn appends(&self) -> Option<Zones> {
        let plan = self.zone_plan.as_ref().filter(|plan| plan.append)?;
        self.is_passthrough().then(|| plan.zones.clone())
    }
}

/// Opens the file that `probe` is, as `intent` says; a device exclusively.
fn open_examined(
    path: &Path,
    probe: &File,
    is_device: bool,
    intent: &Intent,
) -> Result<File, ReplayError> {
    let mut flags = OFlags::empty();
    if !intent.buffered {
        flags |= OFlags::DIRECT;
    }
    if is_device {
        // Exclusive: claims it, and fails if it is already claimed.
        flags |= OFlags::EXCL;
    }
    // The very file that was examined, whatever the path says by now.
    let examined = format!("/proc/self/fd/{}", probe.as_raw_fd());
    let opened = OpenOptions::new()
        .read(true)
        .write(intent.write)
        .custom_flags(flags.bits() as i32)
        .open(examined);
    match opened {
        Ok(file) => Ok(file),
        Err(e) if is_device && e.raw_os_error() == Some(16) => Err(ReplayError::Busy {
            path: path.to_owned(),
        }),
        Err(e) if !intent.buffered && e.raw_os_error() == Some(22) => {
            Err(ReplayError::Refused(format!(
                "the file system of {} cannot bypass the page cache (O_DIRECT), so latencies would be those of memory: \
                 choose a different target, or use --no-direct and accept results marked as FAKE",
                path.display()
            )))
        }
        Err(e) => {
            let purpose = if intent.write { "written to" } else { "read" };
            Err(not_opened(path, purpose, e))
        }
    }
}

/// The zones of a block device; `None` if it is not zoned.
fn zones_of(file: &File, rdev: u64, host: &Host) -> std::io::Result<Option<Zones>> {
    let zones = zones::report(file)?;
    let (most_active, granularity) = zone_limits(rdev, host);
    Ok((!zones.is_empty()).then(|| Zones::new(zones, most_active, granularity)))
}

/// The most zones that may be active, if there is a limit, and what writes must be a multiple of, in sectors.
fn zone_limits(rdev: u64, host: &Host) -> (Option<u64>, u64) {
    let attribute = |name: &str| host.queue_attribute(rdev, name)?.parse::<u64>().ok();
    let most_active = attribute("max_active_zones").filter(|most| *most > 0);
    let granularity = attribute("zone_write_granularity").unwrap_or(0) / SECTOR_BYTES;
    (most_active, granularity)
}

/// Why the target at `path` cannot be opened to be `purpose`: a refusal where that is a matter of permission.
fn not_opened(path: &Path, purpose: &str, source: std::io::Error) -> ReplayError {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    let shown = path.display();
    match source.kind() {
        PermissionDenied => ReplayError::Refused(format!(
            "{shown} cannot be {purpose}: {source}; run as root, or as a user with the necessary \
             permission (see ls -l {shown})"
        )),
        ReadOnlyFilesystem => ReplayError::Refused(format!(
            "{shown} is in a file system that is mounted read-only; choose a different target"
        )),
        _ => ReplayError::Io {
            path: path.to_owned(),
            action: "open the target",
            source,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::imagined::Disk;
    use super::*;
    use std::process::{Command, Stdio};

    fn buffered(write: bool, path: &Path) -> Intent {
        Intent {
            write,
            destroy: vec![path.to_owned()],
            buffered: true,
            ..Intent::default()
        }
    }

    /// A file of data without holes.
    fn full(folder: &tempfile::TempDir, name: &str) -> PathBuf {
        let path = folder.path().join(name);
        let mut data = vec![0; 1 << 16];
        crate::buffers::Noise::new(1).fill(&mut data);
        std::fs::write(&path, data).unwrap();
        // Some file systems count blocks when they are written.
        File::open(&path).unwrap().sync_all().unwrap();
        path
    }

    fn sparse(folder: &tempfile::TempDir, name: &str) -> PathBuf {
        let path = folder.path().join(name);
        File::create(&path).unwrap().set_len(1 << 16).unwrap();
        path
    }

    #[test]
    fn holes_and_the_page_cache_are_fakes() {
        let folder = tempfile::tempdir().unwrap();
        for (path, has_holes) in [
            (full(&folder, "full"), false),
            (sparse(&folder, "sparse"), true),
        ] {
            let intent = buffered(false, &path);
            let target = Target::open(&path, &intent, &Host::default()).unwrap();
            assert!(target.fakes().contains(&Fake::PageCache));
            assert_eq!(target.fakes().contains(&Fake::Holes), has_holes);
        }
    }

    #[test]
    fn a_loop_device_is_as_good_as_what_is_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let (full, sparse) = (full(&folder, "full"), sparse(&folder, "sparse"));
        // A file stands for the device; its number is zero.
        let numbers = folder.path().join("sys/dev/block/0:0/loop");
        std::fs::create_dir_all(&numbers).unwrap();
        let host = Host::at(folder.path().join("proc"), folder.path().join("sys"));
        let file = File::open(&full).unwrap();
        let metadata = file.metadata().unwrap();
        for (backing, direct, expected) in [
            (&full, "1", &[][..]),
            (&full, "0", &[Fake::LoopPageCache]),
            (&sparse, "1", &[Fake::LoopHoles]),
            (&sparse, "0", &[Fake::LoopPageCache, Fake::LoopHoles]),
            // Another device.
            (&PathBuf::from("/dev/null"), "1", &[]),
        ] {
            let backing_file = numbers.join("backing_file");
            std::fs::write(backing_file, format!("{}\n", backing.display())).unwrap();
            std::fs::write(numbers.join("dio"), format!("{direct}\n")).unwrap();
            let mut target = Disk::target(128);
            target.find_fakes(&file, &metadata, true, &Intent::default(), &host);
            assert_eq!(target.fakes(), expected, "{} {direct}", backing.display());
        }
    }

    #[test]
    fn other_processes_that_have_it_open_are_noted() {
        let folder = tempfile::tempdir().unwrap();
        let path = full(&folder, "full");
        for (their_write, our_write, is_noted) in [
            (false, false, false),
            (true, false, true),
            (false, true, true),
        ] {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(their_write).open(&path).unwrap();
            let mut other = Command::new("sleep");
            let mut other = other.arg("60").stdin(Stdio::from(file)).spawn().unwrap();
            let target = Target::open(&path, &buffered(our_write, &path), &Host::default());
            other.kill().unwrap();
            other.wait().unwrap();
            let target = target.unwrap();
            let openers = match target.notes() {
                [] => &[][..],
                [TargetNote::WrittenByOthers { openers, .. }] if !our_write => &openers[..],
                [TargetNote::SeenByOthers { openers, .. }] if our_write => &openers[..],
                notes => panic!("{notes:?}"),
            };
            let has_other = openers.iter().any(|opener| opener.process == other.id());
            assert_eq!(has_other, is_noted, "{their_write} {our_write}");
        }
    }

    /// What has been examined, opened for a purpose.
    fn opened(
        path: &str,
        is_device: bool,
        write: bool,
        buffered: bool,
    ) -> Result<File, ReplayError> {
        let intent = Intent {
            write,
            buffered,
            ..Intent::default()
        };
        let probe = File::open(path).unwrap();
        open_examined(Path::new(path), &probe, is_device, &intent)
    }

    #[test]
    fn what_cannot_bypass_the_page_cache_is_refused() {
        for is_device in [false, true] {
            let refused = opened("/proc/version", is_device, false, false).unwrap_err();
            assert!(matches!(refused, ReplayError::Refused(_)));
            assert!(refused.to_string().contains("use --no-direct"), "{refused}");
        }
        assert!(opened("/proc/version", false, false, true).is_ok());
    }

    #[test]
    fn what_cannot_be_opened_for_another_reason_is_an_error() {
        for is_device in [false, true] {
            for buffered in [false, true] {
                // A directory.
                let failed = opened("/proc", is_device, true, buffered).unwrap_err();
                assert!(matches!(failed, ReplayError::Io { .. }), "{failed:?}");
            }
        }
    }

    #[test]
    fn a_refusal_says_what_is_missing() {
        use std::io::ErrorKind;
        for (kind, part) in [
            (ErrorKind::PermissionDenied, Some("cannot be read: ")),
            (ErrorKind::ReadOnlyFilesystem, Some("mounted read-only")),
            (ErrorKind::NotFound, None),
        ] {
            let error = not_opened(Path::new("x"), "read", kind.into());
            assert_eq!(matches!(error, ReplayError::Refused(_)), part.is_some());
            assert!(
                error
                    .to_string()
                    .contains(part.unwrap_or("open the target")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_file_has_no_zones() {
        let file = tempfile::tempfile().unwrap();
        let zones = zones_of(&file, Disk::NUMBER, &Disk::new(&[]).host());
        assert!(zones.unwrap().is_none());
    }

    #[test]
    fn the_limits_of_zones_are_those_of_the_queue() {
        for (most, granularity, limits) in [
            (Some("14"), Some("4096"), (Some(14), 8)),
            (Some("1"), Some("512"), (Some(1), 1)),
            // Zero says that there is no limit, as older kernels do by saying nothing.
            (Some("0"), Some("0"), (None, 0)),
            (None, None, (None, 0)),
        ] {
            let disk = Disk::new(&[]);
            for (name, value) in [
                ("queue/max_active_zones", most),
                ("queue/zone_write_granularity", granularity),
            ] {
                if let Some(value) = value {
                    disk.write(name, value);
                }
            }
            assert_eq!(zone_limits(Disk::NUMBER, &disk.host()), limits, "{most:?}");
        }
    }

    #[test]
    fn only_a_target_that_is_never_accessed_is_imaginary() {
        let target = || Disk::target(8);
        let file = || tempfile::tempfile().ok();
        for (target, is_imaginary) in [
            (target(), true),
            (
                Target {
                    path: "/dev/sdx".into(),
                    ..target()
                },
                false,
            ),
            (
                Target {
                    file: file(),
                    ..target()
                },
                false,
            ),
            (
                Target {
                    path: "/dev/sdx".into(),
                    file: file(),
                    ..target()
                },
                false,
            ),
        ] {
            assert_eq!(
                target.is_imaginary(),
                is_imaginary,
                "{}",
                target.path.display()
            );
        }
    }

    #[test]
    fn a_character_device_is_that_of_a_namespace_or_no_target() {
        let path = Path::new("/dev/null");
        let refused = Target::open(path, &Intent::default(), &Host::default()).unwrap_err();
        assert!(matches!(refused, ReplayError::Refused(_)), "{refused:?}");
        let text = refused.to_string();
        assert!(text.contains("not that of an NVMe namespace"), "{text}");
    }

    #[test]
    fn only_a_device_writes_through() {
        let folder = tempfile::tempdir().unwrap();
        // A file has the number zero, which is that of no device.
        let queue = folder.path().join("sys/dev/block/0:0/queue");
        std::fs::create_dir_all(&queue).unwrap();
        std::fs::write(queue.join("write_cache"), "write through\n").unwrap();
        let host = Host::at(folder.path().join("proc"), folder.path().join("sys"));
        assert!(host.is_write_through(0));
        let path = full(&folder, "full");
        let target = Target::open(&path, &buffered(false, &path), &host).unwrap();
        assert!(!target.is_write_through());
        for write_through in [false, true] {
            let file = File::open(&path).unwrap();
            let (size, block) = (Bytes::new(512), Bytes::new(512));
            let target = Target::simulated(file, size, block, write_through);
            assert_eq!(target.is_write_through(), write_through);
        }
    }

    #[test]
    fn a_target_that_nobody_has_opened_since_is_ours_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = full(&folder, "full");
        for write in [false, true] {
            let intent = buffered(write, &path);
            let target = Target::open(&path, &intent, &Host::default()).unwrap();
            assert!(!target.was_opened_by_another(), "{write}");
        }
        assert!(!Disk::target(8).was_opened_by_another());
    }
}
