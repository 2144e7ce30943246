//! Values of the profile within their ranges.

use std::str::FromStr;

use iosonar_units::{Bytes, Nanos};

use crate::profile::{Checker, SsdProfileError};

impl Checker<'_> {
    /// A time in microseconds.
    pub(super) fn micros(&self, key: &str, us: f64) -> Result<Nanos, SsdProfileError> {
        // Ten seconds: no device is beyond, and the queues of any load that can be simulated end in time.
        if (0.0..=1e7).contains(&us) {
            return Ok(Nanos::nearest(us * 1e3));
        }
        Err(self.wrong(key, us, "a time in microseconds, 0 to 1e7"))
    }

    /// Nanoseconds a byte, from a rate.
    pub(super) fn ns_per_byte(&self, key: &str, mb_per_s: f64) -> Result<f64, SsdProfileError> {
        if mb_per_s >= 1.0 {
            return Ok(1e3 / mb_per_s);
        }
        Err(self.wrong(key, mb_per_s, "at least 1, in millions of bytes per second"))
    }

    pub(super) fn count(&self, key: &str, n: u32, most: u32) -> Result<u32, SsdProfileError> {
        if (1..=most).contains(&n) {
            return Ok(n);
        }
        Err(self.wrong(key, n, format!("1 to {most}")))
    }

    pub(super) fn probability(&self, key: &str, p: f64) -> Result<f64, SsdProfileError> {
        if (0.0..=1.0).contains(&p) {
            return Ok(p);
        }
        Err(self.wrong(key, p, "0 to 1"))
    }

    pub(super) fn bytes(&self, key: &str, text: &str) -> Result<u64, SsdProfileError> {
        let expected = "a size such as \"4KiB\" or \"8GiB\"";
        let bytes = Bytes::from_str(text).map(Bytes::get);
        bytes.map_err(|_| self.wrong(key, format!("\"{text}\""), expected))
    }
}
