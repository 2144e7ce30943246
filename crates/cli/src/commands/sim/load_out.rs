//! The requests of a synthetic load as a trace, to replay them on a device.

use std::path::Path;

use iosonar_scenario::{LoadModel, Prepared, Warmup};
use iosonar_sim_core::Seed;
use iosonar_trace::WriteOptions;
use iosonar_workload::SyntheticLoad;

use super::headline;
use crate::exit::Usage;
use iosonar_trace::output::write_requests;

/// Writes the requests of the first run, its warm-up included.
pub(super) fn write(simulation: &Prepared, path: &Path) -> anyhow::Result<()> {
    let LoadModel::Synthetic { classes, requests } = simulation.load() else {
        return Err(Usage(
            "--load-out needs an open synthetic load: a trace is already a load ('iosonar convert' changes its \
             format), and the requests of a closed loop depend on completions ('--records' writes them)"
                .into(),
        )
        .into());
    };
    let Warmup::Requests(warmup) = simulation.warmup() else {
        return Err(Usage(
            "--load-out cannot be used with warmup_requests = \"auto\", as the number of requests is not known in \
             advance: set warmup_requests to a number"
                .into(),
        )
        .into());
    };
    let notice = format!(
        "# iosonar {}: a synthetic load, seed {}: generated for {}",
        env!("CARGO_PKG_VERSION"),
        simulation.seed(),
        headline(simulation)
    );
    let load = SyntheticLoad::new(classes.clone(), &Seed::new(simulation.seed()));
    let first_run = load.take(warmup.saturating_add(*requests) as usize);
    let options = WriteOptions {
        outlives_reader: true,
        ..WriteOptions::default()
    };
    write_requests(first_run, path, notice, &options)?;
    Ok(())
}
