//! What a lane does with requests, on an engine that only notes what it is given.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use iosonar_linux::memory::Buffer;
use iosonar_trace::TraceWriter;
use iosonar_units::{Sector, Sectors};

use super::completion::status_of;
use super::*;
use crate::EngineKind;
use crate::conflicts::Conflicts;
use crate::engine::Done;
use crate::os::channel::{Receiver, Sender, bounded};
use crate::pacing::Clock;
use crate::results::{Collector, results};
use crate::verify::{Verification, Verify};

const MS: fn(u64) -> Nanos = Nanos::from_millis;
/// The load's time that is time zero.
const ZERO: Nanos = Nanos::from_secs(1);

#[derive(Debug, PartialEq, Eq)]
struct Prepared {
    number: u32,
    kind: AccessKind,
    target: u32,
    offset: u64,
    region: u16,
    length: u64,
}

/// Notes what is prepared; its accesses are done when a test says so.
#[derive(Default)]
struct Noted {
    prepared: Vec<Prepared>,
    buffers: BTreeMap<u32, Buffer>,
    fails: bool,
}

impl Engine for Noted {
    fn name(&self) -> &'static str {
        "noted"
    }

    fn prepare(&mut self, number: u32, access: IoAccess) -> io::Result<()> {
        if self.fails {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        self.prepared.push(Prepared {
            number,
            kind: access.kind,
            target: access.target,
            offset: access.offset,
            region: access.region,
            length: access.length,
        });
        self.buffers.insert(number, access.buffer);
        Ok(())
    }

    fn submit(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn reap(&mut self, _: &mut Vec<Done>) {}

    fn wait(&mut self, _: Nanos) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps the records that it is given.
struct Keeper(Arc<Mutex<Vec<Record>>>);

impl TraceWriter for Keeper {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        self.0.lock().unwrap().extend(batch.records());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        Ok(())
    }
}

struct Setting<'a> {
    lane: Lane<'a>,
    engine: Noted,
    records: Records,
    collector: Collector,
    batches: Option<Sender<Result<Batch, TraceError>>>,
    _used: Receiver<Batch>,
    clock: Clock,
    progress: Progress,
    /// How many are submitted together.
    most: usize,
}

fn options(conflicts: Conflicts) -> Options {
    Options {
        // Its buffers are not touched in advance.
        engine: EngineKind::Dry,
        conflicts,
        ..Options::default()
    }
}

