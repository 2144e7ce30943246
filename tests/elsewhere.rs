//! Sweeps on Slurm and over ssh: the same tables as here. Where there is no cluster, or no ssh daemon, the test says so.

mod scratch;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use iosonar_trace::{Batch, input};
use scratch::cluster::has_cluster;
use scratch::sshd::Daemon;
use scratch::{Scratch, err, iosonar};

#[test]
fn a_job_array_of_slurm_gives_the_same_tables() {
    if !has_cluster() {
        eprintln!(
            "skipped: there is no Slurm cluster with an idle node here ('.ci/cluster up' starts one)"
        );
        return;
    }
    let scratch = Scratch::new();
    scratch.file(
        "base.toml",
        "seed = 1\n[load]\nrequests = 2000\narrivals = { poisson_per_s = 20.0 }\nsize = { blocks = 1 }\n\
         [array]\nlevel = \"raid5\"\ndisks = 4\n[disk]\nprofile = \"seagate-st3500630ns\"\n",
    );
    // One of the rates is too high, and the other points end when they are precise.
    let experiment = scratch.file(
        "study.toml",
        "scenario = \"base.toml\"\nreplications = 30\nprecision = 0.01\nwhere = \"disks == 4 or rate == 20\"\n\
         [vary]\narray.disks = [4, 8]\nload.arrivals.poisson_per_s = [20, 90000]\n\
         [names]\nload.arrivals.poisson_per_s = \"rate\"\n[slurm]\nretries = 1\ntime = \"5\"\n",
    );
    let tables: Vec<(String, String, Option<i32>)> = ["here", "slurm"]
        .iter()
        .map(|on| {
            let root = scratch.path(on);
            let run = iosonar()
                .arg("sweep")
                .arg(&experiment)
                .args(["--on", on, "--dir"])
                .arg(&root)
                .output()
                .unwrap();
            assert!(
                err(&run).contains("unstable: the offered load of disk/"),
                "{on}: {}",
                err(&run)
            );
            let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
            (read("runs.csv"), read("points.csv"), run.status.code())
        })
        .collect();
    assert_eq!(tables[0], tables[1]);
    assert_eq!(tables[0].2, Some(1));
}

#[test]
fn without_slurm_the_error_says_so() {
    let scratch = Scratch::new();
    scratch.file(
        "base.toml",
        "[load]\nrequests = 10\narrivals = { poisson_per_s = 20.0 }\nsize = { blocks = 1 }\n\
         [array]\nlevel = \"raid0\"\ndisks = 2\n[disk]\nprofile = \"seagate-st3500630ns\"\n",
    );
    let experiment = scratch.file("study.toml", "scenario = \"base.toml\"\n");
    let run = iosonar()
        .env("PATH", "")
        .arg("sweep")
        .arg(experiment)
        .args(["--on", "slurm"])
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2));
    assert!(
        err(&run).contains("sbatch was not found: install Slurm on this machine"),
        "{}",
        err(&run)
    );
}

/// The intended starts of records, in seconds.
fn starts(path: &Path) -> Vec<f64> {
    let mut reader = input::open(path).unwrap();
    let (mut batch, mut starts) = (Batch::default(), Vec::new());
    while reader.next_batch(&mut batch).unwrap() > 0 {
        let requests = batch.records().map(|record| record.request);
        starts.extend(requests.map(|request| request.start.as_secs_f64()));
    }
    starts
}

/// The folder of a copy of the program, of which a line for a host speaks.
fn folder_of_a_copy(line: &str) -> Option<&str> {
    let at = line.find("/tmp/iosonar-")?;
    Some(&line[at..at + "/tmp/iosonar-0123456789abcdef".len()])
}

/// The column of a figure of a target on a host.
fn column(host: &str, target: &Path, figure: &str) -> String {
    let name = format!("{host}:{}", target.display()).to_lowercase();
    let plain = name.replace(|c: char| !c.is_alphanumeric(), "_");
    format!("read_latency_{plain}_{figure}")
}

/// A study of replays on hosts, which are names of this machine.
struct OnHosts {
    scratch: Scratch,
    _daemon: Daemon,
    experiment: PathBuf,
    /// A script that is called as ssh, and keeps what is said to hosts.
    ssh: PathBuf,
}

impl OnHosts {
    /// `None`, with a message, where no ssh daemon can be started.
    fn new() -> Option<Self> {
        let scratch = Scratch::new();
        let Some(daemon) = Daemon::start(&scratch) else {
            eprintln!(
                "skipped: no ssh daemon can be started here (it takes root, and the package openssh-server)"
            );
            return None;
        };
        let lines: String = (0..50)
            .map(|i| format!("{:.3} ; {} ; 8 ; R ; 0 ; 0\n", f64::from(i) * 0.002, i * 64))
            .collect();
        scratch.file("x.load", lines);
        for name in ["one", "two"] {
            scratch.file(name, vec![7_u8; 1 << 22]);
        }
        let experiment = scratch.file(
            "study.toml",
            "[replay]\nload = \"x.load\"\nno_direct = true\n[vary]\nin_flight = [16]\n",
        );
        let (log, config) = (scratch.path("said"), daemon.config.display());
        let log = log.display();
        let text = format!("#!/bin/sh\necho \"$@\" >> {log}\nexec ssh -F {config} \"$@\"\n");
        let ssh = scratch.file("ssh", text);
        fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
        Some(Self {
            scratch,
            _daemon: daemon,
            experiment,
            ssh,
        })
    }

