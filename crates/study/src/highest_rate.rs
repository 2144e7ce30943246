//! The search for the highest rate: which speeds are tried, and what follows from the outcomes.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use iosonar_stats::Distribution;
use iosonar_trace::{Op, Quantity, Requests};
use iosonar_units::Nanos;

use iosonar_analysis::objective::{Objective, ObjectiveError, Statistic};

/// What must hold for a rate to be sustained, such as `read latency p99 < 2ms`: an [`Objective`] of a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit(Objective);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let objective: Objective = text.parse().map_err(|e: ObjectiveError| e.to_string())?;
        match objective.statistic {
            Statistic::Throughput => Err(
                "the target must limit a time, such as 'latency p99 < 2ms', not the throughput: --find-rate itself \
                 searches for the highest rate"
                    .to_owned(),
            ),
            Statistic::Mean | Statistic::Quantile(_) => Ok(Self(objective)),
        }
    }
}

impl Display for Limit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Limit {
    /// The time that it is about.
    pub fn quantity(&self) -> Quantity {
        self.0.quantity
    }

    /// The requests that it is about.
    pub fn requests(&self) -> Requests {
        self.0.requests
    }

    /// Whether it is about requests of this kind.
    pub fn is_about(&self, op: Op) -> bool {
        self.0.requests.include(op)
    }

    /// The statistic of these times that it is about.
    pub fn value(&self, times: &Distribution) -> Nanos {
        match self.0.statistic {
            Statistic::Quantile(p) => times.histogram.quantile(p).unwrap_or_default(),
            _ => Nanos::new(times.moments.mean().round() as u64),
        }
    }

    /// Whether a value keeps to it.
    pub fn is_kept_by(&self, value: Nanos) -> bool {
        self.0.is_kept_by(value.as_millis_f64())
    }
}

/// A replay of the load at a speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Try {
    /// How many times as fast as recorded.
    pub factor: f64,
    /// Requests per second that the load wanted.
    pub wanted: f64,
    /// Requests per second that were completed.
    pub reached: f64,
    /// Requests that were completed.
    pub completed: u64,
    /// What the limit is about.
    pub value: Nanos,
    /// What it says of its rate.
    pub outcome: TryOutcome,
}

/// What a try says about its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryOutcome {
    /// The rate was reached, within the limit.
    Holds,
    /// It was reached, beyond the limit.
    TooSlow,
    /// It was not reached, or requests waited for the device.
    DeviceLimited,
    /// The same of a model that answers in place of a device.
    ModelLimited,
    /// Requests waited for one of the few places in flight that the user grants.
    InFlightLimited,
    /// Requests were submitted late by this machine.
    ReplayerLimited,
    /// Requests failed or were never started.
    Failed,
    /// The user ended it.
    Interrupted,
    /// Fewer requests were completed than an answer can rest on.
    TooFew,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// The highest rate that held again and again.
    Highest(Confirmed),
    /// This one held again and again, and above it not the device but this machine is the limit.
    ReplayerLimited(Confirmed),
    /// The load holds at the highest speed that is tried.
    AtAnySpeed,
    /// Not even this one held, the slowest that is tried.
    AtNoSpeed(Try),
    /// Tries of this one had too few requests to be judged, and so had those of higher speeds.
    TooFew(Try),
    /// What held once did not hold again, nor did much lower rates.
    TooNoisy,
    /// The user ended it.
    Interrupted,
}

/// A speed that was repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confirmed {
    /// How many times as fast as recorded.
    pub factor: f64,
    /// How often it was tried.
    pub repetitions: usize,
    /// How many of them held.
    pub held: usize,
    /// The median, least and largest rate that was reached.
    pub reached: [f64; 3],
    /// The least and largest value.
    pub values: [Nanos; 2],
}

