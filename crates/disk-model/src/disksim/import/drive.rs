//! A `disksim_disk`: model, buffer, electronics, and the bus above it.

use std::sync::Arc;

use super::bus::bus_of;
use super::model::modelled;
use super::{BusTimes, described};
use crate::disksim::error::{DiskSimError, Warning, WarningAbout};
use crate::disksim::files::Files;
use crate::disksim::parameters::{Reader, warning};
use crate::disksim::tree::{Block, Tree};
use crate::{
    Arrival, CacheProfile, DiskProfile, ExtraDisconnect, OverheadsProfile, ReadAhead, Requested,
};

/// The profile of a block.
pub(super) fn whole_drive(
    disk: &Arc<Block>,
    tree: &Tree,
    files: &Files<'_>,
    bus: BusTimes,
    warnings: &mut Vec<Warning>,
) -> Result<DiskProfile, DiskSimError> {
    let read = Reader::new(disk);
    let model = read.block(
        "Model",
        "a dm_disk block, such as 'source x.model'",
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
        return Err(read.refused(
            separate,
            "0 with one buffer segment, because reads also need one",
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
