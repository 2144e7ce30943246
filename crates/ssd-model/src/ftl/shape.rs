//! Blocks, pages and reserve of a plane, and whether it can work with them.

use super::parts;
use super::victims::Cleaning;

/// The shape of a plane, and how it is cleaned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlaneShape {
    /// Blocks of the plane, those of the reserve among them.
    pub blocks: u32,
    /// Slots of a block: its flash pages times the logical pages of each.
    pub slots_per_block: u32,
    /// Slots of a flash page.
    pub slots_per_page: u32,
    /// How many logical pages it holds.
    pub logical_pages: u32,
    /// How many free blocks there are always; 0: a block is cleaned only when no slot is left, and what
    /// was valid in it goes back into it.
    pub reserve: u32,
    /// Which blocks are cleaned.
    pub cleaning: Cleaning,
    /// By how many erases blocks may differ before one that lags behind is cleaned whatever it
    /// holds.
    pub wear_levelling: Option<u32>,
}

/// Why a plane of a shape cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// It has no block, page or logical page.
    #[error("a plane must have at least one block, page and logical page")]
    Empty,
    /// There is no room for cleaning.
    #[error(
        "a plane of {blocks} blocks with {slots_per_block} logical pages each has no room for {logical} logical pages \
         and {reserve} free blocks: the spare space must exceed the free and the open blocks"
    )]
    NoRoom {
        /// Blocks of the plane.
        blocks: u32,
        /// Slots of each block.
        slots_per_block: u32,
        /// Logical pages.
        logical: u32,
        /// Free blocks.
        reserve: u32,
    },
    /// Cleaning fills the only free block before it frees another.
    #[error(
        "the reserve must be 0 or at least 2 blocks: cleaning fills one block before it frees another"
    )]
    OneReserved,
    /// More than numbers of 32 bits can name.
    #[error("a plane must have at most 2^31 slots and a block at most 65 535 (got {0})")]
    TooLarge(u64),
}

impl PlaneShape {
    /// Whether a plane can have this shape.
    ///
    /// # Errors
    /// If there is no room for cleaning, or numbers of 32 bits do not suffice.
    pub fn check(&self) -> Result<(), ShapeError> {
        let slots = u64::from(self.blocks) * u64::from(self.slots_per_block);
        if slots == 0 || self.slots_per_page == 0 || self.logical_pages == 0 {
            return Err(ShapeError::Empty);
        }
        if slots >= 1 << 31 || self.slots_per_block > 65_535 {
            return Err(ShapeError::TooLarge(
                slots.max(u64::from(self.slots_per_block)),
            ));
        }
        if self.reserve == 1 {
            return Err(ShapeError::OneReserved);
        }
        // The open blocks of writer and cleaner, and one that is not full.
        let open = if self.reserve == 0 { 0 } else { 2 };
        let kept = (u64::from(self.reserve) + open) * u64::from(self.slots_per_block);
        if slots <= kept + u64::from(self.logical_pages) {
            return Err(ShapeError::NoRoom {
                blocks: self.blocks,
                slots_per_block: self.slots_per_block,
                logical: self.logical_pages,
                reserve: self.reserve,
            });
        }
        Ok(())
    }

    pub(super) fn slots(&self) -> u32 {
        self.blocks * self.slots_per_block
    }

    /// The most memory that the translation of such a plane takes after this number of page writes, in bytes.
    pub fn bytes_after(&self, writes: u64) -> u64 {
        let slots = u64::from(self.slots());
        let blocks = u64::from(self.blocks);
        // Pages are written at any place, slots one behind the other.
        parts::bytes(u64::from(self.logical_pages), writes)
            + parts::bytes(slots, writes.div_ceil(256) + 2)
            + slots / 8
            + 24 * blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight blocks of two pages of two logical ones each, of which there are 15 with a reserve of two.
    const SMALL: PlaneShape = PlaneShape {
        blocks: 8,
        slots_per_block: 4,
        slots_per_page: 2,
        logical_pages: 15,
        reserve: 2,
        cleaning: Cleaning::Greedy,
        wear_levelling: None,
    };

    #[test]
    fn the_spare_space_must_exceed_free_and_open_blocks() {
        let check = |reserve, logical_pages| {
            let shape = PlaneShape {
                logical_pages,
                reserve,
                ..SMALL
            };
            shape.check()
        };
        // Of 32 slots 16 are free or in open blocks, and one is not written.
        assert_eq!(check(2, 15), Ok(()));
        let refused = ShapeError::NoRoom {
            blocks: 8,
            slots_per_block: 4,
            logical: 16,
            reserve: 2,
        };
        assert_eq!(check(2, 16), Err(refused));
        assert_eq!(check(3, 11), Ok(()));
        assert!(check(3, 12).is_err());
        // In place there are neither.
        assert_eq!(check(0, 31), Ok(()));
        assert!(check(0, 32).is_err());
        assert_eq!(check(1, 15), Err(ShapeError::OneReserved));
        assert_eq!(check(2, 0), Err(ShapeError::Empty));
    }

    #[test]
    fn numbers_of_slots_have_32_bits() {
        let check = |blocks, slots_per_block, slots_per_page| {
            let shape = PlaneShape {
                blocks,
                slots_per_block,
                slots_per_page,
                ..SMALL
            };
            shape.check()
        };
        assert_eq!(check(1 << 15, 65_535, 1), Ok(()));
        assert_eq!(
            check(1 << 15, 65_536, 1),
            Err(ShapeError::TooLarge(1 << 31))
        );
        assert_eq!(
            check(1 << 14, 65_536, 1),
            Err(ShapeError::TooLarge(1 << 30))
        );
        assert_eq!(
            check(1 << 16, 1 << 15, 1),
            Err(ShapeError::TooLarge(1 << 31))
        );
        for (blocks, slots, per_page) in [(0, 4, 2), (8, 0, 2), (8, 4, 0)] {
            assert_eq!(check(blocks, slots, per_page), Err(ShapeError::Empty));
        }
    }

    #[test]
    fn memory_is_that_of_the_tables_and_of_their_parts_that_were_written() {
        let shape = PlaneShape {
            blocks: 64,
            slots_per_block: 64,
            slots_per_page: 1,
            logical_pages: 2_048,
            reserve: 2,
            ..SMALL
        };
        // By block 24 bytes, by slot a bit, and a pointer and a bit for each of the 8 parts of the map and 16 of the slots.
        let always = 64 * 24 + 4_096 / 8 + 8 * (8 + 16) + (8 + 16) / 8;
        // Parts are 256 numbers of 4 bytes, and 16 bytes for the allocator. One of the map for each write, and of the
        // slots one for 256 writes, besides those of the open blocks.
        let parts = |count: u64| count * (256 * 4 + 16);
        assert_eq!(shape.bytes_after(0), always + parts(2));
        assert_eq!(shape.bytes_after(3), always + parts(3 + 3));
        assert_eq!(shape.bytes_after(257), always + parts(8 + 4));
        assert_eq!(shape.bytes_after(1 << 40), always + parts(8 + 16));
    }
}
