//! Opening a target that another process may still hold for a moment.

use std::path::Path;
use std::time::{Duration, Instant};

use iosonar_guard::Host;
use iosonar_replay::{Intent, ReplayError, Target};

use crate::exit::note;

/// The kernel closes the files of a killed process's ring some time after its end.
const PATIENCE: Duration = Duration::from_secs(5);
const INTERVAL: Duration = Duration::from_millis(50);

/// Opens a target as [`Target::open`] does. A device that is opened exclusively by another process is waited for some
/// seconds.
pub(crate) fn open(
    path: &Path,
    intent: &Intent,
    host: &Host,
    quiet: bool,
) -> Result<Target, ReplayError> {
    let began = Instant::now();
    let mut has_noted = false;
    loop {
        match Target::open(path, intent, host) {
            Err(ReplayError::Busy { .. }) if began.elapsed() < PATIENCE => {}
            outcome => return outcome,
        }
        if !has_noted && !quiet {
            note(&format!(
                "note: {} is opened exclusively by another process: waiting up to {} s for it (a replay that was \
                 killed holds its device for a moment)",
                path.display(),
                PATIENCE.as_secs()
            ));
        }
        has_noted = true;
        std::thread::sleep(INTERVAL);
    }
}
