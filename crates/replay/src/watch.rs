//! Whether a replay did what the load says, and who is to blame if not.

use iosonar_stats::Distribution;
use iosonar_units::Nanos;

/// Starts are counted by how late they are against these: in the verdict, in the summary and in its JSON.
pub const LATENESS_LIMITS: [Nanos; 4] = [
    Nanos::from_micros(100),
    Nanos::from_millis(1),
    Nanos::from_millis(10),
    Nanos::SECOND,
];

/// The shares of all requests whose replayer lag may exceed each of [`LATENESS_LIMITS`].
const MOST_LATE: [f64; LATENESS_LIMITS.len()] = [0.01, 0.001, 0.001, 0.001];

/// Whether the replay did what the load says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Verdict {
    /// Requests were started when the load says.
    #[default]
    KeptUp,
    /// No request was done, so there is nothing to judge.
    NotJudged,
    /// The device could not keep up with the load: from this time on, requests waited for it. It completed less than
    /// 98 % of what was wanted per second, or requests waited a second, or 1 % of them waited for a time that is long
    /// beside latencies.
    DeviceLimited {
        /// When it began, on the replay's clock.
        from: Nanos,
    },
    /// The same of a model that answers in place of a device.
    ModelLimited {
        /// When it began, on the replay's clock.
        from: Nanos,
    },
    /// Requests waited because as many were at the device as the user allows, so the device may do more than this.
    InFlightLimited {
        /// What the user limits, and to how many requests.
        limit: InFlightLimit,
        /// When it began, on the replay's clock.
        from: Nanos,
    },
    /// This machine or this program started requests later than the device made necessary: more than 1 % by more than
    /// 100 us, or more than 0.1 % by more than 1 ms, beyond what chance explains.
    ReplayerLimited {
        /// The shares of all requests whose replayer lag exceeded each of [`LATENESS_LIMITS`].
        late: [f64; LATENESS_LIMITS.len()],
    },
}

/// An option that allows fewer requests at a device than there are places by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlightLimit {
    /// Its name on the command line.
    pub option: &'static str,
    /// Its value.
    pub requests: u32,
}

impl std::fmt::Display for InFlightLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.option, self.requests)
    }
}

impl Verdict {
    /// The verdict in a word, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::KeptUp => "kept up",
            Self::NotJudged => "not judged",
            Self::DeviceLimited { .. } => "device-limited",
            Self::ModelLimited { .. } => "model-limited",
            Self::InFlightLimited { .. } => "in-flight-limited",
            Self::ReplayerLimited { .. } => "replayer-limited",
        }
    }

    /// The verdict where a model answered in place of the device.
    #[must_use]
    pub(crate) fn of_model(self) -> Self {
        match self {
            Self::DeviceLimited { from } => Self::ModelLimited { from },
            other => other,
        }
    }

    /// The worse of two.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::ReplayerLimited { late: a }, Self::ReplayerLimited { late: b }) => {
                Self::ReplayerLimited {
                    late: std::array::from_fn(|i| a[i].max(b[i])),
                }
            }
            (limited @ Self::ReplayerLimited { .. }, _)
            | (_, limited @ Self::ReplayerLimited { .. }) => limited,
            (Self::InFlightLimited { limit, from: a }, Self::InFlightLimited { from: b, .. }) => {
                Self::InFlightLimited {
                    limit,
                    from: a.min(b),
                }
            }
            (limited @ Self::InFlightLimited { .. }, _)
            | (_, limited @ Self::InFlightLimited { .. }) => limited,
            (Self::DeviceLimited { from: a }, Self::DeviceLimited { from: b }) => {
                Self::DeviceLimited { from: a.min(b) }
            }
            (limited @ Self::DeviceLimited { .. }, _)
            | (_, limited @ Self::DeviceLimited { .. }) => limited,
            (Self::ModelLimited { from: a }, Self::ModelLimited { from: b }) => {
                Self::ModelLimited { from: a.min(b) }
            }
            (limited @ Self::ModelLimited { .. }, _) | (_, limited @ Self::ModelLimited { .. }) => {
                limited
            }
            (Self::NotJudged, Self::NotJudged) => Self::NotJudged,
            (Self::KeptUp, _) | (_, Self::KeptUp) => Self::KeptUp,
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::KeptUp => f.write_str("kept up"),
            Self::NotJudged => f.write_str("none, as no completed request was measured"),
            Self::DeviceLimited { from } => {
                write!(f, "device-limited, starting {from} into the load")
            }
            Self::ModelLimited { from } => write!(
                f,
                "model-limited, starting {from} into the load: the model completed requests more slowly than the load \
                 demands"
            ),
            Self::InFlightLimited { limit, from } => write!(
                f,
                "limited by {limit}, starting {from} into the load: requests waited for a free slot, and the device \
                 may be capable of more concurrency"
            ),
            Self::ReplayerLimited { late } => {
                f.write_str("replayer-limited: requests were submitted late by this machine")?;
                let exceeded = LATENESS_LIMITS.iter().zip(late);
                for (i, (limit, share)) in exceeded.filter(|(_, share)| **share > 0.0).enumerate() {
                    let before = if i == 0 { ": " } else { ", " };
                    write!(f, "{before}{:.2} % more than {limit}", 100.0 * share)?;
                }
                Ok(())
            }
        }
    }
}

