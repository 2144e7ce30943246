//! Tables of results as record batches, and in Parquet and Arrow files.
//!
//! | column of the table | type |
//! |---|---|
//! | whole numbers | unsigned, 64 bits |
//! | times, exact or not | duration in ns, and the name ends in `_ns` |
//! | other numbers | floating point, 64 bits |
//! | words | text |
//! | values of a parameter | floating point where all of them are plain numbers, else text |
//!
//! What is not known is null. The unit of a column is in its metadata, by the key `unit`; what is known of the table as a
//! whole in that of the schema, by keys that begin with `iosonar.`.

use std::io;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, DurationNanosecondArray, Float64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use iosonar_trace::output::Output;
use iosonar_trace::tables::{TableFormat, TableWriter};
use iosonar_units::{Column, ColumnUnit, ColumnValues, Nanos, Table};
use parquet::arrow::arrow_writer::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

/// The key of a column's unit.
const UNIT_KEY: &str = "unit";

/// How a column is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Counts,
    Times,
    Numbers,
    Texts,
}

impl Held {
    fn of(column: &Column) -> Self {
        let is_time = matches!(column.unit(), ColumnUnit::Time(_));
        match column.values() {
            ColumnValues::Times(_) => Self::Times,
            ColumnValues::Numbers(_) if is_time => Self::Times,
            ColumnValues::Counts(_) => Self::Counts,
            ColumnValues::Numbers(_) => Self::Numbers,
            ColumnValues::Texts(_) => Self::Texts,
            ColumnValues::Written(_) if column.plain_numbers().is_some() => Self::Numbers,
            ColumnValues::Written(_) => Self::Texts,
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Self::Counts => DataType::UInt64,
            Self::Times => DataType::Duration(TimeUnit::Nanosecond),
            Self::Numbers => DataType::Float64,
            Self::Texts => DataType::Utf8,
        }
    }

    fn field(self, column: &Column) -> Field {
        let unit = match self {
            Self::Times => Some("ns"),
            _ => column.unit().symbol(),
        };
        let field = Field::new(column.name_in_ns(), self.data_type(), true);
        let unit = unit.map(|unit| (UNIT_KEY.to_owned(), unit.to_owned()));
        field.with_metadata(arrow_schema::Metadata::from_iter(unit))
    }

    /// The values of a column that is held so.
    fn array(self, column: &Column) -> ArrayRef {
        match column.values() {
            ColumnValues::Counts(values) => Arc::new(UInt64Array::from_iter(values)),
            ColumnValues::Times(values) => {
                let ns = |time: &Option<Nanos>| i64::try_from(time.as_ref()?.get()).ok();
                Arc::new(values.iter().map(ns).collect::<DurationNanosecondArray>())
            }
            ColumnValues::Numbers(values) => match column.unit() {
                ColumnUnit::Time(scale) => {
                    let ns = |time: &f64| nanoseconds(time * scale.nanoseconds());
                    Arc::new(values.iter().map(ns).collect::<DurationNanosecondArray>())
                }
                _ => numbers(values),
            },
            ColumnValues::Texts(values) => Arc::new(StringArray::from_iter(values)),
            ColumnValues::Written(values) if self == Self::Numbers => numbers(
                &column
                    .plain_numbers()
                    .unwrap_or(vec![f64::NAN; values.len()]),
            ),
            ColumnValues::Written(values) => Arc::new(StringArray::from_iter_values(values)),
        }
    }
}

fn numbers(values: &[f64]) -> ArrayRef {
    let known = |value: &f64| value.is_finite().then_some(*value);
    Arc::new(values.iter().map(known).collect::<Float64Array>())
}

/// The nearest whole number, if it can be held.
fn nanoseconds(ns: f64) -> Option<i64> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    let ns = ns.round();
    (-END..END).contains(&ns).then_some(ns as i64)
}

/// How the columns of a table are held: of a parameter, by the values that it has here.
struct Layout {
    held: Vec<Held>,
    schema: Arc<Schema>,
}

impl Layout {
    fn of(table: &Table) -> Self {
        let held: Vec<Held> = table.columns().iter().map(Held::of).collect();
        let fields = held.iter().zip(table.columns());
        let fields: Vec<Field> = fields.map(|(held, column)| held.field(column)).collect();
        let about = table.about().iter();
        let about = about.map(|(key, value)| (format!("iosonar.{key}"), value.clone()));
        let metadata: arrow_schema::Metadata = about.collect();
        Self {
            held,
            schema: Arc::new(Schema::new(fields).with_metadata(metadata)),
        }
    }

