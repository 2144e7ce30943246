//! The events to come.
//!
//! A source, or a station with one server, has at most one event to come. The times of such events lie in an array, and
//! the first of them is found by looking at all: for a dozen it is faster than any calendar. All other events, and those
//! of further nodes, are in a [`Calendar`]. The order is that of one calendar, as the numbers that decide between events
//! of one instant are counted together.

use iosonar_units::Nanos;

use super::context::Event;
use crate::{Calendar, EventPriority};

/// The events of this many nodes lie in the array.
const PLACES: usize = 16;
/// The place of a node whose events are in the calendar.
pub(super) const IN_CALENDAR: u32 = u32::MAX;
/// The number of no event. Those of events are smaller: they have the middle priority.
const NO_EVENT: u64 = u64::MAX;

/// No event of the array happens at this time or later, as far as its scan is concerned: there, the [exact
/// one](Agenda::first_of_all) decides.
const FAR: u64 = u64::MAX - PLACES as u64;

/// Where the next event is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// No event is to come by then.
    None,
    /// In a place of the array, from which it is to be removed, and at this time.
    At(usize, Nanos),
    InCalendar,
}

#[derive(Clone)]
pub(super) struct Agenda {
    /// When the event of each place happens. Those of places without an event are beyond [`FAR`] and different, so that
    /// equal times are rare.
    times: [u64; PLACES],
    orders: [u64; PLACES],
    events: [Event; PLACES],
    places: usize,
    pub(super) calendar: Calendar<Event>,
}

impl Default for Agenda {
    fn default() -> Self {
        Self {
            times: std::array::from_fn(no_time),
            orders: [NO_EVENT; PLACES],
            events: [Event::of(0); PLACES],
            places: 0,
            calendar: Calendar::default(),
        }
    }
}

