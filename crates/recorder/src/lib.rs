//! Recording what a device does, from the kernel's block-layer trace points.
//!
//! ```text
//!  tracefs instance ─► per-CPU buffers ─► pages ─► events ─► merge by time ─► requests ─► records
//!  (of our own)        (trace_pipe_raw)                      (over the CPUs)   (paired)
//! ```
//!
//! Nothing else is needed: no debugfs, no other tool, no library. The instance is our own, so that
//! other users of tracing are not disturbed; it is removed at the end, and those that a killed
//! recorder left behind are found and removed before.

mod error;
mod layout;
mod pages;
mod tracefs;

use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use iosonar_guard::Host;
use iosonar_trace::{
    Batch, LiveBegin, LiveEvent, LiveEvents, Metadata, TraceReader, TraceWriter, live_reader,
};
use iosonar_units::{Bytes, Nanos};
use rustix::time::{ClockId, clock_gettime};

pub use error::RecordError;
use tracefs::{Filter, Instance};

/// What is recorded.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The block devices; partitions may be among them.
    pub devices: Vec<PathBuf>,
    /// How long; until told otherwise if `None`.
    pub duration: Option<Nanos>,
    /// So many requests at the most.
    pub requests: Option<u64>,
    /// Where a file grows, and how large it may become.
    pub size: Option<(PathBuf, Bytes)>,
    /// How much memory the kernel's buffers take for each processor.
    pub buffer: Bytes,
}

/// What a recording was like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Requests that were recorded.
    pub requests: u64,
    /// Events of the devices.
    pub events: u64,
    /// Events that the kernel lost because its buffers were full.
    pub lost: u64,
    /// How long it lasted.
    pub elapsed: Nanos,
    /// The share of one processor that recording took.
    pub processor_share: f64,
    /// The devices with requests of which not one has a completion, each with the number of its requests.
    pub without_completions: Vec<(PathBuf, u64)>,
    /// What else is to be told.
    pub remarks: Vec<String>,
}

/// What others may see of a recording while it runs.
#[derive(Debug, Default)]
pub struct RecordProgress {
    events: AtomicU64,
    requests: AtomicU64,
}

impl RecordProgress {
    /// Events so far.
    pub fn events(&self) -> u64 {
        self.events.load(Relaxed)
    }

    /// Requests so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }
}

/// How often the kernel's buffers are emptied.
const ROUND: Duration = Duration::from_millis(20);
/// So many events travel together.
const EVENTS_TOGETHER: usize = 4096;

