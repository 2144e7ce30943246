//! The events to come.
//!
//! A source, or a station with one server, has at most one event to come: it has a place in a [`PlacedCalendar`] while
//! there are places. All other events, and those of further nodes, are scheduled there without a place.

use iosonar_units::Nanos;

use super::context::Event;
use crate::calendar::{NextEvent, PlacedCalendar};
use crate::{Calendar, EventPriority};

/// The events of this many nodes have a place.
const PLACES: usize = PlacedCalendar::<Event>::PLACES;
/// The place of a node whose events have none.
pub(super) const NO_PLACE: u32 = u32::MAX;

#[derive(Clone)]
pub(super) struct Agenda {
    /// The event of each place.
    events: [Event; PLACES],
    calendar: PlacedCalendar<Event>,
}

impl Agenda {
    /// With a place for the events of each of these nodes, of which there is at most one at a time, while there are
    /// places.
    pub(super) fn of<'a>(nodes: impl Iterator<Item = (u32, &'a mut u32)>) -> Self {
        let mut events = [Event::of(0); PLACES];
        let mut places = 0;
        for (node, place) in nodes {
            *place = NO_PLACE;
            if let Some(event) = events.get_mut(places) {
                (*event, *place) = (Event::of(node), places as u32);
                places += 1;
            }
        }
        Self {
            events,
            calendar: PlacedCalendar::with_places(places),
        }
    }

    /// The events that have no place.
    #[inline(always)]
    pub(super) fn calendar(&mut self) -> &mut Calendar<Event> {
        self.calendar.others()
    }

    /// How many events have happened.
    pub(super) fn happened(&self) -> u64 {
        self.calendar.events()
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
        if place == NO_PLACE {
            self.calendar.schedule(at, event);
        } else {
            let place = place as usize;
            self.calendar.plan(place, at, EventPriority::default());
        }
    }

    /// Where the next event is, if it happens until `end`.
    #[inline(always)]
    pub(super) fn next(&mut self, end: Nanos) -> NextEvent {
        self.calendar.next(end)
    }

    /// The event of a place has happened, and the next one there is planned, if there is one.
    #[inline(always)]
    pub(super) fn replace(&mut self, place: usize, next: Option<Nanos>) {
        self.calendar.replace(place, next);
    }

    /// Takes the event of a place, which has happened.
    #[inline(always)]
    pub(super) fn take(&mut self, place: usize) -> Event {
        self.calendar.clear(place);
        self.events[place]
    }

    /// The time of the next event. It does not move the clock.
    pub(super) fn next_time(&mut self) -> Option<Nanos> {
        self.calendar.next_time()
    }
}
