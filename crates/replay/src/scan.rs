//! What is in a load, found out before anything is started.

use std::path::Path;

use iosonar_trace::output::Largest;
use iosonar_trace::{Batch, Op, Place, Reading, Request, TraceError, TraceReader, input};
use iosonar_units::{Bytes, Nanos, SECTOR_BYTES, Sector, Sectors, counted};

use serde::{Deserialize, Serialize};

use crate::{Beyond, Fit, ReplayError, Target, Writes};

/// Linux moves at most 2^31 - 4096 bytes a request (`MAX_RW_COUNT`).
pub(crate) const LONGEST_REQUEST: Sectors = Sectors::new(((1 << 31) - 4096) / 512);

/// Longer requests of a load that cannot be read in advance end the replay.
const LONGEST_UNKNOWN: Sectors = Sectors::new(8192);

/// Blocks of devices are 2^0 to 2^7 sectors.
const BLOCK_SIZES: usize = 8;

/// What is in the part of a load that is replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// All requests.
    pub requests: u64,
    /// Those that leave the target as it is: reads and flushes.
    pub harmless: u64,
    /// Whether the load could be read in advance; if not, the other fields are unknown.
    pub is_known: bool,
    /// The devices of the trace that requests are to, as far as the trace distinguishes them.
    pub devices: std::collections::BTreeSet<u16>,
    last_device: Option<u16>,
    /// Where the highest request ends.
    pub end: Sector,
    /// Discards that are to be done.
    pub discards: u64,
    /// The longest read or write.
    pub longest: Sectors,
    /// The largest values of all requests, also of those that are left out.
    pub largest: Largest,
    /// The intended start of the last request.
    pub last_start: Nanos,
    /// Whether the load goes on after the time up to which it was read.
    pub goes_on: bool,
    /// The first request that is not aligned to blocks of 2^i sectors.
    misaligned: [Option<(Place, Request)>; BLOCK_SIZES],
}

/// What a replay needs to know of a load that was scanned on another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScanFigures {
    /// All requests.
    pub requests: u64,
    /// Those that leave the target as it is.
    pub harmless: u64,
    /// Discards that are to be done.
    pub discards: u64,
    /// The sector where the highest request ends.
    pub end: u64,
    /// The sectors of the longest read or write.
    pub longest: u32,
    /// The start of the last request, in nanoseconds.
    pub last_start_ns: u64,
    /// Whether the load goes on after the time up to which it was read.
    pub goes_on: bool,
}

impl Scan {
    /// The figures of a load that could be read in advance, whose time zero is `zero`.
    pub fn figures(&self, zero: Nanos) -> ScanFigures {
        ScanFigures {
            requests: self.requests,
            harmless: self.harmless,
            discards: self.discards,
            end: self.end.get(),
            longest: self.longest.get(),
            last_start_ns: self.last_start.saturating_sub(zero).get(),
            goes_on: self.goes_on,
        }
    }

    /// A scan with these figures, of requests to one device. Whether they are aligned, only the scan itself knows.
    pub fn with_figures(figures: &ScanFigures) -> Self {
        Self {
            requests: figures.requests,
            harmless: figures.harmless,
            is_known: true,
            end: Sector::new(figures.end),
            discards: figures.discards,
            longest: Sectors::new(figures.longest),
            last_start: Nanos::new(figures.last_start_ns),
            goes_on: figures.goes_on,
            ..Self::default()
        }
    }

    /// Reads the load at `path` once.
    ///
    /// # Errors
    /// [`ReplayError::Trace`] if the load is damaged or unsorted; [`ReplayError::Refused`] if it is
    /// empty, or holds writes that are not allowed.
    pub fn of(path: &Path, reading: &Reading, writes: Writes) -> Result<Self, ReplayError> {
        Self::until(path, reading, writes, Nanos::MAX)
    }

