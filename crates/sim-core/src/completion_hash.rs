//! A fingerprint of a run.

use iosonar_units::Nanos;

/// A hash over the completions of a run: (request, station, start, end) of each service.
///
/// Two runs have the same hash if, and practically only if, they served the same requests at the
/// same stations at the same nanoseconds. The order in which completions are added does not matter
/// (their hashes are summed), so that a run computed in another order of events can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompletionHash(u64);

/// The two halves of the 128-bit product, folded: every input bit reaches every output bit.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

impl CompletionHash {
    /// Adds a completion.
    #[inline]
    pub fn add(&mut self, request: u64, station: u32, start: Nanos, end: Nanos) {
        // Odd constants with well-spread bits; fractional parts of square roots of primes.
        let a = fold(
            request ^ 0x6a09_e667_f3bc_c909,
            start.get() ^ 0xbb67_ae85_84ca_a73b,
        );
        let b = fold(
            u64::from(station) ^ 0x3c6e_f372_fe94_f82b,
            end.get() ^ 0xa54f_f53a_5f1d_36f1,
        );
        let both = fold(a ^ 0x510e_527f_ade6_82d1, b ^ 0x9b05_688c_2b3e_6c1f);
        self.0 = self.0.wrapping_add(both);
    }

    /// Adds the completions of another part of the same run, such as those of one station.
    #[inline]
    pub fn add_all(&mut self, part: Self) {
        self.0 = self.0.wrapping_add(part.0);
    }

    /// Adds the hash of another part of the run, such as a replication; its number makes the parts
    /// distinguishable.
    pub fn merge(&mut self, part: Self, number: u64) {
        self.0 = self
            .0
            .wrapping_add(fold(part.0, (number << 1) ^ 0x1f83_d9ab_fb41_bd6b));
    }
}

impl std::fmt::Display for CompletionHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(completions: &[(u64, u32, u64, u64)]) -> CompletionHash {
        let mut hash = CompletionHash::default();
        for &(request, station, start, end) in completions {
            hash.add(request, station, Nanos::new(start), Nanos::new(end));
        }
        hash
    }

    #[test]
    fn the_order_does_not_matter_and_everything_else_does() {
        let base = of(&[(1, 0, 10, 20), (2, 1, 15, 30)]);
        assert_eq!(base, of(&[(2, 1, 15, 30), (1, 0, 10, 20)]));
        let mut parts = of(&[(2, 1, 15, 30)]);
        parts.add_all(of(&[(1, 0, 10, 20)]));
        assert_eq!(base, parts);
        for other in [
            [(1, 0, 10, 20), (2, 1, 15, 31)],
            [(1, 0, 10, 20), (2, 0, 15, 30)],
            [(2, 0, 10, 20), (1, 1, 15, 30)],
            [(1, 0, 11, 20), (2, 1, 15, 30)],
        ] {
            assert_ne!(base, of(&other));
        }
    }

    #[test]
    fn parts_are_merged_by_their_numbers() {
        let (one, other) = (of(&[(1, 0, 10, 20)]), of(&[(2, 1, 15, 30)]));
        let merged = |parts: &[(CompletionHash, u64)]| {
            let mut hash = CompletionHash::default();
            for &(part, number) in parts {
                hash.merge(part, number);
            }
            hash
        };
        let base = merged(&[(one, 0), (other, 1)]);
        assert_eq!(base, merged(&[(other, 1), (one, 0)]));
        assert_ne!(base, merged(&[(one, 1), (other, 0)]));
        // The same part is another one with another number, and none of them is nothing.
        let mut hashes: Vec<u64> = (0..64).map(|number| merged(&[(one, number)]).0).collect();
        hashes.push(0);
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 65);
    }
}
