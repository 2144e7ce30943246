//! Which key is the x axis, which distinguish curves, and which the panels.

use super::labels::label;
use super::{Key, Point};

/// More curves in one picture cannot be distinguished.
pub const MOST_CURVES: usize = 12;
/// More panels are too small on a screen, or need scrolling.
pub const MOST_PANELS: usize = 12;

/// What distinguishes simulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Its scenario.
    Scenario,
    /// The value of the key with this number.
    Key(usize),
}

/// What each key stands for in a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    panels: Vec<Part>,
    curves: Vec<Part>,
}

/// Why keys cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RolesError {
    /// There is no such key.
    #[error("'{0}' is not varied; panels can show the values of {1}")]
    NotVaried(String, String),
    /// It is the x axis.
    #[error("'{0}' is on the x axis, so --panels cannot use it: put a different --vary first")]
    IsAxis(String),
    /// More than can be distinguished.
    #[error(
        "{0} curves in one picture, expected at most {MOST_CURVES}: give fewer values, or draw several panels with \
         --panels KEY"
    )]
    TooManyCurves(usize),
    /// More than can be seen at once.
    #[error("{0} panels in one picture, expected at most {MOST_PANELS}: give fewer values")]
    TooManyPanels(usize),
}

impl Roles {
    /// Of curves over the first key, with a curve for each value of the others, or panels for those of one of them.
    ///
    /// # Errors
    /// If there is no such key, or more curves than can be distinguished; each is drawn for a number of `figures`.
    pub fn of_curves(
        scenarios: usize,
        keys: &[Key],
        panels: Option<&str>,
        figures: usize,
    ) -> Result<Self, RolesError> {
        if let (Some(wanted), Some((first, _))) = (panels, keys.first())
            && is_name(first, wanted)
        {
            return Err(RolesError::IsAxis(wanted.to_owned()));
        }
        let parts: Vec<Part> = parts(scenarios, keys)
            .filter(|part| *part != Part::Key(0))
            .collect();
        let panels = match panels {
            Some(wanted) => vec![find(wanted, keys, &parts)?],
            None => Vec::new(),
        };
        Self::apart(parts, panels).checked(scenarios, keys, figures)
    }

    /// Of distributions: a curve for each value of the first key and a panel for each of the others, unless panels are
    /// wanted for another key.
    ///
    /// # Errors
    /// As of curves.
    pub fn of_distributions(
        scenarios: usize,
        keys: &[Key],
        panels: Option<&str>,
    ) -> Result<Self, RolesError> {
        let parts: Vec<Part> = parts(scenarios, keys).collect();
        let panels = match panels {
            Some(wanted) => vec![find(wanted, keys, &parts)?],
            None => parts
                .iter()
                .copied()
                .filter(|part| *part != Part::Key(0))
                .collect(),
        };
        Self::apart(parts, panels).checked(scenarios, keys, 1)
    }

    fn apart(parts: Vec<Part>, panels: Vec<Part>) -> Self {
        let curves = parts
            .into_iter()
            .filter(|part| !panels.contains(part))
            .collect();
        Self { panels, curves }
    }

    fn checked(self, scenarios: usize, keys: &[Key], figures: usize) -> Result<Self, RolesError> {
        let values = |part: &Part| match part {
            Part::Scenario => scenarios,
            Part::Key(i) => keys[*i].1.len(),
        };
        let count = |parts: &[Part]| parts.iter().map(values).fold(1, usize::saturating_mul);
        let (panels, curves) = (
            count(&self.panels),
            count(&self.curves).saturating_mul(figures),
        );
        if curves > MOST_CURVES {
            return Err(RolesError::TooManyCurves(curves));
        }
        match panels > MOST_PANELS {
            true => Err(RolesError::TooManyPanels(panels)),
            false => Ok(self),
        }
    }

    /// What the panel of a point is called; empty if there is one only.
    pub(super) fn panel_of(&self, keys: &[Key], point: &Point) -> String {
        words(&self.panels, keys, point).join(", ")
    }

