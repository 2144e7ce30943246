//! Numbers in as many bits as they need.
//!
//! A group of up to 128 numbers stands as: width `w` (one byte), number of exceptions (one byte), the
//! smallest number (LEB128), the low `w` bits of each difference to it (first number in the lowest bits),
//! and of each exception its index (one byte) and the bits above (LEB128).

/// Numbers in a group.
pub(super) const GROUP: usize = 128;
/// The number of bytes after the packed ones that are read but not used.
pub(super) const PADDING: usize = 16;

/// How numbers are packed: known before a byte is written, so that several ways to write a column can be compared.
#[derive(Debug, Default)]
pub(super) struct Packing {
    groups: Vec<Group>,
    /// How many bytes they take.
    bytes: usize,
}

/// How a group is packed.
#[derive(Clone, Copy, Debug)]
struct Group {
    base: u64,
    width: u8,
    exceptions: u8,
}

impl Packing {
    /// The shortest for these numbers.
    pub(super) fn plan(&mut self, values: &[u64]) {
        self.groups.clear();
        self.bytes = 0;
        for values in values.chunks(GROUP) {
            let (group, bytes) = Group::shortest(values);
            self.groups.push(group);
            self.bytes += bytes;
        }
    }

    /// How many bytes the numbers take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Appends the numbers that it was made for.
    pub(super) fn pack(&self, values: &[u64], out: &mut Vec<u8>) {
        for (group, values) in self.groups.iter().zip(values.chunks(GROUP)) {
            group.pack(values, out);
        }
    }
}

impl Group {
    fn shortest(values: &[u64]) -> (Self, usize) {
        let base = values.iter().copied().min().unwrap_or_default();
        let longest = bits(values.iter().fold(0, |all, value| all | (value - base)));
        // Without a test for zero, which takes longer than the rest, where a bit is free for it.
        let lengths = match longest {
            64 => Lengths::of(values, |value| bits(value - base)),
            _ => Lengths::of(values, |value| bits((value - base) << 1 | 1) - 1),
        };
        let (width, exceptions, bits) = lengths.best_width(longest, values.len() as u32);
        let group = Self {
            base,
            width,
            exceptions,
        };
        let bytes = 2 + varint_bytes(base) + bits.div_ceil(8) as usize;
        (group, bytes)
    }

    fn pack(self, values: &[u64], out: &mut Vec<u8>) {
        let Self {
            base,
            width,
            exceptions,
        } = self;
        out.push(width);
        out.push(exceptions);
        put_varint(base, out);
        pack_bits(values, base, u32::from(width), out);
        if exceptions == 0 {
            return;
        }
        for (i, value) in values.iter().enumerate() {
            let above = (value - base) >> width;
            if above > 0 {
                out.push(i as u8);
                put_varint(above, out);
            }
        }
    }
}

/// How many bits a number has.
#[inline]
const fn bits(value: u64) -> usize {
    (64 - value.leading_zeros()) as usize
}

/// Appends the low `width` bits of the differences to `base`, in whole bytes.
fn pack_bits(values: &[u64], base: u64, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let low = u64::MAX >> (64 - width);
    let (mut word, mut filled) = (0_u64, 0);
    for value in values {
        let value = (value - base) & low;
        word |= value << filled;
        filled += width;
        if filled >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            filled -= 64;
            // What did not fit; a shift by all 64 bits would not be one.
            word = if filled == 0 {
                0
            } else {
                value >> (width - filled)
            };
        }
    }
    out.extend_from_slice(&word.to_le_bytes()[..filled.div_ceil(8) as usize]);
}

/// How many numbers have how many bits. Neighbours often have the same: two tables, so that one count need not wait for
/// the other.
struct Lengths([[u8; 65]; 2]);

impl Lengths {
    #[inline]
    fn of(values: &[u64], length: impl Fn(u64) -> usize) -> Self {
        let mut counts = [[0; 65]; 2];
        let mut pairs = values.chunks_exact(2);
        for pair in &mut pairs {
            counts[0][length(pair[0])] += 1;
            counts[1][length(pair[1])] += 1;
        }
        for &value in pairs.remainder() {
            counts[0][length(value)] += 1;
        }
        Self(counts)
    }

