//! Reading the load on a thread of its own, some batches ahead of the session.

use std::path::Path;

use crossbeam_channel::{Receiver, Sender, bounded};
use iosonar_trace::{Batch, Reading, TraceError, TraceReader, input};

/// 16 batches of 4 096 requests: at 100 000 requests/s more than half a second.
const BATCHES_AHEAD: usize = 16;

/// The session's end of the feeder.
pub(crate) struct Feed {
    pub(crate) batches: Receiver<Result<Batch, TraceError>>,
    /// Batches go back here to be filled again.
    pub(crate) used: Sender<Batch>,
}

/// The feeder's work, to be run on a thread.
pub(crate) struct Feeder {
    batches: Sender<Result<Batch, TraceError>>,
    used: Receiver<Batch>,
}

pub(crate) fn feeder() -> (Feeder, Feed) {
    let (batches, from_feeder) = bounded(BATCHES_AHEAD);
    let (to_feeder, used) = bounded(2 * BATCHES_AHEAD);
    (
        Feeder { batches, used },
        Feed {
            batches: from_feeder,
            used: to_feeder,
        },
    )
}

impl Feeder {
    /// Reads until the end, an error, or until nobody listens any more.
    pub(crate) fn run(self, path: &Path, reading: &Reading) {
        let mut reader = match input::open_load(path, reading) {
            Ok(reader) => reader,
            Err(e) => return drop(self.batches.send(Err(e))),
        };
        loop {
            let mut batch = self.used.try_recv().unwrap_or_default();
            let message = match reader.next_batch(&mut batch) {
                Ok(0) => return,
                Ok(_) => Ok(batch),
                Err(e) => Err(e),
            };
            let failed = message.is_err();
            if self.batches.send(message).is_err() || failed {
                return;
            }
        }
    }
}
