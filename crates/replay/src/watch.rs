//! Whether a replay did what the load says, and who is to blame if not.

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

/// Whether the replay did what the load says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Verdict {
    /// Requests were started when the load says.
    #[default]
    KeptUp,
    /// No request was done, so there is nothing to judge.
    NotJudged,
    /// The device could not keep up with the load: from this time on, requests waited for it.
    DeviceLimited {
        /// When it began, on the replay's clock.
        from: Nanos,
    },
    /// This machine or this program started requests late although nothing was in the way: more
    /// than 1 % by more than 100 us, or more than 0.1 % by more than 1 ms, beyond what chance
    /// explains.
    ReplayerLimited {
        /// The shares of all requests that were more than 100 us, more than 1 ms late.
        late: [f64; 2],
    },
}

impl Verdict {
    /// The verdict in a word, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::KeptUp => "kept up",
            Self::NotJudged => "not judged",
            Self::DeviceLimited { .. } => "device-limited",
            Self::ReplayerLimited { .. } => "replayer-limited",
        }
    }

    /// The worse of two.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::ReplayerLimited { late: a }, Self::ReplayerLimited { late: b }) => {
                Self::ReplayerLimited {
                    late: [a[0].max(b[0]), a[1].max(b[1])],
                }
            }
            (limited @ Self::ReplayerLimited { .. }, _)
            | (_, limited @ Self::ReplayerLimited { .. }) => limited,
            (Self::DeviceLimited { from: a }, Self::DeviceLimited { from: b }) => {
                Self::DeviceLimited { from: a.min(b) }
            }
            (limited @ Self::DeviceLimited { .. }, _)
            | (_, limited @ Self::DeviceLimited { .. }) => limited,
            (Self::NotJudged, Self::NotJudged) => Self::NotJudged,
            (Self::KeptUp, _) | (_, Self::KeptUp) => Self::KeptUp,
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::KeptUp => f.write_str("kept up"),
            Self::NotJudged => f.write_str("none, as no request was done"),
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

/// A time in which requests were handed over more than a second late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Episode {
    /// The intended start of the first that was so late, on the replay's clock.
    pub from: Nanos,
    /// When the first was handed over that was not so late any more; `None` if it lasted to the end.
    pub until: Option<Nanos>,
    /// The longest delay.
    pub longest_delay: Nanos,
    /// When that was.
    pub worst_at: Nanos,
    /// The most requests that were due and had not been handed over.
    pub largest_backlog: u64,
}

impl Episode {
    /// How long it took from the worst to the end.
    pub fn drain_time(&self) -> Option<Nanos> {
        Some(self.until?.saturating_sub(self.worst_at))
    }
}

/// More episodes are counted as one.
const MOST_EPISODES: usize = 1000;
/// From this delay on, requests are overload.
const OVERLOADED: Nanos = Nanos::SECOND;

/// What the session watches to come to a verdict.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) own_lateness: Distribution,
    /// How many of those were more than 100 us, more than 1 ms late.
    late: [u64; 2],
    pub(crate) most_in_flight: usize,
    pub(crate) most_pushed_back: u32,
    pub(crate) pushed_back: u64,
    pub(crate) dropped: u64,
    pub(crate) ordered_waits: u64,
    pub(crate) last_completion: Nanos,
    pub(crate) last_handed: Nanos,
    pub(crate) episodes: Vec<Episode>,
    handed: u64,
    /// When a request was handed over late, and how many had been by then: the backlog of that
    /// moment is known when all that was due then has been handed over.
    sample: Option<(Nanos, u64)>,
    /// When the first overloaded request was handed over, and how many had been by then.
    first_overloaded: Option<(Nanos, u64)>,
    /// Since when a due request waits for a place.
    blocked_since: Option<Nanos>,
    /// Until when requests waited for others: what was planned earlier is not late by our fault.
    blocked_until: Nanos,
    blocked_time: Nanos,
    first_blocked: Option<Nanos>,
    first_second_late: Option<Nanos>,
}

impl Watch {
    pub(crate) fn has_started(&self) -> bool {
        self.handed > 0
    }

    /// A request that was planned for `planned` is handed over `now`.
    #[inline]
    pub(crate) fn handed_over(&mut self, planned: Nanos, now: Nanos, pushed_back: bool) {
        let lateness = now.saturating_sub(planned);
        self.last_handed = now;
        if !pushed_back {
            self.follow_backlog(planned, now, lateness);
            if planned >= self.blocked_until {
                self.own_lateness.push(lateness);
                self.late[0] += u64::from(lateness > Nanos::from_micros(100));
                self.late[1] += u64::from(lateness > Nanos::MILLISECOND);
            }
        }
        self.handed += 1;
    }

