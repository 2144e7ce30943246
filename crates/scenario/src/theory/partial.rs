//! Writes of partial stripes: pre-reads, and then the writes, at a higher priority.
//!
//! For a request in an idle system the distribution is computed exactly, by quadrature over when the last
//! pre-read ends and over the transfer times that the writes share with the accesses before them. Under a
//! load it is approximated: the slowest pre-read and the slowest write are independent; requests wait for
//! whole requests before them, the writes that these come back with included, as in M/G/1, and longer
//! for other writes that overtake them, as Cobham's formula has it; writes wait as the high class of a
//! priority queue does; what a write finds at its disk follows from the load.

use iosonar_analytic::Table;
use iosonar_device::Access;
use iosonar_raid::rules::FullTurn;

use super::disk::DiskGrid;
use super::loaded::{ArrayTheory, Dependence};
use super::patterns::{Partial, Pattern, Places, Visit, first_visit, high_job, preread_access};
use super::writes::{shares, turn_and_write, turned};

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
        let rotation = model
            .grid
            .with_transfer(&model.grid.rotation(), u64::from(sectors));
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

/// The write of a kind of disk.
struct WriteLaw {
    /// What its request did there before, if anything.
    before: Option<Before>,
    /// A new access.
    new: Table,
    /// The transfers of the write.
    transfers: Vec<(f64, f64)>,
    /// How many such disks there are.
    count: u32,
}

/// What a request does at a disk before a write there: a time without the transfers that are on the track of the
/// write, and those transfers, as a multiple of that of the write.
struct Before {
    rest: Table,
    on_track: f64,
}

impl Before {
    /// All accesses of a visit before a write of this many sectors. Where they lie in many places the write follows on
    /// the last of them.
    fn of(model: &mut ArrayTheory<'_>, visit: &Visit, sectors: u32) -> Self {
        let mut rest = Table::zero(model.grid.step());
        let mut last = 0;
        for ((access, of_each), count) in visit.jobs() {
            let positioning = model.grid.positioning(access);
            match visit.places() {
                Places::One => rest = rest.plus(&positioning.times(count)),
                Places::Many => {
                    // Of the last access the positioning only.
                    if last > 0 {
                        rest = model.grid.with_transfer(&rest, last);
                    }
                    let service = model.grid.service(access, of_each, 1);
                    rest = rest.plus(&service.times(count - 1)).plus(positioning);
                    last = u64::from(of_each);
                }
            }
        }
        let on_track = match visit.places() {
            Places::One => visit.sectors(),
            Places::Many => last,
        };
        Self {
            rest,
            on_track: on_track as f64 / f64::from(sectors),
        }
    }
}

/// Points of the rule over transfer times, and of each part of it where these are cut at whole revolutions.
const TRANSFERS: usize = 6;
const TRANSFERS_OF_A_PART: usize = 3;
/// Steps of the quadrature over times, at most.
const STEPS: f64 = 600.0;

/// The step of the quadrature over times up to `reach`: fine in a revolution, and not too many.
fn step_up_to(reach: f64, turn: f64) -> f64 {
    (turn / 64.0).max(reach / STEPS)
}

/// Transfer times, with their probabilities, over which a read-modify-write is averaged: what comes after them jumps
/// where they last whole revolutions if the full revolution is less by the transfer.
fn transfer_points(grid: &DiskGrid, rule: FullTurn, sectors: u32) -> Vec<(f64, f64)> {
    let sectors = u64::from(sectors);
    let smooth = grid.transfer_points(sectors, TRANSFERS);
    let longest = smooth.iter().map(|(_, t)| *t).fold(0.0, f64::max);
    match rule {
        FullTurn::LessTransfer if longest > 0.9 * grid.revolution() => {
            grid.transfer_points_by_turns(sectors, TRANSFERS_OF_A_PART)
        }
        _ => smooth,
    }
}

/// About how many products the zero-load response of a partly written stripe takes.
pub(super) fn cost(grid: &DiskGrid, rule: FullTurn, write: &Partial) -> f64 {
    let most = write.writes.iter().map(|(_, sectors)| *sectors).max();
    let points = transfer_points(grid, rule, most.unwrap_or(0)).len() as f64;
    match write.modifies {
        true => points * points * STEPS * STEPS,
        false => points * STEPS * STEPS,
    }
}

/// The response of a request with partial stripes in an idle system. With one partial stripe of alike disks
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

