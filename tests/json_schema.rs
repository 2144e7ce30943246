//! What `--json` prints is what `docs/src/output.schema.json` says, of every command that can be run here. Python's
//! jsonschema judges; where it is missing, the test says so and skips.

mod scratch;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use scratch::python::python_with;
use scratch::{Loop, SCENARIO, Scratch, err, has_trace_points, iosonar, out};
use serde_json::Value;

/// Prints what is wrong with each of the files, and the keys at the top that the schema does not list.
const VALIDATE: &str = r#"
import json, sys
from jsonschema import Draft202012Validator
schema = json.load(open(sys.argv[1]))
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
for path in sys.argv[2:]:
    output = json.load(open(path))
    for error in validator.iter_errors(output):
        print(f"{path}: {list(error.absolute_path)}: {error.message[:300]}")
    of_command = schema["$defs"]["commands"].get(str(output.get("command")).replace(" ", "-"), {})
    listed = set(schema["properties"]) | set(of_command.get("properties", {}))
    for key in sorted(set(output) - listed):
        print(f"{path}: the schema of '{output.get('command')}' does not list '{key}'")
"#;

/// What is run, with `--json`.
const COMMANDS: &[&str] = &[
    "sim -q s.toml",
    "sim -q s.toml --records s.ios",
    "sim -q s.toml --split --target mean<1ms,p99<100s",
    "sim -q s.toml --set replications=1",
    "sim -q s.toml --explain",
    "sim -q s.toml --vary array.disks=4..5 --target p99<1s",
    "sim -q s.toml --sensitivity",
    "sweep -q sweep.toml --dry-run",
    "sweep -q sweep.toml",
    "model -q s.toml",
    "model -q n.toml",
    "plan -q s.toml --find rate --target p99<100ms",
    "plan -q s.toml --find rate --target p99<100ms --vary array.disks=4,5",
    "choose -q db.load.gz candidate.toml --duration 20s --fit --target p99<1s",
    "info l.ios",
    "analyze -q l.ios",
    "formats",
    "profiles",
    "profiles samsung-970-evo-plus-1tb --check",
    "targets",
    "doctor",
    "bench trace",
    "generate like db.load.gz -q -o like.ios --duration 20s",
    "replay -q --no-direct --engine sync --target target -o r.ios l.ios",
    "replay -q --no-direct --engine sync --target target --find-rate p99<10s --find-time 100ms l.ios",
    "check -q l.ios r.ios",
    "check-model -q r.ios",
    "compare -q r.ios s.ios",
    "sim -q s.toml --set array.level=raid0 --set array.disks=1 --set replications=1 --records one.ios",
    "calibrate -q one.ios --profile seagate-st3500630ns -o fitted.toml",
    "validate -q hp-c2247a hp.trace",
    "prepare slurp -q --no-direct --target target",
    "prepare fill -q --no-direct --target target --write --destroy target",
    "replay -q --no-direct --engine sync --target target --write --destroy target --verify final \
     --keep-tables log w.load",
    "verify -q --no-direct --target target log",
];

/// What a drive did, in the format of DiskSim's validation.
const VALIDATION: &str = "\
R Miss  564347     2     14095.370     13876.270
R Hit   564349     2      1414.270     18746.770
R Hit   564351     2      1476.750      9632.520
W Doub 1194877    15     17221.000     21894.380
W Trip 1205090    13     10133.390     19712.710
";

fn schema() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/output.schema.json")
}

/// The complaints about these files.
fn complaints(python: &Path, files: &[PathBuf]) -> String {
    let run = Command::new(python)
        .args(["-c", VALIDATE])
        .arg(schema())
        .args(files)
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", err(&run));
    out(&run)
}

/// Runs commands in a folder, each with `--json`, and keeps what they print.
struct Outputs<'a> {
    scratch: &'a Scratch,
    files: Vec<PathBuf>,
    commands: Vec<String>,
}

impl Outputs<'_> {
    fn run(&mut self, arguments: &str) {
        let run = iosonar()
            .args(arguments.split(' '))
            .arg("--json")
            .current_dir(self.scratch.path("."))
            .output()
            .unwrap();
        // 1 and 3: there is an answer, but not the one hoped for.
        let code = run.status.code();
        assert!(
            matches!(code, Some(0 | 1 | 3)),
            "{arguments}: {}",
            err(&run)
        );
        self.keep(arguments, &run);
    }

    /// Keeps each of the objects that a command has printed.
    fn keep(&mut self, arguments: &str, run: &Output) {
        let objects = serde_json::Deserializer::from_slice(&run.stdout).into_iter::<Value>();
        let before = self.files.len();
        for json in objects {
            let json = json.unwrap_or_else(|e| panic!("{arguments}: {e}: {}", err(run)));
            self.commands
                .push(json["command"].as_str().unwrap_or_default().to_owned());
            let name = format!("{}.json", self.files.len());
            self.files.push(self.scratch.file(&name, json.to_string()));
        }
        assert!(self.files.len() > before, "{arguments}: {}", err(run));
    }

    /// Runs the commands that watch a device while it is read; `false` without a device or trace points.
    fn run_on_a_device(&mut self) -> bool {
        let image = self.scratch.path("target");
        let Some(device) = Loop::over(&image).filter(|_| has_trace_points()) else {
            eprintln!("skipped: no loop device or no tracefs here");
            return false;
        };
        let device = device.0.display().to_string();
        for arguments in [
            format!("top {device} --interval 500ms --count 4"),
            format!("record -q {device} --duration 2s -o recorded.ios"),
        ] {
            let watching = Command::new(assert_cmd::cargo::cargo_bin!("iosonar"))
                .args(arguments.split(' '))
                .arg("--json")
                .current_dir(self.scratch.path("."))
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_secs(1));
            let read = Command::new("dd")
                .arg(format!("if={device}"))
                .args(["of=/dev/null", "bs=4k", "count=100", "iflag=direct"])
                .output();
            assert!(read.unwrap().status.success());
            let run = watching.wait_with_output().unwrap();
            assert!(run.status.success(), "{arguments}: {}", err(&run));
            self.keep(&arguments, &run);
        }
        true
    }
}

