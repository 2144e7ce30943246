//! How the writes of partial stripes come to their places, and how long they take.

use iosonar_analytic::Table;
use iosonar_device::Access;
use iosonar_raid::rules::{FullTurn, Rules};

use super::disk::DiskGrid;
use super::patterns::HighJob;

/// How writes of a partial stripe come to their places.
pub(super) struct Shares {
    /// The disk just finished the last of the pre-reads.
    pub(super) full_turn: f64,
    /// No other request was at the disk since the request itself.
    pub(super) rotation: f64,
    /// Another request was, and has left.
    pub(super) idle: f64,
    /// Another request is.
    pub(super) busy: f64,
}

/// The time between the end of a pre-read and the end of the last one, on average, approximately.
fn gap(grid: &DiskGrid) -> f64 {
    grid.positioning(Access::Read).max_of(2).mean() - grid.positioning(Access::Read).mean()
}

/// What writes find, from the utilisation and the rate of visits of their disk. A disk that is left
/// empty (1 - rho) and not visited in the gap g between its own pre-read and the last one
/// (1 / (1 + lambda g)) is where the request left it; otherwise the visitor is still there unless
/// the service S was shorter than the gap, of which E\[exp(-S / g)\] is an estimate.
pub(super) fn shares(grid: &DiskGrid, job: HighJob, utilisation: f64, visits: f64) -> Shares {
    let last = if job.modifies {
        1.0 / f64::from(job.of.max(1))
    } else {
        0.0
    };
    if !job.modifies && !job.follows {
        return Shares {
            full_turn: 0.0,
            rotation: 0.0,
            idle: 1.0 - utilisation,
            busy: utilisation,
        };
    }
    let g = gap(grid);
    let undisturbed = (1.0 - utilisation) / (1.0 + visits * g);
    let service = grid.service(Access::Read, job.sectors, 1).mean();
    let gone = libm::exp(-service / g);
    let others = (1.0 - last) * (1.0 - undisturbed);
    Shares {
        full_turn: last,
        rotation: (1.0 - last) * undisturbed,
        idle: others * gone,
        busy: others * (1.0 - gone),
    }
}

/// How long the head takes, once it has read a block in `transfer` milliseconds, until it has written it: up
/// to the block's beginning, and over it again.
pub(super) fn turn_and_write(rule: FullTurn, revolution: f64, transfer: f64) -> f64 {
    match rule {
        FullTurn::Revolution => revolution + transfer,
        // Each revolution that the transfer lasts beyond the first costs another one.
        FullTurn::LessTransfer => revolution * (transfer / revolution).ceil(),
    }
}

/// Positioning and transfer of a write that comes after a full revolution.
pub(super) fn turned(grid: &DiskGrid, rules: Rules, sectors: u32) -> Table {
    let sectors = u64::from(sectors);
    let revolution = grid.revolution();
    match rules.full_turn {
        FullTurn::Revolution => grid.with_transfer(&grid.constant(revolution), sectors),
        FullTurn::LessTransfer => {
            let points = grid.transfer_points_by_turns(sectors, 1);
            let parts = points.into_iter().map(|(p, transfer)| {
                let ms = turn_and_write(rules.full_turn, revolution, transfer);
                (p, grid.constant(ms))
            });
            Table::mixture_of(parts)
        }
    }
}

/// The service of a write of a partial stripe on a disk with this utilisation and these visits.
pub(super) fn high_service(
    grid: &DiskGrid,
    rules: Rules,
    job: HighJob,
    utilisation: f64,
    visits: f64,
) -> Table {
    let shares = shares(grid, job, utilisation, visits);
    let rotation = grid.with_transfer(&grid.rotation(), u64::from(job.sectors));
    let new = grid.service(Access::Write, job.sectors, 1);
    Table::mixture(&[
        (shares.full_turn, &turned(grid, rules, job.sectors)),
        (shares.rotation, &rotation),
        (shares.idle + shares.busy, &new),
    ])
}
