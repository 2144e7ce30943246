//! Records to columns.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, DurationNanosecondArray, Int8Array, Int32Array,
    RecordBatch, StringArray, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Schema};
use iosonar_trace::fields::{flags_text, status_text};
use iosonar_trace::{Batch, Flags, Metadata, Op, Status, TraceError, TraceReader};
use iosonar_units::Nanos;

use crate::devices::labels;
use crate::schema::schema;

/// A time of a record is beyond what a column holds: 2^63 - 1 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// The row of the batch.
    pub row: usize,
    /// The column.
    pub column: &'static str,
    /// The time.
    pub time: Nanos,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, column, time } = self;
        write!(
            f,
            "row {row} of a batch: {column} is {} ns, expected at most {}",
            time.get(),
            i64::MAX
        )
    }
}

impl Error for TooLong {}

impl From<TooLong> for ArrowError {
    fn from(error: TooLong) -> Self {
        Self::InvalidArgumentError(error.to_string())
    }
}

/// Bits, 64 to a word.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    #[inline]
    fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        if let Some(last) = self.words.last_mut() {
            *last |= u64::from(bit) << (self.len % 64);
        }
        self.len += 1;
    }

    fn take(&mut self) -> BooleanBuffer {
        let Self { words, len } = std::mem::take(self);
        // On a machine that has the least significant byte first, as all have that this runs on.
        let words: Vec<u64> = words.into_iter().map(u64::to_le).collect();
        BooleanBuffer::new(Buffer::from_vec(words), 0, len)
    }
}

/// A column of times, some of which are not known.
#[derive(Default)]
struct Times {
    values: Vec<i64>,
    known: Bits,
}

impl Times {
    #[inline]
    fn push(&mut self, time: Option<Nanos>) {
        self.values.push(time.map_or(0, |t| t.get() as i64));
        self.known.push(time.is_some());
    }

    fn take(&mut self) -> ArrayRef {
        let values = ScalarBuffer::from(std::mem::take(&mut self.values));
        let known = NullBuffer::new(self.known.take());
        let nulls = (known.null_count() > 0).then_some(known);
        Arc::new(DurationNanosecondArray::new(values, nulls))
    }
}

/// The words for how requests ended: the numbers of errors join them as they turn up.
struct Statuses {
    words: Vec<String>,
    errors: HashMap<u16, i32>,
    array: Option<ArrayRef>,
}

impl Statuses {
    const WITHOUT_NUMBER: [Status; 7] = [
        Status::Done,
        Status::Short,
        Status::Dropped,
        Status::Skipped,
        Status::Missed,
        Status::Cancelled,
        Status::VerifyFailed,
    ];

    fn new() -> Self {
        Self {
            words: Self::WITHOUT_NUMBER.map(status_text).to_vec(),
            errors: HashMap::new(),
            array: None,
        }
    }

    #[inline]
    fn key(&mut self, status: Status) -> i32 {
        match status {
            Status::Done => 0,
            Status::Short => 1,
            Status::Dropped => 2,
            Status::Skipped => 3,
            Status::Missed => 4,
            Status::Cancelled => 5,
            Status::VerifyFailed => 6,
            Status::Error(errno) => *self.errors.entry(errno).or_insert_with(|| {
                self.array = None;
                self.words.push(status_text(status));
                self.words.len() as i32 - 1
            }),
        }
    }

    fn array(&mut self) -> ArrayRef {
        let words = &self.words;
        let array = self.array.get_or_insert_with(|| strings(words));
        Arc::clone(array)
    }
}

fn strings(words: &[String]) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(words))
}

/// Records as columns, to become record batches. Memory that a batch took is not used again for the next.
pub struct Columns {
    start: Vec<i64>,
    sector: Vec<u64>,
    sectors: Vec<u32>,
    op: Vec<i8>,
    flags: Vec<i8>,
    device: Vec<i32>,
    /// Where the device has a name or a number.
    with_device: Bits,
    class: Vec<u16>,
    group: Vec<u32>,
    delay: Times,
    latency: Times,
    think: Times,
    status: Vec<i32>,
    pushed_back: Bits,
    ops: ArrayRef,
    flag_words: ArrayRef,
    statuses: Statuses,
    /// How many devices there are, named or not.
    devices: usize,
    device_names: Option<(Vec<String>, usize, ArrayRef)>,
}

