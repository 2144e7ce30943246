//! Requests in flight, in the order of time.

use std::cmp::Ordering;

use iosonar_trace::{Op, Request, Status};
use iosonar_units::Nanos;

use crate::ascending::Ascending;

/// A request as it is in flight. Flights are ordered by their beginnings; of equal ones
/// by their ends, directions, devices, numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// When it was submitted.
    pub from: Nanos,
    /// When it was complete.
    pub until: Nanos,
    /// What was asked.
    pub request: Request,
    /// How it ended.
    pub status: Status,
    /// Whether it waited for another that it overlaps.
    pub pushed_back: bool,
    /// Which record it is.
    pub(crate) number: u64,
}

impl Flight {
    /// Whether it is a read.
    pub fn is_read(&self) -> bool {
        self.request.op == Op::Read
    }

    /// How long it took.
    pub fn latency(&self) -> Nanos {
        self.until.saturating_sub(self.from)
    }

    /// How late it was submitted.
    pub fn delay(&self) -> Nanos {
        self.from.saturating_sub(self.request.start)
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

/// Receives the begin and end of requests, in the order of time.
pub trait Watcher {
    /// A request was submitted; `in_flight` are in flight now, itself included.
    fn begun(&mut self, flight: &Flight, in_flight: u64);
    /// A request is complete, as the `number`th, from zero.
    fn ended(&mut self, flight: &Flight, number: u64);
}

/// Nobody.
impl Watcher for () {
    fn begun(&mut self, _: &Flight, _: u64) {}
    fn ended(&mut self, _: &Flight, _: u64) {}
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Sweep {
    begins: Ascending<Flight>,
    ends: Ascending<(Nanos, Flight)>,
}

impl Sweep {
    pub(crate) fn push(&mut self, flight: Flight) {
        self.begins.push(flight);
    }

    /// The next event that is certain to be the next when no later flight begins before `now`. Of equal
    /// times ends come first: a flight is a half-open interval.
    pub(crate) fn next(&mut self, now: Nanos) -> Option<Event> {
        let begin = self.begins.first().map(|flight| flight.from);
        let end = self.ends.first().map(|(until, _)| *until);
        match (begin, end) {
            (begin, Some(end)) if begin.is_none_or(|begin| end <= begin) && end <= now => {
                let (_, flight) = self.ends.pop()?;
                Some(Event::End(flight))
            }
            (Some(begin), _) if begin < now => {
                let flight = self.begins.pop()?;
                self.ends.push((flight.until, flight));
                Some(Event::Begin(flight))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(number: u64, from: u64, until: u64) -> Flight {
        Flight {
            from: Nanos::new(from),
            until: Nanos::new(until),
            request: Request {
                start: Nanos::new(3),
                ..Request::default()
            },
            status: Status::Done,
            pushed_back: false,
            number,
        }
    }

    #[test]
    fn a_flight_begins_after_its_delay_and_lasts_for_its_latency() {
        let of = flight(1, 10, 25);
        assert_eq!((of.delay(), of.latency()), (Nanos::new(7), Nanos::new(15)));
        assert!(of.is_read());
    }

    #[test]
    fn ends_come_before_beginnings_at_the_same_time_and_none_before_it_is_certain() {
        let mut sweep = Sweep::default();
        for of in [flight(1, 10, 20), flight(2, 20, 30), flight(3, 15, 20)] {
            sweep.push(of);
        }
        let mut events = |now: u64| -> Vec<(bool, u64)> {
            let all = std::iter::from_fn(|| sweep.next(Nanos::new(now)));
            all.map(|event| match event {
                Event::Begin(of) => (true, of.number),
                Event::End(of) => (false, of.number),
            })
            .collect()
        };
        // A flight that begins now may be followed by one that begins now, too; an end comes before both.
        assert!(events(10).is_empty());
        assert_eq!(events(11), [(true, 1)]);
        assert_eq!(events(19), [(true, 3)]);
        assert_eq!(events(20), [(false, 1), (false, 3)]);
        assert_eq!(events(21), [(true, 2)]);
        assert_eq!(events(u64::MAX), [(false, 2)]);
    }
}
