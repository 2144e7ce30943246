//! The events to come.
//!
//! A device that serves one job at a time has at most one event to come, the end of its service, and of the arrivals
//! of an open load only the next one is known. The times of these events lie in an array, and the first of them is found
//! by looking at all: for a few disks this is faster than any calendar. All other events are in a [`Calendar`], as are those
//! of large arrays and of other devices. The order is that of one calendar, as the numbers that decide between events of
//! one instant are counted together.

use iosonar_device::Device;
use iosonar_sim_core::{Calendar, EventPriority};
use iosonar_units::Nanos;

use super::Event;

/// The events that have a place in the array, at most.
const PLACES: usize = 16;
/// Most arrays need no more.
const FEW: usize = 6;
/// The place of the next arrival. Those of the devices follow.
const ARRIVAL: usize = 0;
/// The order of no event: later than those of events, whose priorities are smaller.
const NO_EVENT: u64 = u64::MAX;
/// From this time on the [exact search](Agenda::first_of_all) decides: here the places without an event have their times.
const FAR: u64 = u64::MAX - PLACES as u64;

/// Requests arrive after all other events of the same nanosecond: requests that end then have left.
const ARRIVES_LAST: EventPriority = EventPriority(200);

pub(super) struct Agenda {
    /// When the event of each place happens. Those of places without an event are beyond [`FAR`] and different, so that
    /// equal times are rare.
    times: [u64; PLACES],
    orders: [u64; PLACES],
    /// How many places are used; none if all events are in the calendar.
    places: usize,
    /// Which request arrives next, of those that the load has planned.
    coming: u32,
    calendar: Calendar<Event>,
}

/// The time of a place without an event.
#[inline]
fn no_time(place: usize) -> u64 {
    u64::MAX - place as u64
}

impl Agenda {
    /// Without events; for these devices.
    pub(super) fn new<D: Device>(devices: &[D]) -> Self {
        let few = devices.len() < PLACES && devices.iter().all(Device::has_one_instant);
        Self {
            times: std::array::from_fn(no_time),
            orders: [NO_EVENT; PLACES],
            places: if few { devices.len() + 1 } else { 0 },
            coming: 0,
            calendar: Calendar::default(),
        }
    }

    /// The time of the last event that was popped.
    pub(super) fn now(&self) -> Nanos {
        self.calendar.now()
    }

    /// How many events have been popped so far.
    pub(super) fn events(&self) -> u64 {
        self.calendar.events()
    }

    /// Plans an event that has no place of its own.
    pub(super) fn schedule(&mut self, at: Nanos, event: Event) {
        self.calendar.schedule(at, event);
    }

    /// Plans it before those of the same instant that have a larger priority number.
    pub(super) fn schedule_with(&mut self, at: Nanos, priority: EventPriority, event: Event) {
        self.calendar.schedule_with(at, priority, event);
    }

    /// Plans the end of the service in progress at a device.
    #[inline]
    pub(super) fn end_service(&mut self, disk: usize, at: Nanos) {
        let place = disk + 1;
        if place < self.places {
            self.plan(place, at, EventPriority::default());
        } else {
            let disk = disk as u32;
            self.calendar.schedule(at, Event::ServiceEnd { disk });
        }
    }

    /// Plans the arrival of a request.
    #[inline]
    pub(super) fn arrive(&mut self, coming: u32, at: Nanos) {
        if ARRIVAL < self.places && self.orders[ARRIVAL] == NO_EVENT {
            self.coming = coming;
            self.plan(ARRIVAL, at, ARRIVES_LAST);
        } else {
            let arrival = Event::Arrival { coming };
            self.calendar.schedule_with(at, ARRIVES_LAST, arrival);
        }
    }

    #[inline]
    fn plan(&mut self, place: usize, at: Nanos, priority: EventPriority) {
        assert!(
            at >= self.now() && self.orders[place] == NO_EVENT,
            "an event in the past, or the second of a device that has one at a time"
        );
        self.times[place] = at.get();
        self.orders[place] = self.calendar.claim_order(priority);
    }

