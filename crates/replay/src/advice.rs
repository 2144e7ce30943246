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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::imagined::Disk;
    use crate::{Fit, ScanFigures};
    use iosonar_units::Bytes;

    fn scan(end: u64) -> Scan {
        Scan::with_figures(&ScanFigures {
            requests: 10,
            harmless: 10,
            discards: 0,
            end,
            longest: 8,
            last_start_ns: 1_000_000_000_000,
            goes_on: false,
        })
    }

    fn of_file(scan: &Scan, options: &Options) -> Vec<Advice> {
        let target = Target::imaginary(Bytes::new(1000 * 512), Bytes::new(512));
        let disk = Disk::new(&[]);
        advice(scan, &target, options, &disk.host())
    }

    #[test]
    fn a_load_should_cover_the_target_about_once() {
        let (sectors, wrap, clip) = (1000, Beyond::Wrap, Beyond::Clip);
        let small = |end| {
            let end = Sector::new(end);
            vec![Advice::SmallPart { end, sectors }]
        };
        for (end, beyond, expected) in [
            // Nothing but flushes has no place at all.
            (0, wrap, vec![]),
            (1, wrap, small(1)),
            (499, clip, small(499)),
            (500, wrap, vec![]),
            (1000, Beyond::Refuse, vec![]),
            (1999, wrap, vec![]),
            (2000, wrap, vec![Advice::WrapsOften { factor: 2.0 }]),
            (2500, wrap, vec![Advice::WrapsOften { factor: 2.5 }]),
            (2500, clip, vec![]),
            (2500, Beyond::Scale, vec![]),
        ] {
            let fit = Fit {
                beyond,
                ..Fit::default()
            };
            let options = Options {
                fit,
                ..Options::default()
            };
            let advice = of_file(&scan(end), &options);
            assert_eq!(advice, expected, "{end} {beyond:?}");
        }
        let mut unknown = scan(1);
        unknown.is_known = false;
        assert_eq!(of_file(&unknown, &Options::default()), []);
    }

    #[test]
    fn a_run_should_last_ten_times_its_warm_up() {
        let (second, short) = (Nanos::SECOND, true);
        for (warmup, last_start, is_known, expected) in [
            (second, Nanos::new(9_999_999_999), true, short),
            (second, Nanos::from_secs(10), true, !short),
            (second, Nanos::from_secs(11), true, !short),
            (second, Nanos::ZERO, false, !short),
            (Nanos::ZERO, Nanos::ZERO, true, !short),
        ] {
            let mut scan = scan(1000);
            (scan.is_known, scan.last_start) = (is_known, last_start);
            let options = Options {
                warmup,
                ..Options::default()
            };
            let advice = of_file(&scan, &options);
            let wanted: Vec<_> = expected
                .then_some(Advice::ShortRun { warmup })
                .into_iter()
                .collect();
            assert_eq!(advice, wanted, "{warmup} {last_start}");
        }
    }

    /// What is said of a disk with these files, for a load of ten requests of which some are `harmless`.
    fn of_disk(files: &[(&str, &str)], harmless: u64) -> Vec<Advice> {
        let mut scan = scan(1000);
        scan.harmless = harmless;
        let disk = Disk::new(files);
        let target = Disk::target(1000);
        advice(&scan, &target, &Options::default(), &disk.host())
    }

    #[test]
    fn a_scheduler_that_reorders_is_named() {
        let cache = ("queue/write_cache", "write through");
        let bfq = || vec![Advice::Scheduler("bfq".to_owned())];
        for (scheduler, expected) in [
            ("none mq-deadline kyber [bfq]", bfq()),
            ("[bfq] none", bfq()),
            ("[none] mq-deadline bfq", vec![]),
            ("none [mq-deadline] bfq", vec![]),
            // Of a device without a choice.
            ("none", vec![]),
        ] {
            let files = [cache, ("queue/scheduler", scheduler)];
            assert_eq!(of_disk(&files, 10), expected, "{scheduler}");
        }
        let blocks = ("queue/logical_block_size", "512");
        assert_eq!(of_disk(&[cache, blocks], 10), []);
        assert_eq!(of_disk(&[cache], 10), [Advice::SchedulerUnknown]);
    }

    #[test]
    fn commands_go_past_the_scheduler() {
        let cache = ("queue/write_cache", "write through");
        for files in [&[cache, ("queue/scheduler", "none [bfq]")][..], &[cache]] {
            let target = Disk::target(1000).with_commands(8);
            let disk = Disk::new(files);
            let advice = advice(&scan(1000), &target, &Options::default(), &disk.host());
            assert_eq!(advice, []);
        }
    }

    #[test]
    fn a_volatile_cache_matters_to_writes_only() {
        let scheduler = ("queue/scheduler", "[none]");
        let volatile = ("queue/write_cache", "write back");
        let durable = ("queue/write_cache", "write through");
        assert_eq!(of_disk(&[scheduler, volatile], 9), [Advice::VolatileCache]);
        assert_eq!(of_disk(&[scheduler, volatile], 10), []);
        assert_eq!(of_disk(&[scheduler, durable], 9), []);
        assert_eq!(of_disk(&[scheduler], 10), [Advice::CacheUnknown]);
    }

    #[test]
    fn a_governor_that_saves_power_is_named() {
        for (governor, expected) in [
            ("powersave", vec![Advice::Governor("powersave".to_owned())]),
            ("performance", vec![]),
        ] {
            let disk = Disk::new(&[
                ("queue/scheduler", "[none]"),
                ("queue/write_cache", "write through"),
            ]);
            disk.govern(governor);
            let target = Disk::target(1000);
            let advice = advice(&scan(1000), &target, &Options::default(), &disk.host());
            assert_eq!(advice, expected);
        }
    }
}
