//! Whether a result depends on how long the run was.

use std::ops::RangeInclusive;

use iosonar_raid::MeasuredWindow;
use iosonar_ssd_model::Limit;

use serde::{Deserialize, Serialize};

use crate::{Devices, LoadModel, Prepared, REQUESTS_PER_USER, SimulationResult, Stability};

/// Why a result depends on how long the run was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum NotSteady {
    /// Much of what arrived in the window was still there at its end because the queue had grown.
    QueueGrows {
        /// The share of what arrived.
        share: f64,
    },
    /// The first requests of users, which start in an empty system and find fewer others than those that follow, are too
    /// large a part of what was measured.
    FirstOfUsers {
        /// How many of them were measured.
        first: u64,
        /// All that were measured.
        requests: u64,
        /// The users.
        users: u64,
    },
    /// The dirty data in a cache grew in the window, and the writes that it grew by did not wait for the disks.
    CacheFills {
        /// By how much, as a share of what was written to the cache.
        share: f64,
    },
    /// The busiest station is so near to saturation that its queue takes more requests than were measured to forget how it
    /// began.
    NearSaturation {
        /// Its offered load.
        #[serde(rename = "offered_load")]
        offered: f64,
        /// The requests of a run that is long enough; `None` where no run is.
        requests: Option<u64>,
        /// Those that each of several replications may leave out at its beginning instead.
        #[serde(rename = "warmup_requests")]
        warmup: Option<u64>,
    },
    /// The load uses up the credits of a limit, after which it is allowed the baseline only.
    CreditsFall {
        /// What it used of them, as a multiple of what it earned in the same time.
        used: f64,
    },
    /// The busiest station is offered more than it can do, so its queue grows for ever.
    Unstable {
        /// Its offered load.
        #[serde(rename = "offered_load")]
        offered: f64,
    },
}

impl NotSteady {
    /// Its name for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::QueueGrows { .. } => "queue-grows",
            Self::FirstOfUsers { .. } => "first-of-users",
            Self::CacheFills { .. } => "cache-fills",
            Self::NearSaturation { .. } => "near-saturation",
            Self::CreditsFall { .. } => "credits-fall",
            Self::Unstable { .. } => "unstable",
        }
    }

    /// Whether runs that are not steady for this reason still have the rates of longer ones: a station that is always busy, or
    /// nearly, has a rate at which it works.
    pub fn leaves_rates(self) -> bool {
        matches!(
            self,
            Self::QueueGrows { .. } | Self::Unstable { .. } | Self::NearSaturation { .. }
        )
    }
}

/// Why writes did not wait for cleaning as they will in a longer run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum NotCleaned {
    /// The drive was fresh, and had room for all that was written: no block was erased.
    Fresh,
    /// It began as after long use, but the run was too short for a block to be erased.
    TooShort,
    /// A shingled drive wrote to its media cache, and cleaned no band yet.
    MediaCache,
    /// Fewer pages were erased than programmed, so free ones were used up.
    Fills {
        /// The erased pages as a share of the programmed ones.
        erased: f64,
    },
}

/// A load that uses credits of a limit faster than it earns them, such as those of a cloud volume or an SLC cache: its times
/// are those of a burst.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnCredit {
    /// What it used of them, as a multiple of what it earned in the same time.
    pub used: f64,
    /// How long all credits that there can be would last at this rate, in seconds.
    pub lasts_s: f64,
    /// Whether that was not longer than a run, so that requests waited for the baseline of the limit at its end.
    pub is_used_up: bool,
}

/// What SSDs used of their limits.
struct Spent {
    /// Each limit, with what was used of it in its units.
    of_limits: Vec<(Limit, u64)>,
    /// How long they were measured, together.
    device_s: f64,
}

impl Spent {
    /// The share of the baseline of a limit.
    fn share_of(&self, (limit, units): &(Limit, u64)) -> f64 {
        *units as f64 / (limit.baseline as f64 * self.device_s)
    }
}

/// By which share of their mean this number of independent arrivals may exceed it: four standard errors.
fn chance(arrivals: u64) -> f64 {
    const ERRORS: f64 = 4.0;
    ERRORS / (arrivals as f64).sqrt()
}