    /// Takes the next event out and sets the clock to its time.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<(Nanos, Event)> {
        let first = self.first();
        if !self.calendar.is_bare() && !self.comes_before_calendar(first) {
            return self.calendar.pop();
        }
        let (place, at) = first?;
        let place = place % PLACES;
        (self.times[place], self.orders[place]) = (no_time(place), NO_EVENT);
        let at = Nanos::new(at);
        self.calendar.pass(at);
        let event = match place {
            ARRIVAL => Event::Arrival {
                coming: self.coming,
            },
            device => Event::ServiceEnd {
                disk: device as u32 - 1,
            },
        };
        Some((at, event))
    }

    /// The time of the next event. It does not move the clock.
    pub(super) fn next_time(&mut self) -> Option<Nanos> {
        let here = self.first().map(|(_, at)| Nanos::new(at));
        let there = self.calendar.next_time();
        here.into_iter().chain(there).min()
    }

    /// The place and the time of the first event of the array, if there is one.
    #[inline(always)]
    fn first(&self) -> Option<(usize, u64)> {
        // A fixed number of places is looked at without a loop.
        let (first, at) = match self.places {
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
    fn first_of(&self, one: usize, other: usize) -> usize {
        match self.orders[one] < self.orders[other] {
            true => one,
            false => other,
        }
    }

    /// The same as [`first`](Self::first), at the end of time.
    #[cold]
    fn first_of_all(&self) -> Option<(usize, u64)> {
        let places = (0..self.places).filter(|&place| self.orders[place] != NO_EVENT);
        let first = places.min_by_key(|&place| (self.times[place], self.orders[place]));
        first.map(|place| (place, self.times[place]))
    }

    #[inline(never)]
    fn comes_before_calendar(&mut self, first: Option<(usize, u64)>) -> bool {
        let there = self.calendar.next_key();
        let before =
            |there| first.is_some_and(|(place, at)| (Nanos::new(at), self.orders[place]) < there);
        there.is_none_or(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_device::{Job, Mechanism, ServiceTime, Station, Waiting};
    use iosonar_sim_core::Seed;

    /// Serves nothing.
    #[derive(Clone)]
    struct Resting;

    impl Mechanism for Resting {
        type Place = ();

        fn place(&self, _: &Job) {}

        fn serve(&mut self, _: &Waiting<()>, _: Nanos, _: usize) -> ServiceTime {
            unreachable!("no job comes")
        }
    }

    /// Ends of services, arrivals and other events, many of one instant and some at the end of time, against one calendar.
    #[test]
    fn the_order_is_that_of_one_calendar() {
        for disks in [1, 4, 5, 6, 15, 16, 40] {
            let devices = vec![Station::new(Resting); disks];
            let mut random = Seed::new(1).stream("agenda", "test");
            let (mut agenda, mut calendar) = (Agenda::new(&devices), Calendar::default());
            let mut busy = vec![false; disks];
            for number in 0..20_000 {
                let far = random.below(2000) == 0;
                let at = match far {
                    true => Nanos::new(u64::MAX - random.below(20)),
                    false => agenda.now().saturating_add(Nanos::new(random.below(4))),
                };
                let at = at.max(agenda.now());
                let disk = random.below(disks as u64) as usize;
                match random.below(4) {
                    0 if !busy[disk] => {
                        busy[disk] = true;
                        agenda.end_service(disk, at);
                        let disk = disk as u32;
                        calendar.schedule(at, Event::ServiceEnd { disk });
                    }
                    1 if calendar.pending() < 30 => {
                        let arrival = Event::Arrival { coming: number };
                        agenda.arrive(number, at);
                        calendar.schedule_with(at, ARRIVES_LAST, arrival);
                    }
                    2 if random.chance(0.1) => {
                        agenda.schedule(at, Event::Issue { slot: number });
                        calendar.schedule(at, Event::Issue { slot: number });
                    }
                    _ => {
                        assert_eq!(agenda.next_time(), calendar.next_time());
                        let (ours, theirs) = (agenda.pop(), calendar.pop());
                        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
                        if let Some((_, Event::ServiceEnd { disk })) = ours {
                            busy[disk as usize] = false;
                        }
                    }
                }
                assert_eq!(agenda.events(), calendar.events());
                if agenda.now().get() > u64::MAX - 100 && calendar.pending() == 0 {
                    (agenda, calendar) = (Agenda::new(&devices), Calendar::default());
                }
            }
        }
    }
}
