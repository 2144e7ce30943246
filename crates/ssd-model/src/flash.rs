//! Channels and dies: the operations of the translation layer, in time.
//!
//! Logical pages lie on planes in turn, a flash page's worth at a time: channels first, then the dies
//! of a channel, then the planes of a die. A *server* is a die, or each plane of it. It does one thing at a
//! time: the first of its reads, of its writes, or of the cleaning that is due. A read occupies it until
//! its data have crossed the channel, a write from the moment that the channel is asked for. Commands cross the
//! channel too.
//!
//! Cleaning goes on in the background, page by page: whenever its server has nothing else to do, and between the host's
//! writes at a pace at which it is done when the next block is full. A write to a block that is still to be erased waits
//! for that, and cleaning goes first then.

mod collector;
mod counts;
mod operations;
mod server;

use std::cmp::Ordering;
use std::ops::Range;

use iosonar_sim_core::Stream;
use iosonar_units::Nanos;

use crate::FlashParameters;
use crate::ftl::{Filling, FtlCounts, Nowhere, Plane, ShapeError};
use crate::servers::Servers;
use crate::stages::Stage;
use collector::Collector;
pub use counts::{FlashCounts, Joined, Wear};
use server::{Cleaning, Kind, Operation, Server};

/// Who waits for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A unit of a command.
    Unit(u32),
    /// All who wait for this page of the map.
    Mapping { map_page: u64 },
    /// A page of the cache of which a part was written: the rest is read first.
    Destage { merged: u32 },
    /// Pages of the cache that share a flash page.
    Programmed { group: u32 },
    /// A page of the map that is read because only a part of it has changed.
    MapMerge { map_page: u64 },
    /// A page of the map that was written.
    MapWritten { map_page: u64 },
}

/// What happens next to flash.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FlashEvent {
    /// A die has read, programmed or erased.
    Die { server: u32, generation: u32 },
    /// Data have crossed the channel.
    Channel { server: u32 },
}

/// What flash needs of the rest of the device, at an instant.
pub(crate) trait FlashHost {
    fn now(&self) -> Nanos;
    /// Schedules an event of flash.
    fn schedule(&mut self, at: Nanos, event: FlashEvent);
    /// The operation of this owner has passed a stage: it waited, was in the die, or crossed the channel.
    fn passed(&mut self, owner: Owner, stage: Stage);
    /// The operation of this owner is done.
    fn done(&mut self, owner: Owner);
}

/// Channels with their dies.
#[derive(Clone, Debug)]
pub(crate) struct Flash {
    pub(crate) p: FlashParameters,
    planes: Vec<Plane>,
    /// Channels first, then dies, then planes.
    servers: Vec<Server>,
    /// By plane: its server.
    server_of: Vec<u32>,
    channels: Vec<Servers<u32>>,
    /// By plane and block: how many cleanings of its server must be done before it can be programmed.
    ready: Vec<Vec<u32>>,
    page_time: [Nanos; 2],
    /// When the next block is due to be rewritten because of its age.
    next_due: Nanos,
    pub(crate) counts: FlashCounts,
    counts_before: FtlCounts,
}

impl Flash {
    pub(crate) fn new(p: &FlashParameters, places: &mut Stream) -> Result<Self, ShapeError> {
        let overwrites = (p.overwrites * f64::from(p.plane.logical_pages)) as u64;
        let mut planes = Vec::with_capacity(p.planes as usize);
        for _ in 0..p.planes {
            let mut plane = Plane::new(p.plane, p.filling)?;
            // Planes that have been written for ever do not fill their blocks at the same time.
            let more = match p.filling {
                Filling::SteadyState => places.below(u64::from(p.plane.slots_per_block)),
                _ => 0,
            };
            for _ in 0..overwrites + more {
                let page = places.below(u64::from(p.plane.logical_pages)) as u32;
                plane.write(page, &mut Nowhere);
            }
            if let Some(limits) = p.refresh {
                plane.refresh_within(limits);
            }
            planes.push(plane);
        }
        let next_due = planes.iter().map(Plane::next_due).min();
        let servers = p.planes / p.planes_per_server;
        // A copy in cleaning takes the time of no particular page.
        let mean = |times: &[Nanos]| {
            let sum: u64 = times.iter().map(|t| t.get()).sum();
            Nanos::new(sum / times.len() as u64)
        };
        let mut flash = Self {
            next_due: next_due.unwrap_or(Nanos::MAX),
            page_time: [mean(&p.read), mean(&p.program)],
            planes,
            servers: (0..servers)
                .map(|server| Server::on(server % p.channels))
                .collect(),
            server_of: (0..p.planes).map(|plane| plane % servers).collect(),
            channels: vec![Servers::new(1); p.channels as usize],
            ready: vec![vec![0; p.plane.blocks as usize]; p.planes as usize],
            counts: FlashCounts::default(),
            counts_before: FtlCounts::default(),
            p: p.clone(),
        };
        flash.counts_before = flash.all_ftl_counts();
        Ok(flash)
    }

