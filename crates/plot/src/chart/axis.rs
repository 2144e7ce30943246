//! Axes.

use crate::cloud::GridKind;
use crate::units::Unit;

/// An axis.
#[derive(Clone, Debug, Default)]
pub struct Axis {
    /// The quantity.
    pub name: String,
    /// What its numbers are.
    pub unit: Unit,
    /// Whether equal ratios have equal lengths.
    pub is_log: bool,
    /// Values that it must show.
    pub include: Vec<f64>,
    /// Its ends, instead of those that its values ask for: zooming.
    pub range: Option<(f64, f64)>,
    /// Whether it is a time that charts of the same input share.
    pub is_shared_time: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(name: &str, unit: Unit) -> Self {
        Self {
            name: name.to_owned(),
            unit,
            ..Self::default()
        }
    }

    /// A linear axis that begins at zero.
    pub fn from_zero(name: &str, unit: Unit) -> Self {
        Self {
            include: vec![0.0],
            ..Self::linear(name, unit)
        }
    }

    /// A logarithmic axis.
    pub fn log(name: &str, unit: Unit) -> Self {
        Self {
            is_log: true,
            ..Self::linear(name, unit)
        }
    }

    /// A linear axis of time, which several charts share.
    pub fn time(name: &str) -> Self {
        Self {
            is_shared_time: true,
            ..Self::linear(name, Unit::Seconds)
        }
    }

    /// How a cloud on this axis is divided.
    pub fn grid(&self) -> GridKind {
        if self.is_log {
            GridKind::Log
        } else {
            GridKind::Linear
        }
    }
}
