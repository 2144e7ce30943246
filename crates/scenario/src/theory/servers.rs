//! Servers whose services follow a law: M/G/1 (Pollaczek 1930, Khinchine 1932), and closed loops of exponential ones
//! (Reiser and Lavenberg, "Mean-value analysis of closed multichain queuing networks", JACM 27, 1980).

use iosonar_analytic::Table;
use iosonar_analytic::closed::{Demands, asymptotic_bounds};
use iosonar_raid::MirrorRead;
use iosonar_sim_core::{Law, Seed};
use iosonar_trace::Op;
use iosonar_workload::{Addresses, ArrivalLaw, Batch, Shape, Size, TimeLaw};

use super::closed::{MOST, mean_value_analysis};
use super::patterns::{Pattern, Patterns, Visit};
use super::{
    Answer, How, ResponseTime, ServerRemark, Standing, StationTheory, Theory, TheoryRemark,
};
use crate::array_model::LevelOptions;
use crate::{ArrayModel, LoadModel, Prepared, Servers};

/// The array's servers under their load.
pub(super) fn answer(simulation: &Prepared, servers: &Servers) -> Theory {
    let none = || Theory::only(TheoryRemark::Server(ServerRemark::Load));
    let law = servers.service.law();
    let (Some(mean_ns), Some(square_ns2)) = (law.moment(1), law.moment(2)) else {
        return none();
    };
    let service = Service {
        mean_ms: mean_ns / 1e6,
        square_ms2: square_ns2 / 1e12,
        is_exponential: servers.service.is_exponential(),
        table: on_grid(&law, mean_ns),
    };
    match &simulation.load {
        LoadModel::Synthetic { classes, .. } if classes.len() == 1 => {
            let class = &classes[0];
            let poisson = matches!(class.arrivals, ArrivalLaw::Poisson { .. });
            match parts(simulation, &class.shape) {
                Some(parts) if poisson && class.batch == Batch::One => {
                    open(simulation, &service, class.requests_per_s(), &parts)
                }
                _ => none(),
            }
        }
        LoadModel::Closed {
            shape,
            outstanding,
            think,
            ..
        } => match parts(simulation, shape) {
            Some(parts) if parts.count == 1 => {
                closed(simulation, &service, &parts, (*outstanding, think))
            }
            _ => none(),
        },
        LoadModel::Alone { shape, .. } => match parts(simulation, shape) {
            Some(parts) if parts.count == 1 => Theory {
                alone: Some(service.alone()),
                ..Theory::default()
            },
            _ => none(),
        },
        _ => none(),
    }
}

/// The services of one server.
struct Service {
    mean_ms: f64,
    square_ms2: f64,
    is_exponential: bool,
    /// Their distribution in milliseconds, where it fits on a grid.
    table: Option<Table>,
}

impl Service {
    /// A request that never waits.
    fn alone(&self) -> Answer {
        let value = match &self.table {
            Some(table) => ResponseTime::Table(table.clone()),
            None => ResponseTime::Mean(self.mean_ms),
        };
        Answer::of(Standing::Exact, How::SlowestPart, value)
    }

    fn station(&self, station: String, visits_per_ms: f64, mean_wait_ms: f64) -> StationTheory {
        let utilisation = visits_per_ms * self.mean_ms;
        StationTheory {
            station,
            visits_per_s: visits_per_ms * 1e3,
            mean_service_ms: self.mean_ms,
            scv: self.square_ms2 / (self.mean_ms * self.mean_ms) - 1.0,
            utilisation,
            busy: utilisation,
            mean_wait_ms,
        }
    }
}

/// Longer services than this share of them are left out of a grid.
const LEFT_OUT: f64 = 1e-9;
/// Points of a grid: of the mean at least, and of the longest service at most.
const POINTS_OF_MEAN: f64 = 100.0;
const MOST_POINTS: f64 = 65_536.0;

