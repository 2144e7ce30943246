//! Queues between threads.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::{RecvError, SendError};
pub(crate) use crossbeam_channel::{RecvTimeoutError, TryRecvError, TrySendError};

use super::time::Instant;
use crate::os::linux::channel as real;
use crate::sim::world::{Current, Object, World, current};

struct Queue<T> {
    messages: VecDeque<T>,
    senders: usize,
    receivers: usize,
}

pub(crate) struct Shared<T> {
    world: Arc<World>,
    queue: Mutex<Queue<T>>,
    room: usize,
    object: Object,
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn changed(&self) {
        self.world.lock().wake(self.object);
    }
}

fn me() -> usize {
    current().map_or(0, |current| current.thread)
}

fn step() {
    if let Some(Current { world, thread }) = current() {
        world.step(thread);
    }
}

pub(crate) enum Sender<T> {
    Real(real::Sender<T>),
    Simulated(Arc<Shared<T>>),
}

pub(crate) enum Receiver<T> {
    Real(real::Receiver<T>),
    Simulated(Arc<Shared<T>>),
}

fn simulated<T>(room: Option<usize>) -> Option<(Sender<T>, Receiver<T>)> {
    let Current { world, .. } = current()?;
    let (object, room) = {
        let mut state = world.lock();
        // Any number of places will do.
        let room = room.map_or(usize::MAX, |room| {
            state.random.magnitude(room as u64) as usize
        });
        (state.object(), room)
    };
    let shared = Arc::new(Shared {
        world,
        queue: Mutex::new(Queue {
            messages: VecDeque::new(),
            senders: 1,
            receivers: 1,
        }),
        room,
        object,
    });
    Some((
        Sender::Simulated(Arc::clone(&shared)),
        Receiver::Simulated(shared),
    ))
}

pub(crate) fn bounded<T>(room: usize) -> (Sender<T>, Receiver<T>) {
    simulated(Some(room)).unwrap_or_else(|| {
        let (sender, receiver) = real::bounded(room);
        (Sender::Real(sender), Receiver::Real(receiver))
    })
}

pub(crate) fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    simulated(None).unwrap_or_else(|| {
        let (sender, receiver) = real::unbounded();
        (Sender::Real(sender), Receiver::Real(receiver))
    })
}

impl<T> Sender<T> {
    pub(crate) fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let shared = match self {
            Self::Real(sender) => return sender.try_send(message),
            Self::Simulated(shared) => shared,
        };
        step();
        let mut queue = shared.lock();
        if queue.receivers == 0 {
            return Err(TrySendError::Disconnected(message));
        }
        if queue.messages.len() >= shared.room {
            return Err(TrySendError::Full(message));
        }
        queue.messages.push_back(message);
        drop(queue);
        shared.changed();
        Ok(())
    }

    pub(crate) fn send(&self, message: T) -> Result<(), SendError<T>> {
        let shared = match self {
            Self::Real(sender) => return sender.send(message),
            Self::Simulated(shared) => shared,
        };
        let mut message = message;
        loop {
            match self.try_send(message) {
                Ok(()) => return Ok(()),
                Err(TrySendError::Disconnected(message)) => return Err(SendError(message)),
                Err(TrySendError::Full(back)) => message = back,
            }
            shared.world.block(me(), shared.object, None);
        }
    }
}

impl<T> Receiver<T> {
    pub(crate) fn try_recv(&self) -> Result<T, TryRecvError> {
        let shared = match self {
            Self::Real(receiver) => return receiver.try_recv(),
            Self::Simulated(shared) => shared,
        };
        step();
        let mut queue = shared.lock();
        match queue.messages.pop_front() {
            Some(message) => {
                drop(queue);
                shared.changed();
                Ok(message)
            }
            None if queue.senders == 0 => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }

    fn receive(&self, shared: &Shared<T>, until: Option<u64>) -> Result<T, RecvTimeoutError> {
        loop {
            match self.try_recv() {
                Ok(message) => return Ok(message),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Err(TryRecvError::Empty) => {}
            }
            let now = shared.world.lock().now;
            if until.is_some_and(|until| until <= now) {
                return Err(RecvTimeoutError::Timeout);
            }
            shared.world.block(me(), shared.object, until);
        }
    }

    pub(crate) fn recv(&self) -> Result<T, RecvError> {
        match self {
            Self::Real(receiver) => receiver.recv(),
            Self::Simulated(shared) => self.receive(shared, None).map_err(|_| RecvError),
        }
    }

    pub(crate) fn recv_timeout(&self, time: Duration) -> Result<T, RecvTimeoutError> {
        match self {
            Self::Real(receiver) => receiver.recv_timeout(time),
            Self::Simulated(shared) => {
                let until = shared
                    .world
                    .lock()
                    .now
                    .saturating_add(time.as_nanos() as u64);
                self.receive(shared, Some(until))
            }
        }
    }

    pub(crate) fn recv_deadline(&self, until: Instant) -> Result<T, RecvTimeoutError> {
        match self {
            Self::Real(receiver) => receiver.recv_timeout(until.left()),
            Self::Simulated(shared) => self.receive(shared, Some(until.nanos())),
        }
    }

    pub(crate) fn try_iter(&self) -> impl Iterator<Item = T> + '_ {
        std::iter::from_fn(|| self.try_recv().ok())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Real(receiver) => receiver.len(),
            Self::Simulated(shared) => shared.lock().messages.len(),
        }
    }
}

impl<T> IntoIterator for &Receiver<T> {
    type Item = T;
    type IntoIter = Messages<T>;

    fn into_iter(self) -> Messages<T> {
        Messages(self.clone())
    }
}

/// The messages of a receiver, until there are no more senders.
pub(crate) struct Messages<T>(Receiver<T>);

impl<T> Iterator for Messages<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Real(sender) => Self::Real(sender.clone()),
            Self::Simulated(shared) => {
                shared.lock().senders += 1;
                Self::Simulated(Arc::clone(shared))
            }
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Real(receiver) => Self::Real(receiver.clone()),
            Self::Simulated(shared) => {
                shared.lock().receivers += 1;
                Self::Simulated(Arc::clone(shared))
            }
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if let Self::Simulated(shared) = self {
            shared.lock().senders -= 1;
            shared.changed();
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if let Self::Simulated(shared) = self {
            let mut queue = shared.lock();
            queue.receivers -= 1;
            let left = match queue.receivers {
                0 => std::mem::take(&mut queue.messages),
                _ => VecDeque::new(),
            };
            drop(queue);
            drop(left);
            shared.changed();
        }
    }
}
