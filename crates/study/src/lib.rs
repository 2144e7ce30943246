//! Studies: questions that take many runs.
//!
//! - [`answered`]: what theory says of scenarios, beside simulation and measurement.
//! - [`calibrate`]: the parameters of a device from records of it.
//! - [`check_model`]: how well a model of a device predicts it, on records that it was not fitted to.
//! - [`choose`]: which of several systems meets the targets of a load, and how much it may grow.
//! - [`compare`]: how far distributions of records are apart.
//! - [`elsewhere`]: runs on other machines.
//! - [`highest_rate`]: the highest rate that a system sustains, by trying.
//! - [`likeness`]: a load that is like a real one, and how alike they are.
//! - [`networked`]: networked systems with what was measured of them, and other values of a key.
//! - [`objective`]: what simulations and theory say of what a system must keep to.
//! - [`plan`]: the highest load, or the fewest devices, that meets an objective.
//! - [`profiles`]: profiles of drives by their names.
//! - [`replay`]: replays with everything around them: targets, records, tries at other rates.
//! - [`sensitivity`]: how much an answer depends on each plausible choice.
//! - [`shell`]: words for a shell.
//! - [`sweep`]: runs over the values of parameters, in a tree of folders.
//! - [`validate`]: how true a profile is to a recording of its drive.
//! - [`vary`]: the same scenarios with all combinations of values.
//! - [`hooks`]: what happens around each run.

pub mod answered;
pub mod calibrate;
pub mod check_model;
pub mod choose;
pub mod compare;
pub mod elsewhere;
pub mod highest_rate;
pub mod hooks;
pub mod likeness;
pub mod networked;
pub mod objective;
pub mod plan;
pub mod profiles;
pub mod replay;
pub mod sensitivity;
pub mod shell;
pub mod sweep;
pub mod validate;
pub mod vary;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
