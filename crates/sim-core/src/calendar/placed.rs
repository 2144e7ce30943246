//! A calendar in which a few events have places of their own.
//!
//! A source has at most one event to come, and so has a station or a disk with one server. The times of such events lie
//! in an array, and the first of them is found by looking at all: for a dozen it is faster than any calendar. All other
//! events are in a [`Calendar`]. The order is that of one calendar, as the numbers that decide between events of one
//! instant are counted together.

use iosonar_units::Nanos;

use super::{Calendar, EventPriority};

/// Up to this many used places are looked at without a loop. Most arrays of disks need no more.
const FEW: usize = 6;
/// The order of no event. Those of events are smaller.
const NO_EVENT: u64 = u64::MAX;
/// From this time on the [exact search](PlacedCalendar::first_of_all) decides: here the places without an event have
/// their times.
const FAR: u64 = u64::MAX - PLACES as u64;
const PLACES: usize = PlacedCalendar::<()>::PLACES;

/// The next event of a [`PlacedCalendar`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextEvent {
    /// No event is to come by then.
    None,
    /// That of a place, at this time. The place keeps it until it is [cleared](PlacedCalendar::clear) or its event is
    /// [replaced](PlacedCalendar::replace).
    At(usize, Nanos),
    /// One without a place, for [`pop_other`](PlacedCalendar::pop_other).
    Other,
}

/// The events to come, of which those with a place need not be stored: there is at most one for each place.
#[derive(Clone, Debug)]
pub struct PlacedCalendar<T> {
    /// When the event of each place happens. Those of places without an event are beyond [`FAR`] and different, so that
    /// equal times are rare.
    times: [u64; PLACES],
    orders: [u64; PLACES],
    used: usize,
    others: Calendar<T>,
}

/// The time of a place without an event.
#[inline(always)]
fn no_time(place: usize) -> u64 {
    u64::MAX - place as u64
}

impl<T> PlacedCalendar<T> {
    /// The most places that a calendar can have.
    pub const PLACES: usize = 16;
}

impl<T: Copy> PlacedCalendar<T> {
    /// A calendar without events, with this number of places.
    ///
    /// # Panics
    /// If there are more than [`PLACES`](Self::PLACES).
    pub fn with_places(places: usize) -> Self {
        assert!(places <= PLACES, "{places} places, of at most {PLACES}");
        Self {
            times: std::array::from_fn(no_time),
            orders: [NO_EVENT; PLACES],
            used: places,
            others: Calendar::default(),
        }
    }

    /// How many places there are.
    #[inline]
    pub fn places(&self) -> usize {
        self.used
    }

