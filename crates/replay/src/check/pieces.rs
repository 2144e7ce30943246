//! The same ranges in other pieces.

use std::cmp::Ordering;

use iosonar_units::Nanos;

use super::Key;

/// What became of the requests that found no equal.
#[derive(Debug, Default)]
pub(super) struct Regrouped {
    pub(super) split: u64,
    pub(super) merged: u64,
    pub(super) otherwise: u64,
    /// What is still left over on either side.
    pub(super) left: Vec<(Key, Nanos)>,
    pub(super) right: Vec<(Key, Nanos)>,
}

/// Finds stretches of sectors that both sides cover in full, each sector once, in different pieces.
/// Both sides are sorted.
pub(super) fn regroup(left: Vec<(Key, Nanos)>, right: Vec<(Key, Nanos)>) -> Regrouped {
    let mut outcome = Regrouped::default();
    let (left, right) = (stretches(left), stretches(right));
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        let (a, b) = match (left.peek(), right.peek()) {
            (None, None) => return outcome,
            (Some(_), None) => {
                outcome.left.extend(left.by_ref().flatten());
                continue;
            }
            (None, Some(_)) => {
                outcome.right.extend(right.by_ref().flatten());
                continue;
            }
            (Some(a), Some(b)) => (span(a), span(b)),
        };
        match a.cmp(&b) {
            Ordering::Less => outcome.left.extend(left.next().into_iter().flatten()),
            Ordering::Greater => outcome.right.extend(right.next().into_iter().flatten()),
            Ordering::Equal => {
                let pieces = |stretch: Option<Vec<_>>| stretch.map_or(0, |s| s.len() as u64);
                match (pieces(left.next()), pieces(right.next())) {
                    (1, _) => outcome.split += 1,
                    (n, 1) => outcome.merged += n,
                    (n, _) => outcome.otherwise += n,
                }
            }
        }
    }
}

/// Operation, first sector, end.
fn span(stretch: &[(Key, Nanos)]) -> (u8, u64, u64) {
    let end = stretch.last().map_or(0, |(key, _)| end(key));
    stretch
        .first()
        .map_or((0, 0, 0), |(key, _)| (key.op, key.sector, end))
}

fn end(key: &Key) -> u64 {
    key.sector + u64::from(key.sectors)
}

/// Requests that follow each other without a gap belong together.
fn stretches(requests: Vec<(Key, Nanos)>) -> Vec<Vec<(Key, Nanos)>> {
    let mut all: Vec<Vec<(Key, Nanos)>> = Vec::new();
    for (key, at) in requests {
        match all.last_mut() {
            Some(last)
                if last
                    .last()
                    .is_some_and(|(l, _)| l.op == key.op && end(l) == key.sector) =>
            {
                last.push((key, at));
            }
            _ => all.push(vec![(key, at)]),
        }
    }
    all
}
