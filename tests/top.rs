//! `iosonar top` on devices that are made here, which takes root and tracefs; elsewhere a test says so and skips.

mod scratch;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use scratch::python::python_with;
use scratch::{
    Loop, Scratch, Zram, assert_refused, err, has_trace_points, iosonar, is_recording, out,
    read_blocks,
};
use serde_json::Value;

const MIB: usize = 1 << 20;

/// A loop device, where that and tracing are possible.
fn device(scratch: &Scratch) -> Option<Loop> {
    let image = scratch.file("disk.img", vec![7; 4 * MIB]);
    let device = Loop::over(&image).filter(|_| has_trace_points());
    if device.is_none() {
        eprintln!("skipped: no loop device or no tracefs here");
    }
    device
}

/// `iosonar top` with these arguments, once it watches.
fn watching(arguments: &[&str], devices: &[&Path]) -> Child {
    let child = Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
        .arg("top")
        .args(arguments)
        .args(devices)
        .env("LC_ALL", "C.UTF-8")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("it watches", || is_recording(child.id()).then_some(()));
    child
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

/// A figure of an interval.
fn metric<'a>(interval: &'a Value, name: &str, labels: &Value) -> &'a Value {
    let metrics = interval["metrics"].as_array().unwrap();
    let found = metrics
        .iter()
        .find(|of| of["name"] == name && of["labels"] == *labels);
    found.unwrap_or_else(|| panic!("no {name} {labels}: {interval}"))
}

fn value(interval: &Value, name: &str, labels: &Value) -> f64 {
    metric(interval, name, labels)["value"].as_f64().unwrap()
}

#[test]
fn every_request_is_counted_once_and_the_laws_hold_in_each_interval() {
    let scratch = Scratch::new();
    let (Some(by_requests), Some(by_bios)) = (device(&scratch), Zram::new(4 * MIB as u64)) else {
        return eprintln!("skipped: no zram here");
    };
    let zram = by_bios.path();
    fs::write(&zram, vec![9; MIB]).unwrap();
    let top = watching(
        &["--json", "--interval", "200ms", "--duration", "4s"],
        &[&by_requests.0, &zram],
    );
    read_blocks(&by_requests.0, 200);
    read_blocks(&zram, 150);
    read_blocks(&by_requests.0, 100);
    let output = top.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    let intervals: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(intervals.len(), 20);
    let zram = zram.display().to_string();
    let loop_device = by_requests.0.display().to_string();
    for (device, requests) in [(&loop_device, 300.0), (&zram, 150.0)] {
        let labels =
            |key: &str, of: &str| serde_json::json!({"device": device, "op": "read", key: of});
        let (mut before, mut completed, mut time_in_flight, mut times) = (0.0, 0.0, 0.0, 0.0);
        for interval in &intervals {
            let count = |kind: &str| value(interval, "requests", &labels("kind", kind));
            let ended = count("completed") + count("withdrawn") + count("given-up");
            let after = value(interval, "in_flight", &labels("of", "end"));
            assert_eq!(before + count("begun"), ended + after, "{interval}");
            before = after;
            completed += count("completed");
            time_in_flight += 200.0 * value(interval, "in_flight", &labels("of", "mean"));
            let latency = metric(interval, "latency", &labels("over", "interval"));
            times += latency["n"].as_f64().unwrap() * latency["mean"].as_f64().unwrap_or(0.0);
            let bytes = 0.2e6 * value(interval, "megabytes_per_second", &labels_of(device));
            assert!(
                (bytes - 4096.0 * count("completed")).abs() < 1.0,
                "{interval}"
            );
        }
        // Others may look at a new device, too.
        assert!(
            completed >= requests && completed < requests + 40.0,
            "{device}: {completed}"
        );
        assert_eq!(before, 0.0);
        // Little's law.
        assert!(
            (time_in_flight - times).abs() < 1e-6 * times,
            "{time_in_flight} {times}"
        );
        let minute = metric(&intervals[19], "latency", &labels("over", "minute"));
        assert_eq!(minute["n"].as_f64(), Some(completed), "{minute}");
    }
    assert_as_the_schema_says(&scratch, &text);
}

