//! Striping: how addresses are spread over disks in units.

use std::ops::Deref;

use iosonar_trace::Request;
use iosonar_units::{Sector, Sectors};

use crate::RequestPlan;

/// Where the pieces of a request go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// As in the papers on zoned RAID: whole stripe units at random places, addresses ignored.
    Random,
    /// By the addresses of a real layout; requests are cut at the borders of stripe units.
    #[default]
    Addressed,
}

/// What arrays of all levels have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayShape {
    /// How many disks, without spares.
    pub disks: usize,
    /// How much lies on one disk before the next one follows.
    pub stripe_unit: Sectors,
    /// The size of each disk in sectors.
    pub disk_sectors: u64,
    /// Where the pieces of a request go.
    pub placement: Placement,
}

impl ArrayShape {
    /// How many stripes there are: whole stripe units on each disk.
    pub fn stripes(&self) -> u64 {
        self.disk_sectors / u64::from(self.stripe_unit.get())
    }

    /// The sector on a disk where `offset` sectors into the unit of `stripe` lie.
    #[inline]
    pub fn disk_sector(&self, stripe: u64, offset: u32) -> Sector {
        Sector::new(stripe * u64::from(self.stripe_unit.get()) + u64::from(offset))
    }

    /// The pieces of a request, cut at the borders of stripe units, in order.
    pub fn pieces(&self, request: &Request) -> impl Iterator<Item = Piece> + use<> {
        let unit = u64::from(self.stripe_unit.get());
        let end = request.end().get();
        let mut at = request.sector.get();
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let (number, offset) = (at / unit, at % unit);
            let sectors = (unit - offset).min(end - at);
            at += sectors;
            Some(Piece {
                unit: number,
                offset: offset as u32,
                sectors: sectors as u32,
            })
        })
    }
}

/// A shape that an array can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StripeGeometry(ArrayShape);

impl Deref for StripeGeometry {
    type Target = ArrayShape;

    #[inline]
    fn deref(&self) -> &ArrayShape {
        &self.0
    }
}

/// Why an array cannot have this shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// Too few or too many disks.
    #[error("{level} needs {least} to 1024 disks (got {seen})")]
    Disks {
        /// The RAID level.
        level: &'static str,
        /// The fewest disks it can be made of.
        least: usize,
        /// How many were asked for.
        seen: usize,
    },
    /// The disks are not a multiple of the copies.
    #[error(
        "{level} with {copies} copies (at least 2) needs a multiple of that number of disks (got {seen})"
    )]
    Copies {
        /// The RAID level.
        level: &'static str,
        /// How many copies.
        copies: usize,
        /// How many disks were asked for.
        seen: usize,
    },
    /// More disks are lost than the level tolerates, or disks that do not exist.
    #[error("{level} tolerates the loss of {most}, but not the loss of disks {seen:?}")]
    Lost {
        /// The RAID level.
        level: &'static str,
        /// The lost disks, from 0.
        seen: Vec<usize>,
        /// The loss it tolerates.
        most: &'static str,
    },
    /// A disk that is not there has failed.
    #[error("failed disk {seen} does not exist: the disks are numbered 0 to {}", disks - 1)]
    NoSuchDisk {
        /// The disk.
        seen: usize,
        /// How many there are.
        disks: usize,
    },
    /// Disks that do not make equal groups.
    #[error("{seen} disks cannot be divided into {groups} equal groups")]
    UnequalGroups {
        /// How many groups.
        groups: usize,
        /// How many disks.
        seen: usize,
    },
    /// An array of arrays with too few of them.
    #[error("a nested array needs at least 2 groups (got {seen})")]
    Groups {
        /// How many.
        seen: usize,
    },
    /// The stripe unit is nothing, or larger than a disk.
    #[error("a stripe unit of {seen} sectors is larger than a disk of {disk_sectors} sectors")]
    StripeUnit {
        /// The stripe unit in sectors.
        seen: Sectors,
        /// The size of a disk in sectors.
        disk_sectors: u64,
    },
    /// A registered level cannot be made.
    #[error("level \"{level}\" cannot be created: {problem}")]
    Registered {
        /// Its name.
        level: String,
        /// What it says.
        problem: String,
    },
}

impl StripeGeometry {
    /// An array of at least `least` equal disks, for `level`; fails if there are too few or too many, or the stripe
    /// unit does not fit.
    pub(crate) fn new(
        level: &'static str,
        least: usize,
        shape: ArrayShape,
    ) -> Result<Self, GeometryError> {
        if shape.disks < least || shape.disks > 1024 {
            return Err(GeometryError::Disks {
                level,
                least,
                seen: shape.disks,
            });
        }
        let unit = u64::from(shape.stripe_unit.get());
        if unit == 0 || unit > shape.disk_sectors {
            return Err(GeometryError::StripeUnit {
                seen: shape.stripe_unit,
                disk_sectors: shape.disk_sectors,
            });
        }
        Ok(Self(shape))
    }

