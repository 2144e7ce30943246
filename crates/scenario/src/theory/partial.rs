//! Writes of partial stripes: pre-reads, and then the writes, at a higher priority.
//!
//! Of a request that meets nobody the distribution is computed exactly, by quadrature over when the last
//! pre-read ends and over the transfer times that the writes share with the accesses before them. Under a
//! load it is approximated: the slowest pre-read and the slowest write are independent; requests wait for
//! whole requests before them, the writes that these come back with included, as in M/G/1, and longer
//! for other writes that overtake them, as Cobham's formula has it; writes wait as the high class of a
//! priority queue does; what a write finds at its disk follows from the load.

use iosonar_analytic::Table;
use iosonar_device::Access;
use iosonar_raid::rules::{FullTurn, TransferMemory};

use super::loaded::{ArrayTheory, Dependence};
use super::patterns::{Partial, Pattern, Visit, first_visit, high_job, preread_access};
use super::writes::{shares, turned};

/// The response of a request with partial stripes under the load.
pub(super) fn response(
    model: &mut ArrayTheory<'_>,
    pattern: &Pattern,
    dependence: Dependence,
) -> Table {
    let step = model.grid.step();
    let mut slowest = Table::zero(step);
    for disk in pattern.disks() {
        let waited_for = pattern
            .partial
            .iter()
            .any(|p| p.reads.iter().any(|(d, _)| *d == disk));
        if !waited_for && pattern.direct.contains_key(&disk) {
            let visit = first_visit(model.array, pattern, disk);
            slowest = slowest.max(&model.part(disk, &visit, dependence));
        }
    }
    for partial in &pattern.partial {
        let mut joined = Table::zero(step);
        for (disk, _) in &partial.reads {
            let visit = first_visit(model.array, pattern, *disk);
            joined = joined.max(&model.part(*disk, &visit, dependence));
        }
        let last = last_write(model, pattern, partial);
        slowest = slowest.max(&joined.plus(&last));
    }
    slowest
}

/// The slowest of the writes of a partial stripe, from the end of the pre-reads on.
fn last_write(model: &ArrayTheory<'_>, pattern: &Pattern, partial: &Partial) -> Table {
    let mut slowest = Table::zero(model.grid.step());
    for (i, &(disk, sectors)) in partial.writes.iter().enumerate() {
        // One of them is on the disk that finished last; which one does not matter.
        if partial.modifies && i == 0 {
            slowest = slowest.max(&turned(&model.grid, model.array.rules, sectors));
            continue;
        }
        let job = high_job(pattern, partial, (disk, sectors));
        let waits = model.waits_of(disk);
        let shares = shares(&model.grid, job, waits.utilisation, waits.visits);
        let rest = 1.0 - shares.full_turn;
        let rotation = model.grid.with_transfer(&model.grid.rotation(), sectors);
        let new = model.grid.service(Access::Write, sectors, 1);
        let busy = match &waits.high {
            Some(wait) => wait.given_some().plus(&new),
            None => new.clone(),
        };
        let write = Table::mixture(&[
            (shares.rotation / rest, &rotation),
            (shares.idle / rest, &new),
            (shares.busy / rest, &busy),
        ]);
        slowest = slowest.max(&write);
    }
    slowest
}

/// The write of a kind of disk: what comes before the transfer of the access of its request, if there is one; a
/// new access; the transfers; how many such disks.
struct WriteLaw {
    before: Option<Table>,
    new: Table,
    transfers: Vec<(f64, f64)>,
    count: u32,
}

/// Points of the rule over transfer times.
const TRANSFERS: usize = 6;

/// The step of the quadrature over times up to `reach`: fine in a revolution, and not too many.
fn step_up_to(reach: f64, turn: f64) -> f64 {
    (turn / 64.0).max(reach / 600.0)
}

