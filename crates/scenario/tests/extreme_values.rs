//! Every key of every example, and of some of the profiles that have it, with values at the edges of what can be written:
//! an error that names the key, or a finished, finite, plausible result in bounded time and memory.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use iosonar_scenario::networked::NetworkedRaid;
use iosonar_scenario::{Outputs, Overrides, Prepared, ScenarioError, Watch};
use toml::Value;

/// Simulated requests of each case.
const REQUESTS: i64 = 30;
/// No case takes longer; most take some milliseconds.
const LONGEST: Duration = Duration::from_secs(20);
/// How much is simulated.
const AMOUNTS: [&str; 3] = ["requests", "warmup_requests", "replications"];
/// How many times a key of profiles gets each of the values: profiles of one kind have the same keys.
const TIMES: usize = 6;
/// The most problems that are reported.
const MOST_REPORTED: usize = 100;
/// Nor more memory, in KiB.
const MOST_MEMORY_KIB: u64 = 1 << 20;

fn extremes() -> Vec<Value> {
    let numbers = [0, 1, -1, i64::MAX, i64::MIN, 4_294_967_295];
    let reals = [
        0.0,
        -1.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e308,
        1e-308,
        0.999_999_999,
    ];
    let texts = ["", "0", "0KiB", "1 sector", "16EiB", "-4KiB", "64KB"];
    let others = [Value::Boolean(true), Value::Array(Vec::new())];
    numbers
        .into_iter()
        .map(Value::Integer)
        .chain(reals.into_iter().map(Value::Float))
        .chain(texts.map(|text| Value::String(text.to_owned())))
        .chain(others)
        .collect()
}

fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    files.sort();
    files
}

/// The way to a value: keys, and places in lists.
type Way = Vec<String>;

fn leaves(value: &Value, way: &mut Way, found: &mut Vec<Way>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Table(table) => table.iter().map(|(k, v)| (k.clone(), v)).collect(),
        // Of tables with the same keys, such as those of zones, the first.
        Value::Array(list) if list.iter().any(Value::is_table) => {
            let mut seen = HashSet::new();
            let tables = list.iter().enumerate();
            let new = tables.filter(|(_, table)| {
                let mut keys = Vec::new();
                leaves(table, &mut Vec::new(), &mut keys);
                seen.insert(keys)
            });
            new.map(|(i, table)| (i.to_string(), table)).collect()
        }
        _ => {
            found.push(way.clone());
            return;
        }
    };
    for (key, value) in inner {
        way.push(key);
        leaves(value, way, found);
        way.pop();
    }
}

fn at<'a>(value: &'a mut Value, way: &[String]) -> &'a mut Value {
    way.iter().fold(value, |value, key| match value {
        Value::Array(list) => &mut list[key.parse::<usize>().unwrap()],
        Value::Table(table) => table
            .entry(key.clone())
            .or_insert_with(|| Value::Table(toml::Table::new())),
        other => panic!("{other} at {key}"),
    })
}

/// Whether a message names the last key of the way, or the table that it is in.
fn names(message: &str, way: &[String]) -> bool {
    let is_key = |part: &&String| part.parse::<usize>().is_err();
    let mut keys = way.iter().rev().filter(is_key);
    keys.by_ref()
        .take(3)
        .any(|key| message.contains(key.as_str()))
}

/// An error has to name the key.
fn refused(error: &ScenarioError, way: &[String]) -> Result<(), String> {
    let message = error.to_string();
    if names(&message, way) {
        Ok(())
    } else {
        Err(format!("an error that does not name the key: {message}"))
    }
}

