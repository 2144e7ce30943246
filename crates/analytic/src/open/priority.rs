//! Classes of which some go first.

use crate::error::{positive, stable};
use crate::{AnalyticError, ServiceLaw};

/// A class of jobs.
#[derive(Clone, Debug)]
pub struct PriorityClass {
    /// Its arrival rate.
    pub rate: f64,
    /// Its law of service.
    pub service: ServiceLaw,
}

/// What happens when a job of a higher class finds one of a lower class in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// It waits for its end.
    NonPreemptive,
    /// It interrupts it; the other goes on later where it was.
    PreemptiveResume,
}

/// M/G/1 with priorities; the first class is the highest. Within a class first come, first served.
///
/// Source: Cobham, Operations Research 2, 1954 (non-preemptive); Kleinrock, "Queueing Systems II", 3.5
/// and 3.6. With `sigma_k` the load of the classes up to k, and W0 the mean remaining service:
///
/// - non-preemptive: `W_k = W0 / ((1 - sigma_{k-1}) (1 - sigma_k))`, W0 over all classes;
/// - preemptive resume: `R_k = E[S_k] / (1 - sigma_{k-1}) + W0_k / ((1 - sigma_{k-1}) (1 - sigma_k))`, `W0_k`
///   over the classes up to k: lower ones are not seen.
#[derive(Clone, Debug)]
pub struct PriorityQueue {
    classes: Vec<PriorityClass>,
    discipline: Discipline,
}

impl PriorityQueue {
    /// A queue of these classes, the highest first.
    ///
    /// # Errors
    /// If a rate or a mean service time is not above zero, or the queue only grows.
    pub fn new(classes: Vec<PriorityClass>, discipline: Discipline) -> Result<Self, AnalyticError> {
        for class in &classes {
            positive("the arrival rate", class.rate)?;
            positive("the mean service time", class.service.mean())?;
        }
        stable(classes.iter().map(|c| c.rate * c.service.mean()).sum())?;
        Ok(Self {
            classes,
            discipline,
        })
    }

    /// The load of the classes before `class`.
    fn load_before(&self, class: usize) -> f64 {
        let before = self.classes[..class].iter();
        before.map(|c| c.rate * c.service.mean()).sum()
    }

    /// The mean time between a job's arrival and the (first) beginning of its service.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn mean_wait(&self, class: usize) -> f64 {
        let (above, with) = (self.load_before(class), self.load_before(class + 1));
        let seen = match self.discipline {
            Discipline::NonPreemptive => &self.classes[..],
            Discipline::PreemptiveResume => &self.classes[..=class],
        };
        let remaining: f64 = seen
            .iter()
            .map(|c| c.rate * c.service.moments()[1] / 2.0)
            .sum();
        remaining / ((1.0 - above) * (1.0 - with))
    }

    /// The mean response time, interruptions included.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn mean_response(&self, class: usize) -> f64 {
        let service = self.classes[class].service.mean();
        self.mean_wait(class)
            + match self.discipline {
                Discipline::NonPreemptive => service,
                Discipline::PreemptiveResume => service / (1.0 - self.load_before(class)),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(rates: &[f64], means: &[f64], discipline: Discipline) -> PriorityQueue {
        let class = |(rate, mean): (&f64, &f64)| PriorityClass {
            rate: *rate,
            service: ServiceLaw::Exponential(*mean),
        };
        PriorityQueue::new(rates.iter().zip(means).map(class).collect(), discipline).unwrap()
    }

    #[test]
    fn the_references_come_out() {
        // Reference, part 1e: priority_nonpreemptive_response_mean.
        let two = queue(&[0.3, 0.4], &[1.0, 1.0], Discipline::NonPreemptive);
        for (class, response) in [(0, 2.0), (1, 4.333_333_333_333_332)] {
            assert!((two.mean_response(class) / response - 1.0).abs() < 1e-12);
        }
        let three = queue(
            &[0.2, 0.5, 0.1],
            &[0.5, 1.0, 2.0],
            Discipline::NonPreemptive,
        );
        for (class, response) in [
            (0, 1.555_555_555_555_555_6),
            (1, 3.638_888_888_888_889),
            (2, 13.875),
        ] {
            assert!((three.mean_response(class) / response - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn work_is_conserved() {
        // Whatever the order, the load-weighted mean wait is that of one class (Kleinrock's conservation
        // law), for exponential services preemptive ones included: work left is work left.
        let (rates, means) = ([0.2, 0.5, 0.1], [0.5, 1.0, 2.0]);
        let load = |i: usize| rates[i] * means[i];
        let remaining: f64 = (0..3).map(|i| rates[i] * means[i] * means[i]).sum();
        let all: f64 = (0..3).map(load).sum();
        let ordered = queue(&rates, &means, Discipline::NonPreemptive);
        let weighted: f64 = (0..3).map(|i| load(i) * ordered.mean_wait(i)).sum();
        assert!((weighted / (all * remaining / (1.0 - all)) - 1.0).abs() < 1e-12);
        // Preemptive: the mean work of class i is mean_i times its number, lambda_i R_i.
        let preempting = queue(&rates, &means, Discipline::PreemptiveResume);
        let work: f64 = (0..3).map(|i| load(i) * preempting.mean_response(i)).sum();
        assert!((work / (remaining / (1.0 - all)) - 1.0).abs() < 1e-12);
    }
}