/// Records until the time or a limit is over, or `stop` becomes true. `writer` is made with the
/// recording's metadata, which name the devices.
///
/// # Errors
/// If the kernel's trace points cannot be reached (the message says what to mount or allow), a device is none, or the
/// records cannot be written.
#[allow(clippy::too_many_lines)] // From the instance to the file, in order.
pub fn record(
    options: &RecordOptions,
    host: &Host,
    make_writer: impl FnOnce(&Metadata) -> Result<Box<dyn TraceWriter>, iosonar_trace::TraceError>,
    stop: &AtomicBool,
    progress: &Arc<RecordProgress>,
) -> Result<Recorded, RecordError> {
    let filters: Vec<Filter> = options
        .devices
        .iter()
        .map(|path| Filter::of(path, host))
        .collect::<Result<_, _>>()?;
    let mut instance = Instance::create(&filters, options.buffer)?;
    let wall = wall_clock();
    let (sender, events) = bounded::<Vec<LiveEvent>>(64);
    let by_bios: Vec<_> = filters
        .iter()
        .filter(|f| !f.request_based)
        .map(|f| f.number)
        .collect();
    let begins = move |device| match by_bios.contains(&device) {
        true => LiveBegin::Queue,
        false => LiveBegin::Issue,
    };
    let events = Events {
        batches: events,
        row: 0,
        batch: Vec::new(),
        progress: Arc::clone(progress),
    };
    let mut reader = live_reader(events, begins, wall);
    let mut metadata = Metadata {
        devices: filters
            .iter()
            .map(|f| f.path.display().to_string())
            .collect(),
        origin_ns: Some(wall.1),
        ..Metadata::default()
    };
    metadata
        .about
        .insert("recorded".to_owned(), names(&filters));
    let mut writer = make_writer(&metadata)?;

    let begin = monotonic();
    let cpu = process_time();
    let over = AtomicBool::new(false);
    let (lost, written, (requests, by_device), remarks) = std::thread::scope(|scope| {
        let (over, instance, filters) = (&over, &mut instance, &filters);
        let emptying = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn_scoped(scope, move || {
                let is_over = || {
                    stop.load(Relaxed)
                        || over.load(Relaxed)
                        || options
                            .duration
                            .is_some_and(|most| monotonic() - begin >= most)
                        || options
                            .size
                            .as_ref()
                            .is_some_and(|(path, most)| size_of(path) >= most.get())
                };
                empty(instance, filters, &sender, is_over)
            });
        drop_if_failed(&emptying, over);
        let (mut batch, mut requests) = (Batch::default(), 0);
        let mut by_device = vec![Seen::default(); filters.len()];
        let mut outcome = Ok(());
        while outcome.is_ok() {
            match reader.next_batch(&mut batch) {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) => outcome = Err(e),
            }
            place(&mut batch, filters, reader.metadata());
            if let Some(most) = options.requests {
                let room = most.saturating_sub(requests);
                if room <= batch.len() as u64 {
                    batch.truncate(room as usize);
                    over.store(true, Relaxed);
                }
            }
            requests += batch.len() as u64;
            count(&batch, &mut by_device);
            progress.requests.store(requests, Relaxed);
            outcome = outcome.and_then(|()| writer.write(&batch));
        }
        over.store(true, Relaxed);
        let remarks = reader.metadata().remarks.clone();
        let origin = reader.metadata().origin_ns;
        // The thread that empties ends when nobody listens.
        drop(reader);
        let lost = match emptying {
            Ok(thread) => thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(e) => Err(e),
        };
        metadata.origin_ns = origin;
        metadata.remarks.clone_from(&remarks);
        writer.update(&metadata);
        (
            lost,
            outcome.and_then(|()| writer.finish()),
            (requests, by_device),
            remarks,
        )
    });
    written?;
    let lost = lost.map_err(|source| RecordError::Io {
        path: PathBuf::from("tracefs"),
        action: "read the kernel's trace buffers",
        source,
    })?;
    let elapsed = monotonic() - begin;
    Ok(Recorded {
        requests,
        events: progress.events(),
        lost,
        elapsed,
        processor_share: (process_time() - cpu).as_secs_f64() / elapsed.as_secs_f64().max(1e-9),
        without_completions: filters
            .iter()
            .zip(by_device)
            .filter(|(_, seen)| seen.is_without_completions())
            .map(|(filter, seen)| (filter.path.clone(), seen.requests))
            .collect(),
        remarks: remarks
            .iter()
            .map(|r| format!("{} {} (first: {})", r.count, r.what, r.example))
            .collect(),
    })
}

/// If there is no thread to empty the buffers, there is nothing to wait for.
fn drop_if_failed<T>(thread: &std::io::Result<T>, over: &AtomicBool) {
    if thread.is_err() {
        over.store(true, Relaxed);
    }
}

fn names(filters: &[Filter]) -> String {
    let names: Vec<String> = filters
        .iter()
        .map(|f| f.path.display().to_string())
        .collect();
    names.join(", ")
}

fn size_of(path: &Path) -> u64 {
    // The file has a temporary name of its own while it grows.
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return 0;
    };
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let begins = format!("{}.{}-", name.to_string_lossy(), std::process::id());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&begins))
        .filter_map(|entry| entry.metadata().ok())
        .map(|metadata| metadata.len())
        .sum()
}

