//! What devices do at this moment, request by request and without a file.

use std::path::PathBuf;

use iosonar_guard::{GuardError, Host};
use iosonar_trace::{LiveBegin, LiveRequests, LiveStep};
use iosonar_units::{Bytes, Nanos};

use crate::rounds::Rounds;
use crate::tracefs::{Filter, Instance, refuse_overlaps};
use crate::{RecordError, monotonic, wall_clock};

/// What is watched.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// The block devices; partitions may be among them.
    pub devices: Vec<PathBuf>,
    /// How much memory the kernel's buffers take for each processor.
    pub buffer: Bytes,
}

/// A step of a request of one of the devices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// When, from the beginning of the watch.
    pub time: Nanos,
    /// The device, as a place in [`WatchOptions::devices`].
    pub device: usize,
    /// What happened. Times and sectors of requests count from the beginning of the watch and of the partition.
    pub step: LiveStep,
}

/// Devices that are watched, until it is dropped.
///
/// It does nothing of its own: [`advance`](Self::advance) must be called some 50 times a second, or the kernel's
/// buffers fill up and events are lost.
pub struct Watch {
    filters: Vec<Filter>,
    instance: Instance,
    rounds: Rounds,
    requests: LiveRequests,
    /// Zero, on the clock of the events.
    begin: Nanos,
    origin_ns: u64,
    lost: u64,
    events: u64,
    /// The rounds in which completions may still be missing.
    uncertain: u8,
}

impl Watch {
    /// Watches from now on.
    ///
    /// # Errors
    /// If the kernel's trace points cannot be reached (the message says what to mount or allow), or a device is invalid
    /// or is named twice.
    pub fn start(options: &WatchOptions, host: &Host) -> Result<Self, RecordError> {
        let filters = options.devices.iter().map(|path| Filter::of(path, host));
        let filters: Vec<Filter> = filters.collect::<Result<_, _>>()?;
        refuse_overlaps(&filters)?;
        let (begin, origin_ns) = wall_clock();
        let instance = Instance::create(&filters, options.buffer)?;
        Ok(Self {
            filters,
            instance,
            rounds: Rounds::default(),
            requests: LiveRequests::new(begin),
            begin: Nanos::new(begin),
            origin_ns,
            lost: 0,
            events: 0,
            uncertain: 0,
        })
    }

    /// Reports what has happened since the last call, in the order of time. Returns the time up to which that is all.
    ///
    /// # Errors
    /// If the kernel's buffers cannot be read.
    pub fn advance(&mut self, mut report: impl FnMut(Seen)) -> Result<Nanos, RecordError> {
        let lost = self.rounds.read(&mut self.instance, &self.filters);
        let lost = lost.map_err(|source| GuardError::Io {
            path: PathBuf::from("tracefs"),
            action: "read the kernel's trace buffers",
            source,
        })?;
        while let Some(event) = self.rounds.next(false) {
            let time = Nanos::new(event.time).saturating_sub(self.begin);
            let found = self.filters.iter().position(|filter| filter.is_of(&event));
            let Some(device) = found else { continue };
            let filter = &self.filters[device];
            let begins = match filter.request_based {
                true => LiveBegin::Issue,
                false => LiveBegin::Queue,
            };
            self.events += 1;
            self.requests.take(&event, device as u16, begins, |step| {
                let step = placed(step, filter.first_sector);
                report(Seen { time, device, step });
            });
        }
        let settled = Nanos::new(self.rounds.settled()).saturating_sub(self.begin);
        if lost > 0 {
            self.lost = self.lost.saturating_add(lost);
            // Requests that began before, and whose events are not in order yet, are of the next round.
            self.uncertain = 2;
        }
        if self.uncertain > 0 {
            self.uncertain -= 1;
            let time = settled;
            self.requests.give_up(|step| {
                if let LiveStep::GivenUp(request) = step {
                    let device = usize::from(request.device);
                    report(Seen { time, device, step });
                }
            });
        }
        Ok(settled)
    }

    /// The time since the beginning, on the clock of [`Seen::time`].
    pub fn elapsed(&self) -> Nanos {
        monotonic().saturating_sub(self.begin)
    }

    /// The beginning, in nanoseconds since 1970.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Events that the kernel lost because its buffers were full.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Events of the devices.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The beginning and the device of the request that has been in flight longest.
    pub fn oldest(&self) -> Option<(Nanos, usize)> {
        let request = self.requests.oldest()?;
        Some((request.start, usize::from(request.device)))
    }
}

/// The same with sectors that count from the beginning of the partition.
fn placed(step: LiveStep, first_sector: u64) -> LiveStep {
    let place = |mut request: iosonar_trace::Request| {
        let sector = request.sector.get().saturating_sub(first_sector);
        request.sector = iosonar_units::Sector::new(sector);
        request
    };
    match step {
        LiveStep::Begun(request) => LiveStep::Begun(place(request)),
        LiveStep::Withdrawn(request) => LiveStep::Withdrawn(place(request)),
        LiveStep::GivenUp(request) => LiveStep::GivenUp(place(request)),
        LiveStep::Completed(mut record) => {
            record.request = place(record.request);
            LiveStep::Completed(record)
        }
        LiveStep::Unmatched => LiveStep::Unmatched,
    }
}
