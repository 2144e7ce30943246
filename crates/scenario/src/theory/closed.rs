//! Closed loops: a number of users who wait for their requests.

use iosonar_analytic::closed::{Demands, MvaPoint, asymptotic_bounds, exact_mva, schweitzer};
use iosonar_workload::TimeLaw;

use super::loaded::ArrayTheory;
use super::patterns::Class;
use super::{Answer, How, ResponseTime, Standing, StationTheory, Theory, TheoryRemark};

/// The most users that mean value analysis goes through one by one.
pub(super) const MOST: u32 = 10_000;

/// What a request asks of a disk on average.
#[derive(Clone, Copy, Default)]
struct Demand {
    work_ms: f64,
    visits: f64,
    /// The second moment of the service of its visits.
    square: f64,
}

fn demands(model: &mut ArrayTheory<'_>, class: &Class) -> Vec<Demand> {
    let mut all = vec![Demand::default(); model.array.disks + model.array.spares()];
    for (probability, pattern) in &class.patterns {
        for (disk, visit) in &pattern.direct {
            let table = model.visit(visit);
            let mean = table.mean();
            let of = &mut all[*disk];
            of.work_ms += probability * mean;
            of.visits += probability;
            of.square += probability * (table.variance() + mean * mean);
        }
    }
    all
}

impl Demand {
    /// Whether its services are at most as variable as exponential ones; so is a disk without any.
    fn is_regular(&self) -> bool {
        self.visits == 0.0 || self.square <= 2.0 * self.work_ms * self.work_ms / self.visits
    }

    fn station(&self, station: String, throughput: f64) -> StationTheory {
        let mean = self.work_ms / self.visits;
        StationTheory {
            station,
            visits_per_s: throughput * self.visits * 1e3,
            mean_service_ms: mean,
            scv: self.square / self.visits / (mean * mean) - 1.0,
            utilisation: throughput * self.work_ms,
            busy: throughput * self.work_ms,
            mean_wait_ms: f64::NAN,
        }
    }
}

/// Bounds for any array of disks that serve first come, first served; mean value analysis where each request goes to
/// one disk, or the array takes the next request when the last has joined.
///
/// Of think times only the mean counts. Users who think are a station with a server for each, and in a network of such
/// stations and of exponential services the numbers of jobs have the same product form whatever the law of the think
/// times (Baskett, Chandy, Muntz, Palacios, "Open, closed, and mixed networks of queues with different classes of
/// customers", JACM 22, 1975, stations of type 3). The bounds hold for any law.
pub(super) fn answer(
    model: &mut ArrayTheory<'_>,
    class: &Class,
    (outstanding, think): (u32, &TimeLaw),
    alone: Option<&Answer>,
) -> Theory {
    if class.has_partial() {
        return Theory::only(TheoryRemark::ClosedStripeWrites);
    }
    let Some(alone) = alone.map(Answer::mean_ms) else {
        return Theory::default();
    };
    let controller = &model.array.controller;
    let (one_at_a_time, is_complete) = (controller.one_at_a_time, controller.is_immediate());
    let demands = demands(model, class);
    let used: Vec<f64> = if one_at_a_time {
        vec![alone]
    } else {
        let work = demands.iter().map(|demand| demand.work_ms);
        work.filter(|work| *work > 0.0).collect()
    };
    let think_ms = think.mean().as_millis_f64();
    let Ok(network) = Demands::new(used, think_ms) else {
        return Theory::only(TheoryRemark::ClosedIdle);
    };
    let single = class.patterns.iter().all(|(_, p)| p.direct.len() <= 1);
    let (mut point, mut remarks) = (None, Vec::new());
    if single || one_at_a_time {
        point = mean_value_analysis(&network, outstanding);
        if point.is_some() && !think.is_exponential() {
            remarks.push(TheoryRemark::AnyThinkTimes);
        }
        if point.is_some() && is_complete && demands.iter().all(Demand::is_regular) {
            remarks.push(TheoryRemark::LessVariable);
        }
    } else {
        remarks.push(TheoryRemark::ClosedJoin);
    }
    let throughput = point.as_ref().map_or(f64::NAN, |point| point.throughput);
    let numbered = demands.iter().enumerate();
    let stations =
        numbered.map(|(disk, demand)| demand.station(model.array.station(disk), throughput));
    let largest = network.largest();
    Theory {
        stations: stations.collect(),
        response: point.map(|point| {
            let mean = ResponseTime::Mean(point.response);
            Answer::of(Standing::Approximation, How::MeanValueAnalysis, mean)
        }),
        // Work can be done in parallel, so the sum of demands is not a bound; the slowest part and the bottleneck are.
        lower_bound_ms: Some(alone.max(f64::from(outstanding) * largest - think_ms)),
        upper_bound_ms: asymptotic_bounds(&network, outstanding)
            .ok()
            .map(|bounds| bounds.upper),
        capacity_per_s: Some(1e3 / largest),
        remarks,
        ..Theory::default()
    }
}

pub(super) fn mean_value_analysis(network: &Demands, users: u32) -> Option<MvaPoint> {
    match users {
        0..=MOST => exact_mva(network, users).ok()?.pop(),
        _ => schweitzer(network, users).ok(),
    }
}