    /// The time of the last event.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.others.now()
    }

    /// How many events have happened so far.
    pub fn events(&self) -> u64 {
        self.others.events()
    }

    /// Plans an event without a place.
    ///
    /// # Panics
    /// If `at` lies before [`now`](Self::now).
    #[inline]
    pub fn schedule(&mut self, at: Nanos, event: T) {
        self.others.schedule(at, event);
    }

    /// Plans an event without a place, before all of that instant with a larger priority number.
    ///
    /// # Panics
    /// If `at` lies before [`now`](Self::now).
    #[inline]
    pub fn schedule_with(&mut self, at: Nanos, priority: EventPriority, event: T) {
        self.others.schedule_with(at, priority, event);
    }

    /// The events without a place, which are cancelled there.
    #[inline(always)]
    pub(crate) fn others(&mut self) -> &mut Calendar<T> {
        &mut self.others
    }

    /// Whether an event of this place is to come.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline]
    pub fn is_planned(&self, place: usize) -> bool {
        self.orders[place] != NO_EVENT
    }

    /// Plans the event of a place.
    ///
    /// # Panics
    /// If there is no such place, if it has an event, or if `at` lies before [`now`](Self::now).
    #[inline(always)]
    pub fn plan(&mut self, place: usize, at: Nanos, priority: EventPriority) {
        assert!(
            place < self.used && at >= self.now() && self.orders[place] == NO_EVENT,
            "an event in the past, the second one of a place, or no such place"
        );
        self.times[place] = at.get();
        self.orders[place] = self.others.claim_order(priority);
    }

    /// Where the next event is, if it happens until `end`. If it has a place, it counts as happened, and the place must
    /// be cleared or its event replaced before this is called again.
    #[inline(always)]
    pub fn next(&mut self, end: Nanos) -> NextEvent {
        let first = self.first();
        if !self.others.is_bare() && !self.comes_before_others(first) {
            return match self.others.next_time() {
                Some(at) if at <= end => NextEvent::Other,
                _ => NextEvent::None,
            };
        }
        match first {
            Some((place, at)) if at <= end.get() => {
                let at = Nanos::new(at);
                self.others.pass(at);
                NextEvent::At(place, at)
            }
            _ => NextEvent::None,
        }
    }

    /// Takes the next event without a place out, and sets the clock to its time.
    #[inline]
    pub fn pop_other(&mut self) -> Option<(Nanos, T)> {
        self.others.pop()
    }

    /// The event of a place, of which there is one, has happened: none is there.
    #[inline(always)]
    pub fn clear(&mut self, place: usize) {
        debug_assert!(place < self.used, "no such place");
        let place = place % PLACES;
        (self.times[place], self.orders[place]) = (no_time(place), NO_EVENT);
    }

    /// The event of a place has happened, and the next one there is planned with the default priority, if there is one.
    ///
    /// # Panics
    /// If it lies before [`now`](Self::now).
    #[inline(always)]
    pub fn replace(&mut self, place: usize, next: Option<Nanos>) {
        debug_assert!(place < self.used, "no such place");
        match next {
            Some(at) => {
                assert!(at >= self.now(), "an event in the past");
                self.times[place % PLACES] = at.get();
                self.orders[place % PLACES] = self.others.claim_order(EventPriority::default());
            }
            None => self.clear(place),
        }
    }

    /// The time of the next event. It does not move the clock.
    pub fn next_time(&mut self) -> Option<Nanos> {
        let here = self.first().map(|(_, at)| Nanos::new(at));
        let there = self.others.next_time();
        match (here, there) {
            (Some(here), Some(there)) => Some(here.min(there)),
            (one, other) => one.or(other),
        }
    }

    /// The place and the time of the first event that has a place.
    #[inline(always)]
    fn first(&self) -> Option<(usize, u64)> {
        let (first, at) = match self.used {
            0..=FEW => self.first_among::<FEW>(),
            _ => self.first_among::<PLACES>(),
        };
        if at >= FAR {
            return self.first_of_all();
        }
        Some((first, at))
    }

    #[inline(always)]
    fn first_among<const N: usize>(&self) -> (usize, u64) {
        let (mut first, mut at) = (0, self.times[0]);
        for place in 1..N {
            let time = self.times[place];
            if time == at {
                first = self.first_of(first, place);
                continue;
            }
            // Selected rather than jumped over: which one is earlier cannot be predicted.
            let earlier = time < at;
            first = if earlier { place } else { first };
            at = if earlier { time } else { at };
        }
        (first, at)
    }

    /// Of two places whose events happen at one time, the one that comes first.
    #[cold]
    #[inline(never)]
    fn first_of(&self, one: usize, other: usize) -> usize {
        match self.orders[one] < self.orders[other] {
            true => one,
            false => other,
        }
    }

    /// The same as [`first`](Self::first), at the end of time.
    #[cold]
    #[inline(never)]
    fn first_of_all(&self) -> Option<(usize, u64)> {
        let places = (0..self.used).filter(|&place| self.orders[place] != NO_EVENT);
        let first = places.min_by_key(|&place| (self.times[place], self.orders[place]));
        first.map(|place| (place, self.times[place]))
    }

    #[inline(never)]
    fn comes_before_others(&mut self, first: Option<(usize, u64)>) -> bool {
        let there = self.others.next_key();
        let before =
            |there| first.is_some_and(|(place, at)| (Nanos::new(at), self.orders[place]) < there);
        there.is_none_or(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    /// Arrivals come last of their instant, as those of an array do.
    fn priority(place: usize) -> EventPriority {
        EventPriority(if place == 0 { 200 } else { 128 })
    }

    fn pop(placed: &mut PlacedCalendar<usize>, end: Nanos) -> Option<(Nanos, usize)> {
        match placed.next(end) {
            NextEvent::None => None,
            NextEvent::At(place, at) => {
                placed.clear(place);
                Some((at, place))
            }
            NextEvent::Other => placed.pop_other(),
        }
    }

    /// Events with a place and without, many of one instant and some at the end of time, against one calendar.
    #[test]
    fn the_order_is_that_of_one_calendar() {
        for places in [0, 1, 5, 6, 7, 15, 16] {
            let mut random = Seed::new(1).stream("placed", "test");
            let mut placed = PlacedCalendar::with_places(places);
            let mut calendar = Calendar::default();
            for number in 0..20_000 {
                let at = match random.below(2000) {
                    0 => Nanos::MAX,
                    1 => Nanos::new(u64::MAX - random.below(20)),
                    _ => placed.now().saturating_add(Nanos::new(random.below(4))),
                };
                let at = at.max(placed.now());
                let place = random.below(20) as usize;
                if place < places && !placed.is_planned(place) {
                    placed.plan(place, at, priority(place));
                    calendar.schedule_with(at, priority(place), place);
                } else if random.chance(0.1) {
                    placed.schedule(at, 100 + number);
                    calendar.schedule(at, 100 + number);
                } else {
                    let next = calendar.next_time();
                    assert_eq!(placed.next_time(), next);
                    if let Some(at) = next.filter(|&at| at > placed.now()) {
                        assert!(pop(&mut placed, Nanos::new(at.get() - 1)).is_none());
                    }
                    let (ours, theirs) = (pop(&mut placed, Nanos::MAX), calendar.pop());
                    assert_eq!(ours, theirs);
                    if let Some((now, event)) = ours.filter(|&(_, event)| 0 < event && event < 16)
                        && random.chance(0.5)
                    {
                        let at = now.saturating_add(Nanos::new(random.below(4)));
                        placed.replace(event, Some(at));
                        calendar.schedule(at, event);
                    }
                }
                assert_eq!(placed.events(), calendar.events());
                if placed.now().get() > u64::MAX - 100 && calendar.pending() == 0 {
                    placed = PlacedCalendar::with_places(places);
                    calendar = Calendar::default();
                }
            }
        }
    }

    #[test]
    fn a_place_is_planned_until_its_event_comes() {
        let mut placed = PlacedCalendar::<()>::with_places(2);
        assert!(!placed.is_planned(1));
        placed.plan(1, Nanos::new(5), EventPriority::default());
        assert_eq!([0, 1].map(|place| placed.is_planned(place)), [false, true]);
        assert_eq!(placed.next(Nanos::MAX), NextEvent::At(1, Nanos::new(5)));
        placed.clear(1);
        assert!(!placed.is_planned(1));
    }

    #[test]
    #[should_panic(expected = "the second one of a place")]
    fn a_place_has_one_event_at_a_time() {
        let mut placed = PlacedCalendar::<()>::with_places(2);
        placed.plan(1, Nanos::new(5), EventPriority::default());
        placed.plan(1, Nanos::new(6), EventPriority::default());
    }

    #[test]
    #[should_panic(expected = "an event in the past")]
    fn no_event_of_a_place_is_in_the_past() {
        let mut placed = PlacedCalendar::<()>::with_places(2);
        placed.plan(1, Nanos::new(5), EventPriority::default());
        assert_eq!(placed.next(Nanos::MAX), NextEvent::At(1, Nanos::new(5)));
        placed.clear(1);
        placed.plan(0, Nanos::new(4), EventPriority::default());
    }

    #[test]
    fn priorities_decide_between_events_with_a_place_and_without() {
        let mut placed = PlacedCalendar::with_places(3);
        assert_eq!(placed.places(), 3);
        let at = Nanos::new(5);
        placed.schedule_with(at, EventPriority(200), 102);
        placed.plan(1, at, EventPriority(150));
        placed.plan(2, at, EventPriority::default());
        placed.schedule_with(at, EventPriority(0), 101);
        placed.schedule_with(Nanos::new(4), EventPriority(255), 100);
        let order = std::iter::from_fn(|| pop(&mut placed, Nanos::MAX).map(|(_, event)| event));
        assert_eq!(order.collect::<Vec<_>>(), [100, 101, 2, 1, 102]);
    }
}
