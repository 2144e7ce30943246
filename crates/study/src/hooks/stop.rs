//! Asking for an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// How often it was asked to stop.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    times: Arc<AtomicUsize>,
    asked: Arc<AtomicBool>,
}

impl Stop {
    /// Asks once more: the first time what is under way is ended in order, then at once.
    pub fn ask(&self) {
        self.times.fetch_add(1, Relaxed);
        self.asked.store(true, Relaxed);
    }

    /// How often it was asked.
    pub fn times(&self) -> usize {
        self.times.load(Relaxed)
    }

    /// Whether it was asked.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    /// A flag that others may look at.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.asked)
    }
}
