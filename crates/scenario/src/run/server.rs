//! A server whose services follow a law.

use iosonar_device::{Job, Mechanism, Pace, ServiceTime, Waiting};
use iosonar_sim_core::{Law, Stream};
use iosonar_units::Nanos;

/// Services do not depend on what is served.
pub(super) struct Server<'a> {
    service: &'a Law,
    stream: Stream,
}

impl<'a> Server<'a> {
    pub(super) fn new(service: &'a Law, stream: Stream) -> Self {
        Self { service, stream }
    }
}

impl Mechanism for Server<'_> {
    type Place = ();

    #[inline]
    fn place(&self, _: &Job) {}

    #[inline]
    fn serve(&mut self, _: &Waiting<()>, _: Nanos, _: usize) -> ServiceTime {
        ServiceTime {
            positioning: self.service.draw(&mut self.stream),
            transfer: Nanos::ZERO,
            pace: Pace(0.0),
        }
    }
}
