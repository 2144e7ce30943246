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
struct Part {
    world: Arc<World>,
    number: usize,
}

impl Part {
    fn new(name: &str) -> Option<Self> {
        let Current { world, .. } = current()?;
        let number = world.register(name);
        Some(Self { world, number })
    }

    fn run<T>(&self, work: impl FnOnce() -> T) -> T {
        self.world.enter(self.number);
        let outcome = catch_unwind(AssertUnwindSafe(work));
        if let Err(panic) = &outcome
            && panic.downcast_ref::<&str>() != Some(&PLANNED_PANIC)
        {
            let text = super::super::text_of(panic.as_ref());
            self.world.lock().says(text);
        }
        self.world.leave(self.number);
        outcome.unwrap_or_else(|panic| resume_unwind(panic))
    }
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
        let part = Part::new(&self.name);
        let inner = match part.clone() {
            None => self.inner.spawn(work)?,
            Some(part) => self.inner.spawn(move || part.run(work))?,
        };
        if let Some(part) = &part {
            part.world.set_handle(part.number, inner.thread().clone());
        }
        Ok(JoinHandle { inner, part })
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
        let part = Part::new(&self.name);
        let inner = match part.clone() {
            None => self.inner.spawn_scoped(scope.inner, work)?,
            Some(part) => {
                let mut threads = scope.threads.lock().expect("no panic holds it");
                threads.push(part.number);
                drop(threads);
                self.inner
                    .spawn_scoped(scope.inner, move || part.run(work))?
            }
        };
        if let Some(part) = &part {
            part.world.set_handle(part.number, inner.thread().clone());
        }
        Ok(ScopedJoinHandle { inner, part })
    }
}

pub(crate) struct JoinHandle<T> {
    inner: std::thread::JoinHandle<T>,
    part: Option<Part>,
}

fn wait_for(part: Option<&Part>) {
    if let (Some(part), Some(current)) = (part, current()) {
        part.world.join(current.thread, part.number);
    }
}

impl<T> JoinHandle<T> {
    pub(crate) fn join(self) -> std::thread::Result<T> {
        wait_for(self.part.as_ref());
        self.inner.join()
    }

    pub(crate) fn is_finished(&self) -> bool {
        match &self.part {
            Some(part) => part.world.has_ended(part.number),
            None => self.inner.is_finished(),
        }
    }
}

pub(crate) struct ScopedJoinHandle<'scope, T> {
    inner: std::thread::ScopedJoinHandle<'scope, T>,
    part: Option<Part>,
}

impl<T> ScopedJoinHandle<'_, T> {
    pub(crate) fn join(self) -> std::thread::Result<T> {
        wait_for(self.part.as_ref());
        self.inner.join()
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
