//! The flash of a data sheet: planes enough for the rates, spare room for what writes are sustained.

use iosonar_device::Derivation;

use super::spare::{self, Cycle};
use super::{Cell, DataSheet, Firmware, RANDOM_BYTES, SheetInterface, WriteCache, mean};
use crate::ftl::{Cleaning, Filling};
use crate::profile::{
    CacheProfile, CellType, Checker, FlashProfile, Parallelism, Scheduling, SsdProfileError,
};

/// A read of a page that no cells are faster than.
const LEAST_PAGE_READ_US: f64 = 2.0;
/// The size of a flash page and of a logical one, in bytes.
const PAGE: f64 = 16_384.0;
const UNIT: f64 = 4_096.0;
const SLOTS: f64 = PAGE / UNIT;
/// Pages of a block.
const PAGES: f64 = 128.0;
/// Command and address cycles.
const COMMAND_US: f64 = 0.2;
/// Planes of a die that work independently.
const PLANES_OF_DIE: u32 = 4;
/// By how much flash is faster than the stated sequential writes, so that these are limited by the transfer.
const MARGIN: f64 = 1.1;
/// How busy planes are at the most that can be written at random: some wait for a channel, or for writes while others have
/// more than they can do. As simulated, with 32 to 256 planes.
const BUSY: f64 = 0.97;
/// Free blocks of a plane, and the open ones of the host and of cleaning, half full each.
const RESERVE: u32 = 2;
const OPEN: f64 = 1.0;
/// What a plane can have of logical pages.
const MOST_SLOTS: f64 = 2_147_483_648.0;
/// All pages by the logical ones at most, where a plane has few blocks.
const MOST_SPARE: f64 = 5.9;
/// The share of valid pages in victims at most: less spare room than 1 % leaves no drive able to write.
const MOST_VALID: f64 = 0.98;
/// Of the write cache, for each plane.
const CACHE_OF_PLANE: u64 = 512 << 10;

impl Cell {
    /// Flash, whose times are known.
    pub(super) fn times(self) -> Option<CellType> {
        match self {
            Self::Slc => Some(CellType::Slc),
            Self::Mlc => Some(CellType::Mlc),
            Self::Tlc => Some(CellType::Tlc),
            Self::Qlc => Some(CellType::Qlc),
            Self::Xpoint => None,
        }
    }
}

impl SheetInterface {
    /// How many channels drives of it have, and their rate.
    fn channels(self) -> (f64, f64) {
        match self {
            Self::Sata => (4.0, 400.0),
            Self::Pcie3X4 => (8.0, 800.0),
            Self::Pcie4X4 => (16.0, 1_200.0),
            Self::Pcie5X4 => (16.0, 2_400.0),
        }
    }
}

/// The rate of a channel: all of them take the sequential reads and writes together, twice.
fn channel_mb_per_s(sheet: &DataSheet) -> f64 {
    let (channels, usual) = sheet.interface.channels();
    let both = sheet.sequential_read.mb_per_s + sheet.sequential_write.mb_per_s;
    usual.max(2.0 * both / channels)
}

/// What a read of a logical page takes at least: no cells are faster.
pub(super) fn least_read_us(sheet: &DataSheet) -> f64 {
    LEAST_PAGE_READ_US + COMMAND_US + UNIT / channel_mb_per_s(sheet)
}

/// The flash as far as it follows from rates and latencies.
pub(super) struct Flash<'a> {
    sheet: &'a DataSheet,
    cell: CellType,
    channels: f64,
    channel_mb_per_s: f64,
    dies: f64,
    read_us: f64,
    cache_us: f64,
}

impl<'a> Flash<'a> {
    pub(super) fn new(
        sheet: &'a DataSheet,
        cell: CellType,
        firmware: &Firmware,
        found: &mut Derivation,
    ) -> Self {
        let (channels, usual) = sheet.interface.channels();
        let generation = format!("assumed: {}", sheet.interface.name());
        found.add("flash.channels", channels, generation.clone());
        let rate = channel_mb_per_s(sheet);
        let channel_mb_per_s = found.add(
            "flash.channel_mb_per_s",
            rate,
            match rate > usual {
                false => generation,
                true => "2 x (sequential reads + writes) / channels".to_owned(),
            },
        );
        let read_us = found.add(
            "flash.read_us, on average",
            firmware.read_us - COMMAND_US - UNIT / channel_mb_per_s,
            "the read latency minus the host, transfer and firmware times; pages vary by the \
             amount typical of these cells",
        );
        let cache_us = found.add(
            "cache.access_us",
            firmware.write_us,
            "the write latency minus the host, transfer and firmware times",
        );
        let mut flash = Self {
            sheet,
            cell,
            channels,
            channel_mb_per_s,
            dies: 1.0,
            read_us,
            cache_us,
        };
        flash.dies = flash.dies(found);
        flash
    }

