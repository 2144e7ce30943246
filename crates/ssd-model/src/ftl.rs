//! The flash translation layer of one plane: page mapping, cleaning, wear.
//!
//! Logical pages lie on planes in a fixed pattern in turn, so each plane translates for
//! itself. It is pure bookkeeping, without time: a [`Medium`] gets the operations on the flash in their order.
//!
//! - A *slot* holds one logical page. Flash pages may be larger than logical ones: then a flash page
//!   is programmed when all its slots are taken.
//! - Writes go to the *frontier*, an open block. When it is full, a free block follows; when these run
//!   short, a *victim* is cleaned: what is valid in it is copied, and it is erased.
//! - What the drive held at the beginning is not written down page by page but follows from the first
//!   logical page of each block ([`Filling`]). So a drive of any size is ready at once, and memory
//!   is touched where pages are written.

mod cleaning;
mod filling;
mod free;
mod parts;
mod refresh;
mod shape;
mod victims;

use std::ops::Range;

use iosonar_units::Nanos;

use crate::ftl::filling::clear_bits;
use crate::ftl::free::FreeBlocks;
use crate::ftl::parts::{Parts, Uniform};
use crate::ftl::refresh::Refresh;
use crate::ftl::victims::Victims;

pub use filling::Filling;
pub use refresh::RefreshLimits;
pub use shape::{PlaneShape, ShapeError};
pub use victims::Cleaning;

/// Who writes a flash page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The host.
    Host,
    /// The cleaning of a block.
    Cleaner,
}

/// Takes the operations on the flash, in this order. Slots and blocks are those of the plane.
pub trait Medium {
    /// A logical page of the host is put into the slot (of a page that may be programmed later).
    fn write(&mut self, _slot: u32) {}
    /// The flash page that ends with this slot is programmed.
    fn program(&mut self, _last_slot: u32, _writer: Writer) {}
    /// A block is going to be cleaned, or rewritten after many reads or a long time: what follows up to
    /// [`erase`](Self::erase) is for it.
    fn clean(&mut self, _block: u32, _refreshes: bool) {}
    /// A flash page is read, for this many of its logical pages.
    fn read(&mut self, _first_slot: u32, _pages: u32) {}
    /// A logical page is taken out of a slot that was read ...
    fn take(&mut self, _slot: u32) {}
    /// ... and put into another; first taken, first put.
    fn put(&mut self, _slot: u32) {}
    /// A block is erased.
    fn erase(&mut self, _block: u32) {}
    /// The cleaning is over: the blocks that the pages went to are as they shall be.
    fn cleaned(&mut self) {}
}

/// No flash: for preconditioning, and where only the numbers count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

impl Medium for Nowhere {}

/// What was written and erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FtlCounts {
    /// Logical pages that the host wrote.
    pub host_writes: u64,
    /// Logical pages that cleaning copied.
    pub copies: u64,
    /// Erased blocks.
    pub erases: u64,
    /// Blocks among them that were cleaned because they lagged behind in wear.
    pub levelled: u64,
    /// Logical pages that the host discarded.
    pub discards: u64,
}

impl FtlCounts {
    /// All written pages by those that the host wrote; 1 is the best. NaN if there were none.
    pub fn write_amplification(&self) -> f64 {
        (self.host_writes + self.copies) as f64 / self.host_writes as f64
    }

    /// Adds those of another plane.
    pub fn merge(&mut self, other: &Self) {
        self.host_writes += other.host_writes;
        self.copies += other.copies;
        self.erases += other.erases;
        self.levelled += other.levelled;
        self.discards += other.discards;
    }

    /// What was added since `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            host_writes: self.host_writes - before.host_writes,
            copies: self.copies - before.copies,
            erases: self.erases - before.erases,
            levelled: self.levelled - before.levelled,
            discards: self.discards - before.discards,
        }
    }
}

/// In the map: at its place of the beginning.
const INITIAL: u32 = 0;
/// In the map: nowhere.
const UNMAPPED: u32 = Parts::ALL;

