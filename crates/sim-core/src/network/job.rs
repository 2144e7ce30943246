//! Jobs.

use iosonar_units::Nanos;

/// What kind of job: stations may serve classes by laws and priorities of their own, routers send
/// them different ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Class(pub u8);

/// No job.
pub(super) const NONE: u32 = u32::MAX;

/// What is left of a service that was not interrupted.
pub(super) const NOT_INTERRUPTED: Nanos = Nanos::MAX;

/// A job on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// Its number in the order of creation.
    pub(super) id: u64,
    /// When its response time began.
    pub(super) since: Nanos,
    /// When it came to the station where it is.
    pub(super) arrived: Nanos,
    /// When its service began there, or when it came to the last node with a behaviour, whichever was later.
    pub(super) started: Nanos,
    /// The service that is left of a job that was interrupted; the end of time if it was not.
    pub(super) left: Nanos,
    /// The job that was forked into this and its siblings.
    pub(super) parent: u32,
    /// How many of its children are on their way.
    pub(super) children: u32,
    /// The next job of a batch in service.
    pub(super) next: u32,
    /// The station where it is, or [`NONE`].
    pub(super) station: u32,
    /// How many times it, or a part of it, has come to a node with a behaviour since `started` without time passing.
    pub(super) moves: u32,
    pub(super) class: Class,
}

impl Job {
    pub(super) fn new(id: u64, class: Class, now: Nanos) -> Self {
        Self {
            id,
            since: now,
            arrived: now,
            started: now,
            left: NOT_INTERRUPTED,
            parent: NONE,
            children: 0,
            next: NONE,
            station: NONE,
            moves: 0,
            class,
        }
    }
}
