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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rebuild_that_has_not_ended_goes_on_at_the_same_speed() {
        let time = |stripes, of, elapsed| {
            let progress = RebuildProgress {
                stripes,
                of,
                elapsed: Nanos::new(elapsed),
                began: Nanos::new(77),
            };
            progress.time_to_rebuild().map(Nanos::get)
        };
        assert_eq!(time(0, 40, 100), None);
        assert_eq!(time(10, 40, 100), Some(400));
        assert_eq!(time(3, 40, 7), Some(93), "280 / 3, to the nearest");
        assert_eq!(time(40, 40, 100), Some(100));
        // A length that a floating-point number does not hold.
        let long = (1 << 60) + 1;
        assert_eq!(time(40, 40, long), Some(long));
    }
}
