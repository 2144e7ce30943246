//! The events to come.
//!
//! A source, or a station with one server, has at most one event to come. The times of such events lie in an array, and
//! the first of them is found by looking at all: for a dozen it is faster than any calendar. All other events, and those
//! of further nodes, are in a [`Calendar`]. The order is that of one calendar, as the numbers that decide between events
//! of one instant are counted together.

use iosonar_units::Nanos;

use super::context::Event;
use crate::Calendar;

/// The events of this many nodes lie in the array.
const PLACES: usize = 16;
/// The place of a node whose events are in the calendar.
pub(super) const IN_CALENDAR: u32 = u32::MAX;
/// The number of no event. Those of events are smaller: they have the middle priority.
const NO_EVENT: u64 = u64::MAX;

#[derive(Clone)]
pub(super) struct Agenda {
    /// When the event of each place happens; the end of time if there is none.
    times: [u64; PLACES],
    orders: [u64; PLACES],
    events: [Event; PLACES],
    places: usize,
    pub(super) calendar: Calendar<Event>,
}

impl Default for Agenda {
    fn default() -> Self {
        Self {
            times: [u64::MAX; PLACES],
            orders: [NO_EVENT; PLACES],
            events: [Event::of(0); PLACES],
            places: 0,
            calendar: Calendar::default(),
        }
    }
}

impl Agenda {
    /// A place for the events of a node, of which there is at most one at a time, while there are places.
    pub(super) fn place(&mut self, node: u32) -> u32 {
        if self.places == PLACES {
            return IN_CALENDAR;
        }
        self.events[self.places] = Event::of(node);
        self.places += 1;
        self.places as u32 - 1
    }

    /// Plans the event of a node with the place `place`.
    #[inline(always)]
    pub(super) fn schedule(&mut self, place: u32, at: Nanos, event: Event) {
        if let Some(time) = self.times.get_mut(place as usize) {
            *time = at.get();
            self.orders[place as usize] = self.calendar.next_order();
            self.events[place as usize] = event;
        } else {
            self.calendar.schedule(at, event);
        }
    }

    /// The place of the first event of the array.
    #[inline(always)]
    fn first(&self) -> usize {
        let times = &self.times[..self.places];
        let (mut first, mut at, mut tie) = (0, u64::MAX, false);
        for (place, &time) in times.iter().enumerate() {
            let earlier = time < at;
            tie = (tie & !earlier) | (time == at);
            first = if earlier { place } else { first };
            at = if earlier { time } else { at };
        }
        match tie {
            true => self.first_at(at),
            false => first,
        }
    }

    /// Of several that happen at one time, the first in their order.
    #[inline(never)]
    fn first_at(&self, at: u64) -> usize {
        let places = (0..self.places).filter(|&place| self.times[place] == at);
        let first = places.min_by_key(|&place| self.orders[place]);
        first.expect("an event is at this time")
    }

    /// Takes the next event out and sets the clock to its time.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<(Nanos, Event)> {
        let place = self.first();
        let (at, order) = (self.times[place], self.orders[place]);
        if !self.calendar.is_bare() && self.calendar.comes_before(at, order) {
            return self.calendar.pop();
        }
        if order == NO_EVENT {
            return None;
        }
        (self.times[place], self.orders[place]) = (u64::MAX, NO_EVENT);
        self.calendar.pass(at);
        Some((Nanos::new(at), self.events[place]))
    }

    /// The time of the next event. It does not move the clock.
    pub(super) fn next_time(&mut self) -> Option<Nanos> {
        let place = self.first();
        let here = (self.orders[place] != NO_EVENT).then(|| Nanos::new(self.times[place]));
        let there = self.calendar.next_time();
        match (here, there) {
            (Some(here), Some(there)) => Some(here.min(there)),
            (one, other) => one.or(other),
        }
    }
}
