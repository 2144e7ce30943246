//! Runs as tasks of a job array of Slurm.
//!
//! The runs are dealt into parts; a task of the array does one part, one run after the other, as a sweep of its own
//! on the tree that all machines share. What is done is seen in the tree.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use iosonar_trace::output::WholeFile;
use serde::{Deserialize, Serialize};

use crate::hooks::run_child;
use crate::shell::quoted;
use crate::sweep::{Run, SlurmFile, SweepError, SweepSpec};

/// More tasks than this in an array many clusters refuse (`MaxArraySize` is 1001 unless it is set).
const MOST_TASKS: usize = 1000;

/// Starting a task takes a cluster about a second.
const WORTH_A_TASK: Duration = Duration::from_secs(30);
/// The number of machines to keep busy in any case.
const SEVERAL: usize = 8;

/// A job array that was handed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its number.
    pub id: String,
    /// Its folder: the list of its parts, the script, what its tasks said.
    pub folder: PathBuf,
}

/// The parts of a list: the paths of the runs of each task; `each` is how long a run may take. Without a `chunk` tasks
/// are as long as is worth starting one, and still several. Repetitions of a point with a precision stay together, as
/// each decides whether the next is needed.
pub fn parts(runs: &[&Run], chunk: Option<usize>, each: Option<Duration>) -> Vec<Vec<PathBuf>> {
    let mut groups: Vec<Vec<PathBuf>> = Vec::new();
    let mut of_point: BTreeMap<usize, usize> = BTreeMap::new();
    for run in runs {
        if run.common.precision.is_some() {
            let group = *of_point.entry(run.point).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            groups[group].push(run.path.clone());
        } else {
            groups.push(vec![run.path.clone()]);
        }
    }
    let fewest = groups.len().div_ceil(MOST_TASKS).max(1);
    let chunk = chunk.unwrap_or_else(|| {
        let short = each.map_or(1, |each| {
            WORTH_A_TASK
                .div_duration_f64(each.max(Duration::from_micros(1)))
                .ceil() as usize
        });
        short.min(groups.len().div_ceil(SEVERAL)).max(fewest)
    });
    groups.chunks(chunk).map(<[_]>::concat).collect()
}

/// What the tasks of an array do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tasks {
    /// The sweep that they are part of.
    pub sweep: SweepSpec,
    /// The paths of the runs of each.
    pub parts: Vec<Vec<PathBuf>>,
}

impl Tasks {
    /// Reads what [`submit`] wrote.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, SweepError> {
        let text = fs::read(path).map_err(SweepError::io(path, "read the tasks"))?;
        serde_json::from_slice(&text).map_err(|error| SweepError::Syntax {
            path: path.to_owned(),
            message: format!("is not a list of tasks: {error}"),
        })
    }
}

/// Hands a job array in: each task runs `program sweep-task FILE N`, where the file holds `tasks`.
///
/// # Errors
/// If Slurm is not there or does not want it.
pub fn submit(tasks: &Tasks, options: &SlurmFile, program: &Path) -> Result<Job, SweepError> {
    let (root, parts) = (&tasks.sweep.source.root, &tasks.parts);
    if parts.len() > MOST_TASKS {
        return Err(SweepError::Elsewhere(format!(
            "slurm: 'chunk' results in {} tasks, expected at most {MOST_TASKS} in an array",
            parts.len()
        )));
    }
    let folder = new_folder(&root.join(".slurm"))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        WholeFile::write_all(&path, text.as_bytes()).map_err(SweepError::io(&path, "write"))?;
        Ok::<_, SweepError>(path)
    };
    let text = serde_json::to_string(tasks).map_err(|e| {
        SweepError::Elsewhere(format!("slurm: cannot write the list of tasks: {e}"))
    })?;
    let list = write("tasks.json", &(text + "\n"))?;
    let script = format!(
        "#!/bin/sh\nexec {} sweep-task {} \"$SLURM_ARRAY_TASK_ID\"\n",
        quoted(&program.display().to_string()),
        quoted(&list.display().to_string())
    );
    let script = write("job.sh", &script)?;
    let mut sbatch = Command::new("sbatch");
    let most = options
        .most_tasks
        .map_or(String::new(), |n| format!("%{n}"));
    sbatch
        .arg("--parsable")
        .arg("--job-name=iosonar")
        .arg(format!("--array=0-{}{most}", parts.len() - 1))
        .arg(format!("--output={}", output_pattern(&folder)))
        .arg(format!("--cpus-per-task={}", options.cpus));
    for (name, value) in [
        ("partition", &options.partition),
        ("time", &options.time),
        ("mem", &options.memory),
    ] {
        if let Some(value) = value {
            sbatch.arg(format!("--{name}={value}"));
        }
    }
    sbatch.args(&options.options).arg(&script);
    let output = call(&mut sbatch)?;
    // JOB or JOB;CLUSTER
    let id = output
        .trim()
        .split(';')
        .next()
        .unwrap_or_default()
        .to_owned();
    if id.is_empty() || !id.bytes().all(|b| b.is_ascii_digit()) {
        let problem = format!("sbatch printed '{}', expected a job number", output.trim());
        return Err(SweepError::Elsewhere(problem));
    }
    // If it cannot be written, another sweep cannot know of it.
    write("job", &id)?;
    Ok(Job { id, folder })
}

