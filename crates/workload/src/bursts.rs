//! The b-model: a biased cascade.

use iosonar_sim_core::Stream;
use iosonar_sim_core::arrivals::{Arrival, BatchSize};
use iosonar_sim_core::network::Class;
use iosonar_units::Nanos;

use crate::span::Span;

/// A part of a window that has not been taken apart yet.
#[derive(Clone, Copy, Debug)]
struct Part {
    begin_s: f64,
    length_s: f64,
    /// The arrivals to expect.
    expected: f64,
    level: u32,
}

/// A part with fewer expected arrivals is not halved any more: the work is bounded by the
/// number of arrivals.
const FEW: f64 = 0.01;

/// Arrivals of window after window, each a cascade of its own.
#[derive(Clone, Debug)]
pub(crate) struct Bursts {
    per_s: f64,
    bias: f64,
    window_s: f64,
    levels: u32,
    batch: BatchSize,
    next_window: u64,
    /// The parts to come, the next one last: as many as there are levels.
    parts: Vec<Part>,
    /// The part at hand, which is not halved any more.
    leaf: Option<Span>,
    last: Nanos,
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
        batch: BatchSize,
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
            leaf: None,
            last: Nanos::ZERO,
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
        if part.level == self.levels || part.expected < FEW {
            let rate = part.expected / part.length_s;
            self.leaf = Some(Span::new(part.begin_s, part.length_s, rate));
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
            let next = self
                .leaf
                .as_mut()
                .and_then(|leaf| leaf.next_arrival(self.last, &mut self.within));
            if let Some(at) = next {
                self.last = at;
                return Some(Arrival {
                    at,
                    class: Class::default(),
                    jobs: self.batch.draw(&mut self.batches),
                });
            }
            self.leaf = None;
            self.open_next_part();
        }
    }
}
