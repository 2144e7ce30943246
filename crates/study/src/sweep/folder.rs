//! The folder of a run: what lies in it, and what that means.
//!
//! A run writes its result last, under a temporary name, and then gives it its name: what is there is whole.
//! Nothing else says that a run is done.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use iosonar_scenario::NotSteady;
use iosonar_stats::Metric;
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::Deserialize;

use super::SweepError;

/// The result: one JSON object with metrics, whole or absent.
pub const RESULT: &str = "result.json";
/// The same before the last hooks have done their part.
pub const PENDING: &str = "result.pending.json";
/// What was run: parameters, command, versions, host, times.
pub const RUN: &str = "run.json";
/// The scenario that was simulated.
pub const SCENARIO: &str = "scenario.toml";
/// What was replayed, and how.
pub const SPEC: &str = "spec.json";
/// What the run and its hooks said.
pub const LOG: &str = "log.txt";
/// Why there is no result.
pub const FAILED: &str = "failed.txt";
/// The requests.
pub const RECORDS: &str = "records.ios";

/// Held while a sweep is at work in a tree.
pub const TREE_LOCK: &str = ".sweep.lock";

/// A folder that contains this file is skipped, with all below it.
pub(super) const SKIP: &str = "skip";
/// With this in it, a sweep ends after the runs that are under way.
pub const STOP: &str = "stop";

/// What is known of a run from its folder.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Nothing, or what a run left that was cut off.
    Open,
    /// It was tried, and failed.
    Failed(String),
    /// It is to be skipped.
    LeftAlone,
    /// It is done.
    Whole(Vec<Metric>),
}

/// What the folder `path` in the tree `root` says.
pub fn state(root: &Path, path: &Path) -> State {
    if is_left_alone(root, path) {
        return State::LeftAlone;
    }
    let folder = root.join(path);
    if let Some(result) = result(&folder) {
        return State::Whole(result);
    }
    match fs::read_to_string(folder.join(FAILED)) {
        Ok(why) => State::Failed(why.trim_end().to_owned()),
        Err(_) => State::Open,
    }
}

/// What is read of a result.
#[derive(Deserialize)]
pub(super) struct RunResult {
    pub(super) metrics: Vec<Metric>,
    /// Of a simulation.
    #[serde(default)]
    scenarios: Vec<RunScenario>,
}

/// What is read of a scenario in a result.
#[derive(Deserialize)]
struct RunScenario {
    /// Why the result depends on how long the run was.
    not_steady: Option<NotSteady>,
}

impl RunResult {
    /// That in a folder, if it is whole.
    pub(super) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(folder.join(RESULT)).ok()?).ok()
    }

    /// Why the result depends on how long the run was.
    pub(super) fn not_steady(&self) -> Option<NotSteady> {
        let mut scenarios = self.scenarios.iter();
        scenarios.find_map(|scenario| scenario.not_steady)
    }
}

/// The metrics in a result, which is what a command prints with `--json`.
///
/// # Errors
/// If the text is no such result.
pub fn metrics_in(result: &str) -> Result<Vec<Metric>, serde_json::Error> {
    serde_json::from_str(result).map(|result: RunResult| result.metrics)
}

/// The metrics of the result in a folder, if it is whole.
pub fn result(folder: &Path) -> Option<Vec<Metric>> {
    RunResult::read(folder).map(|result| result.metrics)
}

/// Whether a folder of the tree is to be skipped, because of its name or a file `skip`, its own or that of a
/// folder above.
pub(super) fn is_left_alone(root: &Path, path: &Path) -> bool {
    let mut folder = root.to_owned();
    for part in path {
        folder.push(part);
        if has_idle_name(part) || folder.join(SKIP).exists() {
            return true;
        }
    }
    root.join(SKIP).exists()
}

/// Whether a folder is to be skipped because of its name.
pub(super) fn has_idle_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.ends_with(".old") || name.contains("ignore")
}

/// Whether a file `stop` lies at the root, or above the folder of this run.
pub fn stop(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut folder = root.to_owned();
    let mut parts = path.iter();
    loop {
        let stop = folder.join(STOP);
        if stop.exists() {
            return Some(stop);
        }
        folder.push(parts.next()?);
    }
}

/// The priority of a run: the number of the file `prio-N` that is nearest to it, the smaller the sooner; without
/// one it comes last.
pub(super) fn priority(root: &Path, path: &Path) -> u64 {
    let folder = root.join(path);
    for folder in folder.ancestors().take(path.iter().count() + 1) {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        let of = |name: &OsStr| name.to_str()?.strip_prefix("prio-")?.parse().ok();
        let smallest = entries.flatten().filter_map(|e| of(&e.file_name())).min();
        if let Some(priority) = smallest {
            return priority;
        }
    }
    u64::MAX
}

