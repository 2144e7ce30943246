//! Progress bars on a terminal, with rate and time left, for work that takes more than a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iosonar_replay::verify::PassProgress;
use iosonar_trace::{ReadProgress, Reading};

use super::screen::screen;
use crate::beside::{Working, beside};
use crate::exit::write_error;
use crate::signals;

/// A bar that the worker advances; hidden if quiet.
pub(crate) fn bar(quiet: bool, length: u64, template: &str) -> anyhow::Result<ProgressBar> {
    let bar = if is_hidden(quiet) {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(length)
    };
    bar.set_style(style(template)?);
    Ok(bar)
}

/// Whether no bar may be drawn: it is not wanted, or what was written cannot be written over.
pub(crate) fn is_hidden(quiet: bool) -> bool {
    quiet || !screen().err.can_redraw
}

/// Has what is written next not follow a bar that is drawn now.
pub(crate) fn clear() {
    if screen().err.can_redraw {
        write_error("\r\x1b[2K");
    }
}

/// How a bar looks, in characters that the terminal has.
pub(crate) fn style(template: &str) -> anyhow::Result<ProgressStyle> {
    let style = ProgressStyle::with_template(template)?;
    Ok(match screen().err.is_ascii {
        true => style.progress_chars("#>-").tick_chars("|/-\\ "),
        false => style,
    })
}

/// Does `work`, which calls its argument after each of `all` parts of it, with a bar of these.
pub(crate) fn counted<T>(
    quiet: bool,
    all: usize,
    what: &str,
    work: impl FnOnce(&(dyn Fn() + Sync)) -> T,
) -> T {
    let done = AtomicU64::new(0);
    let template = format!("{{wide_bar}} {{pos}} of {{len}} {what}, {{per_sec}}, {{eta}} left");
    let update = |bar: &ProgressBar| bar.set_position(done.load(Relaxed));
    watched(quiet, Some(all as u64), &template, update, || {
        work(&|| {
            done.fetch_add(1, Relaxed);
        })
    })
}

/// Does `work` of a verification with a bar; whether no signal ended it.
pub(crate) fn verifying<T>(
    quiet: bool,
    work: impl FnOnce(&mut dyn FnMut(PassProgress) -> bool) -> T,
) -> anyhow::Result<(T, bool)> {
    let template = "verifying {bar:30} {pos} of {len} sectors, {eta} left";
    let (bar, mut whole) = (bar(quiet, 0, template)?, true);
    let result = work(&mut |PassProgress { done, all }| {
        bar.set_length(all);
        bar.set_position(done);
        whole = signals::count() == 0;
        whole
    });
    bar.finish_and_clear();
    Ok((result, whole))
}

/// Does `work`, while `update` brings the bar up to date ten times a second.
pub(crate) fn watched<T>(
    quiet: bool,
    length: Option<u64>,
    template: &str,
    update: impl Fn(&ProgressBar) + Send,
    work: impl FnOnce() -> T,
) -> T {
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    if is_hidden(quiet) || bar.is_hidden() {
        return work();
    }
    if let Ok(style) = style(template) {
        bar.set_style(style);
    }
    let watcher = move |working: &Working| {
        let mut wait = Duration::from_secs(1);
        while working.goes_on(wait) {
            wait = Duration::from_millis(100);
            update(&bar);
        }
        bar.finish_and_clear();
    };
    beside(watcher, work)
}

/// Does `work` with a reading whose files are watched.
pub(crate) fn while_reading<T>(
    mut reading: Reading,
    quiet: bool,
    work: impl FnOnce(&Reading) -> T,
) -> T {
    let progress = Arc::new(ReadProgress::default());
    reading.options.progress = Some(Arc::clone(&progress));
    let update = |bar: &ProgressBar| {
        bar.set_length(progress.total.load(Relaxed));
        bar.set_position(progress.read.load(Relaxed));
    };
    let template =
        "{wide_bar} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
    watched(quiet, None, template, update, || work(&reading))
}
