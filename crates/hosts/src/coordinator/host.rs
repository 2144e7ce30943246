//! A host, and the threads that speak with it.

mod link;
mod load;

use std::io::{BufReader, BufWriter, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender as Queue, bounded, unbounded};
use iosonar_trace::{Batch, TraceError};
use iosonar_units::Nanos;
use rustix::process::{Pid, Signal, kill_process_group};

use self::link::{Link, keep_words, locked};
use super::{Loss, Member, zero_of};
use crate::clock::{Clock, Sample, monotonic};
use crate::frame::{Frames, Received, Sender};
use crate::message::{
    AHEAD, AgentHello, Facts, Order, Report, Running, ToAgent, ToCoordinator, VERSION,
};

/// How often the time is asked for during a replay.
const PING_EVERY: Duration = Duration::from_millis(250);
/// How long a command that connects may take to end after it was dismissed.
const ENDING: Duration = Duration::from_secs(2);

/// What is received from a host.
#[derive(Debug)]
pub(super) enum Event {
    Hello(AgentHello),
    Ready(Facts),
    Refused {
        problem: String,
        is_refusal: bool,
    },
    /// As much of the load was sent as the host takes in advance.
    LoadSent,
    /// The load cannot be read here.
    LoadFailed(TraceError),
    /// Questions for the time have been answered, or not.
    Measured,
    Records(Box<Batch>),
    Running(Running),
    Ended(Box<Report>),
    Failed(String),
    Lost(Loss),
}

impl Event {
    /// Why this is not expected now.
    pub(super) fn unexpected(&self) -> Loss {
        let name = match self {
            Self::Hello(_) => "hello",
            Self::Ready(_) => "ready",
            Self::Refused { .. } => "refused",
            Self::LoadSent | Self::LoadFailed(_) | Self::Measured => "none",
            Self::Records(_) => "records",
            Self::Running(_) => "running",
            Self::Ended(_) => "ended",
            Self::Failed(_) | Self::Lost(_) => "failed",
        };
        Loss::Garbled(format!("an unexpected message '{name}'"))
    }
}

/// What the thread does that sends messages.
enum Task {
    Send(ToAgent),
    /// Asks for the time this often, and reports [`Event::Measured`].
    Measure(u32),
    /// Says goodbye and closes the connection.
    Dismiss,
}

/// A host that takes part.
pub(super) struct Host {
    pub(super) number: usize,
    pub(super) member: Member,
    pub(super) hello: Option<AgentHello>,
    link: Arc<Link>,
    child: Child,
    tasks: Queue<Task>,
    /// A token for each batch of the load that may be sent.
    room: Receiver<()>,
    events: Queue<(usize, Event)>,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Host({})", self.member.name)
    }
}

