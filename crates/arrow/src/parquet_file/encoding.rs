//! The encodings of Parquet that records are written in.
//!
//! Numbers by their differences (`DELTA_BINARY_PACKED`): blocks of 128 differences, less the smallest of them, in four
//! parts with as many bits for each as the largest of the part has. Keys of dictionaries and levels as runs (`RLE`): one run
//! where all are the same, else packed bits.
//!
//! Written for this as the encoders of the `parquet` crate take one value at a time: 150 ns for each record, where 20 are
//! possible.

/// The differences of a block, and those of a part of it.
const BLOCK: usize = 128;
const PART: usize = 32;

/// A number of a column, as Parquet has it: of 32 or 64 bits, with a sign or not.
pub(super) trait Number: Copy + PartialEq {
    /// The number.
    fn value(self) -> i64;

    /// What it is more than the one before, wrapped around as numbers of this width are.
    fn difference(self, before: Self) -> i64;

    /// A difference less the smallest one.
    fn above(difference: i64, least: i64) -> u64;
}

macro_rules! numbers {
    ($($of:ty: $signed:ty, $unsigned:ty;)*) => {$(
        impl Number for $of {
            #[inline]
            fn value(self) -> i64 {
                i64::from(self as $signed)
            }

            #[inline]
            fn difference(self, before: Self) -> i64 {
                i64::from((self as $signed).wrapping_sub(before as $signed))
            }

            #[inline]
            fn above(difference: i64, least: i64) -> u64 {
                u64::from(difference.wrapping_sub(least) as $unsigned)
            }
        }
    )*};
}

numbers! {
    u16: i32, u32;
    u32: i32, u32;
    u64: i64, u64;
    i64: i64, u64;
}

