//! What makes results less than they seem, found out before the start.

use iosonar_units::{Nanos, SECTOR_BYTES, Sector};

use crate::{Beyond, Options, Scan, Target};
use iosonar_guard::Host;

/// A load that covers less of the target than this share, or wraps around it this often, is reported.
const WRAPAROUND: std::ops::Range<f64> = 0.5..2.0;
/// The least useful length of a run in multiples of its warm-up.
pub const RUN_PER_WARMUP: u64 = 10;

/// What the user should think about before a load is replayed on a target.
#[derive(Clone, Debug, PartialEq)]
pub enum Advice {
    /// The load covers a small part of the target: a disk seeks less, and a cached volume answers from its fast part.
    SmallPart {
        /// The sector at which the load ends.
        end: Sector,
        /// The sectors of the target.
        sectors: u64,
    },
    /// Wrapped requests return to the same sectors.
    WrapsOften {
        /// The load's span in sizes of the target.
        factor: f64,
    },
    /// This I/O scheduler reorders and delays requests.
    Scheduler(String),
    /// The kernel does not report an I/O scheduler.
    SchedulerUnknown,
    /// Writes complete before they reach the medium.
    VolatileCache,
    /// The kernel does not report whether there is a volatile cache.
    CacheUnknown,
    /// Wake-up times and short latencies vary with this governor of the processors' frequency.
    Governor(String),
    /// The run is shorter than [`RUN_PER_WARMUP`] times its warm-up.
    ShortRun {
        /// The warm-up.
        warmup: Nanos,
    },
}

/// What the user should think about before this load is replayed on this target. What cannot be found out is said to
/// be unknown.
pub fn advice(scan: &Scan, target: &Target, options: &Options, host: &Host) -> Vec<Advice> {
    let mut advice = Vec::new();
    if scan.is_known && scan.end.get() > 0 {
        let factor = scan.wraparound_factor(target.size());
        if factor < WRAPAROUND.start {
            advice.push(Advice::SmallPart {
                end: scan.end,
                sectors: target.size().get() / SECTOR_BYTES,
            });
        } else if factor >= WRAPAROUND.end && options.fit.beyond == Beyond::Wrap {
            advice.push(Advice::WrapsOften { factor });
        }
    }
    if let Some(device) = target.device_number() {
        of_device(&mut advice, (target, device), scan, host);
    }
    let needed = options.warmup.get().saturating_mul(RUN_PER_WARMUP);
    if options.warmup > Nanos::ZERO && scan.is_known && scan.last_start.get() < needed {
        advice.push(Advice::ShortRun {
            warmup: options.warmup,
        });
    }
    advice
}

fn of_device(advice: &mut Vec<Advice>, (target, device): (&Target, u64), scan: &Scan, host: &Host) {
    match host.queue_attribute(device, "scheduler") {
        // Commands go past it.
        _ if target.is_passthrough() => {}
        Some(text) => {
            let active = text.split('[').nth(1).and_then(|t| t.split(']').next());
            if let Some(active) = active.filter(|name| !["none", "mq-deadline"].contains(name)) {
                advice.push(Advice::Scheduler(active.to_owned()));
            }
        }
        // A device whose driver takes requests as they are submitted has none.
        None if host.queue_attribute(device, "logical_block_size").is_some() => {}
        None => advice.push(Advice::SchedulerUnknown),
    }
    match host.queue_attribute(device, "write_cache").as_deref() {
        Some("write back") if scan.harmless < scan.requests => advice.push(Advice::VolatileCache),
        Some(_) => {}
        None => advice.push(Advice::CacheUnknown),
    }
    let governor = host.frequency_governor();
    advice.extend(
        governor
            .filter(|governor| governor != "performance")
            .map(Advice::Governor),
    );
}
