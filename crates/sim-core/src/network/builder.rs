//! Putting a network together.

use std::error::Error;
use std::fmt;

use super::job::NONE;
use super::node::{Choice, Delay, Lap, Node, Sink};
use super::station::Station;
use super::{Arrivals, Class, Network, NoProbe, Probe, Queue};
use crate::arrivals::Source;
use crate::law::check_probabilities;
use crate::{Law, LawError, Seed};

/// A node of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub(super) u32);

/// How a router chooses among its outputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// At random, with these probabilities, in the order of the connections.
    Probabilities(Vec<f64>),
    /// By class: the output for each class from 0 on; classes beyond take the last.
    Classes(Vec<usize>),
    /// One after the other.
    RoundRobin,
}

/// Why nodes do not make a network.
#[derive(Clone, Debug, PartialEq)]
pub enum BuildError {
    /// A node has no output, or too many.
    Outputs {
        /// The node's name.
        node: String,
        /// What it is.
        kind: &'static str,
        /// How many outputs it has.
        seen: usize,
        /// How many it needs.
        expected: &'static str,
    },
    /// An invalid distribution.
    Law {
        /// The node's name.
        node: String,
        /// What is wrong.
        source: LawError,
    },
    /// A station that cannot be.
    Station {
        /// The node's name.
        node: String,
        /// What is wrong.
        complaint: &'static str,
    },
    /// A router that sends jobs to an output that it does not have.
    Output {
        /// The node's name.
        node: String,
        /// The output.
        seen: usize,
        /// How many there are.
        outputs: usize,
    },
    /// Two nodes have one name.
    Name {
        /// The name.
        node: String,
    },
    /// Jobs cannot go to where they come from outside.
    IntoSource {
        /// The source's name.
        node: String,
    },
    /// Jobs would go round for ever without time passing.
    Loop {
        /// The name of a node on it.
        node: String,
    },
    /// Something that cannot wait leads straight to a finite queue.
    CannotWait {
        /// The node's name.
        node: String,
        /// What it is.
        kind: &'static str,
        /// The station's name.
        queue: String,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outputs {
                node,
                kind,
                seen,
                expected,
            } => write!(f, "{kind} '{node}' has {seen} outputs, expected {expected}"),
            Self::Law { node, source } => write!(f, "'{node}': {source}"),
            Self::Station { node, complaint } => write!(f, "station '{node}': {complaint}"),
            Self::Output {
                node,
                seen,
                outputs,
            } => write!(
                f,
                "router '{node}' selects output {seen}, but has {outputs}"
            ),
            Self::Name { node } => write!(
                f,
                "two nodes are called '{node}': give them different names, as the random stream of a node depends on \
                 its name"
            ),
            Self::IntoSource { node } => {
                write!(f, "jobs cannot be routed to the source '{node}'")
            }
            Self::Loop { node } => write!(f, "'{node}' is on a loop that takes no time"),
            Self::CannotWait { node, kind, queue } => write!(
                f,
                "{kind} '{node}' leads to the finite queue '{queue}', but jobs cannot wait there"
            ),
        }
    }
}

impl Error for BuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Law { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// A node before it is checked.
struct UncheckedNode {
    name: String,
    kind: Kind,
    outputs: Vec<u32>,
}

enum Kind {
    Source(Arrivals),
    Station(Queue),
    Delay { law: Law, think: bool },
    Router(Route),
    Fork,
    Join,
    Lap,
    Sink,
}

impl Kind {
    fn name(&self) -> &'static str {
        match self {
            Self::Source(_) => "source",
            Self::Station(_) => "station",
            Self::Delay { .. } => "delay",
            Self::Router(_) => "router",
            Self::Fork => "fork",
            Self::Join => "join",
            Self::Lap => "lap",
            Self::Sink => "sink",
        }
    }
}

/// Puts a network together.
pub struct Builder {
    seed: Seed,
    plans: Vec<UncheckedNode>,
    populations: Vec<(u32, Class, u32)>,
}

impl Builder {
    /// An empty network. Each node draws from streams of its own, which follow from its name.
    pub fn new(seed: Seed) -> Self {
        Self {
            seed,
            plans: Vec::new(),
            populations: Vec::new(),
        }
    }

    fn add(&mut self, name: &str, kind: Kind) -> NodeId {
        self.plans.push(UncheckedNode {
            name: name.to_owned(),
            kind,
            outputs: Vec::new(),
        });
        NodeId(self.plans.len() as u32 - 1)
    }

