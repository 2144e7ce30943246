//! Threads that run one at a time, in an order that follows from the seed, and the clock that they see.
//!
//! Threads are real ones, so that stacks, panics and scopes are what they are in a replay, but only the one whose turn it
//! is runs. Every call of the system ([`super::os`]) is a step: the world lets time pass, lets happen what is due, and
//! decides whose turn is next. When all threads wait, time jumps to the next event.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

use super::files::Files;
use super::kernel::Kernel;
use super::random::Random;
use super::scenario::Scenario;
use crate::StopRequest;

/// More steps than any replay of a scenario takes: it hangs.
const MOST_STEPS: u64 = 1_000_000;

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

#[derive(Clone)]
pub(crate) struct Current {
    pub(crate) world: Arc<World>,
    pub(crate) thread: usize,
}

/// The world that the calling thread is part of.
pub(crate) fn current() -> Option<Current> {
    CURRENT.with_borrow(Clone::clone)
}

/// Something that threads wait for.
pub(crate) type Object = u64;

/// What a panic that the simulator throws carries.
pub(crate) const PLANNED_PANIC: &str = "a panic that the simulator planned";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Ready,
    For {
        object: Object,
        until: Option<u64>,
    },
    /// Its time is over, or what it waited for came.
    Over,
}

struct ThreadState {
    name: String,
    wait: Wait,
    timed_out: bool,
    handle: Option<Thread>,
    /// Seen by what waits for its end.
    object: Object,
}

/// What happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The operation takes effect at its device, in part.
    Effect(u64),
    /// The operation is complete.
    Complete(u64),
    /// The kernel's thread of a ring looks for submissions.
    Submit(usize),
    Stop,
    /// The time of day jumps.
    ClockStep(i64),
    /// What a crash would leave is kept.
    Crash,
}

pub(crate) struct State {
    pub(crate) now: u64,
    /// From the monotonic clock to the time of day.
    pub(crate) time_of_day: i64,
    pub(crate) random: Random,
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) kernel: Kernel,
    pub(crate) files: Files,
    pub(crate) stop: Arc<StopRequest>,
    /// When it was asked to end.
    pub(crate) stopped: Vec<u64>,
    pub(crate) steps: u64,
    /// Changes with everything that happens: two runs that have the same are the same.
    pub(crate) fingerprint: u64,
    pub(crate) has_panicked: bool,
    /// The replay is over: what still runs is to end.
    pub(crate) is_over: bool,
    pub(crate) failure: Option<String>,
    threads: Vec<ThreadState>,
    events: BTreeMap<(u64, u64), Event>,
    objects: u64,
    report: Option<Sender<Outcome>>,
    messages: Vec<String>,
    stalls: u64,
}

/// How a simulation ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) failure: Option<String>,
    pub(crate) fingerprint: u64,
    pub(crate) steps: u64,
    pub(crate) seen: super::Seen,
}

pub(crate) struct World {
    state: Mutex<State>,
    turn: AtomicUsize,
}

impl State {
    pub(crate) fn object(&mut self) -> Object {
        self.objects += 1;
        self.objects
    }

    pub(crate) fn at(&mut self, time: u64, event: Event) {
        let number = self.object();
        self.events.insert((time, number), event);
    }

    /// All that wait for the object look again.
    pub(crate) fn wake(&mut self, object: Object) {
        for thread in &mut self.threads {
            if matches!(thread.wait, Wait::For { object: of, .. } if of == object) {
                thread.wait = Wait::Ready;
            }
        }
    }

    /// One that waits for the object looks again.
    pub(crate) fn wake_one(&mut self, object: Object) {
        let waits = |thread: &ThreadState| matches!(thread.wait, Wait::For { object: of, .. } if of == object);
        let waiting: Vec<usize> = (0..self.threads.len())
            .filter(|&i| waits(&self.threads[i]))
            .collect();
        if !waiting.is_empty() {
            let chosen = waiting[self.random.below(waiting.len() as u64) as usize];
            self.threads[chosen].wait = Wait::Ready;
        }
    }

    pub(crate) fn note(&mut self, what: u64) {
        let mixed = (self.fingerprint ^ what).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.fingerprint = mixed ^ mixed >> 29 ^ self.now;
    }

    /// An invariant is broken.
    pub(crate) fn fail(&mut self, message: impl FnOnce() -> String) {
        if self.failure.is_none() {
            self.failure = Some(message());
        }
    }

    pub(crate) fn pass(&mut self, time: u64) {
        self.now += time;
        self.run_due();
    }

    fn run_due(&mut self) {
        while let Some((&(time, number), _)) = self.events.first_key_value() {
            if time > self.now {
                break;
            }
            let event = self.events.remove(&(time, number));
            if let Some(event) = event {
                self.note(number ^ time << 8);
                self.happen(time, event);
            }
        }
        for thread in &mut self.threads {
            if let Wait::For {
                until: Some(until), ..
            } = thread.wait
                && until <= self.now
            {
                (thread.wait, thread.timed_out) = (Wait::Ready, true);
            }
        }
    }