    #[inline]
    fn follow_backlog(&mut self, planned: Nanos, now: Nanos, lateness: Nanos) {
        let overloaded = lateness >= OVERLOADED;
        if let Some((at, handed)) = self.sample
            && planned >= at
        {
            let backlog = self.handed - handed;
            if let Some(episode) = self.episodes.last_mut() {
                episode.largest_backlog = episode.largest_backlog.max(backlog);
            }
            self.sample = None;
        }
        let open = self.episodes.last().is_some_and(|e| e.until.is_none());
        if !overloaded {
            if open && let Some(episode) = self.episodes.last_mut() {
                episode.until = Some(now);
            }
            return;
        }
        self.first_second_late.get_or_insert(planned);
        self.first_overloaded.get_or_insert((now, self.handed));
        if self.sample.is_none() {
            self.sample = Some((now, self.handed));
        }
        if !open && self.episodes.len() < MOST_EPISODES {
            self.episodes.push(Episode {
                from: planned,
                ..Episode::default()
            });
        }
        if let Some(episode) = self.episodes.last_mut() {
            episode.until = None;
            if lateness > episode.longest_delay {
                (episode.longest_delay, episode.worst_at) = (lateness, now);
            }
        }
    }

    /// So many are at the device.
    #[inline]
    pub(crate) fn in_flight(&mut self, count: usize) {
        self.most_in_flight = self.most_in_flight.max(count);
    }

    /// One more was pushed back; so many are.
    pub(crate) fn pushed_back(&mut self, waiting: u32) {
        self.pushed_back += 1;
        self.most_pushed_back = self.most_pushed_back.max(waiting);
    }

    /// One is complete.
    #[inline]
    pub(crate) fn completed(&mut self, at: Nanos) {
        self.last_completion = self.last_completion.max(at);
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
            if waited >= OVERLOADED {
                self.first_second_late.get_or_insert(since);
            }
            self.not_late_before(now);
        }
    }

    /// A request and all behind it waited for one that is in the way, until `now`.
    #[inline]
    pub(crate) fn release_hold(&mut self, held: &mut bool, now: Nanos) {
        if std::mem::take(held) {
            self.not_late_before(now);
        }
    }

    /// What was planned up to now waited, or stood behind one that did.
    pub(crate) fn not_late_before(&mut self, now: Nanos) {
        self.blocked_until = now + Nanos::new(1);
    }

    /// Requests per second from the first that was a second late to the last; `None` if none was.
    pub(crate) fn overload_rate(&self) -> Option<f64> {
        let (since, before) = self.first_overloaded?;
        let seconds = self.last_handed.saturating_sub(since).as_secs_f64();
        (seconds > 0.0).then(|| (self.handed - before) as f64 / seconds)
    }

    /// The verdict of a replay that ended `now`, with so many places in flight.
    pub(crate) fn verdict(&mut self, now: Nanos, places: usize) -> Verdict {
        self.unblock(now);
        let full_for_long = self.most_in_flight >= places
            && self.blocked_time.get().saturating_mul(100) > now.get();
        // Of all: a load that is overloaded nearly always has few requests with nothing in the way.
        let n = self.handed;
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
        watch.handed_over(Nanos::ZERO, Nanos::new(50), false);
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
        watch.handed_over(Nanos::from_millis(5), Nanos::from_millis(9), false);
        assert_eq!(watch.own_lateness.count(), 0);
    }

    #[test]
    fn an_overload_has_a_beginning_an_end_a_backlog_and_a_rate() {
        // 1 000 a second are due for ten seconds, 500 a second are done.
        let mut watch = Watch::default();
        for i in 0..10_000_u64 {
            watch.handed_over(Nanos::from_millis(i), Nanos::from_millis(2 * i), false);
        }
        // Then none are due for long enough.
        watch.handed_over(Nanos::from_secs(30), Nanos::from_secs(30), false);
        let [episode] = watch.episodes[..] else {
            panic!("{:?}", watch.episodes)
        };
        assert_eq!(episode.from, Nanos::SECOND);
        assert_eq!(episode.until, Some(Nanos::from_secs(30)));
        assert_eq!(episode.longest_delay, Nanos::from_millis(9_999));
        // At 2i ms, 2i are due and i are done: i wait, 5 000 at most before none are due any more.
        assert!(
            (3_900..=5_100).contains(&episode.largest_backlog),
            "{episode:?}"
        );
        assert_eq!(
            episode.drain_time(),
            Some(Nanos::from_millis(30_000 - 19_998))
        );
        let mut busy = Watch::default();
        for i in 0..10_000_u64 {
            busy.handed_over(Nanos::from_millis(i), Nanos::from_millis(2 * i), false);
        }
        let rate = busy.overload_rate().unwrap();
        assert!((rate - 500.0).abs() < 1.0, "{rate}");
    }
}
