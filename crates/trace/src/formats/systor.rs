//! The virtual desktop traces of Systor '17.
//!
//! `Timestamp,Response,IOType,LUN,Offset,Size`: seconds since 1970, seconds, bytes.

use crate::text::{Axis, Context, Line, RowFormat, Rows, has_fields, possible};
use crate::{Outcome, Record, RemarkKind, Request, TraceError};
use iosonar_units::Nanos;

const SHAPE: &str = "'Timestamp,Response,IOType,LUN,Offset,Size'";

pub(crate) const SYSTOR: RowFormat<Systor> = RowFormat {
    name: "systor",
    extensions: &[],
    description: "Systor '17 virtual desktop traces (SNIA), CSV with seconds since 1970",
    columns: "Timestamp (s since 1970), Response (s), IOType, LUN, Offset (B), Size (B)",
    shape: SHAPE,
    axis: Some(Axis::Unix { ns: 0 }),
    fits: |line| {
        line == b"Timestamp,Response,IOType,LUN,Offset,Size" || has_fields(line, b',', "ddonnn")
    },
    rows: || Systor,
};

pub(crate) struct Systor;

impl Rows for Systor {
    fn row(
        &mut self,
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<Option<Record>, TraceError> {
        if line.bytes.is_empty() || line.bytes.starts_with(b"Timestamp") {
            return Ok(None);
        }
        let [time, response, op, lun, offset, size] = line.separated(b',', SHAPE)?;
        // The data set has rows of requests that were never answered, without a type.
        if op.is_empty() {
            context.metadata.remark(
                RemarkKind::Unanswered,
                [
                    "row had no IOType (no response was recorded) and was left out",
                    "rows had no IOType (no response was recorded) and were left out",
                ],
                || format!("line {}", line.number),
            );
            return Ok(None);
        }
        let (sector, sectors) = context.range(line, ("Offset", offset), ("Size", size))?;
        let request = Request {
            start: line.time("Timestamp", time, 1_000_000_000)?,
            sector,
            sectors,
            op: line.direction("IOType", op)?,
            device: context.device(line, lun)?,
            ..Request::default()
        };
        possible(line, &request, size)?;
        let outcome = if response.is_empty() {
            Outcome::default()
        } else {
            Outcome::done(Nanos::ZERO, line.time("Response", response, 1_000_000_000)?)
        };
        Ok(Some(Record { request, outcome }))
    }
}
