//! One pass over a trace, for measures that each have a thread of their own.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, channel, sync_channel};
use std::thread;

use iosonar_trace::{Batch, TraceError, TraceReader};

/// How many batches a measure may lag behind the reader.
const BATCHES_BEHIND: usize = 8;

/// Reads all batches of `reader`, and gives each of them, in order, to all `measures`, which run on one thread each beside
/// the caller's. Batches are used again, so memory is bounded.
///
/// # Errors
/// If the trace cannot be read; the measures have then seen all batches before the error.
///
/// # Panics
/// If a measure panics.
pub fn pass(
    reader: &mut dyn TraceReader,
    measures: Vec<&mut (dyn FnMut(&Batch) + Send)>,
) -> Result<(), TraceError> {
    thread::scope(|scope| {
        let (used, empty) = channel();
        let (to, threads): (Vec<SyncSender<_>>, Vec<_>) = measures
            .into_iter()
            .map(|measure| {
                let (to, batches) = sync_channel::<Arc<Batch>>(BATCHES_BEHIND);
                let used = used.clone();
                let thread = scope.spawn(move || {
                    for batch in batches {
                        measure(&batch);
                        if let Some(batch) = Arc::into_inner(batch) {
                            // It fails once reading has ended.
                            let _ = used.send(batch);
                        }
                    }
                });
                (to, thread)
            })
            .unzip();
        let read = loop {
            let mut batch: Batch = empty.try_recv().unwrap_or_default();
            match reader.next_batch(&mut batch) {
                Ok(0) => break Ok(()),
                Ok(_) => {}
                Err(error) => break Err(error),
            }
            let batch = Arc::new(batch);
            if to.iter().any(|to| to.send(Arc::clone(&batch)).is_err()) {
                // A thread has panicked, which is noticed below.
                break Ok(());
            }
        };
        drop(to);
        for thread in threads {
            if let Err(panic) = thread.join() {
                resume_unwind(panic);
            }
        }
        read
    })
}
