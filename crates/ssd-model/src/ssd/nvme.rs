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

use super::data::CommandStorage;
use super::{Host, Ssd, SsdReport};
use crate::parameters::{DriverParameters, NvmeParameters};
use crate::profile::{Assignment, Notification};
use crate::servers::Servers;
use crate::stages::Stage;

/// A task of the CPU of a queue pair.
#[derive(Clone, Copy, Debug)]
pub(super) enum CpuTask {
    /// Puts a command into the submission queue, and rings the doorbell.
    Submit(u32),
    /// Completes a command.
    Complete(u32),
    /// Handles an interrupt.
    Interrupt,
}

/// What happens next in the driver or to a queue pair.
#[derive(Clone, Copy, Debug)]
pub(super) enum NvmeEvent {
    /// A CPU is done with a task.
    Cpu { queue: u32, task: CpuTask },
    /// Commands have been fetched.
    Fetched,
    /// An interrupt has been held back for its longest time.
    Coalesced { queue: u32, generation: u32 },
    /// The host looks into a completion queue.
    Poll { queue: u32 },
}

/// A submission and a completion queue.
#[derive(Clone, Debug, Default)]
struct Pair {
    cpu: Servers<CpuTask>,
    /// Commands without a place in the submission queue.
    waiting: VecDeque<u32>,
    outstanding: u32,
    /// Commands that the device may fetch.
    submitted: VecDeque<u32>,
    /// Completions that the host has not seen.
    completed: Vec<u32>,
    /// Whether the host is about to look into the completion queue, after an interrupt or by polling.
    called: bool,
    /// How often the host has looked: an interrupt that was held back for an earlier look is void.
    generation: u32,
}

/// The queue pairs with their driver.
#[derive(Clone, Debug)]
pub(super) struct Nvme {
    p: NvmeParameters,
    times: DriverParameters,
    pairs: Vec<Pair>,
    /// Where the next request goes, if they go to the pairs in turn.
    next_pair: u32,
    /// The pair that commands are fetched from.
    turn: usize,
    /// What is left of its arbitration burst.
    burst_left: u32,
    /// Commands of all pairs that the device may fetch.
    submitted_count: u32,
    fetching: Vec<u32>,
    in_device: u32,
    interrupts: u64,
    fetches: u64,
}

impl Nvme {
    pub(super) fn new(p: &NvmeParameters, times: DriverParameters) -> Self {
        Self {
            pairs: vec![Pair::default(); p.bursts.len()],
            p: p.clone(),
            times,
            next_pair: 0,
            // The first pair is the next one.
            turn: p.bursts.len() - 1,
            burst_left: 0,
            submitted_count: 0,
            fetching: Vec::new(),
            in_device: 0,
            interrupts: 0,
            fetches: 0,
        }
    }

    fn pair(&mut self, queue: u32) -> &mut Pair {
        &mut self.pairs[queue as usize]
    }
}

impl<S: CommandStorage> Host<S> for Nvme {
    type Event = NvmeEvent;
    /// The queue pair.
    type Place = u32;

    /// A request becomes commands of at most the largest size, all on one pair.
    fn submit(ssd: &mut Ssd<Self, S>, slot: u32, now: Nanos) {
        let job = ssd.jobs.present[slot].job;
        let nvme = &mut ssd.host;
        // Without data it is one command, whatever its size.
        let most = match job.access {
            Access::Discard | Access::Flush => u64::MAX,
            _ => nvme.p.most_sectors,
        };
        let pairs = nvme.pairs.len() as u32;
        let queue = match nvme.p.assign {
            Assignment::Class => u32::from(job.class) % pairs,
            Assignment::Turns => {
                let queue = nvme.next_pair;
                nvme.next_pair = (queue + 1) % pairs;
                queue
            }
        };
        let first = job.sector.get();
        let end = first + u64::from(job.sectors.get().max(1));
        ssd.jobs.present[slot].left = (end - first).div_ceil(most) as u32;
        let mut at = first;
        while at < end {
            let next = at.saturating_add(most).min(end);
            let command = ssd.add_command(slot, queue, at..next);
            ssd.host.pair(queue).waiting.push_back(command);
            at = next;
        }
        ssd.fill_queue(queue, now);
    }

    fn handle(ssd: &mut Ssd<Self, S>, event: NvmeEvent, now: Nanos) {
        match event {
            NvmeEvent::Cpu { queue, task } => ssd.cpu_done(queue, task, now),
            NvmeEvent::Fetched => ssd.commands_fetched(now),
            NvmeEvent::Coalesced { queue, generation } => {
                let pair = ssd.host.pair(queue);
                if pair.generation == generation && !pair.called {
                    ssd.interrupt(queue, now);
                }
            }
            NvmeEvent::Poll { queue } => ssd.take_completions(queue, now),
        }
    }

    fn command_served(ssd: &mut Ssd<Self, S>, command: u32, now: Nanos) {
        ssd.begin_return(command, now);
    }

    fn has_descriptor_engine(&self) -> bool {
        true
    }

    fn return_bytes(&self, _: u32) -> u64 {
        u64::from(self.p.completion_bytes)
    }