    fn planes(&self) -> f64 {
        self.channels * self.dies * f64::from(PLANES_OF_DIE)
    }

    /// As many dies as writes in order and reads at random need.
    fn dies(&self, found: &mut Derivation) -> f64 {
        let (_, program, erase) = self.cell.times();
        // Whatever the block's size, an erase adds little.
        let page_us = mean(program) + self.transfer_us(PAGE) + erase / PAGES;
        let writing = MARGIN * self.sheet.sequential_write.mb_per_s * page_us / PAGE;
        let read_us = COMMAND_US + self.read_us + self.transfer_us(UNIT);
        let reading = 2.0 * self.sheet.read_iops.iops * read_us / 1e6;
        let planes = writing.max(reading);
        let of_channel = self.channels * f64::from(PLANES_OF_DIE);
        found.add("flash.planes", f64::from(PLANES_OF_DIE), "assumed");
        found.add(
            "flash.dies",
            (planes / of_channel).ceil().clamp(1.0, 256.0),
            if writing >= reading {
                "1.1 x sequential writes x page time / 16 KiB, rounded up to whole dies per channel"
            } else {
                "2 x random reads x read time, rounded up to whole dies per channel"
            },
        )
    }

    fn transfer_us(&self, bytes: f64) -> f64 {
        COMMAND_US + bytes / self.channel_mb_per_s
    }

    /// What a block takes that is written at random; pages have the cells' own program time.
    fn cycle(&self, pages: f64) -> Cycle {
        let (_, program, erase) = self.cell.times();
        Cycle {
            pages,
            slots: SLOTS,
            program_us: mean(program) + self.transfer_us(PAGE),
            read_us: COMMAND_US + self.read_us,
            transfer_us: UNIT / self.channel_mb_per_s,
            erase_us: erase + COMMAND_US,
        }
    }

    /// The flash, and the write cache in front of it.
    pub(super) fn profile(
        &self,
        check: &Checker<'_>,
        found: &mut Derivation,
    ) -> Result<(FlashProfile, CacheProfile), SsdProfileError> {
        let (reads, program, _) = self.cell.times();
        // A usual size of blocks; fewer pages where a plane would have few blocks.
        let of_plane = (self.sheet.capacity_gb * 1e9 / (self.planes() * PAGE)).ceil() * SLOTS;
        let mut pages = PAGES;
        while of_plane / (pages * SLOTS) < 256.0 && pages > 16.0 {
            pages /= 2.0;
        }
        found.add(
            "flash.pages",
            pages,
            "assumed: 128, or fewer if a plane would have fewer than 256 blocks",
        );
        let (blocks, program_us) = self.spare(of_plane, pages, check, found)?;
        let slots = blocks * pages * SLOTS;
        if slots > MOST_SPARE * of_plane {
            let planes = self.planes();
            let expected = format!(
                "a larger capacity, as the rates need {planes} planes of {blocks} blocks each"
            );
            return Err(check.wrong("capacity_gb", self.sheet.capacity_gb, expected));
        }
        if slots >= MOST_SLOTS {
            let most = self.sheet.capacity_gb * MOST_SLOTS / slots;
            let expected = format!("at most {most:.0} with {} planes", self.planes());
            return Err(check.wrong("capacity_gb", self.sheet.capacity_gb, expected));
        }
        let average = mean(reads);
        let flash = FlashProfile {
            channels: self.channels as u32,
            dies: self.dies as u32,
            planes: PLANES_OF_DIE,
            blocks: blocks as u32,
            pages: pages as u32,
            page: "16KiB".to_owned(),
            mapping_unit: Some("4KiB".to_owned()),
            cell: Some(self.cell),
            read_us: Some(reads.iter().map(|us| us * self.read_us / average).collect()),
            program_us: Some(
                program
                    .iter()
                    .map(|us| us * program_us / mean(program))
                    .collect(),
            ),
            erase_us: None,
            channel_mb_per_s: self.channel_mb_per_s,
            command_us: COMMAND_US,
            parallelism: Parallelism::Plane,
            multi_plane: 1,
            multi_plane_command_us: 0.0,
            scheduling: Scheduling::ReadsFirst,
            suspend_us: None,
            copyback: false,
            // Half a page more, so that rounding leaves all of the capacity.
            over_provisioning: slots / (of_plane + 0.5) - 1.0,
            cleaning: Cleaning::Greedy,
            reserve: RESERVE,
            read_disturb_limit: None,
            retention_h: None,
            wear_levelling: None,
            precondition: match self.sheet.write_iops.sustained {
                true => Filling::SteadyState,
                false => Filling::Sequential,
            },
            read_unwritten: false,
            map_unwritten: false,
            partial_pages: false,
            overwrites: 0.0,
        };
        Ok((flash, self.cache(found)))
    }

