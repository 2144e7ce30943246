//! The parameter files of DiskSim 4.0 (Bucy, Schindler, Schlosser, Ganger, "The DiskSim Simulation Environment
//! Version 4.0 Reference Manual", CMU-PDL-08-101).
//!
//! ```text
//! .parv ──► .diskspecs ──► .model ──► .seek        text, with files that include others
//!    └───────────┴───────────┘          └─► seek_file: points of a curve ──┐
//!                └─► tokens ──► syntax ──► tree: blocks of parameters      │
//!                                            └─► parameters: typed, checked│
//!                                                   └─► import: a profile ◄┘
//! ```
//!
//! [`import()`] takes any of these files. A parameter is used, or irrelevant for a drive (see [`IRRELEVANT`]), or
//! refused; one that DiskSim does not have is a warning.

mod error;
mod files;
mod import;
mod parameters;
mod seek_file;
mod syntax;
mod tokens;
mod tree;

pub use error::{DiskSimError, Warning, WarningAbout};
pub use import::{BusTimes, Imported, import};
pub use parameters::{IRRELEVANT, Irrelevant};