/// A lane of at most two requests in flight, three with those that were pushed back, of four accepted.
fn setting<'a>(options: &'a Options, change: impl FnOnce(&mut Parts<'a>)) -> Setting<'a> {
    let (batches, from_feeder) = bounded(8);
    let (to_feeder, used) = bounded(8);
    let mut parts = Parts {
        target: 0,
        number: 0,
        options,
        zero: ZERO,
        bounds: Bounds {
            in_flight: 2,
            total: 3,
            accepted: 4,
        },
        feed: Feed {
            batches: from_feeder,
            used: to_feeder,
        },
        longest: 8192,
        writes: true,
        verifier: None,
        zones: None,
        is_stream: false,
        block_sectors: 8,
        one_by_one: false,
    };
    change(&mut parts);
    let (collector, mut records) = results(1, ZERO);
    Setting {
        lane: Lane::new(parts).unwrap(),
        engine: Noted::default(),
        records: records.remove(0),
        collector,
        batches: Some(batches),
        _used: used,
        clock: Clock::starting_in(Nanos::ZERO),
        progress: Progress::default(),
        most: 16,
    }
}

/// A request that is due at this millisecond of the replay.
fn request(at: u64, op: Op, sector: u64, sectors: u32) -> Request {
    Request {
        op,
        start: ZERO + MS(at),
        sector: Sector::new(sector),
        sectors: Sectors::new(sectors),
        ..Request::default()
    }
}

impl Setting<'_> {
    /// A batch comes from the feeder.
    fn load(&self, requests: &[Request]) {
        let mut batch = Batch::default();
        for request in requests {
            batch.push(&Record {
                request: *request,
                ..Record::default()
            });
        }
        self.send(batch);
    }

    fn send(&self, batch: Batch) {
        let batches = self.batches.as_ref().unwrap();
        assert!(batches.send(Ok(batch)).is_ok());
    }

    /// Prepares and submits what may start at this millisecond. Returns what comes next.
    fn prepare(&mut self, at: u64) -> String {
        let mut numbers = Vec::new();
        let mut together = Together {
            numbers: &mut numbers,
            most: self.most,
        };
        let (engine, records) = (&mut self.engine, &mut self.records);
        let next = self
            .lane
            .prepare(engine, Some(MS(at)), &mut together, records, &self.progress);
        for number in numbers {
            let (_, slot) = crate::bounds::lane_and_slot(number);
            self.lane.handed_over(slot, MS(at));
        }
        match next {
            Ok(Next::Due(at)) => format!("due {}", at.get() / 1_000_000),
            Ok(Next::Blocked) => "blocked".to_owned(),
            Ok(Next::NotYet) => "not yet".to_owned(),
            Ok(Next::End) => "end".to_owned(),
            Err(Failure::Target { number, action, .. }) => format!("{action} of {number}"),
            Err(Failure::Load(_) | Failure::Engine(_)) => "failed".to_owned(),
        }
    }

    /// What is in this slot is done at this millisecond.
    fn complete(&mut self, slot: u32, result: i32, at: u64, place: Option<u64>) -> Completed {
        let number = self.lane.number << SLOT_BITS | slot;
        let done = Done {
            slot,
            result,
            at: self.clock.epoch() + MS(at),
            place,
            buffer: self.engine.buffers.remove(&number).unwrap(),
        };
        let (engine, records) = (&mut self.engine, &mut self.records);
        let completed = self.lane.complete(engine, done, records, self.clock);
        completed.unwrap_or_else(|_| panic!("the engine does not fail"))
    }

    /// All records, in the order of completion.
    fn records(self) -> Vec<Record> {
        self.records.end(true);
        drop(self.lane);
        let kept = Arc::<Mutex<Vec<Record>>>::default();
        let writer = Keeper(Arc::clone(&kept));
        let outcome = self
            .collector
            .run(Some(Box::new(writer)), Nanos::ZERO, &self.progress);
        assert!(outcome.1.is_ok());
        std::mem::take(&mut *kept.lock().unwrap())
    }
}

/// Where the requests of these records are, and how they ended.
fn outcomes(records: &[Record]) -> Vec<(u64, Status)> {
    let of = |record: &Record| (record.request.sector.get(), record.outcome.status);
    records.iter().map(of).collect()
}

#[test]
fn requests_begin_when_they_are_due_and_there_is_a_place() {
    let options = options(Conflicts::Partial);
    let mut s = setting(&options, |_| {});
    assert_eq!(s.prepare(0), "not yet");
    let reads = [1, 2, 3, 10].map(|at| request(at, Op::Read, 8 * at, 8));
    s.load(&reads);
    s.batches = None;
    assert_eq!(s.prepare(0), "due 1");
    s.most = 1;
    assert_eq!(s.prepare(2), "due 2", "one at a time");
    assert_eq!(s.lane.in_flight(), 1);
    assert_eq!(s.lane.ahead(), 3);
    s.most = 16;
    assert_eq!(s.prepare(2), "due 3");
    assert_eq!(s.prepare(3), "blocked");
    assert_eq!(s.lane.in_flight(), 2);
    assert!(matches!(s.complete(1, 4096, 5, None), Completed::Done));
    assert_eq!(s.prepare(5), "due 10");
    assert!(matches!(s.complete(0, 4096, 6, None), Completed::Done));
    assert_eq!(s.prepare(12), "end");
    for slot in [0, 1] {
        s.complete(slot, 4096, 20, None);
    }
    assert!(s.lane.is_empty());
    assert_eq!(s.lane.watch.most_in_flight, 2);
    assert_eq!(s.lane.watch.last_completion, MS(20));
    let times: Vec<_> = s
        .records()
        .iter()
        .map(|r| {
            (
                r.request.sector.get() / 8,
                r.outcome.delay,
                r.outcome.latency,
            )
        })
        .map(|(at, delay, latency)| (at, delay.unwrap(), latency.unwrap()))
        .collect();
    let expected = [
        (2, MS(0), MS(3)),
        (1, MS(1), MS(4)),
        (10, MS(2), MS(8)),
        (3, MS(2), MS(15)),
    ];
    assert_eq!(times, expected);
}