/// A try reached its rate if it completed this share of it.
pub const LEAST_REACHED: f64 = 0.98;
/// The fewest requests that a try is judged by.
pub const FEWEST_REQUESTS: u64 = 1000;
/// The factor between a rate that holds and one that does not, less one.
pub const PRECISION: f64 = 0.05;
/// How often the answer is repeated, and how many of these may fail.
const REPETITIONS: usize = 8;
const MAY_FAIL: usize = 1;
/// No load is sped up further, nor slowed down.
const FASTEST: f64 = 1e5;
const SLOWEST: f64 = 1e-4;
/// What a speed that holds is multiplied by, and one that does not is divided by, until both are known: further down,
/// tries take longer.
const FASTER: f64 = 2.0;
const SLOWER: f64 = 4.0;
/// A try at a higher speed has more of the load in its time: so often in a row it is tried whether that is enough.
const MOST_TOO_FEW: u32 = 4;

/// What is known of a speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Holds,
    Fails,
    /// Nothing: its tries had too few requests.
    TooLittle,
}

/// A search for the highest rate at which a load keeps to a limit.
pub struct Search<A, O> {
    /// No slower speed is tried, but for that of the load itself.
    pub slowest: f64,
    /// Carries out a try.
    pub attempt: A,
    /// Whether the user wants an end.
    pub is_over: O,
    /// All tries so far.
    pub tries: Vec<Try>,
}

impl<E, A: FnMut(f64) -> Result<Try, E>, O: Fn() -> bool> Search<A, O> {
    /// Raises or lowers the speed until one holds and one does not, and halves what lies between; then repeats the
    /// highest that held, and goes down from it while that fails.
    ///
    /// # Errors
    /// Of a try.
    pub fn search(&mut self) -> Result<Answer, E> {
        let (mut low, mut high) = (None, None);
        let (mut factor, mut too_few) = (1.0, 0);
        let (mut low, mut high) = loop {
            if (self.is_over)() {
                return Ok(Answer::Interrupted);
            }
            if factor > FASTEST {
                return Ok(Answer::AtAnySpeed);
            }
            match self.look_at(factor)? {
                Known::Holds => {
                    low = Some(factor);
                    factor *= FASTER;
                    too_few = 0;
                }
                Known::Fails => {
                    high = Some(factor);
                    // The slowest itself is tried before this is given up.
                    let slowest = self.slowest.max(SLOWEST);
                    if factor <= slowest && !(self.is_over)() {
                        let last = self.tries.last().copied();
                        return Ok(last.map_or(Answer::TooNoisy, Answer::AtNoSpeed));
                    }
                    factor = (factor / SLOWER).max(slowest);
                }
                Known::TooLittle => {
                    too_few += 1;
                    // At a lower speed there are even fewer.
                    if high.is_some() || too_few == MOST_TOO_FEW {
                        return Ok(self.too_few());
                    }
                    factor *= SLOWER;
                }
            }
            if let (Some(low), Some(high)) = (low, high) {
                break (low, high);
            }
        };
        while high / low > 1.0 + PRECISION {
            if (self.is_over)() {
                return Ok(Answer::Interrupted);
            }
            let middle = (low * high).sqrt();
            match self.look_at(middle)? {
                Known::Holds => low = middle,
                Known::Fails => high = middle,
                Known::TooLittle => return Ok(self.too_few()),
            }
        }
        let highest = low;
        loop {
            let first = self.tries.len();
            for _ in 0..REPETITIONS {
                if (self.is_over)() {
                    return Ok(Answer::Interrupted);
                }
                self.try_once(low)?;
            }
            let repeated = &self.tries[first..];
            let few = repeated.iter().filter(|t| t.outcome == TryOutcome::TooFew);
            if few.count() > MAY_FAIL {
                return Ok(self.too_few());
            }
            let confirmed = confirmed(repeated);
            if let Some(confirmed) = confirmed.filter(|_| self.held_below(low)) {
                return Ok(match self.is_limited_by_replayer(low) {
                    true => Answer::ReplayerLimited(confirmed),
                    false => Answer::Highest(confirmed),
                });
            }
            low /= 1.0 + 2.0 * PRECISION;
            if low < highest / 2.0 {
                return Ok(Answer::TooNoisy);
            }
        }
    }

