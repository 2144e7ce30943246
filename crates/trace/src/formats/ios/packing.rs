//! Numbers in as many bits as they need.
//!
//! A group of up to 128 numbers stands as: width `w` (one byte), number of exceptions (one byte), the
//! smallest number (LEB128), the low `w` bits of each difference to it (first number in the lowest bits),
//! and of each exception its index (one byte) and the bits above (LEB128).

/// Numbers in a group.
pub(super) const GROUP: usize = 128;
/// The number of bytes after the packed ones that are read but not used.
pub(super) const PADDING: usize = 16;

/// Appends `values` to `out`.
pub(super) fn pack(values: &[u64], out: &mut Vec<u8>) {
    for group in values.chunks(GROUP) {
        pack_group(group, out);
    }
}

fn pack_group(group: &[u64], out: &mut Vec<u8>) {
    let base = group.iter().copied().min().unwrap_or_default();
    let mut lengths = [0_u32; 65];
    for value in group {
        lengths[(64 - (value - base).leading_zeros()) as usize] += 1;
    }
    let width = best_width(&lengths, group.len() as u32);
    let low = if width == 64 {
        u64::MAX
    } else {
        (1 << width) - 1
    };
    let exceptions = lengths[width + 1..].iter().sum::<u32>();
    out.push(width as u8);
    out.push(exceptions as u8);
    put_varint(base, out);
    let (mut bits, mut filled) = (0_u128, 0);
    for value in group {
        bits |= u128::from((value - base) & low) << filled;
        filled += width;
        while filled >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(bits as u8);
    }
    if exceptions > 0 {
        for (i, value) in group.iter().enumerate() {
            let above = (value - base) >> width;
            if above > 0 {
                out.push(i as u8);
                put_varint(above, out);
            }
        }
    }
}

/// The width with the fewest bits in all, from the numbers of values by their bits.
fn best_width(lengths: &[u32; 65], n: u32) -> usize {
    let cost = |width: usize| {
        let exceptions: u32 = (width + 1..=64)
            .map(|l| lengths[l] * (8 + 8 * (l - width).div_ceil(7) as u32))
            .sum();
        n * width as u32 + exceptions
    };
    let longest = (0..=64).rev().find(|&l| lengths[l] > 0).unwrap_or(0);
    (0..=longest).min_by_key(|&width| cost(width)).unwrap_or(0)
}

pub(super) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes packed numbers apart, group by group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unpacker {
    /// Where the next group begins, and where the column ends, in the block.
    at: usize,
    end: usize,
}

/// The packed bytes make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nonsense;

impl Unpacker {
    /// The numbers between `at` and `end` of a block, which has [`PADDING`] bytes behind its end.
    pub(super) fn new(at: usize, end: usize) -> Self {
        Self { at, end }
    }

    /// Fills `values` with the next numbers: whole groups, but for the last of the column.
    pub(super) fn unpack(&mut self, block: &[u8], values: &mut [u64]) -> Result<(), Nonsense> {
        for group in values.chunks_mut(GROUP) {
            self.group(block, group)?;
        }
        Ok(())
    }

    fn varint(&mut self, block: &[u8]) -> Result<u64, Nonsense> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = *block.get(self.at).ok_or(Nonsense)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Nonsense)
    }

    #[inline]
    fn group(&mut self, block: &[u8], values: &mut [u64]) -> Result<(), Nonsense> {
        let &[width, exceptions] = block.get(self.at..self.at + 2).ok_or(Nonsense)? else {
            return Err(Nonsense);
        };
        self.at += 2;
        let base = self.varint(block)?;
        let bytes = (values.len() * usize::from(width)).div_ceil(8);
        if width > 64 || self.at + bytes > self.end {
            return Err(Nonsense);
        }
        let packed = block
            .get(self.at..self.at + bytes + PADDING)
            .ok_or(Nonsense)?;
        unpack_bits(packed, width, base, values);
        self.at += bytes;
        for _ in 0..exceptions {
            let index = usize::from(*block.get(self.at).ok_or(Nonsense)?);
            self.at += 1;
            let above = self.varint(block)?;
            let value = values.get_mut(index).ok_or(Nonsense)?;
            if width >= 64 || above.leading_zeros() < u32::from(width) {
                return Err(Nonsense);
            }
            *value = value.wrapping_add(above << width);
        }
        if self.at > self.end {
            return Err(Nonsense);
        }
        Ok(())
    }
}