    /// The plane of a logical page, and its number there.
    #[inline]
    pub(crate) fn place(&self, page: u64) -> (u32, u32) {
        let per_page = u64::from(self.p.plane.slots_per_page);
        let planes = u64::from(self.p.planes);
        let (whole, part) = (page / per_page, page % per_page);
        (
            (whole % planes) as u32,
            (whole / planes * per_page + part) as u32,
        )
    }

    /// The plane and slot of a page of the map, if it was written: pages of the map follow those of the host.
    pub(crate) fn map_slot(&self, map_page: u64) -> Option<(u32, u32)> {
        if self.p.mapping_cache.is_none_or(|map| !map.write_back) {
            return None;
        }
        let (plane, local) = self.place(self.p.host_pages + map_page);
        let slot = self.plane(plane).locate(local);
        slot.map(|slot| (plane, slot))
    }

    pub(crate) fn slots_per_page(&self) -> u64 {
        u64::from(self.p.plane.slots_per_page)
    }

    /// The server of a plane. Planes are numbered channels first, then dies, then planes.
    #[inline]
    fn server_of(&self, plane: u32) -> u32 {
        self.server_of[plane as usize]
    }

    pub(crate) fn plane(&self, plane: u32) -> &Plane {
        &self.planes[plane as usize]
    }

    /// The host needs these logical pages no more.
    pub(crate) fn discard(&mut self, pages: Range<u64>) {
        if pages.end - pages.start < u64::from(self.p.planes) {
            for page in pages {
                let (plane, local) = self.place(page);
                self.planes[plane as usize].discard(local..local + 1);
            }
            return;
        }
        for plane in 0..self.planes.len() {
            let local = self.pages_below(plane, pages.start)..self.pages_below(plane, pages.end);
            self.planes[plane].discard(local);
        }
    }

    /// How many of the logical pages below this one lie on a plane: they are the first there, in their order.
    fn pages_below(&self, plane: usize, page: u64) -> u32 {
        let per_page = u64::from(self.p.plane.slots_per_page);
        let planes = u64::from(self.p.planes);
        let (whole, part) = (page / per_page, page % per_page);
        let more = match (plane as u64).cmp(&(whole % planes)) {
            Ordering::Less => per_page,
            Ordering::Equal => part,
            Ordering::Greater => 0,
        };
        (whole / planes * per_page + more) as u32
    }

    /// The place of a slot's flash page in its block.
    pub(crate) fn page_of(&self, slot: u32) -> u32 {
        let shape = &self.p.plane;
        slot % shape.slots_per_block / shape.slots_per_page
    }

    /// Reads the flash page of a slot.
    pub(crate) fn read(
        &mut self,
        plane: u32,
        slot: u32,
        bytes: u32,
        owner: Owner,
        host: &mut impl FlashHost,
    ) {
        let page = self.page_of(slot);
        self.read_page(plane, page, bytes, owner, host);
        if self.p.refresh.is_some() {
            self.refresh(host);
            let (state, mut collector) = self.collector(plane, None, 0);
            state.read(slot, &mut collector);
            self.start(self.server_of(plane), host);
        }
    }

    /// Rewrites the blocks that are due because of their age. It is time for that when the host wants something: a
    /// drive without a host does it at the next request.
    #[cold]
    fn refresh(&mut self, host: &mut impl FlashHost) {
        let now = host.now();
        if now < self.next_due {
            return;
        }
        for plane in 0..self.p.planes {
            let (state, mut collector) = self.collector(plane, None, 0);
            state.has_come_to(now, &mut collector);
            self.start(self.server_of(plane), host);
        }
        let due = self.planes.iter().map(Plane::next_due).min();
        self.next_due = due.unwrap_or(Nanos::MAX);
    }

    /// Reads a flash page; its place in its block decides how long that takes.
    pub(crate) fn read_page(
        &mut self,
        plane: u32,
        page: u32,
        bytes: u32,
        owner: Owner,
        host: &mut impl FlashHost,
    ) {
        let server = self.server_of(plane);
        let state = &mut self.servers[server as usize];
        let operation = Operation {
            kind: Kind::Read,
            owner: Some(owner),
            time: self.p.read[page as usize % self.p.read.len()],
            bytes,
            needs: 0,
            plane,
            page,
            refreshes: false,
            order: state.operations,
        };
        state.operations += 1;
        self.start_read(server, operation, host);
    }

