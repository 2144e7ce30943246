//! The kernel's tracing file system, and an instance of our own in it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iosonar_guard::Host;
use iosonar_trace::{LiveAction, LiveEvent};
use iosonar_units::Bytes;
use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat, major, minor};

use super::decoder::Decoder;
use super::layout::Layout;
use super::pages::PageLayout;
use crate::GuardError;

/// The events of a device, or of a part of it.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) path: PathBuf,
    /// Of the whole disk, whose events they are.
    pub(super) number: (u32, u32),
    pub(super) number_text: String,
    /// Where a partition lies on its disk.
    pub(super) first_sector: u64,
    sectors: u64,
    /// Whether the driver takes requests (else bios, as zram and the device mapper do).
    pub(super) request_based: bool,
}

impl Filter {
    pub(super) fn of(path: &Path, host: &Host) -> Result<Self, GuardError> {
        let failed = |action| {
            move |source| GuardError::Io {
                path: path.to_owned(),
                action,
                source,
            }
        };
        let metadata = fs::metadata(path).map_err(failed("find the device"))?;
        if !metadata.file_type().is_block_device() {
            return Err(GuardError::Refused(format!(
                "{} is not a block device, and only block devices can be recorded; 'iosonar targets' lists them",
                path.display()
            )));
        }
        let rdev = metadata.rdev();
        let part = host.partition(rdev);
        let disk = part.map_or(rdev, |part| part.disk);
        let number = (major(disk), minor(disk));
        Ok(Self {
            path: path.to_owned(),
            number,
            number_text: format!("{},{}", number.0, number.1),
            first_sector: part.map_or(0, |part| part.first_sector),
            sectors: part.map_or(u64::MAX, |part| part.sectors),
            request_based: host.is_request_based(disk),
        })
    }

    /// Whether an event is of this device, or of the part of it. Flushes have no place.
    pub(super) fn is_of(&self, event: &LiveEvent) -> bool {
        self.number == event.device && (self.holds(event.sector) || event.sectors == 0)
    }

    /// Whether both have sectors in common.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let end = |of: &Self| of.first_sector.saturating_add(of.sectors);
        self.number == other.number
            && self.first_sector < end(other)
            && other.first_sector < end(self)
    }

    /// Whether a sector of the disk is one of ours.
    pub(super) fn holds(&self, sector: u64) -> bool {
        sector
            .checked_sub(self.first_sector)
            .is_some_and(|sector| sector < self.sectors)
    }
}

/// Each request is counted once, so devices are apart.
pub(super) fn refuse_overlaps(filters: &[Filter]) -> Result<(), GuardError> {
    for (i, filter) in filters.iter().enumerate() {
        if let Some(other) = filters[..i].iter().find(|other| other.overlaps(filter)) {
            return Err(GuardError::Refused(format!(
                "{} and {} have sectors in common: name only one of them",
                other.path.display(),
                filter.path.display()
            )));
        }
    }
    Ok(())
}

/// An instance of the tracer, removed when it is dropped.
pub(super) struct Instance {
    path: PathBuf,
    processors: Vec<(PathBuf, File)>,
    decoder: Decoder,
    buffer: Vec<u8>,
}

const NAME: &str = "iosonar-";
/// The kernel can be configured to use larger trace pages.
const LARGEST_PAGE: usize = 1 << 20;

