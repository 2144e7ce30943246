//! What a simulation found, in a sentence.

use iosonar_analysis::objective::{Attained, Judgement};
use iosonar_report::grouped;
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
        text += &format!(" at {} requests/s", short((10.0 * rate).round() / 10.0));
    }
    if let Some(fleet) = &result.fleet {
        text += if rate.is_finite() { " per array" } else { "" };
        if let Some(busiest) = fleet.busiest() {
            text += &format!(
                "; the busiest device, in {}, is busy {:.1} % of the time",
                fleet.name_of(busiest),
                100.0 * busiest.utilisation
            );
        }
    } else if let Some((device, share)) = busiest(result) {
        text += &format!(
            "; the busiest device, {}, is busy {:.1} % of the time",
            simulation.array().station(device),
            100.0 * share
        );
    }
    if result.loses_data() {
        text += "; DATA LOSS: ";
        text += &lost(result);
    }
    text + ".\n"
}

/// How many requests failed because too many disks had.
pub(super) fn lost(result: &SimulationResult) -> String {
    let n = result.failed + result.device_events.lost_from_cache;
    let requests = if n == 1 { "request" } else { "requests" };
    format!(
        "{} {requests} failed, as too many disks had failed",
        grouped(n)
    )
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

/// The first of the devices that are busiest, with its utilisation.
fn busiest(result: &SimulationResult) -> Option<(usize, f64)> {
    let used = result.utilisation.iter().map(|share| share.mean);
    let used = used.enumerate().filter(|(_, share)| share.is_finite());
    used.reduce(|most, other| if other.1 > most.1 { other } else { most })
}
