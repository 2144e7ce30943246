//! From the data sheet of a device to a model of it, and back: what follows from the figures that a maker states, and
//! what a simulation of the maker's own tests gives.

/// A parameter of the model, and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// The key of the profile.
    pub key: &'static str,
    /// Its value.
    pub value: f64,
    /// The formula, or why it is assumed.
    pub from: String,
}

/// The parameters as they are found, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Derivation(pub Vec<Derived>);

impl Derivation {
    /// Takes down a parameter, and returns its value.
    pub fn add(&mut self, key: &'static str, value: f64, from: impl Into<String>) -> f64 {
        let from = from.into();
        self.0.push(Derived { key, value, from });
        value
    }

    /// What the sheet says, or else what is assumed.
    pub fn given_or(
        &mut self,
        key: &'static str,
        given: Option<f64>,
        assumed: f64,
        why: &str,
    ) -> f64 {
        match given {
            Some(value) => self.add(key, value, "the data sheet"),
            None => self.add(key, assumed, format!("assumed: {why}")),
        }
    }
}

/// A figure of a data sheet, and what a simulation of its test gives.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetFigure {
    /// Which figure, with the conditions of its test.
    pub name: String,
    /// The unit of both values.
    pub unit: &'static str,
    /// What the sheet says.
    pub stated: f64,
    /// What the simulation gives.
    pub simulated: f64,
}

impl SheetFigure {
    /// As far as a simulated figure may be off, as a share of what is stated.
    pub const TOLERANCE: f64 = 0.05;

    /// A figure and its simulation, in one unit.
    pub fn new(name: impl Into<String>, unit: &'static str, stated: f64, simulated: f64) -> Self {
        Self {
            name: name.into(),
            unit,
            stated,
            simulated,
        }
    }

    /// How far they are apart, as a share of what is stated.
    pub fn error(&self) -> f64 {
        self.simulated / self.stated - 1.0
    }

    /// Whether the simulation reproduces the figure.
    pub fn is_reached(&self) -> bool {
        self.error().abs() <= Self::TOLERANCE
    }
}

#[cfg(test)]
mod tests {
    use super::SheetFigure;

    #[test]
    fn a_figure_is_reached_within_five_per_cent_either_way() {
        let reached = |simulated| SheetFigure::new("rate", "MB/s", 100.0, simulated).is_reached();
        assert!(reached(95.1) && reached(104.9));
        assert!(!reached(94.9) && !reached(105.1) && !reached(f64::NAN));
    }
}
