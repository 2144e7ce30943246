//! Records as bytes without a file: for messages between processes.
//!
//! A batch becomes a block of the [binary format](crate::formats), bit-packed column by column: some 10 bytes a record.

use std::ops::Range;

use crate::Batch;
use crate::formats::ios::{BlockColumns, BlockDecoder, Encoder};

/// Packs batches; it keeps the memory that this needs.
#[derive(Debug, Default)]
pub struct Packer {
    columns: BlockColumns,
    encoder: Encoder,
}

/// Unpacks what a [`Packer`] packed; it keeps the memory that this needs.
#[derive(Debug, Default)]
pub struct Unpacker(BlockDecoder);

/// Bytes that are not packed records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPacked;

impl std::fmt::Display for NotPacked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the data does not consist of packed records")
    }
}

impl std::error::Error for NotPacked {}

impl Packer {
    /// Appends these rows of `batch` to `out`: at most [`Batch::ROWS`].
    ///
    /// # Panics
    /// If there are more rows, or `batch` does not have them.
    pub fn pack(&mut self, batch: &Batch, rows: Range<usize>, out: &mut Vec<u8>) {
        assert!(rows.len() <= Batch::ROWS, "{} rows", rows.len());
        self.columns.clear();
        self.columns.extend(batch, rows.start, rows.end);
        self.columns.encode(&mut self.encoder, out);
    }
}

impl Unpacker {
    /// Replaces the rows of `batch` by those packed in `bytes`.
    ///
    /// # Errors
    /// If the bytes are not what a packer wrote, or are too many rows. The batch is empty then.
    pub fn unpack(&mut self, bytes: &[u8], batch: &mut Batch) -> Result<(), NotPacked> {
        batch.clear();
        let decoder = &mut self.0;
        let block = decoder.bytes_mut();
        block.clear();
        block.extend_from_slice(bytes);
        let is_valid = decoder.begin() && decoder.left() <= Batch::ROWS;
        if is_valid && decoder.next(batch).is_some() {
            return Ok(());
        }
        batch.clear();
        Err(NotPacked)
    }
}

#[cfg(test)]
mod tests {
    use iosonar_units::{Nanos, Sector, Sectors};
    use proptest::prelude::*;

    use super::*;
    use crate::{Flags, Op, Outcome, Record, Request, Status};

    fn record() -> impl Strategy<Value = Record> {
        let request = (
            any::<u64>(),
            0..1_u64 << 40,
            any::<u32>(),
            0..Op::ALL.len(),
            0..16_u8,
        );
        let outcome = (
            any::<Option<u32>>(),
            any::<Option<u32>>(),
            any::<u16>(),
            any::<bool>(),
        );
        (request, outcome).prop_map(|(request, outcome)| {
            let (start, sector, sectors, op, flags) = request;
            let (delay, latency, errno, pushed_back) = outcome;
            let time = |t: Option<u32>| t.map(|t| Nanos::new(t.into()));
            Record {
                request: Request {
                    start: Nanos::new(start),
                    sector: Sector::new(sector),
                    sectors: Sectors::new(sectors),
                    op: Op::ALL[op],
                    flags: Flags::from_bits(flags),
                    device: errno,
                    ..Request::default()
                },
                outcome: Outcome {
                    delay: time(delay),
                    latency: time(latency),
                    status: match errno % 3 {
                        0 => Status::Done,
                        1 => Status::Error(errno),
                        _ => Status::Missed,
                    },
                    pushed_back,
                },
            }
        })
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked_the_same(records in prop::collection::vec(record(), 0..200), skipped in 0..50_usize) {
            let mut batch = Batch::default();
            records.iter().for_each(|record| batch.push(record));
            let first = skipped.min(records.len());
            let mut bytes = Vec::new();
            Packer::default().pack(&batch, first..records.len(), &mut bytes);
            let mut again = Batch::default();
            again.push(&Record::default());
            prop_assert_eq!(Unpacker::default().unpack(&bytes, &mut again), Ok(()));
            let again: Vec<Record> = again.records().collect();
            prop_assert_eq!(&again[..], &records[first..]);
        }

        #[test]
        fn other_bytes_are_refused_or_records_and_never_a_panic(
            records in prop::collection::vec(record(), 1..50),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut batch = Batch::default();
            records.iter().for_each(|record| batch.push(record));
            let mut bytes = Vec::new();
            Packer::default().pack(&batch, 0..records.len(), &mut bytes);
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.truncate(cut.index(bytes.len()) + 1);
            let mut unpacker = Unpacker::default();
            if unpacker.unpack(&bytes, &mut batch).is_err() {
                prop_assert!(batch.is_empty());
            }
            prop_assert!(batch.len() <= Batch::ROWS);
            // It is of use after that.
            prop_assert_eq!(unpacker.unpack(b"", &mut batch), Err(NotPacked));
        }
    }

    #[test]
    fn other_bytes_are_refused_with_the_reason() {
        let mut batch = Batch::default();
        let error = Unpacker::default()
            .unpack(b"other", &mut batch)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the data does not consist of packed records"
        );
    }
}
