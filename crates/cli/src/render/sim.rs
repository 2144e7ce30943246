//! The result of a simulation for people.

pub(crate) mod assumed;
pub(crate) mod conclusion;
pub(crate) mod distribution;
mod events;
pub(crate) mod figures;
mod fleet;
mod media;
pub(crate) mod ssds;

use iosonar_raid::positioning::{Case, PositioningCounts};
use iosonar_raid::{MeasuredWindow, ResponseSplit};
use iosonar_report::{counted, grouped};
use iosonar_scenario::{
    Devices, DiskModel, LoadModel, NoInterval, NotSteady, Prepared, REQUESTS_PER_USER,
    SimulationResult,
};
use iosonar_stats::{BatchMeans, Estimate};
use iosonar_trace::transform::Change;
use iosonar_units::{Bytes, Nanos, SECTOR_BYTES};

use crate::render::messages::{Warning, codes};
use crate::render::table::Table;

/// What is simulated, in a line.
pub(crate) fn headline(simulation: &Prepared) -> String {
    simulation.headline()
}

/// A rate without the digits that rounding leaves behind.
fn short(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What stands below the title of a picture.
pub(crate) fn subtitle(simulation: &Prepared, result: &SimulationResult) -> String {
    let band = if result.sections.is_empty() {
        match result.no_interval() {
            Some(NoInterval::TooFew) => "too few requests for a 95 % band",
            Some(NoInterval::Unlike) => "no 95 % band: each array has its own load",
            Some(NoInterval::Events) => {
                "no 95 % band: devices fail or slow down during the run; use --replications"
            }
            _ => "no 95 % band: the times of a single run are correlated; use --replications",
        }
        .to_owned()
    } else if let Some(fleet) = &result.fleet {
        format!("95 % band from {} arrays", fleet.arrays.len())
    } else if result.replications > 1 {
        format!("95 % band from {} replications", result.replications)
    } else {
        "95 % band from sections of the run".to_owned()
    };
    format!("{}; {band}", headline(simulation))
}

/// Response times, and what they are made of.
fn times(simulation: &Prepared, result: &SimulationResult) -> Table {
    let mut table = Table::of_times("response time");
    if result.reads.count() > 0 && result.writes.count() > 0 {
        table.times("reads", &result.reads);
        table.times("writes", &result.writes);
    }
    table.times("all", &result.response_time);
    match &result.split {
        Some(split) if split.stages.is_empty() => add_split(&mut table, split),
        Some(split) => {
            ssds::add_stages(&mut table, split);
            if !simulation.array().is_one_device() {
                table.times("  join delay", &split.join_delay);
            }
        }
        None => {}
    }
    table
}

pub(crate) fn describe(name: &str, simulation: &Prepared, result: &SimulationResult) -> String {
    if result.response_time.count() == 0 {
        let headline = headline(simulation);
        return format!(
            "{name}: {headline}\n  no request was completed, so there are no results\n"
        );
    }
    let mut text = format!("{name}: {}\n", headline(simulation));
    text += &format!("  assuming      {}\n", assumed::line(simulation));
    text += &reach(simulation, result);
    text += &times(simulation, result).text();
    text += &format!("  mean          {}\n", mean(simulation, result));
    if let Some(precision) = simulation.precision() {
        let reached = result.mean_ms.half_width_95() / result.mean_ms.mean;
        // Fewer than ten replications are not conclusive.
        if reached > precision {
            text += &format!(
                "  NOT REACHED   the mean is known to within {:.2} %, but {:.2} % was requested: use more \
                 replications{}\n",
                100.0 * reached,
                100.0 * precision,
                Warning::PrecisionNotReached.tag()
            );
        }
    }
    for (label, p) in [("median", 0.5), ("p99", 0.99)] {
        if let Some(interval) = result.quantile_interval_ms(p) {
            let median = result.quantile_ms(p).mean;
            text += &format!("  {label:<12}  {}\n", within(median, interval));
        }
    }
    text += &rates(simulation, result);
    text += &result
        .fleet
        .as_ref()
        .map_or_else(String::new, fleet::describe);
    text += &result.not_steady.map_or_else(String::new, |of| {
        overload(simulation, result, of).unwrap_or_else(|| growth(of))
    });
    if result.free > 0 {
        let words = match simulation.array().is_of_ssds() {
            true => ["flush or discard is", "flushes and discards are"],
            false => [
                "flush or discard takes no time in this model and is",
                "flushes and discards take no time in this model and are",
            ],
        };
        let left_out = counted(result.free, words);
        text += &format!("  {left_out} left out of all figures\n");
    }
    text += &ssds::describe(simulation, result);
    text += &media::describe(simulation, result);
    if !simulation.array().is_of_ssds() {
        let is_cached = simulation.array().controller.cache.is_some();
        text += &positioning(&result.positioning, is_cached);
    }
    text += &events::describe(simulation, result);
    text += &rebuild(result);
    text += &not_measured(simulation, result);
    text += &format!("  seed {}, hash {}\n", simulation.seed(), result.hash);
    text
}

/// Which requests are in no figure, as they came before the measurement or completed after it.
fn not_measured(simulation: &Prepared, result: &SimulationResult) -> String {
    let mut text = String::new();
    if result.warmup_requests > 0 {
        let which = match result.warmup_requests {
            1 => "request of each run is".to_owned(),
            n => format!("{} requests of each run are", grouped(n)),
        };
        text += &format!("  the first {which} not measured\n");
    }
    if matches!(simulation.load(), LoadModel::Closed { .. }) {
        let drained: u64 = result.windows.iter().map(|w| w.present_at_end).sum();
        if drained > 0 && result.unserved.is_none() {
            text += &format!(
                "  {} not measured\n",
                counted(
                    drained,
                    [
                        "request completed while the closed loop drained: it is",
                        "requests completed while the closed loop drained: they are"
                    ]
                )
            );
        }
    }
    text
}

fn reach(simulation: &Prepared, result: &SimulationResult) -> String {
    let Some(reach) = reach_of(simulation, result) else {
        return String::new();
    };
    let scatter = simulation.scatter();
    let scatter = scatter.filter(|scatter| !is_scattered(simulation, scatter.over()));
    let advice = scatter.map_or(String::new(), |scatter| {
        format!("; --scatter {} spreads the load", scatter.over())
    });
    format!(
        "  reach         {reach}{advice}{}\n",
        Warning::SmallReach.tag()
    )
}

/// Whether a recording is scattered over about as many sectors already: few requests have a small span nevertheless.
pub(crate) fn is_scattered(simulation: &Prepared, over: u64) -> bool {
    let LoadModel::Trace { reading, .. } = simulation.load() else {
        return false;
    };
    let is_as_wide = |change: &Change| match change {
        Change::Scatter(scatter) => scatter.over() > over / 2,
        _ => false,
    };
    reading.changes.iter().any(is_as_wide)
}

/// That a load lies within a small part of disks with an arm, which then hardly moves.
pub(crate) fn reach_of(simulation: &Prepared, result: &SimulationResult) -> Option<String> {
    /// Below this share of the array it is worth a line.
    const SMALL: f64 = 0.1;
    let array = simulation.array();
    let (Some(span), Ok(sectors), Devices::Disks(disks)) =
        (result.span, array.data_sectors(), &array.devices)
    else {
        return None;
    };
    let share = span.sectors() as f64 / sectors as f64;
    if share >= SMALL || !matches!(disks.model, DiskModel::Positional(_)) {
        return None;
    }
    let bytes = |sectors: u64| Bytes::new(sectors * SECTOR_BYTES);
    Some(format!(
        "the load spans only {} of {}: seeks are short, and caches may hold much of the data",
        bytes(span.sectors()),
        bytes(sectors)
    ))
}

/// How busy the devices were, and how much was in the system and came out of it.
fn rates(simulation: &Prepared, result: &SimulationResult) -> String {
    if result.windows.iter().all(|w| w.length() == Nanos::ZERO) {
        return "  no time passed while requests were measured, so there are no rates, time averages or utilisations\n".to_owned();
    }
    let (of_arrays, per_array) = match &result.fleet {
        Some(fleet) if fleet.idle > 0 => (
            " (means over the arrays with requests)",
            " per array with requests",
        ),
        Some(_) => (" (means over the arrays)", " per array"),
        None => ("", ""),
    };
    let mut text = String::new();
    text += &format!(
        "  utilisation   {}{of_arrays}\n",
        percentages(&result.utilisation)
    );
    if simulation.array().is_of_ssds() {
        text += &format!(
            "  busy          {} (share of time with at least one job)\n",
            percentages(&result.busy)
        );
    }
    let jobs: Vec<String> = result
        .mean_jobs
        .iter()
        .map(|n| format!("{:.2}", n.mean))
        .collect();
    text += &format!("  jobs present  {}{of_arrays}\n", jobs.join("  "));
    text += &format!(
        "  in the system {:.2} requests on average{per_array}\n  throughput    {:.2} requests/s{per_array}; an arriving request finds {:.2} others; at most {} were in flight\n",
        result.mean_in_system.mean,
        result.throughput_per_s.mean,
        result.mean_found.mean,
        grouped(result.most_in_flight as u64)
    );
    text += &at_the_ends(result);
    text += &format!(
        "  data          {:.1} MB/s{per_array}\n",
        result.megabytes_per_s().mean
    );
    text
}

/// Why Little's law does not hold between the figures, where it does not: times are of whole requests, and averages over time
/// end with the load.
fn at_the_ends(result: &SimulationResult) -> String {
    /// From this share of the number in the system on it is worth a line.
    const MUCH: f64 = 0.05;
    let by_law = result.throughput_per_s.mean * result.mean_ms.mean / 1e3;
    let in_system = result.mean_in_system.mean;
    if (by_law - in_system).abs() <= MUCH * in_system.max(1.0) {
        return String::new();
    }
    let sum = |of: fn(&MeasuredWindow) -> u64| -> u64 { result.windows.iter().map(of).sum() };
    let (start, end) = (sum(|w| w.present_at_start), sum(|w| w.present_at_end));
    let count = |sum: u64| match result.windows.len() {
        1 => grouped(sum),
        runs => format!("{:.1} a run", sum as f64 / runs as f64),
    };
    let mut why = Vec::new();
    // An edge ten times smaller than the other explains nothing.
    if start > 0 && start >= end / 10 {
        why.push(format!(
            "requests in the system when measurement began: {}, counted in time averages only",
            count(start)
        ));
    }
    if end > 0 && end >= start / 10 {
        why.push(format!(
            "requests in the system when the load ended: {}; their time after that counts only towards the mean",
            count(end)
        ));
    }
    if result.windows.iter().any(|w| w.other_time > 0) {
        why.push("failed requests, flushes and discards, counted in time averages only".to_owned());
    }
    let why = why.join("; ");
    format!("                (throughput x mean is {by_law:.2}: {why})\n")
}

fn percentages(shares: &[Estimate]) -> String {
    let percent = |share: &Estimate| format!("{:.1} %", 100.0 * share.mean);
    shares.iter().map(percent).collect::<Vec<_>>().join("  ")
}

/// A time in milliseconds with its interval, which need not be symmetric.
fn within(value: f64, (lower, upper): (f64, f64)) -> String {
    let (factor, unit) = unit_of(value);
    format!(
        "{:.3} {unit} (95 %: {:.3} to {:.3} {unit})",
        value * factor,
        lower * factor,
        upper * factor
    )
}

/// The unit in which times of this many milliseconds are printed.
fn unit_of(mean_ms: f64) -> (f64, &'static str) {
    if mean_ms < 1.0 {
        (1e3, "µs")
    } else {
        (1.0, "ms")
    }
}

/// The mean response time with its confidence interval and what this comes from, or why it has no interval.
pub(crate) fn mean(simulation: &Prepared, result: &SimulationResult) -> String {
    let mean = result.mean_ms;
    let (factor, unit) = unit_of(mean.mean);
    let Some((lower, upper)) = mean.positive_interval_95() else {
        let why = match result.no_interval() {
            Some(NoInterval::TooFew) => {
                let fewest = grouped(BatchMeans::FEWEST_SAMPLES);
                format!("a confidence interval needs at least {fewest} requests, or --replications")
            }
            Some(NoInterval::NotSteady(
                NotSteady::QueueGrows { .. } | NotSteady::Unstable { .. },
            )) => "no confidence interval, as the queue grew".to_owned(),
            Some(NoInterval::NotSteady(
                NotSteady::FirstOfUsers { .. }
                | NotSteady::CacheFills { .. }
                | NotSteady::CreditsFall { .. }
                | NotSteady::NearSaturation { .. },
            )) => "the run is too short for a confidence interval".to_owned(),
            Some(NoInterval::Unlike) => {
                "each array has its own load, so there is no confidence interval".to_owned()
            }
            Some(NoInterval::Events) => {
                "devices fail or slow down during the run, so a confidence interval needs \
                                         --replications"
                    .to_owned()
            }
            _ => "the times of a single run are too strongly correlated for a confidence \
                  interval: use --replications"
                .to_owned(),
        };
        return format!("{:.3} {unit} ({why})", mean.mean * factor);
    };
    let trace = matches!(simulation.load(), LoadModel::Trace { .. });
    let from = match (result.replications, trace) {
        (n, _) if result.fleet.is_some() => format!("{n} arrays"),
        (1, false) => "batch means".to_owned(),
        (1, true) => "batch means; a trace is not a stationary load: use --replications".to_owned(),
        (n, false) => format!("{n} replications"),
        (n, true) => format!("{n} replications of the disks; valid for this trace only"),
    };
    let half_width = mean.half_width_95();
    if half_width >= mean.mean {
        return format!(
            "{:.3} {unit} (95 %: {:.3} to {:.3} {unit}, from {from})",
            mean.mean * factor,
            lower * factor,
            upper * factor
        );
    }
    format!(
        "{:.3} ± {:.3} {unit} (95 %, from {from})",
        mean.mean * factor,
        half_width * factor
    )
}

fn add_split(table: &mut Table, split: &ResponseSplit) {
    table.times("sub-requests: wait", &split.wait);
    table.times("  positioning", &split.positioning);
    table.times("  transfer", &split.transfer);
    table.times("  join delay", &split.join_delay);
}

/// That more arrives than is completed, where a queue grows and the load has a rate to compare with.
fn overload(
    simulation: &Prepared,
    result: &SimulationResult,
    not_steady: NotSteady,
) -> Option<String> {
    // What is in service when a short run ends is not in a queue.
    let grows = matches!(
        not_steady,
        NotSteady::QueueGrows { .. } | NotSteady::Unstable { .. }
    );
    // A bursty load need not come at its mean rate within a run, nor few requests of any.
    let steady = simulation.load().arrives_evenly();
    // Requests that failed are not in a queue.
    let enough = steady
        && result.failed == 0
        && result.response_time.count() >= 1000 * u64::from(result.replications);
    let rate = simulation.load().requests_per_s();
    let rate = rate.filter(|rate| grows && enough && result.throughput_per_s.mean < 0.95 * rate)?;
    Some(format!(
        "  OVERLOADED    {} requests/s arrive, {:.2} are completed: the queue keeps growing, and \
         the times above depend on the length of the run{}\n",
        short(rate),
        result.throughput_per_s.mean,
        Warning::Overloaded.tag()
    ))
}

/// That the result depends on how long the run is.
fn growth(not_steady: NotSteady) -> String {
    let tag = codes::of_not_steady(&not_steady).tag();
    format!("  NOT STEADY    {}{tag}\n", why_not_steady(not_steady))
}

/// Why the result depends on how long the run is.
pub(crate) fn why_not_steady(not_steady: NotSteady) -> String {
    match not_steady {
        NotSteady::QueueGrows { share } => format!(
            "{:.1} % of the requests were still in the system when the load ended: \
             throughput and times depend on the length of the run",
            100.0 * share
        ),
        NotSteady::FirstOfUsers {
            first,
            requests,
            users,
        } => format!(
            "{} of {} requests are the first requests of their users, who start in an empty system: \
             raise load.requests to {}, or warmup_requests to {}",
            grouped(first),
            grouped(requests),
            grouped(REQUESTS_PER_USER * users),
            grouped(users)
        ),
        NotSteady::CacheFills { share } => format!(
            "the dirty data in the cache grew by {:.1} % of what was written, and these writes did not wait for the disks: \
             raise load.requests, or warmup_requests",
            100.0 * share
        ),
        NotSteady::CreditsFall { used } => format!(
            "the load used {used:.2} times the credits that it earned: once they are used up, requests wait for the baseline \
             of the limit"
        ),
        NotSteady::NearSaturation {
            offered,
            requests,
            warmup,
        } => {
            let what_to_do = match (requests, warmup) {
                (Some(requests), Some(warmup)) => format!(
                    "raise load.requests to {}, or use replications and raise warmup_requests to {}",
                    grouped(requests),
                    grouped(warmup)
                ),
                _ => "lower the load, as no run would be long enough".to_owned(),
            };
            match offered < 0.5 {
                true => format!(
                    "the run is too short to forget that it began without a queue: {what_to_do}"
                ),
                false => format!(
                    "the offered load of the busiest station is {offered:.3} times its capacity, and a run this short \
                     depends on how its queue began: {what_to_do}"
                ),
            }
        }
        NotSteady::Unstable { offered } => format!(
            "the offered load of the busiest station is {offered:.3} times its capacity, so its queue keeps growing: \
             the times above depend on the length of the run"
        ),
    }
}

/// What writes to parts of stripes found. With a cache, these are writes of destaging, so the shares do not describe requests.
fn positioning(counts: &PositioningCounts, is_cached: bool) -> String {
    let whose = match is_cached {
        true => " that destage the cache or bypass it",
        false => "",
    };
    let line = |name: &str, cases: [Case; 4], labels: [&str; 4]| {
        let total = counts.total(cases);
        if total == 0 {
            return String::new();
        }
        let share = |case| 100.0 * counts.share(case, cases);
        let parts: Vec<String> = cases
            .iter()
            .zip(labels)
            .map(|(&case, label)| format!("{label} {:.1} %", share(case)))
            .collect();
        format!(
            "  {name:<18} {} (of {} partial-stripe disk writes{whose})\n",
            parts.join(", "),
            grouped(total)
        )
    };
    line(
        "read-modify-write",
        PositioningCounts::MODIFY,
        [
            "busy",
            "interrupted by another request",
            "full revolution",
            "rotation only",
        ],
    ) + &line(
        "reconstruct-write",
        PositioningCounts::RECONSTRUCT,
        ["busy", "new position", "sequential", "rotation only"],
    )
}

fn rebuild(result: &SimulationResult) -> String {
    let Some(of) = result.rebuilt() else {
        return String::new();
    };
    let Some(whole_s) = of.whole_s else {
        return "  rebuild       no stripe was completed\n".to_owned();
    };
    let (all, took) = (grouped(of.of), of.elapsed);
    match of.is_complete {
        true => format!("  rebuild       all {all} stripes in {took}\n"),
        false => format!(
            "  rebuild       {} of {all} stripes in {took}; all would take {:.1} hours at this pace\n",
            grouped(of.stripes),
            whole_s / 3600.0
        ),
    }
}

/// How fast the computation was: the one thing that is not the same every time, so it is no result.
pub(crate) fn speed(name: &str, result: &SimulationResult) -> String {
    format!(
        "{name}: {} in {:.2} s: {} requests/s, {} events/s",
        counted(result.requests, ["request", "requests"]),
        result.elapsed.as_secs_f64(),
        grouped(per_second(result.requests, result)),
        grouped(per_second(result.events, result)),
    )
}

pub(crate) fn per_second(count: u64, result: &SimulationResult) -> u64 {
    (count as f64 / result.elapsed.as_secs_f64().max(1e-9)) as u64
}