impl Default for Columns {
    fn default() -> Self {
        let ops = Op::ALL.map(|op| op.name().to_owned());
        let flag_words = (0..16).map(|bits| flags_text(Flags::from_bits(bits)));
        Self {
            start: Vec::new(),
            sector: Vec::new(),
            sectors: Vec::new(),
            op: Vec::new(),
            flags: Vec::new(),
            device: Vec::new(),
            with_device: Bits::default(),
            class: Vec::new(),
            group: Vec::new(),
            delay: Times::default(),
            latency: Times::default(),
            think: Times::default(),
            status: Vec::new(),
            pushed_back: Bits::default(),
            ops: strings(&ops),
            flag_words: strings(&flag_words.collect::<Vec<_>>()),
            statuses: Statuses::new(),
            devices: 0,
            device_names: None,
        }
    }
}

/// The first time in a row that no column holds.
pub(crate) fn too_long(batch: &Batch, row: usize) -> Option<(&'static str, Nanos)> {
    let outcome = batch.outcome(row);
    let times = [
        ("time_ns", Some(batch.starts()[row])),
        ("delay_ns", outcome.delay),
        ("latency_ns", outcome.latency),
        ("think_ns", batch.think(row)),
    ];
    let times = times.into_iter();
    let mut known = times.filter_map(|(column, time)| Some((column, time?)));
    known.find(|(_, time)| i64::try_from(time.get()).is_err())
}

impl Columns {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// Appends the rows of `batch` from `from` to before `to`, of a trace with these devices.
    ///
    /// # Errors
    /// If a time is too long; no row is appended then.
    ///
    /// # Panics
    /// If the batch has no such rows.
    pub fn extend(
        &mut self,
        batch: &Batch,
        (from, to): (usize, usize),
        devices: &[String],
    ) -> Result<(), TooLong> {
        let rows = from..to;
        for row in rows.clone() {
            if let Some((column, time)) = too_long(batch, row) {
                return Err(TooLong { row, column, time });
            }
        }
        let starts = &batch.starts()[rows.clone()];
        self.start.extend(starts.iter().map(|t| t.get() as i64));
        let sectors = &batch.sector_column()[rows.clone()];
        self.sector.extend(sectors.iter().map(|s| s.get()));
        let lengths = &batch.lengths()[rows.clone()];
        self.sectors.extend(lengths.iter().map(|n| n.get()));
        // The numbers of operations are their places in the list of all.
        let ops = &batch.ops()[rows.clone()];
        self.op.extend(ops.iter().map(|op| *op as i8));
        let (mut most, unnamed) = (0, devices.is_empty());
        for row in rows {
            let (request, outcome) = (batch.request(row), batch.outcome(row));
            self.flags.push(request.flags.bits() as i8);
            self.device.push(i32::from(request.device));
            self.with_device.push(!unnamed || request.device != 0);
            most = most.max(request.device);
            self.class.push(request.class);
            self.group.push(request.group);
            self.delay.push(outcome.delay);
            self.latency.push(outcome.latency);
            self.think.push(batch.think(row));
            self.status.push(self.statuses.key(outcome.status));
            self.pushed_back.push(outcome.pushed_back);
        }
        self.devices = self.devices.max(usize::from(most) + 1);
        Ok(())
    }

    /// The names of the devices of which there have been rows, or of which the trace has names.
    fn device_names(&mut self, names: &[String]) -> ArrayRef {
        let count = self.devices.max(names.len());
        match &self.device_names {
            Some((of, counted, array)) if of == names && *counted == count => Arc::clone(array),
            _ => {
                let array = strings(&labels(names, count));
                self.device_names = Some((names.to_vec(), count, Arc::clone(&array)));
                array
            }
        }
    }

