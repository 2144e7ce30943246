//! A lane: one target, and the requests that are on their way to it.
//!
//! ```text
//!  feed ─► next request ─► gate ─┬─► place, buffer ─► engine ─► completion ─► record
//!          (when it is due)      └─► pushed back ─────►┘
//! ```

mod completion;
mod contents;

use std::collections::VecDeque;
use std::io;

use iosonar_linux::memory::Region;
use iosonar_trace::{Batch, Flags, Op, Outcome, Record, Request, Status, TraceError};
use iosonar_units::Nanos;

use crate::accepted::Accepted;
use crate::bounds::{Bounds, SLOT_BITS};
use crate::buffers::Buffers;
use crate::conflicts::{Admission, Gate};
use crate::engine::{AccessKind, Engine, IoAccess};
use crate::error::Failure;
use crate::feeder::Feed;
use crate::ideal::Ideal;
use crate::options::Data;
use crate::os::channel::{RecvTimeoutError, TryRecvError};
use crate::results::Records;
use crate::verify::Verifier;
use crate::watch::Watch;
use crate::zones::Zones;
use crate::{Options, Progress};
pub(crate) use completion::Completed;
use contents::Contents;

/// The memory of each kind prepared before the start.
const WARM_BYTES: usize = 64 << 20;

/// How often it is asked whether to give up.
const GIVE_UP_INTERVAL: Nanos = Nanos::from_millis(50);

/// What comes next in a lane.
pub(crate) enum Next {
    /// A request that is due at this time of the replay.
    Due(Nanos),
    /// It waits for a completion.
    Blocked,
    /// The load has not been read so far.
    NotYet,
    End,
}

pub(crate) struct Lane<'a> {
    /// Which of the replay's targets this is.
    target: u32,
    /// Which of its engine's.
    number: u32,
    options: &'a Options,
    /// The load's time that is time zero of the replay.
    zero: Nanos,
    bounds: Bounds,
    /// None when the session is over.
    feed: Option<Feed>,
    batch: Batch,
    row: usize,
    table: Accepted,
    gate: Gate,
    /// Pushed back, and free to start.
    ready: VecDeque<u32>,
    ordinary: u32,
    extra: u32,
    /// How many were pushed back and have not started.
    waiting: u32,
    held: bool,
    read_buffers: Buffers,
    write_buffers: Buffers,
    stamp: u64,
    verifier: Option<Verifier>,
    is_stream: bool,
    /// Of the target's blocks.
    block_sectors: u64,
    ideal: Ideal,
    pub(crate) watch: Watch,
    pub(crate) contents: Contents,
}

/// What is submitted together.
pub(crate) struct Together<'a> {
    /// What was prepared, by the numbers that the engine knows.
    pub(crate) numbers: &'a mut Vec<u32>,
    /// The maximum.
    pub(crate) most: usize,
}

impl Together<'_> {
    #[inline]
    fn is_full(&self) -> bool {
        self.numbers.len() >= self.most
    }
}

/// What a lane is made of.
pub(crate) struct Parts<'a> {
    /// Which of the replay's targets it is.
    pub(crate) target: u32,
    /// Which of the targets of its engine.
    pub(crate) number: u32,
    pub(crate) options: &'a Options,
    pub(crate) zero: Nanos,
    pub(crate) bounds: Bounds,
    pub(crate) feed: Feed,
    /// The longest request, in bytes.
    pub(crate) longest: usize,
    /// Whether there are requests that write.
    pub(crate) writes: bool,
    pub(crate) verifier: Option<Verifier>,
    /// Where writes must keep their order.
    pub(crate) zones: Option<Zones>,
    /// Whether the load comes from a pipe, which may never end.
    pub(crate) is_stream: bool,
    /// Of the target's blocks.
    pub(crate) block_sectors: u64,
    /// Whether the engine waits for each request, so that there is one at a time.
    pub(crate) one_by_one: bool,
}

