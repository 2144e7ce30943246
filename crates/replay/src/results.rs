//! The sink of the records: statistics and the output file, on a separate thread.

mod merge;
mod progress;
mod times;

use std::collections::BTreeMap;
use std::time::Duration;

use iosonar_trace::{Batch, Record, Status, TraceError, TraceWriter};
use iosonar_units::Nanos;

use self::merge::Merge;
use crate::LATENESS_LIMITS;
use crate::os::channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use crate::os::time::Instant;
use progress::Live;
pub use progress::Progress;
pub use times::{Times, TimesByKind};

/// A session's end of the collector. Records wait here, bounded.
pub(crate) struct Records {
    thread: usize,
    /// How long records wait here at most.
    longest_wait: Nanos,
    /// The load's time that is time zero of the replay.
    zero: Nanos,
    batch: Batch,
    full: Sender<Message>,
    empty: Receiver<Batch>,
    stalls: u64,
    handed_over: Nanos,
    at_leisure: bool,
}

struct Message {
    /// Who sent it.
    thread: usize,
    content: Content,
}

#[allow(clippy::large_enum_variant)] // Nearly every message is a batch.
enum Content {
    Records {
        batch: Batch,
        /// There are no others until this time of the load.
        until: Nanos,
    },
    /// The session has come to its end; without this message it broke off.
    End,
}

/// The collector's work, to be run on a thread.
pub(crate) struct Collector {
    full: Receiver<Message>,
    empty: Sender<Batch>,
    threads: usize,
}

const BATCHES_BEHIND: usize = 64;
/// Records wait this long for those of a thread that sends none...
const PATIENCE: Duration = Duration::from_millis(200);
/// ...and no more batches than this.
const MOST_HELD_BACK: usize = 256;
/// Where several threads' records are merged, all wait for the slowest of them.
const LONGEST_WAIT_OF_SEVERAL: Nanos = Nanos::from_millis(50);
/// Records wait for others in the session this long at most. Together with [`FLUSH_INTERVAL`] it is less than a
/// second: a kill loses no more.
const LONGEST_WAIT: Nanos = Nanos::from_millis(200);
/// Records wait in the collector for a flush of the file this long at most.
const FLUSH_INTERVAL: Duration = Duration::from_millis(700);
/// The second flush comes this long after the first; intervals double from there.
const FIRST_INTERVAL: Duration = Duration::from_millis(100);

/// A collector, and an end for each of the threads; `zero` is the load's time that is time zero of the replay.
pub(crate) fn results(threads: usize, zero: Nanos) -> (Collector, Vec<Records>) {
    let (full, from_sessions) = bounded(BATCHES_BEHIND * threads);
    let (to_sessions, empty) = bounded(BATCHES_BEHIND * threads);
    let records = |thread| Records {
        thread,
        longest_wait: match threads {
            1 => LONGEST_WAIT,
            _ => LONGEST_WAIT_OF_SEVERAL,
        },
        zero,
        batch: Batch::default(),
        full: full.clone(),
        empty: empty.clone(),
        stalls: 0,
        handed_over: Nanos::ZERO,
        at_leisure: false,
    };
    let collector = Collector {
        full: from_sessions,
        empty: to_sessions,
        threads,
    };
    (collector, (0..threads).map(records).collect())
}

impl Records {
    #[inline]
    pub(crate) fn push(&mut self, record: &Record) {
        self.batch.push(record);
        if self.batch.len() == Batch::ROWS {
            self.flush();
        }
    }

    /// From now on nothing is measured: waiting for the collector is no stall.
    pub(crate) fn measures_no_more(&mut self) {
        self.at_leisure = true;
    }

    /// Sends what has waited for long to the collector: the live view shows it, and a kill loses little.
    #[inline]
    pub(crate) fn tick(&mut self, now: Nanos) {
        if now.saturating_sub(self.handed_over) >= self.longest_wait {
            self.send(self.zero.saturating_add(now));
            self.handed_over = now;
        }
    }

    fn flush(&mut self) {
        // All that is known is that records come in the order of completion.
        self.send(Nanos::ZERO);
    }

