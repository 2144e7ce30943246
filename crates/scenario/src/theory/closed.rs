//! Closed loops: so many users who wait for their requests.

use iosonar_analytic::Table;
use iosonar_analytic::closed::{Demands, asymptotic_bounds, exact_mva, schweitzer};
use iosonar_units::Nanos;

use super::loaded::ArrayTheory;
use super::patterns::Class;
use super::{ResponseTheory, Standing, StationTheory, Theory};

/// The most users that mean value analysis goes through one by one.
const MOST: u32 = 10_000;

/// Bounds for any array; mean value analysis where each request goes to one disk. `one_at_a_time`: the array takes
/// the next request when the last has joined; `fcfs`: disks do not choose among what waits.
pub(super) fn answer(
    model: &mut ArrayTheory<'_>,
    class: &Class,
    (outstanding, think): (u32, Nanos),
    (one_at_a_time, fcfs): (bool, bool),
    alone: Option<Table>,
    theory: &mut Theory,
) {
    theory.stations.clear();
    (theory.unstable, theory.capacity_per_s) = (None, None);
    if !fcfs {
        theory.remark("no theory for closed loops with RPO, whose services depend on the queue");
        return;
    }
    if class.patterns.iter().any(|(_, p)| !p.partial.is_empty()) {
        theory.remark(
            "no theory for closed loops with partial-stripe writes, whose service depends on the state",
        );
        return;
    }
    let Some(alone) = alone.map(|alone| alone.mean()) else {
        return;
    };
    let disks = model.array.disks + model.array.spares();
    let mut demands = vec![0.0; disks];
    let mut visits = vec![0.0; disks];
    let mut squares = vec![0.0; disks];
    for (probability, pattern) in &class.patterns {
        for (disk, visit) in &pattern.direct {
            let table = model.visit(visit);
            let mean = table.mean();
            demands[*disk] += probability * mean;
            visits[*disk] += probability;
            squares[*disk] += probability * (table.variance() + mean * mean);
        }
    }
    let single = class.patterns.iter().all(|(_, p)| p.direct.len() <= 1);
    let used: Vec<f64> = if one_at_a_time {
        vec![alone]
    } else {
        demands.iter().copied().filter(|d| *d > 0.0).collect()
    };
    let Ok(network) = Demands::new(used, think.as_millis_f64()) else {
        theory.remark("requests need nothing of any disk");
        return;
    };
    let largest = network.largest();
    theory.capacity_per_s = Some(1e3 / largest);
    // Work can be done in parallel, so the sum of demands is no bound; the slowest part and the bottleneck are.
    let lower = alone.max(f64::from(outstanding) * largest - think.as_millis_f64());
    theory.lower_bound_ms = Some(lower);
    if let Ok(bounds) = asymptotic_bounds(&network, outstanding) {
        theory.upper_bound_ms = Some(bounds.upper);
    }
    let mut throughput = f64::NAN;
    if single || one_at_a_time {
        let point = if outstanding <= MOST {
            exact_mva(&network, outstanding).map(|all| all[all.len() - 1].clone())
        } else {
            schweitzer(&network, outstanding)
        };
        if let Ok(point) = point {
            throughput = point.throughput;
            theory.response = Some(ResponseTheory {
                standing: Standing::Approximation,
                how: "mean value analysis, as if services were exponential",
                mean_ms: point.response,
                table: None,
                inverted: None,
                accuracy: None,
            });
            let regular =
                |disk: usize| squares[disk] <= 2.0 * demands[disk] * demands[disk] / visits[disk];
            let is_complete = model.array.controller.is_immediate();
            if is_complete && (0..disks).all(|disk| visits[disk] == 0.0 || regular(disk)) {
                theory.remark(
                    "disks are less variable than exponential services, so that real response times are shorter",
                );
            }
        }
    } else {
        theory.remark(
            "no theory but bounds for closed loops of requests that go to several disks at once",
        );
    }
    for disk in 0..disks {
        let mean = demands[disk] / visits[disk];
        theory.stations.push(StationTheory {
            station: model.array.station(disk),
            visits_per_s: throughput * visits[disk] * 1e3,
            mean_service_ms: mean,
            scv: squares[disk] / visits[disk] / (mean * mean) - 1.0,
            utilisation: throughput * demands[disk],
            busy: throughput * demands[disk],
            mean_wait_ms: f64::NAN,
        });
    }
}
