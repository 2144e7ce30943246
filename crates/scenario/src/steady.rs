//! Whether a result depends on how long the run was.

use iosonar_raid::MeasuredWindow;

use crate::{LoadModel, Prepared, REQUESTS_PER_USER, SimulationResult};

/// Why a result depends on how long the run was.
#[derive(Clone, Copy, Debug, PartialEq)]
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
}

impl Prepared {
    /// Why its result depends on how long the run was; `None` if nothing points to that.
    pub fn not_steady(&self, result: &SimulationResult) -> Option<NotSteady> {
        match self.load() {
            // As many requests are there as there are users.
            LoadModel::Closed {
                outstanding,
                requests,
                ..
            } => first_of_users(u64::from(*outstanding), *requests, result.warmup_requests),
            LoadModel::Alone { .. } => None,
            LoadModel::Synthetic { .. } | LoadModel::Trace { .. } => queue_grows(result),
        }
    }
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
/// - keeps a device busy all the time, or,
/// - where something other than a device holds requests up, adds to the number in the system throughout the window,
///   which is half of the growth on average, where a batch at utilisation ρ adds ρ/2 of its size.
fn queue_grows(result: &SimulationResult) -> Option<NotSteady> {
    /// The share of what arrived from which growth is reported.
    const MUCH: f64 = 0.05;
    /// The share of the time that the device with a queue that only grows is busy at least.
    const ALWAYS: f64 = 0.95;
    /// The average number in the system, by the growth: less than the half, as no growth is quite linear.
    const THROUGHOUT: f64 = 0.45;
    /// The arrivals of a run from which growth is looked for.
    const FEWEST: u64 = 100;
    /// The arrivals of a run from which the share alone decides.
    const MANY: u64 = 1000;
    /// How many standard deviations of what grows and shrinks by chance are growth, where arrivals are few.
    const SPREADS: f64 = 3.0;
    let sum = |of: fn(&MeasuredWindow) -> u64| result.windows.iter().map(of).sum::<u64>();
    let (start, end) = (sum(|w| w.present_at_start), sum(|w| w.present_at_end));
    let arrived = sum(|w| w.arrived);
    let grown = end.saturating_sub(start) as f64;
    let share = grown / arrived.max(1) as f64;
    if arrived < FEWEST * u64::from(result.replications) || share <= MUCH {
        return None;
    }
    // Arrivals less completions of a busy device are a random walk. With Poisson arrivals and exponential services it
    // has a variance of 2 per arrival.
    let by_chance = SPREADS * (2.0 * arrived as f64).sqrt();
    if arrived < MANY * u64::from(result.replications) && grown <= by_chance {
        return None;
    }
    let busiest = result.busy.iter().map(|busy| busy.mean);
    let is_always_busy = busiest.fold(0.0, f64::max) >= ALWAYS;
    let in_each = grown / f64::from(result.replications);
    let is_throughout = result.mean_in_system.mean >= THROUGHOUT * in_each;
    (is_always_busy || is_throughout).then_some(NotSteady::QueueGrows { share })
}
