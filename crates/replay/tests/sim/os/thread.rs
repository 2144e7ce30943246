//! Threads.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) use std::thread::panicking;

use crate::sim::world::{Current, PLANNED_PANIC, World, current};

pub(crate) fn sleep(time: Duration) {
    match current() {
        Some(Current { world, thread }) => {
            let early = {
                let mut state = world.lock();
                state.pass(1000);
                state.random.below(2)
            };
            world.sleep(thread, time.as_nanos() as u64 + early);
        }
        None => std::thread::sleep(time),
    }
}

pub(crate) fn yield_now() {
    match current() {
        Some(Current { world, thread }) => world.sleep(thread, 1000),
        None => std::thread::yield_now(),
    }
}

/// Spinning goes on for many rounds, which are one here.
pub(crate) fn spin_loop() {
    match current() {
        Some(Current { world, thread }) => {
            let mut state = world.lock();
            let time = state.random.between(1_000, 60_000);
            state.pass(time);
            drop(state);
            world.step(thread);
        }
        None => std::hint::spin_loop(),
    }
}

/// A thread's part in a simulation.
#[derive(Clone)]
pub(crate) struct Part {
    world: Arc<World>,
    number: usize,
}

impl Part {
    fn new(name: &str) -> Option<Self> {
        let Current { world, .. } = current()?;
        let number = world.register(name);
        Some(Self { world, number })
    }

    /// Does the work, and keeps its outcome. If that is not asked for, it is dropped here, as a part of the simulation.
    fn run<T>(&self, work: impl FnOnce() -> T, outcome: Kept<T>) {
        self.world.enter(self.number);
        let worked = catch_unwind(AssertUnwindSafe(work));
        if let Err(panic) = &worked
            && panic.downcast_ref::<&str>() != Some(&PLANNED_PANIC)
        {
            let text = super::super::text_of(panic.as_ref());
            self.world.lock().says(text);
        }
        *outcome.lock().expect("no panic holds it") = Some(worked);
        drop(outcome);
        self.world.leave(self.number);
    }
}

/// What a thread returns.
type Kept<T> = Arc<Mutex<Option<std::thread::Result<T>>>>;

fn taken<T>(outcome: &Kept<T>) -> std::thread::Result<T> {
    let taken = outcome.lock().expect("no panic holds it").take();
    taken.expect("the thread has ended")
}

pub(crate) struct Builder {
    inner: std::thread::Builder,
    name: String,
}

impl Builder {
    pub(crate) fn new() -> Self {
        Self {
            inner: std::thread::Builder::new(),
            name: String::new(),
        }
    }

    pub(crate) fn name(self, name: String) -> Self {
        Self {
            inner: self.inner.name(name.clone()),
            name,
        }
    }

    pub(crate) fn stack_size(self, bytes: usize) -> Self {
        // A simulation needs some of it for itself.
        Self {
            inner: self.inner.stack_size(bytes + (256 << 10)),
            ..self
        }
    }

    pub(crate) fn spawn<F, T>(self, work: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let Some(part) = Part::new(&self.name) else {
            return self.inner.spawn(work).map(JoinHandle::Real);
        };
        let outcome = Kept::default();
        let (runs, kept) = (part.clone(), Arc::clone(&outcome));
        let inner = self.inner.spawn(move || runs.run(work, kept))?;
        part.world.set_handle(part.number, inner.thread().clone());
        Ok(JoinHandle::Simulated(inner, part, outcome))
    }

    pub(crate) fn spawn_scoped<'scope, F, T>(
        self,
        scope: &Scope<'scope, '_>,
        work: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let Some(part) = Part::new(&self.name) else {
            let inner = self.inner.spawn_scoped(scope.inner, work);
            return inner.map(ScopedJoinHandle::Real);
        };
        let mut threads = scope.threads.lock().expect("no panic holds it");
        threads.push(part.number);
        drop(threads);
        let outcome = Kept::default();
        let (runs, kept) = (part.clone(), Arc::clone(&outcome));
        let inner = self
            .inner
            .spawn_scoped(scope.inner, move || runs.run(work, kept))?;
        part.world.set_handle(part.number, inner.thread().clone());
        Ok(ScopedJoinHandle::Simulated(inner, part, outcome))
    }
}

pub(crate) enum JoinHandle<T> {
    Real(std::thread::JoinHandle<T>),
    Simulated(std::thread::JoinHandle<()>, Part, Kept<T>),
}

impl Part {
    /// Waits for its end.
    fn wait(&self) {
        if let Some(current) = current() {
            self.world.join(current.thread, self.number);
        }
    }
}

impl<T> JoinHandle<T> {
    pub(crate) fn join(self) -> std::thread::Result<T> {
        match self {
            Self::Real(inner) => inner.join(),
            Self::Simulated(inner, part, outcome) => {
                part.wait();
                inner.join().and_then(|()| taken(&outcome))
            }
        }
    }

    pub(crate) fn is_finished(&self) -> bool {
        match self {
            Self::Real(inner) => inner.is_finished(),
            Self::Simulated(_, part, _) => part.world.has_ended(part.number),
        }
    }
}

pub(crate) enum ScopedJoinHandle<'scope, T> {
    Real(std::thread::ScopedJoinHandle<'scope, T>),
    Simulated(std::thread::ScopedJoinHandle<'scope, ()>, Part, Kept<T>),
}

impl<T> ScopedJoinHandle<'_, T> {
    pub(crate) fn join(self) -> std::thread::Result<T> {
        match self {
            Self::Real(inner) => inner.join(),
            Self::Simulated(inner, part, outcome) => {
                part.wait();
                inner.join().and_then(|()| taken(&outcome))
            }
        }
    }
}

pub(crate) struct Scope<'scope, 'env: 'scope> {
    inner: &'scope std::thread::Scope<'scope, 'env>,
    threads: Mutex<Vec<usize>>,
}

/// Ends when all threads of the scope have, however it ends.
pub(crate) fn scope<'env, F, T>(work: F) -> T
where
    F: for<'scope> FnOnce(&Scope<'scope, 'env>) -> T,
{
    std::thread::scope(|inner| {
        let scope = Scope {
            inner,
            threads: Mutex::new(Vec::new()),
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| work(&scope)));
        if let Some(current) = current() {
            let threads = scope.threads.into_inner().expect("no panic holds it");
            for thread in threads {
                current.world.join(current.thread, thread);
            }
        }
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

pub(crate) fn available_parallelism() -> io::Result<std::num::NonZeroUsize> {
    match current() {
        Some(_) => Ok(std::num::NonZeroUsize::new(4).expect("it is not zero")),
        None => std::thread::available_parallelism(),
    }
}
