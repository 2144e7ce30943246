//! A system that is typed in place of a scenario file, as in `choose`: `raid5:6xexos-x18+cache=1GiB`.

use std::path::Path;

use iosonar_scenario::{Overrides, Prepared, ScenarioError};
use iosonar_study::choose::{Candidate, CandidateError};

/// Whether this names a system, and not a file.
pub(super) fn is_typed(path: &Path) -> bool {
    let Some(name) = path.to_str().filter(|_| !path.exists()) else {
        return false;
    };
    let is_file = path.extension().is_some_and(|e| e == "toml") && !name.contains(':');
    // A word alone may as well be the name of a file.
    let has_form = || name.contains([':', '+']) || Candidate::parse(name).is_ok();
    !is_file && has_form()
}

/// The system with the load that the options give.
///
/// # Errors
/// If it does not name a system, or the system has no load.
pub(super) fn read(path: &Path, overrides: &Overrides) -> Result<Prepared, ScenarioError> {
    let wrong = |problem: String| ScenarioError::Incomplete {
        path: path.to_owned(),
        problem,
    };
    let parsed = Candidate::parse(&path.to_string_lossy());
    let system = parsed.map_err(|error| match error {
        CandidateError::File(error) => error,
        CandidateError::Form { problem, .. } => wrong(format!(
            "no such file, and not a system: {problem}; a system looks like raid10:8xexos-x18+cache=1GiB, nvme-gen4-tlc or \
             calibrated:PROFILE.toml"
        )),
    })?;
    let sets_load = |(key, _): &(String, String)| key == "load" || key.starts_with("load.");
    if system.devices().is_some()
        && overrides.trace.is_none()
        && !overrides.set.iter().any(sets_load)
    {
        return Err(wrong(
            "the system has no load: add --trace FILE, or keys of a load such as --set load.requests=100000 --set \
             load.rate_per_s=50 --set load.size=4KiB; --explain prints the whole as a scenario file"
                .to_owned(),
        ));
    }
    system.prepared(overrides)
}
