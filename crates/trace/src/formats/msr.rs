//! The block traces of MSR Cambridge.
//!
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: Windows file times (100 ns since 1601),
//! bytes, response times in 100 ns. A device is a disk of a host.

use iosonar_units::Nanos;

use crate::text::{Axis, Context, Line, RowFormat, Rows, has_fields, possible};
use crate::{Outcome, Record, Request, TraceError};

const SHAPE: &str = "'Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime'";
/// From 1601 to 1970.
const EPOCHS_APART_NS: i128 = 11_644_473_600_000_000_000;

pub(crate) const MSR: RowFormat<Msr> = RowFormat {
    name: "msr",
    extensions: &[],
    description: "MSR Cambridge block traces (SNIA), CSV with Windows file times",
    columns: "Timestamp (100 ns since 1601), Hostname, DiskNumber, Type, Offset (B), Size (B), ResponseTime \
              (100 ns)",
    shape: SHAPE,
    axis: Some(Axis::Unix {
        ns: -EPOCHS_APART_NS,
    }),
    fits: |line| has_fields(line, b',', "nwnonnn"),
    rows: || Msr,
};

pub(crate) struct Msr;

impl Rows for Msr {
    fn row(
        &mut self,
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<Option<Record>, TraceError> {
        if line.bytes.is_empty() || line.bytes.starts_with(b"Timestamp,") {
            return Ok(None);
        }
        let [time, host, disk, op, offset, size, response] = line.separated(b',', SHAPE)?;
        // File times are beyond 2^63 ns already, and stay below 2^64 until 2185.
        let ticks = line.number_up_to("Timestamp", time, u64::MAX / 100)?;
        let (sector, sectors) = context.range(line, ("Offset", offset), ("Size", size))?;
        line.number("DiskNumber", disk)?;
        let device = context.device(line, &[host, b"_", disk].concat())?;
        let request = Request {
            start: Nanos::new(ticks * 100),
            sector,
            sectors,
            op: line.direction("Type", op)?,
            device,
            ..Request::default()
        };
        possible(line, &request, size)?;
        let latency = line.time("ResponseTime", response, 100)?;
        Ok(Some(Record {
            request,
            outcome: Outcome::done(Nanos::ZERO, latency),
        }))
    }
}