impl Instance {
    /// Makes an instance that traces these devices.
    pub(super) fn create(filters: &[Filter], buffer: Bytes) -> Result<Self, GuardError> {
        let root = root()?;
        remove_stale(&root);
        let page = page_layout(&root)?;
        let path = root
            .join("instances")
            .join(format!("{NAME}{}", std::process::id()));
        let failed = |path: PathBuf, action: &'static str| {
            move |source| GuardError::Io {
                path,
                action,
                source,
            }
        };
        fs::create_dir(&path).map_err(|e| match e.kind() {
            io::ErrorKind::PermissionDenied => GuardError::Refused(not_permitted(&path)),
            _ => failed(
                path.clone(),
                "create a trace instance (the kernel must support tracing)",
            )(e),
        })?;
        let mut instance = Self {
            path,
            processors: Vec::new(),
            decoder: Decoder::new(page),
            buffer: vec![0; LARGEST_PAGE],
        };
        instance
            .set_up(filters, buffer)
            .map_err(failed(instance.path.clone(), "set up the trace instance"))?;
        Ok(instance)
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        fs::write(self.path.join(file), text)
            .map_err(|e| io::Error::new(e.kind(), format!("{file}: {e}")))
    }

    fn set_up(&mut self, filters: &[Filter], buffer: Bytes) -> io::Result<()> {
        self.write("trace_clock", "mono")?;
        self.write("buffer_size_kb", &buffer.get().div_ceil(1024).to_string())?;
        for entry in fs::read_dir(self.path.join("per_cpu"))? {
            let directory = entry?.path();
            let file = OpenOptions::new()
                .read(true)
                .custom_flags(OFlags::NONBLOCK.bits() as i32)
                .open(directory.join("trace_pipe_raw"))?;
            self.processors.push((directory, file));
        }
        let events = [
            ("block_rq_issue", LiveAction::Issue, true),
            ("block_rq_requeue", LiveAction::Requeue, true),
            ("block_rq_complete", LiveAction::Complete, true),
            ("block_bio_queue", LiveAction::Queue, false),
            ("block_bio_complete", LiveAction::Complete, false),
        ];
        // A completion must not be enabled before what it completes could have been seen, so all
        // begin together: the tracer is switched on last.
        self.write("tracing_on", "0")?;
        for (name, action, of_requests) in events {
            let wanted: Vec<String> = filters
                .iter()
                .filter(|f| f.request_based == of_requests)
                .map(|f| format!("dev == {}", f.number.0 << 20 | f.number.1))
                .collect();
            if wanted.is_empty() {
                continue;
            }
            let event = format!("events/block/{name}");
            let text = fs::read_to_string(self.path.join(&event).join("format"))?;
            let layout = Layout::parse(&text, action)
                .map_err(|problem| io::Error::other(format!("{event}/format: {problem}")))?;
            self.decoder.layouts.push(layout);
            self.write(&format!("{event}/filter"), &wanted.join(" || "))?;
            self.write(&format!("{event}/enable"), "1")?;
        }
        self.write("tracing_on", "1")
    }

    /// No further events are taken.
    pub(super) fn stop(&self) {
        // What comes meanwhile is left aside by time.
        let _ = self.write("tracing_on", "0");
    }

    /// Reports all available events, CPU by CPU. Returns how many are missing.
    pub(super) fn read_all(&mut self, mut report: impl FnMut(LiveEvent)) -> io::Result<u64> {
        let mut missed = 0;
        for (_, file) in &mut self.processors {
            loop {
                let got = match file.read(&mut self.buffer) {
                    Ok(0) => break,
                    Ok(got) => got,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                    Err(e) => return Err(e),
                };
                let missing = self.decoder.events(&self.buffer[..got], &mut report);
                missed = u64::saturating_add(missed, missing);
            }
        }
        Ok(missed)
    }

    /// Events that were lost by the kernel's own count.
    pub(super) fn overruns(&self) -> u64 {
        let count = |directory: &PathBuf| -> u64 {
            let text = fs::read_to_string(directory.join("stats")).unwrap_or_default();
            text.lines()
                .filter_map(|line| line.split_once(": "))
                .filter(|(name, _)| ["overrun", "dropped events", "commit overrun"].contains(name))
                .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
                .sum()
        };
        self.processors.iter().map(|(dir, _)| count(dir)).sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.processors.clear();
        let _ = self.write("events/enable", "0");
        // If it cannot be removed now, the next recorder finds it.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Whether the kernel's trace points can be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tracing {
    /// They can, by way of the tracing files in this folder.
    Available(PathBuf),
    /// This user may not use the tracing files in this folder.
    Barred(PathBuf),
    /// Tracefs is not mounted, or the kernel has none.
    Absent,
    /// The kernel traces, but not its block layer: there are no such events in this folder.
    NoBlockEvents(PathBuf),
}

