//! A thread beside some work: it passes signals on or keeps a view up to date, and ends when the work does.
//!
//! The work may end in a panic: then, too, the thread must see the end, as a scope waits for its threads before it
//! lets a panic through.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Whether the work beside a watcher still goes on.
pub(crate) struct Working(Receiver<()>);

impl Working {
    /// Waits this long, or until the work ends; whether it still goes on.
    pub(crate) fn goes_on(&self, time: Duration) -> bool {
        // The sender sends nothing, it is dropped.
        self.0.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
    }
}

/// Does `work` on this thread, with `watcher` on another one until the work ends. If no thread can be created,
/// the work is done without a watcher.
pub(crate) fn beside<T>(watcher: impl FnOnce(&Working) + Send, work: impl FnOnce() -> T) -> T {
    let (over, ended) = channel();
    thread::scope(|scope| {
        let _ = thread::Builder::new().spawn_scoped(scope, move || watcher(&Working(ended)));
        // Dropped at the end of the work, in a panic too.
        let _over = over;
        work()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    /// Does something that may never end, on a thread that is left behind then.
    fn ends<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, ended) = channel();
        thread::spawn(move || done.send(what()));
        ended
            .recv_timeout(Duration::from_secs(20))
            .expect("it does not end")
    }

    #[test]
    fn a_watcher_ends_with_work_that_panics() {
        static ENDED: AtomicBool = AtomicBool::new(false);
        let watcher = |working: &Working| {
            while working.goes_on(Duration::from_millis(1)) {}
            ENDED.store(true, Relaxed);
        };
        let outcome = ends(move || catch_unwind(|| beside(watcher, || panic!("on purpose"))));
        assert!(outcome.is_err());
        assert!(ENDED.load(Relaxed));
    }

    #[test]
    fn a_watcher_sees_the_end_at_once() {
        let result = ends(|| {
            beside(
                |working| while working.goes_on(Duration::from_secs(3600)) {},
                || 7,
            )
        });
        assert_eq!(result, 7);
    }
}
