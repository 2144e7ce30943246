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
