//! What becomes of the records: statistics and the output file, on a thread of its own.

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use iosonar_stats::Distribution;
use iosonar_trace::{Batch, Op, Record, Status, TraceError, TraceWriter};
use iosonar_units::Nanos;

/// The session's end of the recorder. Records wait here, bounded.
pub(crate) struct Records {
    batch: Batch,
    full: Sender<Message>,
    empty: Receiver<Batch>,
    stalls: u64,
}

#[allow(clippy::large_enum_variant)] // Nearly every message is a batch.
enum Message {
    Records(Batch),
    /// The session has come to its end; without this message it broke off.
    End,
}

/// The recorder's work, to be run on a thread.
pub(crate) struct Recorder {
    full: Receiver<Message>,
    empty: Sender<Batch>,
}

const BATCHES_BEHIND: usize = 64;

pub(crate) fn recorder() -> (Recorder, Records) {
    let (full, from_session) = bounded(BATCHES_BEHIND);
    let (to_session, empty) = bounded(BATCHES_BEHIND);
    (
        Recorder {
            full: from_session,
            empty: to_session,
        },
        Records {
            batch: Batch::default(),
            full,
            empty,
            stalls: 0,
        },
    )
}

impl Records {
    #[inline]
    pub(crate) fn push(&mut self, record: &Record) {
        self.batch.push(record);
        if self.batch.len() == Batch::ROWS {
            self.flush();
        }
    }

    /// Hands what there is to the recorder. If it is so far behind that the queue is full, waits,
    /// and counts that: completions are seen late meanwhile.
    fn flush(&mut self) {
        let empty = self.empty.try_recv().unwrap_or_default();
        let batch = std::mem::replace(&mut self.batch, empty);
        match self.full.try_send(Message::Records(batch)) {
            Ok(()) => {}
            Err(TrySendError::Full(message)) => {
                self.stalls += 1;
                // The recorder ends only when this end is dropped.
                let _ = self.full.send(message);
            }
            Err(TrySendError::Disconnected(_)) => {
                unreachable!("the recorder ends after the session")
            }
        }
    }

    /// Hands over the last records and says that they are the last, if they are worth a file. Returns
    /// how often the recorder was too slow.
    pub(crate) fn end(mut self, worth_a_file: bool) -> u64 {
        self.flush();
        if worth_a_file {
            let _ = self.full.send(Message::End);
        }
        self.stalls
    }
}

/// The distributions of the times of one kind of request.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// How late requests were handed over.
    pub delay: Distribution,
    /// How long they then took.
    pub latency: Distribution,
    /// Both together.
    pub response_time: Distribution,
}

/// What the recorder counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) reads: Times,
    pub(crate) writes: Times,
    pub(crate) flushes: Times,
    /// Completed requests handed over less than 100 us, 1 ms, 10 ms late.
    pub(crate) on_time: [u64; 3],
    pub(crate) skipped: u64,
    pub(crate) errors: u64,
    pub(crate) short: u64,
    pub(crate) first_errno: Option<u16>,
    pub(crate) sectors: u64,
}

/// The limits of [`Counts::on_time`].
const LATE: [Nanos; 3] = [
    Nanos::from_micros(100),
    Nanos::from_millis(1),
    Nanos::from_millis(10),
];

impl Counts {
    fn add(&mut self, record: &Record) {
        let outcome = &record.outcome;
        match outcome.status {
            Status::Done => {}
            Status::Skipped => self.skipped += 1,
            Status::Short => self.short += 1,
            Status::Error(errno) => {
                self.errors += 1;
                self.first_errno.get_or_insert(errno);
            }
            _ => {}
        }
        let (Status::Done, Some(delay), Some(latency)) =
            (outcome.status, outcome.delay, outcome.latency)
        else {
            return;
        };
        let times = match record.request.op {
            Op::Read => &mut self.reads,
            Op::Flush => &mut self.flushes,
            _ => &mut self.writes,
        };
        times.delay.push(delay);
        times.latency.push(latency);
        times.response_time.push(delay + latency);
        self.sectors += u64::from(record.request.sectors.get());
        for (count, limit) in self.on_time.iter_mut().zip(LATE) {
            *count += u64::from(delay < limit);
        }
    }
}

impl Recorder {
    /// Counts and writes until the session is done. What cannot be written is counted all the same.
    pub(crate) fn run(
        self,
        mut writer: Option<Box<dyn TraceWriter>>,
    ) -> (Counts, Result<(), TraceError>) {
        let mut counts = Counts::default();
        let mut outcome = Ok(());
        let mut ended = false;
        for message in self.full {
            let Message::Records(mut batch) = message else {
                ended = true;
                continue;
            };
            batch.records().for_each(|record| counts.add(&record));
            if let Some(writing) = &mut writer
                && let Err(e) = writing.write(&batch)
            {
                outcome = Err(e);
                writer = None;
            }
            batch.clear();
            // If the session has enough empty batches, this one is not needed.
            let _ = self.empty.try_send(batch);
        }
        if let Some(writer) = writer
            && ended
        {
            outcome = writer.finish();
        }
        (counts, outcome)
    }
}
