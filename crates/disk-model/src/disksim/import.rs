//! From the parameters of a drive to its profile.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{DiskSimError, Warning, WarningAbout};
use super::files::Files;
use super::parameters::{Reader, as_number, as_whole, value, warning};
use super::seek_file::seek_file;
use super::syntax::parse;
use super::tree::{Block, Item, Topology, Tree, Value};
use crate::geometry::HeadOrder;
use crate::sparing::Sparing;
use crate::{
    Arrival, BusProfile, CacheProfile, DiskProfile, ExtraDisconnect, Geometry, GeometryProfile,
    LayoutProfile, LayoutZone, OverheadsProfile, ProfileError, ReadAhead, Requested, SeekLaw,
    SeekPoints, SeekProfile, TransferProfile, WaterMarkOf, Zoning,
};

/// How long a sector of 512 bytes takes on the bus, instead of what a `.parv` says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BusTimes {
    /// Of a read.
    pub read_ms: Option<f64>,
    /// Of a write.
    pub write_ms: Option<f64>,
}

/// A drive from parameter files.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The drive.
    pub profile: DiskProfile,
    /// What deserves attention.
    pub warnings: Vec<Warning>,
    /// The files that were read.
    pub files: Vec<PathBuf>,
}

/// Makes a profile of the drive in these files: a `.parv`, or a `.diskspecs`, or a `.model`; files that they name may be
/// beside them or be given too. With more than one drive in them, `drive` is the name of one.
///
/// # Errors
/// If a file cannot be read, is not of the syntax, or has values that make no drive.
pub fn import(
    files: &[PathBuf],
    drive: Option<&str>,
    bus: BusTimes,
) -> Result<Imported, DiskSimError> {
    let mut tree = Tree::default();
    let known = Files { given: files };
    let is_seek = |path: &Path| path.extension().is_some_and(|e| e == "seek");
    let mut read: Vec<PathBuf> = Vec::new();
    // A file that others include is read where they do; the widest come first.
    let mut order: Vec<&PathBuf> = files.iter().filter(|path| !is_seek(path)).collect();
    order.sort_by_key(|path| match path.extension().and_then(|e| e.to_str()) {
        Some("parv") => 0,
        Some("diskspecs") => 1,
        _ => 2,
    });
    for path in order {
        let same = |other: &PathBuf| match (other.canonicalize(), path.canonicalize()) {
            (Ok(a), Ok(b)) => a == b,
            _ => other == path,
        };
        if !read.iter().any(same) && !tree.included.iter().any(same) {
            parse(path, &known, &mut tree)?;
            read.push(path.clone());
        }
    }
    read.extend(tree.included.iter().cloned());
    let first = files.first().cloned().unwrap_or_default();
    let disk = chosen(&tree, drive, &first)?;
    let mut warnings = std::mem::take(&mut tree.warnings);
    let profile = match disk.kind.as_str() {
        "dm_disk" => {
            let mut profile = modelled(&disk, &tree, &known, &mut warnings)?;
            profile.description = described(&disk.name);
            profile
        }
        _ => whole_drive(&disk, &tree, &known, bus, &mut warnings)?,
    };
    // It is read again as the file that it becomes.
    let origin = first.display().to_string();
    let mut profile = DiskProfile::read(&profile.to_toml(), &origin)?;
    profile.name.clone_from(&disk.name);
    Ok(Imported {
        profile,
        warnings,
        files: read,
    })
}

fn described(name: &str) -> String {
    format!("{name}, from DiskSim parameters")
}

/// The drive that is meant: the one of this name, or the only one that is used, or the only one.
fn chosen(tree: &Tree, name: Option<&str>, first: &Path) -> Result<Arc<Block>, DiskSimError> {
    let of = |kind: &str| -> Vec<&Arc<Block>> {
        tree.blocks
            .iter()
            .filter(|block| block.kind == kind)
            .collect()
    };
    let mut drives = of("disksim_disk");
    if drives.is_empty() {
        drives = of("dm_disk");
    }
    let used: Vec<&Arc<Block>> = drives
        .iter()
        .copied()
        .filter(|block| tree.objects.values().any(|used| *used == block.name))
        .collect();
    let named = name.map(|name| drives.iter().copied().filter(|b| b.name == name).collect());
    let candidates: Vec<&Arc<Block>> = match named {
        Some(named) => named,
        None if used.is_empty() => drives.clone(),
        None => used,
    };
    if let [drive] = candidates[..] {
        return Ok(Arc::clone(drive));
    }
    let path = first.to_owned();
    if drives.is_empty() {
        return Err(DiskSimError::NoDrive { path });
    }
    Err(DiskSimError::WhichDrive {
        path,
        name: name.map(str::to_owned),
        known: drives.iter().map(|block| block.name.clone()).collect(),
    })
}