    /// All rows as a record batch; none are left.
    ///
    /// # Errors
    /// None, unless this crate has a fault.
    pub fn take(
        &mut self,
        schema: &Arc<Schema>,
        metadata: &Metadata,
    ) -> Result<RecordBatch, ArrowError> {
        let bytes = |keys: Vec<i8>, words: &ArrayRef| {
            let keys = Int8Array::from(keys);
            DictionaryArray::<Int8Type>::try_new(keys, Arc::clone(words))
        };
        let with_device = NullBuffer::new(self.with_device.take());
        let nulls = (with_device.null_count() > 0).then_some(with_device);
        let devices = self.device_names(&metadata.devices);
        let device = Int32Array::new(ScalarBuffer::from(std::mem::take(&mut self.device)), nulls);
        let status = Int32Array::from(std::mem::take(&mut self.status));
        let start = ScalarBuffer::from(std::mem::take(&mut self.start));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(DurationNanosecondArray::new(start, None)),
            Arc::new(UInt64Array::from(std::mem::take(&mut self.sector))),
            Arc::new(UInt32Array::from(std::mem::take(&mut self.sectors))),
            Arc::new(bytes(std::mem::take(&mut self.op), &self.ops)?),
            Arc::new(bytes(std::mem::take(&mut self.flags), &self.flag_words)?),
            Arc::new(DictionaryArray::<Int32Type>::try_new(device, devices)?),
            Arc::new(UInt16Array::from(std::mem::take(&mut self.class))),
            Arc::new(UInt32Array::from(std::mem::take(&mut self.group))),
            self.delay.take(),
            self.latency.take(),
            self.think.take(),
            Arc::new(DictionaryArray::<Int32Type>::try_new(
                status,
                self.statuses.array(),
            )?),
            Arc::new(BooleanArray::new(self.pushed_back.take(), None)),
        ];
        RecordBatch::try_new(Arc::clone(schema), columns)
    }
}

/// The records of a batch as columns.
///
/// # Errors
/// If a time of a record is too long.
pub fn record_batch(batch: &Batch, metadata: &Metadata) -> Result<RecordBatch, ArrowError> {
    let mut columns = Columns::default();
    columns.extend(batch, (0, batch.len()), &metadata.devices)?;
    columns.take(&schema(metadata), metadata)
}

/// A trace as record batches of a number of rows, the last one with fewer.
pub struct RecordBatches<R> {
    reader: R,
    rows: usize,
    batch: Batch,
    /// How many rows of the batch have been taken.
    taken: usize,
    columns: Columns,
}

impl<R: TraceReader> RecordBatches<R> {
    /// Of a reader; `rows` is at least 1.
    pub fn new(reader: R, rows: usize) -> Self {
        Self {
            reader,
            rows: rows.max(1),
            batch: Batch::default(),
            taken: 0,
            columns: Columns::default(),
        }
    }

    /// What the trace says of itself, as far as it has been read.
    pub fn metadata(&self) -> &Metadata {
        self.reader.metadata()
    }

    fn filled(&mut self) -> Result<RecordBatch, RecordBatchError> {
        while self.columns.len() < self.rows {
            if self.taken == self.batch.len() {
                self.taken = 0;
                if self.reader.next_batch(&mut self.batch)? == 0 {
                    break;
                }
            }
            let to = (self.taken + self.rows - self.columns.len()).min(self.batch.len());
            let devices = &self.reader.metadata().devices;
            let taken = self.columns.extend(&self.batch, (self.taken, to), devices);
            taken.map_err(ArrowError::from)?;
            self.taken = to;
        }
        let metadata = self.reader.metadata();
        Ok(self.columns.take(&schema(metadata), metadata)?)
    }
}

/// Why there is no next record batch.
#[derive(Debug)]
pub enum RecordBatchError {
    /// The trace cannot be read.
    Trace(TraceError),
    /// A record cannot be held.
    Arrow(ArrowError),
}

impl fmt::Display for RecordBatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trace(error) => error.fmt(f),
            Self::Arrow(error) => error.fmt(f),
        }
    }
}

impl Error for RecordBatchError {}

impl From<TraceError> for RecordBatchError {
    fn from(error: TraceError) -> Self {
        Self::Trace(error)
    }
}

impl From<ArrowError> for RecordBatchError {
    fn from(error: ArrowError) -> Self {
        Self::Arrow(error)
    }
}

impl<R: TraceReader> Iterator for RecordBatches<R> {
    type Item = Result<RecordBatch, RecordBatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        let filled = self.filled();
        if filled.as_ref().is_ok_and(|batch| batch.num_rows() == 0) {
            return None;
        }
        Some(filled)
    }
}
