//! A block: some thousand records, column by column.

use std::ops::Range;

use iosonar_units::{Nanos, Sector, Sectors};

use super::packing::{Nonsense, PADDING, Packing, Unpacker, unzigzag, zigzag};
use crate::column::OptionalColumn;
use crate::{Batch, Flags, Op, Status};

/// The columns, in the order of their numbers in the file.
const COLUMNS: usize = 13;
const START: usize = 0;
const SECTOR: usize = 1;
const SECTORS: usize = 2;
const OP: usize = 3;
const FLAGS: usize = 4;
const DEVICE: usize = 5;
const CLASS: usize = 6;
const GROUP: usize = 7;
const DELAY: usize = 8;
const LATENCY: usize = 9;
const THINK: usize = 10;
const STATUS: usize = 11;
const PUSHED_BACK: usize = 12;

/// All values are the same: eight bytes.
const CONSTANT: u8 = 0;
/// Packed as they are.
const PLAIN: u8 = 1;
/// Packed differences to the value before.
const DELTA: u8 = 2;
/// Of sectors: packed differences to the end of the request before.
const GAP: u8 = 3;

/// An error's number is put on top of this.
const ERROR: u64 = 1 << 16;
const STATUSES: [Status; 7] = [
    Status::Done,
    Status::Short,
    Status::Dropped,
    Status::Skipped,
    Status::Missed,
    Status::Cancelled,
    Status::VerifyFailed,
];

fn status_number(status: Status) -> u64 {
    match status {
        Status::Error(errno) => ERROR + u64::from(errno),
        status => STATUSES.iter().position(|s| *s == status).unwrap_or(0) as u64,
    }
}

fn status_of(number: u64) -> Result<Status, Nonsense> {
    if let Some(errno) = number.checked_sub(ERROR) {
        return u16::try_from(errno)
            .map(Status::Error)
            .map_err(|_| Nonsense);
    }
    STATUSES.get(number as usize).copied().ok_or(Nonsense)
}

fn optional(time: Option<Nanos>) -> u64 {
    time.map_or(0, |t| t.get().saturating_add(1))
}

/// The records of a block, on their way to a file.
#[derive(Debug, Default)]
pub(crate) struct BlockColumns {
    rows: usize,
    /// Empty while all values are zero.
    values: [Vec<u64>; COLUMNS],
}

/// The memory that is needed to encode blocks.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    plain: Packing,
    deltas: Differences,
    gaps: Differences,
}

#[derive(Debug, Default)]
struct Differences {
    values: Vec<u64>,
    packing: Packing,
}

impl Differences {
    fn plan(&mut self, values: impl Iterator<Item = u64>) {
        self.values.clear();
        self.values.extend(values);
        self.packing.plan(&self.values);
    }
}

