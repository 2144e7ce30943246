//! The whole terminal, for a view that is drawn over and over.
//!
//! The view has a screen of its own, so that what was on the terminal before is there again afterwards: at the end,
//! after an error, a panic, or a signal, and while the program is suspended.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGSTOP, SIGTSTP};

use crate::stdout;

/// What is to be restored.
struct Before {
    /// How keys were read.
    keys: Option<Termios>,
}

static BEFORE: Mutex<Option<Before>> = Mutex::new(None);

fn before() -> MutexGuard<'static, Option<Before>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An own screen, hide the cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// Leaves the view's screen, if there is one.
pub(crate) fn restore() {
    let Some(before) = before().take() else {
        return;
    };
    // Nothing can be done about a terminal that is gone.
    let _ = write(LEAVE);
    if let Some(keys) = &before.keys {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, keys);
    }
}

fn write(text: &str) -> io::Result<()> {
    stdout::itself()?.write_all(text.as_bytes())
}

/// A frame over the one before, on a terminal with `rows` lines. None of the text's may be longer than it is wide.
fn frame(text: &str, rows: usize) -> String {
    let mut frame = "\x1b[H".to_owned();
    for (row, line) in text.lines().take(rows).enumerate() {
        // What was there goes first: behind the last column, the cursor is still on its character.
        frame += if row == 0 { "\x1b[K" } else { "\r\n\x1b[K" };
        frame += line;
    }
    if text.lines().count() < rows {
        frame += "\r\n\x1b[J";
    }
    frame
}

/// The terminal while a view has it.
pub(crate) struct FullScreen {
    suspended: Arc<AtomicBool>,
    has_keys: bool,
}

impl FullScreen {
    /// Takes the terminal, until this is dropped or [`restore`] is called.
    pub(crate) fn enter() -> io::Result<Self> {
        let suspended = Arc::<AtomicBool>::default();
        signal_hook::flag::register(SIGTSTP, Arc::clone(&suspended))?;
        // What a panic prints belongs on the screen that stays.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            hook(panic);
        }));
        let mut screen = Self {
            suspended,
            has_keys: false,
        };
        screen.take()?;
        Ok(screen)
    }

    fn take(&mut self) -> io::Result<()> {
        let mut saved = before();
        let stdin = io::stdin();
        let keys = isatty(&stdin).then(|| tcgetattr(&stdin)).transpose()?;
        self.has_keys = keys.is_some();
        if let Some(keys) = &keys {
            let mut single = keys.clone();
            // Each key at once and unseen; Ctrl-C and Ctrl-Z remain signals.
            single.local_modes &= !(LocalModes::ICANON | LocalModes::ECHO);
            tcsetattr(&stdin, OptionalActions::Now, &single)?;
        }
        *saved = Some(Before { keys });
        drop(saved);
        write(ENTER)
    }

    /// Draws a frame on a terminal with this number of lines.
    pub(crate) fn draw(&self, text: &str, rows: usize) -> io::Result<()> {
        // A suspended program has no screen.
        match self.suspended.load(Relaxed) {
            true => Ok(()),
            false => write(&frame(text, rows)),
        }
    }

    /// Waits this long, or until a key is pressed; which one.
    pub(crate) fn key_within(&mut self, time: Duration) -> io::Result<Option<u8>> {
        if self.suspended.swap(false, Relaxed) {
            restore();
            signal_hook::low_level::raise(SIGSTOP)?;
            self.take()?;
        }
        if !self.has_keys {
            std::thread::sleep(time);
            return Ok(None);
        }
        let stdin = io::stdin();
        let limit = Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        let is_ready = {
            let mut keys = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
            match poll(&mut keys, Some(&limit)) {
                Ok(ready) => ready > 0,
                Err(rustix::io::Errno::INTR) => false,
                Err(error) => return Err(error.into()),
            }
        };
        if !is_ready {
            return Ok(None);
        }
        let mut keys = [0; 64];
        match rustix::io::read(&stdin, &mut keys) {
            Ok(0) => {
                // The keyboard is gone.
                self.has_keys = false;
                Ok(None)
            }
            Ok(pressed) => Ok(keys[..pressed].last().copied()),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(None),
            Err(_) => {
                self.has_keys = false;
                Ok(None)
            }
        }
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_leaves_nothing_of_the_one_before_and_does_not_scroll() {
        let whole = "\x1b[H\x1b[Ka\r\n\x1b[Kb";
        assert_eq!(frame("a\nb\n", 2), whole);
        assert_eq!(frame("a\nb\nc\n", 2), whole);
        assert_eq!(frame("a\nb\n", 3), format!("{whole}\r\n\x1b[J"));
    }
}