/// A time in which requests had to wait for the device for more than a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Episode {
    /// The intended start of the first that was so late, on the replay's clock.
    pub from: Nanos,
    /// When no request was due any more, or the first was submitted that was less than a second late; `None` if it
    /// lasted to the end.
    pub until: Option<Nanos>,
    /// The longest delay.
    pub longest_delay: Nanos,
    /// When that was.
    pub worst_at: Nanos,
    /// The number of requests due but not submitted, as far as it was looked at: there may have been more meanwhile.
    pub largest_backlog: u64,
    /// Whether the replay ended early in it: the longest delay is a lower bound then.
    pub cut_short: bool,
}

impl Episode {
    fn had_behind(&mut self, requests: u64) {
        self.largest_backlog = self.largest_backlog.max(requests);
    }

    /// How long it took from the worst to the end.
    pub fn drain_time(&self) -> Option<Nanos> {
        Some(self.until?.saturating_sub(self.worst_at))
    }
}

/// More episodes are counted as one.
const MOST_EPISODES: usize = 1000;
/// From this delay on, requests are overload.
const OVERLOADED: Nanos = Nanos::SECOND;

/// When a request was submitted late, and how many had been by then.
#[derive(Clone, Copy)]
struct Sample {
    at: Nanos,
    handed: u64,
    /// The place of the overload that this is part of.
    episode: usize,
}

/// What was submitted while requests were a second late.
#[derive(Default)]
struct Overloaded {
    requests: u64,
    time: Nanos,
    /// When the request before was submitted, and how many had been then, if it was so late.
    last: Option<(Nanos, u64)>,
}

impl Overloaded {
    /// A request that was due at `planned`, more than a second ago, is submitted `now`, after `before` others.
    fn submitted(&mut self, planned: Nanos, now: Nanos, before: u64) {
        // The first one has been a second late for some time, in which none was submitted.
        let late_since = planned.saturating_add(OVERLOADED);
        let (since, then) = match self.last {
            Some((last, handed)) => (last, handed),
            None => (late_since, before),
        };
        self.requests += before + 1 - then;
        self.time += now.saturating_sub(since);
        self.last = Some((now, before + 1));
    }

    /// Since then none has been late enough, up to one that was due at `planned` and is submitted `now`. Says since when
    /// it is over.
    fn ended(&mut self, planned: Nanos, now: Nanos) -> Nanos {
        match self.last.take() {
            // When the last late one was submitted, no other was due.
            Some((last, _)) if last <= planned => last,
            _ => now,
        }
    }

    /// Requests per second; `None` if all this lasted for less than a second. Those that come back together make up too
    /// much of a shorter time.
    fn rate(&self) -> Option<f64> {
        (self.time >= Nanos::SECOND).then(|| self.requests as f64 / self.time.as_secs_f64())
    }
}

/// What was at the device when a request was submitted.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The requests submitted by then.
    submitted: u64,
    outstanding: u64,
    /// The most that had been there by then.
    most: u64,
    planned: Nanos,
}

/// What the session watches to come to a verdict.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) own_lateness: Distribution,
    /// How many of those exceeded each of the limits.
    late: [u64; LATENESS_LIMITS.len()],
    /// How long requests had to wait for the device, in a replay that is never late by its own fault.
    waits: Distribution,
    latencies: Distribution,
    /// The planned start of the first request that had to wait for a millisecond.
    first_wait: Option<Nanos>,
    /// The planned starts of the first request and of the last, in the order of the load.
    planned: Option<(Nanos, Nanos)>,
    /// How late the last was, and how long it had to wait.
    last: (Nanos, Nanos),
    completed: u64,
    /// How many of these failed.
    failed: u64,
    /// What was at the device after 1, 2, 4, 8, ... requests: the last time, and the time before.
    marks: [Mark; 2],
    at_end: Option<Mark>,
    /// The most requests at the device when one was submitted.
    most_outstanding: u64,
    /// Whether the load had more requests, and whether one of them was due and waited for a place.
    ended_early: bool,
    is_blocked_at_end: bool,
    pub(crate) most_in_flight: usize,
    pub(crate) most_pushed_back: u32,
    pub(crate) pushed_back: u64,
    pub(crate) dropped: u64,
    /// Missed requests that were due between the warm-up and the end of the replay.
    pub(crate) missed_when_due: u64,
    pub(crate) ordered_waits: u64,
    pub(crate) last_completion: Nanos,
    pub(crate) last_handed: Nanos,
    episodes: Vec<Episode>,
    handed: u64,
    /// The backlog of that moment is known when all requests due then have been submitted.
    sample: Option<Sample>,
    overloaded: Overloaded,
    /// Since when a due request waits for a place.
    blocked_since: Option<Nanos>,
    blocked_time: Nanos,
    first_blocked: Option<Nanos>,
    first_second_late: Option<Nanos>,
}

