//! Requests out of events: from the one that begins them to the completion of their last sector.
//!
//! - Queue events are of bios: several may be merged into one request, and one may be split; a bio is
//!   complete when all of its sectors are.
//! - Get, insert and issue events are of requests; a request that others are merged into grows.
//! - A flush has no sectors: flushes of a device complete in the order in which they began. The flushes
//!   that the kernel makes of its own have no beginning and are left aside.
//! - Equal ranges in flight at once are paired first in, first out.

use std::collections::{HashMap, VecDeque};

use iosonar_units::Nanos;

use super::event::{Action, Event, Events};
use super::pending::{Completed, Pending};
use crate::{
    Batch, Flags, Metadata, Op, Outcome, ReadOptions, Record, RemarkKind, Request, StartEvent,
    TraceError, TraceReader,
};

/// The number of events examined to find the one that starts requests.
const AHEAD: usize = 1 << 16;
/// A request overtaken by this number of others has lost its completion.
const MOST_PENDING: usize = 1 << 18;

/// Reads requests from events.
pub(super) struct Paired<E> {
    events: E,
    wanted: StartEvent,
    begins: Option<Action>,
    ahead: VecDeque<Event>,
    most_ahead: usize,
    zero: u64,
    pending: Pending,
    devices: HashMap<(u32, u32), u16>,
    metadata: Metadata,
    ended: bool,
}

impl<E: Events> Paired<E> {
    pub(super) fn new(events: E, options: &ReadOptions) -> Self {
        Self {
            events,
            wanted: options.start_event,
            begins: None,
            ahead: VecDeque::new(),
            most_ahead: AHEAD,
            zero: 0,
            pending: Pending::new(options.start_at_issue),
            devices: HashMap::new(),
            metadata: Metadata::default(),
            ended: false,
        }
    }

    /// For events that come while they happen: what begins a request is known, and they are in order.
    pub(super) fn without_look_ahead(events: E, options: &ReadOptions) -> Self {
        Self {
            most_ahead: 1,
            ..Self::new(events, options)
        }
    }

    /// Reads some events ahead, and decides what begins a request and when time zero was.
    fn look_ahead(&mut self) -> Result<Action, TraceError> {
        while self.ahead.len() < self.most_ahead {
            match self.events.next_event()? {
                Some(event) => self.ahead.push_back(event),
                None => break,
            }
        }
        if !self.events.counts_from_beginning() {
            self.zero = self.ahead.iter().map(|e| e.time).min().unwrap_or_default();
        }
        // The kernel's own flushes, and what it issues again, are no requests.
        let requeued = self
            .ahead
            .iter()
            .filter(|e| e.action == Action::Requeue)
            .count();
        let count = |action| {
            let of = self
                .ahead
                .iter()
                .filter(|e| e.action == action && e.sectors > 0);
            of.count()
                .saturating_sub(if action == Action::Issue { requeued } else { 0 })
        };
        let begins = match self.wanted {
            StartEvent::Queue => Action::Queue,
            StartEvent::Get => Action::Get,
            StartEvent::Insert => Action::Insert,
            StartEvent::Issue => Action::Issue,
            StartEvent::Complete => Action::Complete,
            StartEvent::Auto => [Action::Issue, Action::Insert, Action::Get, Action::Queue]
                .into_iter()
                .max_by_key(|action| count(*action))
                .filter(|action| count(*action) > 0)
                .unwrap_or(Action::Complete),
        };
        self.metadata = self.events.metadata().clone();
        // They are taken over batch by batch.
        self.metadata.remarks.clear();
        let about = &mut self.metadata.about;
        let name = match begins {
            Action::Queue => "queue (Q)",
            Action::Get => "get (G)",
            Action::Insert => "insert (I)",
            Action::Issue => "issue (D)",
            _ => "complete (C), so latencies are not known",
        };
        about
            .entry("start event".to_owned())
            .or_insert_with(|| name.to_owned());
        if let Some((clock, wall)) = self.events.wall_clock() {
            let origin = i128::from(wall) + i128::from(self.zero) - i128::from(clock);
            self.metadata.origin_ns = u64::try_from(origin).ok();
        }
        self.begins = Some(begins);
        Ok(begins)
    }

    /// The number of a device; `None` if there are too many.
    fn device(&mut self, (major, minor): (u32, u32)) -> Option<u16> {
        if let Some(&number) = self.devices.get(&(major, minor)) {
            return Some(number);
        }
        let number = u16::try_from(self.devices.len()).ok()?;
        self.devices.insert((major, minor), number);
        self.metadata.devices.push(format!("{major},{minor}"));
        Some(number)
    }

