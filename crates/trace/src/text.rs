//! What all text formats share: lines, fields, numbers, and rows made of them.
//!
//! A format of one request a line implements [`Rows`]; everything else (buffering, places in errors,
//! leniency, devices, axes of time) is here.

mod field;
mod lines;
mod op;
mod rebased;
mod row_format;
mod rows;
mod sink;

pub(crate) use field::{Line, decimal, whole, words};
pub(crate) use lines::{Lines, NO_LINE_END, TAKEN_CUT};
pub(crate) use op::{Letters, direction, op_of_letters};
pub(crate) use rebased::{Axis, Rebased};
pub(crate) use row_format::{RowFormat, first_lines, has_fields};
pub(crate) use rows::{Context, RowReader, Rows, possible};
pub use rows::{skipped, unreadable_row};
pub(crate) use sink::{TextSink, number, seconds};