impl Watch {
    /// A request that was planned for `planned`, and could ideally have been submitted at `ideal`, is submitted `now`.
    /// Without an ideal start it was pushed back: when it starts is not up to the replay.
    #[inline]
    pub(crate) fn handed_over(&mut self, planned: Nanos, ideal: Option<Nanos>, now: Nanos) {
        let lateness = now.saturating_sub(planned);
        self.last_handed = now;
        if let Some(ideal) = ideal {
            let wait = ideal.saturating_sub(planned);
            self.follow_backlog(planned, now, (lateness, wait));
            let own = now.saturating_sub(ideal);
            self.own_lateness.push(own);
            // What is lost once before a device that is overloaded from then on is never made good, and does not matter.
            if own.get() as f64 > (1.0 - LEAST_DONE) * lateness.get() as f64 {
                for (count, limit) in self.late.iter_mut().zip(LATENESS_LIMITS) {
                    *count += u64::from(own > limit);
                }
            }
            self.waits.push(wait);
            if wait >= LONG_WAIT {
                self.first_wait.get_or_insert(planned);
            }
            self.planned.get_or_insert((planned, planned)).1 = planned;
            self.last = (lateness, wait);
        }
        self.handed += 1;
        self.most_outstanding = self.most_outstanding.max(self.outstanding());
        if self.handed.is_power_of_two() {
            self.marks = [self.mark(planned), self.marks[0]];
        }
    }

    /// The planned start of the last request that was submitted, on the replay's clock.
    pub(crate) fn last_planned(&self) -> Nanos {
        self.planned.map_or(Nanos::ZERO, |(_, last)| last)
    }

    #[inline]
    fn outstanding(&self) -> u64 {
        self.handed.saturating_sub(self.completed)
    }

    fn mark(&self, planned: Nanos) -> Mark {
        Mark {
            submitted: self.handed,
            outstanding: self.outstanding(),
            most: self.most_outstanding,
            planned,
        }
    }

    /// The load is at its end; from now on what is at the device is only waited for.
    pub(crate) fn end_of_load(&mut self, ended_early: bool) {
        self.at_end.get_or_insert(self.mark(self.last_planned()));
        self.ended_early = ended_early;
        self.is_blocked_at_end = self.blocked_since.is_some();
    }

    /// The times of overload. Requests that were submitted since a late one had been due before it was submitted, so at the
    /// end they are a backlog, too.
    pub(crate) fn episodes(&self) -> Vec<Episode> {
        let mut episodes = self.episodes.clone();
        if let Some(sample) = self.sample {
            episodes[sample.episode].had_behind(self.handed - sample.handed);
        }
        if let Some(last) = episodes.last_mut().filter(|last| last.until.is_none())
            && self.ended_early
        {
            // If none was due, it was over with the last one that was late.
            last.cut_short = self.is_blocked_at_end;
            last.until = self
                .overloaded
                .last
                .map(|(at, _)| at)
                .filter(|_| !last.cut_short);
        }
        episodes
    }

    #[inline]
    fn follow_backlog(&mut self, planned: Nanos, now: Nanos, (lateness, wait): (Nanos, Nanos)) {
        let overloaded = wait >= OVERLOADED;
        if let Some(sample) = self.sample
            && planned >= sample.at
        {
            self.episodes[sample.episode].had_behind(self.handed - sample.handed);
            self.sample = None;
        }
        let open = self.episodes.last().is_some_and(|e| e.until.is_none());
        if !overloaded {
            if open && let Some(episode) = self.episodes.last_mut() {
                episode.until = Some(self.overloaded.ended(planned, now));
            }
            return;
        }
        self.first_second_late.get_or_insert(planned);
        self.overloaded.submitted(planned, now, self.handed);
        if !open && self.episodes.len() < MOST_EPISODES {
            self.episodes.push(Episode {
                from: planned,
                largest_backlog: 1,
                ..Episode::default()
            });
        }
        self.sample.get_or_insert(Sample {
            at: now,
            handed: self.handed,
            episode: self.episodes.len() - 1,
        });
        if let Some(episode) = self.episodes.last_mut() {
            episode.until = None;
            if lateness > episode.longest_delay {
                (episode.longest_delay, episode.worst_at) = (lateness, now);
            }
        }
    }

    /// The number at the device.
    #[inline]
    pub(crate) fn in_flight(&mut self, count: usize) {
        self.most_in_flight = self.most_in_flight.max(count);
    }

    /// One more was pushed back; sets the total.
    pub(crate) fn pushed_back(&mut self, waiting: u32) {
        self.pushed_back += 1;
        self.most_pushed_back = self.most_pushed_back.max(waiting);
    }

    /// How many requests were done, and how many failed.
    pub(crate) fn done_and_failed(&self) -> [u64; 2] {
        [self.completed - self.failed, self.failed]
    }