    /// Sends the records that wait to the collector, and that no others come `until` then. If the collector is so far behind
    /// that the queue is full, waits, and counts that: completions are seen late meanwhile.
    fn send(&mut self, until: Nanos) {
        let empty = self.empty.try_recv().unwrap_or_default();
        let message = Message {
            thread: self.thread,
            content: Content::Records {
                batch: std::mem::replace(&mut self.batch, empty),
                until,
            },
        };
        match self.full.try_send(message) {
            Ok(()) => {}
            Err(TrySendError::Full(message)) => {
                self.stalls += u64::from(!self.at_leisure);
                // The collector ends only when this end is dropped.
                let _ = self.full.send(message);
            }
            // It ends before the sessions only by a panic, which is raised again when all of them have ended.
            Err(TrySendError::Disconnected(_)) => {}
        }
    }

    /// Sends the last records and says that they are the last, if they are worth a file. Returns
    /// how often the collector was too slow.
    pub(crate) fn end(mut self, worth_a_file: bool) -> u64 {
        self.flush();
        if worth_a_file {
            let _ = self.full.send(Message {
                thread: self.thread,
                content: Content::End,
            });
        }
        self.stalls
    }
}

/// What the collector counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) times: TimesByKind,
    /// Completed requests submitted at most this late, for each of [`LATENESS_LIMITS`].
    pub(crate) on_time: [u64; LATENESS_LIMITS.len()],
    pub(crate) completed: u64,
    pub(crate) skipped: u64,
    /// The same by device.
    pub(crate) skipped_on: BTreeMap<u16, u64>,
    pub(crate) dropped: u64,
    pub(crate) cancelled: u64,
    pub(crate) missed: u64,
    pub(crate) verify_failed: u64,
    pub(crate) warming_up: u64,
    /// Requests due after the warm-up that were neither left out on purpose nor missed.
    pub(crate) demanded: u64,
    pub(crate) errors: u64,
    pub(crate) short: u64,
    /// The first error, and the device of its request.
    pub(crate) first_error: Option<(u16, u16)>,
    pub(crate) sectors: u64,
}

impl Counts {
    /// The number of the target of the first error. Where there is one target, requests keep the device's number of
    /// their trace.
    pub(crate) fn first_error_on(&self, targets: usize) -> Option<usize> {
        let (_, target) = self.first_error.filter(|_| targets > 1)?;
        Some(usize::from(target))
    }

    /// Requests to a target that were left out on purpose.
    pub(crate) fn skipped_on(&self, target: usize, targets: usize) -> u64 {
        match targets {
            0 | 1 => self.skipped,
            _ => u16::try_from(target)
                .ok()
                .and_then(|target| self.skipped_on.get(&target).copied())
                .unwrap_or(0),
        }
    }

    fn add(&mut self, record: &Record, measured_from: Nanos) {
        let outcome = &record.outcome;
        let is_demanded = !matches!(outcome.status, Status::Skipped | Status::Missed);
        self.demanded += u64::from(is_demanded && record.request.start >= measured_from);
        match outcome.status {
            Status::Done => self.completed += 1,
            Status::Skipped => {
                self.skipped += 1;
                *self.skipped_on.entry(record.request.device).or_default() += 1;
            }
            Status::Short => self.short += 1,
            Status::Dropped => self.dropped += 1,
            Status::Cancelled => self.cancelled += 1,
            Status::Missed => self.missed += 1,
            Status::VerifyFailed => {
                self.completed += 1;
                self.verify_failed += 1;
            }
            Status::Error(errno) => {
                self.errors += 1;
                self.first_error
                    .get_or_insert((errno, record.request.device));
            }
        }
        let (true, Some(delay), Some(latency)) =
            (outcome.status.is_timed(), outcome.delay, outcome.latency)
        else {
            return;
        };
        if record.request.start < measured_from {
            self.warming_up += 1;
            return;
        }
        self.times.push(record.request.op, delay, latency);
        self.sectors += u64::from(record.request.sectors.get());
        for (count, limit) in self.on_time.iter_mut().zip(LATENESS_LIMITS) {
            *count += u64::from(delay <= limit);
        }
    }
}

/// The file of records: what was written is flushed by time, first at once, then at growing intervals.
struct Output {
    writer: Option<Box<dyn TraceWriter>>,
    outcome: Result<(), TraceError>,
    /// When the next flush is due, if something was written since the last.
    due: Option<Instant>,
    /// The earliest time of the next flush.
    next: Instant,
    interval: Duration,
}