/// An open block.
#[derive(Clone, Copy, Debug)]
struct Frontier {
    block: u32,
    /// The next slot in it.
    next: u32,
}

/// The translation of one plane. At most 10 bytes a logical page, of which only those are touched that
/// are written.
#[derive(Clone, Debug)]
pub struct Plane {
    shape: PlaneShape,
    /// By logical page: its slot + 1, [`INITIAL`] or [`UNMAPPED`].
    slot_of: Parts,
    /// By slot: its logical page + 1; 0 where it is that of the beginning.
    page_of: Parts,
    /// By slot, a bit: whether it holds the last write of its page.
    valid_bits: Vec<u64>,
    /// By block: how many slots are valid.
    valid: Vec<u16>,
    /// By block, how often it was erased.
    erases: Vec<u32>,
    most_erases: u32,
    /// What the plane held at the beginning: the first logical page of each block, and all of them behind.
    first_page: Vec<u32>,
    /// Whether that was all pages in the order of the slots.
    is_sequential: bool,
    free: FreeBlocks,
    victims: Victims,
    host: Frontier,
    cleaner: Frontier,
    /// Seals since the beginning: the clock by which blocks age.
    seals: u32,
    cleanings_since_look: u32,
    refresh: Option<Box<Refresh>>,
    counts: FtlCounts,
}

impl Plane {
    /// A plane that holds this at the beginning.
    ///
    /// # Errors
    /// If it cannot have this shape.
    pub fn new(shape: PlaneShape, filling: Filling) -> Result<Self, ShapeError> {
        shape.check()?;
        let slots = shape.slots() as usize;
        let none = Frontier {
            block: u32::MAX,
            next: shape.slots_per_block,
        };
        let mut plane = Self {
            shape,
            slot_of: Parts::new(shape.logical_pages as usize),
            page_of: Parts::new(slots),
            valid_bits: vec![0; slots.div_ceil(64)],
            valid: vec![0; shape.blocks as usize],
            erases: vec![0; shape.blocks as usize],
            most_erases: 0,
            first_page: Vec::new(),
            is_sequential: filling == Filling::Sequential,
            free: FreeBlocks::new(shape.blocks),
            victims: Victims::new(shape.cleaning, shape.blocks, shape.slots_per_block),
            host: none,
            cleaner: none,
            seals: 0,
            cleanings_since_look: 0,
            refresh: None,
            counts: FtlCounts::default(),
        };
        plane.fill(filling);
        Ok(plane)
    }

    /// From now on blocks are rewritten within these limits. There must be a reserve.
    pub fn refresh_within(&mut self, limits: RefreshLimits) {
        let full = self.first_page.len().saturating_sub(1) as u32;
        let refresh = Refresh::new(limits, self.shape.blocks, full);
        self.refresh = Some(Box::new(refresh));
        self.seals = self.seals.max(full);
    }

    /// A page of the block of this slot is read: the block is rewritten if it has been read too often.
    #[inline]
    pub fn read(&mut self, slot: u32, medium: &mut impl Medium) {
        let block = slot / self.shape.slots_per_block;
        if let Some(refresh) = &mut self.refresh
            && refresh.read(block)
        {
            self.rewrite(block, medium);
        }
    }

    /// When the next block is due to be rewritten because of its age; [`Nanos::MAX`]: none ever.
    pub fn next_due(&self) -> Nanos {
        self.refresh
            .as_ref()
            .map_or(Nanos::MAX, |refresh| refresh.next_due())
    }

    /// Rewrites all blocks that are due by now. Blocks that are full later are so old as this time says.
    pub fn has_come_to(&mut self, now: Nanos, medium: &mut impl Medium) {
        if let Some(refresh) = &mut self.refresh {
            refresh.has_come_to(now);
        }
        while let Some(block) = self.refresh.as_mut().and_then(|refresh| refresh.take_due()) {
            self.rewrite(block, medium);
        }
    }

