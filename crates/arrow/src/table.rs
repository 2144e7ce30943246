//! Record batches to records.

use std::collections::VecDeque;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use iosonar_trace::fields::{Cell, Field, Rows, mapped, skipped, unreadable_row};
use iosonar_trace::{Batch, Metadata, Place, ReadOptions, Record, TraceError, TraceReader};
use iosonar_units::Nanos;

use crate::cells::{Column, expected_instead, has_unit};
use crate::devices::Numbers;
use crate::guarded::guarded;
use crate::schema::{excerpt, trace_of};

/// Where record batches come from.
pub(crate) trait RecordBatchSource: Send {
    /// The next one; `None` at the end.
    fn next(&mut self) -> Result<Option<RecordBatch>, TraceError>;
}

/// A column that holds a field.
#[derive(Clone, Debug)]
pub(crate) struct Mapped {
    /// Its place in the schema.
    pub(crate) index: usize,
    field: Field,
    name: String,
}

/// Which columns hold what, and what the file says of the trace.
pub(crate) struct Layout {
    pub(crate) columns: Vec<Mapped>,
    /// If iosonar wrote the file.
    trace: Option<Metadata>,
    is_from_1970: bool,
}

impl Layout {
    /// The layout of a file.
    pub(crate) fn of(
        path: &Path,
        schema: &Schema,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        let fields = schema.fields();
        let all: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        let wrong = |expected: String| TraceError::Field {
            place: Place::of(path, 0),
            field: "columns".to_owned(),
            seen: excerpt(&all.join(", ")),
            expected,
        };
        // What has its unit in its type needs none in its name.
        let field_of = |index: usize, name: &str| match Field::of(name) {
            None if has_unit(fields[index].data_type()) => Field::of_time(name, 1),
            field => field,
        };
        let missing_unit = |expected: String| {
            let unit = all.iter().zip(fields).find(|(name, field)| {
                Field::of_time(name, 1).is_some() && !has_unit(field.data_type())
            });
            match unit {
                Some((name, field)) if expected.contains("time_ns") => wrong(format!(
                    "{expected}. The column '{name}' ({}) has no unit: specify it with --columns {name}_ns={name} (or \
                     _us, _ms, _s)",
                    field.data_type()
                )),
                _ => wrong(expected),
            }
        };
        let mapped = mapped(&all, &options.columns, field_of, missing_unit)?;
        let mapped = mapped.into_iter().enumerate();
        let mapped = mapped.filter_map(|(index, field)| Some((index, field?)));
        let columns: Vec<Mapped> = mapped
            .map(|(index, (field, name))| Mapped { index, field, name })
            .collect();
        for Mapped { index, field, name } in &columns {
            let data_type = fields[*index].data_type();
            if let Some(expected) = expected_instead(*field, data_type) {
                return Err(TraceError::Field {
                    place: Place::of(path, 0),
                    field: name.clone(),
                    seen: excerpt(&data_type.to_string()),
                    expected: format!("a column of {expected}"),
                });
            }
        }
        let is_from_1970 = columns.iter().any(|column| {
            matches!(column.field, Field::Start(_))
                && matches!(fields[column.index].data_type(), DataType::Timestamp(..))
        });
        Ok(Self {
            columns,
            trace: trace_of(path, schema)?,
            is_from_1970,
        })
    }
}

/// Rows of a record batch that are looked at together.
const PIECE: usize = 1 << 16;

/// Reads records out of record batches.
pub(crate) struct TableReader<S> {
    source: S,
    layout: Layout,
    rows: Rows,
    numbers: Option<Numbers>,
    lenient: bool,
    path: Box<Path>,
    /// What is left of a record batch.
    pieces: VecDeque<RecordBatch>,
    piece: Vec<Column>,
    /// How many rows the piece has, and how many of them have been read.
    piece_rows: usize,
    done: usize,
    /// How many rows of the file have been read.
    number: u64,
    /// Whether the source failed: nothing is known of what follows.
    has_failed: bool,
}

