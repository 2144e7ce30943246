//! The connection to a host, which its threads share.

use std::io::{BufRead, BufReader, BufWriter, Read};
use std::process::ChildStdin;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, monotonic};
use crate::frame::Sender;
use crate::message::ToAgent;

/// How long an answer is waited for among several questions.
const PONG_WAIT: Duration = Duration::from_millis(500);
/// As many bytes of what a command reports are kept.
const WORDS: usize = 4096;

/// What the threads of a host share.
pub(super) struct Link {
    /// `None` when it is closed.
    pub(super) out: Mutex<Option<Sender<BufWriter<ChildStdin>>>>,
    pub(super) clock: Mutex<Clock>,
    pub(super) answered: Condvar,
    /// When something was received last, on the monotonic clock.
    pub(super) heard: AtomicU64,
    /// The last that the command reported.
    pub(super) words: Mutex<Vec<u8>>,
    /// No more of the load is needed.
    pub(super) has_enough: AtomicBool,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    /// Sends by `send`. That the connection has ended, the thread hears that receives.
    pub(super) fn send(
        &self,
        send: impl FnOnce(&mut Sender<BufWriter<ChildStdin>>) -> std::io::Result<()>,
    ) {
        let mut out = locked(&self.out);
        if let Some(sender) = &mut *out
            && send(sender).is_err()
        {
            *out = None;
        }
    }

    pub(super) fn message(&self, message: &ToAgent) {
        self.send(|sender| sender.message(message));
    }

    pub(super) fn ping(&self) {
        // The time is taken last: before, the load may have been sent.
        self.send(|sender| sender.message(&ToAgent::Ping { sent: monotonic() }));
    }

    /// Asks for the time `n` times, one after the other.
    pub(super) fn measure(&self, n: u32) {
        for _ in 0..n {
            let before = locked(&self.clock).count();
            self.ping();
            let clock = locked(&self.clock);
            let waited = self
                .answered
                .wait_timeout_while(clock, PONG_WAIT, |clock| clock.count() == before);
            drop(waited);
        }
    }

    pub(super) fn close(&self) {
        *locked(&self.out) = None;
    }
}

/// Keeps the last that a command reports.
pub(super) fn keep_words(link: &Link, stderr: impl Read) {
    let mut line = Vec::new();
    let mut stderr = BufReader::new(stderr);
    while let Ok(1..) = stderr
        .by_ref()
        .take(WORDS as u64)
        .read_until(b'\n', &mut line)
    {
        let mut words = locked(&link.words);
        words.append(&mut line);
        let surplus = words.len().saturating_sub(WORDS);
        words.drain(..surplus);
    }
}
