//! Batches: some thousand records in columns.

use iosonar_units::{Nanos, Sector, Sectors};

use crate::column::OptionalColumn;
use crate::{Flags, Op, Outcome, Record, Request, Status};

/// Some thousand records, column by column.
///
/// What every request has (start, sector, length, operation) is always stored; everything else
/// lives in columns that take no memory until a row needs them. Readers also note where each row
/// stands in its file, so that later stages can name the place of what they refuse.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub(crate) start: Vec<Nanos>,
    pub(crate) sector: Vec<Sector>,
    pub(crate) sectors: Vec<Sectors>,
    pub(crate) op: Vec<Op>,
    pub(crate) flags: OptionalColumn<Flags>,
    pub(crate) device: OptionalColumn<u16>,
    pub(crate) class: OptionalColumn<u16>,
    pub(crate) group: OptionalColumn<u32>,
    pub(crate) delay: OptionalColumn<Option<Nanos>>,
    pub(crate) latency: OptionalColumn<Option<Nanos>>,
    pub(crate) think: OptionalColumn<Option<Nanos>>,
    pub(crate) status: OptionalColumn<Status>,
    pub(crate) pushed_back: OptionalColumn<bool>,
    pub(crate) place: OptionalColumn<u64>,
    /// The place of all rows, where they have none of their own.
    common_place: u64,
}

/// Does the same with every column.
macro_rules! each_column {
    ($batch:expr, $column:ident => $action:expr) => {
        each_column!(@ $batch, $column => $action;
            start sector sectors op flags device class group delay latency think status pushed_back place)
    };
    (@ $batch:expr, $column:ident => $action:expr; $($name:ident)*) => {
        $({ let $column = &mut $batch.$name; $action; })*
    };
}

impl Batch {
    /// How many rows a reader puts into one batch at the most.
    pub const ROWS: usize = 4096;

    /// Removes all rows, keeps the memory.
    pub fn clear(&mut self) {
        each_column!(self, column => column.clear());
        self.common_place = 0;
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// Appends a record that stands nowhere in a file.
    #[inline]
    pub fn push(&mut self, record: &Record) {
        self.push_at(record, 0);
    }

    /// Appends a record that stands at `place` of its file: a line number for text formats, a byte
    /// offset for binary ones.
    #[inline]
    pub fn push_at(&mut self, record: &Record, place: u64) {
        let row = self.len();
        let Record { request, outcome } = record;
        self.start.push(request.start);
        self.sector.push(request.sector);
        self.sectors.push(request.sectors);
        self.op.push(request.op);
        self.flags.push(row, request.flags);
        self.device.push(row, request.device);
        self.class.push(row, request.class);
        self.group.push(row, request.group);
        self.delay.push(row, outcome.delay);
        self.latency.push(row, outcome.latency);
        self.think.push(row, None);
        self.status.push(row, outcome.status);
        self.pushed_back.push(row, outcome.pushed_back);
        self.place.push(row, place);
    }

    /// Appends row `row` of `other`, with all that is known of it.
    #[inline]
    pub fn push_row(&mut self, other: &Self, row: usize) {
        self.push_at(&other.record(row), other.place(row));
        if let Some(think) = other.think(row) {
            self.think.set(self.len() - 1, Some(think));
        }
    }

    /// Appends rows of `other`, with all that is known of them.
    pub(crate) fn push_rows(&mut self, other: &Self, rows: impl Iterator<Item = usize> + Clone) {
        let len = self.len();
        let places = rows.clone().map(|row| other.place(row));
        (len..)
            .zip(places)
            .for_each(|(row, place)| self.place.push(row, place));
        self.start.extend(rows.clone().map(|row| other.start[row]));
        self.sector
            .extend(rows.clone().map(|row| other.sector[row]));
        self.sectors
            .extend(rows.clone().map(|row| other.sectors[row]));
        self.op.extend(rows.clone().map(|row| other.op[row]));
        self.flags.extend_from(len, &other.flags, rows.clone());
        self.device.extend_from(len, &other.device, rows.clone());
        self.class.extend_from(len, &other.class, rows.clone());
        self.group.extend_from(len, &other.group, rows.clone());
        self.delay.extend_from(len, &other.delay, rows.clone());
        self.latency.extend_from(len, &other.latency, rows.clone());
        self.think.extend_from(len, &other.think, rows.clone());
        self.status.extend_from(len, &other.status, rows.clone());
        self.pushed_back.extend_from(len, &other.pushed_back, rows);
    }

    /// The request of row `row`.
    #[inline]
    pub fn request(&self, row: usize) -> Request {
        Request {
            start: self.start[row],
            sector: self.sector[row],
            sectors: self.sectors[row],
            op: self.op[row],
            flags: self.flags.get(row),
            device: self.device.get(row),
            class: self.class.get(row),
            group: self.group.get(row),
        }
    }

    /// The outcome of row `row`.
    #[inline]
    pub fn outcome(&self, row: usize) -> Outcome {
        Outcome {
            delay: self.delay.get(row),
            latency: self.latency.get(row),
            status: self.status.get(row),
            pushed_back: self.pushed_back.get(row),
        }
    }

    /// Row `row`.
    #[inline]
    pub fn record(&self, row: usize) -> Record {
        Record {
            request: self.request(row),
            outcome: self.outcome(row),
        }
    }

    /// All rows in order.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        (0..self.len()).map(|row| self.record(row))
    }

