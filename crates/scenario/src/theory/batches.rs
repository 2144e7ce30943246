//! Requests that come together: each waits for the work that is there, for the requests of its batch before it,
//! and for itself.

use std::collections::BTreeMap;

use iosonar_analytic::open::BatchLaw;
use iosonar_analytic::{AnalyticError, Table};

use super::loaded::{ArrayTheory, Dependence};
use super::patterns::{Class, Visit};

/// The largest number of positions in a batch that are distinguished.
const MOST_PLACES: usize = 60;

impl ArrayTheory<'_> {
    /// The response of requests of which some come together.
    ///
    /// # Errors
    /// If batches are too long to go through their places, or a disk is too near to saturation.
    pub(super) fn batches(
        &mut self,
        classes: &[Class],
        dependence: Dependence,
    ) -> Result<Table, AnalyticError> {
        let step = self.grid.step();
        let groups = self.groups();
        let disks: Vec<usize> = (0..groups).map(|group| self.disk_of(group)).collect();
        let mut waits = Vec::with_capacity(groups);
        for &disk in &disks {
            let rate: f64 = classes.iter().map(|class| class.rate).sum();
            let works = classes.iter().map(|class| {
                let work = batch_work(&self.work(class, disk), &class.batch);
                (class.rate / rate, work)
            });
            let service = Table::mixture_of(works);
            waits.push(match service.mean() {
                0.0 => Table::zero(step),
                _ => Table::wait_mg1(rate, &service)?,
            });
        }
        let total: f64 = classes.iter().map(Class::requests).sum();
        let mut response: Option<(f64, Table)> = None;
        for class in classes {
            let works: Vec<Table> = disks.iter().map(|&disk| self.work(class, disk)).collect();
            let all = class.patterns.iter().map(|(p, pattern)| (*p, pattern));
            let kinds = self.kinds(all, &|model, disk| model.group(disk));
            let mut before = match dependence {
                Dependence::Independent => waits.clone(),
                Dependence::Shared => self.own.clone(),
            };
            for share in places(&class.batch)? {
                let mut known: BTreeMap<(usize, Visit), Table> = BTreeMap::new();
                for (probability, pattern) in &kinds {
                    let mut slowest = Table::zero(step);
                    for (disk, visit) in &pattern.direct {
                        let group = self.group(*disk);
                        let service = self.visit(visit);
                        let table = known
                            .entry((group, visit.clone()))
                            .or_insert_with(|| before[group].plus(&service));
                        slowest = slowest.max(table);
                    }
                    if dependence == Dependence::Shared {
                        slowest = self.shared(&waits, pattern).plus(&slowest);
                    }
                    let weight = class.requests() / total * share * probability;
                    response = Some(match response {
                        None => (weight, slowest),
                        Some((sum, table)) => {
                            let part = weight / (sum + weight);
                            let parts = [(1.0 - part, &table), (part, &slowest)];
                            (sum + weight, Table::mixture(&parts))
                        }
                    });
                }
                for (before, work) in before.iter_mut().zip(&works) {
                    *before = before.plus(work);
                }
            }
        }
        Ok(response.map_or_else(|| Table::zero(step), |(_, table)| table))
    }

    /// The work that a single request of a class brings to a disk: nothing with some probability.
    fn work(&mut self, class: &Class, disk: usize) -> Table {
        let mut by_visit: BTreeMap<Option<Visit>, f64> = BTreeMap::new();
        for (probability, pattern) in &class.patterns {
            let visit = pattern.direct.get(&disk).cloned();
            *by_visit.entry(visit).or_insert(0.0) += probability;
        }
        let step = self.grid.step();
        Table::mixture_of(by_visit.into_iter().map(|(visit, p)| {
            let table = visit.map_or_else(|| Table::zero(step), |visit| self.visit(&visit));
            (p, table)
        }))
    }
}

/// The shares of the places in a batch: what is left of long batches counts as the last.
fn places(batch: &BatchLaw) -> Result<Vec<f64>, AnalyticError> {
    let all = batch.before_a_job();
    let (mut some, mut left) = (Vec::new(), 1.0);
    for share in all {
        if left - share < 1e-4 {
            break;
        }
        some.push(share);
        left -= share;
    }
    some.push(left);
    if some.len() > MOST_PLACES {
        return Err(AnalyticError::TooLarge {
            what: "the position of a request in its batch",
            states: some.len() as f64,
            most: MOST_PLACES as f64,
            instead: "simulate it",
        });
    }
    Ok(some)
}

/// The work of a whole batch.
fn batch_work(one: &Table, batch: &BatchLaw) -> Table {
    match batch {
        BatchLaw::Constant(n) => one.times(*n),
        BatchLaw::Table(table) => Table::mixture_of(table.iter().map(|(p, n)| (*p, one.times(*n)))),
        BatchLaw::Geometric(mean) => one.geometric_sum(*mean),
    }
}
