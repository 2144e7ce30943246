//! An SSD with a number of requests outstanding: the next one is submitted when one is complete.

use iosonar_device::{Access, Device, Job, RequestId};
use iosonar_sim_core::{Seed, Stream};
use iosonar_units::{Nanos, SECTOR_BYTES, Sector, Sectors};

use crate::ftl::Filling;
use crate::profile::RANDOM_BYTES;
use crate::{AnySsd, Parameters, SsdProfile, SsdProfileError};

/// A test of writes goes on until the write cache has been written this often, and this is not counted before.
const CACHES: u64 = 3;
const CACHES_WARMUP: u64 = 2;
/// Addresses of a drive whose map is not all in memory: sheets state what such drives do within it.
const SPAN_WITHOUT_MAP: u64 = 64 << 20;
const SECTORS_OF_RANDOM: u32 = (RANDOM_BYTES as u64 / SECTOR_BYTES) as u32;

/// An SSD with a number of requests outstanding.
pub(super) struct Test {
    ssd: AnySsd,
    parameters: Parameters,
    /// Sectors that requests go to.
    span: u64,
    now: Nanos,
    /// The instants at which the SSD is to be asked, the next one last.
    wake_ups: Vec<Nanos>,
    /// When counted requests were complete, and what they took together.
    pub(super) ended: Vec<Nanos>,
    times: u128,
    places: Stream,
}

impl Test {
    pub(super) fn new(profile: &SsdProfile, filling: Filling) -> Result<Self, SsdProfileError> {
        let mut profile = profile.clone();
        if let Some(flash) = &mut profile.flash {
            flash.precondition = filling;
        }
        let parameters = Parameters::new(&profile)?;
        let seed = Seed::new(1);
        let ssd =
            AnySsd::new(&parameters, &seed, "ssd/0").expect("the shape of its flash was checked");
        let span = match parameters.flash().and_then(|flash| flash.mapping_cache) {
            Some(_) => parameters
                .capacity_sectors
                .min(SPAN_WITHOUT_MAP / SECTOR_BYTES),
            None => parameters.capacity_sectors,
        };
        let mut test = Self {
            ssd,
            span,
            now: Nanos::ZERO,
            wake_ups: Vec::new(),
            ended: Vec::new(),
            times: 0,
            places: seed.stream("data-sheet", "places"),
            parameters,
        };
        if test.span < test.parameters.capacity_sectors {
            // All of its part of the map gets into memory.
            test.sequential(Access::Read, 256, 1, (test.span / 256, 0));
        }
        Ok(test)
    }

    /// Requests until the write cache was written several times.
    pub(super) fn beyond_the_cache(&self, bytes: u64, (warmup, counted): (u64, u64)) -> (u64, u64) {
        let flash = self.parameters.flash();
        let cache = flash.and_then(|flash| Some(flash.cache?.pages * flash.logical_page_bytes));
        let cache = cache.unwrap_or(0) / bytes;
        (
            warmup.max(CACHES_WARMUP * cache),
            counted.max(CACHES * cache),
        )
    }

    /// Logical pages of a block of each plane.
    pub(super) fn pages_of_a_block_each(&self) -> u64 {
        self.parameters.flash().map_or(0, |flash| {
            u64::from(flash.planes) * u64::from(flash.plane.slots_per_block)
        })
    }

    /// Fills the open block of each plane to another level: else all of them would begin new blocks, and be cleaned, at
    /// the same time for long.
    pub(super) fn bring_out_of_step(&mut self) {
        let Some(flash) = self.parameters.flash() else {
            return;
        };
        let (planes, slots) = (u64::from(flash.planes), flash.plane.slots_per_block);
        let (page, unit) = (
            u64::from(flash.plane.slots_per_page),
            flash.logical_page_sectors(),
        );
        let of_plane = u64::from(flash.plane.logical_pages) / page;
        let filled = |plane| plane * u64::from(slots) / planes;
        let turns =
            (0..u64::from(slots)).flat_map(|turn| (0..planes).map(move |plane| (turn, plane)));
        let mut turns = turns.filter(|&(turn, plane)| turn < filled(plane));
        let all = (0..planes).map(filled).sum();
        self.run(256, (all, 0), |places, number| {
            let (turn, plane) = turns.next().expect("as many as are written");
            let at = (places.uniform() * of_plane as f64) as u64;
            let logical = (at.min(of_plane - 1) * planes + plane) * page + turn % page;
            job(number, Access::Write, logical * unit, unit as u32)
        });
    }

    pub(super) fn random(&mut self, access: Access, outstanding: u32, counts: (u64, u64)) {
        let units = self.span / u64::from(SECTORS_OF_RANDOM);
        self.run(outstanding, counts, |places, number| {
            let unit = ((places.uniform() * units as f64) as u64).min(units - 1);
            job(
                number,
                access,
                unit * u64::from(SECTORS_OF_RANDOM),
                SECTORS_OF_RANDOM,
            )
        });
    }

    pub(super) fn sequential(
        &mut self,
        access: Access,
        sectors: u32,
        outstanding: u32,
        counts: (u64, u64),
    ) {
        let blocks = (self.span / u64::from(sectors)).max(1);
        self.run(outstanding, counts, |_, number| {
            job(
                number,
                access,
                number % blocks * u64::from(sectors),
                sectors,
            )
        });
    }

    /// Serves requests, the first ones uncounted; each is submitted when an earlier one is complete.
    fn run(
        &mut self,
        outstanding: u32,
        (uncounted, counted): (u64, u64),
        mut next: impl FnMut(&mut Stream, u64) -> Job,
    ) {
        let all = uncounted + counted;
        let (mut sent, mut done) = (0, 0);
        while done < all {
            while sent < all && sent - done < u64::from(outstanding) {
                let job = next(&mut self.places, sent);
                self.ssd.submit(job, self.now);
                sent += 1;
            }
            self.wake_ups.extend(self.ssd.start_next(self.now));
            self.now = self
                .wake_ups
                .pop()
                .expect("an SSD serves what it has taken");
            let until = self.wake_ups.last().copied().unwrap_or(Nanos::MAX);
            if let Some(service) = self.ssd.complete(self.now, until) {
                done += 1;
                if done > uncounted {
                    self.ended.push(self.now);
                    self.times += u128::from((self.now - service.arrived).get());
                }
            }
        }
    }

    pub(super) fn requests_per_s(&self) -> f64 {
        let (Some(&first), Some(&last)) = (self.ended.first(), self.ended.last()) else {
            return 0.0;
        };
        (self.ended.len() - 1) as f64 / (last - first).as_secs_f64()
    }

    pub(super) fn response_us(&self) -> f64 {
        self.times as f64 / self.ended.len() as f64 / 1e3
    }
}

fn job(number: u64, access: Access, sector: u64, sectors: u32) -> Job {
    Job::new(
        RequestId(number),
        access,
        Sector::new(sector),
        Sectors::new(sectors),
    )
}