impl Host {
    /// Starts the command, and the threads that speak with it.
    pub(super) fn start(
        number: usize,
        member: Member,
        command: &mut Command,
        events: Queue<(usize, Event)>,
    ) -> std::io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What the terminal sends goes to us only: we decide when hosts end.
            .process_group(0);
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            unreachable!("all three are pipes");
        };
        let link = Arc::new(Link {
            out: Mutex::new(Some(Sender::new(BufWriter::new(stdin)))),
            clock: Mutex::default(),
            answered: Condvar::new(),
            heard: AtomicU64::new(monotonic()),
            words: Mutex::default(),
            has_enough: AtomicBool::new(false),
        });
        let (more_room, room) = bounded(AHEAD);
        for _ in 0..AHEAD {
            let _ = more_room.try_send(());
        }
        let (tasks, to_do) = unbounded();
        let host = Self {
            number,
            member,
            hello: None,
            link: Arc::clone(&link),
            child,
            tasks,
            room,
            events: events.clone(),
        };
        let heard_by = Arc::clone(&link);
        spawn("errors", move || keep_words(&heard_by, stderr))?;
        let (listener, to_main) = (Arc::clone(&link), events.clone());
        spawn("receiver", move || {
            let loss = listen(&listener, stdout, number, &to_main, &more_room);
            let _ = to_main.send((number, Event::Lost(loss)));
            listener.close();
        })?;
        spawn("sender", move || speak(&link, number, &to_do, &events))?;
        Ok(host)
    }

    /// What the host is called: in front of the connection's own problems the target says nothing.
    pub(super) fn label(&self, of_connection: bool) -> String {
        match of_connection {
            true => self.member.host.clone(),
            false => self.member.name.clone(),
        }
    }

    /// For how long nothing was received.
    pub(super) fn silent_for(&self) -> Duration {
        Duration::from_nanos(monotonic().saturating_sub(self.link.heard.load(Relaxed)))
    }

    /// Introduces this side, and has the target opened.
    pub(super) fn prepare(&self) {
        self.task(Task::Send(ToAgent::Hello {
            version: VERSION.to_owned(),
        }));
        let zero = zero_of(&self.member);
        let spec = serde_json::to_string(&self.member.spec).unwrap_or_default();
        self.task(Task::Send(ToAgent::Prepare(Order {
            spec,
            scan: self.member.load.scan.figures(zero),
            load: self.member.load.path.clone(),
            host: self.member.host.clone(),
        })));
    }

    /// Begins to send the load.
    pub(super) fn send_load(&self) -> std::io::Result<()> {
        let (link, room) = (Arc::clone(&self.link), self.room.clone());
        let (number, events) = (self.number, self.events.clone());
        let member = self.member.clone();
        spawn("loader", move || {
            let mut sent = Some(());
            let mut first = || {
                if sent.take().is_some() {
                    let _ = events.send((number, Event::LoadSent));
                }
            };
            if let Err(error) = load::send(&link, &member, &room, &mut first) {
                let _ = events.send((number, Event::LoadFailed(error)));
            }
        })
    }

    pub(super) fn measure(&self, n: u32) {
        locked(&self.link.clock).begin();
        self.task(Task::Measure(n));
    }

    /// The best measurement of the clock since they were asked for.
    pub(super) fn best(&self) -> Option<Sample> {
        locked(&self.link.clock).best()
    }

    /// What is known of the clock.
    pub(super) fn clock(&self) -> Clock {
        locked(&self.link.clock).clone()
    }

    pub(super) fn send(&self, message: ToAgent) {
        self.task(Task::Send(message));
    }

    /// Has the replay stopped: what it has not started by then, it does not need to know.
    pub(super) fn stop(&self) {
        self.link.has_enough.store(true, Relaxed);
        self.send(ToAgent::Stop);
    }

    pub(super) fn dismiss(&self) {
        self.task(Task::Dismiss);
    }

    fn task(&self, task: Task) {
        // Its thread ends only with this.
        let _ = self.tasks.send(task);
    }

    /// A loss with how the command ended and what it reported, where the connection has ended.
    pub(super) fn explained(&mut self, loss: Loss) -> Loss {
        let Loss::Closed { .. } = loss else {
            return loss;
        };
        let how = self.how_it_ended();
        // What it reports comes by another pipe, and may be a moment later.
        let end = Instant::now() + Duration::from_millis(100);
        while Instant::now() < end && locked(&self.link.words).is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        let words = locked(&self.link.words);
        let text = String::from_utf8_lossy(&words);
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        Loss::Closed {
            how,
            last_words: last.unwrap_or_default().to_owned(),
        }
    }

    /// How the command has ended, if it has.
    fn how_it_ended(&mut self) -> String {
        let end = Instant::now() + Duration::from_millis(200);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    return match (status.code(), status.signal()) {
                        (Some(code), _) => format!("exit code {code}"),
                        (None, Some(signal)) => format!("signal {signal}"),
                        (None, None) => "no exit code".to_owned(),
                    };
                }
                Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(5)),
                _ => return "the command is still running".to_owned(),
            }
        }
    }

    /// Ends the command at once.
    pub(super) fn end(&mut self) {
        // With all that it has started, so that no thread waits for the connection any more. It may have ended.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // A host that is dismissed ends by itself; the agent of one that is not ends with the connection.
        let dismissed = Instant::now() + ENDING;
        self.task(Task::Dismiss);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < dismissed {
            thread::sleep(Duration::from_millis(5));
        }
        self.end();
        let _ = self.child.wait();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(work).map(drop)
}

