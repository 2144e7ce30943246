//! The response time of a request: alone, and under the load.

use iosonar_analytic::Table;

use super::loaded::{ArrayTheory, Dependence};
use super::partial;
use super::patterns::Pattern;

impl ArrayTheory<'_> {
    /// The response of a request in an idle system.
    pub(super) fn alone(&mut self, pattern: &Pattern) -> Table {
        if pattern.partial.is_empty() {
            let mut slowest = Table::zero(self.grid.step());
            for visit in pattern.direct.values() {
                slowest = slowest.max(&self.visit(visit));
            }
            return slowest;
        }
        if let Some(table) = self.partial_alone.get(pattern) {
            return table.clone();
        }
        let table = partial::alone(self, pattern);
        self.partial_alone.insert(pattern.clone(), table.clone());
        table
    }

    /// The response of a request under the load; if disks share their arrivals, less what they share.
    pub(super) fn response(&mut self, pattern: &Pattern, dependence: Dependence) -> Table {
        if !pattern.partial.is_empty() {
            return partial::response(self, pattern, dependence);
        }
        let mut slowest = Table::zero(self.grid.step());
        for (disk, visit) in &pattern.direct {
            slowest = slowest.max(&self.part(*disk, visit, dependence));
        }
        slowest
    }
}
