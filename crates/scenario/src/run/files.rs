//! The files that a simulation writes: the records of the first replication or of each, and what the time of each
//! sub-request is made of.

mod records;
mod stages;

use std::path::Path;

use iosonar_trace::{Metadata, TraceError, TraceWriter, input};

use self::records::{FilePerReplication, RecordsOfDevices};
pub use self::records::{REPLICATION, go_to, path_of, replaced_by};
use self::stages::StageTable;
use super::{Outputs, Records, StageSink, Watch};
use crate::{Fleet, LoadModel, Prepared, ScenarioError, SimulationResult};

/// The files that a simulation writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputFiles<'a> {
    /// All requests of the first replication with their response times; those of each where the name has a place for
    /// its number ([`REPLICATION`]). Of arrays that share a trace, those of all arrays.
    pub records: Option<&'a Path>,
    /// What the response times of all replications are made of, as a table: in the format that its name ends in, else CSV.
    pub stages: Option<&'a Path>,
    /// What is simulated, in a line: it is written above the records.
    pub headline: &'a str,
}

impl Prepared {
    /// Runs all replications on `threads` threads with these files.
    ///
    /// # Errors
    /// As [`run_watched`](Self::run_watched), and if a file cannot be written.
    pub fn run_into(
        &self,
        threads: usize,
        files: &OutputFiles<'_>,
        watch: &Watch,
    ) -> Result<SimulationResult, ScenarioError> {
        let (mut of_first, mut of_all): (Option<Box<dyn TraceWriter>>, _) = (None, None);
        if let Some(path) = files.records {
            let metadata = self.provenance(files.headline)?;
            if path_of(path, 0).is_some() {
                of_all = Some(FilePerReplication::new(path, metadata));
            } else {
                let writer = records::create(path, &metadata)?;
                of_first = Some(match self.fleet() {
                    Some(Fleet::OfTrace) => Box::new(RecordsOfDevices { writer, metadata }),
                    _ => writer,
                });
            }
        }
        let mut stages = match files.stages {
            Some(path) => Some(StageTable::create(path, self)?),
            None => None,
        };
        let outputs = Outputs {
            records: match (&mut of_first, &mut of_all) {
                (Some(writer), _) => Records::OfFirst(writer.as_mut()),
                (None, Some(files)) => Records::OfAll(files),
                (None, None) => Records::None,
            },
            stages: stages.as_mut().map(|table| table as &mut dyn StageSink),
        };
        let result = self.run_watched(threads, outputs, watch)?;
        if let Some(writer) = of_first {
            writer.finish()?;
        }
        if let Some(files) = &mut of_all {
            files.finish()?;
        }
        if let Some(table) = stages {
            table.finish()?;
        }
        Ok(result)
    }

    /// What is written above the records: the load's own notices, and where the records come from.
    fn provenance(&self, headline: &str) -> Result<Metadata, TraceError> {
        let mut metadata = match self.load() {
            LoadModel::Trace { path, reading, .. } => input::open_with(path, &reading.options)?
                .metadata()
                .of_load(),
            _ => Metadata::default(),
        };
        let tool = format!("iosonar {}", env!("CARGO_PKG_VERSION"));
        let seed = self.seed();
        let notice = format!("# {tool}: simulated, seed {seed}: {headline}");
        for (name, value) in [
            ("tool", tool),
            ("simulated", headline.to_owned()),
            ("seed", seed.to_string()),
        ] {
            metadata.about.insert(name.to_owned(), value);
        }
        metadata.notices.push(notice);
        Ok(metadata)
    }
}