impl<S: RecordBatchSource + 'static> TableReader<S> {
    /// A reader of a source that has the columns of the layout, in their order.
    pub(crate) fn boxed(
        source: S,
        path: &Path,
        layout: Layout,
        options: &ReadOptions,
    ) -> Box<dyn TraceReader> {
        let is_from_1970 = layout.is_from_1970;
        let trace = layout.trace.clone();
        let numbers = trace.as_ref().map(|trace| Numbers::of(&trace.devices));
        let reader = Box::new(Self {
            source,
            layout,
            rows: Rows::new(path, trace.unwrap_or_default(), options),
            numbers,
            lenient: options.lenient,
            path: path.into(),
            pieces: VecDeque::new(),
            piece: Vec::new(),
            piece_rows: 0,
            done: 0,
            number: 0,
            has_failed: false,
        });
        if is_from_1970 {
            return iosonar_trace::fields::from_1970(reader, path, options);
        }
        reader
    }

    /// Goes on to the next rows; false at the end.
    fn advance(&mut self) -> Result<bool, TraceError> {
        while self.done == self.piece_rows {
            let Some(piece) = self.pieces.pop_front() else {
                if self.has_failed {
                    return Ok(false);
                }
                let source = &mut self.source;
                let next = guarded(&self.path, || source.next());
                self.has_failed = next.is_err();
                let Some(batch) = next? else {
                    return Ok(false);
                };
                let rows = batch.num_rows();
                let starts = (0..rows).step_by(PIECE);
                let pieces = starts.map(|from| batch.slice(from, PIECE.min(rows - from)));
                self.pieces.extend(pieces);
                continue;
            };
            let columns = self.layout.columns.iter().zip(piece.columns());
            let columns = columns.map(|(Mapped { name, .. }, array)| {
                Column::of(array).ok_or_else(|| TraceError::Field {
                    place: Place::of(&self.path, 0),
                    field: name.clone(),
                    seen: array.data_type().to_string(),
                    expected: "the type given in the schema".to_owned(),
                })
            });
            self.piece = columns.collect::<Result<_, _>>()?;
            (self.piece_rows, self.done) = (piece.num_rows(), 0);
        }
        Ok(true)
    }

    /// The record of a row.
    fn record(&mut self, row: usize) -> Result<(Record, Option<Nanos>), TraceError> {
        /// As many as there are fields.
        const MOST: usize = 15;
        let place = Place::row(self.number);
        let mut cells = [(Field::Op, "", Cell::Flag(false)); MOST];
        let mut count = 0;
        for (Mapped { field, name, .. }, column) in self.layout.columns.iter().zip(&self.piece) {
            let cell = column.cell(row, *field);
            let cell = cell.map_err(|wrong| TraceError::Field {
                place: Place::of(&self.path, place),
                field: name.clone(),
                seen: wrong.seen,
                expected: wrong.expected.to_owned(),
            })?;
            let Some(mut cell) = cell else {
                continue;
            };
            if *field == Field::Device
                && let Some(numbers) = &self.numbers
                && let Some(number) = column.text(row).and_then(|label| numbers.number(label))
            {
                cell = Cell::Device(number);
            }
            cells[count] = (*field, name.as_str(), cell);
            count += 1;
        }
        let cells = cells[..count].iter().copied();
        let record = self.rows.record(place, cells);
        record.map_err(|error| self.named_as_in_file(error))
    }

    /// Calls the field that is null as the file does.
    #[cold]
    fn named_as_in_file(&self, mut error: TraceError) -> TraceError {
        if let TraceError::Field { field, seen, .. } = &mut error
            && seen == "null"
        {
            let is_it = |column: &&Mapped| match field.as_str() {
                "time" => matches!(column.field, Field::Start(_)),
                "sector" => matches!(column.field, Field::Sector | Field::OffsetBytes),
                "sectors" => matches!(column.field, Field::Sectors | Field::LengthBytes),
                _ => column.field == Field::Op,
            };
            if let Some(column) = self.layout.columns.iter().find(is_it) {
                field.clone_from(&column.name);
            }
        }
        error
    }
}

impl<S: RecordBatchSource + 'static> TraceReader for TableReader<S> {
    fn next_batch(&mut self, batch: &mut Batch) -> Result<usize, TraceError> {
        batch.clear();
        while batch.len() < Batch::ROWS && self.advance()? {
            let row = self.done;
            self.done += 1;
            self.number += 1;
            match self.record(row) {
                Ok((record, think)) => {
                    batch.push_at(&record, Place::row(self.number));
                    if think.is_some() {
                        batch.set_think(batch.len() - 1, think);
                    }
                }
                Err(error) if self.lenient => skipped(self.rows.metadata_mut(), &error),
                Err(error) => return Err(unreadable_row(error)),
            }
        }
        Ok(batch.len())
    }

    fn metadata(&self) -> &Metadata {
        self.rows.metadata()
    }
}
