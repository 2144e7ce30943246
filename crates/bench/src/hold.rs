//! The event calendar under the hold model: take an event out, put one in.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use iosonar_sim_core::{Calendar, Seed};
use iosonar_units::Nanos;

use crate::best_ns;
use crate::figure::{Figure, Group, Note};

const HOLDS: u64 = 1_000_000;
/// Drawn in advance, so that only the calendar is timed.
const DELAYS: usize = 1 << 16;

/// How far into the future an event is put.
#[derive(Clone, Copy)]
enum Increments {
    Exponential,
    /// Nine of ten short, one a hundred times as long.
    Bimodal,
    /// One of four values: many events of one instant.
    Ties,
}

fn delays(increments: Increments) -> Vec<Nanos> {
    let mut stream = Seed::new(1).stream("bench", "delay");
    let ms = Nanos::MILLISECOND;
    (0..DELAYS)
        .map(|_| match increments {
            Increments::Exponential => stream.exponential(ms),
            Increments::Bimodal if stream.chance(0.9) => {
                stream.exponential(Nanos::from_micros(100))
            }
            Increments::Bimodal => stream.exponential(Nanos::from_millis(10)),
            Increments::Ties => Nanos::new(250_000 * (1 + stream.below(4))),
        })
        .collect()
}

fn ours(pending: usize, delays: &[Nanos]) -> f64 {
    let mut calendar = Calendar::<u32>::default();
    for i in 0..pending {
        calendar.schedule(delays[i % DELAYS], i as u32);
    }
    let mut next = 0;
    let mut hold = || {
        for _ in 0..HOLDS {
            if let Some((now, event)) = calendar.pop() {
                calendar.schedule(now + delays[next % DELAYS], event);
                next += 1;
            }
        }
    };
    // Until the events are spread as they stay.
    hold();
    best_ns(HOLDS, hold)
}

/// The standard heap with the same exact keys.
fn standard(pending: usize, delays: &[Nanos]) -> f64 {
    let mut heap = BinaryHeap::new();
    let mut sequence = 0_u64;
    for i in 0..pending {
        heap.push(Reverse((delays[i % DELAYS].get(), sequence, i as u32)));
        sequence += 1;
    }
    let mut hold = || {
        for _ in 0..HOLDS {
            if let Some(Reverse((now, _, event))) = heap.pop() {
                let at = now + delays[sequence as usize % DELAYS].get();
                heap.push(Reverse((at, sequence, event)));
                sequence += 1;
            }
        }
    };
    hold();
    let ns = best_ns(HOLDS, hold);
    black_box(heap.len());
    ns
}

pub(crate) fn measure() -> Vec<Figure> {
    let mut figures = Vec::new();
    for (increments, name) in [
        (Increments::Exponential, "exponential"),
        (Increments::Bimodal, "bimodal"),
        (Increments::Ties, "ties"),
    ] {
        let delays = delays(increments);
        for pending in [16, 1_000, 100_000, 1_000_000] {
            let (ours, theirs) = (ours(pending, &delays), standard(pending, &delays));
            let note = Note::BinaryHeap { ns: theirs };
            let name = format!("{name}, {pending} pending");
            figures.push(Figure::new(Group::Calendar, name, "ns", ours).with(note));
        }
    }
    figures
}
