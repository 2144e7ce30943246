//! How much an answer depends on each plausible choice, changed one at a time.

use std::iter;

use iosonar_scenario::sensitivity::{Alternative, Choice};
use iosonar_scenario::{NoSteadyState, Prepared, ScenarioError, SimulationResult};
use iosonar_units::with_causes;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::vary::steady;

/// A choice moves an answer much if it makes it longer or shorter by more than this factor.
pub const MUCH: f64 = 2.0;

/// A simulation with one choice made otherwise; `None` is the scenario itself.
#[derive(Debug)]
pub struct Tried {
    /// The choice.
    pub choice: Option<Choice>,
    /// What came out, or why nothing did.
    pub result: Result<Box<SimulationResult>, Nothing>,
}

/// Why there is no result.
#[derive(Debug)]
pub enum Nothing {
    /// There is no steady state.
    Unsteady(NoSteadyState),
    /// The choice does not go with the rest of the scenario.
    NotApplicable(String),
}

/// Simulates as given, and with each plausible choice made otherwise; `other` prepares the same with such a choice. Unless
/// `unstable` is wanted, what has no steady state is not begun.
///
/// # Errors
/// If the simulation as given cannot be carried out.
pub fn sensitivity(
    simulation: &Prepared,
    other: impl Fn(Alternative) -> Result<Prepared, ScenarioError> + Sync,
    unstable: bool,
) -> Result<Vec<Tried>, ScenarioError> {
    let choices = simulation.alternatives();
    let all: Vec<_> = iter::once(None)
        .chain(choices.into_iter().map(Some))
        .collect();
    let simulate = |alternative: Option<Alternative>| match alternative {
        None => steady(simulation, unstable),
        Some(alternative) => steady(&other(alternative)?, unstable),
    };
    let one = |alternative: Option<Alternative>| {
        let choice = alternative.as_ref().map(|of| of.choice);
        let result = match simulate(alternative) {
            Ok(result) => result.map(Box::new).map_err(Nothing::Unsteady),
            Err(error) if choice.is_some() => Err(Nothing::NotApplicable(with_causes(&error))),
            Err(error) => return Err(error),
        };
        Ok(Tried { choice, result })
    };
    all.into_par_iter().map(one).collect()
}

/// The mean and the 99 % quantile in milliseconds.
pub fn figures(result: &SimulationResult) -> [f64; 2] {
    [result.mean_ms.mean, result.quantile_ms(0.99).mean]
}

/// The factors between the figures of two answers; NaN where one has none.
pub fn factors(of: [f64; 2], base: [f64; 2]) -> [f64; 2] {
    std::array::from_fn(|i| match (of[i], base[i]) {
        (of, base) if of == base => 1.0,
        (of, base) => of / base,
    })
}

/// Whether a factor, which may be 0 or infinite, is of a choice that matters.
pub fn moves_much(factor: f64) -> bool {
    !factor.is_nan() && !(1.0 / MUCH..=MUCH).contains(&factor)
}

/// What the answers say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Influence {
    /// The scenario as given has no result.
    NoBase,
    /// No choice could be made otherwise.
    NothingTried,
    /// This number of the choices that were tried matters.
    Matter {
        /// How many matter.
        choices: usize,
        /// How many were tried.
        tried: usize,
    },
}

impl Influence {
    /// What these answers say together.
    pub fn of(tried: &[Tried]) -> Self {
        let Some(base) = base(tried) else {
            return Self::NoBase;
        };
        let others = tried.iter().filter(|tried| tried.choice.is_some());
        // What has no steady state moves an answer more than any factor.
        let matters: Vec<bool> = others
            .filter_map(|tried| match &tried.result {
                Ok(result) => Some(factors(figures(result), base).into_iter().any(moves_much)),
                Err(Nothing::Unsteady(_)) => Some(true),
                Err(Nothing::NotApplicable(_)) => None,
            })
            .collect();
        match matters.len() {
            0 => Self::NothingTried,
            tried => Self::Matter {
                choices: matters.into_iter().filter(|&much| much).count(),
                tried,
            },
        }
    }
}

/// The answer as given.
pub fn base(tried: &[Tried]) -> Option<[f64; 2]> {
    let given = tried.iter().find(|tried| tried.choice.is_none())?;
    given.result.as_ref().ok().map(|result| figures(result))
}

#[cfg(test)]
mod tests {
    use super::{Choice, Influence, Nothing, Tried, factors, moves_much};

    #[test]
    fn what_moves_an_answer_much_moves_its_mean_or_its_p99() {
        for (of, much) in [
            ([1.0, 10.0], [false, false]),
            ([1.9, 5.1], [false, false]),
            ([2.1, 10.0], [true, false]),
            ([1.0, 4.9], [false, true]),
            ([0.4, 11.0], [true, false]),
            ([0.0, 10.0], [true, false]),
            ([f64::NAN, 10.0], [false, false]),
        ] {
            assert_eq!(factors(of, [1.0, 10.0]).map(moves_much), much, "{of:?}");
        }
        assert_eq!(factors([0.0, 1.0], [0.0, 0.0]), [1.0, f64::INFINITY]);
        assert!(moves_much(f64::INFINITY));
    }

    #[test]
    fn without_a_base_nothing_is_compared() {
        let nothing = |choice| Tried {
            choice,
            result: Err(Nothing::NotApplicable(String::new())),
        };
        let of_ssd = nothing(Some(Choice::NoWriteCache));
        assert_eq!(Influence::of(&[nothing(None), of_ssd]), Influence::NoBase);
    }
}
