//! The events to come.
//!
//! A device that serves one job at a time has at most one event to come, the end of its service, and of the arrivals
//! of an open load only the next one is known: these have places in a [`PlacedCalendar`]. All other events are scheduled
//! there without a place, as are those of large arrays and of other devices.

use iosonar_device::Device;
use iosonar_sim_core::{EventPriority, NextEvent, PlacedCalendar};
use iosonar_units::Nanos;

use super::Event;

/// The place of the next arrival. Those of the devices follow.
const ARRIVAL: usize = 0;

/// Requests arrive after all other events of the same nanosecond: requests that end then have left.
const ARRIVES_LAST: EventPriority = EventPriority(200);

pub(super) struct Agenda {
    calendar: PlacedCalendar<Event>,
    /// Which request arrives next, of those that the load has planned.
    coming: u32,
}

impl Agenda {
    /// Without events; for these devices.
    pub(super) fn new<D: Device>(devices: &[D]) -> Self {
        let places = devices.len() + 1;
        let few = places <= PlacedCalendar::<Event>::PLACES;
        let few = few && devices.iter().all(Device::has_one_instant);
        Self {
            calendar: PlacedCalendar::with_places(if few { places } else { 0 }),
            coming: 0,
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
        if place < self.calendar.places() {
            self.calendar.plan(place, at, EventPriority::default());
        } else {
            let disk = disk as u32;
            self.calendar.schedule(at, Event::ServiceEnd { disk });
        }
    }

    /// Plans the arrival of a request.
    #[inline]
    pub(super) fn arrive(&mut self, coming: u32, at: Nanos) {
        if ARRIVAL < self.calendar.places() && !self.calendar.is_planned(ARRIVAL) {
            self.coming = coming;
            self.calendar.plan(ARRIVAL, at, ARRIVES_LAST);
        } else {
            let arrival = Event::Arrival { coming };
            self.calendar.schedule_with(at, ARRIVES_LAST, arrival);
        }
    }

    /// Takes the next event out and sets the clock to its time.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<(Nanos, Event)> {
        let (place, at) = match self.calendar.next(Nanos::MAX) {
            NextEvent::None => return None,
            NextEvent::Other => return self.calendar.pop_other(),
            NextEvent::At(place, at) => (place, at),
        };
        self.calendar.clear(place);
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
        self.calendar.next_time()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_device::{Job, Mechanism, ServiceTime, Station, Waiting};
    use iosonar_sim_core::{Calendar, Seed};

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
