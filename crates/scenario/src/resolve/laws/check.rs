//! Checks of the values of laws.

use std::ops::RangeInclusive;
use std::path::Path;

use iosonar_trace::TraceError;
use iosonar_units::Nanos;
use iosonar_workload::{ArrivalLaw, Intervals, Renewal, TimeLaw};
use toml::Spanned;

use super::recorded::Recorded;
use crate::ScenarioError;
use crate::file::{EmpiricalFile, TimeLawFile};
use crate::resolve::check::Checker;

/// What a rate may be.
pub(super) const RATE: &str = "a rate of 1e-9 to 1e9 requests per second";

pub(super) fn is_rate(per_s: f64) -> bool {
    (1e-9..=1e9).contains(&per_s)
}

/// Checks the values of a law.
pub(crate) struct LawCheck<'a, T> {
    pub(crate) check: &'a Checker<'a>,
    pub(crate) given: &'a Spanned<T>,
    pub(crate) key: &'static str,
}

impl<T> LawCheck<'_, T> {
    pub(super) fn wrong(&self, seen: String, expected: &str) -> ScenarioError {
        self.check.wrong(self.given, self.key, seen, expected)
    }

    pub(super) fn refuse<V>(&self, seen: String, expected: &str) -> Result<V, ScenarioError> {
        Err(self.wrong(seen, expected))
    }

    pub(super) fn rate(&self, per_s: f64) -> Result<f64, ScenarioError> {
        if is_rate(per_s) {
            return Ok(per_s);
        }
        self.refuse(format!("per_s = {per_s:?}"), RATE)
    }

    pub(super) fn time(&self, name: &str, seconds: f64) -> Result<f64, ScenarioError> {
        if (1e-9..=1e9).contains(&seconds) {
            return Ok(seconds);
        }
        let expected = "a time greater than 0, in seconds (at most 1e9)";
        self.refuse(format!("{name} = {seconds}"), expected)
    }

    pub(crate) fn cv(&self, cv: f64) -> Result<f64, ScenarioError> {
        if (0.01..=100.0).contains(&cv) {
            return Ok(cv);
        }
        let expected = "a coefficient of variation from 0.01 to 100, where 1 is that of an exponential distribution";
        self.refuse(format!("cv = {cv}"), expected)
    }

    pub(super) fn shape(
        &self,
        shape: f64,
        range: RangeInclusive<f64>,
        expected: &str,
    ) -> Result<f64, ScenarioError> {
        match range.contains(&shape) {
            true => Ok(shape),
            false => self.refuse(format!("shape = {shape}"), expected),
        }
    }

    /// Independent intervals, within bounds in milliseconds.
    pub(super) fn renewal(
        &self,
        per_s: f64,
        intervals: Intervals,
        bounds_ms: (Option<f64>, Option<f64>),
    ) -> Result<ArrivalLaw, ScenarioError> {
        let times = self.times(self.rate(per_s)?, intervals, bounds_ms)?;
        Ok(ArrivalLaw::Renewal(times))
    }

    /// Independent times of a law with a mean of `1 / per_s`, within bounds in milliseconds.
    pub(super) fn times(
        &self,
        per_s: f64,
        intervals: Intervals,
        (least_ms, most_ms): (Option<f64>, Option<f64>),
    ) -> Result<Renewal, ScenarioError> {
        for (name, bound) in [("at_least_ms", least_ms), ("at_most_ms", most_ms)] {
            if let Some(bound) = bound
                && !(0.0..=1e12).contains(&bound)
            {
                return self.refuse(format!("{name} = {bound}"), "0 to 1e12 ms");
            }
        }
        let bounds = (least_ms.is_some() || most_ms.is_some()).then(|| {
            let most = most_ms.map_or(Nanos::from_secs_f64(1e9), Nanos::from_millis_f64);
            (Nanos::from_millis_f64(least_ms.unwrap_or(0.0)), most)
        });
        if let Some((least, most)) = bounds
            && least > most
        {
            let seen = format!("times from {least} to {most}");
            return self.refuse(seen, "at_least_ms no greater than at_most_ms");
        }
        Renewal::new(per_s, intervals, bounds).map_err(|error| {
            self.wrong(
                error.to_string(),
                "a different mean, distribution or bounds",
            )
        })
    }

    pub(crate) fn weibull(&self, shape: f64) -> Result<Intervals, ScenarioError> {
        let shape = self.shape(shape, 0.2..=50.0, "0.2 to 50")?;
        Ok(Intervals::Weibull { shape })
    }

    pub(crate) fn pareto(&self, shape: f64) -> Result<Intervals, ScenarioError> {
        let expected = "1.05 to 100, as means converge too slowly for shapes near 1";
        let shape = self.shape(shape, 1.05..=100.0, expected)?;
        Ok(Intervals::Pareto { shape })
    }

    /// The intervals of a recording.
    pub(super) fn empirical(&self, given: &EmpiricalFile) -> Result<ArrivalLaw, ScenarioError> {
        let folder = self.check.path.parent().unwrap_or(Path::new(""));
        let trace = folder.join(&given.trace);
        let Recorded { times, mean_s } = Recorded::intervals(&trace)?;
        if mean_s.is_nan() || mean_s == 0.0 {
            let seen = format!("no time between the requests of {}", trace.display());
            return self.refuse(
                seen,
                "a recording of at least two requests at different times",
            );
        }
        let per_s = given.per_s.unwrap_or(1.0 / mean_s);
        self.renewal(per_s, Intervals::Empirical { trace, times }, (None, None))
    }

    /// A mean in milliseconds.
    pub(super) fn mean_ms(&self, name: &str, ms: f64) -> Result<Nanos, ScenarioError> {
        match (0.0..=1e9).contains(&ms) {
            true => Ok(Nanos::from_millis_f64(ms)),
            false => self.refuse(format!("{name} = {ms:?}"), "a mean of 0 to 1e9 ms"),
        }
    }

    /// A law of times, with those of a recording for an empirical one.
    pub(super) fn time_law(
        &self,
        law: &TimeLawFile,
        recorded: impl Fn(&Path) -> Result<Recorded, TraceError>,
    ) -> Result<TimeLaw, ScenarioError> {
        match law {
            TimeLawFile::ExponentialMs(ms) => {
                let mean = self.mean_ms("exponential_ms", *ms)?;
                Ok(TimeLaw::Exponential(mean))
            }
            TimeLawFile::ConstantMs(ms) => {
                let time = self.mean_ms("constant_ms", *ms)?;
                Ok(TimeLaw::Constant(time))
            }
            TimeLawFile::Gamma(given) => {
                let cv = self.cv(given.cv)?;
                let bounds = (given.at_least_ms, given.at_most_ms);
                self.other_law(given.mean_ms, Intervals::Gamma { cv }, bounds)
            }
            TimeLawFile::LogNormal(given) => {
                let cv = self.cv(given.cv)?;
                let bounds = (given.at_least_ms, given.at_most_ms);
                self.other_law(given.mean_ms, Intervals::LogNormal { cv }, bounds)
            }
            TimeLawFile::Weibull(given) => {
                let bounds = (given.at_least_ms, given.at_most_ms);
                self.other_law(given.mean_ms, self.weibull(given.shape)?, bounds)
            }
            TimeLawFile::Pareto(given) => {
                let bounds = (given.at_least_ms, given.at_most_ms);
                self.other_law(given.mean_ms, self.pareto(given.shape)?, bounds)
            }
            TimeLawFile::Empirical(given) => {
                let folder = self.check.path.parent().unwrap_or(Path::new(""));
                let trace = folder.join(&given.trace);
                let Recorded { times, mean_s } = recorded(&trace)?;
                if mean_s.is_nan() || mean_s == 0.0 {
                    let seen = format!("{}, which has no times greater than 0", trace.display());
                    let expected = "a recording with such times: a CSV file with a think_ms column for think times, or \
                        records with latencies for service times";
                    return self.refuse(seen, expected);
                }
                let mean_ms = given.mean_ms.unwrap_or(1e3 * mean_s);
                self.other_law(mean_ms, Intervals::Empirical { trace, times }, (None, None))
            }
        }
    }

    pub(super) fn other_law(
        &self,
        mean_ms: f64,
        intervals: Intervals,
        bounds_ms: (Option<f64>, Option<f64>),
    ) -> Result<TimeLaw, ScenarioError> {
        if self.mean_ms("mean_ms", mean_ms)? == Nanos::ZERO {
            let expected = "a mean of at least 1e-6 ms";
            return self.refuse(format!("mean_ms = {mean_ms:?}"), expected);
        }
        let times = self.times(1e3 / mean_ms, intervals, bounds_ms)?;
        Ok(TimeLaw::Other { mean_ms, times })
    }

    /// A law with too few arrivals per span of time would search for the next one forever.
    pub(super) fn often(&self, per_span: f64, what: &str) -> Result<(), ScenarioError> {
        if per_span >= 1e-3 {
            return Ok(());
        }
        let seen = format!("{per_span} arrivals in {what} on average");
        self.refuse(seen, "at least 0.001")
    }
}
