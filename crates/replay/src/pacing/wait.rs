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
        // A thread that is ahead of others never waits, so it has to look at these.
        let load = self.load.as_ref().filter(|_| self.priority.is_ahead());
        let threads = load.and_then(runnable);
        self.judge(now, usage, threads);
    }

    /// Judges by what the kernel has counted of this thread up to `now`, and by how many threads can run, if it looked.
    fn judge(&mut self, now: Nanos, usage: Usage, threads: Option<usize>) {
        let interval = now.saturating_sub(self.looked).get() as f64;
        let since = usage.since(&self.before);
        (self.looked, self.before) = (now, usage);
        let waited = since.run_delay.get() as f64;
        let has_rivals = waited > RIVAL_SHARE * interval
            && waited > (WAKE_UP_TIME.get() * since.timeslices) as f64;
        self.crowded = match threads.is_some_and(|threads| threads > self.processors) {
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
    processors_in(&fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default())
}

/// How many processors are in ranges such as `0-3,8`, and at least one.
fn processors_in(online: &str) -> usize {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        (last + 1).checked_sub(first)
    };
    let counts = online.trim().split(',').filter_map(count);
    counts.sum::<usize>().max(1)
}

/// How many threads of the machine run or could.
fn runnable(load: &File) -> Option<usize> {
    let mut text = [0; 96];
    let n = fs::read_beginning(load, &mut text).ok()?;
    runnable_in(std::str::from_utf8(&text[..n]).ok()?)
}

