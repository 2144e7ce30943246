//! Several loads as one: side by side in time, or one behind the other.

use std::collections::{BTreeMap, HashMap};

use iosonar_units::{Nanos, Sector};

use super::time::possible;
use crate::limits::LIMIT;
use crate::{Batch, Metadata, TraceError, TraceReader};

/// Which sectors a load touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The lowest first sector.
    pub lowest: u64,
    /// The end of the highest request.
    pub end: u64,
}

/// The extents of what `reader` reads, by the number of the device; empty if there is nothing.
///
/// # Errors
/// If the load cannot be read.
pub fn extents_of(reader: &mut dyn TraceReader) -> Result<BTreeMap<u16, Extent>, TraceError> {
    let mut batch = Batch::default();
    let mut extents: BTreeMap<u16, Extent> = BTreeMap::new();
    while reader.next_batch(&mut batch)? > 0 {
        for request in batch.requests() {
            let (lowest, end) = (request.sector.get(), request.end().get());
            let extent = extents.entry(request.device);
            let extent = extent.or_insert(Extent { lowest, end });
            extent.lowest = extent.lowest.min(lowest);
            extent.end = extent.end.max(end);
        }
    }
    Ok(extents)
}

/// Devices of several traces, distinguished by their names.
#[derive(Default)]
struct Devices {
    names: Vec<String>,
    numbers: HashMap<String, u16>,
    /// Before any had a name: one more than the largest number.
    without_name: u32,
}

impl Devices {
    /// Gives the rows of `batch`, which come from a trace with these metadata, the numbers of the whole.
    fn renumber(&mut self, batch: &mut Batch, metadata: &Metadata) {
        if metadata.devices.is_empty() && self.names.is_empty() {
            let devices = batch
                .requests()
                .map(|request| u32::from(request.device) + 1);
            self.without_name = self.without_name.max(devices.max().unwrap_or(0));
            return;
        }
        if self.names.is_empty() {
            // What had no name so far are devices of their own.
            for number in (0..=u16::MAX).take(self.without_name as usize) {
                self.numbers.insert(number.to_string(), number);
                self.names.push(number.to_string());
            }
        }
        for row in 0..batch.len() {
            let mut record = batch.record(row);
            let name = metadata.device_name(record.request.device);
            let next = u16::try_from(self.names.len()).unwrap_or(u16::MAX);
            let number = *self.numbers.entry(name).or_insert_with_key(|name| {
                self.names.push(name.clone());
                next
            });
            if number != record.request.device {
                record.request.device = number;
                batch.set(row, &record);
            }
        }
    }
}

/// The lowest sector of each device of a load, and where that is moved to.
type Moves = BTreeMap<u16, (u64, u64)>;

/// A trace, with where its devices are moved to if they are moved.
type Placed = (Box<dyn TraceReader>, Option<Moves>);

struct Input {
    reader: Box<dyn TraceReader>,
    batch: Batch,
    row: usize,
    /// For loads side by side on one target: how far the devices of this one are moved.
    moved: Option<Moves>,
}

/// Several sorted traces as one, by start; of equal starts the first trace goes first.
pub struct Merged {
    inputs: Vec<Input>,
    devices: Devices,
    metadata: Metadata,
    begun: bool,
}

impl Merged {
    /// Merges `readers`, each sorted by start. Devices of the same name are the same.
    pub fn new(readers: Vec<Box<dyn TraceReader>>) -> Self {
        Self::with(readers.into_iter().map(|reader| (reader, None)).collect())
    }

    /// Puts loads side by side on one target, times kept: load i is moved by `base_i - m_i`, where `m_i` is
    /// its lowest sector rounded down to 8, `base_1 = 0` and `base_(i+1) = base_i + span_i` rounded up to 8. The requests to
    /// each device of a trace are a load.
    pub fn adjacent(traces: Vec<(Box<dyn TraceReader>, BTreeMap<u16, Extent>)>) -> Self {
        let mut base = 0_u64;
        let mut place = |extent: Extent| {
            let lowest = extent.lowest / 8 * 8;
            let moved = (lowest, base);
            base = base.saturating_add(extent.end.saturating_sub(lowest).next_multiple_of(8));
            moved
        };
        let placed = traces.into_iter().map(|(reader, extents)| {
            let devices = extents.into_iter();
            let moves = devices.map(|(device, extent)| (device, place(extent)));
            (reader, Some(moves.collect()))
        });
        Self::with(placed.collect())
    }

