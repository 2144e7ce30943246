//! The side of the user.
//!
//! For each host there are three threads: one receives, one sends messages and asks for the time, one sends the load. The
//! calling thread merges what they receive, and decides.

mod host;
mod running;

use std::path::PathBuf;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};
use iosonar_replay::{Load, ReplayError, ReplaySpec, StopRequest};
use iosonar_trace::transform::beginning;
use iosonar_trace::{TraceError, TraceWriter};
use iosonar_units::Nanos;

use crate::clock::{Drift, Sample, monotonic};
use crate::message::{AgentHello, CAPABILITIES, Facts, Report, Running, VERSION};
use crate::{Shell, Tally};
use host::{Event, Host};

/// Events that wait for the calling thread: batches of records, mostly.
const EVENTS_WAITING: usize = 64;
/// How often it is looked for signals and silent hosts.
const LOOK: Duration = Duration::from_millis(50);

/// A target on a host.
#[derive(Clone, Debug)]
pub struct Member {
    /// The host's name, for the shell.
    pub host: String,
    /// What it is called in results.
    pub name: String,
    /// What it replays, as [`Load::scanned_for`] has read it here.
    pub load: Load,
    /// How: its target is the path on the host.
    pub spec: ReplaySpec,
}

/// How long a host is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the connection.
    pub connect: Duration,
    /// For any message after that.
    pub silence: Duration,
}

/// Why a host is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The connection ended.
    Closed {
        /// How the command that connects ended.
        how: String,
        /// The last line that it reported.
        last_words: String,
    },
    /// It was silent.
    Silent(Duration),
    /// It sent what cannot be understood.
    Garbled(String),
    /// Its replay broke off.
    Failed(String),
    /// Its records are not those that it counted.
    Miscounted {
        /// How many it sent.
        sent: u64,
        /// How many came.
        came: u64,
    },
    /// It is of another version.
    Version {
        /// Its version.
        theirs: String,
    },
    /// It lacks something that is needed.
    Incapable {
        /// What.
        lacks: &'static str,
    },
    /// It refused the order.
    Refused {
        /// Why.
        problem: String,
        /// Whether the order is at fault, and not what happened.
        is_refusal: bool,
    },
}

/// Why a replay on several hosts is not begun, or broke off here.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// The command that connects cannot be started.
    #[error("{host}: cannot start '{command}': {source}")]
    Shell {
        /// The host.
        host: String,
        /// The command.
        command: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Some hosts are not ready; nothing was started on any.
    #[error("{}", problems(.0))]
    NotReady(Vec<(String, Loss)>),
    /// It was asked to end before it began.
    #[error("interrupted before the replay began")]
    Interrupted,
    /// The load does not fit a target.
    #[error(transparent)]
    Unfit(#[from] ReplayError),
    /// A load can no longer be read.
    #[error(transparent)]
    Load(#[from] TraceError),
}

fn problems(of: &[(String, Loss)]) -> String {
    let problems = of.iter().map(|(name, loss)| format!("{name}: {loss}"));
    problems.collect::<Vec<_>>().join("; ")
}

impl HostsError {
    /// Whether what was asked for is at fault, and not what happened.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::NotReady(losses) => losses.iter().any(|(_, loss)| {
                matches!(
                    loss,
                    Loss::Refused {
                        is_refusal: true,
                        ..
                    } | Loss::Version { .. }
                        | Loss::Incapable { .. }
                )
            }),
            Self::Unfit(error) => error.is_refusal(),
            Self::Load(error) => error.is_refusal(),
            Self::Shell { .. } | Self::Interrupted => false,
        }
    }
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Closed { how, last_words } => {
                write!(f, "the connection ended ({how})")?;
                if last_words.is_empty() {
                    return Ok(());
                }
                write!(f, ": {last_words}")
            }
            Self::Silent(time) => write!(f, "no answer for {} s", time.as_secs_f64()),
            Self::Garbled(problem) => write!(f, "its answer is invalid: {problem}"),
            Self::Failed(problem) => write!(f, "the replay was aborted: {problem}"),
            Self::Miscounted { sent, came } => {
                write!(
                    f,
                    "only {came} of the {sent} records that it sent have arrived"
                )
            }
            Self::Version { theirs } => write!(
                f,
                "has iosonar {theirs}, but this machine has iosonar {VERSION}: install the same version on both"
            ),
            Self::Incapable { lacks } => {
                write!(
                    f,
                    "its iosonar does not support '{lacks}': install the same version on both"
                )
            }
            Self::Refused { problem, .. } => f.write_str(problem),
        }
    }
}