    /// One is complete, so long after it was submitted; whether it failed.
    #[inline]
    pub(crate) fn completed(&mut self, at: Nanos, latency: Nanos, has_failed: bool) {
        self.failed += u64::from(has_failed);
        self.last_completion = self.last_completion.max(at);
        self.completed += 1;
        self.latencies.push(latency);
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
        }
    }

    /// Requests per second while they were a second late; `None` if they were for less than a second.
    pub(crate) fn overload_rate(&self) -> Option<f64> {
        self.overloaded.rate()
    }

    /// The verdict of a replay that ended `now`, with this number of slots, which may be limited by an option.
    pub(crate) fn verdict(
        &mut self,
        now: Nanos,
        places: usize,
        limit: Option<InFlightLimit>,
    ) -> Verdict {
        self.unblock(now);
        // A device that does not answer is to be judged.
        if self.handed == self.failed {
            return Verdict::NotJudged;
        }
        let is_full = self.most_in_flight >= places;
        let full_for_long = is_full && self.blocked_time.get().saturating_mul(100) > now.get();
        let n = self.handed;
        let mut late = self.late.iter().zip(MOST_LATE);
        if late.any(|(count, share)| is_more_than(*count, n, share)) {
            return Verdict::ReplayerLimited {
                late: self.late.map(|late| late as f64 / n as f64),
            };
        }
        let blocked = self.first_blocked.filter(|_| full_for_long);
        let waited = self
            .first_wait
            .filter(|_| self.is_behind() || self.has_long_waits());
        let piled_up = self.piles_up(now);
        let limited = [self.first_second_late, blocked, waited, piled_up];
        let Some(from) = limited.into_iter().flatten().min() else {
            return Verdict::KeptUp;
        };
        // Waiting requests waited for a slot.
        match limit.filter(|_| is_full && self.first_blocked.is_some()) {
            Some(limit) => Verdict::InFlightLimited { limit, from },
            None => Verdict::DeviceLimited { from },
        }
    }

    /// Whether less than 98 % of the wanted rate was done, for the device's sake.
    fn is_behind(&self) -> bool {
        let Some((first, last)) = self.planned else {
            return false;
        };
        let wanted = last.saturating_sub(first).get() as f64;
        let (lateness, wait) = self.last;
        let taken = wanted + lateness.get() as f64;
        wait.get() >= lateness.get() / 2 && wanted < LEAST_DONE * taken
    }

    /// Whether the device completed less than 98 % of what was submitted in the last half of the load or more, so that
    /// more and more is there: since when. The replay ended `now`.
    fn piles_up(&self, now: Nanos) -> Option<Nanos> {
        let (end, then) = (self.at_end?, self.marks[1]);
        let growth = end.outstanding.saturating_sub(then.most);
        let submitted = end.submitted - then.submitted;
        let is_growth = growth > then.most && is_more_than(growth, submitted, 1.0 - LEAST_DONE);
        // A burst at the end is complete soon: after 2 % of the time, or after the time that requests take.
        let drained = now.max(self.last_completion);
        let drained = drained.saturating_sub(self.last_handed).get() as f64;
        let time = end.planned.saturating_sub(then.planned).get() as f64;
        let usual = self.latencies.histogram.quantile(0.5);
        let usual = usual.map_or(0.0, |median| median.get() as f64);
        let is_slow = drained > (1.0 - LEAST_DONE) * time && drained > LONGER * usual;
        (then.submitted > 0 && is_growth && is_slow).then_some(then.planned)
    }

    /// Whether one in a hundred waited for the device for much longer than the device takes.
    fn has_long_waits(&self) -> bool {
        let p99 = |of: &Distribution| of.histogram.quantile(0.99);
        match (p99(&self.waits), p99(&self.latencies)) {
            (Some(wait), Some(latency)) => wait >= LONG_WAIT.max(latency * 10),
            _ => false,
        }
    }
}