/// A `dm_disk`: mechanics and layout.
fn modelled(
    disk: &Block,
    tree: &Tree,
    files: &Files<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<DiskProfile, DiskSimError> {
    let read = Reader::new(disk);
    let surfaces = read.whole("Number of data surfaces", 1, 1024)? as u32;
    let cylinders = read.whole("Number of cylinders", 1, 10_000_000)? as u32;
    let mechanical = read.block("Mechanical Model", "a block dm_mech_g1", &tree.blocks)?;
    let layout = read.block("Layout Model", "a block dm_layout_g1", &tree.blocks)?;
    for (key, block, kind, instead) in [
        (
            "Mechanical Model",
            &mechanical,
            "dm_mech_g1",
            "dm_mech_g1 is",
        ),
        ("Layout Model", &layout, "dm_layout_g1", "dm_layout_g1 is"),
    ] {
        if block.kind != kind {
            return Err(DiskSimError::Unsupported {
                at: block.at.to_string(),
                key: key.to_owned(),
                seen: format!("'{}'", block.kind),
                instead,
            });
        }
    }
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

struct MechanicalModel {
    seek: SeekLaw,
    write_settle_ms: f64,
    head_switch_ms: f64,
    rpm: f64,
}

fn mechanical_model(
    block: &Block,
    files: &Files<'_>,
    cylinders: u32,
    warnings: &mut Vec<Warning>,
) -> Result<MechanicalModel, DiskSimError> {
    let read = Reader::new(block);
    let (access, at) = read.word("Access time type", "trackSwitchPlusRotation")?;
    if access != "trackSwitchPlusRotation" {
        return Err(match access {
            "constant" | "averageRotation" => DiskSimError::Unsupported {
                at: at.to_string(),
                key: "Access time type".to_owned(),
                seen: format!("'{access}'"),
                instead: "trackSwitchPlusRotation is, the rotation as it is",
            },
            _ => DiskSimError::Value {
                at: at.to_string(),
                key: "Access time type".to_owned(),
                seen: format!("'{access}'"),
                expected: "constant, averageRotation or trackSwitchPlusRotation".to_owned(),
            },
        });
    }
    let seek = seek_law(&read, files, cylinders, warnings)?;
    let model = MechanicalModel {
        seek,
        write_settle_ms: read.number("Add. write settling delay", -1e6, 1e6)?,
        head_switch_ms: read.ms("Head switch time")?,
        rpm: read.number("Rotation speed (in rpms)", 1.0, 1e7)?,
    };
    read.finish(warnings);
    Ok(model)
}

/// The curve of the seek type.
fn seek_law(
    read: &Reader<'_>,
    files: &Files<'_>,
    cylinders: u32,
    warnings: &mut Vec<Warning>,
) -> Result<SeekLaw, DiskSimError> {
    const TYPES: &str = "constant, linear, curve, hpl, hplplus10 or extracted";
    let (kind, at) = read.word("Seek type", TYPES)?;
    warn_of_other_seeks(read, kind, warnings);
    let three = || -> Result<[f64; 3], DiskSimError> {
        Ok([
            read.ms("Single cylinder seek time")?,
            read.ms("Average seek time")?,
            read.ms("Full strobe seek time")?,
        ])
    };
    Ok(match kind {
        "constant" => SeekLaw::Constant {
            seek_ms: read.ms("Constant seek time")?,
        },
        "linear" => {
            let [one, average, full] = three()?;
            let (third, last) = (f64::from(cylinders) / 3.0, f64::from(cylinders - 1));
            let mut points = vec![(1.0, one)];
            if third > 1.0 && last > third {
                points.push((third, average));
            }
            points.push((last, full));
            SeekLaw::Measured { points }
        }
        "curve" => {
            let [track_to_track_ms, average_ms, full_stroke_ms] = three()?;
            SeekLaw::ThreePoint {
                track_to_track_ms,
                average_ms,
                full_stroke_ms,
            }
        }
        "hpl" | "hplplus10" => two_piece(read, kind)?,
        "extracted" => {
            let (name, at) = read.word("Full seek curve", "a file of distances and times")?;
            SeekLaw::Measured {
                points: seek_file(&files.find(name, at)?)?,
            }
        }
        _ => {
            return Err(DiskSimError::Value {
                at: at.to_string(),
                key: "Seek type".to_owned(),
                seen: format!("'{kind}'"),
                expected: TYPES.to_owned(),
            });
        }
    })
}

/// The six values of the equation, and the times of the shortest seeks.
fn two_piece(read: &Reader<'_>, kind: &str) -> Result<SeekLaw, DiskSimError> {
    let numbers = |key: &'static str, count: usize, least: f64, expected: &'static str| {
        let items = read.list(key, expected)?;
        if items.len() != count {
            let item = read.find(key).expect("it was found before");
            return Err(value(key, item, expected));
        }
        items
            .iter()
            .map(|item| as_number(key, item, least, 1e9))
            .collect::<Result<Vec<f64>, _>>()
    };
    let values = numbers("HPL seek equation values", 6, -1e9, "a list of six numbers")?;
    let first_ms = match kind {
        "hplplus10" => {
            let expected = "a list of ten times in milliseconds";
            numbers("First ten seek times", 10, 0.0, expected)?
        }
        _ if values[5] == -1.0 => Vec::new(),
        _ => vec![values[5]],
    };
    Ok(SeekLaw::TwoPiece {
        first_ms,
        line_from_cylinders: values[0],
        root_ms: (values[1], values[2]),
        line_ms: (values[3], values[4]),
    })
}

/// Warns of parameters of other types of seek: files often have what is left of them.
fn warn_of_other_seeks(read: &Reader<'_>, kind: &str, warnings: &mut Vec<Warning>) {
    let own: &[&str] = match kind {
        "constant" => &["Constant seek time"],
        "linear" | "curve" => &[
            "Single cylinder seek time",
            "Average seek time",
            "Full strobe seek time",
        ],
        "hpl" => &["HPL seek equation values", "Single cylinder seek time"],
        "hplplus10" => &["HPL seek equation values", "First ten seek times"],
        _ => &["Full seek curve"],
    };
    for key in [
        "Constant seek time",
        "Single cylinder seek time",
        "Average seek time",
        "Full strobe seek time",
        "HPL seek equation values",
        "First ten seek times",
        "Full seek curve",
    ] {
        if let Some(item) = read.find(key)
            && !own.contains(&key)
        {
            warnings.push(warning(item, key, WarningAbout::OtherSeekType));
        }
    }
}

fn laid_out(block: &Block, warnings: &mut Vec<Warning>) -> Result<LayoutProfile, DiskSimError> {
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
            return Err(DiskSimError::Unsupported {
                at: item.at.to_string(),
                key: "Sparing scheme used".to_owned(),
                seen: other.to_string(),
                instead: "0, 1, 2, 3, 5, 7, 8 and 9 are",
            });
        }
    };
    let range_cylinders = read
        .whole_or("Rangesize for sparing", 1, 0, i64::from(u32::MAX))?
        .max(1);
    let in_turns = turns(&read, false)?;
    let key = "Zones";
    let expected = "a list of blocks dm_layout_g1_zone";
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
        let item = read.find(last).expect("it was found before");
        return Err(value(
            last,
            item,
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
        let item = read.find("defects").expect("it was found before");
        return Err(value(
            "defects",
            item,
            "pairs of a defective place and the one that replaces it",
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

/// A `disksim_disk`: model, buffer, electronics, and the bus above it.
fn whole_drive(
    disk: &Arc<Block>,
    tree: &Tree,
    files: &Files<'_>,
    bus: BusTimes,
    warnings: &mut Vec<Warning>,
) -> Result<DiskProfile, DiskSimError> {
    let read = Reader::new(disk);
    let model = read.block(
        "Model",
        "a block dm_disk, such as 'source x.model'",
        &tree.blocks,
    )?;
    let profile = modelled(&model, tree, files, warnings)?;
    let cache = cache_of(&read, profile.capacity_sectors)?;
    let overheads = overheads_of(&read)?;
    warn_of_own_rules(&read, warnings)?;
    let bus = bus_of(&read, tree, bus, warnings)?;
    read.finish(warnings);
    Ok(DiskProfile {
        description: described(&disk.name),
        cache: Some(cache),
        overheads: Some(overheads),
        bus: Some(bus),
        ..profile
    })
}

fn cache_of(read: &Reader<'_>, capacity: u64) -> Result<CacheProfile, DiskSimError> {
    let segments = read.whole("Number of buffer segments", 1, 65_536)?;
    let segment_sectors = read.whole("Segment size (in blks)", 1, capacity as i64)?;
    let size = segment_sectors as i64;
    let write_segments = read.whole("Maximum number of write segments", 1, segments as i64)?;
    let caching = read.whole("Enable caching in buffer", 0, 2)?;
    let fast = read.whole("Fast write level", 0, 2)?;
    let separate = "Use separate write segment";
    let separate_write_segment = read.boolean(separate)?;
    if separate_write_segment && segments < 2 {
        let item = read.find(separate).expect("it was found before");
        return Err(value(
            separate,
            item,
            "0 with one buffer segment: reads must have one too",
        ));
    }
    Ok(CacheProfile {
        segments: segments as u32,
        segment_sectors,
        write_segments: write_segments as u32,
        separate_write_segment,
        keeps_data: caching > 0,
        read_hits_on_written: read.boolean("Allow read hits on write data")?,
        almost_read_hits: read.boolean("Allow almost read hits")?,
        read_ahead: match read.whole("Buffer continuous read", 0, 4)? {
            0 => ReadAhead::None,
            1 => ReadAhead::Track,
            2 => ReadAhead::Cylinder,
            3 => ReadAhead::Maximum,
            _ => ReadAhead::NextTrack,
        },
        minimum_read_ahead_sectors: read.whole("Minimum read-ahead (blks)", 0, size)?,
        maximum_read_ahead_sectors: read.whole("Maximum read-ahead (blks)", 0, size)?,
        requested: match read.number("Read-ahead over requested", -1.0, 1.0)? {
            x if x > 0.5 => Requested::PushedOut,
            x if x < -0.5 => Requested::DroppedWhenSent,
            _ => Requested::Kept,
        },
        read_ahead_on_hit: read.boolean("Read-ahead on idle hit")?,
        stop_in_sector: read.boolean("Stop prefetch in sector")?,
        finish_step: read.boolean("Disconnect write if seek")?,
        free_blocks: read.boolean("Read any free blocks")?,
        immediate_reads: read.whole("Immediate buffer read", 0, 2)? > 0,
        // What the files were validated with: one drive of three that ask for it is less true with reading on arrival.
        arrival: Arrival::AsDisksim,
        reads_directly: read.boolean("Read directly to buffer")?,
        sends_partial_hits: read.boolean("Immed transfer partial hit")?,
        fast_writes: fast > 0,
        combine_writes: read.boolean("Combine seq writes")?,
        writes_wait_for_medium: true,
    })
}

fn overheads_of(read: &Reader<'_>) -> Result<OverheadsProfile, DiskSimError> {
    let scale = read.number("Time scale for overheads", 0.0, 1e9)?;
    let ms = |key: &'static str| -> Result<f64, DiskSimError> { Ok(read.ms(key)? * scale) };
    let extra = ExtraDisconnect {
        command_ms: ms("Extradisc command overhead")?,
        disconnect_ms: ms("Extradisc disconnect overhead")?,
        between_ms: ms("Extradisc inter-disconnect delay")?,
        second_disconnect_ms: ms("Extradisc 2nd disconnect overhead")?,
        seek_delta_ms: ms("Extradisc seek delta")?,
    };
    Ok(OverheadsProfile {
        per_request_ms: ms("Per-request overhead time")?,
        read_hit_after_read_ms: ms("Read hit over. after read")?,
        read_hit_after_write_ms: ms("Read hit over. after write")?,
        read_miss_after_read_ms: ms("Read miss over. after read")?,
        read_miss_after_write_ms: ms("Read miss over. after write")?,
        write_hit_after_read_ms: ms("Write hit over. after read")?,
        write_hit_after_write_ms: ms("Write hit over. after write")?,
        write_miss_after_read_ms: ms("Write miss over. after read")?,
        write_miss_after_write_ms: ms("Write miss over. after write")?,
        read_completion_ms: ms("Read completion overhead")?,
        write_completion_ms: ms("Write completion overhead")?,
        data_preparation_ms: ms("Data preparation overhead")?,
        first_reselect_ms: ms("First reselect overhead")?,
        other_reselect_ms: ms("Other reselect overhead")?,
        read_disconnect_after_read_ms: ms("Read disconnect afterread")?,
        read_disconnect_after_write_ms: ms("Read disconnect afterwrite")?,
        write_disconnect_ms: ms("Write disconnect overhead")?,
        minimum_write_seek_ms: read.ms("Minimum seek delay")?,
        extra_write_disconnect: read.boolean("Extra write disconnect")?.then_some(extra),
    })
}

/// Warns of what is switched on for several requests at once.
fn warn_of_own_rules(read: &Reader<'_>, warnings: &mut Vec<Warning>) -> Result<(), DiskSimError> {
    for key in [
        "Allow sneaky full read hits",
        "Allow sneaky partial read hits",
        "Allow sneaky intermediate read hits",
        "Allow write prebuffering",
        "Preseeking level",
    ] {
        let most = if key == "Preseeking level" { 2 } else { 1 };
        if read.whole_or(key, 0, 0, most)? > 0 {
            let item = read.find(key).expect("it has a value");
            warnings.push(warning(item, key, WarningAbout::OwnRules));
        }
    }
    Ok(())
}

fn bus_of(
    read: &Reader<'_>,
    tree: &Tree,
    given: BusTimes,
    warnings: &mut Vec<Warning>,
) -> Result<BusProfile, DiskSimError> {
    let bulk_ms = read.ms("Bulk sector transfer time")?;
    let above = bus_above(read.block, tree, warnings)?;
    if above.is_none() && given == BusTimes::default() {
        warnings.push(Warning {
            at: read.block.at.to_string(),
            key: read.block.name.clone(),
            about: WarningAbout::NoBus,
        });
    }
    let above = above.unwrap_or([0.0; 2]);
    Ok(BusProfile {
        read_ms_per_sector: bulk_ms.max(given.read_ms.unwrap_or(above[0])),
        write_ms_per_sector: bulk_ms.max(given.write_ms.unwrap_or(above[1])),
        hold_reads: read.boolean("Hold bus entire read xfer")?,
        hold_writes: read.boolean("Hold bus entire write xfer")?,
        never_disconnect: read.boolean("Never disconnect")?,
        read_water_mark: read.number("High (read) water mark", 0.0, 1.0)?,
        write_water_mark: read.number("Low (write) water mark", 0.0, 1.0)?,
        water_mark_of: match read.boolean("Set watermark by reqsize")? {
            true => WaterMarkOf::Request,
            false => WaterMarkOf::Segment,
        },
    })
}

/// The times of a sector on the bus above a drive, read and written, with that of the controller above it.
fn bus_above(
    disk: &Block,
    tree: &Tree,
    warnings: &mut Vec<Warning>,
) -> Result<Option<[f64; 2]>, DiskSimError> {
    let is_this = |topology: &Topology| {
        topology.kind == "disksim_disk"
            && tree.objects.get(&topology.name).unwrap_or(&topology.name) == &disk.name
    };
    let mut path = Vec::new();
    if !tree
        .topologies
        .iter()
        .any(|topology| path_to(topology, &is_this, &mut path))
    {
        return Ok(None);
    }
    let block_of = |topology: &Topology| {
        let name = tree.objects.get(&topology.name).unwrap_or(&topology.name);
        tree.blocks.iter().find(|block| block.name == *name)
    };
    let mut times = [0.0_f64; 2];
    let mut found = false;
    let bus = path
        .iter()
        .rev()
        .find(|topology| topology.kind == "disksim_bus");
    if let Some(block) = bus.and_then(|topology| block_of(topology)) {
        let read = Reader::new(block);
        times = [
            read.ms("Read block transfer time")?,
            read.ms("Write block transfer time")?,
        ];
        read.finish(warnings);
        found = true;
    }
    let controller = path
        .iter()
        .rev()
        .find(|topology| topology.kind == "disksim_ctlr");
    if let Some(block) = controller.and_then(|topology| block_of(topology)) {
        let read = Reader::new(block);
        let bulk = read.number_or("Bulk sector transfer time", 0.0, 0.0, 1e6)?;
        times = times.map(|time| time.max(bulk));
        read.finish(warnings);
    }
    Ok(found.then_some(times))
}

/// The components above a drive, from the top.
fn path_to<'t>(
    topology: &'t Topology,
    is_this: &impl Fn(&Topology) -> bool,
    path: &mut Vec<&'t Topology>,
) -> bool {
    if is_this(topology) {
        return true;
    }
    path.push(topology);
    if topology
        .below
        .iter()
        .any(|below| path_to(below, is_this, path))
    {
        return true;
    }
    path.pop();
    false
}