    /// The blocks of a plane, and the time of a program.
    fn spare(
        &self,
        of_plane: f64,
        pages: f64,
        check: &Checker<'_>,
        found: &mut Derivation,
    ) -> Result<(f64, f64), SsdProfileError> {
        let sheet = self.sheet;
        let (cycle, per_block) = (self.cycle(pages), pages * SLOTS);
        let kept = f64::from(RESERVE) + OPEN;
        // Free blocks, the two open ones, and one that is not full.
        let least = (of_plane / per_block).floor() + f64::from(RESERVE) + 3.0;
        let transfer = self.transfer_us(PAGE);
        let preset = cycle.program_us - transfer;
        let of_plane_per_s = sheet.write_iops.iops / (self.planes() * BUSY);
        let writes = sheet.write_iops.sustained.then_some(of_plane_per_s);
        let (Some(writes), None) = (writes, sheet.over_provisioning) else {
            let over = found.given_or(
                "flash.over_provisioning",
                sheet.over_provisioning,
                0.07,
                "1 TiB of flash per 10^12 bytes, less bad blocks and parity",
            );
            let blocks = (of_plane * (1.0 + over) / per_block).round().max(least);
            let Some(writes) = writes else {
                found.add("flash.program_us", preset, "the cells'");
                return Ok((blocks, preset));
            };
            let v = spare::victims(of_plane / ((blocks - kept) * per_block));
            let page_us = cycle.program_us(v, writes);
            let sequential = self.planes() * PAGE / (page_us + cycle.erase_us / pages);
            let most = 1.0 / (1.0 - v);
            // Cleaning alone takes all the time that the writes leave.
            if page_us <= transfer {
                let expected = format!(
                    "a higher value, or none: at this value, cleaning programs {most:.1} pages per random write, which \
                     leaves no time to program the pages of {} random writes/s",
                    sheet.write_iops.iops
                );
                return Err(check.wrong("over_provisioning", over, expected));
            }
            if sequential < sheet.sequential_write.mb_per_s {
                let expected = format!(
                    "a lower value, or none: at this value, cleaning programs {most:.1} pages per random write, and \
                     flash that sustains exactly {} random writes/s reaches {sequential:.0} MB/s in sequential \
                     writes, not the {} of sequential_write",
                    sheet.write_iops.iops, sheet.sequential_write.mb_per_s
                );
                return Err(check.wrong("over_provisioning", over, expected));
            }
            let from = "the flash needed to sustain the random writes at this over-provisioning";
            let program_us = found.add("flash.program_us", page_us - transfer, from);
            return Ok((blocks, program_us));
        };
        found.add("flash.program_us", preset, "the cells'");
        let v = cycle.victims(writes).min(MOST_VALID);
        let valid = spare::mean_valid(v);
        let blocks = ((of_plane / (valid * per_block)).ceil() + kept).max(least);
        found.add(
            "flash.over_provisioning",
            blocks * per_block / of_plane - 1.0,
            format!(
                "cleaning then programs {:.2} pages per random host write, which gives the sustained \
                 rate; a vendor's larger figure includes parity and spare blocks",
                1.0 / (1.0 - v)
            ),
        );
        Ok((blocks, preset))
    }

    fn cache(&self, found: &mut Derivation) -> CacheProfile {
        let size = self.planes() as u64 * CACHE_OF_PLANE;
        found.add(
            "cache.size, in MiB",
            size as f64 / f64::from(1 << 20),
            "assumed: 512 KiB per plane",
        );
        CacheProfile {
            size: size.to_string(),
            destage_above: 0.0,
            destage_below: 0.0,
            access_us: self.cache_us,
            mb_per_s: None,
            row: None,
            volatile: self.sheet.write_cache == WriteCache::Volatile,
            in_flight: None,
            hold_ms: 0.0,
            hold_share: super::super::half(),
        }
    }
}

const _: () = assert!(UNIT == RANDOM_BYTES);
