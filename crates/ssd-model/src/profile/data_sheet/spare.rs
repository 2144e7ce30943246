//! How much spare room a drive has, from what it writes at random and in order.
//!
//! Under uniform random writes and greedy cleaning the shares of blocks with i valid pages are in proportion to 1/i down
//! to the share v of the victims (see [`Filling`](crate::ftl::Filling)): the mean share of valid pages is
//! u = (1 - v) / -ln v, and each page of a victim that is freed costs 1 / (1 - v) programs. Blocks of full pages follow
//! from u, and from the time that a block takes, v.

/// The mean share of valid pages, of the share of victims.
pub(super) fn mean_valid(victims: f64) -> f64 {
    (1.0 - victims) / -victims.ln()
}

/// The share of victims at a mean share of valid pages.
pub(super) fn victims(mean: f64) -> f64 {
    solve(1e-6, 1.0 - 1e-9, |v| mean_valid(v) >= mean)
}

/// A block's worth of programs: what its pages take, and the cleaning of the block that must be free before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    /// Flash pages of a block, logical pages of each.
    pub(super) pages: f64,
    pub(super) slots: f64,
    /// To program a page, with its transfer.
    pub(super) program_us: f64,
    /// To read a page of a victim, without its transfer.
    pub(super) read_us: f64,
    /// To transfer a logical page.
    pub(super) transfer_us: f64,
    pub(super) erase_us: f64,
}

impl Cycle {
    /// How long a plane works for a block, if this share of its victims is valid.
    pub(super) fn block_us(&self, v: f64) -> f64 {
        // A page is read if any of its logical pages is valid.
        let read = 1.0 - (1.0 - v).powf(self.slots);
        let copied = v * self.slots * self.transfer_us;
        self.pages * (self.program_us + read * self.read_us + copied) + self.erase_us
    }

    /// Logical pages per second and plane that a host writes.
    pub(super) fn writes_per_s(&self, v: f64) -> f64 {
        1e6 * self.pages * self.slots * (1.0 - v) / self.block_us(v)
    }

    /// The share of victims at which a host writes this much; more than is possible gives a share near zero.
    pub(super) fn victims(&self, writes_per_s: f64) -> f64 {
        solve(0.0, 1.0, |v| self.writes_per_s(v) <= writes_per_s)
    }

    /// To program a page, so that a host writes this much at a share of victims.
    pub(super) fn program_us(&self, v: f64, writes_per_s: f64) -> f64 {
        let block_us = 1e6 * self.pages * self.slots * (1.0 - v) / writes_per_s;
        self.program_us + (block_us - self.block_us(v)) / self.pages
    }
}

/// Where a condition that does not hold at `low` begins to hold.
fn solve(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn victims_and_mean_are_inverse() {
        for v in [0.05, 0.3, 0.7, 0.95] {
            assert!((victims(mean_valid(v)) - v).abs() < 1e-6, "{v}");
        }
    }

    #[test]
    fn a_cycle_gives_back_the_rate_that_it_was_solved_for() {
        let cycle = Cycle {
            pages: 256.0,
            slots: 4.0,
            program_us: 680.0,
            read_us: 75.0,
            transfer_us: 4.0,
            erase_us: 3_500.0,
        };
        for rate in [500.0, 1_000.0, 3_000.0] {
            let v = cycle.victims(rate);
            assert!((cycle.writes_per_s(v) / rate - 1.0).abs() < 1e-9);
            let faster = cycle.program_us(v, 1.5 * rate);
            let cycle = Cycle {
                program_us: faster,
                ..cycle
            };
            assert!((cycle.writes_per_s(v) / rate - 1.5).abs() < 1e-9);
        }
    }

    #[test]
    fn a_block_takes_what_its_operations_take() {
        // Half of the pages of victims are valid: of pages of two logical ones three quarters are read, and one logical
        // page is transferred for each. So a block takes 2 x (100 + 0.75 x 10 + 1) + 50 us, and a host writes 2 of its
        // 4 pages.
        let cycle = Cycle {
            pages: 2.0,
            slots: 2.0,
            program_us: 100.0,
            read_us: 10.0,
            transfer_us: 1.0,
            erase_us: 50.0,
        };
        assert!((cycle.block_us(0.5) - 267.0).abs() < 1e-9);
        assert!((cycle.writes_per_s(0.5) - 2e6 / 267.0).abs() < 1e-6);
        // Nothing is copied where nothing is valid.
        assert!((cycle.block_us(0.0) - 250.0).abs() < 1e-9);
    }

    #[test]
    fn the_mean_share_is_that_of_levels_in_proportion_to_one_by_their_height() {
        // (1 - 1/e) / 1, and half of it for e^-2 instead of e^-1.
        let e = std::f64::consts::E;
        assert!((mean_valid(1.0 / e) - (1.0 - 1.0 / e)).abs() < 1e-12);
        assert!((mean_valid(1.0 / (e * e)) - (1.0 - 1.0 / (e * e)) / 2.0).abs() < 1e-12);
    }
}
