//! The ASCII traces of `MQSim`.
//!
//! `time_ns device lba sectors type`: nanoseconds from the beginning, 0 for a write and 1 for a read.

use iosonar_units::{Sector, Sectors};

use crate::text::{Context, Line, RowFormat, Rows, has_fields, possible, words};
use crate::{Op, Record, Request, TraceError};

const SHAPE: &str = "'time_ns device lba sectors type'";

pub(crate) const MQSIM: RowFormat<Mqsim> = RowFormat {
    name: "mqsim",
    extensions: &[],
    description: "MQSim ASCII traces",
    columns: "time (ns), device, lba (sectors), length (sectors), type (0 write, 1 read)",
    shape: SHAPE,
    axis: None,
    fits: |line| {
        has_fields(line, b' ', "nnnnn")
            && words(line).nth(4).is_some_and(|t| matches!(t, b"0" | b"1"))
    },
    rows: || Mqsim,
};

pub(crate) struct Mqsim;

impl Rows for Mqsim {
    fn row(
        &mut self,
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<Option<Record>, TraceError> {
        if line.bytes.trim_ascii().is_empty() {
            return Ok(None);
        }
        let [time, device, lba, sectors, kind] = line.words(SHAPE)?;
        line.number("device", device)?;
        let request = Request {
            start: line.time("time", time, 1)?,
            sector: Sector::new(line.sector("lba", lba)?),
            sectors: Sectors::new(line.sectors("sectors", sectors)?),
            op: match kind {
                b"0" => Op::Write,
                b"1" => Op::Read,
                _ => return Err(line.wrong("type", kind, "0 (write) or 1 (read)")),
            },
            device: context.device(line, device)?,
            ..Request::default()
        };
        possible(line, &request, sectors)?;
        Ok(Some(Record {
            request,
            ..Record::default()
        }))
    }
}
