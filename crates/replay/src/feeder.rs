//! Reading the load on a thread of its own, some batches ahead of the session, and making it fit.

use std::path::PathBuf;

use iosonar_trace::fit::{Fitted, Fitter};
use iosonar_trace::{
    Batch, Op, Outcome, Place, Reading, Record, Remark, Request, Status, TraceError, TraceReader,
};
use iosonar_units::{Nanos, Sector, Sectors};

use crate::os::channel::{Receiver, Sender, bounded};
use crate::os::open_load;
use crate::zones::{Zones, is_write};
use crate::{Arriving, Scan, Writes};

/// 64 batches of 4 096 requests: at 500 000 requests/s half a second, and some 10 MB.
const BATCHES_AHEAD: usize = 64;

/// The session's end of the feeder.
pub(crate) struct Feed {
    /// Requests that are left out are marked as skipped.
    pub(crate) batches: Receiver<Result<Batch, TraceError>>,
    /// Batches go back here to be filled again.
    pub(crate) used: Sender<Batch>,
}

/// What is known of a load when it has been read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fed {
    /// What was changed to fit.
    pub(crate) fitted: Fitted,
    /// What the reading of the load remarked.
    pub(crate) remarks: Vec<Remark>,
}

/// The feeder's work, to be run on a thread.
pub(crate) struct Feeder {
    batches: Sender<Result<Batch, TraceError>>,
    used: Receiver<Batch>,
}

pub(crate) fn feeder() -> (Feeder, Feed) {
    let (batches, from_feeder) = bounded(BATCHES_AHEAD);
    let (to_feeder, used) = bounded(2 * BATCHES_AHEAD);
    (
        Feeder { batches, used },
        Feed {
            batches: from_feeder,
            used: to_feeder,
        },
    )
}

/// What is made of each request before the session sees it.
pub(crate) struct Preparation {
    pub(crate) path: PathBuf,
    pub(crate) reading: Reading,
    /// Where requests arrive that are not read from the file.
    pub(crate) arriving: Option<Arriving>,
    pub(crate) scan: Scan,
    pub(crate) writes: Writes,
    pub(crate) fitter: Fitter,
    /// Zones whose writes go to their write pointers.
    pub(crate) appends: Option<Zones>,
    /// The longest request that there is a buffer for.
    pub(crate) longest: Sectors,
    /// The target's, in sectors.
    pub(crate) block: u64,
    /// The part of the load's time subtracted from all starts.
    pub(crate) later: Nanos,
    /// The device of the first request of a load that is read as it comes.
    pub(crate) device: Option<u16>,
}

impl Feeder {
    /// Reads until the end, an error, or until the session has ended. Where there
    /// are several targets, requests get the number of theirs.
    pub(crate) fn run(self, mut preparation: Preparation, device: Option<u16>) -> Fed {
        let reader: Result<Box<dyn TraceReader>, TraceError> = match preparation.arriving.take() {
            Some(arriving) => Ok(Box::new(arriving.reader(&preparation.path))),
            None => open_load(&preparation.path, &preparation.reading),
        };
        let mut reader = match reader {
            Ok(reader) => reader,
            Err(e) => {
                drop(self.batches.send(Err(e)));
                return Fed::default();
            }
        };
        let mut fed = 0;
        loop {
            let mut batch = self.used.try_recv().unwrap_or_default();
            let message = match reader.next_batch(&mut batch) {
                Ok(0) => break,
                Ok(rows) => {
                    fed += rows as u64;
                    preparation.apply(&mut batch, fed).map(|()| {
                        if let Some(device) = device {
                            batch.set_devices(device);
                        }
                        batch
                    })
                }
                Err(e) => Err(e),
            };
            let failed = message.is_err();
            if self.batches.send(message).is_err() || failed {
                break;
            }
        }
        Fed {
            fitted: preparation.fitter.fitted(),
            remarks: reader.metadata().remarks.clone(),
        }
    }
}

