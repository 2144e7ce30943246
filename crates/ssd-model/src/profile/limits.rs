//! What a provider, or a small fast part of the flash, lets through: rates with credits for bursts.

use serde::{Deserialize, Serialize};

/// Limits in front of the device. Requests wait for them in the order of arrival; flushes and discards pass.
///
/// A drive whose fast part of the flash (SLC) takes writes at first is limited in the same way: its credits are the
/// room there, its baseline the rate of the rest.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsProfile {
    /// An I/O counts once for each begun part of this size; once, whatever its size, if it is missing.
    #[serde(
        default,
        deserialize_with = "super::optional_size",
        skip_serializing_if = "Option::is_none"
    )]
    pub io_size: Option<String>,
    /// Whether an I/O that begins where the last one ended counts as a part of that one, up to `io_size`.
    #[serde(default)]
    pub merge: bool,
    /// I/Os per second, reads and writes together.
    pub iops: Option<LimitProfile>,
    /// 10^6 bytes per second, reads and writes together.
    pub mb_per_s: Option<LimitProfile>,
    /// 10^6 bytes per second that are written.
    pub write_mb_per_s: Option<LimitProfile>,
}

/// A rate, and how far it may be exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LimitProfile {
    /// What is allowed for ever, and at which credits are earned.
    pub baseline: f64,
    /// What is allowed while there are credits.
    pub burst: Option<f64>,
    /// The credits at the beginning, and the most there can be: I/Os, or 10^6 bytes.
    pub credits: Option<f64>,
}

impl LimitProfile {
    /// How long a burst lasts that begins with all credits, in seconds; `None`: there are no bursts.
    pub fn burst_s(&self) -> Option<f64> {
        let (burst, credits) = (self.burst?, self.credits?);
        (burst > self.baseline).then(|| credits / (burst - self.baseline))
    }
}
