//! `iosonar sweep`: many runs, each once.

mod scratch;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use scratch::{Scratch, err, iosonar, out};

const SCENARIO: &str = "seed = 1\n[load]\nrequests = 2000\narrivals = { poisson_per_s = 20.0 }\n\
    size = { blocks = 1 }\nread_share = 0.7\n[array]\nlevel = \"raid5\"\ndisks = 4\n\
    [disk]\nprofile = \"seagate-st3500630ns\"\n";

const EXPERIMENT: &str = "scenario = \"base.toml\"\nreplications = 3\n[vary]\narray.level = [\"raid0\", \"raid5\"]\n\
    array.disks = [4, 8]\n";

fn place(experiment: &str) -> Scratch {
    let scratch = Scratch::new();
    scratch.file("base.toml", SCENARIO);
    scratch.file("study.toml", experiment);
    scratch
}

fn sweep(scratch: &Scratch, options: &[&str]) -> Output {
    let run = iosonar()
        .arg("sweep")
        .arg(scratch.path("study.toml"))
        .args(options)
        .output();
    run.unwrap()
}

fn tables(root: &Path) -> (String, String) {
    let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
    (read("runs.csv"), read("points.csv"))
}

/// All results of a tree, with the numbers of their inodes: another file is another number.
fn results(root: &Path) -> BTreeMap<PathBuf, u64> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("result.json") {
                found.insert(path, entry.metadata().unwrap().ino());
            }
        }
    }
    found
}