impl Output {
    fn new(writer: Option<Box<dyn TraceWriter>>) -> Self {
        Self {
            writer,
            outcome: Ok(()),
            due: None,
            next: Instant::now(),
            interval: FIRST_INTERVAL,
        }
    }

    fn write(&mut self, batch: &Batch) {
        if let Some(writer) = &mut self.writer
            && !batch.is_empty()
        {
            let outcome = writer.write(batch);
            self.check(outcome);
            self.due = self.writer.is_some().then_some(self.next);
        }
    }

    fn flush_if_due(&mut self) {
        if self.due.is_none_or(|due| due > Instant::now()) {
            return;
        }
        self.due = None;
        if let Some(writer) = &mut self.writer {
            let outcome = writer.flush();
            self.check(outcome);
        }
        // From its end on: a disk that takes long for a flush is not kept busy with flushes.
        self.next = Instant::now() + self.interval;
        self.interval = FLUSH_INTERVAL.min(2 * self.interval);
    }

    /// After a failure nothing more is written: the file stays under its temporary name.
    fn check(&mut self, outcome: Result<(), TraceError>) {
        if outcome.is_err() {
            self.outcome = outcome;
            self.writer = None;
        }
    }

    /// Completes the file if it is worth one.
    fn end(self, is_worth_it: bool) -> Result<(), TraceError> {
        match self.writer {
            Some(writer) if is_worth_it => writer.finish(),
            _ => self.outcome,
        }
    }
}

