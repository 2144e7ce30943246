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
use super::{Answer, How, ResponseTime, SsdRemark, Standing, StationTheory, Theory, TheoryRemark};
use crate::{LoadModel, Prepared, SsdSet};

/// The array's SSDs under their load.
pub(super) fn answer(simulation: &Prepared, ssds: &SsdSet) -> Theory {
    let parameters = &ssds.parameters;
    let Ends::Bulk(queue, mean) = &parameters.ends else {
        return Theory::only(TheoryRemark::Ssd(SsdRemark::Stages));
    };
    if simulation.array.controller.one_at_a_time {
        return Theory::only(TheoryRemark::Ssd(SsdRemark::SplitMerge));
    }
    let class = match &simulation.load {
        LoadModel::Synthetic { classes, .. } if classes.len() == 1 => &classes[0],
        _ => return Theory::only(TheoryRemark::Ssd(SsdRemark::Load)),
    };
    let Some(parts) = parts(simulation, class) else {
        return Theory::only(TheoryRemark::Ssd(SsdRemark::Load));
    };
    let least = match queue.dispatch {
        Dispatch::Dynamic => 1,
        Dispatch::Static => queue.block,
    };
    let ssds = simulation.array.disks as f64;
    let (rate, mean) = (class.requests_per_s() / 1e3, mean.as_millis_f64());
    // Requests with one part go to one SSD, any; the others to each.
    let visits = if parts == 1 { rate / ssds } else { rate };
    let loads = Theory {
        capacity_per_s: Some(rate / visits * f64::from(queue.block) / mean * 1e3),
        ..Theory::default()
    };
    let answered = if parts == 1 {
        bulk(visits, mean, (least, queue.block))
    } else if queue.block == 1 {
        fork_join(parts, visits, mean)
    } else {
        return loads.with(TheoryRemark::Ssd(SsdRemark::BulkJoin));
    };
    // The bulk-service queue has no bound and cuts no block; a ring with room for 16 blocks is close to that.
    let as_assumed =
        parameters.has_only_storage() && queue.wrap && queue.ring >= queue.block.saturating_mul(16);
    let complete = |theory: Theory| match as_assumed {
        true => theory,
        false => theory.without(TheoryRemark::Ssd(SsdRemark::Times)),
    };
    match answered {
        Ok((station, theory)) => {
            let named = |ssd| StationTheory {
                station: simulation.array.station(ssd),
                ..station.clone()
            };
            complete(Theory {
                stations: (0..simulation.array.disks).map(named).collect(),
                capacity_per_s: loads.capacity_per_s,
                ..theory
            })
        }
        Err(error) => complete(loads).failed(error),
    }
}

/// How many SSDs each request goes to, once each and with one bio: one, or all; `None` for everything else.
fn parts(simulation: &Prepared, class: &Workload) -> Option<u32> {
    let poisson = matches!(class.arrivals, ArrivalLaw::Poisson { .. });
    // Each SSD must get as much as the others, at random.
    if !poisson || class.batch != Batch::One || class.shape.addresses != Addresses::Uniform {
        return None;
    }
    let array = &simulation.array;
    let small = |pattern: &Pattern| {
        let jobs = pattern.direct.values().flat_map(Visit::jobs);
        let mut sizes = jobs.map(|((_, sectors), count)| u64::from(sectors) * u64::from(count));
        pattern.partial.is_empty() && sizes.all(|sectors| sectors <= BIO_SECTORS)
    };
    let patterns = Patterns::new(array, &class.shape, &Seed::new(simulation.seed))?;
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
) -> Result<(StationTheory, Theory), AnalyticError> {
    let bulk = BulkService::new(visits, mean, least, most)?;
    let response = ResponseTime::Mean(bulk.mean_response());
    let station = StationTheory {
        station: String::new(),
        visits_per_s: visits * 1e3,
        mean_service_ms: mean,
        scv: 1.0,
        utilisation: bulk.offered_load(),
        busy: bulk.busy(),
        mean_wait_ms: bulk.mean_wait(),
    };
    let theory = Theory {
        response: Some(Answer::of(Standing::Exact, How::BulkService, response)),
        remarks: vec![TheoryRemark::Ssd(SsdRemark::BulkMeanOnly)],
        ..Theory::default()
    };
    Ok((station, theory))
}

/// A part for each of several exponential stations.
fn fork_join(parts: u32, visits: f64, mean: f64) -> Result<(StationTheory, Theory), AnalyticError> {
    let utilisation = visits * mean;
    let station = StationTheory {
        station: String::new(),
        visits_per_s: visits * 1e3,
        mean_service_ms: mean,
        scv: 1.0,
        utilisation,
        busy: utilisation,
        mean_wait_ms: mean * utilisation / (1.0 - utilisation),
    };
    let response = ResponseTime::Mean(nelson_tantawi(parts, visits, mean)?);
    let standing = Standing::exact_if(parts == 2);
    let theory = Theory {
        response: Some(Answer::of(standing, How::ForkJoin, response)),
        lower_bound_ms: Some(regular_exponential(parts, visits, mean)?),
        upper_bound_ms: Some(independent_exponential(parts, visits, mean)?),
        remarks: vec![
            TheoryRemark::VarmaMakowski(varma_makowski(parts, visits, mean)?),
            TheoryRemark::Ssd(SsdRemark::JoinMeanOnly),
        ],
        ..Theory::default()
    };
    Ok((station, theory))
}
