//! What a simulation found, in a sentence.

use iosonar_analysis::objective::{Attained, Judgement};
use iosonar_report::counted;
use iosonar_scenario::{Prepared, SimulationResult};
use iosonar_units::Nanos;

use super::short;
use crate::render::style::Tone;

/// The answer, with the figures that most users came for.
pub(crate) fn sentence(
    name: &str,
    simulation: &Prepared,
    result: &SimulationResult,
    targets: &[Attained],
) -> String {
    if result.response_time.count() == 0 {
        return String::new();
    }
    let time = |ms: f64| Nanos::from_millis_f64(ms).to_string();
    let mut text = format!(
        "{name}: {}mean {}",
        outcome(targets),
        time(result.mean_ms.mean),
    );
    // Of few requests the p99 is the longest, which the table marks.
    if result.response_time.histogram.supports_quantile(0.99) {
        text += &format!(", p99 {}", time(result.quantile_ms(0.99).mean));
    }
    let rate = result.throughput_per_s.mean;
    if rate.is_finite() && rate > 0.0 {
        let per_array = if result.fleet.is_some() {
            " per array"
        } else {
            ""
        };
        let rate = short((10.0 * rate).round() / 10.0);
        text += &format!(" at {rate} requests/s{per_array}");
    }
    if result.not_steady.is_some() {
        text += ", which depend on the length of the run";
    }
    if let Some(fleet) = &result.fleet {
        if let Some(busiest) = fleet.busiest() {
            text += &format!(
                "; the busiest device, in {}, is busy {:.1} % of the time",
                fleet.name_of(busiest),
                100.0 * busiest.utilisation
            );
        }
    } else if let Some((device, share)) = simulation.busiest_device(result) {
        text += &format!(
            "; the busiest device, {}, is busy {:.1} % of the time",
            simulation.array().station(device),
            100.0 * share
        );
        text += &in_the_background(simulation, result, device, share);
        // One that does many things at a time is not used to its capacity when it is always busy. Its limits are a part of that.
        let used = result.utilisation.get(device).map(|used| used.mean);
        if let Some(used) = used.filter(|used| simulation.array().is_of_ssds() && used.is_finite())
        {
            let mut of_limits = simulation.limits_used(result);
            // What is offered beyond the baseline is used on credit, or waits.
            if simulation.on_credit(result).is_none() {
                of_limits = of_limits.min(1.0);
            }
            text += &match of_limits > used {
                true => format!(", at {:.1} % of its baseline", 100.0 * of_limits),
                false => format!(", at {:.1} % of its capacity", 100.0 * used),
            };
        }
    }
    if result.loses_data() {
        text += "; DATA LOSS: ";
        text += &lost(result);
    }
    text + ".\n"
}

/// The part of the time in which a disk is busy that is that of requests, where it also works without any.
fn in_the_background(
    simulation: &Prepared,
    result: &SimulationResult,
    device: usize,
    share: f64,
) -> String {
    /// What is printed differs from here on.
    const LEAST: f64 = 5e-4;
    let with_requests = result.busy.get(device).map(|busy| busy.mean);
    match with_requests.filter(|busy| !simulation.array().is_of_ssds() && share - busy > LEAST) {
        Some(busy) => format!(
            " ({:.1} % with requests, the rest in the background)",
            100.0 * busy
        ),
        None => String::new(),
    }
}

/// What was lost because too many disks had failed.
pub(super) fn lost(result: &SimulationResult) -> String {
    let counts = &result.device_events;
    let mut lost = Vec::new();
    if counts.failed > 0 {
        let failed = counted(counts.failed, ["request", "requests"]);
        lost.push(format!(
            "{failed} failed because too many disks had failed (left out of the response times)"
        ));
    }
    if counts.lost_from_cache > 0 {
        let writes = counted(counts.lost_from_cache, ["write", "writes"]);
        lost.push(format!(
            "{writes} that had completed in the cache could not reach the disks"
        ));
    }
    lost.join("; ")
}

/// Whether the targets are met, as the begin of a sentence.
fn outcome(targets: &[Attained]) -> String {
    let of = |judgement: Judgement| targets.iter().filter(|of| of.verdict == judgement).count();
    let all = targets.len();
    let (meets, misses) = (
        of(Judgement::Meets),
        of(Judgement::Misses) + of(Judgement::Unstable),
    );
    match all {
        0 => String::new(),
        _ if meets == all => format!("{} the target{}: ", Tone::Good.of("meets"), plural(all)),
        1 if misses == 1 => format!("{} the target: ", Tone::Bad.of("misses")),
        _ if misses > 0 => format!("{} {misses} of {all} targets: ", Tone::Bad.of("misses")),
        _ => format!(
            "{} whether it meets the target{}: ",
            Tone::Doubtful.of("unclear"),
            plural(all)
        ),
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
