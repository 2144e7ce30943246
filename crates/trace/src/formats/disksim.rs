//! The default ASCII traces of DiskSim.
//!
//! `time_ms devno blkno bcount flags`: milliseconds from the beginning, blocks of 512 B; bit 0 of the
//! flags, in hexadecimal, marks a read.

use iosonar_units::{Sector, Sectors};

use crate::text::{Context, Line, RowFormat, Rows, has_fields, possible, words};
use crate::{Op, Record, Request, TraceError};

const SHAPE: &str = "'time_ms devno blkno bcount flags'";

pub(crate) const DISKSIM: RowFormat<Disksim> = RowFormat {
    name: "disksim",
    extensions: &["ascii"],
    description: "DiskSim ASCII traces",
    columns: "time (ms), devno, blkno (sectors), bcount (sectors), flags (hexadecimal, bit 0 read)",
    shape: SHAPE,
    axis: None,
    fits: |line| {
        has_fields(line, b' ', "dnnnw")
            && words(line).next().is_some_and(|time| time.contains(&b'.'))
            && words(line)
                .nth(4)
                .is_some_and(|f| f.iter().all(u8::is_ascii_hexdigit))
    },
    rows: || Disksim,
};

pub(crate) struct Disksim;

impl Rows for Disksim {
    fn row(
        &mut self,
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<Option<Record>, TraceError> {
        if line.bytes.trim_ascii().is_empty() {
            return Ok(None);
        }
        let [time, device, block, count, flags] = line.words(SHAPE)?;
        let bits = std::str::from_utf8(flags)
            .ok()
            .and_then(|f| u64::from_str_radix(f, 16).ok())
            .ok_or_else(|| {
                line.wrong(
                    "flags",
                    flags,
                    "a hexadecimal number, with bit 0 set for a read",
                )
            })?;
        line.number("devno", device)?;
        let request = Request {
            start: line.time("time", time, 1_000_000)?,
            sector: Sector::new(line.sector("blkno", block)?),
            sectors: Sectors::new(line.sectors("bcount", count)?),
            op: if bits & 1 == 1 { Op::Read } else { Op::Write },
            device: context.device(line, device)?,
            ..Request::default()
        };
        possible(line, &request, count)?;
        Ok(Some(Record {
            request,
            ..Record::default()
        }))
    }
}
