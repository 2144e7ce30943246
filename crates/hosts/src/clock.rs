//! How far the clock of another host is ahead of ours.
//!
//! We ask at t1, the other host receives that at t2 and answers at t3 by its clock, and we have the answer at t4. As
//! neither way takes less than no time, its clock is ahead of ours by at least t3 - t4 and at most t2 - t1. The middle of both is
//! wrong by at most half of what is between them: half the round trip without the time that the other host took to
//! answer. No assumption is made about the two ways taking equally long. Of many questions, the one with the shortest
//! round trip is used (Cristian 1989).
//!
//! Clocks drift apart, by some 10 µs in a second at worst. So the offset is measured before, during and after a
//! replay: the drift is the difference over the time between.

use rustix::time::{ClockId, clock_gettime};

fn now(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The time of this machine's monotonic clock, in nanoseconds.
pub fn monotonic() -> u64 {
    now(ClockId::Monotonic)
}

/// The time since 1970, in nanoseconds.
pub fn since_1970() -> u64 {
    now(ClockId::Realtime)
}

/// How far this machine's time since 1970 is ahead of its monotonic clock.
pub(crate) fn wall() -> i64 {
    since_1970() as i64 - monotonic() as i64
}

/// An answer to the question for the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was, by our clock.
    pub at: u64,
    /// How far the other clock is ahead of ours.
    pub offset: i64,
    /// By how much that may be wrong.
    pub error: u64,
}

impl Sample {
    /// From the four times: sent, received and answered there, back. `None` if they are in an impossible order.
    pub fn of(sent: u64, received: u64, answered: u64, back: u64) -> Option<Self> {
        if back < sent || answered < received {
            return None;
        }
        let difference = |a: u64, b: u64| i64::try_from(i128::from(a) - i128::from(b)).ok();
        let (most, least) = (difference(received, sent)?, difference(answered, back)?);
        let width = most.checked_sub(least).filter(|width| *width >= 0)?;
        Some(Self {
            at: sent.midpoint(back),
            offset: i64::midpoint(least, most),
            error: (width as u64).div_ceil(2),
        })
    }
}

/// By how much a clock went apart from ours between two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// In millionths.
    pub ppm: f64,
    /// By how much that may be wrong.
    pub error_ppm: f64,
}

/// The most windows of time of which a sample is kept.
const MOST_WINDOWS: usize = 128;
/// How long a window is at first.
const WINDOW_NS: u64 = 1_000_000_000;

/// What is known of the clock of a host.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The best sample of each window of time, in order.
    windows: Vec<(u64, Sample)>,
    width: u64,
    /// The best since [`begin`](Self::begin).
    current: Option<Sample>,
    /// How many samples there were.
    count: u64,
    /// How far the host's time since 1970 is ahead of its monotonic clock.
    wall: Option<i64>,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            windows: Vec::new(),
            width: WINDOW_NS,
            current: None,
            count: 0,
            wall: None,
        }
    }
}

impl Clock {
    /// Takes a sample into account, and the host's difference between time since 1970 and monotonic clock.
    pub fn add(&mut self, sample: Sample, wall: i64) {
        self.count += 1;
        self.wall = Some(wall);
        let better = |best: Option<Sample>| best.is_none_or(|best| sample.error < best.error);
        if better(self.current) {
            self.current = Some(sample);
        }
        let window = sample.at / self.width;
        match self.windows.last_mut() {
            Some((last, best)) if *last == window => {
                if sample.error < best.error {
                    *best = sample;
                }
            }
            _ => self.windows.push((window, sample)),
        }
        if self.windows.len() > MOST_WINDOWS {
            self.widen();
        }
    }

    /// Windows become twice as long.
    fn widen(&mut self) {
        self.width *= 2;
        let mut kept: Vec<(u64, Sample)> = Vec::with_capacity(MOST_WINDOWS);
        for (_, sample) in self.windows.drain(..) {
            let window = sample.at / self.width;
            match kept.last_mut() {
                Some((last, best)) if *last == window => {
                    if sample.error < best.error {
                        *best = sample;
                    }
                }
                _ => kept.push((window, sample)),
            }
        }
        self.windows = kept;
    }