    fn batch(&self, rows: &Table) -> Result<RecordBatch, ArrowError> {
        let columns = self.held.iter().zip(rows.columns());
        let columns = columns.map(|(held, column)| held.array(column));
        RecordBatch::try_new(Arc::clone(&self.schema), columns.collect())
    }
}

/// A table of results as a record batch.
///
/// # Errors
/// None, unless two columns have one name in a way that Arrow refuses.
pub fn table_batch(table: &Table) -> Result<RecordBatch, ArrowError> {
    Layout::of(table).batch(table)
}

/// Parquet.
pub(crate) struct ParquetTables;

/// Arrow IPC files.
pub(crate) struct ArrowTables;

struct ParquetRows {
    encoder: ArrowWriter<Box<dyn Output>>,
    layout: Layout,
}

struct ArrowRows {
    encoder: FileWriter<Box<dyn Output>>,
    layout: Layout,
}

impl TableFormat for ParquetTables {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["parquet"]
    }

    fn writer(&self, output: Box<dyn Output>, head: &Table) -> io::Result<Box<dyn TableWriter>> {
        let layout = Layout::of(head);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("iosonar {}", env!("CARGO_PKG_VERSION")));
        let properties = Some(properties.build());
        let mut encoder = ArrowWriter::try_new(output, Arc::clone(&layout.schema), properties)
            .map_err(of_parquet)?;
        // Beside the Arrow schema, for readers that do not look into it.
        for (key, value) in layout.schema.metadata() {
            let said = parquet::file::metadata::KeyValue::new(key.clone(), value.clone());
            encoder.append_key_value_metadata(said);
        }
        Ok(Box::new(ParquetRows { encoder, layout }))
    }
}

impl TableWriter for ParquetRows {
    fn write(&mut self, rows: &Table) -> io::Result<()> {
        let batch = self.layout.batch(rows).map_err(of_arrow)?;
        self.encoder.write(&batch).map_err(of_parquet)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let mut output = self.encoder.into_inner().map_err(of_parquet)?;
        output.flush()?;
        output.close()
    }
}

impl TableFormat for ArrowTables {
    fn name(&self) -> &'static str {
        "arrow"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["arrow", "feather", "ipc"]
    }

    fn writer(&self, output: Box<dyn Output>, head: &Table) -> io::Result<Box<dyn TableWriter>> {
        let layout = Layout::of(head);
        let encoder = FileWriter::try_new(output, &layout.schema).map_err(of_arrow)?;
        Ok(Box::new(ArrowRows { encoder, layout }))
    }
}

impl TableWriter for ArrowRows {
    fn write(&mut self, rows: &Table) -> io::Result<()> {
        let batch = self.layout.batch(rows).map_err(of_arrow)?;
        self.encoder.write(&batch).map_err(of_arrow)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.encoder.finish().map_err(of_arrow)?;
        let mut output = self.encoder.into_inner().map_err(of_arrow)?;
        output.flush()?;
        output.close()
    }
}

/// What the system said, if that is why it failed.
pub(crate) fn of_arrow(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, source) => source,
        other => io::Error::other(other),
    }
}

/// The same of Parquet.
pub(crate) fn of_parquet(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{DurationNanosecondType, Float64Type};

    use super::*;

    #[test]
    fn times_are_durations_whatever_unit_csv_has() {
        let mut table = Table::new([Column::numbers("mean_ms"), Column::times("window_end_s")]);
        table.row().put(1.5).put(Nanos::from_millis(2));
        table.row().put(f64::NAN).put(None::<Nanos>);
        let batch = table_batch(&table.with("seed", "7")).unwrap();
        let schema = batch.schema();
        assert_eq!(schema.metadata().get("iosonar.seed").unwrap(), "7");
        for (i, (name, ns)) in [("mean_ns", 1_500_000), ("window_end_ns", 2_000_000)]
            .into_iter()
            .enumerate()
        {
            assert_eq!(schema.field(i).name(), name);
            assert_eq!(schema.field(i).metadata().get("unit").unwrap(), "ns");
            let times = batch.column(i).as_primitive::<DurationNanosecondType>();
            assert_eq!((times.value(0), times.is_null(1)), (ns, true));
        }
    }

    #[test]
    fn parameters_are_numbers_where_all_their_values_are() {
        let mut table = Table::new([Column::written("disks"), Column::written("size")]);
        table.row().put("4").put("4KiB");
        table.row().put("8").put("8KiB");
        let batch = table_batch(&table).unwrap();
        let disks = batch.column(0).as_primitive::<Float64Type>();
        assert_eq!(disks.values().to_vec(), [4.0, 8.0]);
        assert_eq!(batch.column(1).as_string::<i32>().value(1), "8KiB");
    }
}
