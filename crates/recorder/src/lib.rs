//! Recording what a device does, from the kernel's block-layer trace points.
//!
//! ```text
//!  tracefs instance ─► per-CPU buffers ─► pages ─► events ─► merge by time ─► requests ─► records
//!  (of our own)        (trace_pipe_raw)                      (over the CPUs)   (paired)
//! ```
//!
//! [`record`] writes them to a file. [`Watch`] reports each step of each request when it happens, and writes nothing.
//!
//! Nothing else is needed: no debugfs, no other tool, no library. The instance is our own, so that
//! other users of tracing are not disturbed; it is removed at the end, and those that a killed
//! recorder left behind are found and removed before.

mod decoder;
mod error;
#[cfg(any(fuzzing, test))]
pub mod fuzzed;
mod layout;
mod pages;
mod rounds;
mod tracefs;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use crossbeam_channel::{Receiver, Sender, bounded};
use iosonar_guard::{GuardError, Host};
use iosonar_trace::output::written_so_far;
use iosonar_trace::{
    Batch, LiveBegin, LiveEvent, LiveEvents, Metadata, Remark, TraceError, TraceReader,
    TraceWriter, live_reader,
};
use iosonar_units::{Bytes, Nanos};
use rustix::time::{ClockId, clock_gettime};

pub use error::RecordError;
use rounds::{ROUND, Rounds};
pub use tracefs::Tracing;
use tracefs::{Filter, Instance, refuse_overlaps};
pub use watch::{Seen, Watch, WatchOptions};

/// What is recorded.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The block devices; partitions may be among them.
    pub devices: Vec<PathBuf>,
    /// How long; until stopped if `None`.
    pub duration: Option<Nanos>,
    /// The maximum number of requests.
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
    /// Further remarks.
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

/// The number of events per batch.
const EVENTS_TOGETHER: usize = 4096;

