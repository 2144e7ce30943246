//! Whether the replay itself stood in the way, over time: how far it had read ahead, how long it waited for the
//! load, and how long completions may have waited to be seen.

use iosonar_units::Nanos;

/// A tenth of a second of a replay, or more of a long one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SelfCheckPoint {
    /// When it ended, on the replay's clock.
    pub at: Nanos,
    /// Requests that had been read and not been looked at, at its end.
    pub ahead: u64,
    /// Requests at the device, at its end.
    pub in_flight: u64,
    /// How long the next request was not there yet.
    pub input_wait: Nanos,
    /// The longest time between two looks at completions while requests were in flight, sleep for a completion
    /// left out: so long one may have waited to be seen.
    pub answer_lag: Nanos,
    /// The sum of these times.
    pub answer_wait: Nanos,
}

impl SelfCheckPoint {
    /// The next one joins.
    fn join(&mut self, next: &Self) {
        self.at = next.at;
        self.ahead = next.ahead;
        self.in_flight = next.in_flight;
        self.input_wait += next.input_wait;
        self.answer_lag = self.answer_lag.max(next.answer_lag);
        self.answer_wait += next.answer_wait;
    }

    /// This and that of another thread in the same interval.
    fn beside(self, other: &Self) -> Self {
        Self {
            at: self.at.max(other.at),
            ahead: self.ahead + other.ahead,
            in_flight: self.in_flight + other.in_flight,
            input_wait: self.input_wait.max(other.input_wait),
            answer_lag: self.answer_lag.max(other.answer_lag),
            answer_wait: self.answer_wait.max(other.answer_wait),
        }
    }
}

/// The points of all threads in one line: each interval once, with the worst of their times.
pub(crate) fn of_all(threads: &[Vec<SelfCheckPoint>]) -> Vec<SelfCheckPoint> {
    let Some(longest) = threads.iter().max_by_key(|points| points.len()) else {
        return Vec::new();
    };
    // A thread that ran for longer may have joined more of them.
    let fewest = threads.iter().filter(|points| !points.is_empty());
    let steps = fewest.min_by_key(|points| points.len()).unwrap_or(longest);
    let mut all: Vec<SelfCheckPoint> = Vec::new();
    let mut nexts = vec![0; threads.len()];
    for until in steps.iter().chain(longest.last()).map(|point| point.at) {
        let mut point = SelfCheckPoint::default();
        for (points, next) in threads.iter().zip(&mut nexts) {
            let here = points[*next..]
                .iter()
                .take_while(|point| point.at <= until)
                .count();
            let Some((first, rest)) = points[*next..][..here].split_first() else {
                continue;
            };
            *next += here;
            let mut joined = *first;
            rest.iter().for_each(|next| joined.join(next));
            point = point.beside(&joined);
        }
        if point.at > Nanos::ZERO {
            all.push(point);
        }
    }
    all
}

const INTERVAL: Nanos = Nanos::from_millis(100);
/// An hour of intervals; of more, each two are joined.
const MOST: usize = 36_000;

/// What a round of the session was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// Work, with requests in flight: completions were not looked at meanwhile.
    Busy,
    /// Waiting for the load.
    Input,
    /// Waiting for time to pass or for a completion, or work with nothing in flight.
    Other,
}

/// Takes samples.
#[derive(Debug)]
pub(crate) struct SelfCheck {
    points: Vec<SelfCheckPoint>,
    current: SelfCheckPoint,
    interval: Nanos,
    next: Nanos,
    before: Option<(Nanos, Round)>,
}

impl Default for SelfCheck {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            current: SelfCheckPoint::default(),
            interval: INTERVAL,
            next: INTERVAL,
            before: None,
        }
    }
}

impl SelfCheck {
    /// A round begins now; whether a sample is due.
    #[inline]
    pub(crate) fn begin(&mut self, now: Nanos) -> bool {
        if let Some((since, round)) = self.before.take() {
            let passed = now.saturating_sub(since);
            match round {
                Round::Busy => {
                    self.current.answer_lag = self.current.answer_lag.max(passed);
                    self.current.answer_wait += passed;
                }
                Round::Input => self.current.input_wait += passed,
                Round::Other => {}
            }
        }
        now >= self.next
    }

    /// The round that began at `since` was of this kind.
    #[inline]
    pub(crate) fn end(&mut self, since: Nanos, round: Round) {
        self.before = Some((since, round));
    }

    /// A sample is taken.
    pub(crate) fn sample(&mut self, now: Nanos, ahead: u64, in_flight: u64) {
        let point = SelfCheckPoint {
            at: now,
            ahead,
            in_flight,
            ..std::mem::take(&mut self.current)
        };
        self.points.push(point);
        if self.points.len() > MOST {
            self.interval = Nanos::new(self.interval.get() * 2);
            let joined = self.points.chunks(2).map(|pair| {
                let mut first = pair[0];
                pair[1..].iter().for_each(|next| first.join(next));
                first
            });
            self.points = joined.collect();
        }
        self.next = now.saturating_add(self.interval);
    }

    pub(crate) fn into_points(self) -> Vec<SelfCheckPoint> {
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_told_apart_and_joined_without_loss() {
        let mut check = SelfCheck::default();
        let ms = Nanos::from_millis;
        let mut rounds = 0;
        for i in 0..4_000_000_u64 {
            let now = ms(i);
            if check.begin(now) {
                check.sample(now, i, 1);
            }
            let round = [Round::Busy, Round::Input, Round::Other][(i % 3) as usize];
            rounds += u64::from(round == Round::Input);
            check.end(now, round);
        }
        let points = check.into_points();
        assert!(points.len() <= MOST + 1);
        let total: u64 = points.iter().map(|p| p.input_wait.get()).sum();
        // What came after the last sample is in none.
        assert!(ms(rounds).get() - total <= ms(200).get());
        assert!(points.iter().all(|p| p.answer_lag == ms(1)));
        assert!(points.windows(2).all(|pair| pair[0].at < pair[1].at));
    }
}
