//! Locks.

use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError, TryLockError, WaitTimeoutResult};
use std::time::Duration;

use crate::sim::world::{Current, Object, current};

/// A lock, by the address of what it protects.
pub(crate) struct Mutex<T> {
    inner: std::sync::Mutex<T>,
    object: std::sync::OnceLock<Object>,
}

pub(crate) struct MutexGuard<'a, T> {
    inner: Option<std::sync::MutexGuard<'a, T>>,
    lock: &'a Mutex<T>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            inner: std::sync::Mutex::new(value),
            object: std::sync::OnceLock::new(),
        }
    }

    fn guard<'a>(
        &'a self,
        inner: LockResult<std::sync::MutexGuard<'a, T>>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let guard = |inner| MutexGuard {
            inner: Some(inner),
            lock: self,
        };
        match inner {
            Ok(inner) => Ok(guard(inner)),
            Err(e) => Err(PoisonError::new(guard(e.into_inner()))),
        }
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let Some(Current { world, thread }) = current() else {
            return self.guard(self.inner.lock());
        };
        world.step_without_panic(thread);
        let object = *self.object.get_or_init(|| world.lock().object());
        loop {
            match self.inner.try_lock() {
                Ok(inner) => return self.guard(Ok(inner)),
                Err(TryLockError::Poisoned(e)) => return self.guard(Err(e)),
                Err(TryLockError::WouldBlock) => {}
            }
            world.block(thread, object, None);
        }
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        if self.inner.take().is_some()
            && let Some(object) = self.lock.object.get()
            && let Some(Current { world, .. }) = current()
        {
            world.lock().wake(*object);
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().expect("it is locked")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect("it is locked")
    }
}

#[derive(Default)]
pub(crate) struct Condvar {
    inner: std::sync::Condvar,
    object: std::sync::OnceLock<Object>,
}

/// What a wait with a time limit ended with.
pub(crate) struct TimedOut;

impl Condvar {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn object(&self, current: &Current) -> Object {
        *self.object.get_or_init(|| current.world.lock().object())
    }

    pub(crate) fn notify_one(&self) {
        match current() {
            Some(current) => {
                let object = self.object(&current);
                current.world.lock().wake_one(object);
                current.world.step_without_panic(current.thread);
            }
            None => self.inner.notify_one(),
        }
    }

    pub(crate) fn notify_all(&self) {
        match current() {
            Some(current) => {
                let object = self.object(&current);
                current.world.lock().wake(object);
                current.world.step_without_panic(current.thread);
            }
            None => self.inner.notify_all(),
        }
    }

    fn wait_until<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        current: &Current,
        until: Option<u64>,
    ) -> LockResult<MutexGuard<'a, T>> {
        let object = self.object(current);
        let lock = guard.lock;
        drop(guard);
        // Nothing happens between that and this: it is this thread's turn.
        let early = {
            let mut state = current.world.lock();
            let early = state.scenario.early_wakes;
            state.random.chance(early)
        };
        if early {
            // A wake-up for no reason.
            current.world.sleep(current.thread, 1000);
        } else {
            current.world.block(current.thread, object, until);
        }
        lock.lock()
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        if let Some(current) = current() {
            return self.wait_until(guard, &current, None);
        }
        let mut guard = guard;
        let lock = guard.lock;
        let inner = guard.inner.take().expect("it is locked");
        lock.guard(self.inner.wait(inner))
    }

    pub(crate) fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        time: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, TimedOut)> {
        let Some(current) = current() else {
            let lock = guard.lock;
            let inner = guard.inner.take().expect("it is locked");
            let waited = self.inner.wait_timeout_while(inner, time, condition);
            let result = waited.map(|(inner, _): (_, WaitTimeoutResult)| inner);
            let result = result.map_err(|e| PoisonError::new(e.into_inner().0));
            return lock
                .guard(result)
                .map(|guard| (guard, TimedOut))
                .map_err(|e| PoisonError::new((e.into_inner(), TimedOut)));
        };
        let until = current
            .world
            .lock()
            .now
            .saturating_add(time.as_nanos() as u64);
        while condition(&mut guard) && current.world.lock().now < until {
            guard = match self.wait_until(guard, &current, Some(until)) {
                Ok(guard) => guard,
                Err(e) => return Err(PoisonError::new((e.into_inner(), TimedOut))),
            };
        }
        Ok((guard, TimedOut))
    }
}

/// A value that is computed once; others wait meanwhile.
pub(crate) struct OnceLock<T> {
    value: std::sync::OnceLock<T>,
    turn: Mutex<()>,
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self {
            value: std::sync::OnceLock::new(),
            turn: Mutex::new(()),
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.value.get()
    }

    pub(crate) fn get_or_init(&self, compute: impl FnOnce() -> T) -> &T {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if self.value.get().is_none() {
            let _ = self.value.set(compute());
        }
        self.value.get().expect("it was computed")
    }
}
