//! When requests come.

use std::sync::Arc;

use iosonar_sim_core::arrivals::{Arrivals, BatchSize, Phase};
use iosonar_sim_core::{Law, Seed};
use iosonar_units::Nanos;

use crate::bursts::Bursts;
use crate::noise::NoisyRate;
use crate::renewal::Renewal;

/// A phase of a modulated Poisson process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPhase {
    /// Arrivals per second while it lasts; may be zero.
    pub per_s: f64,
    /// How long it lasts on average.
    pub mean_s: f64,
}

/// When requests (or batches of them) come.
#[derive(Clone, Debug, PartialEq)]
pub enum ArrivalLaw {
    /// Independently of each other: exponential times between arrivals.
    Poisson {
        /// Mean arrivals per second.
        per_s: f64,
    },
    /// At equal distances, the first after one of them.
    Constant {
        /// Arrivals per second.
        per_s: f64,
    },
    /// A Poisson process whose rate changes (MMPP): the phases follow each other in a circle.
    Modulated(Vec<LoadPhase>),
    /// A source that sends for a Pareto time and is silent for another: with a shape below 2 its
    /// counts are correlated over all times (self-similar, Willinger et al. 1997, with a Hurst
    /// parameter of (3 - shape) / 2).
    OnOff {
        /// Poisson arrivals per second while it is on.
        per_s: f64,
        /// How long it is on, on average.
        on_s: f64,
        /// How long it is off, on average.
        off_s: f64,
        /// The exponent of both tails, above 1; `None`: exponential times.
        shape: Option<f64>,
    },
    /// The b-model (Wang et al. 2002): of the arrivals of a window a share `bias` lies in one random
    /// half of it, and so on in each half. 0.5 is a steady load, 0.7 to 0.8 what disks see.
    BModel {
        /// Mean arrivals per second.
        per_s: f64,
        /// 0.5 to 1.
        bias: f64,
        /// The length of a window.
        window_s: f64,
        /// How often it is halved.
        levels: u32,
    },
    /// A Poisson process whose rate is fractional Gaussian noise: long memory with a given Hurst
    /// parameter (0.5: none). Rates below zero are zero, so keep `variation` small against 1.
    Noise {
        /// Mean arrivals per second.
        per_s: f64,
        /// The Hurst parameter, 0.5 to 1.
        hurst: f64,
        /// The standard deviation of the rate of a bin, as a share of the mean.
        variation: f64,
        /// The length of a bin.
        bin_s: f64,
    },
    /// With independent intervals from another law.
    Renewal(Renewal),
}

impl ArrivalLaw {
    /// Mean arrivals per second.
    pub fn per_s(&self) -> f64 {
        match self {
            Self::Poisson { per_s }
            | Self::Constant { per_s }
            | Self::BModel { per_s, .. }
            | Self::Noise { per_s, .. } => *per_s,
            Self::Renewal(renewal) => renewal.per_s(),
            Self::OnOff {
                per_s, on_s, off_s, ..
            } => per_s * on_s / (on_s + off_s),
            Self::Modulated(phases) => {
                let time: f64 = phases.iter().map(|p| p.mean_s).sum();
                phases.iter().map(|p| p.per_s * p.mean_s).sum::<f64>() / time
            }
        }
    }

    /// The same law with `factor` times as many arrivals in the same time. What lasts (phases, windows, bins) lasts
    /// as long as before.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let mut law = self.clone();
        match &mut law {
            Self::Poisson { per_s }
            | Self::Constant { per_s }
            | Self::OnOff { per_s, .. }
            | Self::BModel { per_s, .. }
            | Self::Noise { per_s, .. } => *per_s *= factor,
            Self::Renewal(renewal) => *renewal = renewal.scaled(factor),
            Self::Modulated(phases) => {
                for phase in phases {
                    phase.per_s *= factor;
                }
            }
        }
        law
    }

    /// The process behind it.
    pub(crate) fn process(&self, batch: &Batch, component: &str, seed: &Seed) -> Arrivals {
        let distance = |per_s: f64| Nanos::from_secs_f64(1.0 / per_s);
        let own = |purpose| seed.stream(component, purpose);
        let arrivals = match self {
            Self::Poisson { per_s } => Arrivals::every(Law::Exponential(distance(*per_s))),
            Self::Constant { per_s } => Arrivals::every(Law::Constant(distance(*per_s))),
            Self::Renewal(renewal) => Arrivals::every(renewal.between().clone()),
            Self::Modulated(phases) => Arrivals::modulated(
                phases
                    .iter()
                    .map(|phase| Phase {
                        distance: (phase.per_s > 0.0).then(|| distance(phase.per_s)),
                        sojourn: Nanos::from_secs_f64(phase.mean_s),
                    })
                    .collect(),
            ),
            Self::OnOff {
                per_s,
                on_s,
                off_s,
                shape,
            } => {
                let lasting = |mean_s: f64| match *shape {
                    Some(shape) => Law::Pareto {
                        least: Nanos::from_secs_f64(mean_s * (shape - 1.0) / shape),
                        shape,
                    },
                    None => Law::Exponential(Nanos::from_secs_f64(mean_s)),
                };
                let between = Law::Exponential(distance(*per_s));
                Arrivals::on_off(lasting(*on_s), lasting(*off_s), between)
            }
            Self::BModel {
                per_s,
                bias,
                window_s,
                levels,
            } => {
                let bursts = Bursts::new(
                    *per_s,
                    *bias,
                    *window_s,
                    *levels,
                    batch.size(),
                    [own("cascade"), own("arrival"), own("batch")],
                );
                return Arrivals::from_process(bursts);
            }
            Self::Noise {
                per_s,
                hurst,
                variation,
                bin_s,
            } => {
                let noise = NoisyRate::new(
                    *per_s,
                    *hurst,
                    *variation,
                    *bin_s,
                    batch.size(),
                    [own("noise"), own("arrival"), own("batch")],
                );
                return Arrivals::from_process(noise);
            }
        };
        match batch {
            Batch::One => arrivals,
            batch => arrivals.in_batches(batch.size()),
        }
    }
}