impl BlockColumns {
    /// The most records in a block.
    pub(crate) const MOST: usize = 1 << 16;

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.values.iter_mut().for_each(Vec::clear);
    }

    /// The smallest and the largest start.
    pub(crate) fn span(&self) -> (u64, u64) {
        let starts = self.values[START].iter().copied();
        (starts.clone().min().unwrap_or(0), starts.max().unwrap_or(0))
    }

    /// Appends rows `from` to `to` of a batch.
    pub(crate) fn extend(&mut self, batch: &Batch, from: usize, to: usize) {
        let rows = from..to;
        self.values[START].extend(batch.start[rows.clone()].iter().map(|t| t.get()));
        self.values[SECTOR].extend(batch.sector[rows.clone()].iter().map(|s| s.get()));
        let lengths = batch.sectors[rows.clone()].iter();
        self.values[SECTORS].extend(lengths.map(|n| u64::from(n.get())));
        self.values[OP].extend(batch.op[rows.clone()].iter().map(|op| *op as u64));
        self.rest(FLAGS, &batch.flags, &rows, |flags| u64::from(flags.bits()));
        self.rest(DEVICE, &batch.device, &rows, u64::from);
        self.rest(CLASS, &batch.class, &rows, u64::from);
        self.rest(GROUP, &batch.group, &rows, u64::from);
        self.rest(DELAY, &batch.delay, &rows, optional);
        self.rest(LATENCY, &batch.latency, &rows, optional);
        self.rest(THINK, &batch.think, &rows, optional);
        self.rest(STATUS, &batch.status, &rows, status_number);
        self.rest(PUSHED_BACK, &batch.pushed_back, &rows, u64::from);
        self.rows += rows.len();
    }

    /// Appends values of a column that need not be there. Its default is zero.
    fn rest<T: Copy + Default + PartialEq>(
        &mut self,
        column: usize,
        given: &OptionalColumn<T>,
        rows: &Range<usize>,
        number: impl Fn(T) -> u64,
    ) {
        let values = &mut self.values[column];
        let given = given.slice(rows.clone());
        if values.is_empty() && given.is_empty() {
            return;
        }
        values.resize(self.rows, 0);
        values.extend(given.iter().map(|value| number(*value)));
        values.resize(self.rows + rows.len(), 0);
    }

    /// Appends the block's bytes: count, smallest and largest start, then the columns.
    pub(crate) fn encode(&self, encoder: &mut Encoder, out: &mut Vec<u8>) {
        let (min, max) = self.span();
        out.extend_from_slice(&(self.len() as u32).to_le_bytes());
        out.extend_from_slice(&min.to_le_bytes());
        out.extend_from_slice(&max.to_le_bytes());
        // Lengths come first: gaps are counted from the ends of requests.
        let order = (0..COLUMNS).filter(|&c| c != SECTOR);
        let order = order
            .clone()
            .take_while(|&c| c <= SECTORS)
            .chain([SECTOR])
            .chain(order.filter(|&c| c > SECTORS));
        for column in order {
            self.encode_column(column, encoder, out);
        }
    }

    fn encode_column(&self, column: usize, encoder: &mut Encoder, out: &mut Vec<u8>) {
        let values = &self.values[column];
        let first = values.first().copied().unwrap_or(0);
        if values.iter().all(|v| *v == first) {
            // What is not there is zero.
            if first != 0 {
                put_column(column, CONSTANT, 8, out);
                out.extend_from_slice(&first.to_le_bytes());
            }
            return;
        }
        let Encoder {
            plain,
            deltas,
            gaps,
        } = encoder;
        plain.plan(values);
        let mut best = (PLAIN, &*plain, &values[..]);
        if column != OP && column != FLAGS {
            let before = std::iter::once(&0).chain(values);
            deltas.plan(
                values
                    .iter()
                    .zip(before)
                    .map(|(v, b)| zigzag(v.wrapping_sub(*b))),
            );
            if deltas.packing.bytes() < best.1.bytes() {
                best = (DELTA, &deltas.packing, &deltas.values);
            }
        }
        if column == SECTOR {
            let mut end = 0;
            gaps.plan(
                values
                    .iter()
                    .zip(&self.values[SECTORS])
                    .map(|(&v, &length)| {
                        let gap = zigzag(v.wrapping_sub(end));
                        end = v.wrapping_add(length);
                        gap
                    }),
            );
            if gaps.packing.bytes() < best.1.bytes() {
                best = (GAP, &gaps.packing, &gaps.values);
            }
        }
        let (encoding, packing, values) = best;
        put_column(column, encoding, packing.bytes(), out);
        packing.pack(values, out);
    }
}

/// The header of a column.
fn put_column(column: usize, encoding: u8, bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&[column as u8, encoding, 0, 0]);
    out.extend_from_slice(&(bytes as u32).to_le_bytes());
}

/// A column of the block at hand.
#[derive(Clone, Copy, Debug)]
enum Column {
    Constant(u64),
    Packed {
        encoding: u8,
        unpacker: Unpacker,
        /// What the next difference counts from.
        before: u64,
    },
}

/// A block from a file, in the middle of being read.
#[derive(Debug)]
pub(crate) struct BlockDecoder {
    bytes: Vec<u8>,
    columns: [Column; COLUMNS],
    left: usize,
    scratch: [Vec<u64>; 2],
}

impl Default for BlockDecoder {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            columns: [Column::Constant(0); COLUMNS],
            left: 0,
            scratch: [Vec::new(), Vec::new()],
        }
    }
}

/// Count, smallest and largest start in front of the columns.
pub(crate) const BLOCK_HEADER: usize = 20;

/// Count, smallest and largest start of a block.
pub(crate) fn block_header(bytes: &[u8]) -> Option<(u32, u64, u64)> {
    let count = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    let min = u64::from_le_bytes(bytes.get(4..12)?.try_into().ok()?);
    let max = u64::from_le_bytes(bytes.get(12..20)?.try_into().ok()?);
    Some((count, min, max))
}

impl BlockDecoder {
    /// The memory for the next block's bytes, to be filled and followed by [`begin`](Self::begin).
    pub(crate) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Begins the block whose bytes have been put in. Returns whether they are valid so far.
    pub(crate) fn begin(&mut self) -> bool {
        self.left = 0;
        self.parse().is_ok()
    }

