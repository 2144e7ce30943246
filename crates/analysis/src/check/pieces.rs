//! The same ranges in other pieces.

use std::cmp::Ordering;

use iosonar_units::Nanos;

use super::Key;

/// The outcome of the requests without an identical counterpart.
#[derive(Debug, Default)]
pub(super) struct Regrouped {
    pub(super) split: u64,
    pub(super) merged: u64,
    pub(super) otherwise: u64,
    /// What is still left over on either side.
    pub(super) left: Vec<(Key, Nanos)>,
    pub(super) right: Vec<(Key, Nanos)>,
}

/// A request, and whether it is of the left side.
type Sided = (Key, Nanos, bool);

/// Finds groups of overlapping requests in which every sector is covered as often by the one side as by
/// the other. Both sides are sorted.
pub(super) fn regroup(left: Vec<(Key, Nanos)>, right: Vec<(Key, Nanos)>) -> Regrouped {
    let mut outcome = Regrouped::default();
    let mut all: Vec<Sided> = left.into_iter().map(|(key, at)| (key, at, true)).collect();
    all.extend(right.into_iter().map(|(key, at)| (key, at, false)));
    all.sort_unstable_by_key(|(key, ..)| *key);
    let mut group: Vec<Sided> = Vec::new();
    // The operation and the end of the group so far.
    let mut until = (0, 0);
    for sided in all {
        let (key, ..) = &sided;
        if (key.op, key.sector) >= until {
            outcome.take(std::mem::take(&mut group));
            until = (key.op, 0);
        }
        until.1 = until.1.max(end(key));
        group.push(sided);
    }
    outcome.take(group);
    outcome
}

impl Regrouped {
    /// The outcome of the requests of a group, which overlap no others.
    fn take(&mut self, group: Vec<Sided>) {
        let wanted = group.iter().filter(|(.., is_left)| *is_left).count() as u64;
        let done = group.len() as u64 - wanted;
        if wanted > 0 && done > 0 && is_even(&group) {
            match wanted.cmp(&done) {
                Ordering::Less => self.split += wanted,
                Ordering::Greater => self.merged += wanted,
                Ordering::Equal => self.otherwise += wanted,
            }
            return;
        }
        for (key, at, is_left) in group {
            let side = if is_left {
                &mut self.left
            } else {
                &mut self.right
            };
            side.push((key, at));
        }
    }
}

/// Whether both sides cover every sector equally often.
fn is_even(group: &[Sided]) -> bool {
    let mut steps: Vec<(u64, i64)> = group
        .iter()
        .flat_map(|(key, _, is_left)| {
            let step = if *is_left { 1 } else { -1 };
            [(key.sector, step), (end(key), -step)]
        })
        .collect();
    steps.sort_unstable();
    let sums = steps.chunk_by(|(a, _), (b, _)| a == b);
    let mut depth = 0;
    sums.into_iter().all(|at| {
        depth += at.iter().map(|(_, step)| step).sum::<i64>();
        depth == 0
    })
}

fn end(key: &Key) -> u64 {
    key.sector + u64::from(key.sectors)
}
