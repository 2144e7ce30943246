//! What is known of a station.

use iosonar_stats::{Moments, TimeWeighted};
use iosonar_units::Nanos;

/// The statistics of a station since the beginning, or since the last
/// [`measure_from_now`](super::Network::measure_from_now).
#[derive(Clone, Debug, Default)]
pub struct StationStatistics {
    /// How many servers it has.
    pub servers: u32,
    /// The number of jobs, waiting and in service.
    pub number: TimeWeighted,
    /// The number of servers at work. A server that is blocked is not.
    pub busy: TimeWeighted,
    /// The number of servers that cannot take a job because theirs cannot go on.
    pub blocked: TimeWeighted,
    /// The time from a job's arrival to the (first) beginning of its service, of jobs that were served. Undefined
    /// under processor sharing.
    pub wait: Moments,
    /// The time that jobs spent at the station, including those that lost patience.
    pub response_time: Moments,
    /// How many found no room and were not served: they came from a source, or had [elsewhere to
    /// go](super::Builder::unserved).
    pub lost: u64,
    /// How many lost [patience](super::Queue::patience) and were not served.
    pub abandoned: u64,
}

impl StationStatistics {
    /// The share of the servers that was at work, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        self.busy.mean() / f64::from(self.servers)
    }

    /// Jobs that left it, served or not, per second.
    pub fn throughput_per_s(&self) -> f64 {
        self.response_time.count() as f64 / self.number.span().as_secs_f64()
    }

    pub(crate) fn restart(&mut self, now: Nanos) {
        self.number.restart(now);
        self.busy.restart(now);
        self.blocked.restart(now);
        self.wait = Moments::default();
        self.response_time = Moments::default();
        (self.lost, self.abandoned) = (0, 0);
    }

    pub(crate) fn close(&mut self, now: Nanos) {
        self.number.advance(now);
        self.busy.advance(now);
        self.blocked.advance(now);
    }
}
