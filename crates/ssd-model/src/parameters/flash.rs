//! Flash, checked.

use iosonar_units::{Nanos, SECTOR_BYTES};

use super::Checker;
use crate::ftl::{Filling, PlaneShape};
use crate::profile::{FlashProfile, Parallelism, Scheduling, SsdProfileError};

/// More page writes without time would take minutes.
const MOST_OVERWRITES: f64 = 2e8;

/// What works for itself: a die, or each of its planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerOf {
    /// How many planes share one.
    pub planes: u32,
}

/// Flash.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashParameters {
    /// How many channels.
    pub channels: u32,
    /// All planes.
    pub planes: u32,
    /// What works for itself.
    pub server: ServerOf,
    /// Each plane.
    pub plane: PlaneShape,
    /// What each plane holds at the beginning.
    pub filling: Filling,
    /// Whether a read of what was never written reads a page all the same.
    pub read_unwritten: bool,
    /// How often all is overwritten then, without time.
    pub overwrites: f64,
    /// The size of a logical page.
    pub logical_page_bytes: u64,
    /// To read a page, by its place in the block, in turn.
    pub read: Vec<Nanos>,
    /// To program a page, as above.
    pub program: Vec<Nanos>,
    /// To erase a block.
    pub erase: Nanos,
    /// What a byte takes on the channel.
    pub channel_ns_per_byte: f64,
    /// Command and address cycles.
    pub command: Nanos,
    /// Whether reads go before writes.
    pub reads_first: bool,
    /// What it takes to suspend a program or an erase for a read; `None`: reads wait.
    pub suspend: Option<Nanos>,
    /// Whether cleaning copies within the die.
    pub copyback: bool,
}

impl FlashParameters {
    pub(super) fn new(check: &Checker<'_>, flash: &FlashProfile) -> Result<Self, SsdProfileError> {
        let channels = check.count("flash.channels", flash.channels, 1 << 10)?;
        let dies = check.count("flash.dies", flash.dies, 1 << 10)?;
        let planes_of_die = check.count("flash.planes", flash.planes, 1 << 6)?;
        let page = check.bytes("flash.page", &flash.page)?;
        if !(SECTOR_BYTES..=1 << 24).contains(&page) || !page.is_multiple_of(SECTOR_BYTES) {
            let expected = "a multiple of 512 bytes up to 16MiB, such as \"16KiB\"";
            return Err(check.wrong("flash.page", &flash.page, expected));
        }
        let unit = match &flash.mapping_unit {
            Some(unit) => check.bytes("flash.mapping_unit", unit)?,
            None => page,
        };
        let sectors = unit.is_multiple_of(SECTOR_BYTES) && unit > 0 && unit <= 1 << 20;
        if !sectors || !page.is_multiple_of(unit) || page / unit.max(1) > 64 {
            return Err(check.wrong(
                "flash.mapping_unit",
                format!("{unit} bytes of a page of {page}"),
                "a multiple of 512 bytes up to 1MiB, of which 1 to 64 make a page",
            ));
        }
        let plane = shape(check, flash, page / unit)?;
        let overwrites = flash.overwrites;
        let all = f64::from(plane.logical_pages) * f64::from(channels * dies * planes_of_die);
        if !(0.0..=MOST_OVERWRITES / all).contains(&overwrites) {
            let expected = format!(
                "0 to {:.3}, that is 2 x 10^8 page writes, or precondition = \"steady-state\", which is there at once",
                MOST_OVERWRITES / all
            );
            return Err(check.wrong("flash.overwrites", overwrites, expected));
        }
        let preset = flash.cell.map(super::super::profile::CellType::times);
        let times = |key: &str, given: Option<&Vec<f64>>, preset: Option<&[f64]>| {
            let all = given.map(Vec::as_slice).or(preset).unwrap_or_default();
            if all.is_empty() {
                return Err(check.wrong(
                    key,
                    "not given",
                    "times, or flash.cell to take them from",
                ));
            }
            all.iter()
                .map(|&us| check.micros(key, us))
                .collect::<Result<Vec<_>, _>>()
        };
        let erase = flash.erase_us.or(preset.map(|p| p.2));
        let Some(erase) = erase else {
            let expected = "a time, or flash.cell to take it from";
            return Err(check.wrong("flash.erase_us", "not given", expected));
        };
        Ok(Self {
            channels,
            planes: channels * dies * planes_of_die,
            server: ServerOf {
                planes: match flash.parallelism {
                    Parallelism::Die => planes_of_die,
                    Parallelism::Plane => 1,
                },
            },
            plane,
            filling: flash.precondition,
            read_unwritten: flash.read_unwritten,
            overwrites,
            logical_page_bytes: unit,
            read: times("flash.read_us", flash.read_us.as_ref(), preset.map(|p| p.0))?,
            program: times(
                "flash.program_us",
                flash.program_us.as_ref(),
                preset.map(|p| p.1),
            )?,
            erase: check.micros("flash.erase_us", erase)?,
            channel_ns_per_byte: check
                .ns_per_byte("flash.channel_mb_per_s", flash.channel_mb_per_s)?,
            command: check.micros("flash.command_us", flash.command_us)?,
            reads_first: flash.scheduling == Scheduling::ReadsFirst,
            suspend: flash
                .suspend_us
                .map(|us| check.micros("flash.suspend_us", us))
                .transpose()?,
            copyback: flash.copyback,
        })
    }