fn load(packed: &[u8], at: usize) -> u64 {
    let bytes: [u8; 8] = packed[at..at + 8].try_into().unwrap_or_default();
    u64::from_le_bytes(bytes)
}

/// Eight numbers of `W` bits take `W` bytes: each begins at a position known in advance.
#[inline(always)]
fn unpack_eights<const W: usize>(packed: &[u8], base: u64, values: &mut [u64]) {
    let mask = (1_u64 << W) - 1;
    let mut eights = values.chunks_exact_mut(8);
    let mut at = 0;
    for eight in &mut eights {
        let bytes = &packed[at..at + W + 8];
        for (i, value) in eight.iter_mut().enumerate() {
            let bit = i * W;
            *value = base.wrapping_add(load(bytes, bit / 8) >> (bit % 8) & mask);
        }
        at += W;
    }
    for (i, value) in eights.into_remainder().iter_mut().enumerate() {
        let bit = i * W;
        *value = base.wrapping_add(load(packed, at + bit / 8) >> (bit % 8) & mask);
    }
}

macro_rules! by_width {
    ($width:expr, $packed:expr, $base:expr, $values:expr; $($w:literal)*) => {
        match $width {
            0 => $values.fill($base),
            $($w => unpack_eights::<$w>($packed, $base, $values),)*
            width => unpack_wide($packed, usize::from(width), $base, $values),
        }
    };
}

fn unpack_bits(packed: &[u8], width: u8, base: u64, values: &mut [u64]) {
    by_width!(width, packed, base, values;
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38
        39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56);
}

/// Numbers that may lie across nine bytes.
fn unpack_wide(packed: &[u8], width: usize, base: u64, values: &mut [u64]) {
    for (i, value) in values.iter_mut().enumerate() {
        let bit = i * width;
        let (low, high) = (load(packed, bit / 8), load(packed, bit / 8 + 8));
        let both = (u128::from(high) << 64 | u128::from(low)) >> (bit % 8);
        let kept = if width == 64 {
            both as u64
        } else {
            both as u64 & ((1 << width) - 1)
        };
        *value = base.wrapping_add(kept);
    }
}

/// Small numbers for small differences of either sign.
pub(super) const fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ ((difference as i64 >> 63) as u64)
}

/// The difference behind [`zigzag`].
pub(super) const fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(values: &[u64]) -> Vec<u64> {
        let mut bytes = Vec::new();
        pack(values, &mut bytes);
        let end = bytes.len();
        bytes.resize(end + PADDING, 0);
        let mut back = vec![0; values.len()];
        let mut unpacker = Unpacker::new(0, end);
        unpacker.unpack(&bytes, &mut back).unwrap();
        assert_eq!(unpacker.at, end);
        back
    }

    proptest! {
        #[test]
        fn numbers_of_all_widths_come_back(
            values in prop::collection::vec((0..=64_u32, any::<u64>()), 0..300)
        ) {
            let values: Vec<u64> = values
                .into_iter()
                .map(|(bits, v)| if bits == 0 { 0 } else { v >> (64 - bits) })
                .collect();
            prop_assert_eq!(there_and_back(&values), values);
        }

        #[test]
        fn numbers_of_one_width_come_back(width in 1..=64_u32, values in prop::collection::vec(any::<u64>(), 1..260)) {
            let values: Vec<u64> = values.into_iter().map(|v| v >> (64 - width)).collect();
            prop_assert_eq!(there_and_back(&values), values);
        }

        #[test]
        fn differences_come_back(a: u64, b: u64) {
            prop_assert_eq!(a.wrapping_add(unzigzag(zigzag(b.wrapping_sub(a)))), b);
        }

        #[test]
        fn nonsense_does_no_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..400), n in 0..300_usize) {
            let end = bytes.len();
            bytes.resize(end + PADDING, 0);
            let _ = Unpacker::new(0, end).unpack(&bytes, &mut vec![0; n]);
        }
    }
}
