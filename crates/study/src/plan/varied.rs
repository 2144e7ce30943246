//! The same question for several values of keys, such as stripe units and sizes of caches.

use std::path::Path;

use iosonar_analysis::objective::Objective;
use iosonar_scenario::{Overrides, Prepared};

use super::{Answer, PlanError, PlanSpec, Point, Sought, plan_scenario};
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
    /// The best load, if one meets the target.
    pub fn best(&self) -> Option<f64> {
        let best = self.answer.as_ref().ok()?.found.best.as_ref();
        best.map(|point| point.load)
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
    objective: &Objective,
    spec: &PlanSpec,
    watch: &mut dyn FnMut(&[String], Sought, &Point),
) -> Result<Vec<Planned>, PlanError> {
    let with = |values: Vec<String>| {
        let mut overrides = overrides.clone();
        let names = keys.iter().map(|(key, _)| key.clone());
        overrides.set.extend(names.zip(values.iter().cloned()));
        let system = Prepared::from_toml(text, path, &overrides)?;
        Ok((values, overrides, system))
    };
    let all: Vec<_> = combinations(keys)
        .into_iter()
        .map(with)
        .collect::<Result<_, PlanError>>()?;
    let planned = all.into_iter().map(|(values, overrides, system)| {
        let mut watch = |sought, point: &Point| watch(&values, sought, point);
        let answer = plan_scenario((text, path), &overrides, objective, spec, &mut watch);
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

/// The one with the best answer: the highest load, the fewest disks or jobs. Of equal ones the first; `None` if the target
/// is met by none.
pub fn best_of(all: &[Planned]) -> Option<&Planned> {
    let sought = all.iter().find_map(|of| of.answer.as_ref().ok())?.sought;
    let better = |a: f64, b: f64| match sought {
        Sought::Disks | Sought::FewestJobs => a < b,
        Sought::Rate | Sought::Growth | Sought::MostJobs => a > b,
    };
    let mut best: Option<(&Planned, f64)> = None;
    for planned in all {
        if let Some(load) = planned.best()
            && best.is_none_or(|(_, so_far)| better(load, so_far))
        {
            best = Some((planned, load));
        }
    }
    best.map(|(planned, _)| planned)
}
