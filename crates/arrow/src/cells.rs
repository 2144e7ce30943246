//! Columns of any table as cells.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryViewArray, BooleanArray,
    LargeBinaryArray, LargeStringArray, PrimitiveArray, StringArray, StringViewArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use iosonar_trace::fields::{Cell, Field};
use iosonar_units::Nanos;

/// How many nanoseconds a unit has.
fn nanoseconds(unit: TimeUnit) -> u64 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Whether a column of this type has its unit in the type.
pub(crate) fn has_unit(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Duration(_) | DataType::Timestamp(..))
}

/// Whether it is a type of texts.
fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
    )
}

/// What a column of a field must be of, if `data_type` will not do.
pub(crate) fn expected_instead(field: Field, data_type: &DataType) -> Option<&'static str> {
    let data_type = match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    let is_float = matches!(data_type, DataType::Float32 | DataType::Float64);
    let is_number = data_type.is_integer() || is_float;
    let is_text = is_text(data_type);
    let (fits, expected) = match field {
        Field::Start(_) => (
            is_number || is_text || has_unit(data_type),
            "timestamps, durations or numbers",
        ),
        Field::Delay(_) | Field::Latency(_) | Field::Think(_) => (
            is_number || is_text || matches!(data_type, DataType::Duration(_)),
            "durations or numbers",
        ),
        Field::Op | Field::Flags | Field::Status => (is_text, "texts"),
        Field::Device => (
            is_text || data_type.is_integer(),
            "strings or whole numbers",
        ),
        Field::PushedBack => (
            is_text || data_type.is_integer() || *data_type == DataType::Boolean,
            "booleans",
        ),
        Field::Sector
        | Field::OffsetBytes
        | Field::Sectors
        | Field::LengthBytes
        | Field::Class
        | Field::Group => (is_number || is_text, "whole numbers"),
    };
    (!fits && *data_type != DataType::Null).then_some(expected)
}

/// Texts in any of the ways in which Arrow has them.
enum Texts {
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
    Binary(BinaryArray),
    LargeBinary(LargeBinaryArray),
    BinaryView(BinaryViewArray),
}

impl Texts {
    fn of(array: &ArrayRef) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => Self::Utf8(array.as_string::<i32>().clone()),
            DataType::LargeUtf8 => Self::LargeUtf8(array.as_string::<i64>().clone()),
            DataType::Utf8View => Self::Utf8View(array.as_string_view().clone()),
            DataType::Binary => Self::Binary(array.as_binary::<i32>().clone()),
            DataType::LargeBinary => Self::LargeBinary(array.as_binary::<i64>().clone()),
            DataType::BinaryView => Self::BinaryView(array.as_binary_view().clone()),
            _ => return None,
        })
    }

    fn get(&self, row: usize) -> &[u8] {
        match self {
            Self::Utf8(array) => array.value(row).as_bytes(),
            Self::LargeUtf8(array) => array.value(row).as_bytes(),
            Self::Utf8View(array) => array.value(row).as_bytes(),
            Self::Binary(array) => array.value(row),
            Self::LargeBinary(array) => array.value(row),
            Self::BinaryView(array) => array.value(row),
        }
    }
}

/// The values of a column.
enum Values {
    Null,
    Unsigned(Vec<u64>),
    Signed(Vec<i64>),
    /// Times in units of this many nanoseconds.
    Times(Vec<i64>, u64),
    Float(Vec<f64>),
    Flags(BooleanArray),
    Texts(Texts),
    /// Of each row, the place of its value among others.
    Dictionary(Vec<usize>, Box<Column>),
}

/// A column of a record batch.
pub(crate) struct Column {
    values: Values,
    nulls: Option<NullBuffer>,
    len: usize,
}

/// A value that a field cannot have.
pub(crate) struct Wrong {
    pub(crate) seen: String,
    pub(crate) expected: &'static str,
}

fn all<T: ArrowPrimitiveType, N>(array: &ArrayRef, into: impl Fn(T::Native) -> N) -> Vec<N> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    array.values().iter().map(|value| into(*value)).collect()
}

/// Times of a type, all of which are 64-bit numbers.
fn times(array: &ArrayRef, unit: TimeUnit, is_duration: bool) -> Vec<i64> {
    let same = |value: i64| value;
    match (is_duration, unit) {
        (true, TimeUnit::Second) => all::<DurationSecondType, _>(array, same),
        (true, TimeUnit::Millisecond) => all::<DurationMillisecondType, _>(array, same),
        (true, TimeUnit::Microsecond) => all::<DurationMicrosecondType, _>(array, same),
        (true, TimeUnit::Nanosecond) => all::<DurationNanosecondType, _>(array, same),
        (false, TimeUnit::Second) => all::<TimestampSecondType, _>(array, same),
        (false, TimeUnit::Millisecond) => all::<TimestampMillisecondType, _>(array, same),
        (false, TimeUnit::Microsecond) => all::<TimestampMicrosecondType, _>(array, same),
        (false, TimeUnit::Nanosecond) => all::<TimestampNanosecondType, _>(array, same),
    }
}

