//! When to sleep and when to spin.
//!
//! A thread is woken later than it asked for: by some microseconds where its processor is busy, by 50 to 100 where an
//! idle virtual one must be started again. So it wakes up earlier, by a margin that it learns, and spins for the rest.
//!
//! Spinning is free as long as the processor would be idle otherwise. Where others want it, an ordinary thread that
//! spins uses up its share and is then made to wait for milliseconds, so it only sleeps. One with a priority may go
//! on, but only for the least margin: the kernel's threads that do the I/O of many a device want the processor, too. And
//! if it uses too much, it sleeps for at least half of the time between two requests: the kernel may stop a real-time
//! thread that uses 95 % of a second.

use iosonar_units::Nanos;

use super::interference::{Usage, WAKE_UP_TIME};
use super::{Pacing, Style, ThreadPriority, ThreadTimes, prepare_thread};
use crate::note::ThreadNote;
use crate::os::fs::{self, File};

/// How often it is looked whether the machine is contended.
const LOOK_INTERVAL: Nanos = Nanos::from_millis(20);
/// How often a thread that would spin on and on sleeps once to learn.
const LEARN_INTERVAL: Nanos = Nanos::from_millis(100);
/// How long a machine counts as contended after it was seen to be, at first; each time it is seen again twice as long.
const CONTENDED_FOR: Nanos = Nanos::from_millis(200);
const CONTENDED_FOR_MOST: Nanos = Nanos::from_secs(16);
/// A thread has rivals if it waited for a processor for more than this share of an interval, and longer than being woken
/// takes.
const RIVAL_SHARE: f64 = 0.1;
/// Of a thread that is ahead of others, so often in a row must more threads be seen than processors: others come and go.
const CROWDED_LOOKS: u32 = 3;
/// From this share of the time on, it is worth a remark.
const CONTENDED_SHARE: f64 = 0.1;
/// The share of a processor that a thread ahead of others may use where these want it.
const MOST_USED_CONTENDED: f64 = 0.5;
/// The share that takes nothing from them that matters.
const LITTLE_USED: f64 = 0.1;
/// The share that a real-time thread may use in any case.
const MOST_USED_REAL_TIME: f64 = 0.9;
/// How much of the share used is that of the last look.
const USED_WEIGHT: f64 = 0.2;
/// Shorter sleeps are not worth their system call.
const SHORTEST_SLEEP: Nanos = Nanos::from_micros(3);

/// Decides how a pacing thread waits.
#[derive(Debug)]
pub(crate) struct Waiter {
    style: Style,
    priority: ThreadPriority,
    margin: Margin,
    contention: Contention,
    /// What is waited for, and how long before it sleeping ends.
    current: (Nanos, Nanos),
    /// When a sleep has taught something last, on the monotonic clock.
    learnt: Nanos,
    times: ThreadTimes,
}

impl Waiter {
    /// Prepares the calling thread, and waits for it from now on. Returns what the system refused, too.
    pub(crate) fn on_this_thread(pacing: &Pacing) -> (Self, Vec<ThreadNote>) {
        let (priority, refused) = prepare_thread(pacing);
        let waiter = Self {
            style: pacing.style,
            priority,
            margin: Margin::at_least(pacing.spin),
            contention: Contention::new(priority),
            current: (Nanos::MAX, Nanos::ZERO),
            learnt: Nanos::ZERO,
            times: ThreadTimes::start(),
        };
        (waiter, refused)
    }

    /// What the user should know about the machine.
    pub(crate) fn note(&self) -> Option<ThreadNote> {
        let Contention { looks, found, .. } = self.contention;
        let is_contended = found as f64 > CONTENDED_SHARE * looks as f64;
        is_contended.then_some(ThreadNote::ProcessorsContended)
    }

    /// How the thread is scheduled.
    pub(crate) fn priority(&self) -> ThreadPriority {
        self.priority
    }

    /// What the kernel counts of the thread.
    pub(crate) fn times(&self) -> &ThreadTimes {
        &self.times
    }

