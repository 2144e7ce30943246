//! The write cache: dirty pages on their way to flash, and those who wait for room.
//!
//! A write is complete when its pages are in the cache. A page that is written again before its way to
//! flash has begun takes no more room; one that is read comes from here.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use iosonar_sim_core::Slab;
use iosonar_units::Nanos;

use crate::CacheParameters;
use crate::servers::Servers;

/// Pages are numbers without an adversary: one multiplication spreads them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    #[inline]
    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }
}

pub(crate) type PageMap<T> = HashMap<u64, T, BuildHasherDefault<PageHasher>>;

/// A page in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its way to flash has not begun; whether only a part of it was written.
    Dirty { partial: bool },
    /// On its way, with this place on flash.
    Leaving { slot: u32, partial: bool },
}

/// How often pages were written to the cache and read from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Pages that were written into it.
    pub writes: u64,
    /// Those among them that were there already.
    pub write_hits: u64,
    /// Pages that were read from it.
    pub read_hits: u64,
    /// Pages that had to wait for room.
    pub waits: u64,
}

impl CacheCounts {
    /// Adds the counts of another device.
    pub fn merge(&mut self, other: &Self) {
        self.writes += other.writes;
        self.write_hits += other.write_hits;
        self.read_hits += other.read_hits;
        self.waits += other.waits;
    }
}

/// A page that leaves the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destaged {
    pub(crate) page: u64,
    pub(crate) partial: bool,
}

/// The write cache; one without pages is none.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub(crate) p: CacheParameters,
    pages: PageMap<State>,
    dirty: VecDeque<u64>,
    used: u64,
    emptying: bool,
    /// Units that wait for room.
    pub(crate) waiting: VecDeque<u32>,
    /// The pages of each flash page on its way, with their slots.
    pub(crate) groups: Slab<Vec<(u64, u32)>>,
    /// By plane: the flash page that is being filled.
    pub(crate) open: Vec<Option<u32>>,
    /// Accesses, one at a time.
    pub(crate) memory: Servers<u32>,
    pub(crate) counts: CacheCounts,
}

impl Cache {
    pub(crate) fn new(p: CacheParameters, planes: u32) -> Self {
        Self {
            p,
            pages: PageMap::default(),
            dirty: VecDeque::new(),
            used: 0,
            emptying: false,
            waiting: VecDeque::new(),
            groups: Slab::default(),
            open: vec![None; planes as usize],
            memory: Servers::new(1),
            counts: CacheCounts::default(),
        }
    }

    /// Whether there is no cache: it has no pages.
    #[inline]
    pub(crate) fn is_absent(&self) -> bool {
        self.p.pages == 0
    }

    /// Whether all of a page is there.
    #[inline]
    pub(crate) fn holds(&self, page: u64) -> bool {
        let is_whole = |state: &State| {
            matches!(
                state,
                State::Dirty { partial: false } | State::Leaving { partial: false, .. }
            )
        };
        self.used > 0 && self.pages.get(&page).is_some_and(is_whole)
    }

    /// Puts a page in; `false`: there is no room.
    #[inline]
    pub(crate) fn put(&mut self, page: u64, partial: bool) -> bool {
        match self.pages.get_mut(&page) {
            Some(State::Dirty { partial: before }) => {
                // Two halves are taken for a whole only if one of them was it.
                *before &= partial;
                self.counts.write_hits += 1;
            }
            _ if self.used >= self.p.pages => return false,
            _ => {
                self.pages.insert(page, State::Dirty { partial });
                self.dirty.push_back(page);
                self.used += 1;
            }
        }
        self.counts.writes += 1;
        true
    }

    /// The next page that is to be written to flash.
    #[inline]
    pub(crate) fn next_to_leave(&mut self) -> Option<Destaged> {
        let dirty = self.dirty.len() as u64;
        self.emptying |= dirty > self.p.high;
        self.emptying &= dirty > self.p.low;
        if !self.emptying {
            return None;
        }
        while let Some(page) = self.dirty.pop_front() {
            if let Some(State::Dirty { partial }) = self.pages.get(&page).copied() {
                let slot = u32::MAX;
                self.pages.insert(page, State::Leaving { slot, partial });
                return Some(Destaged { page, partial });
            }
        }
        None
    }

    /// Remembers where a page goes.
    #[inline]
    pub(crate) fn leaves(&mut self, page: u64, slot: u32) {
        if let Some(State::Leaving { slot: at, .. }) = self.pages.get_mut(&page) {
            *at = slot;
        }
    }

    /// The pages of a flash page have been programmed.
    pub(crate) fn group_has_left(&mut self, group: u32) {
        self.used -= self.groups[group].len() as u64;
        for (page, slot) in self.groups[group].drain(..) {
            // It may have been written again, and even be on its way to another place.
            if let Some(State::Leaving { slot: at, .. }) = self.pages.get(&page)
                && *at == slot
            {
                self.pages.remove(&page);
            }
        }
        self.groups.release(group);
    }

    /// Forgets a page that the host needs no more, if its way has not begun.
    pub(crate) fn discard(&mut self, page: u64) {
        if self.used == 0 {
            return;
        }
        if let Some(State::Dirty { .. }) = self.pages.get(&page) {
            self.pages.remove(&page);
            // Its place in the list is passed over when its turn comes.
            self.used -= 1;
        }
    }

    pub(crate) fn measure_from(&mut self, now: Nanos) {
        self.counts = CacheCounts::default();
        self.memory.busy.measure_from(now);
    }
}
