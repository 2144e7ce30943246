//! Traces as Arrow record batches, and in the two kinds of files that keep them: Parquet and Arrow IPC (also called
//! Feather).
//!
//! | column | type | null |
//! |---|---|---|
//! | `time_ns` | duration in ns since the origin of the trace | |
//! | `sector` | unsigned, 64 bits | |
//! | `sectors` | unsigned, 32 bits | |
//! | `op` | dictionary of words | |
//! | `flags` | dictionary of words, joined by `+` | |
//! | `device` | dictionary of names | if the trace has one device without a name |
//! | `class` | unsigned, 16 bits | |
//! | `group` | unsigned, 32 bits | |
//! | `delay_ns`, `latency_ns` | duration in ns | if it was not measured: the request was not submitted or not completed |
//! | `think_ns` | duration in ns | if it is not known |
//! | `status` | dictionary of words | |
//! | `pushed_back` | boolean | |
//!
//! Names and words are those of the CSV format ([`iosonar_trace::fields`]). A start is a duration, not a timestamp: the
//! origin of most traces is not known, and those of simulations have none. Where it is, `origin_ns` in the metadata has
//! it: timestamp = origin + `time_ns`.
//!
//! Two keys of the schema's metadata say what the file is: [`VERSION_KEY`], the version of this table, and
//! [`TRACE_KEY`], the trace's [`Metadata`](iosonar_trace::Metadata) as JSON (`notices`, `origin_ns`, `devices`,
//! `about`). With both, what is written is read back identical; times beyond 2^63 - 1 ns (292 years) cannot be
//! held. Dictionary keys are signed, which pandas needs.
//!
//! Parquet knows no durations: readers that ignore the Arrow schema in the file (DuckDB) see whole numbers, whose unit
//! is in the column's name.
//!
//! Tables from elsewhere are read by the same rules as CSV: columns have the fields' names, or are mapped by
//! [`ReadOptions::columns`](iosonar_trace::ReadOptions::columns). A column of durations or timestamps has its unit in its
//! type and needs none in its name. Timestamps count from 1970: the first request is at time zero then, as in other
//! formats with a calendar.
//!
//! ```
//! use iosonar_trace::{Batch, Metadata, Record};
//!
//! let mut batch = Batch::default();
//! batch.push(&Record::default());
//! let table = iosonar_arrow::record_batch(&batch, &Metadata::default()).unwrap();
//! assert_eq!(table.schema().field(0).name(), "time_ns");
//!
//! // From now on, iosonar_trace reads and writes .parquet, .arrow and .feather.
//! iosonar_arrow::register();
//! assert_eq!(iosonar_trace::output::format_for("x.parquet".as_ref()).unwrap().name(), "parquet");
//! ```

mod cells;
mod columns;
mod devices;
mod formats;
mod guarded;
mod ipc;
mod parquet_file;
mod positioned;
mod record_batches;
mod results;
mod schema;
mod table;

pub use columns::{Columns, TooLong};
pub use formats::{ARROW, FEATHER, Ipc, Parquet, register};
pub use guarded::is_decoding;
pub use record_batches::{RecordBatchError, RecordBatches, record_batch};
pub use results::table_batch;
pub use schema::{TRACE_KEY, VERSION, VERSION_KEY, schema};

/// The crates of Arrow that this one is built with.
pub use {arrow_array, arrow_schema};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