impl Tracing {
    /// As this user finds it.
    pub fn find() -> Self {
        Self::in_places(&PLACES.map(PathBuf::from))
    }

    fn in_places(places: &[PathBuf]) -> Self {
        let mut barred = None;
        for place in places {
            match fs::metadata(place.join("instances")) {
                // Each recorder makes a folder of its own there.
                Ok(found) if found.is_dir() && !may_write(&place.join("instances")) => {
                    barred = barred.or(Some(place));
                }
                Ok(found) if found.is_dir() => {
                    return match place.join("events/block").is_dir() {
                        true => Self::Available(place.clone()),
                        false => Self::NoBlockEvents(place.clone()),
                    };
                }
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                    barred = barred.or(Some(place));
                }
                _ => {}
            }
        }
        barred.map_or(Self::Absent, |place| Self::Barred(place.clone()))
    }
}

/// Whether this process may write to a folder: with its capabilities, of which `access` would not know.
fn may_write(folder: &Path) -> bool {
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, folder, wanted, AtFlags::EACCESS).is_ok()
}

/// Where tracefs is usually mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Where tracefs is mounted.
fn root() -> Result<PathBuf, GuardError> {
    Err(GuardError::Refused(match Tracing::find() {
        // Without events of the block layer an instance says what is missing.
        Tracing::Available(place) | Tracing::NoBlockEvents(place) => return Ok(place),
        Tracing::Barred(place) => not_permitted(&place),
        Tracing::Absent => "tracefs is not mounted: run mount -t tracefs nodev \
             /sys/kernel/tracing as root (the kernel needs CONFIG_FTRACE and CONFIG_BLK_DEV_IO_TRACE)"
            .to_owned(),
    }))
}

/// What to do about trace files that this user may not use.
fn not_permitted(place: &Path) -> String {
    format!(
        "no permission to use the kernel's tracing files ({}): record as root, or with the capability CAP_DAC_OVERRIDE",
        place.display()
    )
}

fn page_layout(root: &Path) -> Result<PageLayout, GuardError> {
    let path = root.join("events/header_page");
    // The kernel gives this file in one piece only: what a first read leaves is gone.
    let mut text = [0; 4096];
    File::open(&path)
        .and_then(|mut file| file.read(&mut text))
        .map(|got| String::from_utf8_lossy(&text[..got]).into_owned())
        .and_then(|text| {
            PageLayout::parse(&text).ok_or_else(|| {
                io::Error::other("it does not describe the fields 'commit' and 'data'")
            })
        })
        .map_err(|source| GuardError::Io {
            path,
            action: "determine the layout of the trace buffers",
            source,
        })
}

/// Removes the instances of recorders that are no more.
fn remove_stale(root: &Path) {
    let instances = fs::read_dir(root.join("instances"));
    for entry in instances.into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name
            .strip_prefix(NAME)
            .and_then(|id| id.parse::<u32>().ok());
        // One with our own number is of a process that had it before us.
        let is_gone = |id| id == std::process::id() || !Path::new(&format!("/proc/{id}")).exists();
        if process.is_some_and(is_gone) {
            // One whose recorder lives, perhaps in another namespace of processes, is busy and stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracing_is_available_where_it_has_instances_and_events_of_the_block_layer() {
        let dir = tempfile::tempdir().unwrap();
        let (empty, place) = (dir.path().join("empty"), dir.path().join("tracing"));
        let places = [empty, place.clone()];
        assert_eq!(Tracing::in_places(&places), Tracing::Absent);
        fs::create_dir_all(place.join("instances")).unwrap();
        assert_eq!(
            Tracing::in_places(&places),
            Tracing::NoBlockEvents(place.clone())
        );
        fs::create_dir_all(place.join("events/block")).unwrap();
        assert_eq!(Tracing::in_places(&places), Tracing::Available(place));
    }
}