    /// The smallest width with the fewest bits in all for `n` numbers; with the number of exceptions, and these bits,
    /// of which those of the numbers are whole bytes.
    fn best_width(&self, longest: usize, n: u32) -> (u8, u8, u32) {
        let Self([one, other]) = self;
        let mut best = (longest, 0, n * longest as u32);
        let (mut exceptions, mut exception_bits) = (0, 0);
        // An exception of `b` bits above the width takes 8 + 8 * ceil(b / 7) bits: a step down costs it another byte
        // where `b` was a multiple of 7. That holds for all exceptions whose length has the same remainder.
        let mut by_remainder = [0; 7];
        for width in (0..longest).rev() {
            let new = u32::from(one[width + 1]) + u32::from(other[width + 1]);
            let alike = &mut by_remainder[(width + 1) % 7];
            exception_bits += 8 * *alike + 16 * new;
            *alike += new;
            exceptions += new;
            let bits = n * width as u32 + exception_bits;
            if bits <= best.2 {
                best = (width, exceptions, bits);
            }
        }
        let (width, exceptions, bits) = best;
        let packed = n * width as u32;
        let bits = bits - packed + packed.next_multiple_of(8);
        (width as u8, exceptions as u8, bits)
    }
}

fn varint_bytes(value: u64) -> usize {
    bits(value).div_ceil(7).max(1)
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
        let mut packing = Packing::default();
        packing.plan(values);
        packing.pack(values, &mut bytes);
        assert_eq!(bytes.len(), packing.bytes());
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

        /// Every width by itself: the bits of the numbers and of the exceptions.
        #[test]
        fn no_width_takes_fewer_bits(values in prop::collection::vec((0..=64_u32, any::<u64>()), 1..=GROUP)) {
            let values: Vec<u64> = values
                .into_iter()
                .map(|(bits, v)| if bits == 0 { 0 } else { v >> (64 - bits) })
                .collect();
            let base = *values.iter().min().unwrap();
            let cost = |width: usize| {
                let lengths = values.iter().map(|v| bits(v - base));
                let above = lengths.filter(|l| *l > width).map(|l| 8 + 8 * (l - width).div_ceil(7));
                values.len() * width + above.sum::<usize>()
            };
            let (group, _) = Group::shortest(&values);
            let best = (0..=64).min_by_key(|&width| cost(width)).unwrap();
            prop_assert_eq!(usize::from(group.width), best);
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

    #[test]
    fn a_group_has_at_most_64_bits_and_lies_within_its_column() {
        let unpacked = |bytes: &[u8], end: usize| {
            let block = [bytes, &[0; 3 * PADDING]].concat();
            let mut values = [0; 2];
            let unpacked = Unpacker::new(0, end).unpack(&block, &mut values);
            unpacked.ok().map(|()| values)
        };
        // Width, exceptions, the smallest number, the bits, then index and the bits above.
        let wide = [
            &[64, 0, 5][..],
            &[1, 0, 0, 0, 0, 0, 0, 0],
            &[2, 0, 0, 0, 0, 0, 0, 0],
        ]
        .concat();
        assert_eq!(unpacked(&wide, wide.len()), Some([6, 7]));
        assert_eq!(unpacked(&wide, wide.len() - 1), None);
        for width in [65, 128, 255] {
            let mut wider = wide.clone();
            wider[0] = width;
            assert_eq!(unpacked(&wider, 300), None, "{width}");
        }
        let exception = [4, 1, 0, 0x21, 1, 3];
        assert_eq!(unpacked(&exception, 6), Some([1, 2 + (3 << 4)]));
        for (bytes, end) in [
            (&exception[..], 5),
            (&exception, 3),
            // An exception of a third number.
            (&[4, 1, 0, 0x21, 2, 3], 6),
            // An exception without room for its bits, of 4 and of 64.
            (
                &[
                    4, 1, 0, 0x21, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
                ],
                15,
            ),
        ] {
            assert_eq!(unpacked(bytes, end), None, "{bytes:?} to {end}");
        }
        let mut with_64 = wide.clone();
        with_64[1] = 1;
        with_64.extend([0, 0]);
        assert_eq!(unpacked(&with_64, with_64.len()), None);
    }
}