#[test]
fn an_access_says_what_its_request_does_and_where() {
    let options = options(Conflicts::Allow);
    let mut s = setting(&options, |parts| {
        (parts.target, parts.number) = (5, 3);
        (
            parts.bounds.in_flight,
            parts.bounds.total,
            parts.bounds.accepted,
        ) = (8, 8, 8);
    });
    let durable = Request {
        flags: Flags::FUA,
        ..request(1, Op::Write, 40, 8)
    };
    s.load(&[
        request(1, Op::Read, 16, 8),
        request(1, Op::Write, 32, 16),
        durable,
        request(1, Op::Flush, 0, 0),
        request(1, Op::Discard, 64, 24),
        request(1, Op::WriteZeroes, 80, 8),
    ]);
    s.prepare(1);
    let write = |durable| AccessKind::Write { durable };
    let expected = [
        (AccessKind::Read, 16, 8, 6),
        (write(false), 32, 16, 7),
        (write(true), 40, 8, 7),
        (AccessKind::Flush, 0, 0, 6),
        (AccessKind::Discard, 64, 24, 6),
        (AccessKind::WriteZeroes, 80, 8, 6),
    ];
    for (slot, (kind, sector, sectors, region)) in (0..).zip(expected) {
        let prepared = Prepared {
            number: (3 << 22) + slot,
            kind,
            target: 3,
            offset: 512 * sector,
            region,
            length: 512 * sectors,
        };
        assert_eq!(s.engine.prepared[slot as usize], prepared);
    }
    // Two writes never write the same.
    let [first, second] = [1, 2].map(|slot| s.engine.buffers[&((3 << 22) + slot)][..8].to_vec());
    assert_ne!(first, second);
    assert!(first.iter().any(|byte| *byte != 0));
    assert_eq!(s.lane.target(), 5);
}

#[test]
fn a_result_is_what_the_operation_returns() {
    for (op, sectors, result, status) in [
        (Op::Read, 8, 4096, Status::Done),
        (Op::Write, 8, 4096, Status::Done),
        (Op::Read, 8, 4095, Status::Short),
        (Op::Write, 8, 0, Status::Short),
        (Op::Read, 8, 4097, Status::Short),
        (Op::Read, 0, 0, Status::Done),
        (Op::Read, 8, -5, Status::Error(5)),
        (Op::Read, 8, -125, Status::Cancelled),
        (Op::Flush, 0, 0, Status::Done),
        (Op::Flush, 0, -5, Status::Error(5)),
        (Op::Discard, 8, 0, Status::Done),
        (Op::Discard, 8, 1, Status::Done),
        (Op::WriteZeroes, 8, -28, Status::Error(28)),
        (Op::Discard, 8, -125, Status::Cancelled),
    ] {
        let request = request(1, op, 0, sectors);
        assert_eq!(status_of(&request, result), status, "{op:?} {result}");
    }
}

#[test]
fn a_device_that_is_not_there_any_more_is_told_from_one_that_fails() {
    for (result, is_failed, is_gone) in [
        (4096, false, false),
        (-libc::EIO, true, false),
        (-libc::ENODEV, true, true),
        (-libc::ENXIO, true, true),
        (-libc::ENOMEDIUM, true, true),
        (-libc::ECANCELED, true, false),
        (512, true, false),
    ] {
        let options = options(Conflicts::Partial);
        let mut s = setting(&options, |_| {});
        s.load(&[request(1, Op::Read, 8, 8)]);
        s.prepare(1);
        match s.complete(0, result, 2, None) {
            Completed::Done => assert!(!is_failed, "{result}"),
            Completed::Failed { gone } => assert_eq!((is_failed, gone), (true, is_gone)),
            Completed::ReadsBack => panic!("nothing is read back"),
        }
        let failed = u64::from(is_failed);
        assert_eq!(s.lane.watch.done_and_failed(), [1 - failed, failed]);
    }
}

