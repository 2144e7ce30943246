//! How the pacing threads are scheduled among others.

use std::io;
use std::num::NonZeroU64;

use iosonar_linux::calls::Scheduling;
use iosonar_units::Nanos;
use rustix::process::{Resource, getpriority_process, getrlimit};
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use serde::{Deserialize, Serialize};

use super::{Pacing, Style};
use crate::note::ThreadNote;
use crate::os::{self, thread};

/// How a pacing thread is scheduled among the other threads of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThreadPriority {
    /// The first of `Fifo` (unless it only spins), `Nice` and `Slice` that the system permits.
    #[default]
    Auto,
    /// Ahead of every thread that is not real-time (`SCHED_FIFO`, priority 1).
    Fifo,
    /// With the largest share of the processor (nice -20) and a short slice.
    Nice,
    /// With a short slice: a thread that wakes up runs before others whose slices are longer (EEVDF, Linux 6.12).
    Slice,
    /// As any other thread.
    Normal,
}

impl ThreadPriority {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Auto, "auto"),
        (Self::Fifo, "fifo"),
        (Self::Nice, "nice"),
        (Self::Slice, "slice"),
        (Self::Normal, "normal"),
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        let named = Self::ALL
            .into_iter()
            .find(|(priority, _)| *priority == self);
        named.map_or("", |(_, name)| name)
    }

    /// Whether it is ahead of threads without a priority.
    pub(crate) const fn is_ahead(self) -> bool {
        matches!(self, Self::Fifo | Self::Nice)
    }
}

/// The shortest slice that the kernel grants.
const SLICE: Nanos = Nanos::from_micros(100);
/// The lowest real-time priority is above all other threads.
const FIFO_PRIORITY: u32 = 1;
const LEAST_NICE: i32 = -20;

/// Prepares the calling thread. What the system refuses costs accuracy, which the replay measures;
/// it is returned, with the priority that it got.
pub(crate) fn prepare_thread(pacing: &Pacing) -> (ThreadPriority, Vec<ThreadNote>) {
    let mut refused = Vec::new();
    // By default a thread may be woken 50 us later than it asked for.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    if !pacing.cpus.0.is_empty() {
        let mut set = CpuSet::new();
        for &cpu in &pacing.cpus.0 {
            if cpu < CpuSet::MAX_CPU {
                set.set(cpu);
            }
        }
        if let Err(e) = sched_setaffinity(None, &set) {
            refused.push(ThreadNote::NotPinned {
                processors: pacing.cpus.0.clone(),
                error: e.to_string(),
            });
        }
    }
    let priority = match pacing.priority {
        ThreadPriority::Auto => {
            // Tried only to know whether it is this that costs the priority: what is set next replaces it.
            let limit = real_time_limit().filter(|_| pacing.style != Style::Spin);
            if let Some(limit) = limit.filter(|_| set(ThreadPriority::Fifo).is_ok()) {
                refused.push(ThreadNote::RealTimeLimited { limit });
            }
            [
                ThreadPriority::Fifo,
                ThreadPriority::Nice,
                ThreadPriority::Slice,
            ]
            .into_iter()
            .filter(|priority| *priority != ThreadPriority::Fifo || suits_real_time(pacing))
            .find(|&priority| set(priority).is_ok())
            .unwrap_or(ThreadPriority::Normal)
        }
        wanted => match set(wanted) {
            Ok(()) => wanted,
            Err(e) => {
                let error = e.to_string();
                refused.push(ThreadNote::PriorityRefused { wanted, error });
                ThreadPriority::Normal
            }
        },
    };
    (priority, refused)
}

/// Whether a thread may have the priority that is wanted.
///
/// # Errors
/// If the system refuses it.
pub(crate) fn check(pacing: &Pacing) -> Result<(), String> {
    let wanted = pacing.priority;
    if let (ThreadPriority::Fifo, Some(limit)) = (wanted, real_time_limit()) {
        return Err(format!(
            "--priority fifo needs unlimited real-time CPU time: after {limit} without sleeping the kernel would kill \
             this process (RLIMIT_RTTIME); run 'ulimit -R unlimited' first, or use --priority auto"
        ));
    }
    if wanted == ThreadPriority::Auto || granted(pacing) == wanted {
        return Ok(());
    }
    Err(format!(
        "--priority {} is not permitted: it needs root, CAP_SYS_NICE, or a higher limit (ulimit -r \
         or -e); --priority auto uses what is permitted",
        wanted.name()
    ))
}

/// The priority that a thread would get.
pub(crate) fn granted(pacing: &Pacing) -> ThreadPriority {
    // One that ends at once, as the calling thread stays what it is.
    let pacing = pacing.clone();
    let tried = thread::Builder::new().spawn(move || prepare_thread(&pacing).0);
    let granted = tried.ok().and_then(|thread| thread.join().ok());
    granted.unwrap_or(ThreadPriority::Normal)
}

/// Whether the thread may be ahead of all that are not real-time: one that never sleeps is stopped for a part of each
/// second, and killed where that is limited.
fn suits_real_time(pacing: &Pacing) -> bool {
    pacing.style != Style::Spin && real_time_limit().is_none()
}

/// How long a real-time thread may compute without sleeping before the kernel signals SIGXCPU, which ends the process.
/// One that is far behind, or calls a device that answers at once, does not sleep for minutes.
fn real_time_limit() -> Option<Nanos> {
    let microseconds = getrlimit(Resource::Rttime).current?;
    Some(Nanos::new(microseconds.saturating_mul(1000)))
}

