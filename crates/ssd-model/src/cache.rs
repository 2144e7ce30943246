//! The write cache: dirty pages on their way to flash, and those who wait for room.
//!
//! A write is complete when its pages are in the cache; a flush, when all are on flash that were written before it.
//! So every page leaves in an *epoch*, which the next flush ends. A page that is written again before its way to
//! flash has begun takes no more room; one that is read comes from here.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use iosonar_sim_core::Slab;
use iosonar_units::Nanos;

use crate::servers::Servers;
use crate::{CacheParameters, FlashParameters};

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

/// Those of the pages that are in a map. A range may be the whole device, and a map be large: the shorter way is taken.
pub(crate) fn keys_within<T>(map: &PageMap<T>, pages: &Range<u64>) -> Vec<u64> {
    // Going through a map takes as long as it was ever large.
    if pages.end - pages.start <= map.capacity() as u64 {
        pages
            .clone()
            .filter(|page| map.contains_key(page))
            .collect()
    } else {
        map.keys()
            .filter(|page| pages.contains(page))
            .copied()
            .collect()
    }
}

/// A page in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Page {
    state: State,
    /// Whether only a part of it was written.
    partial: bool,
    /// Which sectors of it are here, a bit each; only where the drive knows them.
    sectors: u64,
}

/// Where a page is on its way to flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its way has not begun.
    Dirty,
    /// It was written again soon, and stays until others have stayed for shorter; this is its number in their list.
    Held { turn: u64 },
    /// On its way, with this place on flash.
    Leaving { slot: u32 },
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
    /// Flushes that were complete.
    pub flushes: u64,
    /// What these took together, in nanoseconds.
    pub flush_time: u128,
}

impl CacheCounts {
    /// Adds the counts of another device.
    pub fn merge(&mut self, other: &Self) {
        self.writes += other.writes;
        self.write_hits += other.write_hits;
        self.read_hits += other.read_hits;
        self.waits += other.waits;
        self.flushes += other.flushes;
        self.flush_time += other.flush_time;
    }
}

/// A page that leaves the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Destaged {
    pub(crate) page: u64,
    pub(crate) partial: bool,
    /// Which sectors of it leave, a bit each; only where the drive knows them.
    pub(crate) sectors: u64,
    pub(crate) epoch: u64,
}

/// A page on its way to flash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    pub(crate) page: u64,
    pub(crate) slot: u32,
    /// How many of its sectors are written.
    pub(crate) sectors: u32,
    pub(crate) epoch: u64,
}

/// A flush that waits for pages.
#[derive(Clone, Copy, Debug)]
struct Flush {
    command: u32,
    since: Nanos,
}

/// The pages that began to leave between two flushes.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    /// Those that have not left yet.
    left: u64,
    /// What ended it.
    flush: Option<Flush>,
}

/// The epochs that are not over, the present one last.
#[derive(Clone, Debug)]
struct Epochs {
    first: u64,
    open: VecDeque<Epoch>,
}

impl Default for Epochs {
    fn default() -> Self {
        Self {
            first: 0,
            open: VecDeque::from([Epoch::default()]),
        }
    }
}

impl Epochs {
    fn present(&self) -> u64 {
        self.first + self.open.len() as u64 - 1
    }

    fn page(&mut self, epoch: u64) -> &mut u64 {
        &mut self.open[(epoch - self.first) as usize].left
    }

    fn begins_to_leave(&mut self) -> u64 {
        let present = self.present();
        *self.page(present) += 1;
        present
    }

    /// The flush of the first epoch, if its pages have left.
    fn next_flush(&mut self) -> Option<Flush> {
        let flush = self.open.front().filter(|epoch| epoch.left == 0)?.flush?;
        self.open.pop_front();
        self.first += 1;
        Some(flush)
    }
}

/// The pages that were written in the present window of time.
#[derive(Clone, Debug, Default)]
struct Recent {
    pages: HashSet<u64, BuildHasherDefault<PageHasher>>,
    until: Nanos,
}

