//! SSDs behind a block queue with an exponential service: bulk service, and fork-join of exponential stations.

use iosonar_analytic::AnalyticError;
use iosonar_analytic::fork_join::{
    independent_exponential, nelson_tantawi, regular_exponential, varma_makowski,
};
use iosonar_analytic::open::BulkService;
use iosonar_sim_core::Seed;
use iosonar_ssd_model::{BIO_SECTORS, Dispatch, Ends};
use iosonar_workload::{Addresses, ArrivalLaw, Batch, Workload};

use super::patterns::{Pattern, Patterns, Visit};
use super::{ResponseTheory, Standing, StationTheory, Theory};
use crate::SsdSet;
use crate::resolve::{Load, Simulation};

/// What there is theory for.
const KNOWN: &str = "no theory for this load of SSDs with exponential services: there is one for Poisson arrivals of \
                     requests that go to one SSD, and of requests with a part for each SSD, all parts of 4 KiB";

/// The array's SSDs under their load.
pub(super) fn answer(simulation: &Simulation, ssds: &SsdSet, theory: &mut Theory) {
    let parameters = &ssds.parameters;
    let Ends::Bulk(queue, mean) = &parameters.ends else {
        theory.remark(
            "no theory for this SSD: its stages overlap, and flash depends on what it holds; the profile \
             \"abstract\" has theory (bulk service)",
        );
        return;
    };
    if simulation.array.controller.one_at_a_time {
        theory.remark("no theory for SSDs that take one request at a time");
        return;
    }
    let Load::Synthetic { classes, .. } = &simulation.load else {
        theory.remark(KNOWN);
        return;
    };
    let [class] = classes.as_slice() else {
        theory.remark(KNOWN);
        return;
    };
    let Some(parts) = parts(simulation, class) else {
        theory.remark(KNOWN);
        return;
    };
    let least = match queue.dispatch {
        Dispatch::Dynamic => 1,
        Dispatch::Static => queue.block,
    };
    let ssds = simulation.array.disks as f64;
    let (rate, mean) = (class.requests_per_s() / 1e3, mean.as_millis_f64());
    // Requests with one part go to one SSD, any; the others to each.
    let visits = if parts == 1 { rate / ssds } else { rate };
    theory.capacity_per_s = Some(rate / visits * f64::from(queue.block) / mean * 1e3);
    let answered = if parts == 1 {
        bulk(visits, mean, (least, queue.block), theory)
    } else if queue.block == 1 {
        fork_join(parts, visits, mean, theory)
    } else {
        theory.remark("no theory for the join of SSDs with bulk service");
        return;
    };
    // The bulk-service queue has no bound and cuts no block; a ring with room for 16 blocks is close to that.
    let as_assumed =
        parameters.has_only_storage() && queue.wrap && queue.ring >= queue.block.saturating_mul(16);
    if !as_assumed {
        theory.leave_out(
            "no theory for the times of the driver, the bus and the controller, nor for how blocks go through the \
             ring: they are left out",
        );
    }
    match answered {
        Ok(station) => {
            for ssd in 0..simulation.array.disks {
                theory.stations.push(StationTheory {
                    station: simulation.array.station(ssd),
                    ..station.clone()
                });
            }
        }
        Err(AnalyticError::Unstable { offered }) => theory.unstable = Some(offered),
        Err(other) => theory.remark(other.to_string()),
    }
}

/// How many SSDs each request goes to, once each and with one bio: one, or all; `None` for everything else.
fn parts(simulation: &Simulation, class: &Workload) -> Option<u32> {
    let poisson = matches!(class.arrivals, ArrivalLaw::Poisson { .. });
    // Each SSD must get as much as the others, at random.
    if !poisson || class.batch != Batch::One || class.addresses != Addresses::Uniform {
        return None;
    }
    let array = &simulation.array;
    let small = |pattern: &Pattern| {
        let jobs = pattern.direct.values().flat_map(Visit::jobs);
        let mut sizes = jobs.map(|((_, sectors), count)| u64::from(sectors) * u64::from(count));
        pattern.partial.is_empty() && sizes.all(|sectors| sectors <= BIO_SECTORS)
    };
    let patterns = Patterns::new(array, class, &Seed::new(simulation.seed))?;
    let count = |pattern: &Pattern| pattern.direct.len();
    let first = patterns.all.first().map(|(_, pattern)| count(pattern))?;
    let alike = |(_, pattern): &(f64, Pattern)| small(pattern) && count(pattern) == first;
    let known = patterns.all.iter().all(alike) && (first == 1 || first == array.disks);
    known.then_some(first as u32)
}

/// One SSD: M/M^\[a,b\]/1.
fn bulk(
    visits: f64,
    mean: f64,
    (least, most): (u32, u32),
    theory: &mut Theory,
) -> Result<StationTheory, AnalyticError> {
    let bulk = BulkService::new(visits, mean, least, most)?;
    theory.response = Some(ResponseTheory {
        standing: Standing::Exact,
        how: "bulk service M/M^[a,b]/1",
        mean_ms: bulk.mean_response(),
        table: None,
        inverted: None,
        accuracy: None,
    });
    theory
        .remark("no theory for the distribution of responses of bulk service, only for their mean");
    Ok(StationTheory {
        station: String::new(),
        visits_per_s: visits * 1e3,
        mean_service_ms: mean,
        scv: 1.0,
        utilisation: bulk.offered_load(),
        busy: bulk.busy(),
        mean_wait_ms: bulk.mean_wait(),
    })
}

/// A part for each of several exponential stations.
fn fork_join(
    parts: u32,
    visits: f64,
    mean: f64,
    theory: &mut Theory,
) -> Result<StationTheory, AnalyticError> {
    let exact = parts == 2;
    theory.response = Some(ResponseTheory {
        standing: if exact {
            Standing::Exact
        } else {
            Standing::Approximation
        },
        how: "fork-join of exponential stations (Nelson and Tantawi)",
        mean_ms: nelson_tantawi(parts, visits, mean)?,
        table: None,
        inverted: None,
        accuracy: None,
    });
    let other = varma_makowski(parts, visits, mean)?;
    theory.remark(format!(
        "by the interpolation of Varma and Makowski the mean is {other:.4} ms"
    ));
    theory.remark(
        "no theory for the distribution of the join of exponential stations, only for its mean",
    );
    theory.lower_bound_ms = Some(regular_exponential(parts, visits, mean)?);
    theory.upper_bound_ms = Some(independent_exponential(parts, visits, mean)?);
    let utilisation = visits * mean;
    Ok(StationTheory {
        station: String::new(),
        visits_per_s: visits * 1e3,
        mean_service_ms: mean,
        scv: 1.0,
        utilisation,
        busy: utilisation,
        mean_wait_ms: mean * utilisation / (1.0 - utilisation),
    })
}
