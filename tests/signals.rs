//! Signals that end a command: nothing half-written is left, and nothing looks whole that is not.

mod scratch;

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use scratch::{SCENARIO, Scratch};

/// Their names and numbers.
const SIGNALS: [(&str, i32); 3] = [
    ("INT", libc::SIGINT),
    ("TERM", libc::SIGTERM),
    ("HUP", libc::SIGHUP),
];

/// A simulation that takes hours.
fn endless() -> String {
    let one = SCENARIO.replace("replications = 2", "replications = 1");
    let endless = one.replace("requests = 300", "requests = 4000000000");
    assert!(one != SCENARIO && endless != one, "{endless}");
    endless
}

fn start(scratch: &Scratch, arguments: &str) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
        .args(arguments.split(' '))
        .current_dir(scratch.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn wait_for<T>(what: &str, mut is: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = is() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "not: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill")
        .args(["-s", signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

fn end(child: &mut Child) -> ExitStatus {
    wait_for("it ends", || child.try_wait().unwrap())
}

/// All files in a folder and below, by their names.
fn files(scratch: &Scratch) -> Vec<String> {
    fn collect(folder: &Path, into: &mut Vec<String>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => collect(&path, into),
                false => into.push(entry.file_name().to_string_lossy().into_owned()),
            }
        }
    }
    let mut names = Vec::new();
    collect(&scratch.path("."), &mut names);
    names.sort();
    names
}

fn has_part(scratch: &Scratch) -> Option<()> {
    let files = files(scratch);
    files.iter().any(|name| ends_in(name, "part")).then_some(())
}

fn ends_in(name: &str, extension: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|of| of == extension)
}

#[test]
fn a_simulation_or_conversion_that_a_signal_ends_leaves_no_half_written_file() {
    for arguments in [
        "sim -q s.toml --stages out.csv",
        "sim -q s.toml --records out.ios",
        "sim -q s.toml --records out.load.gz --stages out.csv.gz",
        "convert - -o out.ios",
        "sim -q s.toml --stages out.parquet",
    ] {
        for (name, signal) in SIGNALS {
            let scratch = Scratch::new();
            scratch.file("s.toml", endless());
            let mut child = start(&scratch, arguments);
            if arguments.starts_with("convert") {
                let rows = "0.0 ; 0 ; 8 ; R ; 0.0 ; 0.001\n".repeat(100_000);
                let input = child.stdin.as_mut().unwrap();
                input.write_all(rows.as_bytes()).unwrap();
            }
            wait_for(arguments, || has_part(&scratch));
            send(&child, name);
            let status = end(&mut child);
            // As where nothing handles the signal: shells end their loops then.
            assert_eq!(status.signal(), Some(signal), "{arguments}: {status}");
            assert_eq!(files(&scratch), ["s.toml"], "{arguments}, {name}");
        }
    }
}

#[test]
fn a_sweep_that_a_signal_ends_has_neither_results_nor_parts_of_the_run_under_way() {
    for (name, signal) in SIGNALS {
        let scratch = Scratch::new();
        scratch.file("s.toml", endless());
        scratch.file(
            "sweep.toml",
            "scenario = 's.toml'\n[vary]\narray.disks = [4, 5]\n",
        );
        let mut child = start(&scratch, "sweep -q sweep.toml --records");
        wait_for("a run writes its records", || has_part(&scratch));
        send(&child, name);
        let status = end(&mut child);
        assert_eq!(status.code(), Some(128 + signal), "{status}");
        let files = files(&scratch);
        let is_left = |name: &&String| ends_in(name, "part") || ends_in(name, "ios");
        assert_eq!(files.iter().find(is_left), None, "{files:?}");
        assert!(!files.contains(&"result.json".to_owned()), "{files:?}");
    }
}

#[test]
fn a_signal_that_is_ignored_when_a_run_begins_does_not_end_it() {
    let scratch = Scratch::new();
    scratch.file("s.toml", endless());
    let program = assert_cmd::cargo::cargo_bin!("iosonar");
    let line = format!(
        "trap '' HUP; exec {} sim -q s.toml --records out.ios",
        program.display()
    );
    let mut child = Command::new("sh")
        .args(["-c", &line])
        .current_dir(scratch.path("."))
        .spawn()
        .unwrap();
    wait_for("it writes its records", || has_part(&scratch));
    send(&child, "HUP");
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    assert_eq!(has_part(&scratch), Some(()));
    send(&child, "TERM");
    assert_eq!(end(&mut child).signal(), Some(libc::SIGTERM));
    assert_eq!(files(&scratch), ["s.toml"]);
}