impl Recent {
    /// A page is written. Returns whether it was written in this window before.
    fn again(&mut self, page: u64, window: Nanos, now: Nanos) -> bool {
        if now >= self.until {
            self.pages.clear();
            self.until = now + window;
        }
        !self.pages.insert(page)
    }
}

/// The write cache; without pages there is no cache.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub(crate) p: CacheParameters,
    /// The sectors of a page.
    page_sectors: u32,
    /// Whether sectors are known by themselves.
    by_sector: bool,
    pages: PageMap<Page>,
    dirty: VecDeque<u64>,
    /// Pages that take room: without a limit of its own, what is on its way to flash does, too.
    used: u64,
    emptying: bool,
    recent: Recent,
    /// Pages that stay, by when they were written last; those that were written again since have other turns.
    held: VecDeque<(u64, u64)>,
    holding: u64,
    turns: u64,
    /// Sectors on their way to flash.
    in_flight: u64,
    epochs: Epochs,
    /// Whether everything leaves.
    flushing: bool,
    /// Pages that are read before they are written.
    pub(crate) merging: Slab<Destaged>,
    /// Units that wait for room.
    pub(crate) waiting: VecDeque<u32>,
    /// The pages of each flash page on its way.
    pub(crate) groups: Slab<Vec<Leaving>>,
    /// By plane: the flash page that is being filled.
    pub(crate) open: Vec<Option<u32>>,
    /// Accesses, one at a time.
    pub(crate) memory: Servers<u32>,
    pub(crate) counts: CacheCounts,
}

impl Cache {
    pub(crate) fn new(flash: &FlashParameters) -> Self {
        Self {
            p: flash.cache.unwrap_or_default(),
            page_sectors: flash.logical_page_sectors() as u32,
            by_sector: flash.partial_pages,
            pages: PageMap::default(),
            dirty: VecDeque::new(),
            used: 0,
            emptying: false,
            recent: Recent::default(),
            held: VecDeque::new(),
            holding: 0,
            turns: 0,
            in_flight: 0,
            epochs: Epochs::default(),
            flushing: false,
            merging: Slab::default(),
            waiting: VecDeque::new(),
            groups: Slab::default(),
            open: vec![None; flash.planes as usize],
            memory: Servers::new(1),
            counts: CacheCounts::default(),
        }
    }

    /// Whether there is no cache: it has no pages.
    #[inline]
    pub(crate) fn is_absent(&self) -> bool {
        self.p.pages == 0
    }

    /// Whether these sectors of a page are there; all of it, where the drive does not know them.
    #[inline]
    pub(crate) fn holds(&self, page: u64, sectors: impl FnOnce() -> u64) -> bool {
        let has = |page: &Page| {
            if !self.by_sector {
                return !page.partial;
            }
            let sectors = sectors();
            page.sectors & sectors == sectors
        };
        !self.pages.is_empty() && self.pages.get(&page).is_some_and(has)
    }

    /// How many sectors of a page are written to flash.
    #[inline]
    pub(crate) fn count(&self, sectors: u64) -> u32 {
        if self.by_sector {
            sectors.count_ones()
        } else {
            self.page_sectors
        }
    }

    /// Puts a page in, or a part of it; `false`: there is no room.
    #[inline]
    pub(crate) fn put(&mut self, page: u64, partial: bool, sectors: u64, now: Nanos) -> bool {
        if self.p.in_flight.is_some_and(|most| self.in_flight >= most) {
            return false;
        }
        let before = self.pages.get(&page).copied();
        let present = before.filter(|page| !matches!(page.state, State::Leaving { .. }));
        if present.is_none() && self.used >= self.p.pages {
            return false;
        }
        let again = self.p.hold > Nanos::ZERO && self.recent.again(page, self.p.hold, now);
        let mut new = Page {
            state: State::Dirty,
            partial,
            sectors,
        };
        let mut known = 0;
        if let Some(before) = present {
            // Two halves are taken for a whole only if one of them was it.
            new.partial &= before.partial;
            new.sectors |= before.sectors;
            if before.state == State::Dirty {
                known = self.count(before.sectors);
            }
            self.counts.write_hits += 1;
        } else {
            self.used += 1;
        }
        match present.map(|page| page.state) {
            None if !again => self.dirty.push_back(page),
            None => {
                // What is on its way to flash is here as well.
                new.sectors |= before.map_or(0, |page| page.sectors);
                self.holding += 1;
                new.state = self.next_turn(page);
            }
            Some(State::Held { .. }) if again => new.state = self.next_turn(page),
            Some(State::Held { .. }) => {
                self.holding -= 1;
                self.dirty.push_back(page);
            }
            Some(_) => {}
        }
        if new.state == State::Dirty {
            self.in_flight += u64::from(self.count(new.sectors) - known);
        }
        self.pages.insert(page, new);
        self.counts.writes += 1;
        true
    }

