//! What commands give up that root runs for its access to files.

use iosonar_guard::privileges::keep_those_for_files;

use crate::exit::hint;

/// Gives up all capabilities but those that concern files, for the rest of the run.
pub(crate) fn give_up() {
    if let Err(e) = keep_those_for_files() {
        hint(&format!(
            "the capabilities that are not needed cannot be given up ({e}), so this process keeps them"
        ));
    }
}
