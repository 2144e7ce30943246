//! Linux's software RAID: `array.like` and the table `[array.md]`.

use iosonar_raid::{Bitmap, CopyLayout, MdParity, Placement, StripeHandling};
use iosonar_units::{Sectors, grouped};

use super::array::sectors;
use super::check::Checker;
use crate::ScenarioError;
use crate::array_model::{Devices, MdOptions};
use crate::file::{ArrayFile, CopiesLie, GivenLevel, LevelName, MdFile, RebuildFile};
use crate::words::{Given, Word};

/// The most rows of the stripe cache, as in md.
const MOST_ROWS: usize = 32_768;
const PAGE: Sectors = Sectors::new(8);
const DEFAULT_DATA_OFFSET: Sectors = Sectors::new(2048);
/// mdadm's.
pub(super) const DEFAULT_CHUNK: Sectors = Sectors::new(1024);

/// What `like = "linux-md"` adds to the level; keys that do not go with it are refused.
pub(super) fn options(
    check: &Checker<'_>,
    array: &ArrayFile,
    placement: Placement,
    chunk: Sectors,
    rebuild: Option<&RebuildFile>,
    devices: &Devices,
) -> Result<Option<MdOptions>, ScenarioError> {
    let none = MdFile::default();
    let Some(like) = &array.like else {
        return match &array.md {
            None => Ok(None),
            Some(_) => Err(check.incomplete(
                "[array.md] describes Linux software RAID: set like = \"linux-md\" in [array], or remove [array.md]",
            )),
        };
    };
    let md = array.md.as_ref().unwrap_or(&none);
    let wrong_level = |seen: &str| {
        let expected = format!(
            "a level of Linux md that iosonar models: \"raid0\", \"raid1\", \"raid10\", \"raid5\" or \"raid6\" (the \
             level is \"{seen}\")"
        );
        Err(check.wrong(like, "array.like", "\"linux-md\"", expected))
    };
    let has_parity = match array.level.get_ref() {
        GivenLevel::BuiltIn(LevelName::Raid0 | LevelName::Raid1 | LevelName::Raid10) => false,
        GivenLevel::BuiltIn(LevelName::Raid5 | LevelName::Raid6) => true,
        GivenLevel::BuiltIn(other) => return wrong_level(other.word()),
        GivenLevel::Other(name) => return wrong_level(name),
    };
    if placement == Placement::Random {
        return Err(check.wrong(
            like,
            "array.like",
            "\"linux-md\"",
            "requests with addresses: a trace, or 'addresses' in the load",
        ));
    }
    if array.mirror_read.is_some() {
        return Err(check.incomplete(
            "'array.mirror_read' does not apply to like = \"linux-md\", which balances reads itself: remove the key",
        ));
    }
    if rebuild.is_some() && !has_parity {
        return Err(check.incomplete(
            "[rebuild] with like = \"linux-md\" needs RAID 5 or 6: remove [rebuild] or 'array.like'",
        ));
    }
    check_chunk(check, array, chunk)?;
    let disks = *array.disks.get_ref();
    if has_parity && disks > MdParity::MOST_DISKS {
        let expected = format!("at most {} with like = \"linux-md\"", MdParity::MOST_DISKS);
        return Err(check.wrong(&array.disks, "array.disks", disks, expected));
    }
    let (data_offset, copies) = (data_offset(check, md, devices)?, copies(check, array, md)?);
    let options = MdOptions {
        data_offset,
        bitmap: bitmap(check, array, md, data_offset, devices)?,
        copies,
        handling: handling(check, md, has_parity)?,
    };
    Ok(Some(options))
}

/// A chunk is a power of two, and at least a page; of RAID 0 a whole number of pages.
fn check_chunk(
    check: &Checker<'_>,
    array: &ArrayFile,
    chunk: Sectors,
) -> Result<(), ScenarioError> {
    let Some(given) = &array.stripe_unit else {
        return Ok(());
    };
    let is_chunk = match array.built_in() {
        Some(LevelName::Raid1) => true,
        Some(LevelName::Raid0) => chunk.get().is_multiple_of(PAGE.get()),
        _ => chunk.get().is_power_of_two() && chunk >= PAGE,
    };
    if is_chunk {
        return Ok(());
    }
    let expected = match array.built_in() {
        Some(LevelName::Raid0) => "a multiple of 4 KiB with like = \"linux-md\"",
        _ => "a power of two, at least 4 KiB, with like = \"linux-md\"",
    };
    let seen = format!("'{}'", given.get_ref());
    Err(check.wrong(given, "array.stripe_unit", seen, expected))
}