impl Collector {
    /// Counts and writes until the session is done. Records that cannot be written are still counted.
    pub(crate) fn run(
        self,
        writer: Option<Box<dyn TraceWriter>>,
        measured_from: Nanos,
        progress: &Progress,
    ) -> (Counts, Result<(), TraceError>) {
        let mut sink = Sink {
            counts: Counts::default(),
            measured_from,
            live: Live::default(),
            progress,
            output: Output::new(writer),
        };
        let mut ended = false;
        let mut merge = (self.threads > 1).then(|| Merging::new(self.threads));
        // If the sessions have enough empty batches, one more is not needed.
        let reuse = |mut batch: Batch| {
            batch.clear();
            let _ = self.empty.try_send(batch);
        };
        loop {
            let is_waiting = merge.as_ref().is_some_and(|of| of.merge.is_waiting());
            let patience = is_waiting.then(|| Instant::now() + PATIENCE);
            let message = match sink.output.due.into_iter().chain(patience).min() {
                None => self.full.recv().map_err(RecvTimeoutError::from),
                Some(due) => self.full.recv_deadline(due),
            };
            let Message { thread, content } = match message {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => {
                    merge
                        .iter_mut()
                        .for_each(|merge| merge.drain(&mut sink, reuse));
                    sink.output.flush_if_due();
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            match (content, &mut merge) {
                (Content::Records { mut batch, .. }, None) => {
                    sink.take(&mut batch);
                    reuse(batch);
                }
                (Content::Records { batch, until }, Some(merge)) => {
                    merge.merge.add(thread, batch, until);
                    merge.drain(&mut sink, reuse);
                }
                (Content::End, merge) => {
                    ended = true;
                    if let Some(merge) = merge {
                        merge.merge.end(thread);
                        merge.drain(&mut sink, reuse);
                    }
                }
            }
        }
        if let Some(mut merge) = merge {
            // A session that broke off has sent no end.
            (0..self.threads).for_each(|thread| merge.merge.end(thread));
            merge.drain(&mut sink, reuse);
        }
        (sink.counts, sink.output.end(ended))
    }
}

/// Records of several threads, brought into one order.
struct Merging {
    merge: Merge,
    merged: Batch,
    /// When records have been passed on last.
    passed: Instant,
}

impl Merging {
    fn new(threads: usize) -> Self {
        Self {
            merge: Merge::new(threads),
            merged: Batch::default(),
            passed: Instant::now(),
        }
    }

    /// Passes on what is in order; batches that are empty then go to `reuse`.
    fn drain(&mut self, sink: &mut Sink<'_>, reuse: impl FnMut(Batch)) {
        let Self {
            merge,
            merged,
            passed,
        } = self;
        let everything = merge.waiting() > MOST_HELD_BACK || passed.elapsed() >= PATIENCE;
        let mut any = false;
        merge.drain(
            everything,
            |record| {
                any = true;
                merged.push(record);
                if merged.len() == Batch::ROWS {
                    sink.take(merged);
                }
            },
            reuse,
        );
        sink.take(merged);
        if any || !merge.is_waiting() {
            *passed = Instant::now();
        }
    }
}

/// Where records go in the end.
struct Sink<'a> {
    counts: Counts,
    measured_from: Nanos,
    live: Live,
    progress: &'a Progress,
    output: Output,
}

impl Sink<'_> {
    /// Counts and writes the records of `batch`, and empties it.
    fn take(&mut self, batch: &mut Batch) {
        if batch.is_empty() {
            return;
        }
        for record in batch.records() {
            self.counts.add(&record, self.measured_from);
            self.live.add(&record);
        }
        self.live.tell(self.progress);
        self.output.write(batch);
        self.output.flush_if_due();
        batch.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use iosonar_stats::Distribution;
    use iosonar_trace::{Op, Outcome, Request};
    use iosonar_units::Sectors;

    use super::*;

    const US: fn(u64) -> Nanos = Nanos::from_micros;
    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    fn record(start: Nanos, device: u16, outcome: Outcome) -> Record {
        let request = Request {
            op: Op::Read,
            sectors: Sectors::new(8),
            device,
            start,
            ..Request::default()
        };
        Record { request, outcome }
    }

    fn counted(records: &[Record], measured_from: Nanos) -> Counts {
        let mut counts = Counts::default();
        for record in records {
            counts.add(record, measured_from);
        }
        counts
    }

    #[test]
    fn each_outcome_is_counted_as_what_it_is() {
        let count = |status| {
            let untimed = record(US(5), 3, Outcome::untimed(status));
            let c = counted(&[untimed; 2], US(5));
            assert_eq!((c.sectors, c.warming_up, c.on_time), (0, 0, [0; 4]));
            let first = [
                c.completed,
                c.verify_failed,
                c.short,
                c.dropped,
                c.cancelled,
                c.skipped,
                c.missed,
                c.errors,
            ];
            (first, c.demanded, c.first_error)
        };
        for (status, counts, demanded) in [
            (Status::Done, [2, 0, 0, 0, 0, 0, 0, 0], 2),
            (Status::VerifyFailed, [2, 2, 0, 0, 0, 0, 0, 0], 2),
            (Status::Short, [0, 0, 2, 0, 0, 0, 0, 0], 2),
            (Status::Dropped, [0, 0, 0, 2, 0, 0, 0, 0], 2),
            (Status::Cancelled, [0, 0, 0, 0, 2, 0, 0, 0], 2),
            (Status::Skipped, [0, 0, 0, 0, 0, 2, 0, 0], 0),
            (Status::Missed, [0, 0, 0, 0, 0, 0, 2, 0], 0),
            (Status::Error(5), [0, 0, 0, 0, 0, 0, 0, 2], 2),
        ] {
            let first_error = matches!(status, Status::Error(_)).then_some((5, 3));
            assert_eq!(count(status), (counts, demanded, first_error), "{status:?}");
        }
    }

    #[test]
    fn a_request_is_measured_from_the_end_of_the_warm_up_on() {
        let done = |start| record(start, 0, Outcome::done(US(1), US(70)));
        let all = [9, 10, 11].map(|start| done(US(start)));
        let counts = counted(&all, US(10));
        let seen = (counts.completed, counts.warming_up, counts.demanded);
        assert_eq!(seen, (3, 1, 2));
        assert_eq!((counts.sectors, counts.on_time), (16, [2; 4]));
        let reads = &counts.times.reads;
        let n = [&reads.delay, &reads.latency, &reads.response_time].map(Distribution::count);
        assert_eq!(n, [2; 3]);
        // What did not come back right has no times.
        let short = Outcome {
            status: Status::Short,
            ..Outcome::done(US(1), US(70))
        };
        let counts = counted(&[record(US(11), 0, short)], US(10));
        assert_eq!((counts.sectors, counts.on_time), (0, [0; 4]));
    }

    #[test]
    fn a_start_is_on_time_up_to_each_of_the_limits() {
        for (delay, on_time) in [
            (0, [1, 1, 1, 1]),
            (100_000, [1, 1, 1, 1]),
            (100_001, [0, 1, 1, 1]),
            (1_000_000, [0, 1, 1, 1]),
            (1_000_001, [0, 0, 1, 1]),
            (10_000_000, [0, 0, 1, 1]),
            (10_000_001, [0, 0, 0, 1]),
            (1_000_000_000, [0, 0, 0, 1]),
            (1_000_000_001, [0, 0, 0, 0]),
        ] {
            let late = record(US(1), 0, Outcome::done(Nanos::new(delay), US(70)));
            assert_eq!(counted(&[late], US(1)).on_time, on_time, "{delay}");
        }
    }

    #[test]
    fn an_error_is_that_of_a_target_where_there_are_several() {
        let failed = |device, errno| record(US(1), device, Outcome::untimed(Status::Error(errno)));
        let counts = counted(&[failed(2, 5), failed(1, 28)], US(0));
        assert_eq!(counts.first_error, Some((5, 2)));
        for (targets, target) in [(1, None), (2, Some(2)), (3, Some(2))] {
            assert_eq!(counts.first_error_on(targets), target, "{targets}");
        }
        assert_eq!(Counts::default().first_error_on(3), None);
    }

    #[test]
    fn what_was_left_out_is_counted_by_target() {
        let skipped = |device| record(US(1), device, Outcome::untimed(Status::Skipped));
        let counts = counted(&[2, 0, 2, 2].map(skipped), US(0));
        for (target, targets, expected) in [
            (0, 1, 4),
            (0, 3, 1),
            (1, 3, 0),
            (2, 3, 3),
            (2 + (1 << 16), 1 << 17, 0),
        ] {
            let on = counts.skipped_on(target, targets);
            assert_eq!(on, expected, "{target} of {targets}");
        }
    }

    /// What reached the collector: by whom, how many records, and until when there are no others.
    fn received(collector: &Collector) -> Vec<(usize, Option<(usize, Nanos)>)> {
        let messages = std::iter::from_fn(|| collector.full.try_recv().ok());
        let content = |message: Message| match message.content {
            Content::Records { batch, until } => (message.thread, Some((batch.len(), until))),
            Content::End => (message.thread, None),
        };
        messages.map(content).collect()
    }

    #[test]
    fn records_are_sent_when_a_batch_is_full_or_they_have_waited_long_enough() {
        for (threads, longest) in [(1, MS(200)), (2, MS(50)), (3, MS(50))] {
            let (collector, mut all) = results(threads, MS(7));
            let last = threads - 1;
            let records = &mut all[last];
            let one = record(MS(8), 0, Outcome::done(US(1), US(1)));
            for _ in 1..Batch::ROWS {
                records.push(&one);
            }
            records.tick(longest - Nanos::new(1));
            assert_eq!(received(&collector), []);
            records.push(&one);
            let full = (last, Some((Batch::ROWS, Nanos::ZERO)));
            assert_eq!(received(&collector), [full]);
            records.push(&one);
            records.tick(longest);
            // Time zero of the replay is 7 ms of the load.
            let waited = (last, Some((1, longest + MS(7))));
            assert_eq!(received(&collector), [waited]);
            records.tick(longest + longest - Nanos::new(1));
            assert_eq!(received(&collector), []);
            records.tick(longest + longest);
            let nothing = (last, Some((0, longest + longest + MS(7))));
            assert_eq!(received(&collector), [nothing]);
        }
    }

    #[test]
    fn the_last_records_are_the_last_message_but_of_a_file_that_is_worth_it() {
        for worth_a_file in [true, false] {
            let (collector, mut all) = results(1, Nanos::ZERO);
            let mut records = all.remove(0);
            records.push(&Record::default());
            assert_eq!(records.end(worth_a_file), 0);
            let mut expected = vec![(0, Some((1, Nanos::ZERO)))];
            expected.extend(worth_a_file.then_some((0, None)));
            assert_eq!(received(&collector), expected);
        }
    }

    /// What a writer was asked to do.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Asked {
        written: Vec<Nanos>,
        /// How many records each batch held.
        batches: Vec<usize>,
        flushes: usize,
        finished: bool,
    }

