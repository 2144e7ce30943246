//! The block traces of Tencent's cloud block storage.
//!
//! `timestamp,offset,size,iotype,volume`: seconds since 1970, sectors, 0 for a read and 1 for a write.

use iosonar_units::{Sector, Sectors};

use crate::text::{Axis, Context, Line, RowFormat, Rows, possible, whole};
use crate::{Op, Record, Request, TraceError};

const SHAPE: &str = "'timestamp,offset,size,iotype,volume'";

pub(crate) const TENCENT: RowFormat<Tencent> = RowFormat {
    name: "tencent",
    extensions: &[],
    description: "Tencent CBS block traces (SNIA), CSV with seconds since 1970",
    columns: "timestamp (s since 1970), offset (sectors), size (sectors), iotype (0 read, 1 write), volume",
    shape: SHAPE,
    axis: Some(Axis::Unix { ns: 0 }),
    fits,
    rows: || Tencent,
};

/// All five are numbers, which other formats may have as well: the clock is that of a calendar, and the
/// operation is 0 or 1.
fn fits(line: &[u8]) -> bool {
    let fields: Vec<&[u8]> = line.split(|&b| b == b',').map(<[u8]>::trim_ascii).collect();
    let [time, offset, size, op, volume] = fields[..] else {
        return false;
    };
    [time, offset, size, volume]
        .iter()
        .all(|f| whole(f).is_some())
        && whole(time).is_some_and(|t| (1_000_000_000..10_000_000_000).contains(&t))
        && matches!(op, b"0" | b"1")
}

pub(crate) struct Tencent;

impl Rows for Tencent {
    fn row(
        &mut self,
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<Option<Record>, TraceError> {
        if line.bytes.is_empty() {
            return Ok(None);
        }
        let [time, offset, size, op, volume] = line.separated(b',', SHAPE)?;
        let request = Request {
            start: line.time("timestamp", time, 1_000_000_000)?,
            sector: Sector::new(line.sector("offset", offset)?),
            sectors: Sectors::new(line.sectors("size", size)?),
            op: match op {
                b"0" => Op::Read,
                b"1" => Op::Write,
                _ => return Err(line.wrong("iotype", op, "0 (read) or 1 (write)")),
            },
            device: context.device(line, volume)?,
            ..Request::default()
        };
        possible(line, &request, size)?;
        Ok(Some(Record {
            request,
            ..Record::default()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_time_of_these_years_and_an_operation_of_0_or_1() {
        for (line, expected) in [
            ("1538323200,12910952,128,0,1063", true),
            (" 1538323200 , 0 , 0 , 1 , 0 ", true),
            ("1000000000,0,1,1,0", true),
            ("9999999999,0,1,1,0", true),
            ("999999999,0,1,1,0", false),
            ("10000000000,0,1,1,0", false),
            ("1538323200,0,1,2,0", false),
            ("1538323200,x,1,1,0", false),
            ("1538323200,0,x,1,0", false),
            ("1538323200,0,1,1,x", false),
            ("x,0,1,1,0", false),
            ("1538323200,0,1,1", false),
            ("1538323200,0,1,1,0,0", false),
        ] {
            assert_eq!(fits(line.as_bytes()), expected, "{line}");
        }
    }
}
