//! Standard output, where a write that fails counts.
//!
//! The standard library puts `/dev/null` in the place of a standard output that is closed (`>&-`), before `main` and
//! without a trace, and its own handle takes "bad file descriptor" for success. Both would let results disappear with
//! exit code 0. So whether it is closed is looked at before the library does, and output goes to the descriptor itself.

#![allow(unsafe_code)] // A descriptor is taken over.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: it asks for the flags of a number, whether or not that is an open descriptor.
    if unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1 {
        IS_CLOSED.store(true, Relaxed);
    }
}

// SAFETY: the loader calls the functions of this section one after the other before `main`; this one uses nothing that
// is set up later.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// If standard output is closed, lets all that is written to it fail.
pub(crate) fn refuse_if_closed() -> io::Result<()> {
    if IS_CLOSED.load(Relaxed) {
        rustix::stdio::dup2_stdout(File::open("/dev/null")?)?;
    }
    Ok(())
}

/// Standard output itself.
pub(crate) fn itself() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}
