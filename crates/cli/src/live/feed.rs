//! What a live page shows.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use iosonar_report::study::Link;
use iosonar_report::{Beside, Growing, LookOptions, Measured, RunState, SweepRuns, counted};
use iosonar_study::sweep::is_tree;
use iosonar_trace::appended::writer_of;

use super::followed::Followed;
use super::tee::Passing;
use super::tree::{FollowedTree, is_records};
use crate::commands::sweep;

/// The page of a sweep beside the live one.
pub(super) const REPORT: &str = "report.html";

/// What a live page shows.
pub(crate) struct Feed {
    of: Of,
    problem: Option<String>,
    /// The page of a sweep, when runs were completed.
    report: Option<Vec<u8>>,
    has_report: bool,
}

enum Of {
    Records(Box<Followed>),
    Tree(Box<FollowedTree>),
    Passing(Box<Passing>),
}

impl Feed {
    fn new(of: Of) -> Self {
        Self {
            of,
            problem: None,
            report: None,
            has_report: false,
        }
    }

    /// Of the records that are, or will be, called `path`.
    pub(crate) fn of_records(path: &Path, options: &LookOptions) -> Self {
        Self::new(Of::Records(Box::new(Followed::of(path, options))))
    }

    /// Of records that pass by.
    pub(crate) fn of_passing(passing: Passing) -> Self {
        Self::new(Of::Passing(Box::new(passing)))
    }

    /// Of the tree of a sweep.
    pub(crate) fn of_tree(root: &Path, options: &LookOptions) -> Self {
        Self::new(Of::Tree(Box::new(FollowedTree::of(root, options))))
    }

    /// Of a file, or of a folder: a sweep's, or one with records. `None` without records.
    pub(crate) fn of(path: &Path, options: &LookOptions) -> Option<Self> {
        if !path.is_dir() {
            let is_there = iosonar_trace::appended::current(path).is_some();
            return is_there.then(|| Self::of_records(path, options));
        }
        if is_tree(path) {
            return Some(Self::of_tree(path, options));
        }
        latest_in(path).map(|records| Self::of_records(&records, options))
    }

    /// Reads what is new; whether there was anything.
    pub(super) fn advance(&mut self) -> bool {
        let outcome = match &mut self.of {
            Of::Records(followed) => followed.advance().map_err(anyhow::Error::from),
            Of::Passing(passing) => Ok(passing.advance()),
            Of::Tree(tree) => tree.advance().map(|(is_new, is_more)| {
                if is_more {
                    // It cannot be drawn yet, or is.
                    self.report = sweep::page_apart(tree.root()).ok().map(String::into_bytes);
                    self.has_report |= self.report.is_some();
                }
                is_new
            }),
        };
        let problem = outcome.as_ref().err().map(|error| format!("{error:#}"));
        let is_new = self.problem != problem;
        self.problem = problem;
        outcome.unwrap_or_default() || is_new
    }

    /// Has the next look see all that there is.
    pub(super) fn hurry(&mut self) {
        match &mut self.of {
            Of::Records(followed) => followed.hurry(),
            Of::Tree(tree) => tree.hurry(),
            Of::Passing(_) => {}
        }
    }

    /// The page of a sweep where it has changed.
    pub(super) fn take_report(&mut self) -> Option<Vec<u8>> {
        self.report.take()
    }

    fn growing(&self) -> Option<&Growing> {
        match &self.of {
            Of::Records(followed) => Some(followed.growing()),
            Of::Passing(passing) => Some(passing.growing()),
            Of::Tree(tree) => tree.shown().map(Followed::growing),
        }
    }

    /// What was measured by now.
    pub(super) fn measured(&self) -> Measured {
        let none = || Growing::new("", &LookOptions::default()).measured();
        self.growing().map_or_else(none, Growing::measured)
    }

    pub(super) fn state(&self) -> RunState {
        match &self.of {
            Of::Records(followed) => followed.state(),
            Of::Passing(passing) => passing.state(),
            Of::Tree(tree) if tree.is_complete() => RunState::Complete,
            Of::Tree(tree) if tree.is_over() => RunState::Broken,
            // The next run will come; and runs need not keep records.
            Of::Tree(tree) if tree.has_begun() => RunState::Running,
            Of::Tree(_) => RunState::Waiting,
        }
    }

    /// How far a sweep is.
    pub(super) fn sweep_runs(&self) -> Option<SweepRuns> {
        match &self.of {
            Of::Tree(tree) => Some(tree.runs()),
            Of::Records(_) | Of::Passing(_) => None,
        }
    }

    /// What is to be said beside the charts.
    pub(super) fn beside(&self) -> Beside {
        let mut beside = match &self.of {
            Of::Tree(tree) => tree.beside(),
            Of::Records(_) | Of::Passing(_) => Beside::default(),
        };
        if let Of::Passing(passing) = &self.of
            && passing.left_out() > 0
        {
            beside.warnings.push(format!(
                "{} missing from these charts, because this page could not keep up",
                counted(passing.left_out(), ["request is", "requests are"])
            ));
        }
        beside.warnings.extend(self.problem.clone());
        if self.has_report {
            beside.links.push(Link {
                text: "Tables and charts of the completed runs".to_owned(),
                to: REPORT.to_owned(),
            });
        }
        beside
    }
}

/// Of the records in a folder those that are being written, or else were written last.
fn latest_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    let found = entries.filter_map(|entry| {
        let path = entry.path();
        let metadata = entry.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let time: SystemTime = metadata.modified().ok()?;
        is_records(&path).then(|| (writer_of(&path).is_some(), time, path))
    });
    found.max().map(|(_, _, path)| path)
}
