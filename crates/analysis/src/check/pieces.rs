//! The same ranges in other pieces.

use std::cmp::Ordering;
use std::collections::BTreeMap;

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
        let (left, right): (Vec<Sided>, Vec<Sided>) =
            group.into_iter().partition(|(.., is_left)| *is_left);
        // Not all were done: those that were are found one by one.
        let (mut left, mut right) = (Pieces::of(left), Pieces::of(right));
        self.split += tile(&mut left, &mut right).requests;
        self.merged += tile(&mut right, &mut left).pieces;
        self.left.extend(left.rest());
        self.right.extend(right.rest());
    }
}

/// Requests of one side by their first sector, the longest last.
struct Pieces(BTreeMap<u64, Vec<(Key, Nanos)>>);

/// Requests that other ones make up, and how many of those.
#[derive(Default)]
struct Tiled {
    requests: u64,
    pieces: u64,
}

/// The most ways that are tried to put one request together.
const MOST_WAYS: u32 = 10_000;

impl Pieces {
    fn of(group: Vec<Sided>) -> Self {
        let mut pieces = BTreeMap::<u64, Vec<(Key, Nanos)>>::new();
        for (key, at, _) in group {
            pieces.entry(key.sector).or_default().push((key, at));
        }
        for of_sector in pieces.values_mut() {
            of_sector.sort_by_key(|(key, _)| key.sectors);
        }
        Self(pieces)
    }

    fn rest(self) -> impl Iterator<Item = (Key, Nanos)> {
        self.0.into_values().flatten()
    }

    /// Takes requests away that together cover exactly the sectors of `whole`, each once; how many, 0 where that cannot be.
    fn take(&mut self, whole: &Key) -> u64 {
        let mut ways = MOST_WAYS;
        let Some(lengths) = self.way(whole.sector, end(whole), &mut ways) else {
            return 0;
        };
        let mut at = whole.sector;
        for length in &lengths {
            let of_sector = self.0.get_mut(&at).expect("it was found there");
            // From the end, where removal costs nothing.
            let found = of_sector
                .iter()
                .rposition(|(key, _)| key.sectors == *length);
            of_sector.remove(found.expect("it was found there"));
            at += u64::from(*length);
        }
        lengths.len() as u64
    }

    /// The lengths of requests that lead from one sector to another, the longest tried first.
    fn way(&self, from: u64, to: u64, ways: &mut u32) -> Option<Vec<u32>> {
        let mut way: Vec<u32> = Vec::new();
        // How many of those that begin here have not been tried.
        let (mut at, mut untried) = (from, usize::MAX);
        while at < to {
            *ways = ways.checked_sub(1)?;
            let of_sector = self.0.get(&at).map_or(&[][..], Vec::as_slice);
            let fits = |(key, _): &(Key, Nanos)| key.sectors > 0 && end(key) <= to;
            let among = &of_sector[..untried.min(of_sector.len())];
            if let Some(i) = among.iter().rposition(fits) {
                let length = among[i].0.sectors;
                way.push(length);
                at += u64::from(length);
                untried = usize::MAX;
            } else {
                let length = way.pop()?;
                at -= u64::from(length);
                // Others of this length lead no further.
                untried = self.0[&at].partition_point(|(key, _)| key.sectors < length);
            }
        }
        Some(way)
    }
}

/// Takes the requests of `wholes` away that `pieces` make up, with those pieces.
fn tile(wholes: &mut Pieces, pieces: &mut Pieces) -> Tiled {
    let mut tiled = Tiled::default();
    for of_sector in wholes.0.values_mut() {
        of_sector.retain(|(key, _)| {
            let taken = pieces.take(key);
            tiled.requests += u64::from(taken > 0);
            tiled.pieces += taken;
            taken == 0
        });
    }
    tiled
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