/// The response of a request with partial stripes that meets nobody. With one partial stripe of alike disks
/// exact; several, which only requests that are not aligned have, are taken as independent.
pub(super) fn alone(model: &mut ArrayTheory<'_>, pattern: &Pattern) -> Table {
    let mut slowest = Table::zero(model.grid.step());
    let read: Vec<usize> = pattern
        .partial
        .iter()
        .flat_map(|p| p.reads.iter().map(|(disk, _)| *disk))
        .collect();
    let written: Vec<usize> = pattern
        .partial
        .iter()
        .filter(|p| !p.modifies)
        .flat_map(|p| p.writes.iter().map(|(disk, _)| *disk))
        .collect();
    for (disk, visit) in &pattern.direct {
        if !read.contains(disk) && !written.contains(disk) {
            slowest = slowest.max(&model.visit(visit));
        }
    }
    for partial in &pattern.partial {
        let table = if partial.modifies {
            modify(model, pattern, partial)
        } else {
            reconstruct(model, pattern, partial)
        };
        slowest = slowest.max(&table);
    }
    slowest
}

/// Read-modify-write. Let A = P + c T be the end of a disk's pre-read, T its transfer time (which an access
/// ahead of it shares if the scenario says so), and U a rotational latency. The disk that ends last, at
/// A = a, writes until a + R + T, the others until a + U + T. With H(a, y) = P(A <= a, U + T <= y):
///
/// P(response <= x) = m E\[ H(A, x - A)^(m - 1); A + R + T <= x \].
fn modify(model: &mut ArrayTheory<'_>, pattern: &Pattern, partial: &Partial) -> Table {
    let (disk, sectors) = partial.reads[0];
    let m = partial.reads.len() as i32;
    let once = model.array.rules.transfer == TransferMemory::OnePerRequest;
    let direct = pattern.direct.get(&disk).cloned().unwrap_or_default();
    // All before the transfer of the pre-read.
    let preread = model.grid.positioning(preread_access(model.array)).clone();
    let (before, shared) = if once {
        let mut sum = preread;
        let mut count = 0;
        for ((access, _), n) in direct.jobs() {
            sum = sum.plus(&model.grid.positioning(access).times(n));
            count += n;
        }
        (sum, f64::from(1 + count))
    } else {
        (model.visit(&direct).plus(&preread), 1.0)
    };
    let points = model.grid.transfer_points(sectors, TRANSFERS);
    let turn = model.grid.revolution();
    let less = model.array.rules.full_turn == FullTurn::LessTransfer;
    let rotated = |y: f64| (y / turn).clamp(0.0, 1.0);
    let longest = points.iter().map(|(_, t)| *t).fold(0.0, f64::max);
    let reach = before.quantile(1.0 - 1e-10);
    let step = step_up_to(reach, turn);
    let masses = masses(&before, reach, step);
    let most = reach + (1.0 + shared) * longest + turn + step;
    Table::new(model.grid.step(), most, {
        let coarse_points = (most / step).ceil() as usize;
        let value = |x: f64| -> f64 {
            let mut sum = 0.0;
            for &(weight, tau) in &points {
                let after = if less { turn } else { turn + tau };
                for &(p, mass) in &masses {
                    let a = p + shared * tau;
                    let y = x - a;
                    // Half a step of what ends here has ended.
                    let ended = ((y - after) / step + 0.5).clamp(0.0, 1.0);
                    if ended == 0.0 {
                        break;
                    }
                    let others: f64 = points
                        .iter()
                        .map(|&(w, t)| w * before.within(a - shared * t) * rotated(y - t))
                        .sum();
                    sum += weight * mass * ended * others.powi(m - 1);
                }
            }
            f64::from(m) * sum
        };
        let values: Vec<f64> = (0..=coarse_points)
            .map(|i| value(i as f64 * step))
            .collect();
        interpolated(values, step)
    })
}

