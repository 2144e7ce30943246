//! RAID 01: a mirror of stripes.
//!
//! The disks are two sides of n/2 columns. Blocks go round-robin over the columns; what is written
//! goes to both sides, what is read comes from one of them, by a policy.

use iosonar_device::Access;
use iosonar_sim_core::{Seed, Stream};
use iosonar_trace::{Op, Request};
use iosonar_units::{Sector, Sectors};

use crate::{Geometry, GeometryError, Placement, Plan, Planner};

/// Which side a block of a read comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MirrorRead {
    /// The first half of the blocks (the larger, if they are odd) from a random side, the rest from
    /// the other.
    #[default]
    Halves,
    /// Round-robin over all disks, from a random first one.
    RoundRobin,
    /// The sides alternate with each row of blocks, from a random first side.
    AlternatingRows,
    /// A random side for each block.
    RandomPerBlock,
}

/// A RAID 01 array.
#[derive(Clone, Debug)]
pub struct Raid01 {
    geometry: Geometry,
    placement: Placement,
    mirror_read: MirrorRead,
    first_column: Stream,
    side: Stream,
}

impl Raid01 {
    /// An array of an even number of disks, at least two.
    ///
    /// # Errors
    /// If the array cannot have this shape.
    pub fn new(
        disks: usize,
        stripe_unit: Sectors,
        disk_sectors: u64,
        placement: Placement,
        mirror_read: MirrorRead,
        seed: &Seed,
    ) -> Result<Self, GeometryError> {
        if !disks.is_multiple_of(2) {
            return Err(GeometryError::OddDisks {
                level: "RAID 01",
                seen: disks,
            });
        }
        Ok(Self {
            geometry: Geometry::new("RAID 01", 2, disks, stripe_unit, disk_sectors)?,
            placement,
            mirror_read,
            first_column: seed.stream("array", "first disk"),
            side: seed.stream("array", "side"),
        })
    }

    fn columns(&self) -> u64 {
        self.geometry.disks() as u64 / 2
    }

    /// The side from which block `block` of `blocks` is read; `column` is that of the first block.
    fn side(&mut self, first: u64, block: u64, blocks: u64, column: u64) -> u64 {
        match self.mirror_read {
            MirrorRead::Halves => first ^ u64::from(block >= blocks.div_ceil(2)),
            MirrorRead::RoundRobin => (first + (column + block) / self.columns()) % 2,
            MirrorRead::AlternatingRows => (first + block / self.columns()) % 2,
            MirrorRead::RandomPerBlock => self.side.below(2),
        }
    }

    fn add(&self, side: u64, column: u64, sector: Sector, sectors: Sectors, plan: &mut Plan) {
        plan.add((side * self.columns() + column) as usize, sector, sectors);
    }
}

impl Planner for Raid01 {
    fn plan(&mut self, request: &Request, plan: &mut Plan) {
        let access = match request.op {
            Op::Read => Access::Read,
            Op::Write | Op::WriteZeroes => Access::Write,
            Op::Flush | Op::Discard => return,
        };
        let (geometry, columns) = (self.geometry, self.columns());
        let first_side = match access {
            Access::Read => self.side.below(2),
            Access::Write => 0,
        };
        let (first_column, blocks) = match self.placement {
            Placement::Random => (
                self.first_column.below(columns),
                geometry.units(request.sectors),
            ),
            Placement::Addressed => (
                geometry.unit_of(request.sector) % columns,
                geometry.pieces(request).count() as u64,
            ),
        };
        let mut pieces = geometry.pieces(request);
        for block in 0..blocks {
            let column = (first_column + block) % columns;
            let (sector, sectors) = match self.placement {
                Placement::Random => (geometry.disk_sector(0, 0), geometry.stripe_unit()),
                Placement::Addressed => {
                    let Some(piece) = pieces.next() else { break };
                    let sector = geometry.disk_sector(piece.unit / columns, piece.offset);
                    (sector, Sectors::new(piece.sectors))
                }
            };
            match access {
                Access::Read => {
                    let side = self.side(first_side, block, blocks, first_column);
                    self.add(side, column, sector, sectors, plan);
                }
                Access::Write => {
                    self.add(0, column, sector, sectors, plan);
                    self.add(1, column, sector, sectors, plan);
                }
            }
        }
        plan.direct(access, 0);
    }