/// What is seen while a replay is prepared and goes on.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'a> {
    /// How far all hosts are, from time to time.
    Running {
        /// Each host's progress.
        hosts: &'a [Running],
        /// Requests whose records have come.
        records: u64,
    },
    /// A host is lost.
    Lost {
        /// Its name.
        name: &'a str,
        /// Why.
        loss: &'a Loss,
    },
}

/// Connections to all hosts; dropped, they end.
#[derive(Debug)]
pub struct Connected {
    hosts: Vec<Host>,
    events: Receiver<(usize, Event)>,
    patience: Patience,
}

/// Hosts whose targets are open.
#[derive(Debug)]
pub struct Prepared {
    connected: Connected,
    facts: Vec<(AgentHello, Facts)>,
}

/// When a replay starts, and where its records go.
pub struct Start<'a> {
    /// How long from the decision to the start at least.
    pub grace: Nanos,
    /// The time in the records that is time zero; `None`: that of the first load.
    pub zero: Option<Nanos>,
    /// Takes the records; the device of each is the number of its member.
    pub records: Option<Box<dyn TraceWriter>>,
    /// Ends the replay.
    pub stop: &'a StopRequest,
    /// Sees what happens.
    pub see: &'a mut dyn FnMut(Seen<'_>),
}

/// What came of a host.
#[derive(Clone, Debug)]
pub struct HostOutcome {
    /// What the host is called.
    pub name: String,
    /// What came of its requests.
    pub tally: Tally,
    /// Its own results, if it has reported them.
    pub report: Option<Report>,
    /// Why it is lost.
    pub loss: Option<Loss>,
    /// What its start was translated with.
    pub before: Option<Sample>,
    /// How well its clock was known at the end.
    pub after: Option<Sample>,
    /// How far its time since 1970 is ahead of ours, in nanoseconds.
    pub ahead: Option<i64>,
    /// How its clock went apart from ours.
    pub drift: Option<Drift>,
    /// The largest error of the offset in any second or longer window of the replay.
    pub largest_error: Option<u64>,
    /// How much later than agreed its time zero was, in nanoseconds; it is known to within the error of `before`.
    pub start_lag: Option<i64>,
}

/// What came of a replay on several hosts.
#[derive(Debug)]
pub struct HostsOutcome {
    /// Each host's.
    pub hosts: Vec<HostOutcome>,
    /// Why the records could not be written here.
    pub records_error: Option<String>,
    /// Whether it was asked to end.
    pub is_interrupted: bool,
}

/// Starts `program agent` on the host of each of `members`, through `shell`, and waits until all have introduced themselves.
///
/// # Errors
/// If a host does not answer, or has another version.
pub fn connect(
    members: Vec<Member>,
    shell: &Shell,
    program: &str,
    patience: Patience,
    stop: &StopRequest,
) -> Result<Connected, HostsError> {
    let (events, received) = bounded(EVENTS_WAITING);
    let mut connected = Connected {
        hosts: Vec::new(),
        events: received,
        patience,
    };
    let line = format!("{program} agent");
    for (number, member) in members.into_iter().enumerate() {
        let mut command = shell.on(&member.host, &line);
        let host = member.host.clone();
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = |source| HostsError::Shell {
            host,
            command: name,
            source,
        };
        let host = Host::start(number, member, &mut command, events.clone()).map_err(failed)?;
        connected.hosts.push(host);
    }
    let deadline = patience.connect;
    connected.wait_for_all(stop, Some(deadline), |host, event| match event {
        Event::Hello(hello) => {
            if hello.version != VERSION {
                return Err(Loss::Version {
                    theirs: hello.version,
                });
            }
            let lacks = |wanted: &&str| !hello.capabilities.iter().any(|of| of == wanted);
            if let Some(lacks) = CAPABILITIES.into_iter().find(lacks) {
                return Err(Loss::Incapable { lacks });
            }
            host.hello = Some(hello);
            Ok(true)
        }
        other => Err(other.unexpected()),
    })?;
    Ok(connected)
}

