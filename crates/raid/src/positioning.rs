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

use iosonar_device::{Device, Positioning, RequestId};

use crate::StageKind;

/// The positioning of a write of `request` that arrives at `device`; `read_last` says whether this
/// device finished the last of the pre-reads.
#[inline]
pub fn of_write(
    kind: StageKind,
    request: RequestId,
    device: &impl Device,
    read_last: bool,
) -> Positioning {
    let here_last = device.last_served() == Some(request);
    match (kind, device.busy_with()) {
        (StageKind::Direct(_), _) => Positioning::Fresh,
        (StageKind::ReadModifyWrite, None) if here_last && read_last => Positioning::FullTurn,
        (StageKind::ReadModifyWrite, None) if here_last => Positioning::RotationOnly,
        (StageKind::ReadModifyWrite, _) => Positioning::Fresh,
        (StageKind::ReconstructWrite, Some(busy)) if busy == request => Positioning::None,
        (StageKind::ReconstructWrite, None) if here_last => Positioning::RotationOnly,
        (StageKind::ReconstructWrite, _) => Positioning::Fresh,
    }
}

/// How often each positioning was taken by partial-stripe writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PositioningCounts {
    /// Writes of read-modify-writes: fresh, rotation only, full turn.
    pub read_modify_write: [u64; 3],
    /// Writes of reconstruct-writes: fresh, rotation only, none.
    pub reconstruct_write: [u64; 3],
}

impl PositioningCounts {
    pub(crate) fn count(&mut self, kind: StageKind, positioning: Positioning) {
        let case = match positioning {
            Positioning::Fresh => 0,
            Positioning::RotationOnly => 1,
            Positioning::FullTurn | Positioning::TurnLessTransfer | Positioning::None => 2,
        };
        match kind {
            StageKind::Direct(_) => {}
            StageKind::ReadModifyWrite => self.read_modify_write[case] += 1,
            StageKind::ReconstructWrite => self.reconstruct_write[case] += 1,
        }
    }

    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &Self) {
        let pairs = [
            (&mut self.read_modify_write, &other.read_modify_write),
            (&mut self.reconstruct_write, &other.reconstruct_write),
        ];
        for (mine, theirs) in pairs {
            for (a, b) in mine.iter_mut().zip(theirs) {
                *a += b;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_device::{Job, Service};
    use iosonar_units::Nanos;

    /// A device that only answers the two questions.
    struct Answers(Option<RequestId>, Option<RequestId>);

    impl Device for Answers {
        fn submit(&mut self, _: Job, _: Nanos) {}
        fn start_next(&mut self, _: Nanos) -> Option<Nanos> {
            None
        }
        fn complete(&mut self, _: Nanos) -> Service {
            unreachable!()
        }
        fn busy_with(&self) -> Option<RequestId> {
            self.0
        }
        fn last_served(&self) -> Option<RequestId> {
            self.1
        }
        fn queue_length(&self) -> usize {
            0
        }
        fn measure_from(&mut self, _: Nanos) {}
        fn busy_time(&self) -> Nanos {
            Nanos::ZERO
        }
    }

    #[test]
    fn every_row_of_the_table() {
        use Positioning::{Fresh, FullTurn, None as FollowsOn, RotationOnly};
        use StageKind::{ReadModifyWrite as Rmw, ReconstructWrite as Rcw};
        let (me, other) = (Some(RequestId(1)), Some(RequestId(2)));
        for (kind, busy, last, read_last, expected) in [
            (Rmw, other, me, false, Fresh),
            (Rmw, me, me, false, Fresh),
            (Rmw, None, other, false, Fresh),
            (Rmw, None, me, true, FullTurn),
            (Rmw, None, me, false, RotationOnly),
            (Rcw, me, other, false, FollowsOn),
            (Rcw, other, me, false, Fresh),
            (Rcw, None, me, false, RotationOnly),
            (Rcw, None, me, true, RotationOnly),
            (Rcw, None, other, false, Fresh),
            (Rcw, None, None, false, Fresh),
        ] {
            let device = Answers(busy, last);
            let positioning = of_write(kind, RequestId(1), &device, read_last);
            assert_eq!(
                positioning, expected,
                "{kind:?} {busy:?} {last:?} {read_last}"
            );
        }
    }
}
