//! Pairs of submission and completion queues, each with a CPU of its own.
//!
//! The device fetches commands from the submission queues by turns, some at a time; a command that is done is
//! posted to the completion queue of its pair. The host learns of it by an interrupt, which may wait for
//! more, or because it looks.
//!
//! Source: NVM Express Base Specification 2.0, sections 3.3 (queues), 3.4 (arbitration), 5.27.1.6 (interrupt
//! coalescing).

use std::collections::VecDeque;

use iosonar_device::Access;
use iosonar_units::Nanos;

use super::{Command, ControllerTask, DriverTask, Event, Host, Ssd};
use crate::parameters::{HostParameters, NvmeParameters};
use crate::profile::{Assignment, Notification};
use crate::servers::Servers;
use crate::stages::{Stage, StageTimes};

/// A pair of queues.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) cpu: Servers<DriverTask>,
    /// Commands without a place in the submission queue.
    waiting: VecDeque<u32>,
    pub(super) outstanding: u32,
    /// Commands that the device may fetch.
    submitted: VecDeque<u32>,
    /// Completions that the host has not seen.
    completed: Vec<u32>,
    /// Whether an interrupt or a look is on its way.
    called: bool,
    generation: u32,
}

/// All pairs.
#[derive(Clone, Debug)]
pub(super) struct Nvme {
    pub(super) pairs: Vec<Pair>,
    next_pair: u32,
    /// Whose turn it is, and what is being fetched.
    turn: usize,
    /// How many commands it may still have fetched before the next one's turn.
    share: u32,
    fetching: Vec<u32>,
    in_device: u32,
    pub(super) interrupts: u64,
    pub(super) fetches: u64,
}

impl Nvme {
    pub(super) fn new(p: &NvmeParameters) -> Self {
        let pair = Pair {
            cpu: Servers::new(1),
            waiting: VecDeque::new(),
            outstanding: 0,
            submitted: VecDeque::new(),
            completed: Vec::new(),
            called: false,
            generation: 0,
        };
        Self {
            pairs: vec![pair; p.bursts.len()],
            next_pair: 0,
            turn: p.bursts.len() - 1,
            share: 0,
            fetching: Vec::new(),
            in_device: 0,
            interrupts: 0,
            fetches: 0,
        }
    }
}

impl Ssd {
    fn nvme(&mut self) -> (&mut Nvme, &NvmeParameters) {
        match (&mut self.host, &self.p.host) {
            (Host::Nvme(host), HostParameters::Nvme(p)) => (host, p),
            _ => unreachable!("this device has queue pairs"),
        }
    }

    fn pair(&mut self, queue: u32) -> &mut Pair {
        &mut self.nvme().0.pairs[queue as usize]
    }

    /// A request becomes commands of at most the largest size.
    pub(super) fn cut_into_commands(&mut self, slot: u32, now: Nanos) {
        let job = self.jobs[slot].job;
        let (nvme, p) = self.nvme();
        // A discard has no data: however much it is, it is one.
        let most = match job.access {
            Access::Discard => u64::MAX,
            _ => p.most_sectors,
        };
        let pairs = nvme.pairs.len() as u32;
        let queue = match p.assign {
            Assignment::Class => u32::from(job.class) % pairs,
            Assignment::Turns => {
                let queue = nvme.next_pair;
                nvme.next_pair = (queue + 1) % pairs;
                queue
            }
        };
        let first = job.sector.get();
        let end = first + u64::from(job.sectors.get().max(1));
        self.jobs[slot].left = (end - first).div_ceil(most) as u32;
        let mut at = first;
        while at < end {
            let next = at.saturating_add(most).min(end);
            let new = Command {
                job: slot,
                number: 0,
                queue,
                access: job.access,
                sector: at,
                sectors: next - at,
                units_left: 0,
                failed: false,
                stages: StageTimes::from(now),
            };
            at = next;
            let number = self.commands.insert(new);
            self.pair(queue).waiting.push_back(number);
        }
        self.fill_queue(queue, now);
    }

    /// Commands get places in the submission queue as long as there are some.
    pub(super) fn fill_queue(&mut self, queue: u32, now: Nanos) {
        loop {
            let (nvme, p) = self.nvme();
            let pair = &mut nvme.pairs[queue as usize];
            if pair.outstanding >= p.depth {
                break;
            }
            let Some(command) = pair.waiting.pop_front() else {
                break;
            };
            pair.outstanding += 1;
            self.ask_driver(queue, DriverTask::Submit(command), now);
        }
    }

