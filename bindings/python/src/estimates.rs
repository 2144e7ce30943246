//! Estimates with their intervals, and distributions, as dicts.

use iosonar::scenario::SimulationResult;
use iosonar::stats::metric::QUANTILES;
use iosonar::stats::{Distribution, Estimate};
use iosonar::trace::Requests;
use iosonar::units::Nanos;
use serde_json::{Value, json};

/// What is not a number is not known: null.
pub(crate) fn known(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

/// An estimate with its 95 % interval, `factor` times as large.
pub(crate) fn estimate(of: &Estimate, factor: f64, unit: &str) -> Value {
    let half = of.half_width_95();
    interval(of, (of.mean - half, of.mean + half), factor, unit)
}

/// The same of something that is not below zero.
pub(crate) fn positive(of: &Estimate, factor: f64, unit: &str) -> Value {
    let unknown = (f64::NAN, f64::NAN);
    let ends = of.positive_interval_95().unwrap_or(unknown);
    interval(of, ends, factor, unit)
}

/// An estimate with an interval of its own.
pub(crate) fn interval(of: &Estimate, (low, high): (f64, f64), factor: f64, unit: &str) -> Value {
    json!({
        "value": known(of.mean * factor),
        "stderr": known(of.stderr * factor),
        "low": known(low * factor),
        "high": known(high * factor),
        "unit": unit,
    })
}

/// Times in a unit of which a nanosecond is `factor`. The caller estimates the mean and the quantiles, in nanoseconds.
pub(crate) fn times(
    of: &Distribution,
    mean: &Estimate,
    (factor, unit): (f64, &str),
    quantile: impl Fn(f64) -> (Estimate, Option<(f64, f64)>),
) -> Value {
    let shown = |t: Option<Nanos>| t.map(|t| t.get() as f64 * factor);
    let quantiles = QUANTILES.iter().map(|&(_, p)| {
        let (value, ends) = quantile(p);
        let of = match ends {
            Some(ends) => interval(&value, ends, factor, unit),
            None => positive(&value, factor, unit),
        };
        json!([p, of])
    });
    let weak = QUANTILES
        .iter()
        .filter(|(_, p)| !of.histogram.supports_quantile(*p));
    json!({
        "n": of.count(),
        "mean": positive(mean, factor, unit),
        "sd": known(of.moments.sd() * factor),
        "min": shown(of.moments.min()),
        "max": shown(of.moments.max()),
        "quantiles": quantiles.collect::<Vec<_>>(),
        "weak_quantiles": weak.map(|(_, p)| p).collect::<Vec<_>>(),
    })
}

/// The response times of some requests of a simulation; null if there are no such requests.
pub(crate) fn response_times(of: &SimulationResult, requests: Requests) -> Value {
    let (whole, _) = of.times(requests);
    if whole.count() == 0 {
        return Value::Null;
    }
    let mean = in_ns(of.mean_of_ms(requests));
    times(whole, &mean, (1e-6, "ms"), |p| {
        let ends = of.quantile_interval_of_ms(requests, p);
        let ends = ends.map(|(low, high)| (low * 1e6, high * 1e6));
        (in_ns(of.quantile_of_ms(requests, p)), ends)
    })
}

fn in_ns(ms: Estimate) -> Estimate {
    Estimate {
        mean: ms.mean * 1e6,
        stderr: ms.stderr * 1e6,
        ..ms
    }
}
