//! What the values of a record can be, whatever file it is read from.
//!
//! Formats of text check each field. Binary ones hold any 64 bits, and a valid checksum says nothing about their values.

use iosonar_units::Nanos;

use crate::column::OptionalColumn;
use crate::error::Place;
use crate::{Batch, Op, Record, TraceError};

/// Times and first sectors are below this: a signed number holds them, as other programs have it, and the sum of two of them
/// still fits 64 bits.
pub(crate) const LIMIT: u64 = 1 << 63;

/// A value that no record can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Impossible {
    field: &'static str,
    seen: u64,
    expected: &'static str,
}

impl Impossible {
    /// The error of a file.
    #[cold]
    pub(crate) fn error(self, place: Place) -> TraceError {
        TraceError::Field {
            place,
            field: self.field.to_owned(),
            seen: self.seen.to_string(),
            expected: self.expected.to_owned(),
        }
    }
}

/// Whether all values are below the limit. As that is a power of two, all bits can be looked at together.
fn all_below(values: impl Iterator<Item = u64>) -> bool {
    values.fold(0, |all, value| all | value) < LIMIT
}

impl Batch {
    /// The last possible time.
    pub const LATEST: Nanos = Nanos::new(LIMIT - 1);

    /// Whether all values are such as a file may hold: times and sectors below 2^63, and no length of zero, but of a flush.
    pub fn is_possible(&self) -> bool {
        let known = |column: &OptionalColumn<Option<Nanos>>| {
            all_below(column.values().iter().flatten().map(|time| time.get()))
        };
        let is_empty = |row: usize| self.sectors[row].get() == 0 && self.op[row] != Op::Flush;
        all_below(self.start.iter().map(|start| start.get()))
            && all_below(self.sector.iter().map(|sector| sector.get()))
            && [&self.delay, &self.latency, &self.think]
                .into_iter()
                .all(known)
            && !(0..self.len()).any(is_empty)
    }

    /// The first value that is not possible.
    pub(crate) fn impossible(&self) -> Option<Impossible> {
        match self.is_possible() {
            true => None,
            false => (0..self.len()).find_map(|row| self.impossible_in(row)),
        }
    }

    /// Removes the rows that are not possible; `each` gets what is wrong with them.
    pub(crate) fn retain_possible(&mut self, mut each: impl FnMut(Impossible)) {
        let all = std::mem::take(self);
        for row in 0..all.len() {
            match all.impossible_in(row) {
                None => self.push_row(&all, row),
                Some(found) => each(found),
            }
        }
    }

    fn impossible_in(&self, row: usize) -> Option<Impossible> {
        const TIME: &str = "a time below 292 years";
        let Record { request, outcome } = self.record(row);
        let of = |time: Option<Nanos>| time.map_or(0, Nanos::get);
        let wrong = |field, seen, expected| {
            Some(Impossible {
                field,
                seen,
                expected,
            })
        };
        if request.sectors.get() == 0 && request.op != Op::Flush {
            return wrong("sectors", 0, "a length of at least 1 sector");
        }
        if request.sector.get() >= LIMIT {
            let seen = request.sector.get();
            return wrong("sector", seen, "a sector number, 0 to 2^63 - 1");
        }
        let times = [
            ("start", request.start.get()),
            ("delay", of(outcome.delay)),
            ("latency", of(outcome.latency)),
            ("think", of(self.think(row))),
        ];
        let (field, seen) = times.into_iter().find(|(_, ns)| *ns >= LIMIT)?;
        wrong(field, seen, TIME)
    }
}

#[cfg(test)]
mod tests {
    use iosonar_units::{Sector, Sectors};

    use super::*;

    /// The field of a batch that is found impossible, of a change to the last of three records.
    fn field(change: impl Fn(&mut Batch, usize)) -> Option<(&'static str, u64)> {
        let mut batch = Batch::default();
        for _ in 0..3 {
            let mut record = Record::default();
            record.request.sectors = Sectors::new(1);
            batch.push(&record);
        }
        change(&mut batch, 2);
        let found = batch.impossible();
        assert_eq!(batch.is_possible(), found.is_none());
        let (whole, mut left_out) = (batch.clone(), Vec::new());
        batch.retain_possible(|found| left_out.push(found));
        assert_eq!(batch.len(), 3 - left_out.len());
        assert!(batch.records().eq(whole.records().take(batch.len())));
        assert_eq!(left_out, found.iter().cloned().collect::<Vec<_>>());
        found.map(|found| (found.field, found.seen))
    }

    fn set(change: impl Fn(&mut Record)) -> Option<(&'static str, u64)> {
        field(|batch, row| {
            let mut record = batch.record(row);
            change(&mut record);
            batch.set(row, &record);
        })
    }

    #[test]
    fn each_value_has_its_limit() {
        for (value, is_possible) in [
            (0, true),
            (LIMIT - 1, true),
            (LIMIT, false),
            (u64::MAX, false),
        ] {
            let time = Some(Nanos::new(value));
            let expected = |name| (!is_possible).then_some((name, value));
            let start = set(|record| record.request.start = Nanos::new(value));
            assert_eq!(start, expected("start"));
            let sector = set(|record| record.request.sector = Sector::new(value));
            assert_eq!(sector, expected("sector"));
            let delay = set(|record| record.outcome.delay = time);
            assert_eq!(delay, expected("delay"));
            let latency = set(|record| record.outcome.latency = time);
            assert_eq!(latency, expected("latency"));
            let think = field(|batch, row| batch.set_think(row, time));
            assert_eq!(think, expected("think"));
        }
        // Only a flush has no length.
        for op in Op::ALL {
            let found = set(|record| {
                record.request.op = op;
                record.request.sectors = Sectors::new(0);
            });
            let expected = (op != Op::Flush).then_some(("sectors", 0));
            assert_eq!(found, expected, "{op:?}");
        }
    }
}
