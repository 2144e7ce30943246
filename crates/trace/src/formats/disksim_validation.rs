//! The validation traces of DiskSim: a closed loop on a real drive.
//!
//! `R|W Hit|Miss|Doub lbn sectors access_us think_us`. There are no intended starts: each request began
//! its think time after the completion of the one before, so starts are laid end to end from zero. The
//! access time is the latency, the think time a column of its own.

use iosonar_units::{Nanos, Sector, Sectors};

use crate::text::{Context, Line, RowFormat, Rows, possible, whole, words};
use crate::{Outcome, Record, Request, TraceError};

const SHAPE: &str = "'R|W Hit|Miss|Doub lbn sectors access_us think_us'";

pub(crate) const VALIDATION: RowFormat<Validation> = RowFormat {
    name: "disksim-validation",
    extensions: &[],
    description: "DiskSim validation traces: a closed loop with measured access times",
    columns: "R|W, Hit|Miss|Doub, lbn (sectors), length (sectors), access (us), think (us)",
    shape: SHAPE,
    axis: None,
    fits: |line| {
        let mut fields = words(line);
        fields.next().is_some_and(|op| matches!(op, b"R" | b"W"))
            && fields
                .next()
                .is_some_and(|f| f.iter().all(u8::is_ascii_alphabetic))
            && fields.next().is_some_and(|f| whole(f).is_some())
            && fields.count() == 3
    },
    rows: Validation::default,
};

#[derive(Default)]
pub(crate) struct Validation {
    next: Nanos,
    think: Option<Nanos>,
}

impl Rows for Validation {
    fn row(&mut self, line: &Line<'_>, _: &mut Context) -> Result<Option<Record>, TraceError> {
        if line.bytes.trim_ascii().is_empty() {
            return Ok(None);
        }
        let [op, class, lbn, sectors, access, think] = line.words(SHAPE)?;
        if !matches!(class, b"Hit" | b"Miss" | b"Doub" | b"Trip") {
            return Err(line.wrong("class", class, "Hit, Miss, Doub or Trip"));
        }
        let request = Request {
            start: self.next,
            sector: Sector::new(line.sector("lbn", lbn)?),
            sectors: Sectors::new(line.sectors("sectors", sectors)?),
            op: line.direction("op", op)?,
            ..Request::default()
        };
        possible(line, &request, sectors)?;
        let latency = line.time("access", access, 1_000)?;
        let think = line.time("think", think, 1_000)?;
        self.next = self.next.saturating_add(latency).saturating_add(think);
        self.think = Some(think);
        Ok(Some(Record {
            request,
            outcome: Outcome::done(Nanos::ZERO, latency),
        }))
    }

    fn think(&self) -> Option<Nanos> {
        self.think
    }
}
