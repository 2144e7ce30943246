//! Random bits as numbers on the unit interval.

/// The upper 53 bits as a number on [0, 1).
#[inline]
pub(crate) fn unit_of(bits: u64) -> f64 {
    // Signed, because that conversion is one instruction.
    (bits >> 11) as i64 as f64 * (1.0 / (1_u64 << 53) as f64)
}