#[test]
fn every_output_is_as_the_schema_says() {
    let Some(python) = python_with("jsonschema") else {
        return eprintln!("skipped: no Python with jsonschema");
    };
    let scratch = Scratch::new();
    scratch.file("s.toml", SCENARIO);
    scratch.file(
        "sweep.toml",
        "scenario = 's.toml'\n[vary]\narray.disks = [4, 5]\n",
    );
    let (_, array) = SCENARIO.split_once("[array]").unwrap();
    scratch.file("candidate.toml", format!("[array]{array}"));
    let paper = include_str!("../examples/networked-raid/paper.toml");
    scratch.file("n.toml", paper);
    let load = "fixtures/database-server.load.gz";
    let load = Path::new(env!("CARGO_MANIFEST_DIR")).join(load);
    std::os::unix::fs::symlink(load, scratch.path("db.load.gz")).unwrap();
    fs::File::create(scratch.path("target"))
        .unwrap()
        .set_len(64 << 20)
        .unwrap();
    let generate =
        "generate poisson --rate 200 --duration 2s --space 64MiB --read-share 1 -q -o l.ios";
    let made = iosonar()
        .args(generate.split(' '))
        .current_dir(scratch.path("."))
        .output();
    assert!(made.unwrap().status.success());

    scratch.file("hp.trace", VALIDATION);
    scratch.file("w.load", "0.0 ; 0 ; 8 ; W\n0.01 ; 8 ; 8 ; W\n");

    let (files, commands) = (Vec::new(), Vec::new());
    let mut outputs = Outputs {
        scratch: &scratch,
        files,
        commands,
    };
    for arguments in COMMANDS {
        outputs.run(arguments);
    }
    // A script that is called as ssh, and starts the agent here.
    let program = assert_cmd::cargo::cargo_bin!("iosonar");
    let shell = scratch.file(
        "shell",
        format!("#!/bin/sh\nexec {} agent\n", program.display()),
    );
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).unwrap();
    let target = scratch.path("target").display().to_string();
    outputs.run(&format!(
        "replay -q --hosts n1:{target} --ssh ./shell --no-direct --engine sync -o h.ios l.ios"
    ));
    let has_device = outputs.run_on_a_device();
    let found = complaints(&python, &outputs.files);
    assert!(found.is_empty(), "{found}{:#?}", outputs.commands);
    let all: Value = serde_json::from_str(&fs::read_to_string(schema()).unwrap()).unwrap();
    let listed = all["properties"]["command"]["enum"].as_array().unwrap();
    let listed = listed.iter().filter_map(Value::as_str);
    let unseen: Vec<&str> = listed
        .filter(|name| !outputs.commands.iter().any(|c| c == name))
        .collect();
    // These take minutes, and the others need root and a block device.
    let mut elsewhere = vec!["bench all", "bench plot", "bench replay", "bench sim"];
    if !has_device {
        elsewhere.extend(["record", "top"]);
    }
    assert_eq!(unseen, elsewhere, "commands whose output was not checked");
}

#[test]
fn an_output_with_a_fault_is_found() {
    let Some(python) = python_with("jsonschema") else {
        return eprintln!("skipped: no Python with jsonschema");
    };
    let scratch = Scratch::new();
    let file = scratch.file("s.toml", SCENARIO);
    let run = iosonar()
        .args(["sim", "-q", "--json"])
        .arg(file)
        .output()
        .unwrap();
    let good: Value = serde_json::from_slice(&run.stdout).unwrap();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut output = good.clone();
        change(&mut output);
        complaints(&python, &[scratch.file("x.json", output.to_string())])
    };
    assert_eq!(with(&|_| {}), "");
    for (change, named) in [
        (
            &(|o: &mut Value| o["schema"] = 2.into()) as &dyn Fn(&mut Value),
            "schema",
        ),
        (&|o| o["hash"] = 5.into(), "hash"),
        (
            &|o| drop(o.as_object_mut().unwrap().remove("scenarios")),
            "scenarios",
        ),
        (&|o| o["surprise"] = 1.into(), "surprise"),
        (&|o| o["command"] = "simulate".into(), "simulate"),
        (
            &|o| drop(o["metrics"][0].as_object_mut().unwrap().remove("unit")),
            "unit",
        ),
        (
            &|o| o["metrics"][0]["quantiles"]["0.5"] = "slow".into(),
            "metrics",
        ),
    ] {
        let found = with(change);
        assert!(found.contains(named), "{named}: {found}");
    }
}