impl Preparation {
    /// Checks the rows of `batch`, with which `fed` have come, against what was scanned (a file may
    /// change), and makes them fit.
    fn apply(&mut self, batch: &mut Batch, fed: u64) -> Result<(), TraceError> {
        batch.clear_outcomes();
        if self.later > Nanos::ZERO {
            for start in batch.starts_mut() {
                *start = start.saturating_sub(self.later);
            }
        }
        let idle = self.fitter.is_idle();
        for row in 0..batch.len() {
            let mut request = batch.request(row);
            if !self.scan.is_known {
                self.device.get_or_insert(request.device);
            }
            let left_out = !request.op.is_harmless() && self.writes == Writes::Skip;
            if left_out {
                // It fits the target like the others do; what was changed counts only what is done.
                let mut fitter = self.fitter;
                let mut fitted = request;
                if fitter.apply(&mut fitted) {
                    request = fitted;
                }
                batch.set(row, &skipped(request));
                continue;
            }
            if let Some(problem) = self.misfit(&request, fed) {
                return Err(TraceError::Request {
                    place: Place::of(&self.path, batch.place(row)),
                    problem,
                });
            }
            let appends = self.appends.is_some() && is_write(&request);
            if idle && request.op != Op::Flush && !appends {
                continue;
            }
            let fits = self.fitter.apply(&mut request);
            if let Some(zones) = self.appends.as_mut().filter(|_| fits && appends) {
                let written = zones.write(&request, true);
                let at = written.map_err(|misplaced| TraceError::Request {
                    place: Place::of(&self.path, batch.place(row)),
                    problem: format!("the file has changed since it was checked: {misplaced}"),
                })?;
                request.sector = Sector::new(at);
            }
            match fits {
                true => batch.set(
                    row,
                    &Record {
                        request,
                        outcome: Outcome::default(),
                    },
                ),
                false => batch.set(row, &skipped(request)),
            }
        }
        Ok(())
    }

    /// Why a request must not be there.
    fn misfit(&self, request: &Request, fed: u64) -> Option<String> {
        let changed = || {
            Some(
                "the file did not contain this request when the load was checked: it has changed since then"
                    .to_owned(),
            )
        };
        if self.scan.is_known {
            // The scan knew of no writes, so there are no buffers for them.
            let new_write = !request.op.is_harmless() && self.scan.harmless == self.scan.requests;
            return match fed > self.scan.requests
                || new_write
                || request.op != Op::Flush && request.end() > self.scan.end
                || request.op.moves_data() && request.sectors > self.scan.longest
            {
                true => changed(),
                false => None,
            };
        }
        if !request.op.is_harmless() && self.writes == Writes::Refuse {
            return Some(
                "this request writes, and a replay only reads by default: use --skip-writes \
                 or --write"
                    .to_owned(),
            );
        }
        let mut fitted = *request;
        let mut trial = self.fitter;
        if !trial.apply(&mut fitted) {
            return None;
        }
        if self.device.is_some_and(|device| device != request.device) {
            return Some(
                "this request goes to a different device from those before it: select one device with --device NAME"
                    .to_owned(),
            );
        }
        if fitted.op.moves_data() && fitted.sectors > self.longest {
            return Some(format!(
                "the request of {} sectors is longer than the buffers of {}, because the load could not be read in \
                 advance: give the load as a file",
                fitted.sectors, self.longest
            ));
        }
        if fitted.end().get() > trial.target_sectors() {
            return Some(format!(
                "the request ends at sector {}, but the target ends at sector {}: use --wrap, --clip or a larger \
                 target",
                fitted.end(),
                trial.target_sectors()
            ));
        }
        let bits = fitted.sector.get() | u64::from(fitted.sectors.get());
        (bits & (self.block - 1) != 0).then(|| {
            format!(
                "the request is not aligned to the target's blocks of {} sectors; --align widens it",
                self.block
            )
        })
    }
}