/// The folder of a run that is at work. No other process takes the run while this is held.
#[derive(Debug)]
pub(super) struct Held {
    _lock: File,
}

/// Whether a run can be begun.
#[derive(Debug)]
pub(super) enum Taken {
    /// It is ours, and starts afresh.
    Ours(Held),
    /// Another process has it.
    Theirs,
    /// It has been done meanwhile.
    Whole(Vec<Metric>),
}

impl Held {
    /// Takes the folder, and empties it of what an earlier run left.
    ///
    /// # Errors
    /// If it cannot be made or emptied.
    pub(super) fn take(folder: &Path) -> Result<Taken, SweepError> {
        fs::create_dir_all(folder).map_err(SweepError::io(folder, "create the folder"))?;
        // The folder itself is locked: a file for it would be made and removed for every run.
        let mut lock = File::open(folder).map_err(SweepError::io(folder, "lock the run"))?;
        let is_ours = if let Ok(is_ours) = try_lock(&lock, folder) {
            is_ours
        } else {
            // File systems of a network lock files only, and only those that can be written to.
            let path = folder.join(".run.lock");
            lock = opened_lock(&path).map_err(SweepError::io(&path, "lock the run"))?;
            try_lock(&lock, &path)?
        };
        if !is_ours {
            return Ok(Taken::Theirs);
        }
        // What cannot be read may be whole: it is not ours to repeat.
        let there = folder.join(RESULT);
        if let Err(error) = fs::File::open(&there)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            return Err(SweepError::io(&there, "read")(error));
        }
        // Checked under the lock: its previous owner may have just finished.
        if let Some(result) = result(folder) {
            return Ok(Taken::Whole(result));
        }
        empty(folder)?;
        Ok(Taken::Ours(Self { _lock: lock }))
    }
}

/// Removes what a run and the hooks that are built in write; what others put there stays.
fn empty(folder: &Path) -> Result<(), SweepError> {
    let entries = fs::read_dir(folder).map_err(SweepError::io(folder, "read the folder"))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_ours = [
            RUN,
            RESULT,
            PENDING,
            SCENARIO,
            SPEC,
            LOG,
            FAILED,
            "report.html",
        ]
        .contains(&name.as_ref())
            || name.starts_with("records.")
            || (name.starts_with("smart-") && name.ends_with(".json"))
            || name.ends_with(".part");
        if is_ours && entry.file_type().is_ok_and(|t| !t.is_dir()) {
            let path = entry.path();
            fs::remove_file(&path).map_err(SweepError::io(&path, "remove"))?;
        }
    }
    Ok(())
}

/// How often a sweep tries to take a tree: a server that checks whether it is taken holds it for a moment.
const LOOKS: usize = 10;

/// A tree that one sweep works on.
#[derive(Debug)]
pub struct Tree {
    _lock: File,
}

impl Tree {
    /// Takes the tree.
    ///
    /// # Errors
    /// If another sweep has it, or it cannot be made.
    pub fn take(root: &Path) -> Result<Self, SweepError> {
        fs::create_dir_all(root).map_err(SweepError::io(root, "create the folder"))?;
        let path = root.join(TREE_LOCK);
        let lock = opened_lock(&path).map_err(SweepError::io(&path, "lock the tree"))?;
        for _ in 0..LOOKS {
            if try_lock(&lock, &path)? {
                return Ok(Self { _lock: lock });
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(SweepError::InUse {
            path: root.to_owned(),
        })
    }

    /// Whether a sweep works on the tree at `root` now.
    pub fn is_taken(root: &Path) -> bool {
        let lock = File::open(root.join(TREE_LOCK));
        lock.is_ok_and(|lock| {
            flock(&lock, FlockOperation::NonBlockingLockShared)
                == Err(rustix::io::Errno::WOULDBLOCK)
        })
    }
}

/// The file of a lock, made where it is missing. A link is not followed, and nothing is emptied: in a folder that others
/// may write to, the name could be that of a link to another file.
fn opened_lock(path: &Path) -> std::io::Result<File> {
    File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(OFlags::NOFOLLOW.bits() as i32)
        .open(path)
}

/// Waits until the lock `path` is ours, as long as the file that is returned is open.
///
/// # Errors
/// If it cannot be locked.
pub(crate) fn wait_for_lock(path: &Path) -> Result<File, SweepError> {
    let file = opened_lock(path).map_err(SweepError::io(path, "lock"))?;
    flock(&file, FlockOperation::LockExclusive)
        .map_err(|e| SweepError::io(path, "lock")(e.into()))?;
    Ok(file)
}

/// Locks a file as long as it is open; whether it was free.
fn try_lock(file: &File, path: &Path) -> Result<bool, SweepError> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(e) => Err(SweepError::io(path, "lock")(e.into())),
    }
}

