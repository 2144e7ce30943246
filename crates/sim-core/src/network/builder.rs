//! Putting a network together.

use super::agenda::NO_PLACE;
use super::behaviour::Custom;
use super::check::check;
use super::job::NONE;
use super::node::{Choice, Delay, Incoming, Lap, Node, Nodes, Server, Servers, Sink};
use super::single::Single;
use super::station::Station;
use super::{Arrivals, Behaviour, BuildError, Class, Network, NoProbe, Probe, Queue};
use crate::arrivals::{Renewal, Source};
use crate::law::Draws;
use crate::{Law, Seed};

/// A node of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub(crate) u32);

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

/// A node before it is checked.
pub(super) struct UncheckedNode {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) outputs: Vec<u32>,
    /// Where jobs go that a station does not serve.
    pub(super) unserved: Option<u32>,
}

pub(super) enum Kind {
    Source(Arrivals),
    Station(Queue),
    Delay { law: Law, think: bool },
    Router(Route),
    Fork,
    Join,
    Lap,
    Sink,
    Custom(Box<dyn Behaviour>),
}

impl Kind {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Source(_) => "source",
            Self::Station(_) => "station",
            Self::Delay { .. } => "delay",
            Self::Router(_) => "router",
            Self::Fork => "fork",
            Self::Join => "join",
            Self::Lap => "lap",
            Self::Sink => "sink",
            Self::Custom(_) => "node",
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
            unserved: None,
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

    /// A node with a behaviour of your own.
    pub fn node(&mut self, name: &str, behaviour: impl Behaviour) -> NodeId {
        self.add(name, Kind::Custom(Box::new(behaviour)))
    }

    /// Jobs that `station` does not serve go to `to`: those that find no [room](Queue::room_for), and those whose
    /// [patience](Queue::patience) ends. Such a station blocks no other. Without this call, jobs that lose patience,
    /// and jobs from a source that find no room, leave the network without being recorded in any sink.
    pub fn unserved(&mut self, station: NodeId, to: NodeId) -> &mut Self {
        self.plans[station.0 as usize].unserved = Some(to.0);
        self
    }

    /// Connects each node with the next.
    pub fn chain(&mut self, nodes: &[NodeId]) -> &mut Self {
        for pair in nodes.windows(2) {
            self.plans[pair[0].0 as usize].outputs.push(pair[1].0);
        }
        self
    }

    /// Puts `jobs` jobs of class 0 into `node` at time zero: a closed chain. Those of a router or a lap go on to where
    /// time passes, and must find room there.
    pub fn population(&mut self, node: NodeId, jobs: u32) -> &mut Self {
        self.population_of(node, Class::default(), jobs)
    }

    /// Puts `jobs` jobs of a class into `node` at time zero.
    pub fn population_of(&mut self, node: NodeId, class: Class, jobs: u32) -> &mut Self {
        self.populations.push((node.0, class, jobs));
        self
    }

    /// The node that comes next.
    pub(crate) fn next_node(&self) -> NodeId {
        NodeId(self.plans.len() as u32)
    }

    /// The names of the nodes, if they make a network.
    pub(crate) fn into_names(self) -> Result<Vec<String>, BuildError> {
        check(&self.plans, &self.populations)?;
        let names = self.plans.into_iter().map(|plan| plan.name);
        Ok(names.collect())
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
        check(&self.plans, &self.populations)?;
        let seed = self.seed;
        let names = self.plans.iter().map(|plan| plan.name.as_str().into());
        let names = names.collect();
        let finite = self.plans.iter().any(UncheckedNode::is_finite);
        let mut nodes = Nodes::default();
        for (number, plan) in self.plans.into_iter().enumerate() {
            let node = plan.node(number as u32, &seed, finite, &mut nodes);
            nodes.all.push(node);
        }
        Network::new(names, nodes, &self.populations, probe)
    }
}

impl UncheckedNode {
    fn is_finite(&self) -> bool {
        matches!(&self.kind, Kind::Station(queue) if queue.is_finite())
    }

    /// The node `me` in a network in which a queue is finite or not.
    fn node(self, me: u32, seed: &Seed, finite: bool, nodes: &mut Nodes) -> Node {
        let stream = |purpose| seed.stream(&self.name, purpose);
        let next = self.outputs.first().copied().unwrap_or(NONE);
        let place = NO_PLACE;
        match self.kind {
            Kind::Source(arrivals) => {
                let alone = arrivals.distance().zip(arrivals.class());
                if let Some((distance, class)) = alone {
                    let distances = Draws::new(distance.clone(), stream("arrival"));
                    nodes.sources.push(Incoming {
                        source: Renewal::new(distances, class),
                        node: me,
                        next,
                        place,
                    });
                    return Node::Renewal;
                }
                let source = Source::new(arrivals, stream("arrival"), stream("batch"));
                Node::Source(Box::new(Incoming {
                    source: (source, None),
                    node: me,
                    next,
                    place,
                }))
            }
            // Where a queue is finite, jobs may be held back, which the simplest stations do not know.
            Kind::Station(queue) if queue.is_simple() && !finite => {
                nodes.servers.push(Server {
                    single: Single::new(Draws::new(queue.service, stream("service"))),
                    node: me,
                    next,
                    place,
                });
                Node::Single(nodes.servers.len() as u32 - 1)
            }
            Kind::Station(queue) => Node::Station(Box::new(Servers {
                station: Station::new(queue, stream),
                next,
                unserved: self.unserved.unwrap_or(NONE),
            })),
            Kind::Delay { law, think } => Node::Delay(Box::new(Delay {
                times: Draws::new(law, stream("delay")),
                restarts: think,
                next,
            })),
            Kind::Router(route) => Node::Router(Box::new(Choice {
                route,
                stream: stream("route"),
                turn: 0,
                outputs: self.outputs,
            })),
            Kind::Fork => Node::Fork(Box::new(self.outputs)),
            Kind::Join => Node::Join(next),
            Kind::Lap => Node::Lap(Box::new(Lap {
                sink: Sink::default(),
                next,
            })),
            Kind::Sink => Node::Sink(Box::default()),
            Kind::Custom(behaviour) => Node::Custom(Some(Box::new(Custom {
                behaviour,
                stream: stream("behaviour"),
                outputs: self.outputs,
                held: 0,
            }))),
        }
    }
}