/// Read-modify-write. Let A = P + c T be the end of a disk's pre-read, T its transfer time (which accesses
/// ahead of it share if the scenario says so), and U a rotational latency. The disk that ends last, at
/// A = a, writes until a + W(T), W a full revolution and the transfer, the others until a + U + T. With
/// H(a, y) = P(A <= a, U + T <= y):
///
/// P(response <= x) = m E\[ H(A, x - A)^(m - 1); A + W(T) <= x \].
fn modify(model: &mut ArrayTheory<'_>, pattern: &Pattern, partial: &Partial) -> Table {
    let (disk, sectors) = partial.reads[0];
    let m = partial.reads.len() as i32;
    let direct = pattern.direct_visit(model.array, disk);
    // All before the transfer of the pre-read.
    let preread = preread_access(model.array);
    let (before, shared) = match direct.places() {
        Places::Many => {
            let positioning = model.grid.positioning(preread).clone();
            (model.visit(&direct).plus(&positioning), 1.0)
        }
        Places::One => {
            let mut all = direct;
            all.add((preread, sectors));
            let before = Before::of(model, &all, sectors);
            (before.rest, before.on_track)
        }
    };
    let turn = model.grid.revolution();
    let rule = model.array.rules.full_turn;
    let points = transfer_points(&model.grid, rule, sectors);
    let longest = points.iter().map(|(_, t)| *t).fold(0.0, f64::max);
    let reach = before.quantile(1.0 - 1e-10);
    let step = step_up_to(reach, turn);
    let masses = masses(&before, reach, step);
    let most = reach + shared * longest + turn_and_write(rule, turn, longest) + step;
    let mut ends = vec![0.0; (most / step).ceil() as usize + 1];
    for &(weight, tau) in &points {
        let after = turn_and_write(rule, turn, tau);
        for &(p, mass) in &masses {
            let a = p + shared * tau;
            let there: Vec<(f64, f64)> = points
                .iter()
                .map(|&(w, t)| (w * before.within(a - shared * t), t))
                .collect();
            let others = |y: f64| -> f64 {
                let rotated = |t: f64| ((y - t) / turn).clamp(0.0, 1.0);
                there.iter().map(|(p, t)| p * rotated(*t)).sum()
            };
            let of_all = f64::from(m) * weight * mass;
            // From here on all others have ended, too: the rest of the sum is the same.
            let all_ended = after.max(turn + longest) + step / 2.0;
            let first = ((a + after) / step - 0.5).ceil().max(0.0) as usize;
            let last = (((a + all_ended) / step).ceil() as usize).min(ends.len() - 1);
            let mut so_far = 0.0;
            for (i, end) in ends.iter_mut().enumerate().take(last + 1).skip(first) {
                let y = i as f64 * step - a;
                // Half a step of what ends here has ended.
                let ended = ((y - after) / step + 0.5).clamp(0.0, 1.0);
                let value = of_all * ended * others(y).powi(m - 1);
                *end += value - so_far;
                so_far = value;
            }
        }
    }
    Table::new(model.grid.step(), most, interpolated(summed(ends), step))
}

/// Reconstruct-write. The pre-reads end at J; disk i of the others, whose accesses of the same request (if there
/// are any) end at D = P + c T, writes: if D > J at once, until D + T; else after a rotation, until J + U + T;
/// without such an access after a new seek, until J + S.
fn reconstruct(model: &mut ArrayTheory<'_>, pattern: &Pattern, partial: &Partial) -> Table {
    let mut joined = Table::zero(model.grid.step());
    for (disk, _) in &partial.reads {
        let visit = first_visit(model.array, pattern, *disk);
        joined = joined.max(&model.visit(&visit));
    }
    let turn = model.grid.revolution();
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
            let before = visit.map(|visit| Before::of(model, &visit, sectors));
            WriteLaw {
                before,
                new,
                transfers: model.grid.transfer_points(u64::from(sectors), TRANSFERS),
                count,
            }
        })
        .collect();
    let slowest = laws
        .iter()
        .map(|law| {
            let longest = law.transfers.iter().map(|(_, t)| *t).fold(0.0, f64::max);
            let own = law.before.as_ref().map_or(0.0, |before| {
                before.rest.quantile(1.0 - 1e-12) + (1.0 + before.on_track) * longest
            });
            let new = law.new.quantile(1.0 - 1e-12);
            (reach + new.max(turn + longest)).max(own)
        })
        .fold(0.0, f64::max);
    let masses = masses(&joined, reach, step);
    let most = slowest + step;
    let mut ends = vec![0.0; (most / step).ceil() as usize + 1];
    for &(t, mass) in &masses {
        let laws: Vec<WriteAfter<'_>> = laws.iter().map(|law| WriteAfter::new(law, t)).collect();
        let from = (t / step).ceil() as usize;
        for (i, end) in ends.iter_mut().enumerate().skip(from) {
            let x = i as f64 * step;
            let all: f64 = laws.iter().map(|law| law.within(x, turn)).product();
            *end += mass * all;
        }
    }
    Table::new(model.grid.step(), most, interpolated(ends, step))
}

/// The writes of a kind of disk after pre-reads that ended at an instant.
struct WriteAfter<'a> {
    law: &'a WriteLaw,
    joined: f64,
    /// For each transfer time: the probability that the disk was idle when the pre-reads ended.
    idle: Vec<f64>,
}

impl<'a> WriteAfter<'a> {
    fn new(law: &'a WriteLaw, joined: f64) -> Self {
        let idle = |before: &Before| {
            let transfers = law.transfers.iter();
            transfers
                .map(|(_, tau)| before.rest.within(joined - before.on_track * tau))
                .collect()
        };
        Self {
            law,
            joined,
            idle: law.before.as_ref().map(idle).unwrap_or_default(),
        }
    }

    /// The probability that all have ended by `x`.
    fn within(&self, x: f64, turn: f64) -> f64 {
        let one: f64 = match &self.law.before {
            None => self.law.new.within(x - self.joined),
            Some(before) => {
                let transfers = self.law.transfers.iter().zip(&self.idle);
                transfers
                    .map(|(&(weight, tau), idle)| {
                        let ended = before.rest.within(x - (1.0 + before.on_track) * tau);
                        let late = (ended - idle).max(0.0);
                        let rotated = ((x - self.joined - tau) / turn).clamp(0.0, 1.0);
                        weight * (late + idle * rotated)
                    })
                    .sum()
            }
        };
        one.powi(self.law.count as i32)
    }
}

/// The sums of the values so far.
fn summed(mut values: Vec<f64>) -> Vec<f64> {
    let mut sum = 0.0;
    for value in &mut values {
        sum += *value;
        *value = sum;
    }
    values
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
