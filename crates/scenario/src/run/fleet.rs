//! Many arrays that share one trace: each serves the requests of one of its devices.
//!
//! ```text
//!            ┌─► channel ─► array 0 ─┐
//!  trace ────┼─► channel ─► array 1 ─┼─► results in the order of the arrays
//!  (once)    └─► channel ─► ...     ─┘
//! ```
//!
//! Each array has a thread of its own, which waits for its requests; only as many compute at a time as are wanted. Arrays
//! do not influence each other, so the results do not depend on who is faster.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use iosonar_raid::RequestSource;
use iosonar_trace::Request;

use super::{DeviceKinds, RunOutputs, Watch};
use crate::result::Accumulator;
use crate::source::Trace;
use crate::{LoadModel, Prepared, Replication, ScenarioError};

/// How many requests cross a channel together, and how many of these packets it holds.
const PACKET: usize = 128;
const PACKETS: usize = 4;
/// Enough for a simulation, whose tables are on the heap.
const STACK_BYTES: usize = 1 << 20;

/// Permits to compute.
struct Permits {
    free: Mutex<usize>,
    changed: Condvar,
}

impl Permits {
    fn acquire(&self) {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self
            .changed
            .wait_while(free, |free| *free == 0)
            .unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
    }

    fn release(&self) {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_one();
    }
}

/// The requests of one array. Its thread may compute as long as it has this, except while it waits for requests.
pub(super) struct Feed {
    packets: Receiver<Vec<Request>>,
    packet: std::vec::IntoIter<Request>,
    permits: Arc<Permits>,
}

impl Feed {
    fn new(packets: Receiver<Vec<Request>>, permits: Arc<Permits>) -> Self {
        permits.acquire();
        Self {
            packets,
            packet: Vec::new().into_iter(),
            permits,
        }
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.permits.release();
    }
}

impl RequestSource for Feed {
    type Error = ScenarioError;

    fn next_request(&mut self) -> Result<Option<Request>, ScenarioError> {
        if let Some(request) = self.packet.next() {
            return Ok(Some(request));
        }
        self.permits.release();
        // No sender: that was the last one, or the trace is damaged, which its reader reports.
        let packet = self.packets.recv();
        self.permits.acquire();
        self.packet = packet.unwrap_or_default().into_iter();
        Ok(self.packet.next())
    }
}

/// The requests on their way to the arrays.
struct Distributor {
    packets: Vec<Vec<Request>>,
    channels: Vec<SyncSender<Vec<Request>>>,
}

impl Distributor {
    fn distribute(&mut self, prepared: &Prepared, trace: &mut Trace) -> Result<(), ScenarioError> {
        while let Some(request) = trace.next_request()? {
            let array = usize::from(request.device);
            let Some(packet) = self.packets.get_mut(array) else {
                return Err(ScenarioError::TooFewArrays {
                    path: trace.path().to_owned(),
                    device: request.device,
                    arrays: prepared.arrays,
                });
            };
            packet.push(request);
            if packet.len() == PACKET {
                let packet = std::mem::replace(packet, Vec::with_capacity(PACKET));
                if self.channels[array].send(packet).is_err() {
                    // The array has failed, and says why.
                    return Ok(());
                }
            }
        }
        for (packet, channel) in self.packets.drain(..).zip(&self.channels) {
            if !packet.is_empty() && channel.send(packet).is_err() {
                break;
            }
        }
        Ok(())
    }
}

impl Prepared {
    /// Runs all arrays on the trace, up to `threads` at a time.
    pub(super) fn run_fleet(
        &self,
        kinds: &DeviceKinds<'_>,
        (threads, warmup): (usize, u64),
        mut total: Accumulator,
        watch: &Watch,
    ) -> Result<Accumulator, ScenarioError> {
        let LoadModel::Trace {
            path,
            reading,
            fitter,
            ..
        } = &self.load
        else {
            unreachable!("only a trace is shared");
        };
        let mut trace = self.open_trace(path, reading, *fitter)?;
        let permits = Arc::new(Permits {
            free: Mutex::new(threads.max(1)),
            changed: Condvar::new(),
        });
        thread::scope(|scope| {
            let (mut channels, mut runs) = (Vec::new(), Vec::new());
            for number in 0..self.arrays {
                let (sender, packets) = sync_channel(PACKETS);
                channels.push(sender);
                let permits = Arc::clone(&permits);
                let run = move || -> Result<Option<Replication>, ScenarioError> {
                    let feed = Feed::new(packets, permits);
                    let around = self.around(number, warmup, 1, watch);
                    self.fed(kinds, feed, around)
                };
                let thread = thread::Builder::new().stack_size(STACK_BYTES);
                runs.push(
                    thread
                        .spawn_scoped(scope, run)
                        .map_err(ScenarioError::Thread)?,
                );
            }
            let mut all = Distributor {
                packets: vec![Vec::with_capacity(PACKET); channels.len()],
                channels,
            };
            let read = all.distribute(self, &mut trace);
            drop(all);
            let results: Vec<_> = runs
                .into_iter()
                .map(thread::ScopedJoinHandle::join)
                .collect();
            read?;
            for (number, result) in (0..).zip(results) {
                let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                match result? {
                    Some(replication) => total.add_array(number, replication),
                    None => total.add_idle_array(),
                }
            }
            let (remarks, fitted) = trace.notes();
            total.check().map_err(|error| match error {
                ScenarioError::NothingMeasured { failed: 0, .. } => ScenarioError::NoRequests {
                    path: path.clone(),
                    changed: self.load.is_changed(),
                    left_out: fitted.left_out,
                },
                error => error,
            })?;
            total.set_trace((remarks, fitted, trace.span()), trace.devices());
            Ok(total)
        })
    }

    /// The run of one array; `None` if nothing was measured, as it has no reads and writes after its warm-up.
    fn fed(
        &self,
        kinds: &DeviceKinds<'_>,
        feed: Feed,
        around: super::Around<'_>,
    ) -> Result<Option<Replication>, ScenarioError> {
        let feed = Mutex::new(Some(feed));
        let around = super::Around {
            feed: Some(&feed),
            ..around
        };
        match self.replication(kinds, RunOutputs::default(), &around) {
            Ok(replication) => Ok(Some(replication)),
            Err(ScenarioError::NothingMeasured { failed: 0, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
