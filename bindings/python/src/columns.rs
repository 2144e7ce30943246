//! Records as record batches of Arrow.
//!
//! | column | type | null |
//! |---|---|---|
//! | `time_ns` | duration in ns since the origin of the trace | |
//! | `sector` | unsigned, 64 bits | |
//! | `sectors` | unsigned, 32 bits | |
//! | `op`, `flags` | dictionary of words; flags joined by `+` | |
//! | `device` | dictionary of names | if the trace has one device without a name |
//! | `class` | unsigned, 16 bits | |
//! | `group` | unsigned, 32 bits | |
//! | `delay_ns`, `latency_ns` | duration in ns | if it was not measured |
//! | `think_ns` | duration in ns | if it is not known |
//! | `status` | dictionary of words | |
//! | `pushed_back` | boolean | |

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, DurationNanosecondArray, Int8Array, Int32Array,
    RecordBatch, StringArray, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use iosonar::trace::{Batch, Flags, Metadata, Op, Status, TraceReader};
use iosonar::units::{Nanos, with_causes};

/// The columns.
pub(crate) fn schema() -> SchemaRef {
    let ns = || DataType::Duration(TimeUnit::Nanosecond);
    let words = |key| DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8));
    let columns = [
        ("time_ns", ns(), false),
        ("sector", DataType::UInt64, false),
        ("sectors", DataType::UInt32, false),
        ("op", words(DataType::Int8), false),
        ("flags", words(DataType::Int8), false),
        ("device", words(DataType::Int32), true),
        ("class", DataType::UInt16, false),
        ("group", DataType::UInt32, false),
        ("delay_ns", ns(), true),
        ("latency_ns", ns(), true),
        ("think_ns", ns(), true),
        ("status", words(DataType::Int32), false),
        ("pushed_back", DataType::Boolean, false),
    ];
    let fields = columns.map(|(name, of, null)| Field::new(name, of, null));
    Arc::new(Schema::new(fields.to_vec()))
}

/// A trace as record batches of about as many rows.
pub(crate) struct RecordBatches {
    reader: Box<dyn TraceReader>,
    rows: usize,
    schema: SchemaRef,
    ops: ArrayRef,
    flags: ArrayRef,
    /// The words of all endings that have turned up.
    statuses: Vec<(Status, String)>,
}

impl RecordBatches {
    pub(crate) fn new(reader: Box<dyn TraceReader>, rows: usize) -> Self {
        let all_flags = (0..16).map(|bits| flag_words(Flags::from_bits(bits)));
        Self {
            reader,
            rows,
            schema: schema(),
            ops: Arc::new(StringArray::from_iter_values(Op::ALL.map(Op::name))),
            flags: Arc::new(StringArray::from_iter_values(all_flags)),
            statuses: Vec::new(),
        }
    }