/// Reconstruct-write. The pre-reads end at J; disk i of the others, whose access of the same request (if there
/// is one) ends at D = P + T, writes: if D > J at once, until D + T; else after a rotation, until J + U + T;
/// without such an access after a new seek, until J + S.
fn reconstruct(model: &mut ArrayTheory<'_>, pattern: &Pattern, partial: &Partial) -> Table {
    let mut joined = Table::zero(model.grid.step());
    for (disk, _) in &partial.reads {
        let visit = first_visit(model.array, pattern, *disk);
        joined = joined.max(&model.visit(&visit));
    }
    let turn = model.grid.revolution();
    let rotated = |y: f64| (y / turn).clamp(0.0, 1.0);
    let reach = joined.quantile(1.0 - 1e-10);
    let step = step_up_to(reach, turn);
    let mut kinds: Vec<(u32, Option<Visit>, u32)> = Vec::new();
    for &(disk, sectors) in &partial.writes {
        let visit = pattern.direct.get(&disk).cloned();
        match kinds
            .iter_mut()
            .find(|(s, v, _)| *s == sectors && *v == visit)
        {
            Some((_, _, count)) => *count += 1,
            None => kinds.push((sectors, visit, 1)),
        }
    }
    // For each kind: what comes before its transfer, and the distribution of a new access.
    let laws: Vec<WriteLaw> = kinds
        .into_iter()
        .map(|(sectors, visit, count)| {
            let new = model.grid.service(Access::Write, sectors, 1);
            let before = visit.map(|visit| {
                // All accesses but the last as they are, of the last the positioning.
                let mut sum = Table::zero(model.grid.step());
                for ((access, sectors), n) in visit.jobs() {
                    sum = sum.plus(&model.grid.service(access, sectors, 1).times(n - 1));
                    sum = sum.plus(model.grid.positioning(access));
                }
                sum
            });
            WriteLaw {
                before,
                new,
                transfers: model.grid.transfer_points(sectors, TRANSFERS),
                count,
            }
        })
        .collect();
    let done = |x: f64, t: f64| -> f64 {
        let of = |law: &WriteLaw| {
            let one: f64 = match &law.before {
                None => law.new.within(x - t),
                Some(before) => law
                    .transfers
                    .iter()
                    .map(|&(w, tau)| {
                        let there = before.within(t - tau);
                        let late = (before.within(x - 2.0 * tau) - there).max(0.0);
                        w * (late + there * rotated(x - t - tau))
                    })
                    .sum(),
            };
            one.powi(law.count as i32)
        };
        laws.iter().map(of).product()
    };
    let slowest = laws
        .iter()
        .map(|law| {
            let longest = law.transfers.iter().map(|(_, t)| *t).fold(0.0, f64::max);
            let own = law.before.as_ref().map_or(0.0, |b| b.quantile(1.0 - 1e-12));
            let new = law.new.quantile(1.0 - 1e-12);
            (reach + new.max(turn + longest)).max(own + 2.0 * longest)
        })
        .fold(0.0, f64::max);
    let masses = masses(&joined, reach, step);
    let value = |x: f64| -> f64 {
        let before = masses.iter().take_while(|(t, _)| *t <= x);
        before.map(|&(t, mass)| mass * done(x, t)).sum()
    };
    let most = slowest + step;
    let values: Vec<f64> = (0..=(most / step).ceil() as usize)
        .map(|i| value(i as f64 * step))
        .collect();
    Table::new(model.grid.step(), most, interpolated(values, step))
}

/// A distribution up to `reach` as points in the middle of intervals with their probabilities.
fn masses(table: &Table, reach: f64, step: f64) -> Vec<(f64, f64)> {
    let mass = |i: usize| {
        let (from, to) = (i as f64 * step, (i + 1) as f64 * step);
        (
            f64::midpoint(from, to),
            table.within(to) - table.within(from),
        )
    };
    (0..(reach / step).ceil() as usize).map(mass).collect()
}

/// The function with these values at multiples of `step`, straight between.
fn interpolated(values: Vec<f64>, step: f64) -> impl Fn(f64) -> f64 {
    move |t| {
        let at = t / step;
        let i = at as usize;
        match (values.get(i), values.get(i + 1)) {
            (Some(a), Some(b)) => a + (b - a) * (at - i as f64),
            (Some(a), None) => *a,
            _ => 1.0,
        }
    }
}
