//! The searches.

use super::{Bound, Found, PlanError, Point, Subject};
use iosonar_analysis::objective::{Judgement, Objective, Statistic};

/// The most simulations of a search.
const MOST_POINTS: usize = 40;

/// A system that cannot sustain this share of a load is too small by orders of magnitude.
pub(super) const LEAST: f64 = 0.001;

/// A search for loads that meet all targets. Each load is simulated once, whatever the number of targets.
struct Search<'a, S> {
    subject: &'a S,
    targets: &'a [Objective],
    watch: &'a mut dyn FnMut(&Point),
    found: Found,
}

impl<'a, S: Subject> Search<'a, S> {
    fn new(subject: &'a S, targets: &'a [Objective], watch: &'a mut dyn FnMut(&Point)) -> Self {
        Self {
            subject,
            targets,
            watch,
            found: Found::default(),
        }
    }

    /// Whether a load meets those of the targets that count.
    fn meets_those(
        &mut self,
        load: f64,
        counts: fn(&Objective) -> bool,
    ) -> Result<bool, PlanError> {
        if self.found.of(load).is_none() {
            let point = self.subject.point(load, self.targets)?;
            (self.watch)(&point);
            self.found.add(point);
        }
        let targets = self.targets.iter().enumerate();
        let mut counting = targets.filter(|(_, target)| counts(target));
        let point = self.found.of(load);
        Ok(point.is_some_and(|point| counting.all(|(i, _)| point.meets_target(i))))
    }

    fn meets(&mut self, load: f64) -> Result<bool, PlanError> {
        self.meets_those(load, |_| true)
    }

    /// Whether theory says that a load meets those of the targets that count; `None` where it does not know.
    fn meets_by_theory(
        &self,
        load: f64,
        counts: fn(&Objective) -> bool,
    ) -> Result<Option<bool>, PlanError> {
        let mut meets = true;
        for target in self.targets.iter().filter(|target| counts(target)) {
            match self.subject.theory(load, target)? {
                None => return Ok(None),
                Some(value) => meets &= target.is_kept_by(value),
            }
        }
        Ok(Some(meets))
    }

