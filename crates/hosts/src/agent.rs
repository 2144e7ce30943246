//! The side on a host.
//!
//! A thread receives: it answers questions about the time at once, passes the load on, and hears that the connection has ended
//! whatever else goes on. The calling thread prepares and replays.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TrySendError, channel, sync_channel,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use iosonar_replay::{
    Arrivals, Arriving, Control, Load, Progress, ReplaySpec, Scan, StopRequest, TooFarAhead,
    arriving,
};
use iosonar_trace::{Batch, TraceError, TraceWriter};
use iosonar_units::Nanos;

use crate::clock::{monotonic, since_1970, wall};
use crate::frame::{FrameError, Frames, Received, Sender};
use crate::message::{
    AHEAD, AgentHello, CAPABILITIES, Facts, Order, Report, Running, ToAgent, ToCoordinator, VERSION,
};

/// How often the progress is sent.
const PROGRESS: Duration = Duration::from_millis(250);

/// Why an order is not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub problem: String,
    /// Whether the order is at fault, and not what happened.
    pub is_refusal: bool,
}

/// What carries orders out.
pub trait Worker {
    /// Opens the target of the spec for a load. The user calls this machine `host`. Ends when `stop` is asked for.
    ///
    /// # Errors
    /// If it is refused or fails.
    fn prepare(
        &mut self,
        spec: ReplaySpec,
        load: Load,
        host: &str,
        stop: &StopRequest,
    ) -> Result<Facts, Refusal>;

    /// Replays the load that was prepared, with time zero at `begin_at` since 1970.
    ///
    /// # Errors
    /// If the replay breaks off.
    fn replay(
        &mut self,
        begin_at: Nanos,
        records: Box<dyn TraceWriter>,
        control: Control<'_>,
    ) -> Result<Report, Refusal>;
}

/// How many orders may wait: a coordinator sends one and waits for what came of it.
const MOST_ORDERS: usize = 8;

/// Why an agent ends without having been dismissed.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// What came cannot be understood.
    #[error("standard input: {0}")]
    Frame(#[from] FrameError),
    /// The coordinator is gone.
    #[error("the connection to the coordinator has ended")]
    Lost,
    /// The coordinator is of another version.
    #[error(
        "version {theirs} on the coordinator, but {VERSION} here: install the same version on both"
    )]
    Version {
        /// Its version.
        theirs: String,
    },
    /// A message at the wrong time.
    #[error("an unexpected message '{0}'")]
    Unexpected(&'static str),
    /// More of the load came than was asked for.
    #[error("the coordinator sent more of the load than the buffer can hold")]
    TooFarAhead,
}

impl From<TooFarAhead> for AgentError {
    fn from(_: TooFarAhead) -> Self {
        Self::TooFarAhead
    }
}

/// The way to the coordinator, which several threads use.
struct Wire<W>(Mutex<Sender<W>>);

impl<W: Write> Wire<W> {
    fn send(&self, message: &ToCoordinator) -> Result<(), AgentError> {
        let mut sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sender.message(message).map_err(|_| AgentError::Lost)
    }

    fn pong(&self, sent: u64, received: u64) -> Result<(), AgentError> {
        let mut sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The time is taken last: before, others may have been sending.
        let pong = ToCoordinator::Pong {
            sent,
            received,
            wall: wall(),
            answered: monotonic(),
        };
        sender.message(&pong).map_err(|_| AgentError::Lost)
    }

    fn batch(&self, batch: &Batch) -> std::io::Result<()> {
        let mut sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sender.batch(batch)
    }
}

