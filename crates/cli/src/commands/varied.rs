//! What is wrong with the keys and values of `--vary`, of all commands that take several.

use std::collections::HashMap;

use iosonar_scenario::{ScenarioError, holds};
use iosonar_study::vary::Key;
use iosonar_units::magnitude;

use crate::exit::Usage;

/// Refuses a key or a value that is given twice, and a key that `--set` gives, too.
pub(super) fn check(keys: &[Key], set: &[(String, String)]) -> Result<(), Usage> {
    for (i, (key, values)) in keys.iter().enumerate() {
        if keys[..i].iter().any(|(before, _)| before == key) {
            return Err(Usage(format!("--vary: '{key}' is given twice")));
        }
        if let Some((set, _)) = set.iter().find(|(set, _)| holds(key, set)) {
            return Err(Usage(format!(
                "--vary: '{key}' is varied, so --set {set} would have no effect; remove one of the two"
            )));
        }
        let mut before = HashMap::new();
        for value in values {
            if let Some(first) = before.insert(identity(value), value) {
                let is = match first == value {
                    true => "is given twice".to_owned(),
                    false => format!("and {value} are the same value"),
                };
                return Err(Usage(format!(
                    "--vary '{key}': {first} {is}; remove one of the two"
                )));
            }
        }
    }
    Ok(())
}

/// What equal values have in common, such as 1024KiB and 1MiB.
fn identity(value: &str) -> String {
    match magnitude(value) {
        Some((number, kind)) => format!("{number} {kind:?}"),
        None => value.to_owned(),
    }
}

/// What is wrong with a value that `--vary` set is said of `--vary`, not of `--set`.
pub(super) fn problem_of(error: &ScenarioError, keys: &[Key]) -> Option<Usage> {
    match error {
        ScenarioError::Set { key, problem }
            if keys
                .iter()
                .any(|(varied, _)| holds(varied, key) || holds(key, varied)) =>
        {
            Some(Usage(format!("--vary: '{key}' {problem}")))
        }
        _ => None,
    }
}