/// Runs a scenario with an extreme value at `way`: what is wrong with the outcome.
fn simulated(text: &str, path: &Path, way: &[String], watch: &Watch) -> Result<(), String> {
    let simulation = match Prepared::from_toml(text, path, &Overrides::default()) {
        Ok(simulation) => simulation,
        Err(error) => return refused(&error, way),
    };
    let result = match simulation.run_watched(1, Outputs::default(), watch) {
        Ok(result) => result,
        Err(error) => {
            let message = error.to_string();
            let is_explained =
                names(&message, way) || message.contains("measured") || message.contains("steady");
            return if is_explained { Ok(()) } else { Err(message) };
        }
    };
    if result.unserved.is_some() {
        return Ok(());
    }
    let mean = result.mean_ms.mean;
    let most_ms = 100.0 * 365.25 * 86_400e3;
    if !(0.0..=most_ms).contains(&mean) {
        return Err(format!("a mean of {mean} ms"));
    }
    let throughput = result.throughput_per_s.mean;
    if throughput.is_nan() || throughput < 0.0 {
        return Err(format!("a throughput of {throughput}/s"));
    }
    for (disk, utilisation) in result.utilisation.iter().enumerate() {
        if !(0.0..=1.000_001).contains(&utilisation.mean) {
            return Err(format!(
                "disk {disk} has a utilisation of {}",
                utilisation.mean
            ));
        }
    }
    Ok(())
}

/// The most memory since it was last asked, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let peak = peak.and_then(|text| text.split_whitespace().next()?.parse().ok());
    let _ = fs::write("/proc/self/clear_refs", "5");
    peak.unwrap_or(0)
}

/// A text with an extreme value, where it is said to lie, and what is to be done with it.
struct Case {
    name: String,
    way: Way,
    text: String,
    path: PathBuf,
    networked: bool,
}