/// Gives folders the names that runs have now, where they differ in nothing but the zeros of their numbers: with
/// a larger number in the file all others get one more.
///
/// # Errors
/// If a folder cannot be renamed.
pub fn rename_repadded<'a>(
    root: &Path,
    paths: impl Iterator<Item = &'a Path>,
) -> Result<u64, SweepError> {
    use std::collections::{BTreeSet, HashMap};
    /// What a folder's name means, and its name.
    type Listing = HashMap<String, String>;
    let mut listings: HashMap<PathBuf, Listing> = HashMap::new();
    let mut done: BTreeSet<PathBuf> = BTreeSet::new();
    let mut renamed = 0;
    for path in paths {
        let mut folder = root.to_owned();
        for part in path {
            let child = folder.join(part);
            if done.insert(child.clone()) {
                let listing = listings.entry(folder.clone()).or_insert_with(|| {
                    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
                    let names = entries.filter_map(|e| e.file_name().into_string().ok());
                    names.map(|name| (meaning(&name), name)).collect()
                });
                let name = part.to_string_lossy();
                if let Some(old) = listing.get(&meaning(&name))
                    && *old != name
                    && !child.exists()
                {
                    let old = folder.join(old);
                    fs::rename(&old, &child).map_err(SweepError::io(&old, "rename the folder"))?;
                    renamed += 1;
                }
            }
            folder = child;
        }
    }
    Ok(renamed)
}

/// `name=08.0` as `name=8`.
fn meaning(name: &str) -> String {
    let Some((key, value)) = name.split_once('=') else {
        return name.to_owned();
    };
    let (whole, fraction) = value.split_once('.').unwrap_or((value, ""));
    let are_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !are_digits(whole) || !are_digits(fraction) {
        return name.to_owned();
    }
    let (whole, fraction) = (
        whole.trim_start_matches('0'),
        fraction.trim_end_matches('0'),
    );
    format!("{key}={whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_tells_what_became_of_its_run() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let path = Path::new("a=1/b=2");
        let folder = root.join(path);
        assert_eq!(state(root, path), State::Open);
        assert!(matches!(Held::take(&folder).unwrap(), Taken::Ours(_)));
        assert_eq!(state(root, path), State::Open);
        fs::write(folder.join(FAILED), "no reason\n").unwrap();
        assert_eq!(state(root, path), State::Failed("no reason".to_owned()));
        // Cut off in the middle: no result.
        fs::write(folder.join(RESULT), "{\"metrics\": [").unwrap();
        assert!(matches!(state(root, path), State::Failed(_)));
        fs::write(folder.join(RESULT), "{\"metrics\": []}").unwrap();
        assert!(matches!(state(root, path), State::Whole(_)));
        fs::write(root.join("a=1/skip"), "").unwrap();
        assert_eq!(state(root, path), State::LeftAlone);
        assert_eq!(state(root, Path::new("x.old/b")), State::LeftAlone);
        assert_eq!(state(root, Path::new("x/to-ignore")), State::LeftAlone);
    }

    #[test]
    fn a_run_that_is_taken_again_starts_afresh_and_leaves_the_files_of_others() {
        let root = tempfile::tempdir().unwrap();
        for name in [LOG, "records.ios", "result.json.12-0.part", "notes.txt"] {
            fs::write(root.path().join(name), "x").unwrap();
        }
        let held = Held::take(root.path()).unwrap();
        assert!(matches!(held, Taken::Ours(_)));
        assert!(matches!(Held::take(root.path()).unwrap(), Taken::Theirs));
        drop(held);
        let names: Vec<_> = fs::read_dir(root.path())
            .unwrap()
            .flatten()
            .map(|e| e.file_name())
            .collect();
        assert_eq!(names, ["notes.txt"]);
    }

    #[test]
    fn stop_and_priority_are_looked_for_up_to_the_root() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        let path = Path::new("a/b");
        fs::create_dir_all(root.join(path)).unwrap();
        assert_eq!((stop(root, path), priority(root, path)), (None, u64::MAX));
        fs::write(root.join("a/prio-7"), "").unwrap();
        assert_eq!(priority(root, path), 7);
        fs::write(root.join("a/b/prio-12"), "").unwrap();
        assert_eq!(priority(root, path), 12);
        fs::write(root.join("a/stop"), "").unwrap();
        assert_eq!(stop(root, path), Some(root.join("a/stop")));
    }

    #[test]
    fn folders_follow_when_numbers_get_longer() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir_all(root.join("disks=4/rep=01")).unwrap();
        let paths = [Path::new("disks=004/rep=01"), Path::new("disks=128/rep=01")];
        assert_eq!(rename_repadded(root, paths.into_iter()).unwrap(), 1);
        assert!(root.join("disks=004/rep=01").is_dir());
    }
}
