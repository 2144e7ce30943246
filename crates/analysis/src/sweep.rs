//! Requests in flight, in the order of time.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use iosonar_trace::{Op, Request};
use iosonar_units::Nanos;

/// A request as it is in flight. Flights are ordered by their beginnings; of equal ones by [`Flight::key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    /// When it was handed over.
    pub(crate) from: Nanos,
    /// When it was complete.
    pub(crate) until: Nanos,
    pub(crate) request: Request,
    /// Which record it is.
    pub(crate) number: u64,
}

impl Flight {
    pub(crate) fn is_read(&self) -> bool {
        self.request.op == Op::Read
    }

    /// No two flights have the same.
    fn key(&self) -> (Nanos, Nanos, bool, u16, u64) {
        let device = self.request.device;
        (self.from, self.until, self.is_read(), device, self.number)
    }
}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Flight {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Something that happens to a flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It ends at this moment.
    End(Flight),
    /// It begins at this moment.
    Begin(Flight),
}

impl Event {
    pub(crate) fn time(&self) -> Nanos {
        match self {
            Self::End(flight) => flight.until,
            Self::Begin(flight) => flight.from,
        }
    }
}

/// Puts the beginnings and ends of flights in order: flights come by intended start, and begin at it or
/// later.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    begins: BinaryHeap<Reverse<Flight>>,
    ends: BinaryHeap<Reverse<(Nanos, Flight)>>,
}

impl Sweep {
    pub(crate) fn push(&mut self, flight: Flight) {
        self.begins.push(Reverse(flight));
    }

    /// The next event that is certain to be the next when no later flight begins before `now`. Of equal
    /// times ends come first: a flight is a half-open interval.
    pub(crate) fn next(&mut self, now: Nanos) -> Option<Event> {
        let begin = self.begins.peek().map(|Reverse(flight)| flight.from);
        let end = self.ends.peek().map(|Reverse((until, _))| *until);
        match (begin, end) {
            (begin, Some(end)) if begin.is_none_or(|begin| end <= begin) && end <= now => {
                let Reverse((_, flight)) = self.ends.pop()?;
                Some(Event::End(flight))
            }
            (Some(begin), _) if begin < now => {
                let Reverse(flight) = self.begins.pop()?;
                self.ends.push(Reverse((flight.until, flight)));
                Some(Event::Begin(flight))
            }
            _ => None,
        }
    }
}
