//! A load whose requests arrive while it is replayed, from another host.
//!
//! Batches wait in a queue of a fixed length. The sender learns of each that was taken, and never sends more than the queue can
//! hold, so that receiving never blocks.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use iosonar_trace::{Batch, Metadata, TraceError, TraceReader};

/// Part of a load on its way.
enum Part {
    Batch(Box<Batch>),
    /// There are no more; without this, the load was cut off.
    End,
}

/// More was sent than there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFarAhead;

/// The end where batches arrive.
#[derive(Debug)]
pub struct Arrivals(Sender<Part>);

/// The end where a replay takes them.
#[derive(Clone)]
pub struct Arriving {
    parts: Receiver<Part>,
    taken: Arc<dyn Fn() + Send + Sync>,
}

/// Both ends, with room for `ahead` batches; `taken` is called for each batch that the replay takes.
pub fn arriving(ahead: usize, taken: impl Fn() + Send + Sync + 'static) -> (Arrivals, Arriving) {
    // One more for the end.
    let (sender, parts) = bounded(ahead + 1);
    let taken = Arc::new(taken);
    (Arrivals(sender), Arriving { parts, taken })
}

impl Arrivals {
    /// Passes a batch on. If the replay takes none any more, it is dropped.
    ///
    /// # Errors
    /// If there is no room.
    pub fn send(&self, batch: Batch) -> Result<(), TooFarAhead> {
        self.pass(Part::Batch(Box::new(batch)))
    }

    /// Ends the load.
    ///
    /// # Errors
    /// If there is no room.
    pub fn end(&self) -> Result<(), TooFarAhead> {
        self.pass(Part::End)
    }

    fn pass(&self, part: Part) -> Result<(), TooFarAhead> {
        match self.0.try_send(part) {
            Err(TrySendError::Full(_)) => Err(TooFarAhead),
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
        }
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch(batch) => write!(f, "Batch of {}", batch.len()),
            Self::End => f.write_str("End"),
        }
    }
}

impl fmt::Debug for Arriving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arriving({} waiting)", self.parts.len())
    }
}

impl Arriving {
    /// Reads what arrives; `path` is for messages.
    pub(crate) fn reader(self, path: &Path) -> impl TraceReader + use<> {
        Reader {
            arriving: self,
            path: path.to_owned(),
            metadata: Metadata::default(),
            is_over: false,
        }
    }
}

struct Reader {
    arriving: Arriving,
    path: PathBuf,
    metadata: Metadata,
    is_over: bool,
}

impl TraceReader for Reader {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        if self.is_over {
            return Ok(0);
        }
        match self.arriving.parts.recv() {
            Ok(Part::Batch(next)) => {
                *batch = *next;
                (self.arriving.taken)();
                Ok(batch.len())
            }
            Ok(Part::End) => {
                self.is_over = true;
                Ok(0)
            }
            Err(_) => Err(TraceError::Io {
                path: self.path.clone(),
                action: "receive the load",
                source: io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the connection ended before the end of the load",
                ),
            }),
        }
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use iosonar_trace::Record;

    use super::*;

    fn batch(rows: usize) -> Batch {
        let mut batch = Batch::default();
        (0..rows).for_each(|_| batch.push(&Record::default()));
        batch
    }

    #[test]
    fn batches_come_in_order_and_each_that_is_taken_is_reported() {
        let taken = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&taken);
        let (arrivals, arriving) = arriving(2, move || {
            counter.fetch_add(1, Relaxed);
        });
        arrivals.send(batch(3)).unwrap();
        arrivals.send(batch(5)).unwrap();
        arrivals.end().unwrap();
        assert_eq!(arrivals.send(batch(1)), Err(TooFarAhead));
        let mut reader = arriving.reader(Path::new("x"));
        let mut into = Batch::default();
        assert_eq!(reader.next_batch(&mut into).unwrap(), 3);
        assert_eq!(taken.load(Relaxed), 1);
        assert_eq!(reader.next_batch(&mut into).unwrap(), 5);
        assert_eq!(reader.next_batch(&mut into).unwrap(), 0);
        assert_eq!(reader.next_batch(&mut into).unwrap(), 0, "it stays over");
        assert_eq!(taken.load(Relaxed), 2);
    }

    #[test]
    fn a_load_that_is_cut_off_is_an_error() {
        let (arrivals, arriving) = arriving(2, || {});
        arrivals.send(batch(3)).unwrap();
        drop(arrivals);
        let mut reader = arriving.reader(Path::new("far.load"));
        let mut into = Batch::default();
        assert_eq!(reader.next_batch(&mut into).unwrap(), 3);
        let error = reader.next_batch(&mut into).unwrap_err().to_string();
        assert!(
            error.contains("far.load") && error.contains("ended before"),
            "{error}"
        );
    }

    #[test]
    fn what_waits_is_shown_by_its_number() {
        let (arrivals, arriving) = arriving(3, || {});
        assert_eq!(format!("{arriving:?}"), "Arriving(0 waiting)");
        arrivals.send(batch(7)).unwrap();
        arrivals.end().unwrap();
        assert_eq!(format!("{arriving:?}"), "Arriving(2 waiting)");
        let parts = [Part::Batch(Box::new(batch(7))), Part::End];
        assert_eq!(format!("{parts:?}"), "[Batch of 7, End]");
    }
}
