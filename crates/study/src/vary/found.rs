//! What is kept of a simulation: figures, not distributions, of which ten thousand would fill the memory.

use iosonar_analysis::objective::{Attained, Figure, Statistic};
use iosonar_report::curves::Spot;
use iosonar_scenario::theory::Answer;
use iosonar_scenario::{NotCleaned, NotSteady, Offered, OnCredit, Prepared, SimulationResult};
use iosonar_sim_core::CompletionHash;
use iosonar_ssd_model::FlashCounts;
use iosonar_stats::metric::Metric;
use iosonar_stats::{Distribution, Estimate, Labels};
use iosonar_trace::fit::Fitted;
use iosonar_trace::{Remark, Requests};
use iosonar_units::Nanos;

use super::Wanted;
use super::figure::{Curves, Shown};
use crate::objective::Judge;

/// What is kept of a simulation.
#[derive(Clone, Debug)]
pub struct Found {
    /// Requests per second.
    pub throughput_per_s: Estimate,
    /// 10^6 bytes per second.
    pub megabytes_per_s: Estimate,
    /// Measured requests that returned an error.
    pub failed: u64,
    /// Whether data were lost with devices.
    pub loses_data: bool,
    /// Why the result depends on how long the run was.
    pub not_steady: Option<NotSteady>,
    /// Why flash, or the cache of a shingled drive, was not cleaned as in a longer run.
    pub not_cleaned: Option<NotCleaned>,
    /// The credits of a limit that it lived on.
    pub on_credit: Option<OnCredit>,
    /// The hash of all completions.
    pub hash: CompletionHash,
    /// Response times of all requests.
    pub all: Times,
    /// Of the reads among them.
    pub reads: Times,
    /// Of the writes.
    pub writes: Times,
    /// What a drive of flash programmed, by what the host wrote.
    pub write_amplification: Option<f64>,
    /// What theory says of each figure that was asked for, in its unit; NaN where it does not know.
    pub theory: Vec<f64>,
    /// What theory says of the mean response time of all requests, if theory was asked.
    pub theory_mean_ms: Option<f64>,
    /// The distribution function of the response times of all requests in seconds, if it was asked for.
    pub distribution: Vec<Spot>,
    /// The outcome of each target; `None` where there are no requests that it is about.
    pub targets: Vec<Option<Attained>>,
    /// The busiest station, where it is not certain that it keeps up.
    pub doubtful: Option<Offered>,
    /// The same for programs: throughput, data and response times.
    pub metrics: Vec<Metric>,
    /// Remarks on the trace that drove it.
    pub remarks: Vec<Remark>,
    /// What was changed in the load to fit the array.
    pub fitted: Fitted,
}

/// Response times, in milliseconds.
#[derive(Clone, Debug)]
pub struct Times {
    /// Of how many requests.
    pub requests: u64,
    /// Their mean.
    pub mean_ms: Estimate,
    /// Their quantiles.
    pub quantiles: Vec<Quantile>,
    /// The longest.
    pub max: Nanos,
}

/// A quantile of response times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// Which one, from 0 to 1.
    pub p: f64,
    /// Its value in milliseconds.
    pub ms: f64,
    /// The ends of its 95 % interval in milliseconds, NaN where that is not known.
    pub ms_95: (f64, f64),
}

/// The quantiles that tables have, by the ends of their names.
pub(super) const USUAL: [(f64, &str); 3] = [(0.5, "p50"), (0.99, "p99"), (0.999, "p999")];

impl Times {
    fn of(result: &SimulationResult, requests: Requests, curves: Option<&Curves>) -> Self {
        let mut shares: Vec<f64> = USUAL.iter().map(|(p, _)| *p).collect();
        for p in curves.iter().flat_map(|curves| curves.quantiles()) {
            if !shares.contains(&p) {
                shares.push(p);
            }
        }
        let of_share = |p| Quantile {
            p,
            ms: result.quantile_of_ms(requests, p).mean,
            ms_95: result
                .quantile_interval_of_ms(requests, p)
                .unwrap_or((f64::NAN, f64::NAN)),
        };
        let (times, _) = result.times(requests);
        Self {
            requests: times.count(),
            mean_ms: result.mean_of_ms(requests),
            quantiles: shares.into_iter().map(of_share).collect(),
            max: times.moments.max().unwrap_or_default(),
        }
    }