impl<'a> Lane<'a> {
    /// Allocates all that is needed.
    pub(crate) fn new(parts: Parts<'a>) -> io::Result<Self> {
        let Parts {
            target,
            number,
            options,
            zero,
            bounds,
            feed,
            longest,
            writes,
            verifier,
            zones,
            is_stream,
            block_sectors,
            one_by_one,
        } = parts;
        // What reads a write back is still to be seen when the next request is due.
        let in_flight = if one_by_one { 1 } else { bounds.in_flight };
        let bounds = Bounds {
            in_flight,
            ..bounds
        };
        let buffers = |needed| Buffers::new(if needed { bounds.total } else { 1 }, longest);
        let (mut read_buffers, mut write_buffers) = (buffers(true)?, buffers(writes)?);
        if options.engine.is_real() {
            read_buffers.warm_up(WARM_BYTES, None);
            if let (
                true,
                Data::Random {
                    compressible_percent,
                },
            ) = (writes, options.data)
            {
                write_buffers.warm_up(WARM_BYTES, Some(compressible_percent));
            }
        }
        Ok(Self {
            target,
            number,
            options,
            zero,
            bounds,
            feed: Some(feed),
            batch: Batch::default(),
            row: 0,
            table: Accepted::new(bounds.accepted),
            gate: Gate::new(options.conflicts, options.strong, bounds.accepted).with_zones(zones),
            ready: VecDeque::with_capacity(bounds.accepted as usize),
            ordinary: 0,
            extra: 0,
            waiting: 0,
            held: false,
            read_buffers,
            write_buffers,
            stamp: u64::from(target) << 40,
            verifier,
            is_stream,
            block_sectors,
            ideal: Ideal::new(bounds.in_flight),
            watch: Watch::default(),
            // Nothing is read into the buffers else.
            contents: Contents::new(!options.engine.is_real()),
        })
    }

    /// Which of the replay's targets this is.
    pub(crate) fn target(&self) -> u32 {
        self.target
    }

    /// Where the buffers of this lane lie: of reads, of writes.
    pub(crate) fn regions(&self) -> [Region; 2] {
        [self.read_buffers.region(), self.write_buffers.region()]
    }

    /// Frees the memory of requests, of which there will be no more.
    pub(crate) fn free(&mut self) {
        self.read_buffers.free();
        self.write_buffers.free();
    }

