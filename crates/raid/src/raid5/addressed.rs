//! Placement by addresses, in the four usual layouts.
//!
//! Requests are cut at the borders of stripe units. A partial write touches the same range of the
//! parity unit as of the data units; if that range has a gap (the end of one unit and the beginning of
//! the next, nothing in between), the parity access covers the gap. A reconstruct-write reads that
//! range of the units that are not written, and of those that are written in part, what is missing of
//! it.

use std::ops::Range;

use iosonar_device::Access;
use iosonar_trace::Request;
use iosonar_units::Sectors;

use super::Raid5;
use crate::striping::Piece;
use crate::{Plan, StageKind};

/// Where parity and data lie in the stripes of an array with addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParityLayout {
    /// The parity moves from the last disk to the left; the data units follow it cyclically.
    #[default]
    LeftSymmetric,
    /// The parity moves from the last disk to the left; the data units go from the first disk on.
    LeftAsymmetric,
    /// The parity moves from the first disk to the right; the data units follow it cyclically.
    RightSymmetric,
    /// The parity moves from the first disk to the right; the data units go from the first disk on.
    RightAsymmetric,
}

impl Raid5 {
    /// The disks of data unit `unit` and of the parity of its stripe.
    pub(super) fn place(&self, unit: u64) -> (usize, usize) {
        let n = self.geometry.disks() as u64;
        let (stripe, index) = (unit / (n - 1), unit % (n - 1));
        let (left, symmetric) = match self.layout {
            ParityLayout::LeftSymmetric => (true, true),
            ParityLayout::LeftAsymmetric => (true, false),
            ParityLayout::RightSymmetric => (false, true),
            ParityLayout::RightAsymmetric => (false, false),
        };
        let turn = stripe % n;
        let parity = if left { n - 1 - turn } else { turn };
        let data = if symmetric {
            (parity + 1 + index) % n
        } else {
            index + u64::from(index >= parity)
        };
        (data as usize, parity as usize)
    }

    pub(super) fn read_addressed(&self, request: &Request, plan: &mut Plan) {
        for piece in self.geometry.pieces(request) {
            self.add_piece(piece.unit, piece.offset, piece.sectors, plan);
        }
        plan.direct(Access::Read, 0);
    }

    pub(super) fn write_addressed(&mut self, request: &Request, plan: &mut Plan) {
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.clear();
        pieces.extend(self.geometry.pieces(request));
        let stripe_of = |piece: &Piece| piece.unit / self.data_disks();
        let unit = self.geometry.stripe_unit().get();
        let full = |stripe: &[Piece]| {
            stripe.len() as u64 == self.data_disks() && stripe.iter().all(|p| p.sectors == unit)
        };
        let stripes = || pieces.chunk_by(|a, b| stripe_of(a) == stripe_of(b));
        for stripe in stripes().filter(|stripe| full(stripe)) {
            self.write_pieces(stripe, 0..unit, plan);
        }
        plan.direct(Access::Write, 0);
        for stripe in stripes().filter(|stripe| !full(stripe)) {
            self.write_part_of_stripe(stripe, plan);
        }
        self.pieces = pieces;
    }

    fn write_part_of_stripe(&self, pieces: &[Piece], plan: &mut Plan) {
        let range = pieces.iter().map(|p| p.offset).min().unwrap_or(0)
            ..pieces.iter().map(Piece::end).max().unwrap_or(0);
        let begin = plan.len();
        let kind = if 2 * (pieces.len() as u64) < self.data_disks() {
            self.write_pieces(pieces, range.clone(), plan);
            StageKind::ReadModifyWrite
        } else {
            self.read_rest_of_stripe(pieces, range.clone(), plan);
            StageKind::ReconstructWrite
        };
        let writes = plan.len();
        self.write_pieces(pieces, range, plan);
        plan.partial_write(kind, begin, writes);
    }

    /// Adds the pieces of one stripe, then `range` of its parity unit.
    fn write_pieces(&self, pieces: &[Piece], range: Range<u32>, plan: &mut Plan) {
        for piece in pieces {
            self.add_piece(piece.unit, piece.offset, piece.sectors, plan);
        }
        let (_, parity) = self.place(pieces[0].unit);
        let stripe = pieces[0].unit / self.data_disks();
        let sector = self.geometry.disk_sector(stripe, range.start);
        plan.add(parity, sector, Sectors::new(range.end - range.start));
    }

    /// Adds what `pieces` leave of `range` in the data units of their stripe.
    fn read_rest_of_stripe(&self, pieces: &[Piece], range: Range<u32>, plan: &mut Plan) {
        let first_unit = pieces[0].unit / self.data_disks() * self.data_disks();
        for unit in first_unit..first_unit + self.data_disks() {
            let mut add = |from: u32, to: u32| {
                if from < to {
                    self.add_piece(unit, from, to - from, plan);
                }
            };
            match pieces.iter().find(|piece| piece.unit == unit) {
                None => add(range.start, range.end),
                Some(piece) => {
                    add(range.start, piece.offset);
                    add(piece.end(), range.end);
                }
            }
        }
    }

    fn add_piece(&self, unit: u64, offset: u32, sectors: u32, plan: &mut Plan) {
        let (disk, _) = self.place(unit);
        let sector = self.geometry.disk_sector(unit / self.data_disks(), offset);
        plan.add(disk, sector, Sectors::new(sectors));
    }
}
