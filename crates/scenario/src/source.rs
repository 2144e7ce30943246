//! What drives a run: a synthetic load, or a trace that is checked while it is read.

use std::path::{Path, PathBuf};

use iosonar_raid::{Completion, RequestSource};
use iosonar_trace::fit::{Fitted, Fitter};
use iosonar_trace::{
    Batch, Metadata, Op, Place, Reading, Remark, RemarkKind, Request, TraceError, TraceReader,
    input,
};
use iosonar_units::{Nanos, Sectors, grouped};
use iosonar_workload::{ClosedLoad, SyntheticLoad};

use crate::{ArrayModel, Devices, LevelOptions, ScenarioError};

/// The requests of a synthetic load.
pub(crate) struct Synthetic {
    pub(crate) load: SyntheticLoad,
    pub(crate) left: u64,
}

impl RequestSource for Synthetic {
    type Error = ScenarioError;

    fn next_request(&mut self) -> Result<Option<Request>, ScenarioError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(self.load.next())
    }
}

/// The requests of a closed loop.
pub(crate) struct Closed {
    pub(crate) load: ClosedLoad,
    pub(crate) left: u64,
}

impl RequestSource for Closed {
    type Error = ScenarioError;

    fn next_request(&mut self) -> Result<Option<Request>, ScenarioError> {
        if self.left == 0 {
            return Ok(None);
        }
        let first = self.load.begin();
        self.left -= u64::from(first.is_some());
        Ok(first)
    }

    fn is_closed(&self) -> bool {
        true
    }

    fn waits_for_completions(&self) -> bool {
        self.left > 0
    }

    fn after(&mut self, _: &Completion, now: Nanos) -> Result<Option<Request>, ScenarioError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(Some(self.load.after(now)))
    }
}

/// Requests that never meet: each arrives after the one before it has completed.
pub(crate) struct Alone {
    pub(crate) load: ClosedLoad,
    pub(crate) left: u64,
}

impl RequestSource for Alone {
    type Error = ScenarioError;

    fn next_request(&mut self) -> Result<Option<Request>, ScenarioError> {
        Ok(None)
    }

    fn is_closed(&self) -> bool {
        true
    }

    fn waits_for_completions(&self) -> bool {
        self.left > 0
    }

    fn when_idle(&mut self, now: Nanos) -> Result<Option<Request>, ScenarioError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(Some(self.load.after(now)))
    }
}

/// The sectors that a load lies within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub begin: u64,
    /// The one behind the last.
    pub end: u64,
}

impl Span {
    fn with(span: Option<Self>, request: &Request) -> Self {
        let (begin, end) = (request.sector.get(), request.end().get());
        span.map_or(Self { begin, end }, |span| Self {
            begin: span.begin.min(begin),
            end: span.end.max(end),
        })
    }

    /// How many they are.
    pub fn sectors(&self) -> u64 {
        self.end - self.begin
    }
}

/// The requests of a trace, made to fit and each checked to lie within the array.
pub(crate) struct Trace {
    reader: Box<dyn TraceReader>,
    path: PathBuf,
    batch: Batch,
    row: usize,
    fitter: Fitter,
    on: Held,
    pieces: Pieces,
    span: Option<Span>,
    /// The devices that requests went to, in the order in which they turned up.
    devices: Vec<u16>,
    /// A bit for each of them.
    has_device: Vec<u64>,
}

/// What holds the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Ssd,
    Device,
    Disk,
    Array,
}

impl Held {
    /// What `array` is to a user: an array of one device is that device.
    pub(crate) fn by(array: &ArrayModel) -> Self {
        match (array.disks, &array.devices) {
            (1, Devices::Ssds(_)) => Self::Ssd,
            (1, Devices::Disks(_)) => Self::Disk,
            (1, Devices::Servers(_) | Devices::Registered(_)) => Self::Device,
            _ => Self::Array,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Ssd => "SSD",
            Self::Disk => "disk",
            Self::Device => "device",
            Self::Array => "array",
        }
    }

    const fn remedy(self) -> &'static str {
        match self {
            Self::Ssd => "use a larger SSD",
            Self::Disk => "use a larger disk",
            Self::Device => "increase 'device.capacity'",
            Self::Array => "use more or larger disks",
        }
    }
}

/// Leaves room for queues in the 584 years that 64 bits of nanoseconds hold.
const LATEST: Nanos = Nanos::from_secs(100 * 31_557_600);

/// A request of more pieces takes tens of megabytes for its plan, and many may be in flight.
const MOST_PIECES: u64 = 1 << 18;

/// What devices serve one after the other of a long request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces {
    /// Stripe units of an array, or what is planned at a time for a disk; and what a user calls them.
    unit: Option<(Sectors, &'static str)>,
    /// Pages of SSDs, which are read and written, but not discarded, one by one.
    page: Option<Sectors>,
}

impl Pieces {
    pub(crate) fn of(array: &ArrayModel) -> Self {
        let name = match array.level {
            LevelOptions::Linear { .. } => match array.devices {
                Devices::Disks(_) => Some("pieces"),
                _ => None,
            },
            _ if array.disks == 1 => Some("pieces"),
            _ => Some("stripe units"),
        };
        Self {
            unit: name.map(|name| (array.stripe_unit, name)),
            page: match &array.devices {
                Devices::Ssds(ssds) => Some(ssds.parameters.page()),
                _ => None,
            },
        }
    }

