//! A candidate, tried: the recorded requests simulated on it.

use std::fs;
use std::path::{Path, PathBuf};

use iosonar_scenario::{Overrides, Simulation};
use iosonar_stats::{Distribution, demerit, ks_distance};
use iosonar_trace::{Batch, Metadata, Op, output};

use super::{CalibrateError, Observed};

/// A folder for the files of trials, with the requests of some records as their load.
#[derive(Debug)]
pub struct Trial {
    folder: tempfile::TempDir,
    reads: Distribution,
    writes: Distribution,
}

/// How well simulated latencies are like the recorded ones.
#[derive(Clone, Debug)]
pub struct Quality {
    /// The demerit of reads and writes together, in milliseconds.
    pub demerit_ms: f64,
    /// The same as a share of the recorded mean.
    pub relative: f64,
    /// The Kolmogorov-Smirnov distance.
    pub ks: f64,
    /// Recorded.
    pub recorded: Distribution,
    /// Simulated.
    pub simulated: Distribution,
}

impl Trial {
    /// For the requests of these records.
    ///
    /// # Errors
    /// If files cannot be written.
    pub fn new(observed: &Observed) -> Result<Self, CalibrateError> {
        let folder = tempfile::tempdir()?;
        let mut writer = output::create(&folder.path().join("load.ios"), &Metadata::default())?;
        let mut batch = Batch::default();
        for record in observed.load() {
            batch.push(&record);
            if batch.len() == Batch::ROWS {
                writer.write(&batch)?;
                batch.clear();
            }
        }
        writer.write(&batch)?;
        writer.finish()?;
        Ok(Self {
            folder,
            reads: observed.latencies(Op::Read),
            writes: observed.latencies(Op::Write),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Simulates a profile; `device` is the table of the scenario that names it as `profile.toml`.
    ///
    /// # Errors
    /// If it cannot be simulated.
    pub fn quality(&self, profile: &str, device: &str) -> Result<Quality, CalibrateError> {
        fs::write(self.path("profile.toml"), profile)?;
        let text = format!("[load]\ntrace = \"load.ios\"\n{device}\n");
        let origin: &Path = &self.path("trial.toml");
        let simulation = Simulation::from_toml(&text, origin, &Overrides::default())?;
        let result = simulation.run(1, None)?;
        // Reads with reads and writes with writes: a device that has them the wrong way round is no good one.
        let of = |recorded: &Distribution, simulated: &Distribution| {
            let n = recorded.count() as f64;
            if n == 0.0 {
                return 0.0;
            }
            n * (demerit(&recorded.histogram, &simulated.histogram) / 1e6).powi(2)
        };
        let squares = of(&self.reads, &result.reads) + of(&self.writes, &result.writes);
        let mut recorded = self.reads.clone();
        recorded.merge(&self.writes);
        let demerit_ms = (squares / recorded.count() as f64).sqrt();
        Ok(Quality {
            demerit_ms,
            relative: demerit_ms / (recorded.moments.mean() / 1e6),
            ks: ks_distance(&recorded.histogram, &result.response_time.histogram),
            recorded,
            simulated: result.response_time,
        })
    }
}