    /// The rows of some batches.
    fn taken(&mut self, batches: &[Batch]) -> Result<RecordBatch, ArrowError> {
        let records = || batches.iter().flat_map(Batch::records);
        let thinks = || {
            let of = |batch: &Batch| {
                (0..batch.len())
                    .map(|row| batch.think(row))
                    .collect::<Vec<_>>()
            };
            batches.iter().flat_map(of)
        };
        let ns = |t: Nanos| {
            i64::try_from(t.get()).map_err(|_| {
                let text = format!("a time is {t}, expected at most 292 years");
                ArrowError::InvalidArgumentError(text)
            })
        };
        let times = |all: &mut dyn Iterator<Item = Option<Nanos>>| -> Result<ArrayRef, ArrowError> {
            let all: Result<DurationNanosecondArray, ArrowError> =
                all.map(|t| t.map(ns).transpose()).collect();
            Ok(Arc::new(all?))
        };
        let starts: Result<Vec<i64>, ArrowError> =
            records().map(|of| ns(of.request.start)).collect();
        let words = |keys: Int8Array, of: &ArrayRef| -> Result<ArrayRef, ArrowError> {
            let array = DictionaryArray::<Int8Type>::try_new(keys, Arc::clone(of))?;
            Ok(Arc::new(array))
        };
        let statuses = records().map(|of| self.status(of.outcome.status)).collect();
        let requests = || records().map(|of| of.request);
        let sectors = requests().map(|of| of.sector.get());
        let lengths = requests().map(|of| of.sectors.get());
        let pushed_back = records().map(|of| Some(of.outcome.pushed_back));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(DurationNanosecondArray::from(starts?)),
            Arc::new(UInt64Array::from_iter_values(sectors)),
            Arc::new(UInt32Array::from_iter_values(lengths)),
            words(requests().map(|of| of.op as i8).collect(), &self.ops)?,
            words(
                requests().map(|of| of.flags.bits() as i8).collect(),
                &self.flags,
            )?,
            self.devices(&requests().map(|of| of.device).collect::<Vec<_>>())?,
            Arc::new(UInt16Array::from_iter_values(requests().map(|of| of.class))),
            Arc::new(UInt32Array::from_iter_values(requests().map(|of| of.group))),
            times(&mut records().map(|of| of.outcome.delay))?,
            times(&mut records().map(|of| of.outcome.latency))?,
            times(&mut thinks())?,
            self.status_words(statuses)?,
            Arc::new(pushed_back.collect::<BooleanArray>()),
        ];
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }

    /// The number of an ending's word.
    fn status(&mut self, of: Status) -> i32 {
        let known = self.statuses.iter().position(|(status, _)| *status == of);
        let number = known.unwrap_or_else(|| {
            self.statuses.push((of, status_word(of)));
            self.statuses.len() - 1
        });
        number as i32
    }

    fn status_words(&self, keys: Int32Array) -> Result<ArrayRef, ArrowError> {
        let words = self.statuses.iter().map(|(_, word)| word);
        let words: ArrayRef = Arc::new(StringArray::from_iter_values(words));
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(
            keys, words,
        )?))
    }

    /// The names of devices.
    fn devices(&self, numbers: &[u16]) -> Result<ArrayRef, ArrowError> {
        let metadata: &Metadata = self.reader.metadata();
        let most = numbers.iter().copied().max().unwrap_or(0);
        let unnamed = metadata.devices.is_empty() && most == 0;
        let names = (0..=most).map(|number| metadata.device_name(number));
        let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
        let keys = numbers
            .iter()
            .map(|&number| (!unnamed).then_some(i32::from(number)));
        let keys: Int32Array = keys.collect();
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(
            keys, names,
        )?))
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut batches, mut rows) = (Vec::new(), 0);
        while rows < self.rows {
            let mut batch = Batch::default();
            match self.reader.next_batch(&mut batch) {
                Ok(0) => break,
                Ok(n) => rows += n,
                Err(error) => {
                    let text = with_causes(&error);
                    return Some(Err(ArrowError::ParseError(text)));
                }
            }
            batches.push(batch);
        }
        (rows > 0).then(|| self.taken(&batches))
    }
}

/// Flags in words: `sync+fua`; empty for none.
fn flag_words(flags: Flags) -> String {
    let names = [
        ("sync", Flags::SYNC),
        ("fua", Flags::FUA),
        ("meta", Flags::META),
        ("read-ahead", Flags::READ_AHEAD),
    ];
    let set = names.iter().filter(|(_, flag)| flags.contains(*flag));
    set.map(|(name, _)| *name).collect::<Vec<_>>().join("+")
}

/// How a request ended, in a word: `done`, `error:5`.
fn status_word(status: Status) -> String {
    match status {
        Status::Done => "done".to_owned(),
        Status::Error(errno) => format!("error:{errno}"),
        Status::Short => "short".to_owned(),
        Status::Dropped => "dropped".to_owned(),
        Status::Skipped => "skipped".to_owned(),
        Status::Missed => "missed".to_owned(),
        Status::Cancelled => "cancelled".to_owned(),
        Status::VerifyFailed => "verify".to_owned(),
    }
}