impl Column {
    /// The column of an array, of a type that [`expected_instead`] has nothing against; else `None`.
    pub(crate) fn of(array: &ArrayRef) -> Option<Self> {
        let values = match array.data_type() {
            DataType::Null => Values::Null,
            DataType::UInt8 => Values::Unsigned(all::<UInt8Type, _>(array, u64::from)),
            DataType::UInt16 => Values::Unsigned(all::<UInt16Type, _>(array, u64::from)),
            DataType::UInt32 => Values::Unsigned(all::<UInt32Type, _>(array, u64::from)),
            DataType::UInt64 => Values::Unsigned(all::<UInt64Type, _>(array, u64::from)),
            DataType::Int8 => Values::Signed(all::<Int8Type, _>(array, i64::from)),
            DataType::Int16 => Values::Signed(all::<Int16Type, _>(array, i64::from)),
            DataType::Int32 => Values::Signed(all::<Int32Type, _>(array, i64::from)),
            DataType::Int64 => Values::Signed(all::<Int64Type, _>(array, i64::from)),
            DataType::Float32 => Values::Float(all::<Float32Type, _>(array, f64::from)),
            DataType::Float64 => Values::Float(all::<Float64Type, _>(array, f64::from)),
            DataType::Duration(unit) => {
                Values::Times(times(array, *unit, true), nanoseconds(*unit))
            }
            DataType::Timestamp(unit, _) => {
                Values::Times(times(array, *unit, false), nanoseconds(*unit))
            }
            DataType::Boolean => Values::Flags(array.as_boolean().clone()),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let values = Self::of(dictionary.values())?;
                // Keys where there is no value may be anything.
                let keys = Self::of(&make(dictionary.keys()))?;
                let keys = (0..keys.len).map(|row| keys.key(row));
                Values::Dictionary(keys.collect(), Box::new(values))
            }
            _ => Values::Texts(Texts::of(array)?),
        };
        Some(Self {
            values,
            nulls: array.nulls().cloned(),
            len: array.len(),
        })
    }

    fn key(&self, row: usize) -> usize {
        match &self.values {
            Values::Unsigned(keys) => keys[row] as usize,
            Values::Signed(keys) => usize::try_from(keys[row]).unwrap_or(usize::MAX),
            _ => usize::MAX,
        }
    }

    /// The value of a field in a row; `None` where it is null.
    pub(crate) fn cell(&self, row: usize, field: Field) -> Result<Option<Cell<'_>>, Wrong> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(None);
        }
        let cell = match &self.values {
            Values::Null => return Ok(None),
            Values::Unsigned(values) => Cell::Number(values[row]),
            Values::Signed(values) => match u64::try_from(values[row]) {
                Ok(number) => Cell::Number(number),
                Err(_) => return Err(below_zero(values[row])),
            },
            Values::Times(values, unit) => {
                let time = u64::try_from(values[row]).map_err(|_| below_zero(values[row]))?;
                let ns = time.checked_mul(*unit).filter(|ns| *ns < 1 << 63);
                let ns = ns.ok_or_else(|| Wrong {
                    seen: time.to_string(),
                    expected: "a time below 292 years",
                })?;
                Cell::Time(Nanos::new(ns))
            }
            // pandas writes missing numbers as NaN.
            Values::Float(values) if values[row].is_nan() => return Ok(None),
            Values::Float(values) => return of_float(values[row], field).map(Some),
            Values::Flags(values) => Cell::Flag(values.value(row)),
            Values::Texts(texts) => Cell::Text(texts.get(row)),
            Values::Dictionary(keys, values) if keys[row] < values.len => {
                return values.cell(keys[row], field);
            }
            Values::Dictionary(..) => {
                return Err(Wrong {
                    seen: "a key that is not in its dictionary".to_owned(),
                    expected: "a value in the dictionary",
                });
            }
        };
        Ok(Some(cell))
    }

    /// The text of a row, if it is one.
    pub(crate) fn text(&self, row: usize) -> Option<&str> {
        match self.cell(row, Field::Device) {
            Ok(Some(Cell::Text(text))) => std::str::from_utf8(text).ok(),
            _ => None,
        }
    }
}

fn make(array: &dyn Array) -> ArrayRef {
    arrow_array::make_array(array.to_data())
}

fn below_zero(seen: i64) -> Wrong {
    Wrong {
        seen: seen.to_string(),
        expected: "a number of at least 0",
    }
}

/// The number of a field that a file has with a fraction, or as if it had one.
fn of_float(value: f64, field: Field) -> Result<Cell<'static>, Wrong> {
    let wrong = |expected| {
        Err(Wrong {
            seen: value.to_string(),
            expected,
        })
    };
    if let Some(unit) = field.unit() {
        let ns = (value * unit as f64).round();
        if !(0.0..9_223_372_036_854_775_808.0).contains(&ns) {
            return wrong("a time of at least 0 and below 292 years");
        }
        return Ok(Cell::Time(Nanos::new(ns as u64)));
    }
    // Beyond 2^53, a float is not the number that it was made from.
    if !(0.0..=9_007_199_254_740_992.0).contains(&value) || value.fract() != 0.0 {
        return wrong("a whole number from 0 to 2^53");
    }
    Ok(Cell::Number(value as u64))
}