/// Of `0.20 0.18 0.12 1/80 11206`, the 1.
fn runnable_in(text: &str) -> Option<usize> {
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

    const US: fn(u64) -> Nanos = Nanos::from_micros;
    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    /// A look at a machine with two processors.
    fn contention(priority: ThreadPriority) -> Contention {
        Contention {
            processors: 2,
            load: None,
            ..Contention::new(priority)
        }
    }

    fn waited(run_delay: Nanos, timeslices: u64) -> Usage {
        Usage {
            processor_time: Nanos::ZERO,
            run_delay,
            timeslices,
        }
    }

    #[test]
    fn a_thread_has_rivals_if_it_waits_for_a_tenth_of_the_time_and_longer_than_being_woken_takes() {
        for (run_delay, timeslices, is_there) in [
            (0, 0, false),
            // A tenth of 100 ms is 10 ms.
            (10_000_000, 0, false),
            (10_000_001, 0, true),
            // 800 times 15 us are 12 ms.
            (12_000_000, 800, false),
            (12_000_001, 800, true),
            (9_000_000, 1, false),
        ] {
            let mut contention = contention(ThreadPriority::Normal);
            let usage = waited(Nanos::new(run_delay), timeslices);
            contention.judge(MS(100), usage, None);
            assert_eq!(contention.is_there, is_there, "{run_delay} {timeslices}");
            assert_eq!(
                (contention.looks, contention.found),
                (1, u64::from(is_there))
            );
            // Only what it has waited since counts the next time: nothing.
            contention.judge(MS(500), usage, None);
            assert!(!contention.is_there);
        }
    }

    #[test]
    fn a_machine_counts_as_contended_for_twice_as_long_each_time_it_is_seen_again() {
        let mut contention = contention(ThreadPriority::Normal);
        let mut run_delay = Nanos::ZERO;
        let mut look = |contention: &mut Contention, at: Nanos| {
            run_delay += Nanos::from_secs(100);
            contention.judge(at, waited(run_delay, 0), None);
            assert!(contention.is_there);
            contention.until.saturating_sub(at)
        };
        assert_eq!(look(&mut contention, MS(1000)), MS(200));
        // While it lasts, it only begins anew.
        assert_eq!(look(&mut contention, MS(1100)), MS(200));
        // At its end, and at the latest possible time after it.
        let again = contention.until;
        assert_eq!(look(&mut contention, again), MS(400));
        for lasts in [800, 1600, 3200, 6400, 12_800, 16_000, 16_000] {
            let again = contention.until + contention.lasts - Nanos::new(1);
            assert_eq!(look(&mut contention, again), MS(lasts));
        }
        let later = contention.until + MS(16_000);
        assert_eq!(look(&mut contention, later), MS(200));
    }

    #[test]
    fn contention_is_over_when_its_time_is() {
        let mut contention = contention(ThreadPriority::Normal);
        let usage = waited(Nanos::SECOND, 0);
        for (at, is_there, found) in [
            (MS(1000), true, 1),
            (MS(1200) - Nanos::new(1), true, 2),
            (MS(1200), false, 2),
        ] {
            contention.judge(at, usage, None);
            assert_eq!((contention.is_there, contention.found), (is_there, found));
        }
    }

    #[test]
    fn more_threads_than_processors_must_be_seen_three_times_in_a_row() {
        for (seen, is_there) in [
            (&[3, 3][..], false),
            (&[3, 3, 3], true),
            (&[2, 2, 2, 2], false),
            (&[3, 3, 2, 3, 3], false),
            (&[3, 3, 2, 3, 3, 3], true),
        ] {
            let mut contention = contention(ThreadPriority::Fifo);
            for (i, threads) in (1..).zip(seen) {
                contention.judge(MS(20 * i), Usage::default(), Some(*threads));
            }
            assert_eq!(contention.is_there, is_there, "{seen:?}");
        }
    }

    #[test]
    fn only_a_thread_that_is_ahead_of_others_looks_how_many_there_are() {
        let load = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&load, "0.20 0.18 0.12 3/80 11206\n").unwrap();
        let times = ThreadTimes::start();
        for (priority, crowded) in [
            (ThreadPriority::Fifo, 2),
            (ThreadPriority::Nice, 2),
            (ThreadPriority::Slice, 0),
            (ThreadPriority::Normal, 0),
        ] {
            let mut contention = Contention {
                load: File::open(load.path().to_str().unwrap()).ok(),
                ..contention(priority)
            };
            contention.look_now(MS(20), &times);
            contention.look_now(MS(40), &times);
            assert_eq!(contention.crowded, crowded, "{priority:?}");
        }
    }

    #[test]
    fn it_is_looked_every_20_milliseconds() {
        let mut contention = contention(ThreadPriority::Normal);
        let times = ThreadTimes::start();
        for (at, looks) in [
            (MS(20) - Nanos::new(1), 0),
            (MS(20), 1),
            (MS(40) - Nanos::new(1), 1),
            (MS(45), 2),
            (MS(60), 2),
            (MS(65), 3),
        ] {
            contention.look(at, &times);
            assert_eq!(contention.looks, looks, "{at}");
        }
    }

    #[test]
    fn a_share_that_is_used_is_an_average_of_late_ones_which_are_a_fifth_each() {
        let mut contention = contention(ThreadPriority::Normal);
        let mut used = 0.0;
        for (i, share) in (1..).zip([1.0, 1.0, 0.5, 0.0]) {
            let before = contention.before.processor_time.get();
            let usage = Usage {
                processor_time: Nanos::new(before + (share * 20e6) as u64),
                ..Usage::default()
            };
            contention.judge(MS(20 * i), usage, None);
            used = 0.8 * used + 0.2 * share;
            assert!(
                (contention.used - used).abs() < 1e-12,
                "{}",
                contention.used
            );
        }
    }

    #[test]
    fn how_much_is_too_much_depends_on_others_and_on_the_priority() {
        // After n looks at a thread that never sleeps, 1 - 0.8^n is its share.
        for (priority, rivals, looks) in [
            (ThreadPriority::Fifo, false, Some(11)),
            (ThreadPriority::Fifo, true, Some(4)),
            (ThreadPriority::Nice, true, Some(4)),
            (ThreadPriority::Nice, false, None),
            (ThreadPriority::Normal, false, None),
        ] {
            let mut contention = contention(priority);
            let first = (1..50).find(|&i| {
                let usage = Usage {
                    processor_time: MS(20 * i),
                    run_delay: MS(if rivals { 10 * i } else { 0 }),
                    timeslices: 0,
                };
                contention.judge(MS(20 * i), usage, None);
                contention.uses_too_much
            });
            assert_eq!(first, looks, "{priority:?} {rivals}");
        }
    }

    #[test]
    fn processors_are_counted_in_ranges_and_there_is_at_least_one() {
        for (online, count) in [
            ("0\n", 1),
            ("0-3\n", 4),
            ("0-3,8\n", 5),
            ("1,3-4,6-9\n", 7),
            ("3-2\n", 1),
            ("", 1),
            ("x-3,5-6\n", 2),
        ] {
            assert_eq!(processors_in(online), count, "{online:?}");
        }
    }

    #[test]
    fn the_threads_that_can_run_stand_before_the_slash() {
        for (text, threads) in [
            ("0.20 0.18 0.12 1/80 11206\n", Some(1)),
            ("9.20 8.18 7.12 23/80 11206\n", Some(23)),
            ("0.20 0.18 0.12 80 11206\n", None),
            ("0.20 0.18 0.12\n", None),
            ("", None),
        ] {
            assert_eq!(runnable_in(text), threads, "{text:?}");
        }
        assert!(processors_online() >= 1);
    }

    /// One that has looked and learnt a second after its beginning.
    fn waiter(style: Style, priority: ThreadPriority) -> Waiter {
        Waiter {
            style,
            priority,
            margin: Margin::at_least(US(20)),
            contention: Contention {
                looked: Nanos::SECOND,
                ..contention(priority)
            },
            current: (Nanos::MAX, Nanos::ZERO),
            learnt: Nanos::SECOND,
            times: ThreadTimes::start(),
        }
    }

    #[test]
    fn how_long_to_sleep_depends_on_the_style() {
        for (style, left, sleep) in [
            (Style::Spin, 1_000_000, 0),
            (Style::Sleep, 1_000_000, 1_000_000),
            (Style::Sleep, 1, 1),
            (Style::SleepThenSpin, 1_000_000, 980_000),
            // 3 us are worth a sleep.
            (Style::SleepThenSpin, 23_000, 3_000),
            (Style::SleepThenSpin, 22_999, 0),
            (Style::SleepThenSpin, 10_000, 0),
        ] {
            let mut waiter = waiter(style, ThreadPriority::Normal);
            let sleep_for = waiter.sleep(Nanos::from_secs(2), Nanos::new(left), Nanos::SECOND);
            assert_eq!(sleep_for, Nanos::new(sleep), "{style:?} {left}");
        }
    }

    #[test]
    fn the_margin_of_a_request_stays_what_it_was() {
        let mut waiter = waiter(Style::SleepThenSpin, ThreadPriority::Normal);
        let (due, now) = (Nanos::from_secs(2), Nanos::SECOND);
        assert_eq!(waiter.sleep(due, US(500), now), US(480));
        waiter.margin.margin = US(50);
        assert_eq!(waiter.sleep(due, US(400), now), US(380));
        assert_eq!(waiter.sleep(due + US(1), US(400), now), US(350));
    }

    #[test]
    fn a_thread_learns_every_100_milliseconds_whether_it_could_sleep() {
        for (since, sleep) in [
            (MS(0), US(10)),
            (MS(100) - Nanos::new(1), US(10)),
            // At least half of the time, then.
            (MS(100), US(15)),
            (MS(500), US(15)),
        ] {
            let mut waiter = waiter(Style::SleepThenSpin, ThreadPriority::Normal);
            let now = Nanos::SECOND + since;
            waiter.contention.looked = now;
            let slept = waiter.sleep(Nanos::from_secs(9), US(30), now);
            assert_eq!(slept, sleep, "{since}");
            waiter.learn(US(1), now);
            assert_eq!(waiter.sleep(Nanos::from_secs(10), US(30), now), US(10));
        }
    }

    #[test]
    fn a_contended_thread_sleeps_and_one_that_is_ahead_spins_for_the_least_margin() {
        use ThreadPriority::{Fifo, Nice, Normal, Slice};
        for (priority, is_there, used, too_much, sleep) in [
            (Normal, true, 0.0, false, 100),
            (Slice, true, 0.5, true, 100),
            (Normal, false, 0.5, false, 20),
            (Nice, true, 0.11, false, 80),
            (Fifo, true, 0.11, false, 80),
            // One that is seldom used may be idle by then.
            (Nice, true, 0.1, false, 20),
            (Nice, false, 0.5, false, 20),
            // Half of the time.
            (Fifo, false, 0.95, true, 50),
            (Fifo, true, 0.95, true, 80),
        ] {
            let mut waiter = waiter(Style::SleepThenSpin, priority);
            waiter.margin.margin = US(80);
            let contention = &mut waiter.contention;
            contention.is_there = is_there;
            (contention.used, contention.uses_too_much) = (used, too_much);
            let rivals = is_there && matches!(priority, Normal | Slice);
            assert_eq!(waiter.has_rivals(), rivals);
            let slept = waiter.sleep(Nanos::from_secs(9), US(100), Nanos::SECOND);
            assert_eq!(slept, US(sleep), "{priority:?} {is_there} {used}");
        }
    }

    #[test]
    fn contention_in_more_than_a_tenth_of_the_looks_is_worth_a_remark() {
        for (looks, found, is_contended) in [
            (0, 0, false),
            (10, 0, false),
            (10, 1, false),
            (10, 2, true),
            (9, 1, true),
        ] {
            let mut waiter = waiter(Style::Sleep, ThreadPriority::Normal);
            (waiter.contention.looks, waiter.contention.found) = (looks, found);
            let note = is_contended.then_some(ThreadNote::ProcessorsContended);
            assert_eq!(waiter.note(), note, "{looks} {found}");
        }
    }

    #[test]
    fn the_margin_grows_by_a_quarter_up_to_its_most_and_shrinks_slowly() {
        let mut margin = Margin::at_least(US(20));
        margin.learn(US(20) + Nanos::new(1));
        assert_eq!(margin.get(), US(25));
        // What is just covered is no reason to grow.
        margin.learn(US(25));
        assert!(margin.get() < US(25) && margin.get() > Nanos::new(24_985));
        (0..100).for_each(|_| margin.learn(Nanos::SECOND));
        assert_eq!(margin.get(), US(250));
        // Unless the user wants more.
        let mut margin = Margin::at_least(US(400));
        margin.learn(Nanos::SECOND);
        assert_eq!(margin.get(), US(400));
    }

    #[test]
    fn a_thread_uses_too_much_only_beyond_its_share() {
        use ThreadPriority::{Fifo, Nice, Normal};
        // Of ten milliseconds each; rivals take two of them.
        for (priority, has_rivals, processor_time, is_too_much) in [
            (Fifo, false, 9_000_000, false),
            (Fifo, false, 9_000_001, true),
            (Nice, false, 10_000_000, false),
            (Normal, true, 5_000_000, false),
            (Normal, true, 5_000_001, true),
            (Fifo, true, 5_000_001, true),
        ] {
            let share = if has_rivals { 0.5 } else { 0.9 };
            let mut contention = Contention {
                used: share,
                ..contention(priority)
            };
            let usage = Usage {
                processor_time: Nanos::new(processor_time),
                run_delay: if has_rivals { MS(2) } else { Nanos::ZERO },
                timeslices: 1,
            };
            contention.judge(MS(10), usage, None);
            assert_eq!(contention.is_there, has_rivals);
            assert_eq!(contention.uses_too_much, is_too_much, "{processor_time}");
        }
    }
}