/// Carries the cases out, each for itself.
fn check(cases: Vec<Case>) {
    let mut wrong = String::new();
    let n = cases.len();
    for case in cases {
        // One problem has many forms: some will do.
        if wrong.lines().count() > MOST_REPORTED {
            break;
        }
        let name = case.name.clone();
        let watch = Arc::new(Watch::default());
        let (sender, receiver) = channel();
        let watched = Arc::clone(&watch);
        let begin = Instant::now();
        let work = thread::spawn(move || {
            let outcome = if case.networked {
                networked(&case.text, &case.path, &case.way)
            } else {
                simulated(&case.text, &case.path, &case.way, &watched)
            };
            let _ = sender.send(outcome);
        });
        match receiver.recv_timeout(LONGEST) {
            Ok(Ok(())) => {}
            Ok(Err(problem)) => {
                eprintln!("{name}: {problem}");
                writeln!(wrong, "{name}: {problem}").unwrap();
            }
            Err(RecvTimeoutError::Timeout) => {
                watch.stop.store(true, std::sync::atomic::Ordering::Relaxed);
                writeln!(wrong, "{name}: takes longer than {LONGEST:?}").unwrap();
                eprintln!("{name}: takes longer than {LONGEST:?}");
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => writeln!(wrong, "{name}: PANIC").unwrap(),
        }
        let _ = work.join();
        let (peak, elapsed) = (peak_kib(), begin.elapsed());
        if peak > MOST_MEMORY_KIB {
            writeln!(wrong, "{name}: takes {peak} KiB").unwrap();
        }
        if elapsed > LONGEST / 4 {
            writeln!(wrong, "{name}: takes {elapsed:?}").unwrap();
        }
    }
    assert!(n > 100, "only {n} cases");
    assert!(wrong.is_empty(), "of {n} cases:\n{wrong}");
}

fn networked(text: &str, path: &Path, way: &[String]) -> Result<(), String> {
    let system = match NetworkedRaid::from_toml(text, path, &Overrides::default()) {
        Ok(system) => system,
        Err(error) => return refused(&error, way),
    };
    match system.analyse() {
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Each leaf of `base` with each extreme value; `inner` is where in the scenario `base` is put.
fn cases_of(name: &str, path: &Path, scenario: &Value, prefix: &[&str], only: &Value) -> Vec<Case> {
    let mut found = Vec::new();
    leaves(only, &mut Vec::new(), &mut found);
    let networked = scenario.get("jobs").is_some();
    let mut cases = Vec::new();
    for leaf in found {
        let way: Way = prefix.iter().map(|p| (*p).to_owned()).chain(leaf).collect();
        // Work grows with these: a run of 4 x 10^9 requests is what was asked for.
        let is_amount = way
            .last()
            .is_some_and(|key| AMOUNTS.contains(&key.as_str()));
        for extreme in extremes() {
            if is_amount && extreme.as_integer() == Some(4_294_967_295) {
                continue;
            }
            let mut changed = scenario.clone();
            *at(&mut changed, &way) = extreme.clone();
            cases.push(Case {
                name: format!("{name}: {} = {extreme}", way.join(".")),
                text: toml::to_string(&changed).unwrap(),
                way: way.clone(),
                path: path.to_owned(),
                networked,
            });
        }
    }
    cases
}

/// How often a key of a profile has had a value, whatever its places in lists.
#[derive(Default)]
struct Tried(HashMap<(Way, String), usize>);

impl Tried {
    /// Whether to carry out a case: if few like it have been.
    fn adds(&mut self, case: &Case) -> bool {
        let is_key = |part: &&String| part.parse::<usize>().is_err();
        let key = case.way.iter().filter(is_key).cloned().collect();
        let (_, value) = case.name.split_once(" = ").expect("a name has the value");
        let tried = self.0.entry((key, value.to_owned())).or_default();
        *tried += 1;
        *tried <= TIMES
    }
}

/// A short run of a scenario.
fn shortened(text: &str) -> Value {
    let mut scenario: Value = toml::from_str(text).unwrap();
    if scenario.get("jobs").is_some() {
        return scenario;
    }
    let table = scenario.as_table_mut().unwrap();
    table.insert("replications".to_owned(), Value::Integer(1));
    table.insert("warmup_requests".to_owned(), Value::Integer(2));
    let load = table.entry("load").or_insert_with(|| {
        toml::from_str("arrivals = { poisson_per_s = 20.0 }\nsize = { blocks = 1 }").unwrap()
    });
    let load = load.as_table_mut().unwrap();
    load.insert("requests".to_owned(), Value::Integer(REQUESTS));
    // Each user needs a request.
    if let Some(closed) = load.get_mut("closed").and_then(Value::as_table_mut)
        && let Some(Value::Integer(users)) = closed.get_mut("outstanding")
    {
        *users = (*users).min(REQUESTS);
    }
    scenario
}

#[test]
fn keys_of_the_examples() {
    let mut cases = Vec::new();
    for folder in ["", "/block-queue", "/networked-raid", "/zoned-raid"] {
        for path in files(&format!("../../examples{folder}"), "toml") {
            let scenario = shortened(&fs::read_to_string(&path).unwrap());
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            cases.extend(cases_of(&name, &path, &scenario, &[], &scenario));
        }
    }
    check(cases);
}

#[test]
fn keys_of_the_profiles_of_ssds() {
    let (mut cases, mut tried) = (Vec::new(), Tried::default());
    for path in files("../ssd-model/profiles", "toml") {
        let profile: Value = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = format!(
            "[load]\nclosed = {{ outstanding = 4 }}\nsize = {{ blocks = 2 }}\nread_share = 0.5\n[ssd]\nprofile = '{name}'"
        );
        let scenario = shortened(&text);
        let of_profile = cases_of(&name, &path, &scenario, &["ssd"], &profile);
        cases.extend(of_profile.into_iter().filter(|case| tried.adds(case)));
    }
    check(cases);
}

#[test]
fn keys_of_the_profiles_of_disks() {
    let folder = std::env::temp_dir().join(format!("iosonar-extreme-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let (mut cases, mut tried) = (Vec::new(), Tried::default());
    for path in files("../disk-model/profiles", "toml") {
        let profile: Value = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let of_profile = cases_of(&stem, &path, &profile, &[], &profile);
        for case in of_profile.into_iter().filter(|case| tried.adds(case)) {
            let file = format!("{}.toml", cases.len());
            fs::write(folder.join(&file), &case.text).unwrap();
            let text = format!(
                "warmup_requests = 2\n[load]\nrequests = {REQUESTS}\narrivals = {{ poisson_per_s = 20.0 }}\n\
                 size = {{ blocks = 2 }}\n[array]\nlevel = 'raid0'\ndisks = 2\n[disk]\nprofile = '{file}'\n\
                 model = 'positional'\nscheduler = 'sptf'\n"
            );
            let path = folder.join("scenario.toml");
            cases.push(Case { text, path, ..case });
        }
    }
    check(cases);
    fs::remove_dir_all(folder).unwrap();
}
