//! Pacing: each request in its time, whatever else runs on the machine.
//!
//! Deadlines are absolute, from one epoch ([`Clock`]), so that nothing drifts. A thread waits for one by sleeping
//! and then spinning ([`wait`]), ahead of other threads as far as it is permitted ([`priority`]); the remaining
//! interference of the scheduler is counted ([`interference`]).

use std::str::FromStr;

use iosonar_units::{Nanos, scalar};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

mod interference;
mod priority;
mod wait;

pub use interference::Interference;
pub(crate) use interference::ThreadTimes;
pub use priority::ThreadPriority;
pub(crate) use priority::{check, granted, prepare_thread};
pub(crate) use wait::Waiter;

pub(crate) use crate::os::time::{monotonic, since_1970};

/// How the time of a start is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pacing {
    /// Sleep until shortly before, then spin; or only one of both.
    #[serde(rename = "pacing")]
    pub style: Style,
    /// How long before a start sleeping ends at the latest; it is learnt how much more is needed.
    pub spin: Nanos,
    /// The processors that the pacing threads may run on; all if empty.
    #[serde(rename = "cpu")]
    pub cpus: Processors,
    /// How the pacing threads are scheduled among others.
    pub priority: ThreadPriority,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            style: Style::SleepThenSpin,
            spin: Nanos::from_micros(20),
            cpus: Processors::default(),
            priority: ThreadPriority::Auto,
        }
    }
}

impl Pacing {
    /// That of one of `threads` threads: where there are processors enough, each has some for itself.
    pub(crate) fn of_thread(&self, number: usize, threads: usize) -> Self {
        let mut pacing = self.clone();
        let cpus = &self.cpus.0;
        if cpus.len() >= threads {
            pacing.cpus = Processors(cpus.iter().copied().skip(number).step_by(threads).collect());
        }
        pacing
    }
}

/// Numbers of processors, written `1` or `0,2-3`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Processors(pub Vec<usize>);

impl FromStr for Processors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let problem = || "expected CPU numbers, such as 1 or 0,2-3".to_owned();
        let mut all = Vec::new();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<usize>().map_err(|_| problem());
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last > 1023 {
                return Err(problem());
            }
            all.extend(first..=last);
        }
        Ok(Self(all))
    }
}

impl Serialize for Processors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let numbers: Vec<String> = self.0.iter().map(usize::to_string).collect();
        serializer.serialize_str(&numbers.join(","))
    }
}

impl<'de> Deserialize<'de> for Processors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar(deserializer)
    }
}

/// Ways of waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Sleep until shortly before the time, then spin.
    #[default]
    SleepThenSpin,
    /// Spin all the time: a processor is taken.
    Spin,
    /// Sleep only: starts are as late as this machine wakes threads.
    Sleep,
}

/// Time since the replay's epoch, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Nanos,
}

impl Clock {
    /// A clock whose zero lies `grace` in the future.
    pub(crate) fn starting_in(grace: Nanos) -> Self {
        Self {
            epoch: monotonic() + grace,
        }
    }

    /// The clock of a replay that begins at this time since 1970, or after `grace`.
    pub(crate) fn starting(begin_at: Option<Nanos>, grace: Nanos) -> Self {
        match begin_at {
            None => Self::starting_in(grace),
            Some(at) => Self::starting_in(at.saturating_sub(since_1970())),
        }
    }

    /// Time zero, on the monotonic clock.
    pub(crate) fn epoch(self) -> Nanos {
        self.epoch
    }

    /// The time now; zero until the epoch.
    #[inline]
    pub(crate) fn now(self) -> Nanos {
        self.at(monotonic())
    }

    /// An instant of the monotonic clock on this clock.
    #[inline]
    pub(crate) fn at(self, monotonic: Nanos) -> Nanos {
        monotonic.saturating_sub(self.epoch)
    }

    /// Whether the epoch has come.
    #[inline]
    pub(crate) fn has_started(self) -> bool {
        monotonic() >= self.epoch
    }

    /// How long until `deadline` on this clock; zero if it has passed.
    #[inline]
    pub(crate) fn until(self, deadline: Nanos) -> Nanos {
        self.epoch
            .saturating_add(deadline)
            .saturating_sub(monotonic())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_share_the_processors_where_there_are_enough() {
        for (cpus, threads, expected) in [
            ("0-3", 1, &["0-3"][..]),
            ("0-3", 2, &["0,2", "1,3"]),
            ("4-8", 2, &["4,6,8", "5,7"]),
            ("4,6", 2, &["4", "6"]),
            // Each may run on all of too few.
            ("4,6", 3, &["4,6", "4,6", "4,6"]),
            ("", 2, &["", ""]),
        ] {
            let pacing = Pacing {
                cpus: cpus.parse().unwrap(),
                ..Pacing::default()
            };
            for (number, expected) in expected.iter().enumerate() {
                let of_thread = pacing.of_thread(number, threads).cpus;
                assert_eq!(
                    of_thread,
                    expected.parse::<Processors>().unwrap(),
                    "{cpus} {number}"
                );
            }
        }
    }

    #[test]
    fn processors_are_numbers_and_ranges() {
        for (text, expected) in [
            ("", Some(&[][..])),
            ("1", Some(&[1])),
            ("0,2-3", Some(&[0, 2, 3])),
            ("3-3", Some(&[3])),
            ("1023", Some(&[1023])),
            ("1024", None),
            ("3-2", None),
            ("1,", None),
            ("-1", None),
            ("x", None),
        ] {
            let parsed = text.parse::<Processors>().ok();
            assert_eq!(
                parsed,
                expected.map(|all| Processors(all.to_vec())),
                "{text}"
            );
        }
    }
}
