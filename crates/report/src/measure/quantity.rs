//! Which time of a request is looked at.

use iosonar_trace::Outcome;
use iosonar_units::Nanos;

/// Which time of a request is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quantity {
    /// From handing over to completion.
    #[default]
    Latency,
    /// From the intended start to handing over.
    Delay,
    /// From the intended start to completion.
    ResponseTime,
}

impl Quantity {
    /// Its name, as on axes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Delay => "delay",
            Self::ResponseTime => "response time",
        }
    }

    /// That time of an outcome, if it is known.
    pub fn of(self, outcome: &Outcome) -> Option<Nanos> {
        match self {
            Self::Latency => outcome.latency,
            Self::Delay => outcome.delay,
            Self::ResponseTime => outcome.response_time(),
        }
    }
}
