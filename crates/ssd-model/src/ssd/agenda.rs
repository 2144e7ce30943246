//! The events to come of one device.
//!
//! A device has few events to come at a time, one for each busy server: most of them within a microsecond, those of
//! flash dies much later. So the *near* events are a short sorted list, in which an event moves past a few others,
//! and what finds no room there is in a heap, the *far* events. Either may hold the next one.
//!
//! The order is total: by time, then by order of scheduling.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use iosonar_units::Nanos;

/// How many events are near at most.
const NEAR_MOST: usize = 16;

/// An event to come.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: u64,
    /// How many were scheduled before it.
    number: u64,
    event: E,
}

impl<E> Entry<E> {
    #[inline]
    fn comes_before(&self, other: &Self) -> bool {
        (self.at, self.number) < (other.at, other.number)
    }
}

/// In the order of a heap, whose first entry is the largest: the earliest one.
impl<E> Ord for Entry<E> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<E> PartialOrd for Entry<E> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<E> Eq for Entry<E> {}

/// The events to come, earliest first.
#[derive(Clone, Debug)]
pub(super) struct Agenda<E> {
    /// Sorted, the earliest last.
    near: Vec<Entry<E>>,
    far: BinaryHeap<Entry<E>>,
    now: Nanos,
    scheduled: u64,
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self {
            near: Vec::with_capacity(NEAR_MOST),
            far: BinaryHeap::new(),
            now: Nanos::ZERO,
            scheduled: 0,
        }
    }
}

impl<E: Copy> Agenda<E> {
    /// The time of the last event that was taken.
    #[inline]
    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    /// Plans `event` for the instant `at`, which is not over.
    #[inline]
    pub(super) fn schedule(&mut self, at: Nanos, event: E) {
        assert!(at >= self.now, "an event was scheduled for the past");
        let entry = Entry {
            at: at.get(),
            number: self.scheduled,
            event,
        };
        self.scheduled += 1;
        if self.near.len() == NEAR_MOST {
            self.schedule_in_full(entry);
            return;
        }
        self.near.push(entry);
        // Slices that get shorter need no check of a place.
        let mut open = self.near.as_mut_slice();
        while let [earlier @ .., last] = open {
            match earlier.last() {
                Some(before) if before.at <= entry.at => *last = *before,
                _ => {
                    *last = entry;
                    break;
                }
            }
            open = earlier;
        }
    }

    /// The list of near events is full: the latest one goes.
    fn schedule_in_full(&mut self, entry: Entry<E>) {
        if self.near[0].comes_before(&entry) {
            self.far.push(entry);
            return;
        }
        self.far.push(self.near[0]);
        let mut place = 0;
        while place + 1 < NEAR_MOST && !self.near[place + 1].comes_before(&entry) {
            self.near[place] = self.near[place + 1];
            place += 1;
        }
        self.near[place] = entry;
    }

    /// Whether the next event is a near one; `None` if there is no event.
    #[inline]
    fn next_is_near(&self) -> Option<bool> {
        match (self.near.last(), self.far.peek()) {
            (Some(near), Some(far)) => Some(near.comes_before(far)),
            (Some(_), None) => Some(true),
            (None, Some(_)) => Some(false),
            (None, None) => None,
        }
    }

    /// The time of the next event.
    #[inline]
    pub(super) fn next_time(&self) -> Option<Nanos> {
        let next = match self.next_is_near()? {
            true => self.near.last(),
            false => self.far.peek(),
        };
        next.map(|entry| Nanos::new(entry.at))
    }

    /// Takes the next event if it comes up to and with `now`, or before `until`, and sets the clock to its time.
    #[inline]
    pub(super) fn take(&mut self, now: Nanos, until: Nanos) -> Option<(Nanos, E)> {
        let is_near = self.next_is_near()?;
        let next = match is_near {
            true => self.near.last()?,
            false => self.far.peek()?,
        };
        let (at, event) = (Nanos::new(next.at), next.event);
        if at > now && at >= until {
            return None;
        }
        match is_near {
            true => drop(self.near.pop()),
            false => drop(self.far.pop()),
        }
        self.now = at;
        Some((at, event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_by_time_and_then_in_the_order_of_scheduling(
            steps in prop::collection::vec((0..6_u64, 0..40_u64, any::<bool>()), 1..600)
        ) {
            let mut agenda = Agenda::default();
            // Sorted, the earliest last.
            let mut expected: Vec<(u64, usize)> = Vec::new();
            for (number, (taken, delay, is_long)) in steps.into_iter().enumerate() {
                let at = agenda.now().get() + if is_long { 20 * delay } else { delay / 8 };
                agenda.schedule(Nanos::new(at), number);
                expected.push((at, number));
                expected.sort_unstable_by(|a, b| b.cmp(a));
                for _ in 0..taken.saturating_sub(3) {
                    prop_assert_eq!(agenda.next_time(), expected.last().map(|e| Nanos::new(e.0)));
                    let next = agenda.take(Nanos::ZERO, Nanos::MAX);
                    prop_assert_eq!(next, expected.pop().map(|(at, n)| (Nanos::new(at), n)));
                }
            }
            while let Some((at, number)) = expected.pop() {
                prop_assert_eq!(agenda.take(Nanos::MAX, Nanos::ZERO), Some((Nanos::new(at), number)));
            }
            prop_assert_eq!(agenda.next_time(), None);
        }
    }

    #[test]
    fn an_event_is_taken_up_to_and_with_now_and_before_the_limit() {
        let mut agenda = Agenda::default();
        let at = Nanos::new(5);
        agenda.schedule(at, ());
        assert_eq!(agenda.take(Nanos::new(4), Nanos::new(5)), None);
        assert_eq!(agenda.now(), Nanos::ZERO);
        let mut other = agenda.clone();
        assert_eq!(agenda.take(Nanos::new(5), Nanos::ZERO), Some((at, ())));
        assert_eq!(other.take(Nanos::new(1), Nanos::new(6)), Some((at, ())));
    }
}