    fn sweep(&self, hosts: &str) -> Output {
        self.sweep_with(hosts, &[])
    }

    fn sweep_with(&self, hosts: &str, options: &[&str]) -> Output {
        let run = iosonar()
            .arg("sweep")
            .arg(&self.experiment)
            .args(["--hosts", hosts, "--push", "--ssh"])
            .arg(&self.ssh)
            .args(options)
            .output();
        run.unwrap()
    }

    /// The folders of copies of the program, of which lines for hosts speak.
    fn copies(&self) -> BTreeSet<String> {
        let said = fs::read_to_string(self.scratch.path("said")).unwrap();
        let copies = said.lines().filter_map(folder_of_a_copy);
        copies.map(str::to_owned).collect()
    }
}

#[test]
fn hosts_replay_together_and_what_comes_back_is_merged() {
    let Some(study) = OnHosts::new() else {
        return;
    };
    let scratch = &study.scratch;
    let hosts = format!(
        "node1:{},node2:{}",
        scratch.path("one").display(),
        scratch.path("two").display()
    );
    let run = study.sweep(&format!("{hosts},nowhere:/dev/x"));
    assert_eq!(run.status.code(), Some(2));
    assert!(
        err(&run).contains("nowhere: does not answer"),
        "{}",
        err(&run)
    );
    // Where one has no target, none starts.
    let half = format!(
        "node1:{},node2:/no/such/target",
        scratch.path("one").display()
    );
    let run = study.sweep(&half);
    assert_eq!(run.status.code(), Some(1));
    assert!(
        err(&run).contains("in_flight=16: failed: the replay failed (exit code 2)")
            && err(&run).contains("node2:/no/such/target: "),
        "{}",
        err(&run)
    );
    let folder = scratch.path("study/in_flight=16");
    assert!(!folder.join("records.ios").exists() && !folder.join("result.json").exists());
    let run = study.sweep(&hosts);
    assert!(run.status.success(), "{}", err(&run));
    let log = fs::read_to_string(folder.join("log.txt")).unwrap();
    assert!(log.contains("replaying 50 requests"), "{log}");
    let starts = starts(&folder.join("records.ios"));
    assert_eq!(starts.len(), 100);
    let result = fs::read_to_string(folder.join("result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["hosts"][1]["done"], 50);
    // Nothing stays there: the hosts are this machine.
    let copies = study.copies();
    assert_eq!(copies.len(), 3, "{copies:?}");
    assert!(
        copies.iter().all(|folder| !Path::new(folder).exists()),
        "{copies:?}"
    );
    // What the run says can be done again without them.
    let run = fs::read_to_string(folder.join("run.json")).unwrap();
    assert!(
        run.contains("--host-timeout") && !run.contains("/tmp/iosonar-"),
        "{run}"
    );
    let points = fs::read_to_string(scratch.path("study/points.csv")).unwrap();
    for metric in [
        "read_latency_mean_ms",
        &column("node1", &scratch.path("one"), "mean_ms"),
        &column("node2", &scratch.path("two"), "p99_ms"),
    ] {
        assert!(
            points.lines().next().unwrap().contains(metric),
            "{metric}: {points}"
        );
    }
}

#[test]
fn what_hosts_cannot_do_is_refused_before_the_first_run_and_other_hosts_are_another_study() {
    let Some(study) = OnHosts::new() else {
        return;
    };
    let target = |name: &str| study.scratch.path(name).display().to_string();
    let one = format!("node1:{}", target("one"));
    for (hosts, options, complaint) in [
        (format!("{one},node2"), &[][..], "node2 has no target"),
        (one.clone(), &["--set", "verify=\"reads\""], "'verify'"),
        (one.clone(), &["--set", "tag=true"], "'tag'"),
        (
            one.clone(),
            &["--destroy", "/dev/x"],
            "does not name a host",
        ),
    ] {
        let options = [options, &["--dry-run"]].concat();
        let run = study.sweep_with(&hosts, &options);
        assert_eq!(run.status.code(), Some(2), "{complaint}: {}", err(&run));
        assert!(err(&run).contains(complaint), "{}", err(&run));
    }
    let run = study.sweep(&one);
    assert!(run.status.success(), "{}", err(&run));
    let both = format!("{one},node2:{}", target("two"));
    let run = study.sweep(&both);
    assert!(run.status.success(), "{}", err(&run));
    let noted = "the results of 1 run are from a different scenario or different options";
    assert!(err(&run).contains(noted), "{}", err(&run));
    let again = study.sweep_with(&both, &["--repeat-changed"]);
    assert!(!err(&again).contains(noted), "{}", err(&again));
    let records = study.scratch.path("study/in_flight=16/records.ios");
    assert_eq!(starts(&records).len(), 100);
    // The same is not done twice.
    let again = study.sweep(&both);
    assert!(
        again.status.success() && !err(&again).contains(noted),
        "{}",
        err(&again)
    );
}
