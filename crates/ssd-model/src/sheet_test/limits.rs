//! The tests of limits: what is let through in a burst and for ever, and how long a burst lasts.

use iosonar_device::{Access, SheetFigure};
use iosonar_units::{Bytes, SECTOR_BYTES};

use super::bench::Test;
use crate::ftl::Filling;
use crate::profile::LimitsProfile;
use crate::{LimitProfile, SsdProfile, SsdProfileError};

/// Requests of a test, and of them those in a burst.
const REQUESTS: u64 = 12_000;
const OF_BURST: u64 = 4_000;
/// More than any limit lets through in the time of one.
const OUTSTANDING: u32 = 256;

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Ios,
    Data,
    Written,
}

impl Counted {
    fn limit(self, limits: &mut LimitsProfile) -> &mut Option<LimitProfile> {
        match self {
            Self::Ios => &mut limits.iops,
            Self::Data => &mut limits.mb_per_s,
            Self::Written => &mut limits.write_mb_per_s,
        }
    }

    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Ios => ("random reads of 4 KiB", "IOPS"),
            Self::Data => ("sequential reads", "MB/s"),
            Self::Written => ("sequential writes", "MB/s"),
        }
    }
}

impl SsdProfile {
    /// Adds the figures of its limits, if it has some.
    pub(super) fn test_limits(
        &self,
        figures: &mut Vec<SheetFigure>,
    ) -> Result<(), SsdProfileError> {
        let Some(limits) = &self.limits else {
            return Ok(());
        };
        for counted in [Counted::Ios, Counted::Data, Counted::Written] {
            let mut limits = limits.clone();
            if let Some(limit) = *counted.limit(&mut limits) {
                let size = limits.io_size.and_then(|size| size.parse().ok());
                let test = LimitTest {
                    profile: self,
                    counted,
                    limit,
                    bytes: size.map_or(128 << 10, of_sequential),
                };
                test.run(figures)?;
            }
        }
        Ok(())
    }
}

/// The size of sequential requests where this many bytes count as one: whole sectors, no more than the drive takes at once.
fn of_sequential(counted: Bytes) -> u64 {
    (counted.get() / SECTOR_BYTES * SECTOR_BYTES).clamp(4 << 10, 1 << 20)
}

/// A burst whose end can be seen: of this many requests at least, at this many times the baseline.
const SHORTEST_BURST: f64 = 100.0;
const LOWEST_BURST: f64 = 1.1;

/// The test of a limit, without the others.
struct LimitTest<'a> {
    profile: &'a SsdProfile,
    counted: Counted,
    limit: LimitProfile,
    /// The size of sequential requests.
    bytes: u64,
}

impl LimitTest<'_> {
    fn run(&self, figures: &mut Vec<SheetFigure>) -> Result<(), SsdProfileError> {
        let LimitProfile {
            baseline, burst, ..
        } = self.limit;
        let (what, unit) = self.counted.words();
        // What a request counts.
        let size = match self.counted {
            Counted::Ios => 1.0,
            _ => self.bytes as f64 / 1e6,
        };
        let rate = |ended: &[f64]| {
            let (first, last) = (ended[0], ended[ended.len() - 1]);
            size * (ended.len() - 1) as f64 / (last - first)
        };
        let mut add = |when: &str, unit, stated, simulated| {
            let name = format!("{what}, {when}");
            figures.push(SheetFigure::new(name, unit, stated, simulated));
        };
        let seen = |(burst, burst_s): &(f64, f64)| {
            burst >= &(LOWEST_BURST * baseline) && burst * burst_s >= SHORTEST_BURST * size
        };
        let Some((burst, burst_s)) = burst.zip(self.limit.burst_s()).filter(seen) else {
            // What is let through without credits.
            let alone = LimitTest {
                limit: LimitProfile {
                    burst: None,
                    credits: None,
                    ..self.limit
                },
                ..*self
            };
            add("sustained", unit, baseline, rate(&alone.ends(1.0)?));
            return Ok(());
        };
        // The whole burst may take hours: with a share of the credits it takes that share of the time.
        let share = (OF_BURST as f64 * size / (burst * burst_s)).min(1.0);
        let ended = self.ends(share)?;
        let of_burst = share * burst * burst_s / size;
        add(
            "in a burst",
            unit,
            burst,
            rate(&ended[..(0.9 * of_burst) as usize]),
        );
        let after = &ended[(2.0 * of_burst) as usize..];
        // Where the line of the burst meets that of the baseline.
        let (done, last) = ((ended.len() - 1) as f64 * size, ended[ended.len() - 1]);
        let lasted = (done - baseline * last) / (burst - baseline);
        add("length of a burst", "s", burst_s, lasted / share);
        add("after a burst", unit, baseline, rate(after));
        Ok(())
    }

    /// When requests were complete, in seconds since the first one was; with a share of the credits.
    fn ends(&self, share: f64) -> Result<Vec<f64>, SsdProfileError> {
        let mut limits = LimitsProfile {
            io_size: self
                .profile
                .limits
                .as_ref()
                .and_then(|limits| limits.io_size.clone()),
            ..LimitsProfile::default()
        };
        *self.counted.limit(&mut limits) = Some(LimitProfile {
            credits: self.limit.credits.map(|credits| credits * share),
            ..self.limit
        });
        let profile = SsdProfile {
            limits: Some(limits),
            ..self.profile.clone()
        };
        let mut test = Test::new(&profile, Filling::Sequential)?;
        let counts = (0, REQUESTS);
        let sectors = (self.bytes / SECTOR_BYTES) as u32;
        match self.counted {
            Counted::Ios => test.random(Access::Read, OUTSTANDING, counts),
            Counted::Data => test.sequential(Access::Read, sectors, OUTSTANDING, counts),
            Counted::Written => test.sequential(Access::Write, sectors, OUTSTANDING, counts),
        }
        let first = test.ended[0];
        let ended = test.ended.iter();
        Ok(ended.map(|&at| (at - first).as_secs_f64()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequential_requests_are_whole_sectors_between_4_kib_and_1_mib() {
        for (counted, expected) in [
            (100, 4_096),
            (4_608, 4_608),
            (70_000, 136 * 512),
            (1 << 20, 1 << 20),
            (1 << 21, 1 << 20),
        ] {
            assert_eq!(of_sequential(Bytes::new(counted)), expected);
        }
    }
}
