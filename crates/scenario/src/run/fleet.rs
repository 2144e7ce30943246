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
//!
//! Records come back in rounds. What an array has completed by the end of a round depends only on the requests up to there,
//! so the order of the records does not depend on who is faster, either. Within a round they are in the order of completion;
//! requests that an array completes after the last of its requests in a round come with a later one.

mod records;

use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use iosonar_raid::RequestSource;
use iosonar_trace::Request;

use self::records::{Rounds, ToFile};
use super::memory::Share;
use super::{DeviceKinds, Records, RecordsOut, RunOutputs, Watch};
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

/// What an array is sent.
enum Packet {
    Requests(Vec<Request>),
    /// The records of its requests so far are wanted.
    EndOfRound,
}

/// The requests of one array. Its thread may compute as long as it has this, except while it waits for requests.
pub(super) struct Feed {
    packets: Receiver<Packet>,
    packet: std::vec::IntoIter<Request>,
    permits: Arc<Permits>,
    records: Option<ToFile>,
}

impl Feed {
    fn new(packets: Receiver<Packet>, permits: Arc<Permits>, records: Option<ToFile>) -> Self {
        permits.acquire();
        Self {
            packets,
            packet: Vec::new().into_iter(),
            permits,
            records,
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
        loop {
            if let Some(request) = self.packet.next() {
                return Ok(Some(request));
            }
            self.permits.release();
            let packet = self.packets.recv();
            self.permits.acquire();
            match packet {
                Ok(Packet::Requests(requests)) => self.packet = requests.into_iter(),
                Ok(Packet::EndOfRound) => {
                    if let Some(records) = &self.records {
                        records.end_round();
                    }
                }
                // That was the last one, or the trace is damaged, which its reader reports.
                Err(_) => return Ok(None),
            }
        }
    }
}

/// The requests on their way to the arrays.
struct Distributor {
    packets: Vec<Vec<Request>>,
    channels: Vec<SyncSender<Packet>>,
}

impl Distributor {
    /// Sends each array its requests, and collects the records of each round once the next has been sent; `false` if an array
    /// has failed, and says why.
    fn distribute(
        &mut self,
        prepared: &Prepared,
        trace: &mut Trace,
        rounds: &mut Option<Rounds<'_>>,
        watch: &Watch,
    ) -> Result<bool, ScenarioError> {
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
                if self.channels[array].send(Packet::Requests(packet)).is_err() {
                    return Ok(false);
                }
                if watch.stop.load(Relaxed) {
                    return Err(ScenarioError::Interrupted);
                }
            }
            if let Some(rounds) = rounds
                && rounds.is_last_of_round()
            {
                if !self.send_all(|| Some(Packet::EndOfRound)) {
                    return Ok(false);
                }
                rounds.ended(trace.metadata())?;
            }
        }
        Ok(self.send_all(|| None))
    }

    /// Sends each array the requests that wait for it, and what `then` gives; `false` if an array has failed.
    fn send_all(&mut self, then: impl Fn() -> Option<Packet>) -> bool {
        for (packet, channel) in self.packets.iter_mut().zip(&self.channels) {
            let requests = std::mem::replace(packet, Vec::with_capacity(PACKET));
            let requests = (!requests.is_empty()).then_some(Packet::Requests(requests));
            for packet in requests.into_iter().chain(then()) {
                if channel.send(packet).is_err() {
                    return false;
                }
            }
        }
        true
    }
}

impl Prepared {
    /// Runs all arrays on the trace, up to `threads` at a time.
    pub(super) fn run_fleet(
        &self,
        kinds: &DeviceKinds<'_>,
        (threads, warmup): (usize, u64),
        mut total: Accumulator,
        records: Records<'_>,
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
        let all = self.array.bytes_together(self.arrays);
        let _share = Share::wait(all, self.memory_of_several());
        let mut trace = self.open_trace(path, reading, *fitter)?;
        let mut rounds = match records {
            Records::None => None,
            Records::OfFirst(writer) => Some(Rounds::new(writer)),
            Records::OfAll(_) => {
                return Err(ScenarioError::Incomplete {
                    path: path.clone(),
                    problem: "the records of arrays that share a trace go into one file, not into one for each".to_owned(),
                });
            }
        };
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
                let records = rounds.as_mut().map(Rounds::of_array);
                let run = move || -> Result<Option<Replication>, ScenarioError> {
                    let feed = Feed::new(packets, permits, records.clone());
                    let around = self.around(number, warmup, 1, watch);
                    self.fed(kinds, feed, records, around)
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
            let read = all.distribute(self, &mut trace, &mut rounds, watch);
            drop(all);
            let read = match (read, &mut rounds) {
                (Ok(true), Some(rounds)) => rounds.finish(trace.metadata()),
                (read, _) => read.map(|_| ()),
            };
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
        mut records: Option<ToFile>,
        around: super::Around<'_>,
    ) -> Result<Option<Replication>, ScenarioError> {
        let feed = Mutex::new(Some(feed));
        let around = super::Around {
            feed: Some(&feed),
            ..around
        };
        let outputs = RunOutputs {
            records: records
                .as_mut()
                .map(|writer| RecordsOut { writer, rows: 1 }),
            ..RunOutputs::default()
        };
        let result = self.replication(kinds, outputs, &around);
        if let Some(records) = records {
            records.end_round();
        }
        match result {
            Ok(replication) => Ok(Some(replication)),
            Err(ScenarioError::NothingMeasured { failed: 0, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
