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
use crate::limits::LIMIT;
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
        if time.get() >= LIMIT {
            self.metadata.remark(
                RemarkKind::Skipped,
                [
                    "event came 292 years or more after the first one and was left out",
                    "events came 292 years or more after the first one and were left out",
                ],
                || format!("{} ns", event.time),
            );
            return;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Status, TraceError};

    /// Given events, which one may have to wait for.
    #[derive(Default)]
    struct Given {
        events: VecDeque<Event>,
        waits: bool,
        from_beginning: bool,
        begins: Option<Action>,
        wall_clock: Option<(u64, u64)>,
        metadata: Metadata,
    }

    impl Events for Given {
        fn next_event(&mut self) -> Result<Option<Event>, TraceError> {
            Ok(self.events.pop_front())
        }

        fn begins(&self, _: (u32, u32)) -> Option<Action> {
            self.begins
        }

        fn would_wait(&self) -> bool {
            self.waits
        }

        fn metadata(&mut self) -> &mut Metadata {
            &mut self.metadata
        }

        fn wall_clock(&self) -> Option<(u64, u64)> {
            self.wall_clock
        }

        fn counts_from_beginning(&self) -> bool {
            self.from_beginning
        }
    }

    fn event(time: u64, letter: &str, sector: u64, sectors: u32) -> Event {
        Event {
            time,
            action: Action::of_letter(letter.as_bytes()).unwrap(),
            device: (8, 0),
            sector,
            sectors,
            op: if sectors == 0 { Op::Flush } else { Op::Write },
            flags: Flags::SYNC,
            errno: 0,
            place: time,
        }
    }

    fn given(events: impl IntoIterator<Item = Event>) -> Given {
        Given {
            events: events.into_iter().collect(),
            ..Given::default()
        }
    }

    fn starting_with(start_event: StartEvent) -> ReadOptions {
        ReadOptions {
            start_event,
            ..ReadOptions::default()
        }
    }

    /// Start, first sector, sectors, delay and latency of each request, and how often each kind of remark was made.
    type Read = (
        Vec<(u64, u64, u32, Option<u64>, Option<u64>)>,
        Vec<(RemarkKind, u64)>,
    );

    fn read(mut reader: Paired<Given>) -> Read {
        let (mut batch, mut rows) = (Batch::default(), Vec::new());
        while reader.next_batch(&mut batch).unwrap() > 0 {
            rows.extend(batch.records().map(|Record { request, outcome }| {
                let [delay, latency] = [outcome.delay, outcome.latency].map(|t| t.map(Nanos::get));
                let (sector, sectors) = (request.sector.get(), request.sectors.get());
                (request.start.get(), sector, sectors, delay, latency)
            }));
        }
        let remarks = reader.metadata.remarks.iter().map(|r| (r.kind, r.count));
        (rows, remarks.collect())
    }

    #[test]
    fn an_event_at_a_time_that_no_record_has_is_left_out() {
        const FIRST: u64 = 1_000;
        for (since_first, is_left_out) in [(LIMIT - 1, false), (LIMIT, true)] {
            let events = [
                (FIRST, "D", 8),
                (FIRST + 5, "C", 8),
                (FIRST + since_first, "C", 16),
            ];
            let events = events.map(|(time, letter, sector)| event(time, letter, sector, 8));
            let (rows, remarks) = read(Paired::new(given(events), &ReadOptions::default()));
            assert_eq!(rows, [(0, 8, 8, Some(0), Some(5))]);
            let kind = match is_left_out {
                true => RemarkKind::Skipped,
                // It is read, but is the completion of nothing.
                false => RemarkKind::NoStart,
            };
            assert_eq!(remarks, [(kind, 1)], "{since_first}");
        }
    }

    #[test]
    fn the_most_frequent_event_of_requests_is_their_start() {
        let unknown = "complete (C), so latencies are not known";
        for (letters, name) in [
            ("DC", "issue (D)"),
            ("QGIDC", "queue (Q)"),
            ("GIDC", "get (G)"),
            ("IDC", "insert (I)"),
            ("QDDCC", "issue (D)"),
            ("GIIC", "insert (I)"),
            // What is issued again counts once, and merges begin nothing.
            ("QDRDC", "queue (Q)"),
            ("QDDRDC", "issue (D)"),
            ("DRC", unknown),
            ("MFC", unknown),
            ("C", unknown),
            ("", unknown),
        ] {
            let events = letters
                .char_indices()
                .map(|(time, letter)| event(time as u64, letter.encode_utf8(&mut [0; 4]), 8, 8));
            let mut reader = Paired::new(given(events), &ReadOptions::default());
            reader.look_ahead().unwrap();
            assert_eq!(reader.metadata.about["start event"], name, "{letters}");
        }
        // Flushes do not count: the kernel makes some of its own.
        let flushes = (0..9).map(|time| event(time, "I", 0, 0));
        let events = flushes.chain([event(9, "D", 8, 8)]);
        let mut reader = Paired::new(given(events), &ReadOptions::default());
        assert_eq!(reader.look_ahead().unwrap(), Action::Issue);
        for (wanted, action) in [
            (StartEvent::Queue, Action::Queue),
            (StartEvent::Get, Action::Get),
            (StartEvent::Insert, Action::Insert),
            (StartEvent::Issue, Action::Issue),
            (StartEvent::Complete, Action::Complete),
        ] {
            let mut reader = Paired::new(given([]), &starting_with(wanted));
            assert_eq!(reader.look_ahead().unwrap(), action);
        }
    }

    #[test]
    fn time_zero_is_the_earliest_of_the_events_that_are_read_ahead() {
        let events = || [10, 5].map(|time| event(time, "C", time, 1));
        for (most_ahead, from_beginning, starts, too_early) in [
            (AHEAD, false, &[5, 0][..], 0),
            (2, false, &[5, 0], 0),
            (1, false, &[0], 1),
            (1, true, &[10, 5], 0),
        ] {
            let given = Given {
                from_beginning,
                ..given(events())
            };
            let mut reader = match most_ahead {
                1 => Paired::without_look_ahead(given, &ReadOptions::default()),
                _ => Paired::new(given, &ReadOptions::default()),
            };
            reader.most_ahead = most_ahead;
            let (rows, remarks) = read(reader);
            let seen: Vec<u64> = rows.iter().map(|row| row.0).collect();
            assert_eq!(seen, starts, "{most_ahead} {from_beginning}");
            let counts: Vec<u64> = remarks.iter().map(|(_, count)| *count).collect();
            assert_eq!(counts.into_iter().sum::<u64>(), too_early);
        }
    }

    #[test]
    fn no_more_events_are_read_ahead_than_wanted() {
        for (most_ahead, left) in [(1, 4), (2, 3), (9, 0)] {
            let events = (0..5).map(|time| event(time, "C", 8, 8));
            let mut reader = Paired::new(given(events), &ReadOptions::default());
            reader.most_ahead = most_ahead;
            reader.look_ahead().unwrap();
            assert_eq!(reader.events.events.len(), left, "{most_ahead}");
        }
    }

    #[test]
    fn the_time_of_day_is_known_where_the_events_know_it() {
        for (wall_clock, origin) in [(None, None), (Some((30, 1000)), Some(1000 + 40 - 30))] {
            let given = Given {
                wall_clock,
                ..given([event(40, "C", 8, 8)])
            };
            let mut reader = Paired::new(given, &ReadOptions::default());
            reader.look_ahead().unwrap();
            assert_eq!(reader.metadata().origin_ns, origin);
        }
    }

    #[test]
    fn a_batch_has_no_more_rows_than_any() {
        let rows = Batch::ROWS as u64 + 1;
        let completions = (0..rows).map(|i| event(i, "C", 8 * i, 8));
        // All begin before the first ends, in their order or in reverse: then all are there at once.
        let begins = (0..rows).map(|i| event(0, "D", 8 * i, 8));
        let reverse = (0..rows).rev().map(|i| event(rows - i, "C", 8 * i, 8));
        for events in [
            completions.clone().collect::<Vec<_>>(),
            begins.clone().chain(completions).collect(),
            begins.chain(reverse).collect(),
        ] {
            let mut reader = Paired::new(given(events), &ReadOptions::default());
            let mut batch = Batch::default();
            for expected in [Batch::ROWS, 1, 0] {
                assert_eq!(reader.next_batch(&mut batch).unwrap(), expected);
                assert_eq!(batch.len(), expected);
            }
        }
    }

    #[test]
    fn who_looks_on_does_not_wait_for_a_full_batch() {
        let events = || (0..6).map(|i| event(i, ["D", "C"][i as usize % 2], 8, 8));
        for (waits, is_ahead, sizes) in [
            (true, false, &[1, 1, 1, 0][..]),
            (false, false, &[3, 0]),
            // What is read ahead does not have to be waited for.
            (true, true, &[3, 0]),
            (false, true, &[3, 0]),
        ] {
            let given = Given {
                waits,
                begins: Some(Action::Issue),
                ..given(events())
            };
            let mut reader = match is_ahead {
                true => Paired::new(given, &ReadOptions::default()),
                false => Paired::without_look_ahead(given, &ReadOptions::default()),
            };
            let mut batch = Batch::default();
            for size in sizes {
                let seen = reader.next_batch(&mut batch).unwrap();
                assert_eq!(seen, *size, "{waits} {is_ahead}");
            }
        }
    }

    #[test]
    fn a_request_that_too_many_overtook_has_lost_its_completion() {
        let begins = (0..=MOST_PENDING as u64).map(|i| event(i, "D", 8 * i, 8));
        let given = Given {
            waits: true,
            ..given(begins.chain([event(0, "D", 8, 8)]))
        };
        let mut reader = Paired::without_look_ahead(given, &starting_with(StartEvent::Issue));
        let mut batch = Batch::default();
        // The first comes out when one more than the most are pending, and the event behind that is not taken.
        assert_eq!(reader.next_batch(&mut batch).unwrap(), 1);
        assert_eq!(batch.request(0).start, Nanos::ZERO);
        assert_eq!(reader.pending.len(), MOST_PENDING);
        assert_eq!(reader.events.events.len(), 1);
        let counts = |kind| {
            let of = reader.metadata.remarks.iter().find(|r| r.kind == kind);
            of.map(|remark| remark.count)
        };
        assert_eq!(counts(RemarkKind::NoCompletion), Some(1));
    }

    #[test]
    fn a_completion_alone_is_a_request_without_times() {
        let data = event(5, "C", 800, 8);
        let flush = event(6, "C", u64::MAX, 0);
        let mut reader = Paired::new(given([data, flush]), &ReadOptions::default());
        let mut batch = Batch::default();
        assert_eq!(reader.next_batch(&mut batch).unwrap(), 2);
        for (row, sector, sectors, op, flags) in [
            (0, 800, 8, Op::Write, Flags::SYNC),
            // The kernel's number for nowhere, and the flags of a flush, say nothing.
            (1, 0, 0, Op::Flush, Flags::NONE),
        ] {
            let Record { request, outcome } = batch.record(row);
            assert_eq!(request.sector.get(), sector);
            assert_eq!((request.sectors.get(), request.op), (sectors, op));
            assert_eq!(request.flags, flags);
            assert_eq!(outcome, Outcome::default());
            assert_eq!(outcome.status, Status::Done);
        }
    }

    /// What is read of these events, each a time, a letter, the first sector and the sectors.
    fn read_of(start_event: StartEvent, events: &[(u64, &str, u64, u32)]) -> Read {
        let options = ReadOptions {
            start_at_issue: true,
            ..starting_with(start_event)
        };
        let events = events
            .iter()
            .map(|&(time, letter, sector, n)| event(time, letter, sector, n));
        read(Paired::new(given(events), &options))
    }

    #[test]
    fn bios_join_requests_that_wait_in_the_queue() {
        use StartEvent::{Get, Insert, Issue, Queue};
        let joined = [
            (0, "I", 8, 8),
            (1, "M", 16, 4),
            (2, "F", 6, 2),
            (9, "C", 6, 14),
        ];
        let allocated = [(0, "G", 8, 8), (1, "M", 16, 4), (9, "C", 8, 12)];
        let queued = [(0, "Q", 8, 8), (1, "M", 16, 4), (9, "C", 8, 8)];
        let issued = [(0, "D", 8, 8), (1, "F", 6, 2), (9, "C", 8, 8)];
        for (start_event, events, (sector, sectors)) in [
            (Insert, &joined[..], (6, 14)),
            (Get, &allocated, (8, 12)),
            // A bio itself stays as it is, and so does what is at the driver.
            (Queue, &queued, (8, 8)),
            (Issue, &issued, (8, 8)),
        ] {
            let request = (0, sector, sectors, Some(0), Some(9));
            assert_eq!(
                read_of(start_event, events),
                (vec![request], vec![]),
                "{start_event:?}"
            );
        }
    }

    #[test]
    fn what_the_driver_gives_back_is_issued_again() {
        let again = [
            (0, "D", 8, 8),
            (1, "R", 8, 8),
            (5, "D", 8, 8),
            (9, "C", 8, 8),
        ];
        let rows = vec![(5, 8, 8, Some(0), Some(4))];
        assert_eq!(read_of(StartEvent::Issue, &again), (rows, vec![]));
        // Where a request begins earlier, only its latency does then.
        let queued = [&[(0, "Q", 8, 8)], &again[..]].concat();
        let rows = vec![(0, 8, 8, Some(5), Some(4))];
        assert_eq!(read_of(StartEvent::Queue, &queued), (rows, vec![]));
    }

    #[test]
    fn beginnings_and_completions_that_do_not_pair_are_counted() {
        use RemarkKind::{Identical, NoCompletion, NoStart};
        let issue = StartEvent::Issue;
        // Of equal requests the first ends first.
        let equal = [
            (0, "D", 8, 8),
            (1, "D", 8, 8),
            (4, "C", 8, 8),
            (9, "C", 8, 8),
        ];
        let rows = vec![(0, 8, 8, Some(0), Some(4)), (1, 8, 8, Some(0), Some(8))];
        assert_eq!(read_of(issue, &equal), (rows, vec![(Identical, 1)]));
        // A flush may be one of the kernel.
        let without_start = [(0, "C", 8, 8), (1, "C", 0, 0)];
        assert_eq!(read_of(issue, &without_start), (vec![], vec![(NoStart, 1)]));
        let without_end = [(0, "D", 8, 8), (1, "D", 80, 8), (3, "C", 80, 8)];
        let rows = vec![(0, 8, 8, None, None), (1, 80, 8, Some(0), Some(2))];
        assert_eq!(
            read_of(issue, &without_end),
            (rows, vec![(NoCompletion, 1)])
        );
    }

    #[test]
    fn devices_beyond_those_that_have_a_number_are_left_out() {
        let devices = u32::from(u16::MAX) + 1;
        let events = (0..=devices).chain([7]).map(|minor| Event {
            device: (259, minor),
            ..event(0, "C", u64::from(minor), 1)
        });
        let mut reader = Paired::new(given(events), &ReadOptions::default());
        let (mut batch, mut rows) = (Batch::default(), 0);
        let mut last = 0;
        while reader.next_batch(&mut batch).unwrap() > 0 {
            rows += batch.len();
            last = batch.request(batch.len() - 1).device;
        }
        assert_eq!((rows, last), (devices as usize + 1, 7));
        assert_eq!(reader.metadata.devices.len(), devices as usize);
        assert_eq!(reader.metadata.devices[65_535], "259,65535");
        let remarks = &reader.metadata.remarks;
        assert_eq!((remarks.len(), remarks[0].count), (1, 1));
    }
}
