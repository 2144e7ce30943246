//! Cleaning a block: what is valid in it is copied, and it is erased.

use super::{Frontier, Medium, Plane, Writer};

impl Plane {
    fn next_victim(&mut self) -> u32 {
        if let Some(most) = self.shape.wear_levelling {
            self.cleanings_since_look += 1;
            // A look goes through all blocks: so rarely, it adds 16 of them to the work of each cleaning.
            if self.cleanings_since_look * 16 >= self.shape.blocks {
                self.cleanings_since_look = 0;
                if let Some(block) = self.victims.least_worn(&self.erases)
                    && self.erases[block as usize].saturating_add(most) < self.most_erases
                {
                    self.counts.levelled += 1;
                    self.victims.remove(block);
                    return block;
                }
            }
        }
        self.victims
            .choose(&self.valid, self.seals)
            .expect("some block is full")
    }

    /// Copies what is valid in a victim to the cleaner's block, and erases it.
    pub(super) fn clean(&mut self, medium: &mut impl Medium) {
        let victim = self.next_victim();
        self.clean_block(victim, false, medium);
    }

    pub(super) fn clean_block(&mut self, victim: u32, refreshes: bool, medium: &mut impl Medium) {
        medium.clean(victim, refreshes);
        self.read_victim(victim, medium, |plane, medium, slot| {
            medium.take(slot);
            if plane.cleaner.next == plane.shape.slots_per_block {
                plane.seal(plane.cleaner);
                let block = plane.free.take().expect("there is a reserve");
                plane.cleaner = Frontier { block, next: 0 };
            }
            let to = plane.cleaner.block * plane.shape.slots_per_block + plane.cleaner.next;
            plane.cleaner.next += 1;
            let page = plane.page_in(slot);
            plane.map(page, to);
            medium.put(to);
            let next = plane.cleaner.next;
            if next.is_multiple_of(plane.shape.slots_per_page) {
                medium.program(to, Writer::Cleaner);
            }
        });
        self.forget_contents(victim);
        self.erase(victim, medium);
        self.free.put(victim, self.erases[victim as usize]);
        medium.cleaned();
    }

    /// Cleans a victim through a buffer: it is erased, and what was valid in it goes back into it. It is
    /// the frontier then.
    pub(super) fn clean_in_place(&mut self, medium: &mut impl Medium) {
        let victim = self.next_victim();
        medium.clean(victim, false);
        self.read_victim(victim, medium, |_, medium, slot| medium.take(slot));
        self.erase(victim, medium);
        let first = victim * self.shape.slots_per_block;
        let mut next = 0;
        for slot in first..first + self.shape.slots_per_block {
            if !self.is_valid(slot) {
                continue;
            }
            let (to, page) = (first + next, self.page_in(slot));
            // Never beyond the slot that is looked at.
            self.valid_bits[slot as usize / 64] &= !(1 << (slot % 64));
            self.valid[victim as usize] -= 1;
            self.map(page, to);
            next += 1;
            medium.put(to);
            if next.is_multiple_of(self.shape.slots_per_page) {
                medium.program(to, Writer::Cleaner);
            }
        }
        self.host = Frontier {
            block: victim,
            next,
        };
        if next == self.shape.slots_per_block {
            self.seal(self.host);
        }
        medium.cleaned();
    }

    #[inline]
    pub(super) fn is_valid(&self, slot: u32) -> bool {
        self.valid_bits[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    /// Goes through the valid slots of a block, page by page.
    fn read_victim<M: Medium>(
        &mut self,
        victim: u32,
        medium: &mut M,
        mut each: impl FnMut(&mut Self, &mut M, u32),
    ) {
        let per_page = self.shape.slots_per_page;
        let first = victim * self.shape.slots_per_block;
        let end = first + self.shape.slots_per_block;
        for page in (first..end).step_by(per_page as usize) {
            let slots = page..(page + per_page).min(end);
            let valid = slots.clone().filter(|&slot| self.is_valid(slot)).count() as u32;
            if valid == 0 {
                continue;
            }
            self.counts.copies += u64::from(valid);
            medium.read(page, valid);
            for slot in slots {
                if self.is_valid(slot) {
                    each(self, medium, slot);
                }
            }
        }
    }

    fn forget_contents(&mut self, block: u32) {
        let first = block * self.shape.slots_per_block;
        for slot in first..first + self.shape.slots_per_block {
            self.valid_bits[slot as usize / 64] &= !(1 << (slot % 64));
        }
        self.valid[block as usize] = 0;
    }

    fn erase(&mut self, block: u32, medium: &mut impl Medium) {
        medium.erase(block);
        self.counts.erases += 1;
        self.erases[block as usize] += 1;
        self.most_erases = self.most_erases.max(self.erases[block as usize]);
        if let Some(refresh) = &mut self.refresh {
            refresh.erased(block);
        }
    }
}