fn skipped(request: Request) -> Record {
    Record {
        request,
        outcome: Outcome::untimed(Status::Skipped),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScanFigures;
    use crate::testing::request;
    use crate::zones::{Writable, Zone};
    use iosonar_trace::fit::{Beyond, Fit};

    /// For a target of 1000 sectors in blocks of 8, and a load of which a scan found out that it has four requests, two
    /// of them harmless, of 16 sectors at most, up to sector 800.
    fn preparation(is_known: bool, fit: Fit, writes: Writes) -> Preparation {
        let mut scan = Scan::with_figures(&ScanFigures {
            requests: 4,
            harmless: 2,
            discards: 0,
            end: 800,
            longest: 16,
            last_start_ns: 0,
            goes_on: false,
        });
        scan.is_known = is_known;
        Preparation {
            path: PathBuf::from("x.load"),
            reading: Reading::default(),
            arriving: None,
            scan,
            writes,
            fitter: Fitter::new(fit, 1000, 8, 800),
            appends: None,
            longest: Sectors::new(32),
            block: 8,
            later: Nanos::ZERO,
            device: None,
        }
    }

    fn batch(requests: &[Request]) -> Batch {
        let mut batch = Batch::default();
        for request in requests {
            batch.push(&Record {
                request: *request,
                ..Record::default()
            });
        }
        batch
    }

    #[test]
    fn a_request_that_the_scan_did_not_find_shows_that_the_file_has_changed() {
        use Op::{Discard, Flush, Read, Write};
        for (op, sector, sectors, fed, fits) in [
            (Read, 784, 16, 4, true),
            (Read, 784, 16, 5, false),
            (Read, 785, 16, 4, false),
            (Read, 700, 17, 4, false),
            (Write, 784, 16, 4, true),
            // Its length is no matter, and the place of a flush neither.
            (Discard, 0, 800, 4, true),
            (Discard, 0, 801, 4, false),
            (Flush, 5000, 5000, 4, true),
        ] {
            let preparation = preparation(true, Fit::default(), Writes::Do);
            let misfit = preparation.misfit(&request(op, sector, sectors), fed);
            assert_eq!(misfit.is_none(), fits, "{op:?} {sector} {sectors} {fed}");
        }
        // There are no buffers for writes where the scan found none.
        let mut only_reads = preparation(true, Fit::default(), Writes::Do);
        only_reads.scan.harmless = 4;
        for (op, fits) in [
            (Read, true),
            (Flush, true),
            (Write, false),
            (Discard, false),
        ] {
            let misfit = only_reads.misfit(&request(op, 0, 8), 1);
            assert_eq!(misfit.is_none(), fits, "{op:?}");
        }
    }

    #[test]
    fn a_request_of_a_load_that_is_not_known_must_fit_the_target() {
        use Op::{Discard, Flush, Read, Write};
        for (op, sector, sectors, problem) in [
            (Read, 968, 32, None),
            (Read, 0, 40, Some("longer than the buffers of 32")),
            (Discard, 0, 1000, None),
            (Read, 976, 32, Some("the target ends at sector 1000")),
            // Each of place and length is one sector beside a block: their bits are the same.
            (Read, 9, 9, Some("not aligned")),
            (Read, 8, 9, Some("not aligned")),
            (Read, 9, 8, Some("not aligned")),
            (Read, 4, 4, Some("not aligned")),
            (Write, 8, 8, None),
            (Flush, 9, 9, None),
        ] {
            let preparation = preparation(false, Fit::default(), Writes::Do);
            // The number of requests is not known either.
            let misfit = preparation.misfit(&request(op, sector, sectors), 1000);
            match (&misfit, problem) {
                (None, None) => {}
                (Some(found), Some(problem)) => assert!(found.contains(problem), "{found}"),
                _ => panic!("{op:?} {sector} {sectors}: {misfit:?}"),
            }
        }
    }

    #[test]
    fn writes_of_a_load_that_is_not_known_are_refused_when_they_come() {
        for (op, writes, fits) in [
            (Op::Write, Writes::Refuse, false),
            (Op::Discard, Writes::Refuse, false),
            (Op::Read, Writes::Refuse, true),
            (Op::Flush, Writes::Refuse, true),
            (Op::Write, Writes::Do, true),
        ] {
            let preparation = preparation(false, Fit::default(), writes);
            let misfit = preparation.misfit(&request(op, 0, 8), 1);
            assert_eq!(misfit.is_none(), fits, "{op:?}");
        }
    }

    #[test]
    fn a_load_that_is_not_known_goes_to_one_device() {
        let to = |device, op| Request {
            device,
            ..request(op, 0, 8)
        };
        for (devices, fits) in [([3, 3], true), ([3, 4], false)] {
            let requests = devices.map(|device| to(device, Op::Read));
            let mut preparation = preparation(false, Fit::default(), Writes::Do);
            let applied = preparation.apply(&mut batch(&requests), 2);
            assert_eq!(applied.is_ok(), fits);
            assert_eq!(preparation.device, Some(3));
        }
        // A scan has seen all devices of a load that is known.
        let mut known = preparation(true, Fit::default(), Writes::Do);
        let requests = [3, 4].map(|device| to(device, Op::Read));
        assert!(known.apply(&mut batch(&requests), 2).is_ok());
        assert_eq!(known.device, None);
    }

    #[test]
    fn requests_are_moved_left_out_and_started_later() {
        let requests = [
            request(Op::Read, 784, 8),
            request(Op::Write, 0, 8),
            request(Op::Flush, 5, 5),
            request(Op::Discard, 8, 8),
        ];
        let start = Nanos::from_secs(10);
        let all = requests.map(|request| Request { start, ..request });
        for (writes, skipped) in [
            (Writes::Do, [false; 4]),
            (Writes::Skip, [false, true, false, true]),
        ] {
            let mut preparation = preparation(true, Fit::default(), writes);
            preparation.later = Nanos::from_secs(3);
            let mut batch = batch(&all);
            preparation.apply(&mut batch, 4).unwrap();
            let seen = [0, 1, 2, 3].map(|row| batch.is_skipped(row));
            assert_eq!(seen, skipped);
            assert_eq!(batch.starts(), [Nanos::from_secs(7); 4]);
            // A flush means the whole device.
            let flush = batch.request(2);
            assert_eq!((flush.sector.get(), flush.sectors.get()), (0, 0));
            assert_eq!(batch.request(0).sector.get(), 784);
        }
    }

    #[test]
    fn what_is_changed_to_fit_is_counted_only_if_it_is_done() {
        let wrap = Fit {
            beyond: Beyond::Wrap,
            align: false,
        };
        for (writes, wrapped) in [(Writes::Do, 2), (Writes::Skip, 1)] {
            let mut preparation = preparation(true, wrap, writes);
            preparation.fitter = Fitter::new(wrap, 400, 8, 800);
            let mut batch = batch(&[request(Op::Read, 416, 8), request(Op::Write, 432, 8)]);
            preparation.apply(&mut batch, 2).unwrap();
            let places = [0, 1].map(|row| batch.request(row).sector.get());
            // What is left out shows where it would have been.
            assert_eq!(places, [16, 32]);
            assert_eq!(preparation.fitter.fitted().wrapped, wrapped);
        }
        let clip = Fit {
            beyond: Beyond::Clip,
            align: false,
        };
        let mut preparation = preparation(true, clip, Writes::Do);
        preparation.fitter = Fitter::new(clip, 400, 8, 800);
        let mut batch = batch(&[request(Op::Read, 392, 16), request(Op::Read, 400, 8)]);
        preparation.apply(&mut batch, 2).unwrap();
        assert_eq!(batch.request(0).sectors.get(), 8);
        assert_eq!([0, 1].map(|row| batch.is_skipped(row)), [false, true]);
    }

    #[test]
    fn writes_are_appended_to_their_zone_and_nothing_else_is() {
        let zone = Zone {
            start: 0,
            next: 100,
            end: 24,
            writable: Writable::At(8),
            is_active: true,
        };
        // The second does not change these requests, but looks at them.
        for align in [false, true] {
            let fit = Fit {
                beyond: Beyond::Refuse,
                align,
            };
            let mut preparation = Preparation {
                appends: Some(Zones::new(vec![zone], None, 8)),
                ..preparation(true, fit, Writes::Do)
            };
            let mut all = batch(&[
                request(Op::Read, 48, 8),
                request(Op::Write, 64, 8),
                request(Op::Discard, 56, 8),
                request(Op::WriteZeroes, 0, 8),
            ]);
            preparation.apply(&mut all, 4).unwrap();
            let places = [0, 1, 2, 3].map(|row| all.request(row).sector.get());
            assert_eq!(places, [48, 8, 56, 16]);
            // There is no room for more.
            let more = preparation.apply(&mut batch(&[request(Op::Write, 0, 8)]), 4);
            let more = more.unwrap_err().to_string();
            assert!(more.contains("has changed since it was checked"), "{more}");
        }
    }

    #[test]
    fn batches_are_counted_and_get_the_number_of_their_target() {
        for (device, scanned, fails) in [(None, 4, false), (Some(7), 4, false), (None, 3, true)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.load");
            let rows: String = (0..4).map(|i| format!("{i} ; 0 ; 8 ; R\n")).collect();
            std::fs::write(&path, rows).unwrap();
            let (feeder, feed) = feeder();
            let mut preparation = Preparation {
                path,
                ..preparation(true, Fit::default(), Writes::Do)
            };
            preparation.scan.requests = scanned;
            feeder.run(preparation, device);
            let received: Vec<_> = feed.batches.try_iter().collect();
            let mut rows = 0;
            for batch in &received {
                let Ok(batch) = batch else { continue };
                rows += batch.len();
                let devices = (0..batch.len()).map(|row| batch.request(row).device);
                let number = device.unwrap_or(0);
                assert!(devices.into_iter().all(|device| device == number));
            }
            assert_eq!(received.iter().any(Result::is_err), fails);
            assert_eq!(rows, if fails { 0 } else { 4 });
        }
    }

    #[test]
    fn as_many_batches_as_are_ahead_can_go_back_before_they_are_filled_again() {
        let (_feeder, feed) = feeder();
        for _ in 0..BATCHES_AHEAD {
            assert!(feed.used.try_send(Batch::default()).is_ok());
        }
    }
}
