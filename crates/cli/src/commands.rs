//! The commands, one file each.

pub(crate) mod analyze;
pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod check;
pub(crate) mod check_model;
pub(crate) mod choose;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod formats;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod model;
pub(crate) mod plan;
pub(crate) mod plot;
pub(crate) mod prepare;
pub(crate) mod profiles;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod sim;
pub(crate) mod sweep;
pub(crate) mod targets;
pub(crate) mod validate;
mod varied;
pub(crate) mod verify;
