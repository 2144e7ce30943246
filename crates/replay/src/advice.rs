//! What makes results less than they seem, found out before the start.

use iosonar_units::{Nanos, SECTOR_BYTES};

use crate::{Beyond, Options, Scan, Target};
use iosonar_guard::Host;

/// A load that covers less of the target than this share, or wraps around it this often, is reported.
const WRAPAROUND: std::ops::Range<f64> = 0.5..2.0;
/// The least length of a run in multiples of its warm-up.
const RUN_PER_WARMUP: u64 = 10;

/// What the user should think about before this load is replayed on this target. What cannot be
/// found out is said to be unknown.
pub fn advice(scan: &Scan, target: &Target, options: &Options, host: &Host) -> Vec<String> {
    let mut advice = Vec::new();
    if scan.is_known && scan.end.get() > 0 {
        let factor = scan.wraparound_factor(target.size());
        let sectors = target.size().get() / SECTOR_BYTES;
        if factor < WRAPAROUND.start {
            advice.push(format!(
                "the load extends to sector {} of {sectors} ({:.1} % of the target): a disk seeks less than \
                 over its whole span, and a thin or cached volume answers from its fast part",
                scan.end,
                100.0 * factor
            ));
        } else if factor >= WRAPAROUND.end && options.fit.beyond == Beyond::Wrap {
            advice.push(format!(
                "the load's span is {factor:.1} times the target: wrapped requests hit \
                 the same sectors again, with warm caches and conflicts"
            ));
        }
    }
    let Some(device) = target.device_number() else {
        return with_warmup(advice, scan, options);
    };
    match host.queue_attribute(device, "scheduler") {
        // Commands go past it.
        _ if target.is_passthrough() => {}
        Some(text) => {
            let active = text.split('[').nth(1).and_then(|t| t.split(']').next());
            if let Some(active) = active.filter(|name| !["none", "mq-deadline"].contains(name)) {
                advice.push(format!(
                    "the I/O scheduler is {active}, which reorders and delays requests \
                     (--scheduler none avoids this)"
                ));
            }
        }
        // A device whose driver takes requests as they are submitted has none.
        None if host.queue_attribute(device, "logical_block_size").is_some() => {}
        None => advice.push("the I/O scheduler is unknown".to_owned()),
    }
    match host.queue_attribute(device, "write_cache").as_deref() {
        Some("write back") if scan.harmless < scan.requests => advice.push(
            "the device has a volatile write cache: writes complete before they reach the \
             medium (--sync dsync waits for it)"
                .to_owned(),
        ),
        Some(_) => {}
        None => advice.push("whether the device has a volatile write cache is unknown".to_owned()),
    }
    match host.frequency_governor() {
        Some(governor) if governor != "performance" => advice.push(format!(
            "the CPU frequency governor is {governor}: wake-up times and short \
             latencies vary with it"
        )),
        _ => {}
    }
    with_warmup(advice, scan, options)
}

fn with_warmup(mut advice: Vec<String>, scan: &Scan, options: &Options) -> Vec<String> {
    let warmup = options.warmup;
    let needed = warmup.get().saturating_mul(RUN_PER_WARMUP);
    if warmup > Nanos::ZERO && scan.is_known && scan.last_start.get() < needed {
        advice.push(format!(
            "the run is shorter than {RUN_PER_WARMUP} times the warm-up of {warmup}: its statistics are \
             based on little data"
        ));
    }
    advice
}