    /// Whether a speed holds; a failure counts when it is confirmed, as anything may disturb a single try.
    fn look_at(&mut self, factor: f64) -> Result<Known, E> {
        let (mut held, mut failed, mut few) = (0, 0, 0);
        loop {
            match self.try_once(factor)? {
                TryOutcome::Holds => held += 1,
                TryOutcome::TooFew => few += 1,
                _ => failed += 1,
            }
            if failed == 2 || (self.is_over)() {
                return Ok(Known::Fails);
            }
            if few == 2 {
                return Ok(Known::TooLittle);
            }
            if held > failed {
                return Ok(Known::Holds);
            }
        }
    }

    fn too_few(&self) -> Answer {
        let mut tries = self.tries.iter().rev();
        let last = tries.find(|t| t.outcome == TryOutcome::TooFew).copied();
        last.map_or(Answer::TooNoisy, Answer::TooFew)
    }

    fn try_once(&mut self, factor: f64) -> Result<TryOutcome, E> {
        let attempt = (self.attempt)(factor)?;
        self.tries.push(attempt);
        Ok(attempt.outcome)
    }

    /// Whether this speed and all lower ones held nearly always: a machine on which any try may fail says nothing.
    fn held_below(&self, factor: f64) -> bool {
        let judged = |t: &&Try| t.factor <= factor && t.outcome != TryOutcome::TooFew;
        let below = || self.tries.iter().filter(judged);
        let failed = below().filter(|t| t.outcome != TryOutcome::Holds).count();
        failed * REPETITIONS <= below().count() * MAY_FAIL
    }

    /// Whether most of what failed at speeds above this one, up to twice it, failed because of this machine.
    fn is_limited_by_replayer(&self, factor: f64) -> bool {
        let above = || {
            let tries = self.tries.iter();
            tries.filter(|t| t.factor > factor && t.factor <= 2.0 * factor)
        };
        let failed = above().filter(|t| t.outcome != TryOutcome::Holds).count();
        let late = above().filter(|t| t.outcome == TryOutcome::ReplayerLimited);
        2 * late.count() > failed
    }
}

