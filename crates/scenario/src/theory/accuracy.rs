//! How far approximations were off where they were compared with long simulations.
//!
//! `cargo test --release -p iosonar-scenario --test accuracy -- --ignored --nocapture` draws the scenarios, compares
//! them, and prints the rows of the table. No factor was fitted to any of these scenarios, and the
//! test that always runs checks the table against further ones.

use iosonar_raid::Placement;
use iosonar_raid::rules::JoinOrder;
use iosonar_trace::Op;
use iosonar_workload::{Shape, Size};

use super::patterns::Class;
use crate::{ArrayModel, LevelOptions};

/// What is approximated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Requests that go to several disks at once.
    ForkJoin,
    /// The same where requests come in batches.
    Batches,
    /// Partial-stripe writes of one size, all disks loaded alike.
    StripeWrites,
    /// Partial-stripe writes of one size, where some disks get more than others.
    UnevenStripeWrites,
    /// Partial-stripe writes among reads, or of several sizes.
    MixedStripeWrites,
    /// Requests that go to several disks that use RPO.
    RpoJoin,
}

/// How far an approximation is off in scenarios of a family up to a utilisation of the busiest disk: the largest error
/// that was measured, and half as much again, for the next scenario may be worse than all before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// The family.
    pub family: Family,
    /// Up to this utilisation; from that of the row before.
    pub utilisation: f64,
    /// The error of the mean, as a share of it.
    pub mean: f64,
    /// The error of p99, as a share of it; `None` where only the mean is known.
    pub p99: Option<f64>,
    /// How many scenarios that rests on.
    pub scenarios: u32,
}

const fn row(
    family: Family,
    utilisation: f64,
    mean: f64,
    p99: Option<f64>,
    scenarios: u32,
) -> Accuracy {
    Accuracy {
        family,
        utilisation,
        mean,
        p99,
        scenarios,
    }
}

/// Factor by which the stated errors exceed the measured ones.
const MARGIN: f64 = 1.5;

/// The largest errors that were measured, rounded up to half a percent.
const MEASURED: [Accuracy; 21] = [
    row(Family::StripeWrites, 0.2, 0.025, Some(0.040), 40),
    row(Family::StripeWrites, 0.4, 0.035, Some(0.030), 40),
    row(Family::StripeWrites, 0.6, 0.040, Some(0.065), 40),
    row(Family::StripeWrites, 0.75, 0.060, Some(0.145), 40),
    row(Family::MixedStripeWrites, 0.2, 0.030, Some(0.055), 40),
    row(Family::MixedStripeWrites, 0.4, 0.055, Some(0.055), 40),
    row(Family::MixedStripeWrites, 0.6, 0.105, Some(0.095), 40),
    row(Family::MixedStripeWrites, 0.75, 0.110, Some(0.195), 40),
    row(Family::UnevenStripeWrites, 0.2, 0.080, Some(0.110), 40),
    row(Family::UnevenStripeWrites, 0.4, 0.115, Some(0.215), 40),
    row(Family::UnevenStripeWrites, 0.6, 0.280, Some(0.590), 40),
    row(Family::RpoJoin, 0.2, 0.055, None, 35),
    row(Family::RpoJoin, 0.4, 0.110, None, 30),
    row(Family::RpoJoin, 0.6, 0.170, None, 31),
    row(Family::ForkJoin, 0.2, 0.060, Some(0.060), 200),
    row(Family::ForkJoin, 0.4, 0.085, Some(0.120), 200),
    row(Family::ForkJoin, 0.6, 0.165, Some(0.095), 200),
    row(Family::ForkJoin, 0.75, 0.200, Some(0.140), 200),
    row(Family::Batches, 0.2, 0.160, Some(0.080), 40),
    row(Family::Batches, 0.4, 0.160, Some(0.100), 40),
    row(Family::Batches, 0.6, 0.160, Some(0.100), 40),
];

/// The most disks of an array, and the largest mean batch, that were measured.
const MOST_DISKS: usize = 12;
const LARGEST_BATCH: f64 = 3.0;

/// Whether arrays and loads like these are among those that were measured: of whole stripe units at random places,
/// not of too many disks, none of them failed.
pub(super) fn was_measured(array: &ArrayModel, classes: &[Class]) -> bool {
    let level = match &array.level {
        LevelOptions::Striped | LevelOptions::Mirrored { .. } => true,
        LevelOptions::Parity { groups, .. } => *groups == 1,
        LevelOptions::Linear { .. } | LevelOptions::Registered(_) => false,
    };
    level
        && array.placement == Placement::Random
        && array.failed.is_empty()
        && array.disks <= MOST_DISKS
        && classes
            .iter()
            .all(|class| class.batch.mean() <= LARGEST_BATCH)
}

/// What of requests of these classes, first come, first served, is approximated; `None` where that was not measured.
pub(super) fn family(
    array: &ArrayModel,
    shapes: &[&Shape],
    classes: &[Class],
    is_symmetric: bool,
) -> Option<Family> {
    if !classes.iter().any(Class::has_partial) {
        let single = classes.iter().all(Class::is_single);
        return Some(if single {
            Family::ForkJoin
        } else {
            Family::Batches
        });
    }
    // Where a disk that is freed goes to another request first, nothing was measured.
    if array.rules.join != JoinOrder::WritesFirst {
        return None;
    }
    let alike = match shapes {
        [only] => only.read_share == 0.0 && matches!(only.size_of(Op::Write), Size::Blocks(_)),
        _ => false,
    };
    match (alike, is_symmetric) {
        (true, true) => Some(Family::StripeWrites),
        (true, false) => Some(Family::UnevenStripeWrites),
        (false, true) => Some(Family::MixedStripeWrites),
        (false, false) => None,
    }
}

impl Accuracy {
    /// That of a family at a utilisation; `None` beyond the highest that was measured.
    pub fn of(family: Family, utilisation: f64) -> Option<Self> {
        let mut rows = MEASURED.into_iter().filter(|row| row.family == family);
        let row = rows.find(|row| utilisation <= row.utilisation)?;
        Some(Self {
            mean: MARGIN * row.mean,
            p99: row.p99.map(|p99| MARGIN * p99),
            ..row
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_family_ascend_and_nothing_is_claimed_beyond_the_last() {
        for rows in MEASURED.chunk_by(|a, b| a.family == b.family) {
            assert!(
                rows.windows(2)
                    .all(|pair| pair[0].utilisation < pair[1].utilisation)
            );
            let (first, last) = (rows[0], rows[rows.len() - 1]);
            let mean = |row: Accuracy, utilisation| {
                Accuracy::of(row.family, utilisation).map(|of| of.mean)
            };
            assert_eq!(mean(first, 0.0), Some(MARGIN * first.mean));
            assert_eq!(mean(last, last.utilisation), Some(MARGIN * last.mean));
            assert_eq!(Accuracy::of(last.family, last.utilisation + 0.01), None);
            assert!(rows.iter().all(|row| row.scenarios >= 20 && row.mean < 0.5));
        }
    }
}
