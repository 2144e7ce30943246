//! What follows from all candidates together.

use super::{Considered, Growth};
use iosonar_analysis::objective::Judgement;
use iosonar_analysis::objective::{Objective, Statistic};

/// Which candidate to take, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// Those that meet all targets, the best first: the cheapest where all of them have a price, or else the one that sustains
    /// the largest growth, or the one with the most room to the first target.
    pub meet: Vec<usize>,
    /// Those of which it is not sure, in their order.
    pub unclear: Vec<usize>,
    /// Those that miss one, the nearest to the first target first; those without a steady state last.
    pub miss: Vec<usize>,
    /// Those that cannot be simulated with this load.
    pub unknown: Vec<usize>,
}

impl Conclusion {
    /// What follows from these, with the first of the targets.
    pub fn of(all: &[Considered], target: &Objective) -> Self {
        let mut conclusion = Self {
            meet: Vec::new(),
            unclear: Vec::new(),
            miss: Vec::new(),
            unknown: Vec::new(),
        };
        for (i, considered) in all.iter().enumerate() {
            let of = match considered.outcome.as_ref().map(|of| of.verdict()) {
                Ok(Judgement::Meets) => &mut conclusion.meet,
                Ok(Judgement::Unclear | Judgement::TooShort) => &mut conclusion.unclear,
                Ok(Judgement::Misses | Judgement::Unstable) => &mut conclusion.miss,
                Err(_) => &mut conclusion.unknown,
            };
            of.push(i);
        }
        // The smaller the better; what is not known comes last.
        let value = |i: &usize| match (all[*i].value(), target.statistic) {
            (None, _) => f64::INFINITY,
            (Some(value), Statistic::Throughput) => -value,
            (Some(value), Statistic::Mean | Statistic::Quantile(_)) => value,
        };
        let growth = |i: &usize| all[*i].growth().and_then(Growth::factor).unwrap_or(0.0);
        let is_priced = conclusion.meet.iter().all(|&i| all[i].price.is_some());
        conclusion.meet.sort_by(|a, b| {
            let price = |i: &usize| all[*i].price.filter(|_| is_priced).unwrap_or(0.0);
            let by_price = price(a).total_cmp(&price(b));
            let by_growth = growth(b).total_cmp(&growth(a));
            by_price.then(by_growth).then(value(a).total_cmp(&value(b)))
        });
        conclusion
            .miss
            .sort_by(|a, b| value(a).total_cmp(&value(b)));
        conclusion
    }
}

impl Considered {
    /// What the first target is about, in its unit, of the load as it is; `None` where it has no steady state or could not
    /// be simulated.
    pub fn value(&self) -> Option<f64> {
        let first = self.outcome.as_ref().ok()?.now.outcomes.first()?;
        first.attained().map(|of| of.estimate.mean)
    }

    /// How much the load may grow, where it was looked for.
    pub fn growth(&self) -> Option<&Growth> {
        self.outcome.as_ref().ok()?.growth.as_ref()
    }
}