    /// A command is in its queue, and the doorbell has been rung.
    pub(super) fn command_rung(&mut self, command: u32, now: Nanos) {
        let queue = self.commands[command].queue;
        self.pair(queue).submitted.push_back(command);
        self.fetch_next(now);
    }

    /// Fetches from the next queue that has something.
    fn fetch_next(&mut self, now: Nanos) {
        let fetch = self.p.pcie.fetch;
        let (nvme, p) = self.nvme();
        let room = p.most_commands - nvme.in_device;
        if !nvme.fetching.is_empty() || room == 0 {
            return;
        }
        let pairs = nvme.pairs.len();
        // A queue keeps its turn until it has had its share, or has no more.
        if nvme.share == 0 || nvme.pairs[nvme.turn].submitted.is_empty() {
            let turns = (nvme.turn + 1..pairs).chain(0..=nvme.turn);
            let next = turns
                .into_iter()
                .find(|&q| !nvme.pairs[q].submitted.is_empty());
            let Some(queue) = next else {
                return;
            };
            (nvme.turn, nvme.share) = (queue, p.bursts[queue]);
        }
        let submitted = &mut nvme.pairs[nvme.turn].submitted;
        let count = submitted.len().min(nvme.share as usize).min(room as usize);
        nvme.share -= count as u32;
        nvme.fetching.extend(submitted.drain(..count));
        nvme.in_device += count as u32;
        nvme.fetches += 1;
        let time = fetch.time(count as u64 * u64::from(p.command_bytes));
        for i in 0..count {
            let command = self.nvme().0.fetching[i];
            self.commands[command].stages.pass(Stage::Queue, now);
        }
        let count = count as u32;
        self.calendar
            .schedule(now + time, Event::Fetched { from: 0, count });
    }

    pub(super) fn commands_fetched(&mut self, now: Nanos) {
        let mut fetched = std::mem::take(&mut self.nvme().0.fetching);
        for &command in &fetched {
            self.commands[command].stages.pass(Stage::Fetch, now);
            self.ask_controller(ControllerTask::Command(command), now);
        }
        fetched.clear();
        self.nvme().0.fetching = fetched;
        self.fetch_next(now);
    }

    /// A completion is in its queue in the host's memory.
    pub(super) fn completion_posted(&mut self, command: u32, now: Nanos) {
        let queue = self.commands[command].queue;
        let (nvme, p) = self.nvme();
        nvme.in_device -= 1;
        let pair = &mut nvme.pairs[queue as usize];
        pair.completed.push(command);
        let waiting = pair.completed.len();
        if !pair.called {
            match p.notification {
                Notification::Polling => {
                    pair.called = true;
                    let period = p.poll.get();
                    let next = match period {
                        0 => now.get(),
                        period => now.get().next_multiple_of(period),
                    };
                    self.calendar
                        .schedule(Nanos::new(next), Event::Poll { queue });
                }
                Notification::Interrupt => {
                    let at_once = p.coalesce_for == Nanos::ZERO || waiting >= p.coalesce as usize;
                    if at_once {
                        self.call(queue, now);
                    } else if waiting == 1 {
                        let (at, generation) = (now + p.coalesce_for, pair.generation);
                        self.calendar
                            .schedule(at, Event::Coalesced { queue, generation });
                    }
                }
            }
        }
        self.fetch_next(now);
    }

    pub(super) fn coalesced(&mut self, queue: u32, generation: u32, now: Nanos) {
        let pair = self.pair(queue);
        if pair.generation == generation && !pair.called {
            self.call(queue, now);
        }
    }

    /// Interrupts the host.
    fn call(&mut self, queue: u32, now: Nanos) {
        self.nvme().0.interrupts += 1;
        self.pair(queue).called = true;
        self.ask_driver(queue, DriverTask::Interrupt, now);
    }

    pub(super) fn interrupt_handled(&mut self, queue: u32, now: Nanos) {
        self.take_completions(queue, now);
    }

    pub(super) fn poll(&mut self, queue: u32, now: Nanos) {
        self.take_completions(queue, now);
    }

    /// The host sees all completions of a queue.
    fn take_completions(&mut self, queue: u32, now: Nanos) {
        let pair = self.pair(queue);
        pair.called = false;
        pair.generation = pair.generation.wrapping_add(1);
        let mut completed = std::mem::take(&mut pair.completed);
        for &command in &completed {
            self.commands[command].stages.pass(Stage::Return, now);
            self.ask_driver(queue, DriverTask::Complete(command), now);
        }
        completed.clear();
        self.pair(queue).completed = completed;
    }
}
