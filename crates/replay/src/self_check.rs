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

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    /// A point with these numbers of requests, and these times in milliseconds.
    fn point(at: u64, [ahead, in_flight]: [u64; 2], times: [u64; 3]) -> SelfCheckPoint {
        let [input_wait, answer_lag, answer_wait] = times.map(MS);
        SelfCheckPoint {
            at: MS(at),
            ahead,
            in_flight,
            input_wait,
            answer_lag,
            answer_wait,
        }
    }

    #[test]
    fn of_threads_beside_each_other_requests_are_added_and_the_worst_times_count() {
        let one = vec![
            point(100, [3, 4], [10, 2, 7]),
            point(200, [1, 0], [0, 0, 0]),
        ];
        let other = vec![point(100, [5, 6], [8, 3, 9]), point(199, [2, 9], [1, 1, 1])];
        let longer = [one, vec![point(300, [1, 1], [1, 1, 1])]].concat();
        // The steps are those of the thread that has the fewest points; the rest of the other is one.
        let all = [
            point(100, [8, 10], [10, 3, 9]),
            point(199, [2, 9], [1, 1, 1]),
            point(300, [1, 1], [1, 1, 1]),
        ];
        assert_eq!(of_all(&[longer.clone(), other.clone()]), all);
        assert_eq!(of_all(&[other, longer]), all);
    }

    #[test]
    fn a_threads_points_are_joined_until_those_of_the_fewest_are_over() {
        let fine: Vec<_> = (1..=4)
            .map(|i| point(100 * i, [i, 10 * i], [i, i, 2 * i]))
            .collect();
        let coarse = vec![
            point(200, [7, 5], [2, 9, 1]),
            point(400, [0, 1], [8, 0, 20]),
        ];
        let joined = [
            // 1 + 2 of waits, the longer lag, the last numbers.
            point(200, [2 + 7, 20 + 5], [3, 9, 6]),
            point(400, [4, 40 + 1], [8, 4, 20]),
        ];
        assert_eq!(of_all(&[fine.clone(), coarse.clone()]), joined);
        assert_eq!(of_all(&[coarse, fine.clone()]), joined);
        // A thread that ended early has no points after that.
        let early = vec![point(100, [1, 1], [5, 0, 0])];
        let rest = [
            point(100, [2, 11], [5, 1, 2]),
            point(400, [4, 40], [2 + 3 + 4, 4, 4 + 6 + 8]),
        ];
        assert_eq!(of_all(&[fine.clone(), early]), rest);
        // One that has none changes nothing.
        assert_eq!(of_all(&[fine.clone(), Vec::new()]), fine);
    }

    #[test]
    fn without_points_there_is_nothing_to_put_in_a_line() {
        assert_eq!(of_all(&[]), []);
        assert_eq!(of_all(&[Vec::new(), Vec::new()]), []);
    }

    #[test]
    fn a_round_counts_by_what_it_was_spent_on() {
        let mut check = SelfCheck::default();
        let rounds = [
            (0, Round::Busy),
            (7, Round::Input),
            (10, Round::Busy),
            (12, Round::Other),
            (50, Round::Input),
            (55, Round::Other),
        ];
        for (at, round) in rounds {
            assert!(!check.begin(MS(at)));
            check.end(MS(at), round);
        }
        assert!(!check.begin(MS(100) - Nanos::new(1)));
        assert!(check.begin(MS(100)), "a tenth of a second");
        check.sample(MS(103), 8, 9);
        assert!(!check.begin(MS(203) - Nanos::new(1)));
        assert!(check.begin(MS(203)));
        check.sample(MS(203), 0, 0);
        assert_eq!(
            check.into_points(),
            [
                point(103, [8, 9], [3 + 5, 7, 7 + 2]),
                point(203, [0, 0], [0, 0, 0]),
            ]
        );
    }

    #[test]
    fn of_more_than_an_hour_each_two_points_are_one() {
        let mut check = SelfCheck::default();
        let most = MOST as u64;
        for i in 1..=most {
            check.sample(MS(100 * i), i, 1);
        }
        assert_eq!(check.points.len(), MOST);
        assert_eq!(check.next, MS(100 * (most + 1)));
        let last = MS(100 * (most + 1));
        check.sample(last, 0, 1);
        assert_eq!(check.next, last + MS(200));
        let points = check.into_points();
        assert_eq!(points.len(), MOST / 2 + 1);
        assert_eq!((points[0].at, points[0].ahead), (MS(200), 2));
        assert_eq!(points[MOST / 2].at, last, "it has no other yet");
    }
}
