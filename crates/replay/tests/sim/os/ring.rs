//! Rings.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

use io_uring::squeue;
use iosonar_linux::memory::{Buffer, Completed, Completion, Loan, Region, RingSetup};

use super::disk_of;
use crate::os::linux;
use crate::sim::kernel::RingState;
use crate::sim::world::{Current, State, World, current};

/// A real one or a simulated one.
pub(crate) enum Ring<S: squeue::EntryMarker, C: Completed> {
    Real(Box<linux::Ring<S, C>>),
    Simulated(Simulated),
}

pub(crate) struct Simulated {
    world: Arc<World>,
    number: usize,
    thread: usize,
}

fn errno(number: i32) -> io::Error {
    io::Error::from_raw_os_error(number)
}

impl Simulated {
    fn set_up(current: Current, setup: &RingSetup) -> io::Result<Self> {
        let Current { world, thread } = current;
        world.step(thread);
        let mut state = world.lock();
        let [single_issuers, cooperation, _] = state.scenario.old_kernel;
        if single_issuers && setup.single_issuer
            || cooperation && setup.cooperates
            || setup.defers && (!setup.single_issuer || cooperation)
            || setup.submission_thread.is_some() && (setup.cooperates || setup.defers)
        {
            return Err(errno(libc::EINVAL));
        }
        let object = state.object();
        state.kernel.rings.push(RingState {
            setup: *setup,
            disks: Vec::new(),
            regions: Vec::new(),
            submitted: VecDeque::new(),
            completed: VecDeque::new(),
            hidden: VecDeque::new(),
            object,
            thread,
            is_gone: false,
            awake_until: 0,
            looks: false,
        });
        let number = state.kernel.rings.len() - 1;
        drop(state);
        Ok(Self {
            world,
            number,
            thread,
        })
    }

    /// Looks at the ring, which is a step.
    fn with<T>(&self, look: impl FnOnce(&mut State, &mut RingState) -> T) -> T {
        self.world.step(self.thread);
        let mut state = self.world.lock();
        let ring = self.number;
        // Nothing but the ring itself is looked at meanwhile.
        let mut taken = std::mem::replace(&mut state.kernel.rings[ring], gone());
        let answer = look(&mut state, &mut taken);
        state.kernel.rings[ring] = taken;
        answer
    }

    fn lend(&self, loan: Box<dyn Any>) {
        let Ok(loan) = loan.downcast::<Loan<squeue::Entry>>() else {
            unreachable!("commands are not simulated")
        };
        let mut state = self.world.lock();
        let ring = &mut state.kernel.rings[self.number];
        ring.submitted.push_back(loan.into_parts());
        if ring.setup.submission_thread.is_some() && ring.awake_until > 0 {
            let awake = ring.awake_until;
            if awake >= state.now {
                state.thread_will_look(self.number);
            }
        }
    }

    /// Submits what was lent, or a part of it. `None` if all was.
    fn enter(&self) -> io::Result<Option<usize>> {
        self.world.step(self.thread);
        let mut state = self.world.lock();
        let refusals = state.scenario.refusals;
        state.show_completed(self.number);
        let waiting = state.kernel.rings[self.number].submitted.len();
        if state.kernel.rings[self.number]
            .setup
            .submission_thread
            .is_some()
        {
            let now = state.now;
            let ring = &mut state.kernel.rings[self.number];
            ring.awake_until = ring.awake_until.max(now + 1_000_000_000);
            state.thread_will_look(self.number);
            self.poll(&mut state);
            return Ok(None);
        }
        if state.random.chance(refusals) {
            let why = state
                .random
                .one_of(&[libc::EINTR, libc::EAGAIN, libc::EBUSY]);
            return Err(errno(why));
        }
        let mut most = waiting;
        if waiting > 0 && state.random.chance(refusals) {
            most = state.random.below(waiting as u64) as usize;
            if most == 0 {
                return Err(errno(libc::EAGAIN));
            }
        }
        for _ in 0..most {
            state.take_next(self.number);
            let time = state.random.magnitude(5_000);
            state.pass(time);
        }
        state.show_completed(self.number);
        self.poll(&mut state);
        Ok((most < waiting).then_some(most))
    }