fn labels_of(device: &str) -> Value {
    serde_json::json!({"device": device, "op": "read"})
}

/// Prints what is wrong with each line of a file.
const VALIDATE: &str = "\
import json, sys
from jsonschema import Draft202012Validator
schema = json.load(open(sys.argv[1]))
validator = Draft202012Validator(schema)
listed = set(schema['properties']) | set(schema['$defs']['commands']['top']['properties'])
for line in open(sys.argv[2]):
    output = json.loads(line)
    for error in validator.iter_errors(output):
        print(list(error.absolute_path), error.message[:300])
    print(*(set(output) - listed), sep='', end='')
";

/// Each line, as Python's jsonschema judges.
fn assert_as_the_schema_says(scratch: &Scratch, lines: &str) {
    let Some(python) = python_with("jsonschema") else {
        return eprintln!("skipped: no Python with jsonschema");
    };
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/output.schema.json");
    let run = Command::new(python)
        .args(["-c", VALIDATE])
        .args([schema, scratch.file("lines.json", lines)])
        .output()
        .unwrap();
    assert_eq!((out(&run), err(&run)), (String::new(), String::new()));
}

#[test]
fn a_pipe_gets_lines_and_a_hostile_name_does_nothing_to_a_terminal() {
    let scratch = Scratch::new();
    let Some(device) = device(&scratch) else {
        return;
    };
    // A second name of the same device.
    let number = fs::metadata(&device.0).unwrap().rdev();
    let hostile = scratch.path("\u{1b}[31mred\u{7}");
    let node = Command::new("mknod")
        .arg(&hostile)
        .arg("b")
        .args([major(number), minor(number)].map(|n| n.to_string()))
        .status();
    if !node.is_ok_and(|status| status.success()) {
        return eprintln!("skipped: no device can be named here");
    }
    let top = watching(&["--interval", "300ms", "--count", "4", "-q"], &[&hostile]);
    read_blocks(&device.0, 50);
    let output = top.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), err(&output)),
        (Some(0), String::new())
    );
    let text = out(&output);
    assert!(
        text.contains(" reads: ") && text.contains(" MB/s"),
        "{text}"
    );
    assert!(text.contains(": idle"), "{text}");
    assert!(text.contains("\u{fffd}[31mred\u{fffd}"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{7}']), "{text:?}");
}

fn major(number: u64) -> u64 {
    number >> 8 & 0xfff
}

fn minor(number: u64) -> u64 {
    number & 0xff | number >> 12 & 0xf_ff00
}

#[test]
fn it_ends_when_its_reader_has_seen_enough() {
    let scratch = Scratch::new();
    let Some(device) = device(&scratch) else {
        return;
    };
    let mut top = watching(&["--interval", "100ms"], &[&device.0]);
    let mut lines = BufReader::new(top.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("0:00:00.1 "), "{line}");
    drop(lines);
    let status = wait_for("it ends", || top.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
}

#[test]
fn what_is_no_block_device_or_is_named_twice_is_refused() {
    let scratch = Scratch::new();
    let file = scratch.file("file", "x");
    let refused = iosonar().arg("top").arg(file).output().unwrap();
    assert_refused(&refused, "is not a block device");
    let Some(device) = device(&scratch) else {
        return;
    };
    let twice = iosonar().arg("top").args([&device.0, &device.0]).output();
    assert_refused(&twice.unwrap(), "name only one of them");
}

const ENTER: &str = "\u{1b}[?1049h\u{1b}[?25l";
const LEAVE: &str = "\u{1b}[?25h\u{1b}[?1049l";

/// `iosonar top` on a terminal of its own, which `script` makes; `None` without it.
struct OnTerminal {
    script: Child,
    shown: PathBuf,
}

impl OnTerminal {
    fn start(scratch: &Scratch, arguments: &str) -> Option<Self> {
        let shown = scratch.path("shown");
        let program = assert_cmd::cargo::cargo_bin!("iosonar");
        // The key of an interrupt reaches the shell too, and not every shell goes on after it.
        let command = format!(
            "trap : INT; stty rows 30 cols 80; stty -a > {before}; {} top {arguments}; echo ended $?; stty -a > {after}",
            program.display(),
            before = scratch.path("before").display(),
            after = scratch.path("after").display(),
        );
        let script = Command::new("script")
            .args(["-q", "-f", "-c", &command])
            .arg(&shown)
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh")
            .env("LC_ALL", "C.UTF-8")
            .env_remove("NO_COLOR")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(script) = script else {
            eprintln!("skipped: no script here");
            return None;
        };
        Some(Self { script, shown })
    }

    fn shown(&self) -> String {
        let mut text = Vec::new();
        if let Ok(mut file) = fs::File::open(&self.shown) {
            file.read_to_end(&mut text).unwrap();
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    fn wait_until_shown(&self, what: &str) {
        wait_for(what, || self.shown().contains(what).then_some(()));
    }

    /// The process of `iosonar`, below the shell of the terminal.
    fn process(&self) -> u32 {
        let children = |of: u32| -> Vec<u32> {
            let path = format!("/proc/{of}/task/{of}/children");
            let text = fs::read_to_string(path).unwrap_or_default();
            text.split_whitespace()
                .filter_map(|n| n.parse().ok())
                .collect()
        };
        let shell = children(self.script.id())[0];
        children(shell)[0]
    }

    fn send(&self, signal: &str) {
        let process = self.process().to_string();
        let sent = Command::new("kill").args(["-s", signal, &process]).status();
        assert!(sent.unwrap().success());
    }

    /// What was shown, when the shell behind it has ended.
    fn end(mut self) -> String {
        self.wait_until_shown("ended ");
        wait_for("the shell ends", || self.script.try_wait().unwrap());
        self.shown()
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}

#[test]
fn a_terminal_is_as_it_was_after_a_key_and_after_each_signal() {
    for how in ["q", "INT", "TERM", "HUP"] {
        let scratch = Scratch::new();
        let Some(device) = device(&scratch) else {
            return;
        };
        let arguments = format!("{} --interval 200ms", device.0.display());
        let Some(mut top) = OnTerminal::start(&scratch, &arguments) else {
            return;
        };
        top.wait_until_shown("last minute");
        read_blocks(&device.0, 100);
        top.wait_until_shown("██");
        if how == "q" {
            // Suspended, the terminal is the shell's; then the view has it again.
            let count = |what: &str| top.shown().matches(what).count();
            top.send("TSTP");
            wait_for("the screen is left", || (count(LEAVE) == 1).then_some(()));
            top.send("CONT");
            wait_for("the screen is taken", || (count(ENTER) == 2).then_some(()));
        }
        match how {
            "q" => top.script.stdin.as_mut().unwrap().write_all(b"q").unwrap(),
            "INT" => top
                .script
                .stdin
                .as_mut()
                .unwrap()
                .write_all(b"\x03")
                .unwrap(),
            signal => top.send(signal),
        }
        let shown = top.end();
        let (screen, after) = shown.rsplit_once(LEAVE).unwrap();
        let taken = if how == "q" { 2 } else { 1 };
        assert_eq!(screen.matches(ENTER).count(), taken, "{how}");
        assert!(
            after.contains(" requests (") && after.contains("ended 0"),
            "{how}: {after}"
        );
        let modes = |name: &str| fs::read_to_string(scratch.path(name)).unwrap();
        assert_eq!(modes("before"), modes("after"), "{how}");
    }
}
