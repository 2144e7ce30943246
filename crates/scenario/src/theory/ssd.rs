//! SSDs behind a block queue.

use iosonar_analytic::open::BulkService;
use iosonar_ssd_model::{Dispatch, HostParameters, StorageParameters};
use iosonar_workload::{ArrivalLaw, Batch, Size};

use super::{ResponseTheory, Standing, StationTheory, Theory};
use crate::SsdSet;
use crate::resolve::{Load, Simulation};

/// Bulk service, where the storage is the abstract one.
pub(super) fn answer(simulation: &Simulation, ssds: &SsdSet, theory: &mut Theory) {
    let parameters = &ssds.parameters;
    let (HostParameters::BlockQueue(queue), StorageParameters::Exponential { mean }) =
        (&parameters.host, &parameters.storage)
    else {
        theory.remark(
            "no theory for this SSD but that of its parts: its stages overlap, and flash depends on what it holds; \
             the profile \"abstract\" has theory (bulk service)",
        );
        return;
    };
    let Load::Synthetic { classes, .. } = &simulation.load else {
        theory.remark("no theory for bulk service but with Poisson arrivals");
        return;
    };
    let [class] = classes.as_slice() else {
        theory.remark("no theory for bulk service with several classes");
        return;
    };
    let bios = match class.size {
        Size::Blocks(blocks) => (u64::from(blocks) * u64::from(class.block.get())).div_ceil(8),
        _ => 0,
    };
    let fits = bios == 1
        && matches!(class.arrivals, ArrivalLaw::Poisson { .. })
        && class.batch == Batch::One
        && simulation.array.is_one_device();
    if !fits {
        theory.remark(
            "no theory for bulk service unless one SSD gets requests of 4 KiB in a Poisson stream",
        );
        return;
    }
    let least = match queue.dispatch {
        Dispatch::Dynamic => 1,
        Dispatch::Static => queue.block,
    };
    let (rate, mean) = (class.requests_per_s() / 1e3, mean.as_millis_f64());
    theory.capacity_per_s = Some(f64::from(queue.block) / mean * 1e3);
    match BulkService::new(rate, mean, least, queue.block) {
        Ok(bulk) => {
            theory.stations.push(StationTheory {
                station: "ssd".to_owned(),
                visits_per_s: rate * 1e3 / bulk.mean_batch(),
                mean_service_ms: mean,
                scv: 1.0,
                utilisation: bulk.utilisation(),
                mean_wait_ms: bulk.mean_wait(),
            });
            theory.response = Some(ResponseTheory {
                standing: Standing::Exact,
                how: "bulk service M/M^[a,b]/1",
                mean_ms: bulk.mean_response(),
                table: None,
                inverted: None,
            });
            theory.remark(
                "no theory for the distribution of responses of bulk service, only for their mean",
            );
        }
        Err(iosonar_analytic::AnalyticError::Unstable { offered }) => {
            theory.unstable = Some(offered);
        }
        Err(other) => theory.remark(other.to_string()),
    }
}