/// The distribution of a law on a grid, in milliseconds; `None` where its longest times are too long for that.
///
/// Between points the distribution function is straight. At each point it is the average over a step around it, so that
/// jumps keep their places: the mean stays what it is.
fn on_grid(law: &Law, mean_ns: f64) -> Option<Table> {
    let partial = partial_moments(law);
    let mut most = mean_ns;
    while 1.0 - partial(0, most)? > LEFT_OUT {
        most *= 1.25;
        if most > mean_ns * MOST_POINTS / POINTS_OF_MEAN {
            return None;
        }
    }
    let step = (most / MOST_POINTS).max(mean_ns / 1000.0);
    // The integral of the distribution function up to x.
    let integral = |x: f64| match x > 0.0 {
        true => Some(x * partial(0, x)? - partial(1, x)?),
        false => Some(0.0),
    };
    let average = |x: f64| Some((integral(x + step / 2.0)? - integral(x - step / 2.0)?) / step);
    // Whatever is known of one time is known of all.
    let below = |ms: f64| average(ms * 1e6).unwrap_or(1.0).clamp(0.0, 1.0);
    Some(Table::new(step / 1e6, (most + step) / 1e6, below))
}

/// The partial moments of a law, of order 0 and 1.
fn partial_moments(law: &Law) -> Box<dyn Fn(u32, f64) -> Option<f64> + '_> {
    let Law::Empirical(times) = law else {
        return Box::new(|order, end| law.partial_moment(order, end));
    };
    // There may be millions.
    let mut times: Vec<f64> = times.iter().map(|time| time.get() as f64).collect();
    times.sort_unstable_by(f64::total_cmp);
    let mut sums = vec![0.0];
    let n = times.len() as f64;
    for time in &times {
        sums.push(sums[sums.len() - 1] + time / n);
    }
    Box::new(move |order, end| {
        let count = times.partition_point(|time| *time <= end);
        Some(if order == 0 {
            count as f64 / n
        } else {
            sums[count]
        })
    })
}

/// Poisson arrivals at this rate.
fn open(simulation: &Prepared, service: &Service, rate_per_s: f64, to: &Parts) -> Theory {
    let (rate, count) = (rate_per_s / 1e3, simulation.array.disks as f64);
    // Requests with one part go to one server, any; the others to each.
    let visits = if to.count == 1 { rate / count } else { rate };
    let utilisation = visits * service.mean_ms;
    let theory = Theory {
        capacity_per_s: Some(rate / utilisation * 1e3),
        alone: (to.count == 1).then(|| service.alone()),
        ..Theory::default()
    };
    if utilisation >= 1.0 {
        return Theory {
            unstable: Some(utilisation),
            ..theory
        };
    }
    let wait = visits * service.square_ms2 / (2.0 * (1.0 - utilisation));
    let numbered = 0..simulation.array.disks;
    let station = |number| service.station(simulation.array.station(number), visits, wait);
    let theory = Theory {
        stations: numbered.map(station).collect(),
        ..theory
    };
    if wait.is_infinite() {
        return theory.with(TheoryRemark::Server(ServerRemark::InfiniteVariance));
    }
    if to.count > 1 {
        return theory.with(TheoryRemark::Server(ServerRemark::Join));
    }
    let table = service.table.as_ref();
    // Near saturation the wait is too long for a grid.
    let response = table.and_then(|of| Some(Table::wait_mg1(visits, of).ok()?.plus(of)));
    let is_mean_only = response.is_none();
    let mean = ResponseTime::Mean(wait + service.mean_ms);
    let value = response.map_or(mean, ResponseTime::Table);
    let theory = Theory {
        response: Some(Answer::of(Standing::exact_if(to.are_even), How::Mg1, value)),
        ..theory
    };
    match is_mean_only {
        true => theory.with(TheoryRemark::Server(ServerRemark::MeanOnly)),
        false => theory,
    }
}

