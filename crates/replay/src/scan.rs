//! What is in a load, found out before anything is started.

use std::path::Path;

use iosonar_trace::{Batch, Op, Place, Request, TraceError, TraceReader, input};
use iosonar_units::{Bytes, Nanos, SECTOR_BYTES, Sector, Sectors};

use crate::{Options, ReplayError, Target, Writes};

/// Linux moves at most 2^31 - 4096 bytes a request (`MAX_RW_COUNT`).
const LONGEST_REQUEST: Sectors = Sectors::new(((1 << 31) - 4096) / 512);

/// Blocks of devices are 2^0 to 2^7 sectors.
const BLOCK_SIZES: usize = 8;

/// What is in the part of a load that is replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// All requests.
    pub requests: u64,
    /// Those that leave the target as it is: reads and flushes.
    pub harmless: u64,
    /// Those that cannot be replayed yet: discards and write-zeroes.
    pub unsupported: u64,
    /// Where the highest request ends.
    pub end: Sector,
    /// The longest request.
    pub longest: Sectors,
    /// The intended start of the last request.
    pub last_start: Nanos,
    /// The first request that is not aligned to blocks of 2^i sectors.
    misaligned: [Option<(Place, Request)>; BLOCK_SIZES],
}

impl Scan {
    /// Reads the load at `path` once.
    ///
    /// # Errors
    /// [`ReplayError::Trace`] if the load is damaged or unsorted; [`ReplayError::Refused`] if it is
    /// empty, or holds what `options` do not allow.
    pub fn of(path: &Path, options: &Options) -> Result<Self, ReplayError> {
        if !std::fs::metadata(path).is_ok_and(|m| m.is_file()) && path.exists()
            || path == Path::new("-")
        {
            return Err(ReplayError::Refused(format!(
                "a replay reads its load twice, first to check it: {} must be a file",
                path.display()
            )));
        }
        let mut reader = input::open_load(path, &options.reading)?;
        let mut scan = Self::default();
        let mut batch = Batch::default();
        while reader.next_batch(&mut batch)? > 0 {
            for row in 0..batch.len() {
                scan.add(&batch, row, path, options)?;
            }
        }
        scan.check(options)?;
        Ok(scan)
    }

    fn add(
        &mut self,
        batch: &Batch,
        row: usize,
        path: &Path,
        options: &Options,
    ) -> Result<(), ReplayError> {
        let request = batch.request(row);
        self.requests += 1;
        self.last_start = request.start;
        self.harmless += u64::from(request.op.is_harmless());
        self.unsupported += u64::from(matches!(request.op, Op::Discard | Op::WriteZeroes));
        if !request.op.is_harmless() && options.writes == Writes::Skip {
            return Ok(());
        }
        if request.sectors > LONGEST_REQUEST {
            return Err(ReplayError::Trace(TraceError::Request {
                place: Place::of(path, batch.place(row)),
                problem: format!(
                    "the request of {} sectors is longer than the kernel does at once, which is \
                     {LONGEST_REQUEST} sectors",
                    request.sectors
                ),
            }));
        }
        self.end = self.end.max(request.end());
        self.longest = self.longest.max(request.sectors);
        let bits = request.sector.get() | u64::from(request.sectors.get());
        for (i, first) in self.misaligned.iter_mut().enumerate() {
            if bits & ((1 << i) - 1) != 0 && first.is_none() {
                *first = Some((Place::of(path, batch.place(row)), request));
            }
        }
        Ok(())
    }

    fn check(&self, options: &Options) -> Result<(), ReplayError> {
        let refuse = |reason: String| Err(ReplayError::Refused(reason));
        let writes = self.requests - self.harmless;
        if self.requests == 0 {
            return refuse("the load has no request in the chosen window".to_owned());
        }
        if writes > 0 && options.writes == Writes::Refuse {
            return refuse(format!(
                "{writes} of the {} requests write, and a replay only reads unless told otherwise: \
                 say --skip-writes to leave them out, or --write to do them and lose what is on the \
                 target",
                self.requests,
            ));
        }
        if self.unsupported > 0 && options.writes == Writes::Do {
            return refuse(format!(
                "{} requests are discards or write-zeroes, which cannot be replayed yet; \
                 --skip-writes leaves them out together with the writes",
                self.unsupported
            ));
        }
        Ok(())
    }

    /// Checks that the load fits a target, or one of `size` that is yet to be made.
    ///
    /// # Errors
    /// [`ReplayError::Refused`] if the load reaches beyond its end.
    pub fn fits_size(&self, size: Bytes, path: &Path) -> Result<(), ReplayError> {
        let target_sectors = size.get() / SECTOR_BYTES;
        if self.end.get() <= target_sectors {
            return Ok(());
        }
        Err(ReplayError::Refused(format!(
            "the load reaches to sector {}, the end of {} is at sector {target_sectors} ({size}): take \
             a target of at least {} bytes",
            self.end,
            path.display(),
            u128::from(self.end.get()) * u128::from(SECTOR_BYTES)
        )))
    }

    /// Checks that the load can be replayed on `target`.
    ///
    /// # Errors
    /// [`ReplayError::Refused`] if it reaches beyond the target's end, [`ReplayError::Trace`] if a
    /// request is not aligned to the target's blocks.
    pub fn fits(&self, target: &Target) -> Result<(), ReplayError> {
        self.fits_size(target.size(), target.path())?;
        let block_sectors = target.block().get() / SECTOR_BYTES;
        let power = block_sectors.next_power_of_two().trailing_zeros() as usize;
        match self.misaligned.get(power) {
            Some(None) => Ok(()),
            Some(Some((place, request))) => Err(ReplayError::Trace(TraceError::Request {
                place: place.clone(),
                problem: format!(
                    "the request of {} sectors at sector {} is not aligned to the target's blocks \
                     of {}; take a target with smaller blocks",
                    request.sectors,
                    request.sector,
                    target.block()
                ),
            })),
            None => Err(ReplayError::Refused(format!(
                "the blocks of {} are of {}, more than is supported",
                target.path().display(),
                target.block()
            ))),
        }
    }

    /// Checks that the rows of `batch`, with which `fed` have come, are not beyond what was scanned:
    /// a file may change.
    pub(crate) fn still_holds(
        &self,
        batch: &Batch,
        fed: u64,
        path: &Path,
        options: &Options,
    ) -> Result<(), TraceError> {
        for row in 0..batch.len() {
            let request = batch.request(row);
            let left_out = !request.op.is_harmless() && options.writes == Writes::Skip;
            let new = fed > self.requests
                || request.end() > self.end
                || request.sectors > self.longest
                || matches!(request.op, Op::Discard | Op::WriteZeroes);
            if !left_out && new {
                return Err(TraceError::Request {
                    place: Place::of(path, batch.place(row)),
                    problem: "this request was not there when the load was checked: the file has \
                              changed meanwhile"
                        .to_owned(),
                });
            }
        }
        Ok(())
    }
}
