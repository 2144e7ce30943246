//! What the time of each sub-request is made of, as a table.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Prepared, ScenarioError, StageSink};
use iosonar_device::Access;
use iosonar_raid::Served;
use iosonar_trace::TraceError;
use iosonar_trace::tables::{self, TableWriter};
use iosonar_units::{Column, Sector, Table};

/// The rows that are written together.
const ROWS: usize = 1 << 14;

/// Writes a row for each sub-request: first where its request lies in the array, as records have it, then where the
/// sub-request lies on its device.
pub(super) struct StageTable {
    path: PathBuf,
    writer: Box<dyn TableWriter>,
    rows: Table,
    /// Whether sub-requests have an address on their device.
    addressed: bool,
}

impl StageTable {
    pub(super) fn create(path: &Path, simulation: &Prepared) -> Result<Self, ScenarioError> {
        let counts = |names: &'static str| names.split(',').map(Column::counts);
        let stages = simulation.stage_names();
        let stages = stages
            .iter()
            .map(|stage| Column::times(format!("{}_ns", stage.replace(' ', "_"))));
        let columns = counts("replication,request,device")
            .chain([Column::texts("op")])
            .chain(counts("sector,sectors,device_sector,device_sectors"))
            .chain(["arrived_ns", "latency_ns"].map(Column::times))
            .chain(stages);
        let rows = Table::new(columns)
            .with("table", "stages")
            .with("tool", format!("iosonar {}", env!("CARGO_PKG_VERSION")))
            .with("simulated", simulation.headline())
            .with("seed", simulation.seed().to_string());
        let writer = tables::create(path, &rows).map_err(|error| match error {
            TraceError::Io { path, source, .. } => ScenarioError::Write { path, source },
            other => other.into(),
        })?;
        Ok(Self {
            path: path.to_owned(),
            writer,
            rows,
            addressed: simulation.array().has_addresses(),
        })
    }

    pub(super) fn finish(mut self) -> Result<(), ScenarioError> {
        let path = self.path;
        let written = self.writer.write(&self.rows);
        let kept = written.and_then(|()| self.writer.finish());
        kept.map_err(|source| unwritten(&path, source))
    }
}

fn unwritten(path: &Path, source: io::Error) -> ScenarioError {
    ScenarioError::Stages {
        path: path.to_owned(),
        source,
    }
}

impl StageSink for StageTable {
    fn served(&mut self, replication: u32, served: &Served<'_>) -> Result<(), ScenarioError> {
        let Served {
            request,
            service,
            device,
            stages,
        } = served;
        let op = match service.job.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Discard => "discard",
            Access::Flush => "flush",
        };
        // Where places are drawn at random there is no address.
        let sector = self.addressed.then_some(service.job.sector);
        self.rows
            .row()
            .put(replication)
            .put(service.job.request.0)
            .put(*device)
            .put(op)
            .put(request.sector.get())
            .put(request.sectors.get())
            .put(sector.map(Sector::get))
            .put(service.job.sectors.get())
            .put(service.arrived)
            .put(service.ended() - service.arrived)
            .put_all(stages.iter().copied());
        if self.rows.columns()[0].len() == ROWS {
            let written = self.writer.write(&self.rows);
            written.map_err(|source| unwritten(&self.path, source))?;
            self.rows.clear();
        }
        Ok(())
    }
}