#[test]
fn a_write_that_the_device_has_placed_is_recorded_where_it_went() {
    for (block_sectors, place, sector) in [(8, Some(100), 800), (1, Some(100), 100), (8, None, 16)]
    {
        let options = options(Conflicts::Partial);
        let mut s = setting(&options, |parts| parts.block_sectors = block_sectors);
        s.load(&[request(1, Op::Write, 16, 8)]);
        s.prepare(1);
        s.complete(0, 4096, 2, place);
        assert_eq!(outcomes(&s.records()), [(sector, Status::Done)]);
    }
}

#[test]
fn a_request_that_was_pushed_back_starts_when_nothing_is_in_its_way() {
    let options = options(Conflicts::Partial);
    let mut s = setting(&options, |_| {});
    s.load(&[
        request(1, Op::Write, 0, 8),
        request(1, Op::Write, 0, 8),
        request(1, Op::Read, 104, 8),
    ]);
    s.batches = None;
    // The load is over, but for what waits.
    assert_eq!(s.prepare(1), "blocked");
    assert_eq!((s.lane.in_flight(), s.lane.watch.pushed_back), (2, 1));
    s.complete(0, 4096, 3, None);
    assert_eq!(s.prepare(4), "end");
    assert_eq!(s.lane.in_flight(), 2);
    s.complete(1, 4096, 6, None);
    s.complete(2, 4096, 7, None);
    assert!(s.lane.is_empty());
    assert_eq!(s.lane.in_flight(), 0);
    let records = s.records();
    let seen: Vec<_> = records
        .iter()
        .map(|r| {
            (
                r.request.sector.get(),
                r.outcome.pushed_back,
                r.outcome.delay,
            )
        })
        .collect();
    let expected = [
        (0, false, Some(MS(0))),
        (0, true, Some(MS(3))),
        (104, false, Some(MS(0))),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn those_that_were_pushed_back_have_places_of_their_own() {
    let options = options(Conflicts::Partial);
    let mut s = setting(&options, |_| {});
    s.load(&[
        request(1, Op::Write, 0, 8),
        request(1, Op::Write, 0, 8),
        request(1, Op::Read, 104, 8),
        request(1, Op::Read, 204, 8),
        request(1, Op::Read, 304, 8),
    ]);
    s.prepare(1);
    s.complete(0, 4096, 3, None);
    // Three in all, of which two are ordinary ones.
    assert_eq!(s.prepare(4), "blocked");
    assert_eq!(
        (s.lane.in_flight(), s.lane.ordinary, s.lane.extra),
        (3, 2, 1)
    );
    s.complete(1, 4096, 5, None);
    assert_eq!(s.prepare(5), "blocked", "no place for a third ordinary one");
    assert_eq!((s.lane.ordinary, s.lane.extra), (2, 0));
    s.complete(2, 4096, 6, None);
    assert_eq!(s.prepare(6), "not yet");
    assert_eq!(s.lane.watch.most_in_flight, 3);
}

#[test]
fn what_conflicts_is_dropped_or_holds_all_others_up() {
    let load = [
        request(1, Op::Write, 0, 8),
        request(1, Op::Read, 4, 8),
        request(1, Op::Read, 104, 8),
    ];
    let drop = options(Conflicts::Drop);
    let mut s = setting(&drop, |_| {});
    s.load(&load);
    assert_eq!(s.prepare(1), "not yet");
    assert_eq!((s.lane.in_flight(), s.lane.watch.dropped), (2, 1));
    assert_eq!(s.progress.done(), 1);
    assert_eq!(outcomes(&s.records()), [(4, Status::Dropped)]);

    let order = options(Conflicts::Order);
    let mut s = setting(&order, |_| {});
    s.load(&load);
    for _ in 0..3 {
        assert_eq!(s.prepare(1), "blocked");
        assert_eq!((s.lane.in_flight(), s.lane.watch.ordered_waits), (1, 1));
    }
    s.complete(0, 4096, 2, None);
    assert_eq!(s.prepare(2), "not yet");
    assert_eq!(s.lane.in_flight(), 2);
}

#[test]
fn what_was_left_out_is_recorded_when_it_is_due() {
    let options = options(Conflicts::Partial);
    let mut s = setting(&options, |_| {});
    let mut batch = Batch::default();
    for at in [1, 2] {
        batch.push(&Record {
            request: request(at, Op::Write, at, 8),
            outcome: Outcome::untimed(Status::Skipped),
        });
    }
    s.send(batch);
    assert_eq!(s.prepare(1), "due 2");
    assert_eq!((s.progress.done(), s.lane.in_flight()), (1, 0));
    assert_eq!(s.prepare(2), "not yet");
    let skipped = [1, 2].map(|sector| (sector, Status::Skipped));
    assert_eq!(outcomes(&s.records()), skipped);
}

#[test]
fn the_rest_of_a_load_is_missed_also_what_has_not_been_read() {
    // At the end, requests of the first batch have been submitted up to the second.
    for (is_stream, give_up, missed, when_due) in [
        (false, false, &[3, 4, 5, 6][..], 2),
        (true, false, &[3], 0),
        (false, true, &[], 0),
    ] {
        let options = options(Conflicts::Partial);
        let mut s = setting(&options, |parts| parts.is_stream = is_stream);
        for at in [[1, 2, 3].as_slice(), &[4], &[5, 6]] {
            let reads: Vec<_> = at.iter().map(|at| request(*at, Op::Read, *at, 8)).collect();
            s.load(&reads);
        }
        s.batches = None;
        assert_eq!(s.prepare(2), "due 3");
        // From the end of the warm-up to that of the replay.
        let measured = MS(4)..MS(6);
        s.lane.miss_the_rest(&mut s.records, &measured, || give_up);
        assert_eq!(s.lane.watch.missed_when_due, when_due);
        let expected: Vec<_> = missed.iter().map(|at| (*at, Status::Missed)).collect();
        assert_eq!(outcomes(&s.records()), expected);
    }
}

#[test]
fn what_waits_at_the_end_is_missed_and_what_is_in_flight_is_cancelled() {
    for (warmup, when_due) in [(0, 1), (1, 1), (2, 0)] {
        let options = options(Conflicts::Partial);
        let mut s = setting(&options, |_| {});
        s.load(&[request(1, Op::Write, 0, 8), request(1, Op::Write, 4, 8)]);
        s.prepare(3);
        s.lane.give_up_waiting(&mut s.records, MS(warmup));
        assert_eq!(s.lane.watch.missed_when_due, when_due, "{warmup}");
        assert_eq!((s.lane.waiting, s.lane.in_flight()), (0, 1));
        s.lane.abandon(&mut s.records);
        let records = s.records();
        assert_eq!(
            outcomes(&records),
            [(4, Status::Missed), (0, Status::Cancelled)]
        );
        let [missed, cancelled] = records.try_into().unwrap();
        let seen = |r: Record| (r.outcome.delay, r.outcome.latency, r.outcome.pushed_back);
        assert_eq!(seen(missed), (None, None, true));
        assert_eq!(seen(cancelled), (Some(MS(2)), None, false));
    }
}

#[test]
fn a_write_that_is_verified_at_once_is_done_when_it_was_read_back() {
    for (result, is_right, status) in [
        (4096, true, Status::Done),
        (4096, false, Status::VerifyFailed),
        (-5, true, Status::Error(5)),
    ] {
        let verification = Verification {
            level: Verify::Paranoid,
            ..Verification::default()
        };
        let options = options(Conflicts::Partial);
        let mut s = setting(&options, |parts| {
            parts.number = 1;
            parts.verifier = Some(Verifier::new(&verification, 1 << 16, None, false));
        });
        s.load(&[request(1, Op::Write, 16, 8)]);
        s.prepare(1);
        let number = 1 << SLOT_BITS;
        let written = s.engine.buffers[&number].to_vec();
        assert!(matches!(s.complete(0, 4096, 3, None), Completed::ReadsBack));
        let read_back = Prepared {
            number,
            kind: AccessKind::Read,
            target: 1,
            offset: 16 * 512,
            region: 2,
            length: 4096,
        };
        assert_eq!(s.engine.prepared[1], read_back);
        if is_right {
            let buffer = s.engine.buffers.get_mut(&number).unwrap();
            buffer.copy_from_slice(&written);
        }
        let completed = s.complete(0, result, 9, None);
        assert_eq!(matches!(completed, Completed::Done), result > 0);
        assert!(s.lane.is_empty());
        let records = s.records();
        assert_eq!(outcomes(&records), [(16, status)]);
        // The latency is that of the write.
        assert_eq!(records[0].outcome.latency, Some(MS(2)));
    }
}

#[test]
fn what_the_engine_does_not_take_is_not_waited_for() {
    let options = options(Conflicts::Partial);
    let mut s = setting(&options, |parts| parts.target = 7);
    s.engine.fails = true;
    s.load(&[request(1, Op::Read, 16, 8)]);
    assert_eq!(s.prepare(1), "submit a request of 7");
    assert!(s.lane.is_empty());
    assert_eq!(s.lane.in_flight(), 0);
}

#[test]
fn what_has_been_read_and_not_looked_at_is_counted() {
    let options = options(Conflicts::Partial);
    let mut s = setting(&options, |_| {});
    assert_eq!(s.lane.ahead(), 0);
    s.load(&[1, 2, 9].map(|at| request(at, Op::Read, 8 * at, 8)));
    s.load(&[request(9, Op::Read, 8, 8)]);
    // What is in the queue counts as full batches.
    assert_eq!(s.lane.ahead(), 2 * 4096);
    assert_eq!(s.prepare(1), "due 2");
    assert_eq!(s.lane.ahead(), 4096 + 2);
    s.lane.hang_up();
    assert_eq!(s.lane.ahead(), 2);
}

#[test]
fn an_engine_that_waits_for_each_request_has_one_at_a_time() {
    let options = options(Conflicts::Partial);
    let mut s = setting(&options, |parts| parts.one_by_one = true);
    s.load(&[1, 2].map(|at| request(at, Op::Read, 8 * at, 8)));
    assert_eq!(s.prepare(2), "blocked");
    assert_eq!(s.lane.in_flight(), 1);
}

#[test]
fn a_write_is_durable_if_it_or_all_of_them_ask_for_it() {
    use crate::Durability;
    for (flags, sync, is_durable) in [
        (Flags::default(), Durability::None, false),
        (Flags::FUA, Durability::None, true),
        (Flags::default(), Durability::Data, true),
        (Flags::FUA, Durability::Full, true),
    ] {
        let options = Options {
            sync,
            ..options(Conflicts::Partial)
        };
        let verification = Verification {
            level: Verify::Final,
            ..Verification::default()
        };
        let mut s = setting(&options, |parts| {
            parts.verifier = Some(Verifier::new(&verification, 1 << 16, None, false));
        });
        s.load(&[Request {
            flags,
            ..request(1, Op::Write, 16, 8)
        }]);
        s.prepare(1);
        s.complete(0, 4096, 2, None);
        let (tables, ..) = s.lane.take_verifier().unwrap().into_parts();
        tables.entries(16..24, |_, entry| {
            assert_eq!(tables.durable(&entry), u32::from(is_durable), "{sync:?}");
        });
    }
}

#[test]
fn whether_a_target_holds_anything_but_zeros_is_seen_in_reads_that_are_done() {
    let options = Options {
        engine: EngineKind::Sync,
        ..options(Conflicts::Allow)
    };
    let mut s = setting(&options, |_| {});
    for (sector, op, result, byte, zeros) in [
        // What is written, or was not read, says nothing.
        (0, Op::Write, 4096, 7, 0),
        (8, Op::Read, -5, 7, 0),
        (8, Op::Read, 4096, 0, 1),
        (16, Op::Read, 512, 7, 1),
        (24, Op::Read, 4096, 0, 2),
    ] {
        s.load(&[request(1, op, sector, 8)]);
        s.prepare(1);
        s.engine.buffers.get_mut(&0).unwrap().fill(byte);
        s.complete(0, result, 2, None);
        let seen = (s.lane.contents.has_data, s.lane.contents.zeros);
        assert_eq!(seen, (false, zeros), "{op:?} at {sector}");
    }
    s.load(&[request(1, Op::Read, 32, 8)]);
    s.prepare(1);
    s.engine.buffers.get_mut(&0).unwrap().fill(7);
    s.complete(0, 4096, 2, None);
    assert!(s.lane.contents.has_data);
}
