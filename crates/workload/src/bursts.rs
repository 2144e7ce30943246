//! The b-model: a biased cascade.

use std::collections::VecDeque;

use iosonar_sim_core::Stream;
use iosonar_sim_core::arrivals::Arrival;
use iosonar_sim_core::network::Class;
use iosonar_units::Nanos;

use crate::Batch;

/// A part of a window that has not been taken apart yet.
#[derive(Clone, Copy, Debug)]
struct Part {
    begin_s: f64,
    length_s: f64,
    /// The arrivals to expect.
    expected: f64,
    level: u32,
}

/// Arrivals of window after window, each a cascade of its own. In a part that is not halved any more
/// arrivals are a Poisson process.
#[derive(Clone, Debug)]
pub(crate) struct Bursts {
    per_s: f64,
    bias: f64,
    window_s: f64,
    levels: u32,
    batch: Batch,
    next_window: u64,
    /// The parts to come, the next one last: as many as there are levels.
    parts: Vec<Part>,
    /// Arrivals of the part at hand.
    arrivals: VecDeque<Nanos>,
    cascade: Stream,
    within: Stream,
    batches: Stream,
}

impl Bursts {
    pub(crate) fn new(
        per_s: f64,
        bias: f64,
        window_s: f64,
        levels: u32,
        batch: Batch,
        [cascade, within, batches]: [Stream; 3],
    ) -> Self {
        Self {
            per_s,
            bias,
            window_s,
            levels,
            batch,
            next_window: 0,
            parts: Vec::new(),
            arrivals: VecDeque::new(),
            cascade,
            within,
            batches,
        }
    }

    fn open_next_part(&mut self) {
        let Some(part) = self.parts.pop() else {
            self.parts.push(Part {
                begin_s: self.next_window as f64 * self.window_s,
                length_s: self.window_s,
                expected: self.per_s * self.window_s,
                level: 0,
            });
            self.next_window += 1;
            return;
        };
        if part.level == self.levels {
            let rate = part.expected / part.length_s;
            let mut at = self.within.standard_exponential() / rate;
            while at < part.length_s {
                self.arrivals
                    .push_back(Nanos::from_secs_f64(part.begin_s + at));
                at += self.within.standard_exponential() / rate;
            }
            return;
        }
        let first = if self.cascade.chance(0.5) {
            self.bias
        } else {
            1.0 - self.bias
        };
        let half = part.length_s / 2.0;
        for (begin_s, share) in [(part.begin_s + half, 1.0 - first), (part.begin_s, first)] {
            if share > 0.0 {
                self.parts.push(Part {
                    begin_s,
                    length_s: half,
                    expected: part.expected * share,
                    level: part.level + 1,
                });
            }
        }
    }
}

impl Iterator for Bursts {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        loop {
            if let Some(at) = self.arrivals.pop_front() {
                return Some(Arrival {
                    at,
                    class: Class::default(),
                    jobs: self.batch.draw(&mut self.batches),
                });
            }
            self.open_next_part();
        }
    }
}
