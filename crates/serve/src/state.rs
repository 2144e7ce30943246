//! The latest state of a run, and its viewers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::watch;

use crate::server::Stop;

/// A file as it is now.
#[derive(Clone)]
pub(crate) struct Content {
    pub(crate) kind: &'static str,
    pub(crate) bytes: Bytes,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    /// Counts the states.
    pub(crate) number: u64,
    /// Whether there will be no others.
    pub(crate) is_last: bool,
}

/// The latest state.
pub(crate) struct State {
    files: Mutex<HashMap<&'static str, Content>>,
    version: watch::Sender<Version>,
    /// How many receive new versions.
    viewers: AtomicUsize,
    /// How many have learnt that there will be no others, and have not fetched the last state.
    owed: AtomicUsize,
    /// How many answers are on their way.
    answering: AtomicUsize,
    stop: Option<Stop>,
    is_stopping: AtomicBool,
}

/// The outcome of a request to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopping {
    /// The run has been asked, now or before.
    Asked,
    /// There is no run to be asked.
    NoRun,
    /// Viewers may not.
    NotAllowed,
}

impl State {
    pub(crate) fn new(stop: Option<Stop>) -> Self {
        Self {
            files: Mutex::default(),
            version: watch::Sender::default(),
            viewers: AtomicUsize::default(),
            owed: AtomicUsize::default(),
            answering: AtomicUsize::default(),
            stop,
            is_stopping: AtomicBool::new(false),
        }
    }

    pub(crate) fn put(&self, name: &'static str, content: Content) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert(name, content);
    }

    pub(crate) fn file(&self, name: &str) -> Option<Content> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.get(name).cloned()
    }

    pub(crate) fn announce(&self, is_last: bool) {
        self.version.send_modify(|version| {
            version.number += 1;
            version.is_last |= is_last;
        });
    }

    /// Versions from now on, the present one included.
    pub(crate) fn versions(&self) -> watch::Receiver<Version> {
        let mut versions = self.version.subscribe();
        versions.mark_changed();
        versions
    }

    pub(crate) fn viewers(&self) -> usize {
        self.viewers.load(Relaxed)
    }

    /// Notes that a viewer has learnt that there will be no other state.
    pub(crate) fn owe(&self) {
        self.owed.fetch_add(1, Relaxed);
    }

    /// Notes that a viewer fetches the last state.
    pub(crate) fn settle(&self) {
        // A request for it may come without an event.
        let _ = self
            .owed
            .fetch_update(Relaxed, Relaxed, |owed| owed.checked_sub(1));
    }

    /// Whether every viewer has all that there will be.
    pub(crate) fn is_settled(&self) -> bool {
        // In the order in which a viewer passes from one to the next.
        self.viewers() == 0 && self.owed.load(Relaxed) == 0 && self.answering.load(Relaxed) == 0
    }

    /// Asks the run to stop, once: runs give up what is in flight when they are asked again.
    pub(crate) fn stop(&self) -> Stopping {
        let Some(stop) = &self.stop else {
            return Stopping::NotAllowed;
        };
        if self.is_stopping.swap(true, Relaxed) || stop() {
            return Stopping::Asked;
        }
        self.is_stopping.store(false, Relaxed);
        Stopping::NoRun
    }
}

/// A viewer, as long as it listens.
pub(crate) struct Viewer(Arc<State>);

impl Viewer {
    pub(crate) fn of(state: &Arc<State>) -> Self {
        state.viewers.fetch_add(1, Relaxed);
        Self(Arc::clone(state))
    }

    /// Notes that it has learnt that there will be no other state.
    pub(crate) fn has_learnt(&self) {
        self.0.owe();
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.0.viewers.fetch_sub(1, Relaxed);
    }
}

/// An answer that is on its way, until its connection ends.
pub(crate) struct Answering(Arc<State>);

impl Answering {
    pub(crate) fn of(state: &Arc<State>) -> Self {
        state.answering.fetch_add(1, Relaxed);
        Self(Arc::clone(state))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.answering.fetch_sub(1, Relaxed);
    }
}