    fn happen(&mut self, time: u64, event: Event) {
        match event {
            Event::Effect(operation) => self.effect(operation),
            Event::Complete(operation) => self.complete(operation, time),
            Event::Submit(ring) => self.thread_submits(ring),
            Event::Stop => {
                self.stop.ask();
                self.stopped.push(time);
            }
            Event::ClockStep(by) => self.time_of_day += by,
            Event::Crash => self.crash(),
        }
    }

    /// The next thread to run: any that can.
    fn next_thread(&mut self) -> Option<usize> {
        loop {
            let ready: Vec<usize> = (0..self.threads.len())
                .filter(|&i| self.threads[i].wait == Wait::Ready)
                .collect();
            if !ready.is_empty() {
                return Some(ready[self.random.below(ready.len() as u64) as usize]);
            }
            let untils = self.threads.iter().filter_map(|thread| match thread.wait {
                Wait::For { until, .. } => until,
                _ => None,
            });
            let event = self.events.keys().next().map(|(time, _)| *time);
            let next = untils.chain(event).min()?;
            self.now = self.now.max(next);
            self.run_due();
        }
    }

    /// What everything waits for, in words.
    fn picture(&self) -> String {
        let threads = self.threads.iter();
        let threads: Vec<String> = threads
            .map(|thread| format!("{}: {:?}", thread.name, thread.wait))
            .collect();
        format!(
            "at {} ns, step {}, {} stalls; {}; {}",
            self.now,
            self.steps,
            self.stalls,
            threads.join(", "),
            self.kernel.picture()
        )
    }

    pub(crate) fn says(&mut self, message: String) {
        self.messages.push(message);
    }

    /// What threads said when they panicked.
    pub(crate) fn messages(&self) -> String {
        self.messages.join("; ")
    }
}

