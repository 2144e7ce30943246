//! How jobs come to nodes with a [`Behaviour`] and go on from there within one instant.
//!
//! A job that is sent on goes as far as it can before the next one that was sent sets out. It may come to further nodes
//! with a behaviour, which send it on again, and so on. What is still to be sent waits on a list, the next at its end,
//! so that a long way needs no deep stack. A job that never stops is an [`EndlessLoop`]: it comes to such nodes more than
//! [`MOST_MOVES`] times without time passing.

use iosonar_units::Nanos;

use super::behaviour::Custom;
use super::job::{Job, NONE};
use super::node::Node;
use super::{Behaviour, EndlessLoop, Here, JobId, Network, NodeId, Probe};

/// A job that comes to nodes with a behaviour more often than this in one instant will never stop. A node that sends
/// jobs round at random until they find a way out needs a hundred times fewer, even if it finds one in a thousand times.
const MOST_MOVES: u32 = 1_000_000;
/// By how many further moves the nodes on its way are found.
const TRACED_MOVES: u32 = 1_000;

/// What is to be sent in this instant.
#[derive(Clone, Copy)]
enum Pending {
    /// A job that a behaviour sent on.
    Job { job: u32, from: u32, to: u32 },
    /// The parts of a forked job from a branch on.
    Parts { job: u32, fork: u32, branch: usize },
}

/// What is on its way between nodes with a behaviour.
#[derive(Clone, Default)]
pub(super) struct Forwarding {
    /// The next is the last.
    pending: Vec<Pending>,
    active: bool,
    /// What a behaviour sends is put here until it returns.
    sent: Vec<(u32, usize)>,
    /// A job that has moved very often, and the nodes that it came to since.
    suspect: Option<(u64, Vec<u32>)>,
    pub(super) endless: Option<Box<EndlessLoop>>,
}

impl<P: Probe> Network<P> {
    /// Brings a job to a node with a behaviour.
    pub(super) fn receive(&mut self, job: Job, node: u32, now: Nanos) {
        let place = self.context.place(job);
        if self.moves_for_ever(place, node, now) {
            self.forwarding.pending.clear();
            return;
        }
        let Node::Custom(Some(custom)) = &mut self.nodes[node as usize] else {
            unreachable!("a behaviour sends after it returns")
        };
        let number = custom.held;
        custom.held += 1;
        let state = &mut self.context.jobs[place];
        (state.job.at, state.station) = (now, node);
        let (id, class) = (state.job.id, state.job.class());
        let probe = &mut self.context.record.probe;
        probe.arrived(NodeId(node), id, class, number, now);
        let job = JobId { number: id, place };
        self.call(node, now, |behaviour, here| behaviour.arrived(job, here));
    }

    /// Counts how often a job, with its parts, has moved in this instant.
    fn moves_for_ever(&mut self, place: u32, node: u32, now: Nanos) -> bool {
        let jobs = &mut self.context.jobs;
        let mut whole = place;
        while jobs[whole].job.parent != NONE {
            whole = jobs[whole].job.parent;
        }
        let state = &mut jobs[whole];
        let moves = match state.started == now {
            true => state.job.moves() + 1,
            false => 1,
        };
        state.started = now;
        state.job.set_moves(moves);
        if moves < MOST_MOVES {
            return false;
        }
        let id = state.job.id;
        self.trace(id, moves, node, now)
    }

    #[cold]
    fn trace(&mut self, job: u64, moves: u32, node: u32, now: Nanos) -> bool {
        if moves == MOST_MOVES {
            self.forwarding.suspect = Some((job, Vec::new()));
        }
        let Some((suspect, nodes)) = &mut self.forwarding.suspect else {
            return false;
        };
        if *suspect != job {
            return false;
        }
        if !nodes.contains(&node) {
            nodes.push(node);
        }
        if moves < MOST_MOVES + TRACED_MOVES {
            return false;
        }
        nodes.sort_unstable();
        let names = nodes.iter().map(|&node| self.names[node as usize].as_ref());
        self.forwarding.endless = Some(Box::new(EndlessLoop {
            job,
            at: now,
            nodes: names.map(str::to_owned).collect(),
        }));
        true
    }

    /// Calls the behaviour of a node. The jobs that it sends go on, now or when those before them have gone.
    pub(super) fn call(
        &mut self,
        node: u32,
        now: Nanos,
        action: impl FnOnce(&mut dyn Behaviour, &mut Here<'_>),
    ) {
        let mut sent = std::mem::take(&mut self.forwarding.sent);
        let Node::Custom(place) = &mut self.nodes[node as usize] else {
            unreachable!("it has a behaviour")
        };
        let mut custom = place.take().expect("a behaviour sends after it returns");
        let Custom {
            behaviour,
            stream,
            outputs,
            held,
        } = &mut *custom;
        let mut here = Here {
            node,
            name: &self.names[node as usize],
            now,
            nodes: &self.nodes,
            servers: &self.servers,
            calendar: self.context.agenda.calendar(),
            jobs: &mut self.context.jobs,
            stream,
            outputs: outputs.len(),
            held,
            sent: &mut sent,
        };
        action(&mut **behaviour, &mut here);
        let in_turn = sent.drain(..).rev().map(|(job, output)| Pending::Job {
            job,
            from: node,
            to: outputs[output],
        });
        self.forwarding.pending.extend(in_turn);
        self.nodes[node as usize] = Node::Custom(Some(custom));
        self.forwarding.sent = sent;
        if !self.forwarding.active {
            self.forward(now);
        }
    }

    fn forward(&mut self, now: Nanos) {
        self.forwarding.active = true;
        while let Some(next) = self.forwarding.pending.pop() {
            match next {
                Pending::Job { job, from, to } => {
                    let Job { id, at, .. } = self.context.jobs[job].job;
                    let job = self.context.take(job);
                    let record = &mut self.context.record;
                    record.hash.add(id, from, at, now);
                    record.probe.ended(NodeId(from), id, now);
                    self.send_where_room(job, to, now);
                }
                Pending::Parts { job, fork, branch } => {
                    let Node::Fork(outputs) = &self.nodes[fork as usize] else {
                        unreachable!("it is a fork")
                    };
                    let (output, last) = (outputs[branch], branch + 1 == outputs.len());
                    if !last {
                        let branch = branch + 1;
                        let rest = Pending::Parts { job, fork, branch };
                        self.forwarding.pending.push(rest);
                    }
                    let class = self.context.jobs[job].job.class();
                    self.send_part(job, class, output, now);
                }
            }
        }
        self.forwarding.active = false;
    }

    /// Sends the parts of a forked job after what this instant still has to forward before them; returns whether there
    /// is anything.
    pub(super) fn fork_later(&mut self, job: u32, fork: u32) -> bool {
        if self.forwarding.active {
            let branch = 0;
            let parts = Pending::Parts { job, fork, branch };
            self.forwarding.pending.push(parts);
        }
        self.forwarding.active
    }
}