    /// What distinguishes its curve from the others of the panel.
    pub(super) fn curve_of(&self, keys: &[Key], point: &Point) -> Vec<String> {
        words(&self.curves, keys, point)
    }
}

/// Everything that may distinguish simulations.
fn parts(scenarios: usize, keys: &[Key]) -> impl Iterator<Item = Part> {
    let of_scenario = (scenarios > 1).then_some(Part::Scenario);
    of_scenario
        .into_iter()
        .chain((0..keys.len()).map(Part::Key))
}

/// Whether a name refers to a key, which may be its end behind a dot.
fn is_name(key: &str, name: &str) -> bool {
    key == name || key.rsplit('.').next() == Some(name)
}

/// The part of this name: a key, or the end of it behind a dot, or `scenario`.
fn find(wanted: &str, keys: &[Key], parts: &[Part]) -> Result<Part, RolesError> {
    let name = |part: &Part| match part {
        Part::Scenario => "scenario",
        Part::Key(i) => keys[*i].0.as_str(),
    };
    let found = parts.iter().find(|part| is_name(name(part), wanted));
    found.copied().ok_or_else(|| {
        let there: Vec<&str> = parts.iter().map(name).collect();
        let there = match there[..] {
            [] => "a second --vary".to_owned(),
            _ => there.join(", "),
        };
        RolesError::NotVaried(wanted.to_owned(), there)
    })
}

fn words(parts: &[Part], keys: &[Key], point: &Point) -> Vec<String> {
    let word = |part: &Part| match part {
        Part::Scenario => point.name.clone(),
        Part::Key(i) => label(&keys[*i].0, &point.values[*i]),
    };
    parts.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(counts: &[usize]) -> Vec<Key> {
        let key =
            |(i, n): (usize, &usize)| (format!("a.k{i}"), (0..*n).map(|v| v.to_string()).collect());
        counts.iter().enumerate().map(key).collect()
    }

    #[test]
    fn the_second_key_has_curves_of_curves_and_panels_of_distributions() {
        let keys = keys(&[4, 3]);
        let curves = Roles::of_curves(1, &keys, None, 1).unwrap();
        assert_eq!((curves.panels, curves.curves), (vec![], vec![Part::Key(1)]));
        let panels = Roles::of_curves(1, &keys, Some("k1"), 1).unwrap();
        assert_eq!((panels.panels, panels.curves), (vec![Part::Key(1)], vec![]));
        let cdfs = Roles::of_distributions(2, &keys, None).unwrap();
        assert_eq!(cdfs.panels, [Part::Scenario, Part::Key(1)]);
        assert_eq!(cdfs.curves, [Part::Key(0)]);
        let other = Roles::of_distributions(1, &keys, Some("a.k0")).unwrap();
        assert_eq!(
            (other.panels, other.curves),
            (vec![Part::Key(0)], vec![Part::Key(1)])
        );
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        use RolesError::{IsAxis, NotVaried, TooManyCurves, TooManyPanels};
        let of = |counts: &[usize], panels, figures| {
            Roles::of_curves(1, &keys(counts), panels, figures).unwrap_err()
        };
        assert_eq!(of(&[4, 13], None, 1), TooManyCurves(13));
        assert_eq!(of(&[4, 5], None, 3), TooManyCurves(15));
        assert_eq!(of(&[4, 13], Some("k1"), 1), TooManyPanels(13));
        for first in ["a.k0", "k0"] {
            assert!(matches!(of(&[4, 2], Some(first), 1), IsAxis(_)));
        }
        let NotVaried(_, there) = of(&[4, 2], Some("x"), 1) else {
            panic!("a name")
        };
        assert_eq!(there, "a.k1");
        let cdfs = Roles::of_distributions(1, &keys(&[13]), None);
        assert_eq!(cdfs, Err(TooManyCurves(13)));
        assert!(Roles::of_distributions(1, &keys(&[12]), None).is_ok());
    }
}