impl Prepared {
    /// Why its media were not cleaned as they will be in a longer run; `None` if they were, or were not written. In the steady
    /// state a page of flash is erased for each one that is programmed.
    pub fn not_cleaned(&self, result: &SimulationResult) -> Option<NotCleaned> {
        /// How much of what was programmed may have used up free pages: it cost as much less time.
        const MOST: f64 = 0.02;
        /// A plane erases whole blocks, so what it has used up varies by a block. This is four standard errors of the sum of
        /// two such numbers, at both ends of a run, in blocks; for several planes, times the root.
        const CHANCE: f64 = 1.64;
        if let Some(media) = &result.media {
            let is_untouched = media.cached_sectors > 0 && media.cleaned_bands == 0;
            return is_untouched.then_some(NotCleaned::MediaCache);
        }
        let flash = &result.ssd.as_ref()?.flash;
        let Devices::Ssds(ssds) = &self.array.devices else {
            return None;
        };
        let profile = ssds.profile.flash.as_ref()?;
        if flash.programs == 0 {
            return None;
        }
        if flash.erases == 0 {
            return Some(match profile.is_used() {
                true => NotCleaned::TooShort,
                false => NotCleaned::Fresh,
            });
        }
        let programmed = (flash.programs + flash.cleaning_programs) as f64;
        let erased = (flash.erases * u64::from(profile.pages)) as f64;
        let planes =
            f64::from(profile.channels) * f64::from(profile.dies) * f64::from(profile.planes);
        let planes = planes * self.array.disks as f64 * f64::from(result.replications);
        let chance = CHANCE * planes.sqrt() * f64::from(profile.pages);
        let used_up = programmed - erased;
        (used_up > chance.max(MOST * programmed)).then(|| NotCleaned::Fills {
            erased: erased / programmed,
        })
    }

    /// The first of the devices that were busiest in a simulation of it, with the share of the time in which it was. A disk works
    /// without requests, too. An SSD does many things at a time, so it is hardly ever used to its capacity, and it may do
    /// nothing while requests wait for its limits: it is busy while there are any.
    pub fn busiest_device(&self, result: &SimulationResult) -> Option<(usize, f64)> {
        let shares = match self.array.is_of_ssds() {
            true => &result.busy,
            false => &result.utilisation,
        };
        let shares = shares.iter().map(|share| share.mean).enumerate();
        let known = shares.filter(|(_, share)| share.is_finite());
        known.reduce(|most, other| if other.1 > most.1 { other } else { most })
    }

    /// A result of it, without intervals that a longer run would leave ([`SimulationResult::assessed`]).
    #[must_use]
    pub fn assessed(&self, result: SimulationResult) -> SimulationResult {
        let not_steady = self.not_steady(&result);
        result.assessed(not_steady)
    }

    /// Why its result depends on how long the run was; `None` if nothing points to that.
    pub fn not_steady(&self, result: &SimulationResult) -> Option<NotSteady> {
        let credits_fall = || {
            let used = self.on_credit(result)?.used;
            Some(NotSteady::CreditsFall { used })
        };
        match self.load() {
            // As many requests are there as there are users.
            LoadModel::Closed {
                outstanding,
                requests,
                ..
            } => first_of_users(u64::from(*outstanding), *requests, result.warmup_requests)
                .or_else(credits_fall)
                .or_else(|| cache_fills(result, true)),
            LoadModel::Alone { .. } => None,
            LoadModel::Synthetic { .. } => queue_grows(result, self.load().arrives_evenly())
                .or_else(credits_fall)
                .or_else(|| cache_fills(result, true))
                .or_else(|| self.near_saturation(result)),
            // What a cache holds at the end of a recording it would have held of the recorded load, too. A recording ends
            // before its credits do.
            LoadModel::Trace { .. } => {
                queue_grows(result, false).or_else(|| cache_fills(result, false))
            }
        }
    }

    /// What its SSDs used of their limits; `None` without limits.
    fn spent(&self, result: &SimulationResult) -> Option<Spent> {
        let report = result.ssd.as_ref()?;
        let counts = report.limits.as_ref()?;
        let Devices::Ssds(ssds) = &self.array.devices else {
            return None;
        };
        let limits = ssds.parameters.limits.as_ref()?;
        let of_limits = [
            (limits.iops, counts.ios),
            (limits.bytes, counts.bytes),
            (limits.written, counts.written),
        ];
        Some(Spent {
            of_limits: of_limits
                .into_iter()
                .filter_map(|(limit, units)| Some((limit?, units)))
                .collect(),
            device_s: report.measured.as_secs_f64() * self.array.disks as f64,
        })
    }

    /// The largest share of the baseline of a limit that was offered to its SSDs; 0 without limits. What exceeds 1 is on credit,
    /// or waits.
    pub fn limits_used(&self, result: &SimulationResult) -> f64 {
        let Some(spent) = self.spent(result) else {
            return 0.0;
        };
        let shares = spent.of_limits.iter().map(|of| spent.share_of(of));
        shares.filter(|share| share.is_finite()).fold(0.0, f64::max)
    }

