//! The points of charts, as they are seen.

use iosonar_analysis::{Flight, Watcher};
use iosonar_plot::{Cloud, Colour, Kind};
use iosonar_trace::Outcome;

use super::{Quantity, View};

/// The points of all views that are wanted.
#[derive(Clone)]
pub(super) struct Clouds {
    pub(super) quantity: Quantity,
    pub(super) of: [Option<Cloud>; View::ALL.len()],
}

impl Clouds {
    pub(super) fn push(&mut self, view: View, kind: u8, x: f64, y: f64) {
        if let Some(cloud) = &mut self.of[view as usize] {
            cloud.push(kind, x, y);
        }
    }

    /// Brings the points into the order in which they are drawn.
    pub(super) fn settle(&mut self) {
        self.of.iter_mut().flatten().for_each(Cloud::settle);
    }

    /// These views, and those of `others` that these do not have.
    pub(super) fn and(mut self, others: Self) -> Self {
        for (mine, other) in self.of.iter_mut().zip(others.of) {
            *mine = mine.take().or(other);
        }
        self
    }
}

pub(super) const READ: u8 = 0;
pub(super) const WRITE: u8 = 1;
pub(super) const HELD_READ: u8 = 2;
pub(super) const FAILED: u8 = 4;

pub(super) fn kinds() -> Vec<Kind> {
    let kind = |name: &str, colour| Kind {
        name: name.to_owned(),
        label: name.to_owned(),
        colour,
    };
    vec![
        kind("reads", Colour::Read),
        kind("writes", Colour::Write),
        kind(
            "reads held back by other requests in flight",
            Colour::HeldRead,
        ),
        kind(
            "writes held back by other requests in flight",
            Colour::HeldWrite,
        ),
        kind("failed or never submitted", Colour::Failed),
    ]
}

impl Watcher for Clouds {
    fn begun(&mut self, flight: &Flight, in_flight: u64) {
        if !flight.status.is_timed() {
            return;
        }
        let kind = kind_of(flight.is_read(), flight.pushed_back);
        let latency = flight.latency().as_secs_f64();
        let delay = flight.delay().as_secs_f64();
        self.push(View::LatencyByLoad, kind, in_flight as f64, latency);
        self.push(View::DelayByLoad, kind, in_flight as f64, delay);
    }

    fn ended(&mut self, flight: &Flight, number: u64) {
        if !flight.status.is_timed() {
            return;
        }
        let kind = kind_of(flight.is_read(), flight.pushed_back);
        let outcome = Outcome::done(flight.delay(), flight.latency());
        let time = self.quantity.of(&outcome).unwrap_or_default();
        self.push(View::Number, kind, number as f64, time.as_secs_f64());
        let delay = flight.delay().as_secs_f64();
        self.push(View::DelayNumber, kind, number as f64, delay);
    }
}

pub(super) fn kind_of(is_read: bool, pushed_back: bool) -> u8 {
    let direction = if is_read { READ } else { WRITE };
    direction + if pushed_back { HELD_READ } else { 0 }
}