    /// What the translation takes in memory before the first request, at most, in bytes.
    pub fn bytes_at_start(&self) -> u64 {
        let preset = match self.filling {
            // On average half a block, at random places.
            Filling::SteadyState => u64::from(self.plane.slots_per_block) / 2,
            _ => 0,
        };
        let overwritten = (self.overwrites * f64::from(self.plane.logical_pages)) as u64;
        u64::from(self.planes) * self.plane.bytes_after(preset + overwritten)
    }

    /// All logical pages.
    pub fn logical_pages(&self) -> u64 {
        u64::from(self.planes) * u64::from(self.plane.logical_pages)
    }
}

/// The shape of each plane; a flash page has `per_page` logical ones.
fn shape(
    check: &Checker<'_>,
    flash: &FlashProfile,
    per_page: u64,
) -> Result<PlaneShape, SsdProfileError> {
    let over = flash.over_provisioning;
    if !(1e-4..=5.0).contains(&over) {
        let expected = "all pages by the logical ones, less 1: 0.0001 to 5; 0.15 are 15 %";
        return Err(check.wrong("flash.over_provisioning", over, expected));
    }
    let blocks = check.count("flash.blocks", flash.blocks, 1 << 24)?;
    let pages = check.count("flash.pages", flash.pages, 1 << 16)?;
    let slots = u64::from(blocks) * u64::from(pages) * per_page;
    // The pages of a flash page lie together, so planes hold whole ones.
    let logical = (slots as f64 / (1.0 + over)) as u64 / per_page * per_page;
    let plane = PlaneShape {
        blocks,
        slots_per_block: (u64::from(pages) * per_page).min(u64::from(u32::MAX)) as u32,
        slots_per_page: per_page as u32,
        logical_pages: logical.min(u64::from(u32::MAX)) as u32,
        reserve: flash.reserve,
        cleaning: flash.cleaning,
        wear_levelling: flash.wear_levelling,
    };
    plane.check().map_err(|e| {
        let seen = format!(
            "with blocks = {blocks}, pages = {pages}, reserve = {}, over_provisioning = {over}",
            flash.reserve
        );
        check.wrong("flash", seen, format!("a plane with room to work ({e})"))
    })?;
    if flash.reserve == 0 && per_page > 1 {
        // What goes back into a block would share flash pages with what the host writes.
        let expected = "2 or more where mapping_unit is smaller than page";
        return Err(check.wrong("flash.reserve", 0, expected));
    }
    Ok(plane)
}
