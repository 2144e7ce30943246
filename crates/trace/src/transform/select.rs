//! Changes that leave requests out.

use iosonar_units::Nanos;

use super::streamed::Stream;
use crate::{Batch, Metadata, Op, TraceError};

pub(super) struct Window {
    pub(super) from: Nanos,
    pub(super) until: Nanos,
    /// Nothing passes any more when the window has passed.
    pub(super) sorted: bool,
}

impl Stream for Window {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        let last = batch.starts().last().copied();
        let window = self.from..self.until;
        if !batch.starts().iter().all(|start| window.contains(start)) {
            batch.retain(|r| window.contains(&r.request.start));
        }
        Ok(!self.sorted || last.is_none_or(|start| start < self.until))
    }

    fn skips_before(&self) -> Option<Nanos> {
        Some(self.from).filter(|from| *from > Nanos::ZERO)
    }
}

pub(super) struct OnlyOps(pub(super) Vec<Op>);

impl Stream for OnlyOps {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        batch.retain(|r| self.0.contains(&r.request.op));
        Ok(true)
    }
}

/// Keeps a request by a hash of its number: the same ones every time.
pub(super) struct Sample {
    below: u64,
    number: u64,
}

impl Sample {
    pub(super) fn new(share: f64) -> Self {
        Self {
            below: (share * 2_f64.powi(64)) as u64,
            number: 0,
        }
    }
}

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014).
fn scrambled(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream for Sample {
    fn apply(&mut self, batch: &mut Batch, _: &mut Metadata) -> Result<bool, TraceError> {
        batch.retain(|_| {
            self.number = self.number.wrapping_add(0x9e37_79b9_7f4a_7c15);
            self.below == u64::MAX || scrambled(self.number) < self.below
        });
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_scrambled_as_published() {
        // The first outputs of SplitMix64 for the seed 0, from the reference implementation.
        let gamma = 0x9e37_79b9_7f4a_7c15_u64;
        for (i, output) in [
            (0, 0xe220_a839_7b1d_cdaf_u64),
            (1, 0x6e78_9e6a_a1b9_65f4),
            (2, 0x06c4_5d18_8009_454f),
        ] {
            assert_eq!(scrambled(gamma.wrapping_mul(i)), output);
        }
    }
}