/// Users who wait for their requests, each of which goes to one server. With exponential services that is a network in
/// product form, whatever the law of the think times.
fn closed(
    simulation: &Prepared,
    service: &Service,
    to: &Parts,
    (outstanding, think): (u32, &TimeLaw),
) -> Theory {
    let count = simulation.array.disks;
    let (demand, think_ms) = (service.mean_ms / count as f64, think.mean().as_millis_f64());
    let Ok(network) = Demands::new(vec![demand; count], think_ms) else {
        return Theory::only(TheoryRemark::ClosedIdle);
    };
    let point = mean_value_analysis(&network, outstanding);
    let is_exact = service.is_exponential && to.are_even && outstanding <= MOST;
    let throughput = point.as_ref().map_or(f64::NAN, |point| point.throughput);
    let visits = throughput / count as f64;
    let station = |number| service.station(simulation.array.station(number), visits, f64::NAN);
    let mut remarks = Vec::new();
    if point.is_some() && service.is_exponential && !think.is_exponential() {
        remarks.push(TheoryRemark::AnyThinkTimes);
    }
    let is_regular = service.square_ms2 < 2.0 * service.mean_ms * service.mean_ms;
    if point.is_some() && !service.is_exponential && is_regular {
        remarks.push(TheoryRemark::LessVariable);
    }
    Theory {
        alone: Some(service.alone()),
        stations: (0..count).map(station).collect(),
        response: point.map(|point| {
            let mean = ResponseTime::Mean(point.response);
            Answer::of(Standing::exact_if(is_exact), How::MeanValueAnalysis, mean)
        }),
        lower_bound_ms: Some(
            service
                .mean_ms
                .max(f64::from(outstanding) * network.largest() - think_ms),
        ),
        upper_bound_ms: asymptotic_bounds(&network, outstanding)
            .ok()
            .map(|bounds| bounds.upper),
        capacity_per_s: Some(1e3 / network.largest()),
        remarks,
        ..Theory::default()
    }
}

/// The servers that requests go to.
struct Parts {
    /// How many each goes to, once each: one, any of them, or all.
    count: usize,
    /// Whether all get exactly as many. Parity that does not come round leaves some a little more data than others.
    are_even: bool,
}

/// `None` where requests go to several, and not to all, or the servers do not get as much as each other, at random.
fn parts(simulation: &Prepared, shape: &Shape) -> Option<Parts> {
    let array = &simulation.array;
    let is_uniform = shape.addresses == Addresses::Uniform;
    let is_random = match array.level {
        LevelOptions::Mirrored { read, .. } => read == MirrorRead::Random,
        LevelOptions::Registered(_) => false,
        LevelOptions::Striped | LevelOptions::Parity { .. } | LevelOptions::Linear { .. } => true,
    };
    let is_whole = array.failed.is_empty() && array.md.is_none();
    if !(is_uniform && is_random && is_whole) || array.controller.one_at_a_time {
        return None;
    }
    if is_one_piece(array, shape) {
        let only_reads = shape.read_share == 1.0;
        let is_one = match array.level {
            LevelOptions::Striped | LevelOptions::Linear { .. } => true,
            _ => only_reads,
        };
        let stripes = array.disk_sectors() / u64::from(array.stripe_unit.get());
        let are_even = match array.level {
            LevelOptions::Parity { groups, .. } => {
                stripes.is_multiple_of((array.disks / groups) as u64)
            }
            _ => true,
        };
        return is_one.then_some(Parts { count: 1, are_even });
    }
    let patterns = Patterns::new(array, shape, &Seed::new(simulation.seed))?;
    let count = |pattern: &Pattern| pattern.direct.len();
    let first = patterns.all.first().map(|(_, pattern)| count(pattern))?;
    let alike = |(_, pattern): &(f64, Pattern)| {
        let once = pattern.direct.values().all(|visit| Visit::len(visit) == 1);
        once && pattern.partial.is_empty() && count(pattern) == first
    };
    let is_known = patterns.is_exact && patterns.all.iter().all(alike);
    let share = |disk| {
        let visits = patterns
            .all
            .iter()
            .filter(|(_, pattern)| pattern.direct.contains_key(&disk));
        visits.map(|(probability, _)| probability).sum::<f64>()
    };
    let shares: Vec<f64> = (0..array.disks).map(share).collect();
    let even = first as f64 / array.disks as f64;
    let are_even = shares.iter().all(|share| (share - even).abs() < 1e-12);
    (is_known && (first == 1 || first == array.disks)).then_some(Parts {
        count: first,
        are_even,
    })
}

/// Whether all requests lie within one stripe unit of one device: there is one device, or requests are single blocks, of
/// which stripe units are made.
fn is_one_piece(array: &ArrayModel, shape: &Shape) -> bool {
    let block = u64::from(shape.block.get());
    let whole = |sectors: u64| sectors.is_multiple_of(block);
    let are_blocks = [Op::Read, Op::Write].map(|op| *shape.size_of(op) == Size::Blocks(1));
    array.is_one_device()
        || are_blocks == [true; 2]
            && whole(u64::from(array.stripe_unit.get()))
            && whole(array.disk_sectors())
}
