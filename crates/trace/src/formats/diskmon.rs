//! The log of `DiskMon`, of Windows.
//!
//! `seq time duration disk Read|Write sector length`, between tabs, blanks or commas: seconds, seconds,
//! sectors.

use iosonar_units::{Nanos, Sector, Sectors};

use crate::text::{Context, Line, RowFormat, Rows, possible, whole};
use crate::{Outcome, Record, Request, TraceError};

const SHAPE: &str = "'seq time duration disk Read|Write sector length'";

pub(crate) const DISKMON: RowFormat<Diskmon> = RowFormat {
    name: "diskmon",
    extensions: &[],
    description: "Windows DiskMon logs",
    columns: "seq, time (s), duration (s), disk, Read|Write, sector, length (sectors)",
    shape: SHAPE,
    axis: None,
    fits: |line| {
        fields(line).is_some_and(|f| {
            whole(f[0]).is_some()
                && crate::text::decimal(f[1], 1).is_some()
                && crate::text::decimal(f[2], 1).is_some()
                && [&b"Read"[..], b"Write"]
                    .iter()
                    .any(|op| f[4].eq_ignore_ascii_case(op))
                && whole(f[6]).is_some()
        })
    },
    rows: || Diskmon,
};

fn fields(line: &[u8]) -> Option<[&[u8]; 7]> {
    let mut parts = line
        .split(|b| matches!(b, b' ' | b'\t' | b','))
        .filter(|f| !f.is_empty());
    let mut fields = [&[][..]; 7];
    for field in &mut fields {
        *field = parts.next()?;
    }
    parts.next().is_none().then_some(fields)
}

pub(crate) struct Diskmon;

impl Rows for Diskmon {
    fn row(
        &mut self,
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<Option<Record>, TraceError> {
        if line.bytes.trim_ascii().is_empty() {
            return Ok(None);
        }
        let [seq, time, duration, disk, op, sector, length] =
            fields(line.bytes).ok_or_else(|| line.wrong("line", line.bytes, SHAPE))?;
        line.number("seq", seq)?;
        let request = Request {
            start: line.time("time", time, 1_000_000_000)?,
            sector: Sector::new(line.sector("sector", sector)?),
            sectors: Sectors::new(line.sectors("length", length)?),
            op: line.direction("request", op)?,
            device: context.device(line, disk)?,
            ..Request::default()
        };
        possible(line, &request, length)?;
        let latency = line.time("duration", duration, 1_000_000_000)?;
        Ok(Some(Record {
            request,
            outcome: Outcome::done(Nanos::ZERO, latency),
        }))
    }
}
