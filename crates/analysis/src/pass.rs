//! One pass over a trace, for measures that each have a thread of their own.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, channel, sync_channel};
use std::thread;

use iosonar_trace::{Batch, TraceError, TraceReader};

/// How many batches a measure may lag behind the reader.
const BATCHES_BEHIND: usize = 8;

/// Reads all batches of `reader`, and gives each of them, in order, to all `measures`, which run on one thread each beside
/// the caller's. Memory is bounded, because no measure lags behind by more than some batches.
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
            if let Some(batch) = Arc::into_inner(batch) {
                let _ = used.send(batch);
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

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::Duration;

    use iosonar_trace::{Metadata, Record, Request};
    use iosonar_units::Nanos;

    use super::*;

    /// One record in each batch, numbered by its start; then the end, or an error.
    #[derive(Debug)]
    struct Numbers {
        next: u64,
        end: u64,
        fails: bool,
        metadata: Metadata,
    }

    impl TraceReader for Numbers {
        fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
            batch.clear();
            if self.next == self.end {
                return match self.fails {
                    true => Err(TraceError::Option("damaged".to_owned())),
                    false => Ok(0),
                };
            }
            batch.push(&Record {
                request: Request {
                    start: Nanos::new(self.next),
                    ..Request::default()
                },
                ..Record::default()
            });
            self.next += 1;
            Ok(1)
        }

        fn metadata(&self) -> &Metadata {
            &self.metadata
        }
    }

    fn numbers(end: u64, fails: bool) -> Numbers {
        Numbers {
            next: 0,
            end,
            fails,
            metadata: Metadata::default(),
        }
    }

    #[test]
    fn all_measures_get_all_batches_in_order_also_before_an_error() {
        for fails in [false, true] {
            let (mut quick, mut slow) = (Vec::new(), Vec::new());
            let starts = |batch: &Batch| batch.starts()[0].get();
            let read = pass(
                &mut numbers(200, fails),
                vec![&mut |batch| quick.push(starts(batch)), &mut |batch| {
                    std::thread::sleep(Duration::from_micros(50));
                    slow.push(starts(batch));
                }],
            );
            assert_eq!(read.is_err(), fails);
            let all: Vec<u64> = (0..200).collect();
            assert_eq!((quick, slow), (all.clone(), all));
        }
        pass(&mut numbers(20, false), Vec::new()).unwrap();
    }

    #[test]
    fn a_measure_that_panics_ends_the_pass_with_its_panic() {
        let mut seen = 0;
        let ended = catch_unwind(AssertUnwindSafe(|| {
            pass(
                &mut numbers(u64::MAX, false),
                vec![&mut |_| seen += 1, &mut |batch| {
                    assert!(batch.starts()[0].get() < 100, "too far");
                }],
            )
        }));
        let panic = ended.unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"too far"));
        assert!(seen >= 100, "{seen}");
    }
}