#[test]
fn tables_are_the_same_whatever_the_number_of_jobs_and_runs_can_be_done_again_alone() {
    let scratch = place(EXPERIMENT);
    let (one, four) = (scratch.path("one"), scratch.path("four"));
    for (dir, jobs) in [(&one, "1"), (&four, "4")] {
        let run = sweep(
            &scratch,
            &["--dir", dir.to_str().unwrap(), "--jobs", jobs, "--records"],
        );
        assert!(run.status.success(), "{}", err(&run));
    }
    assert_eq!(tables(&one), tables(&four));
    let (runs, points) = tables(&one);
    assert_eq!((runs.lines().count(), points.lines().count()), (13, 5));
    assert!(
        runs.starts_with("path,level,disks,repetition,seed,response_time_mean_ms,"),
        "{runs}"
    );
    assert!(points.starts_with(
        "level,disks,repetitions,not_steady,response_time_mean_ms,response_time_mean_ms_ci95,"
    ));
    for made in [
        "results.json",
        "report.html",
        "charts/response_time_mean_ms-by-disks.png",
    ] {
        assert!(one.join(made).is_file(), "{made}");
    }
    // The command in run.json, in the run's folder.
    let folder = one.join("level=raid5/disks=8/rep=02");
    let about: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap();
    let words = about["command"].as_array().unwrap().iter().skip(1);
    let before = ["result.json", "records.ios"].map(|name| fs::read(folder.join(name)).unwrap());
    for name in ["result.json", "records.ios"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    let again = iosonar()
        .current_dir(&folder)
        .args(words.map(|w| w.as_str().unwrap()))
        .output();
    assert!(again.unwrap().status.success());
    let after = ["result.json", "records.ios"].map(|name| fs::read(folder.join(name)).unwrap());
    assert!(before == after);
}

#[test]
fn runs_take_the_memory_that_they_may() {
    for (options, expected) in [
        (
            &[][..],
            &["sim", "scenario.toml", "--result", "result.json"][..],
        ),
        (
            &["--memory", "2GiB"],
            &[
                "sim",
                "scenario.toml",
                "--result",
                "result.json",
                "--memory",
                "2147483648",
            ],
        ),
    ] {
        let scratch = place("scenario = \"base.toml\"\n[vary]\narray.disks = [4]\n");
        assert!(sweep(&scratch, options).status.success());
        let about = fs::read(scratch.path("study/disks=4/run.json")).unwrap();
        let about: serde_json::Value = serde_json::from_slice(&about).unwrap();
        let words = about["command"].as_array().unwrap().iter().skip(1);
        let words: Vec<_> = words.map(|word| word.as_str().unwrap()).collect();
        assert_eq!(words, expected);
    }
    let scratch = place("scenario = \"base.toml\"\n[vary]\narray.disks = [4]\n");
    let refused = sweep(&scratch, &["--memory", "31KiB"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        err(&refused).contains("'array.disks' is 4, which needs up to 32 KiB of memory"),
        "{}",
        err(&refused)
    );
}

#[test]
fn the_first_repetition_is_what_sim_simulates() {
    let scratch = place("scenario = \"base.toml\"\nreplications = 2\n[vary]\narray.disks = [4]\n");
    assert!(sweep(&scratch, &[]).status.success());
    let result = fs::read(scratch.path("study/disks=4/rep=01/result.json")).unwrap();
    let of_sweep: serde_json::Value = serde_json::from_slice(&result).unwrap();
    let alone = scratch::sim(&scratch.path("base.toml"), &[]);
    assert_eq!(of_sweep["hash"].as_str().unwrap(), scratch::hash(&alone));
}

#[test]
fn each_point_is_run_before_any_is_repeated() {
    let scratch =
        place("scenario = \"base.toml\"\nreplications = 3\n[vary]\narray.disks = [4, 8]\n");
    assert!(sweep(&scratch, &["--jobs", "1"]).status.success());
    let ended = |disks: u32, repetition: u32| -> SystemTime {
        let run = format!("study/disks={disks}/rep=0{repetition}/result.json");
        fs::metadata(scratch.path(&run))
            .unwrap()
            .modified()
            .unwrap()
    };
    for repetition in 1..3 {
        let last = ended(4, repetition).max(ended(8, repetition));
        let next = ended(4, repetition + 1).min(ended(8, repetition + 1));
        assert!(last <= next, "{repetition}");
    }
}

#[test]
fn a_sweep_that_is_killed_goes_on_and_repeats_nothing() {
    let experiment = "scenario = \"base.toml\"\nreplications = 4\n[set]\nload.requests = 20000\n[vary]\n\
        array.disks = [4, 6, 8]\nload.arrivals.poisson_per_s = [10, 20]\n";
    let scratch = place(experiment);
    let undisturbed = scratch.path("undisturbed");
    let run = sweep(&scratch, &["--dir", undisturbed.to_str().unwrap()]);
    assert!(run.status.success(), "{}", err(&run));
    let root = scratch.path("study");
    let mut whole: BTreeMap<PathBuf, u64> = BTreeMap::new();
    // Ever later, wherever it is then; what the machine is doing besides decides where.
    for ms in [15, 40, 70, 110, 160] {
        let mut child = Command::new(iosonar().get_program())
            .arg("sweep")
            .arg(scratch.path("study.toml"))
            .args(["--quiet", "--jobs", "2"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(ms));
        child.kill().unwrap();
        child.wait().unwrap();
        if root.is_dir() {
            let now = results(&root);
            for (path, inode) in &whole {
                assert_eq!(
                    now.get(path),
                    Some(inode),
                    "{} was done twice",
                    path.display()
                );
            }
            whole = now;
        }
    }
    let run = sweep(&scratch, &[]);
    assert!(run.status.success(), "{}", err(&run));
    let now = results(&root);
    assert!(whole.iter().all(|(path, inode)| now[path] == *inode));
    assert_eq!(tables(&root), tables(&undisturbed));
    // Once more there is nothing to do.
    let run = sweep(&scratch, &[]);
    assert!(
        err(&run).starts_with("0 runs done, 24 done earlier"),
        "{}",
        err(&run)
    );
    assert_eq!(results(&root), now);
}

#[test]
fn repetitions_end_when_the_mean_is_precise_at_the_same_one_every_time() {
    let experiment = "scenario = \"base.toml\"\nreplications = 40\nprecision = 0.008\n[vary]\narray.disks = [4, 8]\n";
    let scratch = place(experiment);
    for (dir, jobs) in [("one", "1"), ("three", "3")] {
        let dir = scratch.path(dir);
        let run = sweep(&scratch, &["--dir", dir.to_str().unwrap(), "--jobs", jobs]);
        assert!(run.status.success(), "{}", err(&run));
        assert!(
            err(&run).contains("not needed to reach the precision"),
            "{}",
            err(&run)
        );
    }
    let (runs, points) = tables(&scratch.path("one"));
    assert_eq!(
        (runs.clone(), points.clone()),
        tables(&scratch.path("three"))
    );
    for line in points.lines().skip(1) {
        let cells: Vec<f64> = line
            .split(',')
            .map(|cell| cell.parse().unwrap_or(f64::NAN))
            .collect();
        let (n, mean, half_width) = (cells[1], cells[3], cells[4]);
        assert!((10.0..40.0).contains(&n), "{line}");
        assert!(half_width <= 0.008 * mean, "{line}");
    }
    // Of a sweep that was done there is nothing to do, nor for another number of jobs.
    let dir = scratch.path("one");
    let run = sweep(&scratch, &["--dir", dir.to_str().unwrap()]);
    assert!(err(&run).starts_with("0 runs done"), "{}", err(&run));
    assert_eq!(tables(&dir).0, runs);
}

#[test]
fn points_with_a_precision_have_a_line_each_in_the_list() {
    let scratch =
        place("scenario = \"base.toml\"\nprecision = \"20%\"\n[vary]\narray.disks = [4, 8]\n");
    let listed = |set: &str| out(&sweep(&scratch, &["--dry-run", set]));
    assert_eq!(
        listed("--quiet"),
        "open        disks=4  (up to 1 000 runs)\nopen        disks=8  (up to 1 000 runs)\n"
    );
    let run = sweep(&scratch, &["--only", "disks=4/*"]);
    assert!(run.status.success(), "{}", err(&run));
    let text = listed("--quiet");
    assert!(
        text.starts_with("open        disks=4  (up to 1 000 runs, 10 done)\n"),
        "{text}"
    );
    // As many as a mistake allows would take all memory.
    let scratch =
        place("scenario = \"base.toml\"\nprecision = \"20%\"\nreplications = 4000000000\n");
    let refused = sweep(&scratch, &["--dry-run"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        err(&refused).contains("expected at most 100000"),
        "{}",
        err(&refused)
    );
    // Repetitions of a fixed number are listed one by one.
    let scratch = place("scenario = \"base.toml\"\nreplications = 3\n");
    let listed = out(&sweep(&scratch, &["--dry-run"]));
    assert_eq!(listed.lines().count(), 3, "{listed}");
}

#[test]
fn a_condition_may_select_a_few_runs_of_many() {
    let scratch = place(
        "scenario = \"base.toml\"\nwhere = \"requests == 7\"\n[vary]\nload.requests = \"1..200000\"\n",
    );
    let listed = sweep(&scratch, &["--dry-run"]);
    assert_eq!(listed.status.code(), Some(0), "{}", err(&listed));
    assert_eq!(out(&listed).lines().count(), 1, "{}", out(&listed));
    for (experiment, problem) in [
        (
            "where = \"x > 7\"\n[vary]\nx = \"1..200000\"\n",
            "more than 100000 runs need --yes (got 199993)",
        ),
        (
            "[vary]\nload.requests = \"1..5000000\"\n",
            "which does not get from 1 to 5000000 in at most 1000000 steps",
        ),
    ] {
        let scratch = place(&format!("scenario = \"base.toml\"\n{experiment}"));
        let refused = sweep(&scratch, &["--dry-run"]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(err(&refused).contains(problem), "{}", err(&refused));
    }
}

#[test]
fn files_in_the_tree_steer_the_sweep() {
    let scratch = place(
        "scenario = \"base.toml\"\n[vary]\narray.level = [\"raid0\", \"raid5\"]\narray.disks = [4, 5, 6]\n",
    );
    let root = scratch.path("study");
    let listed = sweep(&scratch, &["--dry-run"]);
    assert_eq!(out(&listed).lines().count(), 6);
    assert!(
        err(&listed).contains("6 of 6 runs remain: about"),
        "{}",
        err(&listed)
    );
    assert!(!root.exists());
    // One first, to have a tree.
    let run = sweep(&scratch, &["--only", "raid5/disks=6"]);
    assert!(err(&run).starts_with("1 run done"), "{}", err(&run));
    fs::create_dir_all(root.join("level=raid0/disks=5")).unwrap();
    fs::write(root.join("level=raid0/skip"), "").unwrap();
    fs::create_dir_all(root.join("level=raid5/disks=5")).unwrap();
    fs::write(root.join("level=raid5/disks=5/prio-1"), "").unwrap();
    fs::write(root.join("stop"), "").unwrap();
    let run = sweep(&scratch, &["--jobs", "1"]);
    assert_eq!(run.status.code(), Some(3));
    assert!(err(&run).contains("remove it to continue"), "{}", err(&run));
    fs::remove_file(root.join("stop")).unwrap();
    let run = sweep(&scratch, &["--jobs", "1"]);
    assert!(
        err(&run).contains("2 runs done, 1 done earlier, 3 skipped"),
        "{}",
        err(&run)
    );
    let begun = |path: &str| {
        let about = fs::metadata(root.join(path).join("result.json")).unwrap();
        (about.mtime(), about.mtime_nsec())
    };
    assert!(
        begun("level=raid5/disks=5") < begun("level=raid5/disks=4"),
        "prio-1 comes first"
    );
    // What is called .old is in no table.
    fs::rename(root.join("level=raid5"), root.join("level=raid5.old")).unwrap();
    fs::remove_file(root.join("level=raid0/skip")).unwrap();
    let run = sweep(&scratch, &["--only", "raid0"]);
    assert!(run.status.success());
    let (runs, _) = tables(&root);
    assert!(!runs.contains("raid5"), "{runs}");
}

#[test]
fn cases_that_are_added_later_are_done_and_all_folders_still_sort() {
    let scratch = place("scenario = \"base.toml\"\n[vary]\narray.disks = [4, 8]\n");
    assert!(sweep(&scratch, &[]).status.success());
    let before = fs::read(scratch.path("study/disks=4/result.json")).unwrap();
    scratch.file(
        "study.toml",
        "scenario = \"base.toml\"\n[vary]\narray.disks = [4, 8, 12]\n",
    );
    let run = sweep(&scratch, &[]);
    assert!(
        err(&run).starts_with("1 run done, 2 done earlier"),
        "{}",
        err(&run)
    );
    assert!(fs::read(scratch.path("study/disks=04/result.json")).unwrap() == before);
    assert!(!scratch.path("study/disks=4").exists());
    // A scenario that has changed since is told, and repeated if that is wanted.
    scratch.file("base.toml", SCENARIO.replace("2000", "3000"));
    let run = sweep(&scratch, &[]);
    assert!(
        err(&run).contains("the results of 3 runs are from a different scenario"),
        "{}",
        err(&run)
    );
    let run = sweep(&scratch, &["--repeat-changed"]);
    assert!(err(&run).starts_with("3 runs done in"), "{}", err(&run));
}

#[test]
fn repetitions_near_saturation_have_no_interval_and_say_so() {
    let scratch = place(
        "scenario = \"base.toml\"\nreplications = 3\n[vary]\nload.arrivals.poisson_per_s = [20.0, 140.0]\n",
    );
    let run = sweep(&scratch, &[]);
    assert!(run.status.success(), "{}", err(&run));
    let root = scratch.path("study");
    let (runs, points) = tables(&root);
    let cell = |text: &str, row: usize, name: &str| {
        let mut lines = text.lines();
        let at = lines.next().unwrap().split(',').position(|n| n == name);
        let cells: Vec<&str> = lines.nth(row).unwrap().split(',').collect();
        cells[at.unwrap()].to_owned()
    };
    for time in ["response_time_mean_ms", "read_response_time_p99_ms"] {
        let of = |row| cell(&points, row, &format!("{time}_ci95"));
        assert!(of(0).parse::<f64>().unwrap() > 0.0, "{points}");
        assert_eq!(of(1), "", "{points}");
    }
    // Saturated disks have a rate that repetitions estimate.
    assert!(
        cell(&points, 1, "throughput_per_s_ci95")
            .parse::<f64>()
            .unwrap()
            > 0.0
    );
    assert_eq!(cell(&points, 0, "not_steady"), "");
    let why = cell(&points, 1, "not_steady");
    assert_eq!(why, "near-saturation");
    assert_eq!([0, 3].map(|row| cell(&runs, row, "not_steady")), ["", &why]);
    let results = fs::read(root.join("results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_slice(&results).unwrap();
    assert_eq!(results["points"][1]["not_steady"][0], *why);
    assert_eq!(results["runs"][3]["not_steady"]["why"], *why);
    assert!(results["runs"][0]["not_steady"].is_null());
    let page = fs::read_to_string(root.join("report.html")).unwrap();
    assert!(page.contains("<h2>Not steady: 1 point</h2>"), "{page}");
    assert!(
        page.contains("<li>poisson_per_s = 140.0: near-saturation</li>"),
        "{page}"
    );
}

#[test]
fn a_tree_of_folders_is_swept_as_its_tables_say() {
    let scratch = Scratch::new();
    scratch.file("base.toml", SCENARIO);
    let root = scratch.path("tree");
    for folder in ["small/raid0", "small/raid5", "large/raid5", "old.old"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for (name, text) in [
        (
            "default.toml",
            "scenario = \"../base.toml\"\n[set]\nload.requests = 1000\n",
        ),
        ("small.toml", "[set]\narray.disks = 4\n"),
        ("large.toml", "[set]\narray.disks = 8\n"),
        ("raid0.toml", "[set]\narray.level = \"raid0\"\n"),
        ("raid5.toml", "[set]\narray.level = \"raid5\"\n"),
        ("small/raid5.toml", "[set]\narray.level = \"raid6\"\n"),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    let run = iosonar().arg("sweep").arg(&root).output().unwrap();
    assert!(run.status.success(), "{}", err(&run));
    let log = fs::read_to_string(root.join("small/raid5/log.txt")).unwrap();
    assert!(log.starts_with("scenario: RAID 6 of 4"), "{log}");
    assert!(tables(&root).0.starts_with("path,level1,level2,repetition"));
    assert!(tables(&root).0.contains("\nlarge/raid5,large,raid5,1,"));
    fs::remove_file(root.join("large.toml")).unwrap();
    let run = iosonar().arg("sweep").arg(&root).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert!(
        err(&run)
            .contains("large: 'large.toml' is missing from this folder and all folders above it"),
        "{}",
        err(&run)
    );
}

#[test]
fn a_replay_is_swept_over_its_options() {
    let scratch = Scratch::new();
    let lines: String = (0..50)
        .map(|i| format!("{:.3} ; {} ; 8 ; R ; 0 ; 0\n", f64::from(i) * 0.002, i * 64))
        .collect();
    scratch.file("x.load", lines);
    scratch.file("target", vec![7_u8; 1 << 22]);
    let target = scratch.path("target");
    scratch.file(
        "study.toml",
        format!(
            "repeat = 2\n[replay]\nload = \"x.load\"\ntarget = \"{}\"\nno_direct = true\nstart_grace = \"20ms\"\n[vary]\nin_flight = [1, 16]\n",
            target.display()
        ),
    );
    let run = sweep(&scratch, &["--jobs", "4"]);
    assert!(run.status.success(), "{}", err(&run));
    let (runs, points) = tables(&scratch.path("study"));
    assert_eq!((runs.lines().count(), points.lines().count()), (5, 3));
    assert!(runs.contains("read_latency_p99_ms"), "{runs}");
    assert!(
        scratch
            .path("study/in_flight=16/rep=02/records.ios")
            .is_file()
    );
    // What is kept of a run does the same again.
    let spec = scratch.path("study/in_flight=16/rep=02/spec.json");
    let again = |more: &[&str]| {
        iosonar()
            .args(["replay", "--json", "--spec"])
            .arg(&spec)
            .args(more)
            .output()
            .unwrap()
    };
    let run = again(&[]);
    // On a busy machine it may be late (3).
    assert!(matches!(run.status.code(), Some(0 | 3)), "{}", err(&run));
    let result: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let mut metrics = result["metrics"].as_array().unwrap().iter();
    let reads = metrics.find(|m| m["name"] == "latency" && m["labels"]["op"] == "read");
    assert_eq!(reads.unwrap()["n"], 50, "{result}");
    let run = again(&["--in-flight", "3"]);
    assert_eq!(run.status.code(), Some(2));
    assert!(err(&run).contains("cannot be used with"), "{}", err(&run));
}

#[test]
fn what_cannot_be_swept_is_refused_with_its_place() {
    for (experiment, complaint) in [
        (
            "scenario = \"base.toml\"\n[vary]\narray.dsks = [4]\n",
            "study.toml: 'array.dsks' is not a key",
        ),
        (
            "scenario = \"base.toml\"\n[vary]\narray.disks = [4, \"many\"]\n",
            "'array.disks' is \"many\"",
        ),
        (
            "scenario = \"none.toml\"\n",
            "none.toml: cannot read the scenario",
        ),
        (
            "scenario = \"base.toml\"\nreplication = 3\n",
            "unknown key 'replication'",
        ),
        (
            "replications = 3\n",
            "'scenario' is missing, and so is [replay]",
        ),
        (
            "scenario = \"base.toml\"\n[vary]\narray.disks = [4, 4]\n",
            "two runs have the same path, disks=4",
        ),
        (
            "scenario = \"base.toml\"\nwhere = \"disks > \"\n[vary]\narray.disks = [4]\n",
            "'where' ends too early",
        ),
        (
            "scenario = \"base.toml\"\n[vary]\nx = { from = 1, to = 6e5, step = 1 }\n",
            "more than 100000 runs need --yes (got 600000)",
        ),
        (
            "scenario = \"base.toml\"\n[[hook]]\nuse = \"tidy\"\n",
            "unknown built-in 'tidy'",
        ),
        (
            "scenario = \"base.toml\"\nprecision = 0.01\nreplications = 5\n",
            "'replications' is 5, expected at least 10",
        ),
        (
            "[replay]\nload = \"x.load\"\nin_flite = 3\n",
            "unknown key 'in_flite' (did you mean 'in_flight'?)",
        ),
        (
            "[replay]\nload = \"x.load\"\nout = \"y\"\n",
            "unknown key 'out'",
        ),
    ] {
        let scratch = place(&experiment.replace("NOTS", &"not ".repeat(100_000)));
        let run = sweep(&scratch, &[]);
        assert_eq!(run.status.code(), Some(2), "{experiment}: {}", err(&run));
        assert!(err(&run).contains(complaint), "{experiment}: {}", err(&run));
        // What was refused has left nothing behind that stands in the way.
        assert!(!scratch.path("study").exists(), "{experiment}");
    }
    let scratch = place(EXPERIMENT);
    for (options, complaint) in [
        (&["--only", "raid9"][..], "no run matches"),
        (&["--hosts", "a"], "--hosts needs a replay"),
        (
            &["--dir", "."],
            "contains files that do not belong to a sweep",
        ),
    ] {
        let run = iosonar()
            .current_dir(scratch.path("."))
            .args(["sweep", "study.toml"])
            .args(options)
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(2), "{options:?}: {}", err(&run));
        assert!(err(&run).contains(complaint), "{options:?}: {}", err(&run));
    }
}

#[test]
fn a_run_that_fails_is_told_and_the_others_are_done() {
    let scratch =
        place("scenario = \"base.toml\"\n[vary]\nload.arrivals.poisson_per_s = [10, 100000]\n");
    let run = sweep(&scratch, &[]);
    assert_eq!(run.status.code(), Some(1));
    assert!(
        err(&run).contains("failed: unstable: the offered load of disk/"),
        "{}",
        err(&run)
    );
    assert!(err(&run).contains("1 run done, 1 failed"), "{}", err(&run));
    let (runs, points) = tables(&scratch.path("study"));
    assert!(
        runs.contains("unstable: the offered load of disk/"),
        "{runs}"
    );
    assert_eq!(points.lines().count(), 2);
}

#[test]
fn what_was_one_run_before_it_became_several_is_none_of_them() {
    let scratch = place("scenario = \"base.toml\"\n[vary]\narray.disks = [4]\n");
    assert!(sweep(&scratch, &[]).status.success());
    scratch.file(
        "study.toml",
        "scenario = \"base.toml\"\nreplications = 2\n[vary]\narray.disks = [4]\n",
    );
    assert!(sweep(&scratch, &[]).status.success());
    let (runs, points) = tables(&scratch.path("study"));
    assert_eq!(runs.lines().count(), 3, "{runs}");
    assert!(
        points.lines().nth(1).unwrap().starts_with("4,2,"),
        "{points}"
    );
    // And back again.
    scratch.file(
        "study.toml",
        "scenario = \"base.toml\"\n[vary]\narray.disks = [4]\n",
    );
    assert!(sweep(&scratch, &[]).status.success());
}

#[test]
fn a_precision_of_something_that_is_not_measured_is_refused() {
    let scratch = place("scenario = \"base.toml\"\nprecision = 0.1\nprecision_of = \"mean\"\n");
    let run = sweep(&scratch, &[]);
    assert_eq!(run.status.code(), Some(2));
    assert!(
        err(&run).contains("'precision_of' is 'mean', which is not a metric of"),
        "{}",
        err(&run)
    );
}

#[test]
fn a_disk_that_is_full_ends_the_sweep_and_what_is_done_stays() {
    let scratch = place(
        "scenario = \"base.toml\"\nrecords = true\n[vary]\narray.disks = { from = 3, to = 40, step = 1 }\n",
    );
    let small = scratch.path("small");
    fs::create_dir_all(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=400k", "tmpfs"])
        .arg(&small)
        .status();
    if !mounted.is_ok_and(|s| s.success()) {
        eprintln!("skipped: no small file system can be mounted here");
        return;
    }
    let root = small.join("tree");
    let run = sweep(&scratch, &["--dir", root.to_str().unwrap(), "--jobs", "1"]);
    let done = results(&root).len();
    let whole = results(&root)
        .keys()
        .all(|path| serde_json::from_slice::<serde_json::Value>(&fs::read(path).unwrap()).is_ok());
    let unmounted = Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(run.status.code(), Some(1), "{}", err(&run));
    assert!(
        err(&run).contains("No space left on device"),
        "{}",
        err(&run)
    );
    assert!(done > 0 && done < 38 && whole, "{done}");
}

#[test]
fn runs_as_json_lines_have_the_values_of_the_table_with_their_types() {
    let experiment = "scenario = \"base.toml\"\nreplications = 2\n[vary]\narray.level = [\"raid0\", \"raid5\"]\n\
        array.disks = [4, 8]\narray.stripe_unit = [\"64KiB\", \"1MiB\"]\n";
    let scratch = place(experiment);
    let run = sweep(&scratch, &["--dir", scratch.path("tree").to_str().unwrap()]);
    assert!(run.status.success(), "{}", err(&run));
    let (runs, _) = tables(&scratch.path("tree"));
    let lines = fs::read_to_string(scratch.path("tree").join("runs.jsonl")).unwrap();
    let mut rows = runs.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let objects: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((objects.len(), rows.clone().count()), (16, 16));
    for (object, row) in objects.iter().zip(rows) {
        for (name, cell) in header.iter().zip(row) {
            let value = &object[name];
            match *name {
                "path" | "level" | "stripe_unit" => assert_eq!(value.as_str(), Some(cell)),
                // Every run was good.
                "failed" | "not_steady" => assert!(value.is_null() && cell.is_empty()),
                _ if cell.is_empty() => assert!(value.is_null(), "{name}: {value}"),
                _ => {
                    let (value, cell) = (value.as_f64().unwrap(), cell.parse::<f64>().unwrap());
                    assert!((value - cell).abs() <= 1e-14 * cell.abs(), "{name}");
                }
            }
        }
        assert!(object["disks"].is_u64() && object["seed"].is_u64());
        let bytes = match object["stripe_unit"].as_str() {
            Some("64KiB") => 65_536,
            _ => 1 << 20,
        };
        assert_eq!(object["stripe_unit_bytes"].as_u64(), Some(bytes));
        assert!(object.get("disks_bytes").is_none() && object.get("level_bytes").is_none());
    }
}