    fn parse(&mut self) -> Result<(), Nonsense> {
        let bytes = &self.bytes;
        let (count, _, _) = block_header(bytes).ok_or(Nonsense)?;
        if count as usize > BlockColumns::MOST {
            return Err(Nonsense);
        }
        self.columns = [Column::Constant(0); COLUMNS];
        let mut at = BLOCK_HEADER;
        while at < bytes.len() {
            let header = bytes.get(at..at + 8).ok_or(Nonsense)?;
            let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
            let (from, to) = (at + 8, at + 8 + length);
            let body = bytes.get(from..to).ok_or(Nonsense)?;
            at = to;
            // Columns of later minor versions.
            let Some(column) = self.columns.get_mut(usize::from(header[0])) else {
                continue;
            };
            *column = match header[1] {
                CONSTANT => {
                    Column::Constant(u64::from_le_bytes(body.try_into().map_err(|_| Nonsense)?))
                }
                encoding @ (PLAIN | DELTA | GAP) => Column::Packed {
                    encoding,
                    unpacker: Unpacker::new(from, to),
                    before: 0,
                },
                _ => return Err(Nonsense),
            };
        }
        self.bytes.extend_from_slice(&[0; PADDING]);
        self.left = count as usize;
        Ok(())
    }

    /// How many records are left.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Appends the next records to `batch`, as many as make one. `None` if they make no sense.
    pub(crate) fn next(&mut self, batch: &mut Batch) -> Option<()> {
        let n = self.left.min(Batch::ROWS);
        self.left -= n;
        self.fill(batch, n).ok()
    }

    fn fill(&mut self, batch: &mut Batch, n: usize) -> Result<(), Nonsense> {
        let [values, lengths] = &mut self.scratch;
        values.resize(n, 0);
        lengths.resize(n, 0);
        let bytes = &self.bytes;
        let columns = &mut self.columns;
        columns[START].read(bytes, values, &[])?;
        batch.start.extend(values.iter().map(|&v| Nanos::new(v)));
        columns[SECTORS].read(bytes, lengths, &[])?;
        // All at once: a test in the loop would cost more than the rest of it.
        if lengths.iter().fold(0, |all, v| all | v) > u64::from(u32::MAX) {
            return Err(Nonsense);
        }
        batch
            .sectors
            .extend(lengths.iter().map(|&v| Sectors::new(v as u32)));
        columns[SECTOR].read(bytes, values, lengths)?;
        batch.sector.extend(values.iter().map(|&v| Sector::new(v)));
        columns[OP].read(bytes, values, &[])?;
        if values.iter().fold(0, |most, &v| v.max(most)) >= Op::ALL.len() as u64 {
            return Err(Nonsense);
        }
        batch
            .op
            .extend(values.iter().map(|&v| Op::ALL[v as usize % Op::ALL.len()]));
        // The rest costs nothing where it is absent.
        let short = u64::from(u16::MAX);
        if let Some(values) = rest(columns, FLAGS, 15, bytes, values)? {
            batch
                .flags
                .extend(values.iter().map(|&v| Flags::from_bits(v as u8)));
        }
        if let Some(values) = rest(columns, DEVICE, short, bytes, values)? {
            batch.device.extend(values.iter().map(|&v| v as u16));
        }
        if let Some(values) = rest(columns, CLASS, short, bytes, values)? {
            batch.class.extend(values.iter().map(|&v| v as u16));
        }
        if let Some(values) = rest(columns, GROUP, u64::from(u32::MAX), bytes, values)? {
            batch.group.extend(values.iter().map(|&v| v as u32));
        }
        let time = |v: &u64| v.checked_sub(1).map(Nanos::new);
        if let Some(values) = rest(columns, DELAY, u64::MAX, bytes, values)? {
            batch.delay.extend(values.iter().map(time));
        }
        if let Some(values) = rest(columns, LATENCY, u64::MAX, bytes, values)? {
            batch.latency.extend(values.iter().map(time));
        }
        if let Some(values) = rest(columns, THINK, u64::MAX, bytes, values)? {
            batch.think.extend(values.iter().map(time));
        }
        if let Some(values) = rest(columns, STATUS, u64::MAX, bytes, values)? {
            let statuses: Result<Vec<Status>, Nonsense> =
                values.iter().map(|&v| status_of(v)).collect();
            batch.status.extend(statuses?.into_iter());
        }
        if let Some(values) = rest(columns, PUSHED_BACK, 1, bytes, values)? {
            batch.pushed_back.extend(values.iter().map(|&v| v == 1));
        }
        Ok(())
    }
}

