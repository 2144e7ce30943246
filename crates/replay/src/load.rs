//! A trace, and what makes its requests fit a target.

use std::path::{Path, PathBuf};

use iosonar_trace::Reading;
use iosonar_trace::fit::Fitter;
use iosonar_trace::transform::{Change, beginning};
use iosonar_units::{Nanos, SECTOR_BYTES};

use crate::{Arriving, Options, ReplayError, Scan, Target, Writes};

/// What one target is given to do.
#[derive(Clone, Debug)]
pub struct Load {
    /// The trace.
    pub path: PathBuf,
    /// How it is read and changed. Time zero of the replay is the beginning of its window.
    pub reading: Reading,
    /// What is in it.
    pub scan: Scan,
    /// Where its requests arrive, if they are not read from `path`, which is for messages then.
    pub arriving: Option<Arriving>,
}

impl Load {
    /// Reads the load at `path` once, for a replay with these options. Of one that is repeated, which may never end,
    /// only what can be started within the longest time of the replay is read; the rest of any other is counted and
    /// recorded as missed.
    ///
    /// # Errors
    /// As [`Scan::of`].
    pub fn scanned_for(
        path: &Path,
        reading: &Reading,
        options: &Options,
    ) -> Result<Self, ReplayError> {
        let repeats = |change: &Change| matches!(change, Change::Repeat(_));
        match options.max_runtime {
            Some(most) if reading.changes.iter().any(repeats) => {
                Self::scanned_within(path, reading, options.writes, most)
            }
            _ => Self::scanned(path, reading, options.writes),
        }
    }

    /// Reads the load at `path` once, to find out what is in it.
    ///
    /// # Errors
    /// As [`Scan::of`].
    pub fn scanned(path: &Path, reading: &Reading, writes: Writes) -> Result<Self, ReplayError> {
        Ok(Self {
            path: path.to_owned(),
            reading: reading.clone(),
            scan: Scan::of(path, reading, writes)?,
            arriving: None,
        })
    }

    /// The requests of the load at `path` that start within `most` of its beginning: those that a replay of that
    /// length can start. If there are more, the replay ends early ([`Scan::goes_on`]). A stream is not read
    /// in advance, so it is not cut.
    ///
    /// # Errors
    /// As [`Scan::of`].
    pub fn scanned_within(
        path: &Path,
        reading: &Reading,
        writes: Writes,
        most: Nanos,
    ) -> Result<Self, ReplayError> {
        let end = beginning(&reading.changes).saturating_add(most);
        let scan = Scan::until(path, reading, writes, end)?;
        let mut reading = reading.clone();
        if scan.goes_on {
            reading.changes.push(Change::Select {
                from: Nanos::ZERO,
                until: end,
            });
        }
        Ok(Self {
            path: path.to_owned(),
            reading,
            scan,
            arriving: None,
        })
    }

    /// A load whose requests arrive from elsewhere, as they are to be replayed: `path` is for messages.
    pub fn arriving(path: &Path, scan: Scan, arriving: Arriving) -> Self {
        Self {
            path: path.to_owned(),
            reading: Reading::default(),
            scan,
            arriving: Some(arriving),
        }
    }
}

/// The target's blocks, in sectors.
pub(crate) fn block_sectors(target: &Target) -> u64 {
    (target.block().get() / SECTOR_BYTES).max(1)
}

/// What makes the requests of a load fit its target.
pub fn fitter(load: &Load, target: &Target, options: &Options) -> Fitter {
    Fitter::new(
        options.fit,
        target.size().get() / SECTOR_BYTES,
        block_sectors(target),
        if load.scan.is_known {
            load.scan.end.get()
        } else {
            u64::MAX
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_trace::transform::{Repeat, Rounds};

    #[test]
    fn only_of_a_repeated_load_is_no_more_read_than_can_be_started() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.load");
        std::fs::write(&path, "0 ; 0 ; 8 ; R\n1 ; 8 ; 8 ; R\n2 ; 16 ; 8 ; R\n").unwrap();
        let repeat = Change::Repeat(Repeat {
            rounds: Rounds::Times(2),
            offset: 0,
        });
        let (long, short) = (Nanos::from_secs(1000), Nanos::new(1_500_000_000));
        for (changes, max_runtime, requests, goes_on) in [
            (vec![], None, 3, false),
            (vec![], Some(short), 3, false),
            (vec![repeat.clone()], None, 6, false),
            (vec![repeat.clone()], Some(long), 6, false),
            (vec![repeat], Some(short), 2, true),
        ] {
            let reading = Reading {
                changes,
                ..Reading::default()
            };
            let options = Options {
                max_runtime,
                ..Options::default()
            };
            let load = Load::scanned_for(&path, &reading, &options).unwrap();
            let seen = (load.scan.requests, load.scan.goes_on);
            assert_eq!(seen, (requests, goes_on), "{max_runtime:?}");
        }
    }
}
