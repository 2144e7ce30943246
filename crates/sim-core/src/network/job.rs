//! Jobs.

use iosonar_units::Nanos;

/// What kind of job: stations may serve classes by laws and priorities of their own, routers send
/// them different ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Class(pub u8);

/// No job.
pub(crate) const NONE: u32 = u32::MAX;

/// What is left of a service that was not interrupted.
pub(super) const NOT_INTERRUPTED: Nanos = Nanos::MAX;

/// A job on its way. It is small, as it is copied from node to node.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Its number in the order of creation.
    pub(crate) id: u64,
    /// When its response time began.
    pub(crate) since: Nanos,
    /// At a node: when it came there. Between nodes: when its last service began, or when it came to the last node with
    /// a behaviour, whichever was later.
    pub(crate) at: Nanos,
    /// The place of the job that was forked into this and its siblings.
    pub(crate) parent: u32,
    /// The class in the lowest byte, and the [number of moves](Self::moves) above.
    class_and_moves: u32,
}

impl Job {
    pub(crate) fn new(id: u64, class: Class, now: Nanos) -> Self {
        Self {
            id,
            since: now,
            at: now,
            parent: NONE,
            class_and_moves: u32::from(class.0),
        }
    }

    #[inline(always)]
    pub(crate) fn class(&self) -> Class {
        Class(self.class_and_moves as u8)
    }

    /// How many times it, or a part of it, has come to a node with a behaviour without time passing. It is less than
    /// 2^24.
    pub(super) fn moves(&self) -> u32 {
        self.class_and_moves >> 8
    }

    pub(super) fn set_moves(&mut self, moves: u32) {
        assert!(
            moves < 1 << 24,
            "a job that moves for ever is stopped before"
        );
        self.class_and_moves = moves << 8 | self.class_and_moves & 0xff;
    }
}

/// A job that stays for some time at a node that keeps it by its place, or that has been forked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) job: Job,
    /// When its service began here, or see [`Job::at`].
    pub(super) started: Nanos,
    /// The service that is left of a job that was interrupted; the end of time if it was not.
    pub(super) left: Nanos,
    /// How many of its children are on their way.
    pub(super) children: u32,
    /// The next job of a batch in service.
    pub(super) next: u32,
    /// The station where it is, or [`NONE`].
    pub(super) station: u32,
}

impl Placed {
    pub(super) fn new(job: Job) -> Self {
        Self {
            job,
            started: job.at,
            left: NOT_INTERRUPTED,
            children: 0,
            next: NONE,
            station: NONE,
        }
    }
}
