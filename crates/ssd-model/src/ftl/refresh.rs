//! Blocks that are rewritten before what they hold is lost: after many reads, or a long time.
//!
//! Each read of a page weakens the other pages of its block a little (read disturb), and charge leaks with time
//! (retention): a drive copies a block and erases it in good time. Source: Cai, Ghose, Haratsch, Luo, Mutlu, "Error
//! characterization, mitigation, and recovery in flash-memory-based solid-state drives", Proceedings of the IEEE 105
//! (2017).

use std::collections::VecDeque;

use iosonar_units::Nanos;

/// When blocks are rewritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefreshLimits {
    /// After how many reads since it was erased; `None`: never.
    pub reads: Option<u32>,
    /// How long after it was full; `None`: never.
    pub retention: Option<Nanos>,
}

/// A block that became full.
#[derive(Clone, Copy, Debug)]
struct Full {
    block: u32,
    seal: u32,
    at: Nanos,
}

/// What is known of the blocks of a plane.
#[derive(Clone, Debug)]
pub(super) struct Refresh {
    limits: RefreshLimits,
    /// By block: its reads since it was erased.
    reads: Vec<u32>,
    /// By block: its last seal.
    seals: Vec<u32>,
    /// Full blocks, the oldest first; and some that were erased since.
    full: VecDeque<Full>,
    now: Nanos,
}

impl Refresh {
    /// Blocks that are full at the beginning became so at even distances in the last period of retention.
    pub(super) fn new(limits: RefreshLimits, blocks: u32, full: u32) -> Self {
        let period = limits.retention.map_or(0, Nanos::get);
        // There are no times before the start, so all times are later by a period.
        let at = |block: u32| {
            let share = u128::from(block) + 1;
            Nanos::new((u128::from(period) * share / u128::from(full.max(1))) as u64)
        };
        let mut refresh = Self {
            limits,
            reads: vec![0; blocks as usize],
            seals: vec![0; blocks as usize],
            full: VecDeque::new(),
            now: Nanos::new(period),
        };
        if limits.retention.is_some() {
            for block in 0..full {
                let seal = block + 1;
                refresh.seals[block as usize] = seal;
                let at = at(block);
                refresh.full.push_back(Full { block, seal, at });
            }
        }
        refresh
    }

    /// It is this late since the beginning.
    pub(super) fn has_come_to(&mut self, now: Nanos) {
        self.now = now + self.limits.retention.unwrap_or(Nanos::ZERO);
    }

    pub(super) fn sealed(&mut self, block: u32, seal: u32) {
        if self.limits.retention.is_none() {
            return;
        }
        self.seals[block as usize] = seal;
        if self.full.len() > 2 * self.seals.len() {
            let seals = &self.seals;
            self.full
                .retain(|full| seals[full.block as usize] == full.seal);
        }
        let at = self.now;
        self.full.push_back(Full { block, seal, at });
    }

    pub(super) fn erased(&mut self, block: u32) {
        self.reads[block as usize] = 0;
        self.seals[block as usize] = 0;
    }

    /// A page of a block is read. Returns whether that was often enough.
    pub(super) fn read(&mut self, block: u32) -> bool {
        let reads = &mut self.reads[block as usize];
        *reads = reads.saturating_add(1);
        self.limits.reads.is_some_and(|limit| *reads >= limit)
    }

    /// When the next block is due, since the beginning.
    pub(super) fn next_due(&self) -> Nanos {
        // Its age is counted from a period before the beginning.
        match (self.limits.retention, self.full.front()) {
            (Some(_), Some(full)) => full.at,
            _ => Nanos::MAX,
        }
    }

    /// The next block that is due by now, if it has not been erased since.
    pub(super) fn take_due(&mut self) -> Option<u32> {
        let period = self.limits.retention?;
        while let Some(full) = self.full.front()
            && full.at + period <= self.now
        {
            let Full { block, seal, .. } = *full;
            self.full.pop_front();
            if self.seals[block as usize] == seal {
                return Some(block);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_counted_by_block_and_from_its_erase_on() {
        let limits = RefreshLimits {
            reads: Some(3),
            retention: None,
        };
        let mut refresh = Refresh::new(limits, 2, 2);
        let reads = |refresh: &mut Refresh| [0, 0, 1, 0].map(|block| refresh.read(block));
        assert_eq!(reads(&mut refresh), [false, false, false, true]);
        refresh.erased(0);
        assert_eq!(reads(&mut refresh), [false, false, false, true]);
    }
}
