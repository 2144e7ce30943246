//! A `dm_disk`: mechanics and layout.

use super::layout::laid_out;
use super::mechanics::mechanical_model;
use crate::disksim::error::{DiskSimError, Warning};
use crate::disksim::files::Files;
use crate::disksim::parameters::{Reader, unsupported};
use crate::disksim::tree::{Block, Tree};
use crate::{
    DiskProfile, Geometry, GeometryProfile, ProfileError, SeekPoints, SeekProfile, TransferProfile,
    Zoning,
};

/// The profile of a block.
pub(super) fn modelled(
    disk: &Block,
    tree: &Tree,
    files: &Files<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<DiskProfile, DiskSimError> {
    let read = Reader::new(disk);
    let surfaces = read.whole("Number of data surfaces", 1, 1024)? as u32;
    let cylinders = read.whole("Number of cylinders", 1, 10_000_000)? as u32;
    let mechanical = read.block("Mechanical Model", "a dm_mech_g1 block", &tree.blocks)?;
    let layout = read.block("Layout Model", "a dm_layout_g1 block", &tree.blocks)?;
    simulated(
        &mechanical,
        "Mechanical Model",
        "dm_mech_g1",
        "dm_mech_g1 is",
    )?;
    simulated(&layout, "Layout Model", "dm_layout_g1", "dm_layout_g1 is")?;
    read.finish(warnings);
    let layout = laid_out(&layout, warnings)?;
    let last = layout.zones.iter().map(|zone| zone.last_cylinder).max();
    // Some models count fewer cylinders than their zones have.
    let cylinders = cylinders.max(last.unwrap_or(0).saturating_add(1)).max(3);
    let mechanics = mechanical_model(&mechanical, files, cylinders, warnings)?;
    let per_track = |pick: fn(u32, u32) -> u32| {
        layout
            .zones
            .iter()
            .map(|z| z.sectors_per_track)
            .reduce(pick)
    };
    let most = f64::from(per_track(u32::max).unwrap_or(1));
    let fewest = f64::from(per_track(u32::min).unwrap_or(1));
    let revolution_ms = 60_000.0 / mechanics.rpm;
    let mut profile = DiskProfile {
        provenance: None,
        data_sheet: None,
        queue: None,
        name: disk.name.clone(),
        description: String::new(),
        cylinders,
        revolution_ms,
        capacity_sectors: 1,
        shingled: None,
        transfer: TransferProfile {
            outermost_ms_per_sector: revolution_ms / most,
            innermost_ms_per_sector: revolution_ms / fewest,
            zoning: Zoning::SectorsPerTrackLinear,
        },
        seek: SeekProfile {
            read: SeekPoints::default(),
            write: SeekPoints::default(),
            curve: Some(mechanics.seek),
            write_settle_ms: mechanics.write_settle_ms,
        },
        geometry: GeometryProfile {
            surfaces,
            head_switch_ms: mechanics.head_switch_ms,
            ..GeometryProfile::default()
        },
        layout: Some(layout),
        cache: None,
        overheads: None,
        bus: None,
    };
    // The layout is checked before its sectors are counted.
    let origin = disk.at.path.display().to_string();
    match DiskProfile::read(&profile.to_toml(), &origin) {
        Ok(_) | Err(ProfileError::Capacity { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    profile.capacity_sectors = Geometry::new(&profile).capacity();
    Ok(profile)
}

/// Whether a block is of the one kind that is simulated.
fn simulated(
    block: &Block,
    key: &str,
    kind: &str,
    instead: &'static str,
) -> Result<(), DiskSimError> {
    if block.kind == kind {
        return Ok(());
    }
    let seen = format_args!("'{}'", block.kind);
    Err(unsupported(key, &block.at, seen, instead))
}
