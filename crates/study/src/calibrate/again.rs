//! Recorded requests, simulated again on a candidate.

use std::fs;

use iosonar_scenario::{Overrides, Prepared};
use iosonar_trace::{Batch, Metadata, Record, TraceError, TraceWriter, output};
use iosonar_units::Bytes;

use super::CalibrateError;

/// A folder with loads and the profile of a candidate.
#[derive(Debug)]
pub(super) struct Again {
    folder: tempfile::TempDir,
}

impl Again {
    pub(super) fn new() -> Result<Self, CalibrateError> {
        Ok(Self {
            folder: tempfile::tempdir()?,
        })
    }

    /// Writes requests as the load of this name.
    pub(super) fn add_load(
        &self,
        name: &str,
        requests: impl Iterator<Item = Record>,
    ) -> Result<(), CalibrateError> {
        let mut writer = output::create(&self.folder.path().join(name), &Metadata::default())?;
        let mut batch = Batch::default();
        for record in requests {
            batch.push(&record);
            if batch.len() == Batch::ROWS {
                writer.write(&batch)?;
                batch.clear();
            }
        }
        writer.write(&batch)?;
        writer.finish()?;
        Ok(())
    }

    /// Simulates a load on a profile, and returns the outcome of its requests as computed by `of`; `device` is the table of the
    /// scenario that names the profile as `profile.toml`.
    pub(super) fn simulate<T: Send>(
        &self,
        load: &str,
        profile: &str,
        device: &str,
        of: fn(&Record) -> T,
    ) -> Result<Vec<T>, CalibrateError> {
        let path = |name: &str| self.folder.path().join(name);
        fs::write(path("profile.toml"), profile)?;
        let text = format!("[load]\ntrace = \"{load}\"\n{device}\n");
        // It is one drive, and that which was measured: what it takes is no mistake.
        let overrides = Overrides {
            memory: Bytes::new(u64::MAX),
            ..Overrides::default()
        };
        let simulation = Prepared::from_toml(&text, &path("run.toml"), &overrides)?;
        let mut simulated = Simulated {
            of,
            all: Vec::new(),
        };
        simulation.run(1, Some(&mut simulated))?;
        Ok(simulated.all)
    }
}

/// Takes the requests of a simulation.
struct Simulated<T> {
    of: fn(&Record) -> T,
    all: Vec<T>,
}

impl<T: Send> TraceWriter for Simulated<T> {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        self.all
            .extend(batch.records().map(|record| (self.of)(&record)));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        Ok(())
    }
}
