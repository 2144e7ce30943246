//! Waits of single queues, from the distribution of their services.

use super::{COARSE_POINTS, MOST_POINTS, MOST_WORK, NOTHING, Table};
use crate::AnalyticError;
use crate::error::{positive, stable};

impl Table {
    /// The mass of the equilibrium distribution, density (1 - F(t)) / mean, in each interval: by the trapezoid rule.
    pub(super) fn equilibrium(&self) -> Vec<f64> {
        let mean = self.mean();
        let pairs = self.below.windows(2);
        pairs
            .map(|pair| f64::midpoint(1.0 - pair[0], 1.0 - pair[1]) * self.step / mean)
            .collect()
    }

    /// Solves F(t) = g(t) + load (F * e)(t), where e is the equilibrium distribution of `service` (density
    /// (1 - B(t)) / E\[S\]), forward in t, until nothing is left.
    pub(super) fn renewal(service: &Self, load: f64, delayed: impl Fn(usize) -> f64) -> Self {
        let masses = service.equilibrium();
        let masses: Vec<f64> = masses.iter().map(|mass| load * mass).collect();
        Self::forward(service.step, 0.0, &masses, delayed)
    }

    /// Whether enough probability lies beyond the last point for its shape to matter.
    pub(super) fn is_cut_short(&self) -> bool {
        self.left() > 1e-3
    }

    /// The wait of M/G/1 with this service and arrivals at `rate`: the Pollaczek-Khinchine formula as a
    /// renewal equation, F(t) = 1 - rho + rho (F * e)(t).
    ///
    /// # Errors
    /// If the rate is not above zero, the queue only grows, or is too near to that.
    pub fn wait_mg1(rate: f64, service: &Self) -> Result<Self, AnalyticError> {
        positive("the arrival rate", rate)?;
        let load = stable(rate * service.mean())?;
        let wait = Self::renewal(service, load, |_| 1.0 - load);
        if wait.is_cut_short() {
            return Err(AnalyticError::NearSaturation { load });
        }
        Ok(wait)
    }

    /// The wait of the high class of a non-preemptive queue of two classes: it waits for what is in
    /// service, of either, and for those of its own class before it (Kleinrock, "Queueing Systems II",
    /// 3.6): `F = (1 - rho) + rho_low e_low + rho_high (F * e_high)`.
    ///
    /// # Errors
    /// If a rate is not above zero, or the queue only grows.
    pub fn wait_of_high_class(
        (high_rate, high): (f64, &Self),
        (low_rate, low): (f64, &Self),
    ) -> Result<Self, AnalyticError> {
        positive("the arrival rate", high_rate)?;
        positive("the arrival rate", low_rate)?;
        let (load_high, load_low) = (high_rate * high.mean(), low_rate * low.mean());
        let load = stable(load_high + load_low)?;
        let mut remaining = vec![0.0];
        for mass in low.equilibrium() {
            remaining.push(remaining[remaining.len() - 1] + mass);
        }
        let e_low = |i: usize| remaining.get(i).copied().unwrap_or(1.0);
        Ok(Self::renewal(high, load_high, |i| {
            1.0 - load + load_low * e_low(i)
        }))
    }

    /// The wait of D/G/1 with this service and a job every `distance`: Lindley's recursion
    /// W = max(0, W + S - distance) on the grid until it stands still.
    ///
    /// # Errors
    /// If the distance is not above zero, the queue only grows, or is so near to that that the recursion does not come
    /// to its end.
    pub fn wait_dg1(distance: f64, service: &Self) -> Result<Self, AnalyticError> {
        positive("the time between arrivals", distance)?;
        let load = stable(service.mean() / distance)?;
        // The number of points that is sufficient for a recursion of many steps.
        let factor = service.below.len() / COARSE_POINTS;
        if factor > 1 {
            let coarse = service.on_step(service.step * factor as f64);
            return Ok(Self::wait_dg1(distance, &coarse)?.on_step(service.step));
        }
        let step = service.step;
        let mut wait = Self::zero(step);
        let mut work = 0;
        loop {
            work += wait.below.len() * service.below.len();
            if work > MOST_WORK {
                return Err(AnalyticError::NearSaturation { load });
            }
            let sum = wait.plus(service);
            // F(t) of max(0, X - distance) is that of X at t + distance.
            let points = ((sum.end() - distance) / step).ceil().max(0.0) as usize + 1;
            let mut below: Vec<f64> = (0..points.min(MOST_POINTS))
                .map(|i| sum.within(i as f64 * step + distance))
                .collect();
            let keep = below.partition_point(|&value| value < 1.0 - NOTHING) + 1;
            below.truncate(keep.max(1));
            if let Some(last) = below.last_mut() {
                *last = 1.0;
            }
            let next = Self {
                step,
                below,
                tail: None,
            };
            let change = (next.mean() - wait.mean()).abs();
            wait = next;
            // What is still to come is some times the last change near saturation.
            if change <= 1e-7 * (1.0 - load) * service.mean() {
                break;
            }
        }
        Ok(wait)
    }
}