    /// A page that stays is written.
    fn next_turn(&mut self, page: u64) -> State {
        // Most of the list would be turns that are over.
        if self.held.len() as u64 > 2 * self.holding + 64 {
            let pages = &self.pages;
            self.held.retain(|&(page, turn)| {
                pages
                    .get(&page)
                    .is_some_and(|p| p.state == State::Held { turn })
            });
        }
        self.turns += 1;
        let turn = self.turns;
        self.held.push_back((page, turn));
        State::Held { turn }
    }

    /// The next page that is to be written to flash.
    #[inline]
    pub(crate) fn next_to_leave(&mut self) -> Option<Destaged> {
        let dirty = self.dirty.len() as u64;
        let (high, low, held) = match self.flushing {
            true => (0, 0, 0),
            false => (self.p.high, self.p.low, self.p.held),
        };
        self.emptying |= dirty > high;
        self.emptying &= dirty > low;
        while self.emptying
            && let Some(page) = self.dirty.pop_front()
        {
            if let Some(leaving) = self.begin_to_leave(page, State::Dirty) {
                return Some(leaving);
            }
        }
        while self.holding > held
            && let Some((page, turn)) = self.held.pop_front()
        {
            if let Some(leaving) = self.begin_to_leave(page, State::Held { turn }) {
                self.holding -= 1;
                self.in_flight += u64::from(self.count(leaving.sectors));
                return Some(leaving);
            }
        }
        self.flushing = false;
        None
    }

    /// Lets everything leave.
    pub(crate) fn empty(&mut self) {
        self.flushing = true;
    }

    /// A command waits for all that has begun to leave.
    pub(crate) fn flush(&mut self, command: u32, now: Nanos) {
        let present = self.epochs.open.back_mut();
        present.expect("there is a present epoch").flush = Some(Flush {
            command,
            since: now,
        });
        self.epochs.open.push_back(Epoch::default());
    }

    /// Whether a flush waits for pages of this epoch.
    pub(crate) fn is_flushed(&self, epoch: u64) -> bool {
        epoch < self.epochs.present()
    }

    /// The command of the next flush that is complete.
    pub(crate) fn flushed(&mut self, now: Nanos) -> Option<u32> {
        let flush = self.epochs.next_flush()?;
        self.counts.flushes += 1;
        self.counts.flush_time += u128::from((now - flush.since).get());
        Some(flush.command)
    }

    /// A page leaves if it is in this state still.
    fn begin_to_leave(&mut self, page: u64, state: State) -> Option<Destaged> {
        let present = self
            .pages
            .get_mut(&page)
            .filter(|page| page.state == state)?;
        present.state = State::Leaving { slot: u32::MAX };
        if self.p.in_flight.is_some() {
            self.used -= 1;
        }
        Some(Destaged {
            page,
            partial: present.partial,
            sectors: present.sectors,
            epoch: self.epochs.begins_to_leave(),
        })
    }

    /// A page that never was in the cache is going to leave as those that are.
    pub(crate) fn passes(&mut self, page: u64) -> Leaving {
        if self.p.in_flight.is_none() {
            self.used += 1;
        }
        self.in_flight += u64::from(self.page_sectors);
        Leaving {
            page,
            slot: u32::MAX,
            sectors: self.page_sectors,
            epoch: self.epochs.begins_to_leave(),
        }
    }