    /// Polling goes on for many rounds, which are one here.
    fn poll(&self, state: &mut State) {
        let ring = &state.kernel.rings[self.number];
        if ring.setup.polls && ring.completed.is_empty() {
            let time = state.random.between(1_000, 100_000);
            state.pass(time);
        }
    }

    fn submit_and_wait_for(&self, timeout: Duration) -> io::Result<()> {
        if self.enter()?.is_some() {
            return Ok(());
        }
        let (until, object, early) = {
            let mut state = self.world.lock();
            let until = state.now.saturating_add(timeout.as_nanos() as u64);
            let early = state.scenario.early_wakes;
            let early = state.random.chance(early);
            (until, state.kernel.rings[self.number].object, early)
        };
        loop {
            let mut state = self.world.lock();
            state.show_completed(self.number);
            if !state.kernel.rings[self.number].completed.is_empty() {
                return Ok(());
            }
            if early {
                return Err(errno(libc::EINTR));
            }
            if state.now >= until {
                return Err(errno(libc::ETIME));
            }
            drop(state);
            self.world.block(self.thread, object, Some(until));
        }
    }

    fn cancel_all(&self) {
        let mut state = self.world.lock();
        let flying: Vec<u64> = state.kernel.operations.keys().copied().collect();
        for id in flying {
            let is_ours = matches!(
                state.kernel.operations[&id].owner,
                crate::sim::disk::Owner::Ring { ring, .. } if ring == self.number
            );
            if is_ours && state.random.chance(600) {
                let now = state.now;
                state.end(id, now, -libc::ECANCELED);
            }
        }
    }
}

fn gone() -> RingState {
    RingState {
        setup: RingSetup {
            entries: 0,
            completions: 0,
            single_issuer: false,
            submission_thread: None,
            polls: false,
            cooperates: false,
            defers: false,
        },
        disks: Vec::new(),
        regions: Vec::new(),
        submitted: VecDeque::new(),
        completed: VecDeque::new(),
        hidden: VecDeque::new(),
        object: 0,
        thread: usize::MAX,
        is_gone: true,
        awake_until: 0,
        looks: false,
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        let mut state = self.world.lock();
        let ring = &mut state.kernel.rings[self.number];
        ring.is_gone = true;
        let buffers: Vec<Buffer> = (ring.submitted.drain(..).map(|(_, _, buffer)| buffer))
            .chain(ring.completed.drain(..).map(|(_, _, buffer)| buffer))
            .chain(ring.hidden.drain(..).map(|(_, _, buffer)| buffer))
            .collect();
        state.kernel.kept.extend(buffers);
    }
}