    /// A quantile as a time.
    pub fn quantile(&self, p: f64) -> Nanos {
        let known = self.quantiles.iter().find(|known| known.p == p);
        known.map_or(Nanos::ZERO, |known| Nanos::from_millis_f64(known.ms))
    }
}

impl Found {
    /// What of a result is wanted; `labels` are those of its metrics.
    pub(super) fn of(
        simulation: &Prepared,
        result: SimulationResult,
        wanted: &Wanted,
        labels: &Labels,
    ) -> Self {
        let judge = Judge::of(simulation, &result);
        let targets = wanted.targets.iter().map(|target| judge.judged(target));
        let targets = targets.collect();
        let not_steady = judge.not_steady();
        let result = result.assessed(not_steady);
        let curves = wanted.curves.as_ref();
        let times = |requests| Times::of(&result, requests, curves);
        let flash = result.ssd.as_ref().map(|ssd| &ssd.flash);
        let flash = flash.filter(|flash| flash.programs > 0);
        let theory = wanted
            .theory
            .then(|| simulation.theory().response)
            .flatten();
        let shown = curves.map_or(&[][..], |curves| &curves.shown);
        let mut metrics = result.rate_metrics(labels).to_vec();
        metrics.push(result.response_time_metric(labels));
        Self {
            throughput_per_s: result.throughput_per_s,
            megabytes_per_s: result.megabytes_per_s(),
            failed: result.failed,
            loses_data: result.loses_data(),
            not_steady,
            not_cleaned: simulation.not_cleaned(&result),
            on_credit: simulation.on_credit(&result),
            hash: result.hash,
            all: times(Requests::All),
            reads: times(Requests::Reads),
            writes: times(Requests::Writes),
            write_amplification: flash.map(FlashCounts::write_amplification),
            theory: theory
                .iter()
                .flat_map(|theory| theory_of(theory, shown))
                .collect(),
            theory_mean_ms: theory.as_ref().map(Answer::mean_ms),
            distribution: match wanted.distributions {
                true => spots(&result),
                false => Vec::new(),
            },
            targets,
            doubtful: simulation.check_stability().ok().flatten(),
            metrics,
            remarks: result.remarks,
            fitted: result.fitted,
        }
    }
}

/// What theory says of figures, in seconds: it is about all requests.
fn theory_of(response: &Answer, shown: &[Shown]) -> Vec<f64> {
    let of = |shown: &Shown| match shown {
        Shown::Figure(Figure {
            requests: Requests::All,
            statistic,
            ..
        }) => match statistic {
            Statistic::Mean => response.mean_ms() * 1e-3,
            Statistic::Quantile(p) => response.quantile_ms(*p) * 1e-3,
            Statistic::Throughput => f64::NAN,
        },
        _ => f64::NAN,
    };
    shown.iter().map(of).collect()
}

/// The distribution function with its band, from where it leaves zero to where it reaches one.
fn spots(result: &SimulationResult) -> Vec<Spot> {
    let times: &Distribution = &result.response_time;
    let count = Some(times.count());
    let exact = |value: Nanos, share| Spot {
        count,
        ..Spot::exact(value.as_secs_f64(), share)
    };
    let band = result.band();
    let mut spots = Vec::with_capacity(band.len() + 2);
    spots.extend(band.first().map(|point| exact(point.value, 0.0)));
    spots.extend(band.iter().map(|point| {
        let known = point.half_width.is_finite();
        let ends = (
            (point.share - point.half_width).max(0.0),
            (point.share + point.half_width).min(1.0),
        );
        Spot {
            y_95: if known { ends } else { (f64::NAN, f64::NAN) },
            ..exact(point.value, point.share)
        }
    }));
    let last = band.last().map_or(Nanos::ZERO, |point| point.value);
    let longest = times.moments.max().filter(|longest| *longest > last);
    spots.extend(longest.map(|longest| exact(longest, 1.0)));
    spots
}
