//! The handling of completed accesses, and of requests that never begin.

use std::ops::Range;

use iosonar_trace::{Flags, Op, Outcome, Record, Request, Status};
use iosonar_units::{Nanos, Sector};

use super::{GIVE_UP_INTERVAL, Lane, SLOT_BITS};
use crate::accepted::Entry;
use crate::engine::{AccessKind, Done, Engine, IoAccess};
use crate::error::Failure;
use crate::os::channel::RecvTimeoutError;
use crate::pacing::Clock;
use crate::results::Records;

impl Lane<'_> {
    /// The access of a slot is done. Returns whether it went wrong, and what is to be read back.
    #[inline]
    pub(crate) fn complete<E: Engine>(
        &mut self,
        engine: &mut E,
        done: Done,
        records: &mut Records,
        clock: Clock,
    ) -> Result<Completed, Failure> {
        let Done {
            slot,
            result,
            at,
            place,
            buffer,
        } = done;
        let at = clock.at(at);
        let entry = *self.table.get(slot);
        let latency = at.saturating_sub(entry.handed);
        let request = entry.request;
        let status = status_of(&request, result);
        let mut record = match entry.reading_back {
            Some(record) => record,
            None => Record {
                request,
                outcome: Outcome {
                    status,
                    pushed_back: entry.pushed_back,
                    ..Outcome::done(entry.handed.saturating_sub(entry.planned), latency)
                },
            },
        };
        if let Some(verifier) = &mut self.verifier {
            let length = request.sectors.bytes().get() as usize;
            let done = status == Status::Done;
            if request.op == Op::Read || entry.reading_back.is_some() {
                // A read-back that fails is a failure of the request.
                record.outcome.status = status;
                let bytes = if done { length } else { 0 };
                if done && !verifier.check_read(slot, &request, &buffer[..bytes]) {
                    record.outcome.status = Status::VerifyFailed;
                }
            } else {
                let durable = request.flags.contains(Flags::FUA)
                    || self.options.sync != crate::Durability::None;
                verifier.ends(entry.number, &request, done, durable);
                if done && request.op == Op::Write && verifier.reads_back() {
                    verifier.remember(slot, &request);
                    self.write_buffers.give_back(buffer);
                    self.table.get_mut(slot).reading_back = Some(record);
                    self.read_back(engine, slot, &entry)?;
                    return Ok(Completed::ReadsBack);
                }
            }
        }
        if let Some(block) = place {
            record.request.sector = Sector::new(block * self.block_sectors);
        }
        let is_done = matches!(record.outcome.status, Status::Done | Status::VerifyFailed);
        self.watch.completed(at, latency, !is_done);
        self.ideal.ended(entry.ideal, latency, at);
        if is_done && request.op == Op::Read && !self.contents.has_data {
            self.contents.look(&request, &buffer[..512]);
        }
        let is_write = request.op == Op::Write && entry.reading_back.is_none();
        match is_write {
            true => self.write_buffers.give_back(buffer),
            false => self.read_buffers.give_back(buffer),
        }
        self.leave(slot);
        records.push(&record);
        let gone = matches!(
            record.outcome.status,
            Status::Error(ENODEV | ENXIO | ENOMEDIUM)
        );
        Ok(match is_done {
            true => Completed::Done,
            false => Completed::Failed { gone },
        })
    }

    pub(super) fn read_back<E: Engine>(
        &mut self,
        engine: &mut E,
        slot: u32,
        entry: &Entry,
    ) -> Result<(), Failure> {
        let access = IoAccess {
            kind: AccessKind::Read,
            target: self.number,
            offset: entry.request.sector.offset().get(),
            buffer: self.read_buffers.take(),
            region: (2 * self.number) as u16,
            length: entry.request.sectors.bytes().get(),
        };
        let number = self.number << SLOT_BITS | slot;
        engine
            .prepare(number, access)
            .and_then(|()| engine.submit())
            .map_err(Failure::Engine)
    }

    /// Takes a request that is complete out of all tables.
    #[inline]
    pub(super) fn leave(&mut self, slot: u32) {
        let entry = self.table.release(slot);
        if entry.pushed_back {
            self.extra -= 1;
        } else {
            self.ordinary -= 1;
        }
        let table = &self.table;
        let request_in = |slot: u32| table.get(slot).request;
        self.gate
            .completed(slot, &entry.request, &mut self.ready, request_in);
    }

    /// Accepted requests that will not be submitted any more are missed. All of them were due.
    pub(crate) fn give_up_waiting(&mut self, records: &mut Records, warmup: Nanos) {
        for slot in self.table.taken() {
            let entry = *self.table.get(slot);
            if !entry.submitted {
                self.table.release(slot);
                self.waiting -= 1;
                self.watch.missed_when_due += u64::from(entry.planned >= warmup);
                records.push(&Record {
                    request: entry.request,
                    outcome: Outcome {
                        pushed_back: true,
                        ..Outcome::untimed(Status::Missed)
                    },
                });
            }
        }
        self.ready.clear();
    }

    /// What is at the device and was asked to be cancelled does not come back.
    pub(crate) fn abandon(&mut self, records: &mut Records) {
        for slot in self.table.taken() {
            let entry = self.table.get(slot);
            records.push(&Record {
                request: entry.request,
                outcome: Outcome {
                    delay: Some(entry.handed.saturating_sub(entry.planned)),
                    pushed_back: entry.pushed_back,
                    ..Outcome::untimed(Status::Cancelled)
                },
            });
        }
    }

    /// The rest of the load is missed, `measured` being the time from the warm-up to the end of the replay. Returns when it
    /// has been read, or `give_up` says so.
    pub(crate) fn miss_the_rest(
        &mut self,
        records: &mut Records,
        measured: &Range<Nanos>,
        give_up: impl Fn() -> bool,
    ) {
        while !give_up() {
            while self.row < self.batch.len() {
                let planned = self.batch.starts()[self.row].saturating_sub(self.zero);
                self.watch.missed_when_due += u64::from(measured.contains(&planned));
                records.push(&Record {
                    request: self.request(),
                    outcome: Outcome::untimed(Status::Missed),
                });
                self.row += 1;
            }
            // The rest of a pipe is not known.
            if self.is_stream {
                return;
            }
            match self.await_batch(GIVE_UP_INTERVAL) {
                Ok(Ok(batch)) => self.take(batch),
                Err(RecvTimeoutError::Timeout) => {}
                _ => return,
            }
        }
    }
}

/// What a completion means.
pub(crate) enum Completed {
    Done,
    /// It was a write; what it wrote is being read.
    ReadsBack,
    Failed {
        /// The device is not there any more.
        gone: bool,
    },
}

pub(super) const ENXIO: u16 = 6;

pub(super) const ENODEV: u16 = 19;

pub(super) const ENOMEDIUM: u16 = 123;

pub(super) const ECANCELED: u16 = 125;

pub(super) fn status_of(request: &Request, result: i32) -> Status {
    let wanted = match request.op {
        Op::Read | Op::Write => request.sectors.bytes().get(),
        // These return success, not bytes.
        _ => {
            return if result < 0 {
                failed(result)
            } else {
                Status::Done
            };
        }
    };
    match u64::try_from(result) {
        Ok(moved) if moved == wanted => Status::Done,
        Ok(_) => Status::Short,
        Err(_) => failed(result),
    }
}

pub(super) fn failed(result: i32) -> Status {
    match result.unsigned_abs() as u16 {
        ECANCELED => Status::Cancelled,
        errno => Status::Error(errno),
    }
}