/// The kernel's events have this clock, too.
fn monotonic() -> Nanos {
    let t = clock_gettime(ClockId::Monotonic);
    Nanos::new(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// A time of the monotonic clock, and the nanoseconds since 1970 then.
fn wall_clock() -> (u64, u64) {
    let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    (
        monotonic().get(),
        wall.map_or(0, |wall| wall.as_nanos() as u64),
    )
}

fn process_time() -> Nanos {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Nanos::new(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Requests of partitions count from the partition's beginning, and devices are numbered as the user
/// named them.
fn place(batch: &mut Batch, filters: &[Filter], metadata: &Metadata) {
    for row in 0..batch.len() {
        let mut record = batch.record(row);
        let request = &mut record.request;
        let number = metadata.device_name(request.device);
        let sector = request.sector.get();
        let found = filters.iter().enumerate().find(|(_, filter)| {
            filter.number_text == number && (filter.holds(sector) || request.sectors.get() == 0)
        });
        if let Some((i, filter)) = found {
            request.device = if filters.len() > 1 { i as u16 } else { 0 };
            request.sector = iosonar_units::Sector::new(sector.saturating_sub(filter.first_sector));
            batch.set(row, &record);
        }
    }
}

/// What was recorded of a device.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    requests: u64,
    completed: u64,
}

impl Seen {
    fn is_without_completions(self) -> bool {
        self.requests > 0 && self.completed == 0
    }
}

/// Counts requests that were placed, by device.
fn count(batch: &Batch, by_device: &mut [Seen]) {
    for row in 0..batch.len() {
        let record = batch.record(row);
        if let Some(seen) = by_device.get_mut(usize::from(record.request.device)) {
            seen.requests += 1;
            seen.completed += u64::from(record.outcome.latency.is_some());
        }
    }
}

/// Events as they come from the thread that empties the buffers.
struct Events {
    batches: Receiver<Vec<LiveEvent>>,
    batch: Vec<LiveEvent>,
    row: usize,
    progress: Arc<RecordProgress>,
}

impl LiveEvents for Events {
    fn would_wait(&self) -> bool {
        self.row == self.batch.len() && self.batches.is_empty()
    }

    fn next(&mut self) -> Option<LiveEvent> {
        while self.row == self.batch.len() {
            self.batch = self.batches.recv().ok()?;
            self.row = 0;
        }
        self.row += 1;
        self.progress.events.fetch_add(1, Relaxed);
        Some(self.batch[self.row - 1])
    }
}

/// An event in the order of time; of equal times, in the order in which they were read.
#[derive(PartialEq, Eq)]
struct Waiting {
    event: LiveEvent,
    read: u64,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |w: &Self| (w.event.time, w.read);
        // The heap gives the greatest first.
        key(other).cmp(&key(self))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Empties the buffers of all processors round by round, and hands their events on in the order of
/// time. What happened before a round began has been read when it ends. Returns how many were lost.
fn empty(
    instance: &mut Instance,
    filters: &[Filter],
    events: &Sender<Vec<LiveEvent>>,
    is_over: impl Fn() -> bool,
) -> std::io::Result<u64> {
    let mut waiting = BinaryHeap::new();
    let mut read = 0;
    let (mut lost, mut begun) = (0, 0);
    loop {
        let last = is_over();
        if last {
            instance.stop();
        }
        // An event may have been begun and not be readable yet: it has a round's time.
        let settled = std::mem::replace(&mut begun, monotonic().get());
        lost += instance.read_all(|event| {
            let ours = filters
                .iter()
                .any(|f| f.number == event.device && (f.holds(event.sector) || event.sectors == 0));
            if ours {
                read += 1;
                waiting.push(Waiting { event, read });
            }
        })?;
        let mut together = Vec::with_capacity(EVENTS_TOGETHER);
        while waiting
            .peek()
            .is_some_and(|w: &Waiting| last || w.event.time < settled)
        {
            together.extend(waiting.pop().map(|w| w.event));
            if together.len() == EVENTS_TOGETHER {
                let full = std::mem::take(&mut together);
                if events.send(full).is_err() {
                    return Ok(lost);
                }
            }
        }
        if !together.is_empty() && events.send(together).is_err() {
            return Ok(lost);
        }
        if last {
            return Ok(lost + instance.overruns());
        }
        std::thread::sleep(ROUND);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_trace::{Outcome, Record, Request};

    #[test]
    fn a_device_with_requests_and_no_completion_is_noticed() {
        let mut batch = Batch::default();
        let done = Outcome::done(Nanos::ZERO, Nanos::from_micros(80));
        for (device, outcome) in [(0, done), (1, Outcome::default()), (0, Outcome::default())] {
            let request = Request {
                device,
                ..Request::default()
            };
            batch.push(&Record { request, outcome });
        }
        let mut by_device = [Seen::default(); 3];
        count(&batch, &mut by_device);
        let noticed = by_device.map(Seen::is_without_completions);
        assert_eq!(noticed, [false, true, false], "the third had no requests");
    }
}
