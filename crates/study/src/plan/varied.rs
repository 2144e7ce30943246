//! The same question for several values of keys, such as stripe units and sizes of caches.

use std::path::Path;

use iosonar_analysis::objective::Objective;
use iosonar_scenario::{Overrides, Prepared, holds};

use super::answer::{plan_prepared, sought_key};
use super::{Answer, PlanError, PlanSpec, Point, Sought};
use crate::vary::{Key, combinations};

/// What was planned with values of the keys.
#[derive(Debug)]
pub struct Planned {
    /// The values, in the order of the keys.
    pub values: Vec<String>,
    /// The system that was planned with.
    pub system: Prepared,
    /// The answer; the error if the target cannot be met at all.
    pub answer: Result<Answer, PlanError>,
}

impl Planned {
    /// Whether more may meet the target than was tried.
    pub fn is_most(&self) -> bool {
        self.answer
            .as_ref()
            .is_ok_and(|answer| answer.found.is_most())
    }

    /// The best load, if one meets the target.
    pub fn best(&self) -> Option<f64> {
        let best = self.answer.as_ref().ok()?.found.best.as_ref();
        best.map(|point| point.load)
    }

    /// Whether it is not known that this is worse than the best: the next load that it does not surely meet is beyond.
    pub fn is_close_to(&self, best: &Self) -> bool {
        let next = self.answer.as_ref().ok();
        let next = next.and_then(|answer| answer.found.next.as_ref());
        match (self.best(), next, best.best()) {
            (Some(worse), Some(next), Some(best)) => {
                worse.min(next.load) <= best && best <= worse.max(next.load)
            }
            _ => false,
        }
    }
}

/// Plans with all combinations of values, the first key changing fastest, all with the same random numbers. `watch` sees
/// the values, what is looked for, and each load that was simulated.
///
/// # Errors
/// If a combination means nothing, which is found before any is simulated, or a simulation fails.
pub fn plan_varied(
    (text, path): (&str, &Path),
    overrides: &Overrides,
    keys: &[Key],
    targets: &[Objective],
    spec: &PlanSpec,
    watch: &mut dyn FnMut(&[String], Sought, &Point),
) -> Result<Vec<Planned>, PlanError> {
    let with = |values: Vec<String>| -> Result<_, PlanError> {
        let mut overrides = overrides.clone();
        let names = keys.iter().map(|(key, _)| key.clone());
        overrides.set.extend(names.zip(values.iter().cloned()));
        let system = Prepared::from_toml(text, path, &overrides)?;
        let sought = sought_key(spec.find, system.load());
        if let Some((key, _)) = keys.iter().find(|(key, _)| holds(sought, key)) {
            return Err(PlanError::DoesNotFit(format!(
                "--vary: plan itself searches over '{key}'; vary a different key"
            )));
        }
        Ok((values, overrides, system))
    };
    let all: Vec<_> = combinations(keys)
        .into_iter()
        .map(with)
        .collect::<Result<_, PlanError>>()?;
    let planned = all.into_iter().map(|(values, overrides, system)| {
        let mut watch = |sought, point: &Point| watch(&values, sought, point);
        let source = (text, path);
        let base = system.clone();
        let answer = plan_prepared(base, source, &overrides, targets, spec, &mut watch);
        let answer = match answer {
            Ok((_, answer)) => Ok(answer),
            Err(error @ (PlanError::AboveAlone { .. } | PlanError::OutOfReach { .. })) => {
                Err(error)
            }
            Err(error) => return Err(error),
        };
        Ok(Planned {
            values,
            system,
            answer,
        })
    });
    planned.collect()
}

/// Those with the best answer: the highest load, the fewest disks or jobs; empty if the target is met by none. Several have
/// the same.
pub fn best_of(all: &[Planned]) -> Vec<&Planned> {
    let Some(sought) = all.iter().find_map(|of| of.answer.as_ref().ok()) else {
        return Vec::new();
    };
    let loads = all.iter().filter_map(Planned::best);
    let best = match sought.sought {
        Sought::Disks | Sought::FewestJobs => loads.reduce(f64::min),
        Sought::Rate | Sought::Growth | Sought::Copies | Sought::MostJobs => loads.reduce(f64::max),
    };
    let is_best = |of: &&Planned| best.is_some() && of.best() == best;
    all.iter().filter(is_best).collect()
}