    /// A page is written to a slot of a group.
    #[inline]
    pub(crate) fn leaves(&mut self, group: u32, leaving: Leaving) {
        self.groups[group].push(leaving);
        if let Some(Page {
            state: State::Leaving { slot },
            ..
        }) = self.pages.get_mut(&leaving.page)
        {
            *slot = leaving.slot;
        }
    }

    /// The pages of a flash page have been programmed.
    pub(crate) fn group_has_left(&mut self, group: u32) {
        if self.p.in_flight.is_none() {
            self.used -= self.groups[group].len() as u64;
        }
        for Leaving {
            page,
            slot,
            sectors,
            epoch,
        } in self.groups[group].drain(..)
        {
            self.in_flight -= u64::from(sectors);
            *self.epochs.page(epoch) -= 1;
            // It may have been written again, and even be on its way to another place.
            if let Entry::Occupied(present) = self.pages.entry(page)
                && present.get().state == (State::Leaving { slot })
            {
                present.remove();
            }
        }
        self.groups.release(group);
    }

    /// Forgets pages that the host needs no more, if their way has not begun.
    pub(crate) fn discard(&mut self, pages: &Range<u64>) {
        for page in keys_within(&self.pages, pages) {
            let present = self.pages[&page];
            match present.state {
                State::Leaving { .. } => continue,
                State::Dirty => self.in_flight -= u64::from(self.count(present.sectors)),
                State::Held { .. } => self.holding -= 1,
            }
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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use iosonar_sim_core::{Seed, Stream};

    use super::*;
    use crate::{Parameters, SsdProfile};

    /// A cache of 40 pages of eight sectors.
    fn cache(more: &str) -> Cache {
        let text = format!(
            "[flash]\nchannels = 1\ndies = 1\nplanes = 1\nblocks = 64\npages = 64\npage = \"4KiB\"\n\
             mapping_unit = \"4KiB\"\npartial_pages = {}\n[cache]\nsize = \"160KiB\"\n{more}",
            more.contains("in_flight")
        );
        let changes = toml::from_str(&text).unwrap();
        let profile = SsdProfile::load("nvme-gen4-tlc", ".".as_ref(), &changes).unwrap();
        Cache::new(Parameters::new(&profile).unwrap().flash().unwrap())
    }

    /// What a cache counts, from what is in it and on its way.
    fn assert_counts(cache: &Cache, on_their_way: &[u32]) {
        let groups = on_their_way.iter().map(|&group| &cache.groups[group]);
        let leaving: Vec<&Leaving> = groups.flatten().collect();
        let held = |page: &&Page| matches!(page.state, State::Held { .. });
        let dirty = |page: &&Page| page.state == State::Dirty;
        let pages = || cache.pages.values();
        assert_eq!(cache.holding, pages().filter(held).count() as u64);
        assert!(
            cache.held.len() as u64 <= 2 * cache.holding + 66,
            "turns pile up"
        );
        let room = match cache.p.in_flight {
            Some(_) => 0,
            None => leaving.len() as u64,
        };
        let stay = pages().filter(dirty).count() as u64 + cache.holding;
        assert_eq!(cache.used, stay + room);
        assert!(cache.used <= cache.p.pages);
        let sectors = pages().filter(dirty).map(|page| cache.count(page.sectors));
        let sectors = sectors.chain(leaving.iter().map(|leaving| leaving.sectors));
        assert_eq!(cache.in_flight, sectors.map(u64::from).sum::<u64>());
        let open: u64 = cache.epochs.open.iter().map(|epoch| epoch.left).sum();
        assert_eq!(open, leaving.len() as u64);
    }

    /// A cache that is emptied by hand, with what its pages and those on flash contain: the number of the write that
    /// wrote them.
    struct Drive {
        cache: Cache,
        /// Groups that are being programmed, in any order.
        on_their_way: Vec<u32>,
        /// The present contents of each page: what a read must find.
        latest: HashMap<u64, u64>,
        writes: u64,
        /// By page and sector, what was put into the cache since the page came there.
        cached: HashMap<u64, [u64; 8]>,
        /// By slot, what was written to it, and whether it is programmed.
        slots: Vec<(u64, u64, bool)>,
        /// The slot of each page that was written last.
        mapped: HashMap<u64, u32>,
        /// What each flush that is not complete has to keep.
        flushes: HashMap<u32, HashMap<u64, u64>>,
        /// What survives a loss of power from now on.
        durable: HashMap<u64, u64>,
        /// How often something was read from the cache, and how often a loss of power lost something.
        read_hits: u64,
        lost: u64,
    }

    impl Drive {
        fn new(cache: Cache) -> Self {
            Self {
                cache,
                on_their_way: Vec::new(),
                latest: HashMap::new(),
                writes: 0,
                cached: HashMap::new(),
                slots: Vec::new(),
                mapped: HashMap::new(),
                flushes: HashMap::new(),
                durable: HashMap::new(),
                read_hits: 0,
                lost: 0,
            }
        }

        /// A page leaves, in a group of its own.
        fn leave(&mut self, leaving: Leaving) {
            let slot = self.slots.len() as u32;
            let version = self.latest.get(&leaving.page).copied().unwrap_or(0);
            self.slots.push((leaving.page, version, false));
            self.mapped.insert(leaving.page, slot);
            let group = self.cache.groups.claim(Vec::new);
            self.cache.leaves(group, Leaving { slot, ..leaving });
            self.on_their_way.push(group);
        }

        /// Sends pages to flash until no more are to leave.
        fn send(&mut self) {
            while let Some(destaged) = self.cache.next_to_leave() {
                self.leave(Leaving {
                    page: destaged.page,
                    slot: u32::MAX,
                    sectors: self.cache.count(destaged.sectors),
                    epoch: destaged.epoch,
                });
            }
        }

        /// A page is on flash.
        fn program(&mut self, group: u32) {
            for leaving in &self.cache.groups[group] {
                self.slots[leaving.slot as usize].2 = true;
            }
            self.cache.group_has_left(group);
        }

        fn discard(&mut self, pages: Range<u64>) {
            self.cache.discard(&pages);
            for page in pages {
                self.latest.remove(&page);
                self.mapped.remove(&page);
                self.durable.remove(&page);
                for flush in self.flushes.values_mut() {
                    flush.remove(&page);
                }
            }
        }

        /// All that was written before has to be on flash when this is complete.
        fn flush(&mut self, command: u32, now: Nanos) {
            self.cache.empty();
            self.send();
            let stays = |page: &Page| !matches!(page.state, State::Leaving { .. });
            assert!(
                !self.cache.pages.values().any(stays),
                "a flush leaves nothing behind"
            );
            self.cache.flush(command, now);
            self.flushes.insert(command, self.latest.clone());
        }

        /// A write that does not go through the cache.
        fn pass(&mut self, page: u64) {
            self.writes += 1;
            self.latest.insert(page, self.writes);
            let leaving = self.cache.passes(page);
            self.leave(leaving);
        }

        fn write(&mut self, page: u64, sectors: u64, now: Nanos) {
            let is_new = !self.cache.pages.contains_key(&page);
            if !self.cache.put(page, sectors != 0xff, sectors, now) {
                return;
            }
            self.writes += 1;
            self.latest.insert(page, self.writes);
            let cached = self.cached.entry(page).or_default();
            if is_new {
                *cached = [0; 8];
            }
            for (sector, version) in (0..).zip(cached) {
                if sectors >> sector & 1 == 1 {
                    *version = self.writes;
                }
            }
            assert!(self.cache.holds(page, || sectors) || sectors != 0xff);
        }

        /// What a read of these sectors finds is what was written last.
        fn read(&mut self, page: u64, sectors: u64) {
            let Some(&latest) = self.latest.get(&page) else {
                return;
            };
            if self.cache.holds(page, || sectors) {
                self.read_hits += 1;
                // Without sectors of their own, a page is there if all of it was written at once.
                let there = self.cached[&page];
                let newest = (0..8).any(|sector| there[sector] == latest);
                let all = (0..8).all(|sector| sectors >> sector & 1 == 0 || there[sector] > 0);
                assert!(newest && all, "page {page}: {there:?}, not {latest}");
            } else if !self.cache.pages.contains_key(&page) {
                let slot = self.mapped[&page] as usize;
                assert_eq!(self.slots[slot], (page, latest, true), "slot {slot}");
            }
        }

        /// Completes flushes. Returns their numbers.
        fn flushed(&mut self, now: Nanos) -> Vec<u32> {
            let mut all = Vec::new();
            while let Some(command) = self.cache.flushed(now) {
                self.durable = self.flushes.remove(&command).expect("it was begun");
                all.push(command);
            }
            all
        }

        /// The newest of each page that is programmed, as a scan of flash finds it, is at least as new as what was flushed.
        fn lose_power(&mut self) {
            let mut found = HashMap::new();
            for &(page, version, _) in self.slots.iter().filter(|(_, _, on_flash)| *on_flash) {
                found.insert(page, version);
            }
            for (page, version) in &self.durable {
                let on_flash = found.get(page).copied().unwrap_or(0);
                assert!(
                    on_flash >= *version,
                    "page {page}: {on_flash}, not {version}"
                );
            }
            let is_lost = |(page, version): (&u64, &u64)| found.get(page) != Some(version);
            self.lost += u64::from(self.latest.iter().any(is_lost));
        }
    }

    /// A random step at this time; flushes have the number of the step. What is on its way comes to flash in any order.
    fn step(drive: &mut Drive, draws: &mut Stream, at: u32) {
        let now = Nanos::from_micros(u64::from(at));
        let page = draws.below(60);
        let whole = draws.chance(0.5);
        let sectors = match whole {
            true => 0xff,
            false => (1 << draws.below(8)) | (1 << draws.below(8)),
        };
        match draws.below(24) {
            // A page, or more than there ever are.
            0 => drive.discard(page..page + [1, 1000][draws.below(2) as usize]),
            1 if draws.chance(0.3) => drive.flush(at, now),
            2 if drive.cache.used < drive.cache.p.pages => drive.pass(1_000 + page),
            3..8 if !drive.on_their_way.is_empty() => {
                let which = draws.below(drive.on_their_way.len() as u64) as usize;
                let group = drive.on_their_way.swap_remove(which);
                drive.program(group);
            }
            8 if draws.chance(0.3) => drive.lose_power(),
            9..12 => drive.read(page, sectors),
            _ => drive.write(page, sectors, now),
        }
    }

    #[test]
    fn reads_find_what_was_written_last_and_power_failures_lose_only_what_was_not_flushed() {
        for more in [
            "",
            "destage_above = 0.5\ndestage_below = 0.2\n",
            "hold_ms = 0.1\nhold_share = 0.3\n",
            "in_flight = \"64KiB\"\n",
            "in_flight = \"64KiB\"\nhold_ms = 0.1\nhold_share = 0.3\n",
        ] {
            let mut drive = Drive::new(cache(more));
            let mut draws = Seed::new(3).stream("cache", "steps");
            let (mut flushed, mut waited) = (Vec::new(), 0);
            for at in 0..20_000 {
                let now = Nanos::from_micros(u64::from(at));
                step(&mut drive, &mut draws, at);
                if draws.chance(0.3) {
                    drive.send();
                }
                assert_counts(&drive.cache, &drive.on_their_way);
                for command in drive.flushed(now) {
                    let cache = &drive.cache;
                    let before = |&&group: &&u32| {
                        let mut leaving = cache.groups[group].iter();
                        leaving.any(|l| l.epoch < cache.epochs.first)
                    };
                    assert_eq!(drive.on_their_way.iter().find(before), None, "{more}");
                    waited += 1_000 * u128::from(at - command);
                    flushed.push(command);
                }
            }
            assert!(
                flushed.len() > 50 && flushed.is_sorted(),
                "{more}: {flushed:?}"
            );
            let counts = drive.cache.counts;
            assert_eq!(counts.flushes, flushed.len() as u64);
            assert_eq!(counts.flush_time, waited);
            assert!(counts.write_hits > 20, "{more}: {counts:?}");
            assert!(drive.read_hits > 20, "{more}: {}", drive.read_hits);
            assert!(drive.lost > 20, "{more}: {}", drive.lost);
        }
    }
}
