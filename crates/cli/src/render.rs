//! Results as text, tables, JSON and pictures. The output of a single command is in the module of that command.

pub(crate) mod caveat;
pub(crate) mod check_model;
pub(crate) mod choose;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod full_screen;
pub(crate) mod highest_rate;
pub(crate) mod hosts;
pub(crate) mod layout;
pub(crate) mod looks;
pub(crate) mod messages;
pub(crate) mod not_cleaned;
pub(crate) mod objective;
pub(crate) mod on_credit;
pub(crate) mod picture;
pub(crate) mod progress;
pub(crate) mod remarks;
pub(crate) mod replay;
pub(crate) mod screen;
pub(crate) mod sim;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod top;