    /// Copies what is valid in a block to another, and erases it, if it is full.
    fn rewrite(&mut self, block: u32, medium: &mut impl Medium) {
        // One that the last write has filled is not sealed yet.
        let full = self.shape.slots_per_block;
        for frontier in [self.host, self.cleaner] {
            if frontier.block == block && frontier.next == full {
                self.seal(frontier);
            }
        }
        for frontier in [&mut self.host, &mut self.cleaner] {
            if frontier.block == block && frontier.next == full {
                frontier.block = u32::MAX;
            }
        }
        if self.victims.holds(block) {
            self.victims.remove(block);
            self.clean_block(block, true, medium);
        }
    }

    /// The shape that it was made with.
    pub fn shape(&self) -> &PlaneShape {
        &self.shape
    }

    /// What was written and erased so far.
    pub fn counts(&self) -> FtlCounts {
        self.counts
    }

    /// How often each block was erased.
    pub fn erases(&self) -> &[u32] {
        &self.erases
    }

    /// Where a logical page lies; `None` if it was never written, or discarded.
    #[inline]
    pub fn locate(&self, page: u32) -> Option<u32> {
        if let Some(slot) = self.unmoved_slot(page) {
            return Some(slot);
        }
        match self.slot_of.get(page) {
            UNMAPPED => None,
            INITIAL => self.initial_slot(page),
            slot => Some(slot - 1),
        }
    }

    /// Where a page lies, if that is where it lay at the beginning and this is known without the map, whose entry would
    /// be far off in memory: its block was never erased, so the slot is valid as long as the page is there.
    #[inline]
    fn unmoved_slot(&self, page: u32) -> Option<u32> {
        // Without a map there is nothing to save; later most pages have moved.
        if self.slot_of.is_empty() || self.counts.erases * 2 > self.first_page.len() as u64 {
            return None;
        }
        let block_of = |slot: u32| (slot / self.shape.slots_per_block) as usize;
        self.initial_slot(page)
            .filter(|&slot| self.erases[block_of(slot)] == 0 && self.is_valid(slot))
    }

    /// Where a page lay at the beginning.
    #[inline]
    fn initial_slot(&self, page: u32) -> Option<u32> {
        if self.is_sequential {
            return Some(page);
        }
        let block = self.first_page.partition_point(|&first| first <= page);
        if block == 0 || block == self.first_page.len() {
            return None;
        }
        let block = block as u32 - 1;
        Some(block * self.shape.slots_per_block + (page - self.first_page[block as usize]))
    }

    /// The logical page in a slot that is valid.
    #[inline]
    fn page_in(&self, slot: u32) -> u32 {
        match self.page_of.get(slot) {
            0 => {
                let block = slot / self.shape.slots_per_block;
                self.first_page[block as usize] + slot % self.shape.slots_per_block
            }
            page => page - 1,
        }
    }

    /// Whether a slot is the first of a flash page that others of are open still: its data are not on
    /// flash yet.
    #[inline]
    pub fn is_open(&self, slot: u32) -> bool {
        let PlaneShape {
            slots_per_block,
            slots_per_page,
            ..
        } = self.shape;
        let open = |frontier: &Frontier| {
            let first = frontier.block.wrapping_mul(slots_per_block);
            let within = slot.wrapping_sub(first);
            // Most slots lie in other blocks: without a division.
            within < slots_per_block
                && frontier.next / slots_per_page == within / slots_per_page
                && !frontier.next.is_multiple_of(slots_per_page)
        };
        open(&self.host) || open(&self.cleaner)
    }

    /// The host writes a logical page. Returns its slot.
    #[inline]
    pub fn write(&mut self, page: u32, medium: &mut impl Medium) -> u32 {
        let slot = self.assume_written(page, medium);
        self.counts.host_writes += 1;
        medium.write(slot);
        if self.host.next.is_multiple_of(self.shape.slots_per_page) {
            medium.program(slot, Writer::Host);
        }
        slot
    }