    /// The number of stripe units that a request of this size takes when it begins at one's start.
    #[inline]
    pub(crate) fn units(&self, sectors: Sectors) -> u64 {
        u64::from(sectors.get().div_ceil(self.stripe_unit.get()))
    }

    /// The number of the stripe unit that holds `sector`, among all data units of the array.
    #[inline]
    pub(crate) fn unit_of(&self, sector: Sector) -> u64 {
        sector.get() / u64::from(self.stripe_unit.get())
    }

    /// Adds the whole unit of a disk in a stripe to a plan.
    pub(crate) fn add_unit(&self, plan: &mut RequestPlan, disk: usize, stripe: u64) {
        plan.add(disk, self.disk_sector(stripe, 0), self.stripe_unit);
    }

    /// How many pieces a request is cut into.
    #[inline]
    pub(crate) fn count_pieces(&self, request: &Request) -> u64 {
        let unit = u64::from(self.stripe_unit.get());
        request.end().get().div_ceil(unit) - request.sector.get() / unit
    }
}

/// A part of a request within one stripe unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of the unit among all data units of the array.
    pub unit: u64,
    /// Where the piece begins in it, in sectors.
    pub offset: u32,
    /// How long it is.
    pub sectors: u32,
}

impl Piece {
    pub(crate) fn end(&self) -> u32 {
        self.offset + self.sectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(disks: usize, unit: u32, disk_sectors: u64) -> ArrayShape {
        ArrayShape {
            disks,
            stripe_unit: Sectors::new(unit),
            disk_sectors,
            placement: Placement::Addressed,
        }
    }

    #[test]
    fn a_request_is_cut_at_the_borders_of_units_and_nowhere_else() {
        let geometry = StripeGeometry::new("a level", 1, shape(2, 10, 1000)).unwrap();
        for sector in 0..35 {
            for sectors in 1..35 {
                let request = Request {
                    sector: Sector::new(sector),
                    sectors: Sectors::new(sectors),
                    ..Request::default()
                };
                let pieces: Vec<Piece> = geometry.pieces(&request).collect();
                assert_eq!(geometry.count_pieces(&request), pieces.len() as u64);
                assert_eq!(geometry.unit_of(request.sector), pieces[0].unit);
                assert_eq!(
                    geometry.units(request.sectors),
                    u64::from(sectors).div_ceil(10)
                );
                let mut at = sector;
                for piece in &pieces {
                    assert_eq!(piece.unit * 10 + u64::from(piece.offset), at);
                    assert!(piece.sectors > 0 && piece.end() <= 10);
                    at += u64::from(piece.sectors);
                    let is_last = at == sector + u64::from(sectors);
                    assert!(is_last || piece.end() == 10, "it ends at a border");
                }
                assert_eq!(at, sector + u64::from(sectors));
            }
        }
    }

    #[test]
    fn an_array_has_enough_disks_and_at_least_a_unit_on_each() {
        let new =
            |disks, unit, sectors| StripeGeometry::new("a level", 3, shape(disks, unit, sectors));
        let problem = |disks, unit, sectors| new(disks, unit, sectors).unwrap_err().to_string();
        assert!(new(3, 10, 10).is_ok() && new(1024, 1, 1 << 40).is_ok());
        let needs = "a level needs 3 to 1024 disks (got ";
        assert_eq!(problem(2, 10, 100), format!("{needs}2)"));
        assert_eq!(problem(1025, 10, 100), format!("{needs}1025)"));
        let larger = "sectors is larger than a disk of 9 sectors";
        assert_eq!(problem(3, 10, 9), format!("a stripe unit of 10 {larger}"));
        assert_eq!(problem(3, 0, 9), format!("a stripe unit of 0 {larger}"));
        let shape = shape(3, 10, 109);
        assert_eq!(shape.stripes(), 10);
        assert_eq!(shape.disk_sector(3, 4), Sector::new(34));
    }

    #[test]
    fn a_disk_that_is_not_there_is_named_with_the_last_that_is() {
        let error = GeometryError::NoSuchDisk { seen: 4, disks: 4 };
        assert_eq!(
            error.to_string(),
            "failed disk 4 does not exist: the disks are numbered 0 to 3"
        );
    }
}
