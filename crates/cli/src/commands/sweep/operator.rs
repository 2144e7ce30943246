//! The operator, who does by hand what an experiment asks for before each run.

use std::sync::{Mutex, PoisonError};

use iosonar_study::hooks::{HookError, Stop};
use iosonar_study::sweep::Run;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::exit::note;

/// Prints the operator's instructions for `run`, and waits for a line on standard input.
pub(super) fn ask(run: &Run, what: &str, stop: &Stop) -> Result<(), HookError> {
    static OPERATOR: Mutex<()> = Mutex::new(());
    const LOOK: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    let _alone = OPERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    note(&format!(
        "{}: {what}\nPress Enter when done.",
        run.path.display()
    ));
    let stdin = std::io::stdin();
    loop {
        if stop.is_asked() {
            return Err(HookError::Interrupted);
        }
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        if !matches!(poll(&mut ready, Some(&LOOK)), Ok(1..)) {
            continue;
        }
        let mut line = String::new();
        return match stdin.read_line(&mut line) {
            Ok(1..) => Ok(()),
            _ => Err(HookError::Failed(
                "manual: standard input has ended, so the step cannot be confirmed".to_owned(),
            )),
        };
    }
}
