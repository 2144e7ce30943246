//! A die, or a plane of it: its queues, and what it does next.

use std::collections::VecDeque;

use iosonar_units::Nanos;

use super::{FlashHost, Owner};
use crate::FlashParameters;
use crate::servers::BusyTime;
use crate::stages::Stage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Program,
    /// A step of cleaning: a page is read, if `read`, and one programmed, if `program`.
    Copy {
        read: bool,
        program: bool,
    },
    Erase,
}

/// A step of cleaning in the unit of what is due. Cleaning is spread evenly over the pages of a block, which have some
/// tens to thousands: so a page's share of a step must be a number of these.
pub(super) const STEP: u64 = 1024;

/// An operation of a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) kind: Kind,
    pub(super) owner: Option<Owner>,
    /// Its time in the die.
    pub(super) time: Nanos,
    /// Its data on the channel.
    pub(super) bytes: u32,
    /// How many cleanings must be done before.
    pub(super) needs: u32,
    /// Its plane, and its page's place in the block.
    pub(super) plane: u32,
    pub(super) page: u32,
    /// Whether it erases a block that was rewritten after many reads or a long time.
    pub(super) refreshes: bool,
    /// The order of arrival at the server.
    pub(super) order: u64,
}

/// The cleaning of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cleaning {
    pub(super) plane: u32,
    pub(super) reads: u32,
    pub(super) pages: u32,
    pub(super) programs: u32,
    pub(super) erase: bool,
    pub(super) in_place: bool,
    /// Whether the block is rewritten after many reads or a long time.
    pub(super) refreshes: bool,
}

/// Where an operation has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for the channel, or its command crosses it.
    #[default]
    Command,
    /// The die reads.
    Read,
    /// It waits for the channel, or its data cross it.
    Data,
    /// The die programs or erases.
    Write,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Server {
    pub(super) current: Option<Operation>,
    /// How far that has come.
    pub(super) phase: Phase,
    /// The channel that it shares.
    pub(super) channel: u32,
    /// The operations on other planes that the same command executes.
    pub(super) mates: Vec<Operation>,
    /// When the die's phase ends.
    pub(super) until: Nanos,
    /// The events of phases that were suspended are void.
    pub(super) generation: u32,
    pub(super) suspended: Option<(Operation, Nanos)>,
    pub(super) suspended_mates: Vec<Operation>,
    pub(super) reads: VecDeque<Operation>,
    pub(super) writes: VecDeque<Operation>,
    pub(super) cleanings: VecDeque<Cleaning>,
    /// What a page of the host's brings of cleaning, and what of that is due: in 1 024ths of a step.
    pub(super) pace: u64,
    pub(super) due: u64,
    pub(super) issued: u32,
    pub(super) cleaned: u32,
    pub(super) operations: u64,
    pub(super) busy: BusyTime,
}

impl Cleaning {
    /// The steps that are left.
    fn steps(&self) -> u64 {
        u64::from(self.reads.max(self.programs)) + u64::from(self.erase)
    }

    /// Whether the block's erase is what comes next: in place, all is read before, and the first page goes back after it.
    fn erases_now(&self) -> bool {
        self.erase && self.reads == 0 && (self.in_place || self.programs == 0)
    }
}

impl Server {
    pub(super) fn on(channel: u32) -> Self {
        Self {
            channel,
            ..Self::default()
        }
    }

    /// The operation that it is working on.
    #[inline]
    pub(super) fn operation(&self) -> &Operation {
        let current = self.current.as_ref();
        current.expect("its die or channel works for an operation")
    }

