//! Servers whose services follow a law: the mean of M/G/1 (Pollaczek 1930, Khinchine 1932).

use iosonar_raid::MirrorRead;
use iosonar_sim_core::Seed;
use iosonar_trace::Op;
use iosonar_workload::{Addresses, ArrivalLaw, Batch, Shape, Size, Workload};

use super::patterns::{Pattern, Patterns, Visit};
use super::{Answer, How, Remark, ResponseTime, ServerRemark, Standing, StationTheory, Theory};
use crate::array_model::LevelOptions;
use crate::{ArrayModel, LoadModel, Prepared, Servers};

/// The array's servers under their load.
pub(super) fn answer(simulation: &Prepared, servers: &Servers) -> Theory {
    let class = match &simulation.load {
        LoadModel::Synthetic { classes, .. } if classes.len() == 1 => &classes[0],
        _ => return Theory::only(Remark::Server(ServerRemark::Load)),
    };
    let Some(Parts {
        count: parts,
        are_even,
    }) = parts(simulation, class)
    else {
        return Theory::only(Remark::Server(ServerRemark::Load));
    };
    let law = servers.service.law();
    let (Some(mean_ns), Some(square_ns2)) = (law.moment(1), law.moment(2)) else {
        return Theory::only(Remark::Server(ServerRemark::Load));
    };
    let (mean, square) = (mean_ns / 1e6, square_ns2 / 1e12);
    let rate = class.requests_per_s() / 1e3;
    let count = simulation.array.disks as f64;
    // Requests with one part go to one server, any; the others to each.
    let visits = if parts == 1 { rate / count } else { rate };
    let utilisation = visits * mean;
    let theory = Theory {
        capacity_per_s: Some(rate / utilisation * 1e3),
        alone: (parts == 1)
            .then(|| Answer::of(Standing::Exact, How::SlowestPart, ResponseTime::Mean(mean))),
        ..Theory::default()
    };
    if utilisation >= 1.0 {
        return Theory {
            unstable: Some(utilisation),
            ..theory
        };
    }
    let wait = visits * square / (2.0 * (1.0 - utilisation));
    let station = |number| StationTheory {
        station: simulation.array.station(number),
        visits_per_s: visits * 1e3,
        mean_service_ms: mean,
        scv: square / (mean * mean) - 1.0,
        utilisation,
        busy: utilisation,
        mean_wait_ms: wait,
    };
    let theory = Theory {
        stations: (0..simulation.array.disks).map(station).collect(),
        ..theory
    };
    if wait.is_infinite() {
        return theory.with(Remark::Server(ServerRemark::InfiniteVariance));
    }
    if parts > 1 {
        return theory.with(Remark::Server(ServerRemark::Join));
    }
    let response = ResponseTime::Mean(wait + mean);
    let theory = Theory {
        response: Some(Answer::of(Standing::exact_if(are_even), How::Mg1, response)),
        ..theory
    };
    theory.with(Remark::Server(ServerRemark::MeanOnly))
}

/// The servers that requests go to.
struct Parts {
    /// How many each goes to, once each: one, any of them, or all.
    count: usize,
    /// Whether all get exactly as many. Parity that does not come round leaves some a little more data than others.
    are_even: bool,
}

/// `None` where requests go to several, and not to all.
fn parts(simulation: &Prepared, class: &Workload) -> Option<Parts> {
    let array = &simulation.array;
    let poisson = matches!(class.arrivals, ArrivalLaw::Poisson { .. });
    // Each server must get as much as the others, at random.
    let is_uniform = class.batch == Batch::One && class.shape.addresses == Addresses::Uniform;
    let is_random = match array.level {
        LevelOptions::Mirrored { read, .. } => read == MirrorRead::Random,
        LevelOptions::Registered(_) => false,
        LevelOptions::Striped | LevelOptions::Parity { .. } | LevelOptions::Linear { .. } => true,
    };
    let is_whole = array.failed.is_empty() && array.md.is_none();
    if !(poisson && is_uniform && is_random && is_whole) || array.controller.one_at_a_time {
        return None;
    }
    let shape = &class.shape;
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