impl Connected {
    /// Waits until `is_there` is true of an event of each host. Hosts that are not ready are all named.
    fn wait_for_all(
        &mut self,
        stop: &StopRequest,
        most: Option<Duration>,
        mut is_there: impl FnMut(&mut Host, Event) -> Result<bool, Loss>,
    ) -> Result<(), HostsError> {
        let began = monotonic();
        let mut waiting: Vec<bool> = self.hosts.iter().map(|_| true).collect();
        let mut lost: Vec<(String, Loss)> = Vec::new();
        while waiting.contains(&true) {
            if stop.is_asked() {
                return Err(HostsError::Interrupted);
            }
            let passed = Duration::from_nanos(monotonic().saturating_sub(began));
            let mut losses = Vec::new();
            match self.events.recv_timeout(LOOK) {
                Ok((number, event)) if waiting[number] => {
                    let host = &mut self.hosts[number];
                    let outcome = match event {
                        Event::Lost(loss) => Err(loss),
                        event => is_there(host, event),
                    };
                    match outcome {
                        Ok(is_there) => waiting[number] = !is_there,
                        Err(loss) => losses.push((number, loss)),
                    }
                }
                Ok(_) => {}
                Err(_) => {
                    for (number, host) in self.hosts.iter().enumerate() {
                        let silent = host.silent_for();
                        let is_late = match most {
                            Some(most) => passed >= most,
                            None => silent >= self.patience.silence,
                        };
                        if waiting[number] && is_late {
                            losses.push((number, Loss::Silent(most.unwrap_or(silent))));
                        }
                    }
                }
            }
            for (number, loss) in losses {
                waiting[number] = false;
                let host = &mut self.hosts[number];
                let loss = host.explained(loss);
                lost.push((host.label(most.is_some()), loss));
            }
        }
        match lost.is_empty() {
            true => Ok(()),
            false => Err(HostsError::NotReady(lost)),
        }
    }

    /// Has all hosts open their targets.
    ///
    /// # Errors
    /// If one refuses, or is lost; nothing has been started then.
    pub fn prepare(mut self, stop: &StopRequest) -> Result<Prepared, HostsError> {
        for host in &mut self.hosts {
            host.prepare();
        }
        let mut facts: Vec<Option<Facts>> = self.hosts.iter().map(|_| None).collect();
        self.wait_for_all(stop, None, |host, event| match event {
            Event::Ready(of) => {
                facts[host.number] = Some(of);
                Ok(true)
            }
            Event::Refused {
                problem,
                is_refusal,
            } => Err(Loss::Refused {
                problem,
                is_refusal,
            }),
            other => Err(other.unexpected()),
        })?;
        let hellos = self.hosts.iter().map(|host| host.hello.clone());
        let facts = hellos.zip(facts);
        let facts: Vec<_> = facts
            .filter_map(|(hello, facts)| hello.zip(facts))
            .collect();
        for (host, (_, facts)) in self.hosts.iter().zip(&facts) {
            // Where the requests are, only the side that has read the load knows.
            let member = &host.member;
            let block = iosonar_units::Bytes::new(facts.block);
            let path = PathBuf::from(&member.name);
            let fit = member.spec.options.fit;
            member.load.scan.aligned(block, &path, fit)?;
        }
        Ok(Prepared {
            connected: self,
            facts,
        })
    }
}

impl Prepared {
    /// Who the agents are, and what their targets are.
    pub fn facts(&self) -> &[(AgentHello, Facts)] {
        &self.facts
    }

    /// Replays on all hosts.
    ///
    /// # Errors
    /// If a load can no longer be read. Hosts that are lost are in the outcome.
    pub fn replay(self, start: Start<'_>) -> Result<HostsOutcome, HostsError> {
        running::replay(self.connected, start)
    }
}

/// The part of the load's time that is time zero of a member's replay.
fn zero_of(member: &Member) -> Nanos {
    beginning(&member.load.reading.changes)
}
