//! When requests would start if the replay were never late by its own fault.
//!
//! Lindley's recursion: a request starts when it is planned, or when what it had to wait for has ended: the request
//! before it (starts keep the order of the load), the one whose place it takes, and the one that conflicted with it.
//! All of these are counted from their own ideal starts, with the latencies that were measured. So what is late
//! because of the device, and would be late in any replay, does not count as the replay's own lateness; what is late
//! because the replay itself was late before does.

use std::collections::VecDeque;

use iosonar_units::Nanos;

/// The ideal replay of one lane.
#[derive(Debug)]
pub(crate) struct Ideal {
    /// When places became free; those freed first are taken first.
    free: VecDeque<Nanos>,
    /// Places that were never taken.
    unused: u32,
    last_start: Nanos,
    last_end: Nanos,
}

impl Ideal {
    /// With so many places at the device.
    pub(crate) fn new(places: u32) -> Self {
        Self {
            free: VecDeque::new(),
            unused: places,
            last_start: Nanos::ZERO,
            last_end: Nanos::ZERO,
        }
    }

    /// The ideal start of the next request of the load, which takes a place. `held`: it waited for the end of all
    /// that was at the device, or of what conflicted with it.
    #[inline]
    pub(crate) fn start(&mut self, planned: Nanos, held: bool) -> Nanos {
        let place = if self.unused > 0 {
            self.unused -= 1;
            Nanos::ZERO
        } else {
            self.free.pop_front().expect("a place is free")
        };
        let mut start = planned.max(self.last_start).max(place);
        if held {
            start = start.max(self.last_end);
        }
        self.last_start = start;
        start
    }

    /// A request that should have started at `start` ended after `latency`: its place is free.
    #[inline]
    pub(crate) fn end(&mut self, start: Nanos, latency: Nanos) {
        let end = start.saturating_add(latency);
        self.last_end = self.last_end.max(end);
        self.free.push_back(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Nanos {
        Nanos::from_micros(n)
    }

    #[test]
    fn a_stall_of_the_replay_is_its_own_lateness_until_it_has_caught_up() {
        // One place, a request every 100 us, each of 20 us; a stall of 10 ms before the 50th.
        let mut ideal = Ideal::new(1);
        let mut now = Nanos::ZERO;
        let mut own = Vec::new();
        for i in 0..400_u64 {
            let planned = us(100 * i);
            now = now.max(planned);
            if i == 50 {
                now += us(10_000);
            }
            let start = ideal.start(planned, false);
            own.push(now - start);
            ideal.end(start, us(20));
            now += us(20);
        }
        assert_eq!(own[49], Nanos::ZERO);
        assert_eq!(own[50], us(10_000));
        // 80 us are made good with each.
        assert_eq!(own[60], us(10_000 - 10 * 80));
        assert_eq!(own[50 + 125], Nanos::ZERO);
    }

    #[test]
    fn what_waits_for_a_slow_device_is_not_late_by_our_fault() {
        // One place, a request every 100 us, each of 150 us.
        let mut ideal = Ideal::new(1);
        let mut now = Nanos::ZERO;
        for i in 0..100_u64 {
            let planned = us(100 * i);
            now = now.max(planned);
            let start = ideal.start(planned, false);
            assert_eq!(now, start, "{i}");
            ideal.end(start, us(150));
            now += us(150);
        }
        assert_eq!(now, us(15_000));
    }

    #[test]
    fn a_place_that_is_free_is_not_waited_for() {
        let mut ideal = Ideal::new(2);
        let first = ideal.start(us(0), false);
        assert_eq!(ideal.start(us(10), false), us(10));
        ideal.end(first, us(500));
        // The second place would be free earlier, but it was the first that was freed.
        assert_eq!(ideal.start(us(20), false), us(500));
    }

    #[test]
    fn what_conflicts_is_waited_for() {
        let mut ideal = Ideal::new(8);
        let first = ideal.start(us(0), false);
        ideal.end(first, us(300));
        assert_eq!(ideal.start(us(10), true), us(300));
        assert_eq!(ideal.start(us(20), false), us(300), "in the load's order");
    }
}
