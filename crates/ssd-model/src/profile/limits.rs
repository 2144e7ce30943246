//! What a provider, or a small fast part of the flash, lets through: rates with credits for bursts.

use serde::{Deserialize, Serialize};

/// Limits in front of the device. Limited requests wait in the order of arrival; flushes and discards pass.
///
/// The fast part of the flash (SLC) limits a drive in the same way: the credits are its free space, and the baseline is
/// the rate of the rest of the flash.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsProfile {
    /// The size of the parts by which an I/O is counted: once for each whole or partial part. By default, an I/O counts
    /// once, regardless of its size.
    #[serde(
        default,
        deserialize_with = "super::optional_size",
        skip_serializing_if = "Option::is_none"
    )]
    pub io_size: Option<String>,
    /// Whether an I/O that begins where the previous one ended counts as part of the previous one, up to `io_size`.
    #[serde(default)]
    pub merge: bool,
    /// The limit on I/Os per second, reads and writes together.
    pub iops: Option<LimitProfile>,
    /// The limit on 10^6 bytes per second, reads and writes together.
    pub mb_per_s: Option<LimitProfile>,
    /// The limit on 10^6 bytes per second for writes only.
    pub write_mb_per_s: Option<LimitProfile>,
}

/// A rate limit, which bursts may exceed.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LimitProfile {
    /// The rate that is always allowed, at which credits are earned.
    pub baseline: f64,
    /// The rate that is allowed while credits remain.
    pub burst: Option<f64>,
    /// The initial and maximum number of credits, in I/Os or 10^6 bytes.
    pub credits: Option<f64>,
}

impl LimitProfile {
    /// How long a burst lasts that begins with all credits, in seconds; `None`: there are no bursts.
    pub fn burst_s(&self) -> Option<f64> {
        let (burst, credits) = (self.burst?, self.credits?);
        (burst > self.baseline).then(|| credits / (burst - self.baseline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_last_for_as_long_as_they_are_used_faster_than_earned() {
        let burst_s = |burst, credits| {
            let limit = LimitProfile {
                baseline: 100.0,
                burst,
                credits,
            };
            limit.burst_s()
        };
        assert_eq!(burst_s(Some(500.0), Some(800.0)), Some(2.0));
        // Not faster than for ever.
        assert_eq!(burst_s(Some(100.0), Some(800.0)), None);
        assert_eq!(burst_s(Some(50.0), Some(800.0)), None);
        assert_eq!(burst_s(None, Some(800.0)), None);
        assert_eq!(burst_s(Some(500.0), None), None);
    }
}
