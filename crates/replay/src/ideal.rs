//! When requests would start if the replay were never late by its own fault.
//!
//! Lindley's recursion: a request starts when it is planned, or when what it had to wait for has ended: the request
//! before it (starts keep the order of the load), the one whose place it takes, and the one that conflicted with it.
//! All of these are counted from their own ideal starts, with the latencies that were measured. So what is late
//! because of the device, and would be late in any replay, does not count as the replay's replayer lag; what is late
//! because the replay itself was late before does.

use std::collections::VecDeque;

use iosonar_units::Nanos;

use crate::LATENESS_LIMITS;

/// When a place at the device became free.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// In the ideal replay.
    ideally: Nanos,
    /// In this one.
    really: Nanos,
    /// What [`Ideal::idle`] was then.
    idle: Nanos,
}

/// The start of a request in the ideal replay, as it is known before it is submitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    at: Nanos,
    /// The place that it had to wait for.
    waited_for: Option<Place>,
}

/// The ideal replay of one lane.
#[derive(Debug)]
pub(crate) struct Ideal {
    /// Free places; those freed first are taken first.
    free: VecDeque<Place>,
    /// Places that were never taken.
    unused: u32,
    last_start: Nanos,
    last_end: Nanos,
    at_device: u32,
    last_real_end: Nanos,
    /// How long the device was idle in all although a request was due. While it is not, a place that stays free for a
    /// moment costs nothing: the device works on the others.
    idle: Nanos,
    /// The same when a request was last submitted in time, and had not to wait: what was lost before is made good.
    made_good: Nanos,
}

impl Ideal {
    /// With this many places at the device.
    pub(crate) fn new(places: u32) -> Self {
        Self {
            free: VecDeque::new(),
            unused: places,
            last_start: Nanos::ZERO,
            last_end: Nanos::ZERO,
            at_device: 0,
            last_real_end: Nanos::ZERO,
            idle: Nanos::ZERO,
            made_good: Nanos::ZERO,
        }
    }

    /// The next request of the load takes a place. `held`: it waited for the end of all that was at the device, or of
    /// what conflicted with it.
    #[inline]
    pub(crate) fn start(&mut self, planned: Nanos, held: bool) -> Start {
        let mut at = planned.max(self.last_start);
        if held {
            at = at.max(self.last_end);
        }
        let mut waited_for = None;
        if self.unused > 0 {
            self.unused -= 1;
        } else {
            let place = self.free.pop_front().expect("a place is free");
            if place.ideally >= at && place.really > planned {
                waited_for = Some(place);
            }
            at = at.max(place.ideally);
        }
        self.last_start = at;
        Start { at, waited_for }
    }

    /// A request that was planned for `planned` is submitted `now`. Returns its ideal start; `None` of one that
    /// was pushed back.
    #[inline]
    pub(crate) fn submitted(
        &mut self,
        start: Option<Start>,
        planned: Nanos,
        now: Nanos,
    ) -> Option<Nanos> {
        if self.at_device == 0 {
            self.idle += now.saturating_sub(self.last_real_end.max(planned));
        }
        self.at_device += 1;
        let Start { at, waited_for } = start?;
        let Some(place) = waited_for else {
            if now.saturating_sub(at) <= LATENESS_LIMITS[0] {
                self.made_good = self.idle;
            }
            return Some(at);
        };
        let free_for = now.saturating_sub(place.really);
        let ideal = at + free_for.saturating_sub(self.idle - place.idle);
        // A start that was late while the device worked on others has cost those behind it nothing.
        let lost = self.idle - self.made_good;
        let ideal = ideal.max(now.saturating_sub(lost));
        self.last_start = self.last_start.max(ideal);
        Some(ideal)
    }

