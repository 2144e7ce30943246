//! The caller of a sweep: it receives the events, has the texts, and reaches the operator.

use std::path::Path;

use iosonar_scenario::{Prepared, SimulationResult};

use super::{Event, Run};
use crate::elsewhere::slurm::Job;
use crate::hooks::{HookError, Stop};

/// What happens to a sweep as a whole.
#[derive(Clone, Copy, Debug)]
pub enum Notice<'a> {
    /// This many runs are begun.
    Begins(u64),
    /// They have ended.
    Ends,
    /// This many runs were added to the experiment meanwhile, and are next.
    Added(u64),
    /// A job array was submitted.
    Submitted {
        /// Which.
        job: &'a Job,
        /// How many runs it has.
        runs: usize,
    },
    /// This many runs ended without a result, and are submitted again.
    Resubmitted(usize),
    /// The last words of a task that ended without a result.
    TaskSaid(&'a str),
}

/// The caller of a sweep.
pub trait Frontend: Sync {
    /// Something has happened to a run.
    fn see(&self, run: &Run, event: &Event<'_>);

    /// Something has happened to the sweep.
    fn notice(&self, notice: Notice<'_>);

    /// Asks the operator to do `what` before a run, and waits until it is done.
    ///
    /// # Errors
    /// If there is no operator any more, or `stop` is asked for.
    fn ask_operator(&self, run: &Run, what: &str, stop: &Stop) -> Result<(), HookError>;

    /// What is simulated, in a line.
    fn headline(&self, simulation: &Prepared) -> String;

    /// The result of a simulation for people, for the log of its run.
    fn in_words(&self, name: &str, simulation: &Prepared, result: &SimulationResult) -> String;

    /// The result of a simulation for programs: the text of a JSON object with metrics.
    fn as_json(&self, name: &str, simulation: &Prepared, result: &SimulationResult) -> String;
}

/// What a program is called with to do the same again in the folder of a run.
pub(super) fn command_line(words: &[&str]) -> Vec<String> {
    let words = ["iosonar"].iter().chain(words);
    words.map(|&word| word.to_owned()).collect()
}

/// The folder of the file that a run comes from.
pub(super) fn folder_of_origin(run: &Run) -> &Path {
    run.common.origin.parent().unwrap_or(Path::new(""))
}