    struct Writer {
        asked: Arc<Mutex<Asked>>,
        fails: bool,
    }

    impl Writer {
        fn outcome(&self) -> Result<(), TraceError> {
            let failure = || TraceError::Io {
                path: "x.ios".into(),
                action: "write",
                source: std::io::ErrorKind::StorageFull.into(),
            };
            if self.fails { Err(failure()) } else { Ok(()) }
        }
    }

    impl TraceWriter for Writer {
        fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
            let mut asked = self.asked.lock().unwrap();
            asked.written.extend(batch.starts());
            asked.batches.push(batch.len());
            drop(asked);
            self.outcome()
        }

        fn flush(&mut self) -> Result<(), TraceError> {
            self.asked.lock().unwrap().flushes += 1;
            Ok(())
        }

        fn finish(self: Box<Self>) -> Result<(), TraceError> {
            self.asked.lock().unwrap().finished = true;
            Ok(())
        }
    }

    fn writer(fails: bool) -> (Arc<Mutex<Asked>>, Box<dyn TraceWriter>) {
        let asked = Arc::<Mutex<Asked>>::default();
        let writer = Writer {
            asked: Arc::clone(&asked),
            fails,
        };
        (asked, Box::new(writer))
    }

    fn batch(starts: &[u64]) -> Batch {
        let mut batch = Batch::default();
        for start in starts {
            batch.push(&record(US(*start), 0, Outcome::default()));
        }
        batch
    }

    #[test]
    fn after_a_failure_nothing_more_is_written_and_the_file_is_not_completed() {
        for fails in [true, false] {
            let (asked, writer) = writer(fails);
            let mut output = Output::new(Some(writer));
            output.write(&batch(&[]));
            assert_eq!(output.due, None, "nothing is to be flushed");
            output.write(&batch(&[1, 2]));
            assert_eq!(output.due.is_some(), !fails);
            output.write(&batch(&[3]));
            assert_eq!(output.end(true).is_err(), fails);
            let asked = asked.lock().unwrap();
            assert_eq!(asked.written.len(), if fails { 2 } else { 3 });
            assert_eq!(asked.finished, !fails);
        }
        let (asked, writer) = writer(false);
        assert!(Output::new(Some(writer)).end(false).is_ok());
        assert!(!asked.lock().unwrap().finished, "it is not worth a file");
        assert!(Output::new(None).end(true).is_ok());
    }

    #[test]
    fn flushes_come_at_intervals_that_double_up_to_700_milliseconds() {
        let (asked, writer) = writer(false);
        let mut output = Output::new(Some(writer));
        output.flush_if_due();
        assert_eq!(asked.lock().unwrap().flushes, 0, "nothing was written");
        for (flushes, interval) in (1..).zip([200, 400, 700, 700]) {
            output.write(&batch(&[1]));
            output.due = Some(Instant::now());
            output.flush_if_due();
            assert_eq!(asked.lock().unwrap().flushes, flushes);
            assert_eq!(output.due, None);
            assert_eq!(output.interval, Duration::from_millis(interval));
        }
        output.due = Some(Instant::now() + Duration::from_secs(1000));
        output.flush_if_due();
        assert_eq!(asked.lock().unwrap().flushes, 4, "it is too early");
    }

    #[test]
    fn a_collector_writes_all_records_in_order_and_counts_them() {
        for (threads, ends, worth_it) in [(1, 1, true), (1, 0, false), (2, 2, true), (2, 0, false)]
        {
            let (collector, all) = results(threads, Nanos::ZERO);
            // The last thread's records come first.
            for (thread, mut records) in all.into_iter().enumerate().rev() {
                for i in 0..3 {
                    let start = US(10 * i + 5 * thread as u64);
                    records.push(&record(start, 0, Outcome::done(US(0), US(1))));
                }
                records.end(thread < ends);
            }
            let (asked, writer) = writer(false);
            let (counts, written) = collector.run(Some(writer), US(10), &Progress::default());
            assert!(written.is_ok());
            assert_eq!(counts.completed, 3 * threads as u64);
            let starts: &[u64] = match threads {
                1 => &[0, 10, 20],
                _ => &[0, 5, 10, 15, 20, 25],
            };
            let asked = asked.lock().unwrap();
            assert_eq!(
                asked.written,
                starts.iter().map(|at| US(*at)).collect::<Vec<_>>()
            );
            assert_eq!(asked.finished, worth_it);
            let before = starts.iter().filter(|start| **start < 10).count();
            assert_eq!(counts.warming_up, before as u64);
        }
    }

    fn sink(progress: &Progress, writer: Option<Box<dyn TraceWriter>>) -> Sink<'_> {
        Sink {
            counts: Counts::default(),
            measured_from: Nanos::ZERO,
            live: Live::default(),
            progress,
            output: Output::new(writer),
        }
    }

    #[test]
    fn a_thread_that_stands_still_is_waited_for_only_so_long() {
        let now = Instant::now();
        let (later, before) = (now + Duration::from_secs(1000), now.checked_sub(PATIENCE));
        for (batches, passed, is_passed_on) in [
            (MOST_HELD_BACK, later, false),
            (MOST_HELD_BACK + 1, later, true),
            (1, later, false),
            (1, before.unwrap(), true),
        ] {
            let mut merging = Merging::new(2);
            merging.passed = passed;
            for i in 1..=batches as u64 {
                merging.merge.add(0, batch(&[i, i]), US(i));
            }
            let progress = Progress::default();
            let mut sink = sink(&progress, None);
            let mut used = 0;
            merging.drain(&mut sink, |_| used += 1);
            let expected = if is_passed_on { batches } else { 0 };
            assert_eq!(used, expected);
            assert_eq!(sink.counts.completed, 2 * expected as u64);
            assert!(merging.merged.is_empty());
        }
    }

    #[test]
    fn what_was_merged_is_written_in_full_batches() {
        for (records, written) in [
            (Batch::ROWS - 1, vec![Batch::ROWS - 1]),
            (Batch::ROWS, vec![Batch::ROWS]),
            (2 * Batch::ROWS + 3, vec![Batch::ROWS, Batch::ROWS, 3]),
        ] {
            let mut merging = Merging::new(2);
            // What is received in small batches.
            let starts: Vec<u64> = (0..records as u64).collect();
            for starts in starts.chunks(1000) {
                merging.merge.add(0, batch(starts), Nanos::ZERO);
            }
            merging.merge.end(0);
            merging.merge.end(1);
            let (progress, (asked, writer)) = (Progress::default(), writer(false));
            merging.drain(&mut sink(&progress, Some(writer)), drop);
            assert_eq!(asked.lock().unwrap().batches, written);
        }
    }

    #[test]
    fn patience_begins_anew_when_records_are_passed_on_or_none_wait() {
        let long_ago = Instant::now().checked_sub(PATIENCE / 2).unwrap();
        // Of the first thread, and how far the second has come; whether the first's are passed on.
        for (starts, until, begins_anew) in [
            (&[][..], 0, true),
            // The first of two is passed on, and the second waits.
            (&[5, 50], 10, true),
            (&[5], 10, true),
            (&[5, 50], 0, false),
        ] {
            let mut merging = Merging::new(2);
            merging.passed = long_ago;
            merging.merge.add(0, batch(starts), US(100));
            merging.merge.add(1, Batch::default(), US(until));
            let progress = Progress::default();
            merging.drain(&mut sink(&progress, None), drop);
            let has_begun_anew = merging.passed > long_ago;
            // On a machine so slow that patience is over, all are passed on.
            let is_over = has_begun_anew && !merging.merge.is_waiting();
            assert!(
                has_begun_anew == begins_anew || is_over,
                "{starts:?} {until}"
            );
        }
    }

    #[test]
    fn a_batch_can_go_back_for_each_that_may_wait() {
        for threads in [1, 2, 5] {
            let (collector, _records) = results(threads, Nanos::ZERO);
            let goes_back = |_: &usize| collector.empty.try_send(Batch::default()).is_ok();
            let went_back = (0..1 << 10).take_while(goes_back).count();
            assert_eq!(went_back, BATCHES_BEHIND * threads, "{threads}");
        }
    }
}