    /// How long to sleep before `due`, which is `left` from `now` on the monotonic clock; zero to spin.
    #[inline]
    pub(crate) fn sleep(&mut self, due: Nanos, left: Nanos, now: Nanos) -> Nanos {
        let margin = match self.style {
            Style::Spin => return Nanos::ZERO,
            Style::Sleep => Nanos::ZERO,
            Style::SleepThenSpin => {
                if self.current.0 != due {
                    self.current = (due, self.margin_of(left, now));
                }
                self.current.1
            }
        };
        let sleep = left.saturating_sub(margin);
        if sleep < SHORTEST_SLEEP && margin > Nanos::ZERO {
            return Nanos::ZERO;
        }
        sleep
    }

    fn margin_of(&mut self, left: Nanos, now: Nanos) -> Nanos {
        self.contention.look(now, &self.times);
        let half = Nanos::new(left.get() / 2);
        let margin = self.margin.get();
        if self.has_rivals() {
            return Nanos::ZERO;
        }
        // A busy processor need not be started to wake a thread on it. One that is seldom used may be idle by then.
        let margin = match self.contention.is_there && self.contention.used > LITTLE_USED {
            true => self.margin.least,
            false => margin,
        };
        if self.contention.uses_too_much {
            return margin.min(half);
        }
        // A thread that never sleeps would never learn that it could.
        let must_learn = now.saturating_sub(self.learnt) >= LEARN_INTERVAL;
        if must_learn { margin.min(half) } else { margin }
    }

    /// Whether others want the processor of a thread that is not ahead of them.
    #[inline]
    pub(crate) fn has_rivals(&self) -> bool {
        self.contention.is_there && !self.priority.is_ahead()
    }

    /// Learns from a sleep that lasted `overslept` longer than asked for, at `now`.
    #[inline]
    pub(crate) fn learn(&mut self, overslept: Nanos, now: Nanos) {
        self.margin.learn(overslept);
        self.learnt = now;
    }
}

/// Looks whether others want the processors that this thread could run on.
#[derive(Debug)]
struct Contention {
    is_there: bool,
    /// How often it was looked, and how often it was there.
    looks: u64,
    found: u64,
    priority: ThreadPriority,
    /// How much of a processor it uses, of late.
    used: f64,
    uses_too_much: bool,
    /// The numbers of threads that can run and of all are in it.
    load: Option<File>,
    processors: usize,
    looked: Nanos,
    /// How often in a row more threads were seen than processors.
    crowded: u32,
    before: Usage,
    until: Nanos,
    lasts: Nanos,
}

impl Contention {
    fn new(priority: ThreadPriority) -> Self {
        Self {
            is_there: false,
            looks: 0,
            found: 0,
            priority,
            used: 0.0,
            uses_too_much: false,
            load: File::open("/proc/loadavg").ok(),
            processors: processors_online(),
            looked: Nanos::ZERO,
            crowded: 0,
            before: Usage::default(),
            until: Nanos::ZERO,
            lasts: CONTENDED_FOR,
        }
    }

    #[inline]
    fn look(&mut self, now: Nanos, times: &ThreadTimes) {
        if now.saturating_sub(self.looked) >= LOOK_INTERVAL {
            self.look_now(now, times);
        }
    }

