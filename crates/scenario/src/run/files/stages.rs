//! What the time of each sub-request is made of, as CSV.

use std::io::{BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

use crate::{Prepared, ScenarioError, StageSink};
use iosonar_device::Access;
use iosonar_raid::Served;
use iosonar_trace::output::WholeFile;

/// Writes a row for each sub-request: first where its request lies in the array, as records have it, then where the
/// sub-request lies on its device.
pub(super) struct StageTable {
    path: PathBuf,
    file: BufWriter<WholeFile>,
    /// Whether sub-requests have an address on their device.
    addressed: bool,
    row: String,
}

impl StageTable {
    pub(super) fn create(path: &Path, simulation: &Prepared) -> Result<Self, ScenarioError> {
        let cannot = |source| ScenarioError::Write {
            path: path.to_owned(),
            source,
        };
        let mut file = BufWriter::new(WholeFile::create(path).map_err(cannot)?);
        let mut header = String::from(
            "replication,request,device,op,sector,sectors,device_sector,device_sectors,arrived_ns,latency_ns",
        );
        for stage in simulation.stage_names() {
            header += &format!(",{}_ns", stage.replace(' ', "_"));
        }
        writeln!(file, "{header}").map_err(cannot)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            addressed: simulation.array().has_addresses(),
            row: String::new(),
        })
    }

    pub(super) fn finish(self) -> Result<(), ScenarioError> {
        let file = self.file.into_inner().map_err(IntoInnerError::into_error);
        let kept = file.and_then(WholeFile::keep);
        kept.map_err(|source| ScenarioError::Stages {
            path: self.path,
            source,
        })
    }

    /// Puts a row together.
    fn describe(&mut self, replication: u32, served: &Served<'_>) -> std::fmt::Result {
        use std::fmt::Write;

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
        let row = &mut self.row;
        row.clear();
        write!(
            row,
            "{replication},{},{device},{op},{},{},",
            service.job.request.0, request.sector, request.sectors
        )?;
        // Where places are drawn at random there is no address.
        if self.addressed {
            write!(row, "{}", service.job.sector)?;
        }
        write!(
            row,
            ",{},{},{}",
            service.job.sectors,
            service.arrived.get(),
            (service.ended() - service.arrived).get()
        )?;
        for stage in *stages {
            write!(row, ",{}", stage.get())?;
        }
        row.push('\n');
        Ok(())
    }
}

impl StageSink for StageTable {
    fn served(&mut self, replication: u32, served: &Served<'_>) -> Result<(), ScenarioError> {
        self.describe(replication, served)
            .expect("a string takes all that is written to it");
        self.file
            .write_all(self.row.as_bytes())
            .map_err(|source| ScenarioError::Stages {
                path: self.path.clone(),
                source,
            })
    }
}