    fn disks(&self) -> usize {
        self.geometry.disks()
    }

    fn data_sectors(&self) -> u64 {
        self.geometry.stripes() * self.columns() * u64::from(self.geometry.stripe_unit().get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNIT: u32 = 8;

    fn raid01(disks: usize, placement: Placement, mirror_read: MirrorRead) -> Raid01 {
        let (unit, seed) = (Sectors::new(UNIT), Seed::new(1));
        Raid01::new(disks, unit, 1 << 20, placement, mirror_read, &seed).unwrap()
    }

    fn disks(raid: &mut Raid01, op: Op, sector: u64, sectors: u32) -> Vec<usize> {
        let mut plan = Plan::default();
        let request = Request {
            op,
            sector: Sector::new(sector),
            sectors: Sectors::new(sectors),
            ..Request::default()
        };
        raid.plan(&request, &mut plan);
        plan.sub_requests().iter().map(|s| s.disk).collect()
    }

    #[test]
    fn a_read_of_all_columns_twice_takes_each_disk_once() {
        for policy in [
            MirrorRead::Halves,
            MirrorRead::RoundRobin,
            MirrorRead::AlternatingRows,
        ] {
            let mut raid = raid01(4, Placement::Random, policy);
            for _ in 0..20 {
                let mut used = disks(&mut raid, Op::Read, 0, 4 * UNIT);
                used.sort_unstable();
                assert_eq!(used, [0, 1, 2, 3], "{policy:?}");
            }
        }
    }

    #[test]
    fn two_blocks_in_halves_come_from_different_sides() {
        let mut raid = raid01(4, Placement::Random, MirrorRead::Halves);
        for _ in 0..20 {
            let used = disks(&mut raid, Op::Read, 0, 2 * UNIT);
            assert_ne!(used[0] / 2, used[1] / 2, "the sides");
            assert_ne!(used[0] % 2, used[1] % 2, "the columns");
        }
    }

    #[test]
    fn a_write_goes_to_both_sides() {
        let mut raid = raid01(6, Placement::Addressed, MirrorRead::Halves);
        assert_eq!(disks(&mut raid, Op::Write, 8, 2 * UNIT), [1, 4, 2, 5]);
    }

    #[test]
    fn an_odd_number_of_disks_has_no_mirror() {
        let error = Raid01::new(
            5,
            Sectors::new(8),
            1 << 20,
            Placement::Random,
            MirrorRead::Halves,
            &Seed::new(1),
        );
        assert!(error.unwrap_err().to_string().contains("even number"));
    }

    proptest! {
        #[test]
        fn both_sides_hold_the_same(sector in 0..5000_u64, sectors in 1..300_u32, columns in 1..5_usize) {
            let mut raid = raid01(2 * columns, Placement::Addressed, MirrorRead::Halves);
            let mut plan = Plan::default();
            let request = Request {
                op: Op::Write,
                sector: Sector::new(sector),
                sectors: Sectors::new(sectors),
                ..Request::default()
            };
            raid.plan(&request, &mut plan);
            let written: u32 = plan.sub_requests().iter().map(|s| s.sectors.get()).sum();
            prop_assert_eq!(written, 2 * sectors);
            for pair in plan.sub_requests().chunks(2) {
                prop_assert_eq!(pair[0].disk + columns, pair[1].disk);
                prop_assert_eq!((pair[0].sector, pair[0].sectors), (pair[1].sector, pair[1].sectors));
            }
        }
    }
}