    /// A completion is in its queue: the host gets to know of it, now or later.
    fn posted(ssd: &mut Ssd<Self, S>, command: u32, now: Nanos) {
        let queue = ssd.commands[command].place;
        let nvme = &mut ssd.host;
        nvme.in_device -= 1;
        let pair = &mut nvme.pairs[queue as usize];
        pair.completed.push(command);
        let (p, waiting) = (&nvme.p, pair.completed.len());
        if !pair.called {
            match p.notification {
                Notification::Polling => {
                    pair.called = true;
                    let at = match p.poll.get() {
                        0 => now.get(),
                        period => now.get().next_multiple_of(period),
                    };
                    ssd.schedule_host(Nanos::new(at), NvmeEvent::Poll { queue });
                }
                Notification::Interrupt
                    if p.coalesce_for == Nanos::ZERO || waiting >= p.coalesce as usize =>
                {
                    ssd.interrupt(queue, now);
                }
                Notification::Interrupt if waiting == 1 => {
                    let (at, generation) = (now + p.coalesce_for, pair.generation);
                    ssd.schedule_host(at, NvmeEvent::Coalesced { queue, generation });
                }
                Notification::Interrupt => {}
            }
        }
        ssd.fetch_next(now);
    }

    fn measure_from(&mut self, now: Nanos) {
        (self.interrupts, self.fetches) = (0, 0);
        for pair in &mut self.pairs {
            pair.cpu.busy.measure_from(now);
        }
    }

    fn report_until(&self, now: Nanos, report: &mut SsdReport) {
        for (i, pair) in self.pairs.iter().enumerate() {
            report.add_servers(format!("cpu/{i}"), &pair.cpu, now);
        }
        (report.interrupts, report.fetches) = (self.interrupts, self.fetches);
    }
}

impl<S: CommandStorage> Ssd<Nvme, S> {
    fn ask_cpu(&mut self, queue: u32, task: CpuTask, now: Nanos) {
        if let Some(task) = self.host.pair(queue).cpu.arrive(task, now) {
            self.start_cpu(queue, task, now);
        }
    }

    fn start_cpu(&mut self, queue: u32, task: CpuTask, now: Nanos) {
        let times = &self.host.times;
        let time = match task {
            CpuTask::Submit(_) => times.submit + times.doorbell,
            CpuTask::Complete(_) => times.complete,
            CpuTask::Interrupt => times.interrupt,
        };
        self.schedule_host(now + time, NvmeEvent::Cpu { queue, task });
    }

    fn cpu_done(&mut self, queue: u32, task: CpuTask, now: Nanos) {
        if let Some(next) = self.host.pair(queue).cpu.depart(now) {
            self.start_cpu(queue, next, now);
        }
        match task {
            CpuTask::Submit(command) => {
                self.host.pair(queue).submitted.push_back(command);
                self.host.submitted_count += 1;
                self.fetch_next(now);
            }
            CpuTask::Complete(command) => {
                self.host.pair(queue).outstanding -= 1;
                self.fill_queue(queue, now);
                self.command_complete(command, now);
            }
            CpuTask::Interrupt => self.take_completions(queue, now),
        }
    }

    /// Commands get places in the submission queue as long as there are some.
    fn fill_queue(&mut self, queue: u32, now: Nanos) {
        let depth = self.host.p.depth;
        while self.host.pair(queue).outstanding < depth
            && let Some(command) = self.host.pair(queue).waiting.pop_front()
        {
            self.host.pair(queue).outstanding += 1;
            self.ask_cpu(queue, CpuTask::Submit(command), now);
        }
    }

    /// Fetches from the next queue that has something.
    fn fetch_next(&mut self, now: Nanos) {
        let nvme = &mut self.host;
        let room = nvme.p.most_commands - nvme.in_device;
        if nvme.submitted_count == 0 || !nvme.fetching.is_empty() || room == 0 {
            return;
        }
        let pairs = nvme.pairs.len();
        // A queue keeps its turn until its burst is over, or it is empty.
        if nvme.burst_left == 0 || nvme.pairs[nvme.turn].submitted.is_empty() {
            let mut turns = (nvme.turn + 1..pairs).chain(0..=nvme.turn);
            let Some(queue) = turns.find(|&q| !nvme.pairs[q].submitted.is_empty()) else {
                return;
            };
            (nvme.turn, nvme.burst_left) = (queue, nvme.p.bursts[queue]);
        }
        let submitted = &mut nvme.pairs[nvme.turn].submitted;
        let count = (submitted.len() as u64).min(u64::from(nvme.burst_left.min(room))) as u32;
        nvme.burst_left -= count;
        nvme.submitted_count -= count;
        nvme.fetching.extend(submitted.drain(..count as usize));
        nvme.in_device += count;
        nvme.fetches += 1;
        for &command in &nvme.fetching {
            self.commands[command].stages.pass(Stage::Queue, now);
        }
        let bytes = u64::from(count) * u64::from(nvme.p.command_bytes);
        let time = self.pcie.fetch.time(bytes);
        self.schedule_host(now + time, NvmeEvent::Fetched);
    }

    fn commands_fetched(&mut self, now: Nanos) {
        let mut fetched = std::mem::take(&mut self.host.fetching);
        for &command in &fetched {
            self.commands[command].stages.pass(Stage::Fetch, now);
            self.take_command(command, now);
        }
        fetched.clear();
        self.host.fetching = fetched;
        self.fetch_next(now);
    }

    fn interrupt(&mut self, queue: u32, now: Nanos) {
        self.host.interrupts += 1;
        self.host.pair(queue).called = true;
        self.ask_cpu(queue, CpuTask::Interrupt, now);
    }

    /// The host sees all completions of a queue.
    fn take_completions(&mut self, queue: u32, now: Nanos) {
        let pair = self.host.pair(queue);
        pair.called = false;
        pair.generation = pair.generation.wrapping_add(1);
        let mut completed = std::mem::take(&mut pair.completed);
        for &command in &completed {
            self.commands[command].stages.pass(Stage::Return, now);
            self.ask_cpu(queue, CpuTask::Complete(command), now);
        }
        completed.clear();
        self.host.pair(queue).completed = completed;
    }
}
