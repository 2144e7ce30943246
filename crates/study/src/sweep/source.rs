//! Which runs there are, and in which tree: what a sweep is asked for.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use iosonar_trace::output::WholeFile;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Changes, ChartFile, ExperimentFile, Run, SlurmFile, SweepError, TREE_LOCK, runs_of,
    runs_of_tree,
};

/// Says in a tree which experiment file it belongs to.
const MARKER: &str = "sweep.json";

/// What a sweep does: written by hand, from the command line, or read by a task of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// Where its runs come from.
    pub source: Source,
    /// What is set for all runs.
    pub changes: Changes,
    /// Targets whose content may be destroyed.
    pub destroy: Vec<PathBuf>,
    /// How many runs at once; `None`: as many as there are processors for simulations, one for replays.
    pub jobs: Option<u32>,
}

/// Where runs come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The tree.
    pub root: PathBuf,
    /// The experiment file; a tree of folders has none.
    pub experiment: Option<PathBuf>,
}

impl SweepSpec {
    /// The runs as they are written now.
    ///
    /// # Errors
    /// If the experiment, or a table of the tree, cannot be read or makes no sense.
    pub fn runs(&self) -> Result<Vec<Run>, SweepError> {
        self.source.runs(&self.changes)
    }

    /// The same with absolute paths, for a process that starts elsewhere.
    ///
    /// # Errors
    /// If this process is in no folder.
    pub fn absolute(&self) -> Result<Self, SweepError> {
        let absolute = |path: &PathBuf| {
            std::path::absolute(path).map_err(SweepError::io(path, "find the absolute path of"))
        };
        let source = Source {
            root: absolute(&self.source.root)?,
            experiment: self.source.experiment.as_ref().map(absolute).transpose()?,
        };
        Ok(Self {
            source,
            ..self.clone()
        })
    }
}

impl Source {
    /// An experiment file, whose runs go into the tree `dir`, or into a folder of its name; or a tree.
    ///
    /// # Errors
    /// If there is no such file, or the tree belongs to something else.
    pub fn of(what: &Path, dir: Option<&Path>) -> Result<Self, SweepError> {
        let refused = |problem: String| Err(SweepError::Source(problem));
        let is_there = |path: &Path| path.try_exists().unwrap_or(false);
        if !is_there(what) {
            return refused(format!("{}: no such file or folder", what.display()));
        }
        if what.is_dir() {
            if dir.is_some() {
                let problem = "--dir needs an experiment file; a folder tree is swept in place";
                return refused(problem.to_owned());
            }
            return Self::of_tree(what);
        }
        let root = match dir {
            Some(dir) => dir.to_owned(),
            None if what.extension().is_some() => what.with_extension(""),
            None => {
                return refused(format!(
                    "{}: the file name has no extension such as .toml, so its runs need a folder of a different name: \
                     choose it with --dir",
                    what.display()
                ));
            }
        };
        let source = Self {
            root,
            experiment: Some(what.to_owned()),
        };
        source.refuse_foreign_tree()?;
        Ok(source)
    }

    /// A tree that was begun, or one of folders with their tables.
    ///
    /// # Errors
    /// If it says in a way that cannot be read which experiment it belongs to.
    pub fn of_tree(root: &Path) -> Result<Self, SweepError> {
        Ok(Self {
            root: root.to_owned(),
            experiment: experiment_of(root)?,
        })
    }

    /// A foreign folder never becomes a tree.
    fn refuse_foreign_tree(&self) -> Result<(), SweepError> {
        let root = &self.root;
        if root.is_file() {
            return Err(SweepError::Source(format!(
                "{}: is a file, expected a folder",
                root.display()
            )));
        }
        match experiment_of(root)? {
            Some(other) => {
                let same = |path: &Path| path.canonicalize().ok();
                let mine = self.experiment.as_deref().and_then(same);
                if same(&other).is_some() && same(&other) != mine {
                    let problem = format!(
                        "{}: belongs to the experiment {}; choose a different folder with --dir",
                        root.display(),
                        other.display()
                    );
                    return Err(SweepError::Source(problem));
                }
                Ok(())
            }
            None if fs::read_dir(root).is_ok_and(|entries| {
                // Files left by a failed sweep do not count as foreign.
                entries.flatten().any(|e| e.file_name() != TREE_LOCK)
            }) =>
            {
                let problem = format!(
                    "{}: contains files that do not belong to a sweep; choose a different folder with --dir",
                    root.display()
                );
                Err(SweepError::Source(problem))
            }
            None => Ok(()),
        }
    }

    /// Marks the tree as that of the experiment.
    ///
    /// # Errors
    /// If the mark cannot be written.
    pub fn mark(&self) -> Result<(), SweepError> {
        let Some(file) = &self.experiment else {
            return Ok(());
        };
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let text = format!(
            "{}\n",
            serde_json::json!({ "iosonar": env!("CARGO_PKG_VERSION"), "experiment": file })
        );
        let marker = self.root.join(MARKER);
        if fs::read_to_string(&marker).is_ok_and(|there| there == text) {
            return Ok(());
        }
        WholeFile::write_all(&marker, text.as_bytes()).map_err(SweepError::io(&marker, "write"))
    }

    fn runs(&self, changes: &Changes) -> Result<Vec<Run>, SweepError> {
        match &self.experiment {
            Some(path) => runs_of(&ExperimentFile::read(path)?, path, changes),
            None => runs_of_tree(&self.root, changes),
        }
    }

    /// The paths of the runs as they are written now; `None` if not known.
    pub fn meant(&self) -> Option<HashSet<PathBuf>> {
        let runs = self.runs(&Changes::default()).ok()?;
        Some(runs.into_iter().map(|run| run.path).collect())
    }

    /// What the experiment file says besides.
    pub fn extras(&self) -> (Vec<ChartFile>, SlurmFile) {
        let path = match &self.experiment {
            Some(path) => path.clone(),
            None => self.root.join("default.toml"),
        };
        match ExperimentFile::read(&path) {
            Ok(file) => (file.chart, file.slurm),
            // Without it the usual charts are drawn.
            Err(_) => Default::default(),
        }
    }

    /// The name of the study.
    pub fn name(&self) -> String {
        let path = self.experiment.as_deref().unwrap_or(&self.root);
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        path.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }
}

/// Whether a folder is a tree that a sweep has begun, or one of folders with their tables.
pub fn is_tree(folder: &Path) -> bool {
    folder.join(MARKER).is_file() || folder.join("runs.csv").is_file()
}

/// The experiment file that a tree belongs to.
fn experiment_of(root: &Path) -> Result<Option<PathBuf>, SweepError> {
    let marker = root.join(MARKER);
    let Ok(text) = fs::read(&marker) else {
        return Ok(None);
    };
    let value: Value = serde_json::from_slice(&text).unwrap_or_default();
    let Some(path) = value.get("experiment").and_then(Value::as_str) else {
        let problem = format!(
            "{}: is damaged, so the experiment of this tree is unknown; replace the contents of the file with \
             {{\"experiment\": \"/path/of/the/file.toml\"}}",
            marker.display()
        );
        return Err(SweepError::Source(problem));
    };
    Ok(Some(PathBuf::from(path)))
}