/// Shorter waits for the device are not looked at.
const LONG_WAIT: Nanos = Nanos::MILLISECOND;
/// The share of the wanted rate that has to be done.
const LEAST_DONE: f64 = 0.98;
/// What piles up takes this many times the median latency to complete, or more: where latencies grow steadily, twice.
const LONGER: f64 = 1.5;

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
        watch.handed_over(Nanos::ZERO, Some(Nanos::ZERO), Nanos::new(50));
        watch.block(Nanos::from_millis(10));
        let verdict = watch.verdict(Nanos::from_secs(5), 1, None);
        let from = Nanos::from_millis(10);
        assert_eq!(verdict, Verdict::DeviceLimited { from });
    }

    #[test]
    fn what_waits_for_a_place_that_the_user_does_not_grant_is_not_limited_by_the_device() {
        let limit = InFlightLimit {
            option: "--in-flight",
            requests: 1,
        };
        let verdict = |places: usize, limit| {
            let mut watch = Watch::default();
            for i in 0..1000 {
                let (planned, at) = (Nanos::from_micros(100 * i), Nanos::from_micros(300 * i));
                watch.handed_over(planned, Some(at), at);
                watch.in_flight(1);
                watch.block(at);
                watch.unblock(at + Nanos::from_micros(200));
                watch.completed(at, Nanos::from_micros(300), false);
            }
            watch.verdict(Nanos::from_millis(300), places, limit)
        };
        let limited = verdict(1, Some(limit));
        assert_eq!(limited.name(), "in-flight-limited");
        let text = limited.to_string();
        assert!(
            text.starts_with("limited by --in-flight 1, starting ")
                && text.contains(" into the load: "),
            "{text}"
        );
        // By default, and where the limit was not reached.
        assert_eq!(verdict(1, None).name(), "device-limited");
        assert_eq!(verdict(2, Some(limit)).name(), "device-limited");
        let device = Verdict::DeviceLimited { from: Nanos::ZERO };
        assert_eq!(device.or(limited), limited);
    }

    /// A replay of a request every 100 us, of which `at(i)` gives the ideal start and the start, in microseconds.
    fn verdict_of(latency: u64, at: impl Fn(u64) -> (u64, u64)) -> Verdict {
        let us = Nanos::from_micros;
        let mut watch = Watch::default();
        let n = 10_000;
        for i in 0..n {
            let (ideal, started) = at(i);
            watch.handed_over(us(100 * i), Some(us(ideal)), us(started));
            watch.completed(us(started + latency), us(latency), false);
        }
        watch.verdict(us(at(n - 1).1 + latency), 1000, None)
    }

    #[test]
    fn all_in_time_is_kept_up_and_a_stall_of_the_replay_is_not() {
        let kept_up = verdict_of(20, |i| (100 * i, 100 * i + 3));
        assert_eq!(kept_up, Verdict::KeptUp);
        // 300 ms are lost at once, and made good over the next 3,750 requests.
        let stalled = verdict_of(20, |i| {
            let late = 300_000_u64.saturating_sub(80 * i.saturating_sub(1000));
            (100 * i, 100 * i + if i < 1000 { 3 } else { late })
        });
        let Verdict::ReplayerLimited { late } = stalled else {
            panic!("{stalled:?}")
        };
        assert!(late[2] > 0.3 && late[3] == 0.0, "{late:?}");
        assert!(stalled.to_string().contains("more than 10 ms"), "{stalled}");
    }

    #[test]
    fn a_device_at_83_percent_of_the_rate_is_the_limit_before_a_second_is_lost() {
        let behind = verdict_of(120, |i| (120 * i, 120 * i));
        let from = Nanos::from_millis(5);
        assert_eq!(behind, Verdict::DeviceLimited { from });
        // At 99 % less than a hundredth of the time is lost.
        assert_eq!(
            verdict_of(120, |i| (101 * i, 101 * i)).name(),
            "device-limited"
        );
        assert_eq!(verdict_of(1_200, |i| (101 * i, 101 * i)), Verdict::KeptUp);
    }

    #[test]
    fn a_little_lost_before_an_overload_is_not_what_limits_it() {
        // 150 us are lost at the beginning; the device does half of the rate.
        let behind = verdict_of(200, |i| (200 * i, 200 * i + 150));
        assert_eq!(behind.name(), "device-limited");
        // 100 ms are.
        let both = verdict_of(200, |i| (200 * i, 200 * i + 100_000));
        assert_eq!(both.name(), "replayer-limited");
    }

    #[test]
    fn what_piles_up_at_the_device_is_its_limit() {
        let us = Nanos::from_micros;
        let verdict = |latency: &dyn Fn(u64) -> u64| {
            let mut watch = Watch::default();
            let mut ends: Vec<u64> = Vec::new();
            for i in 0..10_000 {
                let now = 100 * i;
                while ends.first().is_some_and(|end| *end <= now) {
                    let end = ends.remove(0);
                    watch.completed(us(end), us(latency(0)), false);
                }
                watch.handed_over(us(now), Some(us(now)), us(now));
                ends.push(now + latency(i));
            }
            watch.end_of_load(false);
            watch.verdict(us(2_000_000), 1 << 16, None)
        };
        // 95 % of the rate: the latency grows by 5 us with each request.
        assert_eq!(verdict(&|i| 50 + 5 * i).name(), "device-limited");
        assert_eq!(verdict(&|i| 50 + i / 2), Verdict::KeptUp);
        // Much is there, but not more and more.
        assert_eq!(verdict(&|_| 40_000), Verdict::KeptUp);
    }

    #[test]
    fn long_waits_of_one_in_a_hundred_are_the_devices_limit() {
        let paused = |i: u64| 5_000 * u64::from(i.is_multiple_of(50));
        let long = verdict_of(100, |i| (100 * i + paused(i), 100 * i + paused(i)));
        assert_eq!(long.name(), "device-limited");
        let usual = verdict_of(1_000, |i| (100 * i + paused(i), 100 * i + paused(i)));
        assert_eq!(usual, Verdict::KeptUp);
    }

    #[test]
    fn an_overload_has_a_beginning_an_end_a_backlog_and_a_rate() {
        // 1 000 a second are due for ten seconds, 500 a second are done.
        let mut watch = Watch::default();
        for i in 0..10_000_u64 {
            let ideal = Some(Nanos::from_millis(2 * i));
            watch.handed_over(Nanos::from_millis(i), ideal, Nanos::from_millis(2 * i));
        }
        // Then none are due for long enough.
        let last = Nanos::from_secs(30);
        watch.handed_over(last, Some(last), last);
        let [episode] = watch.episodes()[..] else {
            panic!("{:?}", watch.episodes())
        };
        assert_eq!(episode.from, Nanos::SECOND);
        // When the last of these was submitted, no other was due.
        assert_eq!(episode.until, Some(Nanos::from_millis(19_998)));
        assert_eq!(episode.longest_delay, Nanos::from_millis(9_999));
        // At 2i ms, 2i are due and i are done: i wait, 5 000 at most before none are due any more.
        assert!(
            (3_900..=5_100).contains(&episode.largest_backlog),
            "{episode:?}"
        );
        assert_eq!(episode.drain_time(), Some(Nanos::ZERO));
        // The pause afterwards is not counted.
        let rate = watch.overload_rate().unwrap();
        assert!((rate - 500.0).abs() < 0.1, "{rate}");
    }

    #[test]
    fn an_overload_lasts_while_requests_are_a_second_late() {
        let ms = Nanos::from_millis;
        let mut watch = Watch::default();
        let mut late = |planned, now| watch.handed_over(ms(planned), Some(ms(now)), ms(now));
        // 100 a second are submitted, two seconds late at first; later ones are due every 20 ms.
        (0..200).for_each(|i| late(20 * i, 2_000 + 10 * i));
        // A second overload, ten times as slow.
        (0..11).for_each(|i| late(10_000 + 20 * i, 12_000 + 100 * i));
        let [first, second] = watch.episodes()[..] else {
            panic!("{:?}", watch.episodes())
        };
        // Number 101 is late by 990 ms.
        assert_eq!(first.until, Some(ms(3_010)));
        assert_eq!(first.drain_time(), Some(ms(1_010)));
        assert_eq!((second.from, second.until), (ms(10_000), None));
        // The first of each was a second late for a second before it was submitted: 101 requests in 2 s, and 11 in 2 s.
        let rate = watch.overload_rate().unwrap();
        assert!((rate - 28.0).abs() < 1e-9, "{rate}");
    }

    #[test]
    fn an_overload_is_over_before_a_pause_in_which_the_replay_is_ended() {
        let ms = Nanos::from_millis;
        for is_blocked in [false, true] {
            let mut watch = Watch::default();
            for i in 0..200 {
                watch.handed_over(ms(10 * i), Some(ms(20 * i)), ms(20 * i));
            }
            if is_blocked {
                watch.block(ms(3_990));
            }
            watch.end_of_load(true);
            let [episode] = watch.episodes()[..] else {
                panic!("{:?}", watch.episodes())
            };
            let until = (!is_blocked).then_some(ms(3_980));
            assert_eq!((episode.until, episode.cut_short), (until, is_blocked));
        }
    }

    #[test]
    fn a_short_overload_has_no_rate() {
        let ms = Nanos::from_millis;
        let mut watch = Watch::default();
        // Ten at a time, 60 that are due at once: the last ten are a second late, for no time.
        for i in 0..60 {
            watch.handed_over(Nanos::ZERO, Some(ms(i / 10 * 200)), ms(i / 10 * 200));
        }
        assert_eq!(watch.overload_rate(), None);
    }

    #[test]
    fn a_device_that_stands_still_is_not_taken_to_be_fast_when_it_goes_on() {
        let mut watch = Watch::default();
        // 1 000 a second are due, and the device answers none until 3.5 s: then all that are due are submitted at once.
        let now = Nanos::from_millis(3_500);
        for i in 0..2_500 {
            watch.handed_over(Nanos::from_millis(i), Some(now), now);
        }
        // The first was a second late from 1 s on.
        assert_eq!(watch.overload_rate(), Some(1_000.0));
    }

    #[test]
    fn a_backlog_that_is_not_drained_at_the_end_is_counted() {
        // 1 000 a second are due, and 200 a second are submitted: none of those that are due when the overload begins
        // is submitted before the replay ends.
        for ended_early in [true, false] {
            let mut watch = Watch::default();
            for i in 0..1_000_u64 {
                let now = Nanos::from_millis(5 * i);
                watch.handed_over(Nanos::from_millis(i), Some(now), now);
            }
            watch.block(Nanos::from_millis(4_999));
            watch.end_of_load(ended_early);
            let [episode] = watch.episodes()[..] else {
                panic!("{:?}", watch.episodes())
            };
            // The first that is a second late is number 250, at 1.25 s, when requests up to 1 250 are due.
            assert_eq!(
                (episode.from, episode.until),
                (Nanos::from_millis(250), None)
            );
            assert_eq!(episode.largest_backlog, 750);
            // If these were all, none of them was missed.
            assert_eq!(episode.cut_short, ended_early);
        }
    }

    #[test]
    fn a_backlog_is_that_of_the_overload_in_which_it_was() {
        let mut watch = Watch::default();
        let mut late = |planned, now| {
            let now = Nanos::from_millis(now);
            watch.handed_over(Nanos::from_millis(planned), Some(now), now);
        };
        // Ten are 1.5 s late, then one is not, and another overload begins with one that is due before all of the first
        // had been submitted.
        (0..10).for_each(|i| late(i, 1500 + i));
        late(1400, 1600);
        late(1450, 2600);
        watch.block(Nanos::from_millis(2_601));
        watch.end_of_load(true);
        let seen: Vec<_> = watch
            .episodes()
            .iter()
            .map(|e| (e.largest_backlog, e.cut_short))
            .collect();
        assert_eq!(seen, [(12, false), (1, true)]);
    }

    #[test]
    fn a_queue_that_no_more_than_doubles_does_not_pile_up() {
        let planned = Nanos::from_secs(3);
        for (submitted, then, outstanding, piles_up) in [
            (1000, 100, 200, false),
            (1000, 100, 201, true),
            (1000, 0, 1, false),
            // 1 000 were submitted since, and 20 may remain of them, beyond chance 33.
            (1000, 30, 63, false),
            (1000, 30, 64, true),
            // Too few were there at first to compare with.
            (0, 0, 1000, false),
        ] {
            let mut watch = Watch {
                at_end: Some(Mark {
                    submitted: submitted + 1000,
                    outstanding,
                    ..Mark::default()
                }),
                ..Watch::default()
            };
            watch.marks[1] = Mark {
                submitted,
                outstanding: 0,
                most: then,
                planned,
            };
            let since = piles_up.then_some(planned);
            let found = watch.piles_up(Nanos::SECOND);
            assert_eq!(found, since, "{then} {outstanding}");
        }
    }

    #[test]
    fn a_burst_at_the_end_is_no_pile() {
        let ms = Nanos::from_millis;
        // Single requests every 25 ms, then ten at once, which take 5 ms if they are served together.
        let verdict = |last_ms: &dyn Fn(u64) -> u64| {
            let mut watch = Watch::default();
            let mut single = 0;
            while single < 60 {
                let at = ms(25 * single);
                watch.handed_over(at, Some(at), at);
                watch.completed(at + ms(5), ms(5), false);
                single += 1;
            }
            let at = ms(25 * single);
            (0..10).for_each(|_| watch.handed_over(at, Some(at), at));
            watch.end_of_load(false);
            (1..=10).for_each(|i| watch.completed(at + ms(last_ms(i)), ms(last_ms(i)), false));
            watch.verdict(at + ms(last_ms(10)), 1 << 16, None)
        };
        assert_eq!(verdict(&|_| 5), Verdict::KeptUp);
        // Each takes a tenth of the time of the load.
        assert_eq!(verdict(&|i| 150 * i).name(), "device-limited");
        // As many as ever are there, but all take as long.
        let mut watch = Watch::default();
        (0..1000).for_each(|i| watch.handed_over(ms(i), Some(ms(i)), ms(i)));
        watch.end_of_load(false);
        (0..1000).for_each(|i| watch.completed(ms(i + 2_000), ms(2_000), false));
        assert_eq!(watch.verdict(ms(3_000), 1 << 16, None), Verdict::KeptUp);
    }

    #[test]
    fn what_is_done_and_what_failed_is_counted() {
        let ms = Nanos::from_millis;
        let mut watch = Watch::default();
        for at in [3, 5] {
            watch.handed_over(ms(at), Some(ms(at)), ms(at));
            assert_eq!(watch.last_handed, ms(at));
        }
        for (at, has_failed, counts) in [(9, false, [1, 0]), (7, true, [1, 1]), (8, true, [1, 2])] {
            watch.completed(ms(at), ms(1), has_failed);
            assert_eq!(watch.done_and_failed(), counts);
        }
        assert_eq!(watch.last_completion, ms(9), "the latest, not the last");
        for (waiting, [all, most]) in [(1, [1, 1]), (2, [2, 2]), (1, [3, 2])] {
            watch.pushed_back(waiting);
            assert_eq!(
                [watch.pushed_back, watch.most_pushed_back.into()],
                [all, most]
            );
        }
        for (count, most) in [(2, 2), (5, 5), (3, 5)] {
            watch.in_flight(count);
            assert_eq!(watch.most_in_flight, most);
        }
    }

    #[test]
    fn nothing_is_judged_if_everything_failed() {
        let at = Nanos::MILLISECOND;
        for (failed, name) in [([true, true], "not judged"), ([true, false], "kept up")] {
            let mut watch = Watch::default();
            for has_failed in failed {
                watch.handed_over(at, Some(at), at);
                watch.completed(at, at, has_failed);
            }
            assert_eq!(watch.verdict(at, 10, None).name(), name);
        }
        assert_eq!(Watch::default().verdict(at, 10, None), Verdict::NotJudged);
    }

    #[test]
    fn a_device_is_full_for_long_if_it_was_for_more_than_a_hundredth_of_the_time() {
        let ms = Nanos::from_millis;
        for (most_in_flight, places, blocked, is_limited) in [
            (4, 4, 11, true),
            (5, 4, 11, true),
            (3, 4, 11, false),
            (4, 4, 10, false),
        ] {
            let mut watch = Watch {
                most_in_flight,
                ..Watch::default()
            };
            watch.handed_over(Nanos::ZERO, Some(Nanos::ZERO), Nanos::ZERO);
            // Twice, with a pause; that it is said again changes nothing.
            watch.block(ms(100));
            watch.block(ms(103));
            watch.unblock(ms(105));
            watch.unblock(ms(150));
            watch.block(ms(200));
            watch.unblock(ms(195 + blocked));
            let verdict = watch.verdict(ms(1000), places, None);
            let expected = match is_limited {
                true => Verdict::DeviceLimited { from: ms(100) },
                false => Verdict::KeptUp,
            };
            assert_eq!(verdict, expected, "{most_in_flight} {blocked}");
        }
    }

    #[test]
    fn a_wait_of_a_second_for_a_place_is_the_devices_limit() {
        let ms = Nanos::from_millis;
        for (waited, is_limited) in [(999, false), (1000, true)] {
            let mut watch = Watch::default();
            watch.handed_over(Nanos::ZERO, Some(Nanos::ZERO), Nanos::ZERO);
            watch.block(ms(5));
            watch.unblock(ms(5 + waited));
            let expected = match is_limited {
                true => Verdict::DeviceLimited { from: ms(5) },
                false => Verdict::KeptUp,
            };
            assert_eq!(watch.verdict(ms(5000), 9, None), expected);
        }
    }

    #[test]
    fn of_two_verdicts_the_worse_counts_and_of_the_same_the_earlier() {
        let ms = Nanos::from_millis;
        let limit = InFlightLimit {
            option: "--in-flight",
            requests: 7,
        };
        let late = [0.4, 0.3, 0.2, 0.1];
        // From the best to the worst.
        let ranks = |at: u64| {
            let from = ms(at);
            [
                Verdict::NotJudged,
                Verdict::KeptUp,
                Verdict::ModelLimited { from },
                Verdict::DeviceLimited { from },
                Verdict::InFlightLimited { limit, from },
                Verdict::ReplayerLimited { late },
            ]
        };
        for (i, a) in ranks(10).into_iter().enumerate() {
            for (j, b) in ranks(20).into_iter().enumerate() {
                let worse = if i >= j { a } else { b };
                assert_eq!(a.or(b), worse, "{a:?} {b:?}");
                let worse = if j > i { b } else { a };
                assert_eq!(b.or(a), worse, "{b:?} {a:?}");
            }
        }
        let other = Verdict::ReplayerLimited {
            late: [0.1, 0.5, 0.0, 0.2],
        };
        let both = Verdict::ReplayerLimited {
            late: [0.4, 0.5, 0.2, 0.2],
        };
        assert_eq!(ranks(1)[5].or(other), both);
    }

    #[test]
    fn only_a_devices_limit_is_that_of_a_model() {
        let from = Nanos::SECOND;
        let model = Verdict::ModelLimited { from };
        for (verdict, of_model) in [
            (Verdict::DeviceLimited { from }, model),
            (model, model),
            (Verdict::KeptUp, Verdict::KeptUp),
            (Verdict::NotJudged, Verdict::NotJudged),
        ] {
            assert_eq!(verdict.of_model(), of_model);
        }
    }

    #[test]
    fn a_verdict_names_the_limits_that_were_exceeded() {
        for (late, text) in [
            ([0.5, 0.0, 0.0, 0.0], ": 50.00 % more than 100 µs"),
            (
                [0.25, 0.125, 0.0, 0.001],
                ": 25.00 % more than 100 µs, 12.50 % more than 1 ms, 0.10 % more than 1 s",
            ),
        ] {
            let shown = Verdict::ReplayerLimited { late }.to_string();
            assert!(shown.ends_with(text), "{shown}");
        }
    }

    #[test]
    fn overloads_beyond_a_thousand_are_part_of_the_last() {
        let ms = Nanos::from_millis;
        let mut watch = Watch::default();
        for i in 0..1200 {
            let late = ms(10_000 * i);
            watch.handed_over(late, Some(late + ms(1000)), late + ms(1000 + i));
            let in_time = late + ms(5000);
            watch.handed_over(in_time, Some(in_time), in_time);
        }
        let episodes = watch.episodes();
        assert_eq!(episodes.len(), MOST_EPISODES);
        assert_eq!(
            (episodes[998].from, episodes[998].longest_delay),
            (ms(9_980_000), ms(1998))
        );
        let last = episodes[MOST_EPISODES - 1];
        assert_eq!((last.from, last.longest_delay), (ms(9_990_000), ms(2199)));
        assert_eq!(last.worst_at, ms(11_990_000 + 2199));
    }

    #[test]
    fn requests_that_wait_for_less_than_a_second_are_no_overload() {
        let ms = Nanos::from_millis;
        for (wait, episodes) in [(999, 0), (1000, 1)] {
            let mut watch = Watch::default();
            watch.handed_over(ms(1), Some(ms(1 + wait)), ms(1 + wait));
            assert_eq!(watch.episodes().len(), episodes, "{wait}");
        }
        // When one that was pushed back starts is not up to the replay.
        let mut watch = Watch::default();
        watch.handed_over(ms(1), None, ms(5000));
        assert_eq!(watch.episodes(), []);
        assert_eq!(watch.own_lateness.count(), 0);
    }

    #[test]
    fn marks_are_those_of_the_last_two_powers_of_two() {
        let us = Nanos::from_micros;
        let mut watch = Watch::default();
        let mut seen = Vec::new();
        for i in 1..=9 {
            watch.handed_over(us(i), Some(us(i)), us(i));
            if i % 2 == 0 {
                watch.completed(us(i), us(1), false);
            }
            seen.push(watch.marks.map(|mark| (mark.submitted, mark.outstanding)));
        }
        // Every second one completes after the next is submitted.
        assert_eq!(seen[0], [(1, 1), (0, 0)]);
        assert_eq!(seen[2], [(2, 2), (1, 1)]);
        assert_eq!(seen[4], [(4, 3), (2, 2)]);
        assert_eq!(seen[8], [(8, 5), (4, 3)]);
        assert_eq!(watch.marks.map(|mark| mark.planned), [us(8), us(4)]);
    }

    #[test]
    fn a_device_is_behind_below_98_percent_if_at_least_half_of_the_lateness_was_a_wait_for_it() {
        let us = Nanos::from_micros;
        // 100 ms were wanted: 98 % of the rate are 102.04 ms.
        for (lateness, wait, is_behind) in [
            (0, 0, false),
            (2_040, 2_040, false),
            (2_041, 2_041, true),
            (3_000, 1_500, true),
            (3_000, 1_499, false),
            (3_000, 0, false),
            (3_000, 3_000, true),
            (100_000, 50_000, true),
            (100_000, 49_999, false),
        ] {
            let watch = Watch {
                planned: Some((us(7_000), us(107_000))),
                last: (us(lateness), us(wait)),
                ..Watch::default()
            };
            assert_eq!(watch.is_behind(), is_behind, "{lateness} {wait}");
        }
        let nothing = Watch {
            last: (us(3_000), us(3_000)),
            ..Watch::default()
        };
        assert!(!nothing.is_behind());
    }
}