/// Schedules the calling thread so.
fn set(priority: ThreadPriority) -> io::Result<()> {
    let slice = SLICE.get();
    os::schedule(match priority {
        ThreadPriority::Fifo => Scheduling::Fifo {
            priority: FIFO_PRIORITY,
        },
        ThreadPriority::Nice => Scheduling::Other {
            nice: LEAST_NICE,
            slice,
        },
        // The nice value stays what it is.
        ThreadPriority::Slice => Scheduling::Other {
            nice: getpriority_process(None)?,
            slice,
        },
        ThreadPriority::Auto | ThreadPriority::Normal => return Ok(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Processors;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn priorities_are_called_as_they_are_written() {
        for (priority, name) in ThreadPriority::ALL {
            assert_eq!(priority.name(), name);
            assert_eq!(serde_json::to_value(priority).unwrap(), name);
        }
    }

    /// What is refused to a thread without a priority that is to run on these processors, and the one where it runs, if
    /// there is only one.
    fn pinned(cpus: &[usize]) -> (Vec<ThreadNote>, Option<usize>) {
        let pacing = Pacing {
            cpus: Processors(cpus.to_vec()),
            priority: ThreadPriority::Normal,
            ..Pacing::default()
        };
        let prepared = std::thread::spawn(move || {
            let (priority, refused) = prepare_thread(&pacing);
            assert_eq!(priority, ThreadPriority::Normal);
            let set = sched_getaffinity(None).unwrap();
            let first = (0..CpuSet::MAX_CPU).find(|&cpu| set.is_set(cpu));
            (refused, first.filter(|_| set.count() == 1))
        });
        prepared.join().unwrap()
    }

    #[test]
    fn a_thread_runs_on_the_processors_that_it_is_given() {
        let allowed = sched_getaffinity(None).unwrap();
        for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)) {
            assert_eq!(pinned(&[cpu]), (Vec::new(), Some(cpu)));
            // One that no machine has is of no use.
            assert_eq!(pinned(&[CpuSet::MAX_CPU, cpu]), (Vec::new(), Some(cpu)));
        }
    }

    #[test]
    fn a_thread_that_cannot_be_pinned_says_so() {
        let wanted = vec![CpuSet::MAX_CPU, CpuSet::MAX_CPU + 1];
        let (refused, _) = pinned(&wanted);
        let [ThreadNote::NotPinned { processors, .. }] = &refused[..] else {
            panic!("{refused:?}")
        };
        assert_eq!(*processors, wanted);
    }

    #[test]
    fn no_priority_needs_no_permission() {
        for priority in [ThreadPriority::Normal, ThreadPriority::Auto] {
            let pacing = Pacing {
                priority,
                ..Pacing::default()
            };
            assert_eq!(check(&pacing), Ok(()), "{priority:?}");
        }
    }

    #[test]
    fn a_thread_gets_the_first_priority_that_suits_it_and_is_permitted() {
        use ThreadPriority::{Auto, Fifo, Nice, Normal, Slice};
        let got = |priority, style| {
            granted(&Pacing {
                style,
                priority,
                ..Pacing::default()
            })
        };
        for style in [Style::SleepThenSpin, Style::Sleep, Style::Spin] {
            let is_permitted = |priority: &ThreadPriority| got(*priority, style) == *priority;
            // One that never sleeps would be stopped, or killed where that is limited.
            let suits = style != Style::Spin && real_time_limit().is_none();
            let suited = [Fifo, Nice, Slice].into_iter().skip(usize::from(!suits));
            let first = suited.into_iter().find(is_permitted).unwrap_or(Normal);
            assert_eq!(got(Auto, style), first, "{style:?}");
            assert_eq!(got(Normal, style), Normal);
        }
    }

    #[test]
    fn a_priority_that_is_ahead_of_others_is_one_of_two() {
        for (priority, _) in ThreadPriority::ALL {
            let is_ahead = priority == ThreadPriority::Fifo || priority == ThreadPriority::Nice;
            assert_eq!(priority.is_ahead(), is_ahead, "{priority:?}");
        }
    }

    #[test]
    fn what_is_refused_is_what_a_check_says() {
        for (priority, name) in ThreadPriority::ALL {
            let pacing = Pacing {
                priority,
                ..Pacing::default()
            };
            let is_granted = granted(&pacing) == priority || priority == ThreadPriority::Auto;
            let limited = priority == ThreadPriority::Fifo && real_time_limit().is_some();
            match check(&pacing) {
                Ok(()) => assert!(is_granted && !limited, "{name}"),
                Err(why) => {
                    assert!(!is_granted || limited, "{name}");
                    assert!(why.contains(&format!("--priority {name} ")), "{why}");
                }
            }
        }
    }

    #[test]
    fn only_a_thread_that_sleeps_and_is_not_limited_suits_real_time() {
        // The kernel's own words, in microseconds.
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
        let line = limits
            .lines()
            .find_map(|l| l.strip_prefix("Max realtime timeout"));
        let soft = line.unwrap().split_whitespace().next().unwrap();
        let limit = soft.parse().ok().map(Nanos::from_micros);
        assert_eq!(limit.is_none(), soft == "unlimited");
        assert_eq!(real_time_limit(), limit);
        for (style, sleeps) in [
            (Style::SleepThenSpin, true),
            (Style::Sleep, true),
            (Style::Spin, false),
        ] {
            let pacing = Pacing {
                style,
                ..Pacing::default()
            };
            let suits = sleeps && limit.is_none();
            assert_eq!(suits_real_time(&pacing), suits, "{style:?}");
        }
    }
}
