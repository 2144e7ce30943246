//! A `dm_layout_g1`: how sectors are numbered, and its zones.

use crate::disksim::error::{DiskSimError, Warning};
use crate::disksim::parameters::{Reader, as_whole, unsupported, value};
use crate::disksim::tree::{Block, Item, Value};
use crate::geometry::HeadOrder;
use crate::sparing::Sparing;
use crate::{LayoutProfile, LayoutZone};

pub(super) fn laid_out(
    block: &Block,
    warnings: &mut Vec<Warning>,
) -> Result<LayoutProfile, DiskSimError> {
    let read = Reader::new(block);
    let heads = match read.whole("LBN-to-PBN mapping scheme", 0, 2)? {
        0 => HeadOrder::Ascending,
        1 => HeadOrder::SerpentineInZone,
        _ => HeadOrder::Serpentine,
    };
    let sparing = match read.whole("Sparing scheme used", 0, 10)? {
        0 => Sparing::None,
        1 => Sparing::Tracks,
        2 => Sparing::Cylinder,
        3 => Sparing::Track,
        5 => Sparing::CylinderFront,
        7 => Sparing::Disk,
        8 => Sparing::Range,
        9 => Sparing::Zone,
        other => {
            let item = read
                .find("Sparing scheme used")
                .expect("it was found before");
            let instead = "0, 1, 2, 3, 5, 7, 8 and 9 are";
            return Err(unsupported("Sparing scheme used", &item.at, other, instead));
        }
    };
    let range_cylinders = read
        .whole_or("Rangesize for sparing", 1, 0, i64::from(u32::MAX))?
        .max(1);
    let in_turns = turns(&read, false)?;
    let key = "Zones";
    let expected = "a list of dm_layout_g1_zone blocks";
    let mut zones = Vec::new();
    for item in read.list(key, expected)? {
        let Value::Block(zone) = &item.value else {
            return Err(value(key, item, expected));
        };
        zones.push(zone_of(zone, in_turns, warnings)?);
    }
    read.finish(warnings);
    Ok(LayoutProfile {
        heads,
        sparing,
        range_cylinders: range_cylinders as u32,
        zones,
    })
}

/// Whether skews are in turns.
fn turns(read: &Reader<'_>, default: bool) -> Result<bool, DiskSimError> {
    let key = "Skew units";
    match read.find(key) {
        None => Ok(default),
        Some(item) => match &item.value {
            Value::Word(unit) if unit == "sectors" => Ok(false),
            Value::Word(unit) if unit == "revolutions" => Ok(true),
            _ => Err(value(key, item, "sectors or revolutions")),
        },
    }
}

fn zone_of(
    block: &Block,
    in_turns: bool,
    warnings: &mut Vec<Warning>,
) -> Result<LayoutZone, DiskSimError> {
    let read = Reader::new(block);
    let most = i64::from(u32::MAX) - 1;
    let in_turns = turns(&read, in_turns)?;
    let sectors_per_track = read.whole("Blocks per track", 1, 1 << 20)? as u32;
    // In sectors they are whole numbers.
    let skew = |ms: f64| match in_turns {
        true => ms * f64::from(sectors_per_track),
        false => ms.trunc(),
    };
    let first_cylinder = read.whole("First cylinder number", 0, most)? as u32;
    let last = "Last cylinder number";
    let last_cylinder = read.whole(last, 0, most)? as u32;
    if last_cylinder < first_cylinder {
        return Err(read.refused(
            last,
            &format!("at least the first cylinder, {first_cylinder}"),
        ));
    }
    let places = |key: &'static str| -> Result<Vec<u64>, DiskSimError> {
        let items = read.list_or_empty(key)?;
        items
            .iter()
            .map(|item: &Item| as_whole(key, item, 0, i64::MAX))
            .collect()
    };
    let defects = places("defects")?;
    if !defects.len().is_multiple_of(2) {
        return Err(read.refused(
            "defects",
            "pairs of a defective location and its replacement",
        ));
    }
    let zone = LayoutZone {
        first_cylinder,
        last_cylinder,
        sectors_per_track,
        offset_sectors: skew(read.number_or("Offset of first block", 0.0, -1e6, 1e6)?),
        track_skew_sectors: skew(read.number_or("Skew for track switch", 0.0, -1e6, 1e6)?),
        cylinder_skew_sectors: skew(read.number_or("Skew for cylinder switch", 0.0, -1e6, 1e6)?),
        skipped_sectors: read.whole("Empty space at zone front", 0, i64::MAX)?,
        spares: read.whole("Number of spares", 0, i64::MAX)?,
        slips: places("slips")?,
        remaps: defects.chunks(2).map(|pair| (pair[0], pair[1])).collect(),
    };
    read.finish(warnings);
    Ok(zone)
}