    /// All rows in order, without their outcomes.
    pub fn requests(&self) -> impl Iterator<Item = Request> + '_ {
        (0..self.len()).map(|row| self.request(row))
    }

    /// The intended starts of all rows.
    pub fn starts(&self) -> &[Nanos] {
        &self.start
    }

    /// The flags, of the first rows: those of the rows behind are the default.
    pub fn flags_column(&self) -> &[Flags] {
        self.flags.values()
    }

    /// The devices, of the first rows: those of the rows behind are the default.
    pub fn device_column(&self) -> &[u16] {
        self.device.values()
    }

    /// The classes, of the first rows: those of the rows behind are the default.
    pub fn class_column(&self) -> &[u16] {
        self.class.values()
    }

    /// The groups, of the first rows: those of the rows behind are the default.
    pub fn group_column(&self) -> &[u32] {
        self.group.values()
    }

    /// The start delays, of the first rows: those of the rows behind are the default.
    pub fn delay_column(&self) -> &[Option<Nanos>] {
        self.delay.values()
    }

    /// The latencies, of the first rows: those of the rows behind are the default.
    pub fn latency_column(&self) -> &[Option<Nanos>] {
        self.latency.values()
    }

    /// The think times, of the first rows: those of the rows behind are the default.
    pub fn think_column(&self) -> &[Option<Nanos>] {
        self.think.values()
    }

    /// How requests ended, of the first rows: those of the rows behind are the default.
    pub fn status_column(&self) -> &[Status] {
        self.status.values()
    }

    /// Whether requests were pushed back, of the first rows: those of the rows behind are the default.
    pub fn pushed_back_column(&self) -> &[bool] {
        self.pushed_back.values()
    }

    /// The intended starts of all rows, to be changed.
    pub fn starts_mut(&mut self) -> &mut [Nanos] {
        &mut self.start
    }

    /// The first sectors of all rows.
    pub fn sector_column(&self) -> &[Sector] {
        &self.sector
    }

    /// The first sectors of all rows, to be changed.
    pub fn sector_column_mut(&mut self) -> &mut [Sector] {
        &mut self.sector
    }

    /// The lengths of all rows.
    pub fn lengths(&self) -> &[Sectors] {
        &self.sectors
    }

    /// The lengths of all rows, to be changed.
    pub fn lengths_mut(&mut self) -> &mut [Sectors] {
        &mut self.sectors
    }

    /// The operations of all rows.
    pub fn ops(&self) -> &[Op] {
        &self.op
    }

    /// The operations of all rows, to be changed.
    pub fn ops_mut(&mut self) -> &mut [Op] {
        &mut self.op
    }

    /// How long the user thought after row `row`, in traces of closed loops that record it.
    #[inline]
    pub fn think(&self, row: usize) -> Option<Nanos> {
        self.think.get(row)
    }

    /// Notes how long the user thought behind row `row`.
    pub fn set_think(&mut self, row: usize, think: Option<Nanos>) {
        self.think.set(row, think);
    }

    /// Where row `row` stands in its file; 0 if that is not known.
    pub fn place(&self, row: usize) -> u64 {
        match self.place.get(row) {
            0 => self.common_place,
            place => place,
        }
    }

    /// Notes that all rows stand at `place` of their file, a block.
    pub(crate) fn set_common_place(&mut self, place: u64) {
        self.common_place = place;
    }

    /// Replaces row `row`; its place and think time stay.
    pub fn set(&mut self, row: usize, record: &Record) {
        let Record { request, outcome } = record;
        self.start[row] = request.start;
        self.sector[row] = request.sector;
        self.sectors[row] = request.sectors;
        self.op[row] = request.op;
        self.flags.set(row, request.flags);
        self.device.set(row, request.device);
        self.class.set(row, request.class);
        self.group.set(row, request.group);
        self.delay.set(row, outcome.delay);
        self.latency.set(row, outcome.latency);
        self.status.set(row, outcome.status);
        self.pushed_back.set(row, outcome.pushed_back);
    }

    /// Keeps only the rows for which `keep` holds, in order.
    pub fn retain(&mut self, mut keep: impl FnMut(&Record) -> bool) {
        let mut kept = 0;
        for row in 0..self.len() {
            let record = self.record(row);
            if keep(&record) {
                if kept != row {
                    self.set(kept, &record);
                    self.think.set(kept, self.think.get(row));
                    self.place.set(kept, self.place.get(row));
                }
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// Removes the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        each_column!(self, column => column.truncate(rows));
    }

    /// Drops the outcomes of the requests: the rest is a load.
    pub fn clear_outcomes(&mut self) {
        self.delay.clear();
        self.latency.clear();
        self.think.clear();
        self.status.clear();
        self.pushed_back.clear();
    }

    /// Whether the request of `row` is marked as left out.
    #[inline]
    pub fn is_skipped(&self, row: usize) -> bool {
        self.status.get(row) == Status::Skipped
    }

    /// Whether no row has another status than [`Status::Done`]; may be false although none has.
    #[inline]
    pub(crate) fn are_all_done(&self) -> bool {
        self.status.is_plain()
    }

    /// Puts all rows on device `number`.
    pub fn set_devices(&mut self, number: u16) {
        self.device.clear();
        // An empty column is that of device 0.
        if number != 0 {
            (0..self.len()).for_each(|row| self.device.set(row, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(i: u64) -> Record {
        Record {
            request: Request {
                start: Nanos::new(i),
                sector: Sector::new(i * 8),
                sectors: Sectors::new(8),
                op: if i.is_multiple_of(3) {
                    Op::Write
                } else {
                    Op::Read
                },
                flags: if i == 5 { Flags::SYNC } else { Flags::NONE },
                ..Request::default()
            },
            outcome: if i > 6 {
                Outcome::done(Nanos::ZERO, Nanos::new(i))
            } else {
                Outcome::default()
            },
        }
    }

    #[test]
    fn rows_come_back_as_they_went_in() {
        let mut batch = Batch::default();
        (0..10).for_each(|i| batch.push_at(&record(i), i + 100));
        assert!((0..10).all(|i| batch.record(i) == record(i as u64)));
        assert_eq!(batch.place(9), 109);
        batch.clear();
        batch.push(&record(1));
        assert_eq!(batch.records().collect::<Vec<_>>(), [record(1)]);
    }

    #[test]
    fn rows_of_another_batch_keep_all_their_columns() {
        let mut other = Batch::default();
        (0..10).for_each(|i| other.push_at(&record(i), 10 * i));
        other.set_think(4, Some(Nanos::new(3)));
        other.set_common_place(7);
        let mut batch = Batch::default();
        batch.push(&record(1));
        let rows = [3, 9, 0, 4];
        batch.push_rows(&other, rows.into_iter());
        batch.push_rows(&other, 5..6);
        batch.push(&record(6));
        let left: Vec<_> = batch.records().collect();
        assert_eq!(left, [1, 3, 9, 0, 4, 5, 6].map(record));
        let places: Vec<_> = (0..7).map(|row| batch.place(row)).collect();
        assert_eq!(places, [0, 30, 90, 7, 40, 50, 0]);
        assert_eq!(
            (batch.think(4), batch.think(5)),
            (Some(Nanos::new(3)), None)
        );
    }

    #[test]
    fn retained_rows_keep_all_their_columns() {
        let mut batch = Batch::default();
        (0..10).for_each(|i| batch.push(&record(i)));
        batch.retain(|r| r.request.start.get() % 2 == 1);
        let left: Vec<_> = batch.records().collect();
        assert_eq!(left, [1, 3, 5, 7, 9].map(record));
        batch.push(&record(4));
        assert_eq!(batch.record(5), record(4));
    }

    /// Everything that is known of row `i`, each value different from those of the other columns and rows.
    fn unusual(i: u16) -> (Record, Option<Nanos>) {
        let n = u64::from(i);
        let request = Request {
            start: Nanos::new(10 + n),
            sector: Sector::new(20 + n),
            sectors: Sectors::new(30 + u32::from(i)),
            op: Op::Discard,
            flags: Flags::META,
            device: 40 + i,
            class: 50 + i,
            group: 60 + u32::from(i),
        };
        let outcome = Outcome {
            delay: Some(Nanos::new(70 + n)),
            latency: Some(Nanos::new(80 + n)),
            status: Status::Error(90 + i),
            pushed_back: true,
        };
        (Record { request, outcome }, Some(Nanos::new(100 + n)))
    }

    fn batch_of_unusual(rows: u16) -> Batch {
        let mut batch = Batch::default();
        for (row, (record, think)) in (0..rows).map(unusual).enumerate() {
            batch.push(&record);
            batch.set_think(row, think);
        }
        batch
    }

    #[test]
    fn each_column_has_the_values_of_its_rows() {
        let mut batch = batch_of_unusual(2);
        let times = |first: u64| [first, first + 1].map(|n| Some(Nanos::new(n)));
        assert_eq!(batch.starts(), [10, 11].map(Nanos::new));
        assert_eq!(batch.sector_column(), [20, 21].map(Sector::new));
        assert_eq!(batch.lengths(), [30, 31].map(Sectors::new));
        assert_eq!(batch.ops(), [Op::Discard; 2]);
        assert_eq!(batch.flags_column(), [Flags::META; 2]);
        assert_eq!(batch.device_column(), [40, 41]);
        assert_eq!(batch.class_column(), [50, 51]);
        assert_eq!(batch.group_column(), [60, 61]);
        assert_eq!(batch.delay_column(), times(70));
        assert_eq!(batch.latency_column(), times(80));
        assert_eq!(batch.status_column(), [90, 91].map(Status::Error));
        assert_eq!(batch.pushed_back_column(), [true; 2]);
        assert_eq!(batch.think_column(), times(100));
        batch.ops_mut()[1] = Op::Write;
        assert_eq!(batch.ops(), [Op::Discard, Op::Write]);
    }

    #[test]
    fn columns_end_with_the_last_row_that_is_not_the_default() {
        let mut batch = Batch::default();
        (0..3).for_each(|i| batch.push(&record(i)));
        assert!(batch.flags_column().is_empty() && batch.device_column().is_empty());
        assert!(batch.delay_column().is_empty() && batch.status_column().is_empty());
        let (last, _) = unusual(0);
        batch.push(&last);
        assert_eq!(batch.device_column(), [0, 0, 0, 40]);
        assert_eq!(batch.delay_column(), [None, None, None, last.outcome.delay]);
    }

    #[test]
    fn a_skipped_request_is_marked_as_such_and_no_other_is() {
        let mut batch = Batch::default();
        batch.push(&record(0));
        assert!(batch.are_all_done());
        for status in [Status::Skipped, Status::Dropped] {
            let outcome = Outcome::untimed(status);
            batch.push(&Record {
                outcome,
                ..record(0)
            });
        }
        assert_eq!(
            [0, 1, 2].map(|row| batch.is_skipped(row)),
            [false, true, false]
        );
        assert!(!batch.are_all_done());
    }

    #[test]
    fn all_rows_are_put_on_one_device() {
        for number in [0, 7] {
            let mut batch = batch_of_unusual(3);
            batch.set_devices(number);
            let devices: Vec<u16> = batch.requests().map(|r| r.device).collect();
            assert_eq!(devices, [number; 3]);
            // A row that is appended has its own.
            batch.push(&record(1));
            assert_eq!(batch.request(3).device, 0);
        }
        // Device 0 is the default, which takes no memory.
        let mut batch = batch_of_unusual(3);
        batch.set_devices(0);
        assert!(batch.device_column().is_empty());
    }
}