fn data_offset(
    check: &Checker<'_>,
    md: &MdFile,
    devices: &Devices,
) -> Result<Sectors, ScenarioError> {
    let Some(given) = &md.data_offset else {
        return Ok(DEFAULT_DATA_OFFSET);
    };
    let offset = sectors(check, "array.md.data_offset", given)?;
    let disk = devices.disk_sectors();
    if offset.get().is_multiple_of(PAGE.get()) && u64::from(offset.get()) < disk {
        return Ok(offset);
    }
    let expected = format!("a multiple of 4 KiB, smaller than the disk ({disk} sectors)");
    let seen = format!("'{}'", given.get_ref());
    Err(check.wrong(given, "array.md.data_offset", seen, expected))
}

/// The simulation keeps a number for each chunk of a bitmap: these take 256 MiB. A bitmap of this size takes 8 MiB of each
/// disk; those that mdadm creates are far smaller.
const MOST_CHUNKS: u64 = 1 << 26;

/// The bitmap lies between the superblock and the data.
fn bitmap(
    check: &Checker<'_>,
    array: &ArrayFile,
    md: &MdFile,
    data_offset: Sectors,
    devices: &Devices,
) -> Result<Option<Sectors>, ScenarioError> {
    let Some(given) = &md.bitmap else {
        return Ok(None);
    };
    let key = "array.md.bitmap";
    let wrong = |expected: String| {
        let seen = format!("'{}'", given.get_ref());
        Err(check.wrong(given, key, seen, expected))
    };
    if array.built_in() == Some(LevelName::Raid0) {
        return wrong("no value for RAID 0, which has no redundancy to keep consistent".to_owned());
    }
    let chunk = sectors(check, key, given)?;
    if !chunk.get().is_power_of_two() || chunk < PAGE {
        return wrong("the chunk size of a bitmap, a power of two of at least 4 KiB".to_owned());
    }
    // Of RAID 10 a bit is for sectors of the array, else for those of each disk.
    let disks = match array.built_in() {
        Some(LevelName::Raid10) => *array.disks.get_ref() as u64,
        _ => 1,
    };
    let all = devices.disk_sectors().saturating_mul(disks);
    if Bitmap::end(all, chunk) > u64::from(data_offset.get()) {
        return wrong(format!(
            "larger chunks, such as \"64MiB\", or a larger 'data_offset', as the bitmap does not fit in the {} KiB before \
             the data",
            data_offset.get() / 2
        ));
    }
    if all.div_ceil(u64::from(chunk.get())) > MOST_CHUNKS {
        return wrong(format!(
            "larger chunks, such as \"64MiB\": a bitmap has at most {} of them",
            grouped(MOST_CHUNKS)
        ));
    }
    Ok(Some(chunk))
}

fn copies(
    check: &Checker<'_>,
    array: &ArrayFile,
    md: &MdFile,
) -> Result<Option<CopyLayout>, ScenarioError> {
    if array.built_in() != Some(LevelName::Raid10) {
        return match &md.copies_lie {
            None => Ok(None),
            Some(given) => {
                let seen = given.get_ref().0.quoted();
                let expected = "no value for this level, as the key applies to RAID 10";
                Err(check.wrong(given, "array.md.copies_lie", seen, expected))
            }
        };
    }
    let copies = array.copies.as_ref().map_or(2, |n| *n.get_ref());
    let lie = md.copies_lie.as_ref().map(|given| given.get_ref().0);
    let (near, far) = match lie.unwrap_or_default() {
        CopiesLie::Near => (copies, 1),
        CopiesLie::Far | CopiesLie::Offset => (1, copies),
    };
    Ok(Some(CopyLayout {
        near,
        far,
        offset: lie == Some(CopiesLie::Offset),
    }))
}

fn handling(
    check: &Checker<'_>,
    md: &MdFile,
    has_parity: bool,
) -> Result<StripeHandling, ScenarioError> {
    let mut handling = StripeHandling::default();
    let expected = "no value for this level, as the key applies to RAID 5 and 6";
    if let Some(given) = &md.rmw {
        let Given(level) = *given.get_ref();
        if !has_parity {
            return Err(check.wrong(given, "array.md.rmw", level.quoted(), expected));
        }
        handling.rmw_level = level;
    }
    if let Some(given) = &md.stripe_cache_size {
        let rows = *given.get_ref();
        let key = "array.md.stripe_cache_size";
        if !has_parity {
            return Err(check.wrong(given, key, rows, expected));
        }
        if !(17..=MOST_ROWS).contains(&rows) {
            let expected = format!("a number of rows of pages, 17 to {MOST_ROWS}");
            return Err(check.wrong(given, key, rows, expected));
        }
        handling.cache_rows = rows;
    }
    Ok(handling)
}
