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

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing but the storage takes time.
    const HOST: &str = "[driver]\nsubmit_us = 0.0\ncomplete_us = 0.0\ninterrupt_us = 0.0\ndoorbell_us = 0.0\n\
         [controller]\ncommand_us = 0.0\nreturn_us = 0.0\n[pcie]\ndescriptor_setup_us = 0.0\nto_host_setup_us = 0.0\n\
         from_host_setup_us = 0.0\nto_host_mb_per_s = inf\nfrom_host_mb_per_s = inf\n";
    /// Four planes of 64 blocks of 16 pages that are independent and programmed in 100 us.
    const FLASH: &str = "[flash]\nchannels = 1\ndies = 1\nplanes = 4\nblocks = 64\npages = 16\npage = \"4KiB\"\n\
         mapping_unit = \"4KiB\"\nparallelism = \"plane\"\nread_us = [10.0]\nprogram_us = [100.0]\n\
         channel_mb_per_s = 1e9\ncommand_us = 0.0\nover_provisioning = 1.0\n";
    const NO_CACHE: &str = "[cache]\nsize = \"0\"\n";

    fn test(changes: &str) -> Test {
        let changes = toml::from_str(&format!("{changes}{HOST}")).unwrap();
        let profile = SsdProfile::load("nvme-gen4-tlc", ".".as_ref(), &changes).unwrap();
        Test::new(&profile, Filling::Sequential).unwrap()
    }

    #[test]
    fn as_many_requests_are_outstanding_and_counted_as_said() {
        let memory = format!(
            "storage = \"dram\"\n\
             dram = {{ capacity = \"1MiB\", channels = 1, read_us = 5.0, write_us = 8.0 }}\n{NO_CACHE}"
        );
        let assert_takes = |test: &Test, each_us: f64, together: f64| {
            assert_eq!(test.ended.len(), 100);
            assert!((test.response_us() - together * each_us).abs() < 1e-9);
            assert!((test.requests_per_s() * each_us / 1e6 - 1.0).abs() < 1e-9);
        };
        for outstanding in [1, 4] {
            let mut of_reads = test(&memory);
            of_reads.random(Access::Read, outstanding, (10, 100));
            assert_takes(&of_reads, 5.0, f64::from(outstanding));
            let mut of_writes = test(&memory);
            of_writes.random(Access::Write, outstanding, (10, 100));
            assert_takes(&of_writes, 8.0, f64::from(outstanding));
            // More than once around the memory, in two accesses each.
            let mut in_order = test(&memory);
            in_order.sequential(Access::Read, 16, outstanding, (200, 100));
            assert_takes(&in_order, 10.0, f64::from(outstanding));
        }
        let none = test(&memory);
        assert_eq!(none.requests_per_s(), 0.0);
    }

    #[test]
    fn writes_go_on_until_the_cache_has_been_written_several_times() {
        let cached = test(&format!("{FLASH}[cache]\nsize = \"1MiB\"\n"));
        // 1 MiB are 256 pages, or 8 requests of 128 KiB; twice before, and three times.
        assert_eq!(cached.beyond_the_cache(4_096, (1, 1)), (512, 768));
        assert_eq!(cached.beyond_the_cache(4_096, (513, 769)), (513, 769));
        assert_eq!(cached.beyond_the_cache(128 << 10, (1, 1)), (16, 24));
        let without = test(&format!("{FLASH}{NO_CACHE}"));
        assert_eq!(without.beyond_the_cache(4_096, (7, 9)), (7, 9));
        assert_eq!(without.pages_of_a_block_each(), 4 * 16);
    }

    #[test]
    fn planes_are_filled_to_levels_at_even_distances() {
        // Pages of one logical page, and of four, which wait in a cache until all of them are there.
        let of_four = FLASH.replace("page = \"4KiB\"", "page = \"16KiB\"");
        for (changes, slots) in [
            (format!("{FLASH}{NO_CACHE}"), 1),
            (format!("{of_four}[cache]\nsize = \"1MiB\"\n"), 4),
        ] {
            let mut test = test(&changes);
            test.bring_out_of_step();
            assert!(test.ended.is_empty());
            // What has been written may be on its way.
            test.wake_ups.extend(test.ssd.start_next(test.now));
            while let Some(next) = test.wake_ups.pop() {
                assert!(test.ssd.complete(next, Nanos::MAX).is_none());
                test.wake_ups.extend(test.ssd.start_next(next));
            }
            let report = test.ssd.report();
            let written = report.ftl.unwrap().host_writes;
            assert_eq!(written, slots * (4 + 8 + 12));
            let dies = report.stations.iter().filter(|s| s.kind() == "die");
            let programs: Vec<u128> = dies.map(|die| die.busy / 100_000).collect();
            assert_eq!(programs, [0, 4, 8, 12]);
        }
    }

    #[test]
    fn a_drive_without_all_of_its_map_is_tested_within_what_it_has() {
        let map = "[mapping_cache]\nentries = 16384\nentries_per_page = 1024\nread_bytes = 4096\n";
        let large = FLASH.replace("blocks = 64", "blocks = 2048");
        let mut test = test(&format!("{large}{NO_CACHE}{map}"));
        // 64 MiB are 16 384 pages, which all have been read.
        assert_eq!(test.span, 131_072);
        assert!(test.span < test.parameters.capacity_sectors);
        let before = test.ssd.report().mapping.unwrap();
        assert_eq!(before.1, 16_384);
        test.random(Access::Read, 8, (0, 500));
        let after = test.ssd.report().mapping.unwrap();
        assert_eq!(after, (before.0 + 500, before.1));
    }
}