/// Records until the time or a limit is over, or `stop` becomes true. `writer` is made with the
/// recording's metadata, which name the devices.
///
/// # Errors
/// If the kernel's trace points cannot be reached (the message says what to mount or allow), a device is invalid, or
/// the records cannot be written.
pub fn record(
    options: &RecordOptions,
    host: &Host,
    make_writer: impl FnOnce(&Metadata) -> Result<Box<dyn TraceWriter>, TraceError>,
    stop: &AtomicBool,
    progress: &Arc<RecordProgress>,
) -> Result<Recorded, RecordError> {
    let filters: Vec<Filter> = options
        .devices
        .iter()
        .map(|path| Filter::of(path, host))
        .collect::<Result<_, _>>()?;
    refuse_overlaps(&filters)?;
    let mut instance = Instance::create(&filters, options.buffer)?;
    let wall = wall_clock();
    let (sender, batches) = bounded::<Vec<LiveEvent>>(64);
    let events = Events {
        batches,
        row: 0,
        batch: Vec::new(),
        progress: Arc::clone(progress),
    };
    let reader = live_reader(events, begins(&filters), wall);
    let metadata = metadata_of(&filters, wall.1);
    let writer = make_writer(&metadata)?;

    let begin = monotonic();
    let cpu = process_time();
    let over = AtomicBool::new(false);
    let is_over = || {
        let lasted = |most| monotonic() - begin >= most;
        let is_full = |(path, most): &(PathBuf, Bytes)| written_so_far(path) >= most.get();
        stop.load(Relaxed)
            || over.load(Relaxed)
            || options.duration.is_some_and(lasted)
            || options.size.as_ref().is_some_and(is_full)
    };
    let (lost, written) = std::thread::scope(|scope| {
        let (instance, filters) = (&mut instance, filters.as_slice());
        let emptying = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn_scoped(scope, move || empty(instance, filters, &sender, is_over));
        // If there is no thread to empty the buffers, there is nothing to wait for.
        over.fetch_or(emptying.is_err(), Relaxed);
        let most = options.requests.unwrap_or(u64::MAX);
        let written = Writing {
            filters,
            most,
            over: &over,
            progress,
        }
        .write(reader, writer, metadata);
        let lost = emptying.and_then(|thread| {
            let lost = thread.join();
            lost.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        (lost, written)
    });
    let written = written?;
    let lost = lost.map_err(|source| GuardError::Io {
        path: PathBuf::from("tracefs"),
        action: "read the kernel's trace buffers",
        source,
    })?;
    let elapsed = monotonic() - begin;
    Ok(Recorded {
        requests: written.requests,
        events: progress.events(),
        lost,
        elapsed,
        processor_share: (process_time() - cpu).as_secs_f64() / elapsed.as_secs_f64().max(1e-9),
        without_completions: written.without_completions(&filters),
        remarks: written
            .remarks
            .iter()
            .map(|r| format!("{} {} (first: {})", r.count, r.happened(), r.example))
            .collect(),
    })
}

/// With which event the requests of a device begin.
fn begins(filters: &[Filter]) -> impl Fn((u32, u32)) -> LiveBegin + Send + use<> {
    let by_bios = filters.iter().filter(|f| !f.request_based);
    let by_bios: Vec<_> = by_bios.map(|f| f.number).collect();
    move |device| match by_bios.contains(&device) {
        true => LiveBegin::Queue,
        false => LiveBegin::Issue,
    }
}

fn metadata_of(filters: &[Filter], origin_ns: u64) -> Metadata {
    let devices = filters.iter().map(|f| f.path.display().to_string());
    let devices: Vec<String> = devices.collect();
    let mut metadata = Metadata {
        origin_ns: Some(origin_ns),
        ..Metadata::default()
    };
    let recorded = ("recorded".to_owned(), devices.join(", "));
    metadata.about.extend([recorded]);
    metadata.devices = devices;
    metadata
}

/// The way of requests into the file.
struct Writing<'a> {
    filters: &'a [Filter],
    /// How many are written at the most.
    most: u64,
    /// Becomes true at the end.
    over: &'a AtomicBool,
    progress: &'a RecordProgress,
}

/// What was written.
struct Written {
    requests: u64,
    by_device: Vec<Counted>,
    remarks: Vec<Remark>,
}

impl Written {
    /// The devices whose requests have no completions, and how many requests.
    fn without_completions(&self, filters: &[Filter]) -> Vec<(PathBuf, u64)> {
        filters
            .iter()
            .zip(&self.by_device)
            .filter(|(_, seen)| seen.is_without_completions())
            .map(|(filter, seen)| (filter.path.clone(), seen.requests))
            .collect()
    }
}

impl Writing<'_> {
    /// Writes all that `reader` gives, until the limit is reached.
    fn write(
        &self,
        mut reader: Box<dyn TraceReader>,
        mut writer: Box<dyn TraceWriter>,
        mut metadata: Metadata,
    ) -> Result<Written, TraceError> {
        let mut batch = Batch::default();
        let mut requests = 0;
        let mut by_device = vec![Counted::default(); self.filters.len()];
        let mut outcome = Ok(());
        while outcome.is_ok() {
            match reader.next_batch(&mut batch) {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) => outcome = Err(e),
            }
            place(&mut batch, self.filters, reader.metadata());
            let room = self.most.saturating_sub(requests);
            if room <= batch.len() as u64 {
                batch.truncate(room as usize);
                self.over.store(true, Relaxed);
            }
            requests += batch.len() as u64;
            count(&batch, &mut by_device);
            self.progress.requests.store(requests, Relaxed);
            outcome = outcome.and_then(|()| writer.write(&batch));
        }
        self.over.store(true, Relaxed);
        let read = reader.metadata();
        // Without requests, the time of none of them is known.
        if requests > 0 {
            metadata.origin_ns = read.origin_ns;
        }
        metadata.remarks.clone_from(&read.remarks);
        // The reading thread ends when its receiver is gone.
        drop(reader);
        writer.update(&metadata);
        outcome.and_then(|()| writer.finish())?;
        Ok(Written {
            requests,
            by_device,
            remarks: metadata.remarks,
        })
    }
}

fn clock(id: ClockId) -> Nanos {
    let t = clock_gettime(id);
    Nanos::new(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// The kernel's events have this clock, too.
fn monotonic() -> Nanos {
    clock(ClockId::Monotonic)
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
    clock(ClockId::ProcessCPUTime)
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
struct Counted {
    requests: u64,
    completed: u64,
}

impl Counted {
    fn is_without_completions(self) -> bool {
        self.requests > 0 && self.completed == 0
    }
}

/// Counts requests that were placed, by device.
fn count(batch: &Batch, by_device: &mut [Counted]) {
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

/// Empties the buffers of all processors round by round, and hands their events on in the order of
/// time. What happened before a round began has been read when it ends. Returns how many were lost.
fn empty(
    instance: &mut Instance,
    filters: &[Filter],
    events: &Sender<Vec<LiveEvent>>,
    is_over: impl Fn() -> bool,
) -> std::io::Result<u64> {
    let mut rounds = Rounds::default();
    let mut lost = 0;
    loop {
        let last = is_over();
        if last {
            instance.stop();
        }
        lost = u64::saturating_add(lost, rounds.read(instance, filters)?);
        let mut together = Vec::with_capacity(EVENTS_TOGETHER);
        while let Some(event) = rounds.next(last) {
            together.push(event);
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
            // What was seen to be missing is in the kernel's count, too.
            return Ok(lost.max(instance.overruns()));
        }
        std::thread::sleep(ROUND);
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;

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
        let mut by_device = [Counted::default(); 3];
        count(&batch, &mut by_device);
        let noticed = by_device.map(Counted::is_without_completions);
        assert_eq!(noticed, [false, true, false], "the third had no requests");
    }
}