    #[cold]
    fn look_now(&mut self, now: Nanos, times: &ThreadTimes) {
        let usage = times.usage().unwrap_or_else(|| Usage {
            processor_time: times.processor_time(),
            ..Usage::default()
        });
        let interval = now.saturating_sub(self.looked).get() as f64;
        let since = usage.since(&self.before);
        (self.looked, self.before) = (now, usage);
        let waited = since.run_delay.get() as f64;
        let has_rivals = waited > RIVAL_SHARE * interval
            && waited > (WAKE_UP_TIME.get() * since.timeslices) as f64;
        // A thread that is ahead of others never waits, so it has to look at these.
        let is_crowded = || {
            let threads = self.load.as_ref().and_then(runnable);
            threads.is_some_and(|threads| threads > self.processors)
        };
        self.crowded = match self.priority.is_ahead() && is_crowded() {
            true => self.crowded + 1,
            false => 0,
        };
        if has_rivals || self.crowded >= CROWDED_LOOKS {
            if now >= self.until {
                // Seen again soon after it was believed to be over.
                let again = now.saturating_sub(self.until) < self.lasts;
                self.lasts = match again {
                    true => Nanos::new(self.lasts.get() * 2).min(CONTENDED_FOR_MOST),
                    false => CONTENDED_FOR,
                };
            }
            self.until = now.saturating_add(self.lasts);
        }
        let used = since.processor_time.get() as f64 / interval;
        self.used += USED_WEIGHT * (used - self.used);
        self.is_there = now < self.until;
        self.looks += 1;
        self.found += u64::from(self.is_there);
        let most = match self.priority {
            _ if self.is_there => MOST_USED_CONTENDED,
            ThreadPriority::Fifo => MOST_USED_REAL_TIME,
            _ => f64::INFINITY,
        };
        self.uses_too_much = self.used > most;
    }
}

/// How many processors the machine has, whichever of them this thread may use.
fn processors_online() -> usize {
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    // Ranges, such as 0-3,8.
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        (last + 1).checked_sub(first)
    };
    let counts = online.trim().split(',').filter_map(count);
    counts.sum::<usize>().max(1)
}

/// How many threads of the machine run or could: of `0.20 0.18 0.12 1/80 11206`, the 1.
fn runnable(load: &File) -> Option<usize> {
    let mut text = [0; 96];
    let n = fs::read_beginning(load, &mut text).ok()?;
    let text = std::str::from_utf8(&text[..n]).ok()?;
    let threads = text.split_ascii_whitespace().nth(3)?;
    threads.split_once('/')?.0.parse().ok()
}

/// How long before a deadline sleeping has to end.
///
/// It follows the 99.8 % quantile of what was overslept (a stochastic
/// approximation, Robbins and Monro 1951: by a quarter up after a sleep that was longer, by a 499th of
/// that step down after a shorter one, on a logarithmic axis), between the least that the user wants
/// and [`Self::MOST`].
#[derive(Clone, Copy, Debug)]
struct Margin {
    least: Nanos,
    margin: Nanos,
}

impl Margin {
    const MOST: Nanos = Nanos::from_micros(250);
    const UP: f64 = 1.25;
    /// `UP` to the power of -1/499.
    const DOWN: f64 = 0.999_552_9;

    fn at_least(least: Nanos) -> Self {
        Self {
            least,
            margin: least,
        }
    }

    #[inline]
    fn get(self) -> Nanos {
        self.margin
    }

    /// Learns from a sleep that lasted `overslept` longer than asked for.
    fn learn(&mut self, overslept: Nanos) {
        let factor = if overslept > self.margin {
            Self::UP
        } else {
            Self::DOWN
        };
        let margin = Nanos::new((self.margin.get() as f64 * factor) as u64);
        self.margin = margin.clamp(self.least, Self::MOST.max(self.least));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_comes_to_cover_nearly_all_sleeps() {
        let mut margin = Margin::at_least(Nanos::from_micros(20));
        let overslept = |i: u64| {
            Nanos::from_micros(if i.is_multiple_of(5000) {
                5000
            } else {
                30 + i % 40
            })
        };
        (0..20_000).for_each(|i| margin.learn(overslept(i)));
        let covered = (20_000..120_000).filter(|&i| {
            let fits = overslept(i) <= margin.get();
            margin.learn(overslept(i));
            fits
        });
        let share = covered.count() as f64 / 100_000.0;
        assert!((0.996..=0.999).contains(&share), "{share}");
        assert!(
            margin.get() < Nanos::from_micros(100),
            "rare long sleeps do not matter"
        );
    }

    #[test]
    fn the_margin_stays_above_what_the_user_wants() {
        let mut margin = Margin::at_least(Nanos::from_micros(20));
        (0..1000).for_each(|_| margin.learn(Nanos::ZERO));
        assert_eq!(margin.get(), Nanos::from_micros(20));
    }
}
