//! Long computations, which Ctrl-C ends and other threads of Python can run beside.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

use crate::error::raised;

/// How often Python is asked whether there was a signal.
const POLL: Duration = Duration::from_millis(50);

/// How long a computation has to stop before the exception is raised. One that has not stopped by then is left to end on
/// its own.
const GRACE: Duration = Duration::from_millis(500);

/// Does `work` on a thread of its own, without the interpreter's lock. A signal whose handler raises, such as Ctrl-C, sets
/// `stop`, which `work` looks at, and raises.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    let worker = thread::Builder::new()
        .name("iosonar".to_owned())
        .spawn(move || {
            // After an interruption, the receiver is gone.
            let _ = sender.send(work());
        })
        .map_err(raised)?;
    loop {
        let received;
        (received, receiver) = py.detach(move || (receiver.recv_timeout(POLL), receiver));
        match received {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interruption) = py.check_signals() {
                    stop.store(true, Relaxed);
                    py.detach(move || drop(receiver.recv_timeout(GRACE)));
                    return Err(interruption);
                }
            }
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("a thread that ended had sent its result"),
            },
        }
    }
}

/// How many threads compute.
pub(crate) fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
}
