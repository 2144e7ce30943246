//! Progress bars on a terminal, with rate and time left, for work that takes more than a second.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iosonar_replay::verify::PassProgress;
use iosonar_trace::{ReadProgress, Reading};

use crate::beside::{Working, beside};
use crate::signals;

/// A bar that the worker advances; hidden if quiet.
pub(crate) fn bar(quiet: bool, length: u64, template: &str) -> anyhow::Result<ProgressBar> {
    let bar = if quiet {
        ProgressBar::hidden()
    } else {
        ProgressBar::new(length)
    };
    bar.set_style(ProgressStyle::with_template(template)?);
    Ok(bar)
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
    if quiet || bar.is_hidden() {
        return work();
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
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
