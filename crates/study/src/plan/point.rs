//! A load that was looked at, and the outcome of each target there.

use iosonar_analysis::objective::{Attained, Judgement};
use iosonar_scenario::{NotCleaned, OnCredit};

/// What simulations of a load found of a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TargetOutcome {
    /// Its statistic, and the verdict on it.
    Known(Attained),
    /// A run was stopped early, as it is certain to miss the target.
    Over,
    /// A run was stopped early, as it is certain to miss another target.
    Stopped,
    /// There is no steady state.
    Unsteady,
    /// The system is too small for the addresses of the load.
    TooSmall,
}

impl TargetOutcome {
    /// What was found, where the runs went to their end.
    pub fn attained(&self) -> Option<&Attained> {
        match self {
            Self::Known(attained) => Some(attained),
            Self::Over | Self::Stopped | Self::Unsteady | Self::TooSmall => None,
        }
    }

    /// The verdict on the target; `None` where the runs were stopped for another.
    pub fn verdict(&self) -> Option<Judgement> {
        match self {
            Self::Known(attained) => Some(attained.verdict),
            Self::Over | Self::TooSmall => Some(Judgement::Misses),
            Self::Stopped => None,
            Self::Unsteady => Some(Judgement::Unstable),
        }
    }
}

/// Why a longer run may find longer times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Caveat {
    /// Flash, or the cache of a shingled drive, was not cleaned as in a longer run.
    NotCleaned(NotCleaned),
    /// The load uses credits of a limit faster than it earns them.
    OnCredit(OnCredit),
}

/// A load that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Requests per second, disks, jobs, copies, or how many times as much as now.
    pub load: f64,
    /// What theory says of each target, in its unit; `None` where it does not know.
    pub theory: Vec<Option<f64>>,
    /// The outcome of each target, in their order.
    pub outcomes: Vec<TargetOutcome>,
    /// Why its flash was not cleaned as in a longer run: a drive that is fuller is slower.
    pub not_cleaned: Option<NotCleaned>,
    /// The credits of a limit that it lived on: once they are used up, it is slower.
    pub on_credit: Option<OnCredit>,
}

impl Point {
    /// Why a longer run may find longer times.
    pub fn caveats(&self) -> impl Iterator<Item = Caveat> + use<> {
        let not_cleaned = self.not_cleaned.map(Caveat::NotCleaned);
        not_cleaned
            .into_iter()
            .chain(self.on_credit.map(Caveat::OnCredit))
    }

    /// Whether the system is too small for the addresses of the load.
    pub fn is_too_small(&self) -> bool {
        self.outcomes.contains(&TargetOutcome::TooSmall)
    }

    /// The verdict on all targets: the worst of theirs.
    pub fn verdict(&self) -> Judgement {
        Judgement::worst(self.outcomes.iter().filter_map(TargetOutcome::verdict))
    }

    /// Whether it meets all targets.
    pub fn meets(&self) -> bool {
        self.verdict() == Judgement::Meets
    }

    /// Whether it certainly does not meet all targets.
    pub fn is_ruled_out(&self) -> bool {
        match self.verdict() {
            Judgement::Misses | Judgement::Unstable => true,
            Judgement::Meets | Judgement::Unclear | Judgement::TooShort => false,
        }
    }

    /// Whether it meets the target of this number.
    pub fn meets_target(&self, target: usize) -> bool {
        self.outcomes[target].verdict() == Some(Judgement::Meets)
    }

    /// The number of the target that it is farthest from meeting; `None` if it meets all of them.
    pub fn worst_target(&self) -> Option<usize> {
        let how_bad = |of: &TargetOutcome| {
            let rank = of.verdict().map_or(0, Judgement::rank);
            let strain = of.attained().map_or(f64::INFINITY, Attained::strain);
            (rank, strain)
        };
        let mut worst = None;
        for (i, of) in self.outcomes.iter().enumerate() {
            let (rank, strain) = how_bad(of);
            let is_worse = worst.is_none_or(|(_, of)| (rank, strain) > of);
            if rank > 0 && is_worse {
                worst = Some((i, (rank, strain)));
            }
        }
        worst.map(|(i, _)| i)
    }

    /// How many times as bad as its limit the worst target's statistic is; `None` where one is not known.
    pub fn strain(&self) -> Option<f64> {
        let of = |outcome: &TargetOutcome| outcome.attained().map(Attained::strain);
        let all: Option<Vec<f64>> = self.outcomes.iter().map(of).collect();
        all?.into_iter().reduce(f64::max)
    }
}

/// Why no more was tried although the best load is the most that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// It is the largest number that may be tried.
    Number,
    /// It is the largest number that may be tried within the memory.
    Memory,
    /// The recording is too short to show more.
    Recording,
    /// More copies of the recording would reach beyond the end of the array.
    Space,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The best load that meets all targets.
    pub best: Option<Point>,
    /// The nearest one that does not.
    pub next: Option<Point>,
    /// What theory alone says.
    pub by_theory: Option<f64>,
    /// All that was simulated, by load.
    pub points: Vec<Point>,
    /// Why the best one may not be the best that there is, or why none was found.
    pub bound: Option<Bound>,
}