/// Carries out what a coordinator orders over `input` and `output`, and returns when it is dismissed. `over` is called on a
/// thread of its own when nothing more comes from the coordinator: what is still going on then may hang at its device.
///
/// # Errors
/// If the connection ends before, or what comes cannot be understood.
pub fn run_agent<R, W>(
    input: R,
    output: W,
    hello: AgentHello,
    worker: &mut dyn Worker,
    over: impl FnOnce() + Send + 'static,
) -> Result<(), AgentError>
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let mut sender = Sender::new(output);
    sender.greet().map_err(|_| AgentError::Lost)?;
    let wire = Arc::new(Wire(Mutex::new(sender)));
    wire.send(&ToCoordinator::Hello(hello))?;
    let stop = Arc::new(StopRequest::default());
    let taken = {
        let wire = Arc::clone(&wire);
        move || {
            // If it is lost, the receiver hears so.
            let _ = wire.send(&ToCoordinator::Taken);
        }
    };
    let (arrivals, arriving) = arriving(AHEAD, taken);
    let (orders, ordered) = sync_channel(MOST_ORDERS);
    let receiver = Receiving {
        wire: Arc::clone(&wire),
        arrivals,
        orders,
        stop: Arc::clone(&stop),
    };
    let spawned = thread::Builder::new()
        .name("receiver".to_owned())
        .spawn(move || {
            receiver.run(input);
            over();
        });
    spawned.map_err(|e| AgentError::Frame(e.into()))?;
    let agent = Agent {
        wire,
        ordered,
        stop,
        worker,
    };
    agent.run(arriving)
}

/// What a thread does that receives.
struct Receiving<W> {
    wire: Arc<Wire<W>>,
    arrivals: Arrivals,
    orders: SyncSender<Result<ToAgent, AgentError>>,
    stop: Arc<StopRequest>,
}

impl<W: Write> Receiving<W> {
    fn run(self, input: impl Read) {
        let outcome = self.receive(input);
        // Whatever goes on: nothing more is started, and what is in flight is cancelled.
        self.stop.ask();
        self.stop.ask();
        // Without room for it, the orders before it end in the loss of the coordinator.
        let _ = self.orders.try_send(outcome.map(|()| ToAgent::Goodbye));
    }

    fn receive(&self, input: impl Read) -> Result<(), AgentError> {
        let mut frames = Frames::greeted(input)?.ok_or(AgentError::Lost)?;
        loop {
            let received = frames.receive()?.ok_or(AgentError::Lost)?;
            let now = monotonic();
            match received {
                Received::Message(ToAgent::Ping { sent }) => self.wire.pong(sent, now)?,
                Received::Message(ToAgent::LoadEnds) => self.arrivals.end()?,
                Received::Message(ToAgent::Stop) => self.stop.ask(),
                Received::Batch(batch) => self.arrivals.send(*batch)?,
                Received::Message(ToAgent::Goodbye) => return Ok(()),
                Received::Message(message) => {
                    let name = message.name();
                    if let Err(TrySendError::Full(_)) = self.orders.try_send(Ok(message)) {
                        return Err(AgentError::Unexpected(name));
                    }
                }
            }
        }
    }
}

/// What the calling thread does.
struct Agent<'w, W> {
    wire: Arc<Wire<W>>,
    ordered: Receiver<Result<ToAgent, AgentError>>,
    stop: Arc<StopRequest>,
    worker: &'w mut dyn Worker,
}

impl<W: Write + Send + 'static> Agent<'_, W> {
    fn run(mut self, arriving: Arriving) -> Result<(), AgentError> {
        match self.next()? {
            ToAgent::Hello { version } if version == VERSION => {}
            ToAgent::Hello { version } => {
                let error = AgentError::Version { theirs: version };
                self.refuse(Refusal {
                    problem: error.to_string(),
                    is_refusal: true,
                })?;
                return Err(error);
            }
            other => return Err(AgentError::Unexpected(other.name())),
        }
        let mut arriving = Some(arriving);
        let mut is_ready = false;
        loop {
            match self.next()? {
                ToAgent::Prepare(order) => {
                    let Some(arriving) = arriving.take() else {
                        return Err(AgentError::Unexpected("prepare"));
                    };
                    match self.prepare(&order, arriving) {
                        Ok(facts) => {
                            is_ready = true;
                            self.wire.send(&ToCoordinator::Ready(facts))?;
                        }
                        Err(refusal) => self.refuse(refusal)?,
                    }
                }
                ToAgent::Start { at } if is_ready => {
                    is_ready = false;
                    self.replay(at)?;
                }
                ToAgent::Goodbye => return Ok(()),
                other => return Err(AgentError::Unexpected(other.name())),
            }
        }
    }