    /// From now on, [`best`](Self::best) is that of new samples.
    pub fn begin(&mut self) {
        self.current = None;
    }

    /// The best sample since [`begin`](Self::begin).
    pub fn best(&self) -> Option<Sample> {
        self.current
    }

    /// How many samples there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How far the host's time since 1970 is ahead of ours, if `sample` is right.
    pub fn ahead_since_1970(&self, sample: &Sample) -> Option<i64> {
        Some(self.wall? - wall() + sample.offset)
    }

    /// The drift between two samples, if there is time between them.
    pub fn drift(from: &Sample, to: &Sample) -> Option<Drift> {
        let time = to.at.checked_sub(from.at).filter(|time| *time > 0)? as f64;
        Some(Drift {
            ppm: (to.offset - from.offset) as f64 / time * 1e6,
            error_ppm: (to.error + from.error) as f64 / time * 1e6,
        })
    }

    /// The largest error of the best sample of each window of time: how well the clock was known throughout.
    pub fn largest_error(&self) -> Option<u64> {
        self.windows.iter().map(|(_, sample)| sample.error).max()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_true_offset_is_within_the_error_whatever_each_way_takes(
            sent in 0..1_u64 << 50,
            ahead in 0..1_i64 << 50,
            there in 0..10_000_000_u64,
            answering in 0..10_000_000_u64,
            back in 0..10_000_000_u64,
        ) {
            let received = (sent + there) as i64 + ahead;
            let answered = received + answering as i64;
            let back = sent + there + answering + back;
            let sample = Sample::of(sent, received as u64, answered as u64, back).unwrap();
            prop_assert!((sample.offset - ahead).unsigned_abs() <= sample.error);
            prop_assert!(sample.error <= (back - sent).div_ceil(2));
        }

        #[test]
        fn times_that_are_impossible_are_no_sample_and_never_a_panic(times in any::<[u64; 4]>()) {
            let [sent, received, answered, back] = times;
            if let Some(sample) = Sample::of(sent, received, answered, back) {
                prop_assert!(back >= sent && answered >= received && answered - received <= back - sent);
                prop_assert!(sample.error <= (back - sent).div_ceil(2));
            }
        }
    }

    fn sample(at: u64, offset: i64, error: u64) -> Sample {
        Sample { at, offset, error }
    }

    #[test]
    fn the_best_sample_is_that_of_the_shortest_round_trip() {
        let mut clock = Clock::default();
        for (offset, error) in [(5, 100), (7, 20), (9, 50)] {
            clock.add(sample(0, offset, error), 0);
        }
        assert_eq!(clock.best(), Some(sample(0, 7, 20)));
        clock.begin();
        clock.add(sample(5, 11, 90), 0);
        assert_eq!(clock.best(), Some(sample(5, 11, 90)), "of the new ones");
    }

    #[test]
    fn a_drift_has_the_error_of_both_ends() {
        let second = 1_000_000_000;
        let drift = Clock::drift(&sample(0, 1000, 200), &sample(second, 11_000, 300)).unwrap();
        assert!((drift.ppm - 10.0).abs() < 1e-9 && (drift.error_ppm - 0.5).abs() < 1e-9);
        assert_eq!(Clock::drift(&sample(5, 0, 1), &sample(5, 0, 1)), None);
    }

    #[test]
    fn hours_of_samples_take_bounded_memory_and_none_of_the_worst_windows_is_lost() {
        let mut clock = Clock::default();
        for i in 0..100_000_u64 {
            let error = if i % 10 == 0 { 50 } else { 900 };
            clock.add(sample(i * WINDOW_NS / 4, 0, error), 0);
        }
        assert!(clock.windows.len() <= MOST_WINDOWS);
        assert_eq!(clock.count(), 100_000);
        assert_eq!(
            clock.largest_error(),
            Some(50),
            "each window has a good one"
        );
    }
}
