//! Signals that ask a command to end: what it has measured is kept.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread;

use anyhow::Context;
use iosonar_trace::output::abandon_all;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::render::full_screen;

/// The signal that came last.
static LAST: LazyLock<Arc<AtomicUsize>> = LazyLock::new(|| Arc::new(AtomicUsize::new(0)));

/// How many have come.
static COUNT: LazyLock<Arc<AtomicUsize>> = LazyLock::new(|| Arc::new(AtomicUsize::new(0)));

/// The signal that came last.
pub(crate) fn last() -> u8 {
    LAST.load(Relaxed) as u8
}

/// How many have come.
pub(crate) fn count() -> usize {
    COUNT.load(Relaxed)
}

/// Signals that are passed on to whatever is to end.
#[derive(Default)]
pub(crate) struct PassedOn(usize);

impl PassedOn {
    /// Asks once for each signal that has come since the last time.
    pub(crate) fn pass_on(&mut self, ask: impl Fn()) {
        while self.0 < count() {
            ask();
            self.0 += 1;
        }
    }
}

/// Has a write beyond the limit on the size of files (`ulimit -f`) fail, as on a full disk, instead of ending the
/// program. Programs that are started keep the default.
pub(crate) fn fail_beyond_file_size_limit() -> anyhow::Result<()> {
    signal_hook::flag::register(libc::SIGXFSZ, Arc::default())
        .map(|_| ())
        .context("cannot install a handler for SIGXFSZ")
}

/// Whether this process was started with a signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|of| u64::from_str_radix(of.trim(), 16).ok());
    ignored.is_some_and(|ignored| ignored >> (signal - 1) & 1 == 1)
}

/// What a signal does: as long as no command counts them, it ends the program, and leaves no file half-written.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// What adds signals that were ignored before.
static WAITING: OnceLock<Handle> = OnceLock::new();

/// Has a signal end the program without leaving half-written files behind, until [`watch`] is called.
pub(crate) fn clean_up() -> anyhow::Result<()> {
    if WAITING.get().is_some() {
        return Ok(());
    }
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter();
    // `nohup` has a run ignore that its terminal closes, and shells have what runs in the background ignore Ctrl-C.
    let wanted = wanted.filter(|&signal| !is_ignored(signal));
    let mut signals = Signals::new(wanted).context("cannot install signal handlers")?;
    let _ = WAITING.set(signals.handle());
    let (last, count) = (Arc::clone(&LAST), Arc::clone(&COUNT));
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                last.store(signal as usize, Relaxed);
                if !WATCHED.load(Relaxed) {
                    end(signal);
                }
                if count.fetch_add(1, Relaxed) >= 2 {
                    full_screen::restore();
                    signal_hook::low_level::exit(128 + signal);
                }
            }
        })
        .context("cannot install signal handlers")?;
    Ok(())
}

/// Ends the program as this signal does where nothing handles it.
fn end(signal: i32) {
    let _abandoned = abandon_all();
    // Shells see by which signal a program ended.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    signal_hook::low_level::exit(128 + signal);
}

/// Counts signals from now on. The first asks to stop, the second to give up what is in flight, the
/// third ends the program.
pub(crate) fn watch() -> anyhow::Result<()> {
    clean_up()?;
    if WATCHED.swap(true, Relaxed) {
        return Ok(());
    }
    let handle = WAITING.get().context("cannot install signal handlers")?;
    for signal in [SIGINT, SIGTERM] {
        handle
            .add_signal(signal)
            .context("cannot install signal handlers")?;
    }
    Ok(())
}