    /// A request ended `now`, `latency` after its start, which should have been at `ideal`: its place is free.
    #[inline]
    pub(crate) fn ended(&mut self, ideal: Option<Nanos>, latency: Nanos, now: Nanos) {
        self.at_device -= 1;
        self.last_real_end = self.last_real_end.max(now);
        let Some(ideal) = ideal else { return };
        let ideally = ideal.saturating_add(latency);
        self.last_end = self.last_end.max(ideally);
        self.free.push_back(Place {
            ideally,
            really: now,
            idle: self.idle,
        });
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
            let at = ideal.submitted(Some(start), planned, now).unwrap();
            own.push(now - at);
            now += us(20);
            ideal.ended(Some(at), us(20), now);
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
            assert_eq!(ideal.submitted(Some(start), planned, now), Some(now), "{i}");
            now += us(150);
            ideal.ended(Some(now - us(150)), us(150), now);
        }
        assert_eq!(now, us(15_000));
    }

    /// All is due at once; eight places, each request takes 800 us, and a place is taken again 10 us after it is free.
    /// After some of them the replay stands still.
    fn saturated(stall_after: u64) -> Vec<Nanos> {
        let mut ideal = Ideal::new(8);
        let mut at_device: VecDeque<(Nanos, Nanos)> = VecDeque::new();
        let (mut now, mut own) = (Nanos::ZERO, Vec::new());
        for i in 0..2_000 {
            if at_device.len() == 8 {
                let (at, end) = at_device.pop_front().unwrap();
                ideal.ended(Some(at), us(800), end);
                now = now.max(end + us(10));
            }
            if i == stall_after {
                now += us(50_000);
                for (at, end) in at_device.drain(..) {
                    ideal.ended(Some(at), us(800), end);
                }
            }
            let start = ideal.start(Nanos::ZERO, false);
            let at = ideal.submitted(Some(start), Nanos::ZERO, now).unwrap();
            own.push(now - at);
            at_device.push_back((at, now + us(800)));
        }
        own
    }

    #[test]
    fn places_that_are_free_for_a_moment_cost_a_busy_device_nothing() {
        let own = saturated(u64::MAX);
        assert!(
            own.iter().all(|own| *own == Nanos::ZERO),
            "{:?}",
            own.iter().max()
        );
    }

    #[test]
    fn a_late_start_while_the_device_is_busy_is_not_inherited() {
        let mut ideal = Ideal::new(2);
        let mut submit = |planned: u64, now: u64| {
            let start = ideal.start(us(planned), false);
            let at = ideal.submitted(Some(start), us(planned), us(now)).unwrap();
            (at, us(now) - at)
        };
        let (first, _) = submit(0, 0);
        // 3 ms late, but the device works on the first.
        let (second, own) = submit(10, 3_010);
        assert_eq!(own, us(3_000));
        ideal.ended(Some(first), us(4_000), us(4_000));
        let start = ideal.start(us(20), false);
        assert_eq!(
            ideal.submitted(Some(start), us(20), us(4_000)),
            Some(us(4_000))
        );
        ideal.ended(Some(second), us(4_000), us(7_010));
        let start = ideal.start(us(30), false);
        assert_eq!(
            ideal.submitted(Some(start), us(30), us(7_010)),
            Some(us(7_010))
        );
    }

    #[test]
    fn a_stall_that_lets_the_device_run_dry_is_the_replays_fault() {
        let own = saturated(1_000);
        assert_eq!(own[999], Nanos::ZERO);
        assert!(own[1_000] >= us(49_000), "{}", own[1_000]);
        assert!(
            own[1_999] >= us(49_000),
            "it is never made good: {}",
            own[1_999]
        );
    }

    #[test]
    fn what_conflicts_is_waited_for() {
        let mut ideal = Ideal::new(8);
        let mut submit = |planned: Nanos, held: bool| {
            let start = ideal.start(planned, held);
            let at = ideal.submitted(Some(start), planned, us(300));
            ideal.ended(at, us(300), us(600));
            at.unwrap()
        };
        assert_eq!(submit(us(0), false), us(0));
        assert_eq!(submit(us(10), true), us(300));
        assert_eq!(submit(us(20), false), us(300), "in the load's order");
    }
}