/// Appends a number in groups of seven bits.
fn put_varint(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A signed number as one without a sign, small if its magnitude is.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// Appends numbers of `bits` bits each, the first one lowest; as many as fill whole bytes.
#[inline]
fn pack(numbers: &[u64], bits: u32, bytes: &mut Vec<u8>) {
    let (mut word, mut filled) = (0_u64, 0);
    for &number in numbers {
        word |= number << filled;
        filled += bits;
        if filled >= 64 {
            bytes.extend_from_slice(&word.to_le_bytes());
            filled -= 64;
            // What did not fit: nothing if it ended with the word.
            word = number.checked_shr(bits - filled).unwrap_or(0);
        }
    }
    let rest = filled.div_ceil(8) as usize;
    bytes.extend_from_slice(&word.to_le_bytes()[..rest]);
}

/// Appends the numbers of a part, of `BITS` bits each: the compiler knows all shifts.
fn pack_of<const BITS: u32>(numbers: &[u64; PART], bytes: &mut Vec<u8>) {
    let mut packed = [0_u8; 8 * PART + 4];
    let (mut word, mut filled, mut at) = (0_u64, 0, 0);
    for &number in numbers {
        word |= number << filled;
        filled += BITS;
        if filled >= 64 {
            packed[at..at + 8].copy_from_slice(&word.to_le_bytes());
            at += 8;
            filled -= 64;
            word = number.checked_shr(BITS - filled).unwrap_or(0);
        }
    }
    packed[at..at + 4].copy_from_slice(&(word as u32).to_le_bytes());
    bytes.extend_from_slice(&packed[..4 * BITS as usize]);
}

/// Appends the numbers of a part, of `bits` bits each.
fn pack_part(numbers: &[u64; PART], bits: u32, bytes: &mut Vec<u8>) {
    macro_rules! of {
        ($($bits:literal)*) => {
            match bits {
                $($bits => pack_of::<$bits>(numbers, bytes),)*
                _ => {}
            }
        };
    }
    of!(
        1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
        33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
    );
}

/// Appends numbers by their differences.
pub(super) fn put_deltas<T: Number>(numbers: &[T], bytes: &mut Vec<u8>) {
    put_varint(BLOCK as u64, bytes);
    put_varint((BLOCK / PART) as u64, bytes);
    put_varint(numbers.len() as u64, bytes);
    put_varint(
        numbers.first().map_or(0, |first| zigzag(first.value())),
        bytes,
    );
    let Some((first, others)) = numbers.split_first() else {
        return;
    };
    if others.iter().all(|other| other == first) {
        // Of each block the smallest difference and the widths of its parts: zero.
        let blocks = others.len().div_ceil(BLOCK);
        bytes.resize(bytes.len() + blocks * (1 + BLOCK / PART), 0);
        return;
    }
    let mut differences = [0_i64; BLOCK];
    let mut above = [0_u64; BLOCK];
    for (block, before) in others.chunks(BLOCK).zip(numbers.chunks(BLOCK)) {
        let count = block.len();
        for ((difference, number), before) in differences.iter_mut().zip(block).zip(before) {
            *difference = number.difference(*before);
        }
        let least = differences[..count].iter().fold(i64::MAX, |a, b| a.min(*b));
        for (above, difference) in above.iter_mut().zip(&differences[..count]) {
            *above = T::above(*difference, least);
        }
        above[count..].fill(0);
        put_varint(zigzag(least), bytes);
        let widths = bytes.len();
        bytes.extend_from_slice(&[0; BLOCK / PART]);
        for (i, part) in above
            .chunks_exact(PART)
            .enumerate()
            .take(count.div_ceil(PART))
        {
            let bits = 64 - part.iter().fold(0, |all, one| all | one).leading_zeros();
            bytes[widths + i] = bits as u8;
            let part = part.try_into().expect("parts have 32 numbers");
            pack_part(part, bits, bytes);
        }
    }
}

/// Appends a run of the same value.
fn put_run(value: u64, count: usize, bits: u32, bytes: &mut Vec<u8>) {
    put_varint((count as u64) << 1, bytes);
    bytes.extend_from_slice(&value.to_le_bytes()[..bits.div_ceil(8) as usize]);
}

/// How many bits the keys have: at least one, as some readers want.
fn bits_of(largest: u64) -> u32 {
    (64 - largest.leading_zeros()).max(1)
}

/// Appends keys of dictionaries, which are not negative, as runs, and before them how many bits each has.
pub(super) fn put_keys<T: Copy + PartialEq + Into<i64>>(keys: &[T], bytes: &mut Vec<u8>) {
    let key = |key: &T| (*key).into() as u64;
    let count = keys.len();
    let bits = bits_of(keys.iter().fold(0, |all, of| all | key(of)));
    bytes.push(bits as u8);
    let Some(first) = keys.first() else {
        return;
    };
    if keys.iter().all(|of| of == first) {
        put_run(key(first), count, bits, bytes);
        return;
    }
    // Packed in groups of eight.
    put_varint((count.div_ceil(8) as u64) << 1 | 1, bytes);
    let mut numbers = [0_u64; PART];
    for piece in keys.chunks(PART) {
        for (number, of) in numbers.iter_mut().zip(piece) {
            *number = key(of);
        }
        numbers[piece.len()..].fill(0);
        let whole = piece.len().next_multiple_of(8);
        match numbers[..whole].try_into() {
            Ok(part) => pack_part(part, bits, bytes),
            Err(_) => pack(&numbers[..whole], bits, bytes),
        }
    }
}

/// Appends the levels of values of which some are null, with their length in front: a bit each in `known`, lowest first.
pub(super) fn put_levels(known: &[u8], nulls: usize, count: usize, bytes: &mut Vec<u8>) {
    let at = bytes.len();
    bytes.extend_from_slice(&[0; 4]);
    match nulls {
        0 => put_run(1, count, 1, bytes),
        nulls if nulls == count => put_run(0, count, 1, bytes),
        _ => {
            // As they are in memory, so is a packed run.
            put_varint((count.div_ceil(8) as u64) << 1 | 1, bytes);
            bytes.extend_from_slice(&known[..count.div_ceil(8)]);
        }
    }
    let length = (bytes.len() - at - 4) as u32;
    bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers_are_in_their_bits() {
        for bits in 1..=64 {
            let largest = u64::MAX >> (64 - bits);
            let numbers: Vec<u64> = (0..32_u64).map(|i| largest ^ (i & largest)).collect();
            let mut bytes = Vec::new();
            pack(&numbers, bits, &mut bytes);
            assert_eq!(bytes.len(), 4 * bits as usize);
            let mut of_part = Vec::new();
            pack_part(&numbers[..].try_into().unwrap(), bits, &mut of_part);
            assert_eq!(of_part, bytes);
            for (i, number) in numbers.iter().enumerate() {
                let bit = |n: usize| u64::from(bytes[n / 8] >> (n % 8) & 1);
                let from = i * bits as usize;
                let read = (0..bits as usize).fold(0, |all, n| all | bit(from + n) << n);
                assert_eq!(read, *number, "{bits} bits, number {i}");
            }
        }
    }

    /// The example of the format's description.
    #[test]
    fn differences_are_as_in_the_format_s_example() {
        let mut bytes = Vec::new();
        put_deltas(&[7_u32, 5, 3, 1, 2, 3, 4, 5], &mut bytes);
        // 128, 4, 8 values, first 7; smallest difference -2, widths 2 0 0 0, then 0 0 0 3 3 3 3.
        assert_eq!(bytes[..6], [0x80, 1, 4, 8, 14, 3]);
        assert_eq!(bytes[6..10], [2, 0, 0, 0]);
        assert_eq!(bytes[10..12], [0b1100_0000, 0b0011_1111]);
        assert_eq!(bytes.len(), 18);
    }
}
