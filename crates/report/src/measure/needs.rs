//! What charts are made of.

use iosonar_plot::GridKind;

/// A cloud of points that charts are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum View {
    /// The quantity against the time of submission.
    Started,
    /// The quantity against the intended start.
    Intended,
    /// The quantity against the completion.
    Completed,
    /// The quantity against the number of the completion.
    Number,
    /// Delay against the intended start.
    Delay,
    /// Delay against the number of the completion.
    DelayNumber,
    /// Latency against requests in flight.
    LatencyByLoad,
    /// Delay against requests in flight.
    DelayByLoad,
    /// Latency against delay.
    LatencyByDelay,
    /// Latency against size.
    LatencyBySize,
    /// Positions against time.
    Addresses,
}

impl View {
    pub(crate) const ALL: [Self; 11] = [
        Self::Started,
        Self::Intended,
        Self::Completed,
        Self::Number,
        Self::Delay,
        Self::DelayNumber,
        Self::LatencyByLoad,
        Self::DelayByLoad,
        Self::LatencyByDelay,
        Self::LatencyBySize,
        Self::Addresses,
    ];

    pub(super) fn axes(self) -> (GridKind, GridKind) {
        match self {
            Self::LatencyByDelay | Self::LatencyBySize => (GridKind::Log, GridKind::Log),
            Self::Addresses => (GridKind::Linear, GridKind::Linear),
            _ => (GridKind::Linear, GridKind::Log),
        }
    }

    /// Whether its points are known only in the order of what happens, not of intended starts.
    pub(super) fn needs_order(self) -> bool {
        matches!(
            self,
            Self::Number | Self::DelayNumber | Self::LatencyByLoad | Self::DelayByLoad
        )
    }

    /// Whether it shows what failed, at its intended start.
    pub(super) fn shows_failures(self) -> bool {
        matches!(self, Self::Started | Self::Intended | Self::Completed)
    }
}

/// What some charts need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    views: u16,
    pub(super) load: bool,
    pub(super) outcome: bool,
    pub(super) bands: bool,
}

impl Needs {
    /// Nothing but distributions.
    pub(crate) const NONE: Self = Self {
        views: 0,
        load: false,
        outcome: false,
        bands: false,
    };
    /// What the load is like.
    pub(crate) const LOAD: Self = Self {
        load: true,
        ..Self::NONE
    };
    /// What happened over time.
    pub(crate) const OUTCOME: Self = Self {
        outcome: true,
        ..Self::NONE
    };
    /// How sure distributions are.
    pub(crate) const BANDS: Self = Self {
        bands: true,
        ..Self::NONE
    };

    pub(crate) const fn view(view: View) -> Self {
        Self {
            views: 1 << view as u16,
            ..Self::NONE
        }
    }

    /// Both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self {
            views: self.views | other.views,
            load: self.load | other.load,
            outcome: self.outcome | other.outcome,
            bands: self.bands | other.bands,
        }
    }

    /// Whether records must come sorted by intended start.
    pub fn order(self) -> bool {
        self.load || self.needs_outcome()
    }

    pub(super) fn has(self, view: View) -> bool {
        self.views & (1 << view as u16) != 0
    }

    pub(super) fn needs_outcome(self) -> bool {
        self.outcome || View::ALL.iter().any(|v| v.needs_order() && self.has(*v))
    }
}
