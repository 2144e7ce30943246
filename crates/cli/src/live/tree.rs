//! The tree of a sweep: the run that is under way, and how far the others are.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use iosonar_report::{Beside, LookOptions, RunState, SweepRuns, grouped};
use iosonar_study::sweep::{FAILED, RESULT, Source, Tree};
use iosonar_trace::appended::{name_of, writer_of};

use super::followed::Followed;

/// The tree is looked through for a tenth of the time at most, and no more often than this.
const EVERY: Duration = Duration::from_secs(1);

/// The tree of a sweep.
pub(super) struct FollowedTree {
    root: PathBuf,
    options: LookOptions,
    shown: Option<Followed>,
    /// The runs, as they were meant when it was last looked.
    meant: usize,
    complete: HashSet<PathBuf>,
    failed: HashSet<PathBuf>,
    /// Whether a sweep works on it.
    is_taken: bool,
    next: Instant,
}

/// What a walk through the tree has found.
#[derive(Default)]
struct Walk {
    complete: HashSet<PathBuf>,
    failed: HashSet<PathBuf>,
    /// The records that changed last: those being written before all others.
    latest: Option<(bool, SystemTime, PathBuf)>,
}

impl Walk {
    fn through(&mut self, folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|of| of.is_dir()) {
                self.through(&path);
                continue;
            }
            let name = entry.file_name();
            if name == RESULT {
                self.complete.insert(folder.to_owned());
            } else if name == FAILED {
                self.failed.insert(folder.to_owned());
            } else if is_records(&path)
                && let Ok(time) = entry.metadata().and_then(|of| of.modified())
            {
                let found = (writer_of(&path).is_some(), time, path);
                self.latest = self.latest.take().max(Some(found));
            }
        }
    }
}

impl Walk {
    /// Leaves out what is no longer among the runs of the experiment, and failures that were mended.
    fn keep(&mut self, root: &Path, meant: &HashSet<PathBuf>) {
        let is_meant =
            |folder: &PathBuf| folder.strip_prefix(root).is_ok_and(|of| meant.contains(of));
        self.complete.retain(is_meant);
        self.failed
            .retain(|of| is_meant(of) && !self.complete.contains(of));
    }
}

/// How the names of records end.
const ENDINGS: [&str; 6] = [".ios", ".replay", ".replay.gz", ".load", ".load.gz", ".csv"];

/// Whether a file holds the records of a run, complete or not.
pub(super) fn is_records(path: &Path) -> bool {
    let name = name_of(path);
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    // Tables of a sweep.
    let is_table = ["runs.csv", "points.csv", "metrics.csv"].contains(&name.as_ref());
    !is_table && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

impl FollowedTree {
    pub(super) fn of(root: &Path, options: &LookOptions) -> Self {
        Self {
            root: root.to_owned(),
            options: options.clone(),
            shown: None,
            meant: 0,
            complete: HashSet::new(),
            failed: HashSet::new(),
            is_taken: false,
            next: Instant::now(),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn shown(&self) -> Option<&Followed> {
        self.shown.as_ref()
    }

    /// Has the next look at the tree see all of it.
    pub(super) fn hurry(&mut self) {
        self.next = Instant::now();
        if let Some(shown) = &mut self.shown {
            shown.hurry();
        }
    }

    /// Reads what is new; whether there was anything, and whether runs were completed.
    pub(super) fn advance(&mut self) -> anyhow::Result<(bool, bool)> {
        let (mut is_new, mut is_more) = (false, false);
        if Instant::now() >= self.next {
            let begin = Instant::now();
            let mut walk = Walk::default();
            walk.through(&self.root);
            let meant = Source::of_tree(&self.root)?.meant();
            if let Some(meant) = &meant {
                walk.keep(&self.root, meant);
            }
            let n = meant.map_or(walk.complete.len(), |of| of.len());
            is_more = walk.complete != self.complete;
            let is_taken = Tree::is_taken(&self.root);
            let known = (self.meant, &self.failed, self.is_taken);
            is_new = is_more || (n, &walk.failed, is_taken) != known;
            (self.meant, self.failed, self.complete) = (n, walk.failed, walk.complete);
            self.is_taken = is_taken;
            if let Some((_, _, path)) = walk.latest
                && self
                    .shown
                    .as_ref()
                    .is_none_or(|of| of.name() != name_of(&path))
            {
                self.shown = Some(Followed::of(&path, &self.options));
                is_new = true;
            }
            self.next = Instant::now() + EVERY.max(9 * begin.elapsed());
        }
        if let Some(shown) = &mut self.shown {
            is_new |= shown.advance()?;
        }
        Ok((is_new, is_more))
    }

    /// Whether all runs are complete.
    pub(super) fn is_complete(&self) -> bool {
        self.meant > 0 && self.complete.len() >= self.meant
    }

    /// Whether there will be no other runs, though some have failed or are open.
    pub(super) fn is_over(&self) -> bool {
        let ended = self.complete.len() + self.failed.len();
        self.meant > 0 && ended >= self.meant || self.has_begun() && !self.is_taken
    }

    /// Whether a run has records, or has come to its end.
    pub(super) fn has_begun(&self) -> bool {
        let has_records = |shown: &Followed| shown.state() != RunState::Waiting;
        self.complete.len() + self.failed.len() > 0 || self.shown.as_ref().is_some_and(has_records)
    }

    /// How far the sweep is.
    pub(super) fn runs(&self) -> SweepRuns {
        let (complete, failed) = (self.complete.len() as u64, self.failed.len() as u64);
        SweepRuns {
            complete,
            failed,
            open: (self.meant as u64).saturating_sub(complete + failed),
        }
    }

    /// How far the sweep is in a sentence, and which run is shown.
    pub(super) fn beside(&self) -> Beside {
        let runs = self.runs();
        let mut sentence = format!(
            "{} of {} runs are complete",
            grouped(runs.complete),
            grouped(self.meant as u64)
        );
        if runs.failed > 0 {
            sentence += &format!(", {} failed", grouped(runs.failed));
        }
        let mut sentences = vec![format!("{sentence}.")];
        if let Some(shown) = &self.shown {
            let path = shown.name().strip_prefix(&self.root);
            let path = path.unwrap_or(shown.name()).display();
            sentences.push(format!("The charts show {path}."));
        }
        Beside {
            sentences,
            ..Beside::default()
        }
    }
}