    /// A place where jobs come from outside.
    pub fn source(&mut self, name: &str, arrivals: Arrivals) -> NodeId {
        self.add(name, Kind::Source(arrivals))
    }

    /// Servers with a queue.
    pub fn station(&mut self, name: &str, queue: Queue) -> NodeId {
        self.add(name, Kind::Station(queue))
    }

    /// A delay: as many servers as there are jobs.
    pub fn delay(&mut self, name: &str, law: impl Into<Law>) -> NodeId {
        let law = law.into();
        self.add(name, Kind::Delay { law, think: false })
    }

    /// A delay after which a job's response time begins anew: the think time of a closed chain.
    pub fn think(&mut self, name: &str, law: impl Into<Law>) -> NodeId {
        let law = law.into();
        self.add(name, Kind::Delay { law, think: true })
    }

    /// A parting of the ways.
    pub fn router(&mut self, name: &str, route: Route) -> NodeId {
        self.add(name, Kind::Router(route))
    }

    /// Where a job becomes several, one for each output.
    pub fn fork(&mut self, name: &str) -> NodeId {
        self.add(name, Kind::Fork)
    }

    /// Where what was forked waits for each other and becomes one job again.
    pub fn join(&mut self, name: &str) -> NodeId {
        self.add(name, Kind::Join)
    }

    /// A place that jobs pass; their response times up to here are taken.
    pub fn lap(&mut self, name: &str) -> NodeId {
        self.add(name, Kind::Lap)
    }

    /// Where jobs leave; their response times are taken.
    pub fn sink(&mut self, name: &str) -> NodeId {
        self.add(name, Kind::Sink)
    }

    /// Connects each node with the next.
    pub fn chain(&mut self, nodes: &[NodeId]) -> &mut Self {
        for pair in nodes.windows(2) {
            self.plans[pair[0].0 as usize].outputs.push(pair[1].0);
        }
        self
    }

    /// Puts `jobs` jobs of class 0 into `node` at time zero: a closed chain.
    pub fn population(&mut self, node: NodeId, jobs: u32) -> &mut Self {
        self.population_of(node, Class::default(), jobs)
    }

    /// Puts `jobs` jobs of a class into `node` at time zero.
    pub fn population_of(&mut self, node: NodeId, class: Class, jobs: u32) -> &mut Self {
        self.populations.push((node.0, class, jobs));
        self
    }

    /// The network, at time zero.
    ///
    /// # Errors
    /// If the nodes do not make a network.
    pub fn build(self) -> Result<Network, BuildError> {
        self.build_with(NoProbe)
    }

    /// The network, at time zero, watched by `probe`.
    ///
    /// # Errors
    /// If the nodes do not make a network.
    pub fn build_with<P: Probe>(self, probe: P) -> Result<Network<P>, BuildError> {
        self.check()?;
        let seed = self.seed;
        let nodes = self.plans.into_iter().map(|plan| plan.node(&seed));
        Ok(Network::new(nodes.collect(), &self.populations, probe))
    }

    fn check(&self) -> Result<(), BuildError> {
        for (i, plan) in self.plans.iter().enumerate() {
            plan.check()?;
            // Streams follow from names: two nodes of one name would draw the same numbers.
            if self.plans[..i].iter().any(|other| other.name == plan.name) {
                return Err(BuildError::Name {
                    node: plan.name.clone(),
                });
            }
            let into_source = |&&to: &&u32| matches!(self.plans[to as usize].kind, Kind::Source(_));
            if let Some(&to) = plan.outputs.iter().find(into_source) {
                return Err(BuildError::IntoSource {
                    node: self.plans[to as usize].name.clone(),
                });
            }
        }
        for &(node, _, jobs) in &self.populations {
            let plan = &self.plans[node as usize];
            match &plan.kind {
                Kind::Source(_) => {
                    return Err(BuildError::IntoSource {
                        node: plan.name.clone(),
                    });
                }
                Kind::Station(queue) if !queue.has_room_for(jobs) => {
                    return Err(BuildError::Station {
                        node: plan.name.clone(),
                        complaint: "its population exceeds the queue",
                    });
                }
                _ => {}
            }
        }
        for (i, plan) in self.plans.iter().enumerate() {
            // Follow what takes no time; coming back to the start is a loop.
            let mut reached = plan.outputs.clone();
            let mut seen = vec![false; self.plans.len()];
            while let Some(next) = reached.pop() {
                let next = next as usize;
                if std::mem::replace(&mut seen[next], true) || !self.plans[next].takes_no_time() {
                    continue;
                }
                reached.extend(&self.plans[next].outputs);
            }
            if plan.takes_no_time() && seen[i] {
                return Err(BuildError::Loop {
                    node: plan.name.clone(),
                });
            }
            if plan.jobs_cannot_wait() {
                let finite = (0..self.plans.len()).filter(|&j| seen[j]).find(
                    |&j| matches!(&self.plans[j].kind, Kind::Station(queue) if queue.is_finite()),
                );
                if let Some(j) = finite {
                    return Err(BuildError::CannotWait {
                        node: plan.name.clone(),
                        kind: plan.kind.name(),
                        queue: self.plans[j].name.clone(),
                    });
                }
            }
        }
        Ok(())
    }
}

