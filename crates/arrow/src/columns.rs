//! Records to columns.

mod builders;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, DurationNanosecondArray, Int8Array, Int32Array,
    RecordBatch, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{NullBuffer, ScalarBuffer, ToByteSlice};
use arrow_schema::{ArrowError, Schema};
use iosonar_trace::fields::flags_text;
use iosonar_trace::{Batch, Flags, Metadata, Op};
use iosonar_units::Nanos;

use self::builders::{Bits, Plain, Statuses, Times, strings};
use crate::devices::labels;

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
