//! The event calendar.
//!
//! Two parts, and the border between them moves with the clock:
//!
//! - the *bottom*: the few events that come next, sorted, the earliest at the end;
//! - [the wheel](wheel): all later ones, in buckets by the highest digit in which their time
//!   differs from the bottom's. A bucket is only taken apart when the clock reaches it, and an event
//!   moves at most once a digit on its way down.
//!
//! A small calendar is all bottom; a large one costs the same whether a thousand or a million events
//! are to come. The order is total: by time, then by priority, then by order of scheduling. Keys are
//! exact: 64 bits of time, 8 of priority, 56 of sequence.
//!
//! Source: monotone radix heaps (Ahuja, Mehlhorn, Orlin, Tarjan, "Faster algorithms for the shortest
//! path problem", JACM 1990), here with digits of four bits and a sorted bottom.

mod cancel;
mod placed;
mod wheel;

use iosonar_units::Nanos;

pub use cancel::EventId;
use cancel::{Cancellations, NOT_CANCELLABLE};
pub use placed::{NextEvent, PlacedCalendar};
use wheel::Wheel;

/// Which of several events of one instant comes first: the smaller number. Ordinary events have
/// [`EventPriority::default`], the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventPriority(pub u8);

impl Default for EventPriority {
    fn default() -> Self {
        Self(128)
    }
}

/// An event in the calendar; its key is (`at`, `order`).
#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: u64,
    /// Priority in the highest byte, sequence below.
    order: u64,
    cancel: u32,
    event: T,
}

impl<T> Entry<T> {
    #[inline]
    fn key(&self) -> u128 {
        key(self.at, self.order)
    }
}

#[inline]
fn key(at: u64, order: u64) -> u128 {
    u128::from(at) << 64 | u128::from(order)
}

/// From this many events on a bucket is distributed further instead of sorted.
const SORTABLE: usize = 24;
/// The bottom is cut when it grows beyond this.
const BOTTOM_MOST: usize = 48;

/// The events to come, earliest first.
#[derive(Clone, Debug)]
pub struct Calendar<T> {
    /// Sorted, the earliest last: all events with a key below `border`.
    bottom: Vec<Entry<T>>,
    border: u128,
    wheel: Wheel<T>,
    now: u64,
    scheduled: u64,
    popped: u64,
    cancellations: Cancellations,
}

impl<T> Default for Calendar<T> {
    fn default() -> Self {
        Self {
            bottom: Vec::new(),
            border: u128::MAX,
            wheel: Wheel::default(),
            now: 0,
            scheduled: 0,
            popped: 0,
            cancellations: Cancellations::default(),
        }
    }
}

