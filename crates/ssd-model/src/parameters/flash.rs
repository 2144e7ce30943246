//! Flash, checked.

use iosonar_units::{Nanos, SECTOR_BYTES};

use super::CacheParameters;
use crate::ftl::{Cleaning, Filling, PlaneShape, RefreshLimits, ShapeError};
use crate::mapping_cache::MappingCacheParameters;
use crate::profile::{CellType, Checker, FlashProfile, Parallelism, Scheduling, SsdProfileError};

/// The most work before the simulation begins, in page writes: it takes 10 s or so.
pub const MOST_WORK_AT_START: f64 = 1e8;
/// Logical pages of a flash page. Pages of 16 KiB in sectors, the most of today's drives, are 32.
const MOST_UNITS: u64 = 64;

/// Channels of flash dies under a page-mapped translation layer.
#[derive(Clone, Debug, PartialEq)]
pub struct FlashParameters {
    /// Channels between the controller and the dies.
    pub channels: u32,
    /// The planes of all channels and dies.
    pub planes: u32,
    /// How many planes share a server, which executes one operation at a time: those of a die, or 1.
    pub planes_per_server: u32,
    /// On how many planes of a server one command works at most.
    pub multi_plane: u32,
    /// What each of them but the first adds to its time on the channel.
    pub multi_plane_command: Nanos,
    /// The shape of each plane.
    pub plane: PlaneShape,
    /// When blocks are rewritten; `None`: never.
    pub refresh: Option<RefreshLimits>,
    /// The logical pages of the host, of all planes; those of the map follow them where they are written.
    pub host_pages: u64,
    /// What each plane holds at the beginning.
    pub filling: Filling,
    /// Whether a read of what was never written still reads a page.
    pub read_unwritten: bool,
    /// Whether such a read gives the page a place.
    pub map_unwritten: bool,
    /// Whether it is known which sectors of a page were written.
    pub partial_pages: bool,
    /// How often all logical pages are overwritten then, at random, before the simulation begins.
    pub overwrites: f64,
    /// The size of a logical page.
    pub logical_page_bytes: u64,
    /// To read a page, by its place in the block, in turn.
    pub read: Vec<Nanos>,
    /// To program a page, by its place in the block, in turn.
    pub program: Vec<Nanos>,
    /// To erase a block.
    pub erase: Nanos,
    /// The time of a byte on the channel.
    pub channel_ns_per_byte: f64,
    /// Command and address cycles of an operation, on the channel.
    pub command: Nanos,
    /// Whether reads go before writes.
    pub reads_first: bool,
    /// What it takes to suspend a program or an erase for a read; `None`: reads wait.
    pub suspend: Option<Nanos>,
    /// Whether cleaning copies within the die.
    pub copyback: bool,
    /// A write cache; `None`: writes go through to flash.
    pub cache: Option<CacheParameters>,
    /// The part of the page map that is in the device's memory; `None`: all of it.
    pub mapping_cache: Option<MappingCacheParameters>,
}

