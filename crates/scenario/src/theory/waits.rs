//! How long requests wait at each disk.

use iosonar_analytic::{AnalyticError, Table};

use super::loaded::{ArrayTheory, Waits};
use super::patterns::{FirstVisit, HighJob};
use super::{StationTheory, writes};

impl ArrayTheory<'_> {
    /// Computes the waits of all disks.
    ///
    /// # Errors
    /// If writes of partial stripes make a disk unstable, or it is too near to that.
    pub(super) fn wait(&mut self) -> Result<(), AnalyticError> {
        self.waits = (0..self.groups())
            .map(|group| self.waits_at(self.disk_of(group)))
            .collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Adds the waits of all disks to their stations, and what writes of partial stripes add to their work.
    pub(super) fn add_waits(&self, stations: &mut [StationTheory]) {
        for (disk, station) in stations.iter_mut().enumerate() {
            let waits = self.waits_of(disk);
            station.mean_wait_ms = waits.low.mean();
            station.utilisation = waits.utilisation;
            station.busy = waits.utilisation;
        }
    }

    /// The waits of a disk.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub(super) fn waits_at(&mut self, disk: usize) -> Result<Waits, AnalyticError> {
        let step = self.grid.step();
        let (low_load, high_load) = (self.low_load(disk), self.high_load(disk));
        if low_load.is_empty() && high_load.is_empty() {
            return Ok(Waits {
                low: Table::zero(step),
                high: None,
                utilisation: 0.0,
                visits: 0.0,
                service: Table::zero(step),
            });
        }
        let first: Vec<(f64, Table)> = low_load
            .iter()
            .map(|(rate, (visit, _))| (*rate, self.visit(visit)))
            .collect();
        if !high_load.is_empty() {
            return self.prioritised(&low_load, &first, &high_load);
        }
        let (visits, service) = (rate_of(&first), mixed(&first));
        Ok(Waits {
            low: Table::wait_mg1(visits, &service)?,
            high: None,
            utilisation: visits * service.mean(),
            visits,
            service,
        })
    }

    /// The same with writes of partial stripes, which go first.
    fn prioritised(
        &self,
        low_load: &[(f64, FirstVisit)],
        first: &[(f64, Table)],
        high_load: &[(f64, HighJob)],
    ) -> Result<Waits, AnalyticError> {
        let low_rate = rate_of(first);
        let write = |job: HighJob, utilisation: f64| {
            let rules = self.array.rules;
            writes::high_service(&self.grid, rules, job, utilisation, low_rate)
        };
        // What writes take depends on the load, which depends on what they take.
        let mut utilisation = 0.0;
        let mut second: Vec<(f64, Table)> = Vec::new();
        for _ in 0..20 {
            let parts = high_load.iter();
            second = parts
                .map(|(rate, job)| (*rate, write(*job, utilisation)))
                .collect();
            let next = work_of(first) + work_of(&second);
            if next >= 1.0 {
                return Err(AnalyticError::Unstable { offered: next });
            }
            let change = (next - utilisation).abs();
            utilisation = next;
            if change < 1e-6 {
                break;
            }
        }
        let (high_rate, high) = (rate_of(&second), mixed(&second));
        // Who waits behind a request mostly waits for the write that it comes back with, too.
        let mut returning = 0.0;
        let mut all: Vec<(f64, Table)> = Vec::new();
        for ((rate, (_, back)), (_, first)) in low_load.iter().zip(first) {
            all.push(match back {
                None => (*rate, first.clone()),
                Some(job) => {
                    returning += rate;
                    (*rate, first.plus(&write(*job, utilisation)))
                }
            });
        }
        // The others come from nowhere, and overtake.
        let other_rate = (high_rate - returning).max(0.0);
        if other_rate > 1e-9 * high_rate {
            all.push((other_rate, high.clone()));
        }
        let first_come = Table::wait_mg1(rate_of(&all), &mixed(&all))?;
        let high_wait = if first.is_empty() {
            Table::wait_mg1(high_rate, &high)
        } else {
            Table::wait_of_high_class((high_rate, &high), (low_rate, &mixed(first)))
        };
        Ok(Waits {
            // Cobham: W_low = W / (1 - rho_high), W that without priorities.
            low: first_come.stretched(1.0 / (1.0 - other_rate * high.mean())),
            high: high_wait.ok(),
            utilisation,
            visits: low_rate,
            service: mixed(&all),
        })
    }
}

fn rate_of(parts: &[(f64, Table)]) -> f64 {
    parts.iter().map(|(rate, _)| rate).sum()
}

fn work_of(parts: &[(f64, Table)]) -> f64 {
    parts.iter().map(|(rate, table)| rate * table.mean()).sum()
}

fn mixed(parts: &[(f64, Table)]) -> Table {
    let sum = rate_of(parts);
    let parts: Vec<(f64, &Table)> = parts.iter().map(|(r, t)| (r / sum, t)).collect();
    Table::mixture(&parts)
}