/// Receives until the connection ends; why it ended.
fn listen(
    link: &Link,
    stdout: impl Read,
    number: usize,
    events: &Queue<(usize, Event)>,
    more_room: &Queue<()>,
) -> Loss {
    let garbled = |e: crate::FrameError| Loss::Garbled(e.to_string());
    let closed = Loss::Closed {
        how: String::new(),
        last_words: String::new(),
    };
    let mut frames = match Frames::greeted(BufReader::new(stdout)) {
        Ok(Some(frames)) => frames,
        Ok(None) => return closed,
        Err(e) => return garbled(e),
    };
    loop {
        let received = match frames.receive() {
            Ok(Some(received)) => received,
            Ok(None) | Err(crate::FrameError::CutOff) => return closed,
            Err(e) => return garbled(e),
        };
        let now = monotonic();
        link.heard.store(now, Relaxed);
        let event = match received {
            Received::Batch(batch) => Event::Records(batch),
            Received::Message(ToCoordinator::Pong {
                sent,
                received,
                answered,
                wall,
            }) => {
                let Some(sample) = Sample::of(sent, received, answered, now) else {
                    return Loss::Garbled("its timestamps are in an impossible order".to_owned());
                };
                locked(&link.clock).add(sample, wall);
                link.answered.notify_all();
                continue;
            }
            Received::Message(ToCoordinator::Taken) => {
                if more_room.try_send(()).is_err() {
                    return Loss::Garbled("it confirmed more of the load than was sent".to_owned());
                }
                continue;
            }
            Received::Message(message) => of_message(message),
        };
        if events.send((number, event)).is_err() {
            return closed;
        }
        // While the other side was too slow for the events, the host was not silent.
        link.heard.store(monotonic(), Relaxed);
    }
}

fn of_message(message: ToCoordinator) -> Event {
    match message {
        ToCoordinator::Hello(hello) => Event::Hello(hello),
        ToCoordinator::Ready(facts) => Event::Ready(facts),
        ToCoordinator::Refused {
            problem,
            is_refusal,
        } => Event::Refused {
            problem,
            is_refusal,
        },
        ToCoordinator::Running(running) => Event::Running(running),
        ToCoordinator::Ended(report) => Event::Ended(report),
        ToCoordinator::Failed { problem } => Event::Failed(problem),
        ToCoordinator::Pong { .. } | ToCoordinator::Taken => {
            unreachable!("they are answered where they are received")
        }
    }
}

/// Sends messages, and asks for the time meanwhile.
fn speak(link: &Link, number: usize, tasks: &Receiver<Task>, events: &Queue<(usize, Event)>) {
    link.send(Sender::greet);
    let mut is_open = false;
    loop {
        match tasks.recv_timeout(PING_EVERY) {
            Ok(Task::Send(message)) => {
                is_open = true;
                link.message(&message);
            }
            Ok(Task::Measure(n)) => {
                link.measure(n);
                let _ = events.send((number, Event::Measured));
            }
            Ok(Task::Dismiss) => {
                link.message(&ToAgent::Goodbye);
                link.close();
            }
            // Before the first message the other side may not have understood the greeting.
            Err(RecvTimeoutError::Timeout) if is_open => link.ping(),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// How much later than `at` of our clock a host's time zero was, by the offset of `before`.
pub(super) fn lag(began_at: u64, before: &Sample, at: u64) -> i64 {
    let ours = began_at as i64 - before.offset;
    ours - at as i64
}

/// An instant of our clock by a host's.
pub(super) fn theirs(at: Nanos, of: &Sample) -> u64 {
    (at.get() as i64).saturating_add(of.offset).max(0) as u64
}