impl FlashParameters {
    /// Checks the flash of a profile; its caches are tables of their own.
    pub(super) fn new(check: &Checker<'_>, flash: &FlashProfile) -> Result<Self, SsdProfileError> {
        let channels = check.count("flash.channels", flash.channels, 1 << 10)?;
        let dies = check.count("flash.dies", flash.dies, 1 << 10)?;
        let planes_of_die = check.count("flash.planes", flash.planes, 1 << 6)?;
        let planes = channels * dies * planes_of_die;
        if flash.map_unwritten && !flash.read_unwritten {
            let expected = "flash.read_unwritten = true as well";
            return Err(check.wrong("flash.map_unwritten", true, expected));
        }
        let multi_plane = multi_plane(check, flash, planes_of_die)?;
        let (page, unit) = page_sizes(check, flash)?;
        if flash.map_unwritten && unit < page {
            let expected = "false where mapping_unit is smaller than page";
            return Err(check.wrong("flash.map_unwritten", true, expected));
        }
        if flash.partial_pages && unit > 64 * SECTOR_BYTES {
            let expected = "false where a logical page has more than 64 sectors";
            return Err(check.wrong("flash.partial_pages", true, expected));
        }
        let plane = shape(check, flash, page / unit)?;
        let overwrites = flash.overwrites;
        if !(0.0..=1e9).contains(&overwrites) {
            return Err(check.wrong("flash.overwrites", overwrites, "0 to 1e9"));
        }
        let preset = flash.cell.map(CellType::times);
        let erase = flash.erase_us.or(preset.map(|p| p.2));
        let Some(erase) = erase else {
            let expected = "a time, or a value of flash.cell to derive it from";
            return Err(check.wrong("flash.erase_us", "missing", expected));
        };
        let (read, program) = (flash.read_us.as_deref(), flash.program_us.as_deref());
        let suspend = flash.suspend_us;
        let checked = Self {
            channels,
            planes,
            planes_per_server: match flash.parallelism {
                Parallelism::Die => planes_of_die,
                Parallelism::Plane => 1,
            },
            multi_plane,
            multi_plane_command: check
                .micros("flash.multi_plane_command_us", flash.multi_plane_command_us)?,
            refresh: refresh(check, flash)?,
            host_pages: u64::from(planes) * u64::from(plane.logical_pages),
            plane,
            filling: flash.precondition,
            read_unwritten: flash.read_unwritten,
            map_unwritten: flash.map_unwritten,
            partial_pages: flash.partial_pages,
            overwrites,
            logical_page_bytes: unit,
            read: page_times(check, "flash.read_us", read.or(preset.map(|p| p.0)))?,
            program: page_times(check, "flash.program_us", program.or(preset.map(|p| p.1)))?,
            erase: check.micros("flash.erase_us", erase)?,
            channel_ns_per_byte: check
                .ns_per_byte("flash.channel_mb_per_s", flash.channel_mb_per_s)?,
            command: check.micros("flash.command_us", flash.command_us)?,
            reads_first: flash.scheduling == Scheduling::ReadsFirst,
            suspend: suspend
                .map(|us| check.micros("flash.suspend_us", us))
                .transpose()?,
            copyback: flash.copyback,
            cache: None,
            mapping_cache: None,
        };
        if checked.work_at_start() > MOST_WORK_AT_START {
            let (key, seen, expected) = checked.too_much_at_start(1);
            return Err(check.wrong(&format!("flash.{key}"), seen, expected));
        }
        Ok(checked)
    }

    /// How much is done before the first request, in page writes: those of cleaning and its search for blocks included.
    pub fn work_at_start(&self) -> f64 {
        self.work(self.preset_pages() + self.overwritten_pages())
    }

    /// What is to be changed if the work of `ssds` such SSDs is more than [`MOST_WORK_AT_START`]: the key, what it is, and
    /// what it may be.
    pub fn too_much_at_start(&self, ssds: usize) -> (&'static str, String, String) {
        let counted = match ssds {
            1 => String::new(),
            n => format!(" for {n} SSDs"),
        };
        let amplification = self.plane.steady_write_amplification();
        // What is left to overwrites.
        let preset = self.work(self.preset_pages()) * ssds as f64;
        let left = MOST_WORK_AT_START - preset;
        if left <= 0.0 || self.overwrites == 0.0 {
            let expected = format!(
                "\"sequential\"{counted}, or more spare space: at most the work of 10^8 page writes is done before the first \
                 request, and this is that of {preset:.1e} (with a write amplification of {amplification:.0})"
            );
            return ("precondition", "\"steady-state\"".to_owned(), expected);
        }
        let once = self.work(f64::from(self.plane.logical_pages)) * ssds as f64;
        // Rounded down, so that it is not refused.
        let most = libm::floor(left / once * 1e6) / 1e6;
        let instead = match self.filling {
            Filling::SteadyState => "",
            _ => "; precondition = \"steady-state\" takes no time",
        };
        let expected = format!(
            "at most {most}{counted} (the work of 10^8 page writes; the write amplification is {amplification:.1}){instead}"
        );
        ("overwrites", self.overwrites.to_string(), expected)
    }

