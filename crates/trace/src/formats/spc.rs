//! The traces of the Storage Performance Council.
//!
//! `ASU,LBA,Size,Opcode,Timestamp`: sectors of 512 B, bytes, seconds from the beginning. A device is an
//! application storage unit.

use iosonar_units::Sector;

use crate::text::{Context, Line, RowFormat, Rows, has_fields, possible};
use crate::{Record, Request, TraceError};

const SHAPE: &str = "'ASU,LBA,Size,Opcode,Timestamp'";

pub(crate) const SPC: RowFormat<Spc> = RowFormat {
    name: "spc",
    extensions: &["spc"],
    description: "Storage Performance Council traces (UMass: Financial, WebSearch)",
    columns: "ASU, LBA (sectors), Size (B), Opcode, Timestamp (s)",
    shape: SHAPE,
    axis: None,
    fits: |line| has_fields(line, b',', "nnnod") || has_fields(line, b',', "nnnodw"),
    rows: || Spc,
};

pub(crate) struct Spc;

impl Rows for Spc {
    fn row(
        &mut self,
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<Option<Record>, TraceError> {
        if line.bytes.trim_ascii().is_empty() {
            return Ok(None);
        }
        // Optional fields may follow; they have no meaning that is common to all.
        let mut fields = line.bytes.split(|&b| b == b',').map(<[u8]>::trim_ascii);
        let mut next = |name| fields.next().ok_or_else(|| line.missing(name, SHAPE));
        let (asu, lba, size) = (next("ASU")?, next("LBA")?, next("Size")?);
        let (op, time) = (next("Opcode")?, next("Timestamp")?);
        let (_, sectors) = context.range(line, ("LBA", b"0"), ("Size", size))?;
        let request = Request {
            start: line.time("Timestamp", time, 1_000_000_000)?,
            sector: Sector::new(line.sector("LBA", lba)?),
            sectors,
            op: line.direction("Opcode", op)?,
            device: context.device(line, asu)?,
            ..Request::default()
        };
        possible(line, &request, size)?;
        Ok(Some(Record {
            request,
            ..Record::default()
        }))
    }
}
