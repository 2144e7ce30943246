//! The bus of a drive, and the buses and controllers above it in the topology.

use super::BusTimes;
use crate::disksim::error::{DiskSimError, Warning, WarningAbout};
use crate::disksim::parameters::Reader;
use crate::disksim::tree::{Block, Topology, Tree};
use crate::{BusProfile, WaterMarkOf};

pub(super) fn bus_of(
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