    /// Why requests of this many sectors have too many of them.
    pub(crate) fn problem(self, op: Op, sectors: u64) -> Option<String> {
        let is_data = !matches!(op, Op::Flush | Op::Discard);
        let page = self.page.filter(|_| is_data).map(|page| (page, "pages"));
        let pieces = self.unit.into_iter().chain(page);
        let (piece, name) = pieces.min_by_key(|(piece, _)| *piece)?;
        let count = sectors / u64::from(piece.get());
        (count > MOST_PIECES).then(|| {
            format!(
                "{sectors} sectors consists of {} {name} of {piece} sectors, expected at most {}",
                grouped(count),
                grouped(MOST_PIECES)
            )
        })
    }
}

impl Trace {
    pub(crate) fn open(
        path: &Path,
        reading: &Reading,
        fitter: Fitter,
        on: Held,
        pieces: Pieces,
    ) -> Result<Self, ScenarioError> {
        Ok(Self {
            reader: input::open_load(path, reading)?,
            path: path.to_owned(),
            batch: Batch::default(),
            row: 0,
            fitter,
            on,
            pieces,
            span: None,
            devices: Vec::new(),
            has_device: Vec::new(),
        })
    }

    /// The names of the devices that have turned up.
    pub(crate) fn devices(&self) -> &[String] {
        &self.reader.metadata().devices
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What is known of the trace up to here.
    pub(crate) fn metadata(&self) -> &Metadata {
        self.reader.metadata()
    }

    /// Which sectors its reads and writes lay within.
    pub(crate) fn span(&self) -> Option<Span> {
        self.span
    }

    /// Counts a device that has not turned up before. At most 8 KiB know which have.
    fn see_device(&mut self, device: u16) {
        if self.devices.last() == Some(&device) {
            return;
        }
        let (word, bit) = (usize::from(device) / 64, 1 << (device % 64));
        if word >= self.has_device.len() {
            self.has_device.resize(word + 1, 0);
        }
        if self.has_device[word] & bit == 0 {
            self.has_device[word] |= bit;
            self.devices.push(device);
        }
    }

    /// That the requests of several devices have come, where all go to one system.
    pub(crate) fn devices_as_one(&self) -> Option<Remark> {
        /// Names in a line.
        const MOST: usize = 4;
        if self.devices.len() < 2 {
            return None;
        }
        let names = self.devices.iter().take(MOST);
        let names: Vec<_> = names
            .map(|&number| self.metadata().device_name(number))
            .collect();
        let more = if self.devices.len() > MOST {
            ", ..."
        } else {
            ""
        };
        let what = format!(
            "devices ({}{more}) are simulated as one, at the same addresses: select one with --device, or place them \
             side by side with 'iosonar convert --adjacent'",
            names.join(", ")
        );
        Some(Remark {
            kind: RemarkKind::SeveralDevices,
            what_of_one: what.clone(),
            what,
            count: self.devices.len() as u64,
            example: String::new(),
        })
    }

    /// What was remarked while the trace was read, and what was changed to make it fit.
    pub(crate) fn notes(&self) -> (Vec<Remark>, Fitted) {
        (self.reader.metadata().remarks.clone(), self.fitter.fitted())
    }
}

impl RequestSource for Trace {
    type Error = ScenarioError;

    fn next_request(&mut self) -> Result<Option<Request>, ScenarioError> {
        let request = loop {
            if self.row == self.batch.len() {
                self.row = 0;
                if self.reader.next_batch(&mut self.batch)? == 0 {
                    return Ok(None);
                }
            }
            let mut request = self.batch.request(self.row);
            if self.fitter.is_idle() || self.fitter.apply(&mut request) {
                break request;
            }
            self.row += 1;
        };
        if request.start > LATEST {
            return Err(ScenarioError::Trace(TraceError::Request {
                place: Place::of(&self.path, self.batch.place(self.row)),
                problem: format!(
                    "the request starts after {} of simulated time, expected at most 100 years: \
                     use a part of the trace (--from), or a different --speed",
                    request.start
                ),
            }));
        }
        if request.end().get() > self.fitter.target_sectors() {
            return Err(ScenarioError::Trace(TraceError::Request {
                place: Place::of(&self.path, self.batch.place(self.row)),
                problem: format!(
                    "the request ends at sector {}, beyond the end of the {} at sector {}: {}, or add --set \
                     load.beyond=fit (or wrap, or clip) to the command (choose: --fit or --wrap)",
                    request.end(),
                    self.on.name(),
                    self.fitter.target_sectors(),
                    self.on.remedy()
                ),
            }));
        }
        let sectors = u64::from(request.sectors.get());
        if let Some(problem) = self.pieces.problem(request.op, sectors) {
            return Err(ScenarioError::Trace(TraceError::Request {
                place: Place::of(&self.path, self.batch.place(self.row)),
                problem: format!("a request of {problem}: split it into several requests"),
            }));
        }
        self.row += 1;
        if !matches!(request.op, Op::Flush | Op::Discard) {
            self.span = Some(Span::with(self.span, &request));
        }
        self.see_device(request.device);
        Ok(Some(request))
    }
}
