//! The formats.

use std::path::Path;

use iosonar_trace::{
    Batch, Format, Metadata, Place, ReadOptions, Sink, Source, TraceError, TraceReader,
    TraceWriter, WriteOptions, fields,
};

use crate::columns::{are_all_short, too_long};
use crate::guarded::guarded;
use crate::ipc::{self, Blocks};
use crate::parquet_file::{self, RowGroups};
use crate::positioned::Positioned;
use crate::results::{ArrowTables, ParquetTables};
use crate::table::{Layout, TableReader};

/// Parquet.
pub struct Parquet;

/// Arrow IPC files, under one of their names: [`ARROW`] or [`FEATHER`].
pub struct Ipc {
    name: &'static str,
    extensions: &'static [&'static str],
    description: &'static str,
    magic: &'static [u8],
}

/// Arrow IPC files.
pub static ARROW: Ipc = Ipc {
    name: "arrow",
    extensions: &["arrow", "ipc"],
    description: "Apache Arrow IPC file: typed CSV columns in Arrow's memory layout; --columns maps other names",
    magic: ipc::MAGIC,
};

/// The same under another name. Files of the second version have the content of [`ARROW`]; those of the first are
/// recognised to be refused.
pub static FEATHER: Ipc = Ipc {
    name: "feather",
    extensions: &["feather"],
    description: "Feather version 2: another name for an Arrow IPC file",
    magic: ipc::FIRST_FEATHER,
};

/// Makes these formats known to [`iosonar_trace`], for traces and for tables of results: call it when the program starts.
pub fn register() {
    let formats: [&'static dyn Format; 3] = [&Parquet, &ARROW, &FEATHER];
    for format in formats {
        // Where it is known already, it stays.
        iosonar_trace::formats::register(format);
    }
    iosonar_trace::tables::register(&ParquetTables);
    iosonar_trace::tables::register(&ArrowTables);
}

const LOSES: &str = "times beyond 292 years";

impl Format for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["parquet"]
    }

    fn description(&self) -> &'static str {
        "Apache Parquet: typed CSV columns; compact, and read by most data frame libraries; --columns maps other \
         names"
    }

    fn columns(&self) -> &'static str {
        fields::COLUMNS
    }

    fn loses(&self) -> Option<&'static str> {
        Some(LOSES)
    }

    fn maps_columns(&self) -> bool {
        true
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(parquet_file::MAGIC)
    }

    fn reader(
        &self,
        source: Source,
        options: &ReadOptions,
    ) -> Result<Box<dyn TraceReader>, TraceError> {
        let file = Positioned::of(source, "Parquet", options)?;
        let path = file.path().to_owned();
        let (groups, layout) = guarded(&path, || {
            let mut groups = RowGroups::open(file)?;
            let layout = Layout::of(&path, &groups.schema(), options)?;
            groups.begin(&layout)?;
            Ok((groups, layout))
        })?;
        Ok(TableReader::boxed(groups, &path, layout, options))
    }

    fn writer(
        &self,
        sink: Sink,
        metadata: &Metadata,
        options: &WriteOptions,
    ) -> Result<Box<dyn TraceWriter>, TraceError> {
        refuse_compressed(&sink.path, "Parquet")?;
        let holdable = Holdable::new("parquet", options);
        let writer = parquet_file::Writer::new(sink, metadata, holdable)?;
        Ok(Box::new(writer))
    }
}

impl Format for Ipc {
    fn name(&self) -> &'static str {
        self.name
    }

    fn extensions(&self) -> &'static [&'static str] {
        self.extensions
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn columns(&self) -> &'static str {
        fields::COLUMNS
    }

    fn loses(&self) -> Option<&'static str> {
        Some(LOSES)
    }

    fn maps_columns(&self) -> bool {
        true
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(self.magic)
    }

    fn reader(
        &self,
        source: Source,
        options: &ReadOptions,
    ) -> Result<Box<dyn TraceReader>, TraceError> {
        let file = Positioned::of(source, "Arrow", options)?;
        let path = file.path().to_owned();
        if file
            .bytes(0, 4)
            .is_ok_and(|head| head == ipc::FIRST_FEATHER)
        {
            return Err(file.damaged(
                "this is Feather version 1, but only version 2 (an Arrow IPC file) can be read: write it again with \
                 pyarrow or Polars (2020 or later)",
            ));
        }
        let mut blocks = guarded(&path, || Blocks::open(file))?;
        let layout = Layout::of(&path, blocks.schema(), options)?;
        blocks.project(layout.columns.iter().map(|column| column.index).collect());
        Ok(TableReader::boxed(blocks, &path, layout, options))
    }

    fn writer(
        &self,
        sink: Sink,
        metadata: &Metadata,
        options: &WriteOptions,
    ) -> Result<Box<dyn TraceWriter>, TraceError> {
        refuse_compressed(&sink.path, "Arrow")?;
        let holdable = Holdable::new(self.name, options);
        Ok(Box::new(ipc::Writer::new(sink, metadata, holdable)?))
    }
}

/// Refuses to compress what could not be read then.
fn refuse_compressed(path: &Path, format: &str) -> Result<(), TraceError> {
    let name = path.as_os_str().to_string_lossy();
    match [".gz", ".zst"]
        .iter()
        .find(|ending| name.ends_with(**ending))
    {
        None => Ok(()),
        Some(ending) => Err(TraceError::Option(format!(
            "{}: a {format} file cannot be compressed as a whole: leave out {ending}",
            path.display()
        ))),
    }
}

/// How records with times that the format cannot hold are treated: refused, or left out and counted.
pub(crate) struct Holdable {
    format: &'static str,
    lossy: bool,
    left_out: u64,
}

impl Holdable {
    fn new(format: &'static str, options: &WriteOptions) -> Self {
        Self {
            format,
            lossy: options.lossy,
            left_out: 0,
        }
    }

    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The batch without the records that cannot be held; `None` if all can.
    pub(crate) fn without_others(
        &mut self,
        batch: &Batch,
        path: &Path,
    ) -> Result<Option<Batch>, TraceError> {
        if are_all_short(batch) {
            return Ok(None);
        }
        let Some(row) = (0..batch.len()).find(|row| too_long(batch, *row).is_some()) else {
            return Ok(None);
        };
        if !self.lossy
            && let Some((column, time)) = too_long(batch, row)
        {
            return Err(TraceError::Request {
                place: Place::of(path, 0),
                problem: format!(
                    "the format '{}' cannot hold a {column} of {} ns, expected at most 2^63 - 1: leave such requests \
                     out with --lossy",
                    self.format,
                    time.get()
                ),
            });
        }
        let mut left = Batch::default();
        for row in (0..batch.len()).filter(|row| too_long(batch, *row).is_none()) {
            left.push_row(batch, row);
        }
        self.left_out += (batch.len() - left.len()) as u64;
        Ok(Some(left))
    }
}
