//! The parts of a request's time.

use iosonar_units::Nanos;

/// A part of the time of a request. Each instant between arrival and completion belongs to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Until limits let it through, and in the driver: until its descriptor is made, and its block or submission queue is
    /// looked at.
    Queue,
    /// From the choice of its block until the device has its descriptor.
    Fetch,
    /// Waiting for the controller, and there.
    Command,
    /// Waiting for a data transfer over PCIe, and in it.
    DataTransfer,
    /// Waiting for a channel or a die, or for room in the cache.
    ChannelWait,
    /// The memory's access: read, program.
    Die,
    /// Its data on the channel.
    Channel,
    /// From the end of its data until the host knows of it.
    Return,
    /// In the driver, after that.
    Completion,
}

impl Stage {
    /// The names of all stages, in their order.
    pub const NAMES: &'static [&'static str] = &[
        "queue",
        "fetch",
        "command",
        "data transfer",
        "channel wait",
        "die",
        "channel",
        "return",
        "completion",
    ];
}

/// The stages of one request so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StageTimes {
    pub(crate) times: [Nanos; 9],
    since: Nanos,
}

impl StageTimes {
    pub(crate) fn from(now: Nanos) -> Self {
        Self {
            times: [Nanos::ZERO; 9],
            since: now,
        }
    }

    /// The time since the last call belongs to `stage`.
    #[inline]
    pub(crate) fn pass(&mut self, stage: Stage, now: Nanos) {
        self.times[stage as usize] += now - self.since;
        self.since = now;
    }

    /// The sum over all stages.
    pub(crate) fn total(&self) -> Nanos {
        self.times.iter().fold(Nanos::ZERO, |sum, &t| sum + t)
    }
}
