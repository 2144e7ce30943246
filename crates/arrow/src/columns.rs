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
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer, ToByteSlice};
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
    ones: usize,
}

impl Bits {
    /// Appends `count` bits, as `bit` says of each.
    #[inline]
    fn extend(&mut self, count: usize, bit: impl Fn(usize) -> bool) {
        let mut done = 0;
        while done < count {
            let offset = self.len % 64;
            let taken = (64 - offset).min(count - done);
            let word = (0..taken).fold(0, |word, i| word | u64::from(bit(done + i)) << i);
            self.append(word, (offset, taken));
            done += taken;
        }
    }

    /// Appends the same bit `count` times.
    fn extend_same(&mut self, count: usize, bit: bool) {
        let mut left = count;
        while left > 0 {
            let offset = self.len % 64;
            let taken = (64 - offset).min(left);
            let word = if bit { u64::MAX >> (64 - taken) } else { 0 };
            self.append(word, (offset, taken));
            left -= taken;
        }
    }

    fn append(&mut self, word: u64, (offset, taken): (usize, usize)) {
        if offset == 0 {
            self.words.push(0);
        }
        let last = self.words.last_mut().expect("a word was begun");
        // On a machine that has the least significant byte first, as all have that this runs on.
        *last |= (word << offset).to_le();
        self.ones += word.count_ones() as usize;
        self.len += taken;
    }

    fn zeros(&self) -> usize {
        self.len - self.ones
    }

    fn clear(&mut self) {
        self.words.clear();
        (self.len, self.ones) = (0, 0);
    }

    fn bytes(&self) -> &[u8] {
        &self.words.to_byte_slice()[..self.len.div_ceil(8)]
    }

    fn take(&mut self) -> BooleanBuffer {
        let Self { words, len, .. } = std::mem::take(self);
        BooleanBuffer::new(Buffer::from_vec(words), 0, len)
    }
}

/// Values of which the first `rows` count. Those that are all the usual one, zero, are written once and stay.
#[derive(Default)]
struct Plain<T> {
    values: Vec<T>,
    rows: usize,
    /// Whether a value may be another than zero.
    is_varied: bool,
}

impl<T: Copy + Default> Plain<T> {
    /// Appends `count` values: `into` of what is known, zero of the rest.
    #[inline]
    fn extend<S: Copy>(&mut self, known: &[S], count: usize, into: impl Fn(S) -> T) {
        if !known.is_empty() {
            self.is_varied = true;
            self.values.truncate(self.rows);
            self.values.extend(known.iter().map(|value| into(*value)));
        }
        self.rows += count;
        if self.values.len() < self.rows {
            self.values.resize(self.rows, T::default());
        }
    }

    fn all(&self) -> &[T] {
        &self.values[..self.rows]
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_varied) {
            self.values.clear();
        }
        self.rows = 0;
    }

    fn take(&mut self) -> Vec<T> {
        let mut values = std::mem::take(&mut self.values);
        values.truncate(self.rows);
        self.clear();
        values
    }
}

/// A column of times, some of which are not known.
#[derive(Default)]
struct Times {
    values: Plain<i64>,
    known: Bits,
}

impl Times {
    fn extend(&mut self, times: &[Option<Nanos>], count: usize) {
        let ns = |time: Option<Nanos>| time.map_or(0, |t| t.get() as i64);
        self.values.extend(times, count, ns);
        match times.iter().all(Option::is_some) {
            true => self.known.extend_same(times.len(), true),
            false => self.known.extend(times.len(), |row| times[row].is_some()),
        }
        self.known.extend_same(count - times.len(), false);
    }