    /// Writes a logical page, and returns its slot. The `owner` of the write that fills a flash page is
    /// [done](FlashHost::done) when that has been programmed.
    pub(crate) fn write(
        &mut self,
        plane: u32,
        page: u32,
        bytes: u32,
        owner: Owner,
        host: &mut impl FlashHost,
    ) -> u32 {
        let refreshes = self.p.refresh.is_some();
        if refreshes {
            self.refresh(host);
        }
        let (state, mut collector) = self.collector(plane, Some(owner), bytes);
        if refreshes {
            state.has_come_to(host.now(), &mut collector);
        }
        let slot = state.write(page, &mut collector);
        if refreshes {
            self.next_due = self.next_due.min(self.planes[plane as usize].next_due());
        }
        self.start(self.server_of(plane), host);
        slot
    }

    /// Programs the flash page of a plane that is not full yet; its other slots hold nothing.
    pub(crate) fn close_page(
        &mut self,
        plane: u32,
        bytes: u32,
        owner: Owner,
        host: &mut impl FlashHost,
    ) {
        let (state, mut collector) = self.collector(plane, Some(owner), bytes);
        state.close_page(&mut collector);
        self.start(self.server_of(plane), host);
    }

    /// Gives a logical page that was never written a slot, as a write would.
    pub(crate) fn assume_written(
        &mut self,
        plane: u32,
        page: u32,
        host: &mut impl FlashHost,
    ) -> u32 {
        let (state, mut collector) = self.collector(plane, None, 0);
        let slot = state.assume_written(page, &mut collector);
        self.start(self.server_of(plane), host);
        slot
    }

    /// A plane, and what collects the operations of its translation layer.
    #[inline]
    fn collector(
        &mut self,
        plane: u32,
        owner: Option<Owner>,
        bytes: u32,
    ) -> (&mut Plane, Collector<'_>) {
        let server = self.server_of(plane);
        let collector = Collector {
            p: &self.p,
            plane,
            server: &mut self.servers[server as usize],
            ready: &mut self.ready[plane as usize],
            cleaning: Cleaning::default(),
            owner,
            bytes,
        };
        (&mut self.planes[plane as usize], collector)
    }

    /// The counts of all planes, those of preconditioning not counted.
    pub(crate) fn ftl_counts(&self) -> FtlCounts {
        self.all_ftl_counts().since(&self.counts_before)
    }

    fn all_ftl_counts(&self) -> FtlCounts {
        let mut all = FtlCounts::default();
        for plane in &self.planes {
            all.merge(&plane.counts());
        }
        all
    }

    pub(crate) fn wear(&self) -> Wear {
        let all = || self.planes.iter().flat_map(Plane::erases).copied();
        Wear {
            least: all().min().unwrap_or(0),
            most: all().max().unwrap_or(0),
            erases: all().map(u64::from).sum(),
            blocks: u64::from(self.p.plane.blocks) * u64::from(self.p.planes),
        }
    }

    pub(crate) fn measure_from(&mut self, now: Nanos) {
        self.counts = FlashCounts::default();
        self.counts_before = self.all_ftl_counts();
        for server in &mut self.servers {
            server.busy.measure_from(now);
        }
        for channel in &mut self.channels {
            channel.busy.measure_from(now);
        }
    }

    /// The busy times of channels and of dies (or planes), in nanoseconds.
    pub(crate) fn busy(&self, now: Nanos) -> (Vec<u128>, Vec<u128>) {
        (
            self.channels.iter().map(|c| c.busy.until(now)).collect(),
            self.servers.iter().map(|s| s.busy.until(now)).collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use iosonar_sim_core::Seed;

    use super::*;
    use crate::{Parameters, SsdProfile};

    #[test]
    fn the_pages_of_a_range_are_discarded_where_they_lie_and_no_others() {
        // Six planes, with flash pages of four logical ones.
        let text = "[flash]\nchannels = 3\ndies = 2\nplanes = 1\nblocks = 64\npages = 64\npage = \"16KiB\"\n\
                    mapping_unit = \"4KiB\"";
        let profile = SsdProfile::load(
            "nvme-gen4-tlc",
            ".".as_ref(),
            &toml::from_str(text).unwrap(),
        )
        .unwrap();
        let parameters = Parameters::new(&profile).unwrap();
        let p = parameters.flash().unwrap();
        let pages = p.host_pages;
        let mut draws = Seed::new(1).stream("flash", "places");
        let fresh = Flash::new(p, &mut draws).unwrap();
        let is_there = |flash: &Flash, page| {
            let (plane, local) = flash.place(page);
            flash.plane(plane).locate(local).is_some()
        };
        for (from, end) in [
            (0, pages),
            (0, 0),
            (5, 6),
            (23, 25),
            (3, 4 * 6 * 7 + 1),
            (700, 1600),
        ] {
            let mut flash = fresh.clone();
            flash.discard(from..end);
            assert_eq!(flash.all_ftl_counts().discards, end - from);
            for page in 0..pages {
                let is_kept = is_there(&fresh, page) && !(from..end).contains(&page);
                assert_eq!(is_there(&flash, page), is_kept, "{from}..{end}: {page}");
            }
        }
    }
}