    /// Programs the flash page that the host's last write went to, if it is not full: its other slots hold nothing.
    pub fn close_page(&mut self, medium: &mut impl Medium) {
        let per_page = self.shape.slots_per_page;
        if !self.host.next.is_multiple_of(per_page) {
            self.host.next = self.host.next.next_multiple_of(per_page);
            let last = self.host.block * self.shape.slots_per_block + self.host.next - 1;
            medium.program(last, Writer::Host);
        }
    }

    /// Gives a logical page the slot that a write would give it, but nothing is written.
    #[inline]
    pub fn assume_written(&mut self, page: u32, medium: &mut impl Medium) -> u32 {
        self.make_room(medium);
        let slot = self.host.block * self.shape.slots_per_block + self.host.next;
        self.host.next += 1;
        self.invalidate(page);
        self.map(page, slot);
        slot
    }

    /// The host needs these logical pages no more. The time and the memory that this takes grow with what was written, not
    /// with the number of pages.
    pub fn discard(&mut self, pages: Range<u32>) {
        self.counts.discards += u64::from(pages.end.saturating_sub(pages.start));
        for piece in Parts::pieces(pages) {
            match self.slot_of.uniform(piece.start) {
                Some(Uniform::All) => continue,
                Some(Uniform::Zeros) => self.invalidate_unmoved(piece.clone()),
                None => piece.clone().for_each(|page| self.invalidate(page)),
            }
            self.slot_of.set_all(piece);
        }
    }

    /// Invalidates pages all of which lie where they lay at the beginning, if anywhere: block by block.
    fn invalidate_unmoved(&mut self, pages: Range<u32>) {
        let mut page = pages.start;
        while page < pages.end
            && let Some(slot) = self.initial_slot(page)
        {
            let block = (slot / self.shape.slots_per_block) as usize;
            let held = self.first_page[block + 1].min(pages.end) - page;
            clear_bits(&mut self.valid_bits, slot as usize, held as usize);
            self.valid[block] -= held as u16;
            self.victims.lost_pages(block as u32, self.valid[block]);
            page += held;
        }
    }

    #[inline]
    fn map(&mut self, page: u32, slot: u32) {
        self.slot_of.set(page, slot + 1);
        self.page_of.set(slot, page + 1);
        self.valid_bits[slot as usize / 64] |= 1 << (slot % 64);
        self.valid[(slot / self.shape.slots_per_block) as usize] += 1;
    }

    #[inline]
    fn invalidate(&mut self, page: u32) {
        let Some(slot) = self.locate(page) else {
            return;
        };
        let block = slot / self.shape.slots_per_block;
        self.valid_bits[slot as usize / 64] &= !(1 << (slot % 64));
        self.valid[block as usize] -= 1;
        self.victims.lost_pages(block, self.valid[block as usize]);
    }

    #[inline]
    fn make_room(&mut self, medium: &mut impl Medium) {
        if self.host.next == self.shape.slots_per_block {
            self.next_host_block(medium);
        }
    }

    #[cold]
    fn next_host_block(&mut self, medium: &mut impl Medium) {
        self.seal(self.host);
        if self.shape.reserve == 0 {
            if let Some(block) = self.free.take() {
                self.host = Frontier { block, next: 0 };
                return;
            }
            // A block that is all valid yields nothing; the next one does, or one behind it.
            while self.host.next == self.shape.slots_per_block {
                self.clean_in_place(medium);
            }
            return;
        }
        let block = self.free.take().expect("there is a reserve");
        self.host = Frontier { block, next: 0 };
        while self.free.len() < self.shape.reserve {
            self.clean(medium);
        }
    }

    /// A full block may become a victim.
    fn seal(&mut self, frontier: Frontier) {
        if frontier.block != u32::MAX {
            self.seals = self.seals.wrapping_add(1);
            let valid = self.valid[frontier.block as usize];
            self.victims.add(frontier.block, valid, self.seals);
            if let Some(refresh) = &mut self.refresh {
                refresh.sealed(frontier.block, self.seals);
            }
        }
    }
}