impl Job {
    /// All that were ever handed in for a tree.
    pub fn of_tree(root: &Path) -> Vec<Self> {
        let folders = fs::read_dir(root.join(".slurm"))
            .into_iter()
            .flatten()
            .flatten();
        let job = |folder: PathBuf| {
            let id = fs::read_to_string(folder.join("job")).ok()?;
            Some(Self { id, folder })
        };
        folders.filter_map(|entry| job(entry.path())).collect()
    }

    /// How many tasks are waiting, and how many running; none of either when it is over.
    ///
    /// # Errors
    /// If Slurm does not answer.
    pub fn tasks(&self) -> Result<(usize, usize), SweepError> {
        let mut squeue = Command::new("squeue");
        squeue.args(["--noheader", "--array", "--format=%T", "--jobs", &self.id]);
        match call(&mut squeue) {
            Ok(text) => {
                let states = || {
                    text.lines()
                        .map(str::trim)
                        .filter(|state| !state.is_empty())
                };
                let waiting = states()
                    .filter(|s| ["PENDING", "REQUEUED", "REQUEUE_HOLD"].contains(s))
                    .count();
                Ok((waiting, states().count() - waiting))
            }
            // A job that was over long ago is not known any more.
            Err(SweepError::Elsewhere(text)) if text.contains("Invalid job id") => Ok((0, 0)),
            Err(error) => Err(error),
        }
    }

    /// Cancels it.
    ///
    /// # Errors
    /// If Slurm does not do so.
    pub fn cancel(&self) -> Result<(), SweepError> {
        call(Command::new("scancel").arg(&self.id)).map(|_| ())
    }

    /// What the tasks that failed said last: the last lines of some.
    pub fn last_words(&self) -> Vec<String> {
        const SOME: usize = 3;
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let texts = entries.filter(|e| e.file_name().to_string_lossy().starts_with("task-"));
        let last = |text: String| text.trim_end().lines().next_back().map(str::to_owned);
        let mut words: Vec<String> = texts
            .filter_map(|e| last(fs::read_to_string(e.path()).ok()?))
            .collect();
        words.sort();
        words.dedup();
        words.truncate(SOME);
        words
    }
}

/// Runs a command of Slurm; returns its output.
fn call(command: &mut Command) -> Result<String, SweepError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ended = run_child(command, &[], None).map_err(|error| {
        SweepError::Elsewhere(match error.kind() {
            std::io::ErrorKind::NotFound => format!(
                "{name} was not found: install Slurm on this machine (package slurm-client)"
            ),
            _ => format!("{name} cannot be started: {error}"),
        })
    })?;
    if !ended.status.success() {
        let (how, words) = (ended.how(), ended.last_words());
        return Err(SweepError::Elsewhere(format!(
            "{name} failed ({how}): {words}"
        )));
    }
    Ok(String::from_utf8_lossy(&ended.output).into_owned())
}

/// A new folder with a number as its name.
fn new_folder(parent: &Path) -> Result<PathBuf, SweepError> {
    fs::create_dir_all(parent).map_err(SweepError::io(parent, "create the folder"))?;
    let parent = std::path::absolute(parent).map_err(SweepError::io(parent, "find"))?;
    for number in 1_u32.. {
        let folder = parent.join(number.to_string());
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(SweepError::io(&folder, "create the folder")(e)),
        }
    }
    unreachable!("there are more numbers than folders")
}

/// The file that each task's output goes to, as a pattern of Slurm's, in which `%` begins a replacement.
fn output_pattern(folder: &Path) -> String {
    let folder = folder.display().to_string().replace('%', "%%");
    format!("{folder}/task-%a.txt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_sign_in_the_name_of_a_folder_is_no_replacement() {
        let pattern = output_pattern(Path::new("/studies/50%j load/.slurm/1"));
        assert_eq!(pattern, "/studies/50%%j load/.slurm/1/task-%a.txt");
    }
}
