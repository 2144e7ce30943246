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
