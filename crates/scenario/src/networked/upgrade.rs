//! What to buy.

use std::path::Path;

use iosonar_analytic::AnalyticError;
use iosonar_analytic::closed::exact_mva;

use super::NetworkedRaid;
use crate::ScenarioError;
use crate::resolve::Overrides;

/// Something that could be bought: other values for some keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Upgrade {
    /// What it is called.
    pub name: String,
    /// What it costs, in any currency.
    pub cost: f64,
    /// What it sets.
    set: Vec<(String, String)>,
}

/// One or several upgrades together.
#[derive(Clone, Debug, PartialEq)]
pub struct Purchase {
    /// Their names, in the order of the file.
    pub upgrades: Vec<String>,
    /// What they cost together.
    pub cost: f64,
    /// The response time with them, in seconds.
    pub response_s: f64,
    /// Seconds that they save.
    pub saved_s: f64,
}

impl Purchase {
    /// Seconds that it saves for each unit of its cost; `None` if it is free.
    pub fn saved_s_per_cost(&self) -> Option<f64> {
        (self.cost > 0.0).then(|| self.saved_s / self.cost)
    }
}

/// The largest number of upgrades, with at most a hundred thousand combinations.
const MOST_UPGRADES: usize = 16;

impl Upgrade {
    pub(super) fn new(name: String, cost: f64, set: &toml::Table) -> Self {
        let mut all = Vec::new();
        flatten("", set, &mut all);
        Self {
            name,
            cost,
            set: all,
        }
    }

    /// Whether the system with it is one.
    pub(super) fn check(
        &self,
        text: &str,
        path: &Path,
        overrides: &Overrides,
    ) -> Result<(), ScenarioError> {
        let wrong = |problem: String| ScenarioError::Incomplete {
            path: path.to_owned(),
            problem: format!("upgrade '{}': {problem}", self.name),
        };
        if self.set.is_empty() {
            return Err(wrong("'set' is empty".to_owned()));
        }
        if let Some((key, _)) = self.set.iter().find(|(key, _)| key.starts_with("upgrade")) {
            return Err(wrong(format!(
                "'set' contains '{key}', but an upgrade cannot change upgrades"
            )));
        }
        let system = with(&[self], text, path, overrides).map_err(|e| wrong(e.to_string()))?;
        if system.classes.len() > 1 {
            return Err(wrong(
                "upgrades can be ranked only for a single class of jobs, but the file has several"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Whether both set the same key: then one is bought or the other.
    fn excludes(&self, other: &Self) -> bool {
        let sets = |key: &str| other.set.iter().any(|(other, _)| other == key);
        self.set.iter().any(|(key, _)| sets(key))
    }
}

/// Keys with dots, as they are set on the command line.
fn flatten(prefix: &str, table: &toml::Table, all: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let key = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match value {
            toml::Value::Table(inner) => flatten(&key, inner, all),
            value => all.push((key, value.to_string())),
        }
    }
}

/// The system with some upgrades.
fn with(
    upgrades: &[&Upgrade],
    text: &str,
    path: &Path,
    overrides: &Overrides,
) -> Result<NetworkedRaid, ScenarioError> {
    let mut document: toml_edit::DocumentMut = text.parse().map_err(|e| ScenarioError::Syntax {
        path: path.to_owned(),
        message: format!("{e}"),
    })?;
    // Upgraded systems are not upgraded again.
    document.remove("upgrade");
    let more = upgrades.iter().flat_map(|u| u.set.iter().cloned());
    let overrides = Overrides {
        set: overrides.set.iter().cloned().chain(more).collect(),
        ..overrides.clone()
    };
    NetworkedRaid::from_toml(&document.to_string(), path, &overrides)
}

impl NetworkedRaid {
    /// What each upgrade, and each combination that costs at most `budget`, does to the response time
    /// with `jobs` jobs; `text`, `path` and `overrides` are those that the system was made of. Upgrades of the
    /// same key exclude each other. Sorted by the response time, of equal ones the cheapest first.
    ///
    /// # Errors
    /// If there are more than 16 upgrades, or an upgraded system is invalid.
    pub fn purchases(
        &self,
        jobs: u32,
        budget: Option<f64>,
        text: &str,
        path: &Path,
        overrides: &Overrides,
    ) -> Result<Vec<Purchase>, ScenarioError> {
        let wrong = |problem: String| ScenarioError::Incomplete {
            path: path.to_owned(),
            problem,
        };
        if self.upgrades.len() > MOST_UPGRADES {
            return Err(wrong(format!(
                "{} upgrades have too many combinations (use at most {MOST_UPGRADES} upgrades)",
                self.upgrades.len()
            )));
        }
        let response = |system: &Self| -> Result<f64, AnalyticError> {
            let points = exact_mva(&system.network(&system.classes[0])?, jobs)?;
            Ok(points[points.len() - 1].response)
        };
        let failed = |e: AnalyticError| wrong(e.to_string());
        let now = response(self).map_err(failed)?;
        let mut all = Vec::new();
        for chosen in 1..1_u32 << self.upgrades.len() {
            let bought = |i: &usize| chosen & (1 << i) != 0;
            let some: Vec<&Upgrade> = (0..self.upgrades.len())
                .filter(bought)
                .map(|i| &self.upgrades[i])
                .collect();
            let cost: f64 = some.iter().map(|u| u.cost).sum();
            let alone = some.len() == 1;
            if !alone && budget.is_none_or(|budget| cost > budget) {
                continue;
            }
            let clash = |(i, u): (usize, &&Upgrade)| some[..i].iter().any(|o| o.excludes(u));
            if some.iter().enumerate().any(clash) {
                continue;
            }
            let upgraded = with(&some, text, path, overrides)?;
            let response_s = response(&upgraded).map_err(failed)?;
            all.push(Purchase {
                upgrades: some.iter().map(|u| u.name.clone()).collect(),
                cost,
                response_s,
                saved_s: now - response_s,
            });
        }
        all.sort_by(|a, b| {
            let by_response = a.response_s.total_cmp(&b.response_s);
            by_response.then(a.cost.total_cmp(&b.cost))
        });
        Ok(all)
    }
}
