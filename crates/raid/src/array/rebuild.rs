//! The rebuild of lost disks to spares.

use iosonar_units::Nanos;

/// How lost disks are rebuilt: stripe by stripe, one at a time, when the disks have nothing else to
/// do. Stripe k + 1 begins when stripe k is done, but no sooner than 1 / rate after stripe k began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rebuild {
    /// The shortest time between the beginnings of two stripes; zero: as fast as possible.
    pub distance: Nanos,
    /// The most stripes that are rebuilt.
    pub most: u64,
}

/// How far a rebuild came before the last request was complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebuildProgress {
    /// Stripes that are on the spares.
    pub stripes: u64,
    /// How many stripes the lost disks had.
    pub of: u64,
    /// When it began: with the run, or when the last failure of a device was noticed.
    pub began: Nanos,
    /// From then to the last stripe.
    pub elapsed: Nanos,
}

impl RebuildProgress {
    /// How long the whole rebuild takes: exactly if it came to its end, else at the same speed.
    /// `None` if not even a stripe was done.
    pub fn time_to_rebuild(&self) -> Option<Nanos> {
        if self.stripes == 0 {
            return None;
        }
        let all = self.elapsed.get() as f64 * self.of as f64 / self.stripes as f64;
        Some(if self.stripes == self.of {
            self.elapsed
        } else {
            Nanos::nearest(all)
        })
    }
}
