//! The events to come of one device.
//!
//! A device has few events to come at a time, one for each busy server: most of them within a microsecond, those of
//! flash dies much later. So the *near* events are a short sorted list, in which an event moves past a few others;
//! the [far] ones are kept apart, and do not lengthen it. Either may hold the next one.
//!
//! The order is total: by time, then by order of scheduling.

mod far;

use std::cmp::Ordering;

use iosonar_units::Nanos;

use far::Far;

/// How many events are near at most.
const NEAR_MOST: usize = 16;
/// An event is far if it comes so long after it is scheduled, in nanoseconds: longer than what is sent across a link.
const FAR_FROM: u64 = 4096;

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
    fn key(&self) -> (u64, u64) {
        (self.at, self.number)
    }
}

/// In the order of a heap, whose first entry is the largest: the earliest one.
impl<E> Ord for Entry<E> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
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
    far: Far<E>,
    now: Nanos,
    scheduled: u64,
}

impl<E: Copy> Default for Agenda<E> {
    fn default() -> Self {
        Self {
            near: Vec::with_capacity(NEAR_MOST),
            far: Far::default(),
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
        if self.near.len() == NEAR_MOST || (at - self.now).get() >= FAR_FROM {
            self.schedule_far(entry);
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

    /// An event is far, or there is no room for it among the near ones: the latest goes there. Out of the way of near
    /// events, of which there are many more.
    #[inline(never)]
    fn schedule_far(&mut self, entry: Entry<E>) {
        if (Nanos::new(entry.at) - self.now).get() >= FAR_FROM {
            self.far.push(entry);
            return;
        }
        let later = self.near.partition_point(|near| near.at > entry.at);
        let Some(place) = later.checked_sub(1) else {
            self.far.push_to_heap(entry);
            return;
        };
        self.far.push_to_heap(self.near.remove(0));
        self.near.insert(place, entry);
    }

    /// The key of the next event, and the event itself if it is a near one; `None` if there is no event.
    #[inline]
    fn next(&self) -> Option<((u64, u64), Option<E>)> {
        let far = self.far.next_key();
        match self.near.last() {
            Some(near) if near.key() < far => Some((near.key(), Some(near.event))),
            _ => (far.1 < u64::MAX).then_some((far, None)),
        }
    }

    /// The time of the next event.
    #[inline]
    pub(super) fn next_time(&self) -> Option<Nanos> {
        self.next().map(|((at, _), _)| Nanos::new(at))
    }

    /// Takes the next event if it comes up to and with `now`, or before `until`, and sets the clock to its time.
    #[inline]
    pub(super) fn take(&mut self, now: Nanos, until: Nanos) -> Option<(Nanos, E)> {
        let ((at, _), near) = self.next()?;
        let at = Nanos::new(at);
        if at > now && at >= until {
            return None;
        }
        self.now = at;
        if let Some(event) = near {
            self.near.pop();
            return Some((at, event));
        }
        Some((at, self.far.pop()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_by_time_and_then_in_the_order_of_scheduling(
            steps in prop::collection::vec((0..6_u64, 0..40_u64, 0..3_u32), 1..600)
        ) {
            let mut agenda = Agenda::default();
            // Sorted, the earliest last.
            let mut expected: Vec<(u64, usize)> = Vec::new();
            for (number, (taken, delay, reach)) in steps.into_iter().enumerate() {
                let at = agenda.now().get() + [delay / 8, 20 * delay, 1000 * delay][reach as usize];
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
