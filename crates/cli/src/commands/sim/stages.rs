//! What the time of each sub-request is made of, as CSV.

use std::io::{BufWriter, IntoInnerError, Write};
use std::path::Path;

use anyhow::Context;
use iosonar_device::{Access, Service};
use iosonar_scenario::{ScenarioError, StageSink};
use iosonar_trace::output::WholeFile;
use iosonar_units::Nanos;

/// Writes a row for each sub-request.
pub(super) struct StageTable {
    file: BufWriter<WholeFile>,
}

impl StageTable {
    pub(super) fn create(path: &Path, stages: &[&str]) -> anyhow::Result<Self> {
        let cannot = || format!("{}: cannot write", path.display());
        let mut file = BufWriter::new(WholeFile::create(path).with_context(cannot)?);
        let mut header = String::from("request,device,op,sector,sectors,arrived_ns,latency_ns");
        for stage in stages {
            header += &format!(",{}_ns", stage.replace(' ', "_"));
        }
        writeln!(file, "{header}").with_context(cannot)?;
        Ok(Self { file })
    }

    pub(super) fn finish(self) -> anyhow::Result<()> {
        let file = self.file.into_inner().map_err(IntoInnerError::into_error)?;
        Ok(file.keep()?)
    }
}

impl StageSink for StageTable {
    fn served(
        &mut self,
        service: &Service,
        device: usize,
        stages: &[Nanos],
    ) -> Result<(), ScenarioError> {
        let op = match service.job.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Discard => "discard",
        };
        let mut row = format!(
            "{},{device},{op},{},{},{},{}",
            service.job.request.0,
            service.job.sector,
            service.job.sectors,
            service.arrived.get(),
            (service.ended() - service.arrived).get()
        );
        for stage in stages {
            row += &format!(",{}", stage.get());
        }
        row.push('\n');
        self.file
            .write_all(row.as_bytes())
            .map_err(ScenarioError::Stages)
    }
}
