//! The block traces of Florida International University.
//!
//! `ts pid process lba blocks W|R major minor md5`: times in nanoseconds, or in seconds with a fraction;
//! blocks of 512 B.

use iosonar_units::{Nanos, Sector, Sectors};

use crate::limits::LIMIT;
use crate::text::{Axis, Context, Line, RowFormat, Rows, possible, whole, words};
use crate::{Record, Request, TraceError};

const SHAPE: &str = "'ts pid process lba blocks W|R major minor md5'";

pub(crate) const FIU: RowFormat<Fiu> = RowFormat {
    name: "fiu",
    extensions: &["blkparse"],
    description: "FIU I/O traces (SNIA IODedup)",
    columns: "ts (ns, or s with a fraction), pid, process, lba (sectors), blocks (sectors), W|R, major, minor, md5",
    shape: SHAPE,
    axis: Some(Axis::Unix { ns: 0 }),
    fits,
    rows: || Fiu,
};

fn fits(line: &[u8]) -> bool {
    fields(line).is_some_and(|f| {
        crate::text::decimal(f[0], 1).is_some()
            && [f[1], f[3], f[4], f[6], f[7]]
                .iter()
                .all(|f| whole(f).is_some())
            && matches!(f[5], b"R" | b"W")
    })
}

/// The nine fields; a process may have blanks in its name, and the checksum be missing.
fn fields(line: &[u8]) -> Option<[&[u8]; 9]> {
    let parts: Vec<&[u8]> = words(line).collect();
    let op = parts.iter().rposition(|f| matches!(*f, b"R" | b"W"))?;
    if op < 5 || parts.len() < op + 3 || parts.len() > op + 4 {
        return None;
    }
    let md5 = parts.get(op + 3).copied().unwrap_or_default();
    Some([
        parts[0],
        parts[1],
        parts[2],
        parts[op - 2],
        parts[op - 1],
        parts[op],
        parts[op + 1],
        parts[op + 2],
        md5,
    ])
}

pub(crate) struct Fiu;

impl Rows for Fiu {
    fn row(
        &mut self,
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<Option<Record>, TraceError> {
        let trimmed = line.bytes.trim_ascii();
        if trimmed.is_empty() {
            return Ok(None);
        }
        let [ts, _, _, lba, blocks, op, major, minor, _] =
            fields(trimmed).ok_or_else(|| line.wrong("line", trimmed, SHAPE))?;
        let start = if ts.contains(&b'.') {
            line.time("ts", ts, 1_000_000_000)?
        } else {
            Nanos::new(line.number_up_to("ts", ts, LIMIT - 1)?)
        };
        let (major, minor) = (line.number("major", major)?, line.number("minor", minor)?);
        let request = Request {
            start,
            sector: Sector::new(line.sector("lba", lba)?),
            sectors: Sectors::new(line.sectors("blocks", blocks)?),
            op: line.direction("op", op)?,
            device: context.device(line, format!("{major},{minor}").as_bytes())?,
            ..Request::default()
        };
        possible(line, &request, blocks)?;
        Ok(Some(Record {
            request,
            ..Record::default()
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, ReadOptions, input};

    #[test]
    fn a_row_may_have_no_checksum_and_a_command_of_several_words() {
        for (row, is_read) in [
            (
                "9223372036854775807 4892 syslogd 904265560 8 W 6 0 531e",
                true,
            ),
            (
                "9223372036854775808 4892 syslogd 904265560 8 W 6 0 531e",
                false,
            ),
            ("0 4892 syslogd 904265560 8 W 6 0", true),
            ("0 4892 a b c 904265560 8 W 6 0 531e", true),
            ("0 4892 syslogd 904265560 8 W 6", false),
            ("0 4892 syslogd 904265560 8 W 6 0 531e more", false),
            ("0 4892 904265560 8 W 6 0 531e", false),
        ] {
            let options = ReadOptions {
                format: Some("fiu".to_owned()),
                ..ReadOptions::default()
            };
            let text = std::io::Cursor::new(format!("{row}\n"));
            let mut batch = Batch::default();
            let read = input::read_from(Box::new(text), "x".as_ref(), &options)
                .and_then(|mut reader| reader.next_batch(&mut batch));
            assert_eq!(read.is_ok(), is_read, "{row}");
            if is_read {
                let request = batch.request(0);
                assert_eq!(request.sector, Sector::new(904_265_560), "{row}");
                assert_eq!(request.sectors, Sectors::new(8), "{row}");
            }
        }
    }

    #[test]
    fn a_row_has_nine_fields_of_which_the_last_may_be_missing() {
        for (line, process_end, md5) in [
            (
                "0 4892 sh 904265560 8 W 6 0 531e",
                Some("904265560"),
                "531e",
            ),
            ("0 4892 sh 904265560 8 W 6 0", Some("904265560"), ""),
            // A name with blanks, and with a letter of its own.
            (
                "0 4892 sh -c R 904265560 8 R 6 0 531e",
                Some("904265560"),
                "531e",
            ),
            ("0 4892 904265560 8 W 6 0 531e", None, ""),
            ("0 4892 sh 904265560 8 W 6", None, ""),
            ("0 4892 sh 904265560 8 W 6 0 531e 7", None, ""),
            ("0 4892 sh 904265560 8 X 6 0 531e", None, ""),
        ] {
            let seen = fields(line.as_bytes()).map(|f| (f[3], f[8]));
            let expected = process_end.map(|sector| (sector.as_bytes(), md5.as_bytes()));
            assert_eq!(seen, expected, "{line}");
        }
    }
}