    /// Whether it neither works nor has work that was interrupted, and no read waits.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none() && self.suspended.is_none() && self.reads.is_empty()
    }

    /// What a command executes has passed a stage; of reads on several planes the data cross the channel one after
    /// the other.
    #[inline(always)]
    pub(super) fn passed(&self, phase: Option<Phase>, stage: Stage, host: &mut impl FlashHost) {
        let lead = self.operation();
        if let Some(owner) = lead.owner {
            host.passed(owner, stage);
        }
        if !self.mates.is_empty() && (lead.kind != Kind::Read || phase != Some(Phase::Data)) {
            self.mates_passed(stage, host);
        }
    }

    #[cold]
    fn mates_passed(&self, stage: Stage, host: &mut impl FlashHost) {
        for owner in self.mates.iter().filter_map(|mate| mate.owner) {
            host.passed(owner, stage);
        }
    }

    /// Cleaning was added: all of it should be done when the host has filled its next block, of `pages`.
    pub(super) fn pace(&mut self, pages: u32) {
        let steps: u64 = self.cleanings.iter().map(Cleaning::steps).sum();
        self.pace = (steps * STEP).div_ceil(u64::from(pages));
    }

    /// What the server does next.
    #[inline]
    pub(super) fn next(&mut self, p: &FlashParameters, page_time: [Nanos; 2]) -> Option<Operation> {
        if self.suspended.is_some() {
            return self.reads.pop_front();
        }
        let write = self
            .writes
            .front()
            .filter(|w| w.needs <= self.cleaned)
            .map(|w| w.order);
        let read = self.reads.front().map(|r| r.order);
        let takes_read = match (read, write) {
            (Some(read), Some(write)) => p.reads_first || read < write,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if takes_read {
            return self.reads.pop_front();
        }
        if write.is_some() && (self.due < STEP || self.cleanings.is_empty()) {
            self.due += self.pace;
            return self.writes.pop_front();
        }
        self.due = self.due.saturating_sub(STEP);
        self.next_step(p, page_time)
    }

    /// The next step of cleaning.
    fn next_step(&mut self, p: &FlashParameters, page_time: [Nanos; 2]) -> Option<Operation> {
        let cleaning = self.cleanings.front_mut()?;
        let plane = cleaning.plane;
        let operation = |kind, time, bytes| Operation {
            kind,
            owner: None,
            time,
            bytes,
            needs: 0,
            plane,
            page: 0,
            refreshes: false,
            order: 0,
        };
        let unit = p.logical_page_bytes as u32;
        if cleaning.erases_now() {
            let refreshes = cleaning.refreshes;
            let erase = operation(Kind::Erase, p.erase, 0);
            return Some(Operation { refreshes, ..erase });
        }
        let read = cleaning.reads > 0;
        let steps = if cleaning.in_place {
            u32::MAX
        } else {
            cleaning.reads.max(cleaning.programs)
        };
        let program = cleaning.programs > 0 && (!read || cleaning.programs >= steps);
        let mut bytes = 0;
        if read {
            // As many logical pages as each page that is left has on average.
            let pages = cleaning.pages / cleaning.reads;
            cleaning.pages -= pages;
            cleaning.reads -= 1;
            bytes += pages * unit;
        }
        if program {
            cleaning.programs -= 1;
            bytes += p.plane.slots_per_page * unit;
        }
        let kind = Kind::Copy { read, program };
        Some(operation(kind, page_time[0], bytes))
    }

    /// Takes the operations that one command executes with `lead`, which was taken: the first ones of the same kind
    /// on the other planes of its group, at the same page of their blocks.
    pub(super) fn take_mates(&mut self, lead: &Operation, p: &FlashParameters) {
        let Self { mates, .. } = self;
        let fits = |mates: &[Operation], plane: u32| {
            p.plane_group(plane) == p.plane_group(lead.plane)
                && plane != lead.plane
                && mates.iter().all(|mate| mate.plane != plane)
        };
        if lead.kind == Kind::Erase {
            for cleaning in self.cleanings.iter_mut().skip(1) {
                if cleaning.erases_now() && fits(mates, cleaning.plane) {
                    cleaning.erase = false;
                    mates.push(Operation {
                        plane: cleaning.plane,
                        refreshes: cleaning.refreshes,
                        ..*lead
                    });
                }
            }
            return;
        }
        let queue = match lead.kind {
            Kind::Read => &mut self.reads,
            Kind::Program => &mut self.writes,
            Kind::Copy { .. } | Kind::Erase => return,
        };
        let mut at = 0;
        while at < queue.len() && mates.len() + 1 < p.multi_plane as usize {
            let other = &queue[at];
            let page = other.page == lead.page && other.needs <= self.cleaned;
            if page && fits(mates, other.plane) {
                mates.extend(queue.remove(at));
            } else {
                at += 1;
            }
        }
    }

    pub(super) fn end_of_step(&mut self, kind: Kind) {
        let cleaning = self.cleanings.front_mut().expect("a step of it was taken");
        if kind == Kind::Erase {
            cleaning.erase = false;
        }
        // Blocks behind it may have been erased with it.
        while let Some(cleaning) = self.cleanings.front()
            && cleaning.steps() == 0
        {
            self.cleanings.pop_front();
            self.cleaned += 1;
        }
        if self.cleanings.is_empty() {
            (self.pace, self.due) = (0, 0);
        }
    }
}