    /// Whether the load uses credits of a limit faster than it earns them, so that it cannot last for ever.
    pub fn on_credit(&self, result: &SimulationResult) -> Option<OnCredit> {
        /// What it may use beyond what it earned at least.
        const MUCH: f64 = 0.02;
        /// The requests of a run from which its length says how long they took to arrive.
        const FEWEST: u64 = 100;
        let spent = self.spent(result)?;
        let report = result.ssd.as_ref()?;
        let counts = report.limits.as_ref()?;
        if counts.passed < FEWEST * u64::from(result.replications) {
            return None;
        }
        let chance = chance(counts.passed);
        let of_limit = |of: &(Limit, u64)| {
            let (limit, _) = of;
            let (_, credits) = limit.burst?;
            let used = spent.share_of(of);
            let lasts_s = credits as f64 / (limit.baseline as f64 * (used - 1.0));
            let run_s = report.measured.as_secs_f64() / f64::from(result.replications);
            (used > 1.0 + chance.max(MUCH)).then_some(OnCredit {
                used,
                lasts_s,
                // Then it used what it earned and all of them, by the window's ends.
                is_used_up: lasts_s <= 1.02 * run_s,
            })
        };
        let first_to_end = |a: &OnCredit, b: &OnCredit| a.lasts_s.total_cmp(&b.lasts_s);
        let of_limits = spent.of_limits.iter();
        of_limits.filter_map(of_limit).min_by(first_to_end)
    }

    /// The offered load of the busiest station, and whether it is certainly too high.
    fn offered_to_stations(&self, result: &SimulationResult) -> Option<(f64, bool)> {
        let (busiest, stability) = self.busiest()?;
        if stability == Stability::Unstable {
            return Some((busiest.lower.min(busiest.upper), true));
        }
        // Where only bounds are known, it was measured.
        let used = result.utilisation.iter().map(|used| used.mean);
        let used = used.filter(|used| used.is_finite()).fold(0.0, f64::max);
        Some((busiest.lower.max(used.min(busiest.upper)), false))
    }

    /// The same of the limits that are never exceeded, such as those of a volume without bursts; `None` without such limits,
    /// or if a run need not have the rate of its load.
    fn offered_to_limits(&self, result: &SimulationResult) -> Option<(f64, bool)> {
        if !self.load().arrives_evenly() {
            return None;
        }
        let spent = self.spent(result)?;
        let without_bursts = spent.of_limits.iter();
        let without_bursts = without_bursts.filter(|(limit, _)| limit.burst.is_none());
        let offered = without_bursts
            .map(|of| spent.share_of(of))
            .reduce(f64::max)?;
        let passed = result.ssd.as_ref()?.limits.as_ref()?.passed;
        Some((offered, offered > 1.0 + chance(passed)))
    }

    /// Whether the offered load of arrivals that are given by laws is too high, or too close to saturation for the runs.
    fn near_saturation(&self, result: &SimulationResult) -> Option<NotSteady> {
        /// A queue forgets where it began within some 1 / (1 - rho)^2 requests (Whitt, "Planning queueing simulations",
        /// Management Science 35, 1989); a single run takes this multiple of that.
        const RELAXATIONS: f64 = 100.0;
        /// Replications are independent, so each has only to begin in the steady state. From an empty system, the mean of a
        /// single server comes within 0.1 % of it in this multiple, if interarrival and service times vary as exponential
        /// ones do: 2.9 / (1 - rho)^2 requests is their time constant (Odoni and Roth, "An empirical investigation of the
        /// transient behavior of stationary queueing systems", Operations Research 31, 1983).
        const OF_WARMUP: f64 = 20.0;
        /// From this many on no run is long enough.
        const MOST: f64 = 1e10;
        let LoadModel::Synthetic { requests, .. } = self.load() else {
            return None;
        };
        let (offered, is_unstable) = match self.offered_to_limits(result) {
            Some(of_limits) => of_limits,
            None => self.offered_to_stations(result)?,
        };
        if is_unstable {
            return Some(NotSteady::Unstable { offered });
        }
        let relaxation = (1.0 - offered).max(0.0).powi(-2);
        let is_long = *requests as f64 >= RELAXATIONS * relaxation;
        let begins_steady = result.warmup_requests as f64 >= OF_WARMUP * relaxation;
        if is_long || result.replications > 1 && begins_steady {
            return None;
        }
        let enough = |multiple: f64| {
            let requests = (multiple * relaxation).ceil();
            (requests <= MOST).then_some(requests as u64)
        };
        Some(NotSteady::NearSaturation {
            offered,
            requests: enough(RELAXATIONS),
            warmup: enough(OF_WARMUP),
        })
    }
}

/// The share of what arrived, or was written, from which growth is reported.
const MUCH: f64 = 0.05;

/// The share of the time that a device is busy at least which cannot keep up.
const ALWAYS: f64 = 0.95;