    /// The work of all planes if each writes this many logical pages, in page writes.
    fn work(&self, pages: f64) -> f64 {
        // A page write takes as long as to look at this many blocks.
        const LOOKS: f64 = 32.0;
        // Most profiles write nothing.
        if pages == 0.0 {
            return 0.0;
        }
        let blocks = f64::from(self.plane.blocks);
        let choosing = match self.plane.cleaning {
            // The least of the groups of blocks, and of those of one group.
            Cleaning::Greedy => 3.0 * blocks.sqrt(),
            Cleaning::Fifo => 1.0,
            Cleaning::CostBenefit => 3.0 * blocks,
        };
        // A block that lags behind is full.
        let (levelling, wear) = match self.plane.wear_levelling {
            Some(_) => (16.0 + blocks.sqrt(), 2.0),
            None => (0.0, 1.0),
        };
        let programmed = pages * self.plane.steady_write_amplification() * wear;
        let cleanings = programmed / f64::from(self.plane.slots_per_block);
        let looks = cleanings * (LOOKS + choosing + levelling);
        f64::from(self.planes) * (programmed + looks / LOOKS)
    }

    /// How many logical pages of each plane are written for its state at the beginning: on average half a block, at random
    /// places.
    fn preset_pages(&self) -> f64 {
        match self.filling {
            Filling::SteadyState => f64::from(self.plane.slots_per_block / 2),
            _ => 0.0,
        }
    }

    /// How many logical pages of each plane are overwritten then.
    fn overwritten_pages(&self) -> f64 {
        libm::trunc(self.overwrites * f64::from(self.plane.logical_pages))
    }

    /// Each page of the map takes a logical page of spare room.
    pub(super) fn make_room_for_map(
        &mut self,
        check: &Checker<'_>,
        entries_per_page: u32,
    ) -> Result<(), SsdProfileError> {
        let pages = self.host_pages.div_ceil(u64::from(entries_per_page));
        let slots = self.plane.slots_per_page;
        let whole = pages.div_ceil(u64::from(self.planes) * u64::from(slots));
        let host = self.plane.logical_pages;
        let all = u64::from(host) + whole * u64::from(slots);
        self.plane.logical_pages = all.min(u64::from(u32::MAX)) as u32;
        self.plane.check().map_err(|e| {
            let expected = format!("false, or more spare space: with the map, {e}");
            check.wrong("mapping_cache.write_back", true, expected)
        })
    }

    /// The most memory that the flash takes before the first request, in bytes.
    pub(super) fn bytes_at_start(&self) -> u64 {
        self.bytes_after(self.preset_pages() + self.overwritten_pages())
    }

    /// The same without overwrites.
    pub(super) fn bytes_before_overwrites(&self) -> u64 {
        self.bytes_after(self.preset_pages())
    }

    /// After this many writes to logical pages of each plane.
    fn bytes_after(&self, pages: f64) -> u64 {
        // A plane, and the die or the plane that executes its operations.
        const PLANE: u64 = 1024;
        // The queue of a channel.
        const CHANNEL: u64 = 128;
        // Of a block: its reads, its seal, and its place in the order of age.
        let refreshed = match self.refresh {
            Some(_) => 56 * u64::from(self.plane.blocks),
            None => 0,
        };
        let of_plane = self.plane.bytes_after(pages as u64) + refreshed + PLANE;
        u64::from(self.planes) * of_plane + u64::from(self.channels) * CHANNEL
    }

    /// The planes that one command can work on together with this one have the same group: of a die with N planes those
    /// whose numbers differ by multiples of N / `multi_plane`, which follow each other in the order of logical pages at
    /// the largest distance.
    #[inline]
    pub(crate) fn plane_group(&self, plane: u32) -> u32 {
        plane % (self.planes / self.multi_plane)
    }

    /// The logical pages of the host, of all planes.
    pub fn logical_pages(&self) -> u64 {
        self.host_pages
    }

    pub(crate) fn logical_page_sectors(&self) -> u64 {
        self.logical_page_bytes / SECTOR_BYTES
    }
}

