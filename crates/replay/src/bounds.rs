//! How many requests may be where.

use crate::engine::ThreadPool;
use crate::note::{EngineNote, Note};
use crate::options::DEFAULT_IN_FLIGHT;
use crate::{EngineKind, InFlightLimit, Options, Writes};

/// Slots of lanes are distinguished by the upper bits of the numbers that engines see.
pub(crate) const SLOT_BITS: u32 = 22;

/// The most places of a lane.
pub(crate) const MOST_PLACES: u32 = 1 << SLOT_BITS;

/// The most lanes.
pub(crate) const MOST_LANES: u32 = 1 << (32 - SLOT_BITS);

/// Which lane a number of the engine's belongs to, and which slot of it.
#[inline]
pub(crate) fn lane_and_slot(number: u32) -> (usize, u32) {
    ((number >> SLOT_BITS) as usize, number & (MOST_PLACES - 1))
}

/// How many requests of a lane may be where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Ordinary ones at the device, and as many that were pushed back.
    pub(crate) in_flight: u32,
    /// Both together.
    pub(crate) total: u32,
    /// Accepted and not complete.
    pub(crate) accepted: u32,
}

impl Bounds {
    /// How many requests may be where, so that the buffers keep to their bound.
    pub(crate) fn of(
        options: &Options,
        engine: EngineKind,
        longest: usize,
        lanes: usize,
        notes: &mut Vec<Note>,
    ) -> Self {
        // What waits for a thread would look like a slow device.
        let places = match engine {
            EngineKind::Threads => (ThreadPool::MOST_THREADS / lanes as u32).max(1),
            _ => 1 << 16,
        };
        let most = options.in_flight.min(places);
        let total = options
            .in_flight_total
            .unwrap_or(most.saturating_mul(2))
            .clamp(1, places);
        // Reads and writes have buffers of their own.
        let kinds = if options.writes == Writes::Do { 2 } else { 1 };
        let longest = kinds * longest.next_multiple_of(4096).max(4096) as u64;
        let fit = (options.buffer_memory.get() / lanes as u64 / longest)
            .clamp(1, u64::from(u32::MAX)) as u32;
        // Half of the places are for requests that were pushed back.
        let in_flight = most.min(total).min((fit / 2).max(1));
        if in_flight < most.min(total) {
            let note = EngineNote::FewerInFlight {
                in_flight,
                wanted: most,
                longest,
                memory: options.buffer_memory,
            };
            notes.push(note.into());
        }
        let total = total.min(fit).max(in_flight);
        let accepted = options
            .bottleneck
            .unwrap_or(in_flight.saturating_mul(8))
            .clamp(1, MOST_PLACES);
        Self {
            in_flight: in_flight.min(accepted),
            total,
            accepted: accepted.max(1),
        }
    }

    /// The option that limits the slots of a lane to fewer than the default, if one does.
    pub(crate) fn in_flight_limit(
        &self,
        options: &Options,
        engine: EngineKind,
    ) -> Option<InFlightLimit> {
        // Which waits for each request whatever the limit.
        if engine == EngineKind::Sync || self.in_flight >= DEFAULT_IN_FLIGHT {
            return None;
        }
        [
            ("--in-flight", Some(options.in_flight)),
            ("--in-flight-total", options.in_flight_total),
            ("--bottleneck", options.bottleneck),
        ]
        .into_iter()
        .filter_map(|(option, requests)| Some((option, requests?)))
        .find(|(_, requests)| *requests == self.in_flight)
        .map(|(option, requests)| InFlightLimit { option, requests })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_units::Bytes;

    #[test]
    fn a_limit_is_that_of_the_option_that_set_it() {
        use EngineKind::{IoUring, Sync};
        let limit = |option, requests| Some(InFlightLimit { option, requests });
        for (engine, in_flight, total, bottleneck, expected) in [
            (IoUring, 64, None, None, limit("--in-flight", 64)),
            (IoUring, 1023, None, None, limit("--in-flight", 1023)),
            (IoUring, DEFAULT_IN_FLIGHT, None, None, None),
            (IoUring, 2000, None, None, None),
            (IoUring, 64, Some(16), None, limit("--in-flight-total", 16)),
            (IoUring, 64, None, Some(8), limit("--bottleneck", 8)),
            // It waits for each request whatever the limit.
            (Sync, 64, None, None, None),
            (Sync, 2000, None, None, None),
        ] {
            let options = Options {
                in_flight,
                in_flight_total: total,
                bottleneck,
                ..Options::default()
            };
            let mut notes = Vec::new();
            let bounds = Bounds::of(&options, engine, 4096, 1, &mut notes);
            assert_eq!(notes, []);
            let limit = bounds.in_flight_limit(&options, engine);
            assert_eq!(limit, expected, "{options:?}");
        }
    }

    #[test]
    fn requests_of_a_lane_keep_to_the_memory() {
        let options = |writes| Options {
            writes,
            buffer_memory: Bytes::new(64 << 20),
            ..Options::default()
        };
        // 64 MiB hold 64 buffers of 1 MiB; half of them are for what was pushed back, and reads have their own.
        for (writes, lanes, in_flight) in [
            (Writes::Skip, 1, 32),
            (Writes::Do, 1, 16),
            (Writes::Do, 2, 8),
            (Writes::Do, 1000, 1),
        ] {
            let mut notes = Vec::new();
            let options = options(writes);
            let bounds = Bounds::of(&options, EngineKind::IoUring, 1 << 20, lanes, &mut notes);
            assert_eq!(bounds.in_flight, in_flight, "{writes:?} {lanes}");
            assert_eq!(notes.len(), 1);
        }
    }

    #[test]
    fn lanes_share_the_threads_of_a_pool() {
        // 128 threads.
        for (lanes, in_flight) in [(1, 128), (4, 32), (100, 1), (128, 1), (1000, 1)] {
            let bounds = Bounds::of(
                &Options::default(),
                EngineKind::Threads,
                4096,
                lanes,
                &mut Vec::new(),
            );
            assert_eq!(bounds.in_flight, in_flight, "{lanes}");
        }
    }
}