impl Found {
    pub(super) fn add(&mut self, point: Point) {
        let at = self.points.partition_point(|p| p.load < point.load);
        self.points.insert(at, point);
    }

    pub(super) fn of(&self, load: f64) -> Option<&Point> {
        self.points.iter().find(|p| p.load == load)
    }

    /// Why a longer run may find that the best load does not meet the targets. A load that misses them misses them all the
    /// more in a longer run.
    pub fn caveats(&self) -> impl Iterator<Item = Caveat> {
        self.best.iter().flat_map(Point::caveats)
    }

    /// The number of the target that is missed first, beyond the best load or at the nearest one; `None` if too little was
    /// simulated there to say.
    pub fn missed_first(&self) -> Option<usize> {
        let next = self.next.as_ref()?;
        match next.verdict() {
            Judgement::TooShort => None,
            _ => next.worst_target(),
        }
    }

    /// Whether it is certain that none of the loads that were tried meets the targets.
    pub fn is_none_possible(&self) -> bool {
        self.points.iter().all(Point::is_ruled_out)
    }

    /// Whether a better load than the best one may meet the targets, too: of the nearest one this is not certain.
    pub fn is_only_confirmed(&self) -> bool {
        let is_unsure = |next: &Point| !next.is_ruled_out();
        self.best.is_some() && self.next.as_ref().is_some_and(is_unsure)
    }

    /// Whether a better load than the best one was not tried, as [`Found::bound`] says.
    pub fn is_most(&self) -> bool {
        self.best.is_some() && self.bound.is_some()
    }

    /// The nearest load beyond the best one that certainly does not meet the targets.
    pub fn ruled_out(&self) -> Option<f64> {
        let (best, next) = (self.best.as_ref()?.load, self.next.as_ref()?.load);
        let is_beyond = |point: &&Point| match next > best {
            true => point.load > best,
            false => point.load < best,
        };
        let ruled_out = self.points.iter().filter(is_beyond);
        let loads = ruled_out.filter(|point| point.is_ruled_out());
        let away = |load: &f64| (load - best).abs();
        loads
            .map(|point| point.load)
            .min_by(|a, b| away(a).total_cmp(&away(b)))
    }

    /// The load that comes nearest to meeting all targets.
    pub fn nearest(&self) -> Option<&Point> {
        let known = self.points.iter();
        let known = known.filter_map(|point| Some((point, point.strain()?)));
        known
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(point, _)| point)
    }

    /// The smallest load that was tried and meets the target of this number, and the largest up to which all that were
    /// tried do.
    pub fn range_of(&self, target: usize) -> Option<(f64, f64)> {
        let first = self.points.iter().position(|p| p.meets_target(target))?;
        let met = self.points[first..].iter();
        let last = met.take_while(|p| p.meets_target(target)).last()?;
        Some((self.points[first].load, last.load))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_stats::Estimate;

    /// A point with these means of `mean < 10ms` and `throughput > 100`.
    fn point(load: f64, mean_ms: f64, per_s: f64) -> Point {
        let known = |target: &str, mean: f64| {
            let estimate = Estimate {
                mean,
                stderr: mean / 1e3,
                values: 10,
            };
            TargetOutcome::Known(Attained::of_estimate(
                target.parse().unwrap(),
                1000,
                estimate,
            ))
        };
        Point {
            load,
            theory: vec![None; 2],
            outcomes: vec![
                known("mean < 10ms", mean_ms),
                known("throughput > 100", per_s),
            ],
            not_cleaned: None,
            on_credit: None,
        }
    }

    #[test]
    fn the_worst_target_is_the_one_farthest_from_its_limit() {
        assert_eq!(point(1.0, 9.0, 200.0).worst_target(), None);
        assert_eq!(point(1.0, 11.0, 200.0).worst_target(), Some(0));
        assert_eq!(point(1.0, 9.0, 50.0).worst_target(), Some(1));
        assert_eq!(point(1.0, 30.0, 50.0).worst_target(), Some(0));
        assert_eq!(point(1.0, 30.0, 10.0).worst_target(), Some(1));
        // Within its interval is not as bad as beyond it.
        assert_eq!(point(1.0, 10.0, 99.0).worst_target(), Some(1));
        let stopped = Point {
            outcomes: vec![TargetOutcome::Stopped, TargetOutcome::Over],
            ..point(1.0, 1.0, 1.0)
        };
        assert_eq!(stopped.worst_target(), Some(1));
        assert_eq!(stopped.verdict(), Judgement::Misses);
        assert_eq!(stopped.strain(), None);
    }

    #[test]
    fn the_nearest_load_is_the_one_whose_worst_target_is_least_bad() {
        let mut found = Found::default();
        for (load, mean_ms, per_s) in [(1.0, 5.0, 20.0), (4.0, 12.0, 80.0), (8.0, 30.0, 120.0)] {
            found.add(point(load, mean_ms, per_s));
        }
        assert_eq!(found.nearest().map(|point| point.load), Some(4.0));
        assert_eq!(found.range_of(0), Some((1.0, 1.0)));
        assert_eq!(found.range_of(1), Some((8.0, 8.0)));
    }
}
