//! How far the reading of traces has come: a bar on a terminal, with rate and time left.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use iosonar_trace::{ReadProgress, Reading};

/// Does `work` with a reading that is watched; the bar appears when it takes more than a second.
pub(crate) fn while_reading<T>(
    mut reading: Reading,
    quiet: bool,
    work: impl FnOnce(&Reading) -> T,
) -> T {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if quiet || bar.is_hidden() {
        return work(&reading);
    }
    let progress = Arc::new(ReadProgress::default());
    reading.options.progress = Some(Arc::clone(&progress));
    let template =
        "{wide_bar} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    let (stop, stopped) = channel::<()>();
    std::thread::scope(|scope| {
        let bar = &bar;
        scope.spawn(move || {
            let mut wait = Duration::from_secs(1);
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(wait) {
                wait = Duration::from_millis(100);
                bar.set_length(progress.total.load(Relaxed));
                bar.set_position(progress.read.load(Relaxed));
            }
            bar.finish_and_clear();
        });
        let result = work(&reading);
        drop(stop);
        result
    })
}
