//! Standard output, where a write that fails counts.
//!
//! The standard library puts `/dev/null` in the place of a standard output that is closed (`>&-`), before `main` and
//! without a trace, and its own handle takes "bad file descriptor" for success. Both would let results disappear with
//! exit code 0. So whether it is closed is looked at before the library does, and output goes to the descriptor itself.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use iosonar_linux::calls;

/// If standard output is closed, lets all that is written to it fail.
pub(crate) fn refuse_if_closed() -> io::Result<()> {
    if calls::stdout_was_closed() {
        rustix::stdio::dup2_stdout(File::open("/dev/null")?)?;
    }
    Ok(())
}

/// Standard output itself.
pub(crate) fn itself() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}
