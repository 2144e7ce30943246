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
use serde_json::{Value, json};

use crate::hooks::run_child;
use crate::shell::quoted;
use crate::sweep::{Run, SlurmFile, SweepError};

/// More tasks than this in an array many clusters refuse (`MaxArraySize` is 1001 unless it is set).
const MOST_TASKS: usize = 1000;

/// Starting a task takes a cluster about a second.
const WORTH_A_TASK: Duration = Duration::from_secs(30);
/// So many machines may have something to do in any case.
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

/// The runs of a part of a list.
///
/// # Errors
/// If the list cannot be read, or has no such part.
pub fn part_of(list: &Path, part: usize) -> Result<Vec<PathBuf>, SweepError> {
    let damaged = |message: &str| SweepError::Syntax {
        path: list.to_owned(),
        message: message.to_owned(),
    };
    let text = fs::read(list).map_err(SweepError::io(list, "read the list"))?;
    let parts: Value = serde_json::from_slice(&text).map_err(|_| damaged("is no list of runs"))?;
    let part = parts
        .get("parts")
        .and_then(|parts| parts.get(part))
        .cloned();
    let part = part.ok_or_else(|| damaged("has no such part"))?;
    serde_json::from_value(part).map_err(|_| damaged("is no list of runs"))
}

/// Hands a job array in: each task runs `command` with `--list` and `--part`.
///
/// # Errors
/// If Slurm is not there or does not want it.
pub fn submit(
    root: &Path,
    parts: &[Vec<PathBuf>],
    options: &SlurmFile,
    command: &[String],
) -> Result<Job, SweepError> {
    if parts.len() > MOST_TASKS {
        return Err(SweepError::Elsewhere(format!(
            "slurm: 'chunk' makes {} tasks, expected at most {MOST_TASKS} in an array",
            parts.len()
        )));
    }
    let folder = new_folder(&root.join(".slurm"))?;
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        WholeFile::write_all(&path, text.as_bytes()).map_err(SweepError::io(&path, "write"))?;
        Ok::<_, SweepError>(path)
    };
    let list = write("list.json", &format!("{}\n", json!({ "parts": parts })))?;
    let words: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let script = format!(
        "#!/bin/sh\nexec {} --list {} --part \"$SLURM_ARRAY_TASK_ID\"\n",
        words.join(" "),
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
        .arg(format!("--output={}/task-%a.txt", folder.display()))
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
        let problem = format!(
            "sbatch answered '{}', expected the number of a job",
            output.trim()
        );
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

/// Runs a command of Slurm; tells what it printed.
fn call(command: &mut Command) -> Result<String, SweepError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let ended = run_child(command, &[], None).map_err(|error| {
        SweepError::Elsewhere(match error.kind() {
            std::io::ErrorKind::NotFound => format!(
                "{name} is not there: Slurm is not installed on this machine (the package slurm-client has its commands)"
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
    fs::create_dir_all(parent).map_err(SweepError::io(parent, "make the folder"))?;
    let parent = std::path::absolute(parent).map_err(SweepError::io(parent, "find"))?;
    for number in 1_u32.. {
        let folder = parent.join(number.to_string());
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(SweepError::io(&folder, "make the folder")(e)),
        }
    }
    unreachable!("there are more numbers than folders")
}
