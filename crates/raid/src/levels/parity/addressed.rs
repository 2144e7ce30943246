//! Placement by addresses, in the four usual layouts.
//!
//! Requests are cut at the borders of stripe units. A partial write touches the same range of the
//! parity unit as of the data units; if that range has a gap (the end of one unit and the beginning of
//! the next, nothing in between), the parity access covers the gap. A reconstruct-write reads that
//! range of the units that are not written, and of those that are written in part, what is missing of
//! it. RAID 6 has its second parity on the disk behind the first.

use iosonar_device::Access;
use iosonar_trace::Request;

use super::Parity;
use super::stripe::{Stripe, Touched};
use crate::RequestPlan;

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

/// How parity and data rotate over the disks from stripe to stripe.
#[derive(Clone, Copy, Debug)]
pub(in crate::levels) struct Rotation {
    pub(in crate::levels) disks: u64,
    pub(in crate::levels) parities: u64,
    pub(in crate::levels) layout: ParityLayout,
}

impl Rotation {
    #[inline]
    pub(in crate::levels) fn stripe_at(self, number: u64) -> Stripe {
        let n = self.disks;
        let (left, symmetric) = match self.layout {
            ParityLayout::LeftSymmetric => (true, true),
            ParityLayout::LeftAsymmetric => (true, false),
            ParityLayout::RightSymmetric => (false, true),
            ParityLayout::RightAsymmetric => (false, false),
        };
        let turn = number % n;
        let parity = if left { n - 1 - turn } else { turn };
        Stripe {
            parity,
            start: if symmetric {
                (parity + self.parities) % n
            } else {
                0
            },
            number: Some(number),
        }
    }

    /// The disk of data unit `index` of a stripe with addresses.
    #[inline]
    pub(in crate::levels) fn disk_of(self, stripe: Stripe, index: u64) -> u64 {
        let (n, behind) = (self.disks, stripe.parity + self.parities);
        if stripe.start == behind % n {
            // The data follow the parity: nothing to leave out.
            (stripe.start + index) % n
        } else if behind > n {
            // Q is on the first disk, P on the last.
            index + behind - n
        } else if index < stripe.parity {
            index
        } else {
            index + self.parities
        }
    }
}

impl Parity {
    #[inline]
    fn rotation(&self) -> Rotation {
        Rotation {
            disks: self.disk_count(),
            parities: self.parities,
            layout: self.layout,
        }
    }

    pub(super) fn stripe_at(&self, number: u64) -> Stripe {
        self.rotation().stripe_at(number)
    }

    /// The disk of data unit `index` of a stripe.
    #[inline]
    pub(super) fn disk_of(&self, stripe: Stripe, index: u64) -> u64 {
        self.rotation().disk_of(stripe, index)
    }

    /// Calls `each` with every stripe of a request and the units that it touches.
    fn for_each_stripe(
        &mut self,
        request: &Request,
        mut each: impl FnMut(&Self, Stripe, &[Touched]),
    ) {
        let mut touched = std::mem::take(&mut self.touched);
        let mut pieces = self.geometry.pieces(request).peekable();
        while let Some(piece) = pieces.next() {
            let number = piece.unit / self.data_disks();
            let (stripe, index) = (self.stripe_at(number), piece.unit % self.data_disks());
            touched.push(Touched {
                disk: self.disk_of(stripe, index),
                range: piece.offset..piece.end(),
            });
            let goes_on = pieces
                .peek()
                .is_some_and(|next| next.unit / self.data_disks() == number);
            if !goes_on {
                each(self, stripe, &touched);
                touched.clear();
            }
        }
        self.touched = touched;
    }

    pub(super) fn read_addressed(&mut self, request: &Request, plan: &mut RequestPlan) {
        let mut xor = 0;
        self.for_each_stripe(request, |this, stripe, touched| {
            xor += this.read_units(stripe, touched, plan);
        });
        plan.direct(Access::Read, 0);
        plan.with_xor(xor);
    }

    pub(super) fn write_addressed(&mut self, request: &Request, plan: &mut RequestPlan) {
        let mut xor = 0;
        self.for_each_stripe(request, |this, stripe, touched| {
            if this.is_full(touched) {
                xor += this.write_full(stripe, plan);
            }
        });
        plan.direct(Access::Write, 0);
        plan.with_xor(xor);
        self.for_each_stripe(request, |this, stripe, touched| {
            if !this.is_full(touched) {
                this.write_units(stripe, touched, plan);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::WriteStart;
    use super::super::tests::{place, raid5};
    use super::*;
    use crate::Placement;

    #[test]
    fn left_symmetric_parity_goes_left_and_data_follow_it() {
        let raid = raid5(4, Placement::Addressed, WriteStart::AfterParity);
        for unit in 0..12 {
            assert_eq!(place(&raid, unit), (unit % 4, 3 - unit / 3), "unit {unit}");
        }
    }

    #[test]
    fn the_four_layouts_of_three_disks() {
        for (layout, rows) in [
            (
                ParityLayout::LeftSymmetric,
                [(0, 2), (1, 2), (2, 1), (0, 1), (1, 0), (2, 0)],
            ),
            (
                ParityLayout::LeftAsymmetric,
                [(0, 2), (1, 2), (0, 1), (2, 1), (1, 0), (2, 0)],
            ),
            (
                ParityLayout::RightSymmetric,
                [(1, 0), (2, 0), (2, 1), (0, 1), (0, 2), (1, 2)],
            ),
            (
                ParityLayout::RightAsymmetric,
                [(1, 0), (2, 0), (0, 1), (2, 1), (0, 2), (1, 2)],
            ),
        ] {
            let mut raid = raid5(3, Placement::Addressed, WriteStart::AfterParity);
            raid.layout = layout;
            let placed: Vec<_> = (0..6).map(|unit| place(&raid, unit)).collect();
            assert_eq!(placed, rows, "{layout:?}");
        }
    }
}
