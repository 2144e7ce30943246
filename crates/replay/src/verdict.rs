//! Whether a replay did what the load says, and who is to blame if not.

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

/// Whether the replay did what the load says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Requests were started when the load says.
    KeptUp,
    /// The device could not keep up with the load: from this time on, requests waited for it.
    DeviceLimited {
        /// When it began, on the replay's clock.
        from: Nanos,
    },
    /// This machine or this program started requests late although nothing was in the way: more
    /// than 1 % by more than 100 us, or more than 0.1 % by more than 1 ms, beyond what chance
    /// explains.
    ReplayerLimited {
        /// The shares of requests that were more than 100 us, more than 1 ms late.
        late: [f64; 2],
    },
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::KeptUp => f.write_str("kept up"),
            Self::DeviceLimited { from } => write!(f, "device-limited from {from}"),
            Self::ReplayerLimited { late } => write!(
                f,
                "replayer-limited: this machine started requests late although nothing was in the \
                 way ({:.2} % more than 100 µs, {:.2} % more than 1 ms)",
                100.0 * late[0],
                100.0 * late[1]
            ),
        }
    }
}

/// What the session watches to come to a verdict.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) own_lateness: Distribution,
    /// How many of those were more than 100 us, more than 1 ms late.
    late: [u64; 2],
    pub(crate) most_in_flight: usize,
    pub(crate) last_completion: Nanos,
    /// Since when a due request waits for a place.
    blocked_since: Option<Nanos>,
    /// Until when requests waited for a place: what was planned earlier is not late by our fault.
    blocked_until: Nanos,
    blocked_time: Nanos,
    first_blocked: Option<Nanos>,
    first_second_late: Option<Nanos>,
}

impl Watch {
    /// A request that was planned for `planned` is handed over `now`.
    #[inline]
    pub(crate) fn handed_over(&mut self, planned: Nanos, now: Nanos) {
        let lateness = now.saturating_sub(planned);
        if lateness >= Nanos::SECOND {
            self.first_second_late.get_or_insert(planned);
        }
        if planned >= self.blocked_until {
            self.own_lateness.push(lateness);
            self.late[0] += u64::from(lateness > Nanos::from_micros(100));
            self.late[1] += u64::from(lateness > Nanos::MILLISECOND);
        }
    }

    /// A due request finds no place.
    pub(crate) fn block(&mut self, now: Nanos) {
        self.blocked_since.get_or_insert(now);
        self.first_blocked.get_or_insert(now);
    }

    /// It has found one.
    #[inline]
    pub(crate) fn unblock(&mut self, now: Nanos) {
        if let Some(since) = self.blocked_since.take() {
            let waited = now.saturating_sub(since);
            self.blocked_time += waited;
            if waited >= Nanos::SECOND {
                self.first_second_late.get_or_insert(since);
            }
            // What was planned up to now waited for a place, or behind one that did.
            self.blocked_until = now + Nanos::new(1);
        }
    }

    /// The verdict of a replay that ended `now`, with so many places in flight.
    pub(crate) fn verdict(&mut self, now: Nanos, places: usize) -> Verdict {
        self.unblock(now);
        let full_for_long = self.most_in_flight >= places
            && self.blocked_time.get().saturating_mul(100) > now.get();
        let n = self.own_lateness.count();
        if is_more_than(self.late[0], n, 0.01) || is_more_than(self.late[1], n, 0.001) {
            return Verdict::ReplayerLimited {
                late: self.late.map(|late| late as f64 / n as f64),
            };
        }
        let blocked = self.first_blocked.filter(|_| full_for_long);
        match self.first_second_late.into_iter().chain(blocked).min() {
            Some(from) => Verdict::DeviceLimited { from },
            None => Verdict::KeptUp,
        }
    }
}

/// Whether `count` of `n` is more than this share, beyond what chance explains: by three standard
/// deviations of the count. One late start of a hundred proves nothing.
fn is_more_than(count: u64, n: u64, share: f64) -> bool {
    let expected = share * n as f64;
    count as f64 > expected + 3.0 * expected.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_exceeded_only_beyond_chance() {
        assert!(
            !is_more_than(1, 50, 0.01),
            "one late start of fifty proves nothing"
        );
        assert!(is_more_than(10, 50, 0.01));
        assert!(!is_more_than(1_050, 100_000, 0.01));
        assert!(is_more_than(1_100, 100_000, 0.01));
        assert!(!is_more_than(0, 0, 0.01));
    }

    #[test]
    fn a_device_that_never_answers_again_is_the_limit() {
        let mut watch = Watch {
            most_in_flight: 1,
            ..Watch::default()
        };
        watch.handed_over(Nanos::ZERO, Nanos::new(50));
        watch.block(Nanos::from_millis(10));
        let verdict = watch.verdict(Nanos::from_secs(5), 1);
        let from = Nanos::from_millis(10);
        assert_eq!(verdict, Verdict::DeviceLimited { from });
    }

    #[test]
    fn waiting_for_a_place_is_not_our_lateness() {
        let mut watch = Watch::default();
        watch.block(Nanos::from_millis(1));
        watch.unblock(Nanos::from_millis(9));
        watch.handed_over(Nanos::from_millis(5), Nanos::from_millis(9));
        assert_eq!(watch.own_lateness.count(), 0);
    }
}
