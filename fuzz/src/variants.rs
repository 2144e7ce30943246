//! Inputs that follow from an input.
//!
//! Scanning the counters of the coverage takes several times as long as reading a short input. So an input can stand for
//! itself and some variants: they are read too, and only then are the counters scanned. As the variants follow from the bytes,
//! an input that fails does so again.

use std::sync::LazyLock;

/// How many variants of each input are read, from the environment.
static VARIANTS: LazyLock<u64> = LazyLock::new(|| match std::env::var("VARIANTS") {
    Ok(number) => number.parse().expect("VARIANTS is a number"),
    Err(_) => 0,
});

/// What separates fields, ends lines, or is an extreme number or byte.
const PARTS: [&[u8]; 24] = [
    b",",
    b" ",
    b"\t",
    b"\n",
    b"\r\n",
    b".",
    b"-",
    b"+",
    b":",
    b"\"",
    b"0",
    b"1",
    b"9",
    b"e",
    b"R",
    b"W",
    b"nan",
    b"\0",
    b"\xff",
    b"4294967296",
    b"9223372036854775807",
    b"18446744073709551616",
    b"1e308",
    b"\xef\xbb\xbf",
];

/// Calls `read` with `bytes` and with their variants.
pub fn each(bytes: &[u8], read: impl Fn(&[u8])) {
    read(bytes);
    let mut variant = Vec::new();
    // FNV-1a.
    let seed = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    for number in 0..*VARIANTS {
        let mut random = Random(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        variant.clear();
        variant.extend_from_slice(bytes);
        for _ in 0..=random.below(4) {
            change(&mut variant, &mut random);
        }
        read(&variant);
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Changes some of the bytes, moves, repeats or removes them.
fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let length = random.below(16).min(bytes.len() - at);
    let part = || at..at + length;
    match random.below(7) {
        0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        1 if at < bytes.len() => bytes[at] = random.next() as u8,
        2 => drop(bytes.drain(part())),
        3 => bytes.extend_from_within(part()),
        4 => {
            let copy: Vec<u8> = bytes[part()].to_vec();
            let to = random.below(bytes.len() + 1);
            bytes.splice(to..to, copy);
        }
        5 => {
            let new = PARTS[random.below(PARTS.len())];
            bytes.splice(part(), new.iter().copied());
        }
        _ => {
            let new = PARTS[random.below(PARTS.len())];
            bytes.splice(at..at, new.iter().copied());
        }
    }
}