/// What repetitions of one speed have in common, if they hold.
fn confirmed(tries: &[Try]) -> Option<Confirmed> {
    let held = tries.iter().filter(|t| t.outcome == TryOutcome::Holds);
    let mut reached: Vec<f64> = held.clone().map(|t| t.reached).collect();
    if reached.len() + MAY_FAIL < tries.len() {
        return None;
    }
    reached.sort_by(f64::total_cmp);
    let values = || held.clone().map(|t| t.value);
    Some(Confirmed {
        factor: tries.first()?.factor,
        repetitions: tries.len(),
        held: reached.len(),
        reached: [
            reached[reached.len() / 2],
            reached[0],
            reached[reached.len() - 1],
        ],
        values: [values().min()?, values().max()?],
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Searches where a try of a rate has this outcome; the load itself has 100 requests per second.
    fn search(mut outcome: impl FnMut(f64) -> TryOutcome) -> (Answer, Vec<Try>) {
        let attempt = |factor: f64| -> Result<Try, Infallible> {
            let wanted = 100.0 * factor;
            let outcome = outcome(wanted);
            Ok(Try {
                factor,
                wanted,
                reached: wanted
                    * if outcome == TryOutcome::DeviceLimited {
                        0.7
                    } else {
                        0.999
                    },
                completed: 2000,
                value: Nanos::from_micros(500),
                outcome,
            })
        };
        let mut search = Search {
            slowest: 0.0,
            attempt,
            is_over: || false,
            tries: Vec::new(),
        };
        (search.search().unwrap(), search.tries)
    }

    #[test]
    fn a_limit_is_an_objective_of_a_time() {
        let limit: Limit = "latency p99<2ms".parse().unwrap();
        assert_eq!(limit.to_string(), "latency p99 < 2 ms");
        assert!(limit.is_kept_by(Nanos::from_millis(2)));
        assert!(!limit.is_kept_by(Nanos::new(2_000_001)));
        assert!("throughput > 200".parse::<Limit>().is_err());
    }

    #[test]
    fn the_highest_rate_is_within_its_precision() {
        for capacity in [3.0, 99.0, 101.0, 12_345.0, 250_000.0] {
            let (answer, tries) = search(|rate| match rate <= capacity {
                true => TryOutcome::Holds,
                false => TryOutcome::DeviceLimited,
            });
            let Answer::Highest(confirmed) = answer else {
                panic!("{answer:?}")
            };
            let rate = 100.0 * confirmed.factor;
            assert!(
                rate <= capacity && rate * (1.0 + PRECISION) > 0.999 * capacity,
                "{rate}"
            );
            assert_eq!((confirmed.held, confirmed.repetitions), (8, 8));
            assert!(tries.len() < 70, "{}", tries.len());
        }
    }

    #[test]
    fn one_disturbed_try_of_ten_does_not_matter() {
        let mut n = 0;
        let (answer, _) = search(|rate| {
            n += 1;
            match rate <= 1000.0 && n % 10 != 0 {
                true => TryOutcome::Holds,
                false => TryOutcome::TooSlow,
            }
        });
        let Answer::Highest(confirmed) = answer else {
            panic!("{answer:?}")
        };
        assert!(
            (800.0..=1000.0).contains(&(100.0 * confirmed.factor)),
            "{confirmed:?}"
        );
    }

    #[test]
    fn where_the_replay_is_late_first_the_device_is_not_called_the_limit() {
        let (answer, _) = search(|rate| match rate {
            ..=5000.0 => TryOutcome::Holds,
            _ => TryOutcome::ReplayerLimited,
        });
        assert!(matches!(answer, Answer::ReplayerLimited(_)), "{answer:?}");
    }

    #[test]
    fn a_machine_on_which_nothing_holds_again_gives_no_answer() {
        // Every second try fails, whatever its rate.
        let by_chance = |seed: u64| {
            let mut state = seed;
            search(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                match state >> 63 {
                    0 => TryOutcome::Holds,
                    _ => TryOutcome::TooSlow,
                }
            })
            .0
        };
        let answers: Vec<Answer> = (0..100).map(by_chance).collect();
        let found = answers.iter().filter(|a| matches!(a, Answer::Highest(_)));
        assert!(found.count() <= 20, "chance alone holds now and then");
        assert!(answers.contains(&Answer::TooNoisy));
        let (anything, _) = search(|_| TryOutcome::Holds);
        assert_eq!(anything, Answer::AtAnySpeed);
    }

    #[test]
    fn too_few_requests_are_no_reason_to_slow_down() {
        let (nothing, tries) = search(|_| TryOutcome::TooFew);
        assert!(matches!(nothing, Answer::TooFew(_)), "{nothing:?}");
        assert!(tries.iter().all(|t| t.factor >= 1.0), "{tries:?}");
        // At a speed at which there are enough, the search goes on from there.
        let (found, _) = search(|rate| match rate {
            ..500.0 => TryOutcome::TooFew,
            ..=2000.0 => TryOutcome::Holds,
            _ => TryOutcome::DeviceLimited,
        });
        assert!(matches!(found, Answer::Highest(_)), "{found:?}");
    }

    #[test]
    fn a_limit_that_no_rate_meets_ends_the_search_at_the_slowest() {
        for (slowest, tries) in [(0.3, 4), (0.01, 10), (2.0, 2)] {
            let attempt = |factor| -> Result<Try, Infallible> {
                Ok(Try {
                    factor,
                    wanted: 100.0 * factor,
                    reached: 100.0 * factor,
                    completed: 2000,
                    value: Nanos::from_millis(3),
                    outcome: TryOutcome::TooSlow,
                })
            };
            let mut search = Search {
                slowest,
                attempt,
                is_over: || false,
                tries: Vec::new(),
            };
            let Answer::AtNoSpeed(last) = search.search().unwrap() else {
                panic!("{:?}", search.tries)
            };
            assert_eq!(last.factor, slowest.min(1.0));
            assert_eq!(search.tries.len(), tries);
        }
    }
}