    /// Reads the requests of the load at `path` once whose starts are before `end`.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn until(
        path: &Path,
        reading: &Reading,
        writes: Writes,
        end: Nanos,
    ) -> Result<Self, ReplayError> {
        let is_stream = path == Path::new("-")
            || std::fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir());
        if is_stream {
            return Ok(Self {
                longest: LONGEST_UNKNOWN,
                ..Self::default()
            });
        }
        let mut reader = input::open_load(path, reading)?;
        let mut scan = Self {
            is_known: true,
            ..Self::default()
        };
        let mut batch = Batch::default();
        'all: while reader.next_batch(&mut batch)? > 0 {
            for row in 0..batch.len() {
                if end < Nanos::MAX && batch.starts()[row] >= end {
                    scan.goes_on = true;
                    break 'all;
                }
                scan.add(&batch, row, path, writes)?;
            }
        }
        scan.check(writes)?;
        Ok(scan)
    }

    fn add(
        &mut self,
        batch: &Batch,
        row: usize,
        path: &Path,
        writes: Writes,
    ) -> Result<(), ReplayError> {
        let request = batch.request(row);
        self.requests += 1;
        self.largest.add(&request);
        self.last_start = request.start;
        if self.last_device != Some(request.device) {
            self.last_device = Some(request.device);
            self.devices.insert(request.device);
        }
        self.harmless += u64::from(request.op.is_harmless());
        let left_out = !request.op.is_harmless() && writes == Writes::Skip;
        // A flush means the whole device, wherever it is said to be.
        if left_out || request.op == Op::Flush {
            return Ok(());
        }
        self.discards += u64::from(request.op == Op::Discard);
        if request.op.moves_data() && request.sectors > LONGEST_REQUEST {
            return Err(ReplayError::Trace(TraceError::Request {
                place: Place::of(path, batch.place(row)),
                problem: format!(
                    "the request of {} sectors is longer than the kernel's limit \
                     of {LONGEST_REQUEST} sectors",
                    request.sectors
                ),
            }));
        }
        self.end = self.end.max(request.end());
        if request.op.moves_data() {
            self.longest = self.longest.max(request.sectors);
        }
        let bits = request.sector.get() | u64::from(request.sectors.get());
        for (i, first) in self.misaligned.iter_mut().enumerate() {
            if bits & ((1 << i) - 1) != 0 && first.is_none() {
                *first = Some((Place::of(path, batch.place(row)), request));
            }
        }
        Ok(())
    }

    fn check(&self, wanted: Writes) -> Result<(), ReplayError> {
        let refuse = |reason: String| Err(ReplayError::Refused(reason));
        let writes = self.requests - self.harmless;
        if self.requests == 0 && self.goes_on {
            return refuse(
                "--max-runtime ends before the first request starts: increase it, or skip the idle time with --from"
                    .to_owned(),
            );
        }
        if self.requests == 0 {
            return refuse(
                "the load has no requests in the selected window: check --from, --until and --device ('iosonar \
                 info' shows its times and devices)"
                    .to_owned(),
            );
        }
        if writes > 0 && wanted == Writes::Refuse {
            return refuse(format!(
                "the load has {} (of {}), and a replay only reads by default: use --skip-writes to leave them out, \
                 or --write to perform them and overwrite data on the target",
                counted(
                    writes,
                    ["request that changes data", "requests that change data"]
                ),
                counted(self.requests, ["request", "requests"]),
            ));
        }
        Ok(())
    }

    /// Checks that the load fits a target, or one of `size` that is yet to be made.
    ///
    /// # Errors
    /// [`ReplayError::Refused`] if the load reaches beyond its end.
    pub fn fits_size(&self, size: Bytes, path: &Path, fit: Fit) -> Result<(), ReplayError> {
        let target_sectors = size.get() / SECTOR_BYTES;
        if self.end.get() <= target_sectors || fit.beyond != Beyond::Refuse {
            return Ok(());
        }
        Err(ReplayError::Refused(format!(
            "the load extends to sector {}, but {} ends at sector {target_sectors} ({size}): use a target with at \
             least {} bytes, or --wrap, --clip or --fit (in a sweep --set wrap=true, clip=true or fit=true)",
            self.end,
            path.display(),
            u128::from(self.end.get()) * u128::from(SECTOR_BYTES)
        )))
    }

    /// How many times the load's span the target is passed, where requests beyond its end wrap.
    pub fn wraparound_factor(&self, size: Bytes) -> f64 {
        self.end.get() as f64 / (size.get() / SECTOR_BYTES).max(1) as f64
    }

    /// Checks that the load can be replayed on `target`.
    ///
    /// # Errors
    /// [`ReplayError::Refused`] if it reaches beyond the target's end, [`ReplayError::Trace`] if a
    /// request is not aligned to the target's blocks.
    pub fn fits(&self, target: &Target, fit: Fit) -> Result<(), ReplayError> {
        if fit.beyond == Beyond::Scale && !self.is_known {
            return Err(ReplayError::Refused(
                "--fit needs to know the extent of the load: give the load as a file".to_owned(),
            ));
        }
        self.fits_size(target.size(), target.path(), fit)?;
        // Each end may be widened by a part of a block.
        let widened = match fit.align {
            true => 2 * (target.block().get() / SECTOR_BYTES - 1),
            false => 0,
        };
        let longest = u64::from(self.longest.get()) + widened;
        if let Some(most) = target
            .longest()
            .filter(|most| longest > u64::from(most.get()))
        {
            return Err(ReplayError::Refused(format!(
                "the load has requests of up to {} sectors, and an NVMe command to {} transfers at most {most} \
                 (passthrough does not split requests): replay on the block device (/dev/nvme...), or change the load",
                longest,
                target.path().display()
            )));
        }
        self.aligned(target.block(), target.path(), fit)
    }

    /// Checks that the requests are aligned to blocks of this size of the target at `path`, or may be widened.
    ///
    /// # Errors
    /// [`ReplayError::Trace`] with the first request that is not, [`ReplayError::Refused`] for blocks that no request is
    /// checked for.
    pub fn aligned(&self, block: Bytes, path: &Path, fit: Fit) -> Result<(), ReplayError> {
        let block_sectors = block.get() / SECTOR_BYTES;
        let power = block_sectors.next_power_of_two().trailing_zeros() as usize;
        match self.misaligned.get(power) {
            Some(None) => Ok(()),
            Some(Some(_)) if fit.align => Ok(()),
            Some(Some((place, request))) => Err(ReplayError::Trace(TraceError::Request {
                place: place.clone(),
                problem: format!(
                    "the request of {} sectors at sector {} is not aligned to the target's blocks \
                     of {}; --align widens such requests to whole blocks",
                    request.sectors, request.sector, block
                ),
            })),
            None => Err(ReplayError::Refused(format!(
                "{} has blocks of {}, larger than supported",
                path.display(),
                block
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::imagined::Disk;
    use crate::testing::request;

    fn scanned(load: &str, writes: Writes, end: Nanos) -> Result<Scan, ReplayError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.load");
        std::fs::write(&path, load).unwrap();
        Scan::until(&path, &Reading::default(), writes, end)
    }

    fn scan(load: &str) -> Scan {
        scanned(load, Writes::Do, Nanos::MAX).unwrap()
    }

    fn fit(beyond: Beyond, align: bool) -> Fit {
        Fit { beyond, align }
    }

    #[test]
    fn a_load_is_summed_up() {
        let scan = scan("0 ; 64 ; 16 ; R\n1 ; 8 ; 8 ; W\n2.5 ; 0 ; 512 ; D\n3 ; 0 ; 512 ; D\n");
        let figures = scan.figures(Nanos::SECOND);
        let expected = ScanFigures {
            requests: 4,
            harmless: 1,
            discards: 2,
            // The discards reach further than the read; the longest read or write is the read.
            end: 512,
            longest: 16,
            last_start_ns: 2_000_000_000,
            goes_on: false,
        };
        assert_eq!(figures, expected);
        let again = Scan::with_figures(&expected);
        assert!(again.is_known);
        assert_eq!(again.figures(Nanos::ZERO), expected);
    }

    #[test]
    fn a_request_at_the_end_is_beyond_it() {
        let load = "0 ; 0 ; 8 ; R\n1 ; 8 ; 8 ; R\n2 ; 16 ; 8 ; R\n";
        for (end, requests, goes_on) in [
            (Nanos::from_secs(1), 1, true),
            (Nanos::new(1_000_000_001), 2, true),
            (Nanos::from_secs(2), 2, true),
            (Nanos::from_secs(3), 3, false),
            (Nanos::MAX, 3, false),
        ] {
            let scan = scanned(load, Writes::Do, end).unwrap();
            assert_eq!((scan.requests, scan.goes_on), (requests, goes_on), "{end}");
        }
        let nothing = scanned(load, Writes::Do, Nanos::ZERO).unwrap_err();
        assert!(nothing.to_string().contains("--max-runtime"), "{nothing}");
    }

    #[test]
    fn a_request_is_aligned_if_its_place_and_its_length_are() {
        for (sector, sectors, most) in [(8, 8, 8), (8, 4, 4), (4, 8, 4), (4, 4, 4), (16, 1, 1)] {
            let scan = scan(&format!("0 ; {sector} ; {sectors} ; R\n"));
            for block in [1, 2, 4, 8] {
                let aligned = |align| {
                    let block = Bytes::new(block * 512);
                    scan.aligned(block, Path::new("x"), fit(Beyond::Refuse, align))
                };
                let case = format!("{sector} {sectors} {block}");
                assert_eq!(aligned(false).is_ok(), block <= most, "{case}");
                assert!(aligned(true).is_ok(), "{case}");
            }
        }
        let load = "0 ; 8 ; 8 ; R\n1 ; 9 ; 8 ; R\n2 ; 11 ; 8 ; R\n";
        let block = Bytes::new(4096);
        let first = scan(load).aligned(block, Path::new("x"), Fit::default());
        let first = first.unwrap_err().to_string();
        assert!(first.contains("x.load:2: "), "{first}");
    }

    #[test]
    fn blocks_that_nothing_is_known_of_are_refused() {
        let scan = scan("0 ; 0 ; 256 ; R\n");
        for (sectors, is_supported) in [(128, true), (256, false)] {
            let block = Bytes::new(sectors * 512);
            for align in [false, true] {
                let checked = scan.aligned(block, Path::new("x"), fit(Beyond::Refuse, align));
                assert_eq!(checked.is_ok(), is_supported, "{block}");
            }
        }
    }

    #[test]
    fn a_target_is_passed_as_often_as_the_load_is_longer() {
        let scan = scan("0 ; 2492 ; 8 ; R\n");
        for (bytes, factor) in [(1000 * 512, 2.5), (1000 * 512 + 511, 2.5), (0, 2500.0)] {
            let got = scan.wraparound_factor(Bytes::new(bytes));
            assert!((got - factor).abs() < 1e-9, "{got} {factor}");
        }
    }

    #[test]
    fn a_load_of_unknown_extent_cannot_be_scaled() {
        let known = scan("0 ; 0 ; 8 ; R\n");
        let unknown = Scan {
            is_known: false,
            ..known.clone()
        };
        let target = Disk::target(1000);
        for (scan, beyond, fits) in [
            (&known, Beyond::Scale, true),
            (&unknown, Beyond::Wrap, true),
            (&unknown, Beyond::Scale, false),
        ] {
            let checked = scan.fits(&target, fit(beyond, false));
            assert_eq!(checked.is_ok(), fits, "{beyond:?}");
        }
    }

    #[test]
    fn a_load_must_not_reach_beyond_the_target_unless_it_is_changed() {
        let scan = scan("0 ; 992 ; 8 ; R\n");
        for (sectors, beyond, fits) in [
            (1000, Beyond::Refuse, true),
            (999, Beyond::Refuse, false),
            (999, Beyond::Clip, true),
        ] {
            let checked = scan.fits(&Disk::target(sectors), fit(beyond, false));
            assert_eq!(checked.is_ok(), fits, "{sectors} {beyond:?}");
        }
    }

    #[test]
    fn a_command_must_be_long_enough_for_a_request_and_what_widens_it() {
        let scan = scan("0 ; 8 ; 104 ; R\n");
        let target = |longest, block| {
            let target = Target::imaginary(Bytes::new(1 << 20), Bytes::new(block));
            target.with_commands(longest)
        };
        // With blocks of 8 sectors, a request may grow by 7 at each of its ends.
        for (longest, block, align, fits) in [
            (104, 4096, false, true),
            (103, 4096, false, false),
            (118, 4096, true, true),
            (117, 4096, true, false),
            (104, 512, true, true),
        ] {
            let checked = scan.fits(&target(longest, block), fit(Beyond::Refuse, align));
            assert_eq!(checked.is_ok(), fits, "{longest} {block} {align}");
        }
    }

    #[test]
    fn writes_are_refused_left_out_or_done() {
        let load = "0 ; 0 ; 8 ; R\n1 ; 992 ; 8 ; W\n";
        let refused = scanned(load, Writes::Refuse, Nanos::MAX).unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("1 request that changes data (of 2 requests)")
        );
        for (writes, end) in [(Writes::Skip, 8), (Writes::Do, 1000)] {
            let scan = scanned(load, writes, Nanos::MAX).unwrap();
            assert_eq!((scan.requests, scan.end.get()), (2, end), "{writes:?}");
        }
    }

    /// What is found out of a batch with these requests.
    fn added(requests: &[Request], writes: Writes) -> Result<Scan, ReplayError> {
        let mut batch = Batch::default();
        for request in requests {
            let request = *request;
            batch.push(&iosonar_trace::Record {
                request,
                ..Default::default()
            });
        }
        let mut scan = Scan::default();
        for row in 0..batch.len() {
            scan.add(&batch, row, Path::new("x.load"), writes)?;
        }
        Ok(scan)
    }

    #[test]
    fn each_device_is_noted_once() {
        let to = |device| Request {
            device,
            ..request(Op::Read, 0, 8)
        };
        for devices in [&[][..], &[0], &[3], &[3, 3, 5, 3, 0]] {
            let requests: Vec<_> = devices.iter().map(|device| to(*device)).collect();
            let scan = added(&requests, Writes::Do).unwrap();
            assert_eq!(scan.devices, devices.iter().copied().collect());
        }
    }

    #[test]
    fn each_operation_counts_as_what_it_does() {
        // Whether it is harmless, a discard, where it ends, and its length if it moves data.
        for (op, harmless, discards, end, longest) in [
            (Op::Read, 1, 0, 108, 8),
            (Op::Write, 0, 0, 108, 8),
            (Op::Flush, 1, 0, 0, 0),
            (Op::Discard, 0, 1, 108, 0),
            (Op::WriteZeroes, 0, 0, 108, 0),
        ] {
            let figures = |writes| {
                let scan = added(&[request(op, 100, 8)], writes).unwrap();
                let figures = scan.figures(Nanos::ZERO);
                assert_eq!(figures.requests, 1);
                let ScanFigures {
                    discards,
                    end,
                    longest,
                    harmless,
                    ..
                } = figures;
                (harmless, discards, end, longest)
            };
            assert_eq!(
                figures(Writes::Do),
                (harmless, discards, end, longest),
                "{op:?}"
            );
            // What is left out has no extent.
            let skipped = match harmless {
                0 => (0, 0, 0, 0),
                _ => (harmless, discards, end, longest),
            };
            assert_eq!(figures(Writes::Skip), skipped, "{op:?}");
        }
        let several = [
            request(Op::Read, 500, 8),
            request(Op::Write, 100, 16),
            request(Op::Read, 0, 4),
        ];
        let figures = added(&several, Writes::Do).unwrap().figures(Nanos::ZERO);
        assert_eq!(
            (figures.end, figures.longest, figures.harmless),
            (508, 16, 2)
        );
    }

    #[test]
    fn what_moves_more_data_than_the_kernel_does_at_once_is_an_error() {
        let most = ((1_u64 << 31) - 4096) / 512;
        for (op, sectors, fits) in [
            (Op::Read, most, true),
            (Op::Read, most + 1, false),
            (Op::Write, most + 1, false),
            (Op::Discard, most + 1, true),
        ] {
            let added = added(&[request(op, 0, sectors as u32)], Writes::Do);
            assert_eq!(added.is_ok(), fits, "{op:?} {sectors}");
        }
        // Nor is it if it is left out.
        let skipped = added(&[request(Op::Write, 0, most as u32 + 1)], Writes::Skip);
        assert!(skipped.is_ok());
    }

    #[test]
    fn a_load_without_requests_is_refused() {
        let nothing = Scan::default().check(Writes::Do).unwrap_err().to_string();
        assert!(
            nothing.contains("no requests in the selected window"),
            "{nothing}"
        );
        let reads = "0 ; 0 ; 8 ; R\n";
        for writes in [Writes::Refuse, Writes::Skip, Writes::Do] {
            assert!(scanned(reads, writes, Nanos::MAX).is_ok());
        }
        let writes = "0 ; 0 ; 8 ; W\n1 ; 0 ; 8 ; W\n2 ; 0 ; 8 ; R\n";
        let refused = scanned(writes, Writes::Refuse, Nanos::MAX).unwrap_err();
        let refused = refused.to_string();
        assert!(
            refused.contains("2 requests that change data (of 3 requests)"),
            "{refused}"
        );
    }

    #[test]
    fn a_pipe_is_not_read_in_advance() {
        let reading = Reading::default();
        for path in ["-", "/dev/null"] {
            let scan = Scan::of(Path::new(path), &reading, Writes::Refuse).unwrap();
            assert!(!scan.is_known, "{path}");
            assert_eq!(scan.longest, LONGEST_UNKNOWN);
        }
        let missing = Scan::of(Path::new("/nowhere/x.load"), &reading, Writes::Do);
        assert!(missing.is_err());
    }
}
