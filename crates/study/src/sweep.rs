//! Sweeps: many runs over the values of parameters.
//!
//! An [`ExperimentFile`] or a tree of folders says which [`Run`]s there are; each has a separate folder named
//! after its parameters. [`carry_out`] does those that are not done yet, several at a time, with the
//! [hooks](crate::hooks) around each; a [`Runner`] does the run itself. What is whole is never repeated, what
//! was cut off starts afresh. The [`table`](Study) is made from the folders.

mod campaign;
mod carry_out;
mod condition;
mod design;
mod error;
mod file;
mod folder;
mod frontend;
mod here;
mod on_hosts;
mod on_slurm;
mod run;
mod selection;
mod source;
mod table;
mod tables;
mod tree;
mod values;

pub use campaign::{Basis, Campaign, Carrier, expected};
pub use carry_out::{Done, Event, Failure, How, Runner, Tally, Task, carry_out, needed};
pub use condition::Condition;
pub use error::{SweepError, is_full};
pub use file::{Base, ChartFile, ExperimentFile, SlurmFile};
pub(crate) use folder::wait_for_lock;
pub use folder::{
    FAILED, LOG, PENDING, RECORDS, RESULT, RUN, SCENARIO, SPEC, STOP, State, TREE_LOCK, Tree,
    metrics_in, rename_repadded, result, state, stop,
};
pub use frontend::{Frontend, Notice};
pub use here::{Here, estimate};
pub use on_hosts::{HostsSpec, ProgramThere};
pub use run::{Changes, Common, Precision, Run, runs_of, words};
pub use selection::only;
pub use source::{Source, SweepSpec, is_tree};
pub use table::{Column, PointRow, RunRow, Study, columns_of};
pub use tables::{Tables, Undrawn, Written};
pub use tree::runs_of_tree;
pub(crate) use values::object_of;
pub use values::{Level, Settings, value_of};

/// Fewer repetitions do not show the precision of a mean.
pub const FEWEST_FOR_PRECISION: u32 = 10;

/// The folder of a tree for its charts.
pub const CHARTS: &str = "charts";

/// More runs need a word.
pub const MOST_RUNS: u64 = 100_000;
