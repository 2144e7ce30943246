//! Measurements of this machine with iosonar's own parts, and of a device with iosonar and with other replayers.
//!
//! Each measurement returns [`Figure`]s: the best of several runs, with what it is compared with. On a shared machine only
//! the ratios of figures of one run count.

mod arrays;
mod error;
mod figure;
mod hold;
mod loops;
mod machine;
mod pictures;
mod replay;
mod ssds;
mod traces;

use std::time::{Duration, Instant};

pub use error::BenchError;
pub use figure::{Figure, Group, Note};
pub use machine::MachineFacts;
pub use pictures::measure as pictures;
pub use replay::{Arrivals, Delays, Measuring, Pace, PaceNote, Replays, SECONDS, replays};
pub use traces::measure as traces;

/// Measures the simulator: its calendar, queueing networks, arrays and SSDs, one thread unless the case says otherwise.
///
/// # Errors
/// If a simulation cannot be run.
pub fn simulator() -> Result<Vec<Figure>, BenchError> {
    let mut figures = hold::measure();
    figures.extend(loops::measure());
    figures.extend(arrays::measure()?);
    figures.extend(ssds::measure()?);
    Ok(figures)
}

/// Nanoseconds per piece of work: the best of at least three runs, for a third of a second.
fn best_ns(pieces: u64, mut work: impl FnMut()) -> f64 {
    let (begin, mut best, mut runs) = (Instant::now(), Duration::MAX, 0);
    while runs < 3 || begin.elapsed() < Duration::from_millis(330) {
        let run = Instant::now();
        work();
        best = best.min(run.elapsed());
        runs += 1;
    }
    best.as_nanos() as f64 / pieces as f64
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