/// The values of a column that need not be there; `None` if it is not.
fn rest<'a>(
    columns: &mut [Column; COLUMNS],
    column: usize,
    most: u64,
    block: &[u8],
    values: &'a mut [u64],
) -> Result<Option<&'a [u64]>, Nonsense> {
    if matches!(columns[column], Column::Constant(0)) {
        return Ok(None);
    }
    columns[column].read(block, values, &[])?;
    if values.iter().any(|&v| v > most) {
        return Err(Nonsense);
    }
    Ok(Some(values))
}

impl Column {
    fn read(&mut self, block: &[u8], values: &mut [u64], lengths: &[u64]) -> Result<(), Nonsense> {
        match self {
            Self::Constant(value) => values.fill(*value),
            Self::Packed {
                encoding,
                unpacker,
                before,
            } => {
                unpacker.unpack(block, values)?;
                match *encoding {
                    DELTA => {
                        for value in values {
                            *before = before.wrapping_add(unzigzag(*value));
                            *value = *before;
                        }
                    }
                    GAP => {
                        if lengths.len() != values.len() {
                            return Err(Nonsense);
                        }
                        for (value, length) in values.iter_mut().zip(lengths) {
                            *value = before.wrapping_add(unzigzag(*value));
                            *before = value.wrapping_add(*length);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Outcome, Record, Request};

    /// Number, encoding and bytes of each column of a block, in their order.
    fn columns_of(block: &[u8]) -> Vec<(usize, u8, Vec<u8>)> {
        let (mut columns, mut rest) = (Vec::new(), &block[BLOCK_HEADER..]);
        while !rest.is_empty() {
            let length = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
            assert_eq!(rest[2..4], [0; 2]);
            columns.push((usize::from(rest[0]), rest[1], rest[8..8 + length].to_vec()));
            rest = &rest[8 + length..];
        }
        columns
    }

    fn encoded(batch: &Batch) -> Vec<u8> {
        let (mut columns, mut bytes) = (BlockColumns::default(), Vec::new());
        columns.extend(batch, 0, batch.len());
        assert_eq!(columns.len(), batch.len());
        columns.encode(&mut Encoder::default(), &mut bytes);
        bytes
    }

    fn decoded(block: &[u8]) -> Option<Batch> {
        let (mut decoder, mut batch) = (BlockDecoder::default(), Batch::default());
        decoder.bytes_mut().extend_from_slice(block);
        if !decoder.begin() {
            assert_eq!(decoder.left(), 0);
            return None;
        }
        decoder.next(&mut batch).map(|()| batch)
    }

    /// A block of `rows` rows with these columns.
    fn block_of(rows: u32, columns: &[(usize, u8, &[u8])]) -> Vec<u8> {
        let mut block = rows.to_le_bytes().to_vec();
        block.resize(BLOCK_HEADER, 0);
        for (column, encoding, bytes) in columns {
            put_column(*column, *encoding, bytes.len(), &mut block);
            block.extend_from_slice(bytes);
        }
        block
    }

    #[test]
    fn a_block_has_its_columns_once_each_with_the_lengths_before_the_sectors() {
        let mut batch = Batch::default();
        for i in 0..2_u16 {
            batch.push(&Record {
                request: Request {
                    start: Nanos::new(10 + u64::from(i)),
                    sector: Sector::new(7 + u64::from(i)),
                    sectors: Sectors::new(1 + u32::from(i)),
                    op: Op::ALL[usize::from(i)],
                    flags: Flags::from_bits(1 + i as u8),
                    device: i,
                    class: i,
                    group: i.into(),
                },
                outcome: Outcome {
                    delay: Some(Nanos::new(i.into())),
                    latency: Some(Nanos::new(i.into())),
                    status: Status::Error(i),
                    pushed_back: i == 1,
                },
            });
            batch.set_think(batch.len() - 1, Some(Nanos::new(i.into())));
        }
        let block = encoded(&batch);
        assert_eq!(block_header(&block), Some((2, 10, 11)));
        let numbers: Vec<usize> = columns_of(&block).iter().map(|(n, ..)| *n).collect();
        assert_eq!(numbers, [0, 2, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        let read = decoded(&block).unwrap();
        assert!(read.records().eq(batch.records()));
        assert_eq!(
            (read.think(0), read.think(1)),
            (Some(Nanos::ZERO), Some(Nanos::new(1)))
        );
    }

    #[test]
    fn a_column_has_the_shortest_encoding_and_none_if_all_is_zero() {
        let encodings = |starts: &[u64], requests: &[(u64, u32)]| {
            let mut batch = Batch::default();
            for (start, (sector, sectors)) in starts.iter().zip(requests) {
                let mut record = Record::default();
                record.request.start = Nanos::new(*start);
                record.request.sector = Sector::new(*sector);
                record.request.sectors = Sectors::new(*sectors);
                batch.push(&record);
            }
            let block = encoded(&batch);
            let read = decoded(&block).unwrap();
            assert!(read.records().eq(batch.records()));
            let columns = columns_of(&block).into_iter();
            columns.map(|(n, e, _)| (n, e)).collect::<Vec<_>>()
        };
        // All starts are 0; lengths are the same; each begins where the one before ends.
        let rows = [(8, 8), (16, 8), (24, 8), (32, 8)];
        assert_eq!(
            encodings(&[0; 4], &rows),
            [(SECTORS, CONSTANT), (SECTOR, DELTA)]
        );
        // Starts with steps of 1 or 2 far from 0; ends are met although lengths vary.
        let starts: Vec<u64> = (0..100).map(|i| (1 << 40) + 3 * i / 2).collect();
        let mut end = 0;
        let rows: Vec<(u64, u32)> = (0..100)
            .map(|i| {
                let (sector, length) = (end, 1 + i * i % 97);
                end += u64::from(length);
                (sector, length)
            })
            .collect();
        assert_eq!(
            encodings(&starts, &rows),
            [(START, DELTA), (SECTORS, PLAIN), (SECTOR, GAP)]
        );
        // Random within a few bits: differences have one more.
        let random: Vec<(u64, u32)> = (0..100_u64)
            .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60, 1))
            .collect();
        assert_eq!(
            encodings(&[7; 100], &random),
            [(START, CONSTANT), (SECTORS, CONSTANT), (SECTOR, PLAIN)]
        );
        // Of encodings of one length the plainest: 0 and 1 take a byte as they are and as steps; gaps behind no length are
        // steps.
        assert_eq!(encodings(&[0, 1], &[(0, 0); 2]), [(START, PLAIN)]);
        let steps: Vec<(u64, u32)> = (0..100).map(|i| (1000 * i, 0)).collect();
        assert_eq!(encodings(&[0; 100], &steps), [(SECTOR, DELTA)]);
        // Operations and flags are never steps, also where these would be shorter.
        let mut batch = Batch::default();
        for i in 0..128 {
            let mut record = Record::default();
            record.request.op = Op::ALL[3 + i / 64];
            record.request.flags = Flags::from_bits(3 + i as u8 / 64);
            record.request.device = 3 + i as u16 / 64;
            batch.push(&record);
        }
        let columns = columns_of(&encoded(&batch)).into_iter();
        let encodings: Vec<(usize, u8)> = columns.map(|(n, e, _)| (n, e)).collect();
        assert_eq!(encodings, [(OP, PLAIN), (FLAGS, PLAIN), (DEVICE, DELTA)]);
    }

    #[test]
    fn values_of_a_column_are_within_its_type() {
        for (column, most, read) in [
            (SECTORS, u64::from(u32::MAX), u64::from(u32::MAX)),
            (OP, Op::ALL.len() as u64 - 1, Op::ALL.len() as u64 - 1),
            (FLAGS, 15, 15),
            (DEVICE, 0xffff, 0xffff),
            (CLASS, 0xffff, 0xffff),
            (GROUP, u64::from(u32::MAX), u64::from(u32::MAX)),
            (STATUS, ERROR + 0xffff, 0xffff),
            (PUSHED_BACK, 1, 1),
        ] {
            // Two rows: what is wrong in both is wrong.
            let with =
                |value: u64| decoded(&block_of(2, &[(column, CONSTANT, &value.to_le_bytes())]));
            let Record { request, outcome } = with(most).unwrap().record(0);
            let seen = match column {
                SECTORS => request.sectors.get().into(),
                OP => request.op as u64,
                FLAGS => request.flags.bits().into(),
                DEVICE => request.device.into(),
                CLASS => request.class.into(),
                GROUP => request.group.into(),
                STATUS => match outcome.status {
                    Status::Error(errno) => errno.into(),
                    other => panic!("{other:?}"),
                },
                _ => outcome.pushed_back.into(),
            };
            assert_eq!(seen, read, "column {column}");
            for beyond in [most + 1, u64::MAX] {
                assert!(with(beyond).is_none(), "column {column}: {beyond}");
            }
        }
        // Numbers of statuses end below those of errors.
        for (number, status) in STATUSES.into_iter().enumerate() {
            assert_eq!(status_number(status), number as u64);
            assert_eq!(status_of(number as u64), Ok(status));
        }
        for number in [STATUSES.len() as u64, ERROR - 1] {
            assert_eq!(status_of(number), Err(Nonsense), "{number}");
        }
        assert_eq!(status_of(ERROR), Ok(Status::Error(0)));
        // Stored times are larger by one, as 0 stands for a missing time; the largest is read as the one before.
        let longest = optional(Some(Nanos::MAX));
        assert_eq!((optional(None), longest), (0, u64::MAX));
        for column in [DELAY, LATENCY, THINK] {
            let batch =
                decoded(&block_of(1, &[(column, CONSTANT, &longest.to_le_bytes())])).unwrap();
            let outcome = batch.outcome(0);
            let times = [outcome.delay, outcome.latency, batch.think(0)];
            let mut expected = [None; 3];
            expected[column - DELAY] = Some(Nanos::new(u64::MAX - 1));
            assert_eq!(times, expected);
        }
    }

    #[test]
    fn a_block_has_at_most_65536_rows_and_whole_columns() {
        let most = BlockColumns::MOST as u32;
        let of_rows = |rows| {
            let mut decoder = BlockDecoder::default();
            decoder.bytes_mut().extend(block_of(rows, &[]));
            decoder.begin().then(|| decoder.left())
        };
        assert_eq!(of_rows(most), Some(BlockColumns::MOST));
        assert_eq!(of_rows(most + 1), None);
        let eight = [7; 8];
        let fine = block_of(
            2,
            &[(START, CONSTANT, &eight), (99, 77, b"of a later version")],
        );
        assert_eq!(
            decoded(&fine).unwrap().starts(),
            [Nanos::new(0x0707_0707_0707_0707); 2]
        );
        for cut in 0..fine.len() {
            // The second column is one that this version steps over.
            let is_whole = matches!(cut, BLOCK_HEADER) || cut == BLOCK_HEADER + 16;
            assert_eq!(decoded(&fine[..cut]).is_some(), is_whole, "{cut}");
        }
        // A base of 7 and no bits; twice a step of 1 (2 as a zigzag).
        let (seven, one) = ([0, 0, 7], [0, 0, 2]);
        for (column, encoding, bytes, values) in [
            (START, PLAIN, &seven[..], Some([7, 7])),
            (START, DELTA, &one, Some([1, 2])),
            (SECTOR, DELTA, &one, Some([1, 2])),
            // Each begins one behind the end of the one before.
            (SECTOR, GAP, &one, Some([1, 5])),
            (START, GAP, &one, None),
            (START, GAP + 1, &one, None),
            (START, CONSTANT, &seven, None),
            (START, CONSTANT, &[7; 9], None),
            (START, PLAIN, &seven[..2], None),
        ] {
            let three = 3_u64.to_le_bytes();
            let block = block_of(2, &[(SECTORS, CONSTANT, &three), (column, encoding, bytes)]);
            let read = decoded(&block).map(|batch| match column {
                START => [0, 1].map(|row| batch.start[row].get()),
                _ => [0, 1].map(|row| batch.sector[row].get()),
            });
            assert_eq!(read, values, "column {column}, encoding {encoding}");
        }
    }

    #[test]
    fn rows_are_decoded_a_batch_at_a_time() {
        let rows = 2 * Batch::ROWS + 3;
        let mut batch = Batch::default();
        for i in 0..rows as u64 {
            let mut record = Record::default();
            record.request.start = Nanos::new(i * i);
            record.request.sector = Sector::new(i * 7919 % 10_007);
            record.request.sectors = Sectors::new(1 + i as u32 % 3);
            batch.push(&record);
        }
        let block = encoded(&batch);
        let mut decoder = BlockDecoder::default();
        decoder.bytes_mut().extend(block);
        assert!(decoder.begin());
        let mut read = Batch::default();
        for left in [rows, rows - Batch::ROWS, 3, 0] {
            assert_eq!(decoder.left(), left);
            decoder.next(&mut read).unwrap();
        }
        assert!(read.records().eq(batch.records()));
    }
}
