//! The searches.

use super::{Found, PlanError, Point, Subject};
use iosonar_analysis::objective::{Judgement, Objective};

/// The most simulations of a search.
const MOST_POINTS: usize = 40;

fn look(
    found: &mut Found,
    subject: &impl Subject,
    objective: &Objective,
    load: f64,
    watch: &mut dyn FnMut(&Point),
) -> Result<Judgement, PlanError> {
    if let Some(known) = found.of(load) {
        return Ok(known.verdict);
    }
    let point = subject.point(load, objective)?;
    watch(&point);
    let verdict = point.verdict;
    found.add(point);
    Ok(verdict)
}

/// The highest load up to `capacity` (where that is known) whose response time meets the target, to a
/// share of `within`: by theory first, then from there by simulations. `watch` sees each. `start` is a
/// load to begin with where theory does not know.
///
/// # Errors
/// If a simulation fails.
pub fn highest(
    subject: &impl Subject,
    objective: &Objective,
    (start, capacity): (f64, Option<f64>),
    within: f64,
    watch: &mut dyn FnMut(&Point),
) -> Result<Found, PlanError> {
    let mut found = Found {
        by_theory: by_theory(subject, objective, capacity)?,
        ..Found::default()
    };
    let most = capacity.unwrap_or(f64::INFINITY);
    let begin = found.by_theory.unwrap_or(start).min(0.98 * most);
    // Away from there until the target lies between two loads.
    let (mut low, mut high) = (None, None);
    let (mut load, mut step) = (begin, 2.0 * within.max(0.005));
    while found.points.len() < MOST_POINTS {
        if look(&mut found, subject, objective, load, watch)? == Judgement::Meets {
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
        // So little is no load at all.
        if load < 1e-3 * capacity.unwrap_or(begin).min(begin) {
            break;
        }
        step *= 2.0;
    }
    while let (Some(l), Some(h)) = (low, high) {
        if h / l - 1.0 <= within || found.points.len() >= MOST_POINTS {
            break;
        }
        // Far apart by orders of magnitude.
        let middle = match h / l > 2.0 {
            true => (l * h).sqrt(),
            false => f64::midpoint(l, h),
        };
        if look(&mut found, subject, objective, middle, watch)? == Judgement::Meets {
            low = Some(middle);
        } else {
            high = Some(middle);
        }
    }
    found.best = low.and_then(|load| found.of(load).cloned());
    found.next = high.and_then(|load| found.of(load).cloned());
    Ok(found)
}

/// The highest load that theory says meets the target.
fn by_theory(
    subject: &impl Subject,
    objective: &Objective,
    capacity: Option<f64>,
) -> Result<Option<f64>, PlanError> {
    let Some(capacity) = capacity else {
        return Ok(None);
    };
    let (mut low, mut high) = (0.0, capacity);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        match subject.theory(middle, objective)? {
            None => return Ok(None),
            Some(value) if objective.is_kept_by(value) => low = middle,
            Some(_) => high = middle,
        }
        if high - low < 1e-3 * capacity {
            break;
        }
    }
    Ok((low > 0.0).then_some(low))
}

