//! Limits in front of the device, checked.

use crate::profile::{Checker, LimitProfile, LimitsProfile, SsdProfileError};

/// Limits in whole units: I/Os or bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitsParameters {
    /// An I/O counts once for each begun part of this many bytes.
    pub io_bytes: u64,
    /// Whether an I/O that goes on where the last one ended is a part of it.
    pub merge: bool,
    /// Of I/Os.
    pub iops: Option<Limit>,
    /// Of bytes.
    pub bytes: Option<Limit>,
    /// Of bytes that are written.
    pub written: Option<Limit>,
}

/// A rate with credits for bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Units per second for ever.
    pub baseline: u64,
    /// Units per second while there are credits, and how many there are at most.
    pub burst: Option<(u64, u64)>,
}

/// The lowest rate, in I/Os or 10^6 bytes per second.
const SLOWEST: f64 = 0.01;

impl LimitsParameters {
    pub(super) fn new(check: &Checker<'_>, p: &LimitsProfile) -> Result<Self, SsdProfileError> {
        let io_bytes = match &p.io_size {
            None => u64::MAX,
            Some(size) => match check.bytes("limits.io_size", size)? {
                0 => return Err(check.wrong("limits.io_size", size, "at least 1 byte")),
                bytes => bytes,
            },
        };
        if p.merge && p.io_size.is_none() {
            let expected = "false without limits.io_size, the size up to which I/Os are merged";
            return Err(check.wrong("limits.merge", true, expected));
        }
        let limit = |key, given: Option<LimitProfile>, unit| {
            given.map(|limit| Limit::new(check, key, limit, unit))
        };
        Ok(Self {
            io_bytes,
            merge: p.merge,
            iops: limit("iops", p.iops, 1.0).transpose()?,
            bytes: limit("mb_per_s", p.mb_per_s, 1e6).transpose()?,
            written: limit("write_mb_per_s", p.write_mb_per_s, 1e6).transpose()?,
        })
    }
}

impl Limit {
    /// `unit`: how many units of the model one of the profile is.
    fn new(
        check: &Checker<'_>,
        key: &str,
        p: LimitProfile,
        unit: f64,
    ) -> Result<Self, SsdProfileError> {
        let whole = |part: &str, value: f64| {
            let units = (value * unit).round();
            if (1.0..=1e18).contains(&units) {
                return Ok(units as u64);
            }
            let expected = format!("{} to {:e}", 1.0 / unit, 1e18 / unit);
            Err(check.wrong(&format!("limits.{key}.{part}"), value, expected))
        };
        // Below, a run would not end in the time that can be counted.
        if p.baseline < SLOWEST {
            let expected = format!("at least {SLOWEST}");
            return Err(check.wrong(&format!("limits.{key}.baseline"), p.baseline, expected));
        }
        let baseline = whole("baseline", p.baseline)?;
        let burst = match (p.burst, p.credits) {
            (None, None) => None,
            (Some(burst), Some(credits)) => {
                let rate = whole("burst", burst)?;
                if rate <= baseline {
                    let expected = format!("more than the baseline, {}", p.baseline);
                    return Err(check.wrong(&format!("limits.{key}.burst"), burst, expected));
                }
                Some((rate, whole("credits", credits)?))
            }
            (burst, _) => {
                let missing = if burst.is_some() { "credits" } else { "burst" };
                let expected = "a value: 'burst' and 'credits' must be given together";
                let key = format!("limits.{key}.{missing}");
                return Err(check.wrong(&key, "missing", expected));
            }
        };
        Ok(Self { baseline, burst })
    }
}