/// How many requests come at each arrival.
#[derive(Clone, Debug, PartialEq)]
pub enum Batch {
    /// One.
    One,
    /// Always this many.
    Requests(u32),
    /// Geometric on 1, 2, ...
    Geometric {
        /// The mean, at least 1.
        mean: f64,
    },
    /// One of these numbers, each with its share; the shares sum to 1.
    Table(Arc<[(f64, u32)]>),
}

impl Batch {
    /// The mean number of requests at an arrival.
    pub fn mean(&self) -> f64 {
        match self {
            Self::One => 1.0,
            Self::Requests(n) => f64::from(*n),
            Self::Geometric { mean } => *mean,
            Self::Table(table) => table.iter().map(|(p, n)| p * f64::from(*n)).sum(),
        }
    }

    /// As the arrivals of the kernel know it.
    pub(crate) fn size(&self) -> BatchSize {
        match self {
            Self::One => BatchSize::Constant(1),
            Self::Requests(n) => BatchSize::Constant(*n),
            Self::Geometric { mean } => BatchSize::Geometric(*mean),
            Self::Table(table) => BatchSize::Table(Arc::clone(table)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SyntheticLoad, Workload};

    fn starts(arrivals: ArrivalLaw, n: usize) -> Vec<f64> {
        let workload = Workload {
            arrivals,
            ..crate::tests::workload()
        };
        let load = SyntheticLoad::new(vec![workload], &Seed::new(1));
        load.take(n).map(|r| r.start.as_secs_f64()).collect()
    }

    /// The variance of the number of arrivals in windows of this length, over its mean: 1 for a
    /// Poisson process.
    fn dispersion(starts: &[f64], window_s: f64) -> f64 {
        let windows = (starts[starts.len() - 1] / window_s) as usize;
        let mut counts = vec![0.0; windows];
        for t in starts {
            if let Some(count) = counts.get_mut((t / window_s) as usize) {
                *count += 1.0;
            }
        }
        let mean = counts.iter().sum::<f64>() / windows as f64;
        let squares: f64 = counts.iter().map(|c| (c - mean).powi(2)).sum();
        squares / windows as f64 / mean
    }

    #[test]
    fn every_law_has_its_rate_and_times_never_go_back() {
        let phase = |per_s, mean_s| LoadPhase { per_s, mean_s };
        for (law, tolerance) in [
            (ArrivalLaw::Poisson { per_s: 50.0 }, 0.01),
            (ArrivalLaw::Constant { per_s: 50.0 }, 0.001),
            (
                ArrivalLaw::Modulated(vec![phase(100.0, 0.3), phase(10.0, 0.7)]),
                0.03,
            ),
            (
                ArrivalLaw::OnOff {
                    per_s: 100.0,
                    on_s: 0.2,
                    off_s: 0.8,
                    shape: None,
                },
                0.06,
            ),
            // Some 10 000 rounds: 1.5 % standard error. With a heavy tail the mean converges slowly: that
            // is what it is for.
            (
                ArrivalLaw::OnOff {
                    per_s: 100.0,
                    on_s: 0.2,
                    off_s: 0.8,
                    shape: Some(1.9),
                },
                0.1,
            ),
            (
                ArrivalLaw::BModel {
                    per_s: 50.0,
                    bias: 0.7,
                    window_s: 4.0,
                    levels: 10,
                },
                0.01,
            ),
            (
                ArrivalLaw::Noise {
                    per_s: 50.0,
                    hurst: 0.8,
                    variation: 0.2,
                    bin_s: 0.1,
                },
                0.05,
            ),
        ] {
            let starts = starts(law.clone(), 200_000);
            assert!(starts.is_sorted(), "{law:?}");
            let rate = starts.len() as f64 / starts[starts.len() - 1];
            assert!(
                (rate / law.per_s() - 1.0).abs() < tolerance,
                "{law:?}: {rate}"
            );
        }
    }

    #[test]
    fn bursty_laws_are_burstier_at_every_scale() {
        let poisson = starts(ArrivalLaw::Poisson { per_s: 100.0 }, 400_000);
        let bursts = starts(
            ArrivalLaw::BModel {
                per_s: 100.0,
                bias: 0.7,
                window_s: 64.0,
                levels: 14,
            },
            400_000,
        );
        let noise = starts(
            ArrivalLaw::Noise {
                per_s: 100.0,
                hurst: 0.9,
                variation: 0.3,
                bin_s: 0.1,
            },
            400_000,
        );
        for window in [0.5, 2.0, 8.0] {
            let steady = dispersion(&poisson, window);
            assert!((0.8..1.2).contains(&steady), "{steady}");
            assert!(dispersion(&bursts, window) > 5.0);
            assert!(dispersion(&noise, window) > 1.5);
        }
        // With memory the dispersion grows with the window, by its power 2 H - 1.
        let growth = dispersion(&noise, 12.8) / dispersion(&noise, 0.8);
        let expected = 16.0_f64.powf(0.8);
        assert!(
            growth > 0.4 * expected && growth < 1.6 * expected,
            "{growth}"
        );
    }
}
