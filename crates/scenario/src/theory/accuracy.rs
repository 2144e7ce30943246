//! How far approximations were off where they were compared with long simulations.
//!
//! `cargo test --release -p iosonar-scenario --test accuracy -- --ignored --nocapture` draws the scenarios, compares
//! them, and prints the rows of the table. No factor was fitted to any of these scenarios, and the
//! test that always runs checks the table against further ones.

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

impl Family {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Self::ForkJoin => "requests to several disks",
            Self::Batches => "batches of requests to several disks",
            Self::StripeWrites => "partial-stripe writes of one size",
            Self::UnevenStripeWrites => "partial-stripe writes of one size, disks loaded unevenly",
            Self::MixedStripeWrites => "partial-stripe writes of several sizes or among reads",
            Self::RpoJoin => "requests to several disks with RPO",
        }
    }
}

/// How far an approximation is off in scenarios of a family up to a utilisation of the busiest disk: the largest error
/// that was measured, and a quarter more, for the next scenario may be worse than all before.
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
const MARGIN: f64 = 1.25;

/// The largest errors that were measured, rounded up to half a percent.
const MEASURED: [Accuracy; 19] = [
    row(Family::StripeWrites, 0.2, 0.020, Some(0.035), 24),
    row(Family::StripeWrites, 0.4, 0.030, Some(0.035), 24),
    row(Family::StripeWrites, 0.6, 0.035, Some(0.050), 24),
    row(Family::StripeWrites, 0.75, 0.050, Some(0.085), 24),
    row(Family::MixedStripeWrites, 0.2, 0.020, Some(0.035), 24),
    row(Family::MixedStripeWrites, 0.4, 0.055, Some(0.060), 24),
    row(Family::MixedStripeWrites, 0.6, 0.100, Some(0.095), 24),
    row(Family::MixedStripeWrites, 0.75, 0.125, Some(0.175), 24),
    row(Family::UnevenStripeWrites, 0.2, 0.090, Some(0.085), 24),
    row(Family::UnevenStripeWrites, 0.4, 0.100, Some(0.190), 24),
    row(Family::UnevenStripeWrites, 0.6, 0.145, Some(0.305), 24),
    row(Family::RpoJoin, 0.2, 0.040, None, 24),
    row(Family::RpoJoin, 0.4, 0.065, None, 24),
    row(Family::RpoJoin, 0.6, 0.105, None, 24),
    row(Family::ForkJoin, 0.2, 0.030, Some(0.040), 40),
    row(Family::ForkJoin, 0.4, 0.060, Some(0.055), 40),
    row(Family::ForkJoin, 0.6, 0.090, Some(0.070), 40),
    row(Family::ForkJoin, 0.75, 0.075, Some(0.120), 40),
    row(Family::Batches, 0.2, 0.095, Some(0.050), 40),
];

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
            assert_eq!(mean(first, 0.0), Some(1.25 * first.mean));
            assert_eq!(mean(last, last.utilisation), Some(1.25 * last.mean));
            assert_eq!(Accuracy::of(last.family, last.utilisation + 0.01), None);
            assert!(rows.iter().all(|row| row.scenarios >= 20 && row.mean < 0.5));
        }
    }
}
