//! Between two extremes: that disks are independent, and that they share all that they wait for.

use iosonar_analytic::{AnalyticError, Table};
use iosonar_device::Access;

use super::correction::StripeWrite;
use super::loaded::{ArrayTheory, Dependence};
use super::patterns::{self, Class, Pattern, Visit};
use crate::LevelOptions;

impl ArrayTheory<'_> {
    /// What all disks of a request wait for together: the wait of the busiest of them, less what it would
    /// wait for if requests came at equal distances.
    pub(super) fn shared(&self, waits: &[Table], pattern: &Pattern) -> Table {
        let groups = pattern.disks().into_iter().map(|disk| self.group(disk));
        let busiest = groups.max_by(|&a, &b| waits[a].mean().total_cmp(&waits[b].mean()));
        let group = busiest.unwrap_or(0);
        let (all, own) = (waits[group].mean(), self.own[group].mean());
        if all <= own {
            return Table::zero(self.grid.step());
        }
        waits[group].stretched((all - own) / all)
    }

    /// An estimate of the response time between two extremes: that disks are independent (the response
    /// given, which is too long), and that waits are the sum of one that all disks of a request share,
    /// because they get the same arrivals, and one of their own, of a queue with regular arrivals (which is too
    /// short, for the own part interacts with the shared one). The first has the weight 1 - phi / (1 + c):
    /// phi is the share of arrivals that two disks of a request have in common, c the coefficient of variation
    /// of the service. Ours; its errors are in the book's chapter on validation.
    ///
    /// # Errors
    /// If a disk is too near to saturation.
    pub(super) fn estimate(
        &mut self,
        classes: &[Class],
        independent: &Table,
    ) -> Result<Table, AnalyticError> {
        let step = self.grid.step();
        let batches = classes.iter().any(|class| !class.is_single());
        if batches {
            // Of single requests; what a batch brings is added place by place.
            let waits = (0..self.groups())
                .map(|group| self.waits_at(self.disk_of(group)))
                .collect::<Result<_, _>>()?;
            self.waits = waits;
        }
        self.own = self
            .waits
            .iter()
            .map(|waits| {
                if waits.visits == 0.0 {
                    return Ok(Table::zero(step));
                }
                Table::wait_dg1(1.0 / waits.visits, &waits.service)
            })
            .collect::<Result<_, AnalyticError>>()?;
        let (phi, c) = self.coupling(classes);
        let weight = 1.0 - phi / (1.0 + c);
        if batches {
            let shared = self.batches(classes, Dependence::Shared)?;
            return Ok(Table::mixture(&[
                (weight, independent),
                (1.0 - weight, &shared),
            ]));
        }
        let waits: Vec<Table> = self.waits.iter().map(|w| w.low.clone()).collect();
        let group = |model: &ArrayTheory<'_>, disk: usize| model.group(disk);
        Ok(self.mixture(classes, &group, &|model, pattern| {
            let apart = model.response(pattern, Dependence::Independent);
            let own = model.response(pattern, Dependence::Shared);
            let shared = model.shared(&waits, pattern).plus(&own);
            let estimate = Table::mixture(&[(weight, &apart), (1.0 - weight, &shared)]);
            match model.stripe_write(pattern) {
                Some(write) => write.corrected(&model.alone(pattern), &estimate),
                None => estimate,
            }
        }))
    }

    /// The partial stripe of a request that it takes longest for; `None` if it writes none.
    fn stripe_write(&self, pattern: &Pattern) -> Option<StripeWrite> {
        let partial = pattern
            .partial
            .iter()
            .max_by_key(|p| p.reads.len() + p.writes.len())?;
        let on = |(disk, _): &(usize, u32)| pattern.direct.get(disk).map_or(0, Visit::len);
        let before: u32 = partial.writes.iter().map(on).sum();
        let utilisation = |disk: usize| self.waits_of(disk).utilisation;
        let busiest = pattern
            .disks()
            .into_iter()
            .map(utilisation)
            .fold(0.0, f64::max);
        let groups = match self.array.level {
            LevelOptions::Parity { groups, .. } => groups,
            _ => 1,
        };
        Some(StripeWrite {
            modifies: partial.modifies,
            disks: self.array.disks / groups,
            reads: partial.reads.len(),
            writes: partial.writes.len(),
            before: f64::from(before) / partial.writes.len().max(1) as f64,
            utilisation: busiest,
        })
    }

    /// The share of arrivals that two disks of a request have in common, and the mean coefficient of variation of
    /// a visit as it is: that some are longer is shared by the disks of a request.
    fn coupling(&mut self, classes: &[Class]) -> (f64, f64) {
        let (mut pairs, mut visits, mut variation) = (0.0, 0.0, 0.0);
        let disks = self.array.disks as f64;
        for class in classes {
            for (probability, pattern) in &class.patterns {
                let rate = class.requests() * probability;
                let its_disks = pattern.disks();
                let n = its_disks.len() as f64;
                visits += rate * n;
                pairs += rate * n * (n - 1.0) / (disks - 1.0).max(1.0);
                for disk in its_disks {
                    let mut visit = patterns::first_visit(self.array, pattern, disk);
                    if visit.is_empty() {
                        let jobs = patterns::high_jobs(pattern).into_iter();
                        jobs.filter(|(d, _)| *d == disk)
                            .for_each(|(_, job)| visit.add((Access::Write, job.sectors)));
                    }
                    let service = self.visit(&visit);
                    variation += rate * service.variance().sqrt() / service.mean();
                }
            }
        }
        (pairs / visits, variation / visits)
    }

    /// A lower bound of the mean response time of single requests; `None` where what takes place without waits is an
    /// estimate, too, because stripes depend on each other.
    pub(super) fn lower_bound(&mut self, classes: &[Class]) -> Option<f64> {
        let is_simple = |class: &Class| class.patterns.iter().all(|(_, p)| p.is_simple());
        if !classes.iter().all(is_simple) {
            return None;
        }
        // A maximum has at least the mean of each of its parts; where partial stripes are written, waits are
        // estimates, and only what takes place without them is sure.
        let waits_are_sure = !classes.iter().any(Class::has_partial);
        let total: f64 = classes.iter().map(Class::requests).sum();
        let all = classes.iter().flat_map(|class| {
            let share = class.requests() / total;
            class
                .patterns
                .iter()
                .map(move |(p, pattern)| (share * p, pattern))
        });
        let mut lower = 0.0;
        for (share, pattern) in self.kinds(all, &|model, disk| model.group(disk)) {
            let mut slowest = self.alone(pattern).mean();
            if waits_are_sure {
                for (disk, visit) in &pattern.direct {
                    slowest = slowest.max(self.visit_response(*disk, visit).mean());
                }
            }
            lower += share * slowest;
        }
        // Where all requests ask the same of all disks: as if they came at equal distances.
        if let [class] = classes
            && let [(_, pattern)] = class.patterns.as_slice()
            && pattern.partial.is_empty()
            && !self.own.is_empty()
        {
            let mut slowest = Table::zero(self.grid.step());
            for (disk, visit) in &pattern.direct {
                slowest = slowest.max(&self.part(*disk, visit, Dependence::Shared));
            }
            lower = lower.max(slowest.mean());
        }
        Some(lower)
    }
}