/// The time of a place without an event.
#[inline(always)]
fn no_time(place: usize) -> u64 {
    u64::MAX - place as u64
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

    /// Plans an event with the place `place`.
    #[inline(always)]
    pub(super) fn schedule(&mut self, place: u32, at: Nanos, event: Event) {
        if let Some(planned) = self.events.get_mut(place as usize) {
            *planned = event;
        }
        self.plan_event(place, at, event);
    }

    /// Plans the event of a node with the place `place`, which it does not share with other events.
    #[inline(always)]
    pub(super) fn plan(&mut self, place: u32, at: Nanos, node: u32) {
        self.plan_event(place, at, Event::of(node));
    }

    #[inline(always)]
    fn plan_event(&mut self, place: u32, at: Nanos, event: Event) {
        let place = place as usize;
        if place < PLACES {
            self.times[place] = at.get();
            self.orders[place] = self.calendar.claim_order(EventPriority::default());
        } else {
            self.calendar.schedule(at, event);
        }
    }

    /// The place and the time of the first event of the array, if there is one.
    #[inline(always)]
    fn first(&self) -> Option<(usize, u64)> {
        let (mut first, mut at) = (0, self.times[0]);
        for place in 1..self.places {
            let time = self.times[place % PLACES];
            if time == at {
                first = self.first_of(first, place);
                continue;
            }
            let earlier = time < at;
            first = if earlier { place } else { first };
            at = if earlier { time } else { at };
        }
        if at >= FAR {
            return self.first_of_all();
        }
        Some((first, at))
    }

    /// Of two places whose events happen at one time, the one that comes first.
    #[inline(never)]
    fn first_of(&self, one: usize, other: usize) -> usize {
        match self.orders[one] < self.orders[other] {
            true => one,
            false => other,
        }
    }

    /// The same, at the end of time.
    #[inline(never)]
    fn first_of_all(&self) -> Option<(usize, u64)> {
        let places = (0..self.places).filter(|&place| self.orders[place] != NO_EVENT);
        let first = places.min_by_key(|&place| (self.times[place], self.orders[place]));
        first.map(|place| (place, self.times[place]))
    }

    /// Where the next event is, if it happens until `end`. If it has a place, the clock is set to its time.
    #[inline(always)]
    pub(super) fn next(&mut self, end: Nanos) -> Next {
        let first = self.first();
        if !self.calendar.is_bare() && !self.comes_before_calendar(first) {
            return match self.calendar.next_time() {
                Some(at) if at <= end => Next::InCalendar,
                _ => Next::None,
            };
        }
        match first {
            Some((place, at)) if at <= end.get() => {
                self.calendar.pass(Nanos::new(at));
                Next::At(place, Nanos::new(at))
            }
            _ => Next::None,
        }
    }

    #[inline(never)]
    fn comes_before_calendar(&mut self, first: Option<(usize, u64)>) -> bool {
        let there = self.calendar.next_key();
        let before =
            |there| first.is_some_and(|(place, at)| (Nanos::new(at), self.orders[place]) < there);
        there.is_none_or(before)
    }

    /// The event of a place has happened: none is there, unless another one was planned at this time.
    #[inline(always)]
    pub(super) fn clear(&mut self, place: usize) {
        let place = place % PLACES;
        (self.times[place], self.orders[place]) = (no_time(place), NO_EVENT);
    }

    /// The event of a place has happened, and the next one there is planned, if there is one.
    #[inline(always)]
    pub(super) fn replace(&mut self, place: usize, next: Option<Nanos>) {
        match next {
            Some(at) => {
                self.times[place % PLACES] = at.get();
                self.orders[place % PLACES] = self.calendar.claim_order(EventPriority::default());
            }
            None => self.clear(place),
        }
    }

    /// The event that a place has, or had last.
    pub(super) fn event(&self, place: usize) -> Event {
        self.events[place]
    }

    /// The time of the next event. It does not move the clock.
    pub(super) fn next_time(&mut self) -> Option<Nanos> {
        let here = self.first().map(|(_, at)| Nanos::new(at));
        let there = self.calendar.next_time();
        match (here, there) {
            (Some(here), Some(there)) => Some(here.min(there)),
            (one, other) => one.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pop(agenda: &mut Agenda, end: Nanos) -> Option<(Nanos, Event)> {
        match agenda.next(end) {
            Next::None => None,
            Next::At(place, at) => {
                agenda.clear(place);
                Some((at, agenda.event(place)))
            }
            Next::InCalendar => agenda.calendar.pop(),
        }
    }

    /// Events of nodes with a place and of others, many at one time, against one calendar.
    #[test]
    fn the_order_is_that_of_one_calendar() {
        let mut random = crate::Seed::new(1).stream("agenda", "test");
        let (mut agenda, mut calendar) = (Agenda::default(), Calendar::default());
        let places: Vec<u32> = (0..20).map(|node| agenda.place(node)).collect();
        assert_eq!(places[16], IN_CALENDAR);
        let mut pending = [0; 20];
        let mut now = Nanos::ZERO;
        for _ in 0..20_000 {
            let node = random.below(20) as u32;
            if random.chance(0.5)
                && (pending[node as usize] == 0 || places[node as usize] == IN_CALENDAR)
            {
                pending[node as usize] += 1;
                let at = match random.below(50) {
                    0 => Nanos::MAX,
                    1 => Nanos::new(u64::MAX - random.below(20)),
                    _ => now.saturating_add(Nanos::new(random.below(4))),
                };
                let at = at.max(now);
                agenda.schedule(places[node as usize], at, Event::end(node, 7));
                calendar.schedule(at, node);
            } else if random.chance(0.9) {
                let expected = calendar.next_time();
                assert_eq!(agenda.next_time(), expected);
                if let Some(at) = expected.filter(|&at| at > now) {
                    assert!(pop(&mut agenda, Nanos::new(at.get() - 1)).is_none());
                }
                let popped = pop(&mut agenda, Nanos::MAX);
                assert_eq!(popped.map(|(at, event)| (at, event.node)), calendar.pop());
                if let Some((at, event)) = popped {
                    pending[event.node as usize] -= 1;
                    // Near the end of time, all begins anew.
                    now = if at.get() < u64::MAX - 100 { at } else { now };
                    if at > now {
                        (agenda, calendar) = (Agenda::default(), Calendar::default());
                        for node in 0..20 {
                            agenda.place(node);
                        }
                        pending = [0; 20];
                    }
                }
            }
            assert_eq!(agenda.calendar.events(), calendar.events());
        }
    }
}