    fn next(&self) -> Result<ToAgent, AgentError> {
        self.ordered.recv().unwrap_or(Err(AgentError::Lost))
    }

    fn refuse(&self, refusal: Refusal) -> Result<(), AgentError> {
        let Refusal {
            problem,
            is_refusal,
        } = refusal;
        self.wire.send(&ToCoordinator::Refused {
            problem,
            is_refusal,
        })
    }

    fn prepare(&mut self, order: &Order, arriving: Arriving) -> Result<Facts, Refusal> {
        let spec = ReplaySpec::from_json(&order.spec).map_err(|e| Refusal {
            problem: e.to_string(),
            is_refusal: true,
        })?;
        let scan = Scan::with_figures(&order.scan);
        let load = Load::arriving(&order.load, scan, arriving);
        self.worker.prepare(spec, load, &order.host, &self.stop)
    }

    /// Replays from time zero at this time of the monotonic clock.
    fn replay(&mut self, at: u64) -> Result<(), AgentError> {
        let sent = Arc::<AtomicU64>::default();
        let records = Box::new(Records {
            wire: Arc::clone(&self.wire),
            sent: Arc::clone(&sent),
        });
        let progress = Progress::default();
        let control = Control {
            stop: &self.stop,
            progress: &progress,
        };
        let (worker, wire) = (&mut *self.worker, &self.wire);
        let outcome = thread::scope(|scope| {
            let (over, ended) = channel::<()>();
            // Without a thread for it, the progress is not seen.
            let _ = thread::Builder::new().spawn_scoped(scope, || {
                let ended = ended;
                while ended.recv_timeout(PROGRESS) == Err(RecvTimeoutError::Timeout) {
                    let _ = wire.send(&ToCoordinator::Running(running(&progress)));
                }
            });
            let _over = over;
            // Both clocks are read here, so that a step of the time since 1970 before does no harm.
            let begin_at = (at as i64).saturating_add(since_1970() as i64 - monotonic() as i64);
            worker.replay(Nanos::new(begin_at.max(0) as u64), records, control)
        });
        self.wire.send(&match outcome {
            Ok(report) => ToCoordinator::Ended(Box::new(Report {
                records: sent.load(Relaxed),
                ..report
            })),
            Err(refusal) => ToCoordinator::Failed {
                problem: refusal.problem,
            },
        })
    }
}

fn running(progress: &Progress) -> Running {
    let both = |[a, b]: [Nanos; 2]| [a.get(), b.get()];
    Running {
        done: progress.done(),
        in_flight: progress.in_flight(),
        errors: progress.errors(),
        delay: both(progress.delay()),
        latency: both(progress.latency()),
    }
}

/// Sends records to the coordinator.
struct Records<W> {
    wire: Arc<Wire<W>>,
    /// How many were sent.
    sent: Arc<AtomicU64>,
}

impl<W: Write + Send> TraceWriter for Records<W> {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        self.wire.batch(batch).map_err(|source| TraceError::Io {
            path: "-".into(),
            action: "send the records to the coordinator",
            source,
        })?;
        self.sent.fetch_add(batch.len() as u64, Relaxed);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        Ok(())
    }
}

impl AgentHello {
    /// That of this program and this machine.
    pub fn of_this_machine() -> Self {
        let of_kernel = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
            text.unwrap_or_default().trim().to_owned()
        };
        Self {
            version: VERSION.to_owned(),
            capabilities: CAPABILITIES.map(str::to_owned).to_vec(),
            host: of_kernel("hostname"),
            kernel: of_kernel("osrelease"),
            process: std::process::id(),
        }
    }
}
