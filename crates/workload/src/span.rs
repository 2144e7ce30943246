//! A span of time with a Poisson process in it.

use iosonar_sim_core::Stream;
use iosonar_units::Nanos;

/// A span of constant rate, in the middle of its arrivals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    begin_s: f64,
    length_s: f64,
    /// Arrivals per second.
    rate: f64,
    /// The last arrival, from its beginning.
    at_s: f64,
}

impl Span {
    /// A span before its first arrival; the rate is above zero.
    pub(crate) fn new(begin_s: f64, length_s: f64, rate: f64) -> Self {
        Self {
            begin_s,
            length_s,
            rate,
            at_s: 0.0,
        }
    }

    /// The next arrival within it. Far from the beginning of time a border may be rounded by a nanosecond:
    /// none is returned before `last`, that of the previous span.
    pub(crate) fn next_arrival(&mut self, last: Nanos, stream: &mut Stream) -> Option<Nanos> {
        self.at_s += stream.standard_exponential() / self.rate;
        let at = Nanos::from_secs_f64(self.begin_s + self.at_s);
        (self.at_s < self.length_s).then(|| last.max(at))
    }
}
