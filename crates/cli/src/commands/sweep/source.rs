//! Which runs there are, and in which tree.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use iosonar_study::sweep::{
    Changes, ChartFile, ExperimentFile, MOST_RUNS, Run, SlurmFile, runs_of, runs_of_tree,
};
use iosonar_trace::output::WholeFile;
use serde_json::{Value, json};

use crate::args::Sweep;
use crate::exit::Usage;

/// Says in a tree which experiment file it belongs to.
const MARKER: &str = "sweep.json";

/// Where runs come from.
pub(super) struct Source {
    /// The tree.
    pub(super) root: PathBuf,
    /// The experiment file; a tree of folders has none.
    file: Option<PathBuf>,
}

impl Source {
    pub(super) fn of(args: &Sweep) -> anyhow::Result<Self> {
        let what = &args.what;
        let is_there = |path: &Path| path.try_exists().unwrap_or(false);
        if !is_there(what) {
            let problem = format!("{}: there is no such file or folder", what.display());
            return Err(Usage(problem).into());
        }
        if what.is_dir() {
            if args.dir.is_some() {
                let problem =
                    "--dir is for the tree of an experiment file; a tree is swept where it lies";
                return Err(Usage(problem.to_owned()).into());
            }
            return Self::of_tree(what);
        }
        let root = match &args.dir {
            Some(dir) => dir.clone(),
            None if what.extension().is_some() => what.with_extension(""),
            None => {
                let problem = format!(
                    "{}: an experiment file's name ends in .toml; or say with --dir where its runs go",
                    what.display()
                );
                return Err(Usage(problem).into());
            }
        };
        let source = Self {
            root,
            file: Some(what.clone()),
        };
        source.refuse_foreign_tree()?;
        Ok(source)
    }

    /// A tree that was begun, or one of folders with their tables.
    pub(super) fn of_tree(root: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            root: root.to_owned(),
            file: experiment_of(root)?,
        })
    }

    /// Nobody else's folder becomes a tree.
    fn refuse_foreign_tree(&self) -> anyhow::Result<()> {
        let root = &self.root;
        if root.is_file() {
            return Err(Usage(format!("{}: is a file, expected a folder", root.display())).into());
        }
        match experiment_of(root)? {
            Some(other) => {
                let same = |path: &Path| path.canonicalize().ok();
                let mine = self.file.as_deref().and_then(same);
                if same(&other).is_some() && same(&other) != mine {
                    let problem = format!(
                        "{}: belongs to the experiment {}: choose another folder with --dir",
                        root.display(),
                        other.display()
                    );
                    return Err(Usage(problem).into());
                }
                Ok(())
            }
            None if fs::read_dir(root).is_ok_and(|entries| {
                // What a sweep that came to nothing has left is no file of anybody's.
                entries
                    .flatten()
                    .any(|e| e.file_name() != iosonar_study::sweep::TREE_LOCK)
            }) =>
            {
                let problem = format!(
                    "{}: has files in it that no sweep made: choose another folder with --dir",
                    root.display()
                );
                Err(Usage(problem).into())
            }
            None => Ok(()),
        }
    }

    /// Marks the tree as that of the experiment.
    pub(super) fn mark(&self) -> anyhow::Result<()> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let text = format!(
            "{}\n",
            json!({ "iosonar": env!("CARGO_PKG_VERSION"), "experiment": file })
        );
        let marker = self.root.join(MARKER);
        if fs::read_to_string(&marker).is_ok_and(|there| there == text) {
            return Ok(());
        }
        WholeFile::write_all(&marker, text.as_bytes())
            .with_context(|| format!("{}: cannot write", marker.display()))
    }

    /// The runs as they are written now.
    pub(super) fn runs(&self, args: &Sweep) -> anyhow::Result<Vec<Run>> {
        let changes = Changes {
            set: args.set.clone(),
            records: args.records,
            most: (!args.yes).then_some(MOST_RUNS),
        };
        Ok(match &self.file {
            Some(path) => runs_of(&ExperimentFile::read(path)?, path, &changes)?,
            None => runs_of_tree(&self.root, &changes)?,
        })
    }

    /// The paths of the runs as they are written now; `None` where nobody can tell.
    pub(super) fn meant(&self) -> Option<HashSet<PathBuf>> {
        let changes = Changes::default();
        let runs = match &self.file {
            Some(path) => runs_of(&ExperimentFile::read(path).ok()?, path, &changes),
            None => runs_of_tree(&self.root, &changes),
        };
        Some(runs.ok()?.into_iter().map(|run| run.path).collect())
    }

    /// What the experiment file says besides.
    pub(super) fn extras(&self) -> (Vec<ChartFile>, SlurmFile) {
        let path = match &self.file {
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
    pub(super) fn name(&self) -> String {
        let path = self.file.as_deref().unwrap_or(&self.root);
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        path.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }
}

/// Whether a folder is a tree that a sweep has begun, or one of folders with their tables.
pub(crate) fn is_tree(folder: &Path) -> bool {
    folder.join(MARKER).is_file() || folder.join("runs.csv").is_file()
}

/// The experiment file that a tree belongs to.
fn experiment_of(root: &Path) -> anyhow::Result<Option<PathBuf>> {
    let marker = root.join(MARKER);
    let Ok(text) = fs::read(&marker) else {
        return Ok(None);
    };
    let value: Value = serde_json::from_slice(&text).unwrap_or_default();
    let Some(path) = value.get("experiment").and_then(Value::as_str) else {
        let problem = format!(
            "{}: is damaged, so nobody knows what the tree is of; write into it {{\"experiment\": \"/path/of/the/file.toml\"}}",
            marker.display()
        );
        return Err(Usage(problem).into());
    };
    Ok(Some(PathBuf::from(path)))
}
