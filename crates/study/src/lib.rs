//! Studies: questions that take many runs.
//!
//! - [`plan`]: the highest load, or the fewest devices, that meets a target.

pub mod plan;
