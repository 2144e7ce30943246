//! What is shown of a sweep, and the words of its simulations.

use std::sync::{Mutex, MutexGuard, PoisonError};

use iosonar_report::counted;
use iosonar_scenario::{Prepared, SimulationResult};
use iosonar_study::hooks::{HookError, Stop};
use iosonar_study::sweep::{Event, Frontend, Notice, Run};

use super::operator;
use super::progress::View;
use crate::commands::sim::result_text;
use crate::exit::note;
use crate::render::sim::{describe, headline};

/// A sweep on a terminal, or a task of one on a cluster, which reports failures only.
pub(super) struct Shown {
    quiet: bool,
    is_task: bool,
    view: Mutex<Option<View>>,
}

impl Shown {
    pub(super) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            is_task: false,
            view: Mutex::default(),
        }
    }

    pub(super) fn of_task() -> Self {
        Self {
            is_task: true,
            ..Self::new(true)
        }
    }

    fn view(&self) -> MutexGuard<'_, Option<View>> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing more is shown.
    pub(super) fn end(&self) {
        if let Some(view) = self.view().take() {
            view.end();
        }
    }
}

impl Frontend for Shown {
    fn see(&self, run: &Run, event: &Event<'_>) {
        if let (true, Event::Failed(why)) = (self.is_task, event) {
            note(&format!("{}: failed: {why}", run.path.display()));
        }
        if let Some(view) = &*self.view() {
            view.see(run, event);
        }
    }

    fn notice(&self, notice: Notice<'_>) {
        match notice {
            Notice::Begins(runs) => *self.view() = Some(View::new(runs, self.quiet)),
            Notice::Ends => self.end(),
            Notice::TaskSaid(words) => note(&format!("a task reported: {words}")),
            _ if self.quiet => {}
            Notice::Added(runs) => note(&format!(
                "{} added while the sweep was running",
                counted(runs, ["run was", "runs were"])
            )),
            Notice::Submitted { job, runs } => note(&format!(
                "job {} submitted with {}; its tasks write their logs to {}",
                job.id,
                runs_of(runs as u64),
                job.folder.display()
            )),
            Notice::Resubmitted(runs) => {
                note(&counted(
                    runs as u64,
                    [
                        "run without a result was resubmitted",
                        "runs without a result were resubmitted",
                    ],
                ));
            }
        }
    }

    fn ask_operator(&self, run: &Run, what: &str, stop: &Stop) -> Result<(), HookError> {
        operator::ask(run, what, stop)
    }

    fn headline(&self, simulation: &Prepared) -> String {
        headline(simulation)
    }

    fn in_words(&self, name: &str, simulation: &Prepared, result: &SimulationResult) -> String {
        describe(name, simulation, result)
    }

    fn as_json(&self, name: &str, simulation: &Prepared, result: &SimulationResult) -> String {
        result_text(name, simulation, result, &[])
    }
}

/// `n` runs.
pub(super) fn runs_of(n: u64) -> String {
    counted(n, ["run", "runs"])
}
