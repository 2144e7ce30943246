//! What theory cannot answer.

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AnalyticError {
    /// More work comes than can be done, so the queue only grows.
    #[error(
        "unstable: the offered load is {offered:.4} times the capacity; the system is stable below \
         {:.4} times the arrival rate or the mean service time, or with more than {:.4} times the servers",
        1.0 / offered, offered
    )]
    Unstable {
        /// The offered load of all servers together, by their number: at least 1.
        offered: f64,
    },
    /// The queue is so long that it cannot be computed.
    #[error(
        "waiting times cannot be computed at a load of {load:.4}: it is too close to saturation, or service times or batch \
         sizes vary too much; use a simulation"
    )]
    NearSaturation {
        /// The offered load.
        load: f64,
    },
    /// A parameter that makes no sense.
    #[error("{name} is {seen}, expected {expected}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// Its value.
        seen: f64,
        /// What would do.
        expected: &'static str,
    },
    /// There would be too much to compute.
    #[error(
        "{what}: {states} states are too many for an exact analysis (at most {most}); {instead}"
    )]
    TooLarge {
        /// What was asked for.
        what: &'static str,
        /// How many states it takes.
        states: f64,
        /// How many are possible.
        most: f64,
        /// What to do instead.
        instead: &'static str,
    },
}

/// A parameter that must be above zero and finite.
pub(crate) fn positive(name: &'static str, seen: f64) -> Result<f64, AnalyticError> {
    if seen > 0.0 && seen.is_finite() {
        return Ok(seen);
    }
    Err(AnalyticError::Parameter {
        name,
        seen,
        expected: "a number greater than 0",
    })
}

/// A parameter that must be finite and not below zero.
pub(crate) fn not_negative(name: &'static str, seen: f64) -> Result<f64, AnalyticError> {
    if seen >= 0.0 && seen.is_finite() {
        return Ok(seen);
    }
    Err(AnalyticError::Parameter {
        name,
        seen,
        expected: "a number of at least 0",
    })
}

/// An offered load that must be below 1.
pub(crate) fn stable(offered: f64) -> Result<f64, AnalyticError> {
    if offered < 1.0 {
        return Ok(offered);
    }
    Err(AnalyticError::Unstable { offered })
}
