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