impl<T: Copy> Calendar<T> {
    /// The time of the last event that was popped.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos::new(self.now)
    }

    /// How many events have been popped so far.
    pub fn events(&self) -> u64 {
        self.popped
    }

    /// How many events are to come, cancelled ones not counted.
    pub fn pending(&self) -> usize {
        self.bottom.len() + self.wheel.len() - self.cancellations.cancelled()
    }

    /// Plans `event` for the instant `at`.
    ///
    /// # Panics
    /// If `at` lies before [`now`](Self::now): the clock never goes back.
    #[inline]
    pub fn schedule(&mut self, at: Nanos, event: T) {
        self.insert(at, EventPriority::default(), NOT_CANCELLABLE, event);
    }

    /// Plans `event` for the instant `at`, before all of that instant with a larger priority number.
    ///
    /// # Panics
    /// If `at` lies before [`now`](Self::now).
    #[inline]
    pub fn schedule_with(&mut self, at: Nanos, priority: EventPriority, event: T) {
        self.insert(at, priority, NOT_CANCELLABLE, event);
    }

    /// Plans `event`, and hands out what is needed to cancel it.
    ///
    /// # Panics
    /// If `at` lies before [`now`](Self::now).
    #[inline]
    pub fn schedule_cancellable(
        &mut self,
        at: Nanos,
        priority: EventPriority,
        event: T,
    ) -> EventId {
        let id = self.cancellations.claim();
        self.insert(at, priority, id.slot(), event);
        id
    }

    /// Cancels an event; returns whether it was pending.
    pub fn cancel(&mut self, id: EventId) -> bool {
        let was_to_come = self.cancellations.cancel(id);
        // Cancelled events stay where they are until they would come. Where they outnumber the
        // others they are thrown out, so that memory is bounded by what is really to come.
        if was_to_come && self.cancellations.cancelled() > 64 + 2 * self.pending() {
            let cancellations = &mut self.cancellations;
            self.bottom.retain(|e| !cancellations.forget(e.cancel));
            self.wheel.retain(|e| !cancellations.forget(e.cancel));
        }
        was_to_come
    }

    #[inline]
    fn insert(&mut self, at: Nanos, priority: EventPriority, cancel: u32, event: T) {
        let at = at.get();
        assert!(
            at >= self.now,
            "an event for {} was scheduled at {}",
            Nanos::new(at),
            Nanos::new(self.now)
        );
        let order = u64::from(priority.0) << 56 | self.next_in_sequence();
        let entry = Entry {
            at,
            order,
            cancel,
            event,
        };
        if entry.key() < self.border {
            self.insert_into_bottom(entry);
        } else {
            self.wheel.insert(entry);
        }
    }

    #[inline]
    fn insert_into_bottom(&mut self, entry: Entry<T>) {
        let key = entry.key();
        let mut place = self.bottom.len();
        self.bottom.push(entry);
        // Moved one by one: it is a few, and shorter than the call of a block move.
        while place > 0 && self.bottom[place - 1].key() < key {
            self.bottom[place] = self.bottom[place - 1];
            place -= 1;
        }
        self.bottom[place] = entry;
        if self.bottom.len() > BOTTOM_MOST {
            self.cut_bottom();
        }
    }

    /// Moves the later half of the bottom to the wheel.
    #[cold]
    fn cut_bottom(&mut self) {
        let keep = BOTTOM_MOST / 2;
        let moved = self.bottom.len() - keep;
        if self.wheel.len() == 0 || self.bottom[moved - 1].at < self.wheel.base() {
            self.wheel.begin_at(self.now);
        }
        // The entries that stay have keys below that of the last one that goes.
        self.border = self.bottom[moved - 1].key();
        for entry in self.bottom.drain(..moved).rev() {
            self.wheel.insert(entry);
        }
    }

    #[inline]
    fn next_in_sequence(&mut self) -> u64 {
        debug_assert!(self.scheduled < 1 << 56, "sequence numbers last for ever");
        self.scheduled += 1;
        self.scheduled - 1
    }

    /// The place in the order of an event of this priority that is planned now, but [kept elsewhere](PlacedCalendar).
    #[inline]
    fn claim_order(&mut self, priority: EventPriority) -> u64 {
        u64::from(priority.0) << 56 | self.next_in_sequence()
    }

    /// An event happens at `at` that is kept elsewhere, before all that are kept here: the clock is set, and the
    /// event counts as one of [`events`](Self::events).
    #[inline]
    fn pass(&mut self, at: Nanos) {
        debug_assert!(at.get() >= self.now, "the clock never goes back");
        self.now = at.get();
        self.popped += 1;
    }

    /// Whether it keeps no events, not even cancelled ones.
    #[inline]
    fn is_bare(&self) -> bool {
        self.bottom.is_empty() && self.wheel.len() == 0
    }

    /// The time of the next event and its [place in the order](Self::claim_order). It does not move the clock.
    #[inline]
    fn next_key(&mut self) -> Option<(Nanos, u64)> {
        self.next_entry()
            .map(|entry| (Nanos::new(entry.at), entry.order))
    }

    /// The next event and its time. It does not move the clock.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<(Nanos, T)> {
        let next = self.next_entry();
        next.map(|entry| (Nanos::new(entry.at), entry.event))
    }

    /// Takes the next event out and sets the clock to its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Nanos, T)> {
        loop {
            let Some(entry) = self.bottom.pop() else {
                if self.refill() {
                    continue;
                }
                return None;
            };
            if entry.cancel != NOT_CANCELLABLE && self.cancellations.forget(entry.cancel) {
                continue;
            }
            debug_assert!(entry.at >= self.now, "the clock never goes back");
            self.now = entry.at;
            self.popped += 1;
            if entry.cancel != NOT_CANCELLABLE {
                self.cancellations.happened(entry.cancel);
            }
            return Some((Nanos::new(entry.at), entry.event));
        }
    }

    /// The time of the next event. It does not move the clock.
    pub fn next_time(&mut self) -> Option<Nanos> {
        self.next_entry().map(|entry| Nanos::new(entry.at))
    }

    #[inline]
    fn next_entry(&mut self) -> Option<Entry<T>> {
        loop {
            let Some(&entry) = self.bottom.last() else {
                if self.refill() {
                    continue;
                }
                return None;
            };
            if entry.cancel == NOT_CANCELLABLE || !self.cancellations.forget(entry.cancel) {
                return Some(entry);
            }
            self.bottom.pop();
        }
    }

    /// Fills the empty bottom from the wheel; returns whether there was an event.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> bool {
        if self.wheel.len() == 0 {
            self.border = u128::MAX;
            return false;
        }
        let end = self.wheel.take_next(&mut self.bottom, SORTABLE);
        self.bottom
            .sort_unstable_by_key(|entry| std::cmp::Reverse(entry.key()));
        self.border = match end {
            // Many events of one instant: what is planned for it from now on comes behind them
            // without moving any, except by priority.
            _ if self.bottom.len() > SORTABLE => self.bottom[0].key() + 1,
            Some(end) => key(end, 0),
            None => u128::MAX,
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    #[test]
    fn events_of_one_instant_come_in_the_order_of_scheduling() {
        let mut calendar = Calendar::default();
        for event in 0..1000 {
            calendar.schedule(Nanos::new(7), event);
        }
        let order: Vec<i32> = std::iter::from_fn(|| calendar.pop().map(|(_, e)| e)).collect();
        assert_eq!(order, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn a_smaller_priority_number_comes_first_within_an_instant_only() {
        let mut calendar = Calendar::default();
        calendar.schedule_with(Nanos::new(7), EventPriority(200), "last");
        calendar.schedule(Nanos::new(7), "middle");
        calendar.schedule_with(Nanos::new(7), EventPriority(0), "first");
        calendar.schedule_with(Nanos::new(6), EventPriority(255), "earlier");
        let order: Vec<_> = std::iter::from_fn(|| calendar.pop().map(|(_, e)| e)).collect();
        assert_eq!(order, ["earlier", "first", "middle", "last"]);
    }

    #[test]
    #[should_panic(expected = "was scheduled at")]
    fn the_clock_never_goes_back() {
        let mut calendar = Calendar::default();
        calendar.schedule(Nanos::new(10), ());
        calendar.pop();
        calendar.schedule(Nanos::new(9), ());
    }

    #[test]
    fn the_end_of_time_is_an_instant_too() {
        let mut calendar = Calendar::default();
        for i in 0..100 {
            calendar.schedule(Nanos::new(u64::MAX - i % 2), i);
        }
        let mut times = std::iter::from_fn(|| calendar.pop().map(|(t, _)| t.get()));
        assert!(times.by_ref().take(50).all(|t| t == u64::MAX - 1));
        assert!(times.by_ref().take(50).all(|t| t == u64::MAX));
        assert!(times.next().is_none());
    }

    #[test]
    fn a_cancelled_event_does_not_come_and_is_not_pending() {
        let mut calendar = Calendar::default();
        let ids: Vec<_> = (0..10)
            .map(|i| calendar.schedule_cancellable(Nanos::new(i), EventPriority::default(), i))
            .collect();
        assert!(calendar.cancel(ids[3]) && calendar.cancel(ids[0]));
        assert!(!calendar.cancel(ids[3]), "only once");
        assert_eq!(calendar.pending(), 8);
        assert_eq!(calendar.next_time(), Some(Nanos::new(1)));
        assert_eq!(calendar.pop(), Some((Nanos::new(1), 1)));
        assert!(!calendar.cancel(ids[1]), "it has happened");
        let rest: Vec<u64> = std::iter::from_fn(|| calendar.pop().map(|(_, e)| e)).collect();
        assert_eq!(rest, [2, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn cancelled_events_do_not_pile_up() {
        let mut calendar = Calendar::default();
        for i in 0..100_000 {
            let id =
                calendar.schedule_cancellable(Nanos::new(1 << 40), EventPriority::default(), i);
            if i % 10 != 0 {
                calendar.cancel(id);
            }
        }
        assert_eq!(calendar.pending(), 10_000);
        assert!(calendar.bottom.len() + calendar.wheel.len() < 40_000);
        let rest: Vec<_> = std::iter::from_fn(|| calendar.pop().map(|(_, e)| e)).collect();
        assert_eq!(rest, (0..100_000).step_by(10).collect::<Vec<_>>());
    }

    #[test]
    fn events_come_before_those_that_were_looked_at_if_they_are_earlier() {
        for spacing in [10, 1_000, 1 << 20] {
            let mut calendar = Calendar::default();
            let mut expected: Vec<(u64, usize)> =
                (0..400).map(|i| (i * spacing, i as usize)).collect();
            for &(at, event) in &expected {
                calendar.schedule(Nanos::new(at), event);
            }
            let mut popped = Vec::new();
            while let Some((now, event)) = calendar.pop() {
                popped.push((now.get(), event));
                let next = calendar.next_time();
                // A burst before the next event, now and then: more than is kept sorted.
                if popped.len() % 300 == 30
                    && let Some(next) = next
                {
                    for i in 0..100 {
                        let at = now.get() + (next - now).get() * (i * 37 % 100) / 100;
                        expected.push((at, expected.len()));
                        calendar.schedule(Nanos::new(at), expected.len() - 1);
                    }
                }
            }
            expected.sort_unstable();
            assert!(expected.len() > 500);
            assert_eq!(popped, expected, "{spacing}");
        }
    }

    /// What a test does to a calendar.
    #[derive(Clone, Debug)]
    enum Step {
        Schedule { delay: u64, priority: u8 },
        Pop,
        Cancel(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let delay = prop_oneof![
            4 => 0..20_u64,
            4 => 0..100_000_u64,
            2 => any::<u64>().prop_map(|x| x >> 3),
            1 => Just(1 << 40),
        ];
        let step = prop_oneof![
            6 => (delay, prop_oneof![8 => Just(128_u8), 1 => any::<u8>()])
                .prop_map(|(delay, priority)| Step::Schedule { delay, priority }),
            4 => Just(Step::Pop),
            1 => any::<usize>().prop_map(Step::Cancel),
        ];
        prop::collection::vec(step, 1..2000)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn the_order_is_that_of_the_standard_heap(steps in steps()) {
            let mut ours = Calendar::default();
            let mut theirs = BinaryHeap::new();
            let mut ids = Vec::new();
            let mut gone = std::collections::HashSet::new();
            for step in steps {
                match step {
                    Step::Schedule { delay, priority } => {
                        let at = ours.now().saturating_add(Nanos::new(delay));
                        let i = ids.len();
                        ids.push(ours.schedule_cancellable(at, EventPriority(priority), i));
                        theirs.push(Reverse((at, priority, i)));
                    }
                    Step::Pop => {
                        while theirs.peek().is_some_and(|Reverse((_, _, i))| gone.contains(i)) {
                            theirs.pop();
                        }
                        let next = theirs.pop().map(|Reverse((at, _, i))| (at, i));
                        prop_assert_eq!(ours.next_time(), next.map(|(at, _)| at));
                        prop_assert_eq!(ours.pop(), next);
                        gone.extend(next.map(|(_, i)| i));
                    }
                    Step::Cancel(which) if !ids.is_empty() => {
                        let i = which % ids.len();
                        prop_assert_eq!(ours.cancel(ids[i]), gone.insert(i));
                    }
                    Step::Cancel(_) => {}
                }
                prop_assert_eq!(ours.pending(), ids.len() - gone.len());
            }
            while let Some(Reverse((at, _, i))) = theirs.pop() {
                if !gone.contains(&i) {
                    prop_assert_eq!(ours.pop(), Some((at, i)));
                }
            }
            prop_assert_eq!(ours.pop(), None);
        }
    }
}