/// The share of what arrived, or was written, that growth must exceed, by the number of requests in all runs.
///
/// Arrivals less completions of a busy device are a random walk. With Poisson arrivals and exponential services it has a
/// variance of 2 per arrival, so where arrivals are few, growth is more than three standard deviations.
fn much(requests: u64, replications: u32) -> f64 {
    /// The requests of a run from which the share alone decides.
    const MANY: u64 = 1000;
    const SPREADS: f64 = 3.0;
    if requests >= MANY * u64::from(replications) {
        return MUCH;
    }
    MUCH.max(SPREADS * (2.0 / requests as f64).sqrt())
}

/// A write-back cache that filled. As long as it does, writes take no notice of the disks, however much too slow these are.
/// With laws of arrivals a run has to last (`must_last`) until as much leaves the cache as enters it; a recording ends where it
/// ends, but its disks must not have been busy all the time. A cache that is emptied whenever it reaches a mark may hold
/// anything at the end of a run, but it was emptied.
fn cache_fills(result: &SimulationResult, must_last: bool) -> Option<NotSteady> {
    /// The fall, by the growth, of a cache that was emptied.
    const EMPTIED: f64 = 0.3;
    let sum = |of: fn(&MeasuredWindow) -> u64| result.windows.iter().map(of).sum::<u64>();
    let (start, end) = (sum(|w| w.dirty_at_start), sum(|w| w.dirty_at_end));
    let grown = end.saturating_sub(start) as f64;
    let share = grown / sum(|w| w.cached).max(1) as f64;
    let is_much = share > much(result.writes.count(), result.replications);
    let is_emptied = sum(|w| w.deepest_fall) as f64 >= EMPTIED * grown;
    let used = result.utilisation.iter().map(|used| used.mean);
    let is_always_busy = used.fold(0.0, f64::max) >= ALWAYS;
    (is_much && !is_emptied && (must_last || is_always_busy))
        .then_some(NotSteady::CacheFills { share })
}

fn first_of_users(users: u64, requests: u64, warmup: u64) -> Option<NotSteady> {
    let first = users.saturating_sub(warmup);
    (requests < REQUESTS_PER_USER * first).then_some(NotSteady::FirstOfUsers {
        first: first.min(requests),
        requests,
        users,
    })
}

/// A queue that grew: then Little's law does not connect the number in the system with throughput and response time.
///
/// A batch or burst that arrives last is there too, however low the load is; only a queue that grows
///
/// - keeps a device busy all the time, at which it waits, or,
/// - where something other than a device holds requests up, adds to the number in the system throughout the window,
///   which is half of the growth on average, where a batch at utilisation ρ adds ρ/2 of its size. A system that is merely
///   not empty soon has its usual number of requests, and has it for most of the window. Where requests arrive evenly, there
///   is no such batch, and growth may be late: a cache or credits were used up.
fn queue_grows(result: &SimulationResult, arrives_evenly: bool) -> Option<NotSteady> {
    /// The average number of jobs at the devices that are always busy, by the growth: the half if all of it is there.
    const THERE: f64 = 0.1;
    /// The average number in the system, by the growth: around the half, as no growth is quite linear.
    const THROUGHOUT: RangeInclusive<f64> = 0.45..=0.75;
    /// The arrivals of a run from which growth is looked for.
    const FEWEST: u64 = 100;
    let sum = |of: fn(&MeasuredWindow) -> u64| result.windows.iter().map(of).sum::<u64>();
    let (start, end) = (sum(|w| w.present_at_start), sum(|w| w.present_at_end));
    let arrived = sum(|w| w.arrived);
    let grown = end.saturating_sub(start) as f64;
    let share = grown / arrived.max(1) as f64;
    let is_looked_for = arrived >= FEWEST * u64::from(result.replications);
    if !is_looked_for || share <= much(arrived, result.replications) {
        return None;
    }
    let in_each = grown / f64::from(result.replications);
    // In a short run some of many devices are always busy by chance, but what grew does not wait for these.
    let devices = result.busy.iter().zip(&result.mean_jobs);
    let always_busy = devices.filter(|(busy, _)| busy.mean >= ALWAYS);
    let waiting: f64 = always_busy.map(|(_, jobs)| jobs.mean).sum();
    let is_always_busy = waiting >= THERE * in_each;
    let begun = start as f64 / f64::from(result.replications);
    let there = (result.mean_in_system.mean - begun) / in_each;
    let is_throughout = THROUGHOUT.contains(&there);
    let is_late = arrives_evenly && there < *THROUGHOUT.start();
    (is_always_busy || is_throughout || is_late).then_some(NotSteady::QueueGrows { share })
}