    fn with(readers: Vec<Placed>) -> Self {
        let metadata = readers
            .first()
            .map_or_else(Metadata::default, |(reader, _)| reader.metadata().clone());
        Self {
            inputs: readers
                .into_iter()
                .map(|(reader, moved)| Input {
                    reader,
                    batch: Batch::default(),
                    row: 0,
                    moved,
                })
                .collect(),
            devices: Devices::default(),
            metadata,
            begun: false,
        }
    }

    fn refill(&mut self, i: usize) -> Result<(), TraceError> {
        let input = &mut self.inputs[i];
        input.row = 0;
        if input.reader.next_batch(&mut input.batch)? == 0 {
            return Ok(());
        }
        if let Some(moves) = &input.moved {
            let devices: Vec<u16> = input.batch.requests().map(|of| of.device).collect();
            input.batch.set_devices(0);
            for (sector, device) in input.batch.sector_column_mut().iter_mut().zip(devices) {
                let (lowest, base) = moves[&device];
                let moved = (sector.get() - lowest).saturating_add(base);
                if moved >= LIMIT {
                    return Err(TraceError::Option(
                        "placed side by side, the loads end beyond sector 2^63 - 1: merge fewer of them"
                            .to_owned(),
                    ));
                }
                *sector = Sector::new(moved);
            }
        } else {
            self.devices
                .renumber(&mut input.batch, input.reader.metadata());
        }
        Ok(())
    }
}

impl TraceReader for Merged {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        if !std::mem::replace(&mut self.begun, true) {
            for i in 0..self.inputs.len() {
                self.refill(i)?;
            }
        }
        batch.clear();
        while batch.len() < Batch::ROWS {
            let start = |input: &Input| input.batch.starts().get(input.row).copied();
            let heads = self.inputs.iter().enumerate();
            let first = heads
                .filter_map(|(i, input)| Some((start(input)?, i)))
                .min();
            let Some((_, i)) = first else { break };
            let input = &mut self.inputs[i];
            batch.push_row(&input.batch, input.row);
            input.row += 1;
            if input.row == input.batch.len() {
                self.refill(i)?;
            }
        }
        self.metadata.devices.clone_from(&self.devices.names);
        self.metadata.remarks.clear();
        for input in &self.inputs {
            self.metadata.add_remarks(input.reader.metadata());
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}

/// Traces one behind the other. Where the next one begins earlier than the one before ended, on its own
/// axis, it is moved by the end of that one.
pub struct Pasted {
    inputs: std::vec::IntoIter<Box<dyn TraceReader>>,
    current: Option<Box<dyn TraceReader>>,
    last: Nanos,
    offset: Nanos,
    at_beginning: bool,
    devices: Devices,
    metadata: Metadata,
}

impl Pasted {
    /// Pastes `readers`, each sorted by start, in their order.
    pub fn new(readers: Vec<Box<dyn TraceReader>>) -> Self {
        let metadata = readers
            .first()
            .map_or_else(Metadata::default, |reader| reader.metadata().clone());
        let mut inputs = readers.into_iter();
        Self {
            current: inputs.next(),
            inputs,
            last: Nanos::ZERO,
            offset: Nanos::ZERO,
            at_beginning: true,
            devices: Devices::default(),
            metadata,
        }
    }
}

impl TraceReader for Pasted {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        while let Some(reader) = &mut self.current {
            if reader.next_batch(batch)? == 0 {
                self.metadata.add_remarks(reader.metadata());
                self.current = self.inputs.next();
                self.at_beginning = true;
                continue;
            }
            if std::mem::replace(&mut self.at_beginning, false) && batch.starts()[0] < self.last {
                self.offset = self.offset.saturating_add(self.last);
            }
            self.last = batch.starts()[batch.len() - 1];
            for start in batch.starts_mut() {
                *start = possible(start.get().checked_add(self.offset.get()), "--paste")?;
            }
            self.devices.renumber(batch, reader.metadata());
            self.metadata.devices.clone_from(&self.devices.names);
            break;
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        &self.metadata
    }
}