/// When blocks are rewritten because of what they hold.
fn refresh(
    check: &Checker<'_>,
    flash: &FlashProfile,
) -> Result<Option<RefreshLimits>, SsdProfileError> {
    let (reads, hours) = (flash.read_disturb_limit, flash.retention_h);
    if let Some(limit) = reads.filter(|&limit| limit < flash.pages) {
        let key = "flash.read_disturb_limit";
        let expected = "at least flash.pages, as rewriting a block reads each of its pages";
        return Err(check.wrong(key, limit, expected));
    }
    // A millisecond to ten years.
    if let Some(hours) = hours.filter(|hours| !(2.7e-7..=87_660.0).contains(hours)) {
        let expected = "hours, 2.7e-7 (a millisecond) to 87660 (ten years)";
        return Err(check.wrong("flash.retention_h", hours, expected));
    }
    if reads.is_none() && hours.is_none() {
        return Ok(None);
    }
    if flash.reserve == 0 {
        let expected = "2 or more with flash.read_disturb_limit or flash.retention_h";
        return Err(check.wrong("flash.reserve", 0, expected));
    }
    Ok(Some(RefreshLimits {
        reads,
        retention: hours.map(|hours| Nanos::nearest(hours * 3.6e12)),
    }))
}

/// On how many of a die's planes one command works.
fn multi_plane(
    check: &Checker<'_>,
    flash: &FlashProfile,
    planes_of_die: u32,
) -> Result<u32, SsdProfileError> {
    let key = "flash.multi_plane";
    let count = check.count(key, flash.multi_plane, planes_of_die)?;
    if !planes_of_die.is_multiple_of(count) {
        let expected = format!("a divisor of flash.planes, which is {planes_of_die}");
        return Err(check.wrong(key, count, expected));
    }
    if count > 1 && flash.parallelism == Parallelism::Plane {
        let expected =
            "1 with flash.parallelism = \"plane\", as independent planes share no commands";
        return Err(check.wrong(key, count, expected));
    }
    Ok(count)
}

/// The sizes of a flash page and of a logical page, in bytes.
fn page_sizes(check: &Checker<'_>, flash: &FlashProfile) -> Result<(u64, u64), SsdProfileError> {
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
    if !sectors || !page.is_multiple_of(unit) || page / unit > MOST_UNITS {
        let seen = format!("{unit} bytes with a page of {page} bytes");
        let expected = "a multiple of 512 bytes up to 1MiB, with 1 to 64 units per page";
        return Err(check.wrong("flash.mapping_unit", seen, expected));
    }
    Ok((page, unit))
}

/// The times of an operation by the page's place in its block.
fn page_times(
    check: &Checker<'_>,
    key: &str,
    times: Option<&[f64]>,
) -> Result<Vec<Nanos>, SsdProfileError> {
    let times = times.unwrap_or_default();
    if times.is_empty() {
        let expected = "times, or a value of flash.cell to derive them from";
        return Err(check.wrong(key, "missing", expected));
    }
    times.iter().map(|&us| check.micros(key, us)).collect()
}

/// The shape of each plane; a flash page has `per_page` logical ones.
fn shape(
    check: &Checker<'_>,
    flash: &FlashProfile,
    per_page: u64,
) -> Result<PlaneShape, SsdProfileError> {
    let over = flash.over_provisioning;
    if !(1e-4..=5.0).contains(&over) {
        let expected = "(physical pages / logical pages) - 1, from 0.0001 to 5; 0.15 means 15 %";
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
            "{blocks} (with pages = {pages}, reserve = {}, over_provisioning = {over})",
            flash.reserve
        );
        let expected = match e {
            ShapeError::TooLarge(_) => "a smaller plane",
            _ => "a plane with enough spare space",
        };
        check.wrong("flash.blocks", seen, format!("{expected} ({e})"))
    })?;
    if flash.reserve == 0 && per_page > 1 {
        // What goes back into a block would share flash pages with what the host writes.
        let expected = "2 or more where mapping_unit is smaller than page";
        return Err(check.wrong("flash.reserve", 0, expected));
    }
    Ok(plane)
}
