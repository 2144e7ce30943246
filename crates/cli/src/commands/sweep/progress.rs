//! How far a sweep is.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use iosonar_study::sweep::{Event, Run};

use crate::exit::note;
use crate::render::progress::{is_hidden, style};

/// More failures than this are counted only.
const MOST_TOLD: u64 = 20;

/// The progress display of a sweep.
pub(super) struct View {
    bar: ProgressBar,
    quiet: bool,
    state: Mutex<Seen>,
}

struct Seen {
    begin: Instant,
    last_told: Instant,
    all: u64,
    done: u64,
    failed: u64,
    running: BTreeSet<PathBuf>,
}

impl View {
    /// The total number of runs.
    pub(super) fn new(all: u64, quiet: bool) -> Self {
        let bar = if is_hidden(quiet) {
            ProgressBar::hidden()
        } else {
            ProgressBar::new(all)
        };
        if let Ok(style) = style("{bar:20} {msg}") {
            bar.set_style(style);
        }
        let now = Instant::now();
        Self {
            bar,
            quiet,
            state: Mutex::new(Seen {
                begin: now,
                last_told: now,
                all,
                done: 0,
                failed: 0,
                running: BTreeSet::new(),
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what happened to a run.
    pub(super) fn see(&self, run: &Run, event: &Event<'_>) {
        let mut seen = self.lock();
        if let Event::Begun = event {
            seen.running.insert(run.path.clone());
        } else {
            seen.running.remove(&run.path);
        }
        match event {
            Event::Begun => {}
            Event::Before(_) => seen.all = seen.all.saturating_sub(1),
            Event::Done(..) => seen.done += 1,
            Event::Failed(why) => {
                seen.failed += 1;
                if seen.failed <= MOST_TOLD {
                    let text = format!("{}: failed: {why}", run.path.display());
                    self.bar.suspend(|| note(&text));
                } else if seen.failed == MOST_TOLD + 1 && !self.quiet {
                    self.bar.suspend(|| {
                        note("further failures are only counted; see failed.txt in the folder of each run");
                    });
                }
            }
            Event::LeftAlone(why) => {
                seen.all = seen.all.saturating_sub(1);
                if !self.quiet {
                    let text = format!("{}: left out: {why}", run.path.display());
                    self.bar.suspend(|| note(&text));
                }
            }
            Event::Unneeded => seen.all = seen.all.saturating_sub(1),
        }
        self.show(&mut seen);
    }

    fn show(&self, seen: &mut Seen) {
        /// The interval between lines without a terminal.
        const SELDOM: Duration = Duration::from_secs(10);
        if self.quiet {
            return;
        }
        let ended = seen.done + seen.failed;
        if self.bar.is_hidden() {
            if seen.last_told.elapsed() > SELDOM {
                seen.last_told = Instant::now();
                note(&seen.words());
            }
            return;
        }
        self.bar.set_length(seen.all);
        self.bar.set_position(ended);
        self.bar.set_message(seen.words());
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

impl Seen {
    fn words(&self) -> String {
        let ended = self.done + self.failed;
        let left = self.all.saturating_sub(ended);
        let time = match ended {
            0 => "?".to_owned(),
            n => rough(self.begin.elapsed().mul_f64(left as f64 / n as f64)),
        };
        format!(
            "{} done, {} running, {} waiting, {} failed, {time} left",
            self.done,
            self.running.len(),
            left.saturating_sub(self.running.len() as u64),
            self.failed
        )
    }
}

/// A duration as one says it.
pub(super) fn rough(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 60.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 48.0 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.1} days", s / 86_400.0),
    }
}