    fn take(&mut self, event: &Event, begins: Action, batch: &mut Batch) {
        let begins = self.events.begins(event.device).unwrap_or(begins);
        let Some(device) = self.device(event.device) else {
            let (major, minor) = event.device;
            self.metadata.remark(
                RemarkKind::Skipped,
                [
                    "event belonged to a device beyond the first 65536 and was left out",
                    "events belonged to devices beyond the first 65536 and were left out",
                ],
                || format!("device {major},{minor}"),
            );
            return;
        };
        let Some(time) = event.time.checked_sub(self.zero).map(Nanos::new) else {
            self.metadata.remark(
                RemarkKind::TooEarly,
                [
                    "event had a timestamp before that of the first event and was left out",
                    "events had timestamps before that of the first event and were left out",
                ],
                || format!("{} ns", event.time),
            );
            return;
        };
        if event.action == begins {
            if begins == Action::Complete {
                batch.push_at(&completion_only(event, time, device), event.place);
            } else if self.pending.begin(event, time, device) {
                self.metadata.remark(
                    RemarkKind::Identical,
                    [
                        "request started while an identical one was in flight; their completions were assigned in \
                         first-in, first-out order",
                        "requests started while an identical one was in flight; their completions were assigned in \
                         first-in, first-out order",
                    ],
                    || format!("sector {}", event.sector),
                );
            }
            return;
        }
        match event.action {
            Action::Issue => self.pending.issue(event, time, device),
            Action::Requeue => self.pending.requeue(event, device, begins == Action::Issue),
            Action::BackMerge | Action::FrontMerge
                if matches!(begins, Action::Get | Action::Insert) =>
            {
                self.pending
                    .merge(event, device, event.action == Action::FrontMerge);
            }
            Action::Complete => {
                let outcome = self.pending.complete(event, time, device);
                // The kernel flushes of its own accord.
                if matches!(outcome, Completed::Nothing) && event.op != Op::Flush {
                    self.metadata.remark(
                        RemarkKind::NoStart,
                        [
                            "completion had no start event (lost, or before the recording began)",
                            "completions had no start event (lost, or before the recording began)",
                        ],
                        || format!("at {time}, sector {}", event.sector),
                    );
                }
            }
            _ => {}
        }
    }

    fn hand_over(&mut self, batch: &mut Batch) {
        while batch.len() < Batch::ROWS {
            let anyway = self.ended || self.pending.len() > MOST_PENDING;
            let Some((slot, done)) = self.pending.pop(anyway) else {
                return;
            };
            if slot.withdrawn {
                continue;
            }
            if !done {
                let request = slot.record.request;
                self.metadata.remark(
                    RemarkKind::NoCompletion,
                    [
                        "request had no completion (lost, or after the recording ended)",
                        "requests had no completion (lost, or after the recording ended)",
                    ],
                    || format!("at {}, sector {}", request.start, request.sector),
                );
            }
            batch.push_at(&slot.record, slot.place);
        }
    }
}

/// A request of which only the completion is known.
fn completion_only(event: &Event, time: Nanos, device: u16) -> Record {
    Record {
        request: Request {
            start: time,
            sector: iosonar_units::Sector::new(if event.sectors == 0 { 0 } else { event.sector }),
            sectors: iosonar_units::Sectors::new(event.sectors),
            op: event.op,
            flags: if event.op == Op::Flush {
                Flags::NONE
            } else {
                event.flags
            },
            device,
            ..Request::default()
        },
        outcome: Outcome::default(),
    }
}

impl<E: Events> TraceReader for Paired<E> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        let begins = match self.begins {
            Some(begins) => begins,
            None => self.look_ahead()?,
        };
        loop {
            self.hand_over(batch);
            if batch.len() >= Batch::ROWS || self.ended {
                break;
            }
            // Who looks on while it happens does not wait for a full batch.
            if !batch.is_empty() && self.ahead.is_empty() && self.events.would_wait() {
                break;
            }
            let next = match self.ahead.pop_front() {
                Some(event) => Some(event),
                None => self.events.next_event()?,
            };
            match next {
                Some(event) => self.take(&event, begins, batch),
                None => self.ended = true,
            }
        }
        let below = self.events.metadata();
        for remark in std::mem::take(&mut below.remarks) {
            let mut one = Metadata::default();
            one.remarks.push(remark);
            self.metadata.add_remarks(&one);
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