impl UncheckedNode {
    fn takes_no_time(&self) -> bool {
        matches!(
            self.kind,
            Kind::Router(_) | Kind::Fork | Kind::Join | Kind::Lap
        )
    }

    /// Whether jobs that leave it have nothing to wait on.
    fn jobs_cannot_wait(&self) -> bool {
        matches!(self.kind, Kind::Fork | Kind::Join | Kind::Delay { .. })
    }

    fn check(&self) -> Result<(), BuildError> {
        let seen = self.outputs.len();
        let (right, expected) = match self.kind {
            Kind::Sink => (seen == 0, "none"),
            Kind::Fork | Kind::Router(_) => (seen > 0, "at least one"),
            _ => (seen == 1, "one"),
        };
        if !right {
            return Err(BuildError::Outputs {
                node: self.name.clone(),
                kind: self.kind.name(),
                seen,
                expected,
            });
        }
        let of_law = |source| BuildError::Law {
            node: self.name.clone(),
            source,
        };
        match &self.kind {
            Kind::Source(arrivals) => arrivals.check().map_err(of_law),
            Kind::Delay { law, .. } => law.check().map_err(of_law),
            Kind::Station(queue) => {
                queue
                    .laws()
                    .try_for_each(|law| law.check().map_err(of_law))?;
                queue.check().map_err(|complaint| BuildError::Station {
                    node: self.name.clone(),
                    complaint,
                })
            }
            Kind::Router(Route::Probabilities(p)) => {
                check_probabilities(p.iter().copied()).map_err(of_law)?;
                self.check_output(p.len().saturating_sub(1))
            }
            Kind::Router(Route::Classes(outputs)) if outputs.is_empty() => self.check_output(0),
            Kind::Router(Route::Classes(outputs)) => outputs
                .iter()
                .try_for_each(|&output| self.check_output(output)),
            _ => Ok(()),
        }
    }

    fn check_output(&self, output: usize) -> Result<(), BuildError> {
        let named = !matches!(&self.kind, Kind::Router(Route::Classes(of)) if of.is_empty());
        if named && output < self.outputs.len() {
            return Ok(());
        }
        Err(BuildError::Output {
            node: self.name.clone(),
            seen: output,
            outputs: self.outputs.len(),
        })
    }

    fn node(self, seed: &Seed) -> Node {
        let stream = |purpose| seed.stream(&self.name, purpose);
        let next = self.outputs.first().copied().unwrap_or(NONE);
        match self.kind {
            Kind::Source(arrivals) => {
                let source = Source::new(arrivals, stream("arrival"), stream("batch"));
                Node::Source {
                    source,
                    planned: None,
                    next,
                }
            }
            Kind::Station(queue) => {
                let station = Station::new(queue, stream("service"), stream("order"));
                Node::Station {
                    station: Box::new(station),
                    next,
                }
            }
            Kind::Delay { law, think } => Node::Delay(Delay {
                law,
                stream: stream("delay"),
                restarts: think,
                next,
            }),
            Kind::Router(route) => Node::Router(Choice {
                route,
                stream: stream("route"),
                turn: 0,
                outputs: self.outputs,
            }),
            Kind::Fork => Node::Fork {
                outputs: self.outputs,
            },
            Kind::Join => Node::Join { next },
            Kind::Lap => Node::Lap(Lap {
                sink: Sink::default(),
                next,
            }),
            Kind::Sink => Node::Sink(Sink::default()),
        }
    }
}
