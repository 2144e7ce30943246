//! A disk that takes the same time for everything.

use iosonar_device::{Job, Mechanism, Pace, ServiceTime, Waiting};
use iosonar_units::Nanos;

/// That time.
pub(crate) const SERVICE: Nanos = Nanos::from_millis(5);

#[derive(Clone, Debug)]
pub(crate) struct Fixed;

impl Mechanism for Fixed {
    type Place = ();

    fn place(&self, _: &Job) {}

    fn serve(&mut self, _: &Waiting<()>, _: Nanos, _: usize) -> ServiceTime {
        ServiceTime {
            positioning: SERVICE,
            transfer: Nanos::ZERO,
            pace: Pace(0.0),
        }
    }
}