    /// Whether theory leaves it open that a load meets all targets although a larger one does not.
    fn may_meet(&self, load: f64) -> Result<bool, PlanError> {
        for target in self.targets {
            if !self.subject.may_meet(load, target)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The largest load that was tried and meets all targets, and the next larger one that was tried.
    fn largest_that_meets(&self) -> Option<(f64, Option<f64>)> {
        let points = &self.found.points;
        let last = points.iter().rposition(Point::meets)?;
        Some((points[last].load, points.get(last + 1).map(|p| p.load)))
    }

    /// Whether a load was tried and has no steady state.
    fn is_unstable(&self, load: f64) -> bool {
        let point = self.found.of(load);
        point.is_some_and(|point| point.verdict() == Judgement::Unstable)
    }

    fn is_over(&self) -> bool {
        self.found.points.len() >= MOST_POINTS
    }

    /// What was found, with the best load and the nearest one that does not meet the targets.
    fn finish(mut self, best: Option<f64>, next: Option<f64>) -> Found {
        self.found.best = best.and_then(|load| self.found.of(load).cloned());
        self.found.next = next.and_then(|load| self.found.of(load).cloned());
        self.found
    }
}

/// The highest load up to `capacity` (where that is known) whose response time meets the targets, to a
/// share of `within`: by theory first, then from there by simulations. `watch` sees each. `start` is a
/// load to begin with where theory does not know.
///
/// # Errors
/// If a simulation fails.
pub fn highest(
    subject: &impl Subject,
    targets: &[Objective],
    (start, capacity): (f64, Option<f64>),
    within: f64,
    watch: &mut dyn FnMut(&Point),
) -> Result<Found, PlanError> {
    let mut search = Search::new(subject, targets, watch);
    search.found.by_theory = by_theory(&search, capacity)?;
    let most = capacity.unwrap_or(f64::INFINITY);
    let begin = search.found.by_theory.unwrap_or(start).min(0.98 * most);
    // Away from there until the targets' limit lies between two loads.
    let (mut low, mut high) = (None, None);
    let (mut load, mut step) = (begin, 2.0 * within.max(0.005));
    while !search.is_over() {
        if search.meets(load)? {
            low = Some(load);
        } else {
            high = Some(load);
        }
        load = match (low, high) {
            (Some(_), Some(_)) => break,
            (Some(low), None) if low >= 0.999 * most => break,
            (Some(low), None) => (low * (1.0 + step)).min(0.999 * most),
            (None, Some(high)) => high / (1.0 + step),
            (None, None) => break,
        };
        let least = LEAST * capacity.unwrap_or(begin).min(begin);
        if load < least {
            if high.is_some_and(|high| high <= least) {
                break;
            }
            load = least;
        }
        step *= 2.0;
    }
    while let (Some(l), Some(h)) = (low, high) {
        if h / l - 1.0 <= within || search.is_over() {
            break;
        }
        // Far apart by orders of magnitude.
        let middle = match h / l > 2.0 {
            true => (l * h).sqrt(),
            false => f64::midpoint(l, h),
        };
        if search.meets(middle)? {
            low = Some(middle);
        } else {
            high = Some(middle);
        }
    }
    Ok(search.finish(low, high))
}

/// The highest load that theory says meets the targets.
fn by_theory<S: Subject>(
    search: &Search<'_, S>,
    capacity: Option<f64>,
) -> Result<Option<f64>, PlanError> {
    let Some(capacity) = capacity else {
        return Ok(None);
    };
    let (mut low, mut high) = (0.0, capacity);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        match search.meets_by_theory(middle, |_| true)? {
            None => return Ok(None),
            Some(true) => low = middle,
            Some(false) => high = middle,
        }
        if high - low < 1e-3 * capacity {
            break;
        }
    }
    Ok((low > 0.0).then_some(low))
}

/// The fewest of `candidates`, in ascending order, that meet the targets. By theory first, and then by simulations
/// from there, as if more were no worse; then all fewer of which theory leaves it open, from the fewest up.
///
/// # Errors
/// If there are no candidates, or a simulation fails.
pub fn fewest(
    subject: &impl Subject,
    targets: &[Objective],
    candidates: &[u32],
    watch: &mut dyn FnMut(&Point),
) -> Result<Found, PlanError> {
    if candidates.is_empty() {
        return Err(PlanError::DoesNotFit(
            "there are no candidates to choose from".to_owned(),
        ));
    }
    let at = |i: usize| f64::from(candidates[i]);
    let mut search = Search::new(subject, targets, watch);
    let begin = first(candidates.len(), |i| {
        search.meets_by_theory(at(i), |_| true)
    })?;
    search.found.by_theory = begin.filter(|&i| i < candidates.len()).map(at);
    let begin = begin.unwrap_or(0).min(candidates.len() - 1);
    // The largest that is not enough and the smallest that is, as far as they are known; away from the
    // beginning ever faster, and then between.
    let (mut next, mut best) = (None, None);
    let (mut i, mut step) = (begin, 1);
    while !search.is_over() {
        if search.meets(at(i))? {
            best = Some(i);
        } else {
            next = Some(i);
        }
        i = match (next, best) {
            (Some(low), Some(high)) if high - low <= 1 => break,
            (Some(low), Some(high)) => usize::midpoint(low, high),
            (None, Some(0)) => break,
            (None, Some(high)) => high.saturating_sub(step),
            (Some(low), _) if low + 1 == candidates.len() => break,
            (Some(low), _) => (low + step).min(candidates.len() - 1),
            (None, None) => break,
        };
        step *= 2;
    }
    for i in 0..best.unwrap_or(candidates.len()) {
        if search.may_meet(at(i))? && search.meets(at(i))? {
            best = Some(i);
            break;
        }
    }
    if let Some(below) = best.and_then(|i| i.checked_sub(1)) {
        search.meets(at(below))?;
        next = Some(below);
    } else if best.is_some() {
        next = None;
    }
    if best.is_none() && next == Some(candidates.len() - 1) {
        search.found.bound = Some(Bound::Number);
    }
    Ok(search.finish(best.map(at), next.map(at)))
}

/// The first of `n` of which a property holds that holds for all behind it, too; `n` if it holds for none,
/// `None` where that is not known.
fn first(
    n: usize,
    holds: impl Fn(usize) -> Result<Option<bool>, PlanError>,
) -> Result<Option<usize>, PlanError> {
    let (mut low, mut high) = (0, n);
    while low < high {
        let middle = usize::midpoint(low, high);
        match holds(middle)? {
            None => return Ok(None),
            Some(true) => high = middle,
            Some(false) => low = middle + 1,
        }
    }
    Ok(Some(low))
}

/// Whether more jobs come nearer to a target, not farther from it.
fn is_throughput(target: &Objective) -> bool {
    target.statistic == Statistic::Throughput
}

/// The most of 1 to `most` that meet the targets. Fewer are taken to have no longer response times: so these say how many
/// may be. If that number misses a throughput, some fewer are tried, for contention, and then whether more reach it.
/// Too few to have a steady state, as for blocks that wait until they are full, say nothing of more: the number that the
/// scenario has itself (`own`) is tried, too.
///
/// # Errors
/// If a simulation fails.
pub fn most(
    subject: &impl Subject,
    targets: &[Objective],
    (most, own): (u32, Option<u32>),
    watch: &mut dyn FnMut(&Point),
) -> Result<Found, PlanError> {
    let mut own = own.filter(|own| (2..=most).contains(own));
    let is_time: fn(&Objective) -> bool = |target| !is_throughput(target);
    let mut search = Search::new(subject, targets, watch);
    let breaks = first(most as usize, |i| {
        let meets = search.meets_by_theory((i + 1) as f64, is_time)?;
        Ok(meets.map(|meets| !meets))
    })?;
    // The last that meets and the first that does not, as far as they are known.
    let (mut low, mut high) = (0, most + 1);
    let mut n = breaks.map_or(1, |n| (n as u32).clamp(1, most));
    let mut step = 1;
    while high - low > 1 && !search.is_over() {
        if search.meets_those(f64::from(n), is_time)? {
            low = n;
        } else {
            high = n;
        }
        n = match (low, high) {
            (0, high) => high.saturating_sub(step).max(1),
            (low, high) if high > most => (low + step).min(most),
            (low, high) => u32::midpoint(low, high),
        };
        step *= 2;
        if low == most {
            break;
        }
        if high == 1 {
            match own.take() {
                Some(own) if search.is_unstable(1.0) => (n, high, step) = (own, most + 1, 1),
                _ => break,
            }
        }
    }
    let at_low = f64::from(low);
    let by_theory = breaks.filter(|&n| n > 0).map(|n| n as f64);
    if let Some(n) = by_theory
        && search.meets_by_theory(n, is_throughput)? == Some(true)
    {
        search.found.by_theory = Some(n);
    }
    if low > 0 && !search.meets(at_low)? {
        // Contention may make fewer reach what more do not.
        for n in std::iter::successors(Some(1), |n| Some(2 * n)).take_while(|&n| n < low) {
            if search.largest_that_meets().is_some() || search.is_over() {
                break;
            }
            search.meets(f64::from(n))?;
        }
        if let Some((best, next)) = search.largest_that_meets() {
            return Ok(search.finish(Some(best), next));
        }
        find_throughput(&mut search, low, most)?;
        return Ok(search.finish(None, Some(at_low)));
    }
    search.found.bound = (low == most).then_some(Bound::Number);
    Ok(search.finish(Some(at_low), Some(f64::from(high))))
}

/// Looks for the fewest of more than `low` and up to `most` that reach the throughputs, so that it is known whether any do.
fn find_throughput<S: Subject>(
    search: &mut Search<'_, S>,
    low: u32,
    most: u32,
) -> Result<(), PlanError> {
    let (mut low, mut high, mut step) = (low, None, 1);
    while !search.is_over() {
        let n = match high {
            None if low == most => break,
            None => low.saturating_add(step).min(most),
            Some(high) if high - low <= 1 => break,
            Some(high) => u32::midpoint(low, high),
        };
        match search.meets_those(f64::from(n), is_throughput)? {
            true => high = Some(n),
            false => low = n,
        }
        step *= 2;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Simulated, TargetOutcome};
    use iosonar_stats::Estimate;

    /// The same figure for each target.
    fn known(targets: &[Objective], estimate: Estimate) -> Simulated {
        let outcomes = targets
            .iter()
            .map(|target| Simulated::of_estimate(target, 1000, estimate));
        Simulated {
            outcomes: outcomes.collect(),
            not_cleaned: None,
            on_credit: None,
        }
    }

    /// A response time of 1 / (10 - load), known to a percent; theory is off by a factor.
    struct Known {
        theory: Option<f64>,
    }

    impl Subject for Known {
        fn theory(&self, load: f64, _: &Objective) -> Result<Option<f64>, PlanError> {
            let value = |factor| factor / (10.0 - load).max(0.0);
            Ok(self.theory.map(value))
        }

        fn simulate(&self, load: f64, targets: &[Objective]) -> Result<Simulated, PlanError> {
            let mean = 1.0 / (10.0 - load);
            let estimate = Estimate {
                mean,
                stderr: mean / 1000.0,
                values: 10,
            };
            Ok(if load < 10.0 {
                known(targets, estimate)
            } else {
                Simulated::all(targets, TargetOutcome::Unsteady)
            })
        }
    }

    fn objective() -> [Objective; 1] {
        ["mean < 1ms".parse().unwrap()]
    }

    #[test]
    fn the_highest_load_is_found_whatever_theory_says() {
        for theory in [None, Some(1.0), Some(0.3), Some(5.0)] {
            let subject = Known { theory };
            let mut seen = 0;
            let found = highest(&subject, &objective(), (4.0, Some(10.0)), 0.01, &mut |_| {
                seen += 1;
            });
            let found = found.unwrap();
            let (best, next) = (found.best.unwrap(), found.next.unwrap());
            assert!(best.load <= 9.0 && best.load > 8.85, "{theory:?} {best:?}");
            assert!(next.load > best.load && next.load / best.load < 1.011);
            assert_eq!(seen, found.points.len());
            assert!(found.points.is_sorted_by_key(|p| (p.load * 1e9) as u64));
        }
        // Without a capacity, from the start upwards.
        let subject = Known { theory: None };
        let found = highest(&subject, &objective(), (0.5, None), 0.01, &mut |_| ()).unwrap();
        assert!(found.best.unwrap().load > 8.85);
    }

    #[test]
    fn a_small_part_of_the_load_is_found() {
        /// Meets the target up to this load.
        struct UpTo(f64);
        impl Subject for UpTo {
            fn theory(&self, _: f64, _: &Objective) -> Result<Option<f64>, PlanError> {
                Ok(None)
            }

            fn simulate(&self, load: f64, targets: &[Objective]) -> Result<Simulated, PlanError> {
                let mean = if load <= self.0 { 0.5 } else { 2.0 };
                let estimate = Estimate {
                    mean,
                    stderr: 1e-6,
                    values: 10,
                };
                Ok(known(targets, estimate))
            }
        }
        for most in [0.5, 0.02, 0.003, 0.0011] {
            let found = highest(&UpTo(most), &objective(), (1.0, None), 0.01, &mut |_| ());
            let best = found.unwrap().best.map(|p| p.load);
            assert!(
                best.is_some_and(|b| b <= most && b > 0.98 * most),
                "{most} {best:?}"
            );
        }
        let found = highest(&UpTo(1e-4), &objective(), (1.0, None), 0.01, &mut |_| ()).unwrap();
        assert!(found.best.is_none() && found.points[0].load == 1e-3);
    }

    #[test]
    fn fewer_jobs_are_tried_where_contention_lowers_the_throughput() {
        /// 1000/s with one job, 400/s with more; a mean of a millisecond per job.
        struct Contended(bool);
        impl Subject for Contended {
            fn theory(&self, load: f64, target: &Objective) -> Result<Option<f64>, PlanError> {
                Ok(self.0.then_some(match is_throughput(target) {
                    true => 1000.0,
                    false => load,
                }))
            }

            fn simulate(&self, load: f64, targets: &[Objective]) -> Result<Simulated, PlanError> {
                let outcomes = targets.iter().map(|target| {
                    let mean = match is_throughput(target) {
                        true if load > 1.0 => 400.0,
                        true => 1000.0,
                        false => load,
                    };
                    let estimate = Estimate {
                        mean,
                        stderr: 1e-6,
                        values: 10,
                    };
                    Simulated::of_estimate(target, 1000, estimate)
                });
                Ok(Simulated {
                    outcomes: outcomes.collect(),
                    not_cleaned: None,
                    on_credit: None,
                })
            }
        }
        let targets = ["mean < 20ms", "throughput > 500"].map(|t| t.parse().unwrap());
        for knows in [true, false] {
            let found = most(&Contended(knows), &targets, (64, None), &mut |_| ()).unwrap();
            assert_eq!(found.best.map(|p| p.load), Some(1.0), "theory: {knows}");
            assert!(found.next.is_some_and(|p| !p.meets() && p.load > 1.0));
        }
    }

    #[test]
    fn the_most_jobs_are_found_whatever_theory_says() {
        for theory in [None, Some(1.0), Some(0.3), Some(9.5)] {
            let found = most(&Known { theory }, &objective(), (64, None), &mut |_| ()).unwrap();
            assert_eq!(found.best.map(|p| p.load), Some(8.0), "{theory:?}");
            assert_eq!(found.next.map(|p| p.load), Some(9.0), "{theory:?}");
        }
        let few = most(
            &Known { theory: None },
            &objective(),
            (5, None),
            &mut |_| (),
        )
        .unwrap();
        assert_eq!((few.best.map(|p| p.load), few.next), (Some(5.0), None));
    }

    /// A response time of 1 / n.
    struct Shrinking(bool);

    impl Subject for Shrinking {
        fn theory(&self, load: f64, _: &Objective) -> Result<Option<f64>, PlanError> {
            Ok(self.0.then_some(1.2 / load))
        }

        fn simulate(&self, load: f64, targets: &[Objective]) -> Result<Simulated, PlanError> {
            let estimate = Estimate {
                mean: 1.0 / load,
                stderr: 1e-6,
                values: 10,
            };
            Ok(known(targets, estimate))
        }
    }

    #[test]
    fn the_fewest_are_found_whatever_theory_says() {
        let tenth: [Objective; 1] = ["mean < 0.1ms".parse().unwrap()];
        let candidates: Vec<u32> = (3..60).collect();
        for known in [true, false] {
            let found = fewest(&Shrinking(known), &tenth, &candidates, &mut |_| ()).unwrap();
            assert_eq!(found.best.map(|p| p.load), Some(11.0));
            assert_eq!(found.next.map(|p| p.load), Some(10.0));
        }
        let none = fewest(&Shrinking(true), &tenth, &[3, 4, 5], &mut |_| ()).unwrap();
        assert!(none.best.is_none() && none.next.is_some());
        assert_eq!(none.bound, Some(Bound::Number));
    }

    /// Good enough with 6 and from 20 on; theory of unknown accuracy expects it from 19 on.
    struct WithAGap;

    impl Subject for WithAGap {
        fn theory(&self, load: f64, _: &Objective) -> Result<Option<f64>, PlanError> {
            Ok(Some(if load >= 19.0 { 0.5 } else { 2.0 }))
        }

        fn simulate(&self, load: f64, targets: &[Objective]) -> Result<Simulated, PlanError> {
            let estimate = Estimate {
                mean: if load == 6.0 || load >= 20.0 {
                    0.5
                } else {
                    2.0
                },
                stderr: 1e-6,
                values: 10,
            };
            Ok(known(targets, estimate))
        }

        fn may_meet(&self, _: f64, _: &Objective) -> Result<bool, PlanError> {
            Ok(true)
        }
    }

    #[test]
    fn the_fewest_are_found_where_more_are_worse() {
        let candidates: Vec<u32> = (1..60).collect();
        let found = fewest(&WithAGap, &objective(), &candidates, &mut |_| ()).unwrap();
        assert_eq!(found.best.map(|p| p.load), Some(6.0));
        assert_eq!(found.next.map(|p| p.load), Some(5.0));
        // All of these fail, from the fewest up.
        let found = fewest(&WithAGap, &objective(), &candidates[6..19], &mut |_| ()).unwrap();
        assert!(found.best.is_none());
        assert_eq!(found.points.len(), 13);
    }

    /// Jobs with a response time of `n` ms and a throughput of 10 `n` per second up to 200.
    struct Jobs;

    impl Subject for Jobs {
        fn theory(&self, _: f64, _: &Objective) -> Result<Option<f64>, PlanError> {
            Ok(None)
        }

        fn simulate(&self, load: f64, targets: &[Objective]) -> Result<Simulated, PlanError> {
            let outcome = |target: &Objective| {
                let mean = match is_throughput(target) {
                    true => (10.0 * load).min(200.0),
                    false => load,
                };
                let estimate = Estimate {
                    mean,
                    stderr: mean / 1e6,
                    values: 10,
                };
                Simulated::of_estimate(target, 1000, estimate)
            };
            Ok(Simulated {
                outcomes: targets.iter().map(outcome).collect(),
                not_cleaned: None,
                on_credit: None,
            })
        }
    }

    #[test]
    fn most_jobs_lie_between_a_response_time_and_a_throughput() {
        let jobs = |targets: [&str; 2]| {
            let targets = targets.map(|target| target.parse().unwrap());
            most(&Jobs, &targets, (64, None), &mut |_| ()).unwrap()
        };
        let loads = |found: &Found| {
            let load = |point: &Option<Point>| point.as_ref().map(|p| p.load);
            (load(&found.best), load(&found.next))
        };
        let both = jobs(["mean < 12.5ms", "throughput > 75"]);
        assert_eq!(loads(&both), (Some(12.0), Some(13.0)));
        assert_eq!(both.missed_first(), Some(0));
        // 12 jobs have no more than 120/s, and 16 are needed.
        let apart = jobs(["throughput > 155", "mean < 12.5ms"]);
        assert_eq!(loads(&apart), (None, Some(12.0)));
        assert_eq!(apart.missed_first(), Some(0));
        assert_eq!(apart.range_of(1).unwrap().1, 12.0);
        assert_eq!(apart.range_of(0).unwrap().0, 16.0);
        // No number reaches it.
        let never = jobs(["throughput > 205", "mean < 12.5ms"]);
        assert_eq!(loads(&never), (None, Some(12.0)));
        assert_eq!(never.range_of(0), None);
    }

    /// Blocks that wait until they are full never begin with fewer than 16 jobs; then each job adds 10 us.
    struct Blocks;

    impl Subject for Blocks {
        fn theory(&self, _: f64, _: &Objective) -> Result<Option<f64>, PlanError> {
            Ok(None)
        }

        fn simulate(&self, load: f64, targets: &[Objective]) -> Result<Simulated, PlanError> {
            if load < 16.0 {
                return Ok(Simulated::all(targets, TargetOutcome::Unsteady));
            }
            let estimate = Estimate {
                mean: 0.01 * load,
                stderr: 1e-6,
                values: 10,
            };
            Ok(known(targets, estimate))
        }
    }

    #[test]
    fn too_few_jobs_for_a_steady_state_do_not_end_the_search() {
        let best = |own: Option<u32>, target: &str| {
            let targets = [target.parse().unwrap()];
            let found = most(&Blocks, &targets, (64, own), &mut |_| ()).unwrap();
            (found.best.map(|point| point.load), found.points.len())
        };
        assert_eq!(best(Some(32), "mean < 0.405ms").0, Some(40.0));
        assert_eq!(best(Some(48), "mean < 0.405ms").0, Some(40.0));
        assert_eq!(best(Some(64), "mean < 1ms"), (Some(64.0), 2));
        // None that was tried meets it.
        assert_eq!(best(Some(20), "mean < 0.1ms").0, None);
        assert_eq!(best(None, "mean < 1ms"), (None, 1));
    }
}