    fn held(&self) -> Held<'_> {
        Held::Times {
            values: self.values.all(),
            known: self.known.bytes(),
            nulls: self.known.zeros(),
        }
    }

    fn clear(&mut self) {
        self.values.clear();
        self.known.clear();
    }

    fn take(&mut self) -> ArrayRef {
        let values = ScalarBuffer::from(self.values.take());
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

/// The words of a dictionary.
pub(crate) type Words = ArrayRef;

/// The values of a column, as they are in memory.
pub(crate) enum Held<'a> {
    Signed(&'a [i64]),
    Unsigned(&'a [u64]),
    Short(&'a [u32]),
    Shorter(&'a [u16]),
    /// With a bit for each that is known.
    Times {
        values: &'a [i64],
        known: &'a [u8],
        nulls: usize,
    },
    /// Keys of words.
    Bytes(&'a [i8]),
    Keys(&'a [i32]),
    NullableKeys {
        keys: &'a [i32],
        known: &'a [u8],
        nulls: usize,
    },
    Bits(&'a [u8]),
}

impl<'a> Held<'a> {
    /// Their bytes, as they are in a file; which of them are known, and how many are not.
    pub(crate) fn bytes(&self) -> (&'a [u8], &'a [u8], usize) {
        let (values, known, nulls): (_, &[u8], _) = match *self {
            Self::Signed(values) => (values.to_byte_slice(), &[], 0),
            Self::Unsigned(values) => (values.to_byte_slice(), &[], 0),
            Self::Short(values) => (values.to_byte_slice(), &[], 0),
            Self::Shorter(values) => (values.to_byte_slice(), &[], 0),
            Self::Bytes(keys) => (keys.to_byte_slice(), &[], 0),
            Self::Keys(keys) => (keys.to_byte_slice(), &[], 0),
            Self::Times {
                values,
                known,
                nulls,
            } => (values.to_byte_slice(), known, nulls),
            Self::NullableKeys { keys, known, nulls } => (keys.to_byte_slice(), known, nulls),
            Self::Bits(bits) => (bits, &[], 0),
        };
        (values, known, nulls)
    }
}

/// Records as columns, to become record batches.
pub struct Columns {
    start: Vec<i64>,
    sector: Vec<u64>,
    sectors: Vec<u32>,
    op: Vec<i8>,
    flags: Plain<i8>,
    device: Plain<i32>,
    /// Where the device has a name or a number.
    with_device: Bits,
    class: Plain<u16>,
    group: Plain<u32>,
    delay: Times,
    latency: Times,
    think: Times,
    status: Plain<i32>,
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
            flags: Plain::default(),
            device: Plain::default(),
            with_device: Bits::default(),
            class: Plain::default(),
            group: Plain::default(),
            delay: Times::default(),
            latency: Times::default(),
            think: Times::default(),
            status: Plain::default(),
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

/// Whether columns hold all times of a batch.
pub(crate) fn are_all_short(batch: &Batch) -> bool {
    let starts = batch.starts().iter().fold(0, |bits, t| bits | t.get());
    let others = [
        batch.delay_column(),
        batch.latency_column(),
        batch.think_column(),
    ];
    let bits = others.into_iter().flatten().fold(starts, |bits, time| {
        bits | time.map_or(0, |t: Nanos| t.get())
    });
    i64::try_from(bits).is_ok()
}

/// The rows of a column that are there.
fn known<T>(column: &[T], (from, to): (usize, usize)) -> &[T] {
    &column[from.min(column.len())..to.min(column.len())]
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
        let (rows, count) = (from..to, to - from);
        if !are_all_short(batch) {
            for row in rows.clone() {
                if let Some((column, time)) = too_long(batch, row) {
                    return Err(TooLong { row, column, time });
                }
            }
        }
        let starts = &batch.starts()[rows.clone()];
        self.start.extend(starts.iter().map(|t| t.get() as i64));
        let sectors = &batch.sector_column()[rows.clone()];
        self.sector.extend(sectors.iter().map(|s| s.get()));
        let lengths = &batch.lengths()[rows.clone()];
        self.sectors.extend(lengths.iter().map(|n| n.get()));
        // The numbers of operations are their places in the list of all.
        let ops = &batch.ops()[rows];
        self.op.extend(ops.iter().map(|op| *op as i8));
        let rows = (from, to);
        let flags = known(batch.flags_column(), rows);
        self.flags.extend(flags, count, |of| of.bits() as i8);
        let device = known(batch.device_column(), rows);
        self.device.extend(device, count, i32::from);
        if devices.is_empty() {
            let is_known = |row: usize| device.get(row).is_some_and(|device| *device != 0);
            self.with_device.extend(count, is_known);
        } else {
            self.with_device.extend_same(count, true);
        }
        let most = device.iter().copied().max().unwrap_or_default();
        self.devices = self.devices.max(usize::from(most) + 1);
        let class = known(batch.class_column(), rows);
        self.class.extend(class, count, |class| class);
        let group = known(batch.group_column(), rows);
        self.group.extend(group, count, |group| group);
        self.delay.extend(known(batch.delay_column(), rows), count);
        let latency = known(batch.latency_column(), rows);
        self.latency.extend(latency, count);
        self.think.extend(known(batch.think_column(), rows), count);
        let status = known(batch.status_column(), rows);
        let keys: Vec<i32> = status.iter().map(|of| self.statuses.key(*of)).collect();
        self.status.extend(&keys, count, |key| key);
        let pushed_back = known(batch.pushed_back_column(), rows);
        self.pushed_back
            .extend(pushed_back.len(), |row| pushed_back[row]);
        self.pushed_back
            .extend_same(count - pushed_back.len(), false);
        Ok(())
    }

    /// The values of all columns, in their order.
    pub(crate) fn held(&self) -> [Held<'_>; 13] {
        [
            Held::Signed(&self.start),
            Held::Unsigned(&self.sector),
            Held::Short(&self.sectors),
            Held::Bytes(&self.op),
            Held::Bytes(self.flags.all()),
            Held::NullableKeys {
                keys: self.device.all(),
                known: self.with_device.bytes(),
                nulls: self.with_device.zeros(),
            },
            Held::Shorter(self.class.all()),
            Held::Short(self.group.all()),
            self.delay.held(),
            self.latency.held(),
            self.think.held(),
            Held::Keys(self.status.all()),
            Held::Bits(self.pushed_back.bytes()),
        ]
    }

    /// The words of all columns that have keys.
    pub(crate) fn words(&mut self, devices: &[String]) -> [Option<Words>; 13] {
        let devices = self.device_names(devices);
        let mut all: [Option<Words>; 13] = Default::default();
        all[3] = Some(Arc::clone(&self.ops));
        all[4] = Some(Arc::clone(&self.flag_words));
        all[5] = Some(devices);
        all[11] = Some(self.statuses.array());
        all
    }

    /// Forgets all rows, and keeps the memory for others.
    pub(crate) fn clear(&mut self) {
        self.start.clear();
        self.sector.clear();
        self.sectors.clear();
        self.op.clear();
        self.flags.clear();
        self.device.clear();
        self.with_device.clear();
        self.class.clear();
        self.group.clear();
        self.delay.clear();
        self.latency.clear();
        self.think.clear();
        self.status.clear();
        self.pushed_back.clear();
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
        let device = Int32Array::new(ScalarBuffer::from(self.device.take()), nulls);
        let status = Int32Array::from(self.status.take());
        let start = ScalarBuffer::from(std::mem::take(&mut self.start));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(DurationNanosecondArray::new(start, None)),
            Arc::new(UInt64Array::from(std::mem::take(&mut self.sector))),
            Arc::new(UInt32Array::from(std::mem::take(&mut self.sectors))),
            Arc::new(bytes(std::mem::take(&mut self.op), &self.ops)?),
            Arc::new(bytes(self.flags.take(), &self.flag_words)?),
            Arc::new(DictionaryArray::<Int32Type>::try_new(device, devices)?),
            Arc::new(UInt16Array::from(self.class.take())),
            Arc::new(UInt32Array::from(self.group.take())),
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
