//! How a disk comes to the place of a partial-stripe write.
//!
//! The table of the paper; a case is decided when the write arrives at the disk and is never
//! revised.
//!
//! | write | disk on arrival | positioning |
//! |---|---|---|
//! | read-modify-write | busy | new seek + rotation |
//! | | idle, another request was served there since the pre-read | new seek + rotation |
//! | | idle, and this disk finished its pre-read last | one full revolution |
//! | | idle, otherwise | rotation only |
//! | reconstruct-write | busy with a sub-request of the same request | none (it follows on) |
//! | | idle, and its last served sub-request was of the same request | rotation only |
//! | | otherwise | new seek + rotation |

use iosonar_device::{Observable, Positioning, RequestId};

use crate::StageKind;

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// No partial-stripe write.
    Ordinary,
    /// Read-modify-write, the disk is busy.
    ModifyBusy,
    /// Read-modify-write, another request was served there since the pre-read.
    ModifyOther,
    /// Read-modify-write, this disk finished its pre-read last.
    ModifyLast,
    /// Read-modify-write, the disk has waited since its pre-read.
    ModifyWaited,
    /// Reconstruct-write, the disk is busy with another request.
    ReconstructBusy,
    /// Reconstruct-write, the disk is idle and served another request last.
    ReconstructOther,
    /// Reconstruct-write, the disk is busy with a sub-request of the same request.
    ReconstructFollows,
    /// Reconstruct-write, the disk is idle and served this request last.
    ReconstructWaited,
}

impl Case {
    /// How the disk comes to the place.
    #[inline]
    pub fn positioning(self) -> Positioning {
        match self {
            Self::Ordinary
            | Self::ModifyBusy
            | Self::ModifyOther
            | Self::ReconstructBusy
            | Self::ReconstructOther => Positioning::Fresh,
            Self::ModifyLast => Positioning::FullTurn,
            Self::ModifyWaited | Self::ReconstructWaited => Positioning::RotationOnly,
            Self::ReconstructFollows => Positioning::None,
        }
    }
}

/// The case of a write of `request` that arrives at `device`; `read_last` says whether this device
/// finished the last of the pre-reads.
#[inline]
pub fn of_write(
    kind: StageKind,
    request: RequestId,
    device: &impl Observable,
    read_last: bool,
) -> Case {
    let occupancy = device.occupancy();
    let here_last = occupancy.last_served == Some(request);
    match (kind, occupancy.in_service.map(|(busy, _)| busy)) {
        (StageKind::Direct(_) | StageKind::Ahead | StageKind::Copy, _) => Case::Ordinary,
        (StageKind::ReadModifyWrite, Some(_)) => Case::ModifyBusy,
        (StageKind::ReadModifyWrite, None) if here_last && read_last => Case::ModifyLast,
        (StageKind::ReadModifyWrite, None) if here_last => Case::ModifyWaited,
        (StageKind::ReadModifyWrite, None) => Case::ModifyOther,
        (StageKind::ReconstructWrite, Some(busy)) if busy == request => Case::ReconstructFollows,
        (StageKind::ReconstructWrite, Some(_)) => Case::ReconstructBusy,
        (StageKind::ReconstructWrite, None) if here_last => Case::ReconstructWaited,
        (StageKind::ReconstructWrite, None) => Case::ReconstructOther,
    }
}

/// How often each case came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PositioningCounts([u64; 9]);

impl PositioningCounts {
    /// The cases of read-modify-writes.
    pub const MODIFY: [Case; 4] = [
        Case::ModifyBusy,
        Case::ModifyOther,
        Case::ModifyLast,
        Case::ModifyWaited,
    ];
    /// The cases of reconstruct-writes.
    pub const RECONSTRUCT: [Case; 4] = [
        Case::ReconstructBusy,
        Case::ReconstructOther,
        Case::ReconstructFollows,
        Case::ReconstructWaited,
    ];

    #[inline]
    pub(crate) fn count(&mut self, case: Case) {
        self.0[case as usize] += 1;
    }

    /// How often a case came about.
    pub fn of(&self, case: Case) -> u64 {
        self.0[case as usize]
    }

    /// How often one of these cases came about.
    pub fn total(&self, cases: [Case; 4]) -> u64 {
        cases.into_iter().map(|case| self.of(case)).sum()
    }

    /// The share of a case in the total of these cases; NaN if none of them came about.
    pub fn share(&self, case: Case, cases: [Case; 4]) -> f64 {
        self.of(case) as f64 / self.total(cases) as f64
    }

    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += theirs;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use iosonar_device::{Occupancy, Pace};

    /// The request in service at a device, and the one served last.
    pub(crate) struct Answers(Option<RequestId>, Option<RequestId>);

    impl Observable for Answers {
        fn occupancy(&self) -> Occupancy {
            Occupancy {
                in_service: self.0.map(|request| (request, Pace(1.0))),
                last_served: self.1,
                waiting: 0,
            }
        }
    }

    #[test]
    fn every_row_of_the_table() {
        use Positioning::{Fresh, FullTurn, None as FollowsOn, RotationOnly};
        use StageKind::{ReadModifyWrite as Rmw, ReconstructWrite as Rcw};
        let (me, other) = (Some(RequestId(1)), Some(RequestId(2)));
        for (kind, busy, last, read_last, case, positioning) in [
            (Rmw, other, me, false, Case::ModifyBusy, Fresh),
            (Rmw, me, me, false, Case::ModifyBusy, Fresh),
            (Rmw, None, other, false, Case::ModifyOther, Fresh),
            (Rmw, None, me, true, Case::ModifyLast, FullTurn),
            (Rmw, None, me, false, Case::ModifyWaited, RotationOnly),
            (Rcw, me, other, false, Case::ReconstructFollows, FollowsOn),
            (Rcw, other, me, false, Case::ReconstructBusy, Fresh),
            (Rcw, None, me, false, Case::ReconstructWaited, RotationOnly),
            (Rcw, None, me, true, Case::ReconstructWaited, RotationOnly),
            (Rcw, None, other, false, Case::ReconstructOther, Fresh),
            (Rcw, None, None, false, Case::ReconstructOther, Fresh),
        ] {
            let device = Answers(busy, last);
            let seen = of_write(kind, RequestId(1), &device, read_last);
            assert_eq!(seen, case, "{kind:?} {busy:?} {last:?} {read_last}");
            assert_eq!(seen.positioning(), positioning);
        }
    }

    #[test]
    fn shares_are_of_the_cases_of_one_way_to_write_in_all_runs() {
        let counts = |cases: &[(Case, u64)]| {
            let mut counts = PositioningCounts::default();
            for &(case, n) in cases {
                (0..n).for_each(|_| counts.count(case));
            }
            counts
        };
        let mut all = counts(&[(Case::ModifyBusy, 3), (Case::ReconstructWaited, 5)]);
        all.merge(&counts(&[(Case::ModifyBusy, 2), (Case::ModifyLast, 5)]));
        assert_eq!(
            (all.of(Case::ModifyBusy), all.of(Case::ModifyOther)),
            (5, 0)
        );
        assert_eq!(all.total(PositioningCounts::MODIFY), 10);
        let share = |case, cases| all.share(case, cases);
        assert_eq!(share(Case::ModifyBusy, PositioningCounts::MODIFY), 0.5);
        let reconstruct = PositioningCounts::RECONSTRUCT;
        assert_eq!(share(Case::ReconstructWaited, reconstruct), 1.0);
        assert!(
            PositioningCounts::default()
                .share(Case::ReconstructWaited, reconstruct)
                .is_nan()
        );
    }
}