/// The fewest of `candidates`, in ascending order, that meet the target. By theory first, and then by simulations
/// from there, as if more were no worse; then all fewer of which theory leaves it open, from the fewest up.
///
/// # Errors
/// If there are no candidates, or a simulation fails.
pub fn fewest(
    subject: &impl Subject,
    objective: &Objective,
    candidates: &[u32],
    watch: &mut dyn FnMut(&Point),
) -> Result<Found, PlanError> {
    if candidates.is_empty() {
        return Err(PlanError::DoesNotFit(
            "there is nothing to choose from".to_owned(),
        ));
    }
    let at = |i: usize| f64::from(candidates[i]);
    let mut found = Found::default();
    let begin = first(candidates.len(), |i| {
        let value = subject.theory(at(i), objective)?;
        Ok(value.map(|value| objective.is_kept_by(value)))
    })?;
    found.by_theory = begin.filter(|&i| i < candidates.len()).map(at);
    let begin = begin.unwrap_or(0).min(candidates.len() - 1);
    // The largest that is not enough and the smallest that is, as far as they are known; away from the
    // beginning ever faster, and then between.
    let (mut next, mut best) = (None, None);
    let (mut i, mut step) = (begin, 1);
    while found.points.len() < MOST_POINTS {
        if look(&mut found, subject, objective, at(i), watch)? == Judgement::Meets {
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
        if subject.may_meet(at(i), objective)?
            && look(&mut found, subject, objective, at(i), watch)? == Judgement::Meets
        {
            best = Some(i);
            break;
        }
    }
    if let Some(below) = best.and_then(|i| i.checked_sub(1)) {
        look(&mut found, subject, objective, at(below), watch)?;
        next = Some(below);
    } else if best.is_some() {
        next = None;
    }
    found.best = best.and_then(|i| found.of(at(i)).cloned());
    found.next = next.and_then(|i| found.of(at(i)).cloned());
    Ok(found)
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

/// The most of 1 to `most` that meet the target; fewer are taken to be no worse.
///
/// # Errors
/// If a simulation fails.
pub fn most(
    subject: &impl Subject,
    objective: &Objective,
    most: u32,
    watch: &mut dyn FnMut(&Point),
) -> Result<Found, PlanError> {
    let mut found = Found::default();
    let breaks = first(most as usize, |i| {
        let value = subject.theory((i + 1) as f64, objective)?;
        Ok(value.map(|value| !objective.is_kept_by(value)))
    })?;
    found.by_theory = breaks.filter(|&n| n > 0).map(|n| n as f64);
    // The last that meets and the first that does not, as far as they are known.
    let (mut low, mut high) = (0, most + 1);
    let mut n = breaks.map_or(1, |n| (n as u32).clamp(1, most));
    let mut step = 1;
    while high - low > 1 && found.points.len() < MOST_POINTS {
        if look(&mut found, subject, objective, f64::from(n), watch)? == Judgement::Meets {
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
        if low == most || high == 1 {
            break;
        }
    }
    found.best = found.of(f64::from(low)).cloned();
    found.next = found.of(f64::from(high)).cloned();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Simulated;
    use iosonar_stats::Estimate;

    /// A response time of 1 / (10 - load), known to a percent; theory is off by a factor.
    struct Known {
        theory: Option<f64>,
    }

    impl Subject for Known {
        fn theory(&self, load: f64, _: &Objective) -> Result<Option<f64>, PlanError> {
            let value = |factor| factor / (10.0 - load).max(0.0);
            Ok(self.theory.map(value))
        }

        fn simulate(&self, load: f64, objective: &Objective) -> Result<Simulated, PlanError> {
            let mean = 1.0 / (10.0 - load);
            let estimate = Estimate {
                mean,
                stderr: mean / 1000.0,
                values: 10,
            };
            Ok(if load < 10.0 {
                Simulated::of_estimate(objective, 1000, estimate)
            } else {
                Simulated::Unsteady
            })
        }
    }

    fn objective() -> Objective {
        "mean < 1ms".parse().unwrap()
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
    fn the_most_jobs_are_found_whatever_theory_says() {
        for theory in [None, Some(1.0), Some(0.3), Some(9.5)] {
            let found = most(&Known { theory }, &objective(), 64, &mut |_| ()).unwrap();
            assert_eq!(found.best.map(|p| p.load), Some(8.0), "{theory:?}");
            assert_eq!(found.next.map(|p| p.load), Some(9.0), "{theory:?}");
        }
        let few = most(&Known { theory: None }, &objective(), 5, &mut |_| ()).unwrap();
        assert_eq!((few.best.map(|p| p.load), few.next), (Some(5.0), None));
    }

    /// A response time of 1 / n.
    struct Shrinking(bool);

    impl Subject for Shrinking {
        fn theory(&self, load: f64, _: &Objective) -> Result<Option<f64>, PlanError> {
            Ok(self.0.then_some(1.2 / load))
        }

        fn simulate(&self, load: f64, objective: &Objective) -> Result<Simulated, PlanError> {
            let estimate = Estimate {
                mean: 1.0 / load,
                stderr: 1e-6,
                values: 10,
            };
            Ok(Simulated::of_estimate(objective, 1000, estimate))
        }
    }

    #[test]
    fn the_fewest_are_found_whatever_theory_says() {
        let tenth: Objective = "mean < 0.1ms".parse().unwrap();
        let candidates: Vec<u32> = (3..60).collect();
        for known in [true, false] {
            let found = fewest(&Shrinking(known), &tenth, &candidates, &mut |_| ()).unwrap();
            assert_eq!(found.best.map(|p| p.load), Some(11.0));
            assert_eq!(found.next.map(|p| p.load), Some(10.0));
        }
        let none = fewest(&Shrinking(true), &tenth, &[3, 4, 5], &mut |_| ()).unwrap();
        assert!(none.best.is_none() && none.next.is_some());
    }

    /// Good enough with 6 and from 20 on; theory of unknown accuracy expects it from 19 on.
    struct WithAGap;

    impl Subject for WithAGap {
        fn theory(&self, load: f64, _: &Objective) -> Result<Option<f64>, PlanError> {
            Ok(Some(if load >= 19.0 { 0.5 } else { 2.0 }))
        }

        fn simulate(&self, load: f64, objective: &Objective) -> Result<Simulated, PlanError> {
            let estimate = Estimate {
                mean: if load == 6.0 || load >= 20.0 {
                    0.5
                } else {
                    2.0
                },
                stderr: 1e-6,
                values: 10,
            };
            Ok(Simulated::of_estimate(objective, 1000, estimate))
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
}
