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
            "--load-out writes a load that is known beforehand: a trace is one already ('iosonar \
             convert' writes it in another form), and the requests of a closed loop follow on each \
             other ('--records' writes them)"
                .into(),
        )
        .into());
    };
    let Warmup::Requests(warmup) = simulation.warmup() else {
        return Err(Usage(
            "--load-out with warmup_requests = \"auto\": how many requests there are is not known \
             beforehand; say how many to leave out"
                .into(),
        )
        .into());
    };
    let notice = format!(
        "# iosonar {}: a synthetic load, seed {}: made for {}",
        env!("CARGO_PKG_VERSION"),
        simulation.seed(),
        headline(simulation)
    );
    let load = SyntheticLoad::new(classes.clone(), &Seed::new(simulation.seed()));
    let first_run = load.take(warmup.saturating_add(*requests) as usize);
    write_requests(first_run, path, notice, &WriteOptions::default())?;
    Ok(())
}
