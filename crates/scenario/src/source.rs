//! What drives a run: a synthetic load, or a trace that is checked while it is read.

use std::path::{Path, PathBuf};

use iosonar_raid::RequestSource;
use iosonar_trace::{Batch, Place, Request, Selection, TraceError, TraceReader, input};
use iosonar_workload::SyntheticLoad;

use crate::ScenarioError;

/// So many requests of a synthetic load.
pub(crate) struct Synthetic {
    pub(crate) load: SyntheticLoad,
    pub(crate) left: u64,
}

impl RequestSource for Synthetic {
    type Error = ScenarioError;

    fn next_request(&mut self) -> Result<Option<Request>, ScenarioError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        Ok(self.load.next())
    }
}

/// The requests of a trace, each checked to lie within the array.
pub(crate) struct Trace {
    reader: Box<dyn TraceReader>,
    path: PathBuf,
    batch: Batch,
    row: usize,
    data_sectors: u64,
}

impl Trace {
    pub(crate) fn open(
        path: &Path,
        selection: &Selection,
        data_sectors: u64,
    ) -> Result<Self, ScenarioError> {
        Ok(Self {
            reader: input::open_load(path, selection)?,
            path: path.to_owned(),
            batch: Batch::default(),
            row: 0,
            data_sectors,
        })
    }
}

impl RequestSource for Trace {
    type Error = ScenarioError;

    fn next_request(&mut self) -> Result<Option<Request>, ScenarioError> {
        if self.row == self.batch.len() {
            self.row = 0;
            if self.reader.next_batch(&mut self.batch)? == 0 {
                return Ok(None);
            }
        }
        let request = self.batch.request(self.row);
        if request.end().get() > self.data_sectors {
            return Err(ScenarioError::Trace(TraceError::Request {
                place: Place::line(&self.path, self.batch.place(self.row)),
                problem: format!(
                    "the request ends at sector {}, beyond the array's end at {}: give the array \
                     more or larger disks",
                    request.end(),
                    self.data_sectors
                ),
            }));
        }
        self.row += 1;
        Ok(Some(request))
    }
}
