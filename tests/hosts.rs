//! Replays on several hosts (`replay --hosts`). The hosts are processes on this machine, which a script starts as ssh
//! would; one test uses an ssh daemon, and says so where there is none.

mod scratch;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use iosonar_trace::{Batch, Op, Status, input};
use scratch::sshd::Daemon;
use scratch::{Loop, Scratch, err, iosonar};
use serde_json::Value;

/// Hosts that are processes, with a target for each.
struct Hosts {
    scratch: Scratch,
    names: Vec<&'static str>,
    /// How the targets are accessed.
    engine: &'static [&'static str],
}

impl Hosts {
    /// A script that is called as ssh: it notes the agent's process, and becomes the agent.
    fn new(names: &[&'static str]) -> Self {
        let hosts = Self {
            scratch: Scratch::new(),
            names: names.to_vec(),
            engine: &["--no-direct", "--engine", "sync"],
        };
        let program = assert_cmd::cargo::cargo_bin!("iosonar");
        hosts.script(&format!("exec {} agent", program.display()));
        for name in names {
            hosts.scratch.file(name, vec![7_u8; 1 << 22]);
        }
        hosts
    }

    /// The same with loop devices as targets; `None` where there are none.
    fn on_devices(names: &[&'static str]) -> Option<(Self, Vec<Loop>)> {
        let mut hosts = Self::new(names);
        hosts.engine = &[];
        let mut devices = Vec::new();
        for name in names {
            let image = hosts.scratch.path(&format!("{name}.img"));
            fs::rename(hosts.scratch.path(name), &image).unwrap();
            let device = Loop::over(&image)?;
            std::os::unix::fs::symlink(&device.0, hosts.scratch.path(name)).unwrap();
            devices.push(device);
        }
        Some((hosts, devices))
    }

    /// What runs instead of ssh; `$host` is the host.
    fn script(&self, line: &str) {
        let folder = self.scratch.path(".").display().to_string();
        let text = format!(
            "#!/bin/sh\nwhile [ \"$1\" = -o ]; do shift 2; done\nhost=$1\necho $$ > {folder}/$host.pid\n{line}\n"
        );
        let path = self.scratch.file("shell", text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn name_of(&self, host: &str) -> String {
        format!("{host}:{}", self.scratch.path(host).display())
    }

    fn targets(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| self.name_of(name)).collect();
        names.join(",")
    }

    /// A load of reads at a constant rate.
    fn load(&self, rate: u64, requests: u64) -> PathBuf {
        let rows: String = (0..requests)
            .map(|i| {
                let start = i as f64 / rate as f64;
                format!("{start:.6} ; {} ; 8 ; R\n", i * 7919 % 1000 * 8)
            })
            .collect();
        self.scratch.file("x.load", rows)
    }

    fn arguments(&self, options: &[&str]) -> Vec<String> {
        let shell = self.scratch.path("shell").display().to_string();
        let targets = self.targets();
        let fixed = ["replay", "--hosts", &targets, "--ssh", &shell, "--json"];
        let all = fixed.iter().chain(self.engine).chain(options);
        all.map(|&word| word.to_owned()).collect()
    }

    fn replay(&self, load: &Path, options: &[&str]) -> Output {
        let run = iosonar()
            .args(self.arguments(options))
            .args(["-o".as_ref(), self.out().as_os_str()])
            .arg(load)
            .timeout(Duration::from_secs(120))
            .output();
        run.unwrap()
    }

    /// The same in the background.
    fn start(&self, load: &Path, options: &[&str]) -> Child {
        Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
            .args(self.arguments(options))
            .args(["-o".as_ref(), self.out().as_os_str()])
            .arg(load)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn out(&self) -> PathBuf {
        self.scratch.path("out.ios")
    }

    /// The file of the records under its temporary name.
    fn part(&self) -> Option<PathBuf> {
        let files = fs::read_dir(self.scratch.path(".")).unwrap().flatten();
        let mut paths = files.map(|file| file.path());
        paths.find(|path| path.extension().is_some_and(|ending| ending == "part"))
    }

    /// The process of the agent on a host.
    fn agent(&self, host: &str) -> u32 {
        let path = self.scratch.path(&format!("{host}.pid"));
        wait_for("an agent", || {
            let text = fs::read_to_string(&path).ok()?;
            text.trim().parse().ok()
        })
    }

    /// The records of each device, by their statuses.
    fn records(&self) -> BTreeMap<String, BTreeMap<Kind, u64>> {
        let mut reader = input::open(&self.out()).unwrap();
        let (mut batch, mut all) = (Batch::default(), BTreeMap::new());
        while reader.next_batch(&mut batch).unwrap() > 0 {
            for record in batch.records() {
                let name = reader.metadata().device_name(record.request.device);
                let of_device: &mut BTreeMap<Kind, u64> = all.entry(name).or_default();
                *of_device.entry(kind(record.outcome.status)).or_default() += 1;
            }
        }
        all
    }
}

/// What came of a request.
type Kind = &'static str;

fn kind(status: Status) -> Kind {
    match status {
        Status::Done => "done",
        Status::Missed => "missed",
        Status::Skipped => "skipped",
        _ => "failed",
    }
}

fn wait_for<T>(what: &str, mut is: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = is() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(process: u32, name: &str) {
    let status = Command::new("kill")
        .args([name, &process.to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// Whether a process is gone, or has ended and waits for its parent.
fn is_over(process: u32) -> bool {
    match fs::read_to_string(format!("/proc/{process}/stat")) {
        Err(_) => true,
        Ok(stat) => stat
            .rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with('Z')),
    }
}

fn json(run: &Output) -> Value {
    serde_json::from_slice(&run.stdout).unwrap_or_else(|e| panic!("{e}: {}", err(run)))
}

/// Of each target: planned, done, failed, left out and not done; checked to add up.
fn counts(json: &Value) -> Vec<[u64; 5]> {
    let hosts = json["hosts"].as_array().unwrap();
    let counts = hosts.iter().map(|host| {
        let count = |key: &str| host[key].as_u64().unwrap();
        let all = ["planned", "done", "failed", "left_out", "not_done"].map(count);
        assert_eq!(all[0], all[1..].iter().sum::<u64>(), "{host}");
        all
    });
    counts.collect()
}

#[test]
fn three_hosts_replay_one_load_and_their_starts_agree_within_the_stated_error() {
    let hosts = Hosts::new(&["n1", "n2", "n3"]);
    let run = hosts.replay(&hosts.load(500, 500), &["--max-runtime", "20s"]);
    let code = run.status.code();
    assert!(matches!(code, Some(0 | 3)), "{code:?}: {}", err(&run));
    let json = json(&run);
    assert_eq!(counts(&json), [[500, 500, 0, 0, 0]; 3]);
    let records = hosts.records();
    let names: Vec<&String> = records.keys().collect();
    assert_eq!(
        names,
        ["n1", "n2", "n3"]
            .map(|name| hosts.name_of(name))
            .iter()
            .collect::<Vec<_>>()
    );
    assert!(
        records
            .values()
            .all(|of| *of == BTreeMap::from([("done", 500)])),
        "{records:?}"
    );

    let errors = starts_agree(&json);
    // Pipes and wake-ups, and not the clock's resolution.
    assert!(errors.iter().all(|error| *error < 5000.0), "{errors:?} us");
    let stated = json["together_us"].as_f64().unwrap();
    assert!(stated < 20_000.0, "{stated} us");
}

/// That what a replay on several hosts says of clocks is so where all have the monotonic clock of this machine: offsets
/// are 0, and time zero is the same instant. The errors of the offsets before the start, in microseconds.
fn starts_agree(json: &Value) -> Vec<f64> {
    let (mut began, mut errors) = (Vec::new(), Vec::new());
    for host in json["hosts"].as_array().unwrap() {
        for when in ["before", "after"] {
            let clock = &host["clock"][when];
            let (offset, error) = (&clock["offset_us"], &clock["error_us"]);
            let (offset, error) = (offset.as_f64().unwrap(), error.as_f64().unwrap());
            assert!(offset.abs() <= error && error > 0.0, "{host}");
        }
        let (ahead, drift) = (&host["clock"]["ahead_us"], &host["clock"]["drift_ppm"]);
        let error = host["clock"]["before"]["error_us"].as_f64().unwrap();
        assert!(ahead.as_f64().unwrap().abs() <= error + 50.0, "{host}");
        let drift_error = host["clock"]["drift_error_ppm"].as_f64().unwrap();
        assert!(drift.as_f64().unwrap().abs() <= drift_error, "{host}");
        began.push(host["began_at_ns"].as_u64().unwrap());
        errors.push(error);
    }
    let apart = began.iter().max().unwrap() - began.iter().min().unwrap();
    let stated = json["together_us"].as_f64().unwrap();
    assert!(
        apart as f64 / 1e3 <= stated,
        "{apart} ns apart, {stated} us stated"
    );
    errors
}

/// Holds back what goes to an agent, and what comes from it, for two times in milliseconds.
const DELAYS: &str = r"
import os, queue, subprocess, sys, threading, time
there, back = float(sys.argv[1]) / 1e3, float(sys.argv[2]) / 1e3
agent = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
def relay(source, sink, delay):
    waiting = queue.SimpleQueue()
    def receive():
        while data := os.read(source, 1 << 16):
            waiting.put((time.monotonic() + delay, data))
        waiting.put(None)
    threading.Thread(target=receive, daemon=True).start()
    while item := waiting.get():
        due, data = item
        time.sleep(max(0, due - time.monotonic()))
        while data:
            data = data[os.write(sink, data):]
    os.close(sink)
threading.Thread(target=relay, args=(0, agent.stdin.fileno(), there), daemon=True).start()
relay(agent.stdout.fileno(), 1, back)
sys.exit(agent.wait())
";

#[test]
fn where_connections_are_slow_and_each_way_takes_another_time_the_starts_agree_within_the_stated_error()
 {
    if Command::new("python3").arg("-V").output().is_err() {
        return eprintln!("skipped: no python3 to delay what is sent");
    }
    let hosts = Hosts::new(&["n1", "n2", "n3"]);
    let delays = hosts.scratch.file("delays.py", DELAYS);
    let program = assert_cmd::cargo::cargo_bin!("iosonar");
    hosts.script(&format!(
        "case $host in n1) ways='0 0';; n2) ways='12 1';; *) ways='2 25';; esac\nexec python3 {} $ways {} agent",
        delays.display(),
        program.display()
    ));
    let run = hosts.replay(&hosts.load(500, 500), &["--max-runtime", "20s"]);
    let json = json(&run);
    assert_eq!(counts(&json), [[500, 500, 0, 0, 0]; 3], "{}", err(&run));
    let errors = starts_agree(&json);
    // Half of both ways together.
    assert!(errors[1] >= 6500.0 && errors[2] >= 13_500.0, "{errors:?}");
}

#[test]
fn requests_are_dealt_by_the_device_of_the_load() {
    let mut hosts = Hosts::new(&["n1", "n2"]);
    let rows: String = (0..300)
        .map(|i| {
            format!(
                "{:.3},{},8,read,{}\n",
                f64::from(i) * 0.001,
                i * 8,
                if i % 3 == 0 { "sda" } else { "sdb" }
            )
        })
        .collect();
    let load = hosts.scratch.file(
        "two.csv",
        format!("start_s,sector,sectors,op,device\n{rows}"),
    );
    let targets = format!("sda={},sdb={}", hosts.name_of("n1"), hosts.name_of("n2"));
    hosts.names.clear();
    let shell = hosts.scratch.path("shell").display().to_string();
    let run = iosonar()
        .args([
            "replay",
            "--hosts",
            &targets,
            "--ssh",
            &shell,
            "--no-direct",
            "--engine",
            "sync",
            "--json",
            "-o",
        ])
        .arg(hosts.out())
        .arg(&load)
        .output()
        .unwrap();
    assert!(matches!(run.status.code(), Some(0 | 3)), "{}", err(&run));
    assert_eq!(
        counts(&json(&run)),
        [[100, 100, 0, 0, 0], [200, 200, 0, 0, 0]]
    );
    let records = hosts.records();
    assert_eq!(records[&hosts.name_of("n1")]["done"], 100);
    assert_eq!(records[&hosts.name_of("n2")]["done"], 200);
}

#[test]
fn writes_need_the_consent_for_that_host() {
    let hosts = Hosts::new(&["n1", "n2"]);
    let rows: String = (0..20)
        .map(|i| format!("{:.3} ; {} ; 8 ; W\n", f64::from(i) * 0.001, i * 8))
        .collect();
    let load = hosts.scratch.file("w.load", rows);
    let intact = |name: &str| fs::read(hosts.scratch.path(name)).unwrap() == vec![7_u8; 1 << 22];
    let both = [hosts.name_of("n1"), hosts.name_of("n2")];
    let as_named = format!("use --destroy {};", both[1]);

    // Without --write; with --write but no consent for the second; with consent for a path of no host.
    let here = hosts.scratch.path("n2").display().to_string();
    for (options, problem) in [
        (&[][..], "a replay only reads by default"),
        (&["--write", "--destroy", &both[0]], &as_named),
        (
            &["--write", "--destroy", &both[0], "--destroy", &here],
            "does not name a target",
        ),
    ] {
        let run = hosts.replay(&load, options);
        assert_eq!(run.status.code(), Some(2), "{options:?}: {}", err(&run));
        assert!(err(&run).contains(problem), "{options:?}: {}", err(&run));
        assert!(intact("n1") && intact("n2"), "{options:?}");
    }
    let run = hosts.replay(
        &load,
        &["--write", "--destroy", &both[0], "--destroy", &both[1]],
    );
    assert!(matches!(run.status.code(), Some(0 | 3)), "{}", err(&run));
    assert!(!intact("n1") && !intact("n2"));
    let mut reader = input::open(&hosts.out()).unwrap();
    let mut batch = Batch::default();
    assert!(reader.next_batch(&mut batch).unwrap() > 0);
    assert!(batch.records().all(|record| record.request.op == Op::Write));
}

/// Kills an agent after this time, from before its greeting to after its last record.
fn kill_an_agent(hosts: &Hosts, victim: &str, after: Duration) {
    let child = hosts.start(&hosts.load(1000, 600), &["-q"]);
    let process = hosts.agent(victim);
    std::thread::sleep(after);
    if !is_over(process) {
        signal(process, "-KILL");
    }
    let run = child.wait_with_output().unwrap();
    let text = err(&run);
    if run.stdout.is_empty() {
        // It was not ready: nothing was started on any host.
        assert_eq!(run.status.code(), Some(1), "{after:?}: {text}");
        assert!(text.contains(victim), "{text}");
        assert!(!hosts.out().exists());
        return;
    }
    let json = json(&run);
    let records = hosts.records();
    let reported = json["hosts"].as_array().unwrap();
    for ((host, report), counts) in hosts.names.iter().zip(reported).zip(counts(&json)) {
        let [planned, done, failed, left_out, not_done] = counts;
        assert_eq!(report["target"], hosts.name_of(host).as_str());
        assert_eq!(planned, 600);
        let in_file = records.get(&hosts.name_of(host)).cloned();
        let in_file: u64 = in_file.unwrap_or_default().values().sum();
        assert_eq!(in_file, done + failed + left_out, "{after:?}: {host}");
        if report["lost"].is_string() {
            assert_eq!(*host, victim, "{after:?}: {text}");
            assert!(not_done > 0 || done == 600, "{after:?}");
            assert_eq!(run.status.code(), Some(1), "{after:?}: {text}");
        } else {
            assert_eq!((done, not_done), (600, 0), "{after:?}: {host}: {text}");
        }
    }
}

#[test]
fn an_agent_that_is_killed_at_any_moment_costs_only_its_own_requests() {
    let mut random = 7_u64;
    for round in 0..20 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // Some at once, the others until all is over.
        let most = if round < 5 { 60 } else { 1400 };
        let after = Duration::from_millis((random >> 33) % most);
        let hosts = Hosts::new(&["n1", "n2", "n3"]);
        kill_an_agent(
            &hosts,
            ["n1", "n2", "n3"][(random >> 20) as usize % 3],
            after,
        );
    }
}

#[test]
fn agents_end_and_release_their_targets_when_the_coordinator_is_killed() {
    for after in [0, 100, 600, 1000] {
        let (hosts, devices) = Hosts::on_devices(&["n1", "n2"]).unwrap_or_else(|| {
            eprintln!("there is no loop device here: on files only");
            (Hosts::new(&["n1", "n2"]), Vec::new())
        });
        let mut child = hosts.start(&hosts.load(100, 3000), &["-q"]);
        let agents = ["n1", "n2"].map(|name| hosts.agent(name));
        std::thread::sleep(Duration::from_millis(after));
        child.kill().unwrap();
        child.wait().unwrap();
        for agent in agents {
            wait_for("the agent's end", || is_over(agent).then_some(()));
        }
        for device in &devices {
            // A replay holds its device exclusively. The kernel may close the files of a ring a moment later.
            let exclusive = || {
                fs::File::options()
                    .read(true)
                    .custom_flags(libc::O_EXCL)
                    .open(&device.0)
            };
            wait_for("the device", || exclusive().ok());
        }
        // What was merged until then can be read.
        assert!(!hosts.out().exists());
        if after >= 1000 {
            let part = hosts.part().unwrap();
            let run = iosonar()
                .args(["info", "--lenient", "--json"])
                .arg(part)
                .output()
                .unwrap();
            assert!(run.status.success(), "{}", err(&run));
        }
    }
}

#[test]
fn by_the_kernel_s_trace_points_the_starts_agree_within_the_stated_error() {
    let has_trace_points = Path::new("/sys/kernel/tracing/instances").exists();
    let Some((hosts, devices)) =
        Hosts::on_devices(&["n1", "n2", "n3"]).filter(|_| has_trace_points)
    else {
        return eprintln!("skipped: there are no loop devices, or no tracefs, here");
    };
    let recorded = hosts.scratch.path("recorded.ios");
    let recorder = Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
        .arg("record")
        .args(devices.iter().map(|device| &device.0))
        .args(["-q", "--requests", "1500", "--duration", "60s", "-o"])
        .arg(&recorded)
        .stdout(Stdio::null())
        .spawn();
    let mut recorder = recorder.unwrap();
    let switch = format!(
        "/sys/kernel/tracing/instances/iosonar-{}/tracing_on",
        recorder.id()
    );
    wait_for("the recorder", || {
        fs::read_to_string(&switch)
            .ok()
            .filter(|on| on.trim() == "1")
    });
    let run = hosts.replay(&hosts.load(500, 500), &[]);
    assert!(matches!(run.status.code(), Some(0 | 3)), "{}", err(&run));
    assert!(recorder.wait().unwrap().success());
    // When requests were submitted, device by device: by the kernel's clock, and by those of the replays.
    let (kernel, replays) = (submissions(&recorded), submissions(&hosts.out()));
    let zeros: Vec<f64> = devices
        .iter()
        .zip(&hosts.names)
        .map(|(device, name)| {
            let by_kernel = &kernel[&device.0.display().to_string()];
            let by_replay = &replays[&hosts.name_of(name)];
            assert_eq!((by_kernel.len(), by_replay.len()), (500, 500));
            let mut apart: Vec<f64> = by_kernel
                .iter()
                .zip(by_replay)
                .map(|(a, b)| a - b)
                .collect();
            apart.sort_by(f64::total_cmp);
            apart[apart.len() / 2] * 1e6
        })
        .collect();
    let first = zeros.iter().copied().fold(f64::INFINITY, f64::min);
    let last = zeros.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let stated = json(&run)["together_us"].as_f64().unwrap();
    eprintln!(
        "by trace points {:.1} us apart, {stated:.1} us stated",
        last - first
    );
    // The way from a replay's clock to the trace point takes some microseconds.
    assert!(
        last - first <= stated + 30.0,
        "{zeros:?}: {stated} us stated"
    );
}

/// When the requests of each device were submitted, in seconds, in order.
fn submissions(path: &Path) -> BTreeMap<String, Vec<f64>> {
    let mut reader = input::open(path).unwrap();
    let (mut batch, mut all) = (Batch::default(), BTreeMap::new());
    while reader.next_batch(&mut batch).unwrap() > 0 {
        for record in batch.records() {
            let name = reader.metadata().device_name(record.request.device);
            let at = record.request.start + record.outcome.delay.unwrap_or_default();
            let of_device: &mut Vec<f64> = all.entry(name).or_default();
            of_device.push(at.as_secs_f64());
        }
    }
    all.values_mut()
        .for_each(|times| times.sort_by(f64::total_cmp));
    all
}

#[test]
fn a_load_that_is_longer_than_what_waits_at_a_host_is_streamed() {
    let mut hosts = Hosts::new(&["n1", "n2"]);
    hosts.engine = &["--engine", "dry"];
    // 64 batches of 4 096 requests wait at most.
    let run = hosts.replay(&hosts.load(400_000, 600_000), &["-q"]);
    assert!(matches!(run.status.code(), Some(0 | 3)), "{}", err(&run));
    assert_eq!(counts(&json(&run)), [[600_000, 600_000, 0, 0, 0]; 2]);
    let records = hosts.records();
    assert!(
        records.values().all(|of| of["done"] == 600_000),
        "{records:?}"
    );
}

#[test]
fn an_agent_that_stops_answering_is_given_up() {
    let hosts = Hosts::new(&["n1", "n2"]);
    let child = hosts.start(&hosts.load(500, 500), &["-q", "--host-timeout", "2s"]);
    let process = hosts.agent("n2");
    wait_for("the records", || hosts.part());
    std::thread::sleep(Duration::from_millis(700));
    signal(process, "-STOP");
    let run = child.wait_with_output().unwrap();
    assert_eq!(run.status.code(), Some(1), "{}", err(&run));
    let json = json(&run);
    let lost = json["hosts"][1]["lost"].as_str().unwrap();
    assert!(lost.contains("no answer for 2 s"), "{lost}");
    let all = counts(&json);
    assert_eq!(all[0], [500, 500, 0, 0, 0]);
    assert!(all[1][4] > 0, "{all:?}");
    assert!(is_over(process), "it is not left behind");
}

#[test]
fn ctrl_c_ends_all_hosts_and_keeps_what_was_measured() {
    let hosts = Hosts::new(&["n1", "n2"]);
    let child = hosts.start(&hosts.load(200, 20_000), &["-q"]);
    let agents = ["n1", "n2"].map(|name| hosts.agent(name));
    wait_for("the records", || hosts.part());
    std::thread::sleep(Duration::from_millis(1500));
    signal(child.id(), "-INT");
    let run = child.wait_with_output().unwrap();
    assert_eq!(run.status.code(), Some(130), "{}", err(&run));
    let all = counts(&json(&run));
    for [planned, done, _, _, not_done] in all {
        assert_eq!(planned, 20_000);
        assert!(done > 50 && not_done > 10_000, "{done} {not_done}");
    }
    assert_eq!(hosts.records().len(), 2);
    assert!(agents.into_iter().all(is_over));
}

#[test]
fn other_versions_and_garbage_are_refused() {
    let hosts = Hosts::new(&["n1", "n2"]);
    let load = hosts.load(100, 10);
    let program = assert_cmd::cargo::cargo_bin!("iosonar")
        .display()
        .to_string();
    let hello = r#"{\"hello\":{\"version\":\"0.0.7\",\"capabilities\":[\"replay\"],\"host\":\"x\",\"kernel\":\"y\",\"process\":1}}"#;
    let hello_bytes = hello.replace('\\', "").len();
    let old = format!(
        "printf 'iosonar agent 1\\nm\\{hello_bytes:o}\\0\\0\\0'; printf '%s' \"{hello}\"; cat > /dev/null"
    );
    let own = env!("CARGO_PKG_VERSION");
    for (line, code, problems) in [
        (
            "echo Welcome to this host; cat > /dev/null",
            1,
            &["n2", "expected the greeting", "Welcome to this"][..],
        ),
        (
            "printf 'iosonar agent 9\\n'; cat > /dev/null",
            1,
            &["protocol version 9", "but 1 here"],
        ),
        (
            "printf 'iosonar agent 1\\nzzzzzzzzzz'; cat > /dev/null",
            1,
            &["unknown kind 0x7a"],
        ),
        (
            "printf 'iosonar agent 1\\nm\\377\\377\\377\\377'; cat > /dev/null",
            1,
            &["at most 1048576"],
        ),
        (
            "echo no such program >&2; exit 127",
            1,
            &["exit code 127", "no such program"],
        ),
        (&old, 2, &["iosonar 0.0.7", own]),
    ] {
        hosts.script(&format!(
            "if [ $host = n1 ]; then exec {program} agent; fi\n{line}"
        ));
        let run = hosts.replay(&load, &["-q"]);
        let text = err(&run);
        assert_eq!(run.status.code(), Some(code), "{line}: {text}");
        assert!(
            problems.iter().all(|problem| text.contains(problem)),
            "{line}: {text}"
        );
        assert!(!text.contains("n1:"), "{text}");
        assert!(!hosts.out().exists(), "nothing was started");
    }
}

/// An agent that is spoken to without a coordinator.
fn agent_with(input: &[u8]) -> (Option<i32>, Vec<u8>, String) {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
        .arg("agent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may have ended before.
    let _ = child.stdin.take().unwrap().write_all(input);
    let (mut out, mut errors) = (Vec::new(), String::new());
    child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut errors)
        .unwrap();
    (child.wait().unwrap().code(), out, errors)
}

fn message(text: &str) -> Vec<u8> {
    let length = (text.len() as u32).to_le_bytes();
    [b"m", &length[..], text.as_bytes()].concat()
}

#[test]
fn an_agent_refuses_garbage_and_other_versions() {
    let greeting = b"iosonar agent 1\n";
    let own = format!(
        r#"{{"hello":{{"version":"{}"}}}}"#,
        env!("CARGO_PKG_VERSION")
    );
    for (input, problem) in [
        (b"".to_vec(), "has ended"),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "expected the greeting"),
        (b"iosonar agent 3\n".to_vec(), "protocol version 3"),
        (
            [&greeting[..], b"m\xff\xff\xff\x7f"].concat(),
            "at most 1048576",
        ),
        (
            [&greeting[..], &message(r#"{"hello":{"version":"9.9.9"}}"#)].concat(),
            "version 9.9.9 on the coordinator",
        ),
        (
            [&greeting[..], &message(r#"{"start":{"at":1}}"#)].concat(),
            "unexpected message 'start'",
        ),
        (
            [
                &greeting[..],
                &message(&own),
                &message(r#"{"start":{"at":1}}"#),
            ]
            .concat(),
            "unexpected message 'start'",
        ),
        (
            [&greeting[..], &message(&own), b"b\x02\0\0\0xy"].concat(),
            "cannot be decoded",
        ),
    ] {
        let (code, out, errors) = agent_with(&input);
        assert_eq!(code, Some(1), "{problem}: {errors}");
        assert!(errors.contains(problem), "{problem}: {errors}");
        assert!(out.starts_with(greeting));
    }
    // Its own version is named to a coordinator of another.
    let input = [&greeting[..], &message(r#"{"hello":{"version":"9.9.9"}}"#)].concat();
    let out = String::from_utf8_lossy(&agent_with(&input).1).into_owned();
    assert!(
        out.contains("refused") && out.contains("9.9.9") && out.contains(env!("CARGO_PKG_VERSION")),
        "{out}"
    );
}

#[test]
fn options_that_do_not_go_with_hosts_are_refused() {
    let hosts = Hosts::new(&["n1"]);
    let load = hosts.load(100, 10);
    for options in [
        &["--target", "/dev/x"][..],
        &["--verify", "reads"],
        &["--find-rate", "latency p99 < 1s"],
        &["--at", "1"],
    ] {
        let run = hosts.replay(&load, options);
        assert_eq!(run.status.code(), Some(2), "{options:?}: {}", err(&run));
    }
    // Nor where a file says it.
    let spec = |text: &str| hosts.scratch.file("spec.json", text);
    for (key, text) in [
        ("verify", r#"{"load": ["x.load"], "verify": "reads"}"#),
        ("at", r#"{"load": ["x.load"], "at": 5}"#),
        ("self_check", r#"{"load": ["x.load"], "self_check": true}"#),
    ] {
        let run = iosonar()
            .args(["replay", "--hosts", &hosts.targets(), "--spec"])
            .arg(spec(text))
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(2), "{key}: {}", err(&run));
        let named = format!("the replay option '{key}'");
        assert!(err(&run).contains(&named), "{}", err(&run));
    }
    let run = iosonar()
        .args(["replay", "x.load", "--ssh", "y"])
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(2), "{}", err(&run));
}

#[test]
fn over_ssh_the_same() {
    let hosts = Hosts::new(&["node1", "node2"]);
    let Some(daemon) = Daemon::start(&hosts.scratch) else {
        eprintln!(
            "skipped: no ssh daemon can be started here (it takes root, and the package openssh-server)"
        );
        return;
    };
    let program = assert_cmd::cargo::cargo_bin!("iosonar")
        .display()
        .to_string();
    let ssh = format!("ssh -F {}", daemon.config.display());
    let run = iosonar()
        .args([
            "replay",
            "--hosts",
            &hosts.targets(),
            "--ssh",
            &ssh,
            "--host-program",
            &program,
        ])
        .args(["--no-direct", "--engine", "sync", "--json", "-o"])
        .arg(hosts.out())
        .arg(hosts.load(500, 300))
        .output()
        .unwrap();
    assert!(matches!(run.status.code(), Some(0 | 3)), "{}", err(&run));
    let json = json(&run);
    assert_eq!(counts(&json), [[300, 300, 0, 0, 0]; 2]);
    for host in json["hosts"].as_array().unwrap() {
        let clock = &host["clock"]["before"];
        let (offset, error) = (
            clock["offset_us"].as_f64().unwrap(),
            clock["error_us"].as_f64().unwrap(),
        );
        assert!(offset.abs() <= error, "{host}");
    }
    // A host that cannot be reached is named, and nothing starts on the other.
    let targets = format!("{},nowhere.invalid:/dev/x", hosts.name_of("node1"));
    fs::remove_file(hosts.out()).unwrap();
    let run = iosonar()
        .args([
            "replay",
            "--hosts",
            &targets,
            "--ssh",
            &ssh,
            "--host-program",
            &program,
            "-q",
            "-o",
        ])
        .arg(hosts.out())
        .arg(hosts.load(500, 300))
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1), "{}", err(&run));
    assert!(
        err(&run).contains("nowhere.invalid: the connection ended (exit code 255)"),
        "{}",
        err(&run)
    );
    assert!(!hosts.out().exists());
}