impl World {
    /// A world for a scenario; its first thread is that of the caller of [`Self::enter`].
    pub(crate) fn new(
        scenario: &Arc<Scenario>,
        stop: &Arc<StopRequest>,
        report: Sender<Outcome>,
    ) -> Arc<Self> {
        let mut state = State {
            now: 1_000_000_000,
            time_of_day: 1_700_000_000_000_000_000,
            random: Random::new(scenario.schedule),
            kernel: Kernel::new(scenario),
            files: Files::default(),
            scenario: Arc::clone(scenario),
            stop: Arc::clone(stop),
            stopped: Vec::new(),
            steps: 0,
            fingerprint: 0,
            has_panicked: false,
            is_over: false,
            failure: None,
            threads: Vec::new(),
            events: BTreeMap::new(),
            objects: 0,
            report: Some(report),
            messages: Vec::new(),
            stalls: 0,
        };
        let begin = state.now;
        for &at in &scenario.stops {
            state.at(begin + at, Event::Stop);
        }
        for &(at, by) in &scenario.clock_steps {
            state.at(begin + at, Event::ClockStep(by));
        }
        for &at in &scenario.crashes {
            state.at(begin + at, Event::Crash);
        }
        Arc::new(Self {
            state: Mutex::new(state),
            turn: AtomicUsize::new(0),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that finds an invariant broken panics with the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new thread; it does not run before its turn.
    pub(crate) fn register(&self, name: &str) -> usize {
        let mut state = self.lock();
        let object = state.object();
        state.threads.push(ThreadState {
            name: name.to_owned(),
            wait: Wait::Ready,
            timed_out: false,
            handle: None,
            object,
        });
        state.threads.len() - 1
    }

    pub(crate) fn set_handle(&self, thread: usize, handle: Thread) {
        self.lock().threads[thread].handle = Some(handle);
    }

    /// The calling thread is this one from now on. Returns when it is its turn.
    pub(crate) fn enter(self: &Arc<Self>, thread: usize) {
        CURRENT.set(Some(Current {
            world: Arc::clone(self),
            thread,
        }));
        self.await_turn(thread);
    }

    /// The calling thread runs no more.
    pub(crate) fn leave(&self, thread: usize) {
        CURRENT.set(None);
        let mut state = self.lock();
        state.threads[thread].wait = Wait::Over;
        let object = state.threads[thread].object;
        state.wake(object);
        if state.failure.is_some() {
            return self.give_up(state);
        }
        match state.next_thread() {
            Some(next) => self.pass_turn(state, next),
            None if state.threads.iter().all(|thread| thread.wait == Wait::Over) => {}
            None => {
                let picture = state.picture();
                state.fail(|| format!("no thread can run: {picture}"));
                self.give_up(state);
            }
        }
    }

    pub(crate) fn has_ended(&self, thread: usize) -> bool {
        self.lock().threads[thread].wait == Wait::Over
    }

    /// Waits for the end of a thread.
    pub(crate) fn join(&self, me: usize, thread: usize) {
        loop {
            let state = self.lock();
            if state.threads[thread].wait == Wait::Over {
                return;
            }
            let object = state.threads[thread].object;
            drop(state);
            self.block(me, object, None);
        }
    }

    /// Waits for the end of all other threads.
    pub(crate) fn join_all(&self, me: usize) {
        let threads = self.lock().threads.len();
        (0..threads)
            .filter(|&thread| thread != me)
            .for_each(|thread| self.join(me, thread));
    }

    fn await_turn(&self, me: usize) {
        while self.turn.load(SeqCst) != me {
            std::thread::park();
        }
    }

    fn pass_turn(&self, state: MutexGuard<'_, State>, next: usize) {
        let handle = state.threads[next].handle.clone();
        drop(state);
        self.turn.store(next, SeqCst);
        if let Some(handle) = handle {
            handle.unpark();
        }
    }

    /// Reports a failure. No thread runs any more.
    fn give_up(&self, mut state: MutexGuard<'_, State>) {
        let outcome = Outcome {
            failure: state.failure.clone(),
            fingerprint: state.fingerprint,
            steps: state.steps,
            seen: super::Seen::default(),
        };
        if let Some(report) = state.report.take() {
            let _ = report.send(outcome);
        }
        self.turn.store(usize::MAX, SeqCst);
    }

    /// The end of the simulation, without a failure so far.
    pub(crate) fn report(&self, seen: super::Seen) {
        let mut state = self.lock();
        let outcome = Outcome {
            failure: state.failure.clone(),
            fingerprint: state.fingerprint,
            steps: state.steps,
            seen,
        };
        if let Some(report) = state.report.take() {
            let _ = report.send(outcome);
        }
    }

    fn switch(&self, me: usize, mut state: MutexGuard<'_, State>) {
        if state.steps > MOST_STEPS {
            let picture = state.picture();
            state.fail(|| format!("it does not end: {picture}"));
        }
        if state.failure.is_some() {
            self.give_up(state);
            return self.await_turn(me);
        }
        let Some(next) = state.next_thread() else {
            let picture = state.picture();
            state.fail(|| format!("no thread can run: {picture}"));
            self.give_up(state);
            return self.await_turn(me);
        };
        state.note(next as u64);
        if next != me {
            self.pass_turn(state, next);
            self.await_turn(me);
        }
    }

    /// A step of the calling thread: time passes, others may run, or it panics.
    pub(crate) fn step(&self, me: usize) {
        let mut state = self.lock();
        let plan = state.scenario.panic;
        if plan.is_some_and(|(thread, step)| thread == me && state.steps >= step)
            && !state.has_panicked
            && !std::thread::panicking()
            && me != 0
        {
            state.has_panicked = true;
            drop(state);
            std::panic::panic_any(PLANNED_PANIC);
        }
        drop(state);
        self.step_without_panic(me);
    }

    /// The same for what cannot panic.
    pub(crate) fn step_without_panic(&self, me: usize) {
        let mut state = self.lock();
        state.steps += 1;
        let time = state.random.between(20, 200);
        state.pass(time);
        let (stall, longest) = (state.scenario.stalls, state.scenario.longest_stall);
        if state.random.chance(stall) {
            let time = state.random.magnitude(longest);
            let until = state.now + time;
            state.stalls += 1;
            state.threads[me].wait = Wait::For {
                object: 0,
                until: Some(until),
            };
        } else if state.failure.is_none() && !state.random.chance(300) {
            return;
        }
        self.switch(me, state);
    }

    /// Waits for an object, at most until then. Returns whether that time came first.
    pub(crate) fn block(&self, me: usize, object: Object, until: Option<u64>) -> bool {
        let mut state = self.lock();
        state.steps += 1;
        if object > 0 {
            state.check_synced(me);
        }
        let late = match until {
            Some(_) => state.lateness(),
            None => 0,
        };
        let until = until.map(|until| until.saturating_add(late));
        state.threads[me].wait = Wait::For { object, until };
        state.threads[me].timed_out = false;
        self.switch(me, state);
        self.lock().threads[me].timed_out
    }

    /// Sleeps.
    pub(crate) fn sleep(&self, me: usize, time: u64) {
        let until = self.lock().now.saturating_add(time);
        self.block(me, 0, Some(until));
    }
}

impl State {
    /// By how much a thread is woken late.
    fn lateness(&mut self) -> u64 {
        let (late, longest) = (self.scenario.late_wakes, self.scenario.longest_stall);
        match self.random.chance(late) {
            true => self.random.magnitude(longest),
            false => self.random.below(60_000),
        }
    }
}
