//! The block traces of Alibaba's cloud.
//!
//! `device_id,opcode,offset,length,timestamp`: bytes, microseconds since 1970.

use crate::text::{Axis, Context, Line, RowFormat, Rows, has_fields, possible};
use crate::{Record, Request, TraceError};

const SHAPE: &str = "'device_id,opcode,offset,length,timestamp'";

pub(crate) const ALIBABA: RowFormat<Alibaba> = RowFormat {
    name: "alibaba",
    extensions: &[],
    description: "Alibaba cloud block traces, CSV with microseconds since 1970",
    columns: "device_id, opcode, offset (B), length (B), timestamp (us since 1970)",
    shape: SHAPE,
    axis: Some(Axis::Unix { ns: 0 }),
    fits: |line| {
        has_fields(line, b',', "wonnn") || line == b"device_id,opcode,offset,length,timestamp"
    },
    rows: || Alibaba,
};

pub(crate) struct Alibaba;

impl Rows for Alibaba {
    fn row(
        &mut self,
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<Option<Record>, TraceError> {
        if line.bytes.is_empty() || line.bytes.starts_with(b"device_id,") {
            return Ok(None);
        }
        let [device, op, offset, length, time] = line.separated(b',', SHAPE)?;
        let (sector, sectors) = context.range(line, ("offset", offset), ("length", length))?;
        let request = Request {
            start: line.time("timestamp", time, 1_000)?,
            sector,
            sectors,
            op: line.direction("opcode", op)?,
            device: context.device(line, device)?,
            ..Request::default()
        };
        possible(line, &request, length)?;
        Ok(Some(Record {
            request,
            ..Record::default()
        }))
    }
}