impl<S: squeue::EntryMarker + 'static, C: Completed> Ring<S, C> {
    pub(crate) fn set_up(setup: &RingSetup, loans: u32) -> io::Result<Self> {
        match current() {
            Some(current) => Simulated::set_up(current, setup).map(Self::Simulated),
            None => linux::Ring::set_up(setup, loans).map(|ring| Self::Real(Box::new(ring))),
        }
    }

    pub(crate) fn waits_with_limit(&self) -> bool {
        match self {
            Self::Real(ring) => ring.waits_with_limit(),
            Self::Simulated(_) => true,
        }
    }

    pub(crate) fn register_files(&self, files: &[RawFd]) -> io::Result<()> {
        match self {
            Self::Real(ring) => ring.register_files(files),
            Self::Simulated(ring) => {
                let disks = files
                    .iter()
                    .map(|file| disk_of(&ring.world, *file))
                    .collect();
                ring.with(|_, ring| ring.disks = disks);
                Ok(())
            }
        }
    }

    pub(crate) fn register(&mut self, regions: &[Region]) -> io::Result<()> {
        match self {
            Self::Real(ring) => ring.register(regions),
            Self::Simulated(ring) => ring.with(|state, ring| {
                if state.scenario.old_kernel[2] {
                    return Err(errno(libc::ENOMEM));
                }
                ring.regions = regions.to_vec();
                Ok(())
            }),
        }
    }

    pub(crate) fn unregister_files(&self) -> io::Result<()> {
        match self {
            Self::Real(ring) => ring.unregister_files(),
            Self::Simulated(_) => Ok(()),
        }
    }

    pub(crate) fn is_submitted(&mut self) -> bool {
        match self {
            Self::Real(ring) => ring.is_submitted(),
            Self::Simulated(ring) => ring.with(|_, ring| ring.submitted.is_empty()),
        }
    }

    pub(crate) fn is_full(&mut self) -> bool {
        match self {
            Self::Real(ring) => ring.is_full(),
            Self::Simulated(ring) => ring.with(|_, ring| ring.is_full()),
        }
    }

    pub(crate) fn must_be_woken(&mut self) -> bool {
        match self {
            Self::Real(ring) => ring.must_be_woken(),
            Self::Simulated(ring) => ring.with(|state, ring| {
                ring.setup.submission_thread.is_some()
                    && !ring.looks
                    && ring.awake_until < state.now
            }),
        }
    }

    pub(crate) fn must_be_entered(&mut self) -> bool {
        match self {
            Self::Real(ring) => ring.must_be_entered(),
            Self::Simulated(ring) => {
                ring.with(|_, ring| !ring.setup.polls && !ring.hidden.is_empty())
            }
        }
    }

    pub(crate) fn completed(&mut self) -> usize {
        match self {
            Self::Real(ring) => ring.completed(),
            Self::Simulated(ring) => ring.with(|_, ring| ring.completed.len()),
        }
    }

    pub(crate) fn lend(&mut self, loan: Loan<S>) -> Result<(), Loan<S>> {
        let ring = match self {
            Self::Real(ring) => return ring.lend(loan),
            Self::Simulated(ring) => ring,
        };
        if ring.with(|_, ring| ring.is_full()) {
            return Err(loan);
        }
        ring.lend(Box::new(loan));
        Ok(())
    }

    pub(crate) fn lend_all(&mut self, loans: &mut Vec<Loan<S>>) {
        if let Self::Real(ring) = self {
            return ring.lend_all(loans);
        }
        while !loans.is_empty() && !self.is_full() {
            if let Self::Simulated(ring) = self {
                ring.lend(Box::new(loans.remove(0)));
            }
        }
    }

    pub(crate) fn submit(&self) -> io::Result<usize> {
        match self {
            Self::Real(ring) => ring.submit(),
            Self::Simulated(ring) => ring.enter().map(Option::unwrap_or_default),
        }
    }

    pub(crate) fn wait_for_room(&self) -> io::Result<()> {
        match self {
            Self::Real(ring) => ring.wait_for_room(),
            Self::Simulated(ring) => {
                ring.world.sleep(ring.thread, 10_000);
                Ok(())
            }
        }
    }

    pub(crate) fn submit_and_wait_for(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Real(ring) => ring.submit_and_wait_for(timeout),
            Self::Simulated(ring) => ring.submit_and_wait_for(timeout),
        }
    }

    pub(crate) fn cancel_all(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Real(ring) => ring.cancel_all(timeout),
            Self::Simulated(ring) => {
                ring.cancel_all();
                Ok(())
            }
        }
    }

    pub(crate) fn reap(&mut self, count: usize, mut take: impl FnMut(u64, Completion, Buffer)) {
        match self {
            Self::Real(ring) => ring.reap(count, take),
            Self::Simulated(ring) => {
                let done: Vec<_> = ring.with(|_, ring| {
                    let count = count.min(ring.completed.len());
                    ring.completed.drain(..count).collect()
                });
                for (tag, result, buffer) in done {
                    take(tag, Completion { result, value: 0 }, buffer);
                }
            }
        }
    }
}