    /// At the device.
    #[inline]
    pub(crate) fn in_flight(&self) -> u32 {
        self.ordinary + self.extra
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// A batch from the feeder.
    pub(crate) fn take(&mut self, batch: Batch) {
        let used = std::mem::replace(&mut self.batch, batch);
        self.row = 0;
        // If the feeder has enough empty batches, this one is not needed.
        if let Some(feed) = &self.feed {
            let _ = feed.used.try_send(used);
        }
    }

    /// Requests that have been read and not been looked at, about.
    pub(crate) fn ahead(&self) -> u64 {
        let batches = self.feed.as_ref().map_or(0, |feed| feed.batches.len());
        (batches * Batch::ROWS + self.batch.len() - self.row) as u64
    }

    /// Waits for the next batch, at most so long.
    pub(crate) fn await_batch(
        &self,
        timeout: Nanos,
    ) -> Result<Result<Batch, TraceError>, RecvTimeoutError> {
        match &self.feed {
            Some(feed) => feed.batches.recv_timeout(timeout.into()),
            None => Err(RecvTimeoutError::Disconnected),
        }
    }

    /// The feeder is notified of the end.
    pub(crate) fn hang_up(&mut self) {
        self.feed = None;
    }

    pub(crate) fn take_verifier(&mut self) -> Option<Verifier> {
        self.verifier.take()
    }

    /// Whether there is a row to be looked at.
    #[inline]
    fn has_row(&mut self) -> Result<Option<bool>, TraceError> {
        while self.row == self.batch.len() {
            let Some(feed) = &self.feed else {
                return Ok(Some(false));
            };
            match feed.batches.try_recv() {
                Ok(batch) => self.take(batch?),
                Err(TryRecvError::Empty) => return Ok(None),
                Err(TryRecvError::Disconnected) => return Ok(Some(false)),
            }
        }
        Ok(Some(true))
    }

    /// Prepares what may start now: first what was pushed back and is free, then what is due, in the order of the load.
    #[inline]
    pub(crate) fn prepare<E: Engine>(
        &mut self,
        engine: &mut E,
        now: Option<Nanos>,
        together: &mut Together<'_>,
        records: &mut Records,
        progress: &Progress,
    ) -> Result<Next, Failure> {
        if !self.ready.is_empty() {
            self.prepare_ready(engine, together)?;
        }
        loop {
            match self.has_row().map_err(Failure::Load)? {
                Some(true) => {}
                Some(false) if self.waiting > 0 => return Ok(Next::Blocked),
                Some(false) => return Ok(Next::End),
                None => return Ok(Next::NotYet),
            }
            let planned = self.batch.starts()[self.row].saturating_sub(self.zero);
            let Some(now) = now.filter(|now| planned <= *now && !together.is_full()) else {
                return Ok(Next::Due(planned));
            };
            if self.batch.is_skipped(self.row) {
                records.push(&Record {
                    request: self.request(),
                    outcome: Outcome::untimed(Status::Skipped),
                });
                progress.add_done(1);
                self.row += 1;
                continue;
            }
            let has_room =
                self.ordinary < self.bounds.in_flight && self.in_flight() < self.bounds.total;
            let Some(place) = self.table.next_free().filter(|_| has_room) else {
                self.watch.block(now);
                return Ok(Next::Blocked);
            };
            let request = self.request();
            match self.gate.arrives(&request, self.in_flight() > 0) {
                Admission::Start => {}
                Admission::Hold => {
                    self.watch.ordered_waits += u64::from(!self.held);
                    self.held = true;
                    return Ok(Next::Blocked);
                }
                Admission::Drop => {
                    self.row += 1;
                    self.watch.dropped += 1;
                    progress.add_done(1);
                    records.push(&Record {
                        request,
                        outcome: Outcome::untimed(Status::Dropped),
                    });
                    continue;
                }
                Admission::PushBack(blocker) => {
                    self.row += 1;
                    self.table.claim(request, planned);
                    self.table.get_mut(place).pushed_back = true;
                    self.gate.push_back(place, &request, blocker);
                    self.waiting += 1;
                    self.watch.pushed_back(self.waiting);
                    continue;
                }
            }
            self.row += 1;
            self.watch.unblock(now);
            let held = std::mem::take(&mut self.held);
            self.table.claim(request, planned);
            self.table.get_mut(place).start = Some(self.ideal.start(planned, held));
            self.gate.start(place, &request);
            self.ordinary += 1;
            self.hand_over(engine, place, together)?;
        }
    }

    #[inline]
    fn request(&self) -> Request {
        self.batch.request(self.row)
    }

    fn prepare_ready<E: Engine>(
        &mut self,
        engine: &mut E,
        together: &mut Together<'_>,
    ) -> Result<(), Failure> {
        while !together.is_full()
            && self.extra < self.bounds.in_flight
            && self.in_flight() < self.bounds.total
        {
            let Some(slot) = self.ready.pop_front() else {
                return Ok(());
            };
            let request = self.table.get(slot).request;
            if !self.gate.restart(slot, &request) {
                continue;
            }
            self.waiting -= 1;
            self.extra += 1;
            self.hand_over(engine, slot, together)?;
        }
        Ok(())
    }

    /// Prepares the request in `slot` for the engine.
    #[inline]
    fn hand_over<E: Engine>(
        &mut self,
        engine: &mut E,
        slot: u32,
        together: &mut Together<'_>,
    ) -> Result<(), Failure> {
        let request = self.table.get(slot).request;
        let number = self.number << SLOT_BITS | slot;
        let target = self.target;
        let failed = |action| {
            move |source| Failure::Target {
                number: target,
                action,
                source,
            }
        };
        let outcome = self
            .access(slot, &request)
            .map_err(failed("create the tables for verification"))
            .and_then(|access| {
                let prepared = engine.prepare(number, access);
                prepared.map_err(failed("submit a request"))
            });
        match outcome {
            Ok(()) => together.numbers.push(number),
            // It will never complete, so nothing must wait for it.
            Err(_) => self.leave(slot),
        }
        outcome
    }

    #[inline]
    fn access(&mut self, slot: u32, request: &Request) -> io::Result<IoAccess> {
        let length = request.sectors.bytes().get();
        let is_write = request.op == Op::Write;
        let buffers = if is_write {
            &mut self.write_buffers
        } else {
            &mut self.read_buffers
        };
        let mut buffer = buffers.take();
        let kind = match request.op {
            Op::Read => AccessKind::Read,
            Op::Flush => AccessKind::Flush,
            Op::Write => {
                self.stamp += 1;
                match self.options.data {
                    Data::Zero => {}
                    Data::Random {
                        compressible_percent,
                    } => {
                        let stamp = self.stamp ^ request.start.get() << 20;
                        let bytes = length as usize;
                        buffers.make_unique(&mut buffer, bytes, stamp, compressible_percent);
                    }
                }
                let durable = request.flags.contains(Flags::FUA);
                AccessKind::Write { durable }
            }
            Op::Discard => AccessKind::Discard,
            Op::WriteZeroes => AccessKind::WriteZeroes,
        };
        let entry = self.table.get_mut(slot);
        entry.submitted = true;
        if let Some(verifier) = &mut self.verifier {
            let bytes = if is_write { length as usize } else { 0 };
            entry.number = verifier.starts(slot, request, &mut buffer[..bytes])?;
        }
        Ok(IoAccess {
            kind,
            target: self.number,
            offset: request.sector.offset().get(),
            buffer,
            region: (2 * self.number + u32::from(is_write)) as u16,
            length,
        })
    }

    /// The request in `slot` is submitted `now`. Returns how late that is.
    #[inline]
    pub(crate) fn handed_over(&mut self, slot: u32, now: Nanos) -> Nanos {
        let entry = self.table.get_mut(slot);
        entry.handed = now;
        entry.ideal = self.ideal.submitted(entry.start, entry.planned, now);
        self.watch.handed_over(entry.planned, entry.ideal, now);
        let lateness = now.saturating_sub(entry.planned);
        self.watch.in_flight(self.in_flight() as usize);
        lateness
    }
}

#[cfg(test)]
mod tests;
