//! Records that pass by on their way to a file, or to nowhere.
//!
//! The writer is not held up: what the page does not take in time is left out of the page, which says so.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};

use iosonar_report::{Growing, LookOptions, RunState};
use iosonar_trace::{Batch, Metadata, TraceError, TraceWriter};

/// The number of batches, of up to some thousand records, that wait for the page.
const WAITING: usize = 32;

enum Passed {
    Records(Box<Batch>),
    About(Box<Metadata>),
}

/// Passes records on to `writer`, and to a page.
pub(crate) struct Tee {
    writer: Option<Box<dyn TraceWriter>>,
    page: SyncSender<Passed>,
    left_out: Arc<AtomicU64>,
    is_whole: Arc<AtomicBool>,
}

/// The end at the page.
pub(crate) struct Passing {
    records: Receiver<Passed>,
    left_out: Arc<AtomicU64>,
    /// Whether the records came to their end, rather than to that of a run that failed.
    is_whole: Arc<AtomicBool>,
    growing: Growing,
    state: RunState,
}

impl Tee {
    /// Both ends; `name` says in titles what is looked at.
    pub(crate) fn new(name: &str) -> (Self, Passing) {
        let (page, records) = sync_channel(WAITING);
        let left_out = Arc::<AtomicU64>::default();
        let is_whole = Arc::<AtomicBool>::default();
        let growing = Growing::new(name, &LookOptions::default());
        let tee = Self {
            writer: None,
            page,
            left_out: Arc::clone(&left_out),
            is_whole: Arc::clone(&is_whole),
        };
        let passing = Passing {
            records,
            left_out,
            is_whole,
            growing,
            state: RunState::Waiting,
        };
        (tee, passing)
    }

    /// In front of `writer`, if there is one, which writes this above the records.
    pub(crate) fn before(
        self,
        writer: Option<Box<dyn TraceWriter>>,
        metadata: &Metadata,
    ) -> Box<dyn TraceWriter> {
        let about = Passed::About(Box::new(metadata.clone()));
        let _ = self.page.try_send(about);
        Box::new(Self { writer, ..self })
    }
}

impl Passing {
    pub(super) fn growing(&self) -> &Growing {
        &self.growing
    }

    pub(super) fn state(&self) -> RunState {
        self.state
    }

    /// Takes what has passed by; whether there was anything.
    pub(super) fn advance(&mut self) -> bool {
        let (before, records) = (self.state, self.growing.records());
        loop {
            match self.records.try_recv() {
                Ok(Passed::Records(batch)) => {
                    self.state = RunState::Running;
                    let growing = &mut self.growing;
                    batch.records().for_each(|record| growing.add(&record));
                }
                Ok(Passed::About(metadata)) => self.growing.about(&metadata),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    self.state = match self.is_whole.load(Acquire) {
                        true => RunState::Complete,
                        false => RunState::Broken,
                    };
                    break;
                }
            }
        }
        self.state != before || self.growing.records() > records
    }

    /// How many records the page has not seen.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out.load(Relaxed)
    }
}

impl TraceWriter for Tee {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        if let Err(TrySendError::Full(_)) =
            self.page.try_send(Passed::Records(Box::new(batch.clone())))
        {
            self.left_out.fetch_add(batch.len() as u64, Relaxed);
        }
        self.writer.as_mut().map_or(Ok(()), |w| w.write(batch))
    }

    fn update(&mut self, metadata: &Metadata) {
        let _ = self
            .page
            .try_send(Passed::About(Box::new(metadata.clone())));
        if let Some(writer) = &mut self.writer {
            writer.update(metadata);
        }
    }

    fn left_out(&self) -> u64 {
        self.writer.as_ref().map_or(0, |w| w.left_out())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.writer.as_mut().map_or(Ok(()), |w| w.flush())
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        self.writer.map_or(Ok(()), TraceWriter::finish)?;
        self.is_whole.store(true, Release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_trace::Record;

    #[test]
    fn a_page_that_takes_nothing_holds_up_no_writer_and_what_it_misses_is_counted() {
        let (mut tee, mut passing) = Tee::new("a run");
        let mut batch = Batch::default();
        (0..100).for_each(|_| batch.push(&Record::default()));
        // It would never come to its end if it waited.
        (0..1000).for_each(|_| tee.write(&batch).unwrap());
        assert!(passing.advance());
        assert_eq!(passing.growing.records(), 100 * WAITING as u64);
        assert_eq!(passing.left_out(), 100 * (1000 - WAITING as u64));
        assert_eq!(passing.state(), RunState::Running);
        tee.write(&batch).unwrap();
        Box::new(tee).finish().unwrap();
        assert!(passing.advance());
        assert_eq!(passing.state(), RunState::Complete);
        assert_eq!(passing.growing.records(), 100 * (WAITING as u64 + 1));
    }

    #[test]
    fn a_run_that_fails_is_not_complete() {
        let (tee, mut passing) = Tee::new("a run");
        drop(tee);
        assert!(passing.advance());
        assert_eq!(passing.state(), RunState::Broken);
    }
}
